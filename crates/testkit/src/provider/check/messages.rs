//! The rules of Messages.

use super::{Calls, Violations, is_text, items, tools};
use crate::provider::mint::Mint;
use crate::provider::recorded_request::RecordedRequest;
use serde_json::Value;

/// Largest number of cache breakpoints.
const CACHE_MARKS: usize = 4;

/// Checks all rules of the protocol.
pub(super) fn check(request: &RecordedRequest, mint: &Mint, wrong: &mut Violations) {
    let body = &request.body;
    wrong.unless(
        request.header("anthropic-version").is_some(),
        "it does not name a version of the API",
    );
    wrong.unless(
        body["max_tokens"].as_u64().is_some_and(|most| most > 0),
        "max_tokens is no number from 1 on",
    );
    let beta = request.header("anthropic-beta").unwrap_or_default();
    wrong.unless(
        body["context_management"].is_null() || beta.contains("context-management"),
        "context management needs its beta header",
    );
    wrong.unless(
        cache_marks(body) <= CACHE_MARKS,
        "more than four blocks are marked for the cache",
    );
    tools(
        items(&body["tools"]).map(|tool| (&tool["name"], &tool["input_schema"])),
        wrong,
    );
    for block in items(&body["system"]) {
        wrong.unless(is_text(&block["text"]), "a system block is empty");
    }
    conversation(body, mint, wrong);
}

fn cache_marks(value: &Value) -> usize {
    match value {
        Value::Object(map) => map
            .iter()
            .map(|(name, value)| match name.as_str() {
                "cache_control" => usize::from(!value.is_null()),
                _ => cache_marks(value),
            })
            .sum(),
        Value::Array(list) => list.iter().map(cache_marks).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn conversation(body: &Value, mint: &Mint, wrong: &mut Violations) {
    let mut calls = Calls::default();
    let mut expected = "user";
    for message in items(&body["messages"]) {
        let role = message["role"].as_str().unwrap_or_default();
        if role != expected {
            wrong.add(format!("{role} speaks where {expected} should"));
        }
        let other = if role == "user" { "assistant" } else { "user" };
        expected = other;
        if message["content"].is_string() {
            wrong.unless(is_text(&message["content"]), "a message says nothing");
            calls.settled("in the next message", wrong);
            continue;
        }
        blocks(role, message, mint, &mut calls, wrong);
        if role == "user" {
            calls.settled("in the next message", wrong);
        }
    }
    calls.settled("in the end", wrong);
    wrong.unless(
        expected == "assistant",
        "there is nothing for the assistant to answer",
    );
}

fn blocks(role: &str, message: &Value, mint: &Mint, calls: &mut Calls, wrong: &mut Violations) {
    wrong.unless(
        items(&message["content"]).next().is_some(),
        "a message has no blocks",
    );
    let mut results_over = false;
    for block in items(&message["content"]) {
        match (role, block["type"].as_str().unwrap_or_default()) {
            ("user" | "assistant", "text") => {
                results_over = true;
                wrong.unless(is_text(&block["text"]), "a text block is empty");
            }
            ("user", "image") => {
                results_over = true;
                let source = &block["source"];
                wrong.unless(
                    source["type"] == "base64"
                        && is_text(&source["media_type"])
                        && is_text(&source["data"]),
                    "an image has no bytes or no type",
                );
            }
            ("user", "tool_result") => {
                wrong.unless(!results_over, "a tool result stands after text");
                calls.answered(&block["tool_use_id"], wrong);
                wrong.unless(
                    block["content"].is_string() || block["content"].is_array(),
                    "a tool result has no content",
                );
            }
            ("assistant", "tool_use") => {
                calls.made(&block["id"], mint, wrong);
                wrong.unless(is_text(&block["name"]), "a call names no tool");
                wrong.unless(block["input"].is_object(), "arguments are no object");
            }
            ("assistant", "thinking") => {
                let seal = block["signature"].as_str();
                wrong.unless(
                    seal.is_some_and(|seal| mint.sealed(seal)),
                    "a thought was not sealed by this provider for this model",
                );
                wrong.unless(
                    block["cache_control"].is_null(),
                    "a thought is marked for the cache",
                );
            }
            (role, other) => wrong.add(format!("{role} has no blocks of type {other:?}")),
        }
    }
}
