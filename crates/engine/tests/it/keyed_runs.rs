//! Runs with a temporary agent whose request has a key: whatever becomes of the caller or the host, they run once.

use crate::house::{House, agent, at_rest, prompt};
use crate::keys::key;
use crate::runs::request;
use holon_domain::limits::{KEPT_RESPONSE_BYTES, KEPT_RUN_BYTES, RUN_REJOIN_MS};
use holon_domain::run::{RunOnceResponse, RunStatus};
use holon_engine::request::RunRequest;
use holon_engine::{Error, Host, RunNews};
use holon_testkit::ports::{FakeCommand, calls, says};
use serde_json::json;
use std::sync::atomic::Ordering;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

type Outcome = Result<RunOnceResponse, Error>;

/// Begins a run with a temporary agent under the key `k`.
fn begin(host: &Host) -> JoinHandle<Outcome> {
    let control = host.control().for_request(key("k", "a"));
    tokio::spawn(async move { control.run_once(request("build it")).await })
}

/// Repeats the run. A host that ran it again would ask its model, which answers nothing here.
async fn repeat(house: &House, host: &Host) -> Outcome {
    let repeated = begin(host);
    tokio::select! {
        outcome = repeated => outcome.expect("is answered"),
        _ = house.model.next() => panic!("the run began again"),
    }
}

/// Answers the first round with a command, and returns once the command runs.
async fn until_at_work(house: &House) -> FakeCommand {
    let round = calls(&[("ExecCommand", json!({ "cmd": "make" }))]);
    house.model.next().await.answer(round);
    house.commands.next().await
}

#[tokio::test]
async fn a_repetition_joins_a_run_whose_caller_left_and_every_later_one_gets_its_outcome() {
    let house = House::new();
    let host = house.start().await;
    let first = begin(&host);
    let command = until_at_work(&house).await;
    first.abort();
    assert!(first.await.expect_err("has left").is_cancelled());
    let second = begin(&host);
    command.ends("built");
    house.model.next().await.answer(says("It is built."));
    let second = second.await.expect("ends").expect("an outcome");
    assert_eq!(
        (second.final_status, second.shell_commands),
        (RunStatus::Completed, 1)
    );
    assert_eq!(second.final_text, "It is built.");
    assert_eq!(repeat(&house, &host).await, Ok(second.clone()));
    let another_body = host.control().for_request(key("k", "b"));
    assert_eq!(
        another_body.run_once(request("mul")).await,
        Err(Error::KeyReused)
    );
    host.shut_down().await.expect("goes down");
    assert_eq!(
        house.homes.removed.load(Ordering::Relaxed),
        1,
        "the agent goes after its run"
    );
    let host = house.start().await;
    assert_eq!(repeat(&house, &host).await, Ok(second));
}

#[tokio::test]
async fn two_callers_of_one_key_share_one_run_and_another_key_is_another_run() {
    let house = House::new();
    let host = house.start().await;
    let (one, two) = (begin(&host), begin(&host));
    house.model.next().await.answer(says("four"));
    let (one, two) = (one.await.expect("ends"), two.await.expect("ends"));
    assert_eq!(one, two);
    let control = host.control().for_request(key("other", "a"));
    let (other, ()) = tokio::join!(control.run_once(request("build it")), async {
        house.model.next().await.answer(says("five"));
    });
    let other = other.expect("an outcome");
    assert_eq!(other.final_text, "five");
    assert_ne!(other.agent_id, one.expect("an outcome").agent_id);
}

#[tokio::test]
async fn a_repeated_stream_and_a_repeated_long_answer_are_not_run_again() {
    let house = House::new();
    let host = house.start().await;
    let text = "long ".repeat(KEPT_RESPONSE_BYTES / 5 + 1);
    let watched = || {
        let control = host.control().for_request(key("k", "a"));
        let (news, heard) = mpsc::channel(64);
        let run = tokio::spawn(async move {
            control
                .run_once_watched(request("build it"), news)
                .await
                .expect("an outcome")
        });
        (run, heard)
    };
    let (run, mut heard) = watched();
    house.model.next().await.answer(says(&text));
    assert!(matches!(heard.recv().await, Some(RunNews::Began(_))));
    let first = run.await.expect("ends");
    assert_eq!(first.final_text, text);
    let (run, mut heard) = watched();
    let again = tokio::select! {
        again = run => again.expect("ends"),
        _ = house.model.next() => panic!("the run began again"),
    };
    assert_eq!(again, first);
    assert!(
        heard.recv().await.is_none(),
        "no news of a run that is over"
    );
}

#[tokio::test]
async fn an_outcome_that_is_too_long_to_be_kept_is_shortened_and_says_so() {
    let house = House::new();
    let host = house.start().await;
    let text = "x".repeat(KEPT_RUN_BYTES);
    let first = begin(&host);
    house.model.next().await.answer(says(&text));
    assert_eq!(
        first.await.expect("ends").expect("an outcome").final_text,
        text
    );
    let again = repeat(&house, &host).await.expect("an outcome");
    assert!(text.starts_with(again.final_text.trim_end_matches('…')));
    assert!(!again.final_text.is_empty() && again.final_text.len() < KEPT_RUN_BYTES);
    assert!(
        again.notes.iter().any(|note| note.contains("shortened")),
        "{:?}",
        again.notes
    );
}

#[tokio::test]
async fn a_run_that_nobody_came_back_for_is_removed_and_not_run_again() {
    let house = House::new();
    let host = house.start().await;
    let first = begin(&host);
    let command = until_at_work(&house).await;
    first.abort();
    assert!(first.await.expect_err("has left").is_cancelled());
    assert_eq!(house.homes.removed.load(Ordering::Relaxed), 0);
    house.clock.slept_towards(RUN_REJOIN_MS).await;
    house.clock.advance(RUN_REJOIN_MS);
    command.let_go().await;
    let late = repeat(&house, &host).await.expect_err("has no outcome");
    assert_eq!(late.code(), "run_not_repeated");
    host.shut_down().await.expect("goes down");
    assert!(command.is_over());
    assert_eq!(house.homes.removed.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_run_that_its_host_cut_off_is_not_run_again_by_the_next_host() {
    let house = House::new();
    let host = house.start().await;
    let _waiting = begin(&host);
    let command = until_at_work(&house).await;
    let after = house.after_crash();
    let host = after.start().await;
    let cut_off = repeat(&after, &host).await.expect_err("has no outcome");
    assert_eq!(cut_off.code(), "run_not_repeated");
    command.let_go().await;
    host.shut_down().await.expect("goes down");
}

#[tokio::test]
async fn a_host_that_goes_down_does_not_wait_for_callers_to_come_back() {
    let house = House::new();
    let host = house.start().await;
    let first = begin(&host);
    let command = until_at_work(&house).await;
    first.abort();
    assert!(first.await.expect_err("has left").is_cancelled());
    let (down, ()) = tokio::join!(host.shut_down(), command.let_go());
    down.expect("goes down");
    assert_eq!(house.homes.removed.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_repeated_run_of_a_named_agent_reads_no_turn_after_its_own() {
    let house = House::new();
    let host = house.with_main().await;
    let run = || async {
        let control = host.control().for_request(key("k", "a"));
        let asked = RunRequest {
            agent_id: Some(agent("main")),
            ..request("build it")
        };
        control.run_once(asked).await
    };
    let (first, ()) = tokio::join!(run(), async {
        house.model.next().await.answer(says("It is built."));
    });
    let first = first.expect("an outcome");
    prompt(&host, "main", "and test it").await;
    house.model.next().await.answer(says("It is tested."));
    at_rest(&host, "main").await;
    // A read of the later turn would meet its first entry.
    house.damage(
        "UPDATE log SET entry = 'x' WHERE seq = (SELECT min(seq) FROM log WHERE turn_index = 2)",
    );
    assert_eq!(run().await, Ok(first));
}
