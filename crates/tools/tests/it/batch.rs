//! Batches: interpretation of calls, stored results and receipts.

use crate::command::{output, result, stream};
use holon_domain::agent::ProfilePreset::PublicNamed;
use holon_domain::command::{CapturedStream, CommandEnd, CommandFailure};
use holon_domain::intent::{
    BatchItem, DuplicatePolicy, ExecCommand, ExecCommandBatch, HostAction, Intent,
};
use holon_domain::limits::{BATCH_COMMAND_MS, TOOL_OUTPUT_TOKENS};
use holon_domain::tool::ToolErrorKind;
use holon_tools::exec_command_batch::{ItemOutcome, commands_run, completed};
use holon_tools::{interpret, item_refers_to_files, receipt, refers_to_files};
use proptest::prelude::*;
use serde_json::{Value, json};

fn command(cmd: &str) -> ExecCommand {
    ExecCommand {
        cmd: cmd.into(),
        workdir: None,
        shell: None,
        login: false,
        tty: false,
        accepts_input: false,
        duplicate_policy: DuplicatePolicy::default(),
        yield_time_ms: BATCH_COMMAND_MS,
        max_output_tokens: None,
    }
}

fn batch(cmds: &[&str]) -> ExecCommandBatch {
    ExecCommandBatch {
        items: cmds
            .iter()
            .map(|cmd| BatchItem::Command(command(cmd)))
            .collect(),
        stop_on_error: true,
    }
}

fn meant(input: &Value) -> ExecCommandBatch {
    match interpret("ExecCommandBatch", input, PublicNamed).expect("understood") {
        Intent::Host(HostAction::ExecCommandBatch(batch)) => batch,
        other => panic!("{other:?}"),
    }
}

fn ran(end: CommandEnd, stdout: &str, stderr: &str) -> ItemOutcome {
    ItemOutcome::Ran(output(end, stdout, stderr))
}

const OK: CommandEnd = CommandEnd::Exited { status: 0 };

#[test]
fn each_command_of_a_batch_has_its_own_place_and_time() {
    let asked = json!({
        "items": [
            {"cmd": "ls"},
            {"cmd": "make", "workdir": "sub", "shell": "bash", "login": true, "timeout_ms": 5, "max_output_tokens": 9},
            {"cmd": "older", "yield_time_ms": 7, "tty": null, "timeout_ms": null},
        ],
        "stop_on_error": true,
    });
    assert_eq!(
        meant(&asked),
        ExecCommandBatch {
            items: vec![
                BatchItem::Command(command("ls")),
                BatchItem::Command(ExecCommand {
                    workdir: Some("sub".into()),
                    shell: Some("bash".into()),
                    login: true,
                    yield_time_ms: 5,
                    max_output_tokens: Some(9),
                    ..command("make")
                }),
                BatchItem::Command(ExecCommand {
                    yield_time_ms: 7,
                    ..command("older")
                }),
            ],
            stop_on_error: true,
        }
    );
    assert!(!meant(&json!({"items": [{"cmd": "ls"}]})).stop_on_error);
}

#[test]
fn a_bad_item_fails_by_itself_and_the_others_are_run() {
    let bad = json!({"cmd": "top", "tty": true});
    let asked = meant(&json!({"items": [{"cmd": "ls"}, bad, "pwd"]}));
    let rejected: Vec<(usize, &str, ToolErrorKind)> = asked
        .items
        .iter()
        .enumerate()
        .filter_map(|(place, item)| match item {
            BatchItem::Rejected(item) => Some((place, item.written.as_str(), item.error.kind)),
            BatchItem::Command(_) => None,
        })
        .collect();
    assert_eq!(
        rejected,
        [
            (1, "top", ToolErrorKind::UnsupportedBatchCommandField),
            (2, "pwd", ToolErrorKind::InvalidToolInput),
        ]
    );
    let outcome = |item: &BatchItem| match item {
        BatchItem::Command(_) => ran(OK, "here\n", ""),
        BatchItem::Rejected(item) => ItemOutcome::Rejected(item.error.clone()),
    };
    let outcomes: Vec<ItemOutcome> = asked.items.iter().map(outcome).collect();
    let envelope = completed(&asked, &outcomes);
    let told = result(&envelope);
    assert_eq!(
        (
            &told["completed_count"],
            &told["failed_count"],
            &told["rejected_count"]
        ),
        (&json!(1), &json!(2), &json!(2))
    );
    assert_eq!(told["items"][1]["status"], "failed");
    let text = receipt(&envelope);
    assert!(
        text.contains("[2] top\nnot run, unsupported_batch_command_field: item 2 of"),
        "{text}"
    );
    let stored = serde_json::to_value(&asked).expect("serialises");
    assert_eq!(
        serde_json::from_value::<ExecCommandBatch>(stored).expect("reads"),
        asked
    );
}

#[test]
fn an_item_fails_when_it_did_not_end_well_by_itself() {
    let failures = [
        ran(CommandEnd::Exited { status: 1 }, "", ""),
        ran(CommandEnd::Signalled { signal: 9 }, "", ""),
        ran(CommandEnd::TimedOut, "", ""),
        ItemOutcome::NotRun(CommandFailure::Cancelled),
    ];
    assert!(failures.iter().all(ItemOutcome::failed));
    assert!(!ran(OK, "", "").failed() && !ItemOutcome::Skipped.failed());
}

/// A batch with every possible outcome.
fn eventful() -> (ExecCommandBatch, Vec<ItemOutcome>) {
    let cmds = [
        "echo hi\n  there",
        "false",
        "sleep 200",
        "crash",
        "cd gone",
        "deploy",
        "true",
        "never",
    ];
    let mut left = output(OK, "hi\n", "");
    left.leftovers = 2;
    let outcomes = vec![
        ItemOutcome::Ran(left),
        ran(CommandEnd::Exited { status: 1 }, "", "no\n"),
        ran(CommandEnd::TimedOut, "step 1\n", ""),
        ran(CommandEnd::Signalled { signal: 11 }, "", ""),
        ItemOutcome::NotRun(CommandFailure::MissingWorkdir {
            workdir: "gone".into(),
        }),
        ItemOutcome::NotRun(CommandFailure::Lost {
            reason: "nobody answers for it".into(),
            output_tail: "uploading\n".into(),
        }),
        ItemOutcome::Skipped,
    ];
    (batch(&cmds), outcomes)
}

#[test]
fn a_batch_is_kept_item_by_item_whatever_became_of_each() {
    let (batch, outcomes) = eventful();
    insta::assert_json_snapshot!(completed(&batch, &outcomes));
}

#[test]
fn only_items_that_were_begun_count_as_commands_that_ran() {
    let (batch, outcomes) = eventful();
    let ran = commands_run(&completed(&batch, &outcomes));
    assert_eq!(ran, 5, "four came to an end, one was lost");
}

#[test]
fn a_batch_reads_as_a_count_and_numbered_items() {
    let (batch, outcomes) = eventful();
    insta::assert_snapshot!(receipt(&completed(&batch, &outcomes)));
}

#[test]
fn a_batch_in_which_all_went_well_says_so_first() {
    let text = receipt(&completed(
        &batch(&["a", "b"]),
        &[ran(OK, "", ""), ran(OK, "x\n", "")],
    ));
    assert_eq!(
        crate::receipt::without_codes(&text),
        "2/2 items completed\n[1] a\nexit=0 (12 ms)\n[2] b\nexit=0 (12 ms)\nstdout:\nx"
    );
}

#[test]
fn a_loud_item_gets_what_the_quiet_ones_leave_but_no_more_than_its_own_budget() {
    let loud = "x".repeat(200_000);
    let shown = |index: usize, outcomes: &[ItemOutcome]| {
        let cmds = vec!["c"; outcomes.len()];
        let envelope = completed(&batch(&cmds), outcomes);
        let preview = result(&envelope)["items"][index]["stdout_preview"].clone();
        preview.as_str().expect("text").matches('x').count()
    };
    let budget = TOOL_OUTPUT_TOKENS as usize * 4;
    assert_eq!(
        shown(0, &[ran(OK, &loud, ""), ran(OK, "quiet", "")]),
        budget
    );
    let all_loud = vec![ran(OK, &loud, ""); 8];
    assert_eq!(shown(7, &all_loud), 2 * budget / 8);
}

#[test]
fn an_item_that_was_cut_names_its_file() {
    let small = ExecCommandBatch {
        items: vec![BatchItem::Command(ExecCommand {
            max_output_tokens: Some(2),
            ..command("seq 9")
        })],
        stop_on_error: false,
    };
    let mut long = output(OK, "", "");
    long.stdout = CapturedStream {
        path: Some("/o/task_1-1.log".into()),
        ..stream("123456789abcdef")
    };
    let envelope = completed(&small, &[ItemOutcome::Ran(long)]);
    let item = &result(&envelope)["items"][0];
    assert_eq!(
        (
            &item["truncated"],
            &item["artifacts"],
            &item["stdout_artifact"]
        ),
        (
            &json!(true),
            &json!([{"path": "/o/task_1-1.log"}]),
            &json!(0)
        )
    );
    assert!(refers_to_files(&envelope));
    assert!(receipt(&envelope).contains("stdout is cut here; all of it: /o/task_1-1.log"));
}

#[test]
fn the_output_of_a_lost_item_is_kept_and_that_of_the_others_is_not() {
    let lost = CommandFailure::Lost {
        reason: "nobody answers for it".into(),
        output_tail: "uploading\n".into(),
    };
    let outcomes = [ran(OK, "hi\n", ""), ItemOutcome::NotRun(lost)];
    let envelope = completed(&batch(&["ls", "deploy", "never"]), &outcomes);
    assert!(refers_to_files(&envelope));
    let kept = [0, 1, 2, 3, 4].map(|number| item_refers_to_files(&envelope, number));
    assert_eq!(kept, [false, false, true, false, false]);
}

#[test]
fn an_item_that_was_never_started_says_so_and_why() {
    let failing = || ran(CommandEnd::Exited { status: 1 }, "", "");
    let spawn = CommandFailure::Spawn {
        reason: "no such shell".into(),
    };
    let reads = |stop_on_error: bool, outcomes: &[ItemOutcome]| {
        let batch = ExecCommandBatch {
            stop_on_error,
            ..batch(&["a", "b", "c"])
        };
        let text = receipt(&completed(&batch, outcomes));
        text.lines().last().expect("a line").to_owned()
    };
    let skipped = [ran(OK, "", ""), failing(), ItemOutcome::Skipped];
    assert_eq!(
        reads(true, &skipped),
        "not run: item 2 failed, and stop_on_error skips what follows"
    );
    assert_eq!(
        reads(false, &[failing()]),
        "not run: the batch was interrupted before it"
    );
    assert_eq!(
        reads(true, &[ran(OK, "", "")]),
        "not run: the batch was interrupted before it"
    );
    let not_started = [ran(OK, "", ""), ran(OK, "", ""), ItemOutcome::NotRun(spawn)];
    let text = reads(true, &not_started);
    assert!(
        text.starts_with("not run, command_spawn_failed: "),
        "{text}"
    );
}

proptest! {
    #[test]
    fn the_boundaries_of_a_batch_survive_any_cut(
        outputs in prop::collection::vec(("(?s)[a-zé漢🦀\n]{0,300}", 1u32..60), 1..=12),
    ) {
        let items = outputs.iter().enumerate().map(|(n, (_, tokens))| ExecCommand {
            max_output_tokens: Some(*tokens),
            ..command(&format!("step {n}"))
        });
        let asked = ExecCommandBatch { items: items.map(BatchItem::Command).collect(), stop_on_error: false };
        let outcomes: Vec<_> = outputs.iter().map(|(text, _)| ran(OK, text, text)).collect();
        let text = receipt(&completed(&asked, &outcomes));
        let mut rest = text.as_str();
        for n in 0..outputs.len() {
            let boundary = format!("\n[{}] step {n}\nexit=0 (12 ms)", n + 1);
            let (_, after) = rest.split_once(&boundary).expect("each item has its place");
            rest = after;
        }
        let largest = outputs.iter().map(|(_, tokens)| *tokens as usize * 4).max().expect("some");
        // Beside the output there is a header, and for each item its lines, stream names with codes, and markers.
        prop_assert!(text.len() <= largest * 2 + 40 + outputs.len() * 260, "{}", text.len());
    }
}
