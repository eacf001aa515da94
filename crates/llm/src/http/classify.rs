//! Classifies a refused request by its status, headers and error body.
//!
//! Pure. Decides the failure kind, the wait and the learned limits; `report` builds the message. Where vendors disagree
//! about statuses, the error body is examined first.

use super::error_body::ErrorBody;
use super::retry_after::{LimitResets, renewal_ms, stated_wait_ms, wait_ms};
use super::words::{Size, lacks_model, size};
use holon_domain::limits::BACKOFF_MAX_MS;
use holon_domain::model::ModelFailureKind as Kind;
use holon_domain::provider::LearnedLimits;
use reqwest::header::HeaderMap;

/// Phrases for an exhausted or missing quota.
const QUOTA: &[&str] = &[
    "insufficient_quota",
    "usage_limit_reached",
    "usage_not_included",
    "usage limit",
    "billing_hard_limit_reached",
    "billing_not_active",
    "billing_error",
    "credit balance",
    "insufficient credit",
    "insufficient balance",
    "insufficient_balance",
    "out of credits",
    "exceeded your current quota",
    "quota_exceeded",
    "spending limit",
    "key limit exceeded",
];
/// Phrases for a model that does not exist or that the account cannot use.
const NO_MODEL: &[&str] = &[
    "model_not_found",
    "model not found",
    "model not exist",
    "model_not_supported",
    "not a valid model",
    "invalid model",
    "unknown model",
    "no such model",
    "model is not supported",
    "does not have access to model",
    "deploymentnotfound",
    "no endpoints found for",
    // Anthropic's type, followed by its whole message except the name.
    "not_found_error model:",
];
/// Phrases for an invalid credential, at any status.
const NO_ENTRY: &[&str] = &[
    "invalid_api_key",
    "api_key_invalid",
    "api key not valid",
    "invalid api key",
];
/// Phrases for a previous response that is missing or cannot be continued.
const NO_PREVIOUS: &[&str] = &["previous_response", "previous response"];

/// Meaning of a failed request for the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) kind: Kind,
    /// Wait before a retry, in milliseconds.
    pub(super) wait_ms: Option<u64>,
    pub(super) learned: Option<LearnedLimits>,
    /// True if a refusal for length is about the prompt and the answer together.
    pub(super) counts_answer: bool,
}

impl Verdict {
    const fn of(kind: Kind) -> Self {
        Self {
            kind,
            wait_ms: None,
            learned: None,
            counts_answer: false,
        }
    }
}

/// Classifies a response with a status other than success.
pub(super) fn classify_status(status: u16, headers: &HeaderMap, error_body: &ErrorBody) -> Verdict {
    let waiting = |kind| Verdict {
        wait_ms: wait_ms(headers, error_body, LimitResets::of(status)),
        ..Verdict::of(kind)
    };
    match status {
        400 | 413 | 422 => bad_request(headers, error_body),
        401 => Verdict::of(Kind::Auth),
        402 => quota(headers, error_body, LimitResets::Exhausted),
        403 if error_body.mentions(QUOTA) => quota(headers, error_body, LimitResets::Exhausted),
        403 if error_body.mentions(NO_MODEL) => Verdict::of(Kind::ModelUnavailable),
        403 => Verdict::of(Kind::Auth),
        404 if error_body.mentions(NO_MODEL) || lacks_model(error_body) => {
            Verdict::of(Kind::ModelUnavailable)
        }
        407 => Verdict::of(Kind::Auth),
        408 => waiting(Kind::Timeout),
        // A conflict with another request, or a request that is too early: a retry helps.
        409 | 425 => waiting(Kind::ServerError),
        429 => too_many(headers, error_body),
        // The server at this address is not a provider of this protocol.
        400..=499 => Verdict::of(Kind::UnsupportedTransport),
        500 => match size(error_body) {
            Some(size) => too_large(size),
            None => waiting(Kind::ServerError),
        },
        501..=599 => waiting(Kind::ServerError),
        // A redirect, often to a sign-in form.
        _ => Verdict::of(Kind::NotJson),
    }
}

/// Classifies a failure reported inside a response, whose kind its codec has determined.
pub(super) fn classify_reported(kind: Kind, error_body: &ErrorBody) -> Verdict {
    let verdict = Verdict {
        wait_ms: stated_wait_ms(error_body),
        ..Verdict::of(kind)
    };
    match (kind, size(error_body)) {
        (Kind::InvalidRequest | Kind::ContextLengthExceeded, Some(size)) => too_large(size),
        (_, Some(_) | None) => verdict,
    }
}

/// Returns true if a refusal concerns the previous response that the request refers to.
pub(super) fn is_about_previous(status: u16, error_body: &ErrorBody) -> bool {
    matches!(status, 400 | 404) && error_body.mentions(NO_PREVIOUS)
}

fn bad_request(headers: &HeaderMap, error_body: &ErrorBody) -> Verdict {
    if let Some(size) = size(error_body) {
        too_large(size)
    } else if error_body.mentions(QUOTA) {
        quota(headers, error_body, LimitResets::Exhausted)
    } else if error_body.mentions(NO_ENTRY) {
        Verdict::of(Kind::Auth)
    } else if error_body.mentions(NO_MODEL) {
        Verdict::of(Kind::ModelUnavailable)
    } else {
        Verdict::of(Kind::InvalidRequest)
    }
}

fn too_large(size: Size) -> Verdict {
    let (kind, learned, counts_answer) = match size {
        Size::Prompt {
            window,
            counts_answer,
        } => (
            Kind::ContextLengthExceeded,
            LearnedLimits {
                context_window_tokens: window,
                ..LearnedLimits::default()
            },
            counts_answer,
        ),
        Size::Output { most, window } => (
            Kind::InvalidRequest,
            LearnedLimits {
                context_window_tokens: window,
                max_output_tokens: Some(most),
                ..LearnedLimits::default()
            },
            true,
        ),
    };
    Verdict {
        counts_answer,
        learned: (learned != LearnedLimits::default()).then_some(learned),
        ..Verdict::of(kind)
    }
}

/// Splits status 429 into rate limit and quota: an exhausted quota counts as a rate limit if it is renewed within a
/// minute.
fn too_many(headers: &HeaderMap, error_body: &ErrorBody) -> Verdict {
    let rejected = headers
        .get("anthropic-ratelimit-unified-status")
        .is_some_and(|status| status == "rejected");
    let used_up = quota(headers, error_body, LimitResets::Any);
    let passes = used_up.wait_ms.is_some_and(|wait| wait <= BACKOFF_MAX_MS);
    let wait_ms = match (rejected || error_body.mentions(QUOTA), passes) {
        (true, false) => return used_up,
        // A retry before the renewal would fail in the same way.
        (true, true) => used_up.wait_ms,
        (false, _) => wait_ms(headers, error_body, LimitResets::Any),
    };
    Verdict {
        wait_ms,
        ..Verdict::of(Kind::RateLimited)
    }
}

fn quota(headers: &HeaderMap, error_body: &ErrorBody, resets: LimitResets) -> Verdict {
    Verdict {
        wait_ms: renewal_ms(headers, error_body, resets),
        ..Verdict::of(Kind::Quota)
    }
}

#[cfg(test)]
mod tests;
