//! A week of virtual time with three cron timers, the end of daylight saving time and two outages. Every rule of the
//! oracle holds in it, and the list of fires is exact.

use crate::flight::Flight;
use crate::plan::Plan;
use crate::request::Mood;
use crate::trace::{Trace, TraceDetail};
use crate::violation::{Verdict, Violation, ensure};
use crate::world::World;
use holon_core::input::WorkCommand;
use holon_domain::event::Event;
use holon_domain::feed::{EventOrder, EventQuery, EventRecord};
use holon_domain::intent::NewTimer;
use holon_domain::model::ModelFailureKind;
use holon_domain::timer::{MissedSlotPolicy, TimerSchedule};
use holon_domain::{AgentId, TimerId, Timestamp};

/// The timers of the week: expression and policy.
const TIMERS: [(&str, MissedSlotPolicy); 3] = [
    ("30 2 * * *", MissedSlotPolicy::Once),
    ("0 */6 * * *", MissedSlotPolicy::All),
    ("0 8,14,20 * * *", MissedSlotPolicy::Skip),
];
/// The zone whose clock is set back in the night to the 31st.
const ZONE: &str = "Europe/Berlin";
/// Every slot lies on this grid.
const HALF_HOUR: u64 = 1_800_000;
/// Start of the week: 27 October 2027, 00:00 UTC.
const START: Timestamp = Timestamp::from_millis(1_824_595_200_000);
/// Half hours of the week in which the host is down: from the evening of the 29th to noon of the 30th.
const HOST_DOWN: (u64, u64) = (68 * 2, 84 * 2 + 1);
/// Half hours in which no model answers: the first half of 1 November.
const PROVIDER_DOWN: (u64, u64) = (120 * 2, 132 * 2);
/// Half hours of a week.
const END: u64 = 168 * 2;

/// The fires of one timer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimerWeek {
    pub expression: &'static str,
    /// Each slot that fired or was recorded: its planned time, the actual one if it differs, and whether no tick was
    /// sent. Days of the month and times in UTC.
    pub fires: Vec<String>,
    pub fire_count: u64,
    pub missed_count: u64,
}

/// Plays the week. Returns the fires of each timer.
///
/// # Errors
/// A rule of the oracle is violated, or a tick got no turn.
pub fn play_week() -> Result<Vec<TimerWeek>, Violation> {
    let plan = Plan {
        seed: 0,
        steps: 0,
        agents: 1,
        faults: Vec::new(),
    };
    let mut world = World::new(plan, Trace::new(TraceDetail::Hash))?;
    world.mood = Mood::Calm;
    world.now = START;
    world.make_named(0)?;
    world.do_what_is_due()?;
    let id = world.model.names().remove(0);
    for (expression, missed) in TIMERS {
        let schedule = TimerSchedule::Cron {
            expression: expression.to_owned(),
            time_zone: ZONE.to_owned(),
        };
        let new = NewTimer {
            schedule,
            missed,
            summary: None,
        };
        world.send_command(&id, WorkCommand::CreateTimer(new))?;
    }
    for step in 1..=END {
        if step > HOST_DOWN.0 && step < HOST_DOWN.1 {
            world.advance(HALF_HOUR);
            continue;
        }
        world.pass_half_hour(step)?;
    }
    world.report_week(&id)
}

impl World {
    fn pass_half_hour(&mut self, step: u64) -> Verdict<()> {
        self.advance(HALF_HOUR);
        if step == HOST_DOWN.1 {
            self.start_over()?;
            self.boot(false)?;
        }
        let fails = (PROVIDER_DOWN.0..PROVIDER_DOWN.1).contains(&step);
        self.outage = fails.then_some(ModelFailureKind::Connection);
        self.mood = if fails { Mood::Busy } else { Mood::Calm };
        self.do_what_is_due()
    }

    /// Hands over what is due now and performs every effect, without letting time pass.
    fn do_what_is_due(&mut self) -> Verdict<()> {
        loop {
            let rows = self.read_due()?;
            if rows.is_empty() && self.flights.is_empty() && self.unfinished.is_empty() {
                return Ok(());
            }
            for row in rows {
                self.hand_over(row)?;
            }
            self.send_continue()?;
            let flights: Vec<Flight> = std::mem::take(&mut self.flights);
            for flight in flights {
                self.perform(flight)?;
            }
        }
    }

    fn report_week(&self, id: &AgentId) -> Verdict<Vec<TimerWeek>> {
        let events = self.all_events(id)?;
        let told = events.iter().filter(
            |record| matches!(&record.event, Event::TimerFired(fired) if fired.message_id.is_some()),
        );
        let ended = events
            .iter()
            .filter(|record| matches!(record.event, Event::TurnTerminal(_)));
        let (told, ended) = (told.count(), ended.count());
        ensure(
            told == ended,
            "every tick of the week gets its turn",
            || format!("{told} ticks and {ended} turns"),
        )?;
        let known = self.model.agent(id);
        let timers = known.map_or(&[][..], |known| known.outstanding.timers.as_slice());
        let weeks = timers
            .iter()
            .zip(TIMERS)
            .map(|(timer, (expression, _))| TimerWeek {
                expression,
                fires: fires(&events, &timer.id),
                fire_count: timer.fire_count,
                missed_count: timer.missed_count,
            });
        Ok(weeks.collect())
    }

    fn all_events(&self, id: &AgentId) -> Verdict<Vec<EventRecord>> {
        let mut all: Vec<EventRecord> = Vec::new();
        loop {
            let query = EventQuery {
                after_seq: Some(all.last().map_or(0, |record| record.event_seq)),
                before_seq: None,
                limit: 512,
                order: EventOrder::Ascending,
            };
            let page = self.read(|reader| match reader.agent(id)? {
                Some((no, _)) => reader.events(no, query).map(Some),
                None => Ok(None),
            })?;
            let Some(page) = page else {
                return Ok(all);
            };
            all.extend(page.events);
            if !page.has_newer {
                return Ok(all);
            }
        }
    }
}

fn fires(events: &[EventRecord], timer: &TimerId) -> Vec<String> {
    let short = |at: Timestamp| {
        let text = at.to_string();
        let (_, day_and_time) = text.split_at(8);
        day_and_time
            .chars()
            .take(8)
            .collect::<String>()
            .replace('T', " ")
    };
    let fires = events.iter().filter_map(|record| match &record.event {
        Event::TimerFired(fired) if fired.timer_id == *timer => Some((record.at, fired)),
        _ => None,
    });
    let lines = fires.map(|(at, fired)| {
        let mut line = short(fired.planned_at);
        if at != fired.planned_at {
            line = format!("{line} -> {}", short(at));
        }
        if fired.message_id.is_none() {
            line.push_str(" no tick");
        }
        line
    });
    lines.collect()
}
