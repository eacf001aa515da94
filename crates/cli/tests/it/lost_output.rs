//! Output that cannot be written: the command fails and says so, and a signal ends a command whose reader has stopped.

use crate::support::{hello, world};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::fs::File;
use std::io::Read as _;
use std::process::{Child, Stdio};

/// Bytes of an answer that no pipe holds.
const LONG: usize = 1 << 20;

fn full() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}

#[test]
fn a_command_that_follows_ends_when_its_output_cannot_be_written() {
    let world = world();
    let model = hello(&world);
    let served = world.serve(&["--model", &model]);
    let ran = world.run(&["run", "hi", "--agent", "main"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let started = world.run(&[
        "task",
        "start",
        "--json",
        "--",
        "sh",
        "-c",
        "echo words; sleep 60",
    ]);
    let task = started.json()["task_id"].as_str().unwrap().to_owned();
    for args in [
        &["tail", "--follow"] as &[&str],
        &["tail", "--follow", "--json"],
        &["events", "--follow"],
        &["events", "--follow", "--all", "--json"],
        &["task", "output", "--follow", &task],
        &["status"],
    ] {
        let ran = world.command().args(args).stdout(full()).output().unwrap();
        let told = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(1), "{args:?}: {told}");
        let words = "the answer could not be written to standard output: ";
        assert_eq!(told.matches(words).count(), 1, "{args:?}: {told}");
    }
    assert_eq!(world.run(&["task", "stop", &task]).code, Some(0));
    assert_eq!(served.terminate().0, Some(0));
}

/// Ends a program with a signal while the reader of its output has stopped.
fn end_blocked(mut child: Child, signal: Signal) -> Option<i32> {
    let mut output = child.stdout.take().unwrap();
    // The first bytes tell that the answer is being written. The rest does not fit the pipe.
    output.read_exact(&mut [0; 16]).unwrap();
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    kill_process(pid.unwrap(), signal).unwrap();
    let code = child.wait().unwrap().code();
    drop(output);
    code
}

#[test]
fn a_signal_ends_a_run_whose_reader_has_stopped() {
    let world = world();
    let model = world.model("long", &json!([{ "text": "word ".repeat(LONG / 5) }]));
    let start = |args: &[&str]| {
        let mut command = world.command();
        command.args(args).stdout(Stdio::piped());
        command.stderr(Stdio::null()).spawn().unwrap()
    };
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let ended = end_blocked(start(&["run", "go", "--model", &model]), signal);
        assert_eq!(ended, Some(code), "without a host, {signal:?}");
    }
    let served = world.serve(&["--model", &model]);
    let ended = end_blocked(start(&["run", "go", "--agent", "main"]), Signal::INT);
    assert_eq!(ended, Some(130), "with a host");
    assert_eq!(served.terminate().0, Some(0));
}
