//! Tests of the pace of timers: ticks that an operator caused come in time, others are paced, and late ones say so.

use super::timers::{MINUTE, answer_all, every, slots, timer};
use super::*;
use holon_core::assess::{AssessmentInput, assess};
use holon_core::timer::TimerCost;
use holon_domain::limits;
use holon_domain::message::Cause;
use holon_domain::timer::{DueAction, LateCause};

const SECOND: u64 = 1_000;

/// Lets the agent make a timer in the open turn.
fn agent_times(world: &mut World, interval_ms: u64) {
    let intent = WorkIntent::CreateTimerAfter {
        delay_ms: interval_ms,
        interval_ms: Some(interval_ms),
        missed: MissedSlotPolicy::Once,
        summary: None,
    };
    call(world, vec![("CreateTimer", Ok(Intent::Work(intent)))]);
}

/// Lets `count` slots of the one timer come, with a turn of two seconds each, and returns the waits of their ticks.
fn waits_of_ticks(world: &mut World, count: usize) -> Vec<u64> {
    let mut waits = Vec::new();
    while waits.len() < count {
        world.let_due_come();
        if let Some(turn) = &world.agent.open_turn {
            let message = &world.messages[&turn.message_seq].entry.envelope;
            waits.push(turn.started_at.millis_since(message.created_at));
            world.advance(2 * SECOND);
            answer_all(world);
        }
    }
    waits
}

#[test]
fn ticks_of_a_timer_that_an_operator_ordered_come_in_time() {
    for by_agent in [true, false] {
        let mut world = states::calling_model();
        if by_agent {
            agent_times(&mut world, 30 * SECOND);
        } else {
            let first = world.now.plus_millis(30 * SECOND);
            timer(
                &mut world,
                every(first, 30 * SECOND, MissedSlotPolicy::Once),
            );
        }
        say(&mut world);
        assert_eq!(waits_of_ticks(&mut world, 40), [0; 40], "{by_agent}");
        assert_eq!(world.agent.self_caused_turns, 0);
        let timer = &world.timers[0];
        assert_eq!((timer.fire_count, timer.missed_count), (40, 0));
        assert_eq!(world.violations(), []);
    }
}

#[test]
fn ticks_of_a_shorter_interval_come_twice_a_minute() {
    let mut world = states::calling_model();
    agent_times(&mut world, 5 * SECOND);
    say(&mut world);
    let start = world.now;
    assert_eq!(waits_of_ticks(&mut world, 10), [0; 10]);
    let took = world.now.millis_since(start);
    assert!(took >= 9 * 30 * SECOND, "{took}");
    let timer = &world.timers[0];
    assert_eq!(timer.fire_count, 10);
    assert!(timer.missed_count >= 9 * 5, "{}", timer.missed_count);
    let next = timer.next_fire_at.expect("it goes on");
    assert!(
        next.millis_since(world.now) >= 25 * SECOND,
        "no wake is promised before"
    );
    world.let_due_come();
    let (words, _) = began_with(&world);
    assert!(
        words.contains("5 slots without a tick before it"),
        "{words}"
    );
    assert_eq!(world.violations(), []);
}

#[test]
fn a_slot_that_comes_late_moves_no_other() {
    for late_ms in [0, 1, 4_999, 12 * SECOND, 29 * SECOND] {
        let mut world = states::calling_model();
        agent_times(&mut world, 5 * SECOND);
        say(&mut world);
        let mut planned = Vec::new();
        while planned.len() < 6 {
            planned.push(world.timers[0].next_fire_at.expect("it goes on"));
            let wait = planned[planned.len() - 1].millis_since(world.now);
            world.advance(wait + late_ms);
            world.let_due_come();
            answer_all(&mut world);
        }
        let apart = planned.windows(2).map(|pair| pair[1].millis_since(pair[0]));
        assert!(
            apart.clone().all(|ms| ms == 30 * SECOND),
            "{late_ms}: {:?}",
            apart.collect::<Vec<_>>()
        );
        assert_eq!(world.violations(), []);
    }
}

#[test]
fn the_first_tick_after_a_long_pause_is_followed_no_sooner_than_others() {
    let mut world = states::calling_model();
    agent_times(&mut world, 5 * SECOND);
    say(&mut world);
    world.advance(10 * MINUTE + 2 * SECOND);
    world.let_due_come();
    let next = world.timers[0].next_fire_at.expect("it goes on");
    let after = next.millis_since(world.now);
    assert!((25 * SECOND..=30 * SECOND).contains(&after), "{after}");
}

#[test]
fn ticks_of_a_timer_that_no_operator_caused_are_paced_and_say_that_they_begin_late() {
    let mut world = states::idle();
    world.send(news());
    agent_times(&mut world, 30 * SECOND);
    say(&mut world);
    assert!(!world.timers[0].is_by_operator());
    let mut late = None;
    for _ in 0..200 {
        world.let_due_come();
        if let Some(turn) = &world.agent.open_turn {
            late = late.or_else(|| turn.late_tick.filter(|late| late.passed_over > 0));
            let message = &world.messages[&turn.message_seq].entry.envelope;
            assert_eq!(message.cause(), Cause::Itself);
            answer_all(&mut world);
        }
    }
    let late = late.expect("a tick that begins late");
    assert_eq!(late.cause, LateCause::Paced);
    let paced = |event: &&Event| match event {
        Event::TimerFireFailed(failed) => {
            failed.error.contains("are paced, the next one begins at")
        }
        _ => false,
    };
    assert!(world.events.iter().any(|event| paced(&event)));
    assert_eq!(world.violations(), []);
}

#[test]
fn a_slot_that_was_noticed_a_little_late_is_not_told_as_downtime() {
    let mut world = states::calling_model();
    agent_times(&mut world, 30 * SECOND);
    let planned = world.timers[0].next_fire_at.expect("a slot");
    world.advance(planned.millis_since(world.now) + 3 * SECOND);
    world.let_due_come();
    world.advance(2_500);
    say(&mut world);
    let turn = world.agent.open_turn.as_ref().expect("the tick's turn");
    let late = turn.late_tick.expect("it begins late");
    assert_eq!(late.cause, LateCause::Overdue);
}

#[test]
fn the_tick_that_tells_of_passed_slots_tells_them_once_also_if_newer_ones_wait() {
    let mut world = states::calling_model();
    let first = world.now.plus_millis(30 * SECOND);
    let all = every(first, 30 * SECOND, MissedSlotPolicy::All);
    timer(&mut world, all);
    world.let_due_come();
    world.let_due_come();
    world.timers[0].passed_over = 2;
    let told = |world: &World| {
        let turn = world.agent.open_turn.as_ref().expect("a tick's turn");
        turn.late_tick.expect("it begins late").passed_over
    };
    world.advance(MINUTE);
    say(&mut world);
    assert_eq!(told(&world), 2);
    assert_eq!(world.timers[0].passed_over, 0);
    say(&mut world);
    assert_eq!(told(&world), 0);
}

#[test]
fn a_tick_behind_a_long_turn_says_that_it_begins_late() {
    let mut world = states::calling_model();
    agent_times(&mut world, 30 * SECOND);
    world.let_due_come();
    world.advance(2 * MINUTE);
    assert!(slots(&world).len() == 1);
    world.let_due_come();
    say(&mut world);
    let turn = world.agent.open_turn.as_ref().expect("the tick's turn");
    let late = turn.late_tick.expect("late");
    assert_eq!(late.cause, LateCause::Busy);
    assert!(late.passed_over > 0);
    assert!(turn.started_at.millis_since(late.planned_at) >= limits::LATE_TICK_MS);
    assert_eq!(world.timers[0].passed_over, 0, "told");
}

#[test]
fn an_operator_who_joins_a_turn_resets_the_count_of_self_caused_turns() {
    let mut world = states::running_tool();
    world.agent.self_caused_turns = 7;
    world.send(make::admit(make::prompt(Priority::Interject)));
    world.send(make::tool_ok(world.stamp().expect("a tool runs")));
    world.send(make::tool_ok(world.stamp().expect("a tool runs")));
    assert_eq!(world.agent.self_caused_turns, 7, "no request had it yet");
    let joined = world.interjections();
    world.send(ModelAnswer::words("all done").after(joined).to(&world));
    assert_eq!(world.agent.self_caused_turns, 0);
}

#[test]
fn a_timer_names_its_ticks_and_tokens_of_a_day() {
    let mut world = states::calling_model();
    agent_times(&mut world, 30 * SECOND);
    let cost = |world: &World, timer: usize| TimerCost::of(&world.timers[timer], &world.agent);
    let fresh = cost(&world, 0).expect("a cost");
    assert_eq!((fresh.ticks_a_day, fresh.tokens_a_day), (2_880, None));
    say(&mut world);
    waits_of_ticks(&mut world, 7);
    assert_eq!(world.agent.work.tick_tokens.len(), limits::TICK_TURNS_KEPT);
    let known = cost(&world, 0).expect("a cost");
    let each = world.agent.work.tick_tokens[0];
    assert!(each > 0);
    assert_eq!(known.tokens_a_day, Some(each * 2_880));
    for (schedule, ticks) in [
        (
            TimerSchedule::Every {
                first_at: world.now,
                interval_ms: 20 * SECOND,
            },
            2_160,
        ),
        (
            TimerSchedule::Cron {
                expression: "0 9 * * *".to_owned(),
                time_zone: "UTC".to_owned(),
            },
            1,
        ),
        (
            TimerSchedule::Cron {
                expression: "*/10 * * * *".to_owned(),
                time_zone: "UTC".to_owned(),
            },
            144,
        ),
    ] {
        let id = timer(&mut world, new_timer(schedule));
        let made = world.timers.iter().position(|timer| timer.id == id);
        let cost = cost(&world, made.expect("the timer")).expect("a cost");
        assert_eq!(cost.ticks_a_day, ticks);
    }
}

#[test]
fn slots_of_a_short_interval_that_passed_in_a_downtime_are_told_twice_a_minute() {
    let mut world = states::idle();
    let first = world.now.plus_millis(SECOND);
    timer(&mut world, every(first, SECOND, MissedSlotPolicy::All));
    world.advance(100 * SECOND);
    world.recover(false);
    world.let_due_come();
    let told = world.events.iter().filter_map(|event| match event {
        Event::TimerFired(fired) if fired.message_id.is_some() => {
            Some(fired.planned_at.millis_since(make::T0) / SECOND)
        }
        _ => None,
    });
    assert_eq!(told.collect::<Vec<u64>>(), [10, 40, 70, 100]);
    let timer = &world.timers[0];
    let next = timer.next_fire_at;
    let expected = make::T0.plus_millis(130 * SECOND);
    assert_eq!(next, Some(expected), "the next one is no closer");
    // Those before now that no tick tells, and those before the next tick.
    assert_eq!((timer.fire_count, timer.missed_count), (4, 96 + 29));
    assert_eq!(world.violations(), []);
}

#[test]
fn the_timer_of_an_operator_wakes_an_agent_whose_own_turns_are_paced() {
    for (by_agent, wakes_it) in [(false, true), (true, false)] {
        let mut world = states::paced();
        let pace = world.agent.pace.expect("its next turn waits").at;
        let at = world.now.plus_millis(pace.millis_since(world.now) / 2);
        timer(&mut world, every(at, MINUTE, MissedSlotPolicy::Once));
        if by_agent {
            let (_, action) = world.due.values_mut().last().expect("its slot");
            let DueAction::TimerFire { by_operator, .. } = action else {
                panic!("{action:?}");
            };
            assert!(*by_operator);
            *by_operator = false;
        }
        let shown = assess(AssessmentInput::new(&world.agent, &world.queue()));
        let expected = if wakes_it { at } else { pace };
        assert_eq!(shown.posture.wakes_at, Some(expected), "{by_agent}");
    }
}

#[test]
fn the_tick_of_an_operators_timer_leaves_the_count_of_self_caused_turns_as_it_is() {
    let mut world = states::idle();
    timer(
        &mut world,
        every(make::T0.plus_millis(MINUTE), MINUTE, MissedSlotPolicy::Once),
    );
    world.agent.self_caused_turns = 7;
    world.let_due_come();
    assert_eq!(tick_of(&world).as_deref(), Some("timer"));
    assert_eq!(world.agent.self_caused_turns, 7);
    answer_all(&mut world);
    world.send(prompt());
    assert_eq!(world.agent.self_caused_turns, 0);
}
