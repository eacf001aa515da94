//! Continuation: classification of a trigger against the closure in which it finds the agent.

use crate::closure::{ClosureOutcome, WaitingReason};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Normalised kind of a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TriggerKind {
    /// A message of an operator.
    OperatorInput,
    /// The end of a background command or a child agent.
    TaskResult,
    /// A message or a delivery from outside.
    ExternalEvent,
    /// A slot of a timer came.
    TimerFire,
    /// A follow-up that the agent queued for itself.
    InternalFollowup,
    /// A wake-up by the runtime.
    SystemTick,
}

impl TriggerKind {
    pub const ALL: [Self; 6] = [
        Self::OperatorInput,
        Self::TaskResult,
        Self::ExternalEvent,
        Self::TimerFire,
        Self::InternalFollowup,
        Self::SystemTick,
    ];

    /// Returns the stored spelling, which is never renamed.
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

/// Relation of a trigger to the state of the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContinuationClass {
    /// The awaited thing arrived.
    ResumeExpectedWait,
    /// The operator overrides a wait.
    ResumeOverride,
    /// New work that no wait asked for.
    LocalContinuation,
    /// A notice that needs no model.
    LivenessOnly,
}

/// Classification of one trigger. The last one of an agent is kept in its row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContinuationResolution {
    pub trigger_kind: TriggerKind,
    pub class: ContinuationClass,
    /// True if a model turn follows.
    pub model_visible: bool,
    /// Closure of the agent when the trigger was handled.
    pub prior_closure_outcome: ClosureOutcome,
    /// Present if the agent was waiting then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prior_waiting_reason: Option<WaitingReason>,
    /// True if the trigger is what the agent waited for.
    pub matched_waiting_reason: bool,
    /// Facts that led to the class, in a few words each: the prior closure and the kind of the message. At most
    /// [`crate::limits::CONTINUATION_EVIDENCE`] of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
}
