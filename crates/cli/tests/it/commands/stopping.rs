//! Stopping a task, an agent or a run. No process of a command is left, in any session.

use crate::hands::{self, Hands};
use crate::processes::{ProcessCleanup, assert_none_left, commands, shims};
use crate::support::{hello, until, world};
use holon_domain::task::TaskStatus;
use holon_testkit::World;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::process::{Child, Stdio};

/// Leaves its session in every way a shell knows, then goes on.
const RUNAWAYS: &str = "setsid sleep 61 & (setsid sh -c 'sleep 62 & sleep 63' &) ; (sleep 64 &) ; echo ready; exec sleep 65";

/// Returns the number of its processes.
fn sleepers(world: &World) -> usize {
    let all = commands(world);
    let sleep = |process: &&crate::processes::Process| process.line.starts_with("sleep 6");
    all.iter().filter(sleep).count()
}

#[test]
fn a_stopped_task_takes_along_what_left_its_session_or_its_parent() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let served = world.serve(&["--model", &hands::model(&world)]);
    let hands = Hands::of(&world);
    let task = hands.start(json!({ "cmd": RUNAWAYS }));
    hands.printed(&task, 0, "ready\n");
    until("all five run", || sleepers(&world) >= 5);
    let stopped = hands.call("TaskStop", json!({ "task_id": task }));
    assert_eq!(stopped["stop_requested"], true);
    hands.until_quiet();
    assert_none_left(&world);
    assert_eq!(hands.ends(), [(task.clone(), TaskStatus::Cancelled)]);
    assert_eq!(hands.results(), [], "what it asked for it is not told");
    let over = hands.call("TaskStop", json!({ "task_id": task }));
    assert_eq!(over["stop_requested"], false);
    let look = hands.call("TaskOutput", json!({ "task_id": task }));
    assert_eq!(
        look["task"]["output_preview"], "ready\n",
        "what it printed stays"
    );
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_task_that_does_not_listen_is_killed_when_it_is_stopped_a_second_time() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let served = world.serve(&["--model", &hands::model(&world)]);
    let hands = Hands::of(&world);
    let task = hands.start(json!({ "cmd": "trap '' TERM; echo ready; sleep 60; sleep 60" }));
    hands.printed(&task, 0, "ready\n");
    let asked = hands.call("TaskStop", json!({ "task_id": task }));
    assert_eq!(asked["task"]["status"], "cancelling", "{asked:#}");
    assert!(!shims(&world).is_empty(), "it does not listen");
    let forced = hands.call("TaskStop", json!({ "task_id": task }));
    assert_eq!(forced["force_stop_requested"], true, "{forced:#}");
    hands.until_quiet();
    assert_none_left(&world);
    assert_eq!(hands.ends(), [(task, TaskStatus::Cancelled)]);
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_command_that_ends_leaves_nothing_behind_and_says_how_many_were_stopped() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let served = world.serve(&["--model", &hands::model(&world)]);
    let hands = Hands::of(&world);
    let cmd = "setsid sleep 61 & (sleep 62 &); echo done";
    let direct = hands.call(
        "ExecCommand",
        json!({ "cmd": cmd, "yield_time_ms": 60_000 }),
    );
    assert_eq!(direct["stdout_preview"], "done\n");
    assert_eq!(direct["leftover_processes"], 2, "{direct:#}");
    assert_none_left(&world);
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn stopping_an_agent_ends_its_tasks_and_the_command_of_its_turn() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let served = world.serve(&["--model", &hands::model(&world)]);
    let hands = Hands::of(&world);
    let task = hands.start(json!({ "cmd": RUNAWAYS, "tty": true }));
    let meeting = world.meeting("command");
    let input =
        json!({ "cmd": format!("{}; sleep 60", meeting.shell()), "yield_time_ms": 600_000 });
    hands.prompt(&[hands::call("ExecCommand", input)]);
    meeting.wait();
    assert_eq!(shims(&world).len(), 2);
    assert_eq!(world.run(&["agent", "stop"]).code, Some(0));
    hands.until(|status| status.active_tasks.is_empty());
    assert_none_left(&world);
    let ends = hands.ends();
    assert_eq!(ends.len(), 2, "the command of the turn ended as a task too");
    assert!(ends.contains(&(task, TaskStatus::Cancelled)), "{ends:?}");
    assert_eq!(world.run(&["agent", "start"]).code, Some(0));
    hands.until_idle();
    assert_eq!(hands.results(), []);
    let after = hands.call("ExecCommand", json!({ "cmd": "echo on" }));
    assert_eq!(after["stdout_preview"], "on\n");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_batch_whose_agent_is_stopped_ends_where_it_is_and_never_goes_on() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let served = world.serve(&["--model", &hands::model(&world)]);
    let hands = Hands::of(&world);
    let meeting = world.meeting("command");
    let mark = |name: &str| format!("echo {name} >> ../../../marks");
    let second = format!("{}; {}; sleep 60", mark("second"), meeting.shell());
    let items = json!([{ "cmd": mark("first") }, { "cmd": second }, { "cmd": mark("third") }]);
    hands.prompt(&[hands::call("ExecCommandBatch", json!({ "items": items }))]);
    meeting.wait();
    assert_eq!(world.run(&["agent", "stop"]).code, Some(0));
    hands.until(|status| status.active_tasks.is_empty());
    assert_none_left(&world);
    assert_eq!(world.run(&["agent", "start"]).code, Some(0));
    let after = hands.call("ExecCommand", json!({ "cmd": "cat ../../../marks" }));
    assert_eq!(after["stdout_preview"], "first\nsecond\n");
    assert_eq!(served.terminate().0, Some(0));
}

/// Starts a run whose agent has a task and waits for a command, and returns when both are running.
fn run_with_commands(world: &World) -> Child {
    let (task, command) = (world.meeting("task"), world.meeting("command"));
    let input = |cmd: String, wait: u64| json!({ "cmd": cmd, "yield_time_ms": wait });
    let calls = [
        hands::call(
            "ExecCommand",
            input(format!("{}; sleep 60", task.shell()), 0),
        ),
        hands::call(
            "ExecCommand",
            input(format!("{}; sleep 60", command.shell()), 600_000),
        ),
    ];
    let model = world.model(
        "busy",
        &json!([{ "calls": calls }, { "text": "Too late." }]),
    );
    let mut command_line = world.command();
    command_line.args(["run", "hi", "--model", &model]);
    let child = command_line.stderr(Stdio::piped()).spawn().unwrap();
    task.wait();
    command.wait();
    assert_eq!(shims(world).len(), 2);
    child
}

fn interrupt(child: Child) {
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(!output.status.success(), "{output:?}");
}

#[test]
fn a_run_through_a_host_that_is_interrupted_leaves_neither_agent_nor_process() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let served = world.serve(&["--model", &hello(&world)]);
    let child = run_with_commands(&world);
    interrupt(child);
    assert_none_left(&world);
    // A host that shuts down has finished its removals.
    assert_eq!(served.terminate().0, Some(0));
    assert_eq!(crate::runs::agents_left(&world), [""; 0]);
}

#[test]
fn a_run_without_a_host_that_is_interrupted_leaves_no_process_to_run_on() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let child = run_with_commands(&world);
    interrupt(child);
    // No host would end them before the next start.
    assert_eq!(shims(&world), []);
    assert_eq!(commands(&world), []);
    assert_eq!(crate::runs::agents_left(&world), [""; 0]);
}
