//! The store as the simulation drives it: through the traits the host uses, on a store without a thread.

use crate::violation::{Verdict, Violation, ensure, stored, violation};
use crate::world::World;
use holon_domain::AgentId;
use holon_domain::effect::EffectRecord;
use holon_store::{DueRow, DueScope, Error, Ledger, Reader, Store, WriteError};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Longest page the simulation asks for; short, so that most readings take several.
const PAGE: u64 = 3;

/// The value of a future that is done at once, as every future of a store without a thread is.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> Verdict<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Ok(value),
        Poll::Pending => violation("a store without a thread answers at once", "it waits"),
    }
}

/// No fault of the plan lets the store refuse a decision.
pub(crate) fn refused_by_store(error: &WriteError) -> Violation {
    Violation {
        rule: "decisions fit the stored rows".to_owned(),
        found: format!("{error:?}"),
    }
}

impl World {
    /// Reads what was committed.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Reader<'_>) -> Result<T, Error>) -> Verdict<T> {
        stored(read(&self.store.db().reader()))
    }

    /// Runs a job in a commit of its own.
    pub(crate) fn commit<T: Send + 'static>(
        &self,
        job: impl FnMut(&mut dyn Ledger) -> Result<T, Error> + Send + 'static,
    ) -> Verdict<Result<T, WriteError>> {
        now(holon_store::commit(&self.store, 0, job))
    }

    /// The length of the next page.
    pub(crate) fn page(&mut self) -> usize {
        1 + self.dice.index(usize::try_from(PAGE).unwrap_or(1))
    }

    /// Everything that is due by now, read page by page.
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
            ensure(
                page.unreadable.is_empty(),
                "every due entry can be read",
                || format!("{:?}", page.unreadable),
            )?;
            rows.extend(page.rows);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let all = self.read(|reader| reader.due(&DueScope::All, self.now, None, usize::MAX))?;
        ensure(
            rows == all.rows,
            "pages of due entries hold each entry once",
            || format!("{rows:?} instead of {:?}", all.rows),
        )?;
        Ok(rows)
    }

    /// An agent's open effects, read page by page.
    pub(crate) fn read_effects(&mut self, id: &AgentId) -> Verdict<Vec<EffectRecord>> {
        let mut found: Vec<EffectRecord> = Vec::new();
        loop {
            let after = found.last().map_or(0, |record| record.id);
            let length = self.page();
            let page = stored(now(self.store.open_effects(id, after, length))?)?;
            let full = page.len() == length;
            found.extend(page);
            if !full {
                return Ok(found);
            }
        }
    }
}
