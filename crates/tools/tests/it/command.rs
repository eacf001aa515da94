//! The envelopes of commands, for each way a command can end or fail to start.

use holon_domain::command::{CapturedStream, CommandEnd, CommandFailure, CommandOutput};
use holon_domain::intent::{DuplicatePolicy, ExecCommand};
use holon_domain::tool::{ToolEnvelope, ToolOutcome};
use holon_tools::exec_command::{completed, failed};
use serde_json::{Value, json};

pub(crate) fn command() -> ExecCommand {
    ExecCommand {
        cmd: "cargo test\n  --workspace".into(),
        workdir: None,
        shell: None,
        login: false,
        tty: false,
        accepts_input: false,
        duplicate_policy: DuplicatePolicy::ReuseRunning,
        yield_time_ms: 10_000,
        max_output_tokens: None,
    }
}

pub(crate) fn stream(text: &str) -> CapturedStream {
    CapturedStream {
        head: text.into(),
        total_bytes: text.len() as u64,
        ..CapturedStream::default()
    }
}

pub(crate) fn output(end: CommandEnd, stdout: &str, stderr: &str) -> CommandOutput {
    CommandOutput {
        end,
        stdout: stream(stdout),
        stderr: stream(stderr),
        duration_ms: 12,
        leftovers: 0,
        survivors: 0,
        stopped: false,
    }
}

pub(crate) fn result(envelope: &ToolEnvelope) -> &Value {
    match &envelope.outcome {
        ToolOutcome::Success { result } => result,
        ToolOutcome::Error { error } => panic!("{error}"),
    }
}

#[test]
fn a_finished_command_is_kept_with_its_status_and_its_output() {
    let envelope = completed(
        &command(),
        &output(CommandEnd::Exited { status: 0 }, "ok\n", ""),
    );
    assert_eq!(envelope.tool_name, "ExecCommand");
    assert_eq!(
        envelope.summary_text,
        "exit 0 after 12 ms: cargo test --workspace"
    );
    assert_eq!(
        result(&envelope),
        &json!({
            "disposition": "completed",
            "exit_status": 0,
            "duration_ms": 12,
            "stdout_preview": "ok\n",
            "stderr_preview": "",
            "truncated": false,
            "artifacts": [],
            "command_diagnostics": {
                "cmd_preview": "cargo test --workspace",
                "cmd_char_count": 24,
                "cmd_estimated_tokens": 7,
                "contains_heredoc": false,
                "contains_inline_script": false,
                "exceeds_soft_threshold": false,
                "effective_max_output_tokens": 8_000,
                "output_char_budget": 32_000,
                "stdout_bytes": 3,
                "stderr_bytes": 0,
            },
        })
    );
}

#[test]
fn a_non_zero_exit_is_a_result_and_not_an_error() {
    let envelope = completed(
        &command(),
        &output(CommandEnd::Exited { status: 101 }, "", "failed\n"),
    );
    assert_eq!(result(&envelope)["exit_status"], 101);
    assert_eq!(result(&envelope)["stderr_preview"], "failed\n");
}

#[test]
fn a_death_by_signal_is_spelled_as_shells_spell_it() {
    let envelope = completed(
        &command(),
        &output(CommandEnd::Signalled { signal: 9 }, "", ""),
    );
    assert_eq!(
        (
            &result(&envelope)["exit_status"],
            &result(&envelope)["signal"]
        ),
        (&json!(137), &json!(9))
    );
}

#[test]
fn processes_that_could_not_be_stopped_are_in_the_result_and_in_its_summary() {
    let mut stuck = output(CommandEnd::Exited { status: 0 }, "", "");
    stuck.survivors = 2;
    let envelope = completed(&command(), &stuck);
    assert_eq!(result(&envelope)["surviving_processes"], 2);
    assert_eq!(
        envelope.summary_text,
        "exit 0 after 12 ms, with processes that could not be stopped: 2: cargo test --workspace"
    );
}

#[test]
fn the_previews_of_both_streams_share_the_budget_of_the_call() {
    let small = ExecCommand {
        max_output_tokens: Some(25),
        ..command()
    };
    let envelope = completed(
        &small,
        &output(
            CommandEnd::Exited { status: 0 },
            &"o".repeat(500),
            &"e".repeat(500),
        ),
    );
    let result = result(&envelope);
    assert_eq!(result["truncated"], true);
    let letters = |name: &str, letter: char| {
        let preview = result[name].as_str().expect("a preview");
        preview
            .lines()
            .filter(|line| !line.starts_with('['))
            .flat_map(str::chars)
            .filter(|c| *c == letter)
            .count()
    };
    assert_eq!(
        (
            letters("stdout_preview", 'o'),
            letters("stderr_preview", 'e')
        ),
        (50, 50)
    );
}

#[test]
fn a_failure_says_what_the_agent_can_do_about_it() {
    let failures = [
        CommandFailure::OutsideRoot {
            workdir: "../up".into(),
            execution_root: "/w".into(),
        },
        CommandFailure::MissingWorkdir {
            workdir: "gone".into(),
        },
        CommandFailure::WorkdirNoDirectory {
            workdir: "file.txt".into(),
        },
        CommandFailure::Spawn {
            reason: "no such file".into(),
        },
        CommandFailure::Cancelled,
        CommandFailure::Lost {
            reason: "nobody answers for it".into(),
            output_tail: "step 1\nstep 2\n".into(),
        },
    ];
    let envelopes: Vec<ToolEnvelope> = failures
        .iter()
        .map(|failure| failed(&command(), failure))
        .collect();
    insta::assert_json_snapshot!(envelopes);
}

#[test]
fn what_to_do_about_a_command_that_could_not_be_started_is_said_once() {
    let failure = CommandFailure::Spawn {
        reason: "the command text is too long; write it to a file and run that file".into(),
    };
    let envelope = failed(&command(), &failure);
    let ToolOutcome::Error { error } = envelope.outcome else {
        panic!("a failure");
    };
    assert!(
        error
            .message
            .ends_with("write it to a file and run that file")
    );
    let hint = error.recovery_hint.expect("a hint");
    assert!(
        !hint.contains("shell"),
        "another step than the message's: {hint}"
    );
}

#[test]
fn a_huge_path_in_a_failure_is_cut() {
    let failure = CommandFailure::MissingWorkdir {
        workdir: "d/".repeat(50_000),
    };
    let envelope = failed(&command(), &failure);
    assert!(serde_json::to_string(&envelope).expect("serialises").len() < 3_000);
}
