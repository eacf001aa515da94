//! Payloads of events about messages and about decisions of the scheduler.

use crate::agent::AgentStatus;
use crate::authority::AuthorityClass;
use crate::closure::{ClosureOutcome, WaitingReason};
use crate::continuation::{ContinuationClass, TriggerKind};
use crate::id::{MessageId, RunId, TaskId, WorkItemId};
use crate::log::InterjectionBoundary;
use crate::message::{AdmissionContext, DeliverySurface, MessageKind, Origin, Priority};
use crate::queue::MessageSeq;
use crate::turn::TerminalReason;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Labels of a message without its body. See [`Event::MessageAdmitted`](super::Event::MessageAdmitted).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageAdmitted {
    pub message_id: MessageId,
    /// Position in the agent's queue, counted from 1 and never used again.
    pub message_seq: u64,
    pub kind: MessageKind,
    /// Sender of the message and the channel it came through.
    pub origin: Origin,
    /// Trust in the content: instruction, evidence and so on. Readers also get the older label for it, `trust`.
    pub authority_class: AuthorityClass,
    /// Band in the queue; a higher band is taken first.
    pub priority: Priority,
    /// Interface through which the message came in, for example HTTP or the command line.
    pub delivery_surface: DeliverySurface,
    /// Authentication that this interface requires.
    pub admission_context: AdmissionContext,
    /// Kind of trigger the message is for the scheduler.
    pub trigger_kind: TriggerKind,
    /// Work item the message is bound to. Absent if it is bound to none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// Task that the message reports on. Absent if it belongs to none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// Ids of what the message goes back to: `callback_descriptor_id`, `waiting_intent_id`, `timer_id`, `task_result_id` with
    /// `task_id`, and `queued_event_id`; a tick for several triggers or waits has the plural with all ids, separated by
    /// spaces. The runtime writes those that its messages and their origins have. `queued_event_id` of an event from
    /// outside is the `delivery_id` that its sender gave, or else the id of the message. Metadata of a sender that names one
    /// of them is copied where the runtime writes none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub source_refs: BTreeMap<String, String>,
    /// Caller-supplied id that links related messages; copied unchanged, never interpreted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// Caller-supplied id of the message or event that caused this one; copied unchanged, never interpreted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
}

/// Start of the work on a message. See [`Event::MessageProcessingStarted`](super::Event::MessageProcessingStarted).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageProcessingStarted {
    pub message_id: MessageId,
    pub run_id: RunId,
    /// Milliseconds from the admission of the message to this event.
    pub queue_wait_ms: u64,
    /// Queue position of the message. The API adds the origin of the message. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
    /// Turn that took up the message. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_index: Option<u64>,
}

/// End of the work on a message that was not finished. See
/// [`Event::MessageProcessingAborted`](super::Event::MessageProcessingAborted).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageProcessingAborted {
    pub message_id: MessageId,
    pub message_kind: MessageKind,
    /// Run that was aborted. Absent if none was open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    pub reason: TerminalReason,
    /// Queue position of the message. The API adds the origin of the message. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
    /// Turn that was aborted. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_index: Option<u64>,
}

/// Operator message that joined a running turn. See
/// [`Event::OperatorInterjectionAdmitted`](super::Event::OperatorInterjectionAdmitted).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperatorInterjectionAdmitted {
    pub message_id: MessageId,
    /// Number of the first model request of the turn that contains the message.
    pub round: u32,
    /// Safe point of the turn at which the message joined.
    pub boundary: InterjectionBoundary,
    /// Interface through which the message came in.
    pub delivery_surface: DeliverySurface,
    /// Authentication that this interface requires.
    pub admission_context: AdmissionContext,
    /// Beginning of the message.
    pub text_preview: String,
    /// Queue position of the message. The API adds the origin of the message. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
    /// Run that the message joined. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Turn that the message joined. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_index: Option<u64>,
    /// Sender of the message. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Trust in the content. Readers also get the older label for it, `trust`. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority_class: Option<AuthorityClass>,
    /// Band in the queue. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Calls of the turn without a result when the message joined. Always 0 today: messages join between rounds, when
    /// every call has its result.
    #[serde(default)]
    pub pending_tool_call_count: u32,
}

/// Choice of the scheduler with its reason. See [`Event::SchedulerDecision`](super::Event::SchedulerDecision).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SchedulerDecision {
    pub decision: SchedulerChoice,
    /// One sentence for people.
    pub reason: String,
    /// True if a model turn follows.
    pub model_reentry: bool,
    /// Message that the decision is about. Absent when the agent rests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    /// Facts that led to the decision, in a few words each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// Queue position of that message. The API adds the origin of the message. Absent when the agent rests, and in
    /// events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
    /// `message_admission` if the message wakes the agent. Absent for any other decision, and in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary: Option<String>,
    /// Status of the agent before and after. Present with `boundary`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_status: Option<AgentStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_status: Option<AgentStatus>,
}

/// Choices of the scheduler. The names are established and part of the wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SchedulerChoice {
    /// Open a model turn for the message.
    StartModelTurn,
    /// Handle the message without a model.
    ReduceMessageOnly,
    /// Rest until a time that is set.
    WaitForTimer,
    /// Rest until an operator writes.
    WaitForOperator,
    /// Rest until something outside changes.
    WaitForExternalChange,
    /// Rest because there is nothing to do, or until a task ends.
    Sleep,
    /// Reserved: do not run, because the agent is stopped. This build does not record it.
    Stop,
    /// Reserved: nothing was decided. This build does not record it.
    Noop,
}

/// Classification of a message. See [`Event::ContinuationResolved`](super::Event::ContinuationResolved).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContinuationResolved {
    pub message_id: MessageId,
    /// Kind of trigger the message is.
    pub trigger_kind: TriggerKind,
    /// Relation of the message to what the agent was waiting for.
    pub class: ContinuationClass,
    /// Closure of the agent when the message was taken from the queue.
    pub prior_closure_outcome: ClosureOutcome,
    /// Present if the agent was waiting then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior_waiting_reason: Option<WaitingReason>,
    /// True if the message is what the agent waited for.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub matched_waiting_reason: bool,
    /// True if a model turn follows. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_visible: Option<bool>,
    /// Facts that led to the class: the prior closure and the kind of the message.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// Queue position of the message. The API adds the origin of the message. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}
