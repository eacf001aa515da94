//! The shown answer with every order of deltas, retries and records.

use super::*;
use holon_domain::AgentId;

fn live() -> LiveAnswer {
    LiveAnswer::new(LiveParts {
        text: true,
        waits: true,
    })
}

fn delta(round: u32, effect: u64, offset: u64, text: &str) -> AssistantDelta {
    AssistantDelta {
        agent_id: AgentId::parse("main").unwrap(),
        turn_index: 1,
        round,
        effect,
        offset,
        text: text.to_owned(),
    }
}

fn event(kind: &str, payload: &serde_json::Value) -> Event {
    Event::decode(kind, 1, &payload.to_string())
}

fn retry(round: u32) -> Event {
    let payload = serde_json::json!({
        "turn_index": 1, "round": round, "attempt": 1, "failure_kind": "server_error", "error": "it broke",
        "backoff_ms": 2_000, "retry_at": "2026-11-14T23:46:40.123Z", "model_ref": "a/1",
    });
    event("provider_retry_scheduled", &payload)
}

/// Spells what is shown: text as it is, notes in brackets.
fn spell(shown: Vec<LiveOutput>) -> String {
    let spelled = shown.into_iter().map(|one| match one {
        LiveOutput::Text(text) => text,
        LiveOutput::TextEnd => String::new(),
        LiveOutput::LineEnd => "\n".to_owned(),
        LiveOutput::Note(_) => "[note]".to_owned(),
        LiveOutput::Activity(words) => format!("<{words}>"),
        LiveOutput::NoActivity => "<>".to_owned(),
    });
    spelled.collect()
}

#[test]
fn an_answer_that_was_shown_whole_is_not_printed_again() {
    let mut live = live();
    let mut seen = spell(live.delta(&delta(1, 7, 0, "Hello ")));
    seen += &spell(live.delta(&delta(1, 7, 6, "there.")));
    seen += &spell(live.finish("Hello there.", true));
    assert_eq!(seen, "Hello there.\n");
}

#[test]
fn only_what_was_not_shown_is_added() {
    let mut live = live();
    let mut seen = spell(live.delta(&delta(1, 7, 0, "Hello ")));
    // The piece at 6 is missing, so the one at 12 must wait.
    seen += &spell(live.delta(&delta(1, 7, 12, " Bye.")));
    assert_eq!(seen, "Hello ");
    seen += &spell(live.finish("Hello there. Bye.", true));
    assert_eq!(seen, "Hello there. Bye.\n");
}

#[test]
fn a_reader_that_came_late_shows_nothing_before_the_record() {
    let mut live = live();
    assert_eq!(spell(live.delta(&delta(1, 7, 6, "there."))), "");
    assert_eq!(spell(live.finish("Hello there.", true)), "Hello there.\n");
}

#[test]
fn another_effect_voids_what_was_shown_of_its_round() {
    let mut live = live();
    let mut seen = spell(live.delta(&delta(1, 7, 0, "Half a")));
    seen += &spell(live.delta(&delta(1, 8, 0, "Whole.")));
    seen += &spell(live.finish("Whole.", true));
    assert_eq!(seen, "Half a\n[note]Whole.\n");
}

#[test]
fn a_retry_voids_once_and_tells_the_wait() {
    let mut live = live();
    let mut seen = spell(live.delta(&delta(1, 7, 0, "Half a")));
    let told = live.event(&retry(1));
    let Some(LiveOutput::Note(wait)) = told.last() else {
        panic!("{told:?}");
    };
    assert_eq!(
        wait,
        "waiting 2 s, then asking a/1 again: server_error (it broke)"
    );
    seen += &spell(told);
    seen += &spell(live.delta(&delta(1, 8, 0, "Whole.")));
    seen += &spell(live.finish("Whole.", true));
    assert_eq!(seen, "Half a\n[note][note]Whole.\n");
}

#[test]
fn the_next_round_begins_a_line_and_voids_nothing() {
    let mut live = live();
    let mut seen = spell(live.delta(&delta(1, 7, 0, "I look.")));
    seen += &spell(live.event(&retry(2)));
    seen += &spell(live.delta(&delta(2, 9, 0, "Seen.")));
    seen += &spell(live.finish("Seen.", true));
    assert_eq!(seen, "I look.\n[note]Seen.\n");
}

#[test]
fn white_space_around_an_answer_does_not_make_it_another() {
    let mut live = live();
    let mut seen = spell(live.delta(&delta(1, 7, 0, "\n\nOne.")));
    seen += &spell(live.delta(&delta(1, 7, 6, "Two.\n\n")));
    seen += &spell(live.finish("One.\nTwo.", true));
    assert_eq!(seen, "\n\nOne.Two.\n\n");
}

#[test]
fn a_report_that_is_not_the_last_text_is_printed_whole() {
    let mut live = live();
    let mut seen = spell(live.delta(&delta(1, 7, 0, "I am done.")));
    seen += &spell(live.finish("The report.", true));
    assert_eq!(seen, "I am done.\nThe report.\n");
}

#[test]
fn a_failed_run_voids_the_text_that_was_not_recorded() {
    let recorded = serde_json::json!({ "turn_index": 1, "round": 1, "text_char_count": 4 });
    for (is_recorded, expected) in [
        (false, "Half\n[note]it failed\n"),
        (true, "Half\nit failed\n"),
    ] {
        let mut live = live();
        let mut seen = spell(live.delta(&delta(1, 7, 0, "Half")));
        if is_recorded {
            seen += &spell(live.event(&event("assistant_round_recorded", &recorded)));
        }
        seen += &spell(live.finish("it failed", false));
        assert_eq!(seen, expected);
    }
}

#[test]
fn without_a_terminal_on_standard_output_the_answer_comes_whole() {
    let mut live = LiveAnswer::new(LiveParts {
        text: false,
        waits: true,
    });
    assert_eq!(live.delta(&delta(1, 7, 0, "Half")), []);
    assert_eq!(spell(live.event(&retry(1))), "[note]");
    assert_eq!(spell(live.finish("Whole.", true)), "Whole.\n");
}

fn record(event_seq: u64, kind: &str, payload: &serde_json::Value) -> EventRecord {
    EventRecord {
        event_seq,
        at: holon_domain::Timestamp::from_millis(1_794_700_000_000),
        event: event(kind, payload),
        labels: None,
    }
}

fn command(event_seq: u64) -> EventRecord {
    let payload = serde_json::json!({
        "tool_call_id": "c1", "surface": "ExecCommand", "cmd_preview": "cargo test",
        "authority_class": "operator_instruction", "turn_index": 1, "run_id": "run_1",
    });
    record(event_seq, "process_execution_requested", &payload)
}

#[test]
fn a_line_says_what_the_agent_does_and_is_gone_before_anything_else() {
    let mut live = live();
    assert_eq!(
        spell(live.record(&command(1))),
        "",
        "the first second shows nothing"
    );
    assert_eq!(spell(live.tick()), "<1 s  Running: cargo test>");
    assert_eq!(spell(live.tick()), "<2 s  Running: cargo test>");
    assert_eq!(spell(live.delta(&delta(1, 7, 0, "Hel"))), "<>Hel");
    assert_eq!(spell(live.tick()), "", "text is not interrupted");
    assert_eq!(spell(live.delta(&delta(1, 7, 3, "lo.\n"))), "lo.\n");
    assert_eq!(spell(live.tick()), "<4 s  Running: cargo test>");
    assert_eq!(spell(live.finish("Hello.", true)), "<>");
    assert_eq!(spell(live.end_activity()), "");
}

#[test]
fn the_line_comes_back_once_the_round_of_a_text_is_recorded() {
    let mut live = live();
    let mut seen = spell(live.delta(&delta(1, 7, 0, "I look.")));
    let recorded = serde_json::json!({ "turn_index": 1, "round": 1, "text_char_count": 7 });
    seen += &spell(live.record(&record(1, "assistant_round_recorded", &recorded)));
    seen += &spell(live.record(&command(2)));
    assert_eq!(seen, "I look.", "a short command shows no line");
    assert_eq!(spell(live.tick()), "\n<1 s  Running: cargo test>");
    assert_eq!(spell(live.tick()), "<2 s  Running: cargo test>");
    assert_eq!(spell(live.delta(&delta(2, 9, 0, "Seen."))), "<>Seen.");
    assert_eq!(spell(live.finish("Seen.", true)), "\n");
}

#[test]
fn a_note_takes_the_place_of_the_line() {
    let mut live = live();
    live.tick();
    let payload = serde_json::json!({
        "turn_index": 1, "round": 1, "attempt": 1, "failure_kind": "server_error", "error": "it broke",
        "backoff_ms": 2_000, "retry_at": "2026-11-14T23:46:40.123Z", "model_ref": "a/1",
    });
    let shown = spell(live.record(&record(1, "provider_retry_scheduled", &payload)));
    assert!(shown.starts_with("<>[note]"), "{shown}");
}

#[test]
fn a_pipe_gets_no_line() {
    let mut live = LiveAnswer::new(LiveParts {
        text: true,
        waits: false,
    });
    live.record(&command(1));
    assert_eq!(spell(live.tick()), "");
    assert_eq!(spell(live.give_up()), "");
}

#[test]
fn an_answer_that_goes_into_a_pipe_is_told_by_the_line() {
    let mut live = LiveAnswer::new(LiveParts {
        text: false,
        waits: true,
    });
    live.delta(&delta(1, 7, 0, "Hello"));
    assert_eq!(spell(live.tick()), "<1 s  Assistant progress: Hello>");
}

#[test]
fn nothing_of_the_turns_before_its_own_is_shown_but_that_the_run_waits() {
    let started = |event_seq, message_seq: u64| {
        let payload = serde_json::json!({
            "message_id": "msg_1", "message_kind": "operator_prompt", "run_id": "run_1", "turn_index": message_seq,
            "requested_model": "a/1", "message_seq": message_seq,
        });
        record(event_seq, "turn_started", &payload)
    };
    let retry = serde_json::json!({
        "turn_index": 1, "round": 1, "attempt": 1, "failure_kind": "server_error", "error": "it broke",
        "backoff_ms": 2_000, "retry_at": "2026-11-14T23:46:40.123Z", "model_ref": "a/1",
    });
    let mut live = live();
    live.queue(3);
    let waits = "waiting: the agent is at work on an earlier message";
    assert_eq!(spell(live.record(&command(1))), "");
    assert_eq!(spell(live.tick()), format!("<1 s  {waits}>"));
    assert_eq!(
        spell(live.record(&record(2, "provider_retry_scheduled", &retry))),
        ""
    );
    assert_eq!(spell(live.record(&started(3, 2))), "");
    assert_eq!(spell(live.tick()), format!("<2 s  {waits}>"));
    let shown = spell(live.record(&started(4, 3)));
    assert!(!shown.contains(waits), "{shown}");
    assert_eq!(
        spell(live.record(&command(5))),
        "<2 s  Running: cargo test>"
    );
    assert_eq!(spell(live.delta(&delta(1, 7, 0, "Mine."))), "<>Mine.");
}
