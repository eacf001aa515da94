//! Performing effects step by step, so that anything can happen between asking and answering, running and reporting.

use crate::act::name_of;
use crate::errand::Errand;
use crate::flight::{Flight, Stage, Step};
use crate::follow::Stop;
use crate::keys::home_of;
use crate::plan::Fault;
use crate::provider;
use crate::request::{Asked, Mood};
use crate::violation::{Verdict, ensure, stored};
use crate::world::World;
use holon_core::input::{ContextSize, RoundTiming};
use holon_core::{Input, Reply, RoundAnswer, Stamp};
use holon_domain::effect::{Effect, EffectRecord};
use holon_domain::intent::HostAction;
use holon_domain::limits;
use holon_domain::log::{FrameRecord, InterjectionBoundary};
use holon_domain::model::{ModelReply, ReplyBlock};
use holon_domain::queue::QueueEntry;
use holon_engine::ports::CommandKey;

impl World {
    /// Takes an effect one step further. It has been taken out of the hands of the process; what goes on is put back.
    pub(crate) fn perform(&mut self, flight: Flight) -> Verdict<()> {
        let record = flight.record.clone();
        let input = match self.further(flight)? {
            Step::GoesOn(flight) => {
                self.flights.push(flight);
                return Ok(());
            }
            Step::Outcome(input) => input,
            Step::Nothing => return Ok(()),
        };
        let id = &record.agent_id;
        self.trace
            .note(|| format!("{id} {}#{}", name_of(&input), record.id));
        if self.trouble(Fault::Stale, 15) {
            self.late.push((id.clone(), input.clone()));
        }
        let goes_on = matches!(
            input,
            Input::ToolFinished {
                goes_on: Some(_),
                ..
            }
        );
        let taken = self.bring_home(id, input)?;
        if taken == Some(Reply::Done) && !goes_on {
            self.forget(&record)?;
        }
        Ok(())
    }

    /// The result of a call is on record: its commands need not be found again.
    fn forget(&mut self, record: &EffectRecord) -> Verdict<()> {
        let Effect::RunTool { call, action, .. } = &record.effect else {
            return Ok(());
        };
        let key = CommandKey::of_call(&home_of(&record.agent_id), &call.id);
        match action {
            HostAction::ExecCommand(_) => self.bench.commands.forget(&key),
            HostAction::ExecCommandBatch(batch) => (1..=batch.items.len())
                .try_for_each(|number| self.bench.commands.forget(&key.item(number))),
            HostAction::ApplyPatch(_) | HostAction::TaskInput(_) | HostAction::TaskOutput(_) => {
                Ok(())
            }
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
        // Asking reads the store as it is now, which the cancelled request did not; what it says is dropped anyway.
        if matches!(flight.record.effect, Effect::CallModel { .. }) {
            flight.stage = Stage::Asked(Vec::new());
        }
        for _ in 0..3 {
            let id = flight.record.agent_id.clone();
            match self.further(flight)? {
                Step::Outcome(input) => {
                    self.late.push((id, input));
                    return Ok(());
                }
                Step::GoesOn(further) => flight = further,
                Step::Nothing => return Ok(()),
            }
        }
        Ok(())
    }

    /// One step.
    fn further(&mut self, flight: Flight) -> Verdict<Step> {
        let Flight { record, stage } = flight;
        let stamp = Stamp {
            effect: record.id,
            generation: record.generation,
        };
        let done = match stage {
            Stage::Done(input) => return Ok(Step::Outcome(*input)),
            Stage::Waits(done) => Some(done),
            Stage::Asked(queued) => {
                return Ok(Step::Outcome(self.answer(&record, stamp, queued)));
            }
            Stage::AskedToEnd => return self.stop_by_force(&record),
            Stage::Begun => None,
        };
        match &record.effect {
            Effect::PrepareHome => Ok(Step::Outcome(Input::HomePrepared {
                stamp,
                result: self.home_result(),
            })),
            Effect::RemoveHome => self.remove_home(&record, stamp),
            Effect::CallModel { turn_index, .. } => {
                let queued = self.ask(&record, *turn_index)?;
                Ok(queued.map_or(Step::Nothing, |queued| {
                    Step::on(&record, Stage::Asked(queued))
                }))
            }
            Effect::RunTool {
                call,
                action,
                workspace,
                ..
            } => {
                if stored(self.db.reader().agent(&record.agent_id))?.is_none() {
                    return Ok(Step::Nothing);
                }
                let errand = Errand {
                    call,
                    workspace,
                    key: CommandKey::of_call(&home_of(&record.agent_id), &call.id),
                };
                self.run_call(&record, (&errand, action), done)
            }
            Effect::WatchTask { task_id } => self.watch(&record, task_id),
            Effect::StopTask {
                task_id,
                force: false,
            } => self.stop(&record, task_id, Stop::Asked),
            Effect::StopTask {
                task_id,
                force: true,
            } => self.stop(&record, task_id, Stop::Forced),
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
        Ok(Step::Outcome(Input::HomeRemoved { stamp, result }))
    }

    fn home_result(&mut self) -> Result<(), String> {
        if self.trouble(Fault::Home, 25) {
            Err("the disk said no".to_owned())
        } else {
            Ok(())
        }
    }

    /// What the request holds beside the log; none when the turn is over.
    fn ask(&mut self, record: &EffectRecord, turn_index: u64) -> Verdict<Option<Vec<QueueEntry>>> {
        let reader = self.db.reader();
        let Some((no, agent)) = stored(reader.agent(&record.agent_id))? else {
            return Ok(None);
        };
        let most = limits::INTERJECTIONS_PER_ROUND;
        let queued = stored(reader.joining(no, &agent.held, most))?;
        let open = agent.open_turn.filter(|turn| turn.turn_index == turn_index);
        if open.is_none() {
            return Ok(None);
        }
        let outstanding = stored(reader.outstanding(no))?;
        let waiting = outstanding.interjections.len() + outstanding.held.len();
        ensure(
            queued.len() == waiting.min(most),
            "whatever may enter a turn is shown to its model",
            || format!("{} of {waiting}", queued.len()),
        )?;
        Ok(Some(queued))
    }

    fn answer(&mut self, record: &EffectRecord, stamp: Stamp, queued: Vec<QueueEntry>) -> Input {
        let timing = RoundTiming {
            context_build_ms: self.dice.below(10),
            started_at: self.now,
            completed_at: self.now,
            provider_ms: self.dice.below(30_000),
        };
        let known = self.model.agent(&record.agent_id);
        let open = known.and_then(|known| known.record.open_turn.as_ref());
        let cut_off = open.map_or(0, |turn| turn.output_limit_hits);
        let active = known.map_or(0, |known| known.tasks.active().count());
        let tasks = self.model.tasks_to_name(&record.agent_id);
        let asked = Asked {
            plan: &self.plan,
            mood: self.mood,
            cut_off,
            tasks: &tasks,
            active,
        };
        match provider::answer(asked, &mut self.dice) {
            Err(failure) => Input::RoundFailed {
                stamp,
                failure,
                timing,
            },
            Ok(reply) => {
                let answer = self.round(record, reply, queued, timing);
                Input::RoundAnswered {
                    stamp,
                    answer: Box::new(answer),
                }
            }
        }
    }

    fn round(
        &self,
        record: &EffectRecord,
        reply: ModelReply,
        interjected: Vec<QueueEntry>,
        timing: RoundTiming,
    ) -> RoundAnswer {
        let known = self
            .model
            .agent(&record.agent_id)
            .map(|known| &known.record);
        let preset = known.map_or(holon_domain::agent::ProfilePreset::PublicNamed, |agent| {
            agent.identity.profile_preset
        });
        let rounds = known.and_then(|agent| agent.open_turn.as_ref());
        let boundary = match rounds.map_or(0, |turn| turn.rounds) {
            0 => InterjectionBoundary::BeforeProviderRequest,
            _ if interjected.len().is_multiple_of(2) => InterjectionBoundary::AfterProviderRound,
            _ => InterjectionBoundary::AfterToolResults,
        };
        let intents = reply.blocks.iter().filter_map(|block| match block {
            ReplyBlock::Call(call) => Some(holon_tools::interpret(&call.name, &call.input, preset)),
            ReplyBlock::Text { .. } | ReplyBlock::Reasoning { .. } => None,
        });
        RoundAnswer {
            learned: None,
            intents: intents.collect(),
            interjected,
            boundary,
            frame: frame(),
            kept: vec![("stable".to_owned(), "policy".to_owned())],
            context: ContextSize::default(),
            timing,
            reply,
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
            } else if stored(self.db.reader().next_due())?.is_some() {
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
    fn next_to_perform(&self) -> Verdict<Option<usize>> {
        for (at, flight) in self.flights.iter().enumerate() {
            if !self.is_idle(flight)? {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }
}

fn frame() -> FrameRecord {
    FrameRecord {
        prompt_cache_key: "key".to_owned(),
        context_fingerprint: "print".to_owned(),
        stable: "stable".to_owned(),
        agent_scoped: "stable".to_owned(),
    }
}
