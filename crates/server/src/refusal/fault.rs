//! Faults of a request that the server finds itself: credentials, headers, routes, JSON, parameters.
//!
//! Each fault states its HTTP status, code, meaning and next step here. The place that finds the fault words the
//! message, because only it knows the details.

use super::Refusal;
use axum::http::StatusCode;
use axum::http::header::{HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use holon_api::ErrorBody;
use holon_domain::refusal::RefusalText;

/// A malformed request, or a state of the server, that concerns no agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestFault {
    pub(crate) status: StatusCode,
    pub(crate) text: RefusalText,
}

impl RequestFault {
    pub(crate) const UNAUTHORIZED: Self = Self::new(
        StatusCode::UNAUTHORIZED,
        RefusalText::with_hint(
            "unauthorized",
            "the control token is missing or wrong",
            "send \"Authorization: Bearer TOKEN\"; the token is in run/control.token under the home, or use the unix socket",
        ),
    );
    pub(crate) const SCOPE: Self = Self::new(
        StatusCode::FORBIDDEN,
        RefusalText::with_hint(
            "scope_not_sufficient",
            "the named token does not have the scope that the route needs",
            "use a token with that scope: holon token create NAME --scope SCOPE",
        ),
    );
    pub(crate) const AGENT_COMMAND: Self = Self::new(
        StatusCode::FORBIDDEN,
        RefusalText::with_hint(
            "agent_command",
            "the caller is a command of an agent, which may read its own agent and enqueue to it",
            "send it to the enqueue route of the own agent, or let the operator do it",
        ),
    );
    pub(crate) const TOKEN_NAME: Self = Self::new(
        StatusCode::BAD_REQUEST,
        RefusalText::with_hint(
            "invalid_token_name",
            "the name of a token is empty, too long or has other characters",
            "use 1 to 64 letters, digits, `.`, `-` and `_`",
        ),
    );
    pub(crate) const TOKEN_EXISTS: Self = Self::new(
        StatusCode::CONFLICT,
        RefusalText::with_hint(
            "token_exists",
            "a token of this name exists; its secret cannot be shown again",
            "revoke it first with: holon token revoke NAME; or choose another name",
        ),
    );
    /// A repetition with the same idempotency key. The secret is not stored, so it cannot be returned again.
    pub(crate) const TOKEN_MADE: Self = Self::new(
        StatusCode::CONFLICT,
        RefusalText::with_hint(
            "token_already_made",
            "the same request with the same `Idempotency-Key` has made the token; its secret was in the first answer only",
            "if the first answer was lost, revoke the token with: holon token revoke NAME; then make another with a new key",
        ),
    );
    pub(crate) const TOO_MANY_TOKENS: Self = Self::new(
        StatusCode::CONFLICT,
        RefusalText::with_hint(
            "too_many_tokens",
            "the host has as many named tokens as it may",
            "revoke one that is not used: holon token list",
        ),
    );
    pub(crate) const NO_SUCH_ATTACHMENT: Self = Self::new(
        StatusCode::NOT_FOUND,
        RefusalText::with_hint(
            "attachment_not_found",
            "the agent has attached no such file, or it cannot be read any more",
            "see what is attached in the briefs and the notifications of the agent",
        ),
    );
    pub(crate) const NO_SUCH_TOKEN: Self = Self::new(
        StatusCode::NOT_FOUND,
        RefusalText::with_hint(
            "token_not_found",
            "there is no token of this name",
            "see the tokens with: holon token list",
        ),
    );
    pub(crate) const DELIVERY_TARGET: Self = Self::new(
        StatusCode::BAD_REQUEST,
        RefusalText::with_hint(
            "invalid_delivery_target",
            "a delivery target cannot be made as it was asked for",
            "a name has 1 to 48 letters, digits, `.`, `-` and `_`, and an address is written in full, such as https://ntfy.sh/my-topic; see: holon delivery add --help",
        ),
    );
    pub(crate) const TRIGGER_URL: Self = Self::new(
        StatusCode::BAD_REQUEST,
        RefusalText::with_hint(
            "trigger_url_not_kept",
            "the address or command of a delivery holds the URL of a trigger of this host, which the host stores nowhere",
            "write the call into a script that only you can read, and give the script as the command",
        ),
    );
    pub(crate) const TARGET_EXISTS: Self = Self::new(
        StatusCode::CONFLICT,
        RefusalText::with_hint(
            "delivery_target_exists",
            "a delivery target of this name exists",
            "remove it first with: holon delivery remove NAME; or choose another name",
        ),
    );
    pub(crate) const TOO_MANY_TARGETS: Self = Self::new(
        StatusCode::CONFLICT,
        RefusalText::with_hint(
            "too_many_delivery_targets",
            "the host has as many delivery targets as it may",
            "remove one that is not used: holon delivery list",
        ),
    );
    pub(crate) const NO_SUCH_TARGET: Self = Self::new(
        StatusCode::NOT_FOUND,
        RefusalText::with_hint(
            "delivery_target_not_found",
            "there is no delivery target of this name",
            "see the targets with: holon delivery list",
        ),
    );
    pub(crate) const BUDGET: Self = Self::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        RefusalText::with_hint(
            "invalid_budget",
            "a budget cannot be set as it was asked for",
            "a limit is a whole number of tokens or an amount of dollars such as 2.50, not below zero; see: holon budget set --help",
        ),
    );
    pub(crate) const PRICE_UNKNOWN: Self = Self::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        RefusalText::with_hint(
            "price_unknown",
            "money cannot be limited, because the price of a model that may be asked is not known",
            "set the price of the model under models.catalog in config.toml, or limit tokens: holon budget set --tokens N",
        ),
    );
    pub(crate) const TOO_MANY_BUDGETS: Self = Self::new(
        StatusCode::CONFLICT,
        RefusalText::with_hint(
            "too_many_budgets",
            "the host has as many budgets as it may",
            "clear one that is not needed: holon budget show",
        ),
    );
    pub(crate) const NO_SUCH_BUDGET: Self = Self::new(
        StatusCode::NOT_FOUND,
        RefusalText::with_hint(
            "budget_not_found",
            "there is no such budget",
            "see the budgets with: holon budget show",
        ),
    );
    pub(crate) const PRUNE: Self = Self::new(
        StatusCode::BAD_REQUEST,
        RefusalText::with_hint(
            "invalid_prune",
            "history cannot be removed as it was asked for",
            "give a number of days from 0 to 36500; see: holon storage prune --help",
        ),
    );
    pub(crate) const OPERATOR_BINDING: Self = Self::new(
        StatusCode::BAD_REQUEST,
        RefusalText::without_hint(
            "invalid_operator_binding",
            "a binding to a remote operator cannot be made as it was asked for",
            "correct what the message names; `holon binding --help` shows what can be given",
        ),
    );
    pub(crate) const IDEMPOTENCY_KEY: Self = Self::new(
        StatusCode::BAD_REQUEST,
        RefusalText::with_hint(
            "invalid_idempotency_key",
            "the `Idempotency-Key` header is empty, too long, repeated, or not visible ASCII",
            "send one key of 1 to 255 visible ASCII characters, for example a UUID",
        ),
    );
    pub(crate) const DEFAULT_AGENT: Self = Self::new(
        StatusCode::CONFLICT,
        RefusalText::with_hint(
            "default_agent",
            "the default agent cannot be removed or archived: the host makes it again at every start",
            "stop it instead: holon agent stop; or choose another default agent first: holon config set agent.default_id NAME, then restart the host",
        ),
    );
    pub(crate) const NOT_READY: Self = Self::new(
        StatusCode::SERVICE_UNAVAILABLE,
        RefusalText::with_hint(
            "not_ready",
            "the host has not recovered its agents yet, or is shutting down",
            "try again in a moment",
        ),
    );
    pub(crate) const HOST_NOT_ALLOWED: Self = Self::new(
        StatusCode::FORBIDDEN,
        RefusalText::with_hint(
            "host_not_allowed",
            "the `Host` header names a host that is not served here",
            "use localhost or the address the host listens on; other names must be advertised when it is started",
        ),
    );
    pub(crate) const ORIGIN_NOT_ALLOWED: Self = Self::new(
        StatusCode::FORBIDDEN,
        RefusalText::with_hint(
            "origin_not_allowed",
            "the request carries an `Origin` header, so it comes from a web page",
            "call the control plane from a program; it sends no Origin header",
        ),
    );
    pub(crate) const MEDIA_TYPE: Self = Self::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        RefusalText::with_hint(
            "unsupported_media_type",
            "the body is not declared as JSON",
            "send \"Content-Type: application/json\"",
        ),
    );
    pub(crate) const UNKNOWN_ROUTE: Self = Self::new(
        StatusCode::NOT_FOUND,
        RefusalText::without_hint(
            "route_not_found",
            "there is no route with this path",
            "check the path; `GET /openapi.json` lists every route",
        ),
    );
    pub(crate) const METHOD: Self = Self::new(
        StatusCode::METHOD_NOT_ALLOWED,
        RefusalText::with_hint(
            "method_not_allowed",
            "the route exists and does not take this method",
            "see the Allow header",
        ),
    );
    pub(crate) const MISSING_BODY: Self = Self::new(
        StatusCode::BAD_REQUEST,
        RefusalText::without_hint(
            "missing_body",
            "the route needs a JSON body and got none",
            "send the JSON object the route takes",
        ),
    );
    pub(crate) const JSON: Self = Self::new(
        StatusCode::BAD_REQUEST,
        RefusalText::with_hint(
            "invalid_json",
            "the body is not JSON; `line` and `column` say where",
            "correct the body at the given line and column",
        ),
    );
    pub(crate) const REQUEST: Self = Self::new(
        StatusCode::BAD_REQUEST,
        RefusalText::with_hint(
            "invalid_request",
            "the body is JSON but not what the route takes: an unknown field, a wrong type, a missing field, or fields that contradict each other",
            "correct the body at the given line and column",
        ),
    );
    pub(crate) const HEAD_TOO_LARGE: Self = Self::new(
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        RefusalText::with_hint(
            "request_head_too_large",
            "the URL and the headers together are too long",
            "send a shorter URL, or fewer and shorter headers",
        ),
    );
    pub(crate) const BODY_BROKEN: Self = Self::new(
        StatusCode::BAD_REQUEST,
        RefusalText::without_hint(
            "body_unreadable",
            "the body broke off before its end",
            "send the request again on a new connection",
        ),
    );
    pub(crate) const BODY_TIMEOUT: Self = Self::new(
        StatusCode::REQUEST_TIMEOUT,
        RefusalText::with_hint(
            "body_timeout",
            "the body did not arrive within the time limit",
            "send it again",
        ),
    );
    pub(crate) const QUERY: Self = Self::new(
        StatusCode::BAD_REQUEST,
        RefusalText::without_hint(
            "invalid_query",
            "a query parameter is unknown or has a wrong type",
            "the message names the parameter; leave it out or correct it",
        ),
    );
    pub(crate) const LIMIT: Self = Self::new(
        StatusCode::BAD_REQUEST,
        RefusalText::without_hint(
            "invalid_limit",
            "`limit` is out of range",
            "the message names the range",
        ),
    );
    pub(crate) const CURSOR: Self = Self::new(
        StatusCode::BAD_REQUEST,
        RefusalText::with_hint(
            "invalid_cursor",
            "the `Last-Event-ID` header is not a number",
            "send the id of the last event, or leave the header out to get new events only",
        ),
    );
    /// The cursor is beyond the newest event, so another store issued it.
    pub(crate) const CURSOR_AHEAD: Self = Self::new(
        StatusCode::GONE,
        RefusalText::with_hint(
            "cursor_ahead",
            "the cursor is newer than the newest event; `newest_seq` is that event",
            "the cursor belongs to another store; read the status afresh and continue from its newest_seq",
        ),
    );
    /// The cursor belongs to an agent that was deleted, or to another store.
    pub(crate) const EPOCH: Self = Self::new(
        StatusCode::GONE,
        RefusalText::with_hint(
            "epoch_changed",
            "the cursor belongs to another store, or to an agent of the same name that was deleted; `epoch` is the present one",
            "forget what was read before, and begin again without a cursor",
        ),
    );
    pub(crate) const MODEL_REF: Self = Self::new(
        StatusCode::BAD_REQUEST,
        RefusalText::without_hint(
            "invalid_model",
            "the model is not written as PROVIDER/MODEL",
            "write it like that; `holon config models list` shows what there is",
        ),
    );
    pub(crate) const THREAD_LIMIT: Self = Self::new(
        StatusCode::BAD_REQUEST,
        RefusalText::without_hint(
            "invalid_thread_limit",
            "the bound of the thread is out of range",
            "the message names the range",
        ),
    );
    pub(crate) const MODEL_OPTION: Self = Self::new(
        StatusCode::BAD_REQUEST,
        RefusalText::without_hint(
            "invalid_model_option",
            "an option of the model is out of range",
            "the message names the option and its range",
        ),
    );
    /// The caller sent a field that claims an authority.
    pub(crate) const CLAIMED_AUTHORITY: Self = Self::new(
        StatusCode::BAD_REQUEST,
        RefusalText::with_hint(
            "authority_not_accepted",
            "the message says itself how far it is to be trusted",
            "leave it out; how far a message is trusted follows from the route it comes in by",
        ),
    );
    pub(crate) const NO_CONTENT: Self = Self::new(
        StatusCode::BAD_REQUEST,
        RefusalText::with_hint(
            "missing_content",
            "the message has no `text`, `json` or `body`",
            "send exactly one of text, json and body",
        ),
    );
    pub(crate) const SEVERAL_CONTENTS: Self = Self::new(
        StatusCode::BAD_REQUEST,
        RefusalText::with_hint(
            "ambiguous_content",
            "the message has more than one of `text`, `json` and `body`",
            "send exactly one of text, json and body",
        ),
    );
    pub(crate) const TOO_MANY_STREAMS: Self = Self::new(
        StatusCode::SERVICE_UNAVAILABLE,
        RefusalText::with_hint(
            "too_many_streams",
            "as many event streams are open as the host allows",
            "close one, or read pages from /events instead",
        ),
    );
    /// The host's settings are invalid. The operator can correct them and retry.
    pub(crate) const SETTINGS: Self = Self::new(
        StatusCode::CONFLICT,
        RefusalText::with_hint(
            "invalid_settings",
            "the settings were to be read again and cannot be used; the old ones stay",
            "the host goes on with the settings it has; correct this and reload again",
        ),
    );

    pub(crate) const RATE_LIMITED: Self = Self::new(
        StatusCode::TOO_MANY_REQUESTS,
        RefusalText::with_hint(
            "rate_limited",
            "more deliveries came to one URL, or more unknown tokens and wrong signatures to the host, than it answers at once",
            "wait as long as the Retry-After header says; one wake stands for many",
        ),
    );
    pub(crate) const DELIVERY_ID: Self = Self::new(
        StatusCode::BAD_REQUEST,
        RefusalText::with_hint(
            "invalid_delivery_id",
            "the header with the id of the delivery is empty, too long, repeated, or not visible ASCII",
            "send one id of 1 to 255 visible ASCII characters in webhook-id, x-github-delivery or idempotency-key",
        ),
    );
    pub(crate) const WEBHOOK_UNKNOWN: Self = Self::new(
        StatusCode::NOT_FOUND,
        RefusalText::with_hint(
            "webhook_not_found",
            "there is no such agent, or it accepts no webhooks; both get this one answer",
            "an operator allows them with: holon webhook set AGENT --secret-stdin",
        ),
    );
    pub(crate) const WEBHOOK_SIGNATURE: Self = Self::new(
        StatusCode::UNAUTHORIZED,
        RefusalText::with_hint(
            "webhook_signature_invalid",
            "the webhook has no signature that the agent's secret proves",
            "sign the raw body with the secret: headers webhook-id, webhook-timestamp and webhook-signature, or x-hub-signature-256",
        ),
    );
    pub(crate) const WEBHOOK_TIME: Self = Self::new(
        StatusCode::UNAUTHORIZED,
        RefusalText::with_hint(
            "webhook_outside_window",
            "the time that the webhook names is more than five minutes away from the host's clock",
            "send it when it is made, and set the clocks of both machines",
        ),
    );
    pub(crate) const WEBHOOK_SECRET: Self = Self::new(
        StatusCode::CONFLICT,
        RefusalText::without_hint(
            "webhook_secret_unusable",
            "the secret of a webhook cannot be stored or read",
            "the message says why; `holon config doctor` shows the state of the credentials",
        ),
    );

    /// Every fault, as input of the reference page.
    pub(crate) const ALL: [Self; 53] = [
        Self::UNAUTHORIZED,
        Self::SCOPE,
        Self::AGENT_COMMAND,
        Self::TOKEN_NAME,
        Self::TOKEN_EXISTS,
        Self::TOKEN_MADE,
        Self::TOO_MANY_TOKENS,
        Self::NO_SUCH_ATTACHMENT,
        Self::NO_SUCH_TOKEN,
        Self::DELIVERY_TARGET,
        Self::TRIGGER_URL,
        Self::TARGET_EXISTS,
        Self::TOO_MANY_TARGETS,
        Self::NO_SUCH_TARGET,
        Self::OPERATOR_BINDING,
        Self::IDEMPOTENCY_KEY,
        Self::DEFAULT_AGENT,
        Self::NOT_READY,
        Self::HOST_NOT_ALLOWED,
        Self::ORIGIN_NOT_ALLOWED,
        Self::MEDIA_TYPE,
        Self::UNKNOWN_ROUTE,
        Self::METHOD,
        Self::MISSING_BODY,
        Self::JSON,
        Self::REQUEST,
        Self::HEAD_TOO_LARGE,
        Self::BODY_BROKEN,
        Self::BODY_TIMEOUT,
        Self::BUDGET,
        Self::PRICE_UNKNOWN,
        Self::TOO_MANY_BUDGETS,
        Self::NO_SUCH_BUDGET,
        Self::PRUNE,
        Self::QUERY,
        Self::LIMIT,
        Self::CURSOR,
        Self::CURSOR_AHEAD,
        Self::EPOCH,
        Self::MODEL_REF,
        Self::THREAD_LIMIT,
        Self::MODEL_OPTION,
        Self::CLAIMED_AUTHORITY,
        Self::NO_CONTENT,
        Self::SEVERAL_CONTENTS,
        Self::TOO_MANY_STREAMS,
        Self::SETTINGS,
        Self::RATE_LIMITED,
        Self::DELIVERY_ID,
        Self::WEBHOOK_UNKNOWN,
        Self::WEBHOOK_SIGNATURE,
        Self::WEBHOOK_TIME,
        Self::WEBHOOK_SECRET,
    ];

    const fn new(status: StatusCode, text: RefusalText) -> Self {
        Self { status, text }
    }

    /// Builds the refusal with a message from the place that found the fault.
    pub(crate) fn refuse(self, message: impl Into<String>) -> Refusal {
        let Self { status, text } = self;
        let mut body = ErrorBody::new(text.code, message);
        body.hint = Some(text.next_step.text().to_owned());
        Refusal {
            status,
            body: Box::new(body),
            header: header_of(status),
        }
    }
}

/// Returns the header that HTTP expects with a status: `WWW-Authenticate` or `Retry-After`.
fn header_of(status: StatusCode) -> Option<(HeaderName, HeaderValue)> {
    match status {
        StatusCode::UNAUTHORIZED => {
            let realm = HeaderValue::from_static("Bearer realm=\"holon-control\"");
            Some((WWW_AUTHENTICATE, realm))
        }
        StatusCode::SERVICE_UNAVAILABLE => Some((RETRY_AFTER, HeaderValue::from(5))),
        StatusCode::TOO_MANY_REQUESTS => Some((RETRY_AFTER, HeaderValue::from(1))),
        _ => None,
    }
}
