//! What is recorded of model calls and of the choice of models.

use crate::attempt::{AttemptTimeline, TokenUsage, Tries};
use crate::id::RunId;
use crate::model::StopReason;
use crate::provider::{LearnedLimits, ReasoningEffort};
use crate::queue::MessageSeq;
use crate::time::Timestamp;
use crate::turn::PauseCause;
use serde::{Deserialize, Serialize};

/// See [`super::Event::ProviderRoundCompleted`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProviderRoundCompleted {
    /// The turn.
    pub turn_index: u64,
    /// The round.
    pub round: u32,
    /// Why it stopped.
    pub stop_reason: StopReason,
    /// Building the request.
    pub context_build_ms: u64,
    /// What it cost.
    pub token_usage: TokenUsage,
    /// Cache scope.
    pub prompt_cache_key: String,
    /// Fingerprint of the context.
    pub context_fingerprint: String,
    /// The tries it took. What follows from them and from the usage is spelled out for readers: `requested_model`,
    /// `active_model`, `fallback_active`, `provider_round_ms`, `provider_started_at`, `provider_completed_at`,
    /// `provider_attempt_timeline`, `input_tokens`, `output_tokens`, and `provider_cache_usage` where the provider
    /// reported tokens of a cache.
    pub tries: Tries,
    /// The run this belongs to. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Position of the message that the turn answers; where events are read, its id and origin are added from it. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

/// See [`super::Event::TerminalDeliveryRoundCompleted`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TerminalDeliveryRoundCompleted {
    /// The turn.
    pub turn_index: u64,
    /// What it cost.
    pub token_usage: TokenUsage,
    /// The tries it took.
    pub provider_attempt_timeline: AttemptTimeline,
}

/// See [`super::Event::ProviderRetryScheduled`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProviderRetryScheduled {
    /// The turn.
    pub turn_index: u64,
    /// The round.
    pub round: u32,
    /// The try that failed.
    pub attempt: u32,
    /// Why.
    pub failure_kind: String,
    /// In words.
    pub error: String,
    /// The pause.
    pub backoff_ms: u64,
    /// Its end.
    pub retry_at: Timestamp,
    /// What it is for.
    #[serde(default)]
    pub cause: PauseCause,
    /// Who is asked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_ref: Option<String>,
    /// The run this belongs to. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Position of the message that the turn answers; where events are read, its id and origin are added from it. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

/// See [`super::Event::ProviderFallbackSelected`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProviderFallbackSelected {
    /// The turn.
    pub turn_index: u64,
    /// The round.
    pub round: u32,
    /// Who failed.
    pub from_model_ref: String,
    /// Who is asked now, for the rest of the turn.
    pub to_model_ref: String,
    /// Why.
    pub failure_kind: String,
    /// In words.
    pub error: String,
    /// The run this belongs to. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Position of the message that the turn answers; where events are read, its id and origin are added from it. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

/// See [`super::Event::ModelLimitLearned`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelLimitLearned {
    /// Of which model.
    pub model_ref: String,
    /// What.
    #[serde(flatten)]
    pub limits: LearnedLimits,
}

/// See [`super::Event::AgentModelOverrideSet`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentModelOverrideSet {
    /// Whom it asks.
    pub override_model: String,
    /// How hard that one should think.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<ReasoningEffort>,
}

/// See [`super::Event::AgentModelOverrideCleared`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentModelOverrideCleared {
    /// Whom it asked until now.
    pub override_model: String,
}
