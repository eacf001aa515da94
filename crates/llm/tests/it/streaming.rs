//! Streamed answers through the router: text while it arrives, servers that do not stream, refused options.

use crate::wire::{KEY, asking, patient, router, spec};
use holon_domain::model::{ModelFailure, ModelReply, ModelRequest, ReplyBlock, StopReason};
use holon_domain::provider::RequestOption;
use holon_llm::Router;
use holon_testkit::provider::{Fault, Protocol, Provider, Round, Script};
use serde_json::json;
use std::sync::Mutex;
use tokio_util::sync::CancellationToken;

/// Asks and returns the answer with the pieces of text that came before it.
async fn ask(
    router: &Router,
    request: &ModelRequest,
) -> (Result<ModelReply, ModelFailure>, Vec<String>) {
    let pieces = Mutex::new(Vec::new());
    let text = |piece: &str| pieces.lock().unwrap().push(piece.to_owned());
    let answer = router.call(request, &text, &CancellationToken::new()).await;
    (answer, pieces.into_inner().unwrap())
}

fn answer_text(reply: &ModelReply) -> String {
    let text = |block: &ReplyBlock| match block {
        ReplyBlock::Text { text } => Some(text.clone()),
        ReplyBlock::Reasoning { .. } | ReplyBlock::Call(_) => None,
    };
    reply.blocks.iter().filter_map(text).collect()
}

#[tokio::test]
async fn text_arrives_in_pieces_in_every_protocol_and_sums_up_to_the_answer() {
    for protocol in Protocol::ALL {
        for split in [None, Some(1), Some(7)] {
            let mut round = Round::reasoning(Round::empty(), "hm")
                .say("Grüße an alle, die lesen.")
                .call("ExecCommand", json!({ "cmd": "true" }))
                .odd_lines();
            if let Some(bytes) = split {
                round = round.split(bytes);
            }
            let provider = Provider::start(Script::of([round]));
            let router = router(spec(protocol, &provider.base_url()), patient());
            let (answer, pieces) = ask(&router, &asking()).await;
            let reply = answer.unwrap();
            assert_eq!(reply.stop_reason, StopReason::ToolUse, "{protocol:?}");
            assert_eq!(answer_text(&reply), "Grüße an alle, die lesen.");
            assert_eq!(pieces.concat(), answer_text(&reply), "{protocol:?}");
            assert!(pieces.len() > 3, "{protocol:?}: {pieces:?}");
            assert_eq!(reply.usage.output_tokens, 20, "{protocol:?}");
            assert_eq!(provider.violations(), Vec::<String>::new());
        }
    }
}

#[tokio::test]
async fn a_server_that_answers_whole_is_understood() {
    for protocol in [Protocol::Responses, Protocol::Messages, Protocol::Chat] {
        let provider = Provider::start(Script::of([Round::text("all at once").never_stream()]));
        let router = router(spec(protocol, &provider.base_url()), patient());
        let (answer, pieces) = ask(&router, &asking()).await;
        assert_eq!(answer_text(&answer.unwrap()), "all at once", "{protocol:?}");
        assert_eq!(pieces, Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_second_answer_in_the_same_stream_is_not_added_to_the_first() {
    for protocol in Protocol::ALL {
        let round = Round::fault(Fault::TwoAnswers).say("The one answer.");
        let provider = Provider::start(Script::of([round]));
        let router = router(spec(protocol, &provider.base_url()), patient());
        let (answer, pieces) = ask(&router, &asking()).await;
        assert_eq!(answer_text(&answer.unwrap()), "The one answer.");
        assert_eq!(pieces.concat(), "The one answer.", "{protocol:?}");
    }
}

#[tokio::test]
async fn characters_are_read_whole_wherever_the_bytes_are_cut() {
    for protocol in Protocol::ALL {
        for bytes in 1..=5 {
            let words = "ä€ \u{1f600}\u{1f600} ß\u{0} €";
            let provider = Provider::start(Script::of([Round::text(words).split(bytes)]));
            let router = router(spec(protocol, &provider.base_url()), patient());
            let (answer, pieces) = ask(&router, &asking()).await;
            assert_eq!(answer_text(&answer.unwrap()), words, "{protocol:?} {bytes}");
            assert_eq!(pieces.concat(), words, "{protocol:?} {bytes}");
        }
    }
}

#[tokio::test]
async fn a_setting_turns_streaming_off() {
    for protocol in [Protocol::Responses, Protocol::Messages, Protocol::Chat] {
        let provider = Provider::start(Script::of([Round::text("whole")]));
        let mut spec = spec(protocol, &provider.base_url());
        spec.omit.insert(RequestOption::Streaming);
        let (answer, _) = ask(&router(spec, patient()), &asking()).await;
        assert_eq!(answer_text(&answer.unwrap()), "whole", "{protocol:?}");
        let body = &provider.requests()[0].body;
        assert_eq!(
            (body.get("stream"), body.get("stream_options")),
            (None, None)
        );
    }
}

#[tokio::test]
async fn a_refused_option_is_left_out_once_and_for_all() {
    let refusal = |member: &str| {
        let message = format!("Unsupported parameter: '{member}'");
        Round::fault(Fault::Status {
            code: 400,
            headers: Vec::new(),
            body: json!({ "error": { "message": message, "param": member } }).to_string(),
        })
    };
    for (protocol, member) in [
        (Protocol::Chat, "stream_options"),
        (Protocol::Chat, "stream"),
        (Protocol::Messages, "stream"),
        (Protocol::Responses, "prompt_cache_key"),
        (Protocol::Codex, "prompt_cache_key"),
        (Protocol::Responses, "parallel_tool_calls"),
    ] {
        let rounds = [refusal(member), Round::text("one"), Round::text("two")];
        let provider = Provider::start(Script::of(rounds));
        let router = router(spec(protocol, &provider.base_url()), patient());
        let mut request = asking();
        request.frame.cache.prompt_cache_key = "key".to_owned();
        for expected in ["one", "two"] {
            let (answer, _) = ask(&router, &request).await;
            assert_eq!(
                answer_text(&answer.unwrap()),
                expected,
                "{protocol:?} {member}"
            );
        }
        let sent: Vec<bool> = provider
            .requests()
            .iter()
            .map(|request| request.body.get(member).is_some())
            .collect();
        assert_eq!(sent, [true, false, false], "{protocol:?} {member}");
    }
}

#[tokio::test]
async fn what_decides_the_answer_is_never_left_out() {
    let body = json!({ "error": { "message": "Unsupported parameter: 'tools'" } }).to_string();
    let fault = Fault::Status {
        code: 400,
        headers: Vec::new(),
        body,
    };
    let provider = Provider::start(Script::of([Round::fault(fault)]));
    let router = router(spec(Protocol::Chat, &provider.base_url()), patient());
    let (answer, _) = ask(&router, &asking()).await;
    assert!(answer.is_err());
    assert_eq!(provider.requests().len(), 1);
}

#[tokio::test]
async fn a_key_in_two_pieces_is_not_passed_on() {
    for protocol in Protocol::ALL {
        let (first, second) = KEY.split_at(7);
        // The server sends a word at a time, and bytes one by one.
        let round = Round::text(format!("the key {first}{second} it is")).split(1);
        let provider = Provider::start(Script::of([round]));
        let router = router(spec(protocol, &provider.base_url()), patient());
        let (answer, pieces) = ask(&router, &asking()).await;
        assert_eq!(answer_text(&answer.unwrap()), "the key [secret] it is");
        assert_eq!(pieces.concat(), "the key [secret] it is", "{protocol:?}");
    }
}

#[tokio::test]
async fn an_answer_that_uses_up_its_limit_is_cut_even_if_it_does_not_say_so() {
    for protocol in Protocol::ALL {
        let limit = u64::from(asking().max_output_tokens);
        let at_limit = match protocol {
            // It is sent no limit, and its count includes reasoning.
            Protocol::Codex => StopReason::EndTurn,
            Protocol::Messages | Protocol::Chat | Protocol::Responses => {
                StopReason::MaxOutputTokens
            }
        };
        for (output, stop_reason) in [
            (limit - 1, StopReason::EndTurn),
            (limit, at_limit),
            (limit + 1, StopReason::EndTurn),
        ] {
            let round = Round::text("and so on").usage(100, output, 0);
            let provider = Provider::start(Script::of([round]));
            let router = router(spec(protocol, &provider.base_url()), patient());
            let (answer, _) = ask(&router, &asking()).await;
            assert_eq!(
                answer.unwrap().stop_reason,
                stop_reason,
                "{protocol:?} {output}"
            );
        }
    }
}
