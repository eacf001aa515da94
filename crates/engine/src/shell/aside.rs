//! Puts agents aside whose rows are unreadable or contradictory, and brings them back on a start.
//!
//! A fault in one agent's rows stops that agent only. The store keeps the mark, one event reports it, and the due loop
//! and recovery skip the agent until a start succeeds.

use super::{Shell, TouchedAgents, engine_error};
use crate::error::Error;
use holon_core::Reply;
use holon_domain::AgentId;
use holon_domain::previous_exit::PreviousExit;
use holon_store::{WriteError, WriteOrder, commit};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Counts per agent how often it was brought back since the host started.
///
/// A fault found before an agent was repaired and started must not put it aside again. The code that finds a fault
/// reads the count before its look at the agent, and the mark is written only if the count is still the same.
#[derive(Debug, Default)]
pub(crate) struct TakeBackCounts(Mutex<HashMap<AgentId, u64>>);

impl TakeBackCounts {
    pub(super) fn of(&self, agent_id: &AgentId) -> u64 {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get(agent_id).copied().unwrap_or(0)
    }

    /// Returns all counts, for a look at several agents at once. The map is small.
    pub(super) fn all(&self) -> HashMap<AgentId, u64> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.clone()
    }

    /// Forgets a removed agent.
    pub(super) fn forget(&self, agent_id: &AgentId) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.remove(agent_id);
    }

    fn count(&self, agent_id: &AgentId) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *counts.entry(agent_id.clone()).or_default() += 1;
    }
}

impl Shell {
    /// Awaits a read about one agent. An unreadable row puts the agent aside.
    pub(crate) async fn read_or_put_aside<T: Send>(
        &self,
        agent_id: &AgentId,
        read: impl Future<Output = Result<T, holon_store::Error>> + Send,
    ) -> Result<T, Error> {
        let seen = self.take_backs.of(agent_id);
        match read.await {
            Ok(value) => Ok(value),
            Err(error) => Err(self.note_read_failure(agent_id, error, seen).await),
        }
    }

    /// Converts the error of a write about one agent. An unreadable row puts the agent aside; `seen` is the agent's
    /// take-back count before the write.
    pub(super) async fn note_write_failure(
        &self,
        agent_id: &AgentId,
        error: WriteError,
        seen: u64,
    ) -> Error {
        match error {
            WriteError::Store(
                error @ (holon_store::Error::Row { .. } | holon_store::Error::Aside { .. }),
            ) => self.note_read_failure(agent_id, error, seen).await,
            other => engine_error(other),
        }
    }

    /// Converts the error of a look at one agent. An unreadable row puts the agent aside. If the mark cannot be written,
    /// the next operation that meets the row tries again.
    ///
    /// A look that met the mark writes nothing: it may have seen the rows just before the commit that brings the agent
    /// back, and would renew the mark after it.
    pub(super) async fn note_read_failure(
        &self,
        agent_id: &AgentId,
        error: holon_store::Error,
        seen: u64,
    ) -> Error {
        let is_marked = matches!(error, holon_store::Error::Aside { .. });
        let error = Error::of_agent(agent_id, error);
        if let Error::AgentAside { reason, .. } = &error
            && !is_marked
        {
            self.put_aside(agent_id, reason.clone(), seen).await;
        }
        error
    }

    /// Puts an agent aside, unless it was brought back since the fault was found.
    pub(super) async fn put_aside(&self, agent_id: &AgentId, reason: String, seen: u64) {
        let (shell, id, why) = (self.clone(), agent_id.clone(), reason.clone());
        let marked = commit(self.store.as_ref(), WriteOrder::runtime(0), move |ledger| {
            if shell.take_backs.of(&id) != seen {
                return Ok(false);
            }
            ledger.put_aside(&id, &why, shell.ports.clock.now())
        });
        match marked.await {
            Ok(true) => {
                tracing::error!(%agent_id, reason, "an agent was put aside");
            }
            Ok(false) => {}
            Err(error) => tracing::warn!(%agent_id, %error, "an agent could not be put aside yet"),
        }
    }

    /// Brings back an agent that was put aside, with the same recovery as a boot: unknown commands are swept, a patch
    /// is proven by its journal, and open effects are requested again.
    ///
    /// # Errors
    /// `AgentAside` when it still cannot be read or decided about.
    pub(crate) async fn take_back(&self, agent_id: &AgentId) -> Result<Reply, Error> {
        // The effects may have been requested by this very process, so the interruption counts as clean.
        let recovery = Box::pin(self.recovery_of(agent_id, PreviousExit::Clean)).await?;
        let (shell, id) = (self.clone(), agent_id.clone());
        let touched = TouchedAgents::default();
        let taken = self.decide(
            agent_id,
            WriteOrder::runtime(0),
            &touched,
            move |ledger, now, entropy| {
                let kernel = &shell.kernel;
                let handled = kernel.take_back(ledger, &id, &recovery, now, entropy)?;
                // If the commit fails, one late fault is skipped; the next operation that meets it tries again.
                shell.take_backs.count(&id);
                Ok(handled)
            },
        );
        match taken.await {
            Err(Error::Internal { message }) => Err(Error::AgentAside {
                agent_id: agent_id.clone(),
                reason: message,
            }),
            Err(Error::CommitUnknown) => {
                self.clear_up_all(touched.all(agent_id)).await;
                Err(Error::CommitUnknown)
            }
            Ok(reply) => {
                self.replan_after_aside(agent_id).await;
                Ok(reply)
            }
            Err(error) => Err(error),
        }
    }

    /// Hides an agent that is not public from a client: the error becomes `AgentNotFound`.
    pub(crate) async fn hide_private<T>(
        &self,
        agent_id: &AgentId,
        outcome: Result<T, Error>,
    ) -> Result<T, Error> {
        let Err(Error::AgentAside { .. }) = &outcome else {
            return outcome;
        };
        match self.store.is_public(agent_id).await {
            Ok(false) => Err(Error::AgentNotFound {
                agent_id: agent_id.clone(),
            }),
            Ok(true) | Err(_) => outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_agent_leaves_no_count() {
        let counts = TakeBackCounts::default();
        let agent_id = AgentId::parse("main").expect("a name");
        counts.count(&agent_id);
        assert_eq!((counts.of(&agent_id), counts.all().len()), (1, 1));
        counts.forget(&agent_id);
        assert_eq!((counts.of(&agent_id), counts.all().len()), (0, 0));
    }
}
