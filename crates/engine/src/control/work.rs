//! Operator requests about an agent's work: items, waits, timers and wakes.

use super::ControlHandle;
use crate::error::Error;
use crate::request::{FirstSlot, TimerOrder, Wake};
use holon_core::input::WorkCommand;
use holon_core::timer::TimerCost;
use holon_core::{Input, Reply, summary};
use holon_domain::intent::{NewTimer, NewWorkItem, WorkItemChange};
use holon_domain::timer::TimerView;
use holon_domain::trigger::{DeliveryMode, WakeHint};
use holon_domain::wait::WaitRecord;
use holon_domain::work_item::WorkItemView;
use holon_domain::{AgentId, TimerId, Timestamp, WaitId, WorkItemId};

/// Coalescing key for hints of operators who name no source.
const OPERATOR: &str = "operator";

impl ControlHandle {
    /// Creates a work item. An idle agent begins to work on it by itself.
    ///
    /// # Errors
    /// When there is no such agent, it is stopped, the item is refused, or storage fails.
    pub async fn create_work_item(
        &self,
        agent_id: &AgentId,
        new: NewWorkItem,
    ) -> Result<WorkItemView, Error> {
        self.change_item(agent_id, WorkCommand::Create(new)).await
    }

    /// Changes fields of an open work item.
    ///
    /// # Errors
    /// When there is no such agent or item, the item is completed, the change is refused, or storage fails.
    pub async fn update_work_item(
        &self,
        agent_id: &AgentId,
        work_item_id: WorkItemId,
        change: WorkItemChange,
    ) -> Result<WorkItemView, Error> {
        let command = WorkCommand::Update {
            work_item_id,
            change,
        };
        self.change_item(agent_id, command).await
    }

    /// Completes an open work item.
    ///
    /// # Errors
    /// When there is no such agent or item, the item is completed already, or storage fails.
    pub async fn complete_work_item(
        &self,
        agent_id: &AgentId,
        work_item_id: WorkItemId,
    ) -> Result<WorkItemView, Error> {
        let command = WorkCommand::Complete { work_item_id };
        self.change_item(agent_id, command).await
    }

    /// Resumes a stalled work item.
    ///
    /// # Errors
    /// When there is no such agent or item, the item is completed, or storage fails.
    pub async fn resume_work_item(
        &self,
        agent_id: &AgentId,
        work_item_id: WorkItemId,
    ) -> Result<WorkItemView, Error> {
        let command = WorkCommand::Resume { work_item_id };
        self.change_item(agent_id, command).await
    }

    /// Ends an active wait.
    ///
    /// # Errors
    /// When there is no such agent, it has no such active wait, or storage fails.
    pub async fn cancel_wait(
        &self,
        agent_id: &AgentId,
        wait_id: WaitId,
    ) -> Result<WaitRecord, Error> {
        let command = WorkCommand::CancelWait { wait_id };
        match self.send_command(agent_id, command).await? {
            Reply::Wait(wait) => Ok(*wait),
            other => Err(unexpected_reply(&other)),
        }
    }

    /// Creates a timer.
    ///
    /// # Errors
    /// When there is no such agent, it is stopped, the timer could never fire, or storage fails.
    pub async fn create_timer(
        &self,
        agent_id: &AgentId,
        order: TimerOrder,
    ) -> Result<TimerView, Error> {
        let TimerOrder {
            first,
            missed,
            summary,
        } = order;
        let command = match first {
            FirstSlot::After {
                delay_ms,
                interval_ms,
            } => WorkCommand::CreateTimerAfter {
                delay_ms,
                interval_ms,
                missed,
                summary,
            },
            FirstSlot::By(schedule) => WorkCommand::CreateTimer(NewTimer {
                schedule,
                missed,
                summary,
            }),
        };
        self.change_timer(agent_id, command).await
    }

    /// Cancels an active timer.
    ///
    /// # Errors
    /// When there is no such agent, it has no such active timer, or storage fails.
    pub async fn cancel_timer(
        &self,
        agent_id: &AgentId,
        timer_id: TimerId,
    ) -> Result<TimerView, Error> {
        self.change_timer(agent_id, WorkCommand::CancelTimer { timer_id })
            .await
    }

    /// Wakes an agent. Returns true if the wake was merged into one that the agent has not read yet.
    ///
    /// # Errors
    /// When there is no such agent, it is stopped, the wake is refused, or storage fails.
    pub async fn wake(&self, agent_id: &AgentId, mut wake: Wake) -> Result<bool, Error> {
        self.shell.conceal(agent_id, &mut wake).await;
        let hint = WakeHint {
            key: wake.source.clone().unwrap_or_else(|| OPERATOR.to_owned()),
            external_trigger_id: None,
            delivery_mode: DeliveryMode::WakeHint,
            source: wake.source,
            reason: Some(wake.reason),
            content_type: None,
            body: None,
            correlation_id: wake.correlation_id,
            causation_id: wake.causation_id,
            // The decision that stores the hint fills in the other fields.
            wait_ids: Vec::new(),
            ended_waits: Vec::new(),
            count: 1,
            last_at: Timestamp::default(),
            earlier: Vec::new(),
            from_outside: false,
        };
        let input = Input::WakeHint(Box::new(hint));
        match self.submit(agent_id, input).await? {
            Reply::Woken { coalesced } => Ok(coalesced),
            other => Err(unexpected_reply(&other)),
        }
    }

    async fn send_command(
        &self,
        agent_id: &AgentId,
        mut command: WorkCommand,
    ) -> Result<Reply, Error> {
        self.shell.conceal(agent_id, &mut command).await;
        self.submit(agent_id, Input::Work(Box::new(command))).await
    }

    async fn change_item(
        &self,
        agent_id: &AgentId,
        command: WorkCommand,
    ) -> Result<WorkItemView, Error> {
        let mut item = match self.send_command(agent_id, command).await? {
            Reply::WorkItem(item) => item,
            other => return Err(unexpected_reply(&other)),
        };
        // The view depends on the agent's focus, which its row holds.
        let agent = self.find(agent_id).await?;
        let agent = agent.ok_or_else(|| Error::AgentNotFound {
            agent_id: agent_id.clone(),
        })?;
        // The row has the plan of the last look; an agent edits its file at any time.
        let plans = &self.shell.ports.plan;
        item.plan = plans.read(&agent.agent_home, &item.id).await;
        Ok(summary::work_item_view(&agent, &item))
    }

    async fn change_timer(
        &self,
        agent_id: &AgentId,
        command: WorkCommand,
    ) -> Result<TimerView, Error> {
        match self.send_command(agent_id, command).await? {
            Reply::Timer(timer) => {
                let agent = self.find(agent_id).await?;
                Ok(agent.map_or_else(|| timer.view(), |agent| TimerCost::view(&timer, &agent)))
            }
            other => Err(unexpected_reply(&other)),
        }
    }
}

fn unexpected_reply(reply: &Reply) -> Error {
    Error::Internal {
        message: format!("a command about work was answered by {reply:?}"),
    }
}
