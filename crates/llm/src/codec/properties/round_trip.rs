//! An answer that is decoded, stored and encoded again reaches the provider unchanged.

use crate::codec::{anthropic, chat, decode, sample};
use holon_domain::CallId;
use holon_domain::block::{Block, OpaqueData, ToolCall};
use holon_domain::model::{ModelReply, ModelRequest, ReplyBlock};
use holon_domain::provider::Transport;
use proptest::prelude::*;
use serde_json::{Value, json};

const MODEL: &str = "one/model";

/// Stores an answer as the runtime does, with call ids of its own.
fn stored(reply: ModelReply) -> Vec<Block> {
    let opaque = |data: String| OpaqueData {
        lineage: MODEL.to_owned(),
        data,
    };
    let block = |(index, block): (usize, ReplyBlock)| match block {
        ReplyBlock::Text { text } => Block::Text { text },
        ReplyBlock::Reasoning { text, opaque: data } => Block::Reasoning {
            text,
            opaque: data.map(opaque),
        },
        ReplyBlock::Call(call) => Block::ToolCall(ToolCall {
            id: CallId::from_stored(format!("call_{index}")),
            name: call.name,
            input: call.input,
            provider_id: call.provider_id.map(opaque),
        }),
    };
    reply.blocks.into_iter().enumerate().map(block).collect()
}

/// Builds the next request of a conversation that consists of this answer.
fn next(reply: ModelReply) -> ModelRequest {
    sample::request(MODEL, vec![sample::assistant_turn(MODEL, stored(reply))])
}

fn words() -> impl Strategy<Value = String> {
    "[a-zü\"\\\\\n🌱]{0,12}[a-z]"
}

fn input() -> impl Strategy<Value = Value> {
    (words(), any::<i32>(), any::<bool>())
        .prop_map(|(words, number, flag)| json!({"words": words, "inner": [number, flag, null]}))
}

/// Generates thinking first, then text and calls, each call with an id of its own.
fn content() -> impl Strategy<Value = Vec<Value>> {
    let thinking = prop_oneof![
        (words(), words()).prop_map(
            |(thinking, signature)| json!({"type": "thinking", "thinking": thinking, "signature": signature})
        ),
        words().prop_map(|data| json!({"type": "redacted_thinking", "data": data})),
    ];
    let block = prop_oneof![
        words().prop_map(|text| json!({"type": "text", "text": text})),
        input().prop_map(|input| json!({"type": "tool_use", "name": "ReadSensor", "input": input})),
    ];
    let blocks = (
        prop::collection::vec(thinking, 0..3),
        prop::collection::vec(block, 1..5),
    );
    blocks.prop_map(|(thinking, rest)| {
        let mut blocks = [thinking, rest].concat();
        for (index, block) in blocks.iter_mut().enumerate() {
            if block["type"] == "tool_use" {
                block["id"] = json!(format!("toolu_{index}"));
            }
        }
        blocks
    })
}

/// Generates a message of a chat server that sends reasoning.
fn message() -> impl Strategy<Value = Value> {
    let calls = prop::collection::vec((input(), any::<bool>()), 1..4);
    (prop::option::of(words()), words(), calls).prop_map(|(content, reasoning, calls)| {
        let call = |(index, (input, signed)): (usize, (Value, bool))| {
            let mut call = json!({
                "id": format!("call_own_{index}"),
                "type": "function",
                "function": {"name": "ReadSensor", "arguments": input.to_string()},
            });
            if signed {
                call["extra_content"] = json!({"google": {"thought_signature": index.to_string()}});
            }
            call
        };
        let calls: Vec<Value> = calls.into_iter().enumerate().map(call).collect();
        json!({
            "role": "assistant",
            "content": content,
            "reasoning_content": reasoning,
            "tool_calls": calls,
        })
    })
}

proptest! {
    #[test]
    fn a_message_returns_to_messages_as_it_came(content in content()) {
        let answer = json!({"type": "message", "content": content, "stop_reason": "end_turn"});
        let decoded = decode(Transport::AnthropicMessages, &[], answer.to_string().as_bytes()).expect("an answer");
        let provider = sample::provider(Transport::AnthropicMessages, "https://api.anthropic.com");
        let body = sample::sent(&anthropic::encode(&provider, &next(decoded.reply)));
        prop_assert_eq!(&body["messages"][1]["content"], &answer["content"]);
    }

    #[test]
    fn a_message_with_calls_returns_to_a_chat_server_as_it_came(message in message()) {
        let answer = json!({"choices": [{"finish_reason": "tool_calls", "message": message}]});
        let decoded = decode(Transport::OpenaiChatCompletions, &[], answer.to_string().as_bytes()).expect("an answer");
        let provider = sample::provider(Transport::OpenaiChatCompletions, "http://127.0.0.1:8000/v1");
        let body = sample::sent(&chat::encode(&provider, &next(decoded.reply)));
        prop_assert_eq!(&body["messages"][2], &message);
    }
}
