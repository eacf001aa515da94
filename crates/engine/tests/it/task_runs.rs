//! One-shot runs whose commands continue as tasks: the content of the response, and the tasks that end with the run.

use crate::house::{House, agent, briefs};
use crate::runs::{request, run};
use crate::talk::{current, interjected};
use holon_domain::AgentId;
use holon_domain::limits::{CALLS_PER_ROUND, TASK_STOP_GRACE_MS, TASKS_PER_AGENT};
use holon_domain::model::{ModelFailureKind, ModelRequest};
use holon_domain::run::{RunOnceResponse, RunStatus};
use holon_engine::request::RunRequest;
use holon_testkit::ports::{calls, failure, says};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

type Outcome = Result<RunOnceResponse, holon_engine::Error>;

/// A short form of a run's outcome.
pub(crate) fn words(outcome: Result<Outcome, tokio::task::JoinError>) -> String {
    outcome.expect("runs").expect("a response").final_text
}

fn background(cmd: &str) -> (&str, serde_json::Value) {
    ("ExecCommand", json!({ "cmd": cmd, "yield_time_ms": 0 }))
}

#[tokio::test]
async fn a_temporary_run_is_answered_once_the_end_of_its_task_was_told() {
    let house = House::new();
    let host = house.start().await;
    let control = host.control();
    let waiting = tokio::spawn(async move { control.run_once(request("build it")).await });
    house
        .model
        .next()
        .await
        .answer(calls(&[background("make")]));
    let task = house.commands.next().await;
    house.model.next().await.answer(says("it is being built"));
    task.watched().await;
    house.clock.advance(90_000);
    task.ends("all built");
    let asked = house.model.next().await;
    assert!(!waiting.is_finished(), "the end is not told yet");
    assert!(current(&asked.request).contains("all built"));
    asked.answer(says("it is built"));
    let response = waiting.await.expect("runs").expect("a response");
    assert_eq!(response.final_status, RunStatus::Completed);
    assert_eq!(response.final_text, "it is built", "the last brief");
    assert_eq!((response.model_rounds, response.shell_commands), (3, 1));
    let [told] = response.tasks.try_into().expect("one task");
    assert_eq!(told["task"]["task_id"], task.name());
    assert_eq!(told["task"]["status"], "completed");
    assert_eq!(told["task"]["output_preview"], "all built");
    host.shut_down().await.expect("goes down");
    assert_eq!(house.homes.removed.load(Ordering::Relaxed), 1);
    assert!(house.commands.log().stops.is_empty(), "it had ended");
}

#[tokio::test]
async fn a_temporary_run_waits_for_a_task_however_many_began_after_it() {
    let house = House::new();
    let host = house.start().await;
    let control = host.control();
    let mut waiting = tokio::spawn(async move { control.run_once(request("build it")).await });
    house
        .model
        .next()
        .await
        .answer(calls(&[background("server")]));
    let server = house.commands.next().await;
    let names: Vec<String> = (0..=TASKS_PER_AGENT).map(|n| format!("job-{n}.")).collect();
    let mut untold: BTreeSet<String> = names.iter().cloned().collect();
    let hear = |untold: &mut BTreeSet<String>, request: &ModelRequest| {
        let told = interjected(request).join("\n") + &current(request);
        untold.retain(|name| !told.contains(name.as_str()));
    };
    let mut over = 0;
    for names in names.chunks(CALLS_PER_ROUND) {
        let round: Vec<_> = names.iter().map(|name| background(name)).collect();
        let asked = house.model.next().await;
        hear(&mut untold, &asked.request);
        asked.answer(calls(&round));
        for _ in names {
            let job = house.commands.next().await;
            job.watched().await;
            job.ends("");
        }
        // A command is forgotten once it is over and its result is queued.
        over += names.len();
        house.commands.forgets(over).await;
    }
    loop {
        let asked = tokio::select! {
            asked = house.model.next() => asked,
            early = &mut waiting => panic!("its server still runs: {}", words(early)),
        };
        hear(&mut untold, &asked.request);
        if untold.is_empty() {
            let mut news = host.reads().subscribe();
            asked.answer(says("noted"));
            news.recv().await.expect("the turn ends");
            break;
        }
        asked.answer(says("noted"));
    }
    for _ in 0..8 {
        // Each read takes a reader thread, so a run that would answer too early can proceed meanwhile.
        host.reads().agents().await.expect("a list");
    }
    server.exits(0);
    let asked = tokio::select! {
        asked = house.model.next() => asked,
        early = &mut waiting => panic!("its server still ran: {}", words(early)),
    };
    assert!(current(&asked.request).contains("Command: server"));
    asked.answer(says("all of it is done"));
    let response = waiting.await.expect("runs").expect("a response");
    assert_eq!(response.final_text, "all of it is done");
}

#[tokio::test]
async fn a_temporary_run_does_not_wait_for_a_task_it_stopped_itself() {
    let house = House::new();
    let host = house.start().await;
    let outcome = run(&host, request("try it"), async {
        house
            .model
            .next()
            .await
            .answer(calls(&[background("npm start")]));
        let task = house.commands.next().await;
        task.clings();
        let stop = calls(&[("TaskStop", json!({ "task_id": task.name() }))]);
        house.model.next().await.answer(stop);
        house.model.next().await.answer(says("tried"));
        house.commands.stops(1).await;
    });
    let response = outcome.await.expect("a response");
    assert_eq!(response.final_text, "tried");
    assert_eq!(response.tasks[0]["task"]["status"], "cancelling");
}

#[tokio::test]
async fn a_temporary_run_that_fails_ends_its_task_first_and_tells_how_that_ended() {
    let house = House::new();
    let host = house.start().await;
    let control = host.control();
    let waiting = tokio::spawn(async move { control.run_once(request("build it")).await });
    house
        .model
        .next()
        .await
        .answer(calls(&[background("make")]));
    let task = house.commands.next().await;
    let refused = Err(failure(ModelFailureKind::Auth));
    house.model.next().await.answer(refused);
    let response = waiting.await.expect("runs").expect("a response");
    assert_eq!(response.final_status, RunStatus::Failed);
    let told = &response.tasks[0];
    assert_eq!(told["task"]["status"], "cancelled");
    assert_eq!(told["stopped_with_run"], true);
    let stops = house.commands.log().stops;
    let asked = [(task.name().to_owned(), TASK_STOP_GRACE_MS)];
    assert_eq!(stops, asked, "it may clear up");
    host.shut_down().await.expect("goes down");
    assert_eq!(house.homes.removed.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_task_that_does_not_end_holds_up_the_answer_for_a_bounded_time_and_the_home_goes_after_it()
 {
    let house = House::new();
    let host = house.start().await;
    let control = host.control();
    let waiting = tokio::spawn(async move { control.run_once(request("build it")).await });
    house
        .model
        .next()
        .await
        .answer(calls(&[background("make")]));
    let task = house.commands.next().await;
    task.clings();
    let refused = Err(failure(ModelFailureKind::Auth));
    house.model.next().await.answer(refused);
    house.commands.stops(1).await;
    while !waiting.is_finished() {
        // The wait may not have begun yet.
        house.clock.advance(1_000);
        host.reads().agents().await.expect("a list");
    }
    let response = waiting.await.expect("runs").expect("a response");
    assert_eq!(response.tasks[0]["task"]["status"], "cancelling");
    let stops = house.commands.stops(2).await;
    assert_eq!(stops[1], (task.name().to_owned(), 0), "by force");
    let removed = || house.homes.removed.load(Ordering::Relaxed);
    let (down, before) = tokio::join!(host.shut_down(), async {
        let before = removed();
        task.exits(1);
        before
    });
    down.expect("goes down");
    assert_eq!(
        (before, removed()),
        (0, 1),
        "a drain waits for the removal, and the home goes last"
    );
}

#[tokio::test]
async fn a_temporary_run_nobody_waits_for_any_more_ends_its_command_and_its_tasks_by_force() {
    let house = House::new();
    let host = house.start().await;
    let control = host.control();
    let waiting = tokio::spawn(async move { control.run_once(request("build it")).await });
    let round = calls(&[
        background("npm start"),
        ("ExecCommand", json!({ "cmd": "make" })),
    ]);
    house.model.next().await.answer(round);
    let task = house.commands.next().await;
    let command = house.commands.next().await;
    waiting.abort();
    let mut stops = house.commands.stops(2).await;
    stops.sort();
    let mut expected = vec![(task.name().to_owned(), 0), (command.name().to_owned(), 0)];
    expected.sort();
    assert_eq!(stops, expected);
    host.shut_down().await.expect("goes down");
    assert!(task.is_over() && command.is_over());
    assert_eq!(house.homes.removed.load(Ordering::Relaxed), 1);
    assert!(house.model.is_quiet().await);
}

#[tokio::test]
async fn what_a_crash_left_of_a_temporary_run_is_ended_and_removed_by_the_next_host() {
    let house = House::new();
    let host = house.start().await;
    let control = host.control();
    let _waiting = tokio::spawn(async move { control.run_once(request("build it")).await });
    let round = calls(&[
        background("npm start"),
        ("ExecCommand", json!({ "cmd": "make" })),
    ]);
    house.model.next().await.answer(round);
    let task = house.commands.next().await;
    let command = house.commands.next().await;
    task.watched().await;
    task.clings();
    let after = house.after_crash();
    let host = after.start().await;
    after.commands.stops(2).await;
    command.let_go().await;
    let removed = || after.homes.removed.load(Ordering::Relaxed);
    assert_eq!(removed(), 0, "a task still runs in it");
    task.exits(1);
    while removed() == 0 {
        host.reads().agents().await.expect("a list");
    }
    assert!(command.is_over());
    host.shut_down().await.expect("goes down");
}

#[tokio::test]
async fn a_named_agents_run_is_answered_at_once_and_its_task_goes_on() {
    let house = House::new();
    let host = house.start().await;
    let named = RunRequest {
        agent_id: Some(agent("helper")),
        create_agent: true,
        ..request("build it")
    };
    let outcome = run(&host, named, async {
        house
            .model
            .next()
            .await
            .answer(calls(&[background("make")]));
        house.model.next().await.answer(says("it is being built"));
    });
    let response = outcome.await.expect("a response");
    assert_eq!(response.final_text, "it is being built");
    assert_eq!(response.tasks[0]["task"]["status"], "running");
    let task = house.commands.next().await;
    task.watched().await;
    task.ends("built");
    house.model.next().await.answer(says("it is built"));
    assert_eq!(briefs(&host, "helper", 2).await[1].text, "it is built");
    assert!(house.commands.log().stops.is_empty());
}

#[tokio::test]
async fn a_run_that_does_not_wait_for_its_tasks_is_answered_at_once_and_ends_them() {
    let house = House::new();
    let host = house.start().await;
    let control = host.control();
    let request = RunRequest {
        wait_for_tasks: false,
        ..request("start the server")
    };
    let waiting = tokio::spawn(async move { control.run_once(request).await });
    house
        .model
        .next()
        .await
        .answer(calls(&[background("server")]));
    let server = house.commands.next().await;
    house.model.next().await.answer(says("it runs"));
    assert_eq!(words(waiting.await), "it runs");
    host.shut_down().await.expect("goes down");
    let stops = house.commands.log().stops;
    assert_eq!(stops.len(), 1, "{} is stopped", server.name());
}

#[tokio::test]
async fn the_rounds_of_a_run_are_bounded_over_all_its_turns() {
    let house = House::new();
    let host = house.start().await;
    let control = host.control();
    let request = RunRequest {
        max_rounds: Some(3),
        ..request("build it")
    };
    let waiting = tokio::spawn(async move { control.run_once(request).await });
    house
        .model
        .next()
        .await
        .answer(calls(&[background("make")]));
    let task = house.commands.next().await;
    house.model.next().await.answer(says("it is being built"));
    task.watched().await;
    task.ends("all built");
    // The third round is the last one allowed, and its model asks for another.
    let asked = house.model.next().await;
    asked.answer(calls(&[background("make again")]));
    let response = waiting.await.expect("runs").expect("a response");
    assert_eq!(response.final_status, RunStatus::MaxTurnsExceeded);
    assert_eq!(response.model_rounds, 3);
    let failure = response.failure_artifact.expect("a failure").summary;
    assert!(
        failure.starts_with("stopped after 3 model rounds, "),
        "{failure}"
    );
    host.shut_down().await.expect("goes down");
}

#[tokio::test]
async fn a_run_whose_rounds_are_used_up_while_its_task_runs_is_cut_off_and_says_so() {
    let house = House::new();
    let host = house.start().await;
    let request = RunRequest {
        max_rounds: Some(2),
        ..request("build it")
    };
    let outcome = run(&host, request, async {
        house
            .model
            .next()
            .await
            .answer(calls(&[background("make")]));
        house.model.next().await.answer(says("it is being built"));
    });
    let response = outcome.await.expect("a response");
    assert_eq!(response.final_status, RunStatus::MaxTurnsExceeded);
    assert_eq!(response.final_text, "it is being built");
    let failure = response.failure_artifact.expect("a failure");
    assert_eq!(failure.kind, "max_turns_exceeded");
    assert!(
        failure
            .summary
            .starts_with("stopped after 2 model rounds, the most this request allowed"),
        "{}",
        failure.summary
    );
    let [told] = response.tasks.try_into().expect("one task");
    assert_eq!(told["task"]["status"], "cancelled");
    assert_eq!(told["stopped_with_run"], true);
    assert_eq!(
        told["task"]["artifacts"],
        json!([]),
        "its files go with its agent"
    );
    assert!(told["task"].get("output_artifact").is_none());
}

#[tokio::test]
async fn a_run_takes_no_more_rounds_than_it_may_when_its_task_ends_with_the_last() {
    let house = House::new();
    let host = house.start().await;
    let request = RunRequest {
        max_rounds: Some(2),
        ..request("build it")
    };
    let outcome = run(&host, request, async {
        let asked = house.model.next().await;
        asked.answer(calls(&[background("make")]));
        let task = house.commands.next().await;
        task.watched().await;
        let last = house.model.next().await;
        task.ends("all built");
        house.commands.forgets(1).await;
        last.answer(says("it is being built"));
    });
    let response = outcome.await.expect("a response");
    assert_eq!(response.final_status, RunStatus::MaxTurnsExceeded);
    assert_eq!(response.model_rounds, 2);
    let [told] = response.tasks.try_into().expect("one task");
    assert_eq!(told["task"]["status"], "completed");
}

#[tokio::test]
async fn a_run_whose_agent_is_stopped_while_an_end_is_told_is_over() {
    let house = House::new();
    let host = house.start().await;
    let control = host.control();
    let waiting = tokio::spawn(async move { control.run_once(request("build it")).await });
    let asked = house.model.next().await;
    asked.answer(calls(&[background("make")]));
    let task = house.commands.next().await;
    house.model.next().await.answer(says("it is being built"));
    task.watched().await;
    task.ends("all built");
    let telling = house.model.next().await;
    assert!(current(&telling.request).contains("all built"));
    let prompt = format!("{:?}", telling.request.frame);
    let mut words = prompt.split(|c: char| !c.is_alphanumeric() && c != '_');
    let own = words.find(|word| word.starts_with("tmp_run_"));
    let own = AgentId::parse_stored(own.expect("a prompt names its agent")).expect("an id");
    // Clients cannot act on a private agent, so this one is made public first.
    house.damage(
        "UPDATE agents SET visible = 1, settings = replace(settings, '\"private\"', '\"public\"')",
    );
    host.control().stop_agent(&own).await.expect("stopped");
    let response = waiting.await.expect("runs").expect("a response");
    assert!(
        response.final_text.starts_with("stopped by an operator"),
        "{}",
        response.final_text
    );
    assert_eq!(response.final_status, RunStatus::Failed);
    host.shut_down().await.expect("goes down");
    assert_eq!(house.homes.removed.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_host_that_goes_down_with_its_caller_ends_the_tasks_of_a_temporary_run_first() {
    let house = House::new();
    let host = house.start().await;
    let control = host.control();
    let waiting = tokio::spawn(async move { control.run_once(request("start it")).await });
    house
        .model
        .next()
        .await
        .answer(calls(&[background("server")]));
    let server = house.commands.next().await;
    server.watched().await;
    let _never_answered = house.model.next().await;
    waiting.abort();
    assert!(waiting.await.is_err(), "nobody waits any more");
    host.shut_down().await.expect("goes down");
    assert_eq!(house.commands.log().stops.len(), 1, "{}", server.name());
    assert_eq!(house.homes.removed.load(Ordering::Relaxed), 1);
}
