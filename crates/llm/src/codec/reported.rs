//! Classifies errors that providers report inside a response with a success status.
//!
//! Owns the codes and type names. Errors with an HTTP status of their own are classified in the HTTP layer.

use super::Fault;
use holon_domain::model::ModelFailureKind as Kind;
use serde_json::Value;

/// Reads the failure in an `error` member: an object with a code, a type and a message, or a bare string.
pub(super) fn fault(error: &Value) -> Fault {
    let message = error
        .as_str()
        .or_else(|| error.get("message").and_then(Value::as_str))
        .unwrap_or("no reason given")
        .to_owned();
    let named = |member: &str| error.get(member).and_then(Value::as_str);
    let status = error.get("code").and_then(Value::as_u64);
    let kind = too_long_kind(&message)
        .or_else(|| named("code").and_then(kind_by_name))
        .or_else(|| named("type").and_then(kind_by_name))
        .or_else(|| status.and_then(kind_by_status))
        // The request reached the provider and failed there for an unknown reason.
        .unwrap_or(Kind::ServerError);
    Fault::Reported { kind, message }
}

/// Detects a prompt that is too long by its message, because providers report it under the code of any bad request.
fn too_long_kind(message: &str) -> Option<Kind> {
    let message = message.to_ascii_lowercase();
    [
        "maximum context length",
        "prompt is too long",
        "exceed context limit",
        "exceed context window",
        "exceeds the context window",
        "context size has been exceeded",
    ]
    .iter()
    .any(|words| message.contains(words))
    .then_some(Kind::ContextLengthExceeded)
}

fn kind_by_name(name: &str) -> Option<Kind> {
    let kind = match name.to_ascii_lowercase().as_str() {
        "context_length_exceeded" | "exceed_context_size_error" => Kind::ContextLengthExceeded,
        "authentication_error" | "permission_error" | "invalid_api_key" => Kind::Auth,
        "billing_error" | "insufficient_quota" | "usage_limit_reached" => Kind::Quota,
        "rate_limit_error" | "rate_limit_exceeded" => Kind::RateLimited,
        "timeout_error" | "timeout" => Kind::Timeout,
        "not_found_error" | "model_not_found" => Kind::ModelUnavailable,
        "invalid_request_error" | "badrequesterror" | "request_too_large" => Kind::InvalidRequest,
        "api_error" | "overloaded_error" | "server_error" | "internal_error" => Kind::ServerError,
        _ => return None,
    };
    Some(kind)
}

fn kind_by_status(status: u64) -> Option<Kind> {
    let kind = match status {
        401 | 403 => Kind::Auth,
        402 => Kind::Quota,
        404 => Kind::ModelUnavailable,
        408 => Kind::Timeout,
        409 | 425 => Kind::ServerError,
        429 => Kind::RateLimited,
        400..=499 => Kind::InvalidRequest,
        500..=599 => Kind::ServerError,
        _ => return None,
    };
    Some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn kind(error: &Value) -> Kind {
        match fault(error) {
            Fault::Reported { kind, .. } => kind,
            other @ (Fault::Malformed { .. } | Fault::NotJson { .. } | Fault::CutOff) => {
                panic!("{other:?}")
            }
        }
    }

    #[test]
    fn an_error_inside_an_answer_is_classified_by_message_code_type_and_number() {
        let too_long = json!({"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum"});
        assert_eq!(kind(&too_long), Kind::ContextLengthExceeded);
        let quota =
            json!({"type": "rate_limit_error", "code": "insufficient_quota", "message": "pay"});
        assert_eq!(kind(&quota), Kind::Quota);
        let overloaded = json!({"type": "overloaded_error", "message": "Overloaded"});
        assert_eq!(kind(&overloaded), Kind::ServerError);
        assert_eq!(
            kind(&json!({"code": 429, "message": "slow down"})),
            Kind::RateLimited
        );
        assert_eq!(kind(&json!({"code": 401})), Kind::Auth);
        assert_eq!(kind(&json!("something broke")), Kind::ServerError);
    }

    #[test]
    fn the_message_of_an_error_is_kept() {
        let message = |error: &Value| match fault(error) {
            Fault::Reported { message, .. } => message,
            other @ (Fault::Malformed { .. } | Fault::NotJson { .. } | Fault::CutOff) => {
                panic!("{other:?}")
            }
        };
        assert_eq!(message(&json!("it broke")), "it broke");
        assert_eq!(message(&json!({"message": "it broke"})), "it broke");
        assert_eq!(message(&json!({})), "no reason given");
    }
}
