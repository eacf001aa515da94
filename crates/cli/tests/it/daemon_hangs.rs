//! `holon daemon` on a host that hangs, and failures of a start that its caller finds.

use crate::daemon::{DaemonWorld, code_of, pid_of, signal};
use crate::support::{hello, until};
use rustix::process::Signal;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Output, Stdio};

/// Starts `holon daemon start` and returns when it waits for the answer of a host that hangs.
fn waiting_start(daemon: &DaemonWorld, model: &str) -> Child {
    let child = daemon
        .0
        .command()
        .args(["daemon", "start", "--port", "0", "--json", "--model", model])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let files = format!("/proc/{}/fd", child.id());
    until("the start is connected to the host", || {
        let open = std::fs::read_dir(&files).unwrap().flatten();
        let mut places = open.filter_map(|file| std::fs::read_link(file.path()).ok());
        places.any(|place| place.to_string_lossy().starts_with("socket:"))
    });
    child
}

fn code(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let body: Value = serde_json::from_str(text.lines().last().unwrap_or_default())
        .unwrap_or_else(|error| panic!("{error}: {output:?}"));
    body["code"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_start_that_waits_for_a_host_that_hangs_keeps_no_stop_waiting() {
    let daemon = DaemonWorld::new();
    let model = hello(&daemon.0);
    let first = pid_of(&daemon.start(&["--model", &model]));
    signal(first, Signal::STOP);
    let start = waiting_start(&daemon, &model);
    assert_eq!(daemon.stop()["action"], "killed");
    let start = start.wait_with_output().unwrap();
    assert_eq!(start.status.code(), Some(1), "{start:?}");
    assert_eq!(code(&start), "stopped_meanwhile");
    assert_eq!(
        daemon.status()["state"],
        "stopped",
        "the stop was the last word"
    );
}

#[test]
fn a_start_that_waits_for_a_host_that_hangs_reports_the_one_that_a_restart_made() {
    let daemon = DaemonWorld::new();
    let model = hello(&daemon.0);
    let first = pid_of(&daemon.start(&["--model", &model]));
    signal(first, Signal::STOP);
    let start = waiting_start(&daemon, &model);
    let args = [
        "daemon", "restart", "--port", "0", "--json", "--model", &model,
    ];
    let restarted = daemon.0.run(&args).json();
    assert_eq!(restarted["action"], "restarted");
    let start = start.wait_with_output().unwrap();
    let found: Value = serde_json::from_slice(&start.stdout).unwrap();
    assert_eq!(found["action"], "already_running", "{found}");
    assert_eq!(pid_of(&found), pid_of(&restarted));
}

#[test]
fn a_failure_that_the_caller_of_a_start_finds_is_kept_until_a_start_succeeds() {
    let daemon = DaemonWorld::new();
    let model = hello(&daemon.0);
    daemon.start(&["--model", &model]);
    daemon.stop();
    let socket = daemon.0.home().join("run/holon.sock");
    std::fs::write(&socket, "x").unwrap();
    let args = [
        "daemon", "start", "--port", "0", "--json", "--model", &model,
    ];
    let refused = daemon.0.run(&args);
    assert_eq!(code_of(&refused), "socket_taken", "{refused:?}");
    let logs = daemon.0.run(&["daemon", "logs", "--json"]).json();
    assert_eq!(logs["startup_failure"]["code"], "socket_taken", "{logs}");
    assert_eq!(daemon.status()["last_failure"]["phase"], "startup");
    std::fs::remove_file(&socket).unwrap();
    let missing = daemon.0.path().join("missing");
    let missing = missing.to_str().unwrap();
    let refused = daemon
        .0
        .run(&[&args[..], &["--token-file", missing]].concat());
    assert_eq!(code_of(&refused), "token_unusable", "{refused:?}");
    let logs = daemon.0.run(&["daemon", "logs", "--json"]).json();
    assert_eq!(logs["startup_failure"]["code"], "token_unusable", "{logs}");
    daemon.start(&["--model", &model]);
    assert_eq!(daemon.status()["last_failure"], Value::Null);
    let refused = daemon
        .0
        .run(&[&args[..], &["--token-file", missing]].concat());
    assert_eq!(code_of(&refused), "token_unusable", "{refused:?}");
    assert!(
        !daemon.has("startup_failure.json"),
        "a host runs, and its files are its own"
    );
}

#[test]
fn a_token_file_of_the_operator_that_cannot_be_used_gets_advice_for_that_file() {
    let daemon = DaemonWorld::new();
    let path = daemon.0.path().join("token");
    let start = || {
        let file = path.to_str().unwrap();
        let ran = daemon
            .0
            .run(&["daemon", "start", "--port", "0", "--token-file", file]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(!ran.stderr.contains("next start"), "{ran:?}");
        assert!(!ran.stderr.contains("holon daemon start"), "{ran:?}");
        ran.stderr
    };
    let missing = start();
    assert!(missing.contains("there is no token file"), "{missing}");
    assert!(missing.contains("openssl rand -hex 32"), "{missing}");
    std::fs::write(&path, "a".repeat(40)).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let open = start();
    assert!(open.contains("has mode 0644"), "{open}");
    assert!(open.contains("chmod 600"), "{open}");
    std::fs::write(&path, "short").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    assert!(start().contains("does not hold a token of"));
}

#[test]
fn a_host_that_a_signal_has_stopped_is_named_as_that_by_status_and_doctor() {
    let daemon = DaemonWorld::new();
    let model = hello(&daemon.0);
    let pid = pid_of(&daemon.start(&["--model", &model]));
    signal(pid, Signal::STOP);
    let step = format!("kill -CONT {pid}");
    let message = daemon.status()["message"].clone();
    assert!(message.as_str().unwrap().contains(&step), "{message}");
    let examined = daemon.0.run(&["doctor", "--json"]);
    assert!(examined.stdout.contains(&step), "{examined:?}");
    signal(pid, Signal::CONT);
    until("it answers again", || daemon.status()["healthy"] == true);
    assert_eq!(daemon.stop()["action"], "stopped");
}
