//! All choices made by a seed: the jobs, the agents that get them, the pauses, and the times and targets of kills.
//!
//! Each choice has its own random generator, made from the seed, the kind of choice and its number. So job number 17
//! is the same in every run of a seed, in any interleaving of threads.

use crate::job::{Cleaning, Job, TaskAction};
use holon_sim::rng::Rng;
use std::time::Duration;

/// Longest time after its start at which a starting host is killed, in milliseconds.
const STARTING_MS: u64 = 80;
/// Longest time after its first answer in which a host is assumed to be recovering, in milliseconds.
const RECOVERING_MS: u64 = 100;
/// Longest time a host serves before it or a shim is killed, in milliseconds.
const SERVING_MS: u64 = 1_500;

/// Longest time between SIGTERM and the kill of a host, in milliseconds.
const GOING_DOWN_MS: u64 = 100;

/// Longest time between the stop of all agents and the kill of the host, in milliseconds.
const AFTER_STOPS_MS: u64 = 30;

/// The kind of a choice, which selects its random generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChoiceKind {
    Kill = 1,
    Job = 2,
    Client = 3,
    Model = 4,
    Shim = 5,
    Failure = 6,
}

/// Time of a kill, counted from the start of the host or from its first answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// After the process was started, usually before it serves.
    Starting(Duration),
    /// Right after it serves, while it recovers what the last host left.
    Recovering(Duration),
    Serving(Duration),
}

/// The target of a kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Victim {
    Host,
    /// The shim of one command.
    Shim,
    /// The host, and the shim of one command before the next host starts.
    HostThenShim,
    /// The host, this long after it got SIGTERM.
    HostGoingDown(Duration),
    /// The host, this long after every agent was told to stop.
    HostAfterStops(Duration),
}

/// A kill of the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kill {
    pub(crate) moment: Moment,
    pub(crate) victim: Victim,
}

/// The source of all choices of one seed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    seed: u64,
}

impl Plan {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Returns the random generator for one choice.
    pub(crate) const fn rng(self, stream: ChoiceKind, number: u64) -> Rng {
        let mut mixed = Rng::new(self.seed ^ ((stream as u64) << 56));
        Rng::new(mixed.bits() ^ number)
    }

    pub(crate) fn kill(self, number: u64) -> Kill {
        let mut rng = self.rng(ChoiceKind::Kill, number);
        let mut within = |limit| Duration::from_millis(rng.below(limit));
        let (starting, recovering) = (within(STARTING_MS), within(RECOVERING_MS));
        let (serving, going_down) = (within(SERVING_MS), within(GOING_DOWN_MS));
        let after_stops = within(AFTER_STOPS_MS);
        let moment = match rng.below(100) {
            0..25 => Moment::Starting(starting),
            25..45 => Moment::Recovering(recovering),
            _ => Moment::Serving(serving),
        };
        let victim = match (moment, rng.below(100)) {
            (Moment::Starting(_), _) | (_, 0..50) => Victim::Host,
            (_, 50..68) => Victim::Shim,
            (_, 68..80) => Victim::HostThenShim,
            (_, 80..90) => Victim::HostGoingDown(going_down),
            _ => Victim::HostAfterStops(after_stops),
        };
        Kill { moment, victim }
    }

    pub(crate) fn job(self, number: u64) -> Job {
        let mut rng = self.rng(ChoiceKind::Job, number);
        let count = 1 + rng.below(3);
        match rng.below(100) {
            0..8 => Job::Say,
            8..14 => Job::Delegate { children: count },
            14..30 => Job::Commands {
                pauses_ms: (0..count).map(|_| rng.below(250)).collect(),
            },
            30..34 => Job::Clean {
                method: if rng.percent(50) {
                    Cleaning::Remove
                } else {
                    Cleaning::GitClean
                },
                pause_ms: rng.below(250),
            },
            34..44 => Job::Batch {
                pauses_ms: (0..=count).map(|_| rng.below(120)).collect(),
            },
            44..56 => Job::Patch {
                added: 1 + rng.below(40),
            },
            56..60 => Job::Later,
            60..70 => Job::Work,
            70..75 => Job::Wait {
                after_ms: 1 + rng.below(1_500),
            },
            75..81 => Job::Timer {
                ms: 50 + rng.below(1_500),
                repeats: rng.percent(40),
            },
            _ => Job::Task {
                pause_ms: 50 + rng.below(1_200),
                yield_ms: rng.below(80),
                tty: rng.percent(25),
                then: match rng.below(5) {
                    0 => TaskAction::Rest,
                    1 => TaskAction::Read,
                    2 => TaskAction::Stop,
                    3 => TaskAction::Wait,
                    _ => TaskAction::Write,
                },
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_decides_every_choice_and_another_seed_chooses_otherwise() {
        let choices = |seed| {
            let plan = Plan::new(seed);
            let kills: Vec<Kill> = (0..50).map(|number| plan.kill(number)).collect();
            let jobs: Vec<Job> = (0..50).map(|number| plan.job(number)).collect();
            (kills, jobs)
        };
        assert_eq!(choices(7), choices(7));
        assert_ne!(choices(7).0, choices(8).0);
        assert_ne!(choices(7).1, choices(8).1);
    }

    #[test]
    fn a_plan_has_every_kind_of_kill_and_of_job() {
        let plan = Plan::new(1);
        let kills: Vec<Kill> = (0..200).map(|number| plan.kill(number)).collect();
        for victim in [Victim::Host, Victim::Shim, Victim::HostThenShim] {
            assert!(kills.iter().any(|kill| kill.victim == victim), "{victim:?}");
        }
        let going_down = |kill: &Kill| matches!(kill.victim, Victim::HostGoingDown(_));
        assert!(kills.iter().any(going_down));
        let after_stops = |kill: &Kill| matches!(kill.victim, Victim::HostAfterStops(_));
        assert!(kills.iter().any(after_stops));
        let jobs: Vec<Job> = (0..400).map(|number| plan.job(number)).collect();
        let has = |wanted: fn(&Job) -> bool| jobs.iter().any(wanted);
        assert!(has(|job| matches!(job, Job::Say)));
        assert!(has(|job| matches!(job, Job::Commands { .. })));
        assert!(has(|job| matches!(job, Job::Batch { .. })));
        assert!(has(|job| matches!(job, Job::Patch { .. })));
        assert!(has(|job| matches!(job, Job::Later)));
        assert!(has(|job| matches!(job, Job::Delegate { .. })));
        assert!(has(|job| matches!(job, Job::Work)));
        assert!(has(|job| matches!(job, Job::Wait { .. })));
        for repeats in [true, false] {
            let is_so =
                |job: &Job| matches!(job, Job::Timer { repeats: other, .. } if *other == repeats);
            assert!(jobs.iter().any(is_so), "a timer that repeats: {repeats}");
        }
        for method in [Cleaning::Remove, Cleaning::GitClean] {
            let is_so =
                |job: &Job| matches!(job, Job::Clean { method: other, .. } if *other == method);
            assert!(jobs.iter().any(is_so), "{method:?}");
        }
        for then in [
            TaskAction::Rest,
            TaskAction::Read,
            TaskAction::Stop,
            TaskAction::Write,
            TaskAction::Wait,
        ] {
            let is_so = |job: &Job| matches!(job, Job::Task { then: other, .. } if *other == then);
            assert!(jobs.iter().any(is_so), "{then:?}");
        }
    }

    #[test]
    fn a_host_that_is_killed_while_it_starts_has_no_shim_killed_with_it() {
        let plan = Plan::new(3);
        let early = (0..500).map(|number| plan.kill(number));
        let early = early.filter(|kill| matches!(kill.moment, Moment::Starting(_)));
        for kill in early {
            assert_eq!(kill.victim, Victim::Host);
        }
    }
}
