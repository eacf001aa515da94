//! What an operator sees of an agent's thread, and what its next turns make of what the operator asked.

use crate::house::{House, agent, at_rest, create, prompt};
use holon_domain::context_view::ContextView;
use holon_domain::message::{MessageKind, Origin};
use holon_domain::model::ModelRequest;
use holon_domain::thread::{FoldCause, ThreadCommand};
use holon_engine::{Conduct, Error, Host, Rejection, ThreadTerms};
use holon_testkit::ports::says;

/// High mark of the threads: 2,000 tokens, so a fold aims at 800 and pins have 400.
const HIGH: u32 = 2_000;

async fn start(house: &House) -> Host {
    let conduct = Conduct {
        thread: ThreadTerms {
            most_tokens: Some(HIGH),
            cold_after_ms: Some(60_000),
            cold_tokens: 500,
            ..ThreadTerms::DEFAULT
        },
        ..Conduct::default()
    };
    let host = house.start_as(conduct).await;
    create(&host, "main").await;
    host
}

/// Asks a question of about 150 tokens, answers it, and returns the request.
async fn play(house: &House, host: &Host, turn: usize) -> ModelRequest {
    let text = format!("question {turn} {}", "with words ".repeat(40));
    prompt(host, "main", &text).await;
    let call = house.model.next().await;
    let request = call.request.clone();
    call.answer(says(&format!("answer {turn}")));
    at_rest(host, "main").await;
    request
}

async fn show(host: &Host) -> ContextView {
    host.reads().context(&agent("main")).await.expect("a view")
}

async fn pin(host: &Host, turn: u64) -> Result<bool, Error> {
    let measure = host.reads().measure_turn(&agent("main"), turn).await;
    host.control()
        .pin_turn(&agent("main"), measure.expect("a measure"))
        .await
}

async fn ask(host: &Host, command: ThreadCommand) -> bool {
    let asked = host.control().ask_thread(&agent("main"), command).await;
    asked.expect("an answer")
}

fn shown_turns(request: &ModelRequest) -> Vec<Option<u64>> {
    request.thread.iter().map(|turn| turn.turn_index).collect()
}

#[tokio::test]
async fn a_meter_shows_the_sizes_that_the_next_request_has() {
    let house = House::new();
    let host = start(&house).await;
    let empty = show(&host).await;
    assert_eq!((empty.thread_tokens, empty.turns.len()), (0, 0));
    assert_eq!(
        (empty.high_tokens, empty.low_tokens, empty.pin_tokens),
        (2_000, 800, 400)
    );
    for turn in 1..=3 {
        play(&house, &host, turn).await;
    }
    let view = show(&host).await;
    assert!(!view.cold.is_cold);
    let request = play(&house, &host, 4).await;
    let shown: Vec<(Option<u64>, u64)> = request
        .thread
        .iter()
        .map(|turn| (turn.turn_index, turn.tokens as u64))
        .collect();
    let measured: Vec<(Option<u64>, u64)> = view
        .turns
        .iter()
        .map(|turn| (Some(turn.turn_index), turn.tokens))
        .collect();
    assert_eq!(measured, shown);
    assert_eq!(
        view.thread_tokens,
        shown.iter().map(|(_, tokens)| tokens).sum::<u64>()
    );
    assert_eq!(view.model_ref.as_deref(), Some("test/model"));
    assert_eq!(
        view.tools_tokens,
        Some(request.tools.estimated_tokens() as u64)
    );
    assert!(view.base_tokens.expect("a base") > 500, "{view:?}");
    let first = &view.turns[0];
    assert_eq!(first.kind, Some(MessageKind::OperatorPrompt));
    assert!(
        matches!(first.origin, Some(Origin::Operator { .. })),
        "{first:?}"
    );
    assert!(first.began_at.is_some() && !first.pinned && !first.folded);
    house.clock.advance(60_001);
    assert!(show(&host).await.cold.is_cold);
}

#[tokio::test]
async fn a_fold_that_was_asked_for_is_made_by_the_next_turn_and_keeps_what_is_pinned() {
    let house = House::new();
    let host = start(&house).await;
    for turn in 1..=9 {
        play(&house, &host, turn).await;
    }
    assert_eq!(show(&host).await.fold, None, "it is below its high mark");
    assert!(pin(&host, 2).await.expect("a pin"));
    assert!(!pin(&host, 2).await.expect("the same pin"));
    assert!(ask(&host, ThreadCommand::Fold).await);
    assert!(!ask(&host, ThreadCommand::Fold).await);
    let before = show(&host).await;
    assert_eq!(before.asked, Some(ThreadCommand::Fold));
    assert_eq!(before.pinned_tokens, before.turns[1].tokens);

    let request = play(&house, &host, 10).await;
    let shown = shown_turns(&request);
    assert_eq!(shown[..2], [None, Some(2)], "{shown:?}");
    assert!(!shown.contains(&Some(3)), "{shown:?}");
    let after = show(&host).await;
    let fold = after.fold.as_ref().expect("a fold");
    assert_eq!((fold.cause, fold.turn_index), (FoldCause::Operator, 10));
    assert_eq!(fold.tokens_before, before.thread_tokens);
    assert!(fold.tokens_after < 1_000, "{fold:?}");
    assert_eq!(after.asked, None, "it is done");
    let listed: Vec<(u64, bool, bool)> = after
        .turns
        .iter()
        .map(|turn| (turn.turn_index, turn.folded, turn.pinned))
        .collect();
    // The recaps of the oldest turns have no room; they are counted.
    assert!(fold.omitted > 0, "{fold:?}");
    assert_eq!(
        listed[..3],
        [(2, false, true), (6, true, false), (7, true, false)]
    );
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_small_thread_is_folded_as_well_when_an_operator_asks_for_it() {
    let house = House::new();
    let host = start(&house).await;
    for turn in 1..=3 {
        play(&house, &host, turn).await;
    }
    let before = show(&host).await;
    assert!(before.thread_tokens < before.low_tokens, "{before:?}");
    assert!(ask(&host, ThreadCommand::Fold).await);
    play(&house, &host, 4).await;
    let fold = show(&host).await.fold.expect("a fold");
    assert_eq!(fold.cause, FoldCause::Operator);
    assert!(fold.tokens_after < before.thread_tokens, "{fold:?}");
}

#[tokio::test]
async fn a_turn_whose_pin_was_taken_back_stays_until_the_next_fold() {
    let house = House::new();
    let host = start(&house).await;
    for turn in 1..=9 {
        play(&house, &host, turn).await;
    }
    pin(&host, 1).await.expect("a pin");
    ask(&host, ThreadCommand::Fold).await;
    let folded = play(&house, &host, 10).await;
    let control = host.control();
    assert!(control.unpin_turn(&agent("main"), 1).await.expect("unpin"));
    assert!(!control.unpin_turn(&agent("main"), 1).await.expect("again"));
    assert!(show(&host).await.turns[0].released);
    let request = play(&house, &host, 11).await;
    let (earlier, later) = (shown_turns(&folded), shown_turns(&request));
    assert!(later.starts_with(&earlier), "{later:?} after {earlier:?}");
    ask(&host, ThreadCommand::Fold).await;
    let request = play(&house, &host, 12).await;
    assert!(
        !shown_turns(&request).contains(&Some(1)),
        "{:?}",
        shown_turns(&request)
    );
    let view = show(&host).await;
    let stays = view.turns.iter().find(|turn| turn.turn_index == 1);
    assert!(stays.is_none_or(|turn| turn.folded), "{view:?}");
    assert_eq!(view.turns.iter().filter(|turn| turn.released).count(), 0);
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_cleared_thread_begins_with_one_line_and_survives_a_restart() {
    let house = House::new();
    let host = start(&house).await;
    for turn in 1..=2 {
        play(&house, &host, turn).await;
    }
    ask(&host, ThreadCommand::Clear).await;
    host.shut_down().await.expect("an end");
    let host = start(&house).await;
    assert_eq!(show(&host).await.asked, Some(ThreadCommand::Clear));
    let request = play(&house, &host, 3).await;
    assert_eq!(shown_turns(&request), [None]);
    let text = serde_json::to_string(&request.thread[0].items).expect("items");
    assert!(text.contains("began an empty conversation"), "{text}");
    assert!(!text.contains("question 1"), "{text}");
    let next = play(&house, &host, 4).await;
    assert_eq!(shown_turns(&next), [None, Some(3)]);
    let fold = show(&host).await.fold.expect("a fold");
    assert_eq!(fold.cause, FoldCause::Cleared);
    let prompt = host.reads().prompt(&agent("main"), Some(1)).await;
    assert!(prompt.is_ok(), "the history stays");
}

#[tokio::test]
async fn pins_are_refused_with_their_sizes_and_for_turns_that_are_not_shown() {
    let house = House::new();
    let host = start(&house).await;
    for turn in 1..=9 {
        play(&house, &host, turn).await;
    }
    ask(&host, ThreadCommand::Fold).await;
    play(&house, &host, 10).await;
    let refused = |error: Error| match error {
        Error::Rejected(rejection) => rejection,
        other => panic!("{other:?}"),
    };
    let code = |refusal: Result<bool, Error>| refused(refusal.expect_err("a refusal")).code();
    assert_eq!(code(pin(&host, 99).await), "turn_not_found");
    assert_eq!(code(pin(&host, 0).await), "turn_not_found");
    assert_eq!(code(pin(&host, 1).await), "turn_not_in_thread");
    pin(&host, 8).await.expect("a pin");
    pin(&host, 9).await.expect("a second");
    let full = refused(pin(&host, 10).await.expect_err("a refusal"));
    let Rejection::PinTooLarge {
        pinned,
        room,
        tokens,
        ..
    } = full
    else {
        panic!("{full:?}");
    };
    let view = show(&host).await;
    assert_eq!((pinned, room), (view.pinned_tokens, view.pin_tokens));
    assert!(pinned + tokens > room, "{pinned} + {tokens} in {room}");
    prompt(&host, "main", "and now").await;
    let call = house.model.next().await;
    assert_eq!(code(pin(&host, 11).await), "turn_still_open");
    call.answer(says("done"));
    at_rest(&host, "main").await;
}
