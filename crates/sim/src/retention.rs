//! Retention as a fault: events and turns go while agents work, and what is left must be whole.

use crate::store::{now, refused_by_store};
use crate::violation::{Verdict, ensure, violation};
use crate::world::{InputResult, World};
use holon_core::Input;
use holon_domain::agent::Lifecycle;
use holon_domain::log::{BlobHash, FrameRecord, LogEntry};
use holon_domain::storage::{HistoryPosition, HistoryRule};
use holon_domain::{AgentId, limits};
use holon_store::{Error, Store, Tx, WriteError};
use std::collections::BTreeSet;

/// Newest messages whose turns stay.
const KEPT: usize = 3;

impl World {
    /// Removes events beyond a random budget, then turns of an agent.
    pub(crate) fn trim(&mut self) -> Verdict<()> {
        self.trim_events()?;
        // Not by the dice, so that a plan goes on as it did before turns were removed.
        let names = self.model.public_names();
        let at = usize::try_from(self.steps).unwrap_or(0) % names.len().max(1);
        match names.get(at) {
            Some(id) if !self.damage.contains_key(id) => self.trim_history(&id.clone()),
            Some(_) | None => Ok(()),
        }
    }

    fn trim_events(&mut self) -> Verdict<()> {
        let budget = self.dice.below(6_000);
        let keep = self.dice.percent(80).then(|| self.dice.below(30));
        self.trace.note(|| format!("trim to {budget} bytes"));
        let trimmed = match keep {
            None => now(self.store.trim_events(budget))?,
            // A short run has fewer events than a host keeps of every agent.
            Some(keep) => {
                let trim = |tx: &mut Tx<'_>| tx.trim_events(budget, keep, limits::RETENTION_STEP);
                self.store.db().write(trim)
            }
        };
        let removed = trimmed.map_err(|error| refused_by_store(&error))?;
        if removed > 0 {
            self.model.coverage.count("trimmed");
        }
        Ok(())
    }

    fn trim_history(&mut self, id: &AgentId) -> Verdict<()> {
        // A short run has fewer turns than a host keeps of every agent.
        let rule = HistoryRule::AllBut(KEPT);
        loop {
            let plan = now(self
                .store
                .history_step(id, HistoryPosition::default(), rule))?;
            let through = match plan {
                Ok(Some(step)) => step.entry,
                Ok(None) => break,
                Err(Error::Aside { .. }) => return Ok(()),
                Err(error) => {
                    return violation(
                        "the next step of a removal can be planned",
                        error.to_string(),
                    );
                }
            };
            match self.send(id, &Input::HistoryRemoval { through })? {
                InputResult::Handled(_) => {}
                InputResult::Refused(_)
                | InputResult::Panicked
                | InputResult::Failed
                | InputResult::Aside
                | InputResult::Died
                | InputResult::Unknown(_) => return Ok(()),
            }
            let step = match now(self.store.trim_history(id, rule))? {
                Ok(Some(step)) => step,
                Ok(None) => break,
                // The history of an agent that was put aside stays as it is.
                Err(WriteError::Store(Error::Aside { .. })) => return Ok(()),
                Err(error) => return Err(refused_by_store(&error)),
            };
            let turns = step.removed.turns;
            self.trace.note(|| format!("{id} loses {turns} turns"));
            self.model.coverage.count("history_trimmed");
            if !step.texts.is_empty() {
                self.model.coverage.count("text_trimmed");
            }
        }
        self.check_texts(id)
    }

    /// Checks that an agent refers to exactly the texts that the frames in its log name, and that these are stored.
    fn check_texts(&self, id: &AgentId) -> Verdict<()> {
        let Some((no, agent)) = self.read(|reader| reader.agent(id))? else {
            return Ok(());
        };
        // The rows of an agent that is being removed go table by table.
        if agent.lifecycle == Lifecycle::Deleting {
            return Ok(());
        }
        let kept = self.read(|reader| reader.turn_entries(no, 0))?;
        let frames = kept.iter().filter_map(|(_, entry)| match entry {
            LogEntry::Frame(frame) => Some(frame),
            _ => None,
        });
        let named: BTreeSet<BlobHash> = frames.flat_map(texts_of).cloned().collect();
        let referred = self.read(|reader| reader.texts_referred(no))?;
        ensure(
            named == referred.iter().cloned().collect(),
            "an agent refers to the texts that its frames name",
            || format!("{id}: {named:?}, but {referred:?}"),
        )?;
        for hash in named {
            let body = self.read(|reader| reader.blob(&hash))?;
            ensure(
                body.is_some(),
                "a text that a frame names is stored",
                || format!("{id}: {hash}"),
            )?;
        }
        Ok(())
    }
}

/// Returns the texts that a frame names.
fn texts_of(frame: &FrameRecord) -> impl Iterator<Item = &BlobHash> {
    let optional = frame.surroundings.iter().chain(&frame.episodes);
    [&frame.stable, &frame.agent_scoped]
        .into_iter()
        .chain(optional)
}
