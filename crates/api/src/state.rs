//! Snapshot of one agent, from one read transaction.

use crate::status::StatusResponse;
use holon_domain::RunId;
use holon_domain::summary::{AgentSummary, ExecutionSnapshot};
use holon_domain::task::TaskListEntry;
use holon_domain::timer::TimerView;
use holon_domain::trigger::TriggerRecord;
use holon_domain::wait::WaitRecord;
use holon_domain::work_item::WorkItemListEntry;
use serde::Serialize;
use serde_json::Value;

/// Response of `GET /agents/{id}/state`. Every list is bounded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StateResponse {
    pub agent: StatusResponse,
    pub session: SessionState,
    /// Tasks that are not over.
    pub tasks: Vec<TaskListEntry>,
    /// Timers that were neither cancelled nor used up.
    pub timers: Vec<TimerView>,
    /// Open work items, most recently changed first.
    pub work_items: Vec<WorkItemListEntry>,
    /// Waits that nothing has ended yet.
    pub waiting_intents: Vec<WaitRecord>,
    /// Active capabilities, without their URLs.
    pub external_triggers: Vec<TriggerRecord>,
    /// Always empty: this build sends no notices beside the briefs.
    pub operator_notifications: Vec<Value>,
    pub workspace: WorkspaceState,
    pub execution: ExecutionSnapshot,
    /// Position of the newest event, from the same read. A client can stream from there without a gap.
    pub newest_seq: u64,
    /// Identity of the store. With another epoch the position is not valid any more.
    pub epoch: String,
}

/// The run of an agent and its queue.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionState {
    /// Absent while no turn is open.
    pub current_run_id: Option<RunId>,
    /// Number of queued messages.
    pub pending_count: u64,
    /// The last finished turn; absent before the first.
    pub last_turn: Value,
}

/// The workspaces of an agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorkspaceState {
    pub attached_workspaces: Value,
    pub active_workspace_entry: Value,
    pub active_workspace_occupancy: Value,
    pub worktree_session: Value,
}

impl StateResponse {
    /// Builds the snapshot from a summary.
    ///
    /// # Errors
    /// When a part cannot be encoded.
    pub fn new(summary: AgentSummary, epoch: &str) -> Result<Self, serde_json::Error> {
        let agent = serde_json::to_value(&summary.agent)?;
        let part = |name: &str| agent.get(name).cloned().unwrap_or_default();
        Ok(Self {
            session: SessionState {
                current_run_id: summary.agent.current_run_id.clone(),
                pending_count: summary.agent.pending,
                last_turn: part("last_turn_terminal"),
            },
            tasks: summary.active_tasks.clone(),
            timers: summary.work.timers.clone(),
            work_items: summary.work.work_items.clone(),
            waiting_intents: summary.work.waiting_intents.clone(),
            external_triggers: summary.work.external_triggers.clone(),
            operator_notifications: Vec::new(),
            workspace: WorkspaceState {
                attached_workspaces: part("attached_workspaces"),
                active_workspace_entry: part("active_workspace_entry"),
                active_workspace_occupancy: part("active_workspace_occupancy"),
                worktree_session: part("worktree_session"),
            },
            execution: summary.execution.clone(),
            newest_seq: summary.newest_seq,
            epoch: epoch.to_owned(),
            agent: summary.into(),
        })
    }
}
