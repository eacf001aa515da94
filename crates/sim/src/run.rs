//! One run of one plan: trouble first, then calm, then nothing may be left to do.

use crate::coverage::Coverage;
use crate::keys::home_of;
use crate::plan::Plan;
use crate::trace::{Keep, Trace};
use crate::violation::{Verdict, Violation, ensure};
use crate::world::World;
use holon_core::Input;
use holon_domain::agent::Lifecycle;

/// Steps in which everything settles: a fixed part and a part for each step of trouble, each of which leaves at most
/// one round of at most a few calls and follow-ups behind.
const SETTLING: (u64, u64) = (500, 60);

/// A run that held.
#[derive(Debug)]
pub struct Played {
    /// Steps it took in all.
    pub steps: u64,
    /// Processes that died.
    pub crashes: u64,
    /// Hash of everything that happened.
    pub hash: u64,
    /// What was reached.
    pub coverage: Coverage,
}

/// A run in which a rule broke.
#[derive(Debug)]
pub struct Broken {
    /// Which.
    pub violation: Violation,
    /// At which step.
    pub step: u64,
    /// What led to it, if it was kept.
    pub trace: Vec<String>,
}

/// Plays a plan.
///
/// # Errors
/// When a rule breaks.
pub fn play(plan: &Plan, keep: Keep) -> Result<Played, Box<Broken>> {
    let world = World::new(plan.clone(), Trace::new(keep));
    let mut world = match world {
        Ok(world) => world,
        Err(violation) => {
            return Err(Box::new(Broken {
                violation,
                step: 0,
                trace: Vec::new(),
            }));
        }
    };
    match world.live() {
        Ok(()) => Ok(Played {
            steps: world.steps,
            crashes: world.crashes,
            hash: world.trace.hash(),
            coverage: world.model.coverage.clone(),
        }),
        Err(violation) => Err(Box::new(Broken {
            violation,
            step: world.steps,
            trace: world.trace.lines().to_vec(),
        })),
    }
}

impl World {
    fn live(&mut self) -> Verdict<()> {
        for number in 0..self.plan.agents {
            self.make_named(number)?;
        }
        for _ in 0..self.plan.steps {
            self.act()?;
        }
        self.come_to_rest()
    }

    /// Trouble stops. First whatever is under way ends, then stopped agents are started, then all must be done; in the
    /// end everybody is sent away, and no command may be left.
    fn come_to_rest(&mut self) -> Verdict<()> {
        self.trace.note(|| "trouble stops".to_owned());
        let bound = SETTLING.0 + SETTLING.1 * self.plan.steps;
        self.late.clear();
        self.settle_down(bound)?;
        self.check_still()?;
        self.mend_all()?;
        self.settle_down(bound)?;
        for id in self.model.names() {
            match self.model.agent(&id).map(|known| known.record.lifecycle) {
                Some(Lifecycle::Stopped) => self.control(&id, &Input::Start)?,
                // Its home could not be removed; who asks again wants another try.
                Some(Lifecycle::Deleting) => self.control(&id, &Input::Delete)?,
                // An operator ends a suspension that nothing else ends.
                Some(Lifecycle::Runnable) if self.is_suspended(&id) => {
                    self.model.coverage.count("suspension:ended_by_operator");
                    self.control(&id, &Input::Start)?;
                }
                Some(Lifecycle::Booting | Lifecycle::Runnable) | None => {}
            }
        }
        self.settle_down(bound)?;
        self.hear_of_held(bound)?;
        self.model.at_rest(&self.bench)?;
        for id in self.model.names() {
            self.check_flights(&id)?;
        }
        self.send_away(bound)
    }

    /// Whatever is held is told once somebody speaks to its agent.
    fn hear_of_held(&mut self, bound: u64) -> Verdict<()> {
        for id in self.model.names() {
            let held = |world: &Self| {
                let known = world.model.agent(&id);
                known.map_or(0, |known| known.record.held.len())
            };
            let mut left = held(self);
            while left > 0 {
                self.speak_to(&id)?;
                self.settle_down(bound)?;
                let now = held(self);
                ensure(now < left, "a turn is told of what is held", || {
                    format!("{id} holds {now} of {left}")
                })?;
                left = now;
            }
        }
        Ok(())
    }

    /// Every agent is stopped or removed.
    fn send_away(&mut self, bound: u64) -> Verdict<()> {
        for id in self.model.names() {
            let stays = self.dice.percent(50);
            let input = if stays { Input::Stop } else { Input::Delete };
            self.control(&id, &input)?;
        }
        self.settle_down(bound)?;
        self.check_still()?;
        for id in self.model.names() {
            self.check_flights(&id)?;
        }
        let left: Vec<&String> = self
            .bench
            .commands
            .running()
            .map(|(name, _)| name)
            .collect();
        ensure(left.is_empty(), "no command outlives its agent", || {
            format!("{left:?}")
        })
    }

    /// Once everything has come to rest, an agent that may not run has no command that runs.
    fn check_still(&self) -> Verdict<()> {
        for id in self.model.names() {
            let lifecycle = self.model.agent(&id).map(|known| known.record.lifecycle);
            let still = match lifecycle {
                Some(Lifecycle::Stopped | Lifecycle::Deleting) | None => true,
                Some(Lifecycle::Booting | Lifecycle::Runnable) => false,
            };
            let runs = self.bench.commands.running_in(&home_of(&id)).count();
            ensure(
                !still || self.is_aside(&id)? || runs == 0,
                "an agent that may not run has no command that runs",
                || format!("{runs} of {id}, which is {lifecycle:?}"),
            )?;
        }
        Ok(())
    }
}
