//! Retention in the background: keeps the events within their budget, and removes the oldest turns of agents when the
//! database exceeds its budget or when they are too old.
//!
//! Every step is one commit of bounded size, so other writes go on in between. Output files go before the rows that
//! name them: a crash in between leaves rows whose files are gone, and the next run removes these rows.

use super::{Shell, engine_error};
use crate::error::Error;
use holon_domain::storage::{HistoryHolder, HistoryPosition, RemovedHistory};
use holon_domain::{AgentId, Timestamp};
use holon_store::WriteError;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

/// Pause between two runs.
const RETENTION_PAUSE_MS: u64 = 60_000;
/// Part of the budget that a run frees below it, so that the next messages do not need another run.
const FREED_PART: u64 = 16;
/// Time before which everything goes that may go.
const NO_LIMIT: Timestamp = Timestamp::from_millis(i64::MAX);

/// How the database stands to its budget after a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    /// It is within, or the host shuts down.
    Within,
    /// It is not, and nothing more may go.
    Exhausted,
}

/// An agent in the order of its oldest entry.
type HolderByAge = Reverse<(Timestamp, AgentId, String)>;

impl Shell {
    /// Keeps the store within its budgets while the host runs.
    pub(crate) async fn run_retention_loop(self) {
        let mut warned = false;
        while !self.draining.is_cancelled() {
            self.trim_events().await;
            match self.trim_history().await {
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
    async fn trim_history(&self) -> Result<Fit, Error> {
        let terms = self.conduct.history;
        let (mut removed, mut fit) = (RemovedHistory::default(), Fit::Within);
        if terms.days > 0 {
            let before = self.ports.clock.now().minus_days(terms.days);
            for holder in self.store.history_holders().await? {
                if holder.oldest_at < before {
                    removed += self.trim_agent(&holder, before).await;
                }
            }
        }
        if self.used_bytes().await? > terms.budget_bytes {
            let target = terms.budget_bytes - terms.budget_bytes / FREED_PART;
            let (freed, reached) = self.trim_until(target).await?;
            removed += freed;
            fit = reached;
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

    /// Removes everything of one agent that is older than `before` and may go.
    async fn trim_agent(&self, holder: &HistoryHolder, before: Timestamp) -> RemovedHistory {
        let mut removed = RemovedHistory::default();
        while !self.draining.is_cancelled()
            && let Some((step, _)) = self
                .remove_history_step(&holder.agent_id, &holder.agent_home, before)
                .await
        {
            removed += step;
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
            if let Some((step, left)) = self.remove_history_step(&agent_id, &home, NO_LIMIT).await {
                removed += step;
                oldest.extend(left.map(|at| Reverse((at, agent_id, home))));
            }
        }
        Ok((removed, Fit::Within))
    }

    /// Removes the next part of an agent's oldest turns. Returns what went and the time of the oldest entry that is left;
    /// `None` if nothing may go, or if it cannot be removed now.
    async fn remove_history_step(
        &self,
        agent_id: &AgentId,
        agent_home: &str,
        before: Timestamp,
    ) -> Option<(RemovedHistory, Option<Timestamp>)> {
        let step = self.try_history_step(agent_id, agent_home, before).await;
        step.unwrap_or_else(|error| {
            // A row that cannot be read must not keep the history of the other agents.
            tracing::warn!(%agent_id, %error, "old history of an agent could not be removed");
            None
        })
    }

    /// The same, with the reason if it cannot be removed.
    pub(crate) async fn try_history_step(
        &self,
        agent_id: &AgentId,
        agent_home: &str,
        before: Timestamp,
    ) -> Result<Option<(RemovedHistory, Option<Timestamp>)>, Error> {
        let start = HistoryPosition::default();
        let plan = self.store.history_step(agent_id, start, before).await;
        let Some(plan) = plan.map_err(|error| Error::of_agent(agent_id, error))? else {
            return Ok(None);
        };
        let files = match plan.outputs.is_empty() {
            true => Default::default(),
            false => {
                let command = &self.ports.command;
                command.remove_output(agent_home, &plan.outputs).await
            }
        };
        let trimmed = self.store.trim_history(agent_id, before).await;
        let trimmed = trimmed.map_err(|error| match error {
            WriteError::Store(error) => Error::of_agent(agent_id, error),
            other => engine_error(other),
        });
        let Some(step) = trimmed? else {
            return Ok(None);
        };
        let removed = RemovedHistory {
            files: files.files,
            file_bytes: files.bytes,
            ..step.removed
        };
        Ok(Some((removed, step.oldest_left)))
    }
}
