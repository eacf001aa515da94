//! Closure: the state of an agent's work between turns.

use crate::id::WorkItemId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Outcome of an agent's work, computed between turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClosureOutcome {
    /// Nothing is left to do.
    Completed,
    /// Work is left that needs no trigger from outside.
    Continuable,
    /// The last turn failed.
    Failed,
    /// The agent waits for something; `waiting_reason` says for what.
    Waiting,
}

/// Condition that an agent waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitingReason {
    AwaitingOperatorInput,
    AwaitingExternalChange,
    /// A background command or a child agent has to end.
    AwaitingTaskResult,
    /// A planned time has to come.
    AwaitingTimer,
}

impl WaitingReason {
    pub const ALL: [Self; 4] = [
        Self::AwaitingOperatorInput,
        Self::AwaitingExternalChange,
        Self::AwaitingTaskResult,
        Self::AwaitingTimer,
    ];
}

/// Tells whether the runtime keeps the agent awake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuntimePosture {
    /// A turn runs or is about to.
    Awake,
    Sleeping,
}

/// Runnable work that makes a closure continuable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkSignal {
    pub work_item_id: WorkItemId,
    pub status: WorkSignalStatus,
    pub reactivation_mode: ReactivationMode,
}

/// Relation of the signalled item to the agent's focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkSignalStatus {
    /// The item has the focus.
    Active,
    /// The item is runnable and has no focus.
    Queued,
}

/// Step that the runtime takes for a work signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReactivationMode {
    /// Continue the current item.
    ContinueActive,
    /// Offer the queued item to the model.
    ActivateQueued,
}

/// Closure as clients see it. `waiting_reason` is set exactly when waiting, `work_signal` exactly when continuable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClosureDecision {
    pub outcome: ClosureOutcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_reason: Option<WaitingReason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_signal: Option<WorkSignal>,
    pub runtime_posture: RuntimePosture,
    /// Facts that led to the outcome, in a few words each.
    pub evidence: Vec<String>,
}
