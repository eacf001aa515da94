//! Rules about timers: every slot fires at most once and none is lost, missed slots are treated as the timer's policy
//! says, and a tick has no more authority than the creator of its timer.

use super::{CallAnswer, WorkObservation};
use crate::coverage::Coverage;
use crate::slots;
use crate::violation::{Verdict, ensure, violation};
use holon_domain::agent::Lifecycle;
use holon_domain::authority::AuthorityClass;
use holon_domain::event::{Event, TimerFired};
use holon_domain::message::Cause;
use holon_domain::timer::{MissedSlotPolicy, TimerRecord, TimerSchedule};
use holon_domain::{TimerId, Timestamp, limits};
use std::collections::{BTreeMap, BTreeSet};

/// Shortest time between two ticks of a timer that an operator caused.
const OPERATOR_TICKS_APART_MS: u64 = 30_000;

/// The slots of each timer that were told.
#[derive(Debug, Default)]
pub(super) struct TimerBook {
    told: BTreeMap<TimerId, BTreeSet<Timestamp>>,
}

impl TimerBook {
    pub(super) fn compare(
        &mut self,
        seen: &WorkObservation<'_>,
        coverage: &mut Coverage,
    ) -> Verdict<()> {
        for timer in &seen.rows_before.timers {
            let fires: Vec<&TimerFired> = fires_of(seen, &timer.id);
            let after = seen.rows.timers.iter().find(|row| row.id == timer.id);
            if fires.is_empty() {
                check_untouched(seen, timer, after)?;
            } else {
                self.check_slots(seen, timer, &fires)?;
                check_fire(seen, timer, after, &fires)?;
                count(timer, &fires, coverage);
            }
        }
        for timer in &seen.rows.timers {
            let mut known = seen.rows_before.timers.iter();
            if !known.any(|row| row.id == timer.id) {
                check_new(seen, timer)?;
            }
        }
        Ok(())
    }

    /// Checks that each told slot is one of the schedule, has come, and was not told before.
    fn check_slots(
        &mut self,
        seen: &WorkObservation<'_>,
        timer: &TimerRecord,
        fires: &[&TimerFired],
    ) -> Verdict<()> {
        for fire in fires {
            let Some(id) = &fire.message_id else {
                continue;
            };
            let slot = fire.planned_at;
            let told = self.told.entry(timer.id.clone()).or_default();
            let newest = told.last().copied();
            ensure(
                told.insert(slot) && (newest < Some(slot) || !seen.steady_clock),
                "a slot of a timer fires at most once",
                || format!("{} fired for {slot} after {newest:?}", timer.id),
            )?;
            ensure(
                slots::is_slot(&timer.schedule, slot),
                "a timer fires for slots of its schedule",
                || format!("{slot} of {:?}", timer.schedule),
            )?;
            ensure(
                slot <= seen.now || !seen.steady_clock,
                "a timer fires when its slot has come",
                || format!("{slot} at {}", seen.now),
            )?;
            let Some(message) = seen.message(id) else {
                return violation("a timer that fired has queued its tick", id.to_string());
            };
            ensure(
                (message.cause() == Cause::Itself) != is_by_operator(timer),
                "the tick of a timer is self-caused unless an operator caused it",
                || format!("{:?} of {timer:?}", message.cause()),
            )?;
            let allowed = timer.authority.weaker(AuthorityClass::RuntimeInstruction);
            ensure(
                message.authority_class >= allowed,
                "a tick has no more authority than what it repeats",
                || format!("{:?} of {timer:?}", message.authority_class),
            )?;
        }
        Ok(())
    }
}

/// Returns true if an operator made the timer, or let the agent make it.
fn is_by_operator(timer: &TimerRecord) -> bool {
    !timer.made_by_agent || timer.authority == AuthorityClass::OperatorInstruction
}

/// Returns the time after which the next tick of a timer may come.
fn next_from(timer: &TimerRecord, planned: Timestamp, now: Timestamp) -> Timestamp {
    let earliest = planned.max(now);
    match &timer.schedule {
        TimerSchedule::Every { interval_ms, .. }
            if is_by_operator(timer) && *interval_ms < OPERATOR_TICKS_APART_MS =>
        {
            // Planned times count, unless the planned one lies further back than ticks are apart.
            let next = slots::slot_after(&timer.schedule, earliest).unwrap_or(earliest);
            let from = match next.millis_since(planned) > OPERATOR_TICKS_APART_MS {
                true => next.minus_millis(*interval_ms),
                false => planned,
            };
            earliest.max(from.plus_millis(OPERATOR_TICKS_APART_MS - 1))
        }
        TimerSchedule::Every { .. } | TimerSchedule::Once { .. } | TimerSchedule::Cron { .. } => {
            earliest
        }
    }
}

/// Returns the number of missed slots for which one tick stands: ticks that an operator caused come no closer than others
/// when they are made up for.
fn slots_of_a_tick(timer: &TimerRecord) -> u64 {
    match &timer.schedule {
        TimerSchedule::Every { interval_ms, .. } if is_by_operator(timer) => {
            OPERATOR_TICKS_APART_MS.div_ceil((*interval_ms).max(1))
        }
        TimerSchedule::Every { .. } | TimerSchedule::Once { .. } | TimerSchedule::Cron { .. } => 1,
    }
}

fn fires_of<'a>(seen: &WorkObservation<'a>, id: &TimerId) -> Vec<&'a TimerFired> {
    let events = seen.fresh.events.iter();
    let fires = events.filter_map(|event| match event {
        Event::TimerFired(fired) if fired.timer_id == *id => Some(fired),
        _ => None,
    });
    fires.collect()
}

/// Checks that a timer that did not fire has the same slots as before, unless it was cancelled.
fn check_untouched(
    seen: &WorkObservation<'_>,
    timer: &TimerRecord,
    after: Option<&TimerRecord>,
) -> Verdict<()> {
    let holds =
        match after {
            Some(after) => {
                (after.next_fire_at, after.fire_count, after.missed_count)
                    == (timer.next_fire_at, timer.fire_count, timer.missed_count)
            }
            None => seen.fresh.events.iter().any(
                |event| matches!(event, Event::TimerCancelled(gone) if gone.timer_id == timer.id),
            ),
        };
    ensure(
        holds || !seen.steady_clock,
        "only a fire, a cancellation or a step of the clock changes a timer",
        || format!("{timer:?} became {after:?}"),
    )
}

/// Checks the slots that one fire covered: how many were told, how many were missed, and which comes next.
fn check_fire(
    seen: &WorkObservation<'_>,
    timer: &TimerRecord,
    after: Option<&TimerRecord>,
    fires: &[&TimerFired],
) -> Verdict<()> {
    ensure(
        seen.after.lifecycle == Lifecycle::Runnable,
        "the timers of a stopped agent do not fire",
        || {
            format!(
                "{} of an agent that is {:?}",
                timer.id, seen.after.lifecycle
            )
        },
    )?;
    let planned = timer.next_fire_at.unwrap_or(seen.now);
    let after_now = slots::slot_after(&timer.schedule, planned.max(seen.now));
    let next = slots::slot_after(&timer.schedule, next_from(timer, planned, seen.now));
    let stored = after.and_then(|after| after.next_fire_at);
    ensure(
        stored == next || !seen.steady_clock,
        "the next slot of a timer is the first one after now that may come",
        || format!("{stored:?} instead of {next:?}, {timer:?} at {}", seen.now),
    )?;
    let bound = u64::from(limits::MISSED_SLOTS) + 1;
    let passed = slots::count(&timer.schedule, planned, after_now, bound);
    let spared = slots::count(&timer.schedule, planned, next, bound).saturating_sub(passed);
    let told = fires.iter().filter(|fire| fire.message_id.is_some());
    let told = told.count() as u64;
    let was_parked = timer.due.is_none();
    let was_down = planned < seen.started_at && seen.started_at <= seen.now;
    let fires_once = matches!(timer.schedule, TimerSchedule::Once { .. });
    let wanted = match timer.missed {
        // The last tick still waits in the queue.
        MissedSlotPolicy::Skip | MissedSlotPolicy::Once
            if timer.queued_tick.is_some() && !fires_once =>
        {
            0
        }
        MissedSlotPolicy::Skip => u64::from(passed == 1 && !was_parked && !was_down),
        MissedSlotPolicy::Once => 1,
        MissedSlotPolicy::All => {
            let kept = passed.min(u64::from(limits::MISSED_SLOTS));
            kept.div_ceil(slots_of_a_tick(timer))
        }
    };
    // A tick may have been taken up since.
    let is_full = seen.after.work.timer_ticks + 1 >= limits::TIMER_TICKS_QUEUED;
    ensure(
        // A clock that was set back and forward again passes slots that came before, which are told once.
        told == wanted || is_full || (!seen.steady_clock && told < wanted),
        "missed slots are treated as the policy of their timer says",
        || format!("{told} of {passed} told, wanted {wanted}: {timer:?}"),
    )?;
    let Some(after) = after else {
        return Ok(());
    };
    let counted = (
        after.fire_count - timer.fire_count,
        after.missed_count - timer.missed_count,
    );
    ensure(
        counted == (told, passed - told + spared) || passed >= bound || !seen.steady_clock,
        "a timer counts every slot as told or missed",
        || format!("{counted:?} of {passed}: {timer:?}"),
    )
}

/// Checks the first slot of a new timer, and that it is worth what the turn was that made it.
fn check_new(seen: &WorkObservation<'_>, timer: &TimerRecord) -> Verdict<()> {
    let by_call = |answer: &&CallAnswer| {
        let made = answer.result_of("CreateTimer");
        let id = made.and_then(|made| made.pointer("/timer/id")?.as_str());
        id == Some(timer.id.as_str())
    };
    let answer = seen.fresh.answers.iter().find(by_call);
    ensure(
        timer.made_by_agent == answer.is_some(),
        "a timer that a call made is the agent's own",
        || format!("{timer:?}"),
    )?;
    let source = answer.map_or(AuthorityClass::OperatorInstruction, |answer| {
        answer.authority
    });
    ensure(
        timer.authority >= source,
        "a timer is worth no more than what made it",
        || format!("{:?} from {source:?}", timer.authority),
    )?;
    let first = match &timer.schedule {
        TimerSchedule::Once { at } => Some(*at),
        TimerSchedule::Every { first_at, .. } => Some(*first_at),
        TimerSchedule::Cron { .. } => slots::slot_after(&timer.schedule, timer.created_at),
    };
    ensure(
        timer.next_fire_at == first,
        "a timer begins with the first slot of its schedule",
        || format!("{timer:?} instead of {first:?}"),
    )
}

fn count(timer: &TimerRecord, fires: &[&TimerFired], coverage: &mut Coverage) {
    coverage.count(match timer.schedule {
        TimerSchedule::Once { .. } => "timer:once",
        TimerSchedule::Every { .. } => "timer:every",
        TimerSchedule::Cron { .. } => "timer:cron",
    });
    if fires.iter().any(|fire| fire.missed > 0) {
        coverage.count(format!("timer:missed:{:?}", timer.missed));
    }
    if timer.due.is_none() {
        coverage.count("timer:made_up_for_at_start");
    }
}
