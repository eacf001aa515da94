//! Token usage, and the timeline of the attempts that a model round took.

use crate::model::ModelFailureKind;
use crate::provider::ContextReduction;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tokens of one or many model rounds. Figures that a provider does not report count as zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TokenUsage {
    /// Tokens of the request.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// Input and output tokens together.
    pub total_tokens: u64,
    /// Part of the input that was read from a provider's cache.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub cache_read_tokens: u64,
    /// Part of the input that was written to a provider's cache.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub cache_write_tokens: u64,
}

impl TokenUsage {
    /// Creates the usage of a round without cached tokens.
    #[must_use]
    pub const fn new(input_tokens: u64, output_tokens: u64) -> Self {
        Self {
            input_tokens,
            output_tokens,
            total_tokens: input_tokens.saturating_add(output_tokens),
            cache_read_tokens: 0,
            cache_write_tokens: 0,
        }
    }

    /// Returns the share of the input that a cache served. `None` if the provider reported no cached tokens.
    #[must_use]
    pub fn cache_usage(&self) -> Option<ProviderCacheUsage> {
        let cacheable = self
            .cache_read_tokens
            .saturating_add(self.cache_write_tokens);
        #[allow(
            clippy::cast_precision_loss,
            reason = "a share, shown to people; token counts are far below 2^52"
        )]
        let hit_rate = self.cache_read_tokens as f64 / cacheable as f64;
        (cacheable > 0).then_some(ProviderCacheUsage {
            read_input_tokens: self.cache_read_tokens,
            creation_input_tokens: self.cache_write_tokens,
            cacheable_input_tokens: cacheable,
            hit_rate: Some(hit_rate),
        })
    }

    /// Returns the share of all input that was read from a cache, from 0 to 1. `None` without input.
    #[must_use]
    pub fn cached_share(&self) -> Option<f64> {
        #[allow(
            clippy::cast_precision_loss,
            reason = "a share, shown to people; token counts are far below 2^52"
        )]
        let share = self.cache_read_tokens as f64 / self.input_tokens as f64;
        (self.input_tokens > 0).then_some(share)
    }

    /// Returns the same share in whole percent, rounded down. `None` if the provider reported no cached tokens.
    #[must_use]
    pub const fn cached_percent(&self) -> Option<u64> {
        match (
            self.input_tokens,
            self.cache_read_tokens,
            self.cache_write_tokens,
        ) {
            (0, _, _) | (_, 0, 0) => None,
            (input, read, _) => Some(read.saturating_mul(100) / input),
        }
    }

    /// Adds the usage of another round. Saturates.
    pub const fn add(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.total_tokens = self.total_tokens.saturating_add(other.total_tokens);
        self.cache_read_tokens = self
            .cache_read_tokens
            .saturating_add(other.cache_read_tokens);
        self.cache_write_tokens = self
            .cache_write_tokens
            .saturating_add(other.cache_write_tokens);
    }
}

/// Effect of a provider's prompt cache. All figures are parts of the input tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderCacheUsage {
    pub read_input_tokens: u64,
    pub creation_input_tokens: u64,
    /// Tokens read from and written to the cache together.
    pub cacheable_input_tokens: u64,
    /// Share of them that was read, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hit_rate: Option<f64>,
}

/// Outcome of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttemptOutcome {
    /// It failed and will be retried.
    Retrying,
    /// It failed and was the last retry.
    RetriesExhausted,
    /// It failed in a way that a retry does not mend.
    FailFastAborted,
    /// The provider answered the request.
    Succeeded,
}

/// Decision of the retry policy about a failed attempt, as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttemptDisposition {
    /// The same model is asked again after a pause.
    Retry,
    /// This machine had no network. The attempt is repeated once there may be one.
    WaitForNetwork,
    /// The allowance was used up. The attempt is repeated once it is renewed.
    Park,
    /// The model has used up its retries.
    Exhausted,
    /// Another attempt with the same model would not help.
    FailFast,
}

impl AttemptDisposition {
    pub const ALL: [Self; 5] = [
        Self::Retry,
        Self::WaitForNetwork,
        Self::Park,
        Self::Exhausted,
        Self::FailFast,
    ];

    /// Returns the stored spelling, which is never renamed.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::WaitForNetwork => "wait_for_network",
            Self::Park => "park",
            Self::Exhausted => "exhausted",
            Self::FailFast => "fail_fast",
        }
    }
}

/// A stored word of a closed set. A word that another build wrote and this build does not know is kept and written back
/// unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum StoredWord<T> {
    Known(T),
    Unknown(String),
}

impl StoredWord<AttemptDisposition> {
    /// Returns the spelling that is stored and shown. It is never renamed.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(disposition) => disposition.as_str(),
            Self::Unknown(word) => word,
        }
    }
}

impl StoredWord<ModelFailureKind> {
    /// Returns the spelling that is stored and shown. It is never renamed.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(kind) => kind.as_str(),
            Self::Unknown(word) => word,
        }
    }
}

/// Flags that the HTTP client reports about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the facts as the HTTP client states them, one by one"
)]
pub struct HttpErrorDetails {
    pub is_timeout: bool,
    /// No connection could be made.
    pub is_connect: bool,
    /// The request could not be built or sent.
    pub is_request: bool,
    /// The body ended early.
    pub is_body: bool,
    /// The body could not be decompressed.
    pub is_decode: bool,
    pub is_redirect: bool,
    /// HTTP status. Absent if no response came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

/// Structured facts about a transport failure. Contains no secrets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct TransportDiagnostics {
    /// Stage at which the request failed: route, credential, connect, send, headers, body, decode or script.
    pub stage: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Model of the request, as `provider/model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_ref: Option<String>,
    /// Address of the request without user, password and query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// HTTP status. Absent if no response came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Flags of the HTTP client. Absent if the failure is not one of its errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reqwest: Option<HttpErrorDetails>,
    /// Error messages from the outermost to the root cause.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source_chain: Vec<String>,
}

/// One request to a provider and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttemptRecord {
    pub provider: String,
    /// Model of the request, as `provider/model`.
    pub model_ref: String,
    /// Number of the attempt with this model, counted from 1.
    pub attempt: u32,
    /// Attempts that the model had at most.
    pub max_attempts: u32,
    /// Time at which the request was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// Time at which its answer or error was complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Absent if the attempt succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_kind: Option<StoredWord<ModelFailureKind>>,
    /// Beginning of the failure's message, at most 240 bytes. Absent if the attempt succeeded, and in records of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Decision of the retry policy. Absent if the attempt succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disposition: Option<StoredWord<AttemptDisposition>>,
    pub outcome: AttemptOutcome,
    /// True if the next attempt asks another model.
    pub advanced_to_fallback: bool,
    /// Pause before the next attempt, in milliseconds. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff_ms: Option<u64>,
    /// Time at which the allowance is renewed. Present if it is used up and the provider named a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renews_at: Option<Timestamp>,
    /// Absent if the provider reported no usage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_usage: Option<TokenUsage>,
    /// Usage that the provider claimed and that the request cannot explain; `token_usage` is then an estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implausible_usage: Option<TokenUsage>,
    /// Absent unless the transport failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport_diagnostics: Option<TransportDiagnostics>,
}

/// All requests of one model round.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct AttemptTimeline {
    /// In the order in which they were sent.
    pub attempts: Vec<AttemptRecord>,
    /// Model that the round asked for first, as `provider/model`.
    pub requested_model_ref: String,
    /// Model that was asked last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_model_ref: Option<String>,
    /// Model that answered. Absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub winning_model_ref: Option<String>,
    /// Sum of the usage that the attempts reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregated_token_usage: Option<TokenUsage>,
}

/// How much of a request begins like the request before it of the same agent. Counted in bytes of tools and texts, before
/// a protocol adds its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestOverlap {
    /// Bytes of the request.
    pub bytes: u64,
    /// Bytes of the equal beginning. Absent if the request before is not known, as after a start of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_bytes: Option<u64>,
}

/// Attempts of an answered round in a compact form, since most rounds are answered at the first attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundAttempts {
    /// Model that answered, as `provider/model`.
    pub model_ref: String,
    /// Model that the round asked for first. Absent if it is the one that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_model_ref: Option<String>,
    /// Time at which the answered request was sent.
    pub started_at: Timestamp,
    /// Milliseconds until its answer was complete.
    pub duration_ms: u64,
    /// Attempts that the model had at most. Omitted if it is the usual number.
    #[serde(default = "usual_attempts", skip_serializing_if = "is_usual")]
    pub max_attempts: u32,
    /// Attempts before the answered one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<AttemptRecord>,
    /// What the provider's servers left out of the answered request. Absent if the request did not allow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_management: Option<ContextReduction>,
    /// Usage that the provider claimed for the answered request and that the request cannot explain. The usage of the
    /// round is then an estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implausible_usage: Option<TokenUsage>,
    /// How much of the answered request begins like the one before. Absent in rows of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<RequestOverlap>,
}

/// First attempt and its retries.
const fn usual_attempts() -> u32 {
    crate::limits::PROVIDER_RETRIES + 1
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks for a reference"
)]
const fn is_usual(attempts: &u32) -> bool {
    *attempts == usual_attempts()
}

impl RoundAttempts {
    /// Returns the model that the round asked for first.
    #[must_use]
    pub fn requested_model(&self) -> &str {
        self.requested_model_ref.as_ref().unwrap_or(&self.model_ref)
    }

    /// Returns true if another model answered than the one that the round asked for.
    #[must_use]
    pub fn fallback_active(&self) -> bool {
        self.requested_model() != self.model_ref
    }

    /// Returns the time at which the answer was complete.
    #[must_use]
    pub const fn completed_at(&self) -> Timestamp {
        self.started_at.plus_millis(self.duration_ms)
    }

    /// Expands to the whole timeline, including the answered attempt with its `usage`.
    #[must_use]
    pub fn timeline(&self, usage: TokenUsage) -> AttemptTimeline {
        let provider = self.model_ref.split('/').next().unwrap_or_default();
        let answered = AttemptRecord {
            provider: provider.to_owned(),
            model_ref: self.model_ref.clone(),
            attempt: count_attempts(&self.failed, &self.model_ref).saturating_add(1),
            max_attempts: self.max_attempts,
            started_at: Some(self.started_at),
            completed_at: Some(self.completed_at()),
            duration_ms: Some(self.duration_ms),
            failure_kind: None,
            error: None,
            disposition: None,
            outcome: AttemptOutcome::Succeeded,
            advanced_to_fallback: false,
            backoff_ms: None,
            renews_at: None,
            token_usage: Some(usage),
            implausible_usage: self.implausible_usage,
            transport_diagnostics: None,
        };
        let attempts = self.failed.iter().cloned().chain([answered]).collect();
        AttemptTimeline {
            winning_model_ref: Some(self.model_ref.clone()),
            ..AttemptTimeline::of(self.requested_model(), attempts)
        }
    }
}

/// Counts the attempts that a model has used up. Attempts that waited for the network or for a new allowance do not
/// count.
#[must_use]
pub fn count_attempts(attempts: &[AttemptRecord], model_ref: &str) -> u32 {
    let used = attempts
        .iter()
        .filter(|attempt| attempt.model_ref == model_ref && !attempt.is_wait_only());
    u32::try_from(used.count()).unwrap_or(u32::MAX)
}

impl AttemptRecord {
    /// Returns true if the retry policy decided this about the attempt.
    #[must_use]
    pub fn has_disposition(&self, as_one: AttemptDisposition) -> bool {
        self.disposition == Some(StoredWord::Known(as_one))
    }

    /// Returns true if the attempt says nothing about the model and is repeated later.
    #[must_use]
    pub fn is_wait_only(&self) -> bool {
        self.has_disposition(AttemptDisposition::WaitForNetwork)
            || self.has_disposition(AttemptDisposition::Park)
    }
}

impl AttemptTimeline {
    /// Builds the timeline of attempts that have no answer yet, of a round that asked for `requested`.
    #[must_use]
    pub fn of(requested: &str, attempts: Vec<AttemptRecord>) -> Self {
        let mut spent: Option<TokenUsage> = None;
        for usage in attempts.iter().filter_map(|attempt| attempt.token_usage) {
            spent.get_or_insert_default().add(usage);
        }
        let active = attempts
            .last()
            .map_or(requested, |attempt| attempt.model_ref.as_str());
        Self {
            requested_model_ref: requested.to_owned(),
            active_model_ref: Some(active.to_owned()),
            attempts,
            winning_model_ref: None,
            aggregated_token_usage: spent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_share_of_a_cache_is_told_only_where_a_provider_reported_one() {
        assert_eq!(TokenUsage::new(10, 2).cache_usage(), None);
        let usage = TokenUsage {
            cache_read_tokens: 6,
            cache_write_tokens: 2,
            ..TokenUsage::new(10, 2)
        };
        assert_eq!(
            json!(usage.cache_usage()),
            json!({
                "read_input_tokens": 6, "creation_input_tokens": 2,
                "cacheable_input_tokens": 8, "hit_rate": 0.75,
            })
        );
    }

    #[test]
    fn dispositions_are_stored_as_they_are_spelled() {
        for disposition in AttemptDisposition::ALL {
            let word = json!(disposition.as_str());
            let stored = StoredWord::Known(disposition);
            assert_eq!(serde_json::to_value(&stored).expect("writes"), word);
            let read: StoredWord<AttemptDisposition> = serde_json::from_value(word).expect("reads");
            assert_eq!(read, stored);
        }
    }

    #[test]
    fn a_word_of_another_build_is_kept_as_it_is() {
        let word = json!("ask_somebody_else");
        let read: StoredWord<ModelFailureKind> =
            serde_json::from_value(word.clone()).expect("reads");
        assert_eq!(read.as_str(), "ask_somebody_else");
        assert_eq!(serde_json::to_value(&read).expect("writes"), word);
    }
}
