//! Timers: creation, one fire per slot, cancellation. `slots` computes the slots of a schedule.
//!
//! A timer holds the due entry of its next slot. A slot that comes late, after a downtime or a stop, fires once; the
//! timer's own policy decides about the slots that passed meanwhile. A late fire moves no later slot. `anew` plans slots
//! after a step of the clock, `late` says why a tick waits, `cost` estimates what a timer uses.

mod anew;
mod cost;
mod late;
mod slots;

use crate::admission::{self, Provenance};
use crate::draft::Draft;
use crate::ingress::Ingress;
use crate::input::Reply;
use crate::planted::{Fault, is_planted};
use crate::rest::self_caused_priority;
use crate::subsystem::TIMER;
use crate::tick::tick_authority;
use holon_domain::agent::Lifecycle;
use holon_domain::archive::ArchivedTimer;
use holon_domain::authority::AuthorityClass;
use holon_domain::event::{Event, TimerCancelled, TimerCreated, TimerFireFailed, TimerFired};
use holon_domain::intent::NewTimer;
use holon_domain::message::{
    AdmissionContext, Body, Cause, DeliverySurface, MessageKind, Origin, Priority,
};
use holon_domain::queue::QueueEntry;
use holon_domain::timer::{
    DueAction, DueId, LateTick, MissedSlotPolicy, Pause, TimerRecord, TimerSchedule, TimerStatus,
};
use holon_domain::tool::{ToolError, ToolErrorKind};
use holon_domain::{MessageId, TimerId, Timestamp, limits, text};
use serde_json::json;

pub(crate) use anew::{move_length, plan_anew};
pub use cost::TimerCost;
pub(crate) use late::note_turn_tokens;
use slots::{PassedSlots, check};

/// Party that creates a timer. It decides whether the ticks of the timer count as caused by the agent itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimerMaker {
    Agent,
    Operator,
}

/// The way in which the first slot of a timer was ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FirstSlot {
    /// By a time or a cron expression: a time on the wall clock.
    ByTime,
    /// By a delay: a length, which a step of the clock does not change.
    ByLength,
}

/// Creates a timer, or refuses a schedule that could never fire.
pub(crate) fn create(
    draft: &mut Draft<'_>,
    new: &NewTimer,
    authority: AuthorityClass,
    maker: TimerMaker,
    start: FirstSlot,
) -> Result<TimerRecord, ToolError> {
    if draft.agent.work.active_timers >= limits::ACTIVE_TIMERS {
        let max = limits::ACTIVE_TIMERS;
        let message = format!("not made: {max} timers of this agent are active");
        return Err(ToolError::new(ToolErrorKind::LimitReached, message)
            .hint("cancel some of them with CancelTimer: ListTimers shows them"));
    }
    let schedule = new.schedule.clone().or_in_zone(&draft.host.operator_zone);
    check(&schedule, draft.now).map_err(slots::refusal)?;
    let Some(first) = slots::next(&schedule, draft.now) else {
        return Err(slots::refusal(slots::ScheduleError::NeverFires));
    };
    let mut timer = TimerRecord {
        id: TimerId::mint(draft.entropy),
        agent_id: draft.agent.identity.agent_id.clone(),
        created_at: draft.now,
        schedule,
        missed: new.missed,
        status: TimerStatus::Active,
        summary: new.summary.clone(),
        authority,
        made_by_agent: maker == TimerMaker::Agent,
        order: match maker {
            TimerMaker::Agent => draft.agent.order.clone(),
            TimerMaker::Operator => None,
        },
        past_slots: Vec::new(),
        passed_over: 0,
        wait_recorded: false,
        queued_tick: None,
        next_fire_at: Some(first),
        due: None,
        last_fired_at: None,
        fire_count: 0,
        missed_count: 0,
    };
    let action = fire_action(&timer);
    timer.due = Some(match start {
        FirstSlot::ByTime => draft.set_slot(first, action),
        FirstSlot::ByLength => draft.set_due(first, action),
    });
    draft.agent.work.active_timers += 1;
    draft.event(Event::TimerCreated(TimerCreated {
        timer_id: timer.id.clone(),
        next_fire_at: first,
        summary: timer.summary.clone(),
    }));
    draft.put_timer(timer.clone());
    Ok(timer)
}

/// Refuses the schedule of an imported timer that is malformed or whose next slot is too far away. Slots may have
/// passed.
pub(crate) fn check_imported(timer: &ArchivedTimer, now: Timestamp) -> Result<(), ToolError> {
    let first = match &timer.schedule {
        TimerSchedule::Once { at } => *at,
        TimerSchedule::Every { first_at, .. } => *first_at,
        TimerSchedule::Cron { .. } => now,
    };
    check(&timer.schedule, first).map_err(slots::refusal)?;
    if timer.next_fire_at.millis_since(now) > limits::TIMER_MAX_MS {
        return Err(slots::refusal(slots::ScheduleError::TooFar));
    }
    Ok(())
}

/// Stores an active timer of a new agent that is stopped. A slot that has passed is made up for at the start, as the
/// timer's policy says.
pub(crate) fn restore(draft: &mut Draft<'_>, mut timer: TimerRecord) {
    match timer.next_fire_at.filter(|at| *at > draft.now) {
        Some(at) => timer.due = Some(set_next(draft, &timer, at)),
        None => draft.agent.work.deferred += 1,
    }
    draft.agent.work.active_timers += 1;
    draft.put_timer(timer);
}

/// Builds the action of a timer's due entries.
fn fire_action(timer: &TimerRecord) -> DueAction {
    DueAction::TimerFire {
        timer_id: timer.id.clone(),
        by_operator: timer.is_by_operator(),
    }
}

/// Sets the due entry of the next slot. The time from one slot of an interval to the next is a length.
fn set_next(draft: &mut Draft<'_>, timer: &TimerRecord, at: Timestamp) -> DueId {
    let due = fire_action(timer);
    match &timer.schedule {
        TimerSchedule::Every { .. } => {
            let set_at = draft.now.min(at);
            let length_ms = at.millis_since(set_at);
            draft.set_pause(Pause { set_at, length_ms }, due)
        }
        TimerSchedule::Once { .. } | TimerSchedule::Cron { .. } => draft.set_slot(at, due),
    }
}

/// Cancels a timer. Returns `None` if there is no such active timer.
pub(crate) fn cancel(draft: &mut Draft<'_>, id: &TimerId) -> Option<TimerRecord> {
    let timer = draft.timer(id)?;
    (timer.status == TimerStatus::Active).then(|| cancel_active(draft, timer))
}

/// Cancels every active timer, for an agent that nothing starts any more.
pub(crate) fn cancel_all(draft: &mut Draft<'_>) {
    for timer in draft.all_timers() {
        cancel_active(draft, timer);
    }
}

fn cancel_active(draft: &mut Draft<'_>, timer: TimerRecord) -> TimerRecord {
    if let Some(due) = timer
        .due
        .filter(|_| !is_planted(Fault::CancelledTimerArmed))
    {
        draft.clear_due(due);
    }
    draft.event(Event::TimerCancelled(TimerCancelled {
        timer_id: timer.id.clone(),
    }));
    close(draft, timer, TimerStatus::Cancelled)
}

fn close(draft: &mut Draft<'_>, timer: TimerRecord, status: TimerStatus) -> TimerRecord {
    let work = &mut draft.agent.work;
    work.active_timers = work.active_timers.saturating_sub(1);
    let timer = TimerRecord {
        status,
        due: None,
        next_fire_at: None,
        queued_tick: None,
        ..timer
    };
    draft.put_timer(timer.clone());
    timer
}

/// Handles a slot that has come due. While the agent is stopped the timer only notes it; a start makes up for it.
pub(crate) fn handle_due(
    draft: &mut Draft<'_>,
    due: DueId,
    id: &TimerId,
    planned_at: Timestamp,
) -> Reply {
    let Some(mut timer) = draft.timer(id).filter(|timer| timer.due == Some(due)) else {
        return Reply::Unchanged;
    };
    draft.clear_due(due);
    timer.due = None;
    let may_run = draft.agent.lifecycle == Lifecycle::Runnable;
    if may_run || is_planted(Fault::StoppedTimerFires) {
        let passed = passed(draft, &timer, planned_at);
        let was_down = came_while_down(draft, planned_at);
        let slot = ArrivedSlot {
            planned_at,
            missed: passed.count > 0 || was_down,
            was_down,
        };
        fire(draft, timer, slot, &passed);
    } else {
        draft.agent.work.deferred += 1;
        draft.put_timer(timer);
    }
    Reply::Done
}

/// Returns true if a slot came before this host was started. A clock that was set back since makes no slot a missed one.
fn came_while_down(draft: &Draft<'_>, planned_at: Timestamp) -> bool {
    let started_at = draft.host.started_at;
    planned_at < started_at && started_at <= draft.now
}

/// Fires one page of the timers whose slots came while the agent was stopped, as their policies say. Returns how many
/// there were.
pub(crate) fn catch_up(draft: &mut Draft<'_>) -> u32 {
    let deferred = draft.deferred_timers();
    let count = u32::try_from(deferred.len()).unwrap_or(u32::MAX);
    for timer in deferred {
        let planned_at = timer.next_fire_at.unwrap_or(draft.now);
        let passed = passed(draft, &timer, planned_at);
        let slot = ArrivedSlot {
            planned_at,
            missed: true,
            was_down: true,
        };
        fire(draft, timer, slot, &passed);
    }
    count
}

fn passed(draft: &Draft<'_>, timer: &TimerRecord, planned_at: Timestamp) -> PassedSlots {
    let wants_all = timer.missed == MissedSlotPolicy::All;
    slots::passed(&timer.schedule, planned_at, draft.now, wants_all)
}

/// A slot that is handed over.
#[derive(Debug, Clone, Copy)]
struct ArrivedSlot {
    planned_at: Timestamp,
    /// A later slot has passed too, or the host was down or the agent stopped when this one came.
    missed: bool,
    /// The host was down or the agent stopped when it came.
    was_down: bool,
}

/// Sends the ticks of a slot.
fn fire(draft: &mut Draft<'_>, mut timer: TimerRecord, arrived: ArrivedSlot, passed: &PassedSlots) {
    let ArrivedSlot {
        planned_at,
        missed,
        was_down,
    } = arrived;
    let ticks: Vec<Timestamp> = match timer.missed {
        MissedSlotPolicy::Skip if missed && !is_planted(Fault::SkipPolicyIgnored) => Vec::new(),
        MissedSlotPolicy::Skip | MissedSlotPolicy::Once => vec![planned_at],
        MissedSlotPolicy::All => {
            // A clock that was set back and forward again passes slots that came before.
            let newest = passed.newest.iter().copied();
            let newest = newest.filter(|slot| !anew::has_come(&timer, *slot));
            let all = std::iter::once(planned_at).chain(newest);
            let all: Vec<Timestamp> = all.collect();
            let kept = all.len().min(limits::MISSED_SLOTS as usize);
            thin_out(&all[all.len() - kept..], timer.shortest_interval_ms())
        }
    };
    let mut sent = 0;
    let mut newest_tick = None;
    // Slots that no tick is sent for have not come: a clock that was ahead only passed them.
    let first_slot = ticks.first().copied().unwrap_or(planned_at);
    let last_slot = ticks.last().copied().unwrap_or(planned_at);
    anew::note_past(&mut timer, first_slot, last_slot);
    let next = anew::next_unpast(&timer, passed.next);
    // The clock was set back since if the slot is ahead of it.
    let came_at = planned_at.min(draft.now);
    anew::begin_grid(&mut timer, planned_at > draft.now, next);
    let next_fire_at = next.map(|at| spare_slots(&timer, at, came_at).0);
    for slot in ticks {
        if let Err(error) = check_room(draft, &timer) {
            record_wait(draft, &mut timer, slot, &error);
            break;
        }
        sent += 1;
        timer.fire_count += 1;
        let tick = tick(draft, &timer, slot, passed.count, was_down);
        timer.passed_over = 0;
        timer.wait_recorded = false;
        if !fires_once(&timer) {
            newest_tick = Some(tick.seq);
        }
        let message_id = Some(tick.envelope.id);
        record(draft, &timer, slot, message_id, passed.count, next_fire_at);
    }
    timer.queued_tick = newest_tick.or(timer.queued_tick);
    let untold = (passed.count + 1).saturating_sub(sent);
    timer.missed_count += untold;
    if sent == 0 {
        timer.passed_over += untold;
        record(draft, &timer, planned_at, None, passed.count, next_fire_at);
    } else {
        timer.last_fired_at = Some(draft.now);
    }
    let again = passed
        .newest
        .last()
        .filter(|_| is_planted(Fault::SlotFiredTwice));
    match again.copied().or(next) {
        Some(at) => plan_next(draft, timer, at, came_at),
        None => {
            if !fires_once(&timer) {
                let error = "its schedule has no later slot that can be computed, so it ends";
                record_failure(draft, &timer, planned_at, error);
            }
            drop(close(draft, timer, TimerStatus::Completed));
        }
    }
}

/// Returns the slots that are told: the newest one, and before it those that are apart by at least the shortest interval.
fn thin_out(slots: &[Timestamp], shortest_ms: Option<u64>) -> Vec<Timestamp> {
    let Some(shortest_ms) = shortest_ms else {
        return slots.to_vec();
    };
    let mut told: Vec<Timestamp> = Vec::new();
    for slot in slots.iter().rev() {
        if told
            .last()
            .is_none_or(|later| later.millis_since(*slot) >= shortest_ms)
        {
            told.push(*slot);
        }
    }
    told.reverse();
    told
}

/// Plans the next slot. Slots that come too soon after the one that came at `came_at` are passed over.
fn plan_next(draft: &mut Draft<'_>, mut timer: TimerRecord, at: Timestamp, came_at: Timestamp) {
    let (at, spared) = spare_slots(&timer, at, came_at);
    timer.missed_count += spared;
    timer.passed_over += spared;
    timer.next_fire_at = Some(at);
    timer.due = Some(set_next(draft, &timer, at));
    draft.put_timer(timer);
}

/// Returns the first slot from `at` on that comes no sooner than the shortest interval after the slot that was planned for
/// `came_at`, and the number of slots before it. Planned times count, so that a slot that comes late moves no other. After
/// a longer time the newest slot that has passed counts, whose tick this one stands for.
fn spare_slots(timer: &TimerRecord, at: Timestamp, came_at: Timestamp) -> (Timestamp, u64) {
    let (TimerSchedule::Every { interval_ms, .. }, Some(shortest_ms)) =
        (&timer.schedule, timer.shortest_interval_ms())
    else {
        return (at, 0);
    };
    if *interval_ms >= shortest_ms {
        return (at, 0);
    }
    let is_long_past = at.millis_since(came_at) > shortest_ms;
    let from = match is_long_past {
        true => at.minus_millis(*interval_ms),
        false => came_at,
    };
    let short_by = from.plus_millis(shortest_ms).millis_since(at);
    let spared = short_by.div_ceil((*interval_ms).max(1));
    (at.plus_millis(spared * interval_ms), spared)
}

/// Checks that a tick of this timer may be queued. An agent that cannot keep up with repeating timers misses slots: while
/// a tick waits, unless the timer wants all of them, and beyond the limit of queued ticks. A timer that fires once is
/// never skipped.
fn check_room(draft: &Draft<'_>, timer: &TimerRecord) -> Result<(), String> {
    let one_waits = timer.queued_tick.is_some() && timer.missed != MissedSlotPolicy::All;
    let is_full = draft.agent.work.timer_ticks >= limits::TIMER_TICKS_QUEUED;
    match (fires_once(timer), one_waits, is_full) {
        (true, _, _) | (false, false, false) => Ok(()),
        (false, true, _) => Err(format!(
            "its last tick still waits in the queue: {}",
            late::waiting_cause(&draft.agent)
        )),
        (false, false, true) => Err(format!(
            "the queue holds as many ticks of timers as it may: {}",
            late::waiting_cause(&draft.agent)
        )),
    }
}

/// Records that a slot is passed over because the agent does not keep up: once for the tick that waits.
fn record_wait(draft: &mut Draft<'_>, timer: &mut TimerRecord, planned_at: Timestamp, error: &str) {
    if !timer.wait_recorded {
        record_failure(draft, timer, planned_at, error);
    }
    timer.wait_recorded = true;
}

fn record_failure(draft: &mut Draft<'_>, timer: &TimerRecord, planned_at: Timestamp, error: &str) {
    draft.event(Event::TimerFireFailed(TimerFireFailed {
        timer_id: timer.id.clone(),
        planned_at,
        error: error.to_owned(),
    }));
}

const fn fires_once(timer: &TimerRecord) -> bool {
    matches!(timer.schedule, TimerSchedule::Once { .. })
}

/// Whether and how the head of the queue begins a turn.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ReleasedHead {
    /// It begins a turn; a tick of a timer may begin it late.
    Begins(Option<LateTick>),
    /// It is the tick of a timer that was cancelled since it fired.
    OfCancelledTimer,
}

/// Notes that a message is about to leave the queue.
pub(crate) fn release_tick(draft: &mut Draft<'_>, head: &QueueEntry) -> ReleasedHead {
    let Origin::Timer { timer_id } = &head.envelope.origin else {
        return ReleasedHead::Begins(None);
    };
    let Some(mut timer) = draft.timer(timer_id) else {
        return ReleasedHead::Begins(None);
    };
    let late = late::late_tick(draft, head, timer.passed_over);
    let taken = timer.queued_tick.take_if(|seq| *seq == head.seq);
    // The late tick tells of the slots that were passed over.
    let tells = late.is_some() && timer.passed_over > 0;
    if tells {
        timer.passed_over = 0;
    }
    match timer.status {
        TimerStatus::Active if taken.is_some() || tells => draft.put_timer(timer),
        TimerStatus::Active | TimerStatus::Completed => {}
        TimerStatus::Cancelled => return ReleasedHead::OfCancelledTimer,
    }
    ReleasedHead::Begins(late)
}

fn record(
    draft: &mut Draft<'_>,
    timer: &TimerRecord,
    planned_at: Timestamp,
    message_id: Option<MessageId>,
    missed: u64,
    next_fire_at: Option<Timestamp>,
) {
    draft.event(Event::TimerFired(TimerFired {
        timer_id: timer.id.clone(),
        planned_at,
        message_id,
        fire_count: timer.fire_count,
        missed,
        next_fire_at,
    }));
}

/// Describes a fire to the model: the text of the timer, its planned and its actual time, and what was missed.
fn tick_words(timer: &TimerRecord, slot: Timestamp, now: Timestamp, missed: u64) -> String {
    let words = timer
        .summary
        .as_deref()
        .unwrap_or("The time of a timer has come.");
    let missed = match missed {
        0 => String::new(),
        count => format!("; {} passed since", text::pluralize(count, "more slot")),
    };
    let before = match timer.passed_over {
        0 => String::new(),
        count => format!(
            "; {} without a tick before it",
            text::pluralize(count, "slot")
        ),
    };
    format!(
        "{words}\n\nYour timer {} ({}), tick {}: planned for {slot}, fired at {now}{missed}{before}.",
        timer.id,
        timer.maker_words(),
        timer.fire_count
    )
}

/// Queues the tick of a slot. The ticks of a timer that no operator caused are self-caused, so that an agent cannot keep
/// itself busy with timers.
fn tick(
    draft: &mut Draft<'_>,
    timer: &TimerRecord,
    slot: Timestamp,
    missed: u64,
    was_down: bool,
) -> QueueEntry {
    let words = tick_words(timer, slot, draft.now, missed);
    let (cause, priority) = if !timer.is_by_operator() {
        let paced = self_caused_priority(&draft.agent, Priority::Next);
        (Cause::Itself, paced)
    } else {
        (Cause::Runtime, Priority::Next)
    };
    let ingress = Ingress {
        kind: MessageKind::TimerTick,
        origin: Origin::Timer {
            timer_id: timer.id.clone(),
        },
        priority,
        body: Body::text(words),
        images: Vec::new(),
        metadata: Some(json!({
            "planned_at": slot,
            "fired_at": draft.now,
            "missed_slots": missed,
            "was_down": was_down,
            "subsystem": TIMER,
        })),
        delivery_surface: DeliverySurface::TimerScheduler,
        admission_context: AdmissionContext::RuntimeOwned,
        correlation_id: None,
        causation_id: None,
        max_rounds: None,
        at_most: None,
    };
    let authority = tick_authority(timer.authority, Fault::TimerAuthority);
    admission::enqueue(draft, ingress, Provenance::new(authority, cause))
}
