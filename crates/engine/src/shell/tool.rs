//! Runs tool calls: performs each action by its port, commits the result, and removes the call's records afterwards.

use super::{AFTER_A_FAULT_MS, Shell};
use crate::error::Error;
use crate::skill_use::{self, PathBases};
use crate::tool_outcome::{CallCleanup, EndedCommand, ToolRunOutcome};
use crate::tool_run::ToolRun;
use holon_core::summary::workspace_warning;
use holon_core::{Input, Reply, Stamp};
use holon_domain::block::ToolCall;
use holon_domain::consequence::Consequence;
use holon_domain::effect::{Effect, EffectRecord};
use holon_domain::intent::HostAction;
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind};
use holon_domain::workspace::WorkspaceEntry;
use holon_domain::{AgentId, CallId};
use std::sync::PoisonError;
use tokio_util::sync::CancellationToken;

impl Shell {
    /// Runs a call and commits its result. If the call is cancelled or the host goes down, its command or patch
    /// continues and is found again later.
    pub(super) async fn run_tool(&self, record: &EffectRecord, cancel: CancellationToken) {
        let began = self.ports.clock.elapsed();
        let run = match self.call_in_hand(&record.agent_id).await {
            Ok(Some(run)) if run.effect == record.id => run,
            Ok(Some(_)) | Err(_) => return,
            Ok(None) => return self.report_missing(record).await,
        };
        let fence_key = format!("{:032x}", self.ports.entropy.source().next());
        let Some(mut outcome) = self.run_action(&run, cancel).await else {
            return;
        };
        self.note_skills(&run, &mut outcome).await;
        self.conceal(&run.agent_id, &mut outcome.consequence).await;
        if let Some(result) = outcome.consequence.result_mut() {
            result.fence_key = Some(fence_key);
        }
        let took = self.ports.clock.elapsed().saturating_sub(began);
        let finished = Input::ToolFinished {
            stamp: Stamp::of(record),
            consequence: outcome.consequence,
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        };
        holon_fault::hit("tool.done");
        // If the result was not accepted, another effect owns the call and its records.
        if self.submit_until_committed(&run.agent_id, finished).await == Some(Reply::Done) {
            self.forget(&run.agent_home, &run.call.id, outcome.forget)
                .await;
        } else if run.action == HostAction::WritePlan {
            self.discard_plan(&run).await;
        }
    }

    async fn run_action(&self, run: &ToolRun, cancel: CancellationToken) -> Option<ToolRunOutcome> {
        self.warn_of_workspace(run);
        let context = run.context();
        match &run.action {
            HostAction::ExecCommand(command) => {
                self.exec_command(run, context, command.clone(), cancel)
                    .await
            }
            HostAction::ExecCommandBatch(batch) => {
                self.exec_batch(run, context, batch.clone(), cancel).await
            }
            HostAction::ApplyPatch(patch) => self.apply_patch(run, context, patch).await,
            HostAction::TaskInput(input) => self.task_input(run, input).await,
            HostAction::TaskOutput(query) => self.task_output(run, query.clone(), cancel).await,
            HostAction::WritePlan => Some(self.write_plan(run, cancel).await),
            HostAction::WorkQuery(query) => Some(self.work_query(run, query).await),
            HostAction::Memory(query) => Some(self.memory_query(run, query).await),
            HostAction::UseWorkspace(request) => {
                let order = run.workspace_order(request.clone());
                let selected = self.ports.workspace.select(order).await;
                holon_fault::hit("workspace.selected");
                let guidance = match &selected {
                    Ok(selected) => self.guidance_of(run, &selected.entry).await,
                    Err(_) => None,
                };
                Some(ToolRunOutcome::of_workspace(selected).with_guidance(guidance))
            }
            HostAction::WebFetch(request) => self.web_fetch(request.clone(), cancel).await,
            HostAction::WebSearch(request) => self.web_search(request.clone(), cancel).await,
            HostAction::ViewImage { file_path } => {
                Some(self.view_image(run, file_path.clone()).await)
            }
            HostAction::PrepareChild(spawn) => Some(self.prepare_child(run, spawn).await),
            HostAction::LookAtFiles { paths } => Some(self.look_at_files(run, paths).await),
        }
    }

    /// Reads the guidance of a workspace that a call enters, as text for its result. The frame of the turn was built
    /// with that of the workspace in which the turn began. `None` if the anchor stays the same.
    async fn guidance_of(&self, run: &ToolRun, entry: &WorkspaceEntry) -> Option<String> {
        let roots = run.guidance_roots.in_workspace(entry);
        let left = run.guidance_roots.workspace_anchor.as_ref();
        if roots.workspace_anchor.as_ref() == left {
            return None;
        }
        let left_workspace = left.is_some();
        let guidance = self.ports.guidance.read(roots).await;
        holon_prompt::entered_guidance(&guidance, left_workspace)
    }

    /// Notes the skills that commands of a call referred to: with its result those of successful commands, with its task
    /// those of a command that goes on.
    async fn note_skills(&self, run: &ToolRun, outcome: &mut ToolRunOutcome) {
        if !outcome.referring.iter().any(skill_use::may_use_skill) {
            return;
        }
        let roots = run.guidance_roots.clone();
        let catalog = self.ports.guidance.read(roots).await.skills;
        let user_home = self.ports.guidance.user_home();
        let bases = PathBases {
            cwd: &run.workspace.cwd,
            user_home: user_home.as_deref(),
        };
        let mut skills = skill_use::find(&catalog, &outcome.referring, bases);
        if skills.is_empty() {
            return;
        }
        for skill in &mut skills {
            let changed = self.ports.guidance.skill_change(&skill.entrypoint_path);
            skill.change = changed.await;
        }
        outcome.consequence = match outcome.consequence.clone() {
            Consequence::Result(result) => Consequence::SkillUsed { result, skills },
            Consequence::Task { result, mut spec } => {
                spec.skills = Some(Box::new(run.task_skills(skills)));
                Consequence::Task { result, spec }
            }
            other @ (Consequence::SkillUsed { .. }
            | Consequence::Workspace { .. }
            | Consequence::ChildPrepared { .. }
            | Consequence::FilesSeen { .. }
            | Consequence::PlanWritten(_)) => other,
        };
    }

    /// Warns once per agent that its workspace reaches a directory of the host.
    fn warn_of_workspace(&self, run: &ToolRun) {
        let facts = self.kernel.conditions().now();
        let Some(warning) = workspace_warning(&run.agent_id, &run.workspace, &facts) else {
            return;
        };
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.insert(run.agent_id.clone()) {
            tracing::warn!(agent_id = %run.agent_id, "{warning}");
        }
    }

    /// Reports a call that is not in the log, so that its turn does not wait for it. Has no effect if the turn is over.
    async fn report_missing(&self, record: &EffectRecord) {
        let error = ToolError::new(
            ToolErrorKind::ToolExecutionFailed,
            "the call is missing from the log; nothing was done",
        );
        let finished = Input::ToolFinished {
            stamp: Stamp::of(record),
            consequence: Consequence::Result(ToolEnvelope::failure("unknown", error)),
            duration_ms: 0,
        };
        self.submit_until_committed(&record.agent_id, finished)
            .await;
    }

    /// Reads the call of an effect; `None` if its turn is over. Retries a failed read until the host halts.
    pub(super) async fn find_tool_run(&self, record: &EffectRecord) -> Option<ToolRun> {
        let Effect::RunTool { .. } = record.effect else {
            return None;
        };
        let found = self.call_in_hand(&record.agent_id).await.ok()??;
        (found.effect == record.id).then_some(found)
    }

    /// Reads the call that an agent's open turn runs. Retries a failed read until the host halts.
    ///
    /// # Errors
    /// When the agent is put aside: it is unknown which call runs, so none of its records may be touched.
    pub(super) async fn call_in_hand(&self, agent_id: &AgentId) -> Result<Option<ToolRun>, Error> {
        loop {
            let read = self.store.round_in_hand(agent_id);
            let error = match self.read_or_put_aside(agent_id, read).await {
                Ok(found) => {
                    let run = found.and_then(|(agent, round)| ToolRun::in_hand(agent, round));
                    return Ok(run.map(|run| self.with_kind(run)));
                }
                Err(error @ Error::AgentAside { .. }) => return Err(error),
                Err(error) => error,
            };
            if self.halted.is_cancelled() {
                return Err(Error::ShuttingDown);
            }
            tracing::warn!(%agent_id, %error, "the call of an agent could not be read yet");
            self.pause(AFTER_A_FAULT_MS).await;
        }
    }

    /// Puts the kind that the agent has under the host's settings in place of the stored one.
    fn with_kind(&self, mut run: ToolRun) -> ToolRun {
        let facts = self.kernel.conditions().now();
        run.guidance_roots.kind = facts.kind_of(&run.agent_id, run.guidance_roots.kind);
        run
    }

    async fn forget(&self, agent_home: &str, call: &CallId, forget: CallCleanup) {
        match forget {
            CallCleanup::Nothing => {}
            CallCleanup::Patch => self.ports.file.forget_patch(agent_home, call).await,
            CallCleanup::Commands(ended) => self.forget_commands(ended).await,
        }
    }

    pub(super) async fn forget_commands(&self, ended: Vec<EndedCommand>) {
        for EndedCommand { key, output } in ended {
            self.ports.command.forget(&key, output).await;
        }
    }
}

/// The result of a call whose agent's rows cannot be read.
pub(super) fn unreadable_result(call: &ToolCall) -> ToolEnvelope {
    let error = ToolError::new(
        ToolErrorKind::ToolExecutionFailed,
        "what the call is about could not be read; nothing was done",
    );
    ToolEnvelope::failure(&call.name, error.retryable())
}
