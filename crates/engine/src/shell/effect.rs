//! Performing effects: each in its own task, each outcome stamped with the effect it belongs to.

use super::{AFTER_A_FAULT_MS, Shell};
use crate::ports::CommandContext;
use holon_core::input::Proven;
use holon_core::{Input, Stamp};
use holon_domain::block::ToolCall;
use holon_domain::effect::{Effect, EffectRecord};
use holon_domain::intent::{ApplyPatch, ExecCommand, HostAction};
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind};
use holon_domain::workspace::WorkspaceEntry;
use holon_domain::{AgentId, CallId};
use holon_store::{Removal, fault};
use tokio_util::sync::CancellationToken;

/// Rows one commit removes of an agent that goes.
const REMOVAL_STEP: u64 = 1_000;

impl Shell {
    /// Performs one effect and brings its outcome home, if it has one.
    pub(super) async fn perform(&self, record: EffectRecord, cancel: CancellationToken) {
        fault::hit("effect.begin");
        let EffectRecord {
            agent_id,
            id,
            generation,
            effect,
            ..
        } = record;
        let stamp = Stamp {
            effect: id,
            generation,
        };
        let patched = patch_of(&effect).map(|(call, _)| call.clone());
        let outcome = match effect {
            Effect::PrepareHome => self.prepare_home(&agent_id, stamp).await,
            Effect::RemoveHome => self.remove_home(&agent_id, stamp).await,
            Effect::CallModel { turn_index, .. } => {
                self.call_model(&agent_id, turn_index, stamp, cancel).await
            }
            Effect::RunTool {
                call,
                action,
                workspace,
                ..
            } => {
                let (envelope, duration_ms) = self
                    .run_tool(&agent_id, &call, action, workspace, cancel)
                    .await;
                Some(Input::ToolFinished {
                    stamp,
                    envelope,
                    duration_ms,
                })
            }
        };
        fault::hit("effect.done");
        if let Some(input) = outcome {
            self.settle(&agent_id, input).await;
        }
        if let Some(call) = patched {
            self.forget_patch(&agent_id, &call).await;
        }
        // It is in hand until its outcome is on record; its own commit lets go of it first.
        self.lock_running().remove(&(agent_id, id));
    }

    async fn prepare_home(&self, agent_id: &AgentId, stamp: Stamp) -> Option<Input> {
        let home = self.home_of(agent_id).await?;
        let result = self.ports.home.prepare(agent_id, &home).await;
        Some(Input::HomePrepared { stamp, result })
    }

    async fn remove_home(&self, agent_id: &AgentId, stamp: Stamp) -> Option<Input> {
        let home = self.home_of(agent_id).await?;
        let result = self.ports.home.remove(agent_id, &home).await;
        Some(Input::HomeRemoved { stamp, result })
    }

    /// The outcome of a patch is on record.
    async fn forget_patch(&self, agent_id: &AgentId, call: &CallId) {
        if let Some(home) = self.home_of(agent_id).await {
            self.ports.file.forget_patch(&home, call).await;
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

    /// Where an agent's home is; none when the agent is gone. A read that fails is tried again until the host halts.
    async fn home_of(&self, agent_id: &AgentId) -> Option<String> {
        while !self.halted.is_cancelled() {
            let id = agent_id.clone();
            match self.readers.read(move |reader| reader.agent(&id)).await {
                Ok(found) => return found.map(|(_, agent)| agent.agent_home),
                Err(error) => {
                    tracing::warn!(%agent_id, %error, "an agent could not be read yet");
                    self.pause(AFTER_A_FAULT_MS).await;
                }
            }
        }
        None
    }

    async fn run_tool(
        &self,
        agent_id: &AgentId,
        call: &ToolCall,
        action: HostAction,
        workspace: WorkspaceEntry,
        cancel: CancellationToken,
    ) -> (ToolEnvelope, u64) {
        let began = self.ports.clock.elapsed();
        let Some(agent_home) = self.home_of(agent_id).await else {
            let error = ToolError::new(
                ToolErrorKind::ToolExecutionFailed,
                "the agent could not be read; not run",
            );
            return (ToolEnvelope::failure(&call.name, error.retryable()), 0);
        };
        let context = CommandContext {
            agent_id: agent_id.clone(),
            agent_home,
            workspace,
        };
        let envelope = match action {
            HostAction::ExecCommand(command) => self.run_command(context, command, cancel).await,
            // Never broken off: it takes no time worth speaking of, and half of it would have to be taken back.
            HostAction::ApplyPatch(patch) => {
                let applied = self.ports.file.apply_patch(context, call.id.clone(), patch);
                holon_tools::apply_patch::envelope(applied.await)
            }
        };
        let took = self.ports.clock.elapsed().saturating_sub(began);
        (
            envelope,
            u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        )
    }

    async fn run_command(
        &self,
        context: CommandContext,
        mut command: ExecCommand,
        cancel: CancellationToken,
    ) -> ToolEnvelope {
        command.max_output_tokens = Some(self.conduct.tool_output.allow(command.max_output_tokens));
        let running = self
            .ports
            .command
            .run(context, command.clone(), cancel.clone());
        match self.until_halted(&cancel, running).await {
            Ok(output) => holon_tools::exec_command::completed(&command, &output),
            Err(failure) => holon_tools::exec_command::failed(&command, &failure),
        }
    }

    /// Lets work run to its end, but cancels it once the drain has lost patience: a command that is stopped with the
    /// host says so, and that is then on record.
    async fn until_halted<T>(
        &self,
        cancel: &CancellationToken,
        work: impl Future<Output = T>,
    ) -> T {
        tokio::pin!(work);
        tokio::select! {
            outcome = &mut work => return outcome,
            () = self.halted.cancelled() => cancel.cancel(),
        }
        work.await
    }

    /// Removes what is left of an agent whose home is gone. Resumable: a boot in between begins again at the home.
    pub(super) async fn remove_rows(&self, agent_id: &AgentId) {
        loop {
            let id = agent_id.clone();
            let removal = self
                .writer
                .write(0, move |tx| match tx.agent(&id)? {
                    Some((no, _)) => tx.remove_agent_rows(no, REMOVAL_STEP),
                    None => Ok(Removal::Done),
                })
                .await;
            match removal {
                Ok(Removal::Done) => break,
                Ok(Removal::More) => {}
                Err(error) => {
                    tracing::error!(%agent_id, %error, "an agent's rows could not be removed; the next boot goes on");
                    break;
                }
            }
        }
        self.removed.send_modify(|count| *count += 1);
    }
}

/// The call and the patch of an effect that applies one.
pub(super) const fn patch_of(effect: &Effect) -> Option<(&CallId, &ApplyPatch)> {
    match effect {
        Effect::RunTool {
            call,
            action: HostAction::ApplyPatch(patch),
            ..
        } => Some((&call.id, patch)),
        Effect::RunTool {
            action: HostAction::ExecCommand(_),
            ..
        }
        | Effect::PrepareHome
        | Effect::CallModel { .. }
        | Effect::RemoveHome => None,
    }
}
