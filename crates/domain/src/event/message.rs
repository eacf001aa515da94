//! What is recorded of messages and of the choice what to do next.

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

/// See [`super::Event::MessageAdmitted`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageAdmitted {
    /// The message.
    pub message_id: MessageId,
    /// Its position.
    pub message_seq: u64,
    /// Its kind.
    pub kind: MessageKind,
    /// Its origin.
    pub origin: Origin,
    /// Its authority. Readers also get the older label for it, `trust`.
    pub authority_class: AuthorityClass,
    /// Its band.
    pub priority: Priority,
    /// Its ingress.
    pub delivery_surface: DeliverySurface,
    /// That ingress's posture.
    pub admission_context: AdmissionContext,
    /// Its trigger.
    pub trigger_kind: TriggerKind,
    /// Its work item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// Its task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// What it came from.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub source_refs: BTreeMap<String, String>,
    /// Correlation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// Causation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
}

/// See [`super::Event::MessageProcessingStarted`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageProcessingStarted {
    /// The message.
    pub message_id: MessageId,
    /// The run.
    pub run_id: RunId,
    /// How long it was queued.
    pub queue_wait_ms: u64,
    /// Position of the message; where events are read, its origin is added from it. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

/// See [`super::Event::MessageProcessingAborted`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageProcessingAborted {
    /// The message.
    pub message_id: MessageId,
    /// Its kind.
    pub message_kind: MessageKind,
    /// The run, if one was open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Why.
    pub reason: TerminalReason,
    /// Position of the message; where events are read, its origin is added from it. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

/// See [`super::Event::OperatorInterjectionAdmitted`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperatorInterjectionAdmitted {
    /// The message.
    pub message_id: MessageId,
    /// The round whose request held it.
    pub round: u32,
    /// At which safe point.
    pub boundary: InterjectionBoundary,
    /// Its ingress.
    pub delivery_surface: DeliverySurface,
    /// That ingress's posture.
    pub admission_context: AdmissionContext,
    /// Its first words.
    pub text_preview: String,
    /// Position of the message; where events are read, its origin is added from it. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
    /// The run it entered. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The turn it entered. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_index: Option<u64>,
    /// Who wrote it. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// How its content is treated. Readers also get the older label for it, `trust`. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authority_class: Option<AuthorityClass>,
    /// Its band in the queue. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// Calls of the turn without a result when it entered. Messages enter between rounds, when every call has its
    /// result, so it is 0 today.
    #[serde(default)]
    pub pending_tool_call_count: u32,
}

/// See [`super::Event::SchedulerDecision`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SchedulerDecision {
    /// What was chosen.
    pub decision: SchedulerChoice,
    /// Why, in one sentence.
    pub reason: String,
    /// Whether a model turn follows.
    pub model_reentry: bool,
    /// The message it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<MessageId>,
    /// The facts it follows from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}

/// The scheduler's choices, by their established names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SchedulerChoice {
    /// Open a turn.
    StartModelTurn,
    /// Settle a message without a model.
    ReduceMessageOnly,
    /// Wait for a time.
    WaitForTimer,
    /// Wait for an operator.
    WaitForOperator,
    /// Wait for a change outside.
    WaitForExternalChange,
    /// Rest.
    Sleep,
    /// Do not run.
    Stop,
    /// Nothing to choose.
    Noop,
}

/// See [`super::Event::ContinuationResolved`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContinuationResolved {
    /// The message.
    pub message_id: MessageId,
    /// What came.
    pub trigger_kind: TriggerKind,
    /// How it relates.
    pub class: ContinuationClass,
    /// Where the agent stood.
    pub prior_closure_outcome: ClosureOutcome,
    /// What it waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior_waiting_reason: Option<WaitingReason>,
    /// Whether this is what it waited for.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub matched_waiting_reason: bool,
    /// Whether a model turn follows. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_visible: Option<bool>,
    /// The facts the class follows from: where the agent stood and what the message is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}
