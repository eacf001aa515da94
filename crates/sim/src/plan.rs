//! The plan of a run: how long, how many agents, and which classes of trouble. It follows from a seed, and shrinking
//! makes it smaller.

use crate::rng::Rng;
use std::fmt::{Display, Formatter};

/// A class of trouble that can be left out, to see whether a failure needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The process dies, before or after a commit, also in the middle of recovery.
    Crash,
    /// The process ends in order and starts again.
    Restart,
    /// Outcomes come late, twice, or for effects nobody waits for.
    Stale,
    /// A time comes to be handed over after something else happened.
    LateDue,
    /// A decision panics and its savepoint is rolled back.
    Panic,
    /// A commit holds and nobody can tell.
    Unknown,
    /// The wall clock jumps, both ways.
    ClockJump,
    /// The provider fails.
    Provider,
    /// Answers are cut off by the output limit, empty or refused.
    CutOff,
    /// Commands fail.
    Tool,
    /// Homes cannot be made or removed.
    Home,
    /// Operators stop and start agents.
    StopStart,
    /// Agents are removed.
    Delete,
    /// Old events are removed.
    Retention,
    /// Agents keep themselves busy.
    Restless,
    /// Commands outlast the calls that started them, and agents look after them.
    Long,
    /// Shims die without a word, one at a time or with the machine.
    Lost,
    /// Agents message one another.
    Messages,
    /// The decision of an agent that is sent something fails, or the store does while it is made.
    Receiver,
    /// A row of an agent cannot be read until somebody mends it.
    Damage,
    /// No model answers for hours.
    Outage,
    /// Many prompts come at once.
    Burst,
}

impl Fault {
    /// Every class.
    pub const ALL: [Self; 22] = [
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
        }
    }
}

/// What one run does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Decides everything below and every choice of the run.
    pub seed: u64,
    /// Things that happen before trouble stops and everything has to settle.
    pub steps: u64,
    /// Named agents.
    pub agents: u64,
    /// Classes of trouble, in the order of [`Fault::ALL`].
    pub faults: Vec<Fault>,
}

impl Plan {
    /// The plan of a seed.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0x706c_616e);
        // Few classes at a time reach deeper into each; all at once drown one another.
        let share = 25 + rng.below(70);
        let faults: Vec<Fault> = Fault::ALL
            .into_iter()
            .filter(|_| rng.percent(share))
            .collect();
        let (mut steps, mut agents) = (20 + rng.below(120), 1 + rng.below(3));
        // A message to another agent needs one.
        if faults.contains(&Fault::Messages) {
            agents = agents.max(2);
        }
        // An agent that is damaged leaves others that have to go on.
        if faults.contains(&Fault::Damage) {
            agents = agents.max(2);
        }
        // A task has to be begun before anything can happen to it.
        if faults.contains(&Fault::Long) && rng.percent(50) {
            (steps, agents) = (steps + 100, 1);
        }
        // Some things need a longer life: a log worth trimming, a chain of turns nobody else caused.
        let longer = faults.contains(&Fault::Retention) || faults.contains(&Fault::Restless);
        if longer && rng.percent(8) {
            (steps, agents) = (600, 1);
        }
        Self {
            seed,
            steps,
            agents,
            faults,
        }
    }

    /// Whether a class of trouble is part of it.
    #[must_use]
    pub fn has(&self, fault: Fault) -> bool {
        self.faults.contains(&fault)
    }

    /// Reads a plan as [`Display`] writes it; what stands behind `#` is a remark.
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
