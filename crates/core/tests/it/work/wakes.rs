//! Tests of the wake that a resting agent expects: the soonest of everything that has a time.

use super::*;
use holon_core::assess::{AssessmentInput, assess};
use holon_domain::Timestamp;
use holon_domain::summary::SchedulingPosture;

const HOUR: u64 = 3_600_000;

fn posture(world: &World) -> SchedulingPosture {
    assess(AssessmentInput::new(&world.agent, &world.queue())).posture
}

fn hours(count: u64) -> Timestamp {
    make::T0.plus_millis(count * HOUR)
}

/// Sets a timer of an operator.
fn set_timer(world: &mut World, at: Timestamp) -> TimerId {
    let timer = new_timer(TimerSchedule::Once { at });
    world.send(operator(WorkCommand::CreateTimer(timer)));
    world.timers.last().expect("a timer").id.clone()
}

/// Returns the wakes that the newest end of a turn and the newest rest recorded.
fn recorded(world: &World) -> (Option<Timestamp>, Option<Timestamp>) {
    let mut events = world.events.iter().rev();
    let until = events.find_map(|event| match event {
        Event::ClosureDecided(closure) => Some(closure.until),
        _ => None,
    });
    let mut events = world.events.iter().rev();
    let rest = events.find_map(|event| match event {
        Event::SchedulerPostureDecision(rest) => Some(rest.wakes_at),
        _ => None,
    });
    (until.expect("a closure"), rest.expect("a rest"))
}

#[test]
fn the_wake_of_a_rest_is_the_time_of_an_items_wait() {
    let (world, _) = waiting(vec![
        WakeCondition::External { source: None },
        WakeCondition::Time { at: hours(2) },
    ]);
    let shown = posture(&world);
    assert_eq!(shown.wakes_at, Some(hours(2)));
    let wait = format!("the time of the wait {} comes", world.waits[0].id);
    assert!(shown.reason.contains(&wait), "{}", shown.reason);
    assert_eq!(recorded(&world), (Some(hours(2)), Some(hours(2))));
}

#[test]
fn the_wake_of_a_rest_is_the_recheck_of_a_blocked_item() {
    let (mut world, id) = working();
    call(&mut world, vec![update(&id, blocked("no key", HOUR))]);
    say(&mut world);
    let shown = posture(&world);
    assert_eq!(shown.wakes_at, Some(world.now.plus_millis(HOUR)));
    let words = format!("it is reminded of the blocker of {id}");
    assert!(shown.reason.contains(&words), "{}", shown.reason);
    let wake = shown.wakes_at;
    assert_eq!(recorded(&world), (wake, wake));
}

#[test]
fn the_wake_of_a_rest_is_the_soonest_of_all() {
    let (mut world, _) = waiting(vec![WakeCondition::Time { at: hours(5) }]);
    let late = set_timer(&mut world, hours(4));
    let soon = set_timer(&mut world, hours(3));
    let shown = posture(&world);
    assert_eq!(shown.wakes_at, Some(hours(3)));
    let words = format!("the timer {soon} fires");
    assert!(shown.reason.contains(&words), "{}", shown.reason);
    for (timer_id, next) in [(soon, hours(4)), (late, hours(5))] {
        world.send(operator(WorkCommand::CancelTimer { timer_id }));
        assert_eq!(posture(&world).wakes_at, Some(next));
    }
    world.send(Input::Stop);
    assert_eq!(posture(&world).wakes_at, None, "only a start wakes it");
}

#[test]
fn an_agent_that_goes_on_now_expects_no_wake() {
    let (mut world, _) = working();
    set_timer(&mut world, hours(3));
    assert_eq!(posture(&world).wakes_at, None, "its turn runs");
    let mut world = states::idle();
    set_timer(&mut world, hours(3));
    assert_eq!(posture(&world).wakes_at, Some(hours(3)));
}
