//! The process ends, in order or not, and another takes over what was committed.

use crate::plan::Fault;
use crate::rng::Rng;
use crate::violation::{Verdict, stored, violation};
use crate::world::{Flight, World, describe, refused_by_store};
use holon_core::Input;
use holon_domain::AgentId;
use holon_domain::agent::Lifecycle;
use holon_engine::kernel::Handled;
use holon_store::Db;

impl World {
    /// Ends the process without a word and starts another on what was committed.
    pub(crate) fn die(&mut self) -> Verdict<()> {
        self.crashes += 1;
        self.model.coverage.count("crash");
        self.start_over()?;
        self.boot(false)
    }

    /// Takes the committed image into a new process; everything in memory is gone.
    pub(crate) fn start_over(&mut self) -> Verdict<()> {
        let image = stored(self.db.image())?;
        self.db = stored(Db::from_image(&image))?;
        self.flights.clear();
        self.due.clear();
        self.unfinished.clear();
        self.going.clear();
        self.doubtful.clear();
        self.draining = false;
        Ok(())
    }

    /// What a host does before it admits anything. Dying in here begins it again.
    pub(crate) fn boot(&mut self, clean_exit: bool) -> Verdict<()> {
        let mut clean_exit = clean_exit;
        'boot: loop {
            let left = self.db.write(|tx| tx.agents_to_recover());
            let agents = left.map_err(|error| refused_by_store(&error))?;
            for id in agents {
                if self.trouble(Fault::Crash, 5) {
                    self.crashes += 1;
                    self.model.coverage.count("crash_in_recovery");
                    self.trace
                        .note(|| "the process dies in recovery".to_owned());
                    self.start_over()?;
                    clean_exit = false;
                    continue 'boot;
                }
                self.recover(
                    &id,
                    &Input::Recover {
                        clean_exit,
                        proven: None,
                    },
                )?;
            }
            return Ok(());
        }
    }

    /// Settles what is open of an agent: after a boot, or because a commit was in doubt.
    fn recover(&mut self, id: &AgentId, input: &Input) -> Verdict<()> {
        self.trace
            .note(|| format!("{id} {}", crate::act::name_of(input)));
        let mut handled = self.decide_recovery(id, input)?;
        // A commit that holds and was not known to: the same recovery is sent again.
        if self.trouble(Fault::Unknown, 10) {
            self.model.coverage.count("recovered_twice");
            handled = self.decide_recovery(id, input)?;
        }
        self.trace.note(|| describe(&handled.reply, &handled.work));
        self.dispatch(handled.work)?;
        self.check_flights(id)
    }

    fn decide_recovery(&mut self, id: &AgentId, input: &Input) -> Verdict<Handled> {
        let clean = match input {
            Input::Recover { clean_exit, .. } => *clean_exit,
            _ => true,
        };
        let expected = self.model.before_recovery(id, clean);
        let (seed, now, kernel) = (self.entropy.bits(), self.now, self.kernel.clone());
        let written = self.db.write(|tx| {
            let mut entropy = Rng::new(seed);
            kernel.handle(tx, id, input.clone(), now, &mut entropy)
        });
        let handled = written
            .map_err(|error| refused_by_store(&error))?
            .or_else(|refusal| violation("recovery is never refused", format!("{refusal:?}")))?;
        self.observe(id)?;
        self.model.after_recovery(id, expected)?;
        Ok(handled)
    }

    /// As the shell does after a commit it could not be sure of: what is open and in nobody's hands is recovered, and
    /// what is in hand for nothing ends by itself.
    pub(crate) fn clear_up(&mut self, id: &AgentId) -> Verdict<()> {
        self.doubtful.remove(id);
        let reader = self.db.reader();
        let Some((no, agent)) = stored(reader.agent(id))? else {
            return Ok(());
        };
        let open = stored(reader.outstanding(no))?.effects;
        let gone_home =
            open.is_empty() && agent.lifecycle == Lifecycle::Deleting && !self.going.contains(id);
        let mine = |flight: &Flight| flight.record.agent_id == *id;
        let stale = |flight: &Flight| mine(flight) && !open.contains(&flight.record.id);
        while let Some(at) = self.flights.iter().position(stale) {
            let flight = self.flights.remove(at);
            self.finish_too_late(flight)?;
        }
        let held = open.iter().all(|effect| {
            let held = |flight: &Flight| mine(flight) && flight.record.id == *effect;
            self.flights.iter().any(held)
        });
        if held && !gone_home {
            return Ok(());
        }
        self.recover(id, &Input::TakeUp)
    }
}
