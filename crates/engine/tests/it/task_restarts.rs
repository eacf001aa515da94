//! Tasks and commands across the end of a host, orderly or not: found again, reported once, never started twice.

use crate::house::{House, agent, at_rest, briefs, events, prompt, status};
use crate::talk::{calling, current, interjected, results, with_task};
use holon_domain::agent::Lifecycle::Stopped;
use holon_domain::event::Event;
use holon_domain::limits::{RESUMES_WITHOUT_PROGRESS, TASK_STOP_GRACE_MS};
use holon_domain::task::TaskStatus;
use holon_engine::Host;
use holon_testkit::ports::{calls, says};
use serde_json::json;

/// The way in which one host follows another.
#[derive(Debug, Clone, Copy)]
enum Change {
    Drain,
    Crash,
}

const CHANGES: [Change; 2] = [Change::Drain, Change::Crash];

/// Ends a host, runs `between` without one, and starts the next.
async fn change(house: House, host: Host, how: Change, between: impl FnOnce()) -> (House, Host) {
    let house = match how {
        Change::Drain => {
            host.shut_down().await.expect("down");
            house
        }
        Change::Crash => house.after_crash(),
    };
    between();
    let next = house.start().await;
    (house, next)
}

async fn count(host: &Host, wanted: impl Fn(&Event) -> bool) -> usize {
    let all = events(host, "main").await;
    all.iter().filter(|event| wanted(event)).count()
}

#[tokio::test]
async fn a_task_that_runs_is_watched_again_and_its_end_is_told_once() {
    for how in CHANGES {
        let house = House::new();
        let (host, task) = with_task(&house, "make").await;
        let (house, host) = change(house, host, how, || {}).await;
        task.watched().await;
        let row = house.task_is("main", TaskStatus::Running).await;
        assert!(row.effect.is_some(), "{how:?}");
        task.ends("built");
        let asked = house.model.next().await;
        assert!(current(&asked.request).contains("built"), "{how:?}");
        asked.answer(says("it is built"));
        at_rest(&host, "main").await;
        let told = count(&host, |event| matches!(event, Event::TaskResultReceived(_)));
        assert_eq!(told.await, 1, "{how:?}");
        assert!(house.commands.is_quiet() && house.model.is_quiet().await);
        house.is_sound("main").await;
    }
}

#[tokio::test]
async fn a_task_that_ended_while_there_was_no_host_is_told_once() {
    for how in CHANGES {
        let house = House::new();
        let (host, task) = with_task(&house, "make").await;
        let (house, host) = change(house, host, how, || task.exits(2)).await;
        let asked = house.model.next().await;
        let input = current(&asked.request);
        assert!(input.contains("failed: exit 2"), "{how:?}: {input}");
        asked.answer(says("it failed"));
        at_rest(&host, "main").await;
        house.task_is("main", TaskStatus::Failed).await;
        assert!(house.model.is_quiet().await, "{how:?}");
        house.is_sound("main").await;
    }
}

#[tokio::test]
async fn a_result_that_is_on_record_survives_a_crash_until_a_turn_has_told_it() {
    let house = House::new();
    let (_host, task) = with_task(&house, "make").await;
    task.ends("built");
    let _asked = house.model.next().await;
    let house = house.after_crash();
    let host = house.start().await;
    let asked = house.model.next().await;
    assert!(current(&asked.request).contains("built"));
    asked.answer(says("it is built"));
    at_rest(&host, "main").await;
    let told = count(&host, |event| matches!(event, Event::TaskResultReceived(_)));
    assert_eq!(told.await, 1);
    assert_eq!(briefs(&host, "main", 2).await.len(), 2);
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_task_that_was_being_stopped_is_stopped_again_and_wakes_nobody() {
    for how in CHANGES {
        let house = House::new();
        let (host, task) = with_task(&house, "npm start").await;
        task.clings();
        prompt(&host, "main", "stop it").await;
        let stop = calls(&[("TaskStop", json!({ "task_id": task.name() }))]);
        house.model.next().await.answer(stop);
        house.model.next().await.answer(says("it stops"));
        briefs(&host, "main", 2).await;
        house.commands.stops(1).await;
        let (house, host) = change(house, host, how, || {}).await;
        let stops = house.commands.stops(2).await;
        let asked = (task.name().to_owned(), TASK_STOP_GRACE_MS);
        assert_eq!(stops, [asked.clone(), asked], "{how:?}");
        house.task_is("main", TaskStatus::Cancelling).await;
        task.exits(1);
        house.task_is("main", TaskStatus::Cancelled).await;
        at_rest(&host, "main").await;
        assert!(house.model.is_quiet().await, "{how:?}");
        house.is_sound("main").await;
    }
}

#[tokio::test]
async fn a_task_that_was_being_killed_is_killed_at_once_after_a_restart_too() {
    for how in CHANGES {
        let house = House::new();
        let (host, task) = with_task(&house, "npm start").await;
        task.clings();
        prompt(&host, "main", "stop it now").await;
        let stop = || calls(&[("TaskStop", json!({ "task_id": task.name() }))]);
        house.model.next().await.answer(stop());
        house.model.next().await.answer(stop());
        house.model.next().await.answer(says("it is killed"));
        briefs(&host, "main", 2).await;
        house.commands.stops(2).await;
        let (house, host) = change(house, host, how, || {}).await;
        let stops = house.commands.stops(3).await;
        assert_eq!(stops[2], (task.name().to_owned(), 0), "{how:?}");
        host.control()
            .stop_agent(&agent("main"))
            .await
            .expect("stopped");
        let stops = house.commands.stops(4).await;
        assert_eq!(stops[3], (task.name().to_owned(), 0), "{how:?}");
        task.exits(1);
        house.task_is("main", TaskStatus::Cancelled).await;
        house.is_sound("main").await;
    }
}

#[tokio::test]
async fn a_task_nobody_can_account_for_is_interrupted_with_its_last_words() {
    for how in CHANGES {
        let house = House::new();
        let (host, task) = with_task(&house, "make").await;
        task.prints("step 7 of 9");
        let gone = || task.is_lost("the machine went down");
        let (house, host) = change(house, host, how, gone).await;
        let asked = house.model.next().await;
        let input = current(&asked.request);
        for words in ["the machine went down", "to run it again: make", "step 7"] {
            assert!(input.contains(words), "{how:?}: {input}");
        }
        asked.answer(says("I will look"));
        at_rest(&host, "main").await;
        let row = house.task_is("main", TaskStatus::Interrupted).await;
        let end = row.end.expect("an end");
        let kind = end.failure_artifact.map(|artifact| artifact.kind);
        assert_eq!(kind.as_deref(), Some("task_interrupted"));
        assert!(house.commands.is_quiet(), "{how:?}: it is not run again");
    }
}

#[tokio::test]
async fn a_command_is_found_again_and_its_wait_counts_from_its_beginning() {
    for how in CHANGES {
        let house = House::new();
        let command = json!({ "cmd": "make", "yield_time_ms": 10_000 });
        let host = calling(&house, &[("ExecCommand", command)]).await;
        let command = house.commands.next().await;
        house.clock.advance(6_000);
        let (house, _host) = change(house, host, how, || {}).await;
        command.waited_for().await;
        house.clock.advance(3_999);
        assert!(house.model.is_quiet().await, "{how:?}");
        house.clock.advance(1);
        let asked = house.model.next().await;
        let told = &results(&asked.request)[0];
        assert!(told.contains("as task"), "{how:?}: {told}");
        house.task_is("main", TaskStatus::Running).await;
        command.watched().await;
        house.is_sound("main").await;
    }
}

#[tokio::test]
async fn a_command_that_was_lost_with_its_host_is_told_as_unknown_and_not_run_again() {
    let house = House::new();
    let host = calling(&house, &[("ExecCommand", json!({ "cmd": "make" }))]).await;
    let command = house.commands.next().await;
    let gone = || command.is_lost("the machine went down");
    let (house, host) = change(house, host, Change::Crash, gone).await;
    let asked = house.model.next().await;
    let told = &results(&asked.request)[0];
    assert!(told.contains("the machine went down"), "{told}");
    asked.answer(says("I will look first"));
    at_rest(&host, "main").await;
    assert!(house.commands.is_quiet());
}

#[tokio::test]
async fn a_drain_lets_go_of_commands_and_tasks_and_puts_only_the_posture_on_record() {
    let house = House::new();
    let (host, task) = with_task(&house, "npm start").await;
    prompt(&host, "main", "build").await;
    let round = calls(&[("ExecCommand", json!({ "cmd": "make" }))]);
    house.model.next().await.answer(round);
    let command = house.commands.next().await;
    command.waited_for().await;
    let before = (host.commits(), events(&host, "main").await.len());
    let mut standing = status(&host, "main").await;
    host.shut_down().await.expect("down");
    // A drain that waited for them in vain would leave them watched.
    assert_eq!((command.followers(), task.followers()), ((0, 0), (0, 0)));
    assert!(!command.is_over() && !task.is_over());
    assert!(house.commands.log().stops.is_empty());
    let after = (host.commits(), events(&host, "main").await.len());
    assert_eq!(after, (before.0 + 1, before.1 + 1));
    let last = events(&host, "main").await.pop();
    assert!(
        matches!(&last, Some(Event::SchedulerPostureDecision(e)) if e.boundary == "shutdown"),
        "{last:?}"
    );
    // Only the event of the posture is new.
    standing.recent_event_count += 1;
    standing.newest_seq += 1;
    assert_eq!(status(&host, "main").await, standing);
    let host = house.start().await;
    command.waited_for().await;
    task.watched().await;
    command.ends("built");
    let asked = house.model.next().await;
    assert!(results(&asked.request)[0].contains("built"));
    asked.answer(says("built"));
    at_rest(&host, "main").await;
    task.ends("gone");
    let asked = house.model.next().await;
    assert!(current(&asked.request).contains("gone"));
    house.is_sound("main").await;
}

#[tokio::test]
async fn the_stop_of_an_agent_goes_on_after_a_restart_and_ends_its_tasks_once() {
    for how in CHANGES {
        for ends_meanwhile in [false, true] {
            let house = House::new();
            let (host, task) = with_task(&house, "npm start").await;
            task.prints("listening");
            task.outlives_its_grace();
            let stopped = host.control().stop_agent(&agent("main")).await;
            stopped.expect("stopped");
            house.commands.stops(1).await;
            house.clock.slept_towards(TASK_STOP_GRACE_MS).await;
            let between = || {
                if ends_meanwhile {
                    task.exits(143);
                }
            };
            let (house, host) = change(house, host, how, between).await;
            let stops = house.commands.stops(2).await;
            let asked = (task.name().to_owned(), TASK_STOP_GRACE_MS);
            assert_eq!(stops, [asked.clone(), asked], "{how:?}");
            assert_eq!(status(&host, "main").await.agent.lifecycle, Stopped);
            if !ends_meanwhile {
                house.clock.slept_towards(TASK_STOP_GRACE_MS).await;
                house.clock.advance(5_000);
            }
            let row = house.task_is("main", TaskStatus::Cancelled).await;
            assert_eq!(row.id, task.task_id());
            house.commands.forgets(1).await;
            let (house, host) = change(house, host, how, || {}).await;
            assert_eq!(status(&host, "main").await.agent.lifecycle, Stopped);
            assert!(house.model.is_quiet().await, "{how:?}: nobody is woken");
            let ends = count(
                &host,
                |event| matches!(event, Event::TaskStatusUpdated(moved) if moved.status.is_terminal()),
            );
            assert_eq!(ends.await, 1, "{how:?}");
            assert_eq!(house.commands.log().stops.len(), 2, "{how:?}");
            assert_eq!(house.commands.log().forgets.len(), 1, "{how:?}");
            house.is_sound("main").await;
        }
    }
}

#[tokio::test]
async fn an_agent_whose_stop_outlived_its_host_is_told_of_its_task_after_the_start() {
    let house = House::new();
    let (host, task) = with_task(&house, "npm start").await;
    task.clings();
    let stopped = host.control().stop_agent(&agent("main")).await;
    stopped.expect("stopped");
    house.commands.stops(1).await;
    let (house, host) = change(house, host, Change::Crash, || {}).await;
    house.commands.stops(2).await;
    let started = host.control().start_agent(&agent("main")).await;
    started.expect("started");
    task.ends("bye");
    house.task_is("main", TaskStatus::Cancelled).await;
    assert!(house.model.is_quiet().await, "its end begins no turn");
    prompt(&host, "main", "go on").await;
    let asked = house.model.next().await;
    let told = interjected(&asked.request);
    assert!(told.len() == 1 && told[0].contains("bye"), "{told:?}");
    asked.answer(says("I see"));
    briefs(&host, "main", 2).await;
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_command_that_outlives_three_hosts_goes_on_as_a_task_and_is_told_once() {
    let house = House::new();
    let command = json!({ "cmd": "make", "yield_time_ms": 600_000 });
    let host = calling(&house, &[("ExecCommand", command)]).await;
    let make = house.commands.next().await;
    let (mut house, mut host) = (house, host);
    for _ in 1..RESUMES_WITHOUT_PROGRESS {
        (house, host) = change(house, host, Change::Crash, || {}).await;
        make.waited_for().await;
        assert!(house.model.is_quiet().await, "its call waits on");
    }
    (house, host) = change(house, host, Change::Crash, || {}).await;
    let asked = house.model.next().await;
    let told = results(&asked.request).join("");
    assert!(told.contains("as task"), "{told}");
    asked.answer(says("it goes on"));
    briefs(&host, "main", 1).await;
    make.watched().await;
    // Two more hosts die, and no task is stopped because of it.
    for _ in 0..2 {
        (house, host) = change(house, host, Change::Crash, || {}).await;
        make.watched().await;
    }
    make.ends("built");
    let asked = house.model.next().await;
    assert!(current(&asked.request).contains("built"));
    asked.answer(says("it is built"));
    at_rest(&host, "main").await;
    let told = count(&host, |event| matches!(event, Event::TaskResultReceived(_)));
    assert_eq!(told.await, 1);
    house.task_is("main", TaskStatus::Completed).await;
    assert_eq!(house.commands.log().stops, []);
    house.is_sound("main").await;
}
