//! The rules of Chat Completions.

use super::{Calls, Violations, at_least, is_image_url, is_text, items, tools};
use crate::provider::mint::Mint;
use crate::provider::recorded_request::RecordedRequest;
use serde_json::Value;

/// Checks all rules of the protocol.
pub(super) fn check(request: &RecordedRequest, mint: &Mint, wrong: &mut Violations) {
    let body = &request.body;
    let (old, new) = (&body["max_tokens"], &body["max_completion_tokens"]);
    wrong.unless(
        at_least(old, 1) && at_least(new, 1),
        "the most tokens of an answer are no number from 1 on",
    );
    wrong.unless(
        old.is_null() || new.is_null(),
        "max_tokens and max_completion_tokens stand beside each other",
    );
    wrong.unless(
        body.get("tools")
            .is_none_or(|tools| items(tools).next().is_some()),
        "an empty list of tools is refused by many servers",
    );
    tools(
        items(&body["tools"]).map(|tool| {
            let function = &tool["function"];
            (&function["name"], &function["parameters"])
        }),
        wrong,
    );
    for tool in items(&body["tools"]) {
        wrong.unless(tool["type"] == "function", "a tool is not of type function");
    }
    conversation(body, mint, wrong);
}

fn conversation(body: &Value, mint: &Mint, wrong: &mut Violations) {
    let mut calls = Calls::default();
    let mut last = "";
    for message in items(&body["messages"]) {
        let role = message["role"].as_str().unwrap_or_default();
        match role {
            "tool" => {
                calls.answered(&message["tool_call_id"], wrong);
                wrong.unless(is_said(&message["content"]), "a tool says nothing");
            }
            "system" | "developer" | "user" => {
                calls.settled("before the next message", wrong);
                let said = match role {
                    "user" => is_said_or_shown(&message["content"]),
                    _ => is_said(&message["content"]),
                };
                wrong.unless(said, "a message says nothing");
            }
            "assistant" => {
                calls.settled("before the next message", wrong);
                assistant(message, mint, &mut calls, wrong);
            }
            other => wrong.add(format!("there is no role {other:?}")),
        }
        last = role;
    }
    calls.settled("in the end", wrong);
    wrong.unless(
        matches!(last, "user" | "tool"),
        "there is nothing for the assistant to answer",
    );
}

fn assistant(message: &Value, mint: &Mint, calls: &mut Calls, wrong: &mut Violations) {
    let mut made = items(&message["tool_calls"]).peekable();
    wrong.unless(
        made.peek().is_some() || is_said(&message["content"]),
        "the assistant neither says nor calls anything",
    );
    for call in made {
        calls.made(&call["id"], mint, wrong);
        wrong.unless(call["type"] == "function", "a call is not of type function");
        let function = &call["function"];
        wrong.unless(is_text(&function["name"]), "a call names no tool");
        wrong.unless(function["arguments"].is_string(), "arguments are no text");
    }
}

/// Returns true for text, or blocks of text.
fn is_said(content: &Value) -> bool {
    let mut blocks = items(content).peekable();
    is_text(content) || blocks.peek().is_some() && blocks.all(|block| is_text(&block["text"]))
}

/// The same for a message of the user, which may show images.
fn is_said_or_shown(content: &Value) -> bool {
    let mut blocks = items(content).peekable();
    let shows = |block: &Value| match block["type"].as_str() {
        Some("image_url") => is_image_url(&block["image_url"]["url"]),
        Some(_) | None => is_text(&block["text"]),
    };
    is_text(content) || blocks.peek().is_some() && blocks.all(shows)
}
