//! What an operator does to a task: start it, stop it, write to it, look at its output.

use crate::house::{House, agent, at_rest, events};
use crate::talk::{with_task, with_task_of};
use holon_core::Rejection;
use holon_domain::TaskId;
use holon_domain::authority::TrustLevel;
use holon_domain::event::Event;
use holon_domain::intent::{DuplicatePolicy, ExecCommand, TaskOutput};
use holon_domain::limits::TASK_STOP_GRACE_MS;
use holon_domain::task::{NewCommandTask, TaskStatus};
use holon_engine::request::TaskInputOrder;
use holon_engine::{EntryFilter, Error};
use holon_testkit::ports::says;
use serde_json::json;

fn build(cmd: &str) -> NewCommandTask {
    NewCommandTask {
        command: ExecCommand {
            cmd: cmd.to_owned(),
            workdir: None,
            shell: None,
            login: false,
            tty: false,
            accepts_input: false,
            duplicate_policy: DuplicatePolicy::StartNew,
            yield_time_ms: 0,
            max_output_tokens: None,
        },
        summary: None,
        trust: TrustLevel::TrustedOperator,
    }
}

#[tokio::test]
async fn an_operator_starts_a_command_whose_end_opens_a_turn() {
    let house = House::new();
    let host = house.with_main().await;
    let (control, main) = (host.control(), agent("main"));
    let told = control.start_task(&main, build("make")).await.unwrap();
    assert_eq!(told.status, TaskStatus::Queued);
    let command = house.commands.next().await;
    assert_eq!(command.task_id(), told.task_id);
    house.task_is("main", TaskStatus::Running).await;
    command.watched().await;
    assert!(house.model.is_quiet().await, "no model is asked");
    command.ends("built");
    house.task_is("main", TaskStatus::Completed).await;
    house.model.next().await.answer(says("I have read it"));
    at_rest(&host, "main").await;
    house.is_sound("main").await;
    control.stop_agent(&main).await.unwrap();
    let refused = control.start_task(&main, build("make")).await.unwrap_err();
    assert_eq!(refused.code(), "agent_stopped");
}

#[tokio::test]
async fn an_operator_stops_a_task_and_the_second_time_kills_it() {
    let house = House::new();
    let (host, task) = with_task(&house, "make").await;
    task.outlives_its_grace();
    let (control, main) = (host.control(), agent("main"));
    let first = control.stop_task(&main, task.task_id()).await.unwrap();
    assert!(first.stop_requested && !first.force_stop_requested);
    assert_eq!(first.task.status, TaskStatus::Cancelling);
    assert_eq!(house.commands.stops(1).await[0].1, TASK_STOP_GRACE_MS);
    let second = control.stop_task(&main, task.task_id()).await.unwrap();
    assert!(second.stop_requested && second.force_stop_requested);
    assert_eq!(house.commands.stops(2).await[1].1, 0);
    house.task_is("main", TaskStatus::Cancelled).await;
    let third = control.stop_task(&main, task.task_id()).await.unwrap();
    assert!(!third.stop_requested && !third.force_stop_requested);
    at_rest(&host, "main").await;
    assert!(house.model.is_quiet().await, "the end opens no turn");
    let all = events(&host, "main").await;
    let reasons = all.iter().filter_map(|event| match event {
        Event::TaskStatusUpdated(moved) => Some(moved.reason.as_str()),
        _ => None,
    });
    assert!(
        reasons
            .clone()
            .any(|reason| reason == "stopped by an operator")
    );
    let status = all.iter().any(|event| {
        matches!(event, Event::MessageAdmitted(admitted)
            if admitted.kind == holon_domain::message::MessageKind::TaskStatus)
    });
    assert!(status, "the agent reads of it in its next turn");
    house.is_sound("main").await;
}

#[tokio::test]
async fn an_operator_writes_to_a_task_with_numbers_of_its_own() {
    let house = House::new();
    let input = json!({ "cmd": "cat", "accepts_input": true, "yield_time_ms": 0 });
    let (host, task) = with_task_of(&house, input).await;
    let (control, main) = (host.control(), agent("main"));
    let order = |text: &str| TaskInputOrder {
        task_id: task.task_id(),
        input: text.to_owned(),
        close_input: false,
    };
    let one = control.write_to_task(&main, order("one\n")).await.unwrap();
    assert_eq!((one.bytes_written, one.not_closed), (4, None));
    control.write_to_task(&main, order("two\n")).await.unwrap();
    let given: Vec<(u64, bool, String)> = task
        .given()
        .into_iter()
        .map(|piece| (piece.number, piece.by_operator, piece.input))
        .collect();
    assert_eq!(
        given,
        [(1, true, "one\n".to_owned()), (2, true, "two\n".to_owned())]
    );
    task.refuses_input("its input is closed");
    let refused = control.write_to_task(&main, order("three\n")).await;
    let reason = "its input is closed".to_owned();
    assert_eq!(refused.unwrap_err(), Error::TaskInput { reason });
    let missing = TaskInputOrder {
        task_id: TaskId::from_stored("task_none"),
        ..order("x")
    };
    let refused = control.write_to_task(&main, missing).await;
    assert_eq!(refused.unwrap_err(), Rejection::NoSuchTask.into());
    task.ends("done");
    house.task_is("main", TaskStatus::Completed).await;
    let refused = control.write_to_task(&main, order("late\n")).await;
    assert!(
        matches!(refused, Err(Error::TaskInput { .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn an_operator_reads_on_from_an_offset_and_can_wait_for_the_end() {
    let house = House::new();
    let (host, task) = with_task(&house, "make").await;
    let (reads, main) = (host.reads(), agent("main"));
    task.prints("one two");
    let query = |after_byte: Option<u64>, wait_ms: Option<u64>| TaskOutput {
        task_id: task.task_id(),
        wait_ms,
        after_byte,
        stderr_after_byte: None,
        tail_lines: None,
        max_output_tokens: None,
    };
    let part = reads
        .task_output(&main, query(Some(4), None))
        .await
        .unwrap();
    assert_eq!(part["retrieval_status"], "not_ready");
    assert_eq!(part["task"]["output_preview"], "two");
    assert_eq!(part["task"]["next_offset"], 7);
    let listed = reads.tasks(&main, EntryFilter::Active, 50).await.unwrap();
    assert_eq!(listed.len(), 1);
    let waiting = tokio::spawn({
        let (reads, main, query) = (reads.clone(), main.clone(), query(None, Some(60_000)));
        async move { reads.task_output(&main, query).await }
    });
    house.clock.slept_towards(60_000).await;
    task.ends("all built");
    let part = waiting.await.unwrap().unwrap();
    assert_eq!(part["retrieval_status"], "success");
    assert_eq!(part["task"]["exit_status"], 0);
    let listed = reads.tasks(&main, EntryFilter::Active, 50).await.unwrap();
    assert_eq!(listed.len(), 0);
    let listed = reads.tasks(&main, EntryFilter::All, 50).await.unwrap();
    assert_eq!(listed[0].status, TaskStatus::Completed);
    let shown = reads.task(&main, &task.task_id()).await.unwrap();
    assert_eq!(shown.command.unwrap().exit_status, Some(0));
}
