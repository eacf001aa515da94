//! Failures of model requests: the classes that decide about a retry, and the limits that an error reveals.

use crate::attempt::{TokenUsage, TransportDiagnostics};
use crate::provider::LearnedLimits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Class of a provider failure. It decides whether a retry can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelFailureKind {
    /// The answer did not arrive in time.
    Timeout,
    /// No connection to that provider could be made, or it broke.
    Connection,
    /// This machine has no network: no route or no name service. No other provider could be reached either.
    Network,
    /// HTTP 429: too many requests; a retry after a pause helps.
    RateLimited,
    /// The account's allowance is used up until a time that the provider may have named.
    Quota,
    /// An HTTP 5xx, 409 or 425 that is worth a retry.
    ServerError,
    /// HTTP 401, 403 or 407: the credential is missing or refused.
    Auth,
    /// HTTP 400 or another status about the content of the request: a retry of the same request does not help.
    InvalidRequest,
    /// The prompt does not fit the context window.
    ContextLengthExceeded,
    /// The answer is no answer of the protocol, is too large to be one, or reports a failure itself.
    InvalidResponse,
    /// The body of the answer is no JSON: the page of a gateway, a redirect to a sign-in form, or a document that breaks
    /// off. The same request may be answered later.
    NotJson,
    /// The provider is unknown, this build does not support its protocol, the server answers with another HTTP 4xx as if
    /// it did not know the route, or no secure connection can be set up.
    UnsupportedTransport,
    /// The provider has no such model: unknown name, missing or malformed script, or the script is at its end.
    ModelUnavailable,
}

impl ModelFailureKind {
    /// Returns true if the provider refused the request for its content. Another request might be answered.
    #[must_use]
    pub const fn refuses_request(self) -> bool {
        match self {
            Self::InvalidRequest | Self::ContextLengthExceeded => true,
            Self::Timeout
            | Self::Connection
            | Self::Network
            | Self::RateLimited
            | Self::Quota
            | Self::ServerError
            | Self::Auth
            | Self::InvalidResponse
            | Self::NotJson
            | Self::UnsupportedTransport
            | Self::ModelUnavailable => false,
        }
    }

    pub const ALL: [Self; 13] = [
        Self::Timeout,
        Self::Connection,
        Self::Network,
        Self::RateLimited,
        Self::Quota,
        Self::ServerError,
        Self::Auth,
        Self::InvalidRequest,
        Self::ContextLengthExceeded,
        Self::InvalidResponse,
        Self::NotJson,
        Self::UnsupportedTransport,
        Self::ModelUnavailable,
    ];

    /// Returns the stored spelling, which is never renamed.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Connection => "connection",
            Self::Network => "network",
            Self::RateLimited => "rate_limited",
            Self::Quota => "quota",
            Self::ServerError => "server_error",
            Self::Auth => "auth",
            Self::InvalidRequest => "invalid_request",
            Self::ContextLengthExceeded => "context_length_exceeded",
            Self::InvalidResponse => "invalid_response",
            Self::NotJson => "not_json",
            Self::UnsupportedTransport => "unsupported_transport",
            Self::ModelUnavailable => "model_unavailable",
        }
    }
}

/// Classified failure of a provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ModelFailure {
    pub kind: ModelFailureKind,
    /// One bounded sentence for the operator, with the next step if there is one.
    pub message: String,
    /// Milliseconds that the provider asked to wait. For a used-up allowance, the time until it is renewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Tokens that the failed request used. Absent if the provider reported none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenUsage>,
    /// Limits of the model that the error revealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned: Option<LearnedLimits>,
    /// True if a refusal for length is about the request and the answer that it allowed together, so that a shorter
    /// answer may be enough.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub counts_answer: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnostics: Option<Box<TransportDiagnostics>>,
}

impl ModelFailure {
    /// Creates a failure with a class and a sentence only.
    #[must_use]
    pub fn new(kind: ModelFailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            retry_after_ms: None,
            usage: None,
            learned: None,
            counts_answer: false,
            diagnostics: None,
        }
    }

    /// Creates the failure of a turn for which no model is chosen.
    #[must_use]
    pub fn no_model() -> Self {
        Self::new(
            ModelFailureKind::ModelUnavailable,
            "no model is chosen; run `holon init`, or choose one with --model PROVIDER/MODEL",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failure_kinds_are_stored_as_they_are_spelled() {
        for kind in ModelFailureKind::ALL {
            assert_eq!(
                serde_json::to_value(kind).expect("serialises"),
                kind.as_str()
            );
        }
    }
}
