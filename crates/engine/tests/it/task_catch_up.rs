//! Tasks that ended while no host ran, before a run of a named agent begins.

use crate::house::{House, agent, prompt};
use crate::runs::request;
use crate::talk::{current, texts, with_task};
use crate::task_runs::words;
use holon_engine::request::RunRequest;
use holon_engine::{Conduct, Host, Scope};
use holon_testkit::ports::{calls, says};
use serde_json::json;

/// A host that exists for one run of agent `main`.
async fn start_for_main(house: &House) -> Host {
    let scope = Scope::Run(Some(agent("main")));
    let conduct = Conduct {
        scope,
        ..Conduct::default()
    };
    house.start_as(conduct).await
}

fn of_main(text: &str) -> RunRequest {
    RunRequest {
        agent_id: Some(agent("main")),
        ..request(text)
    }
}

#[tokio::test]
async fn a_named_agents_run_without_a_host_begins_with_what_ended_before_it() {
    let house = House::new();
    let (host, task) = with_task(&house, "make").await;
    host.shut_down().await.expect("goes down");
    // The task is over, but its watcher does not know yet.
    task.falls_silent(true);
    let host = start_for_main(&house).await;
    let control = host.control();
    let waiting = tokio::spawn(async move { control.run_once(of_main("is it built?")).await });
    task.watched().await;
    for _ in 0..32 {
        // Each read takes a reader thread, so a run that would begin too early can proceed meanwhile.
        host.reads().agents().await.expect("a list");
    }
    assert!(house.model.is_quiet().await, "the end is taken up first");
    task.exits(2);
    let asked = house.model.next().await;
    let input = current(&asked.request);
    assert!(input.contains("failed: exit 2"), "{input}");
    asked.answer(says("it failed"));
    let asked = house.model.next().await;
    assert!(current(&asked.request).contains("is it built?"));
    let shown = texts(&asked.request);
    assert!(
        shown.iter().any(|text| text.contains("exit 2")),
        "{shown:?}"
    );
    asked.answer(says("no"));
    assert_eq!(words(waiting.await), "no");
}

#[tokio::test]
async fn a_named_agents_run_waits_neither_for_a_task_that_runs_nor_long_for_one_nobody_can_prove() {
    for silent in [false, true] {
        let house = House::new();
        let (host, task) = with_task(&house, "make").await;
        host.shut_down().await.expect("goes down");
        task.falls_silent(silent);
        let host = start_for_main(&house).await;
        let control = host.control();
        let waiting = tokio::spawn(async move { control.run_once(of_main("is it built?")).await });
        let reads = host.reads();
        let asked = loop {
            tokio::select! {
                asked = house.model.next() => break asked,
                listed = reads.agents() => drop(listed.expect("a list")),
            }
            if silent {
                house.clock.advance(1_000);
            }
        };
        assert!(current(&asked.request).contains("is it built?"));
        asked.answer(says("not yet"));
        assert_eq!(words(waiting.await), "not yet");
        task.falls_silent(false);
    }
}

#[tokio::test]
async fn a_named_agents_run_waits_no_longer_when_nobody_says_whether_its_tasks_run() {
    let house = House::new();
    let (host, task) = with_task(&house, "make").await;
    host.shut_down().await.expect("goes down");
    task.leaves_it_open_whether_it_runs();
    let host = start_for_main(&house).await;
    let control = host.control();
    let waiting = tokio::spawn(async move { control.run_once(of_main("is it built?")).await });
    house.clock.slept_towards(5_000).await;
    house.clock.advance(5_000);
    let asked = house.model.next().await;
    assert!(current(&asked.request).contains("is it built?"));
    asked.answer(says("who knows"));
    assert_eq!(words(waiting.await), "who knows");
}

#[tokio::test]
async fn a_named_agents_run_does_not_wait_for_a_batch_of_which_a_command_runs() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "look").await;
    let items = json!([{ "cmd": "one" }, { "cmd": "two" }, { "cmd": "three" }]);
    let round = calls(&[("ExecCommandBatch", json!({ "items": items }))]);
    house.model.next().await.answer(round);
    house.commands.next().await.ends("first");
    let two = house.commands.next().await;
    two.clings();
    let control = host.control();
    control.stop_agent(&agent("main")).await.expect("stopped");
    house.is_left_with("stop_batch").await;
    control.start_agent(&agent("main")).await.expect("started");
    host.shut_down().await.expect("goes down");
    let host = start_for_main(&house).await;
    let control = host.control();
    let waiting = tokio::spawn(async move { control.run_once(of_main("what now?")).await });
    let asked = house.model.next().await;
    assert!(current(&asked.request).contains("what now?"));
    asked.answer(says("it is being stopped"));
    assert_eq!(words(waiting.await), "it is being stopped");
    two.exits(1);
}
