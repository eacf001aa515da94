//! Commands that become tasks, that already run, whose output is in files, or that were lost.

use crate::command::{command, output, result, stream};
use crate::task::{running, with_spec};
use holon_domain::command::{
    CapturedStream, CommandEnd, CommandFailure, FoundRunning, MissingOutput, RunningCommand,
};
use holon_domain::intent::ExecCommand;
use holon_domain::task::{TaskHandle, TaskKind, TaskStatus};
use holon_domain::tool::ToolEnvelope;
use holon_domain::{TaskId, Timestamp};
use holon_tools::exec_command::{already_running, commands_run, completed, failed, promoted};
use holon_tools::{receipt, refers_to_files};
use proptest::prelude::*;
use serde_json::{Value, json};

fn handle() -> TaskHandle {
    TaskHandle {
        task_id: TaskId::from_stored("task_1"),
        task_kind: TaskKind::CommandTask,
        status: TaskStatus::Running,
        initial_output: None,
    }
}

fn so_far(stdout: &str, stderr: &str) -> RunningCommand {
    RunningCommand {
        workdir: "/w".into(),
        started_at: Timestamp::from_millis(5),
        found: FoundRunning::AfterWait,
        stdout: stream(stdout),
        stderr: stream(stderr),
    }
}

fn filed(text: &str, path: &str) -> CapturedStream {
    CapturedStream {
        path: Some(path.into()),
        ..stream(text)
    }
}

fn small() -> ExecCommand {
    ExecCommand {
        max_output_tokens: Some(4),
        ..command()
    }
}

#[test]
fn a_command_that_goes_on_is_kept_as_a_task_with_what_it_printed_so_far() {
    let envelope = promoted(&command(), &handle(), &so_far("building\n", ""));
    insta::assert_json_snapshot!(envelope);
    for absent in ["exit_status", "truncated", "artifacts", "stdout_preview"] {
        assert_eq!(result(&envelope).get(absent), None, "{absent} is of an end");
    }
    assert!(!refers_to_files(&envelope));
}

#[test]
fn a_command_that_goes_on_reads_as_a_task_and_how_to_go_on() {
    let piped = promoted(&command(), &handle(), &so_far("building\n", "warning: x\n"));
    let terminal = ExecCommand {
        tty: true,
        accepts_input: true,
        ..command()
    };
    let talks = promoted(&terminal, &handle(), &so_far(">>> ", ""));
    let at_once = ExecCommand {
        yield_time_ms: 0,
        ..command()
    };
    let silent = promoted(&at_once, &handle(), &so_far("", ""));
    let cut = promoted(&small(), &handle(), &so_far("0123456789abcdefghij", ""));
    let texts = [piped, talks, silent, cut].map(|envelope| receipt(&envelope));
    insta::assert_snapshot!(texts.join("\n---\n"));
}

#[test]
fn a_command_that_a_restarted_host_finds_is_not_said_to_have_been_waited_for() {
    let patient = ExecCommand {
        yield_time_ms: 600_000,
        ..command()
    };
    let found = RunningCommand {
        found: FoundRunning::AfterRestart,
        ..so_far("", "")
    };
    let envelope = promoted(&patient, &handle(), &found);
    let text = receipt(&envelope);
    assert!(
        text.starts_with("the host was started again while it ran"),
        "{text}"
    );
    assert!(!text.contains("after 10 min"), "{text}");
    assert_eq!(result(&envelope)["waited_ms"], 0);
}

#[test]
fn an_equal_command_that_runs_is_named_with_its_age_and_the_way_around_it() {
    let now = running().created_at.plus_millis(303_000);
    let envelope = already_running(&command(), &running(), now);
    assert_eq!(commands_run(&envelope), 0, "nothing was started");
    insta::assert_json_snapshot!(envelope);
    insta::assert_snapshot!(receipt(&envelope));
    let first = receipt(&envelope)
        .lines()
        .next()
        .map(str::to_owned)
        .expect("a line");
    for said in ["task_1", "5 min 3 s", "nothing was started", "start_new"] {
        assert!(first.contains(said), "{first}");
    }
}

#[test]
fn only_a_stream_that_was_cut_names_its_file() {
    let mut long = output(CommandEnd::Exited { status: 0 }, "", "");
    long.stdout = filed("0123456789abcdefghij", "/o/task_1.log");
    long.stderr = filed("e", "/o/task_1.stderr.log");
    let cut = completed(&small(), &long);
    assert_eq!(
        (
            &result(&cut)["artifacts"],
            &result(&cut)["stdout_artifact"],
            result(&cut).get("stderr_artifact"),
        ),
        (&json!([{"path": "/o/task_1.log"}]), &json!(0), None)
    );
    assert!(refers_to_files(&cut));
    assert_eq!(
        crate::receipt::without_codes(&receipt(&cut)),
        "exit 0 (12 ms)\nstdout is cut here; all of it: /o/task_1.log\nstdout:\n0123456\n\
         [5 bytes, 1 line left out]\ncdefghij\nstderr:\ne"
    );
    let whole = completed(&command(), &long);
    assert_eq!(result(&whole)["artifacts"], json!([]));
    assert!(!refers_to_files(&whole));

    long.stderr = filed(&"e".repeat(40), "/o/task_1.stderr.log");
    let both = completed(&small(), &long);
    assert_eq!(
        (
            &result(&both)["stdout_artifact"],
            &result(&both)["stderr_artifact"]
        ),
        (&json!(0), &json!(1))
    );
    long.stdout.path = None;
    let one = completed(&small(), &long);
    assert_eq!(
        (
            result(&one).get("stdout_artifact"),
            &result(&one)["stderr_artifact"]
        ),
        (None, &json!(0))
    );
}

#[test]
fn a_file_that_lacks_something_is_not_called_all_of_it() {
    let mut long = output(CommandEnd::Exited { status: 0 }, "", "");
    long.stdout = CapturedStream {
        lacks: MissingOutput {
            bytes: 900,
            reason: Some("No space left on device".into()),
            missing: false,
        },
        ..filed("0123456789abcdefghij", "/o/task_1.log")
    };
    long.stderr = CapturedStream {
        lacks: MissingOutput {
            bytes: 7,
            ..MissingOutput::default()
        },
        ..filed("0123456789abcdefghij", "/o/task_1.stderr.log")
    };
    let text = receipt(&completed(&small(), &long));
    for said in [
        "stdout is cut here; its file lacks 900 bytes (No space left on device): /o/task_1.log\n",
        "stderr is cut here; its file lacks 7 bytes (there was more than a file may hold): /o/task_1.stderr.log\n",
    ] {
        assert!(text.contains(said), "{text}");
    }
    assert!(!text.contains("all of it"), "{text}");
}

#[test]
fn a_command_that_goes_on_is_read_on_from_where_its_preview_ends() {
    let mut running = so_far("building\n", "");
    running.stdout.total_bytes = 500;
    running.stdout.dropped_bytes = 0;
    running.stdout.unread_bytes = 491;
    let envelope = promoted(&command(), &handle(), &running);
    assert_eq!(result(&envelope)["next_offset"], 9);
}

#[test]
fn the_age_of_an_equal_command_counts_from_when_its_program_began() {
    let now = running().created_at.plus_millis(1_000);
    let began = running().created_at.plus_millis(500);
    let known = with_spec(|spec| spec.started_at = Some(began));
    for (task, age) in [(running(), 1_000), (known, 500)] {
        let envelope = already_running(&command(), &task, now);
        assert_eq!(result(&envelope)["running_for_ms"], age);
    }
}

#[test]
fn of_a_lost_command_the_last_words_and_the_way_to_run_it_again_are_read_whole() {
    let lost = |tail: &str| CommandFailure::Lost {
        reason: "nobody answers for it".into(),
        output_tail: tail.into(),
    };
    let there = ExecCommand {
        workdir: Some("sub".into()),
        ..command()
    };
    let read = |envelope: &ToolEnvelope| -> Value {
        serde_json::from_str(&receipt(envelope)).expect("one JSON document")
    };
    let shown = read(&failed(&there, &lost("step 1\nstep 2\n")));
    assert_eq!(
        shown["details"],
        json!({ "workdir": "sub", "run_again": there.cmd, "output_tail": "step 1\nstep 2\n" })
    );
    let long: String = (0..1_000).map(|n| format!("out {n}\n")).collect();
    let text = receipt(&failed(&command(), &lost(&long)));
    assert!(
        text.contains("out 999\\n\"") && text.len() < 6_000,
        "{}",
        text.len()
    );
    let huge = ExecCommand {
        cmd: "echo é".repeat(100_000),
        ..command()
    };
    let text = receipt(&failed(&huge, &lost("")));
    assert!(
        text.contains("(as in the call)") && text.len() < 2_000,
        "{text}"
    );
}

#[test]
fn an_error_or_a_small_result_refers_to_no_files() {
    assert!(!refers_to_files(&failed(
        &command(),
        &CommandFailure::Cancelled
    )));
    for result in [
        json!({}),
        json!([]),
        json!({"items": [{"artifacts": []}], "task": null}),
    ] {
        assert!(!refers_to_files(&ToolEnvelope::success("X", "x", result)));
    }
    for result in [
        json!({"artifacts": [{"path": "/a"}]}),
        json!({"items": [{}, {"artifacts": [{"path": "/a"}]}]}),
        json!({"task": {"artifacts": [{"path": "/a"}]}}),
    ] {
        assert!(refers_to_files(&ToolEnvelope::success("X", "x", result)));
    }
}

fn loaded(envelope: &ToolEnvelope) -> ToolEnvelope {
    let stored = serde_json::to_string(envelope).expect("serialises");
    serde_json::from_str(&stored).expect("loads")
}

proptest! {
    #[test]
    fn what_is_read_of_a_command_is_bounded_and_the_same_after_a_restart(
        stdout in "(?s)[a-zé漢🦀\n]{0,400}", stderr in "(?s)[a-zé漢🦀\n]{0,400}",
        cmd in "[ -~é\n]{1,600}", tokens in 1u32..100,
    ) {
        let asked = ExecCommand { cmd, max_output_tokens: Some(tokens), ..command() };
        let end = CommandEnd::Exited { status: 0 };
        for envelope in [
            completed(&asked, &output(end, &stdout, &stderr)),
            promoted(&asked, &handle(), &so_far(&stdout, &stderr)),
        ] {
            let text = receipt(&envelope);
            prop_assert_eq!(&receipt(&loaded(&envelope)), &text);
            prop_assert!(text.len() <= tokens as usize * 4 + 500, "{} for {tokens}", text.len());
            let kept = result(&envelope);
            let cut = kept.get("truncated").or_else(|| kept.get("initial_output_truncated"));
            let over = stdout.len() + stderr.len() > tokens as usize * 4;
            prop_assert_eq!(cut, Some(&Value::from(over)));
        }
    }
}
