//! Computes the slots of a schedule: the next one, and those that passed unnoticed. Pure functions of wall-clock times.
//!
//! Cron slots are read in their time zone. A local time that a clock change skips has no slot that day; a repeated one
//! has its slot once, at its first occurrence, unless the expression fires every hour.

use crate::planted::{Fault, is_planted};
use cronexpr::{Crontab, MakeTimestamp, parse_crontab};
use holon_domain::timer::TimerSchedule;
use holon_domain::tool::{ToolError, ToolErrorKind};
use holon_domain::{Timestamp, limits, text};

/// The reason for which a schedule cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ScheduleError {
    PastTime {
        at: Timestamp,
        now: Timestamp,
    },
    TooFar,
    ShortInterval,
    /// Not five fields, or a field out of its range.
    BadExpression {
        expression: String,
    },
    UnknownZone {
        time_zone: String,
    },
    NeverFires,
}

/// Refuses a schedule that is malformed or has no slot left.
pub(crate) fn check(schedule: &TimerSchedule, now: Timestamp) -> Result<(), ScheduleError> {
    let (first, interval) = match schedule {
        TimerSchedule::Once { at } => (*at, None),
        TimerSchedule::Every {
            first_at,
            interval_ms,
        } => (*first_at, Some(*interval_ms)),
        TimerSchedule::Cron { time_zone, .. } => {
            let crontab = parse(schedule)?;
            // Rows of earlier builds may also have an offset here, which is still read.
            if jiff::tz::TimeZone::get(time_zone).is_err() {
                let time_zone = time_zone.clone();
                return Err(ScheduleError::UnknownZone { time_zone });
            }
            return match slot_after(&crontab, now) {
                Some(_) => Ok(()),
                None => Err(ScheduleError::NeverFires),
            };
        }
    };
    if first < now {
        return Err(ScheduleError::PastTime { at: first, now });
    }
    let too_long = |ms: u64| ms > limits::TIMER_MAX_MS;
    if too_long(first.millis_since(now)) || interval.is_some_and(too_long) {
        return Err(ScheduleError::TooFar);
    }
    match interval {
        Some(interval) if interval < limits::TIMER_INTERVAL_MIN_MS => {
            Err(ScheduleError::ShortInterval)
        }
        Some(_) | None => Ok(()),
    }
}

/// A parsed cron expression.
struct Cron {
    crontab: Crontab,
    /// True if its hours are fixed. An expression that fires every hour fires in both hours that a clock change
    /// repeats.
    fixed_hours: bool,
}

fn parse(schedule: &TimerSchedule) -> Result<Cron, ScheduleError> {
    let TimerSchedule::Cron {
        expression,
        time_zone,
    } = schedule
    else {
        return Err(ScheduleError::NeverFires);
    };
    let zone = if is_planted(Fault::CronInUtc) {
        "UTC"
    } else {
        time_zone.as_str()
    };
    let parsed = parse_crontab(&format!("{expression} {zone}"));
    let crontab = parsed.map_err(|_| {
        if jiff::tz::TimeZone::get(time_zone).is_err() {
            let time_zone = time_zone.clone();
            return ScheduleError::UnknownZone { time_zone };
        }
        let expression = expression.clone();
        ScheduleError::BadExpression { expression }
    })?;
    let hours = expression.split_whitespace().nth(1);
    Ok(Cron {
        crontab,
        fixed_hours: hours.is_some_and(|hours| !hours.starts_with('*')),
    })
}

/// Returns the first slot strictly after a time.
fn slot_after(cron: &Cron, time: Timestamp) -> Option<Timestamp> {
    let mut from = time;
    // A repeated hour holds at most one slot for each of its minutes.
    for _ in 0..=60 {
        let start = jiff::Timestamp::from_millisecond(from.as_millis()).ok()?;
        let slot = cron.crontab.find_next(MakeTimestamp(start)).ok()?;
        let at = Timestamp::from_millis(slot.timestamp().as_millisecond());
        if !(cron.fixed_hours && is_repeated(&slot)) {
            return Some(at);
        }
        from = at;
    }
    None
}

/// Returns true if a local time is the second occurrence in an hour that a clock change repeats.
fn is_repeated(slot: &jiff::Zoned) -> bool {
    let zone = slot.time_zone();
    match zone.to_ambiguous_timestamp(slot.datetime()).offset() {
        jiff::tz::AmbiguousOffset::Fold { after, .. } => {
            slot.offset() == after && !is_planted(Fault::RepeatedHourFiresTwice)
        }
        jiff::tz::AmbiguousOffset::Unambiguous { .. } | jiff::tz::AmbiguousOffset::Gap { .. } => {
            false
        }
    }
}

/// Returns the first slot of a new timer.
pub(crate) fn next(schedule: &TimerSchedule, now: Timestamp) -> Option<Timestamp> {
    match schedule {
        TimerSchedule::Once { at } => Some(*at),
        TimerSchedule::Every { first_at, .. } => Some(*first_at),
        TimerSchedule::Cron { .. } => slot_after(&parse(schedule).ok()?, now),
    }
}

/// The slots between a planned slot and now, and the first one after now. A clock that was set back since may leave the
/// planned slot in the future; the next one counts from now all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PassedSlots {
    /// Number of passed slots without the planned one. For a cron expression, counted up to a bound.
    pub(crate) count: u64,
    /// The newest of them, oldest first, at most `limits::MISSED_SLOTS`. For a cron expression, only if the caller asks
    /// for them.
    pub(crate) newest: Vec<Timestamp>,
    pub(crate) next: Option<Timestamp>,
}

/// Computes the slots between the planned slot and now.
pub(crate) fn passed(
    schedule: &TimerSchedule,
    planned: Timestamp,
    now: Timestamp,
    wants_newest: bool,
) -> PassedSlots {
    match schedule {
        TimerSchedule::Once { .. } => PassedSlots {
            count: 0,
            newest: Vec::new(),
            next: None,
        },
        TimerSchedule::Every { interval_ms, .. } => passed_on_grid(*interval_ms, planned, now),
        TimerSchedule::Cron { .. } => parse(schedule).map_or_else(
            |_| PassedSlots {
                count: 0,
                newest: Vec::new(),
                next: None,
            },
            |crontab| passed_of_cron(&crontab, planned, now, wants_newest),
        ),
    }
}

fn passed_on_grid(interval_ms: u64, planned: Timestamp, now: Timestamp) -> PassedSlots {
    let interval = interval_ms.max(1);
    let count = now.millis_since(planned) / interval;
    let kept = count.min(u64::from(limits::MISSED_SLOTS));
    let left_out = u64::from(count > 0 && is_planted(Fault::SlotLost));
    let from = planned.min(now);
    let newest = (count - kept + 1..=count).map(|n| planned.plus_millis(n * interval));
    PassedSlots {
        count,
        newest: newest.collect(),
        next: Some(from.plus_millis((count + 1 + left_out) * interval)),
    }
}

fn passed_of_cron(
    crontab: &Cron,
    planned: Timestamp,
    now: Timestamp,
    wants_newest: bool,
) -> PassedSlots {
    let bound = limits::MISSED_SLOTS as usize;
    let oldest = slots_between(crontab, planned, now, bound);
    let count = oldest.len() as u64;
    let newest = if oldest.len() < bound {
        oldest
    } else if wants_newest {
        newest_of_cron(crontab, planned, now)
    } else {
        Vec::new()
    };
    PassedSlots {
        count,
        newest,
        next: slot_after(crontab, now),
    }
}

/// Returns the first slots after one time and up to another, at most `bound` of them.
fn slots_between(
    crontab: &Cron,
    from: Timestamp,
    until: Timestamp,
    bound: usize,
) -> Vec<Timestamp> {
    let slots = std::iter::successors(slot_after(crontab, from), |slot| slot_after(crontab, *slot));
    slots
        .take_while(|slot| *slot <= until)
        .take(bound)
        .collect()
}

/// Number of times the period since the planned slot is halved. After that, less than ten minutes of a year are left.
const HALVINGS: u32 = 16;

/// Returns the newest slots up to now, when more than the bound have passed. A cron expression can only be read
/// forward, so this searches for a time after which few more than the bound follow.
fn newest_of_cron(crontab: &Cron, planned: Timestamp, now: Timestamp) -> Vec<Timestamp> {
    let bound = limits::MISSED_SLOTS as usize;
    let (mut enough, mut too_few) = (planned, now);
    for _ in 0..HALVINGS {
        let middle = enough.plus_millis(too_few.millis_since(enough) / 2);
        if slots_between(crontab, middle, now, bound).len() < bound {
            too_few = middle;
        } else {
            enough = middle;
        }
    }
    let mut slots = slots_between(crontab, enough, now, 2 * bound);
    let surplus = slots.len().saturating_sub(bound);
    slots.drain(..surplus);
    slots
}

/// Builds the refusal of a schedule, with the next step.
pub(crate) fn refusal(unusable: ScheduleError) -> ToolError {
    let invalid = |message: String| ToolError::new(ToolErrorKind::InvalidToolInput, message);
    match unusable {
        ScheduleError::PastTime { at, now } => {
            invalid(format!("the time {at} has passed; it is {now} now")).hint("name a later time")
        }
        ScheduleError::TooFar => {
            invalid("the delay or interval is longer than ten years".to_owned())
                .hint("name a shorter one")
        }
        ScheduleError::ShortInterval => {
            let least = limits::TIMER_INTERVAL_MIN_MS;
            invalid(format!(
                "the interval must be at least {least} ms, because each slot begins a turn"
            ))
            .hint("name a longer interval, or make a timer that fires once")
        }
        ScheduleError::BadExpression { expression } => {
            let shown = text::preview(&expression, limits::EVENT_PREVIEW_BYTES);
            invalid(format!("the cron expression {shown:?} cannot be read"))
                .hint("use five fields (minute hour day month weekday), for example 30 9 * * 1-5")
        }
        ScheduleError::UnknownZone { time_zone } => {
            let shown = text::preview(&time_zone, limits::EVENT_PREVIEW_BYTES);
            invalid(format!("the time zone {shown:?} is not known"))
                .hint("use an IANA name, for example Europe/Berlin")
        }
        ScheduleError::NeverFires => invalid("the schedule has no slot after now".to_owned())
            .hint("check day and month: for example 30 February does not exist"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        let parsed: jiff::Timestamp = text.parse().expect("a time");
        Timestamp::from_millis(parsed.as_millisecond())
    }

    fn cron(expression: &str, time_zone: &str) -> TimerSchedule {
        TimerSchedule::Cron {
            expression: expression.to_owned(),
            time_zone: time_zone.to_owned(),
        }
    }

    #[test]
    fn an_interval_stays_on_its_grid_however_late_it_fires() {
        let start = at("2026-03-01T00:00:00Z");
        let every = TimerSchedule::Every {
            first_at: start,
            interval_ms: 60_000,
        };
        for (late_ms, count, next) in [
            (0, 0, "2026-03-01T00:01:00Z"),
            (59_999, 0, "2026-03-01T00:01:00Z"),
            (60_000, 1, "2026-03-01T00:02:00Z"),
            (630_500, 10, "2026-03-01T00:11:00Z"),
        ] {
            let passed = passed(&every, start, start.plus_millis(late_ms), true);
            assert_eq!(
                (passed.count, passed.next),
                (count, Some(at(next))),
                "{late_ms}"
            );
        }
    }

    #[test]
    fn the_next_slot_counts_from_now_when_the_planned_one_is_ahead() {
        let now = at("2026-03-01T00:00:30Z");
        let every = TimerSchedule::Every {
            first_at: now,
            interval_ms: 60_000,
        };
        for (schedule, next) in [
            (every, "2026-03-01T00:01:30Z"),
            (cron("*/5 * * * *", "UTC"), "2026-03-01T00:05:00Z"),
        ] {
            let passed = passed(&schedule, at("2026-03-02T00:00:00Z"), now, true);
            assert_eq!((passed.count, passed.next), (0, Some(at(next))));
        }
    }

    #[test]
    fn a_cron_slot_keeps_its_local_time_over_a_change_of_the_clock() {
        // Berlin goes from +01:00 to +02:00 on 29 March 2026 at 02:00 local time and back on 25 October at 03:00.
        let daily = cron("30 9 * * *", "Europe/Berlin");
        assert_eq!(
            next(&daily, at("2026-03-28T12:00:00Z")),
            Some(at("2026-03-29T07:30:00Z"))
        );
        assert_eq!(
            next(&daily, at("2026-03-27T12:00:00Z")),
            Some(at("2026-03-28T08:30:00Z"))
        );
    }

    #[test]
    fn a_skipped_local_time_causes_no_storm_and_a_repeated_one_fires_once() {
        let skipped = cron("30 2 * * *", "Europe/Berlin");
        let first = next(&skipped, at("2026-03-28T12:00:00Z")).expect("a slot");
        assert_eq!(first, at("2026-03-30T00:30:00Z"), "29 March has no 02:30");
        let second = next(&skipped, first).expect("a slot");
        assert!(
            second.millis_since(first) >= 22 * 3_600_000,
            "{first} {second}"
        );
        let repeated = cron("30 2 * * *", "Europe/Berlin");
        let first = next(&repeated, at("2026-10-24T12:00:00Z")).expect("a slot");
        assert_eq!(first, at("2026-10-25T00:30:00Z"));
        assert_eq!(next(&repeated, first), Some(at("2026-10-26T01:30:00Z")));
        let hourly = cron("30 * * * *", "Europe/Berlin");
        assert_eq!(
            next(&hourly, first),
            Some(at("2026-10-25T01:30:00Z")),
            "an hour later"
        );
    }

    #[test]
    fn schedules_that_cannot_fire_are_refused_with_the_reason() {
        let now = at("2026-03-01T00:00:00Z");
        let once = |at| TimerSchedule::Once { at };
        let every = |interval_ms| TimerSchedule::Every {
            first_at: now,
            interval_ms,
        };
        assert!(matches!(
            check(&once(now.minus_millis(1)), now),
            Err(ScheduleError::PastTime { .. })
        ));
        assert_eq!(
            check(&once(now.plus_millis(limits::TIMER_MAX_MS + 1)), now),
            Err(ScheduleError::TooFar)
        );
        for short in [0, 1, limits::TIMER_INTERVAL_MIN_MS - 1] {
            assert_eq!(check(&every(short), now), Err(ScheduleError::ShortInterval));
        }
        assert_eq!(check(&every(limits::TIMER_INTERVAL_MIN_MS), now), Ok(()));
        assert_eq!(
            check(&cron("0 0 30 2 *", "UTC"), now),
            Err(ScheduleError::NeverFires)
        );
        for (expression, zone, said) in [
            (
                "0 0 * *",
                "UTC",
                "the cron expression \"0 0 * *\" cannot be read",
            ),
            (
                "61 0 * * *",
                "UTC",
                "the cron expression \"61 0 * * *\" cannot be read",
            ),
            (
                "0 0 * * *",
                "Mars/Base",
                "the time zone \"Mars/Base\" is not known",
            ),
        ] {
            let refused = refusal(check(&cron(expression, zone), now).expect_err("refused"));
            assert_eq!(refused.message, said);
            let next = refused.recovery_hint.expect("a next step");
            assert!(next.contains("for example"), "{next}");
        }
        assert_eq!(check(&cron("*/5 * * * *", "Asia/Tokyo"), now), Ok(()));
    }

    #[test]
    fn missed_cron_slots_are_counted_up_to_a_bound() {
        let minutely = cron("* * * * *", "UTC");
        let planned = at("2026-03-01T00:00:00Z");
        let week = planned.plus_millis(7 * 24 * 3_600_000);
        let missed = passed(&minutely, planned, week, true);
        assert_eq!(missed.count, u64::from(limits::MISSED_SLOTS));
        assert_eq!(missed.next, Some(week.plus_millis(60_000)));
        assert_eq!(missed.newest.last(), Some(&week), "the newest of them");
        assert_eq!(missed.newest.len(), limits::MISSED_SLOTS as usize);
        assert_eq!(passed(&minutely, planned, week, false).newest, []);
    }
}
