//! A healthy command whose host is killed repeatedly. The command is never stopped because of that.

use crate::hands::{self, Hands, call};
use crate::processes::{ProcessCleanup, assert_none_left};
use crate::support::{until, world};
use holon_domain::task::TaskStatus;
use serde_json::json;

/// Number of kills while the command runs: more than would quarantine a message that leaves no trace.
const KILLS: usize = 5;

#[test]
fn a_command_through_five_kills_of_its_host_ends_well_and_is_reported_once() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let mut served = world.serve(&["--model", &hands::model(&world)]);
    let hands = Hands::of(&world);
    // The command waits for a file, so the test decides its duration.
    let cmd =
        "echo begun >> ../../../marks; until [ -e ../../../go ]; do sleep 0.05; done; echo built";
    hands.prompt(&[call(
        "ExecCommand",
        json!({ "cmd": cmd, "yield_time_ms": 600_000 }),
    )]);
    let marks = || std::fs::read_to_string(world.path().join("marks")).unwrap_or_default();
    until("the command has begun", || marks().contains("begun"));
    for _ in 0..KILLS {
        served.crash();
        served = world.serve(&["--model", &hands::model(&world)]);
    }
    world.write("go", "");
    hands.until(|status| {
        let idle = status.agent.pending == 0 && status.agent.current_run_id.is_none();
        idle && status.active_tasks.is_empty()
    });
    let ends: Vec<TaskStatus> = hands.ends().into_iter().map(|(_, end)| end).collect();
    assert_eq!(ends, [TaskStatus::Completed]);
    assert_eq!(hands.results().len(), 1, "its end is told once");
    assert_eq!(marks(), "begun\n", "it began once");
    assert_none_left(&world);
    assert_eq!(served.terminate().0, Some(0));
}
