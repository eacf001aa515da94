//! Tests of timers: one fire per slot, the policies for missed slots, and clock steps.

use super::*;
use holon_core::Rejection;
use holon_core::input::RunningPause;
use holon_domain::Timestamp;
use holon_domain::limits;
use holon_domain::message::Origin;
use holon_domain::timer::{DueTime, NO_ZONE, TimerStatus};

pub(super) const MINUTE: u64 = 60_000;
pub(super) const HOUR: u64 = 60 * MINUTE;

pub(super) fn timer(world: &mut World, new: NewTimer) -> TimerId {
    match world.send(operator(WorkCommand::CreateTimer(new))).reply {
        Ok(Reply::Timer(timer)) => timer.id,
        other => panic!("a timer is made: {other:?}"),
    }
}

pub(super) fn once(at: Timestamp) -> NewTimer {
    new_timer(TimerSchedule::Once { at })
}

pub(super) fn every(first_at: Timestamp, interval_ms: u64, missed: MissedSlotPolicy) -> NewTimer {
    let schedule = TimerSchedule::Every {
        first_at,
        interval_ms,
    };
    NewTimer {
        missed,
        ..new_timer(schedule)
    }
}

pub(super) fn cron(expression: &str, time_zone: &str) -> NewTimer {
    new_timer(TimerSchedule::Cron {
        expression: expression.to_owned(),
        time_zone: time_zone.to_owned(),
    })
}

/// Returns the reported slots in minutes after the start.
pub(super) fn slots(world: &World) -> Vec<i64> {
    let fired = world.events.iter().filter_map(|event| match event {
        Event::TimerFired(fired) if fired.message_id.is_some() => Some(fired.planned_at),
        _ => None,
    });
    let minute = |at: Timestamp| (at.as_millis() - make::T0.as_millis()) / 60_000;
    fired.map(minute).collect()
}

/// Answers every request of the agent until it rests.
pub(super) fn answer_all(world: &mut World) {
    while world.agent.open_turn.is_some() {
        say(world);
    }
}

#[test]
fn a_timer_that_fires_once_fires_once() {
    let mut world = states::idle();
    let at = make::T0.plus_millis(HOUR);
    timer(&mut world, once(at));
    assert_eq!(world.agent.open_turn, None);
    world.let_due_come();
    let turn = world
        .agent
        .open_turn
        .as_ref()
        .expect("its tick begins a turn");
    let message = &world.messages[&turn.message_seq].entry.envelope;
    assert!(matches!(message.origin, Origin::Timer { .. }));
    let metadata = message.metadata.as_ref().expect("times");
    assert_eq!(metadata["planned_at"], serde_json::json!(at));
    assert_eq!(metadata["fired_at"], serde_json::json!(world.now));
    assert_eq!(world.timers[0].status, TimerStatus::Completed);
    assert_eq!((world.due.len(), world.agent.work.active_timers), (0, 0));
    assert_eq!(world.violations(), []);
}

#[test]
fn a_late_fire_moves_no_later_slot() {
    let mut world = states::idle();
    timer(
        &mut world,
        every(make::T0.plus_millis(MINUTE), MINUTE, MissedSlotPolicy::Once),
    );
    for late in [0, 100, 59_999] {
        world.advance(MINUTE.saturating_sub(1) + late);
        world.let_due_come();
        answer_all(&mut world);
    }
    let next = world.timers[0].next_fire_at.expect("it goes on");
    assert_eq!(next.millis_since(make::T0) % MINUTE, 0, "on the grid");
    assert_eq!(world.violations(), []);
}

#[test]
fn slots_that_passed_in_a_downtime_are_treated_as_the_timer_says() {
    let rows = [
        (MissedSlotPolicy::Skip, vec![], 10),
        (MissedSlotPolicy::Once, vec![1], 9),
        (MissedSlotPolicy::All, (1..=10).collect(), 0),
    ];
    for (missed, told, counted) in rows {
        let mut world = states::idle();
        timer(
            &mut world,
            every(make::T0.plus_millis(MINUTE), MINUTE, missed),
        );
        world.advance(10 * MINUTE + 5);
        world.recover(false);
        world.let_due_come();
        assert_eq!(slots(&world), told, "{missed:?}");
        assert_eq!(world.timers[0].missed_count, counted, "{missed:?}");
        let next = make::T0.plus_millis(11 * MINUTE);
        assert_eq!(world.timers[0].next_fire_at, Some(next), "{missed:?}");
        assert_eq!(world.violations(), [], "{missed:?}");
    }
}

#[test]
fn a_long_downtime_causes_no_storm() {
    for missed in [
        MissedSlotPolicy::Skip,
        MissedSlotPolicy::Once,
        MissedSlotPolicy::All,
    ] {
        for new in [
            every(make::T0.plus_millis(1_000), 1_000, missed),
            NewTimer {
                missed,
                ..cron("* * * * *", "Europe/Berlin")
            },
        ] {
            let mut world = states::idle();
            timer(&mut world, new);
            world.advance(365 * 24 * HOUR);
            world.let_due_come();
            assert!(slots(&world).len() <= limits::MISSED_SLOTS as usize);
            let mut told = slots(&world);
            told.dedup();
            let seconds = matches!(world.timers[0].schedule, TimerSchedule::Every { .. });
            assert!(
                seconds || told.len() == slots(&world).len(),
                "each slot once"
            );
            assert!(
                world.timers[0]
                    .next_fire_at
                    .is_some_and(|next| next > world.now)
            );
        }
    }
}

#[test]
fn a_stopped_agents_timers_do_not_fire_and_its_start_applies_their_policies() {
    let rows = [
        (MissedSlotPolicy::Skip, 0),
        (MissedSlotPolicy::Once, 1),
        (MissedSlotPolicy::All, 3),
    ];
    for (missed, told) in rows {
        let mut world = states::idle();
        timer(
            &mut world,
            every(make::T0.plus_millis(MINUTE), MINUTE, missed),
        );
        world.send(Input::Stop);
        world.let_due_come();
        assert_eq!(slots(&world), [0; 0], "{missed:?}");
        assert_eq!(world.due.len(), 0, "{missed:?}: nothing stays overdue");
        assert_eq!(world.violations(), [], "{missed:?}");
        world.now = make::T0.plus_millis(3 * MINUTE + 7);
        world.send(Input::Start);
        let mut world = states::ready(world);
        world.let_due_come();
        assert_eq!(slots(&world).len(), told, "{missed:?}");
        assert_eq!(world.agent.work.deferred, 0, "{missed:?}");
        let next = make::T0.plus_millis(4 * MINUTE);
        assert_eq!(world.timers[0].next_fire_at, Some(next), "{missed:?}");
        assert_eq!(world.violations(), [], "{missed:?}");
    }
}

#[test]
fn one_missed_slot_of_a_stopped_agent_is_skipped_where_the_timer_says_so() {
    let mut world = states::idle();
    let at = make::T0.plus_millis(MINUTE);
    timer(
        &mut world,
        NewTimer {
            missed: MissedSlotPolicy::Skip,
            ..once(at)
        },
    );
    world.send(Input::Stop);
    world.let_due_come();
    world.send(Input::Start);
    let mut world = states::ready(world);
    world.let_due_come();
    assert_eq!(slots(&world), [0; 0]);
    assert_eq!(world.timers[0].missed_count, 1);
    assert_eq!(world.timers[0].status, TimerStatus::Completed);
}

#[test]
fn one_slot_that_came_while_the_host_was_down_is_missed() {
    let slot = make::T0.plus_millis(MINUTE);
    let schedules = [
        once(slot),
        every(slot, HOUR, MissedSlotPolicy::Skip),
        cron("1 * * * *", "UTC"),
    ];
    for schedule in schedules {
        for (missed, told) in [(MissedSlotPolicy::Skip, 0), (MissedSlotPolicy::Once, 1)] {
            let new = NewTimer {
                missed,
                ..schedule.clone()
            };
            let mut world = states::idle();
            timer(&mut world, new.clone());
            let planned = world.timers[0].next_fire_at.expect("a slot");
            world.now = planned.plus_millis(3 * MINUTE);
            world.host.started_at = planned.plus_millis(2 * MINUTE);
            world.recover(true);
            world.let_due_come();
            assert_eq!(slots(&world).len(), told, "{new:?}");
            assert_eq!(world.timers[0].missed_count, 1 - told as u64, "{new:?}");
            assert_eq!(world.violations(), [], "{new:?}");
        }
    }
}

#[test]
fn a_slot_that_is_only_late_or_lies_before_a_clock_set_back_is_not_missed() {
    let slot = make::T0.plus_millis(MINUTE);
    let new = || every(slot, HOUR, MissedSlotPolicy::Skip);
    let mut world = states::idle();
    timer(&mut world, new());
    world.now = slot.plus_millis(2 * MINUTE);
    world.let_due_come();
    assert_eq!(slots(&world).len(), 1, "the host ran when it came");
    let mut world = states::idle();
    timer(&mut world, new());
    // The host was started before the clock was set back.
    world.host.started_at = slot.plus_millis(HOUR);
    world.let_due_come();
    assert_eq!(slots(&world).len(), 1);
}

#[test]
fn the_tick_of_a_timer_names_its_planned_and_its_actual_time() {
    let mut world = states::idle();
    let id = timer(
        &mut world,
        every(make::T0.plus_millis(MINUTE), MINUTE, MissedSlotPolicy::Once),
    );
    world.advance(3 * MINUTE + 5);
    world.let_due_come();
    let (words, _) = began_with(&world);
    let (planned, fired) = (make::T0.plus_millis(MINUTE), world.now);
    assert!(words.starts_with("look at the mail\n"), "{words}");
    let times = format!(
        "made {} by your operator, every 1 minute), tick 1: planned for {planned}, fired at {fired}; 2 more slots passed since.",
        make::T0
    );
    assert!(words.contains(&format!("Your timer {id} (")), "{words}");
    assert!(words.ends_with(&times), "{words}");
}

#[test]
fn many_timers_of_a_stopped_agent_are_made_up_for_page_by_page() {
    let count = 2 * limits::CAUGHT_UP_AT_ONCE + 3;
    let mut world = states::idle();
    for _ in 0..count {
        timer(&mut world, once(make::T0.plus_millis(MINUTE)));
    }
    world.send(Input::Stop);
    for _ in 0..count {
        world.let_due_come();
    }
    assert_eq!(world.agent.work.deferred as usize, count);
    world.send(Input::Start);
    let mut world = states::ready(world);
    while !world.due.is_empty() {
        world.let_due_come();
    }
    assert_eq!(slots(&world).len(), count, "one of them each, none lost");
    assert_eq!(
        (world.agent.work.deferred, world.agent.work.active_timers),
        (0, 0)
    );
    assert_eq!(world.violations(), []);
}

#[test]
fn an_agent_that_cannot_keep_up_misses_slots_of_repeating_timers_and_none_that_fire_once() {
    let mut world = states::calling_model();
    for missed in [MissedSlotPolicy::Once, MissedSlotPolicy::All] {
        timer(
            &mut world,
            every(make::T0.plus_millis(MINUTE), MINUTE, missed),
        );
    }
    let single = timer(&mut world, once(make::T0.plus_millis(5 * MINUTE)));
    while world.now < make::T0.plus_millis(20 * MINUTE) {
        world.let_due_come();
    }
    let (once, all) = (&world.timers[0], &world.timers[1]);
    assert_eq!((once.fire_count, once.missed_count > 10), (1, true));
    assert_eq!((all.fire_count > 10, all.missed_count), (true, 0));
    let failed = world.events.iter().filter_map(|event| match event {
        Event::TimerFireFailed(failed) => Some((&failed.timer_id, failed.error.as_str())),
        _ => None,
    });
    let failed: Vec<_> = failed.collect();
    let started = world.agent.open_turn.as_ref().expect("a turn").started_at;
    let waits = format!("its last tick still waits in the queue: turn 1 runs since {started}");
    assert_eq!(
        failed,
        [(&once.id, waits.as_str())],
        "told once, with the cause"
    );
    assert_eq!(once.passed_over, once.missed_count);
    let fired = world.timers.iter().find(|timer| timer.id == single);
    assert_eq!(fired.map(|timer| timer.fire_count), Some(1));
    let timer_id = world.timers[1].id.clone();
    world.send(operator(WorkCommand::CancelTimer { timer_id }));
    while world.agent.work.timer_ticks > 0 {
        say(&mut world);
    }
    world.let_due_come();
    assert_eq!(world.timers[0].fire_count, 2, "the next slot fires again");
    assert_eq!(world.violations(), []);
}

#[test]
fn the_queued_tick_of_a_timer_that_is_cancelled_begins_no_turn() {
    let mut world = states::calling_model();
    let new = every(make::T0.plus_millis(1_000), 1_000, MissedSlotPolicy::Once);
    let timer_id = timer(&mut world, new);
    world.let_due_come();
    assert_eq!(world.agent.work.timer_ticks, 1);
    world.send(operator(WorkCommand::CancelTimer { timer_id }));
    say(&mut world);
    assert_eq!(world.agent.open_turn, None);
    assert_eq!(world.agent.work.timer_ticks, 0);
    assert_eq!(world.violations(), []);
}

#[test]
fn the_work_of_a_stopped_agent_can_be_ended_and_not_extended() {
    let mut world = states::idle();
    let timer_id = timer(&mut world, once(make::T0.plus_millis(HOUR)));
    world.send(Input::Stop);
    let new = once(make::T0.plus_millis(2 * HOUR));
    let refused = world.send(operator(WorkCommand::CreateTimer(new)));
    assert!(refused.reply.is_err(), "{:?}", refused.reply);
    let cancelled = world.send(operator(WorkCommand::CancelTimer { timer_id }));
    assert!(cancelled.reply.is_ok(), "{:?}", cancelled.reply);
    assert_eq!(world.timers[0].status, TimerStatus::Cancelled);
    assert_eq!(
        (world.due.len(), world.agent.open_turn.is_none()),
        (0, true)
    );
    assert_eq!(world.violations(), []);
}

#[test]
fn a_cancelled_timer_fires_no_more() {
    let mut world = states::idle();
    let id = timer(
        &mut world,
        every(make::T0.plus_millis(MINUTE), MINUTE, MissedSlotPolicy::Once),
    );
    let late = world.first_due().expect("a slot");
    world.send(operator(WorkCommand::CancelTimer {
        timer_id: id.clone(),
    }));
    assert_eq!(
        (world.due.len(), world.timers[0].status),
        (0, TimerStatus::Cancelled)
    );
    world.advance(MINUTE);
    assert_eq!(world.send(late).facts.len(), 0, "its entry was read before");
    let again = world.send(operator(WorkCommand::CancelTimer { timer_id: id }));
    assert_eq!(
        again.reply,
        Err(Rejection::NoSuchTimer {
            agent_id: make::agent_id()
        })
    );
    assert_eq!(world.violations(), []);
}

#[test]
fn a_tick_is_worth_no_more_than_whoever_made_the_timer() {
    let mut world = states::idle();
    world.send(news());
    let new = once(make::T0.plus_millis(MINUTE));
    call(
        &mut world,
        vec![(
            "CreateTimer",
            Ok(Intent::Work(WorkIntent::CreateTimer(new))),
        )],
    );
    say(&mut world);
    world.let_due_come();
    let (words, authority) = began_with(&world);
    assert_eq!(authority, AuthorityClass::ExternalEvidence);
    assert!(words.starts_with("look at the mail\n"), "{words}");
    let mut world = states::idle();
    timer(&mut world, once(make::T0.plus_millis(MINUTE)));
    world.let_due_come();
    assert_eq!(began_with(&world).1, AuthorityClass::RuntimeInstruction);
}

#[test]
fn schedules_that_cannot_fire_are_refused() {
    let mut world = states::idle();
    let refused = [
        once(make::T0.minus_millis(1)),
        every(make::T0, 0, MissedSlotPolicy::Once),
        every(make::T0, limits::TIMER_MAX_MS + 1, MissedSlotPolicy::Once),
        cron("0 0 30 2 *", "UTC"),
        cron("every day", "UTC"),
        cron("0 0 * * *", "Mars/Base"),
    ];
    for new in refused {
        let reply = world
            .send(operator(WorkCommand::CreateTimer(new.clone())))
            .reply;
        assert!(
            matches!(reply, Err(Rejection::InvalidWork { .. })),
            "{new:?}: {reply:?}"
        );
    }
    assert_eq!(world.agent.work.active_timers, 0);
    world.agent.work.active_timers = limits::ACTIVE_TIMERS;
    let full = world.send(operator(WorkCommand::CreateTimer(once(
        make::T0.plus_millis(1),
    ))));
    assert!(matches!(full.reply, Err(Rejection::InvalidWork { .. })));
}

#[test]
fn a_slot_that_came_is_not_told_again_after_the_clock_was_set_back() {
    let mut world = states::idle();
    timer(
        &mut world,
        every(make::T0.plus_millis(HOUR), HOUR, MissedSlotPolicy::All),
    );
    world.let_due_come();
    answer_all(&mut world);
    world.now = world.now.minus_millis(30 * MINUTE);
    world.let_due_come();
    assert_eq!(slots(&world), [60, 120]);
}

#[test]
fn a_clock_set_back_after_a_start_leaves_the_makeup_of_missed_slots_due() {
    let mut world = states::idle();
    timer(&mut world, once(make::T0.plus_millis(MINUTE)));
    world.send(Input::Stop);
    world.let_due_come();
    world.send(Input::Start);
    let mut world = states::ready(world);
    let pauses = world.due.iter().filter_map(|(id, (time, due))| match time {
        DueTime::Pause(pause) => Some(RunningPause {
            id: *id,
            pause: *pause,
            due: due.clone(),
        }),
        DueTime::Slot(_) => None,
    });
    let pauses: Vec<RunningPause> = pauses.collect();
    assert_eq!(pauses.len(), 1, "{pauses:?}");
    world.now = world.now.minus_millis(MINUTE);
    let by_ms = MINUTE;
    world.send(Input::ClockSetBack {
        by_ms,
        since: world.now,
        pauses,
        slots: Vec::new(),
    });
    assert_eq!(world.violations(), []);
    world.let_due_come();
    assert_eq!(slots(&world).len(), 1);
    assert_eq!(world.agent.work.deferred, 0);
}

#[test]
fn a_fire_names_the_slot_that_is_planned_next() {
    let mut world = states::idle();
    let first = make::T0.plus_millis(10_000);
    timer(&mut world, every(first, 10_000, MissedSlotPolicy::Once));
    world.let_due_come();
    let named = world.events.iter().find_map(|event| match event {
        Event::TimerFired(fired) => Some(fired.next_fire_at),
        _ => None,
    });
    assert_eq!(named, Some(world.timers[0].next_fire_at));
    assert_eq!(named, Some(Some(first.plus_millis(30_000))));
}

#[test]
fn a_cron_timer_without_a_zone_takes_that_of_the_operator_and_keeps_it() {
    let mut world = states::idle();
    world.host.operator_zone = "Asia/Kathmandu".to_owned();
    let zone_of = |world: &World, at: usize| match &world.timers[at].schedule {
        TimerSchedule::Cron { time_zone, .. } => time_zone.clone(),
        other => panic!("{other:?}"),
    };
    timer(&mut world, cron("0 9 * * *", NO_ZONE));
    timer(&mut world, cron("0 9 * * *", "UTC"));
    assert_eq!(zone_of(&world, 0), "Asia/Kathmandu");
    assert_eq!(zone_of(&world, 1), "UTC");
    let slot = |at: usize| world.timers[at].next_fire_at.expect("a slot").as_millis();
    let day = 24 * 3_600_000;
    let nine = |offset_minutes: i64| (9 * 60 - offset_minutes) * 60_000;
    assert_eq!(slot(0).rem_euclid(day), nine(5 * 60 + 45));
    assert_eq!(slot(1).rem_euclid(day), nine(0));
    world.host.operator_zone = "Europe/Berlin".to_owned();
    world.let_due_come();
    assert_eq!(zone_of(&world, 0), "Asia/Kathmandu", "it keeps its zone");
}
