//! Agents whose rows cannot be read: found wherever the shell reads or writes one agent, put aside, and passed over.
//!
//! A row that cannot be read costs its agent and nobody else. The store keeps the mark, one event tells of it, and a
//! start tries again.

use super::{Shell, write_failed};
use crate::error::Error;
use holon_domain::AgentId;
use holon_store::WriteError;

impl Shell {
    /// Passes a read about one agent on. A row that could not be read puts the agent aside.
    pub(crate) async fn noted<T: Send>(
        &self,
        agent_id: &AgentId,
        read: Result<T, holon_store::Error>,
    ) -> Result<T, Error> {
        match read {
            Ok(value) => Ok(value),
            Err(error) => {
                let error = Error::of_agent(agent_id, error);
                self.note_unreadable(&error).await;
                Err(error)
            }
        }
    }

    /// Why a write about one agent came to nothing. A row that cannot be read puts the agent aside.
    pub(super) async fn write_about_failed(&self, agent_id: &AgentId, error: WriteError) -> Error {
        let error = match error {
            WriteError::Store(
                error @ (holon_store::Error::Row { .. } | holon_store::Error::Aside { .. }),
            ) => Error::of_agent(agent_id, error),
            other => return write_failed(other),
        };
        self.note_unreadable(&error).await;
        error
    }

    /// Puts an agent aside, if that is what an error is about. Where even that cannot be written, the next who finds
    /// the row tries again.
    pub(super) async fn note_unreadable(&self, error: &Error) {
        if let Error::AgentAside { agent_id, reason } = error {
            self.put_aside(agent_id, reason.clone()).await;
        }
    }

    /// Puts an agent aside about which nothing can be decided.
    pub(super) async fn put_aside(&self, agent_id: &AgentId, reason: String) {
        let now = self.ports.clock.now();
        match self.store.put_aside(agent_id, reason.clone(), now).await {
            Ok(true) => {
                tracing::error!(%agent_id, reason, "an agent was put aside");
            }
            Ok(false) => {}
            Err(error) => tracing::warn!(%agent_id, %error, "an agent could not be put aside yet"),
        }
    }
}
