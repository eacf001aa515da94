//! Why a model call failed: classes that decide what follows, and what the failure taught about the model.

use crate::attempt::{TokenUsage, TransportDiagnostics};
use crate::provider::LearnedLimits;
use serde::{Deserialize, Serialize};

/// Class of a provider failure; decides whether another try can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelFailureKind {
    /// No answer in time.
    Timeout,
    /// No connection to that provider, or it broke.
    Connection,
    /// This machine's own network: no route, no name service. No other provider could be reached either.
    Network,
    /// HTTP 429.
    RateLimited,
    /// The account's allowance is used up, until a moment the provider may have named.
    Quota,
    /// An eligible HTTP 5xx.
    ServerError,
    /// HTTP 401 or 403.
    Auth,
    /// Another HTTP 4xx.
    InvalidRequest,
    /// The prompt does not fit.
    ContextLengthExceeded,
    /// An answer that is not one.
    InvalidResponse,
    /// No such provider, or one this build cannot speak to.
    UnsupportedTransport,
    /// No such model at the provider: unknown name, missing or malformed script, script at its end.
    ModelUnavailable,
}

impl ModelFailureKind {
    /// Whether the provider refused the request for what it holds: another one might have been answered.
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
            | Self::UnsupportedTransport
            | Self::ModelUnavailable => false,
        }
    }

    /// Every kind.
    pub const ALL: [Self; 12] = [
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
        Self::UnsupportedTransport,
        Self::ModelUnavailable,
    ];

    /// The stored spelling.
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
            Self::UnsupportedTransport => "unsupported_transport",
            Self::ModelUnavailable => "model_unavailable",
        }
    }
}

/// A provider's failure, classified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct ModelFailure {
    /// Its class.
    pub kind: ModelFailureKind,
    /// One bounded sentence for the operator, with the next step where there is one.
    pub message: String,
    /// How long the provider asked us to wait; for a used-up allowance, until it is renewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// What it cost all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenUsage>,
    /// What it taught about the model's limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned: Option<LearnedLimits>,
    /// Transport facts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnostics: Option<Box<TransportDiagnostics>>,
}

impl ModelFailure {
    /// A failure with nothing but its class and its sentence.
    #[must_use]
    pub fn new(kind: ModelFailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            retry_after_ms: None,
            usage: None,
            learned: None,
            diagnostics: None,
        }
    }

    /// Nobody chose a model.
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
