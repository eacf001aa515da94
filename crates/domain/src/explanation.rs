//! Why an agent does what it does: the scheduler's assessment with the rows and events it follows from.
//!
//! Computed for readers, never stored. Words are written for people; ids and times beside them are for programs.

use crate::agent::AgentStatus;
use crate::closure::ClosureDecision;
use crate::id::{AgentId, MessageId, WorkItemId};
use crate::message::{MessageKind, Priority};
use crate::summary::SchedulingPosture;
use crate::time::Timestamp;
use crate::trigger::WakeHint;
use crate::wait::WaitRecord;
use crate::work_item::WorkItemListEntry;
use serde::{Deserialize, Serialize};

/// Where an agent stands, why, and what changes it next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    pub agent_id: AgentId,
    pub status: AgentStatus,
    /// What the scheduler does next and why, from the assessment that it decides by.
    pub scheduling_posture: SchedulingPosture,
    /// Absent while a turn runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closure: Option<ClosureDecision>,
    /// What would make the agent act, one sentence each.
    pub woken_by: Vec<String>,
    /// Times at which something happens by itself, soonest first, a bounded number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub planned: Vec<PlannedWake>,
    /// Messages that wait for their turn.
    pub pending: u64,
    /// The message that has waited longest. Absent when none waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_unserved: Option<UnservedInput>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_work_item: Option<WorkItemListEntry>,
    /// Active waits, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting_intents: Vec<WaitRecord>,
    /// Hints that no tick has told the agent yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending_wake_hints: Vec<WakeHint>,
    /// The last decisions about the agent, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<ExplainedDecision>,
}

/// Something that happens by itself at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedWake {
    pub at: Timestamp,
    /// What happens then, in words.
    pub what: String,
}

/// A message that no turn has taken up yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnservedInput {
    pub message_id: MessageId,
    pub kind: MessageKind,
    pub priority: Priority,
    pub created_at: Timestamp,
    /// The beginning of the message.
    pub preview: String,
}

/// One decision about the agent, put into words from its events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExplainedDecision {
    /// The event it was read from.
    pub event_seq: u64,
    pub at: Timestamp,
    /// Name of the choice or of the event kind.
    pub decision: String,
    /// What was decided, in words.
    pub what: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// The facts the decision followed from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}
