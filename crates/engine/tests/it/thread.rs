//! The thread of an agent as its model is shown it: over turns, restarts and folds.

use crate::guidance::instructions;
use crate::house::{House, agent, at_rest, briefs, create, prompt};
use crate::talk::texts;
use crate::windows::{exactly, stating_house};
use holon_domain::log::LogEntry;
use holon_domain::model::ModelRequest;
use holon_domain::thread::{FoldCause, ThreadFold};
use holon_engine::{Conduct, Host, ThreadTerms};
use holon_testkit::ports::{calls, says};
use serde_json::json;

async fn answer_one(house: &House, host: &Host, name: &str, turn: usize) -> ModelRequest {
    prompt(
        host,
        name,
        &format!("question {turn} {}", "with words ".repeat(20)),
    )
    .await;
    let call = house.model.next().await;
    let request = call.request.clone();
    call.answer(says(&format!("answer {turn}")));
    at_rest(host, name).await;
    request
}

#[tokio::test]
async fn a_turn_shows_the_calls_and_results_of_the_turns_before_it_also_after_a_restart() {
    let house = House::new();
    let host = house.start().await;
    create(&host, "main").await;
    prompt(&host, "main", "Run the tests.").await;
    let call = house.model.next().await;
    call.answer(calls(&[("AgentGet", json!({}))]));
    let second = house.model.next().await;
    let shown = texts(&second.request);
    second.answer(says("One test fails: parser::empty."));
    briefs(&host, "main", 1).await;

    prompt(&host, "main", "Which test failed?").await;
    let call = house.model.next().await;
    let before = texts(&call.request);
    assert!(
        before.starts_with(&shown),
        "{before:?} begins with {shown:?}"
    );
    let thread: Vec<Option<u64>> = call
        .request
        .thread
        .iter()
        .map(|turn| turn.turn_index)
        .collect();
    assert_eq!(thread, [Some(1)]);
    call.answer(says("parser::empty"));
    briefs(&host, "main", 2).await;
    host.shut_down().await.expect("an end");

    let host = house.start().await;
    prompt(&host, "main", "And now?").await;
    let call = house.model.next().await;
    let after = texts(&call.request);
    assert!(
        after.starts_with(&before),
        "{after:?} begins with {before:?}"
    );
    call.answer(says("Nothing."));
    at_rest(&host, "main").await;
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_result_that_was_cut_for_its_turn_is_shown_so_by_later_turns_and_rules_stay_whole() {
    for window in [12_000, 16_000, 32_000] {
        let (house, _stating, host) = stating_house(exactly(window)).await;
        house.guidance.set(instructions("Keep every line short."));
        prompt(&host, "main", "Read the ledger.").await;
        let call = house.model.next().await;
        call.answer(calls(&[("ExecCommand", json!({ "cmd": "cat ledger" }))]));
        let printed = "an entry of the ledger, with a sum\n".repeat(4_000);
        house.commands.next().await.ends(&printed);
        let second = house.model.next().await;
        let before = texts(&second.request);
        let rules = second.request.frame.system_prompt.clone();
        assert!(rules.contains("Keep every line short."), "{window}");
        second.answer(says("It is long."));
        briefs(&host, "main", 1).await;

        prompt(&host, "main", "How long?").await;
        let call = house.model.next().await;
        assert_eq!(call.request.frame.system_prompt, rules, "{window}");
        let now = texts(&call.request);
        if !now[0].contains("not shown") && !now[0].contains("Recap of your earlier turns") {
            assert!(now.starts_with(&before), "{window}");
        }
        call.answer(says("4,000 lines."));
        briefs(&host, "main", 2).await;
        house.is_sound("main").await;
    }
}

/// The folds in an agent's log.
pub(crate) async fn folds(house: &House) -> Vec<ThreadFold> {
    let read = house.readers().read(|reader| {
        let (no, _) = reader.agent(&agent("main"))?.expect("an agent");
        let entries = reader.turn_entries(no, 1)?;
        Ok(entries)
    });
    let entries = read.await.expect("entries").into_iter();
    let folds = entries.filter_map(|(_, entry)| match entry {
        LogEntry::ThreadFold(fold) => Some(fold),
        _ => None,
    });
    folds.collect()
}

#[tokio::test]
async fn a_thread_above_its_mark_is_folded_in_one_step_and_only_grows_between() {
    let house = House::new();
    let conduct = Conduct {
        thread: ThreadTerms {
            most_tokens: Some(2_000),
            cold_after_ms: Some(0),
            cold_tokens: usize::MAX,
            ..ThreadTerms::DEFAULT
        },
        ..Conduct::default()
    };
    let host = house.start_as(conduct).await;
    create(&host, "main").await;
    let mut before: Vec<String> = Vec::new();
    let mut broken = 0;
    for turn in 1..=40 {
        let request = answer_one(&house, &host, "main", turn).await;
        let now = texts(&request);
        broken += usize::from(!now.starts_with(&before));
        before = now;
        let tokens: usize = request.thread.iter().map(|turn| turn.tokens).sum();
        assert!(tokens <= 2_000, "{tokens} in turn {turn}");
    }
    let folds = folds(&house).await;
    assert_eq!(broken, folds.len(), "only a fold changes the beginning");
    assert!((2..12).contains(&folds.len()), "{} folds", folds.len());
    assert!(
        folds.iter().all(|fold| fold.cause == FoldCause::HighMark),
        "{folds:?}"
    );
    assert!(
        before[0].contains("Recap of your earlier turns"),
        "{}",
        before[0]
    );
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_damaged_row_of_an_old_turn_costs_that_turn_and_no_more() {
    let house = House::new();
    let host = house.start().await;
    create(&host, "main").await;
    for turn in 1..=3 {
        answer_one(&house, &host, "main", turn).await;
    }
    host.shut_down().await.expect("an end");
    house.damage("UPDATE log SET entry = 'x' WHERE turn_index = 2 AND seq = (SELECT max(seq) FROM log WHERE turn_index = 2)");
    let host = house.start().await;
    let request = answer_one(&house, &host, "main", 4).await;
    let shown = texts(&request).join("\n");
    assert!(
        shown.contains("question 1") && shown.contains("question 3"),
        "{shown}"
    );
    assert!(
        shown.contains("Turn 2 began with a message that is not shown"),
        "{shown}"
    );
    assert!(!shown.contains("answer 2"), "{shown}");
}
