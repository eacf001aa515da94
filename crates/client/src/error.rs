//! Errors of a request, distinguished by the action the caller can take.

use holon_api::ErrorBody;
use holon_domain::AgentId;

/// Failure of a request, or of its response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No host listens at this address. The request was not sent, so it can be retried.
    #[error("cannot reach the host at {endpoint}: {reason}; start it with: holon daemon start")]
    Unreachable { endpoint: String, reason: String },
    /// The connection ended before the response did. The request may have been carried out.
    #[error(
        "the host at {endpoint} did not answer: {reason}; look at its status before trying again"
    )]
    Interrupted { endpoint: String, reason: String },
    /// The host refused the request.
    #[error("{message}")]
    Api {
        status: u16,
        /// Stable, machine-readable name of the error. Absent if the response was no error of this protocol.
        code: Option<String>,
        /// Message for people; its wording may change between releases.
        message: String,
        /// The next step for the caller.
        hint: Option<String>,
        /// Facts that belong to the code, such as an agent id or sequence numbers.
        extra: serde_json::Map<String, serde_json::Value>,
    },
    /// The response is not of this protocol, or of a version that this client cannot read.
    #[error(
        "unexpected answer from {endpoint}: {reason}; client and host may be of different versions"
    )]
    Protocol { endpoint: String, reason: String },
    /// The host has another store than before, so the cursor is invalid.
    #[error(
        "the store of the host at {endpoint} was replaced; read its status afresh and start a new stream"
    )]
    StoreReplaced { endpoint: String },
    /// The agent of a stream was deleted. An agent of the same name is another one, and needs a new stream.
    #[error("agent {agent_id} was deleted")]
    AgentDeleted { agent_id: AgentId },
    /// The token cannot stand in a header.
    #[error(
        "the control token holds characters that cannot be sent; read it again from run/control.token"
    )]
    Token,
}

impl Error {
    /// Returns the host's error code, if it refused with one.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Api { code, .. } => code.as_deref(),
            Self::Unreachable { .. }
            | Self::Interrupted { .. }
            | Self::Protocol { .. }
            | Self::StoreReplaced { .. }
            | Self::AgentDeleted { .. }
            | Self::Token => None,
        }
    }

    /// Returns the host's next step, if it named one.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Api { hint, .. } => hint.as_deref(),
            Self::Unreachable { .. }
            | Self::Interrupted { .. }
            | Self::Protocol { .. }
            | Self::StoreReplaced { .. }
            | Self::AgentDeleted { .. }
            | Self::Token => None,
        }
    }

    /// Returns true if a retry may succeed without any action of the operator.
    pub(crate) const fn is_transient(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Interrupted { .. } => true,
            Self::Api { status, .. } => matches!(*status, 429 | 503),
            Self::Protocol { .. }
            | Self::StoreReplaced { .. }
            | Self::AgentDeleted { .. }
            | Self::Token => false,
        }
    }

    /// Decodes an error response. A body that is no error of this protocol becomes the message, shortened.
    pub(crate) fn from_response(status: u16, body: &[u8]) -> Self {
        match serde_json::from_slice::<ErrorBody>(body) {
            Ok(ErrorBody {
                ok: _,
                error,
                code,
                hint,
                extra,
            }) => Self::Api {
                status,
                code,
                message: error,
                hint,
                extra,
            },
            Err(_) => {
                let text = String::from_utf8_lossy(body);
                let shown = holon_domain::text::preview(text.trim(), 200);
                let message = if shown.is_empty() {
                    format!("HTTP status {status}")
                } else {
                    format!("HTTP status {status}: {shown}")
                };
                Self::Api {
                    status,
                    code: None,
                    message,
                    hint: None,
                    extra: serde_json::Map::new(),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_keeps_code_hint_and_facts() {
        let body = br#"{"ok":false,"error":"agent main is stopped","code":"agent_stopped","hint":"start it","agent_id":"main"}"#;
        let error = Error::from_response(409, body);
        assert_eq!(error.to_string(), "agent main is stopped");
        assert_eq!(
            (error.code(), error.hint()),
            (Some("agent_stopped"), Some("start it"))
        );
        assert!(
            matches!(error, Error::Api { status: 409, extra, .. } if extra["agent_id"] == "main")
        );
    }

    #[test]
    fn a_refusal_of_something_else_is_shown_as_it_is() {
        assert_eq!(
            Error::from_response(502, b"<html>Bad Gateway</html>").to_string(),
            "HTTP status 502: <html>Bad Gateway</html>"
        );
        assert_eq!(
            Error::from_response(500, b"").to_string(),
            "HTTP status 500"
        );
    }
}
