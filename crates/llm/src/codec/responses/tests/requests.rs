//! Encoding of requests.

use super::super::encode;
use super::support::{
    assistant_turn, call, cases, offered, own, provider, request, text, user, violations,
};
use crate::codec::codex;
use crate::codec::sample::{assert_golden, every_tool, sent};
use holon_domain::block::{Block, OpaqueData};
use holon_domain::model::{CacheLife, ModelRequest};
use holon_domain::provider::{ContextManagement, ReasoningEffort, Transport};
use holon_tools::SchemaMode;
use serde_json::{Value, json};

fn encoded(request: &ModelRequest) -> Value {
    sent(&encode(&provider(Transport::OpenaiResponses), request))
}

#[test]
fn requests_are_as_the_golden_files_and_the_schema_say() {
    for (name, request) in cases() {
        let body = encoded(&request);
        assert_golden(&format!("responses/request-{name}.json"), &body);
        assert_eq!(
            violations(Transport::OpenaiResponses, &body),
            [""; 0],
            "{name}"
        );
    }
}

#[test]
fn a_server_that_may_compact_is_told_from_where_on() {
    let mut provider = provider(Transport::OpenaiResponses);
    let body = sent(&encode(&provider, &request(Vec::new())));
    assert_eq!(body.get("context_management"), None, "it is off by default");
    for (trigger, threshold) in [(120_000, 120_000), (1, 1_000)] {
        provider.context_management = Some(ContextManagement {
            trigger_input_tokens: trigger,
            keep_recent_tool_uses: 3,
            clear_at_least_input_tokens: None,
        });
        let body = sent(&encode(&provider, &request(Vec::new())));
        let expected = json!([{"type": "compaction", "compact_threshold": threshold}]);
        assert_eq!(body["context_management"], expected);
        assert_eq!(violations(Transport::OpenaiResponses, &body), [""; 0]);
    }
}

#[test]
fn a_compaction_goes_back_with_the_items_before_it_also_as_the_last_word() {
    let sealed = r#"{"encrypted_content":"xyz","id":"cmp_1","type":"compaction"}"#;
    let compacted = Block::Reasoning {
        text: String::new(),
        opaque: Some(own(sealed)),
    };
    let said = |blocks| vec![user("begin"), assistant_turn(blocks), user("go on")];
    for blocks in [
        vec![compacted.clone(), text("done")],
        vec![text("done"), compacted],
    ] {
        let body = encoded(&request(said(blocks)));
        let items = body["input"].as_array().expect("items");
        let words = body["input"].to_string();
        assert!(words.contains("begin") && words.contains("done"), "{words}");
        let sent = items.iter().find(|item| item["type"] == "compaction");
        assert_eq!(sent.map(|item| item["id"].clone()), Some(json!("cmp_1")));
        assert_eq!(violations(Transport::OpenaiResponses, &body), [""; 0]);
    }
}

#[test]
fn the_schema_refuses_what_the_api_refuses() {
    let good = encoded(&request(Vec::new()));
    for (member, value) in [
        ("input", json!([])),
        (
            "input",
            json!([{"type": "message", "role": "user", "content": ""}]),
        ),
        (
            "input",
            json!([{"type": "function_call_output", "call_id": "", "output": "x"}]),
        ),
        ("max_output_tokens", json!(1)),
        ("prompt_cache_key", json!("k".repeat(65))),
        ("stream", json!(false)),
        (
            "input",
            json!([{"type": "custom_tool_call", "call_id": "c", "name": "A", "arguments": "x"}]),
        ),
        (
            "tools",
            json!([{"type": "custom", "name": "A", "description": "", "format": {"type": "grammar", "syntax": "bnf", "definition": "x"}}]),
        ),
        (
            "tools",
            json!([{"type": "function", "name": "a.b", "description": "", "strict": false, "parameters": {"type": "object"}}]),
        ),
    ] {
        let mut bad = good.clone();
        bad[member] = value;
        assert!(
            !violations(Transport::OpenaiResponses, &bad).is_empty(),
            "{bad}"
        );
    }
}

#[test]
fn every_tool_is_offered_as_openai_takes_it_in_both_modes() {
    for mode in [SchemaMode::Relaxed, SchemaMode::Strict] {
        let request = ModelRequest {
            tools: offered(mode).into(),
            ..request(Vec::new())
        };
        let responses = encoded(&request);
        let streamed = sent(&codex::encode(
            &provider(Transport::OpenaiCodexResponses),
            &request,
        ));
        assert_eq!(
            violations(Transport::OpenaiResponses, &responses),
            [""; 0],
            "{mode:?}"
        );
        assert_eq!(
            violations(Transport::OpenaiCodexResponses, &streamed),
            [""; 0],
            "{mode:?}"
        );
        assert_eq!(responses["tools"], streamed["tools"]);
        let tools = responses["tools"].as_array().expect("tools");
        assert_eq!(tools.len(), holon_tools::all().len());
        for tool in tools {
            let mut open = Vec::new();
            objects(&tool["parameters"], mode, &mut open);
            assert!(open.is_empty(), "{}: {open:?}", tool["name"]);
            assert_eq!(tool["strict"], json!(mode == SchemaMode::Strict));
        }
    }
}

#[test]
fn a_model_that_takes_free_text_is_offered_the_same_tools_and_a_grammar_where_there_is_one() {
    let functions = ModelRequest {
        tools: offered(SchemaMode::Relaxed).into(),
        ..request(Vec::new())
    };
    let request = ModelRequest {
        tools: every_tool(SchemaMode::Relaxed).into(),
        ..request(Vec::new())
    };
    let responses = encoded(&request);
    let streamed = sent(&codex::encode(
        &provider(Transport::OpenaiCodexResponses),
        &request,
    ));
    assert_eq!(violations(Transport::OpenaiResponses, &responses), [""; 0]);
    assert_eq!(
        violations(Transport::OpenaiCodexResponses, &streamed),
        [""; 0]
    );
    assert_eq!(responses["tools"], streamed["tools"]);
    let (mixed, functions) = (responses["tools"].as_array(), encoded(&functions));
    let pairs = mixed
        .into_iter()
        .flatten()
        .zip(functions["tools"].as_array().expect("tools"));
    for (offered, function) in pairs {
        assert_eq!(offered["name"], function["name"]);
        if offered["name"] != json!("ApplyPatch") {
            assert_eq!(offered, function);
            continue;
        }
        assert_eq!(offered["type"], "custom");
        let words = offered["description"].as_str().expect("words");
        for sentence in [
            &function["description"],
            &function["parameters"]["properties"]["patch"]["description"],
        ] {
            assert!(words.contains(sentence.as_str().expect("words")), "{words}");
        }
    }
}

/// Collects the object schemas that are not closed, or in strict mode leave a property optional.
fn objects<'a>(schema: &'a Value, mode: SchemaMode, found: &mut Vec<&'a Value>) {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let required = schema.get("required").and_then(Value::as_array);
        let named = required.map_or(0, Vec::len);
        let lax = mode == SchemaMode::Strict && named != properties.len();
        if schema["additionalProperties"] != json!(false) || lax {
            found.push(schema);
        }
        properties
            .values()
            .for_each(|inner| objects(inner, mode, found));
    }
    for member in ["items", "anyOf", "$defs"] {
        match schema.get(member) {
            Some(Value::Array(list)) => list.iter().for_each(|inner| objects(inner, mode, found)),
            Some(Value::Object(named)) if member == "$defs" => {
                named.values().for_each(|inner| objects(inner, mode, found));
            }
            Some(inner) => objects(inner, mode, found),
            None => {}
        }
    }
}

#[test]
fn a_strict_schema_loses_the_keywords_openai_refuses_and_no_property_of_that_name() {
    let mut request = request(Vec::new());
    let mut tool = offered(SchemaMode::Strict).remove(0);
    tool.parameters = json!({
        "type": "object",
        "title": "Args",
        "additionalProperties": false,
        "required": ["default", "list"],
        "properties": {
            "default": {"type": "string", "minLength": 1, "default": "x"},
            "list": {"type": "array", "items": {"oneOf": [{"type": "string", "maxLength": 3}, {"type": "null"}]}},
        },
    });
    request.tools = vec![tool.clone()].into();
    let parameters = encoded(&request)["tools"][0]["parameters"].take();
    assert_eq!(
        parameters,
        json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["default", "list"],
            "properties": {
                "default": {"type": "string"},
                "list": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
            },
        })
    );
    tool.strict = false;
    request.tools = vec![tool.clone()].into();
    let relaxed = encoded(&request)["tools"][0]["parameters"].take();
    assert_eq!(relaxed, tool.parameters);
}

#[test]
fn a_longer_life_of_the_cache_is_asked_for_only_where_the_request_wants_it() {
    let mut request = request(Vec::new());
    assert_eq!(encoded(&request).get("prompt_cache_retention"), None);
    request.frame.cache.life = CacheLife::Long;
    assert_eq!(encoded(&request)["prompt_cache_retention"], json!("24h"));
}

#[test]
fn what_the_provider_cannot_do_is_not_asked_for() {
    let mut chat = provider(Transport::OpenaiResponses);
    chat.transport = Transport::OpenaiChatCompletions;
    chat.store_responses = false;
    let body = sent(&encode(&chat, &request(Vec::new())));
    assert_eq!(body.get("prompt_cache_key"), None);
    assert_eq!(body["store"], json!(false));
    let body = encoded(&request(Vec::new()));
    assert_eq!(body["prompt_cache_key"], json!("0123456789abcdef"));
    assert_eq!(body["store"], json!(true));
    for absent in [
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "reasoning",
        "include",
    ] {
        assert_eq!(body.get(absent), None, "{absent}");
    }
}

#[test]
fn the_agents_effort_comes_before_the_providers() {
    let mut provider = provider(Transport::OpenaiResponses);
    provider.reasoning_effort = Some(ReasoningEffort::Low);
    let mut request = request(Vec::new());
    let effort = |body: Value| body["reasoning"]["effort"].clone();
    assert_eq!(effort(sent(&encode(&provider, &request))), json!("low"));
    request.reasoning_effort = Some(ReasoningEffort::Xhigh);
    assert_eq!(effort(sent(&encode(&provider, &request))), json!("xhigh"));
}

#[test]
fn reasoning_that_leads_to_nothing_is_left_out() {
    let seal = |id: &str| {
        let item = json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "x"});
        Block::Reasoning {
            text: String::new(),
            opaque: Some(own(&item.to_string())),
        }
    };
    let body = encoded(&request(vec![
        assistant_turn(vec![seal("rs_1"), text("Half a tho"), seal("rs_2")]),
        user("Go on where you stopped."),
    ]));
    let ids: Vec<&Value> = body["input"]
        .as_array()
        .expect("items")
        .iter()
        .filter_map(|item| item.get("id"))
        .collect();
    assert_eq!(ids, [&json!("rs_1")]);
}

#[test]
fn nothing_of_another_model_and_nothing_malformed_goes_back() {
    let foreign = OpaqueData {
        lineage: "anthropic/claude-test".into(),
        data: json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "x"}).to_string(),
    };
    let mut other = call(1, "Ask.Someone", json!({}));
    if let Block::ToolCall(call) = &mut other {
        call.provider_id = Some(foreign.clone());
    }
    let reasoning = |opaque| Block::Reasoning {
        text: "hm".into(),
        opaque: Some(opaque),
    };
    let body = encoded(&request(vec![assistant_turn(vec![
        reasoning(foreign),
        reasoning(own("no JSON")),
        other,
    ])]));
    assert_eq!(violations(Transport::OpenaiResponses, &body), [""; 0]);
    let items = body["input"].as_array().expect("items");
    let kinds: Vec<&str> = items
        .iter()
        .filter_map(|item| item["type"].as_str())
        .collect();
    let (context, turn) = (["message"; 2], ["function_call", "function_call_output"]);
    assert_eq!(kinds, [context, turn].concat());
    assert_eq!(items[2]["call_id"], json!("call_runtime_1"));
    assert_eq!(items[2]["name"], json!("Ask_Someone"));
}

#[test]
fn an_empty_frame_still_makes_a_request() {
    let mut request = request(Vec::new());
    request.frame.system_blocks.clear();
    request.frame.system_prompt = " ".into();
    request.frame.context_blocks.clear();
    request.frame.cache.prompt_cache_key = String::new();
    request.max_output_tokens = 1;
    let body = encoded(&request);
    assert_eq!(violations(Transport::OpenaiResponses, &body), [""; 0]);
    let streamed = sent(&codex::encode(
        &provider(Transport::OpenaiCodexResponses),
        &request,
    ));
    assert_eq!(
        violations(Transport::OpenaiCodexResponses, &streamed),
        [""; 0]
    );
}
