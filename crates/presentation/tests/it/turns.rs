//! The border between turns, the live row, and streamed answers.

use crate::support::{
    admitted, brief, executed, record, records, reduce, requested, round, started, summaries,
    suspended, terminal,
};
use holon_domain::AgentId;
use holon_domain::delta::AssistantDelta;
use holon_domain::event::Event;
use holon_presentation::{DisplayMode, ItemState, Reducer};

fn push_all(reducer: &mut Reducer, events: impl IntoIterator<Item = Event>) {
    for event in events {
        let seq = reducer.cursor() + 1;
        reducer.push(&record(seq, event));
    }
}

fn live(reducer: &Reducer) -> Option<String> {
    reducer.live_item().map(|item| item.presentation.summary)
}

fn delta(round: u32, effect: u64, offset: u64, text: &str) -> AssistantDelta {
    AssistantDelta {
        agent_id: AgentId::parse("main").expect("valid"),
        turn_index: 1,
        round,
        effect,
        offset,
        text: text.to_owned(),
    }
}

#[test]
fn a_new_operator_message_never_inherits_the_activity_of_the_last_turn() {
    for mode in DisplayMode::ALL {
        let mut reducer = Reducer::new(mode);
        let turn = [
            admitted(),
            started(1),
            round(1, 1, Some("I look."), &["ExecCommand"]),
            requested(1, "call_1", "cargo test"),
        ];
        push_all(&mut reducer, turn);
        assert_eq!(live(&reducer).as_deref(), Some("Running: cargo test"));
        // The host was killed, or the events of the end are older than the reader: the turn has no end here.
        push_all(&mut reducer, [started(2)]);
        assert_eq!(live(&reducer), None, "{mode}");
        push_all(
            &mut reducer,
            [
                round(2, 1, Some("Second."), &[]),
                terminal(2, "completed", "finished"),
            ],
        );
        assert_eq!(live(&reducer), None, "{mode}");
        push_all(&mut reducer, [admitted()]);
        assert_eq!(live(&reducer), None, "{mode}");
        reducer.push_delta(&delta(9, 1, 0, "late"));
        assert_eq!(
            live(&reducer),
            None,
            "{mode}: the turn of this text is over"
        );
    }
}

#[test]
fn text_of_the_model_and_requests_for_tools_are_told_apart() {
    let text = records([started(1), round(1, 1, Some("I look."), &["ExecCommand"])]);
    let tools = records([started(1), round(1, 1, None, &["ExecCommand", "ReadFile"])]);
    let nothing = records([started(1), round(1, 1, None, &[])]);
    let debug = DisplayMode::Debug;
    assert_eq!(
        summaries(&reduce(debug, &text)),
        ["Assistant progress: I look."]
    );
    assert_eq!(
        summaries(&reduce(debug, &tools)),
        ["Model requested tools: ExecCommand, ReadFile"]
    );
    assert_eq!(
        summaries(&reduce(debug, &nothing)),
        ["Model round recorded without text or tools"]
    );
    assert!(reduce(DisplayMode::Verbose, &tools).is_empty());
    assert!(reduce(DisplayMode::Info, &text).is_empty());
}

#[test]
fn streamed_text_is_provisional_until_its_round_is_recorded() {
    let mut reducer = Reducer::new(DisplayMode::Verbose);
    push_all(&mut reducer, [started(1)]);
    reducer.push_delta(&delta(1, 7, 0, "One "));
    reducer.push_delta(&delta(1, 7, 4, "two\u{1b}"));
    let item = reducer.live_item().expect("text");
    assert_eq!(item.state, ItemState::Live);
    assert_eq!(item.presentation.body.as_deref(), Some("One two␛"));
    // A piece was missed: what follows it is not shown, and the recorded round brings both.
    reducer.push_delta(&delta(1, 7, 20, "four"));
    assert_eq!(
        live(&reducer).as_deref(),
        Some("Assistant progress: One two␛")
    );
    // Another attempt voids the text of the first.
    reducer.push_delta(&delta(1, 8, 0, "Again"));
    assert_eq!(live(&reducer).as_deref(), Some("Assistant progress: Again"));
    push_all(
        &mut reducer,
        [round(1, 1, Some("Again, whole."), &["ExecCommand"])],
    );
    assert_eq!(
        live(&reducer).as_deref(),
        Some("Assistant progress: Again, whole.")
    );
    reducer.push_delta(&delta(1, 8, 5, ", whole."));
    assert_eq!(
        live(&reducer).as_deref(),
        Some("Assistant progress: Again, whole.")
    );
    reducer.push_delta(&delta(2, 9, 0, "Next"));
    push_all(&mut reducer, [suspended(1, "network", None)]);
    let shown = live(&reducer).expect("the suspension");
    assert!(
        shown.starts_with("Assistant progress: Next"),
        "another round: {shown}"
    );
}

#[test]
fn a_reader_that_comes_in_the_middle_of_an_answer_sees_the_rest_of_it() {
    let mut reducer = Reducer::new(DisplayMode::Verbose);
    reducer.push_delta(&delta(1, 7, 9, "three "));
    reducer.push_delta(&delta(1, 7, 15, "four"));
    let item = reducer.live_item().expect("text");
    assert_eq!(
        item.presentation.body.as_deref(),
        Some("(9 bytes stand before)\n…three four")
    );
}

#[test]
fn a_retry_voids_the_streamed_text_of_its_round() {
    let mut reducer = Reducer::new(DisplayMode::Info);
    push_all(&mut reducer, [started(1)]);
    reducer.push_delta(&delta(1, 7, 0, "Half"));
    push_all(
        &mut reducer,
        [suspended(1, "network", Some("2026-11-15T00:00:00.000Z"))],
    );
    let shown = live(&reducer).expect("the suspension");
    assert!(shown.starts_with("Waiting for a model"), "{shown}");
}

#[test]
fn a_turn_that_waits_for_a_budget_does_not_blame_the_models() {
    for (until, title) in [
        (Some("2026-11-15T00:00:00.000Z"), "Waiting for a budget"),
        (None, "Waiting for you"),
    ] {
        let mut reducer = Reducer::new(DisplayMode::Info);
        push_all(
            &mut reducer,
            [started(1), suspended(1, "budget_reached", until)],
        );
        let shown = live(&reducer).expect("the suspension");
        assert!(shown.starts_with(title), "{shown}");
        assert!(shown.contains("a budget is reached"), "{shown}");
        assert!(!shown.contains("model"), "{shown}");
    }
}

#[test]
fn a_row_that_can_still_grow_is_released_by_the_end_of_its_turn() {
    let mut reducer = Reducer::new(DisplayMode::Verbose);
    let mut rows = Vec::new();
    let events = [
        started(1),
        executed(1, "call_1", "TaskList", "2 tasks"),
        terminal(1, "completed", "finished"),
    ];
    for event in records(events) {
        rows.extend(reducer.push(&event));
    }
    assert_eq!(summaries(&rows), ["Read with TaskList: 2 tasks"]);
    assert!(reducer.finish().is_empty());
}

#[test]
fn an_answer_is_told_once_by_its_brief_and_another_text_stays() {
    let turn = |text: &str| {
        records([
            started(1),
            round(1, 1, Some("The tests pass."), &[]),
            brief(1, "result", text),
            terminal(1, "completed", "finished"),
        ])
    };
    assert_eq!(
        summaries(&reduce(DisplayMode::Verbose, &turn("The tests pass."))),
        ["Result: The tests pass."]
    );
    assert_eq!(
        summaries(&reduce(DisplayMode::Verbose, &turn("No answer yet."))),
        [
            "Assistant progress: The tests pass.",
            "Result: No answer yet."
        ]
    );
}
