//! Merging, grouping, replacing and leaving out.

use crate::support::{
    brief, event, executed, failed, golden_events, record, records, reduce, requested, round,
    started, summaries, suspended, terminal, written,
};
use holon_domain::event::Event;
use holon_presentation::{DisplayMode, Reducer, Visibility};
use serde_json::json;

const INFO: DisplayMode = DisplayMode::Info;
const VERBOSE: DisplayMode = DisplayMode::Verbose;
const DEBUG: DisplayMode = DisplayMode::Debug;

#[test]
fn a_request_and_its_end_are_one_row() {
    let events = records([
        started(1),
        requested(1, "call_1", "cargo test"),
        executed(1, "call_1", "ExecCommand", "exit 101"),
    ]);
    for mode in [VERBOSE, DEBUG] {
        let rows = reduce(mode, &events);
        assert_eq!(summaries(&rows), ["Ran: cargo test (exit 101, 1.2 s)"]);
    }
    assert!(reduce(INFO, &events).is_empty());
}

#[test]
fn a_summary_that_repeats_the_command_is_shown_without_it() {
    let ran = |cmd: &str, summary: &str| {
        let events = records([
            started(1),
            requested(1, "call_1", cmd),
            executed(1, "call_1", "ExecCommand", summary),
        ]);
        let rows = reduce(DEBUG, &events);
        rows[0].presentation.summary.clone()
    };
    assert_eq!(
        ran("make -C a: b", "exit 2 after 10 ms: make -C a: b"),
        "Ran: make -C a: b (exit 2 after 10 ms)"
    );
    assert_eq!(
        ran("make all", "goes on as task_1: make a…"),
        "Ran: make all (goes on as task_1)"
    );
    assert_eq!(ran("make", "exit 0: odd"), "Ran: make (exit 0: odd, 1.2 s)");
}

#[test]
fn a_failed_call_names_its_command_also_where_requests_are_no_rows() {
    let events = records([
        started(1),
        requested(1, "call_1", "make"),
        failed(1, "call_1", "command_timed_out: too long"),
    ]);
    for mode in DisplayMode::ALL {
        let rows = reduce(mode, &events);
        assert_eq!(
            summaries(&rows),
            ["ExecCommand failed: command_timed_out: too long (make)"],
            "{mode}"
        );
    }
}

fn reads_and_changes() -> Vec<Event> {
    let mut events = vec![started(1)];
    for (call, cmd) in [("c1", "cat a"), ("c2", "ls src"), ("c3", "rg x | head")] {
        events.push(requested(1, call, cmd));
        events.push(executed(1, call, "ExecCommand", "exit 0"));
    }
    for (call, summary) in [("c4", "M a"), ("c5", "A b")] {
        events.push(executed(1, call, "ApplyPatch", summary));
    }
    events.push(requested(1, "c6", "cargo test"));
    events.push(executed(1, "c6", "ExecCommand", "exit 0"));
    events
}

#[test]
fn runs_of_reads_and_of_changes_are_grouped_in_verbose_and_single_in_debug() {
    let events = records(reads_and_changes());
    assert_eq!(
        summaries(&reduce(VERBOSE, &events)),
        [
            "Explored: cat a; ls src; rg x | head",
            "Changed: M a; A b",
            "Ran: cargo test (exit 0, 1.2 s)",
        ]
    );
    assert_eq!(reduce(DEBUG, &events).len(), 6);
}

#[test]
fn a_command_that_may_take_long_releases_the_group_before_it() {
    let mut reducer = Reducer::new(VERBOSE);
    let mut events = reads_and_changes();
    events.truncate(events.len() - 1);
    let rows: Vec<_> = records(events)
        .iter()
        .flat_map(|r| reducer.push(r))
        .collect();
    assert_eq!(rows.len(), 2, "{rows:?}");
    assert_eq!(
        reducer
            .live_item()
            .map(|item| item.presentation.summary)
            .as_deref(),
        Some("Running: cargo test")
    );
}

#[test]
fn a_large_group_shows_its_first_lines_and_counts_the_rest() {
    let mut events = vec![started(1)];
    for number in 0..40 {
        let call = format!("c{number}");
        events.push(requested(1, &call, &format!("cat file-{number}")));
        events.push(executed(1, &call, "ExecCommand", "exit 0"));
    }
    let rows = reduce(VERBOSE, &records(events));
    assert_eq!(rows.len(), 1);
    let body = rows[0].presentation.body.as_deref().expect("lines");
    assert!(body.ends_with("cat file-11\n… and 28 more"), "{body}");
    assert_eq!(rows[0].event_count, 40);
}

#[test]
fn a_failure_is_told_once_by_its_brief() {
    let error = event(
        "runtime_error",
        &json!({
            "message_id": "msg_1", "message_kind": "operator_prompt", "error": "no model answered",
            "failure_kind": "rate_limited",
        }),
    );
    let with_brief = [
        started(1),
        error.clone(),
        brief(1, "failure", "no model answered"),
        terminal(1, "aborted", "provider_failed"),
    ];
    for mode in [INFO, VERBOSE] {
        let rows = reduce(mode, &records(with_brief.clone()));
        assert_eq!(summaries(&rows), ["Failed: no model answered"]);
        assert_eq!(rows[0].event_count, 2);
    }
    let alone = [started(1), error, terminal(1, "aborted", "provider_failed")];
    assert_eq!(
        summaries(&reduce(INFO, &records(alone))),
        ["Turn failed: no model answered"]
    );
    let bare = records([started(1), terminal(1, "aborted", "max_rounds")]);
    assert_eq!(
        summaries(&reduce(INFO, &bare)),
        [
            "Turn ended without an answer: the bound on model rounds was reached after 2 rounds, 2 tokens, 1.0 s"
        ]
    );
}

#[test]
fn a_suspension_that_says_the_same_again_is_left_out_except_in_debug() {
    let at = |minute: u32| format!("2026-11-15T00:{minute:02}:00.000Z");
    let ended = event(
        "turn_suspension_ended",
        &json!({"run_id": "run_1", "turn_index": 1, "by": "pause_over"}),
    );
    let mut events = vec![started(1)];
    for minute in 0..5 {
        events.push(suspended(1, "provider_trouble", Some(&at(minute))));
        events.push(ended.clone());
    }
    events.push(suspended(1, "auth", None));
    let events = records(events);
    for (mode, expected) in [(INFO, 2), (VERBOSE, 2), (DEBUG, 11)] {
        assert_eq!(reduce(mode, &events).len(), expected, "{mode}");
    }
}

#[test]
fn a_suspension_is_shown_again_after_the_models_were_asked_because_of_an_act() {
    let ended = event(
        "turn_suspension_ended",
        &json!({"run_id": "run_1", "turn_index": 1, "by": "budget_changed"}),
    );
    let events = records([
        started(1),
        suspended(1, "budget_reached", None),
        ended,
        suspended(1, "budget_reached", None),
    ]);
    for mode in [INFO, VERBOSE] {
        let rows = reduce(mode, &events);
        let rows = summaries(&rows);
        assert_eq!(rows.len(), 3, "{rows:?}");
        assert_eq!(rows[0], rows[2], "the last word is that it waits");
    }
}

#[test]
fn a_completed_work_item_is_one_row_and_its_brief_is_work_done() {
    let report = event(
        "work_item_completion_report_promoted",
        &json!({"work_item_id": "work_1", "turn_index": 1, "text_preview": "It builds."}),
    );
    let warning = event(
        "work_item_completion_warning",
        &json!({"work_item_id": "work_1", "kind": "unfinished_todos", "message": "two todos are open"}),
    );
    let events = records([
        started(1),
        written("created"),
        written("updated"),
        written("completed"),
        report,
        warning,
        brief(1, "result", "All done."),
        terminal(1, "completed", "finished"),
    ]);
    let rows = reduce(VERBOSE, &events);
    assert_eq!(
        summaries(&rows),
        ["Work item completed: mend the build", "Result: All done."]
    );
    assert_eq!(
        rows[0].presentation.body.as_deref(),
        Some("mend the build\nIt builds.\nwarning: two todos are open")
    );
    for row in &rows {
        assert_eq!(row.presentation.visibility, Visibility::WorkDone);
    }
    let next = records([started(2), brief(2, "result", "Hello.")]);
    assert_eq!(
        reduce(VERBOSE, &next)[0].presentation.visibility,
        Visibility::TurnResult
    );
}

#[test]
fn the_latest_state_of_a_task_replaces_the_one_before() {
    let task = |kind: &str, rest: serde_json::Value| {
        let mut data = json!({"task_id": "task_1"});
        for (name, value) in rest.as_object().expect("fields") {
            data[name] = value.clone();
        }
        event(kind, &data)
    };
    let events = [
        started(1),
        task(
            "task_created",
            json!({"kind": "command_task", "status": "running", "summary": "make all"}),
        ),
        task(
            "task_status_updated",
            json!({"kind": "command_task", "previous": "running", "status": "failed", "reason": "exit 2"}),
        ),
        task(
            "task_result_received",
            json!({"status": "failed", "message_id": "msg_4", "terminal_reentry": true}),
        ),
    ];
    assert_eq!(
        summaries(&reduce(VERBOSE, &records(events.clone()))),
        ["Background command failed: make all: exit 2 (task_1)"]
    );
    let later: Vec<Event> = events.iter().skip(2).cloned().collect();
    let outside = events.into_iter().skip(1);
    assert_eq!(
        summaries(&reduce(VERBOSE, &records(outside))),
        [
            "Background command started: make all",
            "Background command failed: make all: exit 2 (task_1)"
        ],
        "outside of a turn no row waits for another event"
    );
    assert_eq!(
        summaries(&reduce(VERBOSE, &records(later))),
        ["Background command failed: exit 2 (task_1)"],
        "the task was made before the first event that is read"
    );
}

#[test]
fn retries_of_a_round_replace_each_other() {
    let retry = |attempt: u32| {
        event(
            "provider_retry_scheduled",
            &json!({
                "turn_index": 1, "round": 1, "attempt": attempt, "failure_kind": "rate_limited", "error": "slow down",
                "backoff_ms": 1_000 * attempt, "retry_at": "2026-11-15T00:00:00.000Z", "model_ref": "a/1",
            }),
        )
    };
    let events = records([
        started(1),
        retry(1),
        retry(2),
        retry(3),
        round(1, 1, Some("Hi."), &["Sleep"]),
    ]);
    assert_eq!(
        summaries(&reduce(VERBOSE, &events)),
        [
            "Asking again: a/1 in 3.0 s: rate limited (slow down)",
            "Assistant progress: Hi."
        ]
    );
}

#[test]
fn unknown_kinds_and_state_signals_are_no_rows_and_a_newer_brief_is() {
    let unknown = |kind: &str, data| Event::Unknown {
        kind: kind.to_owned(),
        version: 9,
        data,
    };
    let state = golden_events()
        .into_iter()
        .filter(|event| event.kind().ends_with("_state_changed"));
    let events = state.chain([
        unknown("agent_dreamed", json!({"about": "sheep"})),
        unknown("tool_executed", json!({"shape": "new"})),
        unknown("agent_state_changed", json!({})),
        unknown(
            "brief_created",
            json!({"text_preview": "from a newer host"}),
        ),
    ]);
    let events = records(events);
    for mode in DisplayMode::ALL {
        assert_eq!(
            summaries(&reduce(mode, &events)),
            ["Brief: from a newer host"],
            "{mode}"
        );
    }
}

#[test]
fn after_a_gap_nothing_of_the_open_turn_is_carried_over() {
    let mut reducer = Reducer::new(VERBOSE);
    reducer.push(&record(1, started(1)));
    reducer.push(&record(2, requested(1, "call_1", "cat a")));
    reducer.push(&record(3, executed(1, "call_1", "ExecCommand", "exit 0")));
    let rows = reducer.push(&record(9, brief(4, "result", "Hi.")));
    assert_eq!(
        summaries(&rows),
        ["Ran: cat a (exit 0, 1.2 s)", "Result: Hi."]
    );
    assert!(reducer.live_item().is_none());
}
