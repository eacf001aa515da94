//! Performs effects step by step, so that other events can happen between the steps.

use crate::act::name_of;
use crate::flight::{Flight, FlightStep, Stage};
use crate::follow::StopStrength;
use crate::keys::home_of;
use crate::plan::Fault;
use crate::request::Mood;
use crate::store::now;
use crate::violation::{Verdict, ensure};
use crate::world::World;
use holon_core::{Input, Reply, Stamp};
use holon_domain::delegation::WorktreeEnd;
use holon_domain::effect::{Effect, EffectRecord};
use holon_engine::tool_outcome::CallCleanup;
use holon_store::Store;

impl World {
    /// Takes an effect one step further. The caller has removed it from the flights; a continuing one is put back.
    pub(crate) fn perform(&mut self, mut flight: Flight) -> Verdict<()> {
        let (input, forget) = match self.perform_step(&mut flight)? {
            FlightStep::GoesOn(stage) => {
                self.flights.push(Flight { stage, ..flight });
                return Ok(());
            }
            FlightStep::Outcome(input, forget) => (input, forget),
            FlightStep::Nothing => return Ok(()),
        };
        let Flight { record, .. } = flight;
        let id = &record.agent_id;
        self.trace
            .note(|| format!("{id} {}#{}", name_of(&input), record.id));
        if self.trouble(Fault::Stale, 15) {
            self.late.push((id.clone(), input.clone()));
        }
        match self.submit_until_committed(id, input)? {
            Some(Reply::Done) => self.forget(forget),
            Some(
                Reply::Admitted { .. }
                | Reply::Unchanged
                | Reply::RowsMayGo
                | Reply::Woken { .. }
                | Reply::Delivered(_)
                | Reply::Trigger(_)
                | Reply::Binding(_)
                | Reply::WorkItem(_)
                | Reply::Wait(_)
                | Reply::Timer(_)
                | Reply::Aborted { .. }
                | Reply::Task(_)
                | Reply::TaskStop { .. }
                | Reply::TaskInput { .. },
            )
            | None => Ok(()),
        }
    }

    /// Removes what was kept to find or prove an outcome, once that is committed.
    fn forget(&mut self, forget: CallCleanup) -> Verdict<()> {
        match forget {
            // The simulation keeps no journals: the outcome of a patch whose process died is unknown.
            CallCleanup::Nothing | CallCleanup::Patch => Ok(()),
            CallCleanup::Commands(ended) => ended
                .iter()
                .try_for_each(|ended| self.tool_world.commands.forget(ended)),
        }
    }

    /// Performs an effect until its outcome is delivered.
    pub(crate) fn perform_to_end(&mut self, flight: Flight) -> Verdict<()> {
        let crashes = self.crashes;
        let mut flight = Some(flight);
        while let Some(next) = flight.take() {
            let key = (next.record.agent_id.clone(), next.record.id);
            self.perform(next)?;
            let held = |held: &Flight| held.record.agent_id == key.0 && held.record.id == key.1;
            if let Some(at) = self.flights.iter().position(held)
                && self.crashes == crashes
            {
                flight = Some(self.flights.remove(at));
            }
        }
        Ok(())
    }

    /// Performs a cancelled effect a little further, so that its outcome is stale.
    pub(crate) fn finish_too_late(&mut self, flight: Flight) -> Verdict<()> {
        let mut flight = flight;
        for _ in 0..3 {
            let id = flight.record.agent_id.clone();
            match self.perform_step(&mut flight)? {
                FlightStep::Outcome(input, _) => {
                    self.late.push((id, input));
                    return Ok(());
                }
                FlightStep::GoesOn(stage) => flight.stage = stage,
                FlightStep::Nothing => return Ok(()),
            }
        }
        Ok(())
    }

    /// Performs one step of an effect.
    fn perform_step(&mut self, flight: &mut Flight) -> Verdict<FlightStep> {
        let stage = std::mem::replace(&mut flight.stage, Stage::Begun);
        let Flight { record, run, .. } = &*flight;
        let stamp = Stamp::of(record);
        let done = match stage {
            Stage::Done(input, forget) => return Ok(FlightStep::Outcome(*input, forget)),
            Stage::Waits(done) => Some(done),
            Stage::Asked(request) => {
                return Ok(FlightStep::outcome(self.answer(record, *request)));
            }
            Stage::AskedToEnd => return self.stop_by_force(record),
            Stage::Begun => None,
        };
        match &record.effect {
            Effect::PrepareHome => Ok(FlightStep::outcome(Input::HomePrepared {
                stamp,
                result: self.home_result(),
            })),
            Effect::RemoveHome => self.remove_home(record, stamp),
            Effect::CallModel { turn_index, .. } => {
                let Some(request) = self.ask(record, *turn_index)? else {
                    return Ok(FlightStep::Nothing);
                };
                if let Some(estimate) = request.over_budget() {
                    self.model.coverage.count("budget:measured");
                    return Ok(FlightStep::outcome(Input::CallMeasured { stamp, estimate }));
                }
                Ok(FlightStep::GoesOn(Stage::Asked(Box::new(request))))
            }
            Effect::RunTool { .. } => {
                let read = now(self.store.agent(&record.agent_id))?;
                let exists = self
                    .check_readable(&record.agent_id, read)?
                    .flatten()
                    .is_some();
                match run {
                    Some(run) if exists => self.run_call(record, run, done),
                    Some(_) | None => Ok(FlightStep::Nothing),
                }
            }
            Effect::FinishPatch { .. } => {
                self.model.coverage.count("patch:finished");
                Ok(FlightStep::outcome(Input::PatchFinished { stamp }))
            }
            Effect::StopBatch { call_id, items, .. } => {
                Ok(self.stop_batch(record, call_id, *items))
            }
            Effect::CleanWorktree { .. } => {
                self.model.coverage.count("worktree:cleaned");
                Ok(FlightStep::outcome(Input::WorktreeCleaned {
                    stamp,
                    end: WorktreeEnd::Removed,
                }))
            }
            Effect::SubmitDelivery { route, seq } => self.submit_delivery(record, route, *seq),
            Effect::Deliver { sends } => Ok(FlightStep::outcome(Input::Deliver {
                stamp,
                sends: sends.clone(),
            })),
            Effect::StartTask { task_id } => self.start_queued(record, task_id),
            Effect::WatchTask { task_id } => self.watch(record, task_id),
            Effect::StopTask {
                task_id,
                force: false,
            } => self.stop(record, task_id, StopStrength::Asked),
            Effect::StopTask {
                task_id,
                force: true,
            } => self.stop(record, task_id, StopStrength::Forced),
        }
    }

    /// Kills a command whose grace period has ended.
    fn stop_by_force(&mut self, record: &EffectRecord) -> Verdict<FlightStep> {
        match &record.effect {
            Effect::StopTask { task_id, .. } => self.stop(record, task_id, StopStrength::Forced),
            Effect::PrepareHome
            | Effect::CallModel { .. }
            | Effect::RunTool { .. }
            | Effect::StartTask { .. }
            | Effect::WatchTask { .. }
            | Effect::FinishPatch { .. }
            | Effect::StopBatch { .. }
            | Effect::CleanWorktree { .. }
            | Effect::SubmitDelivery { .. }
            | Effect::Deliver { .. }
            | Effect::RemoveHome => Ok(FlightStep::Nothing),
        }
    }

    fn remove_home(&mut self, record: &EffectRecord, stamp: Stamp) -> Verdict<FlightStep> {
        let result = self.home_result();
        if result.is_ok() {
            self.tool_world
                .commands
                .remove_home(&home_of(&record.agent_id))?;
        }
        Ok(FlightStep::outcome(Input::HomeRemoved { stamp, result }))
    }

    fn home_result(&mut self) -> Result<(), String> {
        if self.trouble(Fault::Home, 25) {
            Err("the disk said no".to_owned())
        } else {
            Ok(())
        }
    }

    /// Performs all effects and due entries without faults, until nothing is left.
    pub(crate) fn run_until_idle(&mut self, bound: u64) -> Verdict<()> {
        self.mood = Mood::Calm;
        self.plan.faults.clear();
        for _ in 0..bound {
            self.steps += 1;
            if let Some(at) = self.next_to_perform()? {
                let flight = self.flights.remove(at);
                self.perform(flight)?;
            } else if !self.unfinished.is_empty() {
                self.send_continue()?;
            } else if !self.going.is_empty() {
                self.remove_rows()?;
            } else if self.retire_timer()? {
                self.model.coverage.count("timer:retired");
            } else if self.next_due()?.is_some() {
                self.hand_over_due()?;
            } else {
                return Ok(());
            }
        }
        ensure(
            false,
            "everything settles in a bounded number of steps",
            || format!("{bound} steps were not enough"),
        )
    }
}

impl World {
    /// Performs what can be performed while no time passes.
    pub(crate) fn perform_all(&mut self, bound: u64) -> Verdict<()> {
        for _ in 0..bound {
            let Some(at) = self.next_to_perform()? else {
                break;
            };
            let flight = self.flights.remove(at);
            self.perform(flight)?;
        }
        Ok(())
    }

    /// Returns the index of the first effect that will have an outcome.
    fn next_to_perform(&mut self) -> Verdict<Option<usize>> {
        for at in 0..self.flights.len() {
            let Some(flight) = self.flights.get(at).cloned() else {
                break;
            };
            if !self.is_idle(&flight)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }
}
