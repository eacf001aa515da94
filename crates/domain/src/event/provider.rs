//! Payloads of events about model requests, retries, fallbacks and model overrides.

use crate::attempt::{AttemptTimeline, RoundAttempts, TokenUsage};
use crate::id::RunId;
use crate::model::StopReason;
use crate::provider::{LearnedLimits, ReasoningEffort};
use crate::queue::MessageSeq;
use crate::time::Timestamp;
use crate::turn::PauseCause;
use serde::{Deserialize, Serialize};

/// Telemetry of an answered model round. See [`Event::ProviderRoundCompleted`](super::Event::ProviderRoundCompleted).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProviderRoundCompleted {
    pub turn_index: u64,
    /// Number of the model round in its turn, counted from 1.
    pub round: u32,
    /// Reason for which the model stopped writing.
    pub stop_reason: StopReason,
    /// Milliseconds that building the request took.
    pub context_build_ms: u64,
    /// Tokens of this round.
    pub token_usage: TokenUsage,
    /// Key under which the provider may cache the stable part of the prompt.
    pub prompt_cache_key: String,
    /// Hash of the prompt frame; two rounds with the same value had the same frame.
    pub context_fingerprint: String,
    /// Revision of the agent's working memory when the turn began. Absent before the first one, and in events of earlier
    /// builds.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub working_memory_revision: u64,
    /// Recaps that the agent's turns had had, including one that this request was the first to hold. Absent before the
    /// first one, and in events of earlier builds.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub compression_epoch: u64,
    /// Attempts of the round. Readers get the derived fields `requested_model`, `active_model`, `fallback_active`,
    /// `provider_round_ms`, `provider_started_at`, `provider_completed_at`, `provider_attempt_timeline`,
    /// `input_tokens`, `output_tokens`, `provider_cache_usage` where the provider reported tokens of a cache,
    /// `context_management` where the request allowed its servers to leave out old context, and `implausible_usage`
    /// where the provider claimed tokens that the request cannot explain, so that an estimate counts instead.
    pub tries: RoundAttempts,
    /// Run of the turn. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Queue position of the message that the turn answers. The API adds the id and the origin of that message. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

/// Payload of a reserved kind. See
/// [`Event::TerminalDeliveryRoundCompleted`](super::Event::TerminalDeliveryRoundCompleted).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TerminalDeliveryRoundCompleted {
    pub turn_index: u64,
    /// Tokens of the round.
    pub token_usage: TokenUsage,
    /// Every request of the round, in order.
    pub provider_attempt_timeline: AttemptTimeline,
}

/// A planned retry. See [`Event::ProviderRetryScheduled`](super::Event::ProviderRetryScheduled).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProviderRetryScheduled {
    pub turn_index: u64,
    /// Number of the round that is retried, counted from 1.
    pub round: u32,
    /// Number of the attempt that failed, counted from 1 for each model.
    pub attempt: u32,
    /// Stable name of the failure, such as `rate_limited`.
    pub failure_kind: String,
    /// Message of the failed provider, shortened.
    pub error: String,
    /// Length of the pause in milliseconds.
    pub backoff_ms: u64,
    /// Time at which the request is sent again.
    pub retry_at: Timestamp,
    /// Condition the pause waits for: the provider, the network or a new allowance.
    #[serde(default)]
    pub cause: PauseCause,
    /// Model that is asked again, as `provider/model`. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_ref: Option<String>,
    /// Run of the turn. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Queue position of the message that the turn answers. The API adds the id and the origin of that message. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

/// Switch to the next model of the chain. See
/// [`Event::ProviderFallbackSelected`](super::Event::ProviderFallbackSelected).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProviderFallbackSelected {
    pub turn_index: u64,
    /// Number of the round that is asked again, counted from 1.
    pub round: u32,
    /// Model that failed, as `provider/model`.
    pub from_model_ref: String,
    /// Model that is asked now, and for the rest of the turn.
    pub to_model_ref: String,
    /// Stable name of the failure.
    pub failure_kind: String,
    /// Message of the failed provider, shortened.
    pub error: String,
    /// Run of the turn. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Queue position of the message that the turn answers. The API adds the id and the origin of that message. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

/// Limits that a provider revealed. See [`Event::ModelLimitLearned`](super::Event::ModelLimitLearned).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelLimitLearned {
    /// Model the limits belong to, as `provider/model`.
    pub model_ref: String,
    /// Base URL of the provider for which the limits hold. Absent for a model without a server, and in events of
    /// earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// Context window that the server described before the round, in tokens. Absent if it is not new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated_window_tokens: Option<u32>,
    /// The fields `context_window_tokens` and `max_output_tokens`, each present if it was learned, and `source`:
    /// `refusal` for a provider's error, `server` for the server's description of itself, `answer` for an answer that
    /// took more than was known.
    #[serde(flatten)]
    pub limits: LearnedLimits,
}

/// Model override of an agent. See [`Event::AgentModelOverrideSet`](super::Event::AgentModelOverrideSet).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentModelOverrideSet {
    /// Model that the agent uses, as `provider/model`.
    pub override_model: String,
    /// Reasoning effort for that model. Absent if the default of the provider is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Most tokens that this model may think in one answer; 0 turns thinking off. Absent if the setting of the model is
    /// used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_tokens: Option<u32>,
    /// Models that are asked in this order if that model fails; empty for none. Absent if the fallbacks of the host are
    /// used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_models: Option<Vec<String>>,
}

/// Model override that was removed. See [`Event::AgentModelOverrideCleared`](super::Event::AgentModelOverrideCleared).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentModelOverrideCleared {
    /// Model that the agent used until now, as `provider/model`.
    pub override_model: String,
}
