//! What can go wrong between a client and its host, by what the caller can do about it.

use holon_api::ErrorBody;

/// Why there is no answer, or not the one that was hoped for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Nobody listens there. The request was not sent.
    #[error("cannot reach the host at {endpoint}: {reason}; start it with: holon serve")]
    Unreachable {
        /// Where.
        endpoint: String,
        /// Why.
        reason: String,
    },
    /// The connection ended before the answer did. The request may have been carried out.
    #[error(
        "the host at {endpoint} did not answer: {reason}; look at its status before trying again"
    )]
    Interrupted {
        /// Where.
        endpoint: String,
        /// How.
        reason: String,
    },
    /// The host refused.
    #[error("{message}")]
    Api {
        /// HTTP status.
        status: u16,
        /// Stable and machine-readable.
        code: Option<String>,
        /// In words.
        message: String,
        /// The next step.
        hint: Option<String>,
        /// Facts that belong to the code.
        extra: serde_json::Map<String, serde_json::Value>,
    },
    /// What answers there does not speak this protocol, or this client does not.
    #[error(
        "unexpected answer from {endpoint}: {reason}; client and host may be of different versions"
    )]
    Protocol {
        /// Where.
        endpoint: String,
        /// What was unexpected.
        reason: String,
    },
    /// The host came back with another store, so a cursor of the old one means nothing.
    #[error(
        "the store of the host at {endpoint} was replaced; read its status afresh and start a new stream"
    )]
    StoreReplaced {
        /// Where.
        endpoint: String,
    },
    /// The token cannot be sent.
    #[error(
        "the control token holds characters that cannot be sent; read it again from run/control.token"
    )]
    Token,
}

impl Error {
    /// The host's code, if it refused with one.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Api { code, .. } => code.as_deref(),
            Self::Unreachable { .. }
            | Self::Interrupted { .. }
            | Self::Protocol { .. }
            | Self::StoreReplaced { .. }
            | Self::Token => None,
        }
    }

    /// The host's next step, if it named one.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Api { hint, .. } => hint.as_deref(),
            Self::Unreachable { .. }
            | Self::Interrupted { .. }
            | Self::Protocol { .. }
            | Self::StoreReplaced { .. }
            | Self::Token => None,
        }
    }

    /// Whether the same again may work in a moment, without anybody doing anything.
    pub(crate) const fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Interrupted { .. } => true,
            Self::Api { status, .. } => matches!(*status, 429 | 503),
            Self::Protocol { .. } | Self::StoreReplaced { .. } | Self::Token => false,
        }
    }

    /// A refusal as the host worded it; what is no refusal of this protocol is shown as it is, shortened.
    pub(crate) fn refused(status: u16, body: &[u8]) -> Self {
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
        let error = Error::refused(409, body);
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
            Error::refused(502, b"<html>Bad Gateway</html>").to_string(),
            "HTTP status 502: <html>Bad Gateway</html>"
        );
        assert_eq!(Error::refused(500, b"").to_string(), "HTTP status 500");
    }
}
