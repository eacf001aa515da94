//! Calls about tasks: their interpretation, and the answers this crate writes.

use crate::command::result;
use holon_domain::agent::ProfilePreset::PublicNamed;
use holon_domain::authority::TrustLevel;
use holon_domain::intent::{Intent, TaskInput, TaskOutput};
use holon_domain::limits::{TASK_WAIT_MAX_MS, TASK_WAIT_MS, TASKS_PER_AGENT, TOOL_OUTPUT_TOKENS};
use holon_domain::task::{
    CommandTaskSpec, TaskKind, TaskListEntry, TaskRecord, TaskRecoverySpec, TaskStatus, WaitPolicy,
};
use holon_domain::tool::ToolEnvelope;
use holon_domain::{AgentId, CallId, TaskId, Timestamp};
use holon_tools::{interpret, receipt, task, task_input};
use serde_json::{Value, json};

/// A task that runs `cargo watch` and takes input.
pub(crate) fn running() -> TaskRecord {
    let spec = CommandTaskSpec {
        call_id: CallId::from_stored("call_1"),
        cmd: "cargo watch\n  -x test".into(),
        cmd_digest: "d1".into(),
        workdir: "/w/sub".into(),
        shell: None,
        login: false,
        tty: false,
        accepts_input: true,
        output_path: Some("/agents/main/task-output/task_1.log".into()),
        stderr_path: Some("/agents/main/task-output/task_1.stderr.log".into()),
        promoted_from_exec_command: true,
        batch_items: None,
        started_at: None,
        started_by_operator: false,
        starts_in: None,
        skills: None,
        continue_on_result: None,
    };
    TaskRecord {
        id: TaskId::from_stored("task_1"),
        agent_id: AgentId::parse("main").expect("a name"),
        kind: TaskKind::CommandTask,
        status: TaskStatus::Running,
        created_at: Timestamp::from_millis(1_000_000),
        updated_at: Timestamp::from_millis(1_000_000),
        parent_message_id: None,
        parent_message_seq: None,
        work_item_id: None,
        summary: Some("cargo watch -x test".into()),
        wait_policy: WaitPolicy::Background,
        terminal_reentry: true,
        recovery: Some(TaskRecoverySpec::CommandTask {
            summary: "cargo watch -x test".into(),
            spec: Box::new(spec),
            trust: TrustLevel::TrustedOperator,
        }),
        max_rounds: None,
        effect: Some(7),
        stop: None,
        end: None,
        ends_unread: 0,
        operator_inputs: 0,
    }
}

/// The same task with its command changed.
pub(crate) fn with_spec(change: impl FnOnce(&mut CommandTaskSpec)) -> TaskRecord {
    let mut task = running();
    match &mut task.recovery {
        Some(TaskRecoverySpec::CommandTask { spec, .. }) => change(spec),
        Some(
            TaskRecoverySpec::ChildAgentTask { .. }
            | TaskRecoverySpec::SubagentTask { .. }
            | TaskRecoverySpec::WorktreeSubagentTask { .. },
        )
        | None => panic!("a command"),
    }
    task
}

fn meant(tool: &str, input: &Value) -> Intent {
    interpret(tool, input, PublicNamed).expect("understood")
}

fn id() -> TaskId {
    TaskId::from_stored("task_1")
}

#[test]
fn a_task_is_named_by_its_id_whatever_stands_around_it() {
    assert_eq!(meant("TaskList", &json!({})), Intent::TaskList);
    for name in ["task_1", " task_1\n"] {
        let input = json!({"task_id": name});
        assert_eq!(
            meant("TaskStatus", &input),
            Intent::TaskStatus { task_id: id() }
        );
        assert_eq!(
            meant("TaskStop", &input),
            Intent::TaskStop { task_id: id() }
        );
    }
}

#[test]
fn input_is_written_as_it_is_and_may_be_nothing_but_its_end() {
    for (input, text, close_input) in [
        (
            json!({"task_id": "task_1", "input": "1 + 1\n"}),
            "1 + 1\n",
            false,
        ),
        (json!({"task_id": "task_1", "input": " "}), " ", false),
        (
            json!({"task_id": "task_1", "input": "\u{3}"}),
            "\u{3}",
            false,
        ),
        (
            json!({"task_id": "task_1", "input": "", "close_input": true}),
            "",
            true,
        ),
    ] {
        assert_eq!(
            meant("TaskInput", &input),
            Intent::TaskInput {
                task_id: id(),
                input: text.into(),
                close_input
            }
        );
    }
}

#[test]
fn a_look_waits_for_the_end_unless_it_asks_for_a_part() {
    let wait = |extra: Value| {
        let mut input = json!({"task_id": "task_1"});
        input
            .as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        match meant("TaskOutput", &input) {
            Intent::TaskOutput(look) => look.wait_ms,
            other => panic!("{other:?}"),
        }
    };
    for (extra, waits) in [
        (json!({}), Some(TASK_WAIT_MS)),
        (json!({"block": true}), Some(TASK_WAIT_MS)),
        (json!({"block": false}), None),
        (json!({"timeout_ms": 600_000}), Some(TASK_WAIT_MAX_MS)),
        (json!({"timeout_ms": 0}), None),
        (json!({"block": true, "timeout_ms": 0}), None),
        (json!({"block": false, "timeout_ms": 5}), None),
        (json!({"after_byte": 0}), None),
        (json!({"stderr_after_byte": 3}), None),
        (json!({"tail_lines": 5}), None),
        (json!({"after_byte": 3, "block": true}), Some(TASK_WAIT_MS)),
        (json!({"tail_lines": 5, "timeout_ms": 70}), Some(70)),
    ] {
        assert_eq!(wait(extra.clone()), waits, "{extra}");
    }
}

#[test]
fn a_look_keeps_what_it_asks_for() {
    let input = json!({
        "task_id": "task_1", "after_byte": 10, "stderr_after_byte": 20, "max_output_tokens": 70_000_000_000_u64,
    });
    assert_eq!(
        meant("TaskOutput", &input),
        Intent::TaskOutput(TaskOutput {
            task_id: id(),
            wait_ms: None,
            after_byte: Some(10),
            stderr_after_byte: Some(20),
            tail_lines: None,
            max_output_tokens: Some(u32::MAX),
        })
    );
}

fn written(close_input: bool) -> TaskInput {
    TaskInput {
        task_id: id(),
        number: 3,
        input: "1 + 1\n".into(),
        close_input,
        by_operator: false,
    }
}

#[test]
fn input_that_was_taken_is_confirmed_by_its_length_and_place() {
    let envelope = task_input::accepted(&running(), &written(false), 6);
    let kept = result(&envelope);
    assert_eq!(kept["task"], json!(running().status_snapshot()));
    assert_eq!(
        (
            &kept["accepted_input"],
            &kept["input_target"],
            &kept["bytes_written"]
        ),
        (&json!(true), &json!("stdin"), &json!(6))
    );
    assert_eq!(kept["summary_text"], envelope.summary_text);
    assert_eq!(
        receipt(&envelope),
        "wrote 6 bytes to the standard input of task task_1\nTaskOutput reads what it answers."
    );
    let terminal = with_spec(|spec| spec.tty = true);
    assert_eq!(
        receipt(&task_input::accepted(&terminal, &written(true), 6)),
        "wrote 6 bytes to the terminal of task task_1, which is closed now\nTaskOutput reads what it answers."
    );
}

#[test]
fn input_that_was_taken_and_not_closed_is_not_asked_for_again() {
    let envelope = task_input::not_closed(&running(), 6, "its supervisor does not answer");
    let kept = result(&envelope);
    assert_eq!(
        (&kept["accepted_input"], &kept["bytes_written"]),
        (&json!(true), &json!(6))
    );
    assert_eq!(
        receipt(&envelope),
        "wrote 6 bytes to the standard input of task task_1; it was not closed: its supervisor does not answer\n\
         TaskOutput reads what it answers."
    );
}

#[test]
fn input_that_was_not_taken_is_an_answer_with_a_reason() {
    let deaf = with_spec(|spec| spec.accepts_input = false);
    let envelope = task_input::refused(&deaf, "it was started without accepts_input");
    let kept = result(&envelope);
    assert_eq!(
        (
            &kept["accepted_input"],
            kept.get("input_target"),
            &kept["bytes_written"]
        ),
        (&json!(false), None, &json!(0))
    );
    assert_eq!(
        receipt(&envelope),
        "task task_1 (running) took no input: it was started without accepts_input"
    );
    let wordy = task_input::refused(&running(), &"é".repeat(100_000));
    assert!(receipt(&wordy).len() < 500);
}

#[test]
fn a_task_nobody_knows_is_answered_with_where_to_look() {
    for tool in ["TaskInput", "TaskOutput", "TaskStatus", "TaskStop"] {
        let envelope = task::unknown(tool, &TaskId::from_stored("task_\"x\""));
        let read: Value = serde_json::from_str(&receipt(&envelope)).expect("JSON");
        assert_eq!(
            (&read["tool_name"], &read["kind"], &read["field"]),
            (&json!(tool), &json!("unknown_task"), &json!("task_id"))
        );
        assert!(read["hint"].as_str().expect("a hint").contains("TaskList"));
    }
    let huge = task::unknown("TaskStop", &TaskId::from_stored("x".repeat(100_000)));
    assert!(serde_json::to_string(&huge).expect("serialises").len() < 1_000);
}

#[test]
fn a_list_of_tasks_reads_as_one_line_each_however_many_there_are() {
    let list = |tasks: Vec<TaskListEntry>| {
        let read = |result: Value| receipt(&ToolEnvelope::success("TaskList", "tasks", result));
        let text = read(json!(tasks));
        // Written in the form of the first builds.
        assert_eq!(read(json!({ "tasks": tasks })), text);
        text
    };
    assert_eq!(list(Vec::new()), "no task runs");
    assert_eq!(
        list(vec![running().list_entry()]),
        "1 task is not over\ntask_1 running since 1970-01-01T00:16:40.000Z: cargo watch -x test"
    );
    let long = TaskListEntry {
        id: TaskId::from_stored("task_0123456789abcdefghjk"),
        status: TaskStatus::Cancelling,
        summary: Some("é".repeat(120)),
        ..running().list_entry()
    };
    let most = list(vec![long; TASKS_PER_AGENT]);
    assert_eq!(most.lines().count(), TASKS_PER_AGENT + 1);
    assert!(
        most.len() <= TOOL_OUTPUT_TOKENS as usize * 4,
        "{}",
        most.len()
    );
}
