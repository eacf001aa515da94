//! Snapshot of one agent, from one read transaction.

use crate::status::StatusResponse;
use holon_domain::summary::{AgentSummary, ExecutionSnapshot, NotificationView};
use holon_domain::task::TaskListEntry;
use holon_domain::timer::TimerView;
use holon_domain::trigger::TriggerView;
use holon_domain::turn::TerminalRecord;
use holon_domain::wait::WaitRecord;
use holon_domain::work_item::WorkItemListEntry;
use holon_domain::workspace::{Occupancy, WorkspaceEntryView, WorktreeSession};
use holon_domain::{RunId, WorkspaceId};
use schemars::JsonSchema;
use serde::Serialize;

/// Response of `GET /agents/{id}/state`. Every list is bounded.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StateResponse {
    pub agent: StatusResponse,
    pub session: SessionState,
    /// Tasks that are not over.
    pub tasks: Vec<TaskListEntry>,
    /// Timers that were neither cancelled nor used up.
    pub timers: Vec<TimerView>,
    /// Open work items that nothing blocks, then those that wait or are blocked, then those that were completed last;
    /// in each group the most recently changed first.
    pub work_items: Vec<WorkItemListEntry>,
    /// Waits that nothing has ended yet.
    pub waiting_intents: Vec<WaitRecord>,
    /// Active capabilities, without their URLs.
    pub external_triggers: Vec<TriggerView>,
    /// Notifications among the newest events, newest first.
    pub operator_notifications: Vec<NotificationView>,
    pub workspace: WorkspaceState,
    pub execution: ExecutionSnapshot,
    /// Position of the newest event, from the same read. A client can stream from there without a gap.
    pub newest_seq: u64,
    /// Identity of the store. With another epoch the position is not valid any more.
    pub epoch: String,
}

/// The run of an agent and its queue.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SessionState {
    /// Absent while no turn is open.
    pub current_run_id: Option<RunId>,
    /// Number of queued messages.
    pub pending_count: u64,
    /// The last finished turn; absent before the first.
    pub last_turn: Option<TerminalRecord>,
}

/// The workspaces of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct WorkspaceState {
    pub attached_workspaces: Vec<WorkspaceId>,
    pub active_workspace_entry: Option<WorkspaceEntryView>,
    /// Execution root that the agent occupies; null if it works in its own home.
    pub active_workspace_occupancy: Option<Occupancy>,
    pub worktree_session: Option<WorktreeSession>,
}

impl StateResponse {
    /// Builds the snapshot from a summary.
    #[must_use]
    pub fn new(summary: AgentSummary, epoch: &str, operator_time_zone: String) -> Self {
        let agent = &summary.agent;
        let mut work_items = summary.work.work_items.clone();
        work_items.sort_by_key(|item| item.scheduling_state.is_blocked());
        work_items.extend(summary.work.completed_items.iter().cloned());
        Self {
            session: SessionState {
                current_run_id: agent.current_run_id.clone(),
                pending_count: agent.pending,
                last_turn: agent.last_turn_terminal.clone(),
            },
            tasks: summary.active_tasks.clone(),
            timers: summary.work.timers.clone(),
            work_items,
            waiting_intents: summary.work.waiting_intents.clone(),
            external_triggers: summary.work.external_triggers.clone(),
            operator_notifications: summary.work.notifications.clone(),
            workspace: WorkspaceState {
                attached_workspaces: agent.attached_workspaces.clone(),
                active_workspace_entry: agent.active_workspace_entry.clone(),
                active_workspace_occupancy: summary.active_workspace_occupancy.clone(),
                worktree_session: agent.worktree_session.clone(),
            },
            execution: summary.execution.clone(),
            newest_seq: summary.newest_seq,
            epoch: epoch.to_owned(),
            agent: StatusResponse::new(summary, operator_time_zone),
        }
    }
}
