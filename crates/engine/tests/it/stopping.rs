//! Stopping an agent during a round, a call or a pause.

use crate::house::{House, agent, at_rest, briefs, events, prompt, try_prompt, until, until_event};
use crate::talk::{current, interjected, with_task};
use holon_domain::agent::Lifecycle;
use holon_domain::brief::BriefKind;
use holon_domain::event::{BatchItemEnd, Event};
use holon_domain::limits::TASK_STOP_GRACE_MS;
use holon_domain::message::Priority;
use holon_domain::task::TaskStatus;
use holon_engine::{AfterAbort, Error, Host, Rejection};
use holon_testkit::ports::{calls, says};
use serde_json::json;

#[tokio::test]
async fn stopping_lets_the_model_go_and_tells_the_operator() {
    let house = House::new();
    let host = house.with_main().await;
    let admitted = prompt(&host, "main", "hello").await;
    let asked = house.model.next().await;
    host.control()
        .stop_agent(&agent("main"))
        .await
        .expect("stopped");
    asked.let_go().await;
    let told = briefs(&host, "main", 1).await;
    assert_eq!(told[0].kind, BriefKind::Failure);
    assert_eq!(told[0].settles, [admitted.message_id]);
    assert!(house.model.is_quiet().await, "a stopped agent asks nobody");
}

#[tokio::test]
async fn stopping_ends_the_command_and_its_result_changes_nothing() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "build").await;
    let round = calls(&[("ExecCommand", json!({ "cmd": "make" }))]);
    house.model.next().await.answer(round);
    let command = house.commands.next().await;
    host.control()
        .stop_agent(&agent("main"))
        .await
        .expect("stopped");
    command.let_go().await;
    let stops = house.commands.stops(1).await;
    assert_eq!(stops, [(command.name().to_owned(), TASK_STOP_GRACE_MS)]);
    let row = house.task_is("main", TaskStatus::Cancelled).await;
    assert_eq!(row.id, command.task_id(), "taken over until its end");
    assert!(!row.terminal_reentry && command.is_over());
    let stopped = at_rest(&host, "main").await;
    assert_eq!(stopped.agent.lifecycle, Lifecycle::Stopped);
    assert_eq!(briefs(&host, "main", 1).await.len(), 1);
    house.is_sound("main").await;
}

#[tokio::test]
async fn stopping_ends_every_task_too_and_a_start_begins_none_of_them_again() {
    let house = House::new();
    let (host, first) = with_task(&house, "npm start").await;
    prompt(&host, "main", "build").await;
    let round = calls(&[
        (
            "ExecCommand",
            json!({ "cmd": "npm test", "yield_time_ms": 0 }),
        ),
        ("ExecCommand", json!({ "cmd": "make" })),
    ]);
    house.model.next().await.answer(round);
    let second = house.commands.next().await;
    let command = house.commands.next().await;
    first.clings();
    host.control()
        .stop_agent(&agent("main"))
        .await
        .expect("stopped");
    let mut stops = house.commands.stops(3).await;
    stops.sort();
    let mut expected: Vec<(String, u64)> = [&first, &second, &command]
        .map(|shim| (shim.name().to_owned(), TASK_STOP_GRACE_MS))
        .to_vec();
    expected.sort();
    assert_eq!(stops, expected);
    until(&host, "main", |status| status.active_tasks.len() == 1).await;
    house.is_sound("main").await;
    host.control()
        .start_agent(&agent("main"))
        .await
        .expect("started");
    first.exits(0);
    until(&host, "main", |status| status.active_tasks.is_empty()).await;
    let rows = house.tasks("main").await;
    assert_eq!(
        rows.iter().map(|row| row.status).collect::<Vec<_>>(),
        [TaskStatus::Cancelled; 3]
    );
    at_rest(&host, "main").await;
    assert!(house.model.is_quiet().await, "their ends wake nobody");
    assert!(house.commands.is_quiet());
    house.is_sound("main").await;
}

#[tokio::test]
async fn stopping_in_the_middle_of_a_batch_ends_what_runs_and_bars_what_has_not_begun() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "look").await;
    let items = json!([{ "cmd": "one" }, { "cmd": "two" }, { "cmd": "three" }]);
    let round = calls(&[("ExecCommandBatch", json!({ "items": items }))]);
    house.model.next().await.answer(round);
    house.commands.next().await.ends("first");
    let two = house.commands.next().await;
    two.prints("half");
    host.control()
        .stop_agent(&agent("main"))
        .await
        .expect("stopped");
    let stops = house.commands.stops(3).await;
    for ((name, _), number) in stops.iter().zip(1..) {
        assert!(name.ends_with(&format!("-{number}")), "{stops:?}");
    }
    house.commands.forgets(3).await;
    assert!(house.commands.is_quiet(), "the third is never begun");
    use BatchItemEnd::{NotBegun, Ran, Stopped};
    assert_eq!(batch_ends(&host).await, [Ran, Stopped, NotBegun]);
    assert_eq!(house.tasks("main").await, [], "a batch is no task");
    house.has_no_effects("main").await;
}

/// Waits until the commands of a cancelled batch have ended. Returns how each did.
async fn batch_ends(host: &Host) -> Vec<BatchItemEnd> {
    until_event(host, "main", "command_batch_stopped").await;
    let stopped = events(host, "main").await.into_iter();
    let mut ends = stopped.filter_map(|event| match event {
        Event::CommandBatchStopped(stopped) => Some(stopped.items),
        _ => None,
    });
    ends.next().expect("a batch")
}

#[tokio::test]
async fn aborting_a_run_ends_its_batch_without_a_task_also_over_a_restart() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "look").await;
    let items = json!([{ "cmd": "one" }, { "cmd": "two" }]);
    let round = calls(&[("ExecCommandBatch", json!({ "items": items }))]);
    house.model.next().await.answer(round);
    let one = house.commands.next().await;
    one.clings();
    let (control, main) = (host.control(), agent("main"));
    let aborted = control.abort_run(&main, None, AfterAbort::GoOn);
    aborted.await.expect("aborted");
    house.commands.stops(1).await;
    assert_eq!(house.open_effects("main").await, ["stop_batch"]);
    assert_eq!(house.tasks("main").await, []);
    host.shut_down().await.expect("down");
    let host = house.start().await;
    one.exits(1);
    let ends = batch_ends(&host).await;
    assert_eq!(ends.len(), 2, "{ends:?}");
    assert_eq!(ends[1], BatchItemEnd::NotBegun);
    assert_eq!(house.tasks("main").await, []);
    house.has_no_effects("main").await;
}

#[tokio::test]
async fn the_first_turn_after_a_stop_is_told_which_tasks_were_stopped_and_no_turn_begins_for_it() {
    let house = House::new();
    let (host, task) = with_task(&house, "npm start").await;
    task.prints("listening on port 3000");
    host.control()
        .stop_agent(&agent("main"))
        .await
        .expect("stopped");
    house.task_is("main", TaskStatus::Cancelled).await;
    let host = {
        host.shut_down().await.expect("down");
        house.start().await
    };
    host.control()
        .start_agent(&agent("main"))
        .await
        .expect("started");
    let runnable = Lifecycle::Runnable;
    until(&host, "main", |status| status.agent.lifecycle == runnable).await;
    assert!(house.model.is_quiet().await, "a start begins no turn");

    prompt(&host, "main", "is it up?").await;
    let asked = house.model.next().await;
    assert!(current(&asked.request).contains("is it up?"));
    let told = interjected(&asked.request);
    assert_eq!(told.len(), 1, "{told:?}");
    for words in [task.name(), "was cancelled", "npm start", "listening"] {
        assert!(told[0].contains(words), "{told:?}");
    }
    asked.answer(says("it was stopped"));
    briefs(&host, "main", 2).await;
    at_rest(&host, "main").await;
    prompt(&host, "main", "and now?").await;
    let asked = house.model.next().await;
    assert!(interjected(&asked.request).is_empty(), "told once");
    asked.answer(says("still"));
    briefs(&host, "main", 3).await;
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_task_that_was_done_before_the_stop_reached_it_is_on_record_as_done() {
    let house = House::new();
    let (host, task) = with_task(&house, "make").await;
    task.prints("built");
    task.is_done_when_it_is_asked_to_end();
    host.control()
        .stop_agent(&agent("main"))
        .await
        .expect("stopped");
    let row = house.task_is("main", TaskStatus::Completed).await;
    let end = row.end.expect("an end");
    assert_eq!((end.exit_status, end.signal), (Some(0), None));
    assert_eq!(end.failure_artifact, None);
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_batch_that_was_stopped_between_two_commands_says_that_the_second_never_began() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "look").await;
    let items = json!([{ "cmd": "one" }, { "cmd": "two" }]);
    let round = calls(&[("ExecCommandBatch", json!({ "items": items }))]);
    house.model.next().await.answer(round);
    house
        .commands
        .next()
        .await
        .is_done_when_it_is_asked_to_end();
    host.control()
        .stop_agent(&agent("main"))
        .await
        .expect("stopped");
    let (ran, not_begun) = (BatchItemEnd::Ran, BatchItemEnd::NotBegun);
    assert_eq!(batch_ends(&host).await, [ran, not_begun]);
    assert!(house.commands.is_quiet(), "the second is never begun");
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_stopped_agent_refuses_and_keeps_its_queue_for_its_next_start() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "first").await;
    prompt(&host, "main", "second").await;
    let asked = house.model.next().await;
    host.control()
        .stop_agent(&agent("main"))
        .await
        .expect("stopped");
    asked.let_go().await;
    let refused = try_prompt(&host, "main", "third", Priority::Normal).await;
    let agent_id = agent("main");
    assert_eq!(
        refused,
        Err(Error::Rejected(Rejection::Stopped { agent_id }))
    );
    host.control()
        .start_agent(&agent("main"))
        .await
        .expect("started");
    let asked = house.model.next().await;
    let current = asked.request.frame.context_blocks.last().expect("a block");
    assert!(current.text.contains("second"), "{}", current.text);
    asked.answer(says("second done"));
    until(&host, "main", |status| status.agent.pending == 0).await;
    let told = briefs(&host, "main", 2).await;
    assert_eq!(told[1].text, "second done");
}
