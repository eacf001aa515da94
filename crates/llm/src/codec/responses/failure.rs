//! The classes of errors that a Responses provider reports inside an answer or a stream.
//!
//! Owns the table of codes. Errors told by an HTTP status are classified where the status is known.
//! Invariant: a code nobody knows is a fault of the server, because a request it objects to has a code that says so.

use crate::codec::Fault;
use holon_domain::model::ModelFailureKind;
use serde_json::Value;

/// The fault in the `error` member of a failed response.
pub(crate) fn failed(response: &Value) -> Fault {
    match response.get("error") {
        Some(error) if !error.is_null() => reported(error),
        Some(_) | None => Fault::Reported {
            kind: ModelFailureKind::ServerError,
            message: "the provider reports a failure and gives no reason".into(),
        },
    }
}

/// The fault an error object reports.
pub(crate) fn reported(error: &Value) -> Fault {
    let text = |key: &str| error.get(key).and_then(Value::as_str);
    let (code, class) = (text("code"), text("type"));
    let words = error
        .as_str()
        .or_else(|| text("message"))
        .unwrap_or_default();
    let kind = [code, class]
        .into_iter()
        .flatten()
        .find_map(kind_of_code)
        .or_else(|| kind_of_words(words))
        .unwrap_or(ModelFailureKind::ServerError);
    // The general class of a request that is too long is the same as that of any bad request.
    let kind = match kind {
        ModelFailureKind::InvalidRequest => kind_of_words(words).unwrap_or(kind),
        other => other,
    };
    let message = match (code.or(class), words) {
        (Some(code), "") => code.to_owned(),
        (Some(code), words) => format!("{code}: {words}"),
        (None, "") => "the provider reports a failure and gives no reason".to_owned(),
        (None, words) => words.to_owned(),
    };
    Fault::Reported { kind, message }
}

fn kind_of_code(code: &str) -> Option<ModelFailureKind> {
    let kind = match code {
        "context_length_exceeded" | "context_window_exceeded" | "exceed_context_size_error" => {
            ModelFailureKind::ContextLengthExceeded
        }
        "rate_limit_exceeded"
        | "rate_limit_error"
        | "too_many_requests"
        | "requests"
        | "tokens" => ModelFailureKind::RateLimited,
        "insufficient_quota"
        | "usage_limit_reached"
        | "usage_not_included"
        | "quota_exceeded"
        | "billing_hard_limit_reached"
        | "billing_not_active" => ModelFailureKind::Quota,
        "server_error"
        | "internal_error"
        | "internal_server_error"
        | "api_error"
        | "server_is_overloaded"
        | "server_overloaded"
        | "overloaded_error"
        | "slow_down"
        | "service_unavailable"
        | "service_unavailable_error"
        | "vector_store_timeout" => ModelFailureKind::ServerError,
        "timeout" | "request_timeout" => ModelFailureKind::Timeout,
        "invalid_api_key"
        | "invalid_authentication"
        | "authentication_error"
        | "permission_error"
        | "permission_denied"
        | "token_expired"
        | "token_invalidated"
        | "unauthorized"
        | "account_deactivated" => ModelFailureKind::Auth,
        "model_not_found" | "model_not_available" | "unsupported_model" => {
            ModelFailureKind::ModelUnavailable
        }
        "invalid_request_error"
        | "invalid_request"
        | "invalid_prompt"
        | "invalid_value"
        | "invalid_type"
        | "invalid_encrypted_content"
        | "missing_required_parameter"
        | "unknown_parameter"
        | "unsupported_parameter"
        | "unsupported_value"
        | "string_above_max_length"
        | "previous_response_not_found"
        | "data_residency_mismatch"
        | "content_policy_violation"
        | "cyber_policy"
        | "bio_policy"
        | "misalignment_policy_violation" => ModelFailureKind::InvalidRequest,
        image if image.contains("image") => ModelFailureKind::InvalidRequest,
        _ => return None,
    };
    Some(kind)
}

/// For servers that put everything into the message.
fn kind_of_words(words: &str) -> Option<ModelFailureKind> {
    let words = words.to_ascii_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| words.contains(phrase));
    if says(&[
        "context length",
        "context window",
        "context size",
        "prompt is too long",
    ]) {
        Some(ModelFailureKind::ContextLengthExceeded)
    } else if says(&["usage limit", "exceeded your current quota"]) {
        Some(ModelFailureKind::Quota)
    } else if says(&["rate limit", "too many requests"]) {
        Some(ModelFailureKind::RateLimited)
    } else {
        None
    }
}
