//! Access to the store through the host's traits, on a store without a thread.

use crate::violation::{Verdict, Violation, ensure, stored, violation};
use crate::world::World;
use holon_domain::effect::EffectRecord;
use holon_domain::{AgentId, Timestamp};
use holon_store::{DueRow, DueScope, Error, Ledger, Reader, Store, WriteError, WriteOrder};
use std::collections::BTreeSet;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Maximum page length of the simulation; short, so that most reads take several pages.
const PAGE: u64 = 3;

/// A time later than any due entry.
const END_OF_TIME: Timestamp = Timestamp::from_millis(i64::MAX);

/// Returns the value of a future that is ready at once, as every future of a store without a thread is.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> Verdict<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Ok(value),
        Poll::Pending => violation("a store without a thread answers at once", "it waits"),
    }
}

/// Builds the violation for a decision that the store refused, which no planned fault causes.
pub(crate) fn refused_by_store(error: &WriteError) -> Violation {
    Violation {
        rule: "decisions fit the stored rows".to_owned(),
        found: format!("{error:?}"),
    }
}

impl World {
    /// Reads rows of the committed state.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Reader<'_>) -> Result<T, Error>) -> Verdict<T> {
        stored(read(&self.store.db().reader()))
    }

    /// Runs a job in a commit of its own.
    pub(crate) fn commit<T: Send + 'static>(
        &self,
        job: impl FnMut(&mut dyn Ledger) -> Result<T, Error> + Send + 'static,
    ) -> Verdict<Result<T, WriteError>> {
        now(holon_store::commit(
            &self.store,
            WriteOrder::runtime(0),
            job,
        ))
    }

    /// Draws the length of the next page.
    pub(crate) fn page(&mut self) -> usize {
        1 + self.dice.index(usize::try_from(PAGE).unwrap_or(1))
    }

    /// Reads all entries that are due now, page by page.
    pub(crate) fn read_due(&mut self) -> Verdict<Vec<DueRow>> {
        let (mut rows, mut after) = (Vec::new(), None);
        loop {
            let length = self.page();
            let page = stored(now(self.store.due(
                &DueScope::All,
                self.now,
                after,
                length,
            ))?)?;
            for (id, error) in &page.unreadable {
                self.note_unreadable(id, error)?;
            }
            rows.extend(page.rows);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        // An agent that one page put aside has no entries in later pages.
        let mut aside = BTreeSet::new();
        for id in self.model.names() {
            if self.is_aside(&id)? {
                aside.insert(id);
            }
        }
        rows.retain(|row: &DueRow| !aside.contains(&row.agent_id));
        let all = self.read(|reader| reader.due(&DueScope::All, self.now, None, usize::MAX))?;
        ensure(
            rows == all.rows,
            "pages of due entries hold each entry once",
            || format!("{rows:?} instead of {:?}", all.rows),
        )?;
        Ok(rows)
    }

    /// Returns the time of the next due entry of an agent that is not aside.
    pub(crate) fn next_due(&mut self) -> Verdict<Option<Timestamp>> {
        let row = self.next_due_row()?;
        Ok(row.map(|row| row.time.at()))
    }

    /// Returns the next due entry of an agent that is not aside.
    pub(crate) fn next_due_row(&mut self) -> Verdict<Option<DueRow>> {
        loop {
            let page = stored(now(self.store.due(&DueScope::All, END_OF_TIME, None, 1))?)?;
            let Some((id, error)) = page.unreadable.first() else {
                return Ok(page.rows.into_iter().next());
            };
            self.note_unreadable(id, error)?;
        }
    }

    /// Reads the open effects of an agent, page by page.
    pub(crate) fn read_effects(&mut self, id: &AgentId) -> Verdict<Vec<EffectRecord>> {
        let mut found: Vec<EffectRecord> = Vec::new();
        loop {
            let after = found.last().map_or(0, |record| record.id);
            let length = self.page();
            let page = now(self.store.open_effects(id, after, length))?;
            let Some(page) = self.check_readable(id, page)? else {
                return Ok(Vec::new());
            };
            let full = page.len() == length;
            found.extend(page);
            if !full {
                return Ok(found);
            }
        }
    }
}
