//! `holon task start`: an operator starts a command as a task of an agent, without a turn.

use crate::support::{until, world};
use serde_json::{Value, json};

#[test]
fn an_operator_starts_a_command_and_the_agent_reads_its_result() {
    let world = world();
    let model = world.model("reader", &json!([{ "text": "Read: {{input}}" }]));
    let served = world.serve(&["--model", &model]);
    let meeting = world.meeting("command");
    let cmd = format!("{}; echo it is built; exit 3", meeting.shell());
    let started = world.run(&[
        "task",
        "start",
        "--summary",
        "the build",
        "--json",
        "--",
        &cmd,
    ]);
    let task = started.json();
    assert_eq!(task["status"], "queued", "{task}");
    assert_eq!(task["summary"], "the build", "{task}");
    let id = task["task_id"].as_str().unwrap();
    meeting.wait();
    let show = || world.run(&["task", "show", id, "--json"]).json();
    until("it is on record that it runs", || {
        show()["status"] == "running"
    });
    let status = world.run(&["status", "--json"]).json();
    assert_eq!(
        status["agent"]["turn_index"], 0,
        "no model was asked: {status}"
    );
    served.crash();
    let served = world.serve(&["--model", &model]);
    assert_eq!(show()["status"], "running", "it outlives its host");
    meeting.let_go();
    until("it is over", || show()["status"] == "failed");
    assert_eq!(show()["command"]["exit_status"], 3);
    let output = world.run(&["task", "output", id]);
    assert_eq!(output.answer(), "it is built\n");
    until("the agent has read it", || {
        let told = world.run(&["transcript"]);
        told.answer().contains("Read: ") && told.answer().contains("it is built")
    });
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn words_of_a_command_line_reach_the_program_as_they_are() {
    let world = world();
    let model = world.model("reader", &json!([{ "text": "Read." }]));
    let served = world.serve(&["--model", &model]);
    let words = ["printf", "[%s]", "a b", "it's", "$HOME", "*"];
    let args = [&["task", "start", "--json", "--"][..], &words].concat();
    let id = world.run(&args).json()["task_id"].clone();
    let id = id.as_str().unwrap();
    let followed = world.run(&["task", "output", "--follow", id]);
    assert_eq!(followed.stdout.trim_end(), "[a b][it's][$HOME][*]");
    let kept = world.run(&["task", "output", id, "--json"]).json();
    assert!(
        kept.get("unreadable").is_none(),
        "its output is kept: {kept}"
    );
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_command_that_cannot_be_started_is_refused_or_fails_with_the_reason() {
    let world = world();
    let model = world.model("reader", &json!([{ "text": "Read." }]));
    let served = world.serve(&["--model", &model]);
    let refused = |args: &[&str], code: &str| {
        let ran = world.run(&[args, &["--json", "--", "true"]].concat());
        let error: Value = serde_json::from_str(&ran.stderr).unwrap();
        assert_eq!(error["code"], code, "{args:?}: {ran:?}");
        error
    };
    refused(&["task", "start", "--agent", "nobody"], "agent_not_found");
    let empty = world.run(&["task", "start", "--json", "--", " "]);
    assert!(empty.stderr.contains("invalid_command"), "{empty:?}");
    let gone = world.run(&["task", "start", "--workdir", "gone", "--json", "--", "true"]);
    let id = gone.json()["task_id"].as_str().unwrap().to_owned();
    let show = || world.run(&["task", "show", &id, "--json"]).json();
    until("it has failed", || show()["status"] == "failed");
    let reason = show()["command"]["result_summary"].clone();
    assert!(reason.as_str().unwrap().contains("gone"), "{reason}");
    assert_eq!(world.run(&["agent", "stop", "main"]).code, Some(0));
    let stopped = refused(&["task", "start"], "agent_stopped");
    let hint = stopped["hint"].as_str().unwrap();
    assert!(hint.contains("holon agent start main"), "{stopped}");
    assert_eq!(served.terminate().0, Some(0));
}
