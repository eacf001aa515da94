//! The places of reminders in the log of a turn.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use super::*;
use holon_domain::attempt::TokenUsage;
use holon_domain::model::StopReason;
use serde_json::json;
use std::sync::Arc;

const TERMS: ReminderTerms = ReminderTerms {
    rounds: 3,
    cooldown_rounds: 2,
    max_tokens: 512,
};

fn turn(item: Option<&str>) -> OpenTurn {
    serde_json::from_value(json!({
        "run_id": "run_1", "turn_index": 1, "message_seq": 1, "message_id": "msg_1",
        "message_kind": "operator_prompt", "authority": "operator_instruction",
        "started_at": "2026-01-01T00:00:00Z",
        "workspace": holon_domain::workspace::WorkspaceEntry::agent_home("/home"),
        "first_entry": 1, "rounds": 0, "max_rounds": 10, "usage": TokenUsage::new(0, 0),
        "phase": "calling_model", "effect": 1, "work_item_id": item,
    }))
    .expect("a turn")
}

fn round() -> LogEntry {
    LogEntry::AssistantRound {
        round: 1,
        blocks: Arc::default(),
        intents: Arc::default(),
        stop_reason: StopReason::ToolUse,
        usage: TokenUsage::new(1, 1),
        tries: serde_json::from_value(json!({
            "model_ref": "a/b", "started_at": "2026-01-01T00:00:00Z", "duration_ms": 1,
        }))
        .expect("tries"),
    }
}

fn result(tool: &str, result: Value) -> LogEntry {
    LogEntry::ToolResult {
        round: 1,
        call_id: serde_json::from_value(json!("call_1")).expect("an id"),
        envelope: ToolEnvelope::success(tool, "done", result),
        duration_ms: 1,
    }
}

fn looked() -> LogEntry {
    result("AgentGet", json!({}))
}

/// Numbers of the entries after which a reminder stands, counted from 1.
fn places(
    item: Option<&str>,
    entries: &[LogEntry],
    terms: ReminderTerms,
    room: usize,
) -> Vec<usize> {
    let entries: Vec<Arc<LogEntry>> = entries.iter().cloned().map(Arc::new).collect();
    let mut reminder = Reminder::new(terms, &turn(item), &entries, room);
    let mut found = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        if reminder.take_before(entry).is_some() {
            found.push(place);
        }
    }
    if reminder.take_at_end().is_some() {
        found.push(entries.len());
    }
    found
}

fn rounds(count: usize) -> Vec<LogEntry> {
    (0..count).flat_map(|_| [round(), looked()]).collect()
}

#[test]
fn a_reminder_comes_after_so_many_rounds_and_again_after_the_pause() {
    for (count, expected) in [
        (2, vec![]),
        (3, vec![6]),
        (4, vec![6]),
        (5, vec![6, 10]),
        (8, vec![6, 10, 14]),
    ] {
        assert_eq!(
            places(Some("work_1"), &rounds(count), TERMS, 10_000),
            expected,
            "{count}"
        );
    }
}

#[test]
fn its_place_does_not_change_when_the_turn_goes_on() {
    let mut entries = rounds(3);
    assert_eq!(places(Some("work_1"), &entries, TERMS, 10_000), [6]);
    entries.push(LogEntry::ContinuationPrompt {
        text: "go on".to_owned(),
        reason: "cut off".to_owned(),
    });
    entries.extend(rounds(1));
    assert_eq!(
        places(Some("work_1"), &entries, TERMS, 10_000),
        [6],
        "before what entered later"
    );
}

#[test]
fn a_change_of_an_item_begins_the_count_anew() {
    let mut entries = rounds(2);
    entries.extend([round(), result("UpdateWorkItem", json!({}))]);
    entries.extend(rounds(2));
    assert_eq!(places(Some("work_1"), &entries, TERMS, 10_000), [0; 0]);
    entries.extend(rounds(1));
    assert_eq!(places(Some("work_1"), &entries, TERMS, 10_000), [12]);
}

#[test]
fn without_an_item_or_after_its_completion_there_is_none() {
    assert_eq!(places(None, &rounds(9), TERMS, 10_000), [0; 0]);
    let completed = result("CompleteWorkItem", json!({"work_item": {"id": "work_1"}}));
    let mut entries = vec![round(), completed];
    entries.extend(rounds(9));
    assert_eq!(places(Some("work_1"), &entries, TERMS, 10_000), [0; 0]);
    let picked = result("PickWorkItem", json!({"current_work_item_id": "work_2"}));
    let mut entries = rounds(5);
    entries.extend([round(), picked]);
    entries.extend(rounds(3));
    // The turn is about the picked item from now on; it had none before the pick.
    assert_eq!(places(Some("work_2"), &entries, TERMS, 10_000), [18]);
}

#[test]
fn one_that_is_off_too_long_or_without_room_is_left_out() {
    let off = ReminderTerms { rounds: 0, ..TERMS };
    let long = ReminderTerms {
        max_tokens: 1,
        ..TERMS
    };
    for (terms, room) in [(off, 10_000), (long, 10_000), (TERMS, 5)] {
        assert_eq!(
            places(Some("work_1"), &rounds(9), terms, room),
            [0; 0],
            "{terms:?}"
        );
    }
}

/// The reminder that a request with these entries is the first to hold.
fn newest(entries: &[LogEntry], room: usize) -> Option<StaleReminder> {
    let entries: Vec<Arc<LogEntry>> = entries.iter().cloned().map(Arc::new).collect();
    let mut reminder = Reminder::new(TERMS, &turn(Some("work_1")), &entries, room);
    for entry in &entries {
        reminder.take_before(entry);
    }
    reminder.take_at_end();
    reminder.into_newest()
}

#[test]
fn a_reminder_is_new_in_one_request_only_and_one_without_room_is_told_as_skipped() {
    let due = usize::try_from(TERMS.rounds).unwrap();
    assert_eq!(newest(&rounds(due - 1), 10_000), None);
    let first = newest(&rounds(due), 10_000).expect("a reminder");
    assert_eq!(
        (first.rounds_since_update, first.skipped),
        (TERMS.rounds, false)
    );
    assert_eq!(
        newest(&rounds(due + 1), 10_000),
        None,
        "it stands in an earlier place"
    );
    let skipped = newest(&rounds(due), 0).expect("a reminder");
    assert!(skipped.skipped);
}
