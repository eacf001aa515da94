//! The slots of a schedule, computed anew for the oracle: by looking at every minute of the zone's clock.

use holon_domain::Timestamp;
use holon_domain::timer::TimerSchedule;
use jiff::tz::TimeZone;

const MINUTE: u64 = 60_000;
/// Minutes that a search looks at: more than two days with a full hour per look.
const LOOKS: u32 = 6_000;

/// A cron expression that names minutes and hours only.
#[derive(Debug)]
struct Cron {
    minutes: Vec<i8>,
    hours: Vec<i8>,
    /// False if the expression fires every so many hours: then a repeated hour counts twice.
    fixed_hours: bool,
    zone: TimeZone,
}

fn cron(expression: &str, time_zone: &str) -> Option<Cron> {
    let mut fields = expression.split_whitespace();
    let (minutes, hours) = (fields.next()?, fields.next()?);
    Some(Cron {
        minutes: numbers(minutes, 60)?,
        hours: numbers(hours, 24)?,
        fixed_hours: !hours.starts_with('*'),
        zone: TimeZone::get(time_zone).ok()?,
    })
}

/// Lists the numbers of a field: all, every n-th, or those named.
fn numbers(field: &str, below: i8) -> Option<Vec<i8>> {
    let step = match field.strip_prefix('*') {
        Some("") => 1,
        Some(step) => step.strip_prefix('/')?.parse().ok()?,
        None => {
            let named = field.split(',').map(|number| number.parse().ok());
            return named.collect();
        }
    };
    Some((0..below).step_by(step).collect())
}

impl Cron {
    fn local(&self, at: Timestamp) -> Option<jiff::Zoned> {
        let at = jiff::Timestamp::from_millisecond(at.as_millis()).ok()?;
        Some(at.to_zoned(self.zone.clone()))
    }

    /// Returns true if a full minute is a slot. A fixed hour that is repeated counts at its first occurrence only.
    fn is_slot(&self, at: Timestamp) -> bool {
        let Some(local) = self.local(at) else {
            return false;
        };
        let fits = self.minutes.contains(&local.minute()) && self.hours.contains(&local.hour());
        let hour_ago = self.local(at.minus_millis(60 * MINUTE));
        let repeated = hour_ago.is_some_and(|before| before.datetime() == local.datetime());
        fits && !(repeated && self.fixed_hours)
    }

    /// Returns the next time worth a look: the next minute, or the next full hour of the zone.
    fn step(&self, at: Timestamp) -> Timestamp {
        let local = self.local(at);
        let elsewhere = local.filter(|local| !self.hours.contains(&local.hour()));
        let minutes = elsewhere.map_or(1, |local| 60 - i64::from(local.minute()));
        at.plus_millis(u64::try_from(minutes).unwrap_or(1) * MINUTE)
    }
}

/// Returns true if a time is a slot of a schedule.
pub(crate) fn is_slot(schedule: &TimerSchedule, at: Timestamp) -> bool {
    match schedule {
        TimerSchedule::Once { at: planned } => at == *planned,
        TimerSchedule::Every {
            first_at,
            interval_ms,
        } => at >= *first_at && at.millis_since(*first_at).is_multiple_of(*interval_ms),
        TimerSchedule::Cron {
            expression,
            time_zone,
        } => {
            let full_minute = at.as_millis().rem_euclid(60_000) == 0;
            full_minute && cron(expression, time_zone).is_some_and(|cron| cron.is_slot(at))
        }
    }
}

/// Returns the first slot strictly after a time; `None` for a timer that fires once.
pub(crate) fn slot_after(schedule: &TimerSchedule, after: Timestamp) -> Option<Timestamp> {
    match schedule {
        TimerSchedule::Once { .. } => None,
        TimerSchedule::Every {
            first_at,
            interval_ms,
        } => {
            if after < *first_at {
                return Some(*first_at);
            }
            let number = after.millis_since(*first_at) / interval_ms + 1;
            Some(first_at.plus_millis(number * interval_ms))
        }
        TimerSchedule::Cron {
            expression,
            time_zone,
        } => {
            let cron = cron(expression, time_zone)?;
            let into = u64::try_from(after.as_millis().rem_euclid(60_000)).unwrap_or(0);
            let mut at = after.minus_millis(into).plus_millis(MINUTE);
            for _ in 0..LOOKS {
                if cron.is_slot(at) {
                    return Some(at);
                }
                at = cron.step(at);
            }
            None
        }
    }
}

/// Counts the slots from one slot on and before another time, up to a bound.
pub(crate) fn count(
    schedule: &TimerSchedule,
    from: Timestamp,
    before: Option<Timestamp>,
    bound: u64,
) -> u64 {
    let Some(before) = before else {
        return 1;
    };
    if let TimerSchedule::Every { interval_ms, .. } = schedule {
        return before.millis_since(from) / interval_ms;
    }
    let (mut counted, mut at) = (0, Some(from));
    while let Some(slot) = at.filter(|slot| *slot < before && counted < bound) {
        counted += 1;
        at = slot_after(schedule, slot);
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        let parsed: jiff::Timestamp = text.parse().expect("a time");
        Timestamp::from_millis(parsed.as_millisecond())
    }

    #[test]
    fn a_skipped_hour_has_no_slot_and_a_repeated_one_has_one() {
        let nightly = TimerSchedule::Cron {
            expression: "30 2 * * *".to_owned(),
            time_zone: "Europe/Berlin".to_owned(),
        };
        let spring = slot_after(&nightly, at("2027-03-27T12:00:00Z"));
        assert_eq!(spring, Some(at("2027-03-29T00:30:00Z")));
        let autumn = slot_after(&nightly, at("2027-10-30T12:00:00Z"));
        assert_eq!(autumn, Some(at("2027-10-31T00:30:00Z")));
        let next = slot_after(&nightly, at("2027-10-31T00:30:00Z"));
        assert_eq!(next, Some(at("2027-11-01T01:30:00Z")));
    }
}
