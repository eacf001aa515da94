//! Running tool calls: each action by its port, its result as an envelope, and what was kept to prove it forgotten once
//! the result is on record.

use super::Shell;
use crate::ports::{CommandContext, CommandKey, KeptOutput};
use holon_core::input::Proven;
use holon_core::{Input, Reply, Stamp};
use holon_domain::block::ToolCall;
use holon_domain::effect::{Effect, EffectRecord};
use holon_domain::intent::{ApplyPatch, HostAction};
use holon_domain::task::CommandTaskSpec;
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind};
use holon_domain::workspace::WorkspaceEntry;
use holon_domain::{AgentId, CallId};
use holon_store::fault;
use tokio_util::sync::CancellationToken;

/// A call that is to be run, and for whom.
#[derive(Debug)]
pub(super) struct Errand {
    pub(super) agent_id: AgentId,
    pub(super) call: ToolCall,
    pub(super) workspace: WorkspaceEntry,
}

/// What a call came to.
#[derive(Debug)]
pub(super) struct Came {
    pub(super) envelope: ToolEnvelope,
    /// The command that goes on without the call.
    pub(super) goes_on: Option<Box<CommandTaskSpec>>,
    /// What is forgotten once the result is on record.
    pub(super) then: Afterwards,
}

/// A command that is over, and whether its output stays.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) key: CommandKey,
    pub(super) output: KeptOutput,
}

/// What was kept to find or prove a call, and may go once its result is on record.
#[derive(Debug)]
pub(super) enum Afterwards {
    /// Nothing.
    Nothing,
    /// The journal of a patch.
    Patch,
    /// Commands that are over.
    Commands(Vec<Ran>),
}

impl Came {
    pub(super) const fn to(envelope: ToolEnvelope) -> Self {
        Self {
            envelope,
            goes_on: None,
            then: Afterwards::Nothing,
        }
    }
}

impl Shell {
    /// Runs a call and brings its result home. When the host goes down or nobody waits for it any more, it is left as
    /// it is: what it began goes on and is found again.
    pub(super) async fn run_tool(
        &self,
        errand: &Errand,
        action: HostAction,
        stamp: Stamp,
        cancel: CancellationToken,
    ) {
        let began = self.ports.clock.elapsed();
        let Some(agent_home) = self.home_of(&errand.agent_id).await else {
            return;
        };
        let context = CommandContext {
            agent_id: errand.agent_id.clone(),
            agent_home: agent_home.clone(),
            workspace: errand.workspace.clone(),
        };
        let Some(came) = self.act(errand, context, action, cancel).await else {
            return;
        };
        let took = self.ports.clock.elapsed().saturating_sub(began);
        let finished = Input::ToolFinished {
            stamp,
            envelope: came.envelope,
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            goes_on: came.goes_on,
        };
        fault::hit("tool.done");
        // A result that was not taken leaves everything to whoever took the call over.
        if self.settle(&errand.agent_id, finished).await == Some(Reply::Done) {
            self.forget(&agent_home, &errand.call.id, came.then).await;
        }
    }

    async fn act(
        &self,
        errand: &Errand,
        context: CommandContext,
        action: HostAction,
        cancel: CancellationToken,
    ) -> Option<Came> {
        match action {
            HostAction::ExecCommand(command) => {
                self.exec_command(errand, context, command, cancel).await
            }
            HostAction::ExecCommandBatch(batch) => {
                self.exec_batch(errand, context, batch, cancel).await
            }
            // Never broken off: it takes no time worth speaking of, and half of it would have to be taken back.
            HostAction::ApplyPatch(patch) => {
                let call = errand.call.id.clone();
                let applied = self.ports.file.apply_patch(context, call, patch).await;
                Some(Came {
                    then: Afterwards::Patch,
                    ..Came::to(holon_tools::apply_patch::envelope(applied))
                })
            }
            HostAction::TaskInput(input) => self.task_input(errand, &context, input).await,
            HostAction::TaskOutput(query) => {
                self.task_output(errand, &context, query, cancel).await
            }
        }
    }

    async fn forget(&self, agent_home: &str, call: &CallId, then: Afterwards) {
        match then {
            Afterwards::Nothing => {}
            Afterwards::Patch => self.ports.file.forget_patch(agent_home, call).await,
            Afterwards::Commands(commands) => {
                for Ran { key, output } in commands {
                    self.ports.command.forget(&key, output).await;
                }
            }
        }
    }

    /// What calls that were under way when the last process died came to, as far as that can be proven.
    pub(super) async fn proven(
        &self,
        agent_id: &AgentId,
        open: &[EffectRecord],
    ) -> Option<Box<Proven>> {
        let mut mine = open.iter().filter(|record| record.agent_id == *agent_id);
        let (effect, call, patch) = mine.find_map(|record| {
            let (call, patch) = patch_of(&record.effect)?;
            Some((record.id, call, patch))
        })?;
        let home = self.home_of(agent_id).await?;
        let came_to = self.ports.file.settle_patch(&home, call, patch).await?;
        let envelope = holon_tools::apply_patch::envelope(came_to);
        Some(Box::new(Proven { effect, envelope }))
    }
}

/// A call that could not be begun because its agent's rows could not be read.
pub(super) fn unreadable(call: &ToolCall) -> ToolEnvelope {
    let error = ToolError::new(
        ToolErrorKind::ToolExecutionFailed,
        "the task could not be read; nothing was done",
    );
    ToolEnvelope::failure(&call.name, error.retryable())
}

/// The call and the patch of an effect that applies one.
const fn patch_of(effect: &Effect) -> Option<(&CallId, &ApplyPatch)> {
    match effect {
        Effect::RunTool {
            call,
            action: HostAction::ApplyPatch(patch),
            ..
        } => Some((&call.id, patch)),
        Effect::RunTool { .. }
        | Effect::PrepareHome
        | Effect::CallModel { .. }
        | Effect::WatchTask { .. }
        | Effect::StopTask { .. }
        | Effect::RemoveHome => None,
    }
}
