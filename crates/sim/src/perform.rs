//! Performing effects step by step, so that anything can happen between asking and answering, running and reporting.

use crate::act::name_of;
use crate::plan::Fault;
use crate::provider::{self, Mood};
use crate::violation::{Verdict, ensure, stored};
use crate::world::{Flight, Stage, World};
use holon_core::input::{ContextSize, RoundTiming};
use holon_core::{Input, RoundAnswer, Stamp};
use holon_domain::effect::{Effect, EffectRecord};
use holon_domain::limits;
use holon_domain::log::{FrameRecord, InterjectionBoundary};
use holon_domain::model::{ModelReply, ReplyBlock};
use holon_domain::queue::QueueEntry;

impl Flight {
    pub(crate) const fn runs_tool(&self) -> bool {
        matches!(self.record.effect, Effect::RunTool { .. })
    }

    const fn stamp(&self) -> Stamp {
        Stamp {
            effect: self.record.id,
            generation: self.record.generation,
        }
    }
}

impl World {
    /// Takes an effect one step further. It has been taken out of the hands of the process; what goes on is put back.
    pub(crate) fn perform(&mut self, flight: Flight) -> Verdict<()> {
        let Some(outcome) = self.further(flight)? else {
            return Ok(());
        };
        let (record, input) = outcome;
        let id = record.agent_id;
        self.trace
            .note(|| format!("{id} {}#{}", name_of(&input), record.id));
        if self.trouble(Fault::Stale, 15) {
            self.late.push((id.clone(), input.clone()));
        }
        self.settle(&id, input)
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

    /// A cancelled effect that could not be stopped: it runs to its end, and its outcome comes too late.
    pub(crate) fn finish_too_late(&mut self, flight: Flight) -> Verdict<()> {
        let mut flight = flight;
        // Asking reads the store as it is now, which the cancelled request did not; what it says is dropped anyway.
        if matches!(flight.record.effect, Effect::CallModel { .. }) {
            flight.stage = Stage::Asked(Vec::new());
        }
        for _ in 0..2 {
            let id = flight.record.agent_id.clone();
            match self.further(flight)? {
                Some((_, input)) => {
                    self.late.push((id, input));
                    return Ok(());
                }
                None => match self.flights.pop() {
                    Some(put_back) => flight = put_back,
                    None => return Ok(()),
                },
            }
        }
        Ok(())
    }

    /// One step: either it is put back, further along, or this is its outcome, or nobody needs one.
    fn further(&mut self, flight: Flight) -> Verdict<Option<(EffectRecord, Input)>> {
        let stamp = flight.stamp();
        let Flight { record, stage } = flight;
        let input = match (&record.effect, stage) {
            (Effect::PrepareHome, _) => Input::HomePrepared {
                stamp,
                result: self.home_result(),
            },
            (Effect::RemoveHome, _) => Input::HomeRemoved {
                stamp,
                result: self.home_result(),
            },
            (Effect::CallModel { turn_index, .. }, Stage::Begun) => {
                let Some(queued) = self.ask(&record, *turn_index)? else {
                    return Ok(None);
                };
                self.put_back(record, Stage::Asked(queued));
                return Ok(None);
            }
            (Effect::CallModel { .. }, Stage::Asked(queued)) => self.answer(&record, stamp, queued),
            (Effect::CallModel { .. }, Stage::Executed(_)) => return Ok(None),
            (Effect::RunTool { call, action, .. }, Stage::Begun | Stage::Asked(_)) => {
                let may = self
                    .model
                    .agent(&record.agent_id)
                    .is_none_or(|known| known.talk().may_run(&call.id));
                ensure(may, "a call said not to have started is never run", || {
                    call.id.to_string()
                })?;
                let envelope = self
                    .bench
                    .execute(&self.plan, &call.id, action, &mut self.dice);
                ensure(
                    self.bench.times(&call.id) == 1,
                    "a tool call runs at most once",
                    || call.id.to_string(),
                )?;
                self.put_back(record, Stage::Executed(envelope));
                return Ok(None);
            }
            (Effect::RunTool { .. }, Stage::Executed(envelope)) => Input::ToolFinished {
                stamp,
                envelope,
                duration_ms: self.dice.below(1_000),
            },
        };
        Ok(Some((record, input)))
    }

    fn put_back(&mut self, record: EffectRecord, stage: Stage) {
        self.flights.push(Flight { record, stage });
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
        let open = agent.open_turn.filter(|turn| turn.turn_index == turn_index);
        if open.is_none() {
            return Ok(None);
        }
        stored(reader.interjections(no, limits::INTERJECTIONS_PER_ROUND)).map(Some)
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
        match provider::answer(&self.plan, self.mood, cut_off, &mut self.dice) {
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
            if !self.flights.is_empty() {
                let flight = self.flights.remove(0);
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

fn frame() -> FrameRecord {
    FrameRecord {
        prompt_cache_key: "key".to_owned(),
        context_fingerprint: "print".to_owned(),
        stable: "stable".to_owned(),
        agent_scoped: "stable".to_owned(),
    }
}
