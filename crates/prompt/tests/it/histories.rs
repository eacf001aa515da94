//! Properties of conversations over generated turns.

use crate::fixture::{operator, task_result};
use crate::long_turn::{Turn, assert_paired, command, queued, texts, tokens};
use holon_domain::message::MessageEnvelope;
use holon_domain::text;
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind};
use holon_prompt::interjection_text;
use proptest::prelude::*;
use serde_json::{Value, json};

/// An event of a generated turn.
#[derive(Debug, Clone)]
enum Step {
    Round {
        words: usize,
        results: Vec<CallResult>,
    },
    /// Messages that wait for the next request.
    Queued(Vec<Message>),
}

#[derive(Debug, Clone)]
enum Message {
    Operator(String),
    TaskEnd(String),
}

/// The result of a call, in the shape in which a tool stores it.
#[derive(Debug, Clone)]
enum CallResult {
    Command { stdout: usize, stderr: String },
    Batch(Vec<usize>),
    Patch(usize),
    WorkItem { number: u8, tool: &'static str },
    Failure,
}

fn call_result() -> impl Strategy<Value = CallResult> {
    let work = prop_oneof![
        Just("CreateWorkItem"),
        Just("PickWorkItem"),
        Just("UpdateWorkItem"),
        Just("CompleteWorkItem"),
    ];
    prop_oneof![
        5 => (0..9_000_usize, "[a-z \\n]{0,40}")
            .prop_map(|(stdout, stderr)| CallResult::Command { stdout, stderr }),
        1 => prop::collection::vec(0..2_000_usize, 1..5).prop_map(CallResult::Batch),
        1 => (1..40_usize).prop_map(CallResult::Patch),
        2 => (0..6_u8, work).prop_map(|(number, tool)| CallResult::WorkItem { number, tool }),
        1 => Just(CallResult::Failure),
    ]
}

fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        "[a-zA-Z \\n漢字]{1,60}".prop_map(Message::Operator),
        "[a-zA-Z \\n>=|]{0,80}".prop_map(Message::TaskEnd),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (0..400_usize, prop::collection::vec(call_result(), 1..4))
            .prop_map(|(words, results)| Step::Round { words, results }),
        1 => prop::collection::vec(message(), 1..3).prop_map(Step::Queued),
    ]
}

fn envelope(result: &CallResult) -> ToolEnvelope {
    let lines = |bytes: usize| "abc ".repeat(bytes / 4);
    match result {
        CallResult::Command { stdout, stderr } => command(&lines(*stdout), stderr),
        CallResult::Batch(outputs) => {
            let items: Vec<Value> = outputs
                .iter()
                .enumerate()
                .map(|(place, bytes)| batch_item(place + 1, &lines(*bytes)))
                .collect();
            let result = json!({"items": items, "stop_on_error": false, "completed_count": items.len(),
                "failed_count": 0, "skipped_count": 0});
            ToolEnvelope::success("ExecCommandBatch", "all ran", result)
        }
        CallResult::Patch(files) => {
            let files: Vec<Value> = (0..*files)
                .map(|n| json!({"path": format!("src/f{n}.rs")}))
                .collect();
            ToolEnvelope::success("ApplyPatch", "patched", json!({"changed_files": files}))
        }
        CallResult::WorkItem { number, tool } => {
            let id = format!("work_{number}");
            let result = json!({"work_item": {"id": id}, "current_work_item_id": id});
            ToolEnvelope::success(*tool, format!("work item {id}"), result)
        }
        CallResult::Failure => {
            let error = ToolError::new(ToolErrorKind::ToolExecutionFailed, "no");
            ToolEnvelope::failure("ExecCommand", error)
        }
    }
}

fn batch_item(index: usize, stdout: &str) -> Value {
    json!({
        "index": index, "cmd": "make", "status": "completed", "exit_status": 0, "duration_ms": 2,
        "stdout_preview": stdout, "stderr_preview": "", "truncated": false,
        "artifacts": [{"path": format!("/out/{index}.log")}],
    })
}

fn to_envelope(number: u32, message: &Message) -> MessageEnvelope {
    match message {
        Message::Operator(words) => operator(number, words),
        Message::TaskEnd(words) => task_result(number, words),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn every_history_keeps_its_pins_and_its_pairs(
        steps in prop::collection::vec(step(), 1..30),
        room in 200..30_000_usize,
    ) {
        let mut turn = Turn::new();
        let mut pins: Vec<String> = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            let number = u32::try_from(number).unwrap() * 10;
            match step {
                Step::Round { words, results } => {
                    turn.round_of(&"w ".repeat(words), results.iter().map(envelope).collect());
                }
                Step::Queued(messages) => {
                    for (message, number) in messages.iter().zip(number..) {
                        let envelope = to_envelope(number, message);
                        if matches!(message, Message::Operator(_)) {
                            pins.push(interjection_text(&envelope));
                        }
                        turn.queued.push(queued(u64::from(number), envelope));
                    }
                    continue;
                }
            }
            check(&mut turn, &pins, room)?;
        }
    }
}

/// Checks the next request of a turn and commits its answer.
fn check(turn: &mut Turn, pins: &[String], room: usize) -> Result<(), TestCaseError> {
    let built = turn.built(room);
    assert_paired(&built.items);
    let shown = texts(&built.items);
    for pin in pins {
        prop_assert_eq!(shown.matches(pin.as_str()).count().min(1), 1);
    }
    let newest = format!("call_{}_0", turn.rounds);
    prop_assert!(shown.contains(&newest), "the newest round is shown");
    let pinned: usize = pins.iter().map(|pin| text::estimate_tokens(pin)).sum();
    let bound = room.max(FLOOR_TOKENS) + pinned + NEWEST_TOKENS;
    let size = tokens(&built.items);
    prop_assert_eq!(built.tokens, size);
    prop_assert!(size <= bound, "{size} of {room}");
    let is_new = turn.queued.is_empty();
    turn.commit(&built);
    if is_new {
        prop_assert_eq!(&turn.built(room).items, &built.items);
    }
    Ok(())
}

/// Smallest conversation that folding aims at: a recap with its head.
const FLOOR_TOKENS: usize = 1_000;
/// Largest part of the newest round that cannot be shortened: its own words and calls, and shortened results.
const NEWEST_TOKENS: usize = 2_000;

/// Number of generated turns, each with some dozen requests. `HOLON_HISTORIES` sets another for a long run.
#[expect(
    clippy::disallowed_methods,
    reason = "the size of a long run, read by a test"
)]
fn cases() -> u32 {
    let asked = std::env::var("HOLON_HISTORIES").ok();
    asked.and_then(|number| number.parse().ok()).unwrap_or(400)
}
