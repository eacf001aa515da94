//! What a repeating timer uses: its ticks a day, and the tokens a day that follow from the agent's last ticks.

use holon_domain::agent::AgentRecord;
use holon_domain::text;
use holon_domain::timer::{TimerRecord, TimerSchedule, TimerStatus, TimerView};

const DAY_MS: u64 = 24 * 60 * 60 * 1_000;

/// What a repeating timer is expected to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimerCost {
    pub ticks_a_day: u64,
    /// Absent before the first tick of any timer of the agent.
    pub tokens_a_day: Option<u64>,
}

impl TimerCost {
    /// Computes the cost of an active timer; `None` for one that fires once or is over.
    #[must_use]
    pub fn of(timer: &TimerRecord, agent: &AgentRecord) -> Option<Self> {
        if timer.status != TimerStatus::Active {
            return None;
        }
        let ticks_a_day = match &timer.schedule {
            TimerSchedule::Once { .. } => return None,
            TimerSchedule::Every { interval_ms, .. } => {
                let interval = (*interval_ms).max(1);
                let shortest = timer.shortest_interval_ms().unwrap_or(1);
                DAY_MS / (shortest.div_ceil(interval).max(1) * interval)
            }
            TimerSchedule::Cron { expression, .. } => cron_slots(expression),
        };
        let known = &agent.work.tick_tokens;
        let count = u64::try_from(known.len()).unwrap_or(u64::MAX);
        let total = known
            .iter()
            .fold(0_u64, |sum, one| sum.saturating_add(*one));
        let each = total.checked_div(count);
        Some(Self {
            ticks_a_day,
            tokens_a_day: each.map(|each| each.saturating_mul(ticks_a_day)),
        })
    }

    /// Adds the cost to a view of the timer.
    #[must_use]
    pub fn view(timer: &TimerRecord, agent: &AgentRecord) -> TimerView {
        let cost = Self::of(timer, agent);
        TimerView {
            ticks_a_day: cost.map(|cost| cost.ticks_a_day),
            tokens_a_day: cost.and_then(|cost| cost.tokens_a_day),
            ..timer.view()
        }
    }

    /// Spells the ticks and tokens of a day for operators and models.
    #[must_use]
    pub fn words(self) -> String {
        let ticks = text::pluralize(self.ticks_a_day, "tick");
        match self.tokens_a_day {
            Some(tokens) => format!("{ticks} a day, about {tokens} tokens a day"),
            None => format!("{ticks} a day"),
        }
    }
}

/// Counts the slots that a cron expression has on a day on which it fires: its minutes in each of its hours.
fn cron_slots(expression: &str) -> u64 {
    let mut fields = expression.split_whitespace();
    let mut count = |size| fields.next().map_or(0, |field| field_values(field, size));
    let minutes = count(60);
    minutes * count(24)
}

/// Counts the values of a field: a list of numbers, ranges and steps. A part that is none of them counts nothing; the
/// schedule was checked when the timer was made.
fn field_values(field: &str, size: u32) -> u64 {
    let mut values = 0_u64;
    for part in field.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, step.parse().ok()),
            None => (part, None),
        };
        let (low, high) = match (range, range.split_once('-')) {
            ("*", _) => (Some(0), Some(size - 1)),
            (_, Some((low, high))) => (low.parse().ok(), high.parse().ok()),
            (one, None) if step.is_some() => (one.parse().ok(), Some(size - 1)),
            (one, None) => (one.parse().ok(), one.parse().ok()),
        };
        let (Some(low), Some(high)) = (low, high) else {
            continue;
        };
        let step = step.filter(|step: &usize| *step > 0).unwrap_or(1);
        for value in (low..=high.min(size - 1)).step_by(step) {
            values |= 1 << value;
        }
    }
    u64::from(values.count_ones())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slots_of_a_day_follow_from_minutes_and_hours() {
        for (expression, slots) in [
            ("* * * * *", 1_440),
            ("*/5 9-17 * * 1-5", 12 * 9),
            ("0 9 * * *", 1),
            ("0,30 */6 1 * *", 8),
            ("10-20/5,15 8,20 * * *", 6),
            ("50/5 0 * * *", 2),
            ("0 7 * * MON", 1),
        ] {
            assert_eq!(cron_slots(expression), slots, "{expression}");
        }
    }
}
