//! Commits per message, and messages whose caller leaves after they are on disk.

use crate::house::{House, at_rest, briefs, commits, prompt};
use holon_testkit::ports::{calls, says};
use serde_json::json;

#[tokio::test]
async fn admission_to_an_idle_agent_is_one_commit_and_a_turn_without_tools_one_more() {
    let house = House::new();
    let host = house.with_main().await;
    let before = commits(&host, "main").await;
    prompt(&host, "main", "hello").await;
    assert_eq!(
        commits(&host, "main").await - before,
        1,
        "admitted and its turn opened"
    );
    house.model.next().await.answer(says("hello yourself"));
    let told = briefs(&host, "main", 1).await;
    assert_eq!(
        commits(&host, "main").await - before,
        2,
        "answered and settled"
    );
    assert_eq!(told[0].text, "hello yourself");
}

#[tokio::test]
async fn every_tool_call_is_one_more_commit() {
    let house = House::new();
    let host = house.with_main().await;
    let before = commits(&host, "main").await;
    prompt(&host, "main", "count").await;
    let command = |cmd: &str| ("ExecCommand", json!({ "cmd": cmd }));
    let round = calls(&[command("one"), command("two"), command("three")]);
    house.model.next().await.answer(round);
    for expected in ["one", "two", "three"] {
        let command = house.commands.next().await;
        assert_eq!(command.cmd(), expected, "in order, one at a time");
        assert!(house.commands.is_quiet());
        command.ends(expected);
    }
    house.model.next().await.answer(says("done"));
    briefs(&host, "main", 1).await;
    assert_eq!(
        commits(&host, "main").await - before,
        1 + 1 + 3 + 1,
        "admission, round, each call with what follows it, end"
    );
}

#[tokio::test]
async fn calls_the_kernel_settles_itself_cost_no_commit_of_their_own() {
    let house = House::new();
    let host = house.with_main().await;
    let before = commits(&host, "main").await;
    prompt(&host, "main", "look").await;
    let round = calls(&[("AgentGet", json!({})), ("Teleport", json!({}))]);
    house.model.next().await.answer(round);
    house.model.next().await.answer(says("done"));
    briefs(&host, "main", 1).await;
    assert_eq!(
        commits(&host, "main").await - before,
        3,
        "admission, round, end"
    );
}

#[tokio::test]
async fn a_caller_that_goes_away_loses_nothing() {
    let house = House::new();
    let host = house.with_main().await;
    {
        let waiting = prompt(&host, "main", "hello");
        tokio::pin!(waiting);
        // Polled once to send the input, and then dropped.
        let once = futures_poll_once(waiting.as_mut());
        assert!(once.await, "the commit takes longer than one look");
    }
    house.model.next().await.answer(says("still here"));
    assert_eq!(briefs(&host, "main", 1).await[0].text, "still here");
    at_rest(&host, "main").await;
}

/// Polls a future once. Returns true if it is still pending.
async fn futures_poll_once<F: Future>(mut future: std::pin::Pin<&mut F>) -> bool {
    std::future::poll_fn(|cx| std::task::Poll::Ready(future.as_mut().poll(cx).is_pending())).await
}
