//! Reads the tool call of an agent's open turn from the log. The shell and the simulation share this code.

use crate::kernel::fill_intents;
use crate::ports::{CommandContext, CommandKey};
use holon_core::delegation::{child_home, child_id};
use holon_core::workspace::may_attach;
use holon_domain::AgentId;
use holon_domain::agent::AgentRecord;
use holon_domain::block::{ToolCall, calls_of};
use holon_domain::delegation::SpawnAgent;
use holon_domain::effect::EffectId;
use holon_domain::guidance::{CallingTurn, GuidanceRoots, SkillUse, TaskSkills};
use holon_domain::intent::HostAction;
use holon_domain::log::LogEntry;
use holon_domain::model::ModelRef;
use holon_domain::turn::{CallPlace, Phase};
use holon_domain::workspace::{
    UseMode, UseWorkspace, WorkspaceEntry, WorkspaceOrder, WorkspaceSelector, WorkspaceSet,
};

/// A tool call that the shell has to run.
#[derive(Debug, Clone)]
pub struct ToolRun {
    pub agent_id: AgentId,
    pub agent_home: String,
    /// Roots of the agent's guidance at the begin of its turn.
    pub guidance_roots: GuidanceRoots,
    /// Effect that runs the call; its outcome is stamped with it.
    pub effect: EffectId,
    /// Turn that makes the call.
    pub turn: CallingTurn,
    /// The call as the model wrote it.
    pub call: ToolCall,
    /// Model that made the call. Absent in turns of earlier builds.
    pub model: Option<ModelRef>,
    /// Interpretation of the call's input.
    pub action: HostAction,
    /// The workspace in which the call runs.
    pub workspace: WorkspaceEntry,
    /// Workspaces that the agent may use.
    pub attached: WorkspaceSet,
    /// True if the agent's profile lets it attach further ones.
    pub may_attach: bool,
}

impl ToolRun {
    /// Finds the call that an agent's open turn runs in the log entry of its round; see
    /// [`Store::round_in_hand`](holon_store::Store::round_in_hand). `None` if the entry does not hold such a call.
    #[must_use]
    pub fn in_hand(agent: AgentRecord, mut entry: LogEntry) -> Option<Self> {
        fill_intents(&mut entry, &agent);
        let (attached, may_attach) = (agent.attached_workspaces(), may_attach(&agent));
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
            guidance_roots: GuidanceRoots::of(&agent.settings, &turn.workspace),
            agent_home: agent.settings.agent_home,
            effect,
            turn: CallingTurn {
                turn_index: turn.turn_index,
                run_id: turn.run_id,
                message_seq: turn.message_seq,
            },
            call,
            model: turn.model,
            action,
            workspace: turn.workspace,
            attached,
            may_attach,
        })
    }

    /// Returns the skills that a command of the call refers to, for the task that it becomes.
    #[must_use]
    pub fn task_skills(&self, uses: Vec<SkillUse>) -> TaskSkills {
        TaskSkills {
            uses,
            turn: self.turn.clone(),
        }
    }

    /// Order for the workspace that the call asks for. A repeated call gives the same order.
    #[must_use]
    pub fn workspace_order(&self, request: UseWorkspace) -> WorkspaceOrder {
        WorkspaceOrder {
            agent_id: self.agent_id.clone(),
            agent_home: self.agent_home.clone(),
            current_cwd: self.workspace.cwd.clone(),
            attached: self.attached.clone(),
            may_attach: self.may_attach,
            request,
            request_key: self.call.id.to_string(),
        }
    }

    /// Order for the worktree of a child that the call spawns, beside the repository that its parent is in. The worktree
    /// is made in the name of the parent, whose open turn keeps a clean-up away until the child exists.
    #[must_use]
    pub fn child_worktree_order(&self, spawn: &SpawnAgent) -> WorkspaceOrder {
        let request = UseWorkspace {
            selector: WorkspaceSelector::WorkspaceId(self.workspace.workspace_id.clone()),
            mode: UseMode::Isolated,
            cwd: None,
            isolation_label: Some("child".to_owned()),
        };
        WorkspaceOrder {
            agent_home: child_home(&self.agent_home, &child_id(&self.call, spawn)),
            ..self.workspace_order(request)
        }
    }

    /// Key by which the command host finds the call's command.
    #[must_use]
    pub fn key(&self) -> CommandKey {
        CommandKey::of_call(&self.agent_home, &self.call.id)
    }

    /// Directories and identity passed to a command of the call.
    #[must_use]
    pub fn context(&self) -> CommandContext {
        CommandContext {
            agent_id: self.agent_id.clone(),
            agent_home: self.agent_home.clone(),
            workspace: self.workspace.clone(),
        }
    }
}
