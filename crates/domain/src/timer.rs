//! Timers, and the entries of the host's due-queue.

use crate::authority::AuthorityClass;
use crate::delivery::DeliveryRoute;
use crate::id::{AgentId, TimerId, WaitId, WorkItemId};
use crate::limits;
use crate::queue::MessageSeq;
use crate::text;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number of a due entry, unique for its agent and never used again.
pub type DueId = u64;

/// Action of a due entry. All entries of the host are in one queue; an agent need not be in memory for its entry to
/// fire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DueAction {
    /// A rest that the agent asked for ends.
    RestOver { reason: Option<String> },
    /// The pause before the next attempt of a model request ends.
    #[serde(rename = "backoff_over")]
    ProviderPauseOver { turn_index: u64 },
    /// The pause before another turn that only the agent itself caused ends.
    PaceOver,
    /// The pause before another attempt to remove an agent's home ends.
    RemovalRetry,
    /// The pause before another tick for work without progress ends.
    WorkTick,
    /// The pause between two ticks for wake hints from outside ends.
    HintTick,
    /// The agent is reminded to check the blocker of this item.
    Recheck { work_item_id: WorkItemId },
    /// The latest time of a wait has come.
    WaitOver { wait_id: WaitId },
    /// A slot of a timer has come.
    TimerFire {
        timer_id: TimerId,
        /// True if an operator causes the ticks of the timer, so that no pause between own turns holds them back.
        /// False in entries of earlier builds.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        by_operator: bool,
    },
    /// The pause before another attempt of a delivery ends.
    DeliveryRetry { route: DeliveryRoute },
    /// A started agent handles the timers and waits that became due while it was stopped.
    #[serde(rename = "unpark")]
    CatchUp,
}

impl DueAction {
    /// Returns the longest pause of this kind. Used for entries of earlier builds, which did not store their lengths.
    #[must_use]
    pub const fn longest_ms(&self) -> u64 {
        match self {
            Self::RestOver { .. } => limits::SLEEP_MAX_MS,
            Self::ProviderPauseOver { .. } => limits::RENEWAL_PATIENCE_MS,
            Self::PaceOver => limits::PACE_MAX_MS,
            Self::RemovalRetry => limits::REMOVAL_PAUSE_MAX_MS,
            Self::DeliveryRetry { .. } => limits::DELIVERY_RETRY_AFTER_MAX_MS,
            Self::HintTick => limits::HINT_TICK_PAUSE_MS,
            Self::WorkTick | Self::CatchUp => limits::WORK_TICK_PAUSE_MAX_MS,
            Self::Recheck { .. } | Self::WaitOver { .. } | Self::TimerFire { .. } => {
                limits::TIMER_MAX_MS
            }
        }
    }
}

/// A pause of a fixed length. It stores the time at which it was set instead of the time at which it ends, because a
/// wall clock that is set back must not make it longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pause {
    /// Wall-clock time at which the pause was set. After a step of the clock it is adjusted to the new clock.
    pub set_at: Timestamp,
    pub length_ms: u64,
}

impl Pause {
    /// Returns the time at which the pause ends, if the wall clock makes no step.
    #[must_use]
    pub const fn ends_at(self) -> Timestamp {
        self.set_at.plus_millis(self.length_ms)
    }

    /// Returns the pause adjusted to a wall clock that was set back by `by_ms` and now reads `now`. `None` if it needs
    /// no change.
    ///
    /// After a restart the size of a step is not known (`by_ms` is 0). Then a pause that seems to be set in the
    /// future begins anew, so it takes at most its full length once more.
    #[must_use]
    pub fn shift_after_step_back(self, by_ms: u64, now: Timestamp) -> Option<Self> {
        let set_at = self.set_at.minus_millis(by_ms).min(now);
        (set_at != self.set_at).then_some(Self { set_at, ..self })
    }
}

/// Time at which a due entry fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DueTime {
    /// After a length of time, independent of steps of the wall clock.
    Pause(Pause),
    /// At a wall-clock time.
    Slot(Slot),
}

/// A time on the wall clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    pub at: Timestamp,
    /// Wall-clock time at which the slot was planned. Rows of earlier builds have `at` here.
    pub set_at: Timestamp,
}

impl Slot {
    /// Returns true if the slot was planned by a clock that was ahead of this time. Then an earlier one may come first.
    #[must_use]
    pub fn is_planned_ahead_of(self, now: Timestamp) -> bool {
        self.set_at > now
    }
}

impl DueTime {
    /// Returns the wall-clock time for which the entry is planned.
    #[must_use]
    pub const fn at(self) -> Timestamp {
        match self {
            Self::Pause(pause) => pause.ends_at(),
            Self::Slot(slot) => slot.at,
        }
    }
}

/// An entry of one agent's part of the due-queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedDue {
    pub id: DueId,
    pub at: Timestamp,
    pub action: DueAction,
}

/// Status of a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimerStatus {
    Active,
    /// It has fired for the last time.
    Completed,
    Cancelled,
}

/// Schedule of a timer's slots.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TimerSchedule {
    Once {
        at: Timestamp,
    },
    /// Slots at `first_at` and every `interval_ms` after it. A late fire does not move later slots.
    Every {
        first_at: Timestamp,
        interval_ms: u64,
    },
    /// Slots of a cron expression with five fields, evaluated in a time zone.
    Cron {
        expression: String,
        /// Name in the IANA database, for example `Europe/Berlin`.
        time_zone: String,
    },
}

/// Stands for the zone of a cron expression whose author names none. A stored timer has the zone of its host's operator in
/// its place.
pub const NO_ZONE: &str = "";

impl TimerSchedule {
    /// Reads a cron expression that names no zone in this one.
    #[must_use]
    pub fn or_in_zone(self, zone: &str) -> Self {
        match self {
            Self::Cron {
                expression,
                time_zone,
            } if time_zone == NO_ZONE => Self::Cron {
                expression,
                time_zone: zone.to_owned(),
            },
            named => named,
        }
    }

    /// Creates a schedule that fires once, or repeatedly if an interval is given.
    #[must_use]
    pub const fn starting_at(first_at: Timestamp, interval_ms: Option<u64>) -> Self {
        match interval_ms {
            Some(interval_ms) => Self::Every {
                first_at,
                interval_ms,
            },
            None => Self::Once { at: first_at },
        }
    }
}

/// Treatment of slots that passed while the host was down or the agent was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MissedSlotPolicy {
    /// They are counted, and no tick is sent.
    Skip,
    /// One tick stands for all of them.
    #[default]
    Once,
    /// One tick for each, up to [`limits::MISSED_SLOTS`].
    All,
}

/// A tick of a timer whose turn begins long after the planned time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateTick {
    pub planned_at: Timestamp,
    pub cause: LateCause,
    /// Slots of the timer that were passed over meanwhile.
    pub passed_over: u64,
}

/// The reason for which a tick begins late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LateCause {
    /// The host was down, or the agent was stopped, when the slot came.
    Down,
    /// The host was behind with its timers when the slot came.
    Overdue,
    /// Another turn of the agent ran.
    Busy,
    /// Turns that the agent causes itself are paced.
    Paced,
}

/// Slots of a repeating timer that came one after the other, by their planned times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotRun {
    pub from: Timestamp,
    pub to: Timestamp,
}

impl SlotRun {
    /// Returns true if the run covers this time.
    #[must_use]
    pub fn contains(self, at: Timestamp) -> bool {
        self.from <= at && at <= self.to
    }
}

/// A timer of an agent, as stored. The planned slot and the time of firing are separate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerRecord {
    pub id: TimerId,
    pub agent_id: AgentId,
    pub created_at: Timestamp,
    pub schedule: TimerSchedule,
    #[serde(default)]
    pub missed: MissedSlotPolicy,
    pub status: TimerStatus,
    /// Text of the tick that the agent receives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Authority of the turn or the caller that created the timer. Its ticks have no more.
    #[serde(default = "AuthorityClass::weakest")]
    pub authority: AuthorityClass,
    /// True if the agent created the timer itself.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub made_by_agent: bool,
    /// Operator's words that asked for it, at most [`ORDER_BYTES`](crate::agent::ORDER_BYTES). Absent if the turn that
    /// made it had none, and in rows of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    /// Slots that came, as runs without a gap, oldest first. After the clock was set back they do not come again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub past_slots: Vec<SlotRun>,
    /// Slots that were passed over since the newest tick was sent.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub passed_over: u64,
    /// True once it was recorded that slots are passed over because the newest tick waits.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub wait_recorded: bool,
    /// Newest queued tick of a repeating timer. Slots that come while it waits are missed, so that ticks do not pile
    /// up, unless the timer wants all of them. Absent once the tick has left the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queued_tick: Option<MessageSeq>,
    /// Next planned slot. Absent once the timer has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_fire_at: Option<Timestamp>,
    /// Due entry of that slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<DueId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_fired_at: Option<Timestamp>,
    #[serde(default)]
    pub fire_count: u64,
    /// Slots that passed without a tick of their own.
    #[serde(default)]
    pub missed_count: u64,
}

/// A timer as clients see it: lengths beside the times, and no due entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimerView {
    pub id: TimerId,
    pub agent_id: AgentId,
    pub created_at: Timestamp,
    /// Milliseconds from the creation to the first slot. Absent for a cron expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Milliseconds between two slots. Absent for a timer that fires once and for a cron expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    /// Zone in which the cron expression is evaluated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// True if the timer has more than one slot.
    pub repeat: bool,
    pub missed: MissedSlotPolicy,
    pub status: TimerStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_fire_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_fired_at: Option<Timestamp>,
    pub fire_count: u64,
    pub missed_count: u64,
    /// Ticks a day of an active repeating timer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticks_a_day: Option<u64>,
    /// Tokens a day that these ticks will use, from the agent's last ticks. Absent before its first tick.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_a_day: Option<u64>,
}

/// Spells a length of time in its largest whole unit.
fn spell_ms(millis: u64) -> String {
    for (unit, name) in [(3_600_000, "hour"), (60_000, "minute"), (1_000, "second")] {
        if millis >= unit && millis.is_multiple_of(unit) {
            return text::pluralize(millis / unit, name);
        }
    }
    format!("{millis} ms")
}

impl TimerRecord {
    /// Returns true if an operator made the timer, or a turn under an operator's authority did. Its ticks are then caused
    /// by the operator; those of other timers are self-caused and paced.
    #[must_use]
    pub fn is_by_operator(&self) -> bool {
        !self.made_by_agent || self.authority == AuthorityClass::OperatorInstruction
    }

    /// Says who made the timer, when, and how often it fires: "made 2026-03-01T09:00:00Z by you, every 10 minutes". It is
    /// said to the agent.
    #[must_use]
    pub fn maker_words(&self) -> String {
        let maker = if self.made_by_agent {
            "you"
        } else {
            "your operator"
        };
        let pace = match &self.schedule {
            TimerSchedule::Once { .. } => "once".to_owned(),
            TimerSchedule::Every { interval_ms, .. } => format!("every {}", spell_ms(*interval_ms)),
            TimerSchedule::Cron { .. } => "by a cron expression".to_owned(),
        };
        format!("made {} by {maker}, {pace}", self.created_at)
    }

    /// Returns the shortest time between two ticks, in milliseconds, where the runtime sets one.
    #[must_use]
    pub fn shortest_interval_ms(&self) -> Option<u64> {
        self.is_by_operator()
            .then_some(limits::OPERATOR_TICK_INTERVAL_MS)
    }

    /// Returns the timer as clients see it.
    #[must_use]
    pub fn view(&self) -> TimerView {
        let after = |first: Timestamp| Some(first.millis_since(self.created_at));
        let (duration_ms, interval_ms, cron) = match &self.schedule {
            TimerSchedule::Once { at } => (after(*at), None, None),
            TimerSchedule::Every {
                first_at,
                interval_ms,
            } => (after(*first_at), Some(*interval_ms), None),
            TimerSchedule::Cron {
                expression,
                time_zone,
            } => (None, None, Some((expression.clone(), time_zone.clone()))),
        };
        let (cron, time_zone) = cron.unzip();
        TimerView {
            id: self.id.clone(),
            agent_id: self.agent_id.clone(),
            created_at: self.created_at,
            duration_ms,
            interval_ms,
            repeat: interval_ms.is_some() || cron.is_some(),
            cron,
            time_zone,
            missed: self.missed,
            status: self.status,
            summary: self.summary.clone(),
            next_fire_at: self.next_fire_at,
            last_fired_at: self.last_fired_at,
            fire_count: self.fire_count,
            missed_count: self.missed_count,
            ticks_a_day: None,
            tokens_a_day: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3_600_000;

    fn at(hours: i64) -> Timestamp {
        Timestamp::from_millis(hours * 3_600_000)
    }

    #[test]
    fn a_pause_on_a_clock_that_was_set_back_is_as_long_as_before() {
        // The pause is set at 10 for four hours, and the clock is set back an hour later.
        // Each row: hours back, the clock afterwards, the end of the pause.
        for (back, now, over) in [(2, 9, 12), (1, 10, 13), (100, -89, -86), (0, 11, 14)] {
            let pause = Pause {
                set_at: at(10),
                length_ms: 4 * HOUR,
            };
            let anew = pause
                .shift_after_step_back(back * HOUR, at(now))
                .unwrap_or(pause);
            assert_eq!(anew.ends_at(), at(over), "back by {back}");
            assert_eq!(anew.ends_at().millis_since(at(now)), 3 * HOUR);
        }
    }

    #[test]
    fn a_pause_set_in_the_future_begins_anew_when_the_step_is_not_known() {
        let pause = Pause {
            set_at: at(10),
            length_ms: 4 * HOUR,
        };
        let anew = pause.shift_after_step_back(0, at(3)).expect("begins anew");
        assert_eq!(anew.ends_at(), at(7));
        assert_eq!(pause.shift_after_step_back(0, at(10)), None);
        assert_eq!(anew.shift_after_step_back(0, at(3)), None, "once");
    }

    #[test]
    fn a_view_of_a_timer_shows_lengths_and_hides_the_due_entry() {
        let record = |schedule: TimerSchedule| TimerRecord {
            id: TimerId::from_stored("timer_1"),
            agent_id: AgentId::parse("main").expect("a name"),
            created_at: at(1),
            schedule,
            missed: MissedSlotPolicy::Once,
            status: TimerStatus::Active,
            summary: None,
            authority: AuthorityClass::OperatorInstruction,
            made_by_agent: false,
            order: None,
            past_slots: Vec::new(),
            passed_over: 0,
            wait_recorded: false,
            queued_tick: None,
            next_fire_at: Some(at(2)),
            due: Some(7),
            last_fired_at: None,
            fire_count: 0,
            missed_count: 0,
        };
        let once = TimerSchedule::Once { at: at(2) };
        let every = TimerSchedule::Every {
            first_at: at(2),
            interval_ms: 5,
        };
        let cron = TimerSchedule::Cron {
            expression: "0 9 * * *".to_owned(),
            time_zone: "Europe/Berlin".to_owned(),
        };
        for (schedule, duration_ms, interval_ms, repeat) in [
            (once, Some(HOUR), None, false),
            (every, Some(HOUR), Some(5), true),
            (cron, None, None, true),
        ] {
            let view = record(schedule).view();
            let shown = (view.duration_ms, view.interval_ms, view.repeat);
            assert_eq!(shown, (duration_ms, interval_ms, repeat));
            let json = serde_json::to_value(&view).expect("serialises");
            assert_eq!(json.get("due"), None);
            assert_eq!(json.get("cron").is_some(), duration_ms.is_none());
        }
    }
}
