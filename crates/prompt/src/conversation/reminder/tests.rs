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

/// Plays a turn and returns its log with the reminders that its requests held, as the answers to them are committed.
fn play(
    item: Option<&str>,
    entries: &[LogEntry],
    terms: ReminderTerms,
    room: usize,
) -> (Vec<usize>, Vec<Arc<LogEntry>>) {
    let mut log: Vec<Arc<LogEntry>> = Vec::new();
    let mut found = Vec::new();
    let is_pick = |entry: &LogEntry| matches!(entry, LogEntry::ToolResult { envelope, .. } if envelope.tool_name == "PickWorkItem");
    // The turn is about a picked item from the pick on; it had none before.
    let picks_later = entries.iter().any(is_pick);
    let ends = entries.iter().map(Some).chain([None]);
    for (place, entry) in ends.enumerate() {
        if matches!(entry, Some(LogEntry::AssistantRound { .. }) | None)
            && let bound = item.filter(|_| !picks_later || log.iter().any(|entry| is_pick(entry)))
            && let Some(text) = Reminder::new(terms, &turn(bound), &log, None).take(room)
        {
            found.push(place);
            let reason = StaleReminder::LOG_REASON.to_owned();
            log.push(Arc::new(LogEntry::ContinuationPrompt { text, reason }));
        }
        log.extend(entry.cloned().map(Arc::new));
    }
    (found, log)
}

/// Numbers of the entries after which a reminder stands, counted from 1.
fn places(
    item: Option<&str>,
    entries: &[LogEntry],
    terms: ReminderTerms,
    room: usize,
) -> Vec<usize> {
    play(item, entries, terms, room).0
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
    newest_under(TERMS, entries, room)
}

fn newest_under(terms: ReminderTerms, entries: &[LogEntry], room: usize) -> Option<StaleReminder> {
    let (_, mut log) = play(Some("work_1"), entries, terms, room);
    // The last request is built from the log before its answer.
    let is_reminder =
        |entry: &Arc<LogEntry>| matches!(**entry, LogEntry::ContinuationPrompt { .. });
    if log.last().is_some_and(is_reminder) {
        log.pop();
    }
    let mut reminder = Reminder::new(terms, &turn(Some("work_1")), &log, None);
    reminder.take(room);
    reminder.into_newest()
}

#[test]
fn a_reminder_is_new_in_one_request_only_and_one_without_room_is_told_as_skipped() {
    let due = usize::try_from(TERMS.rounds).unwrap();
    assert_eq!(newest(&rounds(due - 1), 10_000), None);
    let first = newest(&rounds(due), 10_000).expect("a reminder");
    assert_eq!(
        (first.rounds_since_update, first.skipped),
        (TERMS.rounds, None)
    );
    assert_eq!(
        newest(&rounds(due + 1), 10_000),
        None,
        "it stands in an earlier place"
    );
    let skipped = newest(&rounds(due), 0).expect("a reminder");
    assert_eq!(skipped.skipped, Some(ReminderSkip::OverBudget));
    let terms = ReminderTerms {
        max_tokens: 1,
        ..TERMS
    };
    let skipped = newest_under(terms, &rounds(due), 10_000).expect("a reminder");
    assert_eq!(skipped.skipped, Some(ReminderSkip::OverLimit));
}

fn item(todos: usize) -> WorkItemRecord {
    let todo = |number: usize| json!({"text": format!("step {number}"), "state": "pending"});
    let mut list = vec![json!({"text": "the step that is done", "state": "completed"})];
    list.extend((0..todos).map(todo));
    serde_json::from_value(json!({
        "id": "work_1", "agent_id": "main", "workspace_id": "agent_home",
        "objective": "Migrate every module\nand stop", "state": "open", "plan_status": "ready",
        "todo_list": list, "blocked_by": "the review of PR 7",
        "provenance": {"authority": "operator_instruction"}, "revision": 3,
        "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
    }))
    .expect("an item")
}

#[test]
fn a_reminder_shows_the_objective_the_blocker_and_the_open_steps_within_its_bound() {
    let log: Vec<Arc<LogEntry>> = rounds(3).into_iter().map(Arc::new).collect();
    let taken = |row: &WorkItemRecord| {
        let mut reminder = Reminder::new(TERMS, &turn(Some("work_1")), &log, Some(row));
        reminder.take(10_000).expect("a reminder")
    };
    let text = taken(&item(2));
    for line in [
        "objective: Migrate every module\\u{a}and stop",
        "plan_status: ready (no plan file yet)",
        "blocked_by: the review of PR 7",
        "- [ ] step 0",
        "- [ ] step 1",
    ] {
        assert!(text.lines().any(|shown| shown == line), "{line}: {text}");
    }
    assert!(!text.contains("the step that is done"), "{text}");
    let many = taken(&item(500));
    assert!(
        many.contains("blocked_by") && many.contains("step 7"),
        "{many}"
    );
    let most = usize::try_from(TERMS.max_tokens).unwrap();
    assert!(text::estimate_tokens(&many) <= most, "{many}");
}
