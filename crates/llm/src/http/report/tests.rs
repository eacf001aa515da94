//! Content of failure messages, and the removal of secrets from them.

use super::*;
use reqwest::header::{HeaderName, HeaderValue};
use std::time::Duration;

fn provider(transport: Transport) -> ProviderSpec {
    ProviderSpec {
        id: "acme".to_owned(),
        transport,
        base_url: "https://api.acme.example/v1".to_owned(),
        store_responses: false,
        context_management: None,
        reasoning_effort: None,
        omit: std::collections::BTreeSet::new(),
    }
}

fn told(transport: Transport, status: u16, body: &str) -> ModelFailure {
    told_with(transport, status, &HeaderMap::new(), body)
}

fn told_with(transport: Transport, status: u16, headers: &HeaderMap, body: &str) -> ModelFailure {
    let provider = provider(transport);
    let url = Url::parse("https://api.acme.example/v1/responses").unwrap();
    let model = ModelRef::parse("acme/m").unwrap();
    let secret = SecretString::from("sk-canary-0123456789");
    let context = ErrorContext {
        provider: &provider,
        model: Some(&model),
        url: &url,
        secret: Some(&secret),
        secrets: &Secrets::default(),
    };
    let status = StatusCode::from_u16(status).unwrap();
    context.status_failure(status, headers, &ErrorBody::read(body.as_bytes()))
}

#[test]
fn a_refusal_without_a_credential_says_that_one_is_wanted() {
    let provider = provider(Transport::OpenaiChatCompletions);
    let url = Url::parse("http://127.0.0.1:4000/v1/chat/completions").unwrap();
    let context = ErrorContext {
        provider: &provider,
        model: None,
        url: &url,
        secret: None,
        secrets: &Secrets::default(),
    };
    let failure = context.status_failure(
        StatusCode::UNAUTHORIZED,
        &HeaderMap::new(),
        &ErrorBody::read(br#"{"error":{"message":"No api key passed in."}}"#),
    );
    assert_eq!(failure.kind, Kind::Auth);
    assert_eq!(
        failure.message,
        "acme answered 401 Unauthorized: No api key passed in; it wants a credential and none is set: store one with \
         `holon config credentials set acme`, then run `holon config providers set acme --credential-profile acme`"
    );
}

fn message(status: u16, body: &str) -> String {
    told(Transport::OpenaiResponses, status, body).message
}

#[test]
fn a_refusal_names_the_provider_the_status_the_message_and_the_next_step() {
    assert_eq!(
        message(401, r#"{"error":{"message":"Invalid token."}}"#),
        "acme answered 401 Unauthorized: Invalid token; renew the credential of acme (`holon config doctor` shows \
         where it comes from)"
    );
    assert_eq!(
        told(Transport::OpenaiCodexResponses, 401, "").message,
        "acme answered 401 Unauthorized; log in again with `codex login`"
    );
    assert_eq!(
        message(404, "nothing here"),
        "acme answered 404 Not Found: nothing here; nothing is served at https://api.acme.example/v1/responses, check \
         the base URL of acme"
    );
    assert_eq!(message(503, ""), "acme answered 503 Service Unavailable");
    let quota = r#"{"error":{"type":"usage_limit_reached","message":"Limit reached","resets_in_seconds":7500}}"#;
    assert!(message(429, quota).ends_with("; the allowance is renewed in 2 h 5 min"));
}

#[test]
fn a_provider_that_says_when_to_ask_again_is_quoted_with_it() {
    for (status, after, error_body) in [
        (429, "9999", "; it wants to be asked again in 2 h 47 min"),
        (503, "45", "; it wants to be asked again in 45 s"),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert("retry-after", HeaderValue::from_static(after));
        let failure = told_with(Transport::OpenaiResponses, status, &headers, "Slow down.");
        assert!(failure.message.ends_with(error_body), "{}", failure.message);
    }
}

#[test]
fn diagnostics_accompany_the_message() {
    let failure = told(Transport::OpenaiResponses, 503, "");
    let facts = failure.diagnostics.unwrap();
    assert_eq!(
        (
            facts.stage.as_str(),
            facts.status,
            facts.provider.as_deref(),
            facts.model_ref.as_deref()
        ),
        ("headers", Some(503), Some("acme"), Some("acme/m"))
    );
    assert_eq!(
        facts.url.as_deref(),
        Some("https://api.acme.example/v1/responses")
    );
}

#[test]
fn the_secret_is_cut_out_before_anything_is_shortened() {
    let padding = "x".repeat(WORDS_BYTES - 5);
    for body in [
        "bad key sk-canary-0123456789 given".to_owned(),
        format!("{padding} sk-canary-0123456789"),
        format!("sk-canary-0123456789 {padding}"),
    ] {
        let failure = told(Transport::OpenaiResponses, 400, &body);
        let everything = format!("{failure} {failure:?}");
        assert!(!everything.contains("sk-"), "{everything}");
    }
    assert!(message(400, "bad key sk-canary-0123456789 given").contains("bad key [secret] given"));
}

proptest::proptest! {
    #[test]
    fn no_body_with_any_status_leaks_the_key_or_breaks_the_bound(
        before in "\\PC{0,400}", after in "\\PC{0,400}", status in 300_u16..600, json in proptest::bool::ANY,
    ) {
        let words = format!("{before}sk-canary-0123456789{after}");
        let body = if json { serde_json::json!({ "error": { "message": words } }).to_string() } else { words };
        let failure = told(Transport::OpenaiResponses, status, &body);
        let everything = format!("{failure:?}");
        proptest::prop_assert!(!everything.contains("sk-canary"));
        proptest::prop_assert!(failure.message.len() <= FAILURE_SUMMARY_BYTES);
    }
}

#[test]
fn words_without_end_and_control_characters_are_tamed() {
    let long = message(401, &"é".repeat(100_000));
    assert!(long.len() <= FAILURE_SUMMARY_BYTES);
    assert!(
        long.ends_with("where it comes from)"),
        "the next step is still there"
    );
    let escapes = message(400, "a\u{1b}[31mred\u{7}\r\n\tb\u{0}");
    assert!(escapes.ends_with(": a [31mred b"), "{escapes}");
}

#[test]
fn a_redirect_names_the_host_and_nothing_else_of_its_target() {
    let provider = provider(Transport::OpenaiResponses);
    let url = Url::parse(&provider.base_url).unwrap();
    let context = ErrorContext {
        provider: &provider,
        model: None,
        url: &url,
        secret: None,
        secrets: &Secrets::default(),
    };
    for (target, names) in [
        ("https://evil.example/path?token=canary", "evil.example"),
        ("/elsewhere?canary", "another path of the same host"),
    ] {
        let headers = [(
            HeaderName::from_static("location"),
            HeaderValue::from_static(target),
        )];
        let failure = context.status_failure(
            StatusCode::TEMPORARY_REDIRECT,
            &headers.into_iter().collect(),
            &ErrorBody::plain("moved"),
        );
        assert_eq!(failure.kind, Kind::NotJson);
        assert!(failure.message.contains(names), "{}", failure.message);
        assert!(!failure.message.contains("canary"), "{}", failure.message);
    }
}

#[test]
fn every_limit_that_passes_is_a_timeout_with_its_stage() {
    let provider = provider(Transport::OpenaiResponses);
    let url = Url::parse(&provider.base_url).unwrap();
    let context = ErrorContext {
        provider: &provider,
        model: None,
        url: &url,
        secret: None,
        secrets: &Secrets::default(),
    };
    let failure =
        context.timeout_failure(Stage::Headers, ExpiredLimit::Step(Duration::from_secs(300)));
    assert_eq!(failure.kind, Kind::Timeout);
    assert_eq!(
        failure.message,
        "acme sent no byte for 300s (while waiting for its answer to begin)"
    );
    assert_eq!(failure.diagnostics.unwrap().stage, "headers");
}

#[test]
fn waits_are_told_in_the_units_people_use() {
    for (millis, words) in [
        (1, "1 s"),
        (59_001, "60 s"),
        (60_000, "1 min"),
        (90_000, "2 min"),
        (7_500_000, "2 h 5 min"),
        (5 * 86_400_000 + 3_600_000, "5 d 1 h"),
    ] {
        assert_eq!(wait_in_words(millis), words);
    }
}
