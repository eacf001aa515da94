//! Commands that wait for something while their host is killed and started again, and a run whose terminal is closed.

use crate::streaming::world_with;
use crate::support::until;
use holon_testkit::World;
use holon_testkit::provider::{Point, Protocol, Round};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Stdio};

fn start(world: &World, args: &[&str]) -> Child {
    let mut command = world.command();
    command.args(args).stdout(Stdio::piped());
    command.stderr(Stdio::piped()).spawn().expect("starts")
}

fn pid(number: u32) -> Pid {
    let number = i32::try_from(number).ok();
    number.and_then(Pid::from_raw).expect("a process")
}

#[test]
fn a_run_is_answered_once_though_its_host_is_killed_meanwhile() {
    for json in [false, true] {
        let rounds = [
            Round::text("Never heard.").hold(Point::BeforeHeaders, "first"),
            Round::text("After all."),
        ];
        let (world, provider) = world_with(Protocol::Chat, rounds);
        let served = world.serve(&[]);
        let mut args = vec!["run", "count", "--agent", "main"];
        args.extend(json.then_some("--json"));
        let run = start(&world, &args);
        provider.gate("first").reached();
        served.crash();
        let served = world.serve(&[]);
        let ran = run.wait_with_output().expect("ends");
        let (said, told) = (
            String::from_utf8_lossy(&ran.stdout).into_owned(),
            String::from_utf8_lossy(&ran.stderr).into_owned(),
        );
        assert_eq!(ran.status.code(), Some(0), "{said}{told}");
        if json {
            let answer: serde_json::Value = serde_json::from_str(&said).expect("JSON");
            assert_eq!(answer["final_text"], "After all.");
        } else {
            assert_eq!(said, "After all.\n", "{told}");
        }
        let state = world.run(&["status", "--json"]).json();
        assert_eq!(state["agent"]["pending"], 0, "{state}");
        assert_eq!(served.terminate().0, Some(0));
    }
}

#[test]
fn the_output_of_a_task_is_followed_over_a_restart_of_the_host() {
    let (world, _provider) = world_with(Protocol::Chat, []);
    let served = world.serve(&[]);
    let go = world.path().join("go");
    let script = format!(
        "echo before; while [ ! -e {} ]; do sleep 0.05; done; echo after",
        go.display()
    );
    let started = world.run(&["task", "start", "--json", "--", "sh", "-c", &script]);
    let task = started.json()["task_id"]
        .as_str()
        .expect("a task")
        .to_owned();
    let mut follow = start(&world, &["task", "output", "--follow", &task]);
    let mut output = BufReader::new(follow.stdout.take().expect("a pipe"));
    let mut line = String::new();
    output.read_line(&mut line).expect("a line");
    assert_eq!(line, "before\n");
    served.crash();
    let served = world.serve(&[]);
    std::fs::write(&go, "").expect("writes");
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("reads");
    assert_eq!(rest, "after\n");
    assert_eq!(follow.wait().expect("ends").code(), Some(0));
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_run_without_a_host_ends_with_its_terminal_and_takes_its_command_along() {
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("pid");
    let command = format!("echo $$ > {}; exec sleep 600", file.display());
    let call = Round::text("I wait.").call(
        "ExecCommand",
        json!({ "cmd": command, "yield_time_ms": 30_000 }),
    );
    let (world, _provider) = world_with(Protocol::Chat, [call]);
    let run = start(&world, &["run", "wait"]);
    let read = || std::fs::read_to_string(&file).unwrap_or_default();
    until("the command runs", || read().ends_with('\n'));
    let sleeper = pid(read().trim().parse().expect("a number"));
    let status = world.run(&["status"]);
    assert_eq!(status.code, Some(3), "{}", status.stderr);
    assert!(
        status.stderr.contains("for a single run"),
        "{}",
        status.stderr
    );
    kill_process(pid(run.id()), Signal::HUP).expect("is there");
    let ran = run.wait_with_output().expect("ends");
    let told = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(1), "{told}");
    assert!(told.contains("interrupted by SIGHUP"), "{told}");
    until("the command is gone", || {
        test_kill_process(sleeper).is_err()
    });
}
