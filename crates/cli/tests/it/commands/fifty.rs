//! Fifty commands of every kind, a host that is killed, and the account of every one of them afterwards.

use crate::hands::{self, Hands, call, task_of};
use crate::processes::{self, ProcessCleanup, assert_none_left, shims, zombies};
use crate::support::{until, world};
use holon_domain::task::TaskStatus;
use holon_testkit::World;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;

/// Behaviour of a command, which decides its outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Runs on with pipes.
    Pipes,
    /// Runs on with a terminal.
    Terminal,
    /// Repeats its input on pipes.
    Listens,
    /// Repeats its input on a terminal.
    TerminalListens,
    /// Ends with this exit code while no host is running.
    Ends(u8),
    /// Loses its shim while no host is running.
    LosesShim,
    /// Is being stopped, and ignores the signal.
    IsStopped,
}

const ENDING: usize = 12;

fn fifty() -> Vec<Kind> {
    let mut kinds = Vec::new();
    kinds.extend([Kind::Pipes; 10]);
    kinds.extend([Kind::Terminal; 8]);
    kinds.extend([Kind::Listens; 8]);
    kinds.extend([Kind::TerminalListens; 6]);
    kinds.extend((0..ENDING).map(|number| Kind::Ends(if number % 3 == 0 { 4 } else { 0 })));
    kinds.extend([Kind::LosesShim; 2]);
    kinds.extend([Kind::IsStopped; 4]);
    assert_eq!(kinds.len(), 50);
    kinds
}

/// Builds the call that starts it. `gate` is a named pipe that gives each reader one empty line.
fn start(number: usize, kind: Kind, gate: &str) -> Value {
    let deaf = if kind == Kind::IsStopped {
        "trap '' TERM; "
    } else {
        ""
    };
    let mark = format!("{deaf}echo begun {number}; echo {number} >> ../../../marks;");
    let rest = match kind {
        Kind::Pipes | Kind::LosesShim => "exec sleep 120".to_owned(),
        Kind::Terminal => "sleep 120; true".to_owned(),
        Kind::Listens | Kind::TerminalListens => {
            "while read word; do echo heard $word; done".to_owned()
        }
        Kind::Ends(status) => format!("read word < {gate}; echo ended {number}; exit {status}"),
        Kind::IsStopped => "sleep 120; true".to_owned(),
    };
    let input = json!({
        "cmd": format!("{mark} {rest}"),
        "yield_time_ms": 0,
        "tty": matches!(kind, Kind::Terminal | Kind::TerminalListens),
        "accepts_input": matches!(kind, Kind::Listens | Kind::TerminalListens),
    });
    call("ExecCommand", input)
}

/// Releases every reader of the gate, including later ones.
fn open_gate(world: &World) -> File {
    let gate = File::options()
        .read(true)
        .write(true)
        .open(world.path().join("gate"));
    let mut gate = gate.unwrap();
    // A shell reads a line byte by byte, so each reader takes one.
    gate.write_all(&[b'\n'; ENDING + 1]).unwrap();
    gate
}

#[test]
fn every_one_of_fifty_tasks_is_accounted_for_when_the_host_was_killed() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let made = std::process::Command::new("mkfifo")
        .arg(world.path().join("gate"))
        .status();
    assert!(made.unwrap().success());
    let gate = world.path().join("gate").display().to_string();
    let served = world.serve(&["--model", &hands::model(&world)]);
    let hands = Hands::of(&world);
    let kinds = fifty();
    let calls: Vec<Value> = kinds
        .iter()
        .enumerate()
        .map(|(number, kind)| start(number, *kind, &gate))
        .collect();
    let told = hands.calls(&calls);
    let tasks: BTreeMap<String, (usize, Kind)> = told
        .iter()
        .zip(kinds.iter().enumerate())
        .map(|(told, (number, kind))| (task_of(&told["result"]), (number, *kind)))
        .collect();
    let of = |wanted: fn(Kind) -> bool| -> Vec<&String> {
        tasks
            .iter()
            .filter(|(_, (_, kind))| wanted(*kind))
            .map(|(task, _)| task)
            .collect()
    };
    let marks = || std::fs::read_to_string(world.path().join("marks")).unwrap_or_default();
    until("all fifty have begun", || marks().lines().count() >= 50);
    let stops: Vec<Value> = of(|kind| kind == Kind::IsStopped)
        .into_iter()
        .map(|task| call("TaskStop", json!({ "task_id": task })))
        .collect();
    hands.calls(&stops);
    // One more command, which the turn itself waits for.
    let input = json!({ "cmd": format!("echo turn >> ../../../marks; read word < {gate}; echo turned"), "yield_time_ms": 600_000 });
    hands.prompt(&[call("ExecCommand", input)]);
    until("the turn's own has begun", || marks().contains("turn"));
    assert_eq!(shims(&world).len(), 51);
    served.crash();

    for task in of(|kind| kind == Kind::LosesShim) {
        processes::kill(processes::shim(&world, "main", task).expect("a shim"));
    }
    let _gate = open_gate(&world);
    for task in of(|kind| matches!(kind, Kind::Ends(_))) {
        until("the shim is gone", || {
            processes::shim(&world, "main", task).is_none()
        });
    }

    let served = world.serve(&["--model", &hands::model(&world)]);
    let over = ENDING + 2;
    hands.until(|status| {
        let idle = status.agent.pending == 0 && status.agent.current_run_id.is_none();
        idle && status.active_tasks.len() <= 50 - over
    });
    account(&hands, &tasks);
    let mut ran: Vec<String> = marks().lines().map(str::to_owned).collect();
    ran.sort();
    let mut expected: Vec<String> = (0..50).map(|number| number.to_string()).collect();
    expected.push("turn".to_owned());
    expected.sort();
    assert_eq!(ran, expected, "each began once");

    assert_eq!(world.run(&["agent", "stop"]).code, Some(0));
    hands.until(|status| status.active_tasks.is_empty());
    assert_none_left(&world);
    assert_eq!(zombies(served.pid()), [0; 0]);
    let ends = hands.ends();
    let ended: BTreeMap<&str, TaskStatus> = ends
        .iter()
        .map(|(task, end)| (task.as_str(), *end))
        .collect();
    assert_eq!((ends.len(), ended.len()), (50, 50), "each ended once");
    assert_eq!(
        hands.results().len(),
        over,
        "stopped tasks are not reported"
    );
    assert_eq!(served.terminate().0, Some(0));
}

/// Checks the outcome of each task before anything is stopped.
fn account(hands: &Hands<'_>, tasks: &BTreeMap<String, (usize, Kind)>) {
    let ends: BTreeMap<String, TaskStatus> = hands.ends().into_iter().collect();
    let results = hands.results();
    let active: BTreeMap<String, TaskStatus> = hands
        .status()
        .active_tasks
        .iter()
        .map(|task| (task.id.to_string(), task.status))
        .collect();
    let turned = hands
        .transcript()
        .iter()
        .any(|entry| entry.data["results"][0]["result"]["stdout_preview"] == "turned\n");
    assert!(turned, "the command of the turn has its result");
    for (task, (number, kind)) in tasks {
        let told: Vec<&str> = results
            .iter()
            .filter(|(of, _)| of == task)
            .map(|(_, words)| words.as_str())
            .collect();
        let (active, end) = (active.get(task), ends.get(task));
        match kind {
            Kind::Pipes | Kind::Terminal | Kind::Listens | Kind::TerminalListens => {
                assert_eq!(
                    (active, end, told.len()),
                    (Some(&TaskStatus::Running), None, 0),
                    "{kind:?}"
                );
            }
            Kind::Ends(status) => {
                let expected = if *status == 0 {
                    TaskStatus::Completed
                } else {
                    TaskStatus::Failed
                };
                assert_eq!(
                    (active, end, told.len()),
                    (None, Some(&expected), 1),
                    "{kind:?}: {told:?}"
                );
                assert!(told[0].contains(&format!("ended {number}")), "{told:?}");
                assert!(
                    told[0].contains(&format!(": exit {status} after ")),
                    "{told:?}"
                );
            }
            Kind::LosesShim => {
                assert_eq!(
                    (active, end, told.len()),
                    (None, Some(&TaskStatus::Interrupted), 1),
                    "{kind:?}: {told:?}"
                );
                assert!(told[0].contains(&format!("begun {number}")), "{told:?}");
                assert!(told[0].contains("to run it again"), "{told:?}");
            }
            Kind::IsStopped => {
                // The next host kills it when its timeout has passed, which may be now.
                let stands = active.or(end);
                assert!(
                    matches!(stands, Some(TaskStatus::Cancelling | TaskStatus::Cancelled)),
                    "{stands:?}"
                );
                assert_eq!(told.len(), 0, "{told:?}");
            }
        }
    }
    let listens = |(_, (_, kind)): &(&String, &(usize, Kind))| {
        matches!(kind, Kind::Listens | Kind::TerminalListens)
    };
    let listeners: Vec<&String> = tasks.iter().filter(listens).map(|(task, _)| task).collect();
    let inputs: Vec<Value> = listeners
        .iter()
        .map(|task| call("TaskInput", json!({ "task_id": task, "input": "word\n" })))
        .collect();
    for taken in hands.calls(&inputs) {
        assert_eq!(taken["result"]["accepted_input"], true, "{taken:#}");
    }
    for task in listeners {
        hands.printed(task, 0, "heard word");
    }
}
