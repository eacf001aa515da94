//! Performing effects step by step, so that anything can happen between asking and answering, running and reporting.

use crate::act::name_of;
use crate::flight::{Flight, Stage, Step};
use crate::follow::Stop;
use crate::keys::home_of;
use crate::plan::Fault;
use crate::request::Mood;
use crate::store::now;
use crate::violation::{Verdict, ensure};
use crate::world::World;
use holon_core::{Input, Reply, Stamp};
use holon_domain::effect::{Effect, EffectRecord};
use holon_engine::tool_outcome::CallCleanup;
use holon_store::Store;

impl World {
    /// Takes an effect one step further. It has been taken out of the hands of the process; what goes on is put back.
    pub(crate) fn perform(&mut self, mut flight: Flight) -> Verdict<()> {
        let (input, forget) = match self.further(&mut flight)? {
            Step::GoesOn(stage) => {
                self.flights.push(Flight { stage, ..flight });
                return Ok(());
            }
            Step::Outcome(input, forget) => (input, forget),
            Step::Nothing => return Ok(()),
        };
        let Flight { record, .. } = flight;
        let id = &record.agent_id;
        self.trace
            .note(|| format!("{id} {}#{}", name_of(&input), record.id));
        if self.trouble(Fault::Stale, 15) {
            self.late.push((id.clone(), input.clone()));
        }
        match self.bring_home(id, input)? {
            Some(Reply::Done) => self.forget(forget),
            Some(
                Reply::Admitted { .. }
                | Reply::Unchanged
                | Reply::RowsMayGo
                | Reply::Woken { .. }
                | Reply::WorkItem(_)
                | Reply::Wait(_)
                | Reply::Timer(_),
            )
            | None => Ok(()),
        }
    }

    /// The outcome is on record: what was kept to find or prove it may go.
    fn forget(&mut self, forget: CallCleanup) -> Verdict<()> {
        match forget {
            // The world keeps no journals: of a patch whose process died nothing is known.
            CallCleanup::Nothing | CallCleanup::Patch => Ok(()),
            CallCleanup::Commands(ended) => ended
                .iter()
                .try_for_each(|ended| self.bench.commands.forget(ended)),
        }
    }

    /// Runs an effect until its outcome is delivered.
    pub(crate) fn run_to_its_end(&mut self, flight: Flight) -> Verdict<()> {
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

    /// A cancelled effect that could not be stopped at once: it gets a little further, and its outcome comes too late.
    pub(crate) fn finish_too_late(&mut self, flight: Flight) -> Verdict<()> {
        let mut flight = flight;
        for _ in 0..3 {
            let id = flight.record.agent_id.clone();
            match self.further(&mut flight)? {
                Step::Outcome(input, _) => {
                    self.late.push((id, input));
                    return Ok(());
                }
                Step::GoesOn(stage) => flight.stage = stage,
                Step::Nothing => return Ok(()),
            }
        }
        Ok(())
    }

    /// One step.
    fn further(&mut self, flight: &mut Flight) -> Verdict<Step> {
        let stage = std::mem::replace(&mut flight.stage, Stage::Begun);
        let Flight { record, run, .. } = &*flight;
        let stamp = Stamp::of(record);
        let done = match stage {
            Stage::Done(input, forget) => return Ok(Step::Outcome(*input, forget)),
            Stage::Waits(done) => Some(done),
            Stage::Asked(request) => {
                return Ok(Step::outcome(self.answer(record, *request)));
            }
            Stage::AskedToEnd => return self.stop_by_force(record),
            Stage::Begun => None,
        };
        match &record.effect {
            Effect::PrepareHome => Ok(Step::outcome(Input::HomePrepared {
                stamp,
                result: self.home_result(),
            })),
            Effect::RemoveHome => self.remove_home(record, stamp),
            Effect::CallModel { turn_index, .. } => {
                let request = self.ask(record, *turn_index)?;
                Ok(request.map_or(Step::Nothing, |request| {
                    Step::GoesOn(Stage::Asked(Box::new(request)))
                }))
            }
            Effect::RunTool { .. } => {
                let read = now(self.store.agent(&record.agent_id))?;
                let exists = self.noted(&record.agent_id, read)?.flatten().is_some();
                match run {
                    Some(run) if exists => self.run_call(record, run, done),
                    Some(_) | None => Ok(Step::Nothing),
                }
            }
            Effect::FinishPatch { .. } => {
                self.model.coverage.count("patch:finished");
                Ok(Step::outcome(Input::PatchFinished { stamp }))
            }
            Effect::Deliver { sends } => Ok(Step::outcome(Input::Deliver {
                stamp,
                sends: sends.clone(),
            })),
            Effect::WatchTask { task_id } => self.watch(record, task_id),
            Effect::StopTask {
                task_id,
                force: false,
            } => self.stop(record, task_id, Stop::Asked),
            Effect::StopTask {
                task_id,
                force: true,
            } => self.stop(record, task_id, Stop::Forced),
        }
    }

    /// The time of what was asked to end is up.
    fn stop_by_force(&mut self, record: &EffectRecord) -> Verdict<Step> {
        match &record.effect {
            Effect::StopTask { task_id, .. } => self.stop(record, task_id, Stop::Forced),
            Effect::PrepareHome
            | Effect::CallModel { .. }
            | Effect::RunTool { .. }
            | Effect::WatchTask { .. }
            | Effect::FinishPatch { .. }
            | Effect::Deliver { .. }
            | Effect::RemoveHome => Ok(Step::Nothing),
        }
    }

    fn remove_home(&mut self, record: &EffectRecord, stamp: Stamp) -> Verdict<Step> {
        let result = self.home_result();
        if result.is_ok() {
            self.bench
                .commands
                .remove_home(&home_of(&record.agent_id))?;
        }
        Ok(Step::outcome(Input::HomeRemoved { stamp, result }))
    }

    fn home_result(&mut self) -> Result<(), String> {
        if self.trouble(Fault::Home, 25) {
            Err("the disk said no".to_owned())
        } else {
            Ok(())
        }
    }

    /// Everything that is in flight or has come gets done, with nobody making trouble, until nothing is left.
    pub(crate) fn settle_down(&mut self, bound: u64) -> Verdict<()> {
        self.mood = Mood::Calm;
        self.plan.faults.clear();
        for _ in 0..bound {
            self.steps += 1;
            if let Some(at) = self.next_to_perform()? {
                let flight = self.flights.remove(at);
                self.perform(flight)?;
            } else if !self.unfinished.is_empty() {
                self.go_on()?;
            } else if !self.going.is_empty() {
                self.remove_rows()?;
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
    /// The first effect in hand of which something will come.
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
