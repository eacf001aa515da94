//! Generators of malformed transcripts and malformed answers.

use crate::codec::sample;
use holon_domain::CallId;
use holon_domain::block::{Block, OpaqueData, ToolCall};
use holon_domain::model::{ConversationItem, ModelRef, ModelRequest, PromptBlock, Stability};
use holon_domain::provider::ReasoningEffort;
use holon_domain::provider::ReasoningPolicy;
use holon_domain::tool::OfferedTool;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

/// One model per protocol.
pub(super) const LINEAGES: [&str; 4] = [
    "anthropic/claude-sample",
    "local/chat-sample",
    "openai/gpt-sample",
    "openai-codex/gpt-sample",
];
/// Text in all data that belongs to one model alone, followed by the model's index in `LINEAGES`.
pub(super) const MARK: &str = "lineage";

/// Generates a request with any prompt and any transcript.
pub(super) fn any_request() -> impl Strategy<Value = ModelRequest> {
    let blocks = || prop::collection::vec(any_block_of_a_prompt(), 0..7);
    let conversation = prop::collection::vec(any_item(), 0..14);
    let effort = prop::option::of(select(ReasoningEffort::ALL));
    let limit = prop_oneof![Just(0_u32), Just(1), Just(8_192), Just(u32::MAX)];
    (blocks(), blocks(), conversation, effort, limit, any_offer()).prop_map(
        |(system, context, conversation, effort, limit, tools)| ModelRequest {
            model: ModelRef::parse("any/model").expect("a reference"),
            round: 1,
            frame: sample::frame(system, context),
            thread: Vec::new(),
            conversation,
            tools: tools.into(),
            max_output_tokens: limit,
            reasoning_effort: effort,
            reasoning: ReasoningPolicy {
                is_on: limit % 2 == 0,
                thinking_tokens: Some(limit),
            },
            prior_rounds: 0,
        },
    )
}

/// Generates an offer of no tool, one tool, or also one that takes free text, for models that do and do not support
/// that.
fn any_offer() -> impl Strategy<Value = Vec<OfferedTool>> {
    select(vec![
        Vec::new(),
        vec![sample::tool()],
        vec![sample::tool(), sample::freeform_tool()],
        vec![sample::plain(sample::freeform_tool()), sample::tool()],
    ])
}

fn any_block_of_a_prompt() -> impl Strategy<Value = PromptBlock> {
    let stability = select(vec![
        Stability::Stable,
        Stability::AgentScoped,
        Stability::TurnScoped,
    ]);
    (any_words(), stability, any::<bool>()).prop_map(|(text, stability, cache_breakpoint)| {
        PromptBlock {
            text,
            stability,
            cache_breakpoint,
        }
    })
}

fn any_words() -> impl Strategy<Value = String> {
    prop_oneof![
        1 => select(vec!["", " ", "\n\t ", "\u{1c}", "\u{a0}"]).prop_map(str::to_owned),
        5 => "[a-zäß日🌱]{3,9}( [a-z]{1,5}){0,2}",
    ]
}

fn any_item() -> impl Strategy<Value = ConversationItem> {
    prop_oneof![
        3 => (select(LINEAGES.to_vec()), prop::collection::vec(any_block(), 0..5)).prop_map(
            |(model, blocks)| sample::assistant_turn(model, blocks)
        ),
        3 => (any_call_id(), any_words(), any::<bool>()).prop_map(|(call_id, content, is_error)| {
            ConversationItem::ToolResult { call_id, content, is_error, image: None }
        }),
        1 => any_words().prop_map(|text| ConversationItem::User { text }),
    ]
}

fn any_block() -> impl Strategy<Value = Block> {
    prop_oneof![
        any_words().prop_map(|text| Block::Text { text }),
        (any_words(), prop::option::of(any_seal()))
            .prop_map(|(text, opaque)| Block::Reasoning { text, opaque }),
        (
            any_call_id(),
            any_name(),
            any_input(),
            prop::option::of(any_own_id())
        )
            .prop_map(|(id, name, input, provider_id)| Block::ToolCall(ToolCall {
                id,
                name,
                input,
                provider_id,
            })),
    ]
}

/// Generates few different ids, so that calls and results meet; some have no call, and the last ones no protocol
/// accepts.
fn any_call_id() -> impl Strategy<Value = CallId> {
    let long = "x".repeat(90);
    select(vec![
        "call_1".to_owned(),
        "call_2".to_owned(),
        "call_3".to_owned(),
        "call_4".to_owned(),
        "call 5!".to_owned(),
        long,
        String::new(),
    ])
    .prop_map(CallId::from_stored)
}

fn any_own_id() -> impl Strategy<Value = OpaqueData> {
    let tail = select(vec![
        "",
        "_a",
        "_b",
        ":0.f",
        " ü",
        "_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    ]);
    (0..LINEAGES.len(), tail).prop_map(|(lineage, tail)| OpaqueData {
        lineage: LINEAGES[lineage].to_owned(),
        data: format!("{MARK}{lineage}{tail}"),
    })
}

fn any_name() -> impl Strategy<Value = String> {
    select(vec![
        "ReadSensor",
        "WriteNote",
        "functions.read sensor",
        "",
        "öffne",
        "_",
    ])
    .prop_map(str::to_owned)
    .boxed()
    .prop_union(Just("n".repeat(100)).boxed())
}

fn any_input() -> impl Strategy<Value = Value> {
    select(vec![
        json!({"bed": 1}),
        json!({"note": "dry\n\"very\""}),
        json!({"note": 7}),
        json!({"note": "dry", "bed": 1}),
        json!({}),
        json!("{\"bed\": "),
        json!(""),
        json!(null),
        json!([1, 2]),
        json!(7),
        json!(true),
    ])
}

/// Generates the sealed data of each codec, and data of none.
fn any_seal() -> impl Strategy<Value = OpaqueData> {
    (0..LINEAGES.len(), 0..3_usize).prop_map(|(lineage, kind)| {
        let mark = format!("{MARK}{lineage}");
        let left = match (lineage, kind) {
            (0, 0) => json!({"type": "thinking", "thinking": mark, "signature": mark}),
            (0, 1) => json!({"type": "redacted_thinking", "data": mark}),
            (1, 0) => json!({"text_in": "reasoning_content"}),
            (1, 1) => json!({
                "reasoning_details": [{"type": "reasoning.encrypted", "data": mark}],
                "extra_content": [{"google": {"thought_signature": mark}}, null],
            }),
            (2 | 3, 0 | 1) => json!({
                "type": "reasoning", "id": mark, "summary": [], "encrypted_content": mark,
            }),
            _ => json!(mark),
        };
        OpaqueData {
            lineage: LINEAGES[lineage].to_owned(),
            data: left.to_string(),
        }
    })
}

/// Generates JSON in which the names that decoders look for appear with values of any shape.
pub(super) fn any_answer() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        select(vec![
            "",
            "text",
            "tool_use",
            "thinking",
            "redacted_thinking",
            "message",
            "error",
            "length",
            "stop",
            "{",
            "{}",
            "reasoning",
            "function_call",
            "custom_tool_call",
            "WriteNote",
            "output_text",
            "completed",
            "incomplete",
        ])
        .prop_map(Value::from),
    ];
    let names = select(vec![
        "type",
        "content",
        "text",
        "id",
        "name",
        "input",
        "stop_reason",
        "usage",
        "input_tokens",
        "thinking",
        "signature",
        "data",
        "error",
        "message",
        "code",
        "choices",
        "finish_reason",
        "tool_calls",
        "function",
        "function_call",
        "arguments",
        "reasoning_content",
        "reasoning",
        "reasoning_details",
        "extra_content",
        "prompt_tokens",
        "prompt_tokens_details",
        "cached_tokens",
        "refusal",
        "output",
        "status",
        "summary",
        "call_id",
        "incomplete_details",
        "object",
    ])
    .prop_map(str::to_owned);
    let any = leaf.prop_recursive(5, 64, 6, move |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            3 => prop::collection::hash_map(names.clone(), inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    });
    // Half of them are placed where an answer's content is expected, so that decoders do not stop at the outer object.
    (any, select(vec!["", "content", "message", "output"])).prop_map(|(any, place)| match place {
        "content" => json!({"content": [any.clone(), any], "stop_reason": "end_turn"}),
        "message" => json!({"choices": [{"message": any, "finish_reason": "stop"}]}),
        "output" => json!({"status": "completed", "output": [any]}),
        _ => any,
    })
}
