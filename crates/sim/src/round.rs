//! One model round: what its request holds, what the simulated model answers, and what its calls ask for.

use crate::letter;
use crate::provider;
use crate::request::Asked;
use crate::violation::{Verdict, ensure};
use crate::world::World;
use holon_core::input::{ContextSize, RoundTiming, blocks};
use holon_core::{Input, RoundAnswer, Stamp};
use holon_domain::agent::ProfilePreset;
use holon_domain::block::{ToolCall, calls_of};
use holon_domain::effect::EffectRecord;
use holon_domain::intent::Intent;
use holon_domain::limits;
use holon_domain::log::{FrameRecord, InterjectionBoundary};
use holon_domain::model::ModelReply;
use holon_domain::queue::QueueEntry;
use holon_domain::tool::ToolError;
use std::sync::Arc;

impl World {
    /// What the request holds beside the log; none when the turn is over.
    pub(crate) fn ask(
        &self,
        record: &EffectRecord,
        turn_index: u64,
    ) -> Verdict<Option<Vec<QueueEntry>>> {
        let most = limits::INTERJECTIONS_PER_ROUND;
        let read = self.read(|reader| {
            let Some((no, agent)) = reader.agent(&record.agent_id)? else {
                return Ok(None);
            };
            let queued = reader.joining(no, &agent.held, most)?;
            let open = agent.open_turn.filter(|turn| turn.turn_index == turn_index);
            Ok(open.map(|_| queued).zip(Some(reader.outstanding(no)?)))
        })?;
        let Some((queued, outstanding)) = read else {
            return Ok(None);
        };
        let waiting = outstanding.interjections.len() + outstanding.held.len();
        ensure(
            queued.len() == waiting.min(most),
            "whatever may enter a turn is shown to its model",
            || format!("{} of {waiting}", queued.len()),
        )?;
        Ok(Some(queued))
    }

    /// The model answers, or fails.
    pub(crate) fn answer(&mut self, record: &EffectRecord, queued: Vec<QueueEntry>) -> Input {
        let stamp = Stamp::of(record);
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
        let agents = self.agents_to_name(&record.agent_id);
        let asked = Asked {
            plan: &self.plan,
            mood: self.mood,
            cut_off,
            tasks: &tasks,
            active,
            agents: &agents,
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
        &mut self,
        record: &EffectRecord,
        reply: ModelReply,
        interjected: Vec<QueueEntry>,
        timing: RoundTiming,
    ) -> RoundAnswer {
        let known = self
            .model
            .agent(&record.agent_id)
            .map(|known| &known.record);
        let preset = known.map_or(ProfilePreset::PublicNamed, |agent| {
            agent.identity.profile_preset
        });
        let turn = known.and_then(|agent| agent.open_turn.as_ref());
        let boundary = match turn.map_or(0, |turn| turn.rounds) {
            0 => InterjectionBoundary::BeforeProviderRequest,
            _ if interjected.len().is_multiple_of(2) => InterjectionBoundary::AfterProviderRound,
            _ => InterjectionBoundary::AfterToolResults,
        };
        let lineage = turn.map_or_else(String::new, |turn| turn.model_ref());
        let blocks = blocks(&lineage, reply.blocks, &mut self.entropy);
        let intents = calls_of(&blocks).map(|call| interpret(call, preset));
        RoundAnswer {
            learned: None,
            intents: Arc::new(intents.collect()),
            interjected,
            boundary,
            frame: frame(),
            kept: vec![("stable".to_owned(), "policy".to_owned())],
            context: ContextSize::default(),
            timing,
            blocks,
            stop_reason: reply.stop_reason,
            usage: reply.usage,
        }
    }
}

/// What a call asks for. The tools know no call that messages another agent, so the simulation has one of its own.
fn interpret(call: &ToolCall, preset: ProfilePreset) -> Result<Intent, ToolError> {
    match letter::intent(call) {
        Some(intent) => Ok(intent),
        None => holon_tools::interpret(&call.name, &call.input, preset),
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
