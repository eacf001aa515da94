//! Operator requests about the thread of an agent's earlier turns.

use super::ControlHandle;
use crate::error::Error;
use crate::reads::TurnMeasure;
use holon_core::input::ContextCommand;
use holon_core::{Input, Reply};
use holon_domain::AgentId;
use holon_domain::thread::ThreadCommand;

impl ControlHandle {
    /// Asks an agent's next turn to fold or clear its thread. Returns false if that is asked already.
    ///
    /// # Errors
    /// When there is no such agent, it takes nothing more, or storage fails.
    pub async fn ask_thread(
        &self,
        agent_id: &AgentId,
        command: ThreadCommand,
    ) -> Result<bool, Error> {
        self.change_context(agent_id, ContextCommand::Ask(command))
            .await
    }

    /// Keeps a turn whole through folds. Returns false if it is pinned already.
    ///
    /// # Errors
    /// When there is no such agent or turn, the thread does not show it, it has no room among the pinned turns, or storage
    /// fails.
    pub async fn pin_turn(&self, agent_id: &AgentId, measure: TurnMeasure) -> Result<bool, Error> {
        let TurnMeasure {
            turn_index,
            measured,
            room,
        } = measure;
        let command = ContextCommand::Pin {
            turn_index,
            measured,
            room,
        };
        self.change_context(agent_id, command).await
    }

    /// Takes a pin back. Returns false if the turn is not pinned.
    ///
    /// # Errors
    /// When there is no such agent or turn, it takes nothing more, or storage fails.
    pub async fn unpin_turn(&self, agent_id: &AgentId, turn_index: u64) -> Result<bool, Error> {
        self.change_context(agent_id, ContextCommand::Unpin { turn_index })
            .await
    }

    /// Bounds an agent's thread, or lets the setting of the host hold again. Returns false if it is so already.
    ///
    /// # Errors
    /// When there is no such agent, it takes nothing more, or storage fails.
    pub async fn limit_thread(
        &self,
        agent_id: &AgentId,
        thread_tokens: Option<u32>,
    ) -> Result<bool, Error> {
        self.change_context(agent_id, ContextCommand::Limit { thread_tokens })
            .await
    }

    async fn change_context(
        &self,
        agent_id: &AgentId,
        command: ContextCommand,
    ) -> Result<bool, Error> {
        let reply = self.submit(agent_id, Input::Context(command)).await?;
        Ok(reply == Reply::Done)
    }
}
