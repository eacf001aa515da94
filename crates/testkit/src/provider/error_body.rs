//! Error bodies in the format of each protocol, as the vendors document them.

use super::answer::Answer;
use super::mint::Mint;
use super::protocol::Protocol;
use super::recorded_request::RecordedRequest;
use serde_json::{Value, json};
use std::time::Duration;

/// An error before it is formatted for a protocol.
struct Refusal<'a> {
    status: u16,
    /// Type and code in OpenAI's protocols.
    openai: (&'a str, Option<&'a str>),
    /// Type in Anthropic's protocol.
    anthropic: &'a str,
    message: String,
}

impl Refusal<'_> {
    fn answer(&self, protocol: Protocol) -> Answer {
        let body = match protocol {
            Protocol::Responses | Protocol::Codex | Protocol::Chat => json!({ "error": {
                "message": self.message, "type": self.openai.0, "param": null, "code": self.openai.1,
            } }),
            Protocol::Messages => json!({
                "type": "error",
                "error": { "type": self.anthropic, "message": self.message },
                "request_id": "req_of_a_test",
            }),
        };
        Answer::json(self.status, &body)
    }
}

/// Status 429: too many requests.
pub(super) fn rate_limited(protocol: Protocol, retry_after: Option<Duration>) -> Answer {
    let answer = Refusal {
        status: 429,
        openai: ("requests", Some("rate_limit_exceeded")),
        anthropic: "rate_limit_error",
        message: "Too many requests; slow down.".to_owned(),
    }
    .answer(protocol);
    match retry_after {
        None => answer,
        Some(pause) if pause.subsec_millis() == 0 => retry_header(answer, pause),
        Some(pause) => {
            retry_header(answer, pause).header("retry-after-ms", pause.as_millis().to_string())
        }
    }
}

fn retry_header(answer: Answer, pause: Duration) -> Answer {
    let seconds = pause.as_millis().div_ceil(1_000);
    answer.header("retry-after", seconds.to_string())
}

/// The quota is used up.
pub(super) fn quota(protocol: Protocol, resets_in: Option<Duration>) -> Answer {
    match protocol {
        Protocol::Codex => codex_quota(resets_in),
        Protocol::Messages => messages_quota(resets_in),
        Protocol::Responses | Protocol::Chat => {
            let answer = Refusal {
                status: 429,
                openai: ("insufficient_quota", Some("insufficient_quota")),
                anthropic: "",
                message:
                    "You exceeded your current quota, please check your plan and billing details."
                        .to_owned(),
            }
            .answer(protocol);
            match resets_in {
                Some(pause) => retry_header(answer, pause),
                None => answer,
            }
        }
    }
}

fn codex_quota(resets_in: Option<Duration>) -> Answer {
    let mut error = json!({
        "type": "usage_limit_reached",
        "message": "The usage limit has been reached",
        "plan_type": "plus",
    });
    if let Some(pause) = resets_in {
        error["resets_in_seconds"] = json!(pause.as_secs());
    }
    Answer::json(429, &json!({ "error": error }))
}

fn messages_quota(resets_in: Option<Duration>) -> Answer {
    let Some(pause) = resets_in else {
        return Refusal {
            status: 400,
            openai: ("", None),
            anthropic: "invalid_request_error",
            message: "Your credit balance is too low to access the Anthropic API.".to_owned(),
        }
        .answer(Protocol::Messages);
    };
    let answer = Refusal {
        status: 429,
        openai: ("", None),
        anthropic: "rate_limit_error",
        message: "This request would exceed your account's usage limit.".to_owned(),
    }
    .answer(Protocol::Messages)
    .header("anthropic-ratelimit-unified-status", "rejected")
    .header(
        "anthropic-ratelimit-unified-reset",
        (unix_now() + pause.as_secs()).to_string(),
    );
    retry_header(answer, pause)
}

/// Seconds since the Unix epoch; one protocol names times and not durations.
#[expect(
    clippy::disallowed_methods,
    reason = "a server has a clock of its own, and this is one"
)]
fn unix_now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.expect("a clock after 1970").as_secs()
}

/// Status 503, or 529 in protocols that have it.
pub(super) fn server_error(protocol: Protocol) -> Answer {
    let overloaded = protocol == Protocol::Messages;
    Refusal {
        status: if overloaded { 529 } else { 503 },
        openai: ("server_error", None),
        anthropic: "overloaded_error",
        message: "Overloaded".to_owned(),
    }
    .answer(protocol)
}

/// Status 401, with a body that repeats the sent key, as careless servers do.
pub(super) fn unauthorized(protocol: Protocol, request: &RecordedRequest) -> Answer {
    let sent = request
        .header("authorization")
        .or_else(|| request.header("x-api-key"));
    Refusal {
        status: 401,
        openai: ("invalid_request_error", Some("invalid_api_key")),
        anthropic: "authentication_error",
        message: format!("Incorrect API key provided: {}", sent.unwrap_or("none")),
    }
    .answer(protocol)
}

/// Status 404 for an unknown model.
pub(super) fn model_not_found(protocol: Protocol, model: &str) -> Answer {
    Refusal {
        status: 404,
        openai: ("invalid_request_error", Some("model_not_found")),
        anthropic: "not_found_error",
        message: match protocol {
            Protocol::Messages => format!("model: {model}"),
            Protocol::Responses | Protocol::Codex | Protocol::Chat => {
                format!("The model `{model}` does not exist or you do not have access to it.")
            }
        },
    }
    .answer(protocol)
}

/// Error message for a prompt that does not fit the window.
pub(super) fn too_long_words(protocol: Protocol, window: u32) -> String {
    let asked = u64::from(window) * 2;
    match protocol {
        Protocol::Messages => format!("prompt is too long: {asked} tokens > {window} maximum"),
        Protocol::Responses | Protocol::Codex | Protocol::Chat => format!(
            "This model's maximum context length is {window} tokens. However, your messages resulted in \
             {asked} tokens. Please reduce the length of the messages."
        ),
    }
}

/// Status 400: the prompt does not fit.
pub(super) fn context_too_long(protocol: Protocol, window: u32) -> Answer {
    Refusal {
        status: 400,
        openai: ("invalid_request_error", Some("context_length_exceeded")),
        anthropic: "invalid_request_error",
        message: too_long_words(protocol, window),
    }
    .answer(protocol)
}

/// Status 400: the requested output limit is too large.
pub(super) fn output_too_long(protocol: Protocol, request: &RecordedRequest, limit: u32) -> Answer {
    let asked = request.max_output_tokens().unwrap_or_default();
    Refusal {
        status: 400,
        openai: ("invalid_request_error", Some("invalid_value")),
        anthropic: "invalid_request_error",
        message: match protocol {
            Protocol::Messages => format!(
                "max_tokens: {asked} > {limit}, which is the maximum allowed number of output tokens for {}",
                request.model()
            ),
            Protocol::Responses | Protocol::Codex | Protocol::Chat => format!(
                "max_tokens is too large: {asked}. This model supports at most {limit} completion tokens, \
                 whereas you provided {asked}."
            ),
        },
    }
    .answer(protocol)
}

/// Status 400: the previous response is unknown.
pub(super) fn unknown_previous(protocol: Protocol, request: &RecordedRequest) -> Answer {
    let id = request.body["previous_response_id"]
        .as_str()
        .unwrap_or("none");
    Refusal {
        status: 400,
        openai: ("invalid_request_error", Some("previous_response_not_found")),
        anthropic: "invalid_request_error",
        message: format!("Previous response with id '{id}' not found."),
    }
    .answer(protocol)
}

/// The list of models in the format of OpenAI and Anthropic.
pub(super) fn models(ids: &[String]) -> Answer {
    let models: Vec<Value> = ids
        .iter()
        .map(|id| json!({ "id": id, "object": "model", "type": "model", "display_name": id }))
        .collect();
    Answer::json(
        200,
        &json!({ "object": "list", "data": models, "has_more": false }),
    )
}

/// The answer to a request for a path that the server does not have.
pub(super) fn not_there() -> Answer {
    Answer::json(404, &json!({ "error": { "message": "Not Found" } }))
}

/// The answer to a request that the script does not cover.
pub(super) fn unscripted(mint: &Mint) -> Answer {
    let message = format!("{}: the script has no answer for this", mint.response());
    Answer::json(400, &json!({ "error": { "message": message } }))
}
