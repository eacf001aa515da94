//! Tests of what an agent loses when it is archived, and of what an operator may still take back.

use super::{new_timer, waiting};
use crate::make;
use crate::states;
use crate::world::World;
use holon_core::input::{OperatorCommand, TriggerCommand, WorkCommand};
use holon_core::{Input, Rejection, Reply};
use holon_domain::event::Event;
use holon_domain::intent::WakeCondition;
use holon_domain::timer::{TimerSchedule, TimerStatus};
use holon_domain::trigger::{DeliveryMode, TriggerStatus};
use holon_domain::wait::WaitStatus;
use holon_domain::{BindingId, limits};

fn add_timer(world: &mut World) {
    let schedule = TimerSchedule::starting_at(world.now.plus_millis(60_000), Some(60_000));
    let new = WorkCommand::CreateTimer(new_timer(schedule));
    let made = world.send(Input::Work(Box::new(new))).reply;
    assert!(matches!(made, Ok(Reply::Timer(_))), "{made:?}");
}

#[test]
fn archiving_cancels_every_timer_in_the_same_commit() {
    let mut world = states::idle();
    let count = limits::STATUS_TIMERS + 5;
    for _ in 0..count {
        add_timer(&mut world);
    }
    let before = world.events.len();
    assert_eq!(world.send(Input::Archive).reply, Ok(Reply::Done));
    let is_cancelled = |timer: &&holon_domain::timer::TimerRecord| {
        timer.status == TimerStatus::Cancelled && timer.due.is_none()
    };
    assert_eq!(world.timers.iter().filter(is_cancelled).count(), count);
    assert_eq!(world.agent.work.active_timers, 0);
    assert!(world.due.is_empty(), "{:?}", world.due);
    let told = world.events[before..].iter();
    let told = told.filter(|event| matches!(event, Event::TimerCancelled(_)));
    assert_eq!(told.count(), count, "more than a status shows");
    assert_eq!(world.violations(), []);
}

#[test]
fn archiving_ends_the_open_waits_and_starts_nothing() {
    let (mut world, item) = waiting(vec![WakeCondition::Operator]);
    world.send(Input::Archive);
    let waits: Vec<WaitStatus> = world.waits.iter().map(|wait| wait.status).collect();
    assert_eq!(waits, [WaitStatus::Cancelled]);
    assert_eq!(world.items[&item].wait, None);
    assert_eq!(world.agent.work.active_waits, 0);
    assert_eq!(world.agent.open_turn, None, "no tick tells of it");
    assert_eq!(world.violations(), []);
}

#[test]
fn a_timer_whose_slot_came_while_the_agent_was_stopped_is_cancelled_too() {
    let mut world = states::idle();
    add_timer(&mut world);
    world.send(Input::Stop);
    world.let_due_come();
    assert_eq!(world.agent.work.deferred, 1);
    world.send(Input::Archive);
    assert_eq!(world.agent.work.deferred, 0);
    assert_eq!(world.agent.work.active_timers, 0);
    assert_eq!(world.violations(), []);
}

#[test]
fn an_agent_that_an_earlier_build_archived_loses_its_timers_when_it_is_archived_again() {
    let mut world = states::idle();
    add_timer(&mut world);
    world.send(Input::Stop);
    world.agent.archived_at = Some(make::T0);
    assert_eq!(world.send(Input::Archive).reply, Ok(Reply::Done));
    assert_eq!(world.agent.work.active_timers, 0);
    assert_eq!(world.send(Input::Archive).reply, Ok(Reply::Unchanged));
}

#[test]
fn an_operator_may_revoke_the_trigger_and_the_timer_of_an_archived_agent_and_make_none() {
    let mut world = states::idle();
    add_timer(&mut world);
    world.send(Input::Stop);
    world.agent.archived_at = Some(make::T0);
    let timer_id = world.timers[0].id.clone();
    let cancel = WorkCommand::CancelTimer { timer_id };
    let cancelled = world.send(Input::Work(Box::new(cancel))).reply;
    assert!(matches!(cancelled, Ok(Reply::Timer(_))), "{cancelled:?}");
    let trigger_id = world.triggers[0].id.clone();
    let revoke = TriggerCommand::Revoke { trigger_id };
    let revoked = world.send(Input::Trigger(revoke)).reply;
    assert!(matches!(revoked, Ok(Reply::Trigger(_))), "{revoked:?}");
    assert_eq!(world.triggers[0].status, TriggerStatus::Revoked);
    let binding_id = BindingId::from_stored("absent");
    let unbind = OperatorCommand::Revoke { binding_id };
    let absent = world.send(Input::Operator(Box::new(unbind))).reply;
    let is_archived =
        |refused: &Result<Reply, Rejection>| matches!(refused, Err(Rejection::Archived { .. }));
    assert!(absent.is_err() && !is_archived(&absent), "{absent:?}");
    let delivery_mode = DeliveryMode::WakeHint;
    let create = world.send(Input::Trigger(TriggerCommand::Create { delivery_mode }));
    assert!(is_archived(&create.reply), "{:?}", create.reply);
}
