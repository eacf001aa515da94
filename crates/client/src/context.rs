//! Routes about the thread of an agent's earlier turns.

use crate::answer::Answer;
use crate::client::{Client, agent_path, control_path};
use crate::error::Error;
use crate::view::{Context, ContextChange};
use holon_api::{EmptyRequest, LimitThreadRequest, PinTurnRequest};
use holon_domain::AgentId;

impl Client {
    /// Returns the sizes of an agent's thread with its turns and marks.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn context(&self, agent_id: &AgentId) -> Result<Answer<Context>, Error> {
        self.get(agent_path(Some(agent_id), "context")).await
    }

    /// Asks an agent's next turn to fold its thread.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn fold_context(&self, agent_id: &AgentId) -> Result<Answer<ContextChange>, Error> {
        let request = EmptyRequest::default();
        self.post(control_path(agent_id, "context/fold"), &request)
            .await
    }

    /// Asks an agent's next turn to begin an empty thread.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn clear_context(&self, agent_id: &AgentId) -> Result<Answer<ContextChange>, Error> {
        let request = EmptyRequest::default();
        self.post(control_path(agent_id, "context/clear"), &request)
            .await
    }

    /// Keeps a turn of an agent whole through folds.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn pin_turn(
        &self,
        agent_id: &AgentId,
        request: &PinTurnRequest,
    ) -> Result<Answer<ContextChange>, Error> {
        self.post(control_path(agent_id, "context/pin"), request)
            .await
    }

    /// Lets a pinned turn of an agent give way to the next fold.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn unpin_turn(
        &self,
        agent_id: &AgentId,
        request: &PinTurnRequest,
    ) -> Result<Answer<ContextChange>, Error> {
        self.post(control_path(agent_id, "context/unpin"), request)
            .await
    }

    /// Bounds an agent's thread, or lets the setting of the host hold again.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn limit_thread(
        &self,
        agent_id: &AgentId,
        request: &LimitThreadRequest,
    ) -> Result<Answer<ContextChange>, Error> {
        self.post(control_path(agent_id, "context/limit"), request)
            .await
    }
}
