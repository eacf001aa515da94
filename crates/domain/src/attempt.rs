//! Token usage and the provider attempt timeline: what each request cost and how it ended.

use crate::model::ModelFailureKind;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Tokens of one or many rounds. Missing provider data counts as zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Read by the model.
    pub input_tokens: u64,
    /// Written by the model.
    pub output_tokens: u64,
    /// Both.
    pub total_tokens: u64,
    /// Of the input, read from a provider's cache.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub cache_read_tokens: u64,
    /// Of the input, written to a provider's cache.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub cache_write_tokens: u64,
}

impl TokenUsage {
    /// Usage of one round.
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

    /// What of the input a cache served. None when the provider reported no cached tokens.
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

    /// Adds another round's usage.
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

/// How far a provider's cache served requests. All figures are parts of the input tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ProviderCacheUsage {
    /// Input tokens that were read from the cache.
    pub read_input_tokens: u64,
    /// Input tokens that were written to the cache.
    pub creation_input_tokens: u64,
    /// Both: what the cache could have served.
    pub cacheable_input_tokens: u64,
    /// The share of them that was read, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hit_rate: Option<f64>,
}

/// How one attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptOutcome {
    /// It failed and will be tried again.
    Retrying,
    /// It failed and was the last try.
    RetriesExhausted,
    /// It failed in a way that trying again does not mend.
    FailFastAborted,
    /// It gave an answer.
    Succeeded,
}

/// What the retry policy made of a failed attempt, as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptDisposition {
    /// The same model is asked again after a pause.
    Retry,
    /// There was no network; the try is made again once there may be one.
    WaitForNetwork,
    /// The allowance was used up; the try is made again once it is renewed.
    Park,
    /// The model has had all its tries.
    Exhausted,
    /// Another try of the model would not help.
    FailFast,
}

impl AttemptDisposition {
    /// Every disposition.
    pub const ALL: [Self; 5] = [
        Self::Retry,
        Self::WaitForNetwork,
        Self::Park,
        Self::Exhausted,
        Self::FailFast,
    ];

    /// The stored spelling.
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

/// A stored word of a closed set. A word that another build wrote and this one does not know is kept as it is and
/// written back unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum StoredWord<T> {
    /// A word of this build.
    Known(T),
    /// A word of another build.
    Unknown(String),
}

impl StoredWord<AttemptDisposition> {
    /// The spelling that is stored and shown; never renamed.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(disposition) => disposition.as_str(),
            Self::Unknown(word) => word,
        }
    }
}

impl StoredWord<ModelFailureKind> {
    /// The spelling that is stored and shown; never renamed.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Known(kind) => kind.as_str(),
            Self::Unknown(word) => word,
        }
    }
}

/// What the HTTP client says of one of its errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the facts as the HTTP client states them, one by one"
)]
pub struct HttpErrorFacts {
    /// A deadline passed.
    pub is_timeout: bool,
    /// No connection came about.
    pub is_connect: bool,
    /// The request could not be made or sent.
    pub is_request: bool,
    /// The body broke off.
    pub is_body: bool,
    /// The body could not be unpacked.
    pub is_decode: bool,
    /// A redirect was refused.
    pub is_redirect: bool,
    /// The status, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

/// Structured facts about a transport failure, free of secrets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TransportDiagnostics {
    /// Where it failed: route, credential, connect, send, headers, body, decode, script.
    pub stage: String,
    /// The provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_ref: Option<String>,
    /// Where it was asked, without user, password and query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// HTTP status, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// What the HTTP client says of its error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reqwest: Option<HttpErrorFacts>,
    /// The error and what caused it, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub source_chain: Vec<String>,
}

/// One request to a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptRecord {
    /// The provider.
    pub provider: String,
    /// The model.
    pub model_ref: String,
    /// Counted from 1.
    pub attempt: u32,
    /// The most there may be.
    pub max_attempts: u32,
    /// When the request was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When its answer or error was complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    /// The time between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_kind: Option<StoredWord<ModelFailureKind>>,
    /// What the retry policy made of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disposition: Option<StoredWord<AttemptDisposition>>,
    /// How it ended.
    pub outcome: AttemptOutcome,
    /// Whether the next candidate is another model.
    pub advanced_to_fallback: bool,
    /// The pause before the next try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff_ms: Option<u64>,
    /// When the allowance is renewed, if it is used up and the provider said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renews_at: Option<Timestamp>,
    /// What it cost, if the provider said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_usage: Option<TokenUsage>,
    /// Facts about a transport failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport_diagnostics: Option<TransportDiagnostics>,
}

/// All requests of one model round.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AttemptTimeline {
    /// In order.
    pub attempts: Vec<AttemptRecord>,
    /// The model the round asked for.
    pub requested_model_ref: String,
    /// The model that was last asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_model_ref: Option<String>,
    /// The model that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub winning_model_ref: Option<String>,
    /// The sum of what attempts reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregated_token_usage: Option<TokenUsage>,
}

/// How a round that was answered came about: stored small, since most rounds are answered at the first try.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tries {
    /// The model that answered.
    pub model_ref: String,
    /// The model that was asked for, when it is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_model_ref: Option<String>,
    /// When the try that was answered was sent.
    pub started_at: Timestamp,
    /// How long its answer took.
    pub duration_ms: u64,
    /// The most tries there could have been, when it is not the usual number.
    #[serde(default = "usual_attempts", skip_serializing_if = "is_usual")]
    pub max_attempts: u32,
    /// The tries before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<AttemptRecord>,
}

/// The first try and its retries.
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

impl Tries {
    /// The model that the round asked for, whichever answered.
    #[must_use]
    pub fn requested_model(&self) -> &str {
        self.requested_model_ref.as_ref().unwrap_or(&self.model_ref)
    }

    /// Whether another model answered than the one that was asked for.
    #[must_use]
    pub fn fallback_active(&self) -> bool {
        self.requested_model() != self.model_ref
    }

    /// When the answer was complete.
    #[must_use]
    pub const fn completed_at(&self) -> Timestamp {
        self.started_at.plus_millis(self.duration_ms)
    }

    /// The whole timeline, with the try that was answered and cost `usage`.
    #[must_use]
    pub fn timeline(&self, usage: TokenUsage) -> AttemptTimeline {
        let provider = self.model_ref.split('/').next().unwrap_or_default();
        let answered = AttemptRecord {
            provider: provider.to_owned(),
            model_ref: self.model_ref.clone(),
            attempt: count_tries(&self.failed, &self.model_ref).saturating_add(1),
            max_attempts: self.max_attempts,
            started_at: Some(self.started_at),
            completed_at: Some(self.completed_at()),
            duration_ms: Some(self.duration_ms),
            failure_kind: None,
            disposition: None,
            outcome: AttemptOutcome::Succeeded,
            advanced_to_fallback: false,
            backoff_ms: None,
            renews_at: None,
            token_usage: Some(usage),
            transport_diagnostics: None,
        };
        let attempts = self.failed.iter().cloned().chain([answered]).collect();
        AttemptTimeline {
            winning_model_ref: Some(self.model_ref.clone()),
            ..AttemptTimeline::of(self.requested_model(), attempts)
        }
    }
}

/// How many tries of one model are used up. A wait for the network or for a new allowance uses up none.
#[must_use]
pub fn count_tries(attempts: &[AttemptRecord], model_ref: &str) -> u32 {
    let used = attempts
        .iter()
        .filter(|attempt| attempt.model_ref == model_ref && !attempt.is_wait_only());
    u32::try_from(used.count()).unwrap_or(u32::MAX)
}

impl AttemptRecord {
    /// Whether the retry policy made this of the try.
    #[must_use]
    pub fn has_disposition(&self, as_one: AttemptDisposition) -> bool {
        self.disposition == Some(StoredWord::Known(as_one))
    }

    /// Whether the try told nothing about the model and is simply made again later.
    #[must_use]
    pub fn is_wait_only(&self) -> bool {
        self.has_disposition(AttemptDisposition::WaitForNetwork)
            || self.has_disposition(AttemptDisposition::Park)
    }
}

impl AttemptTimeline {
    /// The timeline of some tries that nobody has answered yet, of a round that asked for `requested`.
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
