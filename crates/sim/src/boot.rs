//! Ends the simulated process, cleanly or not, and boots another on the committed rows.

use crate::commit::{describe, touched_agents};
use crate::flight::Flight;
use crate::keys::{home_of, key_of};
use crate::plan::Fault;
use crate::post::Delivery;
use crate::rng::Rng;
use crate::store::{now, refused_by_store};
use crate::violation::{Verdict, stored, violation};
use crate::world::{World, kernel_of, stopped_batches};
use holon_core::Input;
use holon_domain::agent::Lifecycle;
use holon_domain::effect::EffectId;
use holon_domain::previous_exit::PreviousExit;
use holon_domain::{AgentId, limits};
use holon_engine::kernel::HandledInput;
use holon_engine::ports::CommandKey;
use holon_store::{Db, Error, Inline, Store, WriteError};
use std::collections::BTreeSet;

impl World {
    /// Kills the process and starts another on the committed rows.
    pub(crate) fn die(&mut self) -> Verdict<()> {
        self.crashes += 1;
        self.model.coverage.count("crash");
        if self.trouble(Fault::Lost, 25) {
            self.trace
                .note(|| "and the machine with everything that runs".to_owned());
            self.model.coverage.count("machine_down");
            self.tool_world.commands.lose_all();
        }
        self.start_over()?;
        self.boot(false)
    }

    /// Ends the process and starts another after hours or days, in which commands and the clock go on.
    pub(crate) fn go_down(&mut self) -> Verdict<()> {
        let hours = if self.dice.percent(30) {
            24 + self.dice.below(9 * 24)
        } else {
            1 + self.dice.below(12)
        };
        self.trace
            .note(|| format!("the host is down for {hours} h"));
        self.model.coverage.count("downtime");
        self.crashes += 1;
        self.start_over()?;
        let minutes = self.dice.below(60);
        self.advance((hours * 60 + minutes) * 60_000);
        self.boot(false)
    }

    /// Starts a new process on the committed image; everything in memory is lost.
    pub(crate) fn start_over(&mut self) -> Verdict<()> {
        let image = stored(self.store.db().image())?;
        self.store = Inline::new(stored(Db::from_image(&image))?);
        self.flights.clear();
        self.due.clear();
        self.unfinished.clear();
        self.going.clear();
        self.doubtful.clear();
        self.draining = false;
        self.before_recovery = false;
        Ok(())
    }

    /// Boots as a host does before it admits anything. A crash during the boot starts it again.
    pub(crate) fn boot(&mut self, clean_exit: bool) -> Verdict<()> {
        self.model.count_restart(&self.tool_world);
        self.model.started_at = self.now;
        self.kernel = kernel_of(&self.plan, self.now)?;
        self.show_budget();
        let crashes = self.crashes;
        self.before_recovery = true;
        self.check_clock_at_boot()?;
        // A crash inside has already booted.
        if self.crashes != crashes {
            return Ok(());
        }
        self.before_recovery = false;
        let mut from = None;
        loop {
            let length = self.page();
            let page = stored(now(self.store.agents_to_recover(from, length))?)?;
            for id in page.agents {
                self.sweep(&id)?;
                if self.is_aside(&id)? {
                    continue;
                }
                if self.trouble(Fault::Crash, 5) {
                    self.crashes += 1;
                    self.model.coverage.count("crash_in_recovery");
                    self.trace
                        .note(|| "the process dies in recovery".to_owned());
                    self.start_over()?;
                    return self.boot(false);
                }
                let found = self.probe_effects(&id)?;
                if self.is_aside(&id)? {
                    continue;
                }
                self.recover(
                    &id,
                    &Input::Recover {
                        exit: PreviousExit::of(clean_exit),
                        proven: None,
                        found,
                    },
                )?;
            }
            from = page.next;
            if from.is_none() {
                return Ok(());
            }
        }
    }

    /// Removes what was begun in an agent's home and has no row, as the shell does before it recovers the agent.
    fn sweep(&mut self, id: &AgentId) -> Verdict<()> {
        let home = home_of(id);
        let call = self.call_in_hand(id)?.map(|run| run.key());
        // The commands of an unreadable agent are unknown, so none of them may be touched.
        if self.is_aside(id)? {
            return Ok(());
        }
        let stopping = stopped_batches(&self.store.db().reader(), id).unwrap_or_default();
        let stopping = stopping.iter().map(|call| CommandKey::of_call(&home, call));
        let tasks = self.model.agent(id).into_iter();
        let tasks = tasks.flat_map(|known| known.tasks.rows().map(|row| key_of(&home, row)));
        let names = |key: CommandKey| {
            let items = (1..=limits::BATCH_COMMANDS).map(|number| key.item(number).name);
            items.chain([key.name.clone()]).collect::<Vec<_>>()
        };
        let known = call.into_iter().chain(stopping).chain(tasks);
        let known: BTreeSet<String> = known.flat_map(names).collect();
        if self.tool_world.commands.sweep(&home, &known)? > 0 {
            self.model.coverage.count("swept");
        }
        Ok(())
    }

    /// Recovers an agent, after a boot or after an unconfirmed commit.
    fn recover(&mut self, id: &AgentId, input: &Input) -> Verdict<()> {
        self.trace
            .note(|| format!("{id} {}", crate::act::name_of(input)));
        let Some(mut handled) = self.decide_recovery(id, input)? else {
            return Ok(());
        };
        // The commit holds but is unconfirmed: the same recovery is sent again.
        if self.trouble(Fault::Unknown, 10) {
            self.model.coverage.count("recovered_twice");
            let Some(again) = self.decide_recovery(id, input)? else {
                return Ok(());
            };
            handled = again;
        }
        self.trace.note(|| describe(&handled.reply, &handled.work));
        self.dispatch(handled.work)?;
        self.drop_stale_flights(id)?;
        self.check_flights(id)
    }

    /// Drops effects that the process still performs although an unconfirmed commit has closed them.
    fn drop_stale_flights(&mut self, id: &AgentId) -> Verdict<()> {
        let open = self.open_effects(id)?;
        let stale =
            |flight: &Flight| flight.record.agent_id == *id && !open.contains(&flight.record.id);
        while let Some(at) = self.flights.iter().position(stale) {
            let flight = self.flights.remove(at);
            self.finish_too_late(flight)?;
        }
        Ok(())
    }

    /// Returns the numbers of an agent's open effects, even if its rows are damaged.
    fn open_effects(&self, id: &AgentId) -> Verdict<Vec<EffectId>> {
        let repaired = self.repaired_copy()?;
        let db = self.store.db();
        let reader = repaired.as_ref().map_or_else(|| db.reader(), Db::reader);
        match stored(reader.agent(id))? {
            Some((no, _)) => Ok(stored(reader.outstanding(no))?.effects),
            None => Ok(Vec::new()),
        }
    }

    /// Decides a recovery. Returns `None` if the agent was put aside.
    fn decide_recovery(&mut self, id: &AgentId, input: &Input) -> Verdict<Option<HandledInput>> {
        let found = match input {
            Input::Recover {
                exit: PreviousExit::Unclean,
                found,
                ..
            } => Some(found.as_slice()),
            _ => None,
        };
        let resumes = self.model.agent(id).map(|known| known.resumes);
        let expected = self.model.before_recovery(id, found);
        let (seed, now, kernel) = (self.entropy.bits(), self.now, self.kernel.clone());
        let (agent_id, recovery) = (id.clone(), input.clone());
        let written = self.commit(move |ledger| {
            let mut entropy = Rng::new(seed);
            kernel.handle(ledger, &agent_id, &recovery, now, &mut entropy)
        })?;
        if let Err(WriteError::Store(error @ (Error::Row { .. } | Error::Aside { .. }))) = &written
        {
            self.model.undo_resumption(id, resumes);
            self.observe_commit(&BTreeSet::new(), Delivery::default())?;
            self.note_unreadable(id, error)?;
            return Ok(None);
        }
        let handled = written
            .map_err(|error| refused_by_store(&error))?
            .or_else(|refusal| violation("recovery is never refused", format!("{refusal:?}")))?;
        self.observe_commit(&touched_agents(id, &handled.work), Delivery::default())?;
        self.model.after_recovery(id, expected)?;
        Ok(Some(handled))
    }

    /// Recovers every agent that an unconfirmed commit made a decision about.
    pub(crate) fn recover_doubtful_agents(&mut self, agents: BTreeSet<AgentId>) -> Verdict<()> {
        for id in agents {
            self.recover_doubtful(&id)?;
        }
        Ok(())
    }

    /// Recovers the open effects that no performer has, as the shell does after an unconfirmed commit.
    pub(crate) fn recover_doubtful(&mut self, id: &AgentId) -> Verdict<()> {
        self.doubtful.remove(id);
        let read = now(self.store.agent(id))?;
        let Some(agent) = self.check_readable(id, read)?.flatten() else {
            return Ok(());
        };
        let open = self.open_effects(id)?;
        let gone_home =
            open.is_empty() && agent.lifecycle == Lifecycle::Deleting && !self.going.contains(id);
        self.drop_stale_flights(id)?;
        let held = open.iter().all(|effect| {
            let held =
                |flight: &Flight| flight.record.agent_id == *id && flight.record.id == *effect;
            self.flights.iter().any(held)
        });
        if held && !gone_home {
            return Ok(());
        }
        self.recover(id, &Input::TakeUp)
    }
}
