//! A refused request: status, one JSON shape, and the headers that go with some refusals.
//!
//! Owns the one table from engine errors to HTTP. Nothing here decides whether to refuse.

use axum::http::StatusCode;
use axum::http::header::{HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::response::{IntoResponse, Response};
use holon_api::ErrorBody;
use holon_engine::Error;

/// The answer to a request that is not carried out.
#[derive(Debug)]
pub(crate) struct Refusal(Box<Parts>);

#[derive(Debug)]
struct Parts {
    status: StatusCode,
    body: ErrorBody,
    header: Option<(HeaderName, HeaderValue)>,
}

impl Refusal {
    /// A refusal with its code.
    pub(crate) fn new(status: StatusCode, code: &str, error: impl Into<String>) -> Self {
        Self::of(status, ErrorBody::new(code, error))
    }

    /// A request that is wrong in itself.
    pub(crate) fn bad_request(code: &str, error: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, error)
    }

    /// A request that is not allowed through this door.
    pub(crate) fn forbidden(code: &str, error: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, code, error)
    }

    /// Nobody knows the caller.
    pub(crate) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "this needs the control token")
            .hint("send \"Authorization: Bearer TOKEN\"; the token is in run/control.token under the home, or use the unix socket")
            .header(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"holon-control\""))
    }

    /// A refusal with a body made elsewhere.
    pub(crate) fn of(status: StatusCode, body: ErrorBody) -> Self {
        Self(Box::new(Parts {
            status,
            body,
            header: None,
        }))
    }

    /// The same with a next step.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.body = self.0.body.hint(hint);
        self
    }

    /// The same with one more fact.
    pub(crate) fn with(mut self, name: &str, value: impl Into<serde_json::Value>) -> Self {
        self.0.body = self.0.body.with(name, value);
        self
    }

    /// The same, worth another try after so many seconds.
    pub(crate) fn retry_after(self, seconds: u16) -> Self {
        self.header(RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// The same, without the advice to try again: what was asked may have been taken.
    pub(crate) fn not_again(mut self) -> Self {
        self.0.header = None;
        self
    }

    /// The body, for a place where no status can be sent any more.
    pub(crate) fn into_body(self) -> ErrorBody {
        self.0.body
    }

    /// Its code.
    #[cfg(test)]
    pub(crate) fn code(&self) -> &str {
        self.0.body.code.as_deref().unwrap_or_default()
    }

    fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.header = Some((name, value));
        self
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let Parts {
            status,
            body,
            header,
        } = *self.0;
        let mut response = (status, axum::Json(body)).into_response();
        if let Some((name, value)) = header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let mut body = ErrorBody::new(error.code(), error.to_string());
        body.hint = error.hint();
        let status = status_of(&error);
        if status.is_server_error() {
            tracing::warn!(code = error.code(), %error, "request failed");
        }
        let refusal = Self::of(status, body);
        match error {
            Error::AgentNotFound { agent_id }
            | Error::AgentStopped { agent_id }
            | Error::AgentDeleting { agent_id }
            | Error::AgentConflict { agent_id, .. } => refusal.with("agent_id", agent_id.as_str()),
            Error::QueueFull { agent_id } => {
                refusal.with("agent_id", agent_id.as_str()).retry_after(5)
            }
            Error::CursorTooOld {
                oldest_seq,
                newest_seq,
            } => refusal
                .with("oldest_seq", oldest_seq)
                .with("newest_seq", newest_seq),
            Error::Overloaded => refusal.retry_after(1),
            Error::ShuttingDown => refusal
                .retry_after(5)
                .hint("try again when the host is back"),
            Error::AgentId(_)
            | Error::Rejected { .. }
            | Error::TooLarge { .. }
            | Error::Workspace { .. }
            | Error::Model(_)
            | Error::NoModel
            | Error::DiskFull
            | Error::CommitUnknown
            | Error::Storage { .. }
            | Error::Internal { .. } => refusal,
        }
    }
}

fn status_of(error: &Error) -> StatusCode {
    match error {
        Error::AgentNotFound { .. } => StatusCode::NOT_FOUND,
        Error::AgentStopped { .. } | Error::AgentDeleting { .. } | Error::AgentConflict { .. } => {
            StatusCode::CONFLICT
        }
        Error::AgentId(_) | Error::Rejected { .. } | Error::Workspace { .. } | Error::Model(_) => {
            StatusCode::BAD_REQUEST
        }
        Error::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        Error::QueueFull { .. } => StatusCode::TOO_MANY_REQUESTS,
        Error::NoModel => StatusCode::UNPROCESSABLE_ENTITY,
        Error::CursorTooOld { .. } => StatusCode::GONE,
        Error::Overloaded | Error::ShuttingDown => StatusCode::SERVICE_UNAVAILABLE,
        Error::DiskFull => StatusCode::INSUFFICIENT_STORAGE,
        // Not 503: whoever sends again on that would double what may have been taken.
        Error::CommitUnknown | Error::Storage { .. } | Error::Internal { .. } => {
            StatusCode::INTERNAL_SERVER_ERROR
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::AgentId;
    use holon_domain::id::AgentIdError;
    use holon_domain::model::ModelFailure;

    fn agent() -> AgentId {
        AgentId::parse("main").unwrap()
    }

    #[test]
    fn every_engine_error_has_its_status_and_its_retry_hint() {
        let table = [
            (Error::AgentNotFound { agent_id: agent() }, 404, None),
            (Error::AgentStopped { agent_id: agent() }, 409, None),
            (Error::AgentDeleting { agent_id: agent() }, 409, None),
            (
                Error::AgentConflict {
                    agent_id: agent(),
                    reason: "other model".into(),
                },
                409,
                None,
            ),
            (Error::AgentId(AgentIdError::LeadingDot), 400, None),
            (
                Error::Rejected {
                    code: "empty_body",
                    message: "nothing in it".into(),
                },
                400,
                None,
            ),
            (
                Error::TooLarge {
                    message: "too large".into(),
                },
                413,
                None,
            ),
            (Error::QueueFull { agent_id: agent() }, 429, Some("5")),
            (
                Error::Workspace {
                    message: "no such directory".into(),
                },
                400,
                None,
            ),
            (Error::NoModel, 422, None),
            (Error::Model(ModelFailure::no_model()), 400, None),
            (
                Error::CursorTooOld {
                    oldest_seq: 5,
                    newest_seq: 9,
                },
                410,
                None,
            ),
            (Error::Overloaded, 503, Some("1")),
            (Error::DiskFull, 507, None),
            (Error::CommitUnknown, 500, None),
            (Error::ShuttingDown, 503, Some("5")),
            (
                Error::Storage {
                    message: "io".into(),
                },
                500,
                None,
            ),
            (
                Error::Internal {
                    message: "rule".into(),
                },
                500,
                None,
            ),
        ];
        for (error, status, retry) in table {
            let what = format!("{error:?}");
            let code = error.code();
            let refusal = Refusal::from(error);
            assert_eq!(refusal.0.body.code.as_deref(), Some(code), "{what}");
            let response = refusal.into_response();
            assert_eq!(response.status().as_u16(), status, "{what}");
            assert_eq!(
                response
                    .headers()
                    .get(RETRY_AFTER)
                    .map(|value| value.to_str().unwrap()),
                retry,
                "{what}"
            );
        }
    }

    #[test]
    fn facts_of_an_error_stand_in_its_body() {
        let stopped = Refusal::from(Error::AgentStopped { agent_id: agent() }).into_body();
        assert_eq!(stopped.extra.get("agent_id").unwrap(), "main");
        assert!(stopped.hint.unwrap().contains("holon agent start main"));
        let old = Refusal::from(Error::CursorTooOld {
            oldest_seq: 5,
            newest_seq: 9,
        })
        .into_body();
        assert_eq!(
            (
                old.extra["oldest_seq"].as_u64(),
                old.extra["newest_seq"].as_u64()
            ),
            (Some(5), Some(9))
        );
    }
}
