//! Tests of timers after the clock was set back: `at` and cron are times on the wall, `after` and `every` are lengths.

use super::timers::{HOUR, MINUTE, answer_all, cron, every, once, slots, timer};
use super::*;
use holon_core::input::{RunningPause, SlotAhead};
use holon_domain::Timestamp;
use holon_domain::limits;
use holon_domain::timer::{DueTime, Slot, TimerStatus};
use std::collections::BTreeSet;

const DAY: u64 = 24 * HOUR;

/// Sets the clock back. `seen_ms` is the size of the step that the host noticed; 0 after a restart.
fn set_back(world: &mut World, by_ms: u64, seen_ms: u64) {
    world.now = world.now.minus_millis(by_ms);
    notice(world, seen_ms, world.now);
}

/// Tells the agent of a step back that was made at `since` at the earliest, by the clock after the step.
fn notice(world: &mut World, seen_ms: u64, since: Timestamp) {
    let (mut pauses, mut slots) = (Vec::new(), Vec::new());
    for (id, (time, due)) in &world.due {
        let (id, due) = (*id, due.clone());
        match time {
            DueTime::Pause(pause) => pauses.push(RunningPause {
                id,
                pause: *pause,
                due,
            }),
            DueTime::Slot(slot) if slot.is_planned_ahead_of(world.now) => {
                let at = slot.at;
                slots.push(SlotAhead { id, at, due });
            }
            DueTime::Slot(_) => {}
        }
    }
    let by_ms = seen_ms;
    world.send(Input::ClockSetBack {
        by_ms,
        since,
        pauses,
        slots,
    });
    assert_eq!(world.violations(), []);
}

fn timer_after(world: &mut World, delay_ms: u64, interval_ms: Option<u64>) {
    let order = WorkCommand::CreateTimerAfter {
        delay_ms,
        interval_ms,
        missed: MissedSlotPolicy::Once,
        summary: None,
    };
    let made = world.send(operator(order)).reply;
    assert!(matches!(made, Ok(Reply::Timer(_))), "{made:?}");
}

#[test]
fn timers_fire_in_their_time_after_a_clock_that_was_a_day_ahead_is_corrected() {
    for seen_ms in [DAY, 0] {
        let mut world = states::idle();
        timer_after(&mut world, 20 * MINUTE, None);
        timer_after(&mut world, HOUR, Some(HOUR));
        timer(&mut world, cron("*/5 * * * *", "UTC"));
        set_back(&mut world, DAY, seen_ms);
        let start = world.now;
        while world.now < start.plus_millis(HOUR) {
            world.let_due_come();
            answer_all(&mut world);
        }
        let [after, every, cron] = &world.timers[..] else {
            panic!("three timers");
        };
        assert_eq!(after.status, TimerStatus::Completed, "{seen_ms}");
        assert_eq!(every.fire_count, 1, "{seen_ms}");
        assert!(cron.fire_count >= 11, "{seen_ms}: {}", cron.fire_count);
        assert_eq!(world.violations(), []);
    }
}

#[test]
fn a_slot_between_a_step_back_and_its_notice_comes_once() {
    for late_ms in [0, 29_999, 30_000, 60_000] {
        let mut world = states::idle();
        world.advance(DAY);
        timer(&mut world, cron("* * * * *", "UTC"));
        world.let_due_come();
        answer_all(&mut world);
        let seen = world.timers[0].past_slots[0].to;
        let since = seen.minus_millis(DAY);
        // The step is made half a minute after the host read its clocks.
        world.now = since.plus_millis(30_000 + late_ms);
        notice(&mut world, DAY, since);
        for _ in 0..2 {
            world.let_due_come();
            answer_all(&mut world);
        }
        let came = world.events.iter().filter_map(|event| match event {
            Event::TimerFired(fired) => Some(fired.planned_at),
            _ => None,
        });
        let expected = [
            seen,
            since.plus_millis(MINUTE),
            since.plus_millis(2 * MINUTE),
        ];
        assert_eq!(came.collect::<Vec<_>>(), expected, "{late_ms}");
        assert_eq!(world.violations(), []);
    }
}

#[test]
fn a_timer_that_was_made_after_the_last_look_at_the_clock_has_no_earlier_slot() {
    let mut world = states::idle();
    world.advance(DAY);
    timer(&mut world, cron("* * * * *", "UTC"));
    let slot = world.timers[0].next_fire_at.expect("a slot");
    world.now = world.now.minus_millis(DAY);
    let since = world.now.minus_millis(10 * MINUTE);
    notice(&mut world, DAY, since);
    let next = world.timers[0].next_fire_at;
    assert_eq!(next, Some(slot.minus_millis(DAY)));
}

#[test]
fn a_length_is_as_long_as_before_when_the_host_notices_the_step() {
    let mut world = states::idle();
    timer_after(&mut world, 10 * HOUR, None);
    timer_after(&mut world, 8 * HOUR, Some(8 * HOUR));
    world.advance(5 * HOUR);
    set_back(&mut world, HOUR, HOUR);
    let left: Vec<u64> = world
        .timers
        .iter()
        .filter_map(|timer| timer.next_fire_at)
        .map(|at| at.millis_since(world.now))
        .collect();
    assert_eq!(left, [5 * HOUR, 3 * HOUR]);
}

#[test]
fn a_named_time_stays_on_the_wall() {
    let mut world = states::idle();
    let at = make::T0.plus_millis(2 * HOUR);
    timer(&mut world, once(at));
    timer(&mut world, every(at, HOUR, MissedSlotPolicy::Once));
    set_back(&mut world, DAY, DAY);
    let planned: Vec<_> = world
        .timers
        .iter()
        .map(|timer| timer.next_fire_at)
        .collect();
    assert_eq!(planned, [Some(at), Some(at)]);
}

#[test]
fn no_slot_fires_twice_for_the_same_planned_time() {
    for (name, by_ms) in [("cron", 3 * MINUTE), ("cron", DAY), ("every", 3 * MINUTE)] {
        for seen_ms in [by_ms, 0] {
            let mut world = states::idle();
            match name {
                "cron" => drop(timer(&mut world, cron("* * * * *", "UTC"))),
                _ => timer_after(&mut world, MINUTE, Some(MINUTE)),
            }
            for _ in 0..3 {
                for _ in 0..6 {
                    world.let_due_come();
                    answer_all(&mut world);
                }
                set_back(&mut world, by_ms, seen_ms);
            }
            let told = world.events.iter().filter_map(|event| match event {
                Event::TimerFired(fired) => Some(fired.planned_at),
                _ => None,
            });
            let told: Vec<_> = told.collect();
            let distinct: BTreeSet<_> = told.iter().collect();
            assert_eq!(distinct.len(), told.len(), "{name} {by_ms} {seen_ms}");
            assert!(world.timers[0].past_slots.len() <= limits::SLOT_RUNS_KEPT);
            let next = world.timers[0].next_fire_at.expect("it goes on");
            let most = if name == "cron" {
                10 * MINUTE
            } else {
                MINUTE + 4
            };
            let left = next.millis_since(world.now);
            assert!(left <= most, "{name} {by_ms} {seen_ms}: {left}");
        }
    }
}

#[test]
fn slots_that_came_are_not_made_up_for_when_the_clock_is_ahead_again() {
    let mut world = states::idle();
    let all = NewTimer {
        missed: MissedSlotPolicy::All,
        ..cron("0 * * * *", "UTC")
    };
    timer(&mut world, all);
    world.let_due_come();
    answer_all(&mut world);
    world.advance(3 * HOUR);
    for _ in 0..2 {
        world.let_due_come();
        answer_all(&mut world);
    }
    set_back(&mut world, 5 * HOUR, 5 * HOUR);
    world.advance(9 * HOUR);
    for _ in 0..3 {
        world.let_due_come();
        answer_all(&mut world);
    }
    let fired = slots(&world);
    let once: BTreeSet<i64> = fired.iter().copied().collect();
    assert_eq!(fired.len(), once.len(), "{fired:?}");
}

#[test]
fn a_clock_that_is_a_day_ahead_again_and_again_leaves_no_silence() {
    let policies = [MissedSlotPolicy::Once, MissedSlotPolicy::All];
    for (seen_ms, missed) in [DAY, 0]
        .into_iter()
        .flat_map(|ms| policies.map(|one| (ms, one)))
    {
        let mut world = states::idle();
        let often = NewTimer {
            missed,
            ..cron("*/5 * * * *", "UTC")
        };
        timer(&mut world, often);
        for round in 0..6 {
            for is_ahead in [true, false] {
                match is_ahead {
                    true => world.advance(DAY),
                    false => set_back(&mut world, DAY, seen_ms),
                }
                for _ in 0..2 {
                    world.let_due_come();
                    answer_all(&mut world);
                }
                let timer = &world.timers[0];
                assert!(timer.past_slots.len() <= limits::SLOT_RUNS_KEPT);
                let next = timer.next_fire_at.expect("it goes on");
                let left = next.millis_since(world.now);
                assert!(
                    left <= 10 * MINUTE,
                    "{round} {is_ahead} {seen_ms} {missed:?}: {left}"
                );
            }
        }
    }
}

#[test]
fn an_interval_of_an_earlier_build_goes_on_after_a_clock_that_was_ahead_is_corrected() {
    for (back_ms, left) in [(DAY, HOUR), (MINUTE, HOUR), (0, HOUR)] {
        let mut world = states::idle();
        timer_after(&mut world, HOUR, Some(HOUR));
        world.let_due_come();
        answer_all(&mut world);
        // Earlier builds stored every slot as a time, and no slots that came.
        for (time, _) in world.due.values_mut() {
            let at = time.at();
            *time = DueTime::Slot(Slot { at, set_at: at });
        }
        world.timers[0].past_slots.clear();
        set_back(&mut world, back_ms, 0);
        let next = world.timers[0].next_fire_at.expect("it goes on");
        let found = next.millis_since(world.now);
        assert_eq!(found, left, "{back_ms}");
        world.let_due_come();
        assert_eq!(world.timers[0].fire_count, 2, "{back_ms}");
    }
}

#[test]
fn pauses_keep_their_lengths_when_the_clock_is_set_back() {
    let (mut world, id) = waiting(vec![WakeCondition::After { delay_ms: HOUR }]);
    world.send(news());
    let other = agent_makes(&mut world);
    call(
        &mut world,
        vec![update(&other, blocked("no key", 2 * HOUR))],
    );
    say(&mut world);
    set_back(&mut world, DAY, DAY);
    let mut pauses = 0;
    for (time, _) in world.due.values() {
        if let DueTime::Pause(pause) = time {
            pauses += 1;
            let left = pause.ends_at().millis_since(world.now);
            assert!(left <= 2 * HOUR, "{left}");
        }
    }
    assert_eq!(pauses, 2);
    assert_ne!(id, other);
}

#[test]
fn slots_of_one_schedule_make_one_run_while_the_clock_goes_forward() {
    let mut world = states::idle();
    timer(&mut world, cron("* * * * *", "UTC"));
    for _ in 0..5 {
        world.let_due_come();
        answer_all(&mut world);
    }
    assert_eq!(world.timers[0].past_slots.len(), 1);
    assert_eq!(slots(&world).len(), 5);
}

#[test]
fn a_slot_noted_by_a_clock_that_was_ahead_leaves_no_silence_after_the_start() {
    let policies = [
        MissedSlotPolicy::Skip,
        MissedSlotPolicy::Once,
        MissedSlotPolicy::All,
    ];
    for (seen_ms, missed) in [DAY, 0]
        .into_iter()
        .flat_map(|ms| policies.map(|one| (ms, one)))
    {
        let mut world = states::idle();
        world.advance(DAY);
        let often = NewTimer {
            missed,
            ..cron("*/5 * * * *", "UTC")
        };
        timer(&mut world, often);
        timer_after(&mut world, HOUR, Some(HOUR));
        timer_after(&mut world, 2 * MINUTE, Some(2 * MINUTE));
        world.send(Input::Stop);
        world.let_due_come();
        world.let_due_come();
        world.let_due_come();
        assert_eq!(world.due.len(), 0, "every slot is noted");
        set_back(&mut world, DAY, seen_ms);
        world.send(Input::Start);
        world = states::ready(world);
        world.let_due_come();
        answer_all(&mut world);
        assert_eq!(world.agent.work.deferred, 0);
        for (timer, most) in world
            .timers
            .iter()
            .zip([10 * MINUTE, HOUR + 4, 2 * MINUTE + 4])
        {
            let next = timer.next_fire_at.expect("it goes on");
            let left = next.millis_since(world.now);
            assert!(left <= most, "{seen_ms} {missed:?}: {left}");
        }
        assert_eq!(world.violations(), []);
    }
}

#[test]
fn no_slot_fires_twice_when_noted_slots_are_made_up_for_before_their_time() {
    for (name, by_ms) in [("cron", 3 * MINUTE), ("cron", DAY), ("every", 3 * MINUTE)] {
        let mut world = states::idle();
        match name {
            "cron" => drop(timer(&mut world, cron("* * * * *", "UTC"))),
            _ => timer_after(&mut world, MINUTE, Some(MINUTE)),
        }
        for _ in 0..3 {
            world.send(Input::Stop);
            world.let_due_come();
            set_back(&mut world, by_ms, by_ms);
            world.send(Input::Start);
            world = states::ready(world);
            for _ in 0..6 {
                world.let_due_come();
                answer_all(&mut world);
            }
        }
        let told = world.events.iter().filter_map(|event| match event {
            Event::TimerFired(fired) => Some(fired.planned_at),
            _ => None,
        });
        let told: Vec<_> = told.collect();
        let distinct: BTreeSet<_> = told.iter().collect();
        assert_eq!(distinct.len(), told.len(), "{name} {by_ms}: {told:?}");
        assert!(told.len() > 15, "{name} {by_ms}: {told:?}");
    }
}
