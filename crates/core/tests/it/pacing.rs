//! Tests of pacing: an agent that causes its own turns is slowed down, and other messages do not wait for it.

use crate::make::{self, ModelAnswer};
use crate::states;
use crate::world::World;
use holon_core::Input;
use holon_core::assess::{AssessmentInput, NextAction, assess};
use holon_domain::limits;
use holon_domain::message::{Cause, Priority};
use holon_domain::queue::QueueStatus;

/// Ends the open turn after it queued follow-ups.
fn follow_up(world: &mut World, count: usize) {
    let calls = vec![make::enqueue(Priority::Next); count];
    world.send(ModelAnswer::calls(calls).to(world));
    world.send(ModelAnswer::words("more to come").to(world));
}

#[test]
fn the_first_turns_an_agent_causes_itself_follow_at_once_and_further_ones_wait_longer_each() {
    let mut world = states::calling_model();
    let mut waits = Vec::new();
    for _ in 0..16 {
        follow_up(&mut world, 1);
        let standing = assess(AssessmentInput::new(&world.agent, &world.queue()));
        match standing.next {
            NextAction::Pace { until } => {
                waits.push(until.millis_since(world.now));
                world.let_due_come();
            }
            other => {
                assert_eq!(other, NextAction::Turn);
                waits.push(0);
            }
        }
    }
    let paced: Vec<u64> = waits.iter().map(|wait| wait / 1_000).collect();
    assert_eq!(paced, [0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, 120]);
}

#[test]
fn time_that_has_passed_since_the_last_turn_counts() {
    let mut world = states::paced();
    world.send(Input::Stop);
    world.advance(limits::PACE_MAX_MS);
    world.send(Input::Start);
    let world = states::ready(world);
    assert_eq!(world.agent.pace, None);
    assert!(world.agent.open_turn.is_some());
}

#[test]
fn rests_of_its_own_are_paced_like_follow_ups() {
    let mut world = states::calling_model();
    let mut paced = 0;
    for _ in 0..limits::UNPACED_TURNS + 3 {
        world.send(ModelAnswer::calls(vec![make::sleep(Some(1))]).to(&world));
        world.let_due_come();
        if world.agent.pace.is_some() {
            paced += 1;
            world.let_due_come();
        }
        assert!(world.agent.open_turn.is_some());
    }
    assert_eq!(paced, 3);
}

#[test]
fn whoever_speaks_to_a_paced_agent_is_heard_at_once_and_ends_the_pacing() {
    for ingress in [
        make::prompt(Priority::Normal),
        make::prompt(Priority::Interject),
        make::channel_event("news", Priority::Normal),
    ] {
        let mut world = states::paced();
        world.send(make::admit(ingress));
        let taken = world.in_status(QueueStatus::Dequeued)[0].seq;
        assert_eq!(taken, world.agent.counters.messages);
        assert_eq!((world.agent.pace, world.due.len()), (None, 0));
        assert_eq!(world.agent.self_caused_turns, 0);
    }
}

#[test]
fn nobody_waits_behind_follow_ups_that_were_queued_before_the_pacing_began() {
    let mut world = states::calling_model();
    follow_up(&mut world, 16);
    while world.agent.open_turn.is_some() {
        world.send(ModelAnswer::words("one done").to(&world));
    }
    assert!(
        world.agent.pace.is_some(),
        "it is paced with follow-ups left"
    );
    assert!(world.agent.self_caused_queued > 0);
    world.send(make::admit(make::channel_event("news", Priority::Normal)));
    let taken = world.in_status(QueueStatus::Dequeued)[0].seq;
    assert_eq!(taken, world.agent.counters.messages);
}

#[test]
fn follow_ups_that_will_have_to_wait_are_queued_in_the_background() {
    let mut world = states::calling_model();
    follow_up(&mut world, 10);
    let bands: Vec<Priority> = world
        .messages
        .values()
        .skip(1)
        .map(|kept| kept.entry.envelope.priority)
        .collect();
    let (ahead, behind) = bands.split_at(limits::UNPACED_TURNS as usize);
    assert!(ahead.iter().all(|band| *band == Priority::Next));
    assert!(behind.iter().all(|band| *band == Priority::Background));
}

#[test]
fn nothing_is_dropped_by_pacing() {
    let mut world = states::calling_model();
    follow_up(&mut world, 16);
    loop {
        if world.agent.open_turn.is_some() {
            world.send(ModelAnswer::words("one done").to(&world));
        } else if world.due.is_empty() {
            break;
        } else {
            world.let_due_come();
        }
    }
    assert_eq!(world.in_status(QueueStatus::Processed).len(), 17);
    assert_eq!(world.agent.self_caused_queued, 0);
}

#[test]
fn a_stopped_agent_is_paced_again_after_its_start() {
    let mut world = states::paced();
    world.send(Input::Stop);
    world.send(Input::Start);
    let world = states::ready(world);
    assert!(world.agent.pace.is_some());
    assert_eq!(world.violations(), []);
}

#[test]
fn a_due_entry_that_comes_after_its_pause_has_ended_changes_nothing() {
    for mut world in [
        states::paced(),
        states::resting(Some(60_000)),
        states::backing_off(),
    ] {
        let late = world.first_due().expect("something is due");
        world.send(Input::Stop);
        let before = world.agent.clone();
        let sent = world.send(late);
        assert_eq!((sent.facts.len(), &world.agent), (0, &before));
    }
}

#[test]
fn the_cause_of_every_message_is_settled_when_it_is_admitted() {
    let mut world = states::calling_model();
    world.send(make::admit(make::channel_event("news", Priority::Normal)));
    follow_up(&mut world, 1);
    world.send(ModelAnswer::words("read the news").to(&world));
    world.send(ModelAnswer::calls(vec![make::sleep(Some(1))]).to(&world));
    world.let_due_come();
    let causes: Vec<_> = world
        .messages
        .values()
        .map(|kept| kept.entry.envelope.cause)
        .collect();
    let expected = [
        Cause::Operator,
        Cause::Outside,
        Cause::Itself,
        Cause::Itself,
    ];
    assert_eq!(causes, expected.map(Some));
}

#[test]
fn a_count_that_a_damaged_row_puts_at_the_end_of_all_numbers_goes_no_further() {
    let mut world = states::calling_model();
    world.agent.self_caused_queued = u64::MAX;
    follow_up(&mut world, 2);
    assert!(world.agent.self_caused_queued >= u64::MAX - 2);
}

#[test]
fn an_agent_that_completes_what_operators_asked_for_is_not_paced() {
    let mut world = states::idle();
    let count = 3 * limits::UNPACED_TURNS;
    for n in 0..count {
        let new = holon_domain::intent::NewWorkItem {
            objective: format!("part {n}"),
            plan_status: holon_domain::work_item::PlanStatus::Ready,
            todo_list: Vec::new(),
        };
        let command = holon_core::input::WorkCommand::Create(new);
        world.send(Input::Work(Box::new(command)));
    }
    for n in 0..count {
        let turn = world.agent.open_turn.as_ref();
        let turn = turn.unwrap_or_else(|| panic!("turn {n} follows at once"));
        let work_item_id = turn.work_item_id.clone().expect("an item");
        let done = holon_domain::intent::WorkIntent::Complete {
            work_item_id,
            attachments: Vec::new(),
        };
        let call = (
            "CompleteWorkItem",
            Ok(holon_domain::intent::Intent::Work(done)),
        );
        world.send(ModelAnswer::calls(vec![call]).to(&world));
        if n + 1 == count {
            break;
        }
        world.send(ModelAnswer::words("one more done").to(&world));
        assert_eq!(world.agent.pace, None, "turn {n}");
    }
    assert_eq!(world.agent.self_caused_turns, 1, "the last one counts");
    // What the agent asks itself afterwards is paced as ever.
    for _ in 1..=limits::UNPACED_TURNS {
        follow_up(&mut world, 1);
    }
    assert!(world.agent.pace.is_some());
    assert_eq!(world.violations(), []);
}
