//! Tests of what an operator asks of the thread of an agent's earlier turns, and of what the next answers make of it.

use crate::make::{self, ModelAnswer};
use crate::states;
use crate::world::World;
use holon_core::input::{ContextCommand, MeasuredTurn};
use holon_core::{Input, Rejection, Reply};
use holon_domain::event::Event;
use holon_domain::limits::THREAD_PINS;
use holon_domain::message::Priority;
use holon_domain::thread::{FoldCause, PinnedTurn, ThreadCommand, ThreadFold};
use holon_domain::turn::LogSeq;

const ROOM: u64 = 1_000;

fn ask(command: ThreadCommand) -> Input {
    Input::Context(ContextCommand::Ask(command))
}

fn pin(turn_index: u64, first_entry: LogSeq, tokens: u64) -> Input {
    Input::Context(ContextCommand::Pin {
        turn_index,
        measured: Some(MeasuredTurn {
            first_entry,
            tokens: Some(tokens),
        }),
        room: ROOM,
    })
}

/// A pin of a turn that the log holds and the thread does not show.
fn pin_unshown(turn_index: u64, first_entry: LogSeq) -> Input {
    Input::Context(ContextCommand::Pin {
        turn_index,
        measured: Some(MeasuredTurn {
            first_entry,
            tokens: None,
        }),
        room: ROOM,
    })
}

fn unpin(turn_index: u64) -> Input {
    Input::Context(ContextCommand::Unpin { turn_index })
}

fn fold(cause: FoldCause, from_entry: LogSeq) -> ThreadFold {
    ThreadFold {
        cause,
        from_entry,
        last_turn: 1,
        turns: Vec::new(),
        omitted: 0,
        episodes: Vec::new(),
        kept_messages: 0,
        tokens_before: 900,
        tokens_after: 100,
    }
}

/// Opens a turn and returns the position of its first entry.
fn open_turn(world: &mut World) -> LogSeq {
    world.send(make::admit(make::prompt(Priority::Normal)));
    world.agent.open_turn.as_ref().expect("a turn").first_entry
}

fn answer(world: &mut World, fold: Option<ThreadFold>) {
    let said = ModelAnswer {
        fold,
        ..ModelAnswer::words("done")
    };
    world.send(said.to(world));
    assert_eq!(world.violations(), []);
}

/// An agent with this many ended turns; returns the position of the first entry of each.
fn with_turns(count: usize) -> (World, Vec<LogSeq>) {
    let mut world = states::idle();
    let mut entries = Vec::new();
    for _ in 0..count {
        entries.push(open_turn(&mut world));
        answer(&mut world, None);
    }
    (world, entries)
}

fn requested(world: &World, from: usize) -> Vec<String> {
    let named = |event: &Event| match event {
        Event::ThreadChangeRequested(e) => Some(format!("{:?} {:?}", e.change, e.pinned_turn)),
        _ => None,
    };
    world.events[from..].iter().filter_map(named).collect()
}

#[test]
fn an_ask_is_recorded_once_and_the_newest_one_counts() {
    for mut world in [states::idle(), states::calling_model(), states::stopped()] {
        let from = world.events.len();
        for (command, reply) in [
            (ThreadCommand::Fold, Reply::Done),
            (ThreadCommand::Fold, Reply::Unchanged),
            (ThreadCommand::Clear, Reply::Done),
            (ThreadCommand::Clear, Reply::Unchanged),
        ] {
            assert_eq!(world.send(ask(command)).reply, Ok(reply), "{command:?}");
            assert_eq!(world.agent.thread.asked, Some(command));
            assert_eq!(world.agent.thread.asked_in, world.agent.counters.turns);
        }
        assert_eq!(requested(&world, from), ["Fold None", "Clear None"]);
        assert_eq!(world.violations(), []);
    }
}

#[test]
fn a_bound_is_kept_in_the_settings_and_taken_back() {
    for mut world in [states::idle(), states::calling_model(), states::stopped()] {
        let from = world.events.len();
        for (thread_tokens, reply) in [
            (None, Reply::Unchanged),
            (Some(9_000), Reply::Done),
            (Some(9_000), Reply::Unchanged),
            (None, Reply::Done),
        ] {
            let limit = Input::Context(ContextCommand::Limit { thread_tokens });
            assert_eq!(world.send(limit).reply, Ok(reply), "{thread_tokens:?}");
            assert_eq!(world.agent.settings.thread_tokens, thread_tokens);
        }
        assert_eq!(requested(&world, from), ["Limit None", "Limit None"]);
        assert_eq!(world.violations(), []);
    }
}

#[test]
fn an_ask_is_done_by_the_first_answer_of_a_later_turn() {
    let mut world = states::calling_model();
    world.send(ask(ThreadCommand::Fold));
    let open = world.agent.counters.turns;
    assert_eq!(
        world.agent.thread.asked_of(open),
        None,
        "its request may be under way"
    );
    answer(&mut world, None);
    assert_eq!(world.agent.thread.asked, Some(ThreadCommand::Fold));
    open_turn(&mut world);
    assert_eq!(
        world.agent.thread.asked_of(open + 1),
        Some(ThreadCommand::Fold)
    );
    // A thread that is small already is not folded, and the ask is done all the same.
    answer(&mut world, None);
    assert_eq!(
        (world.agent.thread.asked, world.agent.thread.asked_in),
        (None, 0)
    );
}

#[test]
fn a_turn_is_pinned_once_and_unpinned_once() {
    let (mut world, entries) = with_turns(2);
    let from = world.events.len();
    assert_eq!(world.send(pin(1, entries[0], 300)).reply, Ok(Reply::Done));
    assert_eq!(
        world.send(pin(1, entries[0], 300)).reply,
        Ok(Reply::Unchanged)
    );
    assert_eq!(
        world.agent.thread.pins,
        [PinnedTurn {
            turn_index: 1,
            first_entry: entries[0],
            tokens: 300,
            pinned_in: 2,
            released_in: None,
        }]
    );
    assert_eq!(world.send(unpin(1)).reply, Ok(Reply::Done));
    assert_eq!(world.send(unpin(1)).reply, Ok(Reply::Unchanged));
    assert_eq!(world.send(unpin(2)).reply, Ok(Reply::Unchanged));
    assert_eq!(requested(&world, from), ["Pin Some(1)", "Unpin Some(1)"]);
    assert_eq!(world.violations(), []);
}

#[test]
fn a_pin_is_refused_with_the_reason_and_the_sizes() {
    let (mut world, entries) = with_turns(4);
    world.agent.thread.from_entry = entries[1];
    let agent_id = make::agent_id();
    let open = world.agent.counters.turns + 1;
    let missing = Input::Context(ContextCommand::Pin {
        turn_index: 9,
        measured: None,
        room: ROOM,
    });
    assert_eq!(world.send(pin(2, entries[1], 600)).reply, Ok(Reply::Done));
    open_turn(&mut world);
    let before = world.agent.thread.clone();
    let cases = [
        (
            missing,
            Rejection::NoSuchTurn {
                agent_id: agent_id.clone(),
            },
        ),
        (
            pin(open, 99, 1),
            Rejection::TurnStillOpen {
                agent_id: agent_id.clone(),
                turn_index: open,
            },
        ),
        (
            pin(1, entries[0], 1),
            Rejection::TurnNotInThread {
                agent_id: agent_id.clone(),
                turn_index: 1,
            },
        ),
        (
            pin_unshown(3, entries[2]),
            Rejection::TurnNotInThread {
                agent_id: agent_id.clone(),
                turn_index: 3,
            },
        ),
        (
            pin(3, entries[2], 401),
            Rejection::PinTooLarge {
                agent_id: agent_id.clone(),
                turn_index: 3,
                tokens: 401,
                pinned: 600,
                room: ROOM,
            },
        ),
        (unpin(open + 1), Rejection::NoSuchTurn { agent_id }),
    ];
    for (input, refusal) in cases {
        assert_eq!(world.send(input).reply, Err(refusal));
        assert_eq!(world.agent.thread, before);
    }
    let fits = world.send(pin(3, entries[2], 400)).reply;
    assert_eq!(fits, Ok(Reply::Done), "all of the room may be taken");
}

#[test]
fn pins_are_bounded_in_number_and_released_ones_leave_their_tokens() {
    let (mut world, entries) = with_turns(2);
    world.send(pin(1, entries[0], ROOM));
    let full = world.send(pin(2, entries[1], 1)).reply;
    assert!(
        matches!(full, Err(Rejection::PinTooLarge { .. })),
        "{full:?}"
    );
    world.send(unpin(1));
    assert_eq!(world.send(pin(2, entries[1], 1)).reply, Ok(Reply::Done));
    let pins = world.agent.thread.pins.len();
    let more = (100..)
        .take(THREAD_PINS - pins)
        .map(|turn_index| PinnedTurn {
            turn_index,
            ..PinnedTurn::default()
        });
    world.agent.thread.pins.extend(more);
    world.agent.counters.turns = 500;
    let refused = world.send(pin(400, 9_000, 1)).reply;
    assert!(
        matches!(refused, Err(Rejection::TooManyPins { .. })),
        "{refused:?}"
    );
}

#[test]
fn pins_and_releases_count_from_the_next_turn_on() {
    let (mut world, entries) = with_turns(3);
    world.send(pin(1, entries[0], 10));
    world.send(pin(2, entries[1], 10));
    let first_entry = open_turn(&mut world);
    // Both come while the request of turn 4 is under way, which took turn 3 and kept turns 1 and 2.
    world.send(pin(3, entries[2], 10));
    world.send(unpin(2));
    answer(&mut world, Some(fold(FoldCause::HighMark, first_entry)));
    let pinned = |world: &World| -> Vec<u64> {
        let pins = world.agent.thread.pins.iter();
        pins.map(|pin| pin.turn_index).collect()
    };
    assert_eq!(
        pinned(&world),
        [1, 2],
        "what the fold took has no pin, and what it kept is shown"
    );
    assert_eq!(
        world.send(pin(3, entries[2], 10)).reply,
        Err(Rejection::TurnNotInThread {
            agent_id: make::agent_id(),
            turn_index: 3
        })
    );
    let first_entry = open_turn(&mut world);
    answer(&mut world, Some(fold(FoldCause::HighMark, first_entry)));
    assert_eq!(pinned(&world), [1], "the released turn went with the fold");
}

#[test]
fn a_pin_that_is_taken_back_and_given_again_in_one_turn_was_never_without_effect() {
    let (mut world, entries) = with_turns(2);
    world.send(pin(1, entries[0], 10));
    let first_entry = open_turn(&mut world);
    world.send(unpin(1));
    assert_eq!(world.send(pin(1, entries[0], 10)).reply, Ok(Reply::Done));
    answer(&mut world, Some(fold(FoldCause::HighMark, first_entry)));
    assert_eq!(world.agent.thread.pins.len(), 1);
    assert_eq!(world.agent.thread.pins[0].pinned_in, 2);
}

#[test]
fn a_cleared_thread_has_no_pins() {
    let (mut world, entries) = with_turns(2);
    world.send(pin(2, entries[1], 10));
    world.send(ask(ThreadCommand::Clear));
    let first_entry = open_turn(&mut world);
    let items = world.items.clone();
    answer(&mut world, Some(fold(FoldCause::Cleared, first_entry)));
    assert_eq!(world.agent.thread.pins, []);
    assert_eq!(world.agent.thread.asked, None);
    assert_eq!(world.items, items, "work items stay");
}

#[test]
fn an_agent_that_takes_nothing_more_refuses_every_change() {
    for (ends, code) in [
        (Input::Archive, "agent_archived"),
        (Input::Delete, "agent_deleting"),
    ] {
        let (mut world, entries) = with_turns(1);
        world.send(ends);
        for input in [
            ask(ThreadCommand::Fold),
            ask(ThreadCommand::Clear),
            pin(1, entries[0], 1),
            unpin(1),
        ] {
            let refused = world.send(input).reply.expect_err("refused");
            assert_eq!(refused.code(), code);
        }
    }
}
