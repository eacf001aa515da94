//! Commands of calls: ended in time, continued as tasks, found running already, and batches.

use crate::house::{House, at_rest, briefs, prompt};
use crate::talk::{calling, results, with_task};
use holon_domain::command::CommandFailure;
use holon_domain::task::{TaskKind, TaskStatus, WaitPolicy};
use holon_engine::ports::OutputRetention;
use holon_testkit::ports::{calls, says};
use serde_json::json;

#[tokio::test]
async fn a_command_that_ends_in_time_is_the_result_of_its_call_and_no_task() {
    let house = House::new();
    let host = calling(&house, &[("ExecCommand", json!({ "cmd": "bc" }))]).await;
    let command = house.commands.next().await;
    house.clock.advance(9_999);
    command.complains("no prompt");
    command.ends("4");
    let asked = house.model.next().await;
    let told = &results(&asked.request)[0];
    assert!(told.starts_with("exit 0 (9999 ms)"), "{told}");
    assert!(told.contains('4') && told.contains("no prompt"), "{told}");
    asked.answer(says("four"));
    assert_eq!(briefs(&host, "main", 1).await[0].text, "four");
    assert!(house.tasks("main").await.is_empty());
    let forgotten = house.commands.forgets(1).await;
    assert_eq!(
        forgotten,
        [(command.name().to_owned(), OutputRetention::Dropped)]
    );
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_command_that_takes_longer_goes_on_as_a_task_that_is_watched() {
    let house = House::new();
    let command = json!({ "cmd": "make  all", "yield_time_ms": 2_000, "accepts_input": true });
    let host = calling(&house, &[("ExecCommand", command)]).await;
    let command = house.commands.next().await;
    command.prints("compiling");
    house.clock.advance(1_999);
    assert!(house.model.is_quiet().await, "its call waits for it");
    house.clock.advance(1);
    let asked = house.model.next().await;
    let told = &results(&asked.request)[0];
    let as_task = format!("as task {} (running)", command.name());
    assert!(told.contains(&as_task), "{told}");
    assert!(told.contains("compiling"), "{told}");
    assert!(told.contains("after_byte=9 stderr_after_byte=0"), "{told}");
    command.watched().await;
    assert_eq!(command.followers(), (0, 1));
    let row = house.task_is("main", TaskStatus::Running).await;
    assert_eq!(
        (row.id.clone(), row.kind),
        (command.task_id(), TaskKind::CommandTask)
    );
    assert_eq!(row.wait_policy, WaitPolicy::Background);
    assert_eq!(row.summary.as_deref(), Some("make all"));
    assert!(row.terminal_reentry && row.effect.is_some() && row.end.is_none());
    let spec = row.command().expect("a command");
    assert_eq!(spec.workdir, "/agents/main");
    assert_eq!(
        spec.output_path,
        Some(format!("/agents/main/task-output/{}.log", row.id))
    );
    assert!(spec.accepts_input && spec.promoted_from_exec_command);
    asked.answer(says("it runs"));
    let standing = at_rest(&host, "main").await;
    assert_eq!(standing.active_tasks, [row.list_entry()]);
    assert!(house.commands.log().forgets.is_empty(), "it is not over");
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_command_that_cannot_be_run_or_is_lost_is_told_and_only_lost_output_stays() {
    let spawn = CommandFailure::Spawn {
        reason: "no such shell".to_owned(),
    };
    let lost = CommandFailure::Lost {
        reason: "its supervisor was killed".to_owned(),
        output_tail: "step 7".to_owned(),
    };
    for (failure, expected, output) in [
        (spawn, "no such shell", OutputRetention::Dropped),
        (lost, "its supervisor was killed", OutputRetention::Kept),
    ] {
        let house = House::new();
        let host = calling(&house, &[("ExecCommand", json!({ "cmd": "make" }))]).await;
        let command = house.commands.next().await;
        command.cannot_start(failure);
        let asked = house.model.next().await;
        let told = &results(&asked.request)[0];
        assert!(told.contains(expected), "{told}");
        asked.answer(says("too bad"));
        briefs(&host, "main", 1).await;
        let name = command.name().to_owned();
        assert_eq!(house.commands.forgets(1).await, [(name, output)]);
    }
}

#[tokio::test]
async fn output_that_is_not_shown_whole_stays_in_its_file() {
    let house = House::new();
    let _host = calling(&house, &[("ExecCommand", json!({ "cmd": "yes" }))]).await;
    let command = house.commands.next().await;
    command.ends(&"yes\n".repeat(100_000));
    let asked = house.model.next().await;
    let told = &results(&asked.request)[0];
    let file = format!("/agents/main/task-output/{}.log", command.name());
    assert!(told.contains(&file), "{told}");
    let name = command.name().to_owned();
    assert_eq!(
        house.commands.forgets(1).await,
        [(name, OutputRetention::Kept)]
    );
}

#[tokio::test]
async fn an_equal_command_that_is_proven_to_run_is_named_instead_of_started() {
    let house = House::new();
    let (host, task) = with_task(&house, "npm start").await;
    prompt(&host, "main", "is it up?").await;
    let again = |cmd: &str| ("ExecCommand", json!({ "cmd": cmd }));
    let round = calls(&[again("npm start"), again("npm  start")]);
    house.model.next().await.answer(round);
    let other = house.commands.next().await;
    assert_eq!(other.cmd(), "npm  start", "another text is another command");
    other.ends("");
    let asked = house.model.next().await;
    let told = &results(&asked.request)[0];
    let first_line = format!("already running as task {} (running) for 1", task.name());
    assert!(told.starts_with(&first_line), "{told}");
    assert_eq!(house.tasks("main").await.len(), 1);
    assert_eq!(
        house.commands.forgets(1).await.len(),
        1,
        "only the other one"
    );
    house.is_sound("main").await;
}

#[tokio::test]
async fn another_is_started_when_that_is_wanted_or_the_running_one_cannot_be_proven() {
    let house = House::new();
    let (host, task) = with_task(&house, "npm start").await;
    prompt(&host, "main", "another one").await;
    let new = json!({ "cmd": "npm start", "duplicate_policy": "start_new" });
    house
        .model
        .next()
        .await
        .answer(calls(&[("ExecCommand", new)]));
    house.commands.next().await.ends("port in use");
    house.model.next().await.answer(says("it is taken"));
    briefs(&host, "main", 2).await;

    task.falls_silent(true);
    prompt(&host, "main", "start it").await;
    let same = json!({ "cmd": "npm start" });
    house
        .model
        .next()
        .await
        .answer(calls(&[("ExecCommand", same)]));
    let started = house.commands.next().await;
    assert_ne!(started.name(), task.name());
    started.ends("up");
    house.model.next().await.answer(says("it is up"));
    briefs(&host, "main", 3).await;
}

#[tokio::test]
async fn after_a_restart_a_call_goes_on_with_its_own_command_and_not_with_an_equal_one() {
    let house = House::new();
    let (host, task) = with_task(&house, "make").await;
    task.falls_silent(true);
    prompt(&host, "main", "build").await;
    let round = calls(&[("ExecCommand", json!({ "cmd": "make" }))]);
    house.model.next().await.answer(round);
    let own = house.commands.next().await;
    task.falls_silent(false);
    let house = house.after_crash();
    let _host = house.start().await;
    own.waited_for().await;
    own.ends("my own");
    let asked = house.model.next().await;
    let told = &results(&asked.request)[0];
    assert!(told.contains("my own"), "{told}");
}

fn batch(stop_on_error: bool) -> (&'static str, serde_json::Value) {
    let items = json!([{ "cmd": "one" }, { "cmd": "two", "timeout_ms": 500 }, { "cmd": "three" }]);
    (
        "ExecCommandBatch",
        json!({ "items": items, "stop_on_error": stop_on_error }),
    )
}

#[tokio::test]
async fn a_batch_runs_its_commands_in_order_and_goes_on_after_one_that_fails() {
    let house = House::new();
    let _host = calling(&house, &[batch(false)]).await;
    let one = house.commands.next().await;
    assert_eq!(one.cmd(), "one");
    assert!(house.commands.is_quiet(), "one at a time");
    one.exits(3);
    let two = house.commands.next().await;
    assert_eq!(two.cmd(), "two");
    house.clock.advance(500);
    let three = house.commands.next().await;
    assert_eq!(three.cmd(), "three");
    three.ends("third");
    let asked = house.model.next().await;
    let told = &results(&asked.request)[0];
    assert!(told.contains("1/3 items completed, 2 failed"), "{told}");
    assert!(told.contains("exit=3") && told.contains("third"), "{told}");
    assert!(told.contains("command_timed_out"), "{told}");
    assert!(house.tasks("main").await.is_empty(), "none becomes a task");
    let names: Vec<String> = house
        .commands
        .forgets(3)
        .await
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, [one.name(), two.name(), three.name()]);
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_bad_item_of_a_batch_fails_alone_and_the_rest_runs_as_stop_on_error_says() {
    for stop_on_error in [false, true] {
        let house = House::new();
        let items = json!([{ "cmd": "one" }, { "cmd": "top", "tty": true }, { "cmd": "three" }]);
        let call = json!({ "items": items, "stop_on_error": stop_on_error });
        let _host = calling(&house, &[("ExecCommandBatch", call)]).await;
        house.commands.next().await.ends("first");
        if !stop_on_error {
            let three = house.commands.next().await;
            assert_eq!(three.cmd(), "three");
            three.ends("third");
        }
        let asked = house.model.next().await;
        let told = &results(&asked.request)[0];
        let header = match stop_on_error {
            false => "2/3 items completed, 1 failed",
            true => "1/3 items completed, 1 failed, 1 skipped",
        };
        assert!(told.contains(header), "{told}");
        assert!(told.contains("unsupported_batch_command_field"), "{told}");
        assert!(house.commands.is_quiet(), "nothing else was begun");
        house.is_sound("main").await;
    }
}

#[tokio::test]
async fn a_batch_that_stops_on_an_error_begins_nothing_more() {
    let house = House::new();
    let host = calling(&house, &[batch(true)]).await;
    house.commands.next().await.exits(1);
    let asked = house.model.next().await;
    let told = &results(&asked.request)[0];
    assert!(told.contains("1 failed, 2 skipped"), "{told}");
    asked.answer(says("the first failed"));
    briefs(&host, "main", 1).await;
    assert!(house.commands.is_quiet());
}

#[tokio::test]
async fn a_batch_cut_by_a_crash_goes_on_with_the_command_in_hand() {
    let house = House::new();
    let _host = calling(&house, &[batch(true)]).await;
    house.commands.next().await.ends("first");
    let two = house.commands.next().await;
    let house = house.after_crash();
    let _host = house.start().await;
    two.waited_for().await;
    assert!(house.commands.is_quiet(), "the first is not run again");
    two.ends("second");
    let three = house.commands.next().await;
    assert_eq!(three.cmd(), "three");
    three.ends("third");
    let asked = house.model.next().await;
    let told = &results(&asked.request)[0];
    assert!(told.contains("3/3 items completed"), "{told}");
    for words in ["first", "second", "third"] {
        assert!(told.contains(words), "{told}");
    }
    house.commands.forgets(3).await;
}

/// Returns the codes on the lines that end a stream.
fn codes(told: &str) -> Vec<&str> {
    let ends = told.lines().filter_map(|line| line.strip_prefix("end "));
    ends.collect()
}

#[tokio::test]
async fn equal_output_of_two_calls_has_different_codes_which_a_restart_keeps() {
    let house = House::new();
    let cat = || ("ExecCommand", json!({ "cmd": "cat notes" }));
    let host = calling(&house, &[cat()]).await;
    house.commands.next().await.ends("one\n");
    house.model.next().await.answer(calls(&[cat()]));
    house.commands.next().await.ends("one\n");
    let asked = house.model.next().await;
    let told = results(&asked.request);
    let [first, second] = told.as_slice() else {
        panic!("two results");
    };
    assert_eq!((codes(first).len(), codes(second).len()), (1, 1));
    assert_ne!(codes(first), codes(second));
    drop(asked);
    drop(host);
    let house = house.after_crash();
    let host = house.start().await;
    let again = house.model.next().await;
    assert_eq!(results(&again.request), told);
    again.answer(says("done"));
    briefs(&host, "main", 1).await;
}
