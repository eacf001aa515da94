//! The streamed codec, tested with golden files and with streams out of order.

use super::encode;
use crate::codec::responses::tests::support::{
    cases, golden, goldens, provider, request, violations,
};
use crate::codec::sample::assert_golden;
use crate::codec::stream::{Assembler, Progress};
use crate::codec::{DecodedReply, Fault, answer, sample};
use holon_domain::model::{ModelFailureKind as Kind, ModelRequest, ReplyBlock, StopReason};
use holon_domain::provider::{ReasoningEffort, Transport};
use holon_domain::tool::OfferedTool;
use holon_sse::Parser;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Byte limit that no stream of these tests reaches.
const MOST: usize = 1 << 20;

type Event = (Option<String>, String);

/// Reads a stream file into the name and data of each frame.
fn frames(name: &str) -> Vec<Event> {
    let mut frames = Vec::new();
    let parsed = Parser::new(MOST).push(&sample::golden(name), &mut frames);
    parsed.expect("an event stream");
    let events = frames.into_iter();
    events
        .filter_map(|frame| Some((frame.event, frame.data?)))
        .collect()
}

/// The tools that the recorded requests offered.
fn tools() -> [OfferedTool; 2] {
    [sample::tool(), sample::freeform_tool()]
}

fn assembler(most: usize) -> Assembler {
    Assembler::new(Transport::OpenaiCodexResponses, most)
}

fn finished(assembler: Assembler) -> Result<DecodedReply, Fault> {
    let document = assembler.finish()?;
    answer(Transport::OpenaiCodexResponses, &tools(), &document)
}

fn played(events: &[Event]) -> Result<DecodedReply, Fault> {
    let mut assembler = assembler(MOST);
    for (name, data) in events {
        assembler.event(name.as_deref(), data, &mut |_| {})?;
    }
    finished(assembler)
}

fn event(data: &Value) -> Event {
    (data["type"].as_str().map(str::to_owned), data.to_string())
}

fn encoded(request: &ModelRequest) -> Value {
    sample::sent(&encode(&provider(Transport::OpenaiCodexResponses), request))
}

#[test]
fn requests_are_as_the_golden_files_and_the_schema_say() {
    for (name, request) in cases() {
        let body = encoded(&request);
        assert_golden(&format!("codex/request-{name}.json"), &body);
        assert_eq!(
            violations(Transport::OpenaiCodexResponses, &body),
            [""; 0],
            "{name}"
        );
    }
}

#[test]
fn the_reasoning_fields_are_there_also_when_they_say_nothing() {
    let mut request = request(Vec::new());
    let body = encoded(&request);
    assert_eq!(body.get("reasoning"), Some(&Value::Null));
    assert_eq!(body.get("include"), Some(&json!([])));
    assert_eq!(body.get("max_output_tokens"), None);
    request.reasoning.is_on = true;
    let body = encoded(&request);
    assert_eq!(body.get("reasoning"), Some(&Value::Null));
    assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
    request.reasoning_effort = Some(ReasoningEffort::High);
    let body = encoded(&request);
    assert_eq!(body["reasoning"], json!({"effort": "high"}));
    assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
}

#[test]
fn streams_are_read_as_the_golden_files_say() {
    for name in goldens("codex", "stream-", ".sse") {
        let expected = golden(&name.replace(".sse", ".json"));
        match played(&frames(&name)) {
            Ok(decoded) => {
                assert_eq!(json!(decoded.reply), expected["reply"], "{name}");
                assert_eq!(decoded.stored_id, None, "{name}");
            }
            Err(Fault::Reported { kind, message }) => {
                assert_eq!(
                    json!({"kind": kind, "message": message}),
                    expected["fault"],
                    "{name}"
                );
            }
            Err(other @ (Fault::Malformed { .. } | Fault::NotJson { .. } | Fault::CutOff)) => {
                panic!("{name}: {other:?}")
            }
        }
    }
}

#[test]
fn a_stream_is_done_at_its_terminal_event_and_what_follows_counts_for_nothing() {
    let mut assembler = assembler(MOST);
    let events = frames("codex/stream-tools.sse");
    let progress: Vec<Progress> = events
        .iter()
        .map(|(name, data)| {
            assembler
                .event(name.as_deref(), data, &mut |_| {})
                .expect("no fault")
        })
        .collect();
    let (last, before) = progress.split_last().expect("events");
    assert!(!before.contains(&Progress::Done));
    assert_eq!(*last, Progress::Done);
    for late in [
        "{\"type\": \"error\", \"message\": \"late\"}",
        "no JSON",
        "[DONE]",
    ] {
        assert_eq!(assembler.event(None, late, &mut |_| {}), Ok(Progress::Done));
    }
    assert_eq!(finished(assembler), played(&events));
}

#[test]
fn a_stream_without_a_terminal_event_is_cut_off_wherever_it_ends() {
    let events = frames("codex/stream-tools.sse");
    for end in 0..events.len() {
        assert_eq!(played(&events[..end]), Err(Fault::CutOff), "{end} events");
    }
    let done = (None, "[DONE]".to_owned());
    assert_eq!(played(&[done]), Err(Fault::CutOff));
}

#[test]
fn the_terminal_output_counts_where_there_is_one() {
    let item =
        |text: &str| json!({"type": "message", "content": [{"type": "output_text", "text": text}]});
    let streamed = event(
        &json!({"type": "response.output_item.done", "output_index": 0, "item": item("streamed")}),
    );
    let text = |output: Value| {
        let end = event(&json!({"type": "response.completed", "response": {"output": output}}));
        played(&[streamed.clone(), end])
            .expect("an answer")
            .reply
            .blocks
    };
    let words = |text: &str| vec![ReplyBlock::Text { text: text.into() }];
    assert_eq!(text(json!([item("terminal")])), words("terminal"));
    assert_eq!(text(json!([])), words("streamed"));
    assert_eq!(text(Value::Null), words("streamed"));
    let bare = event(&json!({"type": "response.completed"}));
    assert_eq!(
        played(&[streamed.clone(), bare])
            .expect("an answer")
            .reply
            .blocks,
        words("streamed")
    );
}

#[test]
fn a_stream_that_reports_a_failure_is_classified_by_its_error() {
    let failed = |error: Value| json!({"type": "response.failed", "response": {"status": "failed", "error": error}});
    let table = [
        (
            failed(
                json!({"code": "rate_limit_exceeded", "message": "Please try again in 11.054s."}),
            ),
            Kind::RateLimited,
        ),
        (
            failed(
                json!({"code": "context_length_exceeded", "message": "Your input exceeds the context window."}),
            ),
            Kind::ContextLengthExceeded,
        ),
        (
            failed(json!({"code": "server_is_overloaded", "message": "m"})),
            Kind::ServerError,
        ),
        (
            failed(json!({"code": "insufficient_quota", "message": "m"})),
            Kind::Quota,
        ),
        (failed(Value::Null), Kind::ServerError),
        (json!({"type": "response.failed"}), Kind::ServerError),
        (
            json!({"type": "response.incomplete", "response": {"incomplete_details": {"reason": "something_new"}}}),
            Kind::InvalidResponse,
        ),
        (
            json!({"type": "response.incomplete"}),
            Kind::InvalidResponse,
        ),
        (json!({"type": "response.cancelled"}), Kind::ServerError),
        (
            json!({"type": "response.done", "response": {"status": "failed", "error": {"code": "server_error"}}}),
            Kind::ServerError,
        ),
        (
            json!({"type": "error", "code": "rate_limit_exceeded", "message": "m", "param": null}),
            Kind::RateLimited,
        ),
        (
            json!({"type": "error", "code": null, "message": "m"}),
            Kind::ServerError,
        ),
        (
            json!({"type": "error", "status": 429, "error": {"type": "usage_limit_reached", "message": "m", "resets_in_seconds": 7}}),
            Kind::Quota,
        ),
    ];
    for (data, expected) in table {
        match played(&[event(&data)]) {
            Err(Fault::Reported { kind, .. }) => assert_eq!(kind, expected, "{data}"),
            other => panic!("{data}: {other:?}"),
        }
    }
}

#[test]
fn an_incomplete_stream_keeps_what_was_complete() {
    let item =
        json!({"type": "function_call", "call_id": "c", "name": "Sleep", "arguments": "{\"du"});
    let events = [
        event(&json!({"type": "response.output_item.done", "output_index": 0, "item": item})),
        event(
            &json!({"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}}),
        ),
    ];
    let reply = played(&events).expect("an answer").reply;
    assert_eq!(reply.stop_reason, StopReason::MaxOutputTokens);
    assert!(matches!(&reply.blocks[..], [ReplyBlock::Call(call)] if call.input == json!("{\"du")));
}

#[test]
fn a_stream_that_a_filter_ended_keeps_its_text_and_loses_its_calls() {
    let said = json!({"type": "message", "content": [{"type": "output_text", "text": "So"}]});
    let call = json!({"type": "function_call", "call_id": "c", "name": "Sleep", "arguments": "{}"});
    let events = [
        event(&json!({"type": "response.output_item.done", "output_index": 0, "item": said})),
        event(&json!({"type": "response.output_item.done", "output_index": 1, "item": call})),
        event(
            &json!({"type": "response.incomplete", "response": {"incomplete_details": {"reason": "content_filter"}}}),
        ),
    ];
    let reply = played(&events).expect("an answer").reply;
    assert_eq!(reply.stop_reason, StopReason::ContentFilter);
    assert!(matches!(&reply.blocks[..], [ReplyBlock::Text { text }] if text == "So"));
}

#[test]
fn an_event_that_is_not_json_is_a_fault_unless_its_data_is_skipped() {
    let broken = |name: Option<&str>| assembler(MOST).event(name, "{\"type\":", &mut |_| {});
    assert!(matches!(broken(None), Err(Fault::NotJson { .. })));
    assert!(matches!(
        broken(Some("response.completed")),
        Err(Fault::NotJson { .. })
    ));
    assert_eq!(
        broken(Some("response.function_call_arguments.delta")),
        Ok(Progress::More)
    );
    assert_eq!(
        assembler(MOST).event(None, "", &mut |_| {}),
        Ok(Progress::Idle)
    );
}

#[test]
fn items_without_a_place_stand_in_the_order_they_came() {
    let item = |id: &str| json!({"type": "message", "id": id, "content": [{"type": "output_text", "text": id}]});
    let done = |id: &str| event(&json!({"type": "response.output_item.done", "item": item(id)}));
    let end = event(&json!({"type": "response.completed", "response": {}}));
    let reply = played(&[done("a"), done("b"), done("a"), done("c"), end])
        .expect("an answer")
        .reply;
    let words: Vec<String> = reply
        .blocks
        .iter()
        .map(|block| match block {
            ReplyBlock::Text { text } => text.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(words, ["a", "b", "c"]);
}

#[test]
fn items_that_all_claim_one_place_are_all_kept() {
    let item = |id: &str| json!({"type": "message", "id": id, "content": id});
    let done = |id: &str| {
        event(&json!({"type": "response.output_item.done", "output_index": 0, "item": item(id)}))
    };
    let end = event(&json!({"type": "response.completed", "response": {}}));
    let reply = played(&[done("a"), done("b"), end])
        .expect("an answer")
        .reply;
    let words = |text: &str| ReplyBlock::Text { text: text.into() };
    assert_eq!(reply.blocks, [words("a"), words("b")]);
}

/// The events before the terminal one in any order, some of them twice, with unknown events among them.
fn disorder() -> impl Strategy<Value = Vec<Event>> {
    let mut events = frames("codex/stream-tools.sse");
    let terminal = events.pop().expect("a terminal event");
    let strangers = [
        json!({"type": "codex.rate_limits", "limit_reached": true}),
        json!({"type": "response.something_new", "item": {"type": "message"}}),
        json!({"no": "type"}),
    ];
    events.extend(strangers.iter().map(event));
    let twice: Vec<Event> = events.iter().chain(&events).cloned().collect();
    let least = events.len();
    Just(twice).prop_shuffle().prop_flat_map(move |shuffled| {
        // Each event stays at least once, because only entries of the doubled list are left out.
        let terminal = terminal.clone();
        (least..=shuffled.len()).prop_map(move |extra| {
            let mut seen = Vec::new();
            let mut dropped = shuffled.len() - extra;
            for event in &shuffled {
                if seen.contains(event) && dropped > 0 {
                    dropped -= 1;
                } else {
                    seen.push(event.clone());
                }
            }
            seen.push(terminal.clone());
            seen
        })
    })
}

proptest! {
    #[test]
    fn order_and_repetition_of_events_do_not_change_an_answer(events in disorder()) {
        prop_assert_eq!(played(&events), played(&frames("codex/stream-tools.sse")));
    }

    #[test]
    fn no_event_makes_the_assembler_panic(name in proptest::option::of("[a-z._]{0,24}"), data in "\\PC{0,60}") {
        let mut assembler = assembler(MOST);
        assembler.event(name.as_deref(), &data, &mut |_| {}).ok();
        prop_assert!(finished(assembler).is_err());
    }
}

#[test]
fn the_items_of_a_stream_are_bounded_in_sum_and_a_repeated_item_counts_once() {
    let item = |id: &str| {
        let text = "x".repeat(40_000);
        event(&json!({"type": "response.output_item.done",
            "item": {"type": "message", "id": id, "content": [{"type": "output_text", "text": text}]}}))
    };
    let play = |ids: &[String]| {
        let mut assembler = assembler(100_000);
        ids.iter().try_for_each(|id| {
            let (name, data) = item(id);
            assembler
                .event(name.as_deref(), &data, &mut |_| {})
                .map(drop)
        })
    };
    let ids: Vec<String> = (0..3).map(|n| format!("msg_{n}")).collect();
    assert_eq!(play(&ids[..2]), Ok(()));
    assert!(matches!(play(&ids), Err(Fault::Malformed { .. })));
    assert_eq!(
        play(&["msg_0".to_owned(), "msg_0".to_owned(), "msg_0".to_owned()]),
        Ok(())
    );
}

#[test]
fn an_event_of_countless_small_values_is_refused() {
    let data = format!(
        r#"{{"type":"response.output_item.done","item":[{}0]}}"#,
        "0,".repeat(2_000_000)
    );
    let taken = assembler(8 << 20).event(None, &data, &mut |_| {});
    assert!(matches!(taken, Err(Fault::Malformed { what }) if what.contains("too large")));
}
