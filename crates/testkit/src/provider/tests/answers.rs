//! The content of answers, in each protocol.

use super::{Client, ReceivedAnswer, ask, headers, request};
use crate::provider::{Fault, Protocol, Provider, RecordedRequest, Round, Script, Stop};
use holon_sse::Parser;
use serde_json::{Value, json};
use std::time::Duration;

/// The data of the events of a stream.
fn events(got: &ReceivedAnswer) -> Vec<Value> {
    let mut frames = Vec::new();
    let parsed = Parser::new(1 << 20).push(got.text().as_bytes(), &mut frames);
    parsed.expect("an event stream");
    let data = frames.into_iter().filter_map(|frame| frame.data);
    data.map(|data| serde_json::from_str(&data).expect("a document"))
        .collect()
}

fn full() -> Round {
    Round::empty()
        .reasoning("Hm.")
        .say("I look.")
        .call("ExecCommand", json!({ "cmd": "ls" }))
        .usage(1_000, 30, 900)
}

#[test]
fn one_round_is_said_in_four_protocols() {
    let provider = Provider::start(Script::always(full()));
    let port = provider.port();

    let responses = ask(&provider, Protocol::Responses).unwrap().json();
    assert_eq!(responses["status"], "completed");
    assert_eq!(responses["output"][0]["summary"][0]["text"], "Hm.");
    assert_eq!(responses["output"][1]["content"][0]["text"], "I look.");
    assert_eq!(responses["output"][2]["call_id"], format!("fk{port}_c0_2"));
    assert_eq!(responses["output"][2]["arguments"], r#"{"cmd":"ls"}"#);
    assert_eq!(
        responses["usage"]["input_tokens_details"]["cached_tokens"],
        900
    );

    let got = ask(&provider, Protocol::Codex).unwrap();
    assert!(
        got.head.contains("content-type: text/event-stream"),
        "{got:?}"
    );
    let streamed = events(&got);
    let done: Vec<&Value> = streamed
        .iter()
        .filter(|event| event["type"] == "response.output_item.done")
        .map(|event| &event["item"]["type"])
        .collect();
    assert_eq!(done, ["reasoning", "message", "function_call"]);
    let last = streamed.last().unwrap();
    assert_eq!(last["type"], "response.completed");
    assert_eq!(last["response"]["usage"]["total_tokens"], 1_030);

    let messages = ask(&provider, Protocol::Messages).unwrap().json();
    assert_eq!(messages["stop_reason"], "tool_use");
    assert_eq!(
        messages["content"][0]["signature"],
        format!("seal-{port}-m-2_0")
    );
    assert_eq!(messages["content"][1]["text"], "I look.");
    assert_eq!(messages["content"][2]["input"], json!({ "cmd": "ls" }));
    assert_eq!(messages["usage"]["input_tokens"], 100);
    assert_eq!(messages["usage"]["cache_read_input_tokens"], 900);

    let chat = ask(&provider, Protocol::Chat).unwrap().json();
    let choice = &chat["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!(choice["message"]["content"], "I look.");
    assert_eq!(choice["message"]["reasoning_content"], "Hm.");
    assert_eq!(
        choice["message"]["tool_calls"][0]["function"]["arguments"],
        r#"{"cmd":"ls"}"#
    );
    assert_eq!(provider.finish().len(), 4);
}

#[test]
fn a_call_by_free_text_is_of_its_own_kind_where_there_is_one() {
    let text = "--- a/x\n+++ b/x\n";
    let provider = Provider::start(Script::always(Round::empty().freeform_call("Patch", text)));
    let port = provider.port();
    let item = ask(&provider, Protocol::Responses).unwrap().json()["output"][0].clone();
    assert_eq!(
        (&item["type"], &item["name"], &item["input"]),
        (&json!("custom_tool_call"), &json!("Patch"), &json!(text))
    );
    assert_eq!(item["call_id"], format!("fk{port}_c0_0"));

    let streamed = events(&ask(&provider, Protocol::Codex).unwrap());
    let told: Vec<&str> = streamed
        .iter()
        .filter_map(|event| event["type"].as_str())
        .collect();
    assert_eq!(
        told,
        [
            "response.created",
            "response.output_item.added",
            "response.custom_tool_call_input.delta",
            "response.custom_tool_call_input.delta",
            "response.custom_tool_call_input.done",
            "response.output_item.done",
            "response.completed",
        ]
    );
    assert_eq!(streamed[1]["item"]["input"], "");
    assert_eq!(streamed[5]["item"]["input"], text);

    let messages = ask(&provider, Protocol::Messages).unwrap().json();
    assert_eq!(messages["content"][0]["input"], text);
    let chat = ask(&provider, Protocol::Chat).unwrap().json();
    let call = &chat["choices"][0]["message"]["tool_calls"][0];
    assert_eq!(call["function"]["arguments"], text);
    provider.finish();
}

#[test]
fn every_reason_to_stop_has_its_word_in_each_protocol() {
    let stopped = |stop| {
        let provider = Provider::start(Script::always(Round::text("I will").stop(stop)));
        let get = |protocol| ask(&provider, protocol).unwrap();
        let responses = get(Protocol::Responses).json();
        let streamed = events(&get(Protocol::Codex));
        let last = streamed.last().unwrap()["type"].clone();
        let words = [
            responses["status"].clone(),
            responses["output"][0]["content"][0]["type"].clone(),
            last,
            get(Protocol::Messages).json()["stop_reason"].clone(),
            get(Protocol::Chat).json()["choices"][0]["finish_reason"].clone(),
        ];
        words.map(|word| word.as_str().unwrap().to_owned())
    };
    assert_eq!(
        stopped(Stop::Done),
        [
            "completed",
            "output_text",
            "response.completed",
            "end_turn",
            "stop"
        ]
    );
    assert_eq!(
        stopped(Stop::MaxOutputTokens),
        [
            "incomplete",
            "output_text",
            "response.incomplete",
            "max_tokens",
            "length"
        ]
    );
    assert_eq!(
        stopped(Stop::Refusal),
        [
            "completed",
            "refusal",
            "response.completed",
            "refusal",
            "content_filter"
        ]
    );
}

#[test]
fn refusals_come_in_the_shape_and_the_words_of_their_protocol() {
    let refused = |fault: Fault, protocol| {
        let provider = Provider::start(Script::of([Round::fault(fault)]));
        let got = ask(&provider, protocol).unwrap();
        provider.finish();
        got
    };
    let limited = Fault::RateLimited {
        retry_after: Some(Duration::from_millis(1_500)),
    };
    let got = refused(limited, Protocol::Chat);
    assert_eq!(
        (got.status, &got.json()["error"]["code"]),
        (429, &json!("rate_limit_exceeded"))
    );
    assert!(
        got.head
            .contains("retry-after: 2\r\nretry-after-ms: 1500\r\n"),
        "{got:?}"
    );

    let spent = Fault::Quota {
        resets_in: Some(Duration::from_secs(60)),
    };
    let got = refused(spent.clone(), Protocol::Codex).json();
    assert_eq!(got["error"]["type"], "usage_limit_reached");
    assert_eq!(got["error"]["resets_in_seconds"], 60);
    let got = refused(spent, Protocol::Messages);
    assert_eq!(
        (got.status, &got.json()["error"]["type"]),
        (429, &json!("rate_limit_error"))
    );
    assert!(
        got.head.contains("anthropic-ratelimit-unified-reset: "),
        "{got:?}"
    );

    let got = refused(Fault::ServerError, Protocol::Messages);
    assert_eq!(
        (got.status, &got.json()["error"]["type"]),
        (529, &json!("overloaded_error"))
    );
    let long = Fault::ContextTooLong { window: 4_096 };
    let got = refused(long.clone(), Protocol::Messages).json();
    assert_eq!(
        got["error"]["message"],
        "prompt is too long: 8192 tokens > 4096 maximum"
    );
    let got = refused(long, Protocol::Codex);
    let last = events(&got).pop().unwrap();
    assert_eq!(
        (got.status, &last["type"]),
        (200, &json!("response.failed"))
    );
    assert_eq!(last["response"]["error"]["code"], "context_length_exceeded");
    let got = refused(Fault::OutputTooLong { limit: 50 }, Protocol::Messages).json();
    assert_eq!(
        got["error"]["message"],
        "max_tokens: 100 > 50, which is the maximum allowed number of output tokens for m"
    );
    let page = refused(Fault::HtmlOk, Protocol::Responses);
    assert_eq!(
        (page.status, page.text().starts_with("<!doctype")),
        (200, true)
    );
}

#[test]
fn a_careless_server_repeats_the_key_it_was_sent() {
    let provider = Provider::start(Script::of([Round::fault(Fault::Unauthorized)]).key("sk-1"));
    let mut client = Client::to(&provider);
    let auth = [("authorization", "Bearer sk-1")];
    client.send("/chat/completions", &auth, &request(Protocol::Chat));
    let got = client.read().unwrap();
    assert_eq!(got.status, 401);
    assert!(got.text().contains("sk-1"), "{got:?}");
    assert!(provider.requests()[0].contains("sk-1"));
    provider.finish();
}

#[test]
fn faults_of_content_spoil_the_calls_of_the_round() {
    let chat = |round| {
        let provider = Provider::start(Script::of([round]));
        let got = ask(&provider, Protocol::Chat).unwrap().json();
        got["choices"][0]["message"]["tool_calls"].clone()
    };
    let same = chat(Round::fault(Fault::DuplicateCallIds).call("A", json!({})));
    assert_eq!(same[0]["function"]["name"], "A");
    assert_eq!(same[1]["function"]["name"], "ExecCommand");
    assert_eq!(same[0]["id"], same[1]["id"]);
    let missing = chat(Round::fault(Fault::MissingCallIds));
    assert!(
        missing[0].is_object() && missing[0].get("id").is_none(),
        "{missing}"
    );
    let broken = chat(Round::fault(Fault::InvalidArguments));
    assert_eq!(broken[0]["function"]["arguments"], "{\"cmd\": \"tru");
    let unknown = chat(Round::fault(Fault::UnknownTool));
    assert_eq!(unknown[0]["function"]["name"], "NoSuchTool");
}

#[test]
fn an_answer_can_end_without_saying_so() {
    let provider = Provider::start(Script::always(Round::fault(Fault::MissingTerminal)));
    let get = |protocol| ask(&provider, protocol).unwrap();
    let streamed = events(&get(Protocol::Codex));
    assert_eq!(
        streamed.last().unwrap()["type"],
        "response.output_item.done"
    );
    assert_eq!(get(Protocol::Responses).json()["status"], "in_progress");
    assert_eq!(get(Protocol::Messages).json()["stop_reason"], Value::Null);
    let chat = get(Protocol::Chat).json();
    assert_eq!(chat["choices"][0]["finish_reason"], Value::Null);
}

#[test]
fn a_round_can_be_chosen_by_the_request() {
    let provider = Provider::start(Script::choose(|request: &RecordedRequest| {
        match request.max_output_tokens() {
            Some(most) if most > 50 => Round::fault(Fault::OutputTooLong { limit: 50 }),
            Some(_) | None => Round::text(format!("{} of {}", request.index, request.model())),
        }
    }));
    assert_eq!(ask(&provider, Protocol::Messages).unwrap().status, 400);
    let mut body = request(Protocol::Messages);
    body["max_tokens"] = json!(50);
    let mut client = Client::to(&provider);
    client.send("/v1/messages", &headers(Protocol::Messages), &body);
    assert_eq!(
        client.read().unwrap().json()["content"][0]["text"],
        "1 of m"
    );
    assert_eq!(provider.finish().len(), 2);
}

#[test]
fn models_are_listed_without_a_round() {
    let provider = Provider::start(Script::of([]).models(&["a", "b"]));
    let mut client = Client::to(&provider);
    let listed = client.get("/v1/models");
    assert_eq!(listed.json()["data"][1]["id"], "b");
    provider.finish();
    let provider = Provider::start(Script::of([]).models_fault(Fault::ServerError));
    assert_eq!(Client::to(&provider).get("/models").status, 503);
    provider.finish();
}
