//! The rules of Responses, and those of the Codex backend.

use super::{Calls, Violations, at_least, is_image_url, is_text, items, tool_names, tool_schema};
use crate::provider::mint::Mint;
use crate::provider::recorded_request::RecordedRequest;
use serde_json::Value;

/// Smallest `max_output_tokens` that the API accepts.
const LEAST_OUTPUT: u64 = 16;

/// Checks the rules of the plain protocol.
pub(super) fn plain(request: &RecordedRequest, mint: &Mint, wrong: &mut Violations) {
    let body = &request.body;
    wrong.unless(
        at_least(&body["max_output_tokens"], LEAST_OUTPUT),
        "max_output_tokens is no number from 16 on",
    );
    let previous = &body["previous_response_id"];
    if !previous.is_null() {
        let ours = previous.as_str().is_some_and(|id| mint.gave(id));
        wrong.unless(ours, "it goes on from a response this provider never gave");
        wrong.unless(
            body["store"] != false,
            "it goes on from a response and keeps none itself",
        );
    }
    common(request, mint, wrong);
}

/// Checks the rules of the Codex backend.
pub(super) fn codex(request: &RecordedRequest, mint: &Mint, wrong: &mut Violations) {
    let body = &request.body;
    let has = |name: &str| body.get(name).is_some();
    wrong.unless(
        !has("max_output_tokens"),
        "codex takes no max_output_tokens",
    );
    wrong.unless(
        !has("previous_response_id"),
        "codex goes on from no response",
    );
    wrong.unless(body["store"] == false, "codex wants store: false");
    wrong.unless(is_text(&body["instructions"]), "codex wants instructions");
    wrong.unless(has("reasoning"), "codex wants reasoning, if only null");
    wrong.unless(body["include"].is_array(), "codex wants include");
    let accept = request.header("accept").unwrap_or_default();
    wrong.unless(
        accept.contains("text/event-stream"),
        "it does not say that it takes a stream of events",
    );
    common(request, mint, wrong);
}

fn common(request: &RecordedRequest, mint: &Mint, wrong: &mut Violations) {
    let body = &request.body;
    tool_names(items(&body["tools"]).map(|tool| &tool["name"]), wrong);
    for tool in items(&body["tools"]) {
        match tool["type"].as_str() {
            Some("function") => tool_schema(&tool["parameters"], wrong),
            Some("custom") => custom_tool(tool, wrong),
            Some(_) | None => wrong.add("a tool is of a type that is not offered"),
        }
    }
    if items(&body["input"]).next().is_none() {
        return wrong.add("its input has no items");
    }
    let continued = !body["previous_response_id"].is_null();
    let mut calls = CallsByKind::default();
    for item in items(&body["input"]) {
        check_item(item, continued, mint, &mut calls, wrong);
    }
    calls.functions.settled("in the input", wrong);
    calls.customs.settled("in the input", wrong);
    let last = items(&body["input"]).last();
    wrong.unless(
        last.is_some_and(|item| item["role"] != "assistant" && item["type"] != "reasoning"),
        "the last word is the assistant's",
    );
}

/// Checks a tool that is called by free text under a grammar.
fn custom_tool(tool: &Value, wrong: &mut Violations) {
    let format = &tool["format"];
    let syntax = format["syntax"].as_str();
    wrong.unless(
        format["type"] == "grammar"
            && matches!(syntax, Some("lark" | "regex"))
            && is_text(&format["definition"]),
        "a custom tool has no grammar that can be read",
    );
    wrong.unless(
        tool.get("parameters").is_none(),
        "a custom tool has a schema",
    );
}

/// Calls by kind; each is answered in its own kind.
#[derive(Debug, Default)]
struct CallsByKind {
    functions: Calls,
    customs: Calls,
}

fn check_item(
    item: &Value,
    continued: bool,
    mint: &Mint,
    calls: &mut CallsByKind,
    wrong: &mut Violations,
) {
    match item["type"].as_str().unwrap_or("message") {
        "message" => message(item, wrong),
        "function_call" => {
            calls.functions.made(&item["call_id"], mint, wrong);
            wrong.unless(is_text(&item["name"]), "a call names no tool");
            wrong.unless(item["arguments"].is_string(), "arguments are no text");
        }
        "custom_tool_call" => {
            calls.customs.made(&item["call_id"], mint, wrong);
            wrong.unless(is_text(&item["name"]), "a call names no tool");
            wrong.unless(item["input"].is_string(), "the input of a call is no text");
        }
        kind @ ("function_call_output" | "custom_tool_call_output") => {
            let id = &item["call_id"];
            let of_kind = match kind {
                "custom_tool_call_output" => &mut calls.customs,
                _ => &mut calls.functions,
            };
            // The call itself may be in the response that this request continues from.
            let elsewhere = continued && id.as_str().is_some_and(|id| mint.gave(id));
            if !elsewhere {
                of_kind.answered(id, wrong);
            }
            wrong.unless(
                item["output"].is_string() || item["output"].is_array(),
                "the output of a call is neither text nor a list",
            );
        }
        "reasoning" => {
            wrong.unless(item["summary"].is_array(), "reasoning has no summary");
            let seal = item["encrypted_content"].as_str();
            wrong.unless(
                seal.is_some_and(|seal| mint.sealed(seal)),
                "reasoning was not sealed by this provider for this model",
            );
        }
        "compaction" => {
            let seal = item["encrypted_content"].as_str();
            wrong.unless(
                seal.is_some_and(|seal| mint.sealed(seal)),
                "a compaction was not sealed by this provider for this model",
            );
        }
        other => wrong.add(format!("there is no item of type {other}")),
    }
}

fn message(item: &Value, wrong: &mut Violations) {
    let part_type = match item["role"].as_str() {
        Some("user" | "system" | "developer") => "input_text",
        Some("assistant") => "output_text",
        Some(_) | None => return wrong.add(format!("there is no role {}", item["role"])),
    };
    if item["content"].is_string() {
        return wrong.unless(is_text(&item["content"]), "a message says nothing");
    }
    wrong.unless(
        items(&item["content"]).next().is_some(),
        "a message says nothing",
    );
    for part in items(&item["content"]) {
        let is_image = item["role"] == "user"
            && part["type"] == "input_image"
            && is_image_url(&part["image_url"]);
        wrong.unless(
            is_image || part["type"] == part_type && is_text(&part["text"]),
            "a part of a message is empty or of a type that its role does not have",
        );
    }
}
