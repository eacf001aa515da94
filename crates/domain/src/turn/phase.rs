//! What an open turn waits for, and for how long it has waited.

use super::LogSeq;
use crate::effect::EffectId;
use crate::send::SendId;
use crate::time::Timestamp;
use crate::timer::DueId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Event that an open turn waits for, with the data that is valid in this phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
pub enum Phase {
    /// The turn waits for a model's answer.
    CallingModel { effect: EffectId },
    /// The turn waits for the end of a backoff before the next attempt.
    BackingOff {
        /// Entry in the due-queue that ends the pause.
        due: DueId,
        until: Timestamp,
        /// Condition that the pause waits for.
        #[serde(default, skip_serializing_if = "crate::skip::is_default")]
        cause: PauseCause,
    },
    /// No model of the chain could answer, and no caller waits for the turn's end. The turn waits for better
    /// conditions.
    Suspended {
        reason: SuspensionReason,
        /// Model that failed for this reason, as `provider/model`.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        model_ref: String,
        /// Description of its failure, shortened.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        error: String,
        /// Pause after which the models are asked again. Absent if only an operator's message, a start or a change of
        /// the model ends the suspension.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pause: Option<SuspensionPause>,
    },
    /// The turn waits for the result of a tool call. The calls are in the log entry of their round.
    RunningTool {
        /// Log entry of the round.
        round_entry: LogSeq,
        /// Position of the running call in its round, counted from 0.
        call_index: usize,
        effect: EffectId,
    },
    /// The turn waits for another agent's verdict on a send. It arrives in the same commit, unless that commit had no
    /// room for it.
    Sending {
        /// Log entry of the round.
        round_entry: LogSeq,
        /// Position of the sending call in its round, counted from 0.
        call_index: usize,
        send: SendId,
    },
}

/// Place of a call: the round that made it, and the position in the round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallPlace {
    /// Log entry of the round.
    pub round_entry: LogSeq,
    /// Position in the round, counted from 0.
    pub call_index: usize,
}

impl Phase {
    /// Returns the place of the call in progress, if there is one.
    #[must_use]
    pub const fn call(&self) -> Option<CallPlace> {
        match self {
            Self::RunningTool {
                round_entry,
                call_index,
                ..
            }
            | Self::Sending {
                round_entry,
                call_index,
                ..
            } => Some(CallPlace {
                round_entry: *round_entry,
                call_index: *call_index,
            }),
            Self::CallingModel { .. } | Self::BackingOff { .. } | Self::Suspended { .. } => None,
        }
    }

    /// Returns the entry of the due-queue that ends this phase, if there is one.
    #[must_use]
    pub fn due(&self) -> Option<DueId> {
        match self {
            Self::BackingOff { due, .. } => Some(*due),
            Self::Suspended { pause, .. } => pause.map(|pause| pause.due),
            Self::CallingModel { .. } | Self::RunningTool { .. } | Self::Sending { .. } => None,
        }
    }
}

/// Pause of a suspended turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuspensionPause {
    /// Entry in the due-queue that ends the pause.
    pub due: DueId,
    pub until: Timestamp,
    pub length_ms: u64,
    /// True if the pause lasts until a renewal that the provider named.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub renewal: bool,
}

/// Reason for the suspension of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SuspensionReason {
    /// A provider had a problem that may pass: no connection, a timeout, overload or a garbled answer.
    ProviderTrouble,
    /// This machine has no network.
    Network,
    /// An allowance is used up.
    Quota,
    /// A credential is missing or refused.
    Auth,
    /// No model is chosen, or no provider knows the chosen one.
    ModelUnavailable,
    /// A budget has no room for another call.
    BudgetReached,
}

impl SuspensionReason {
    pub const ALL: [Self; 6] = [
        Self::ProviderTrouble,
        Self::Network,
        Self::Quota,
        Self::Auth,
        Self::ModelUnavailable,
        Self::BudgetReached,
    ];

    /// Returns the stored spelling, which is never renamed.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ProviderTrouble => "provider_trouble",
            Self::Network => "network",
            Self::Quota => "quota",
            Self::Auth => "auth",
            Self::ModelUnavailable => "model_unavailable",
            Self::BudgetReached => "budget_reached",
        }
    }
}

/// Waiting time of the current round, and the notices that the operator got about it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Patience {
    /// Time at which the first request that failed was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Total length of the suspensions without a named end that ran to their end. Planned lengths count, not the clock:
    /// a machine that sleeps, or an operator who keeps writing, does not use up the patience.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub waited_ms: u64,
    /// The same for suspensions until a renewal that the provider named.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub renewal_waited_ms: u64,
    /// Time at which the last attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_at: Option<Timestamp>,
    /// Reason for which the operator was told that only they can end the suspension. Cleared when they have changed
    /// something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_requested: Option<SuspensionReason>,
    /// Budget and limit that the operator was told of last. Absent if no budget was reached in the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told_limit: Option<String>,
}

/// Cause of a backoff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseCause {
    /// The provider failed; the request is retried.
    #[default]
    Retry,
    /// This machine reaches no provider.
    Network,
    /// The allowance is used up until the end of the pause.
    Quota,
}

impl PauseCause {
    /// Returns the stored spelling, which is never renamed.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Network => "network",
            Self::Quota => "quota",
        }
    }
}
