//! Error responses: HTTP status, JSON body and the extra header of some refusals.
//!
//! Owns the HTTP status of every error of the engine. Code, message and hint come from the error itself: from `core`
//! and the engine, or from [`RequestFault`] for a malformed request.

mod fault;
mod reference;

pub(crate) use fault::RequestFault;
pub use reference::{RefusalEntry, refusals};

use axum::http::StatusCode;
use axum::http::header::{HeaderName, HeaderValue, RETRY_AFTER};
use axum::response::{IntoResponse, Response};
use holon_api::ErrorBody;
use holon_domain::image::ImageFault;
use holon_engine::{Error, Rejection};

/// Response to a request that is not carried out.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    body: Box<ErrorBody>,
    header: Option<(HeaderName, HeaderValue)>,
}

impl Refusal {
    /// Replaces the next step.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.body.hint = Some(hint.into());
        self
    }

    /// Adds one fact to the body.
    pub(crate) fn with(mut self, name: &str, value: impl Into<serde_json::Value>) -> Self {
        self.body.extra.insert(name.to_owned(), value.into());
        self
    }

    /// Removes the retry header, because the request may have taken effect.
    pub(crate) fn without_retry(mut self) -> Self {
        self.header = None;
        self
    }

    /// Returns the body alone, for a stream that has already sent its status.
    pub(crate) fn into_body(self) -> ErrorBody {
        *self.body
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = (self.status, axum::Json(self.body)).into_response();
        if let Some((name, value)) = self.header {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let status = status_of(&error);
        // The writer itself logs a full disk, once a minute.
        if status.is_server_error() && error != Error::DiskFull {
            tracing::warn!(code = error.code(), %error, "request failed");
        }
        let mut body = ErrorBody::new(error.code(), error.to_string());
        // Some messages name the step themselves; a program finds it in one place all the same.
        let step = error.text().next_step.text();
        body.hint = error.hint().or_else(|| Some(step.to_owned()));
        if let Some(agent_id) = error.agent_id() {
            body = body.with("agent_id", agent_id.as_str());
        }
        if let Error::CursorTooOld {
            oldest_seq,
            newest_seq,
        }
        | Error::AgentReplaced {
            oldest_seq,
            newest_seq,
            ..
        } = error
        {
            body = body
                .with("oldest_seq", oldest_seq)
                .with("newest_seq", newest_seq);
        }
        if let Error::Rejected(Rejection::StaleRun {
            requested, current, ..
        }) = &error
        {
            body = body
                .with("requested_run_id", requested.as_str())
                .with("current_run_id", current.as_str());
        }
        let retry = retry_after(&error).map(|seconds| (RETRY_AFTER, HeaderValue::from(seconds)));
        Self {
            status,
            body: Box::new(body),
            header: retry,
        }
    }
}

fn status_of(error: &Error) -> StatusCode {
    match error {
        Error::Rejected(rejection) => status_of_rejection(rejection),
        Error::AgentNotFound { .. } | Error::SkillMissing { .. } | Error::MemoryNotFound { .. } => {
            StatusCode::NOT_FOUND
        }
        Error::AgentConflict { .. }
        | Error::AgentAside { .. }
        | Error::AgentUnreadable { .. }
        | Error::SkillInstalled { .. }
        | Error::TaskInput { .. }
        | Error::SecretNotKept { .. }
        | Error::NoCapabilityKey
        | Error::RunNotRepeated => StatusCode::CONFLICT,
        Error::AgentId(_)
        | Error::Workspace { .. }
        | Error::Template { .. }
        | Error::Archive { .. }
        | Error::SkillInvalid { .. }
        | Error::WorkspaceReserved { .. } => StatusCode::BAD_REQUEST,
        Error::Image(fault) => status_of_image(fault),
        Error::SkillUnreachable { .. } => StatusCode::BAD_GATEWAY,
        Error::SkillTimedOut { .. } => StatusCode::GATEWAY_TIMEOUT,
        Error::KeyReused => StatusCode::UNPROCESSABLE_ENTITY,
        Error::OutcomeRemoved { .. }
        | Error::OutcomeUnreadable { .. }
        | Error::CursorTooOld { .. }
        | Error::AgentReplaced { .. } => StatusCode::GONE,
        Error::Overloaded | Error::ShuttingDown | Error::MemoryLocked => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        Error::MemoryTooSlow { .. } => StatusCode::GATEWAY_TIMEOUT,
        Error::MemoryUnreadable { .. } => StatusCode::CONFLICT,
        Error::DiskFull => StatusCode::INSUFFICIENT_STORAGE,
        // Not 503: clients retry on that, and an input that was stored would be stored twice.
        Error::CommitUnknown
        | Error::StoreLost { .. }
        | Error::MemoryUnavailable { .. }
        | Error::Storage { .. }
        | Error::Internal { .. } => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

const fn status_of_image(fault: &ImageFault) -> StatusCode {
    match fault {
        ImageFault::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
        ImageFault::TooManyPixels { .. }
        | ImageFault::Unreadable { .. }
        | ImageFault::Unknown { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        ImageFault::Digest(_) => StatusCode::BAD_REQUEST,
        ImageFault::NoRoom => StatusCode::INSUFFICIENT_STORAGE,
        ImageFault::NotKept { .. } => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

const fn status_of_rejection(rejection: &Rejection) -> StatusCode {
    match rejection {
        Rejection::Stopped { .. }
        | Rejection::NoHome { .. }
        | Rejection::Archived { .. }
        | Rejection::Deleting { .. }
        | Rejection::WorkItemCompleted { .. }
        | Rejection::TaskOver
        | Rejection::NoCurrentRun { .. }
        | Rejection::StaleRun { .. }
        | Rejection::WorkspaceActive
        | Rejection::WorkspaceIsHome
        | Rejection::TooManyBindings
        | Rejection::TooManyTasks { .. }
        | Rejection::TurnStillOpen { .. }
        | Rejection::TurnNotInThread { .. }
        | Rejection::PinTooLarge { .. }
        | Rejection::TooManyPins { .. }
        | Rejection::TooManyWorkspaces => StatusCode::CONFLICT,
        Rejection::BindingInactive | Rejection::OperatorMismatch => StatusCode::FORBIDDEN,
        Rejection::QueueFull { .. } | Rejection::QueueFullForOthers { .. } => {
            StatusCode::TOO_MANY_REQUESTS
        }
        Rejection::NoModel
        | Rejection::OperatorIdentityMissing
        | Rejection::InvalidCommand { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        Rejection::NoSuchTask
        | Rejection::NoSuchTurn { .. }
        | Rejection::NoSuchWorkItem { .. }
        | Rejection::NoSuchWait { .. }
        | Rejection::NoSuchTimer { .. }
        | Rejection::NoSuchBinding
        | Rejection::NoSuchTrigger { .. }
        | Rejection::UnknownToken
        | Rejection::WorkspaceNotAttached => StatusCode::NOT_FOUND,
        Rejection::TooLarge { .. } | Rejection::TooManyImages { .. } => {
            StatusCode::PAYLOAD_TOO_LARGE
        }
        Rejection::ModelUnavailable { .. }
        | Rejection::InvalidWork { .. }
        | Rejection::EmptyBody
        | Rejection::NameTooLong { .. }
        | Rejection::NoRounds
        | Rejection::KindOriginMismatch => StatusCode::BAD_REQUEST,
        Rejection::KindNotPublic
        | Rejection::OriginNotPublic
        | Rejection::PriorityNotPublic
        | Rejection::BodyNotPublic
        | Rejection::AttachForbidden
        | Rejection::TriggerModeNotAllowed { .. }
        | Rejection::TriggerRevokedByOperator { .. }
        | Rejection::TriggerModeMismatch
        | Rejection::PolicyDenied { .. } => StatusCode::FORBIDDEN,
    }
}

/// Seconds after which a retry is useful; `None` if a retry would fail again.
const fn retry_after(error: &Error) -> Option<u16> {
    match error {
        Error::Rejected(Rejection::QueueFull { .. } | Rejection::QueueFullForOthers { .. })
        | Error::ShuttingDown => Some(5),
        Error::Overloaded | Error::MemoryLocked => Some(1),
        Error::Rejected(_)
        | Error::AgentNotFound { .. }
        | Error::AgentAside { .. }
        | Error::AgentUnreadable { .. }
        | Error::AgentConflict { .. }
        | Error::AgentId(_)
        | Error::Workspace { .. }
        | Error::Template { .. }
        | Error::Archive { .. }
        | Error::SkillInstalled { .. }
        | Error::SkillMissing { .. }
        | Error::SkillInvalid { .. }
        | Error::SkillUnreachable { .. }
        | Error::SkillTimedOut { .. }
        | Error::WorkspaceReserved { .. }
        | Error::TaskInput { .. }
        | Error::Image(_)
        | Error::MemoryNotFound { .. }
        | Error::MemoryTooSlow { .. }
        | Error::MemoryUnreadable { .. }
        | Error::MemoryUnavailable { .. }
        | Error::SecretNotKept { .. }
        | Error::NoCapabilityKey
        | Error::KeyReused
        | Error::RunNotRepeated
        | Error::OutcomeRemoved { .. }
        | Error::OutcomeUnreadable { .. }
        | Error::CursorTooOld { .. }
        | Error::AgentReplaced { .. }
        | Error::DiskFull
        | Error::CommitUnknown
        | Error::StoreLost { .. }
        | Error::Storage { .. }
        | Error::Internal { .. } => None,
    }
}

#[cfg(test)]
mod tests;
