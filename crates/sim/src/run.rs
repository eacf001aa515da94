//! Plays one plan: first with faults, then without, until nothing is left to do.

use crate::coverage::Coverage;
use crate::keys::home_of;
use crate::plan::{Fault, Plan};
use crate::trace::{Trace, TraceDetail};
use crate::violation::{Verdict, Violation, ensure};
use crate::world::World;
use holon_core::Input;
use holon_domain::agent::Lifecycle;
use holon_domain::limits;
use std::collections::BTreeSet;

/// Steps in which everything settles: a fixed part, and a part per step with faults, each of which leaves at most one
/// round of a few calls and follow-ups behind.
const SETTLING: (u64, u64) = (500, 60);

/// Steps in which the ticks of missed slots settle, which one agent may have queued.
const MISSED_TICKS: u64 = 4 * limits::TIMER_TICKS_QUEUED as u64;

/// The result of a run in which every rule held.
#[derive(Debug)]
pub struct RunReport {
    pub steps: u64,
    pub crashes: u64,
    /// Hash of everything that happened, equal for two runs of one plan.
    pub hash: u64,
    pub coverage: Coverage,
}

/// The result of a run in which a rule broke.
#[derive(Debug)]
pub struct RunFailure {
    pub violation: Violation,
    pub step: u64,
    /// Trace of the run; empty unless lines were kept.
    pub trace: Vec<String>,
}

/// Plays a plan to its end.
///
/// # Errors
/// A rule of the oracle is violated.
pub fn play(plan: &Plan, keep: TraceDetail) -> Result<RunReport, Box<RunFailure>> {
    let world = World::new(plan.clone(), Trace::new(keep));
    let mut world = match world {
        Ok(world) => world,
        Err(violation) => {
            return Err(Box::new(RunFailure {
                violation,
                step: 0,
                trace: Vec::new(),
            }));
        }
    };
    match world.run_with_faults() {
        Ok(()) => Ok(RunReport {
            steps: world.steps,
            crashes: world.crashes,
            hash: world.trace.hash(),
            coverage: world.model.coverage.clone(),
        }),
        Err(violation) => Err(Box::new(RunFailure {
            violation,
            step: world.steps,
            trace: world.trace.lines().to_vec(),
        })),
    }
}

impl World {
    fn run_with_faults(&mut self) -> Verdict<()> {
        self.begin_budget()?;
        for number in 0..self.plan.agents {
            self.make_named(number)?;
        }
        self.make_noise()?;
        for _ in 0..self.plan.steps {
            self.act()?;
            self.raise_budget()?;
        }
        self.settle_all()
    }

    /// Ends the faults. First running work finishes, then stopped agents are started, and all work must settle. In the
    /// end every agent is removed or stopped, and no command may be left.
    fn settle_all(&mut self) -> Verdict<()> {
        self.trace.note(|| "trouble stops".to_owned());
        let mut bound = SETTLING.0 + SETTLING.1 * self.plan.steps;
        if self.plan.has(Fault::Timers) || self.plan.has(Fault::Noisy) {
            bound += MISSED_TICKS * self.model.names().len() as u64;
        }
        let has_hints = self.plan.has(Fault::Hints);
        self.late.clear();
        self.lift_budget()?;
        self.run_until_idle(bound)?;
        self.check_no_commands()?;
        self.repair_all()?;
        self.run_until_idle(bound)?;
        // A private child has no operator of its own: it goes on when the models are mended.
        for id in self.model.names() {
            if self.model.is_child(&id) && self.is_suspended(&id) {
                self.control(&id, &Input::ModelsChanged)?;
            }
        }
        for id in self.model.public_names() {
            match self.model.agent(&id).map(|known| known.record.lifecycle) {
                // Nothing starts it again, so it is removed.
                Some(Lifecycle::Stopped) if self.is_archived(&id) => {
                    self.model.coverage.count("archived:removed");
                    self.control(&id, &Input::Delete)?;
                }
                Some(Lifecycle::Stopped) => self.control(&id, &Input::Start)?,
                // Its home could not be removed; another delete retries it.
                Some(Lifecycle::Deleting) => self.control(&id, &Input::Delete)?,
                // Only an operator ends this suspension.
                Some(Lifecycle::Runnable) if self.is_suspended(&id) => {
                    self.model.coverage.count("suspension:ended_by_operator");
                    self.control(&id, &Input::Start)?;
                }
                Some(Lifecycle::Booting | Lifecycle::Runnable) | None => {}
            }
        }
        self.run_until_idle(bound)?;
        self.deliver_held(bound)?;
        self.wake_stalled(bound)?;
        if has_hints {
            self.pester(bound)?;
        }
        self.model.at_rest(&self.tool_world)?;
        self.check_bonds()?;
        self.check_released()?;
        for id in self.model.names() {
            self.check_flights(&id)?;
        }
        self.remove_agents(bound)
    }

    /// Sends a prompt to every agent with held messages, so that a turn receives them.
    fn deliver_held(&mut self, bound: u64) -> Verdict<()> {
        for id in self.model.names() {
            let held = |world: &Self| {
                let known = world.model.agent(&id);
                known.map_or(0, |known| known.record.held.len())
            };
            let mut left = held(self);
            while left > 0 {
                self.speak_to(&id)?;
                self.run_until_idle(bound)?;
                let now = held(self);
                ensure(now < left, "a turn is told of what is held", || {
                    format!("{id} holds {now} of {left}")
                })?;
                left = now;
            }
        }
        Ok(())
    }

    /// Sends a prompt to every agent whose work is stalled, so that the work goes on and stalls once more.
    fn wake_stalled(&mut self, bound: u64) -> Verdict<()> {
        for id in self.model.names() {
            let known = self.model.agent(&id).filter(|_| !self.model.is_child(&id));
            if known.is_some_and(|known| known.record.work.items.stalled > 0) {
                self.speak_to(&id)?;
                self.run_until_idle(bound)?;
            }
        }
        Ok(())
    }

    /// Stops or removes every agent.
    fn remove_agents(&mut self, bound: u64) -> Verdict<()> {
        for id in self.model.public_names() {
            let stays = self.dice.percent(50);
            let input = if stays { Input::Stop } else { Input::Delete };
            self.control(&id, &input)?;
        }
        self.run_until_idle(bound)?;
        self.check_no_commands()?;
        self.check_bonds()?;
        for id in self.model.names() {
            self.check_flights(&id)?;
        }
        let left: Vec<&String> = self
            .tool_world
            .commands
            .running()
            .map(|(name, _)| name)
            .collect();
        ensure(left.is_empty(), "no command outlives its agent", || {
            format!("{left:?}")
        })
    }

    /// Checks that every child and its task have come to their ends together.
    fn check_bonds(&self) -> Verdict<()> {
        let mut aside = BTreeSet::new();
        for id in self.model.names() {
            if self.is_aside(&id)? {
                aside.insert(id);
            }
        }
        self.model.check_bonds(|id| aside.contains(id))
    }

    /// Checks that a stopped agent has no running command once everything has settled.
    fn check_no_commands(&self) -> Verdict<()> {
        for id in self.model.names() {
            let lifecycle = self.model.agent(&id).map(|known| known.record.lifecycle);
            let still = match lifecycle {
                Some(Lifecycle::Stopped | Lifecycle::Deleting) | None => true,
                Some(Lifecycle::Booting | Lifecycle::Runnable) => false,
            };
            let runs = self.tool_world.commands.running_in(&home_of(&id)).count();
            ensure(
                !still || self.is_aside(&id)? || runs == 0,
                "an agent that may not run has no command that runs",
                || format!("{runs} of {id}, which is {lifecycle:?}"),
            )?;
        }
        Ok(())
    }
}
