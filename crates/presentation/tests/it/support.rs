//! Events from JSON, and sequences of them.

use holon_domain::event::Event;
use holon_domain::feed::EventRecord;
use holon_domain::time::Timestamp;
use holon_presentation::{DisplayMode, Item, Reducer};
use serde_json::{Value, json};

/// Stored events of every kind, as the store's own tests read them.
const GOLDEN: &str = include_str!("../../../store/tests/golden/events.json");

/// Returns a stored event of every kind, some of them several times.
pub(crate) fn golden_events() -> Vec<Event> {
    let rows: Vec<Value> = serde_json::from_str(GOLDEN).expect("JSON");
    rows.iter()
        .map(|row| {
            let version = row["version"].as_u64().expect("a number");
            let version = u32::try_from(version).expect("small");
            let kind = row["kind"].as_str().expect("text");
            Event::decode(kind, version, &row["data"].to_string())
        })
        .collect()
}

/// Reads an event of this build from its payload.
pub(crate) fn event(kind: &str, data: &Value) -> Event {
    let event = Event::decode(kind, 1, &data.to_string());
    assert!(
        !matches!(event, Event::Unknown { .. }),
        "{kind} is not known: {data}"
    );
    event
}

/// Gives events their positions and times.
pub(crate) fn records(events: impl IntoIterator<Item = Event>) -> Vec<EventRecord> {
    let numbered = (1_u64..).zip(events);
    numbered.map(|(seq, event)| record(seq, event)).collect()
}

pub(crate) fn record(event_seq: u64, event: Event) -> EventRecord {
    EventRecord {
        event_seq,
        at: Timestamp::from_millis(1_794_700_000_000).plus_millis(event_seq),
        event,
        labels: None,
    }
}

/// Reduces a whole listing.
pub(crate) fn reduce(mode: DisplayMode, records: &[EventRecord]) -> Vec<Item> {
    let mut reducer = Reducer::new(mode);
    let mut rows: Vec<Item> = records.iter().flat_map(|r| reducer.push(r)).collect();
    rows.extend(reducer.finish());
    rows
}

pub(crate) fn summaries(rows: &[Item]) -> Vec<&str> {
    rows.iter()
        .map(|row| row.presentation.summary.as_str())
        .collect()
}

pub(crate) fn admitted() -> Event {
    event(
        "message_admitted",
        &json!({
            "message_id": "msg_1", "message_seq": 1, "kind": "operator_prompt", "origin": {"kind": "operator"},
            "authority_class": "operator_instruction", "priority": "normal",
            "delivery_surface": "http_control_prompt", "admission_context": "control_authenticated",
            "trigger_kind": "operator_input",
        }),
    )
}

pub(crate) fn started(turn: u64) -> Event {
    event(
        "turn_started",
        &json!({
            "message_id": "msg_1", "message_kind": "operator_prompt", "run_id": "run_1", "turn_index": turn,
            "requested_model": "a/1",
        }),
    )
}

pub(crate) fn round(turn: u64, round: u32, text: Option<&str>, tools: &[&str]) -> Event {
    let mut data = json!({
        "turn_index": turn, "round": round, "text_char_count": text.map_or(0, str::len), "tool_names": tools,
    });
    if let Some(text) = text {
        data["text_preview"] = json!(text);
    }
    event("assistant_round_recorded", &data)
}

pub(crate) fn requested(turn: u64, call: &str, cmd: &str) -> Event {
    event(
        "process_execution_requested",
        &json!({
            "tool_call_id": call, "surface": "ExecCommand", "cmd_preview": cmd,
            "authority_class": "operator_instruction", "turn_index": turn, "run_id": "run_1",
        }),
    )
}

pub(crate) fn executed(turn: u64, call: &str, tool: &str, summary: &str) -> Event {
    event(
        "tool_executed",
        &json!({
            "tool_call_id": call, "tool_name": tool, "turn_index": turn, "run_id": "run_1", "duration_ms": 1_234,
            "summary": summary,
        }),
    )
}

pub(crate) fn failed(turn: u64, call: &str, error: &str) -> Event {
    event(
        "tool_execution_failed",
        &json!({
            "tool_call_id": call, "tool_name": "ExecCommand", "turn_index": turn, "run_id": "run_1",
            "duration_ms": 7, "error": error,
            "tool_error": {"kind": "tool_execution_failed", "message": error, "retryable": false},
        }),
    )
}

pub(crate) fn brief(turn: u64, kind: &str, text: &str) -> Event {
    event(
        "brief_created",
        &json!({
            "brief_id": format!("brief_{turn}"), "brief_seq": turn, "kind": kind, "turn_index": turn,
            "text_preview": text,
        }),
    )
}

pub(crate) fn terminal(turn: u64, kind: &str, reason: &str) -> Event {
    let usage = json!({"input_tokens": 1, "output_tokens": 1, "total_tokens": 2});
    event(
        "turn_terminal",
        &json!({
            "turn_index": turn, "run_id": "run_1", "kind": kind, "reason": reason, "duration_ms": 1_000,
            "rounds": 2, "token_usage": usage,
        }),
    )
}

pub(crate) fn suspended(turn: u64, reason: &str, until: Option<&str>) -> Event {
    let mut data = json!({
        "run_id": "run_1", "turn_index": turn, "round": 1, "reason": reason, "failure_kind": "server_error",
        "error": "overloaded", "waited_ms": 0,
    });
    if let Some(until) = until {
        data["until"] = json!(until);
    }
    event("turn_suspended", &data)
}

pub(crate) fn written(action: &str) -> Event {
    event(
        "work_item_written",
        &json!({
            "action": action, "work_item_id": "work_1", "revision": 2, "objective": "mend the build",
            "state": "open", "scheduling_state": "runnable", "plan_status": "ready",
        }),
    )
}
