//! What can be wrong with a request before the engine is asked: credentials, headers, routes, JSON, parameters.
//!
//! Each fault states its code, meaning and next step, and its HTTP status, here; the message is worded where the fault
//! is found, because only that place knows the details.

use super::Refusal;
use axum::http::StatusCode;
use axum::http::header::{HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use holon_api::ErrorBody;
use holon_domain::refusal::RefusalText;

/// A fault of a request, or a state of the server, that no agent has a part in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestFault {
    Unauthorized,
    HostNotAllowed,
    OriginNotAllowed,
    MediaType,
    UnknownRoute,
    Method,
    MissingBody,
    Json,
    Request,
    BodyBroken,
    BodyTimeout,
    Query,
    Limit,
    Cursor,
    /// A cursor beyond the newest event, so it was given out by another store.
    CursorAhead,
    ModelRef,
    Template,
    /// A field by which the caller says how far to trust it.
    ClaimedAuthority,
    NoContent,
    SeveralContents,
    TooManyStreams,
    /// The host's own settings could not be read again.
    Settings,
}

impl RequestFault {
    /// Every fault, in the order of the reference.
    pub(crate) const ALL: [Self; 22] = [
        Self::Unauthorized,
        Self::HostNotAllowed,
        Self::OriginNotAllowed,
        Self::MediaType,
        Self::UnknownRoute,
        Self::Method,
        Self::MissingBody,
        Self::Json,
        Self::Request,
        Self::BodyBroken,
        Self::BodyTimeout,
        Self::Query,
        Self::Limit,
        Self::Cursor,
        Self::CursorAhead,
        Self::ModelRef,
        Self::Template,
        Self::ClaimedAuthority,
        Self::NoContent,
        Self::SeveralContents,
        Self::TooManyStreams,
        Self::Settings,
    ];

    /// The refusal, worded by whoever found the fault.
    pub(crate) fn refuse(self, message: impl Into<String>) -> Refusal {
        let text = self.text();
        let mut body = ErrorBody::new(text.code, message);
        body.hint = text.next_step.hint().map(str::to_owned);
        Refusal {
            status: self.status(),
            body: Box::new(body),
            header: self.header(),
        }
    }

    pub(crate) const fn status(self) -> StatusCode {
        match self {
            Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::HostNotAllowed | Self::OriginNotAllowed => StatusCode::FORBIDDEN,
            Self::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::UnknownRoute => StatusCode::NOT_FOUND,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::BodyTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::CursorAhead => StatusCode::GONE,
            Self::TooManyStreams => StatusCode::SERVICE_UNAVAILABLE,
            // No fault of the request but a state of the host's files, which the caller can mend and try again.
            Self::Settings => StatusCode::CONFLICT,
            Self::MissingBody
            | Self::Json
            | Self::Request
            | Self::BodyBroken
            | Self::Query
            | Self::Limit
            | Self::Cursor
            | Self::ModelRef
            | Self::Template
            | Self::ClaimedAuthority
            | Self::NoContent
            | Self::SeveralContents => StatusCode::BAD_REQUEST,
        }
    }

    fn header(self) -> Option<(HeaderName, HeaderValue)> {
        if self == Self::Unauthorized {
            let realm = HeaderValue::from_static("Bearer realm=\"holon-control\"");
            return Some((WWW_AUTHENTICATE, realm));
        }
        (self == Self::TooManyStreams).then(|| (RETRY_AFTER, HeaderValue::from(5)))
    }

    /// Code, meaning and next step.
    #[rustfmt::skip]
    pub(crate) const fn text(self) -> RefusalText {
        match self {
            Self::Unauthorized => RefusalText::with_hint(
                "unauthorized",
                "the control token is missing or wrong",
                "send \"Authorization: Bearer TOKEN\"; the token is in run/control.token under the home, or use the unix socket",
            ),
            Self::HostNotAllowed => RefusalText::with_hint(
                "host_not_allowed",
                "the `Host` header names a host that is not served here",
                "use localhost or the address the host listens on; other names must be advertised when it is started",
            ),
            Self::OriginNotAllowed => RefusalText::with_hint(
                "origin_not_allowed",
                "the request carries an `Origin` header, so it comes from a web page",
                "call the control plane from a program; it sends no Origin header",
            ),
            Self::MediaType => RefusalText::with_hint(
                "unsupported_media_type",
                "the body is not declared as JSON",
                "send \"Content-Type: application/json\"",
            ),
            Self::UnknownRoute => RefusalText::without_hint(
                "route_not_found",
                "there is no route with this path",
                "check the path; `GET /handshake` says what this build can do",
            ),
            Self::Method => RefusalText::with_hint(
                "method_not_allowed",
                "the route exists and does not take this method",
                "see the Allow header",
            ),
            Self::MissingBody => RefusalText::without_hint(
                "missing_body",
                "the route needs a JSON body and got none",
                "send the JSON object the route takes",
            ),
            Self::Json => RefusalText::with_hint(
                "invalid_json",
                "the body is not JSON; `line` and `column` say where",
                "correct the body at the given line and column",
            ),
            Self::Request => RefusalText::with_hint(
                "invalid_request",
                "the body is JSON but not what the route takes: an unknown field, a wrong type, a missing field, or fields that contradict each other",
                "correct the body at the given line and column",
            ),
            Self::BodyBroken => RefusalText::without_hint(
                "body_unreadable",
                "the body broke off before its end",
                "send the request again on a new connection",
            ),
            Self::BodyTimeout => RefusalText::with_hint(
                "body_timeout",
                "the body did not arrive within the time limit",
                "send it again",
            ),
            Self::Query => RefusalText::without_hint(
                "invalid_query",
                "a query parameter is unknown or has a wrong type",
                "the message names the parameter; leave it out or correct it",
            ),
            Self::Limit => RefusalText::without_hint(
                "invalid_limit",
                "`limit` is out of range",
                "the message names the range",
            ),
            Self::Cursor => RefusalText::with_hint(
                "invalid_cursor",
                "the `Last-Event-ID` header is not a number",
                "send the id of the last event, or leave the header out to get new events only",
            ),
            Self::CursorAhead => RefusalText::with_hint(
                "cursor_ahead",
                "the cursor is newer than the newest event; `newest_seq` is that event",
                "the cursor belongs to another store; read the status afresh and continue from its newest_seq",
            ),
            Self::ModelRef => RefusalText::without_hint(
                "invalid_model",
                "the model is not written as PROVIDER/MODEL",
                "write it like that; `holon config models list` shows what there is",
            ),
            Self::Template => RefusalText::with_hint(
                "template_unavailable",
                "agents cannot be made from a template in this build",
                "leave the template out",
            ),
            Self::ClaimedAuthority => RefusalText::with_hint(
                "authority_not_accepted",
                "the message says itself how far it is to be trusted",
                "leave it out; how far a message is trusted follows from the route it comes in by",
            ),
            Self::NoContent => RefusalText::with_hint(
                "missing_content",
                "the message has no `text`, `json` or `body`",
                "send exactly one of text, json and body",
            ),
            Self::SeveralContents => RefusalText::with_hint(
                "ambiguous_content",
                "the message has more than one of `text`, `json` and `body`",
                "send exactly one of text, json and body",
            ),
            Self::TooManyStreams => RefusalText::with_hint(
                "too_many_streams",
                "as many event streams are open as the host allows",
                "close one, or read pages from /events instead",
            ),
            Self::Settings => RefusalText::with_hint(
                "invalid_settings",
                "the settings were to be read again and cannot be used; the old ones stay",
                "the host goes on with the settings it has; correct this and reload again",
            ),
        }
    }
}
