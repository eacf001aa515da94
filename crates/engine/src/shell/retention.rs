//! Retention in the background: keeps the events within their budget, removes images that no message names (`images`), and
//! the oldest turns of agents when the database exceeds its budget or when they are too old.
//!
//! Every step is one commit of bounded size, so other writes go on in between. Output files go before the rows that
//! name them: a crash in between leaves rows whose files are gone, and the next run removes these rows.

use super::{Sender, Shell, engine_error};
use crate::error::Error;
use holon_core::Input;
use holon_domain::command::OutputSize;
use holon_domain::decision::BriefSeq;
use holon_domain::storage::{HistoryHolder, HistoryPosition, HistoryRule, RemovedHistory};
use holon_domain::turn::LogSeq;
use holon_domain::{AgentId, Timestamp};
use holon_store::WriteError;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// Pause between two runs.
const RETENTION_PAUSE_MS: u64 = 60_000;
/// Part of the budget that a run frees below it, so that the next messages do not need another run.
const FREED_PART: u64 = 16;
/// Time after which a store from which nothing more could go is looked at again, even if its size is the same.
const EXHAUSTED_PAUSE: Duration = Duration::from_hours(1);

/// How the database stands to its budget after a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// It is within, or the host shuts down.
    Within,
    /// It is not, and nothing more may go.
    Exhausted,
}

/// A store above its budget from which nothing more could go. It is searched again when something has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Exhaustion {
    used_bytes: u64,
    at: Duration,
}

impl Exhaustion {
    /// Returns true if another search may find something.
    fn is_over(self, used_bytes: u64, now: Duration) -> bool {
        used_bytes != self.used_bytes || now.saturating_sub(self.at) >= EXHAUSTED_PAUSE
    }
}

/// One step of a removal that was done.
pub(crate) struct DoneStep {
    pub(crate) removed: RemovedHistory,
    /// Time of the oldest entry that is left.
    oldest_left: Option<Timestamp>,
    pub(crate) unreadable_briefs: Vec<BriefSeq>,
}

/// An agent in the order of its oldest entry.
type HolderByAge = Reverse<(Timestamp, AgentId, String)>;

impl Shell {
    /// Keeps the store within its budgets while the host runs.
    pub(crate) async fn run_retention_loop(self) {
        let (mut warned, mut exhausted) = (false, None);
        while !self.draining.is_cancelled() {
            self.trim_events().await;
            self.remove_unnamed_images().await;
            match self.trim_history(&mut exhausted).await {
                Ok(Fit::Exhausted) if !warned => {
                    warned = true;
                    tracing::warn!(
                        "the database exceeds its budget, and nothing more may be removed; \
                         raise retention.store_budget_bytes or delete agents"
                    );
                }
                Ok(Fit::Exhausted) => {}
                Ok(Fit::Within) => warned = false,
                Err(error) => tracing::warn!(%error, "old history could not be removed"),
            }
            let pause = Duration::from_millis(RETENTION_PAUSE_MS);
            let until = self.ports.clock.elapsed() + pause;
            tokio::select! {
                () = self.ports.clock.sleep_until(until) => {}
                () = self.draining.cancelled() => {}
            }
        }
    }

    async fn trim_events(&self) {
        loop {
            let budget = self.conduct.event_budget_bytes;
            match self.store.trim_events(budget).await {
                Ok(0) => return,
                Ok(removed) => {
                    tracing::info!(removed, "old events were removed to stay within the budget")
                }
                Err(error) => return tracing::warn!(%error, "old events could not be removed"),
            }
            if self.draining.is_cancelled() {
                return;
            }
        }
    }

    /// Removes history by age, then by the size of the database.
    async fn trim_history(&self, exhausted: &mut Option<Exhaustion>) -> Result<Fit, Error> {
        let terms = self.conduct.history;
        let (mut removed, mut fit) = (RemovedHistory::default(), Fit::Within);
        if terms.days > 0 {
            let before = self.ports.clock.now().minus_days(terms.days);
            let rule = HistoryRule::OlderThan(before);
            for holder in self.store.history_holders().await? {
                if rule.takes(holder.oldest_at) {
                    removed += self.trim_agent(&holder, rule).await;
                }
            }
        }
        let used_bytes = self.used_bytes().await?;
        if used_bytes > terms.budget_bytes {
            let at = self.ports.clock.elapsed();
            fit = Fit::Exhausted;
            if exhausted.is_none_or(|before| before.is_over(used_bytes, at)) {
                let target = terms.budget_bytes - terms.budget_bytes / FREED_PART;
                let (freed, reached) = self.trim_until(target).await?;
                removed += freed;
                fit = reached;
                let used_bytes = self.used_bytes().await?;
                *exhausted = (fit == Fit::Exhausted).then_some(Exhaustion { used_bytes, at });
            }
        }
        if !removed.is_empty() {
            tracing::info!(
                turns = removed.turns,
                bytes = removed.row_bytes + removed.file_bytes,
                "old history was removed"
            );
        }
        Ok(fit)
    }

    async fn used_bytes(&self) -> Result<u64, Error> {
        Ok(self.store.database_size().await?.used_bytes())
    }

    /// Removes everything of one agent that goes by a rule.
    async fn trim_agent(&self, holder: &HistoryHolder, rule: HistoryRule) -> RemovedHistory {
        let mut removed = RemovedHistory::default();
        while !self.draining.is_cancelled()
            && let Some(step) = self
                .remove_history_step(&holder.agent_id, &holder.agent_home, rule)
                .await
        {
            removed += step.removed;
        }
        removed
    }

    /// Removes the oldest turns of all agents until the database is small enough.
    async fn trim_until(&self, target: u64) -> Result<(RemovedHistory, Fit), Error> {
        let holders = self.store.history_holders().await?;
        let by_age =
            |holder: HistoryHolder| Reverse((holder.oldest_at, holder.agent_id, holder.agent_home));
        let mut oldest: BinaryHeap<HolderByAge> = holders.into_iter().map(by_age).collect();
        let mut removed = RemovedHistory::default();
        while self.used_bytes().await? > target && !self.draining.is_cancelled() {
            let Some(Reverse((_, agent_id, home))) = oldest.pop() else {
                return Ok((removed, Fit::Exhausted));
            };
            let rule = HistoryRule::NEEDS_SPACE;
            if let Some(step) = self.remove_history_step(&agent_id, &home, rule).await {
                removed += step.removed;
                let left = step.oldest_left;
                oldest.extend(left.map(|at| Reverse((at, agent_id, home))));
            }
        }
        Ok((removed, Fit::Within))
    }

    /// Removes the next part of an agent's oldest turns. `None` if nothing may go, or if it cannot be removed now.
    async fn remove_history_step(
        &self,
        agent_id: &AgentId,
        agent_home: &str,
        rule: HistoryRule,
    ) -> Option<DoneStep> {
        match self.try_history_step(agent_id, agent_home, rule).await {
            Ok(step) => {
                let unreadable = step.iter().flat_map(|step| &step.unreadable_briefs);
                for brief in unreadable {
                    tracing::warn!(%agent_id, brief, "retention passed over a brief that cannot be read");
                }
                step
            }
            Err(error) => {
                // A row that cannot be read must not keep the history of the other agents.
                tracing::warn!(%agent_id, %error, "old history of an agent could not be removed");
                None
            }
        }
    }

    /// The same, with the reason if it cannot be removed.
    pub(crate) async fn try_history_step(
        &self,
        agent_id: &AgentId,
        agent_home: &str,
        rule: HistoryRule,
    ) -> Result<Option<DoneStep>, Error> {
        let start = HistoryPosition::default();
        let plan = self.store.history_step(agent_id, start, rule).await;
        let Some(plan) = plan.map_err(|error| Error::of_agent(agent_id, error))? else {
            return Ok(None);
        };
        self.move_thread(agent_id, rule, plan.entry).await?;
        let files = self.remove_outputs(agent_home, &plan.outputs).await;
        let trimmed = self.store.trim_history(agent_id, rule).await;
        let trimmed = trimmed.map_err(|error| match error {
            WriteError::Store(error) => Error::of_agent(agent_id, error),
            other => engine_error(other),
        });
        let Some(mut step) = trimmed? else {
            return Ok(None);
        };
        // The last row that named a file may have gone since the plan.
        step.outputs.retain(|name| !plan.outputs.contains(name));
        let late = self.remove_outputs(agent_home, &step.outputs).await;
        let removed = RemovedHistory {
            files: files.files + late.files,
            file_bytes: files.bytes + late.bytes,
            ..step.removed
        };
        Ok(Some(DoneStep {
            removed,
            oldest_left: step.oldest_left,
            unreadable_briefs: step.unreadable_briefs,
        }))
    }

    /// Lets the agent begin its thread behind the turns that are about to go. By age, turns of the thread stay.
    async fn move_thread(
        &self,
        agent_id: &AgentId,
        rule: HistoryRule,
        through: LogSeq,
    ) -> Result<(), Error> {
        match rule {
            HistoryRule::OlderThan(_) => Ok(()),
            HistoryRule::AllBut(_) => {
                let input = Input::HistoryRemoval { through };
                self.submit(agent_id, Sender::Runtime, input)
                    .await
                    .map(drop)
            }
        }
    }

    async fn remove_outputs(&self, agent_home: &str, names: &[String]) -> OutputSize {
        match names.is_empty() {
            true => OutputSize::default(),
            false => self.ports.command.remove_output(agent_home, names).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exhausted_store_is_searched_again_when_it_changes_or_after_an_hour() {
        let found = Exhaustion {
            used_bytes: 1_000,
            at: Duration::from_mins(7),
        };
        for (used_bytes, minutes, is_over) in [
            (1_000, 7, false),
            (1_000, 8, false),
            (1_000, 66, false),
            (1_000, 67, true),
            (1_001, 8, true),
            (999, 8, true),
        ] {
            let now = Duration::from_mins(minutes);
            assert_eq!(
                found.is_over(used_bytes, now),
                is_over,
                "{used_bytes} {minutes}"
            );
        }
    }
}
