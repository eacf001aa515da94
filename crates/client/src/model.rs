//! Routes about models: those of the host, and the choice of an agent.

use crate::answer::Answer;
use crate::client::{Client, control_path};
use crate::error::Error;
use crate::view::{ModelChange, Models};
use holon_api::{ClearModelRequest, SetModelRequest};
use holon_domain::AgentId;

impl Client {
    /// Sets an agent's model override. It takes effect at the next turn.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn set_model(
        &self,
        agent_id: &AgentId,
        request: &SetModelRequest,
    ) -> Result<Answer<ModelChange>, Error> {
        self.post(control_path(agent_id, "model"), request).await
    }

    /// Clears an agent's model override. The host's default model takes effect at the next turn.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn clear_model(&self, agent_id: &AgentId) -> Result<Answer<ModelChange>, Error> {
        let request = ClearModelRequest::default();
        self.post(control_path(agent_id, "model/clear"), &request)
            .await
    }

    /// Reads the model catalog and the availability of its models.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn models(&self) -> Result<Answer<Models>, Error> {
        self.get("/models".into()).await
    }
}
