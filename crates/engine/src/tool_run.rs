//! The call an agent's turn runs, read from the log. The shell and the simulation perform calls by this one reading.

use crate::kernel::fill_intents;
use crate::ports::{CommandContext, CommandKey};
use holon_domain::AgentId;
use holon_domain::block::{ToolCall, calls_of};
use holon_domain::effect::EffectId;
use holon_domain::intent::HostAction;
use holon_domain::log::LogEntry;
use holon_domain::turn::{CallPlace, Phase};
use holon_domain::workspace::WorkspaceEntry;
use holon_store::Reader;

/// A call that is to be run.
#[derive(Debug, Clone)]
pub struct ToolRun {
    /// The agent it is run for.
    pub agent_id: AgentId,
    /// That agent's home.
    pub agent_home: String,
    /// The effect that runs it.
    pub effect: EffectId,
    /// The call as the model made it.
    pub call: ToolCall,
    /// What the shell does for it.
    pub action: HostAction,
    /// What was the agent's workspace when its turn began.
    pub workspace: WorkspaceEntry,
}

impl ToolRun {
    /// Reads the call an agent's turn runs; none when it runs none, or when the log does not hold it.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn in_hand(
        reader: &Reader<'_>,
        agent_id: &AgentId,
    ) -> Result<Option<Self>, holon_store::Error> {
        let Some((no, mut agent)) = reader.agent(agent_id)? else {
            return Ok(None);
        };
        let Some(turn) = agent.open_turn.take() else {
            return Ok(None);
        };
        let Phase::RunningTool {
            round_entry,
            call_index,
            effect,
        } = turn.phase
        else {
            return Ok(None);
        };
        let Some(mut entry) = reader.log_entry(no, round_entry)? else {
            return Ok(None);
        };
        fill_intents(&mut entry, &agent);
        let LogEntry::AssistantRound {
            blocks, intents, ..
        } = entry
        else {
            return Ok(None);
        };
        let place = CallPlace {
            round_entry,
            call_index,
        };
        let call = calls_of(&blocks).nth(call_index).cloned();
        let intent = intents
            .get(call_index)
            .and_then(|intent| intent.as_ref().ok());
        let action = intent.and_then(|intent| intent.action(place));
        Ok(call.zip(action).map(|(call, action)| Self {
            agent_id: agent_id.clone(),
            agent_home: agent.settings.agent_home,
            effect,
            call,
            action,
            workspace: turn.workspace,
        }))
    }

    /// By what the command of the call is found.
    #[must_use]
    pub fn key(&self) -> CommandKey {
        CommandKey::of_call(&self.agent_home, &self.call.id)
    }

    /// What a command of the call is told.
    #[must_use]
    pub fn context(&self) -> CommandContext {
        CommandContext {
            agent_id: self.agent_id.clone(),
            agent_home: self.agent_home.clone(),
            workspace: self.workspace.clone(),
        }
    }
}
