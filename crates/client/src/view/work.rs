//! The decoded parts of responses about work items, wakes and the explanation of an agent's state.

use super::{Item, Posture, Wait, WakeHint};
use holon_domain::WorkItemId;
use serde::Deserialize;

/// A work item with all that the client shows of it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WorkItem {
    pub id: WorkItemId,
    pub agent_id: String,
    pub objective: String,
    pub state: String,
    /// Relation of the item to the agent's focus.
    pub focus: String,
    pub scheduling_state: String,
    pub plan_status: String,
    pub plan_artifact: PlanFile,
    /// Absent if the host left it out.
    pub todo_list: Option<Vec<Todo>>,
    pub blocked_by: Option<String>,
    /// Time at which the agent is reminded of the blocker.
    pub recheck_at: Option<String>,
    /// Absent until the item is completed with a report.
    pub completion_report: Option<Report>,
    /// Origin of the report; absent if there is none.
    pub delivery_summary: Option<DeliverySummary>,
    /// Number of changes so far.
    pub revision: u64,
    pub updated_at: String,
}

/// Plan file of a work item.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PlanFile {
    pub path: String,
    #[serde(default)]
    pub bytes: u64,
    /// Absent if the file is not written yet.
    pub hash: Option<String>,
    /// Beginning of the file; shorter in lists.
    #[serde(default)]
    pub preview: String,
}

/// One entry of a checklist.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Todo {
    pub text: String,
    pub state: String,
}

/// Completion report of a work item.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Report {
    pub text: String,
}

/// A page of work items.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WorkItemsPage {
    /// Number of items in this page.
    pub returned: u64,
    /// Number of items that match the filter, including those beyond the limit.
    pub total_matching: u64,
    /// Most recently changed first.
    pub work_items: Vec<WorkItem>,
    /// Cursor of the next page; absent on the last one.
    pub next_cursor: Option<String>,
}

/// Response to a wake.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Wake {
    pub agent_id: String,
    /// Word for the effect of the wake, such as `triggered`.
    pub disposition: String,
}

/// State of an agent with its reasons, and the events that will change it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Explanation {
    pub agent_id: String,
    pub status: String,
    pub scheduling_posture: Posture,
    /// Absent while a turn runs.
    pub closure: Option<Closure>,
    /// Triggers that would wake the agent, one sentence each.
    pub woken_by: Vec<String>,
    /// Times at which something happens by itself, soonest first.
    #[serde(default)]
    pub planned: Vec<PlannedWake>,
    /// Number of queued messages.
    pub pending: u64,
    /// Message that has waited longest; absent if the queue is empty.
    pub oldest_unserved: Option<UnservedInput>,
    pub current_work_item: Option<Item>,
    /// Active waits, oldest first.
    #[serde(default)]
    pub waiting_intents: Vec<Wait>,
    /// Hints that no tick has delivered yet.
    #[serde(default)]
    pub pending_wake_hints: Vec<WakeHint>,
    /// Last decisions about the agent, newest first.
    #[serde(default)]
    pub decisions: Vec<ExplainedDecision>,
}

/// State of an agent between two turns.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Closure {
    pub outcome: String,
    /// Present only while the agent waits.
    pub waiting_reason: Option<String>,
    #[serde(default)]
    pub evidence: Vec<String>,
}

/// An action that the host will take by itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PlannedWake {
    pub at: String,
    pub what: String,
}

/// A message that no turn has taken up yet.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct UnservedInput {
    pub message_id: String,
    pub kind: String,
    pub created_at: String,
    /// Beginning of the message.
    pub preview: String,
}

/// One decision about the agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ExplainedDecision {
    pub at: String,
    pub what: String,
    #[serde(default)]
    pub evidence: Vec<String>,
}

/// Origin of the report of a completed item.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct DeliverySummary {
    /// Absent for items that earlier builds of the host completed.
    pub id: Option<String>,
    pub source: String,
    pub brief_id: String,
    /// Message that the completing turn answered.
    pub message_id: Option<String>,
    pub created_at: String,
}
