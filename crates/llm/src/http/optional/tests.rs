//! Refusals that name an optional part, and bodies without it.

use super::*;
use serde_json::json;

fn body() -> Body {
    of(&json!({
        "model": "m", "stream": true, "stream_options": {"include_usage": true}, "store": false,
        "prompt_cache_key": "k", "parallel_tool_calls": true, "tool_choice": "auto", "truncation": "disabled", "reasoning": {"effort": "low"}, "include": ["reasoning.encrypted_content"],
        "context_management": {"edits": []},
        "tools": [{"name": "t", "cache_control": {"type": "ephemeral"}}],
        "prompt_cache_retention": "24h",
        "messages": [{"content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
            {"type": "tool_use", "input": {"cache_control": "the model's own"}}]}],
    }))
}

fn of(document: &Value) -> Body {
    Body::new(document.as_object().expect("an object").clone())
}

#[test]
fn a_refusal_names_the_part_to_leave_out() {
    let named = |status: u16, words: &str| {
        named(
            StatusCode::from_u16(status).unwrap(),
            &ErrorBody::plain(words),
            &body(),
        )
    };
    for (status, words, expected) in [
        (
            400,
            "Unknown parameter: 'truncation'.",
            Some(RequestOption::Truncation),
        ),
        (
            422,
            "tool_choice: Extra inputs are not permitted",
            Some(RequestOption::ToolChoice),
        ),
        (
            400,
            "the input is too long and truncation of a prompt is unknown here",
            None,
        ),
        (
            400,
            "Unsupported parameter: 'prompt_cache_key'",
            Some(RequestOption::PromptCacheKey),
        ),
        (
            400,
            "Unrecognized request argument supplied: stream_options",
            Some(RequestOption::StreamUsage),
        ),
        (
            422,
            "body.stream_options: Extra inputs are not permitted",
            Some(RequestOption::StreamUsage),
        ),
        (
            400,
            "This model does not support `stream`",
            Some(RequestOption::Streaming),
        ),
        (
            400,
            "reasoning is not supported with this model",
            Some(RequestOption::Reasoning),
        ),
        (
            400,
            "messages.0.content.0.cache_control: Extra inputs are not permitted",
            Some(RequestOption::CacheMarks),
        ),
        (
            400,
            "messages.0.content.0.cache_control.ephemeral.ttl: Extra inputs are not permitted",
            Some(RequestOption::CacheLife),
        ),
        (
            400,
            "prompt_cache_retention is not supported on this model",
            Some(RequestOption::CacheLife),
        ),
        (
            400,
            "litellm.UnsupportedParamsError: ollama does not support parameters: ['parallel_tool_calls'], for model=m",
            Some(RequestOption::ParallelToolCalls),
        ),
        (
            400,
            "context_management: Extra inputs are not permitted",
            Some(RequestOption::ContextManagement),
        ),
        (
            400,
            "Unknown parameter: 'context_management'.",
            Some(RequestOption::ContextManagement),
        ),
        (400, "Unsupported parameter: 'store'", None),
        (400, "Unknown parameter: 'tools'", None),
        (400, "prompt_cache_key must be a string", None),
        (400, "the stream_optionsX is unknown", None),
        (500, "Unsupported parameter: 'prompt_cache_key'", None),
        (401, "unknown prompt_cache_key", None),
    ] {
        assert_eq!(named(status, words), expected, "{status} {words}");
    }
}

#[test]
fn a_refusal_of_streaming_is_understood_in_the_shapes_that_servers_use() {
    let verify = r#"{"error":{"message":"Your organization must be verified to stream this model.","param":"stream","code":"unsupported_value"}}"#;
    let extra = r#"{"detail":[{"type":"extra_forbidden","loc":["body","stream"],"msg":"Extra inputs are not permitted"}]}"#;
    let usage =
        r#"{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}"#;
    let path = r#"{"error":{"message":"Unsupported parameter","param":"reasoning.effort","code":"unsupported_parameter"}}"#;
    for (status, text, expected) in [
        (400, verify, Some(RequestOption::Streaming)),
        (422, extra, Some(RequestOption::Streaming)),
        (422, usage, Some(RequestOption::StreamUsage)),
        (
            400,
            "Streaming is not supported",
            Some(RequestOption::Streaming),
        ),
        (
            501,
            "streaming not implemented",
            Some(RequestOption::Streaming),
        ),
        (
            400,
            "this server does not support streaming",
            Some(RequestOption::Streaming),
        ),
        (400, path, None),
        (
            400,
            "Messages that include links in a stream of thought are not allowed",
            None,
        ),
    ] {
        let refusal = ErrorBody::read(text.as_bytes());
        let status = StatusCode::from_u16(status).unwrap();
        assert_eq!(named(status, &refusal, &body()), expected, "{text}");
    }
}

#[test]
fn an_option_that_is_not_in_the_request_is_not_left_out() {
    let refusal = ErrorBody::plain("Unsupported parameter: 'prompt_cache_key'");
    let bare = of(&json!({"model": "m"}));
    assert_eq!(named(StatusCode::BAD_REQUEST, &refusal, &bare), None);
}

#[test]
fn leaving_out_the_life_of_a_cache_keeps_its_marks() {
    let whole = body();
    let bare = without(&whole, &BTreeSet::from([RequestOption::CacheLife]));
    let text = serde_json::to_string(bare.get("messages").expect("messages")).expect("JSON");
    assert!(
        text.contains(r#""cache_control":{"type":"ephemeral"}"#),
        "{text}"
    );
    assert!(!text.contains("ttl"), "{text}");
    assert_eq!(bare.get("prompt_cache_retention"), None);
    assert!(bare.get("prompt_cache_key").is_some());
}

#[test]
fn leaving_out_every_part_keeps_what_decides_the_answer() {
    let whole = body();
    let bare = without(&whole, &RequestOption::ALL.iter().copied().collect());
    let expected = json!({
        "model": "m", "store": false, "tools": [{"name": "t"}],
        "messages": [{"content": [{"type": "text", "text": "a"},
            {"type": "tool_use", "input": {"cache_control": "the model's own"}}]}],
    });
    assert_eq!(*bare, of(&expected));
    let same = without(&whole, &BTreeSet::new());
    assert!(
        matches!(same, Cow::Borrowed(_)),
        "nothing is copied for nothing"
    );
}

#[test]
fn a_refusal_is_learned_once_for_one_endpoint_and_model() {
    let refused = UnsupportedOptions::default();
    let url = Url::parse("http://127.0.0.1:1/v1").unwrap();
    let other = Url::parse("http://127.0.0.1:2/v1").unwrap();
    let model: ModelRef = ModelRef::parse("a/b").unwrap();
    assert!(refused.learn(&url, &model, RequestOption::Reasoning));
    assert!(!refused.learn(&url, &model, RequestOption::Reasoning));
    let mut provider = crate::codec::sample::provider(
        holon_domain::provider::Transport::OpenaiResponses,
        "http://127.0.0.1:1/v1",
    );
    provider.omit = [RequestOption::PromptCacheKey].into();
    let omitted = refused.omitted(&provider, &url, &model);
    assert_eq!(
        omitted.into_iter().collect::<Vec<_>>(),
        [RequestOption::PromptCacheKey, RequestOption::Reasoning]
    );
    assert_eq!(refused.omitted(&provider, &other, &model).len(), 1);
}
