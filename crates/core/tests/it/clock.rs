//! Tests of a wall clock that is set back: no kind of pause gets longer.

use crate::world::World;
use crate::{make, states};
use holon_core::Input;
use holon_core::input::RunningPause;
use holon_domain::Timestamp;
use holon_domain::timer::{DueTime, Pause};

const HOUR: u64 = 3_600_000;
const YEAR: u64 = 365 * 24 * HOUR;

/// Builds a world in each kind of pause.
fn pausing() -> [(&'static str, World); 5] {
    let mut removed = states::deleting();
    let stamp = removed.stamp().expect("its home is being removed");
    removed.send(make::home_removed(stamp, Err("busy")));
    [
        ("suspension", states::suspended()),
        ("removal", removed),
        ("rest", states::resting(Some(2 * HOUR))),
        ("pace", states::paced()),
        ("backoff", states::backing_off()),
    ]
}

fn running(world: &World) -> Vec<RunningPause> {
    let rows = world.due.iter().filter_map(|(id, (time, due))| match time {
        DueTime::Pause(pause) => Some(RunningPause {
            id: *id,
            pause: *pause,
            due: due.clone(),
        }),
        DueTime::Slot(_) => None,
    });
    rows.collect()
}

/// Returns the only pause in the due queue.
fn only(world: &World) -> Pause {
    let running = running(world);
    assert_eq!(running.len(), 1, "{running:?}");
    running[0].pause
}

fn set_back(world: &mut World, by_ms: u64) -> Input {
    world.now = world.now.minus_millis(by_ms);
    Input::ClockSetBack {
        by_ms,
        since: world.now,
        pauses: running(world),
        slots: Vec::new(),
    }
}

#[test]
fn a_pause_takes_as_long_as_before_when_the_clock_is_set_back_in_the_middle_of_it() {
    for by_ms in [1_000, HOUR, YEAR] {
        for (name, mut world) in pausing() {
            let length_ms = only(&world).length_ms;
            world.advance(length_ms / 2);
            let left = only(&world).ends_at().millis_since(world.now);
            let input = set_back(&mut world, by_ms);
            world.send(input);
            let pause = only(&world);
            assert_eq!(pause.length_ms, length_ms, "{name}");
            let left_now = pause.ends_at().millis_since(world.now);
            assert_eq!(left_now, left, "{name}, set back by {by_ms}");
            assert_eq!(world.violations(), [], "{name}");
            world.let_due_come();
            assert!(running(&world).is_empty(), "{name}: it is over then");
        }
    }
}

#[test]
fn after_a_restart_a_pause_set_in_the_future_takes_its_full_length_once_more() {
    for (name, mut world) in pausing() {
        let length_ms = only(&world).length_ms;
        world.advance(length_ms / 2);
        world.now = world.now.minus_millis(YEAR);
        let input = Input::ClockSetBack {
            by_ms: 0,
            since: world.now,
            pauses: running(&world),
            slots: Vec::new(),
        };
        world.send(input);
        let left = only(&world).ends_at().millis_since(world.now);
        assert_eq!(left, length_ms, "{name}");
        assert_eq!(world.violations(), [], "{name}");
    }
}

#[test]
fn the_same_step_that_is_told_twice_moves_a_pause_once() {
    for (name, mut world) in pausing() {
        let input = set_back(&mut world, HOUR);
        world.send(input.clone());
        let once = only(&world);
        world.send(input);
        assert_eq!(only(&world), once, "{name}");
    }
}

#[test]
fn what_an_agent_says_of_its_pause_is_what_the_due_queue_says() {
    let mut world = states::resting(Some(2 * HOUR));
    let input = set_back(&mut world, HOUR);
    world.send(input);
    let wake = world.agent.rest.as_ref().and_then(|rest| rest.wake);
    let planned: Option<Timestamp> = wake.map(|wake| wake.at);
    assert_eq!(planned, Some(only(&world).ends_at()));
}
