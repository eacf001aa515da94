//! Refused arguments: each error names the mistake, its position and the next step.

use holon_domain::agent::ProfilePreset::PublicNamed;
use holon_domain::limits::TASK_INPUT_BYTES;
use holon_tools::interpret;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Breaks every rule of the tools that run commands or are about tasks, once each.
fn broken() -> Vec<(&'static str, Value)> {
    let exec = |extra: Value| {
        let mut input = json!({"cmd": "ls"});
        input
            .as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        ("ExecCommand", input)
    };
    let item = |item: Value| ("ExecCommandBatch", json!({"items": [item]}));
    let look = |extra: Value| {
        let mut input = json!({"task_id": "task_1"});
        input
            .as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        ("TaskOutput", input)
    };
    vec![
        ("ExecCommand", json!({})),
        ("ExecCommand", json!({"cmd": " "})),
        ("ExecCommand", json!({"cmd": "a\0b"})),
        exec(json!({"workdir": "a\0"})),
        exec(json!({"shell": "\0"})),
        exec(json!({"tty": "yes"})),
        exec(json!({"accepts_input": 1})),
        exec(json!({"yield_time_ms": 600_001})),
        exec(json!({"yield_time_ms": -1})),
        exec(json!({"max_output_tokens": 0})),
        exec(json!({"duplicate_policy": "never"})),
        exec(json!({"timeout": 5})),
        ("ExecCommandBatch", json!({})),
        ("ExecCommandBatch", json!({"items": []})),
        (
            "ExecCommandBatch",
            json!({"items": vec![json!({"cmd": "true"}); 13]}),
        ),
        ("ExecCommandBatch", json!({"items": "ls"})),
        (
            "ExecCommandBatch",
            json!({"items": [{"cmd": "ls"}], "stop_on_error": "yes"}),
        ),
        item(json!("ls")),
        item(json!(["ls"])),
        item(json!({})),
        item(json!({"cmd": ""})),
        item(json!({"cmd": "a\0b"})),
        item(json!({"cmd": 7})),
        item(json!({"cmd": "ls", "workdir": "\0"})),
        item(json!({"cmd": "top", "tty": true})),
        item(json!({"cmd": "cat", "accepts_input": false})),
        item(json!({"cmd": "ls", "timeout_ms": 0})),
        item(json!({"cmd": "ls", "timeout_ms": 600_001})),
        item(json!({"cmd": "ls", "timeout_ms": 5, "yield_time_ms": 5})),
        item(json!({"cmd": "ls", "max_output_tokens": 0})),
        item(json!({"cmd": "ls", "duplicate_policy": "start_new"})),
        ("TaskList", json!({"status": "running"})),
        ("TaskStatus", json!({})),
        ("TaskStatus", json!({"task_id": " "})),
        ("TaskStop", json!({"task_id": "task_1", "force": true})),
        ("TaskInput", json!({"task_id": "task_1"})),
        ("TaskInput", json!({"task_id": "task_1", "input": ""})),
        ("TaskInput", json!({"task_id": "", "input": "x"})),
        (
            "TaskInput",
            json!({"task_id": "task_1", "input": "x", "close_input": "no"}),
        ),
        look(json!({"timeout_ms": 600_001})),
        look(json!({"block": "yes"})),
        look(json!({"after_byte": -1})),
        look(json!({"after_byte": 5, "tail_lines": 5})),
        look(json!({"stderr_after_byte": 5, "tail_lines": 5})),
        look(json!({"tail_lines": 0})),
        look(json!({"max_output_tokens": 0})),
        look(json!({"offset": 3})),
    ]
}

#[test]
fn every_refusal_says_what_is_wrong_and_what_to_do() {
    let mut table = String::new();
    for (tool, input) in broken() {
        let error = interpret(tool, &input, PublicNamed).expect_err("refused");
        let details = error.details.expect("details");
        assert_eq!(details["tool_name"], tool);
        writeln!(
            table,
            "{tool} {input}\n  {}: {}\n  field {}, item {}\n  hint: {}\n",
            error.kind,
            error.message,
            details["field"],
            details["item"],
            error.recovery_hint.expect("a hint"),
        )
        .unwrap();
    }
    insta::assert_snapshot!(table);
}

#[test]
fn more_input_than_one_call_may_write_is_refused_by_its_length() {
    let over = "é".repeat(TASK_INPUT_BYTES / 2) + "x";
    let error = interpret(
        "TaskInput",
        &json!({"task_id": "task_1", "input": over}),
        PublicNamed,
    )
    .expect_err("refused");
    assert!(error.message.contains("65537 bytes"), "{error}");
    assert!(
        error
            .recovery_hint
            .expect("a hint")
            .contains("several calls")
    );
    let full = "x".repeat(TASK_INPUT_BYTES);
    interpret(
        "TaskInput",
        &json!({"task_id": "task_1", "input": full}),
        PublicNamed,
    )
    .expect("as much as one call may");
}

#[test]
fn a_huge_wrong_argument_of_an_item_is_not_echoed_whole() {
    let huge = "x".repeat(100_000);
    for (tool, input) in [
        (
            "ExecCommandBatch",
            json!({"items": [{"cmd": "ls", huge.clone(): 1}]}),
        ),
        (
            "ExecCommandBatch",
            json!({"items": [{"cmd": "ls", "login": huge}]}),
        ),
        ("TaskOutput", json!({"task_id": huge, "tail_lines": 0})),
    ] {
        let error = interpret(tool, &input, PublicNamed).expect_err("refused");
        assert!(serde_json::to_string(&error).expect("serialises").len() < 2_000);
    }
}
