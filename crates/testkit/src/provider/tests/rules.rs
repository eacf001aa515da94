//! The violations that the server reports.

use super::{Client, ask, headers, request};
use crate::provider::{Fault, Protocol, Provider, Round, Script};
use serde_json::{Value, json};

/// The violations of one request with this body.
fn complaints(protocol: Protocol, change: impl FnOnce(&mut Value)) -> Vec<String> {
    let provider = Provider::start(Script::always(Round::text("ok")));
    let mut body = request(protocol);
    change(&mut body);
    let mut client = Client::to(&provider);
    client.send(protocol.path(), &headers(protocol), &body);
    client.read().unwrap();
    let words = provider.violations();
    let stripped = words.iter().map(|words| {
        let (_, complaint) = words.split_once("): ").unwrap();
        complaint.to_owned()
    });
    stripped.collect()
}

/// Checks that a body with this value at this place causes exactly this violation.
#[track_caller]
fn refuses(protocol: Protocol, place: &str, value: Value, complaint: &str) {
    let with = format!("{protocol:?} with {place}: {value}");
    let found = complaints(protocol, |body| body[place] = value);
    assert_eq!(found, [complaint], "{with}");
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

#[test]
fn the_least_each_protocol_wants_is_enough() {
    for protocol in Protocol::ALL {
        assert_eq!(complaints(protocol, |_| {}), [""; 0], "{protocol:?}");
    }
}

#[test]
fn what_all_protocols_share_is_checked_in_all_of_them() {
    for protocol in Protocol::ALL {
        refuses(protocol, "model", json!(""), "it names no model");
        let provider = Provider::start(Script::of([]).key("sk-1"));
        ask(&provider, protocol).unwrap();
        let found = provider.violations().join("\n");
        assert!(found.contains("the script was at its end"), "{found}");
        assert!(found.contains("does not bring the key"), "{found}");
    }
    let provider = Provider::start(Script::of([]));
    Client::to(&provider).get("/elsewhere");
    assert!(provider.violations()[0].contains("nothing is served at this path"));
}

#[test]
fn the_rules_of_responses_hold() {
    let refuses = |place: &str, value, complaint| {
        refuses(Protocol::Responses, place, value, complaint);
    };
    let call = |id: &str| json!({ "type": "function_call", "call_id": id, "name": "A", "arguments": "{}" });
    let output = |id: &str| json!({ "type": "function_call_output", "call_id": id, "output": "x" });
    refuses("input", json!([]), "its input has no items");
    refuses(
        "max_output_tokens",
        json!(15),
        "max_output_tokens is no number from 16 on",
    );
    refuses(
        "input",
        json!([call("a"), user("hi")]),
        "[\"a\"] have no answer in the input",
    );
    refuses(
        "input",
        json!([output("a")]),
        "\"a\" is answered where no call of that id is open",
    );
    refuses(
        "input",
        json!([call("a"), call("a"), output("a")]),
        "two calls have the id a",
    );
    refuses(
        "input",
        json!([call("fk1_c0_0"), output("fk1_c0_0")]),
        "the id fk1_c0_0 is another provider's",
    );
    refuses(
        "input",
        json!([user("hi"), { "role": "assistant", "content": "ho" }]),
        "the last word is the assistant's",
    );
    refuses(
        "input",
        json!([{ "role": "user", "content": [{ "type": "output_text", "text": "x" }] }]),
        "a part of a message is empty or of a type that its role does not have",
    );
    refuses(
        "input",
        json!([{ "type": "reasoning", "summary": [], "encrypted_content": "seal-1-m-0_0" }, user("hi")]),
        "reasoning was not sealed by this provider for this model",
    );
    refuses(
        "previous_response_id",
        json!("resp_1"),
        "it goes on from a response this provider never gave",
    );
    let custom =
        |id: &str| json!({ "type": "custom_tool_call", "call_id": id, "name": "A", "input": "x" });
    let written =
        |id: &str| json!({ "type": "custom_tool_call_output", "call_id": id, "output": "x" });
    let sound = complaints(Protocol::Responses, |body| {
        body["input"] = json!([call("a"), custom("b"), written("b"), output("a")]);
    });
    assert_eq!(sound, [""; 0]);
    let crossed = complaints(Protocol::Responses, |body| {
        body["input"] = json!([custom("a"), output("a")]);
    });
    assert_eq!(
        crossed,
        [
            "\"a\" is answered where no call of that id is open",
            "[\"a\"] have no answer in the input"
        ],
        "an answer is of the kind of its call"
    );
    let grammar = json!({ "type": "grammar", "syntax": "lark", "definition": "" });
    refuses(
        "tools",
        json!([{ "type": "custom", "name": "A", "format": grammar }]),
        "a custom tool has no grammar that can be read",
    );
    let bad_tool = json!([{ "type": "function", "name": "A B", "parameters": { "type": "object", "properties": {} } }]);
    refuses("tools", bad_tool, "a tool cannot be called \"A B\"");
}

#[test]
fn the_rules_of_codex_hold() {
    let refuses = |place: &str, value, complaint| {
        refuses(Protocol::Codex, place, value, complaint);
    };
    refuses(
        "max_output_tokens",
        json!(100),
        "codex takes no max_output_tokens",
    );
    refuses(
        "previous_response_id",
        json!("x"),
        "codex goes on from no response",
    );
    refuses("store", json!(true), "codex wants store: false");
    refuses("instructions", Value::Null, "codex wants instructions");
    refuses("include", Value::Null, "codex wants include");
    let without = complaints(Protocol::Codex, |body| {
        body.as_object_mut().unwrap().remove("reasoning");
    });
    assert_eq!(without, ["codex wants reasoning, if only null"]);
}

#[test]
fn the_rules_of_messages_hold() {
    let refuses = |place: &str, value, complaint| {
        refuses(Protocol::Messages, place, value, complaint);
    };
    let said = |role: &str, blocks: Value| json!({ "role": role, "content": blocks });
    let call = |id: &str| json!({ "type": "tool_use", "id": id, "name": "A", "input": {} });
    let result = |id: &str| json!({ "type": "tool_result", "tool_use_id": id, "content": "x" });
    let text = json!({ "type": "text", "text": "x" });
    refuses("max_tokens", json!(0), "max_tokens is no number from 1 on");
    refuses(
        "messages",
        json!([user("hi"), user("ho")]),
        "user speaks where assistant should",
    );
    refuses(
        "messages",
        json!([user("hi"), said("assistant", json!([text]))]),
        "there is nothing for the assistant to answer",
    );
    let with_call = |answer: Value| {
        json!([
            user("hi"),
            said("assistant", json!([call("a")])),
            said("user", answer)
        ])
    };
    refuses(
        "messages",
        with_call(json!([text])),
        "[\"a\"] have no answer in the next message",
    );
    refuses(
        "messages",
        with_call(json!([text, result("a")])),
        "a tool result stands after text",
    );
    refuses(
        "messages",
        with_call(json!([result("a"), result("a")])),
        "\"a\" is answered where no call of that id is open",
    );
    refuses(
        "messages",
        json!([said("user", json!([{ "type": "text", "text": " " }]))]),
        "a text block is empty",
    );
    let thought = json!({ "type": "thinking", "thinking": "x", "signature": "seal-1-m-0_0" });
    refuses(
        "messages",
        json!([
            user("hi"),
            said("assistant", json!([thought, text])),
            user("ho")
        ]),
        "a thought was not sealed by this provider for this model",
    );
    let marked = json!({ "type": "text", "text": "x", "cache_control": { "type": "ephemeral" } });
    refuses(
        "system",
        json!([marked, marked, marked, marked, marked]),
        "more than four blocks are marked for the cache",
    );
    refuses(
        "context_management",
        json!({}),
        "context management needs its beta header",
    );
}

#[test]
fn the_rules_of_chat_hold() {
    let refuses = |place: &str, value, complaint| {
        refuses(Protocol::Chat, place, value, complaint);
    };
    let function = json!({ "name": "A", "arguments": "{}" });
    let call = json!({ "role": "assistant", "content": null, "tool_calls": [{ "id": "a", "type": "function", "function": function }] });
    let result = json!({ "role": "tool", "tool_call_id": "a", "content": "x" });
    let asked = |rest: &[&Value]| {
        let mut messages = vec![user("hi")];
        messages.extend(rest.iter().map(|message| (*message).clone()));
        json!(messages)
    };
    refuses(
        "max_tokens",
        json!(0),
        "the most tokens of an answer are no number from 1 on",
    );
    refuses(
        "messages",
        asked(&[&call, &user("ho")]),
        "[\"a\"] have no answer before the next message",
    );
    refuses(
        "messages",
        asked(&[&result]),
        "\"a\" is answered where no call of that id is open",
    );
    refuses(
        "messages",
        asked(&[&json!({ "role": "assistant", "content": "" }), &user("ho")]),
        "the assistant neither says nor calls anything",
    );
    refuses(
        "messages",
        asked(&[&json!({ "role": "assistant", "content": "x" })]),
        "there is nothing for the assistant to answer",
    );
    refuses(
        "tools",
        json!([]),
        "an empty list of tools is refused by many servers",
    );
    let sound = complaints(Protocol::Chat, |body| {
        body["messages"] = asked(&[&call, &result]);
    });
    assert_eq!(sound, [""; 0]);
}

#[test]
#[should_panic(expected = "request 0 (POST /responses): it names no model")]
fn finishing_panics_with_what_was_wrong() {
    let provider = Provider::start(Script::of([Round::text("ok")]));
    let mut client = Client::to(&provider);
    client.send("/responses", &[], &json!({ "input": [user("hi")] }));
    client.read().unwrap();
    provider.finish();
}

#[test]
#[should_panic(expected = "1 rounds of the script were not asked for")]
fn finishing_panics_when_the_script_was_not_played_to_its_end() {
    let rounds = [Round::text("one"), Round::fault(Fault::ServerError)];
    let provider = Provider::start(Script::of(rounds));
    ask(&provider, Protocol::Chat).unwrap();
    provider.finish();
}

#[test]
#[should_panic(expected = "a round could not be chosen or played")]
fn finishing_panics_when_a_choice_did() {
    let provider = Provider::start(Script::choose(|_| panic!("no idea")));
    drop(ask(&provider, Protocol::Chat));
    provider.finish();
}
