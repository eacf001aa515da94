//! Performs effects, each in its own task. Every outcome is stamped with the effect it belongs to.

use super::outbound::DeliveryPlace;
use super::renewal::FailedRequest;
use super::{AFTER_A_FAULT_MS, Shell};
use crate::error::Error;
use holon_core::{Input, Stamp};
use holon_domain::AgentId;
use holon_domain::agent::{AgentKind, AgentRecord};
use holon_domain::effect::{Effect, EffectId, EffectRecord};
use tokio_util::sync::CancellationToken;

impl Shell {
    /// Performs one effect and commits its outcome, if it has one.
    pub(super) async fn perform(&self, record: EffectRecord, cancel: CancellationToken) {
        holon_fault::hit("effect.begin");
        let (stamp, agent_id, id) = (Stamp::of(&record), record.agent_id.clone(), record.id);
        let outcome = match &record.effect {
            Effect::PrepareHome => self.prepare_home(&agent_id, stamp).await,
            Effect::RemoveHome => self.remove_home(&agent_id, stamp).await,
            Effect::CallModel { turn_index, .. } => {
                Box::pin(self.call_model(&agent_id, *turn_index, stamp, cancel)).await
            }
            Effect::RunTool { .. } => {
                self.run_tool(&record, cancel).await;
                None
            }
            Effect::StartTask { task_id } => {
                self.start_task(&agent_id, task_id, stamp, cancel).await;
                None
            }
            Effect::WatchTask { task_id } => {
                self.watch_task(&agent_id, task_id, stamp, cancel).await;
                None
            }
            Effect::StopTask { task_id, force } => {
                self.stop_task(&agent_id, task_id, *force, stamp, cancel)
                    .await;
                None
            }
            Effect::FinishPatch { call_id } => {
                self.finish_patch(&agent_id, call_id, stamp, cancel).await
            }
            Effect::StopBatch { call_id, items, .. } => {
                self.stop_batch(&agent_id, call_id, *items, stamp, cancel)
                    .await;
                None
            }
            Effect::CleanWorktree { worktree_path } => {
                self.clean_worktree(worktree_path, stamp).await
            }
            Effect::SubmitDelivery { route, seq } => {
                let place = DeliveryPlace {
                    agent_id: &agent_id,
                    route,
                    seq: *seq,
                };
                self.submit_delivery(place, stamp, cancel).await
            }
            Effect::Deliver { sends } => Some(Input::Deliver {
                stamp,
                sends: sends.clone(),
            }),
        };
        holon_fault::hit("effect.done");
        if let Some(input) = outcome {
            let failed = FailedRequest::of(&input);
            self.submit_until_committed(&agent_id, input).await;
            if let Some(failed) = failed {
                self.watch_refused(&agent_id, failed).await;
            }
        }
        // The effect counts as running until its outcome is committed; that commit removes it first.
        self.lock_running().remove(&(agent_id, id));
    }

    async fn prepare_home(&self, agent_id: &AgentId, stamp: Stamp) -> Option<Input> {
        let agent = self.read_agent(agent_id).await?;
        let home = &agent.agent_home;
        let result = self.ports.home.prepare(agent_id, home).await;
        if result.is_ok() && self.is_guided(&agent) {
            self.seed_home(agent_id, home).await;
        }
        Some(Input::HomePrepared { stamp, result })
    }

    /// Returns true if the agent works under instructions in its home. A child works under those of its first message.
    fn is_guided(&self, agent: &AgentRecord) -> bool {
        let identity = &agent.identity;
        let facts = self.kernel.conditions().now();
        let kind = facts.kind_of(&identity.agent_id, identity.kind);
        kind != AgentKind::Child && !agent.is_temporary()
    }

    /// Creates the home of an agent that has none although it may run, because an earlier build made it. The agent can
    /// work without it, so a failure is only logged.
    pub(super) async fn ensure_home(&self, agent: &AgentRecord) {
        if !self.is_guided(agent) {
            return;
        }
        let agent_id = &agent.identity.agent_id;
        if let Err(reason) = self.ports.home.ensure(agent_id, &agent.agent_home).await {
            tracing::warn!(%agent_id, reason, "the home of an agent could not be made");
        }
    }

    /// Creates what is missing of an agent's home, before its first turn. The agent can work without it, so a failure is
    /// only logged.
    pub(crate) async fn seed_home(&self, agent_id: &AgentId, agent_home: &str) {
        if let Err(reason) = self.ports.home.seed(agent_id, agent_home).await {
            tracing::warn!(%agent_id, reason, "the home and the instructions of an agent could not be made");
        }
    }

    async fn remove_home(&self, agent_id: &AgentId, stamp: Stamp) -> Option<Input> {
        let home = self.home_of(agent_id).await?;
        let result = self.ports.home.remove(agent_id, &home).await;
        if let Err(reason) = &result {
            // A temporary agent has no status that could show the failure.
            tracing::warn!(%agent_id, reason, "an agent's home could not be removed; it is tried again");
        }
        Some(Input::HomeRemoved { stamp, result })
    }

    /// Returns the path of an agent's home; `None` if the agent is gone.
    pub(super) async fn home_of(&self, agent_id: &AgentId) -> Option<String> {
        let agent = self.read_agent(agent_id).await?;
        Some(agent.settings.agent_home)
    }

    /// Returns an agent's row; `None` if the agent is gone. Retries a failed read until the host halts.
    pub(super) async fn read_agent(&self, agent_id: &AgentId) -> Option<AgentRecord> {
        while !self.halted.is_cancelled() {
            let read = self.store.agent(agent_id);
            match self.read_or_put_aside(agent_id, read).await {
                Ok(found) => return found,
                Err(Error::AgentAside { .. }) => return None,
                Err(error) => {
                    tracing::warn!(%agent_id, %error, "an agent could not be read yet");
                    self.pause(AFTER_A_FAULT_MS).await;
                }
            }
        }
        None
    }
}

/// The effect whose outcome an input is, if it is one.
pub(super) const fn effect_of(input: &Input) -> Option<EffectId> {
    match input {
        Input::HomePrepared { stamp, .. }
        | Input::HomeRemoved { stamp, .. }
        | Input::RoundAnswered { stamp, .. }
        | Input::AttemptFailed { stamp, .. }
        | Input::CallMeasured { stamp, .. }
        | Input::ToolFinished { stamp, .. }
        | Input::Deliver { stamp, .. }
        | Input::PatchFinished { stamp }
        | Input::BatchStopped { stamp, .. }
        | Input::WorktreeCleaned { stamp, .. }
        | Input::DeliverySubmitted { stamp, .. }
        | Input::TaskStarted { stamp, .. }
        | Input::TaskEnded { stamp, .. } => Some(stamp.effect),
        Input::Admit(_)
        | Input::FromCommand { .. }
        | Input::Lane { .. }
        | Input::Operator(_)
        | Input::OperatorMessage { .. }
        | Input::Configure { .. }
        | Input::DueCame { .. }
        | Input::ClockSetBack { .. }
        | Input::HostStops
        | Input::HistoryRemoval { .. }
        | Input::Received(_)
        | Input::Defer { .. }
        | Input::Start
        | Input::Stop
        | Input::Archive
        | Input::Delete
        | Input::Recover { .. }
        | Input::TakeUp
        | Input::GiveUp { .. }
        | Input::CallerLeft { .. }
        | Input::ModelsChanged
        | Input::BudgetChanged
        | Input::CredentialRenewed { .. }
        | Input::WakeHint(_)
        | Input::Trigger(_)
        | Input::Callback(_)
        | Input::Work(_)
        | Input::Workspace(_)
        | Input::Skill(_)
        | Input::Context(_)
        | Input::Task(_)
        | Input::Abort { .. }
        | Input::Continue => None,
    }
}
