//! What holds for every sequence of events, however it is cut into pages.

use crate::support::{
    admitted, brief, executed, failed, golden_events, record, records, requested, round, started,
    suspended, terminal, written,
};
use holon_domain::AgentId;
use holon_domain::delta::AssistantDelta;
use holon_domain::event::Event;
use holon_domain::feed::EventRecord;
use holon_presentation::{Category, DisplayMode, Item, Reducer};
use proptest::prelude::*;

/// Most bytes of the printed state of a reducer: a stand-in for its memory.
const STATE_BYTES: usize = 256 << 10;

/// Events that meet each other: calls of a few ids, turns of a few numbers, and one of every kind.
fn pool() -> Vec<Event> {
    let mut pool = golden_events();
    for turn in 1..=2 {
        pool.extend([
            started(turn),
            round(turn, 1, Some("I look."), &["ExecCommand"]),
            round(turn, 2, Some("Done."), &[]),
            round(turn, 3, None, &["ApplyPatch"]),
            requested(turn, "c1", "cat a"),
            requested(turn, "c2", "cargo test"),
            executed(turn, "c1", "ExecCommand", "exit 0"),
            executed(turn, "c2", "ExecCommand", "exit 1"),
            executed(turn, "c3", "ApplyPatch", "M a"),
            failed(turn, "c2", "command_timed_out: too long"),
            brief(turn, "result", "Done."),
            brief(turn, "failure", "the provider failed"),
            suspended(turn, "network", Some("2026-11-15T00:00:00.000Z")),
            terminal(turn, "completed", "finished"),
            terminal(turn, "aborted", "provider_failed"),
        ]);
    }
    pool.extend([admitted(), written("created"), written("completed")]);
    pool.push(Event::Unknown {
        kind: "agent_dreamed".into(),
        version: 3,
        data: serde_json::json!({"about": "sheep"}),
    });
    pool
}

fn sequences() -> impl Strategy<Value = Vec<EventRecord>> {
    let pool = pool();
    let picks = prop::collection::vec(0..pool.len(), 0..80);
    picks.prop_map(move |picks| records(picks.into_iter().map(|at| pool[at].clone())))
}

fn modes() -> impl Strategy<Value = DisplayMode> {
    prop::sample::select(DisplayMode::ALL.to_vec())
}

fn reduce(mode: DisplayMode, records: &[EventRecord]) -> (Vec<Item>, Reducer) {
    let mut reducer = Reducer::new(mode);
    let mut rows: Vec<Item> = records.iter().flat_map(|r| reducer.push(r)).collect();
    rows.extend(reducer.finish());
    (rows, reducer)
}

/// Returns the number of rows of one event by itself.
fn rows_alone(mode: DisplayMode, event: &EventRecord) -> u64 {
    let (rows, _) = reduce(mode, std::slice::from_ref(event));
    rows.iter().map(|row| row.event_count).sum()
}

fn is_aborted_turn(record: &EventRecord) -> bool {
    matches!(&record.event, Event::TurnTerminal(e) if e.kind == holon_domain::turn::TerminalKind::Aborted)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_chunking_with_any_repetition_gives_the_same_rows(
        mode in modes(),
        records in sequences(),
        cuts in prop::collection::vec((0_usize..80, 0_usize..10), 0..8),
    ) {
        let (whole, _) = reduce(mode, &records);
        let mut cuts: Vec<(usize, usize)> = cuts;
        cuts.push((records.len(), 0));
        cuts.sort_unstable();
        let (mut reducer, mut rows, mut from) = (Reducer::new(mode), Vec::new(), 0);
        for (to, back) in cuts {
            let to = to.min(records.len());
            if to < from { continue; }
            // A reader that resumes may be sent events again that it has seen.
            for record in &records[from.saturating_sub(back)..to] {
                rows.extend(reducer.push(record));
            }
            // The reader stops here and goes on with its state.
            reducer = reducer.clone();
            from = to;
        }
        rows.extend(reducer.finish());
        prop_assert_eq!(rows, whole);
    }

    #[test]
    fn no_row_is_lost_or_doubled_and_rows_stay_in_order(mode in modes(), records in sequences()) {
        let (rows, reducer) = reduce(mode, &records);
        let told: u64 = rows.iter().map(|row| row.event_count).sum::<u64>() + reducer.repeated();
        let most: u64 = records.iter().map(|r| rows_alone(mode, r)).sum();
        // The end of a failed turn is no row of its own where another row tells the failure.
        let endings = records.iter().filter(|r| is_aborted_turn(r)).count() as u64;
        prop_assert!(told <= most && most <= told + endings, "{told} of {most}, {endings} ends");
        let briefs = records.iter().filter(|r| r.event.kind() == "brief_created").count();
        let told = rows.iter().filter(|row| row.presentation.category == Category::Brief).count();
        prop_assert_eq!(told, briefs);
        for pair in rows.windows(2) {
            prop_assert!(pair[0].last_seq < pair[1].first_seq, "{:?}", pair);
        }
        let never = rows.iter().any(|row| row.presentation.category == Category::StateSync);
        prop_assert!(!never, "a state signal became a row");
    }
}

#[test]
fn memory_stays_bounded_whatever_arrives() {
    let long = "x".repeat(5_000);
    let main = AgentId::parse("main").expect("valid");
    for mode in DisplayMode::ALL {
        let mut reducer = Reducer::new(mode);
        let (mut rows, mut seq) = (0, 0);
        let mut push = |reducer: &mut Reducer, event: Event| {
            seq += 1;
            rows += reducer.push(&record(seq, event)).len();
        };
        push(&mut reducer, started(1));
        for number in 0..150_u64 {
            // Requests that never end, a group that never ends, and an answer that never ends.
            push(&mut reducer, requested(1, &format!("open-{number}"), &long));
            push(&mut reducer, requested(1, "batch", &long));
            push(&mut reducer, executed(1, "read", "TaskOutput", &long));
            push(&mut reducer, written(&long));
            reducer.push_delta(&AssistantDelta {
                agent_id: main.clone(),
                turn_index: 1,
                round: 1,
                effect: 1,
                offset: number * 5_000,
                text: long.clone(),
            });
        }
        let state = format!("{reducer:?}").len();
        assert!(state < STATE_BYTES, "{mode}: {state} bytes");
        let live = reducer.live_item().expect("the answer");
        assert!(live.presentation.body.expect("text").len() < 8_000);
    }
}
