//! Closure: where the agent stands between turns.

use crate::id::WorkItemId;
use serde::{Deserialize, Serialize};

/// What came of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClosureOutcome {
    /// Nothing is left to do.
    Completed,
    /// Work is left that needs no outside trigger.
    Continuable,
    /// It failed.
    Failed,
    /// It waits for something.
    Waiting,
}

/// What it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitingReason {
    /// An operator.
    AwaitingOperatorInput,
    /// A change outside.
    AwaitingExternalChange,
    /// A managed execution.
    AwaitingTaskResult,
    /// A time.
    AwaitingTimer,
}

impl WaitingReason {
    /// Every reason.
    pub const ALL: [Self; 4] = [
        Self::AwaitingOperatorInput,
        Self::AwaitingExternalChange,
        Self::AwaitingTaskResult,
        Self::AwaitingTimer,
    ];
}

/// Whether the runtime holds the agent awake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuntimePosture {
    /// Executing or about to.
    Awake,
    /// At rest.
    Sleeping,
}

/// Which work makes a closure continuable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkSignal {
    /// The item.
    pub work_item_id: WorkItemId,
    /// Whether it is the current one.
    pub status: WorkSignalStatus,
    /// What the runtime does about it.
    pub reactivation_mode: ReactivationMode,
}

/// Place of the signalled item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkSignalStatus {
    /// The current item.
    Active,
    /// Another runnable one.
    Queued,
}

/// What follows from a work signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReactivationMode {
    /// Go on with the current item.
    ContinueActive,
    /// Offer the queued item to the model.
    ActivateQueued,
}

/// The closure view. `waiting_reason` is set exactly when waiting, `work_signal` exactly when continuable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosureDecision {
    /// What came of the work.
    pub outcome: ClosureOutcome,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_reason: Option<WaitingReason>,
    /// Which work is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_signal: Option<WorkSignal>,
    /// Awake or asleep.
    pub runtime_posture: RuntimePosture,
    /// The facts it follows from.
    pub evidence: Vec<String>,
}
