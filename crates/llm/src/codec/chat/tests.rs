//! Requests and answers of Chat Completions, compared with golden files and tested dialect by dialect.

use super::encode;
use crate::codec::sample::{self, *};
use crate::codec::{self, DecodedReply, Fault};
use holon_domain::model::{
    ConversationItem, ModelFailureKind, ModelReply, ModelRequest, ReplyBlock, StopReason,
};
use holon_domain::provider::{ReasoningEffort, Transport};
use holon_tools::SchemaMode;
use serde_json::{Value, json};

fn decode(body: &[u8]) -> Result<DecodedReply, Fault> {
    codec::decode(Transport::OpenaiChatCompletions, &[], body)
}

const MODEL: &str = "local/qwen";
const OTHER: &str = "anthropic/claude-sonnet-4-5";
const LOCAL: &str = "http://127.0.0.1:8000/v1";
const DEEPSEEK: &str = "https://api.deepseek.com/v1";

fn encoded(base_url: &str, request: &ModelRequest) -> Value {
    let provider = provider(Transport::OpenaiChatCompletions, base_url);
    let body = sent(&encode(&provider, request));
    assert_valid(&schema("chat/schema.json", "request"), &body);
    body
}

fn rounds() -> Vec<ConversationItem> {
    vec![
        assistant_turn(
            MODEL,
            vec![
                sealed(
                    "Bed two looks dry.",
                    MODEL,
                    r#"{"text_in":"reasoning_content"}"#,
                ),
                text("I look at two beds."),
                own_call("call_1", MODEL, "call_own", json!({"bed": 2})),
                own_call("call_2", MODEL, "call_own", json!({"bed": 9})),
            ],
        ),
        user("Be quick."),
        failure("call_2", "There is no bed 9."),
        result("call_1", "12 %"),
        assistant_turn(
            OTHER,
            vec![
                sealed(
                    "hidden",
                    OTHER,
                    r#"{"type":"redacted_thinking","data":"x"}"#,
                ),
                own_call("call_3", OTHER, "toolu_elsewhere", json!("{\"bed\": ")),
            ],
        ),
        result("call_3", "The arguments are not JSON."),
    ]
}

#[test]
fn a_first_round_matches_the_golden_request() {
    let body = encoded(LOCAL, &request(MODEL, Vec::new()));
    assert_golden("chat/first_round.request.json", &body);
}

#[test]
fn rounds_of_two_models_with_calls_and_an_interjection_match_the_golden_request() {
    let body = encoded(LOCAL, &request(MODEL, rounds()));
    assert_golden("chat/rounds.request.json", &body);
}

#[test]
fn the_limit_of_an_answer_has_the_name_its_server_takes() {
    let request = request(MODEL, Vec::new());
    assert_eq!(encoded(LOCAL, &request)["max_tokens"], 4_096);
    let openai = encoded("https://api.openai.com/v1", &request);
    assert_eq!(openai["max_completion_tokens"], 4_096);
    assert!(openai.get("max_tokens").is_none());
}

#[test]
fn the_schema_mode_is_always_said_and_effort_only_if_it_is_set() {
    let mut request = request(MODEL, Vec::new());
    let quiet = encoded(LOCAL, &request);
    assert!(quiet.get("reasoning_effort").is_none());
    for tool in quiet["tools"].as_array().expect("tools") {
        assert_eq!(tool["function"]["strict"], false, "{tool}");
    }
    request.reasoning_effort = Some(ReasoningEffort::High);
    let mut strict = request.tools[0].clone();
    strict.strict = true;
    strict.parameters["properties"]["bed"]["title"] = json!("Bed");
    request.tools = vec![strict].into();
    let asked = encoded(LOCAL, &request);
    // A server with strict schemas refuses keywords that only annotate.
    let bed = &asked["tools"][0]["function"]["parameters"]["properties"]["bed"];
    assert_eq!(bed, &json!({"type": "integer"}));
    assert_eq!(asked["reasoning_effort"], "high");
    assert_eq!(asked["tools"][0]["function"]["strict"], true);
}

#[test]
fn deepseek_gets_its_reasoning_back_beside_calls_and_empty_reasoning_where_another_model_called() {
    let body = encoded(DEEPSEEK, &request(MODEL, rounds()));
    let reasoning: Vec<&Value> = body["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .filter(|message| message["role"] == "assistant")
        .map(|message| &message["reasoning_content"])
        .collect();
    assert_eq!(reasoning, vec!["Bed two looks dry.", ""]);
}

#[test]
fn reasoning_without_calls_and_reasoning_that_no_server_takes_back_are_left_out() {
    let conversation = vec![
        assistant_turn(
            MODEL,
            vec![
                sealed("thought", MODEL, r#"{"text_in":"reasoning_content"}"#),
                text("Done."),
            ],
        ),
        user("And now?"),
        assistant_turn(
            MODEL,
            vec![
                sealed("thought", MODEL, "not of this codec"),
                call("call_1", json!({})),
            ],
        ),
    ];
    let body = encoded(LOCAL, &request(MODEL, conversation)).to_string();
    assert!(
        !body.contains("reasoning") && !body.contains("thought"),
        "{body}"
    );
}

#[test]
fn mistral_gets_short_ids_and_a_word_between_tool_and_user() {
    let mut conversation = rounds();
    conversation.push(user("Thank you."));
    let body = encoded("https://api.mistral.ai/v1", &request(MODEL, conversation));
    assert_golden("chat/mistral.request.json", &body);
}

#[test]
fn what_a_server_put_beside_a_call_returns_beside_that_call() {
    let answer = json!({"choices": [{"message": {
        "content": null,
        "reasoning_details": [{"type": "reasoning.encrypted", "data": "sealed"}],
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "ReadSensor", "arguments": "{}"},
             "extra_content": {"google": {"thought_signature": "signed"}}},
            {"id": "b", "type": "function", "function": {"name": "ReadSensor", "arguments": "{}"}},
        ],
    }}]});
    let reply = decoded(&answer);
    let blocks = reply.blocks.into_iter().map(|block| match block {
        ReplyBlock::Text { text } => sample::text(&text),
        ReplyBlock::Reasoning { text, opaque } => sealed(&text, MODEL, &opaque.expect("sealed")),
        ReplyBlock::Call(call) => {
            let own = call.provider_id.expect("an id");
            own_call(&format!("call_{own}"), MODEL, &own, call.input)
        }
    });
    let body = encoded(
        LOCAL,
        &request(MODEL, vec![assistant_turn(MODEL, blocks.collect())]),
    );
    let mut expected = answer["choices"][0]["message"].clone();
    expected["role"] = json!("assistant");
    assert_eq!(body["messages"][2], expected);
}

fn decoded(answer: &Value) -> ModelReply {
    decode(answer.to_string().as_bytes())
        .unwrap_or_else(|fault| panic!("{answer:#}: {fault:?}"))
        .reply
}

/// Decodes an answer that consists of this message and no more than it needs.
fn message(message: &Value) -> ModelReply {
    decoded(&json!({"choices": [{"message": message}]}))
}

fn call_of(reply: &ModelReply) -> (Option<&str>, &str, &Value) {
    match reply.blocks.last() {
        Some(ReplyBlock::Call(call)) => {
            (call.provider_id.as_deref(), call.name.as_str(), &call.input)
        }
        other => panic!("no call: {other:?}"),
    }
}

#[test]
fn answers_of_several_servers_match_the_golden_files() {
    for case in [
        "openai_call",
        "deepseek_reasoning",
        "mistral_thinking",
        "bare_server",
    ] {
        let decoded = decode(&golden(&format!("chat/{case}.response.json"))).expect(case);
        let reply = serde_json::to_value(&decoded.reply).expect("a reply is JSON");
        assert_golden(&format!("chat/{case}.reply.json"), &reply);
    }
}

#[test]
fn arguments_are_read_as_text_as_an_object_and_as_nothing() {
    let input = |arguments: Value| {
        let reply = message(
            &json!({"tool_calls": [{"id": "c", "function": {"name": "n", "arguments": arguments}}]}),
        );
        call_of(&reply).2.clone()
    };
    assert_eq!(input(json!("{\"bed\": 2}")), json!({"bed": 2}));
    assert_eq!(input(json!({"bed": 2})), json!({"bed": 2}));
    assert_eq!(input(json!("")), json!({}));
    assert_eq!(input(json!(" ")), json!({}));
    assert_eq!(input(Value::Null), json!({}));
    assert_eq!(input(json!("{\"bed\": ")), json!("{\"bed\": "));
}

#[test]
fn a_call_is_found_wherever_a_server_puts_it() {
    let bare = message(&json!({"tool_calls": [{"function": {"name": "n", "arguments": "{}"}}]}));
    assert_eq!(call_of(&bare), (None, "n", &json!({})));
    assert_eq!(bare.stop_reason, StopReason::ToolUse);
    let flat = message(&json!({"tool_calls": [{"id": "", "name": "n", "arguments": {"a": 1}}]}));
    assert_eq!(call_of(&flat), (None, "n", &json!({"a": 1})));
    let legacy =
        message(&json!({"content": null, "function_call": {"name": "n", "arguments": "{}"}}));
    assert_eq!(call_of(&legacy), (None, "n", &json!({})));
    let nameless = message(&json!({"tool_calls": [{"id": "c"}]}));
    assert_eq!(call_of(&nameless), (Some("c"), "", &json!({})));
}

#[test]
fn every_reason_to_stop_is_known() {
    let stop = |reason: Value, message: Value| {
        decoded(&json!({"choices": [{"finish_reason": reason, "message": message}]})).stop_reason
    };
    let words = || json!({"content": "So."});
    let calls = || json!({"tool_calls": [{"id": "c", "function": {"name": "n"}}]});
    for done in [
        "stop",
        "eos",
        "end_turn",
        "tool_calls",
        "STOP",
        "a new word",
    ] {
        assert_eq!(stop(json!(done), words()), StopReason::EndTurn, "{done}");
    }
    for done in ["stop", "tool_calls", "function_call"] {
        assert_eq!(stop(json!(done), calls()), StopReason::ToolUse, "{done}");
    }
    assert_eq!(stop(Value::Null, words()), StopReason::EndTurn);
    assert_eq!(stop(Value::Null, calls()), StopReason::ToolUse);
    assert_eq!(stop(json!("length"), calls()), StopReason::MaxOutputTokens);
    for filtered in ["content_filter", "safety"] {
        assert_eq!(stop(json!(filtered), words()), StopReason::ContentFilter);
    }
    let refused = json!({"content": null, "refusal": "I will not."});
    assert_eq!(stop(json!("stop"), refused), StopReason::Refusal);
}

#[test]
fn a_filtered_answer_keeps_its_text_and_loses_its_calls() {
    let reply = decoded(
        &json!({"choices": [{"finish_reason": "content_filter", "message": {
            "content": "Well",
            "tool_calls": [{"id": "c", "function": {"name": "n", "arguments": "{\"a"}}],
        }}]}),
    );
    let words = ReplyBlock::Text {
        text: "Well".to_owned(),
    };
    assert_eq!(reply.blocks, vec![words]);
}

#[test]
fn every_tool_there_is_can_be_offered() {
    for mode in [SchemaMode::Relaxed, SchemaMode::Strict] {
        let tools = every_tool(mode);
        let count = tools.len();
        let request = ModelRequest {
            tools: tools.into(),
            ..request(MODEL, Vec::new())
        };
        let body = encoded(LOCAL, &request);
        assert_eq!(body["tools"].as_array().map(Vec::len), Some(count));
    }
}

#[test]
fn content_is_read_as_text_as_parts_and_as_absent() {
    let words = |content: Value| match message(&json!({"content": content})).blocks.as_slice() {
        [ReplyBlock::Text { text }] => Some(text.clone()),
        [] => None,
        other => panic!("{other:?}"),
    };
    assert_eq!(words(json!("So.")).as_deref(), Some("So."));
    assert_eq!(words(Value::Null), None);
    assert_eq!(words(json!("")), None);
    let parts =
        json!([{"type": "text", "text": "So"}, "and", {"type": "image_url"}, {"text": "on."}]);
    assert_eq!(words(parts).as_deref(), Some("Soandon."));
}

#[test]
fn reasoning_is_shown_under_any_of_its_names_and_sealed_only_where_it_goes_back() {
    for (member, goes_back) in [
        ("reasoning_content", true),
        ("reasoning", false),
        ("thinking", false),
    ] {
        let reply = message(&json!({"content": "So.", member: "Because."}));
        match reply.blocks.first() {
            Some(ReplyBlock::Reasoning { text, opaque }) => {
                assert_eq!((text.as_str(), opaque.is_some()), ("Because.", goes_back));
            }
            other => panic!("{member}: {other:?}"),
        }
    }
}

#[test]
fn tokens_are_counted_under_any_of_their_names() {
    let usage = |usage: Value| {
        let answer = json!({"choices": [{"message": {"content": "So."}}], "usage": usage});
        let usage = decoded(&answer).usage;
        (
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_tokens,
        )
    };
    assert_eq!(usage(Value::Null), (0, 0, 0));
    let counts =
        json!({"prompt_tokens": 10, "completion_tokens": 4, "prompt_tokens_details": null});
    assert_eq!(usage(counts), (10, 4, 0));
    let openai = json!({"prompt_tokens": 10, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 8}});
    assert_eq!(usage(openai), (10, 4, 8));
    let deepseek =
        json!({"prompt_tokens": 10, "completion_tokens": 4, "prompt_cache_hit_tokens": 8});
    assert_eq!(usage(deepseek), (10, 4, 8));
}

#[test]
fn an_error_inside_an_answer_is_reported_as_one_wherever_it_stands() {
    let kind = |answer: Value| match decode(answer.to_string().as_bytes()) {
        Err(Fault::Reported { kind, .. }) => kind,
        other => panic!("{other:?}"),
    };
    let top = json!({"error": {"message": "slow down", "code": 429}});
    assert_eq!(kind(top), ModelFailureKind::RateLimited);
    let inside = json!({"choices": [{"error": {"message": "gone", "code": 502}, "message": {"content": ""}}]});
    assert_eq!(kind(inside), ModelFailureKind::ServerError);
    let whole = json!({"object": "error", "message": "This model's maximum context length is 4096 tokens.", "code": 400});
    assert_eq!(kind(whole), ModelFailureKind::ContextLengthExceeded);
    let broken = json!({"choices": [{"finish_reason": "insufficient_system_resource", "message": {"content": "So"}}]});
    assert_eq!(kind(broken), ModelFailureKind::ServerError);
}

#[test]
fn what_is_no_completion_is_malformed() {
    for body in [
        "",
        "{",
        "[]",
        "<html>",
        "{}",
        r#"{"choices": []}"#,
        r#"{"choices": null, "error": null}"#,
        r#"{"choices": [{"text": "words"}]}"#,
    ] {
        let fault = decode(body.as_bytes()).expect_err(body);
        let is_json = serde_json::from_str::<Value>(body).is_ok();
        let is_expected = match fault {
            Fault::Malformed { .. } => is_json,
            Fault::NotJson { .. } => !is_json,
            Fault::Reported { .. } | Fault::CutOff => false,
        };
        assert!(is_expected, "{body}: {fault:?}");
    }
}
