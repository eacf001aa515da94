//! The call an agent's turn runs, read from the log. The shell and the simulation perform calls by this one reading.

use crate::kernel::fill_intents;
use crate::ports::{CommandContext, CommandKey};
use holon_domain::AgentId;
use holon_domain::agent::AgentRecord;
use holon_domain::block::{ToolCall, calls_of};
use holon_domain::effect::EffectId;
use holon_domain::intent::HostAction;
use holon_domain::log::LogEntry;
use holon_domain::turn::{CallPlace, Phase};
use holon_domain::workspace::WorkspaceEntry;

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
    /// The call that an agent's open turn runs, found in the log entry of its round; see
    /// [`Store::round_in_hand`](holon_store::Store::round_in_hand). None when the entry does not hold such a call.
    #[must_use]
    pub fn in_hand(agent: AgentRecord, mut entry: LogEntry) -> Option<Self> {
        fill_intents(&mut entry, &agent);
        let turn = agent.open_turn?;
        let Phase::RunningTool {
            round_entry,
            call_index,
            effect,
        } = turn.phase
        else {
            return None;
        };
        let LogEntry::AssistantRound {
            blocks, intents, ..
        } = entry
        else {
            return None;
        };
        let place = CallPlace {
            round_entry,
            call_index,
        };
        let call = calls_of(&blocks).nth(call_index)?.clone();
        let action = intents.get(call_index)?.as_ref().ok()?.action(place)?;
        Some(Self {
            agent_id: agent.settings.identity.agent_id.clone(),
            agent_home: agent.settings.agent_home,
            effect,
            call,
            action,
            workspace: turn.workspace,
        })
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
