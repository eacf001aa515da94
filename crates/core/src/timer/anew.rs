//! Plans the next slot of a timer after the clock was set back. `at` and cron are times on the wall, `after` and `every` are
//! lengths.
//!
//! Invariant: no slot comes twice for the same planned time.

use super::{fire_action, set_next, slots};
use crate::clock::StepBack;
use crate::draft::Draft;
use holon_domain::limits::SLOT_RUNS_KEPT;
use holon_domain::timer::{DueId, Pause, SlotRun, TimerRecord, TimerSchedule};
use holon_domain::{TimerId, Timestamp};

/// Moves the slot of a delay or an interval, which is a length that did not change. Returns true if the timer still
/// waits for it.
pub(crate) fn move_length(
    draft: &mut Draft<'_>,
    due: DueId,
    id: &TimerId,
    mut pause: Pause,
) -> bool {
    let Some(mut timer) = draft.timer(id).filter(|timer| timer.due == Some(due)) else {
        return false;
    };
    match &mut timer.schedule {
        TimerSchedule::Once { at } => *at = pause.ends_at(),
        TimerSchedule::Every {
            first_at,
            interval_ms,
        } => {
            let by = off_old_grids(pause.ends_at(), *interval_ms, &timer.past_slots);
            pause.set_at = pause.set_at.plus_millis(by);
            *first_at = pause.ends_at();
        }
        // A slot of a cron expression is never a length.
        TimerSchedule::Cron { .. } => return false,
    }
    draft.clear_due(due);
    timer.due = Some(draft.set_pause(pause, fire_action(&timer)));
    timer.next_fire_at = Some(pause.ends_at());
    draft.put_timer(timer);
    true
}

/// Returns the milliseconds by which a slot must move so that neither it nor a later one meets a slot that came.
fn off_old_grids(at: Timestamp, interval_ms: u64, past: &[SlotRun]) -> u64 {
    let interval = i64::try_from(interval_ms.max(1)).unwrap_or(i64::MAX);
    let meets = |by: &u64| {
        let at = at.plus_millis(*by);
        let on_grid = |run: &SlotRun| {
            let apart = at.as_millis().saturating_sub(run.from.as_millis());
            apart.rem_euclid(interval) == 0 && at <= run.to
        };
        past.iter().any(on_grid)
    };
    let most = u64::try_from(past.len()).unwrap_or(0);
    (0..most).find(|by| !meets(by)).unwrap_or(most)
}

/// Plans the slot of a cron expression or an interval anew if one comes earlier. The slot of a cron expression may have
/// come between the step and now; it then fires at once. Returns true if the timer was planned anew.
pub(crate) fn plan_anew(draft: &mut Draft<'_>, due: DueId, id: &TimerId, step: StepBack) -> bool {
    let Some(mut timer) = draft.timer(id).filter(|timer| timer.due == Some(due)) else {
        return false;
    };
    let from_now = match &timer.schedule {
        TimerSchedule::Once { .. } => return false,
        TimerSchedule::Every { interval_ms, .. } => {
            let length_ms = (*interval_ms).max(timer.shortest_interval_ms().unwrap_or(0));
            return begin_length(draft, due, &timer, length_ms);
        }
        TimerSchedule::Cron { .. } => {
            // A timer that was made shortly before the step has no slots before that moment.
            let made_at = timer.created_at.minus_millis(step.by_ms);
            let from = step.since.max(made_at).min(draft.now);
            slots::next(&timer.schedule, from)
        }
    };
    let next = next_unpast(&timer, from_now);
    let Some(at) = next.filter(|at| timer.next_fire_at.is_none_or(|planned| *at < planned)) else {
        return false;
    };
    draft.clear_due(due);
    timer.next_fire_at = Some(at);
    timer.due = Some(set_next(draft, &timer, at));
    draft.put_timer(timer);
    true
}

/// Begins the length to the next slot of an interval anew if the slot is further away. Only rows of earlier builds have
/// a slot after the first one as a time on the wall. Returns true if it did.
fn begin_length(draft: &mut Draft<'_>, due: DueId, timer: &TimerRecord, length_ms: u64) -> bool {
    let set_at = draft.now;
    let pause = Pause { set_at, length_ms };
    let is_further = timer.next_fire_at.is_some_and(|at| at > pause.ends_at());
    timer.fire_count > 0 && is_further && move_length(draft, due, &timer.id, pause)
}

/// Returns the first slot of a cron expression or an interval from `at` on that has not come.
pub(super) fn next_unpast(timer: &TimerRecord, at: Option<Timestamp>) -> Option<Timestamp> {
    let mut at = at?;
    match &timer.schedule {
        TimerSchedule::Once { .. } => return Some(at),
        TimerSchedule::Every { interval_ms, .. } => {
            let by = off_old_grids(at, *interval_ms, &timer.past_slots);
            return Some(at.plus_millis(by));
        }
        TimerSchedule::Cron { .. } => {}
    }
    // Each run moves the slot at most once.
    for _ in 0..timer.past_slots.len() {
        match timer.past_slots.iter().find(|run| run.contains(at)) {
            Some(run) => at = slots::next(&timer.schedule, run.to)?,
            None => break,
        }
    }
    Some(at)
}

/// Begins the grid of an interval with its next slot if the planned one is ahead of the clock, which was set back since.
pub(super) fn begin_grid(timer: &mut TimerRecord, is_ahead: bool, next: Option<Timestamp>) {
    if let (TimerSchedule::Every { first_at, .. }, Some(next)) = (&mut timer.schedule, next)
        && is_ahead
    {
        *first_at = next;
    }
}

/// Returns true if a slot of a cron expression has come before.
pub(super) fn has_come(timer: &TimerRecord, at: Timestamp) -> bool {
    matches!(timer.schedule, TimerSchedule::Cron { .. })
        && timer.past_slots.iter().any(|run| run.contains(at))
}

/// Notes that the slots from one planned time to another came.
pub(super) fn note_past(timer: &mut TimerRecord, from: Timestamp, to: Timestamp) {
    let follows = |run: &SlotRun| match &timer.schedule {
        TimerSchedule::Once { .. } => false,
        TimerSchedule::Every { interval_ms, .. } => run.to.plus_millis(*interval_ms) == from,
        TimerSchedule::Cron { .. } => slots::next(&timer.schedule, run.to) == Some(from),
    };
    if matches!(timer.schedule, TimerSchedule::Once { .. }) {
        return;
    }
    let continued = timer.past_slots.iter().rposition(follows);
    match continued.and_then(|index| timer.past_slots.get_mut(index)) {
        Some(run) => run.to = to,
        None => timer.past_slots.push(SlotRun { from, to }),
    }
    if timer.past_slots.len() > SLOT_RUNS_KEPT {
        // Two runs never become one: the slots between them have not come.
        let ends = timer.past_slots.iter().enumerate();
        let first_over = ends.min_by_key(|(_, run)| run.to).map(|(index, _)| index);
        if let Some(index) = first_over {
            timer.past_slots.remove(index);
        }
    }
}
