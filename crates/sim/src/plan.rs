//! The plan of a run: its length, its agents and its classes of faults. It follows from a seed, and shrinking reduces
//! it.

use crate::rng::Rng;
use std::fmt::{Display, Formatter};

/// A class of faults that can be left out, to see whether a failure needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The process dies, before or after a commit, also in the middle of recovery.
    Crash,
    /// The process ends in order and starts again.
    Restart,
    /// Outcomes come late, twice, or for effects that no state waits for.
    Stale,
    /// A due entry is handed over after other events happened.
    LateDue,
    /// A decision panics, and its savepoint is rolled back.
    Panic,
    /// A commit holds, but the process cannot confirm it.
    Unknown,
    /// The wall clock jumps forward or backward.
    ClockJump,
    /// Requests to the provider fail.
    Provider,
    /// Answers are cut off by the output limit, empty or refused.
    CutOff,
    Tool,
    /// Homes cannot be created or removed.
    Home,
    /// Operators stop and start agents.
    StopStart,
    Delete,
    /// Old events are removed.
    Retention,
    /// Agents cause many turns of their own.
    Restless,
    /// Commands outlast their calls, and agents supervise them as tasks.
    Long,
    /// Shims die without an exit record, one at a time or with the machine.
    Lost,
    /// Agents message one another.
    Messages,
    /// The decision of a receiver fails, or the store fails during it.
    Receiver,
    /// A row of an agent cannot be read until it is repaired.
    Damage,
    /// No model answers for hours.
    Outage,
    /// Many prompts come at once.
    Burst,
    /// Agents and operators keep work items and waits.
    Work,
    /// Agents and operators set timers.
    Timers,
    /// Outside sources and operators send wake hints.
    Hints,
    /// The host is down for hours or days.
    Downtime,
    /// Models answer without doing anything.
    Spin,
    /// Endpoints of deliveries fail and refuse.
    Delivery,
    /// The host, an agent, a tree or a work item has a budget, which operators raise.
    Budget,
    /// Models make children, write to them and stop them.
    Spawn,
    /// One agent has many timers of a second, beside a timer of another.
    Noisy,
}

impl Fault {
    /// Every class of faults.
    pub const ALL: [Self; 31] = [
        Self::Crash,
        Self::Restart,
        Self::Stale,
        Self::LateDue,
        Self::Panic,
        Self::Unknown,
        Self::ClockJump,
        Self::Provider,
        Self::CutOff,
        Self::Tool,
        Self::Home,
        Self::StopStart,
        Self::Delete,
        Self::Retention,
        Self::Restless,
        Self::Long,
        Self::Lost,
        Self::Messages,
        Self::Receiver,
        Self::Damage,
        Self::Outage,
        Self::Burst,
        Self::Work,
        Self::Timers,
        Self::Hints,
        Self::Downtime,
        Self::Spin,
        Self::Delivery,
        Self::Budget,
        Self::Spawn,
        Self::Noisy,
    ];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Crash => "crash",
            Self::Restart => "restart",
            Self::Stale => "stale",
            Self::LateDue => "late-due",
            Self::Panic => "panic",
            Self::Unknown => "unknown",
            Self::ClockJump => "clock-jump",
            Self::Provider => "provider",
            Self::CutOff => "cut-off",
            Self::Tool => "tool",
            Self::Home => "home",
            Self::StopStart => "stop-start",
            Self::Delete => "delete",
            Self::Retention => "retention",
            Self::Restless => "restless",
            Self::Long => "long",
            Self::Lost => "lost",
            Self::Messages => "messages",
            Self::Receiver => "receiver",
            Self::Damage => "damage",
            Self::Outage => "outage",
            Self::Burst => "burst",
            Self::Work => "work",
            Self::Timers => "timers",
            Self::Hints => "hints",
            Self::Downtime => "downtime",
            Self::Spin => "spin",
            Self::Delivery => "delivery",
            Self::Budget => "budget",
            Self::Spawn => "spawn",
            Self::Noisy => "noisy",
        }
    }
}

/// The parameters of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Decides everything below and every choice of the run.
    pub seed: u64,
    /// Number of events before the faults stop and everything has to settle.
    pub steps: u64,
    /// Number of named agents.
    pub agents: u64,
    /// Classes of faults, in the order of [`Fault::ALL`].
    pub faults: Vec<Fault>,
}

impl Plan {
    /// Derives the plan of a seed.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0x706c_616e);
        // Few classes at a time test each of them more deeply than all at once.
        let share = 25 + rng.below(70);
        // Deliveries, budgets, children and noise have a draw of their own, so that earlier seeds keep their plans.
        let deliveries = Rng::new(seed ^ 0x0064_6c76).percent(share);
        let budgets = Rng::new(seed ^ 0x0062_6467).percent(share / 3);
        let spawns = Rng::new(seed ^ 0x7370_776e).percent(share / 3);
        let noise = Rng::new(seed ^ 0x6e6f_6973).percent(share / 4);
        let faults: Vec<Fault> = Fault::ALL
            .into_iter()
            .filter(|fault| match fault {
                Fault::Delivery => deliveries,
                Fault::Budget => budgets,
                Fault::Spawn => spawns,
                Fault::Noisy => noise,
                _ => rng.percent(share),
            })
            .collect();
        let (mut steps, mut agents) = (20 + rng.below(120), 1 + rng.below(3));
        // Messages need a second agent.
        if faults.contains(&Fault::Messages) {
            agents = agents.max(2);
        }
        // So does noise, which must not delay it.
        if faults.contains(&Fault::Noisy) {
            agents = agents.max(2);
        }
        // A damaged agent must leave others that continue.
        if faults.contains(&Fault::Damage) {
            agents = agents.max(2);
        }
        let fewest = if faults.contains(&Fault::Noisy) { 2 } else { 1 };
        // Other classes need a running task first.
        if faults.contains(&Fault::Long) && rng.percent(50) {
            (steps, agents) = (steps + 100, agents.min(fewest));
        }
        // Some classes need a longer run: a log worth trimming, or a long chain of self-caused turns.
        let longer = faults.contains(&Fault::Retention) || faults.contains(&Fault::Restless);
        if longer && rng.percent(8) {
            (steps, agents) = (600, fewest);
        }
        Self {
            seed,
            steps,
            agents,
            faults,
        }
    }

    /// Returns true if the plan contains a class of faults.
    #[must_use]
    pub fn has(&self, fault: Fault) -> bool {
        self.faults.contains(&fault)
    }

    /// Parses a plan as [`Display`] writes it. Text after `#` is a comment.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let mut number = |key: &str| words.next()?.strip_prefix(key)?.parse::<u64>().ok();
        let (seed, steps, agents) = (number("seed=")?, number("steps=")?, number("agents=")?);
        let names = words.next()?.strip_prefix("faults=")?;
        let faults = Fault::ALL
            .into_iter()
            .filter(|fault| names.split(',').any(|name| name == fault.as_str()))
            .collect();
        Some(Self {
            seed,
            steps,
            agents,
            faults,
        })
    }
}

impl Display for Plan {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.faults.iter().map(|fault| fault.as_str()).collect();
        write!(
            f,
            "seed={} steps={} agents={} faults={}",
            self.seed,
            self.steps,
            self.agents,
            names.join(",")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_reads_back_as_it_is_written() {
        for seed in 0..50 {
            let plan = Plan::of(seed);
            assert_eq!(Plan::parse(&format!("{plan} # why")), Some(plan));
        }
        assert_eq!(Plan::parse("# only a remark"), None);
    }
}
