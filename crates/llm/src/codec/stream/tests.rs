//! A streamed answer is understood like the same answer in one piece, and a broken stream is one clear fault.

use super::{Assembler, Progress};
use crate::codec::sample::golden;
use crate::codec::{DecodedReply, Fault, answer, decode};
use holon_domain::model::{ModelFailureKind as Kind, ReplyBlock};
use holon_domain::provider::Transport;
use serde_json::{Value, json};

const CHAT: Transport = Transport::OpenaiChatCompletions;
const MESSAGES: Transport = Transport::AnthropicMessages;
const MOST: usize = 1 << 20;

/// The result of a stream: its answer, and the text that was passed on while it arrived.
type Played = (Result<DecodedReply, Fault>, String);

fn play(transport: Transport, most: usize, events: &[String]) -> Played {
    let mut assembler = Assembler::new(transport, most);
    let mut shown = String::new();
    for data in events {
        match assembler.event(None, data, &mut |piece| shown.push_str(piece)) {
            Ok(Progress::Idle | Progress::More) => {}
            Ok(Progress::Done) => break,
            Err(fault) => return (Err(fault), shown),
        }
    }
    let decoded = assembler.finish();
    (
        decoded.and_then(|document| answer(transport, &[], &document)),
        shown,
    )
}

fn texts(decoded: &DecodedReply) -> String {
    let text = |block: &ReplyBlock| match block {
        ReplyBlock::Text { text } => Some(text.clone()),
        ReplyBlock::Reasoning { .. } | ReplyBlock::Call(_) => None,
    };
    decoded.reply.blocks.iter().filter_map(text).collect()
}

/// Cuts a text into pieces of this many characters.
fn pieces(text: &str, size: usize) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters
        .chunks(size)
        .map(|piece| piece.iter().collect())
        .collect()
}

fn chunk(delta: &Value) -> String {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}).to_string()
}

/// The stream of a completion whose content is text.
fn chat_events(whole: &Value, size: usize) -> Vec<String> {
    let choice = &whole["choices"][0];
    let message = choice["message"].as_object().expect("a message");
    let mut events = vec![chunk(&json!({"role": "assistant", "content": ""}))];
    for (member, value) in message {
        match value {
            Value::String(words) if member != "role" => {
                let cut = pieces(words, size);
                events.extend(cut.iter().map(|piece| chunk(&json!({member: piece}))));
            }
            Value::Array(parts) if member == "content" => {
                events.extend(parts.iter().map(|part| chunk(&json!({"content": [part]}))));
            }
            _ => {}
        }
    }
    let calls = message.get("tool_calls").and_then(Value::as_array);
    for (index, call) in calls.into_iter().flatten().enumerate() {
        let mut begun = call.clone();
        begun["index"] = json!(index);
        let arguments = match call["function"]["arguments"].clone() {
            Value::String(arguments) => arguments,
            other => other.to_string(),
        };
        begun["function"]["arguments"] = json!("");
        events.push(chunk(&json!({"tool_calls": [begun]})));
        for piece in pieces(&arguments, size) {
            let call = json!({"index": index, "function": {"arguments": piece}});
            events.push(chunk(&json!({"tool_calls": [call]})));
        }
    }
    let end = json!({"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]});
    events.push(json!({"choices": [end]}).to_string());
    events.push(json!({"choices": [], "usage": whole["usage"]}).to_string());
    events.push("[DONE]".to_owned());
    events
}

#[test]
fn a_streamed_completion_is_read_like_the_same_completion_in_one_piece() {
    for case in [
        "openai_call",
        "deepseek_reasoning",
        "bare_server",
        "mistral_thinking",
    ] {
        let body = golden(&format!("chat/{case}.response.json"));
        let expected = decode(CHAT, &[], &body).expect(case);
        let whole: Value = serde_json::from_slice(&body).unwrap();
        for size in [1, 3, 1_000] {
            let (decoded, shown) = play(CHAT, MOST, &chat_events(&whole, size));
            assert_eq!(
                decoded.as_ref(),
                Ok(&expected),
                "{case} in pieces of {size}"
            );
            assert_eq!(shown, texts(&expected), "{case}");
        }
    }
}

/// The stream of a message.
fn message_events(whole: &Value, size: usize) -> Vec<String> {
    let mut begun = whole.clone();
    begun["content"] = json!([]);
    begun["stop_reason"] = Value::Null;
    let mut events = vec![
        json!({"type": "message_start", "message": begun}).to_string(),
        json!({"type": "ping"}).to_string(),
    ];
    for (index, block) in whole["content"]
        .as_array()
        .into_iter()
        .flatten()
        .enumerate()
    {
        let mut begun = block.clone();
        let mut deltas = Vec::new();
        for (member, kind) in [
            ("text", "text_delta"),
            ("thinking", "thinking_delta"),
            ("signature", "signature_delta"),
        ] {
            if let Some(words) = block[member].as_str() {
                begun[member] = json!("");
                let cut = pieces(words, size);
                deltas.extend(cut.iter().map(|piece| json!({"type": kind, member: piece})));
            }
        }
        if block["type"] == "tool_use" {
            begun["input"] = json!({});
            let cut = pieces(&block["input"].to_string(), size);
            let delta = |piece: &String| json!({"type": "input_json_delta", "partial_json": piece});
            deltas.extend(cut.iter().map(delta));
        }
        let start = json!({"type": "content_block_start", "index": index, "content_block": begun});
        events.push(start.to_string());
        for delta in deltas {
            let data = json!({"type": "content_block_delta", "index": index, "delta": delta});
            events.push(data.to_string());
        }
        events.push(json!({"type": "content_block_stop", "index": index}).to_string());
    }
    let delta = json!({"stop_reason": whole["stop_reason"]});
    let end = json!({"type": "message_delta", "delta": delta, "usage": whole["usage"]});
    events.push(end.to_string());
    events.push(json!({"type": "message_stop"}).to_string());
    events
}

#[test]
fn a_streamed_message_is_read_like_the_same_message_in_one_piece() {
    for case in ["plain_text", "thinking_and_calls", "cut_off"] {
        let body = golden(&format!("anthropic/{case}.response.json"));
        let expected = decode(MESSAGES, &[], &body).expect(case);
        let whole: Value = serde_json::from_slice(&body).unwrap();
        for size in [1, 3, 1_000] {
            let (decoded, shown) = play(MESSAGES, MOST, &message_events(&whole, size));
            assert_eq!(
                decoded.as_ref(),
                Ok(&expected),
                "{case} in pieces of {size}"
            );
            assert_eq!(shown, texts(&expected), "{case}");
        }
    }
}

#[test]
fn a_stream_that_ends_early_is_cut_off_wherever_it_ends() {
    let chat: Value = serde_json::from_slice(&golden("chat/openai_call.response.json")).unwrap();
    let events = chat_events(&chat, 3);
    // Its reason to stop makes a completion whole, and the counts and the last line may be missing.
    for end in 0..events.len() - 3 {
        assert_eq!(
            play(CHAT, MOST, &events[..end]).0,
            Err(Fault::CutOff),
            "{end}"
        );
    }
    let body = golden("anthropic/thinking_and_calls.response.json");
    let events = message_events(&serde_json::from_slice(&body).unwrap(), 3);
    for end in 0..events.len() - 1 {
        assert_eq!(
            play(MESSAGES, MOST, &events[..end]).0,
            Err(Fault::CutOff),
            "{end}"
        );
    }
}

#[test]
fn servers_that_number_their_calls_badly_are_understood() {
    let named = |index: Value, id: &str, name: &str, arguments: &str| json!({"index": index, "id": id, "function": {"name": name, "arguments": arguments}});
    let more = |index: Value, arguments: &str| json!({"index": index, "function": {"arguments": arguments}});
    for (what, deltas) in [
        (
            "every call has index 0",
            vec![
                named(json!(0), "a", "A", "{\"x\":"),
                more(json!(0), "1}"),
                named(json!(0), "b", "B", "{\"y\":"),
                more(json!(0), "2}"),
            ],
        ),
        (
            "no call has an index",
            vec![
                named(Value::Null, "a", "A", "{\"x\":"),
                more(Value::Null, "1}"),
                named(Value::Null, "b", "B", "{\"y\":2}"),
            ],
        ),
        (
            "the id is repeated",
            vec![
                named(json!(0), "a", "A", "{\"x\":"),
                named(json!(0), "a", "A", "1}"),
                named(json!(1), "b", "B", "{\"y\":2}"),
            ],
        ),
        (
            "two calls have the same id",
            vec![
                named(json!(0), "a", "A", "{\"x\":"),
                more(json!(0), "1}"),
                named(json!(1), "a", "B", "{\"y\":2}"),
            ],
        ),
    ] {
        let mut events: Vec<String> = deltas
            .into_iter()
            .map(|call| chunk(&json!({"tool_calls": [call]})))
            .collect();
        events.push("[DONE]".to_owned());
        let decoded = play(CHAT, MOST, &events).0.expect(what);
        let calls: Vec<(String, Value)> = decoded
            .reply
            .blocks
            .iter()
            .filter_map(|block| match block {
                ReplyBlock::Call(call) => Some((call.name.clone(), call.input.clone())),
                ReplyBlock::Text { .. } | ReplyBlock::Reasoning { .. } => None,
            })
            .collect();
        let expected = [
            ("A".to_owned(), json!({"x": 1})),
            ("B".to_owned(), json!({"y": 2})),
        ];
        assert_eq!(calls, expected, "{what}");
    }
}

#[test]
fn a_broken_stream_is_one_clear_fault() {
    let malformed = |played: Played| matches!(played.0, Err(Fault::Malformed { .. }));
    let delta = json!({"type": "content_block_delta", "index": 3, "delta": {"type": "text_delta", "text": "a"}});
    assert!(malformed(play(MESSAGES, MOST, &[delta.to_string()])));
    let start = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}).to_string();
    assert!(malformed(play(MESSAGES, MOST, &[start.clone(), start])));
    let cut = play(CHAT, MOST, &["{\"choices\":".to_owned()]).0;
    assert!(matches!(cut, Err(Fault::NotJson { .. })));
    assert!(malformed(play(CHAT, MOST, &["[]".to_owned()])));
    let reported = |played: Played| match played.0 {
        Err(Fault::Reported { kind, .. }) => Some(kind),
        _ => None,
    };
    let broken = json!({"error": {"message": "overloaded", "type": "server_error"}}).to_string();
    let begun = chunk(&json!({"content": "half"}));
    assert_eq!(
        reported(play(CHAT, MOST, &[begun, broken])),
        Some(Kind::ServerError)
    );
    let broken = json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}});
    assert_eq!(
        reported(play(MESSAGES, MOST, &[broken.to_string()])),
        Some(Kind::ServerError)
    );
}

#[test]
fn what_a_stream_brings_is_bounded_in_sum() {
    let piece = "x".repeat(1_000);
    let chat: Vec<String> = (0..20).map(|_| chunk(&json!({"content": piece}))).collect();
    assert!(matches!(
        play(CHAT, 10_000, &chat).0,
        Err(Fault::Malformed { .. })
    ));
    let start = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "a", "name": "A", "input": {}}});
    let delta = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": piece}});
    let mut messages = vec![start.to_string()];
    messages.extend((0..20).map(|_| delta.to_string()));
    assert!(matches!(
        play(MESSAGES, 10_000, &messages).0,
        Err(Fault::Malformed { .. })
    ));
    let delta = json!({"type": "response.output_text.delta", "delta": piece}).to_string();
    let (played, shown) = play(Transport::OpenaiResponses, 10_000, &vec![delta; 20]);
    assert!(matches!(played, Err(Fault::Malformed { .. })));
    assert_eq!(shown.len(), 10_000, "no more is shown than may be kept");
}

#[test]
fn an_event_without_content_only_keeps_the_connection_open() {
    let delta = |delta: Value| json!({"type": "content_block_delta", "index": 0, "delta": delta});
    let block = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}});
    let responses = Transport::OpenaiResponses;
    for (transport, event, progress) in [
        (CHAT, json!({"choices": []}), Progress::Idle),
        (
            CHAT,
            json!({"choices": [{"index": 0, "delta": {}}]}),
            Progress::Idle,
        ),
        (
            CHAT,
            json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}),
            Progress::Idle,
        ),
        (
            CHAT,
            json!({"choices": [{"index": 0, "delta": {"reasoning_content": "hm"}}]}),
            Progress::More,
        ),
        (
            CHAT,
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
            Progress::More,
        ),
        (MESSAGES, json!({"type": "ping"}), Progress::Idle),
        (MESSAGES, json!({"type": "not_known_yet"}), Progress::Idle),
        (
            MESSAGES,
            delta(json!({"type": "text_delta", "text": ""})),
            Progress::Idle,
        ),
        (
            MESSAGES,
            delta(json!({"type": "thinking_delta", "thinking": "hm"})),
            Progress::More,
        ),
        (
            responses,
            json!({"type": "response.in_progress", "response": {}}),
            Progress::Idle,
        ),
        (responses, json!({"type": "keepalive"}), Progress::Idle),
        (
            responses,
            json!({"type": "response.reasoning_summary_text.delta", "delta": "hm"}),
            Progress::More,
        ),
        (
            responses,
            json!({"type": "response.output_item.added", "item": {}}),
            Progress::More,
        ),
    ] {
        let mut assembler = Assembler::new(transport, MOST);
        if transport == MESSAGES {
            assembler
                .event(None, &block.to_string(), &mut |_| {})
                .unwrap();
        }
        let told = assembler.event(None, &event.to_string(), &mut |_| {});
        assert_eq!(told, Ok(progress), "{event}");
    }
}

#[test]
fn a_second_answer_and_a_second_choice_count_for_nothing() {
    let first = chunk(&json!({"content": "one"}));
    let choice = |index: u64| json!({"index": index, "delta": {"content": "two"}});
    let other = json!({"choices": [choice(1), choice(2)]}).to_string();
    let events = [
        first,
        other,
        "[DONE]".to_owned(),
        chunk(&json!({"content": "three"})),
    ];
    let (decoded, shown) = play(CHAT, MOST, &events);
    assert_eq!(texts(&decoded.unwrap()), "one");
    assert_eq!(shown, "one");
}

/// An answer of one word that claims a number of tokens which no float can hold, as a body and as a stream.
fn absurd_answer(transport: Transport) -> (String, Vec<String>) {
    let of_response = r#"{"id":"r","object":"response","status":"completed","output":[{"type":"message",
        "id":"m","status":"completed","role":"assistant","content":[{"type":"output_text","text":"hi"}]}],
        "usage":{"input_tokens":1e400,"output_tokens":2,"total_tokens":1e400}}"#;
    match transport {
        Transport::OpenaiResponses | Transport::OpenaiCodexResponses => {
            let completed = format!(r#"{{"type":"response.completed","response":{of_response}}}"#);
            (of_response.to_owned(), vec![completed])
        }
        Transport::AnthropicMessages => {
            let body = r#"{"type":"message","role":"assistant","content":[{"type":"text","text":"hi"}],
                "stop_reason":"end_turn","usage":{"input_tokens":1e400,"output_tokens":2}}"#;
            let events = [
                r#"{"type":"message_start","message":{"type":"message","role":"assistant","content":[],
                    "usage":{"input_tokens":1e400,"output_tokens":0}}}"#,
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}"#,
                r#"{"type":"content_block_stop","index":0}"#,
                r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}"#,
                r#"{"type":"message_stop"}"#,
            ];
            (body.to_owned(), events.map(str::to_owned).to_vec())
        }
        Transport::OpenaiChatCompletions => {
            let usage = r#""usage":{"prompt_tokens":1e400,"completion_tokens":2}"#;
            let message = r#"{"role":"assistant","content":"hi"}"#;
            let body = format!(
                r#"{{"choices":[{{"index":0,"message":{message},"finish_reason":"stop"}}],{usage}}}"#
            );
            let events = vec![
                format!(r#"{{"choices":[{{"index":0,"delta":{message}}}]}}"#),
                r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#.to_owned(),
                format!(r#"{{"choices":[],{usage}}}"#),
                "[DONE]".to_owned(),
            ];
            (body, events)
        }
    }
}

#[test]
fn an_answer_with_an_absurd_count_of_tokens_counts_and_keeps_the_claim() {
    for transport in [
        Transport::OpenaiResponses,
        Transport::OpenaiCodexResponses,
        MESSAGES,
        CHAT,
    ] {
        let (body, events) = absurd_answer(transport);
        let whole = decode(transport, &[], body.as_bytes());
        let (streamed, _) = play(transport, MOST, &events);
        for decoded in [whole, streamed] {
            let decoded = decoded.unwrap_or_else(|fault| panic!("{transport:?}: {fault:?}"));
            assert_eq!(texts(&decoded), "hi", "{transport:?}");
            let usage = decoded.reply.usage;
            assert_eq!(usage.input_tokens, u64::MAX, "{transport:?}");
            assert_eq!(usage.output_tokens, 2, "{transport:?}");
        }
    }
}
