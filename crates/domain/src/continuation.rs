//! Continuation: what a trigger means for an agent that stood in a given closure.

use crate::closure::{ClosureOutcome, WaitingReason};
use serde::{Deserialize, Serialize};

/// The normalised kind of a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TriggerKind {
    /// The operator spoke.
    OperatorInput,
    /// A managed execution reported.
    TaskResult,
    /// Something happened outside.
    ExternalEvent,
    /// A time came.
    TimerFire,
    /// The agent asked itself.
    InternalFollowup,
    /// The runtime woke it.
    SystemTick,
}

impl TriggerKind {
    /// Every trigger.
    pub const ALL: [Self; 6] = [
        Self::OperatorInput,
        Self::TaskResult,
        Self::ExternalEvent,
        Self::TimerFire,
        Self::InternalFollowup,
        Self::SystemTick,
    ];

    /// The stored spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OperatorInput => "operator_input",
            Self::TaskResult => "task_result",
            Self::ExternalEvent => "external_event",
            Self::TimerFire => "timer_fire",
            Self::InternalFollowup => "internal_followup",
            Self::SystemTick => "system_tick",
        }
    }
}

/// How the trigger relates to what the agent was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContinuationClass {
    /// What it waited for came.
    ResumeExpectedWait,
    /// The operator overrides a wait.
    ResumeOverride,
    /// Something to do that no wait asked for.
    LocalContinuation,
    /// A sign of life; nothing for a model.
    LivenessOnly,
}

/// The resolution of one trigger. The last one of an agent is kept in its row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContinuationResolution {
    /// What came.
    pub trigger_kind: TriggerKind,
    /// How it relates.
    pub class: ContinuationClass,
    /// Whether a model turn follows.
    pub model_visible: bool,
    /// Where the agent stood.
    pub prior_closure_outcome: ClosureOutcome,
    /// What it waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior_waiting_reason: Option<WaitingReason>,
    /// Whether this is what it waited for.
    pub matched_waiting_reason: bool,
    /// The facts it follows from, in a few words each: where the agent stood and what the message is. At most
    /// [`crate::limits::CONTINUATION_EVIDENCE`] of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}
