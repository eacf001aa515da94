//! Classifies errors that a Responses provider reports inside an answer or a stream.
//!
//! Owns the codes that only these providers use; `reported` has the common ones, and errors with an HTTP status are
//! classified in the HTTP layer. Invariant: a wait that the provider states is part of the message, because a codec
//! passes on nothing else.

use crate::codec::{Fault, reported};
use holon_domain::model::ModelFailureKind as Kind;
use serde_json::Value;

/// Reads the fault in the `error` member of a failed response.
pub(crate) fn response_fault(response: &Value) -> Fault {
    match response.get("error") {
        Some(error) if !error.is_null() => error_fault(error),
        Some(_) | None => Fault::Reported {
            kind: Kind::ServerError,
            message: "the provider reports a failure and gives no reason".into(),
        },
    }
}

/// Reads the fault in an error object.
pub(crate) fn error_fault(error: &Value) -> Fault {
    let names: Vec<&str> = ["code", "type"]
        .iter()
        .filter_map(|member| error.get(*member).and_then(Value::as_str))
        .collect();
    match reported::fault(error) {
        Fault::Reported { kind, message } => Fault::Reported {
            kind: narrow_kind(kind, &names, &message),
            message: sentence(error, names.first().copied(), &message),
        },
        other @ (Fault::Malformed { .. } | Fault::NotJson { .. } | Fault::CutOff) => other,
    }
}

/// Returns a more precise class if a code or message of these providers gives one.
fn narrow_kind(kind: Kind, names: &[&str], message: &str) -> Kind {
    // A prompt that is too long is reported under many codes; its message has decided.
    if kind == Kind::ContextLengthExceeded {
        return kind;
    }
    let limited = || {
        let words = message.to_ascii_lowercase();
        (names.is_empty() && words.contains("rate limit")).then_some(Kind::RateLimited)
    };
    let own = names.iter().find_map(|name| own_code(name));
    own.or_else(limited).unwrap_or(kind)
}

fn own_code(code: &str) -> Option<Kind> {
    let kind = match code {
        "usage_not_included" | "quota_exceeded" => Kind::Quota,
        "billing_hard_limit_reached" | "billing_not_active" => Kind::Quota,
        "too_many_requests" => Kind::RateLimited,
        "server_is_overloaded" | "slow_down" | "vector_store_timeout" => Kind::ServerError,
        "token_expired" | "token_invalidated" | "account_deactivated" => Kind::Auth,
        "invalid_prompt"
        | "invalid_encrypted_content"
        | "previous_response_not_found"
        | "data_residency_mismatch"
        | "cyber_policy"
        | "bio_policy"
        | "misalignment_policy_violation" => Kind::InvalidRequest,
        image if image.contains("image") => Kind::InvalidRequest,
        _ => return None,
    };
    Some(kind)
}

/// Builds one message from the error's code, its text and the time at which it passes.
fn sentence(error: &Value, name: Option<&str>, words: &str) -> String {
    let wait = error.get("resets_in_seconds").and_then(Value::as_u64);
    let named = name.map(|name| format!("{name}: ")).unwrap_or_default();
    let waiting = wait.map(|seconds| format!(" (try again in {seconds} seconds)"));
    format!("{named}{words}{}", waiting.unwrap_or_default())
}
