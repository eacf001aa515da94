//! Requests and answers of Anthropic's Messages API, compared with golden files and tested rule by rule.

use super::encode;
use crate::codec::sample::{self, *};
use crate::codec::{self, DecodedReply, Fault};
use holon_domain::block::Block;
use holon_domain::model::{
    CacheLife, ConversationItem, ModelFailureKind, ModelRequest, ReplyBlock, Stability, StopReason,
};
use holon_domain::provider::{
    ContextManagement, ContextReduction, ProviderSpec, ReasoningEffort, Transport,
};
use holon_domain::tool::OfferedTool;
use holon_domain::tool_set::ToolSet;
use holon_tools::SchemaMode;
use serde_json::{Value, json};

fn decode(body: &[u8]) -> Result<DecodedReply, Fault> {
    codec::decode(Transport::AnthropicMessages, &[], body)
}

const MODEL: &str = "anthropic/claude-sonnet-4-5";
const OTHER: &str = "openai/gpt-5";
const THINKING: &str = r#"{"signature":"c2ln","thinking":"Bed two looks dry.","type":"thinking"}"#;

fn provider() -> ProviderSpec {
    sample::provider(Transport::AnthropicMessages, "https://api.anthropic.com")
}

fn encoded(request: &ModelRequest) -> Value {
    let body = sent(&encode(&provider(), request));
    assert_valid(&schema("anthropic/schema.json", "request"), &body);
    body
}

fn rounds() -> Vec<ConversationItem> {
    vec![
        assistant_turn(
            MODEL,
            vec![
                sealed("Bed two looks dry.", MODEL, THINKING),
                text("I look at two beds."),
                own_call("call_1", MODEL, "toolu_01", json!({"bed": 2})),
                own_call("call_2", MODEL, "toolu_02", json!({"bed": 9})),
            ],
        ),
        user("Be quick."),
        failure("call_2", "There is no bed 9."),
        result("call_1", "12 %"),
        assistant_turn(
            OTHER,
            vec![
                sealed("hidden", OTHER, r#"{"id":"rs_1","type":"reasoning"}"#),
                own_call("call_3", OTHER, "fc_elsewhere", json!("{\"bed\": ")),
            ],
        ),
        result("call_3", "The arguments are not JSON."),
    ]
}

#[test]
fn a_first_round_matches_the_golden_request() {
    let body = encoded(&request(MODEL, Vec::new()));
    assert_golden("anthropic/first_round.request.json", &body);
}

#[test]
fn rounds_of_two_models_with_thinking_and_an_interjection_match_the_golden_request() {
    let body = encoded(&request(MODEL, rounds()));
    assert_golden("anthropic/rounds.request.json", &body);
}

#[test]
fn effort_and_context_management_match_the_golden_request() {
    let provider = ProviderSpec {
        context_management: Some(ContextManagement {
            trigger_input_tokens: 100_000,
            keep_recent_tool_uses: 3,
            clear_at_least_input_tokens: Some(5_000),
        }),
        reasoning_effort: Some(ReasoningEffort::Low),
        ..provider()
    };
    let request = ModelRequest {
        reasoning_effort: Some(ReasoningEffort::Xhigh),
        ..request(MODEL, Vec::new())
    };
    let body = sent(&encode(&provider, &request));
    assert_valid(&schema("anthropic/schema.json", "request"), &body);
    assert_golden("anthropic/managed.request.json", &body);
    let quiet = ModelRequest {
        reasoning_effort: None,
        ..request
    };
    assert_eq!(
        sent(&encode(&provider, &quiet))["output_config"]["effort"],
        "low"
    );
}

fn marks(body: &Value) -> Vec<&str> {
    let blocks = body["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .flat_map(|turn| turn["content"].as_array().expect("content"));
    body["system"]
        .as_array()
        .expect("system")
        .iter()
        .chain(blocks)
        .filter(|block| block.get("cache_control").is_some())
        .map(|block| block["text"].as_str().or_else(|| block["content"].as_str()))
        .map(|words| words.expect("words"))
        .collect()
}

#[test]
fn every_breakpoint_of_a_request_asks_for_the_life_that_the_request_wants() {
    for (life, expected) in [
        (CacheLife::Usual, json!({"type": "ephemeral"})),
        (CacheLife::Long, json!({"type": "ephemeral", "ttl": "1h"})),
    ] {
        let mut request = request(MODEL, rounds());
        request.frame = frame(vec![marked("stable", Stability::Stable)], Vec::new());
        request.frame.cache.life = life;
        let body = encoded(&request).to_string();
        let all = body.matches("cache_control").count();
        let found = body
            .matches(&format!("\"cache_control\":{expected}"))
            .count();
        assert!(all > 1, "{body}");
        assert_eq!(found, all, "{body}");
    }
}

#[test]
fn a_frame_with_more_breakpoints_than_the_api_allows_leaves_one_for_the_conversation() {
    let mut request = request(MODEL, rounds());
    let many = |name: &str, stability| -> Vec<_> {
        (1..=3)
            .map(|n| marked(&format!("{name} {n}"), stability))
            .collect()
    };
    let system = [
        many("stable", Stability::Stable),
        many("agent", Stability::AgentScoped),
    ];
    request.frame = frame(system.concat(), vec![block("turn", Stability::TurnScoped)]);
    let body = encoded(&request);
    assert_eq!(
        marks(&body),
        vec![
            "stable 3",
            "agent 2",
            "agent 3",
            "The arguments are not JSON."
        ]
    );
}

#[test]
fn the_rolling_mark_moves_on_with_every_round() {
    let conversation = rounds();
    let after = |items: usize| {
        let body = encoded(&request(
            MODEL,
            conversation.iter().take(items).cloned().collect(),
        ));
        marks(&body).last().copied().map(str::to_owned)
    };
    assert_eq!(after(0).as_deref(), Some("Which bed needs water?"));
    assert_eq!(after(4).as_deref(), Some("Be quick."));
    assert_eq!(after(6).as_deref(), Some("The arguments are not JSON."));
}

#[test]
fn a_request_without_text_still_begins_with_a_user_message() {
    let mut request = request(MODEL, vec![assistant_turn(MODEL, vec![text("Hello.")])]);
    request.frame = frame(Vec::new(), Vec::new());
    request.tools = Vec::new().into();
    let body = encoded(&request);
    assert_eq!(body["messages"][0]["role"], "user");
    assert_eq!(body["messages"][2]["role"], "user");
    assert!(body.get("system").is_none() && body.get("tools").is_none());
}

#[test]
fn thinking_without_a_result_and_unsigned_thinking_are_left_out() {
    let conversation = vec![assistant_turn(
        MODEL,
        vec![
            sealed("x", MODEL, "not JSON"),
            sealed("x", MODEL, r#"{"type":"thinking","thinking":"unsigned"}"#),
            text("Done."),
            sealed("x", MODEL, THINKING),
        ],
    )];
    let body = encoded(&request(MODEL, conversation));
    let content = body["messages"][1]["content"].as_array().expect("content");
    assert_eq!(content.len(), 1, "{content:?}");
}

fn decoded(name: &str) -> DecodedReply {
    decode(&golden(name)).unwrap_or_else(|fault| panic!("{name}: {fault:?}"))
}

#[test]
fn answers_match_the_golden_files() {
    for case in ["thinking_and_calls", "plain_text", "cut_off"] {
        let decoded = decoded(&format!("anthropic/{case}.response.json"));
        let reply = serde_json::to_value(&decoded.reply).expect("a reply is JSON");
        assert_golden(&format!("anthropic/{case}.reply.json"), &reply);
    }
}

#[test]
fn sealed_thinking_returns_as_it_came() {
    let wire: Value = serde_json::from_slice(&golden("anthropic/thinking_and_calls.response.json"))
        .expect("JSON");
    let reply = decoded("anthropic/thinking_and_calls.response.json").reply;
    let blocks = reply.blocks.into_iter().map(|block| match block {
        ReplyBlock::Text { text } => sample::text(&text),
        ReplyBlock::Reasoning { text, opaque } => {
            sealed(&text, MODEL, &opaque.expect("a sealed block"))
        }
        ReplyBlock::Call(call) => {
            let own = call.provider_id.expect("an id");
            own_call(&format!("call_{own}"), MODEL, &own, call.input)
        }
    });
    let body = encoded(&request(
        MODEL,
        vec![assistant_turn(MODEL, blocks.collect())],
    ));
    let sent: Vec<&Value> = body["messages"][1]["content"]
        .as_array()
        .expect("content")
        .iter()
        .collect();
    let came: Vec<&Value> = wire["content"]
        .as_array()
        .expect("content")
        .iter()
        .collect();
    assert_eq!(sent, came);
}

#[test]
fn every_reason_to_stop_is_known() {
    let stop = |reason: Value, content: Value| {
        let body = json!({"type": "message", "content": content, "stop_reason": reason});
        decode(body.to_string().as_bytes())
            .expect("an answer")
            .reply
            .stop_reason
    };
    let words = || json!([{"type": "text", "text": "So."}]);
    let calls = || json!([{"type": "tool_use", "id": "t", "name": "n", "input": {}}]);
    assert_eq!(stop(json!("end_turn"), words()), StopReason::EndTurn);
    assert_eq!(stop(json!("stop_sequence"), words()), StopReason::EndTurn);
    assert_eq!(stop(json!("tool_use"), calls()), StopReason::ToolUse);
    assert_eq!(stop(json!("end_turn"), calls()), StopReason::ToolUse);
    assert_eq!(stop(json!("tool_use"), words()), StopReason::EndTurn);
    assert_eq!(
        stop(json!("max_tokens"), calls()),
        StopReason::MaxOutputTokens
    );
    let full = json!("model_context_window_exceeded");
    assert_eq!(stop(full, words()), StopReason::MaxOutputTokens);
    assert_eq!(stop(json!("refusal"), words()), StopReason::ContentFilter);
    assert_eq!(
        stop(json!("pause_turn"), words()),
        StopReason::MaxOutputTokens
    );
    assert_eq!(stop(json!("pause_turn"), calls()), StopReason::ToolUse);
    assert_eq!(stop(json!("a new word"), words()), StopReason::EndTurn);
    assert_eq!(stop(Value::Null, calls()), StopReason::ToolUse);
}

#[test]
fn a_refused_answer_keeps_its_text_and_loses_its_calls() {
    let body = json!({
        "content": [
            {"type": "text", "text": "I will not."},
            {"type": "tool_use", "id": "t", "name": "n", "input": {}},
        ],
        "stop_reason": "refusal",
    });
    let reply = decode(body.to_string().as_bytes())
        .expect("an answer")
        .reply;
    assert_eq!(
        reply.blocks,
        vec![ReplyBlock::Text {
            text: "I will not.".to_owned()
        }]
    );
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
        let body = encoded(&request);
        assert_eq!(body["tools"].as_array().map(Vec::len), Some(count));
    }
}

#[test]
fn an_error_inside_an_answer_is_reported_as_one() {
    let body =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    assert_eq!(
        decode(body.to_string().as_bytes()),
        Err(Fault::Reported {
            kind: ModelFailureKind::ServerError,
            message: "Overloaded".to_owned()
        })
    );
}

#[test]
fn what_is_no_message_is_malformed() {
    for body in [
        "",
        "{",
        "[]",
        "null",
        "<html>",
        "{}",
        r#"{"content": "words"}"#,
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

fn managing(keep: u32) -> ContextManagement {
    ContextManagement {
        trigger_input_tokens: 100,
        keep_recent_tool_uses: keep,
        clear_at_least_input_tokens: None,
    }
}

/// Returns what is logged while `work` runs.
fn logged(work: impl FnOnce()) -> String {
    let (read, write) = std::io::pipe().unwrap();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::DEBUG)
        .with_ansi(false)
        .with_writer(std::sync::Mutex::new(write))
        .finish();
    tracing::subscriber::with_default(subscriber, work);
    std::io::read_to_string(read).unwrap()
}

#[test]
fn the_log_of_clearable_results_holds_only_numbers() {
    let lines = |keep: u32| {
        let provider = ProviderSpec {
            context_management: Some(managing(keep)),
            ..provider()
        };
        logged(|| drop(encode(&provider, &request(MODEL, rounds()))))
    };
    let told = lines(1);
    let bytes = "12 %".len() + "There is no bed 9.".len();
    for part in [
        "DEBUG",
        "holon_llm",
        "eligible_results=2",
        &format!("eligible_bytes={bytes}"),
    ] {
        assert!(told.contains(part), "{told}");
    }
    assert!(!told.contains("There is no bed"), "{told}");
    assert!(lines(9).contains("eligible_bytes=0"));
    let without = logged(|| drop(encode(&provider(), &request(MODEL, rounds()))));
    assert_eq!(without, "", "nothing is told where nothing is asked for");
}

#[test]
fn results_that_a_turn_needs_to_its_end_are_not_cleared() {
    let provider = ProviderSpec {
        context_management: Some(managing(0)),
        ..provider()
    };
    let edit = |request: &ModelRequest| {
        let body = sent(&encode(&provider, request));
        assert_valid(&schema("anthropic/schema.json", "request"), &body);
        body["context_management"]["edits"][0].clone()
    };
    let mut asked = request(MODEL, rounds());
    assert_eq!(edit(&asked).get("exclude_tools"), None, "none is on offer");
    let named = |name: &str| OfferedTool {
        name: name.to_owned(),
        ..tool()
    };
    asked.tools = ToolSet::new(vec![named("ApplyPatch"), tool(), named("NotifyOperator")]);
    let kept = edit(&asked)["exclude_tools"].clone();
    assert_eq!(kept, json!(["ApplyPatch", "NotifyOperator"]));

    // Such a result is not among those that may be cleared.
    let eligible = |name: &str| {
        let mut rounds = rounds();
        for item in &mut rounds {
            if let ConversationItem::Assistant { blocks, .. } = item {
                for block in blocks {
                    if let Block::ToolCall(call) = block {
                        call.name = name.to_owned();
                    }
                }
            }
        }
        logged(|| drop(encode(&provider, &request(MODEL, rounds))))
    };
    assert!(eligible("ReadSensor").contains("eligible_results=3"));
    assert!(eligible("ApplyPatch").contains("eligible_results=0"));
}

#[test]
fn what_the_server_cleared_is_part_of_the_reply() {
    let reply = |management: Value| {
        let body = json!({"type": "message", "content": [{"type": "text", "text": "hi"}],
            "stop_reason": "end_turn", "context_management": management});
        let decoded = decode(body.to_string().as_bytes()).unwrap();
        decoded.reply.context_management
    };
    let edits = json!({"applied_edits": [
        {"type": "clear_tool_uses_20250919", "cleared_tool_uses": 8, "cleared_input_tokens": 50_000},
    ]});
    let cleared = ContextReduction {
        cleared_tool_uses: 8,
        cleared_input_tokens: 50_000,
        compactions: 0,
    };
    assert_eq!(reply(edits), Some(cleared));
    assert_eq!(reply(json!({"applied_edits": []})), None);
    assert_eq!(reply(Value::Null), None);
}

#[test]
fn what_the_server_cleared_is_told_in_numbers_only() {
    let answer = |management: Value| {
        json!({"type": "message", "content": [{"type": "text", "text": "hi"}],
            "stop_reason": "end_turn", "context_management": management})
        .to_string()
    };
    let told = |body: String| logged(|| drop(decode(body.as_bytes()).unwrap()));
    let told_of = told(answer(json!({"applied_edits": [
        {"type": "clear_tool_uses_20250919", "cleared_tool_uses": 8, "cleared_input_tokens": 50_000},
        {"type": "another", "cleared_tool_uses": 1, "cleared_input_tokens": u64::MAX},
    ]})));
    for part in [
        "DEBUG",
        "applied_edits=2",
        "cleared_tool_uses=9",
        "cleared_input_tokens=",
    ] {
        assert!(told_of.contains(part), "{told_of}");
    }
    assert!(!told_of.contains("clear_tool_uses_20250919"), "{told_of}");
    for silent in [json!(null), json!({}), json!({"applied_edits": 7})] {
        assert_eq!(told(answer(silent)), "");
    }
}

#[test]
fn thinking_is_asked_for_within_the_limits_of_the_api() {
    let thinking = |tokens: Option<u32>, limit: u32| {
        let mut request = request(MODEL, vec![user("hello")]);
        request.reasoning.thinking_tokens = tokens;
        request.max_output_tokens = limit;
        encode(&provider(), &request).get("thinking").cloned()
    };
    let budget = |tokens: u32| Some(json!({"type": "enabled", "budget_tokens": tokens}));
    assert_eq!(thinking(None, 8_192), None);
    assert_eq!(thinking(Some(4_000), 8_192), budget(4_000));
    assert_eq!(thinking(Some(1), 8_192), budget(1_024));
    assert_eq!(thinking(Some(20_000), 8_192), budget(7_168));
    assert_eq!(thinking(Some(4_000), 1_500), None, "no room for an answer");
}

#[test]
fn thinking_pauses_in_the_middle_of_calls_that_began_without_it() {
    let asks = |blocks: Vec<Block>| {
        let mut request = request(
            MODEL,
            vec![assistant_turn(MODEL, blocks), result("call_1", "done")],
        );
        request.reasoning.thinking_tokens = Some(2_000);
        encode(&provider(), &request).get("thinking").is_some()
    };
    let thought = r#"{"type":"thinking","thinking":"hm","signature":"c2ln"}"#;
    assert!(!asks(vec![call("call_1", json!({}))]));
    assert!(asks(vec![
        sealed("hm", MODEL, thought),
        call("call_1", json!({}))
    ]));
}
