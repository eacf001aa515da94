//! Classification of every status and of every vendor's phrases.

use super::*;
use reqwest::header::{HeaderName, HeaderValue};

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    pairs
        .iter()
        .map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        })
        .collect()
}

fn kind(status: u16, body: &str) -> Kind {
    classify_status(status, &HeaderMap::new(), &ErrorBody::read(body.as_bytes())).kind
}

#[test]
fn each_status_without_a_message_has_its_class() {
    for status in 100..=599 {
        let expected = match status {
            400 | 413 | 422 => Kind::InvalidRequest,
            401 | 403 | 407 => Kind::Auth,
            402 => Kind::Quota,
            408 => Kind::Timeout,
            409 | 425 => Kind::ServerError,
            429 => Kind::RateLimited,
            400..=499 => Kind::UnsupportedTransport,
            500..=599 => Kind::ServerError,
            _ => Kind::NotJson,
        };
        assert_eq!(kind(status, ""), expected, "{status}");
    }
}

/// Status, body and the expected class.
const REFUSALS: &[(u16, &str, Kind)] = &[
    (
        400,
        r#"{"error":{"message":"Unknown parameter: 'foo'.","type":"invalid_request_error"}}"#,
        Kind::InvalidRequest,
    ),
    (
        400,
        r#"{"error":{"message":"x does not support tools"}}"#,
        Kind::InvalidRequest,
    ),
    (
        400,
        r#"{"error":{"message":"bad","code":"context_length_exceeded"}}"#,
        Kind::ContextLengthExceeded,
    ),
    (
        413,
        r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
        Kind::ContextLengthExceeded,
    ),
    (
        413,
        r#"{"error":{"message":"Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 8000","code":"rate_limit_exceeded"}}"#,
        Kind::ContextLengthExceeded,
    ),
    (
        413,
        "<html><title>413 Request Entity Too Large</title>",
        Kind::InvalidRequest,
    ),
    (
        422,
        r#"{"detail":[{"msg":"field required"}]}"#,
        Kind::InvalidRequest,
    ),
    (
        500,
        r#"{"error":{"message":"the request exceeds the available context size (4096 tokens)"}}"#,
        Kind::ContextLengthExceeded,
    ),
    (
        400,
        r#"{"error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API."}}"#,
        Kind::Quota,
    ),
    (
        400,
        r#"[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]"#,
        Kind::Auth,
    ),
    (
        400,
        r#"{"error":{"message":"foo/bar is not a valid model ID","code":400}}"#,
        Kind::ModelUnavailable,
    ),
    (
        400,
        r#"{"error":{"message":"Model Not Exist","type":"invalid_request_error"}}"#,
        Kind::ModelUnavailable,
    ),
    (
        400,
        r#"{"detail":"The 'x' model is not supported when using Codex with this account."}"#,
        Kind::ModelUnavailable,
    ),
    (
        402,
        r#"{"error":{"message":"Insufficient Balance"}}"#,
        Kind::Quota,
    ),
    (
        403,
        r#"{"error":{"message":"Key limit exceeded (total limit)"}}"#,
        Kind::Quota,
    ),
    (
        403,
        r#"{"error":{"message":"Project does not have access to model m","code":"model_not_found"}}"#,
        Kind::ModelUnavailable,
    ),
    (403, "<html><title>Attention Required!</title>", Kind::Auth),
    (
        404,
        r#"{"error":{"message":"The model `x` does not exist","code":"model_not_found"}}"#,
        Kind::ModelUnavailable,
    ),
    (
        404,
        r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-x"}}"#,
        Kind::ModelUnavailable,
    ),
    (
        404,
        r#"{"error":{"message":"model \"x\" not found, try pulling it first"}}"#,
        Kind::ModelUnavailable,
    ),
    (404, "404 page not found", Kind::UnsupportedTransport),
    (
        404,
        r#"{"error":{"code":404,"message":"models/x-1 is not found for API version v1beta, or is not supported for generateContent.","status":"NOT_FOUND"}}"#,
        Kind::ModelUnavailable,
    ),
    (
        404,
        r#"{"error":{"message":"The model has been decommissioned."}}"#,
        Kind::ModelUnavailable,
    ),
    (
        404,
        r#"{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}"#,
        Kind::ModelUnavailable,
    ),
    (
        404,
        r#"{"error":{"code":404,"message":"No endpoints found for acme/x."}}"#,
        Kind::ModelUnavailable,
    ),
    (
        404,
        "The requested URL /v1/models/chat/completions was not found on this server.",
        Kind::UnsupportedTransport,
    ),
    (
        404,
        "<html><title>404: the model gateway has no such route</title>",
        Kind::UnsupportedTransport,
    ),
    (
        404,
        r#"{"type":"error","error":{"type":"not_found_error","message":"Not Found"}}"#,
        Kind::UnsupportedTransport,
    ),
    (
        404,
        r#"{"error":{"message":"Invalid URL (POST /v1/model/responses)","type":"invalid_request_error"}}"#,
        Kind::UnsupportedTransport,
    ),
    (
        400,
        r#"{"error":{"message":"Invalid 'messages[1].content': string too long. Expected a string with maximum length 1048576.","code":"string_above_max_length","param":"messages[1].content"}}"#,
        Kind::ContextLengthExceeded,
    ),
    (
        400,
        r#"{"error":{"message":"Invalid 'input[2].content[0].text': string too long.","code":"string_above_max_length"}}"#,
        Kind::ContextLengthExceeded,
    ),
    (
        400,
        r#"{"error":{"message":"String too long.","code":"string_above_max_length","param":"input"}}"#,
        Kind::ContextLengthExceeded,
    ),
    (
        400,
        r#"{"error":{"message":"Invalid 'tools[0].function.description': string too long.","code":"string_above_max_length","param":"tools[0].function.description"}}"#,
        Kind::InvalidRequest,
    ),
    (
        400,
        r#"{"error":{"message":"Invalid 'input[5].call_id': string too long. Expected a string with maximum length 64.","code":"string_above_max_length","param":"input[5].call_id"}}"#,
        Kind::InvalidRequest,
    ),
    (
        400,
        r#"{"error":{"message":"Invalid 'prompt_cache_key': string too long.","code":"string_above_max_length"}}"#,
        Kind::InvalidRequest,
    ),
    (
        429,
        r#"{"error":{"message":"Rate limit reached for m. Add a payment method at https://x/account/billing","code":"rate_limit_exceeded"}}"#,
        Kind::RateLimited,
    ),
    (
        429,
        r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","code":"insufficient_quota"}}"#,
        Kind::Quota,
    ),
    (
        429,
        r#"{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached"}}"#,
        Kind::Quota,
    ),
    (
        529,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        Kind::ServerError,
    ),
];

#[test]
fn words_refine_what_a_status_says() {
    for (status, body, expected) in REFUSALS {
        assert_eq!(kind(*status, body), *expected, "{status} {body}");
    }
}

#[test]
fn limits_are_learned_from_refusals_and_from_reports() {
    let sentence = "This model's maximum context length is 4096 tokens. Your messages resulted in 9000 tokens.";
    let window = Some(LearnedLimits {
        context_window_tokens: Some(4_096),
        ..LearnedLimits::default()
    });
    let refused = classify_status(400, &HeaderMap::new(), &ErrorBody::plain(sentence));
    assert_eq!(
        (refused.kind, refused.learned),
        (Kind::ContextLengthExceeded, window)
    );
    for coded in [Kind::InvalidRequest, Kind::ContextLengthExceeded] {
        assert_eq!(
            classify_reported(coded, &ErrorBody::plain(sentence)),
            refused
        );
    }
    let output = classify_status(
        400,
        &HeaderMap::new(),
        &ErrorBody::plain(
            "max_tokens: 9 > 4096, which is the maximum allowed number of output tokens",
        ),
    );
    assert_eq!(output.kind, Kind::InvalidRequest);
    assert_eq!(output.learned.unwrap().max_output_tokens, Some(4_096));
    let nothing = classify_status(
        400,
        &HeaderMap::new(),
        &ErrorBody::plain("context_length_exceeded"),
    );
    assert_eq!(nothing.learned, None);
}

#[test]
fn a_report_keeps_its_class_and_its_stated_wait() {
    let error_body = ErrorBody::plain("Rate limit reached. Please try again in 11.5s.");
    let verdict = classify_reported(Kind::RateLimited, &error_body);
    assert_eq!(
        (verdict.kind, verdict.wait_ms),
        (Kind::RateLimited, Some(11_500))
    );
    assert_eq!(
        classify_reported(Kind::ServerError, &ErrorBody::plain("")).wait_ms,
        None
    );
}

#[test]
fn waits_are_kept_where_another_try_can_help() {
    let retry_after = headers(&[("retry-after", "7")]);
    for (status, wait) in [
        (429, Some(7_000)),
        (503, Some(7_000)),
        (500, Some(7_000)),
        (529, Some(7_000)),
        (408, Some(7_000)),
        (409, Some(7_000)),
        (425, Some(7_000)),
        (530, Some(7_000)),
        (401, None),
        (404, None),
    ] {
        assert_eq!(
            classify_status(status, &retry_after, &ErrorBody::plain("")).wait_ms,
            wait,
            "{status}"
        );
    }
}

#[test]
fn an_exhausted_quota_says_when_it_is_renewed() {
    let codex =
        ErrorBody::read(br#"{"error":{"type":"usage_limit_reached","resets_in_seconds":7200}}"#);
    let verdict = classify_status(429, &HeaderMap::new(), &codex);
    assert_eq!(
        (verdict.kind, verdict.wait_ms),
        (Kind::Quota, Some(7_200_000))
    );
    let unified = headers(&[
        ("date", "Thu, 01 Jan 2026 00:00:00 GMT"),
        ("anthropic-ratelimit-unified-status", "rejected"),
        ("anthropic-ratelimit-unified-reset", "1767229200"),
    ]);
    let verdict = classify_status(
        429,
        &unified,
        &ErrorBody::plain("This request would exceed your account's rate limit."),
    );
    assert_eq!(
        (verdict.kind, verdict.wait_ms),
        (Kind::Quota, Some(3_600_000))
    );
}

#[test]
fn a_quota_that_is_renewed_within_a_minute_is_a_rate_limit() {
    let google = ErrorBody::read(
        br#"[{"error":{"code":429,"message":"You exceeded your current quota","details":[{"retryDelay":"34s"}]}}]"#,
    );
    let verdict = classify_status(429, &HeaderMap::new(), &google);
    assert_eq!(
        (verdict.kind, verdict.wait_ms),
        (Kind::RateLimited, Some(34_000))
    );
}

#[test]
fn a_missing_previous_response_is_recognised_and_nothing_else_is() {
    let error_body = |body: &str| ErrorBody::read(body.as_bytes());
    let missing = error_body(
        r#"{"error":{"message":"Previous response with id 'resp_1' not found.","code":"previous_response_not_found","param":"previous_response_id"}}"#,
    );
    assert!(is_about_previous(400, &missing));
    assert!(is_about_previous(404, &missing));
    assert!(!is_about_previous(429, &missing));
    assert!(!is_about_previous(
        400,
        &error_body(r#"{"error":{"message":"no"}}"#)
    ));
}

#[test]
fn a_renewal_within_a_minute_is_the_wait_of_the_rate_limit() {
    let dated = headers(&[
        ("date", "Thu, 01 Jan 2026 00:00:00 GMT"),
        ("retry-after", "2"),
    ]);
    for body in [
        r#"{"error":{"code":"insufficient_quota","resets_in_seconds":45}}"#,
        r#"{"error":{"code":"insufficient_quota","resets_at":1767225645}}"#,
    ] {
        let verdict = classify_status(429, &dated, &ErrorBody::read(body.as_bytes()));
        assert_eq!(
            (verdict.kind, verdict.wait_ms),
            (Kind::RateLimited, Some(45_000)),
            "{body}"
        );
    }
    let unnamed = ErrorBody::read(br#"{"error":{"message":"Slow down","resets_in_seconds":45}}"#);
    let verdict = classify_status(429, &HeaderMap::new(), &unnamed);
    assert_eq!(
        (verdict.kind, verdict.wait_ms),
        (Kind::RateLimited, Some(45_000))
    );
}
