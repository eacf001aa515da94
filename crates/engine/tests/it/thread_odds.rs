//! The thread in unusual company: small windows, a huge turn, two models by turns, and a clock that jumps.

use crate::house::{House, agent, at_rest, create, prompt};
use crate::talk::texts;
use crate::windows::{exactly, model, stating_house};
use holon_domain::model::{CacheLife, ModelChoice, ModelOptions, ModelRequest};
use holon_engine::Host;
use holon_testkit::ports::{calls, says};
use serde_json::json;

/// Asks a question, answers it, and returns the request.
async fn ask(house: &House, host: &Host, question: &str, answer: &str) -> ModelRequest {
    prompt(host, "main", question).await;
    let call = house.model.next().await;
    let request = call.request.clone();
    call.answer(says(answer));
    at_rest(host, "main").await;
    request
}

#[tokio::test]
async fn in_a_window_of_eight_thousand_the_newest_words_are_whole_and_the_answer_has_room() {
    let window = 8_000;
    let (house, _stating, host) = stating_house(exactly(window)).await;
    for turn in 1..=30 {
        let question = format!("question {turn} {}", "with words ".repeat(60));
        let answer = format!("answer {turn} {}", "at length ".repeat(60));
        let request = ask(&house, &host, &question, &answer).await;
        let used = request.estimated_tokens() + u64::from(request.max_output_tokens);
        assert!(used <= u64::from(window), "{used} in turn {turn}");
        let shown = texts(&request).concat();
        assert!(shown.contains(&question), "turn {turn}: {shown}");
    }
    house.is_sound("main").await;
}

#[tokio::test]
async fn after_a_turn_of_two_hundred_thousand_tokens_a_short_question_is_asked_in_the_window() {
    let window = 64_000;
    let (house, _stating, host) = stating_house(exactly(window)).await;
    prompt(&host, "main", "Read all ledgers.").await;
    for ledger in 1..=10 {
        let call = house.model.next().await;
        call.answer(calls(&[(
            "ExecCommand",
            json!({ "cmd": format!("cat ledger{ledger}") }),
        )]));
        let printed = "an entry of the ledger, with a sum\n".repeat(2_400);
        house.commands.next().await.ends(&printed);
    }
    let call = house.model.next().await;
    call.answer(says("They are long."));
    at_rest(&host, "main").await;

    let request = ask(&house, &host, "How many were they?", "Ten.").await;
    let used = request.estimated_tokens() + u64::from(request.max_output_tokens);
    assert!(used <= u64::from(window), "{used}");
    let shown = texts(&request).concat();
    for part in ["How many were they?", "Read all ledgers.", "They are long."] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    house.is_sound("main").await;
}

#[tokio::test]
async fn two_models_by_turns_read_the_same_words() {
    let house = House::new();
    let host = house.start().await;
    create(&host, "main").await;
    let mut before: Vec<String> = Vec::new();
    for turn in 1..=6 {
        let choice = ModelChoice::Use {
            model: model(if turn % 2 == 0 { "a/1" } else { "b/1" }),
            options: ModelOptions::default(),
        };
        let set = host.control().set_model(&agent("main"), choice).await;
        set.expect("is set");
        let question = format!("question {turn}");
        let request = ask(&house, &host, &question, &format!("answer {turn}")).await;
        let now = texts(&request);
        assert!(
            now.starts_with(&before),
            "turn {turn}: {now:?} begins with {before:?}"
        );
        before = now;
    }
    let shown = before.concat();
    for turn in 1..=5 {
        assert!(shown.contains(&format!("answer {turn}")), "{shown}");
    }
    house.is_sound("main").await;
}

#[tokio::test]
async fn an_agent_that_rests_longer_than_a_cache_usually_lives_asks_for_the_longer_life() {
    const MINUTE: i64 = 60_000;
    let (house, _stating, host) = stating_house(None).await;
    let steps = [
        (0, CacheLife::Usual, 5),
        (4, CacheLife::Usual, 5),
        (30, CacheLife::Long, 60),
        // A question between two such rests does not change the rhythm.
        (2, CacheLife::Long, 60),
        (28, CacheLife::Long, 60),
        (1, CacheLife::Long, 60),
        (1, CacheLife::Usual, 5),
        // The longer life has expired too, so that a next rest like this one would find nothing.
        (90, CacheLife::Usual, 5),
    ];
    for (turn, (rest, life, cold_after)) in steps.into_iter().enumerate() {
        house.clock.step(rest * MINUTE);
        let request = ask(&house, &host, &format!("question {turn}"), "Yes.").await;
        assert_eq!(request.frame.cache.life, life, "after {rest} minutes");
        let view = host
            .reads()
            .context(&agent("main"))
            .await
            .expect("a context");
        let after = cold_after * 60_000;
        assert_eq!(view.cold.after_ms, after, "after {rest} minutes");
    }
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_clock_that_jumps_between_turns_changes_nothing_that_stands_in_the_thread() {
    const DAY: i64 = 86_400_000;
    let house = House::new();
    let host = house.start().await;
    create(&host, "main").await;
    let mut before: Vec<String> = Vec::new();
    for (turn, step) in [0, 400 * DAY, -800 * DAY, 90_000, -1]
        .into_iter()
        .enumerate()
    {
        house.clock.step(step);
        let question = format!("question {turn}");
        let request = ask(&house, &host, &question, "An answer.").await;
        let now = texts(&request);
        assert!(
            now.starts_with(&before),
            "turn {turn}: {now:?} begins with {before:?}"
        );
        before = now;
    }
    house.is_sound("main").await;
}
