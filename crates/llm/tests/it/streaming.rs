//! Streamed answers through the router: text while it arrives, servers that do not stream, refused options.

use crate::wire::{KEY, asking, patient, router, spec};
use holon_domain::model::{ModelFailure, ModelReply, ModelRequest, ReplyBlock, StopReason};
use holon_domain::provider::{ContextManagement, ContextReduction, ReasoningEffort, RequestOption};
use holon_llm::{HttpLimits, Router};
use holon_testkit::provider::{Fault, Point, Protocol, Provider, RecordedRequest, Round, Script};
use serde_json::json;
use std::sync::Mutex;
use std::time::Duration;
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
async fn a_server_that_answers_whole_is_remembered_and_gets_more_time_for_its_first_byte() {
    let rounds = [
        Round::fault(Fault::NoAnswer),
        Round::text("all at once").never_stream(),
        Round::fault(Fault::NoAnswer),
        Round::text("in pieces"),
        Round::fault(Fault::NoAnswer),
    ];
    let provider = Provider::start(Script::of(rounds));
    let limits = HttpLimits {
        first_byte: Duration::from_secs(1),
        ..patient()
    };
    let router = router(spec(Protocol::Chat, &provider.base_url()), limits);
    for limit in ["1s", "", "3s", "", "1s"] {
        let (answer, _) = ask(&router, &asking()).await;
        match answer {
            Ok(_) => assert_eq!(limit, ""),
            Err(failure) => assert!(
                failure.message.contains(&format!("no byte for {limit} ")),
                "{limit}: {}",
                failure.message
            ),
        }
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
async fn a_reply_says_whether_the_server_could_leave_out_context() {
    for protocol in [Protocol::Responses, Protocol::Messages] {
        let refused = refusal("context_management");
        let rounds = [Round::text("reduced"), refused, Round::text("whole")];
        let provider = Provider::start(Script::of(rounds));
        let mut spec = spec(protocol, &provider.base_url());
        spec.context_management = Some(ContextManagement {
            trigger_input_tokens: 100_000,
            keep_recent_tool_uses: 3,
            clear_at_least_input_tokens: None,
        });
        let router = router(spec, patient());
        let (allowed, _) = ask(&router, &asking()).await;
        let nothing = Some(ContextReduction::default());
        assert_eq!(allowed.unwrap().context_management, nothing, "{protocol:?}");
        // The server refuses the order, so the next answer is to the whole request.
        let (whole, _) = ask(&router, &asking()).await;
        assert_eq!(whole.unwrap().context_management, None, "{protocol:?}");
    }
}

/// A round that refuses this member of the request.
fn refusal(member: &str) -> Round {
    let message = format!("Unsupported parameter: '{member}'");
    Round::fault(Fault::Status {
        code: 400,
        headers: Vec::new(),
        body: json!({ "error": { "message": message, "param": member } }).to_string(),
    })
}

/// A request that holds every optional part that its protocol has.
fn asking_with_every_option() -> ModelRequest {
    let mut request = ModelRequest {
        max_output_tokens: 8_192,
        reasoning_effort: Some(ReasoningEffort::Low),
        ..asking()
    };
    request.reasoning.thinking_tokens = Some(2_048);
    request.frame.cache.prompt_cache_key = "key".to_owned();
    for block in &mut request.frame.system_blocks {
        block.cache_breakpoint = true;
    }
    request
}

#[tokio::test]
async fn each_optional_part_that_a_server_refuses_in_turn_is_left_out() {
    for (protocol, optional) in [
        (
            Protocol::Chat,
            &["stream_options", "stream", "reasoning_effort"][..],
        ),
        (
            Protocol::Messages,
            &["thinking", "cache_control", "stream"][..],
        ),
        (Protocol::Messages, &["output_config", "cache_control"][..]),
        (
            Protocol::Responses,
            &[
                "include",
                "prompt_cache_key",
                "parallel_tool_calls",
                "stream",
            ][..],
        ),
        (Protocol::Responses, &["reasoning"][..]),
        (
            Protocol::Codex,
            &["prompt_cache_key", "reasoning", "parallel_tool_calls"][..],
        ),
    ] {
        let provider = Provider::start(Script::choose(move |request: &RecordedRequest| {
            let body = request.body.to_string();
            let holds = |member: &&&str| body.contains(&format!("\"{member}\":"));
            match optional.iter().find(holds) {
                Some(member) => refusal(member),
                None => Round::text("taken"),
            }
        }));
        let router = router(spec(protocol, &provider.base_url()), patient());
        for requests in [optional.len() + 1, optional.len() + 2] {
            let (answer, pieces) = ask(&router, &asking_with_every_option()).await;
            let reply = answer.unwrap();
            assert_eq!(answer_text(&reply), "taken", "{protocol:?} {optional:?}");
            assert!(pieces.concat().is_empty() || pieces.concat() == "taken");
            assert_eq!(provider.requests().len(), requests, "{optional:?}");
        }
        let last = provider.requests().pop().unwrap().body;
        assert!(last.get("tools").is_some(), "{protocol:?}");
        if protocol == Protocol::Responses {
            assert_eq!(last["store"], json!(false));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_requests_that_are_refused_at_the_same_time_are_both_repeated() {
    let provider = Provider::start(Script::choose(|request: &RecordedRequest| {
        match request.body.get("stream_options") {
            Some(_) => refusal("stream_options").hold(Point::BeforeHeaders, "both"),
            None => Round::text("taken"),
        }
    }));
    let router = router(spec(Protocol::Chat, &provider.base_url()), patient());
    let gate = provider.gate("both");
    let opening = tokio::task::spawn_blocking(move || {
        gate.reached_times(2);
        gate.open();
    });
    let request = asking();
    let (one, other) = tokio::join!(ask(&router, &request), ask(&router, &request));
    opening.await.unwrap();
    for (answer, _) in [one, other] {
        assert_eq!(answer_text(&answer.unwrap()), "taken");
    }
    assert_eq!(provider.requests().len(), 4);
}

#[tokio::test]
async fn a_refused_option_is_left_out_once_and_for_all() {
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
