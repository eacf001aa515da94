//! Explanation of an agent's state: the scheduler's assessment with the rows and events that led to it.
//!
//! Computed for readers, never stored. Sentences are for people; the ids and times beside them are for programs.

use crate::agent::AgentStatus;
use crate::closure::ClosureDecision;
use crate::id::{AgentId, MessageId, WorkItemId};
use crate::message::{MessageKind, Priority};
use crate::summary::SchedulingPosture;
use crate::time::Timestamp;
use crate::trigger::WakeHint;
use crate::wait::WaitRecord;
use crate::work_item::WorkItemListEntry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// State of an agent with its reasons, and the events that will change it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    pub agent_id: AgentId,
    pub status: AgentStatus,
    /// Next step of the scheduler with its reason, from the assessment that it decides by.
    pub scheduling_posture: SchedulingPosture,
    /// Absent while a turn runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closure: Option<ClosureDecision>,
    /// Triggers that would wake the agent, one sentence each.
    pub woken_by: Vec<String>,
    /// Times at which something happens by itself, soonest first. The number is bounded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub planned: Vec<PlannedWake>,
    /// Number of messages in the queue.
    pub pending: u64,
    /// Message that has waited longest. Absent if the queue is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest_unserved: Option<UnservedInput>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_work_item: Option<WorkItemListEntry>,
    /// Active waits, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting_intents: Vec<WaitRecord>,
    /// Hints that no tick has delivered yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending_wake_hints: Vec<WakeHint>,
    /// Last decisions about the agent, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decisions: Vec<ExplainedDecision>,
}

/// An action that the due-queue will trigger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlannedWake {
    pub at: Timestamp,
    /// Description of the action for people.
    pub what: String,
}

/// A message that no turn has taken up yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnservedInput {
    pub message_id: MessageId,
    pub kind: MessageKind,
    pub priority: Priority,
    pub created_at: Timestamp,
    /// Beginning of the message.
    pub preview: String,
}

/// One decision about the agent, described from its events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedDecision {
    /// Position of the event that recorded the decision.
    pub event_seq: u64,
    pub at: Timestamp,
    /// Name of the choice or of the event kind.
    pub decision: String,
    /// Description of the decision for people.
    pub what: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// Facts that led to the decision, in a few words each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}
