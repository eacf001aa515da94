//! One model round: the request that the host would build, and the simulated answer.

use crate::letter;
use crate::provider;
use crate::request::ModelQuery;
use crate::store::now;
use crate::violation::{Verdict, ensure, violation};
use crate::work_calls::WorkNames;
use crate::world::World;
use holon_core::input::RoundTiming;
use holon_core::{Input, RoundAnswer, Stamp};
use holon_domain::TaskId;
use holon_domain::block::calls_of;
use holon_domain::effect::EffectRecord;
use holon_domain::guidance::Guidance;
use holon_domain::limits;
use holon_domain::place::Place;
use holon_domain::provider::{ModelPolicy, PolicySource, ReasoningPolicy};
use holon_domain::token_ratio::TokenRatio;
use holon_domain::web::WebTools;
use holon_engine::model_request::{
    KnownThread, ReminderTerms, RequestFiles, RequestImages, RequestTerms, RoundRequest,
    ThreadTerms,
};
use holon_engine::work_answer::{self, PlanFile};
use holon_store::{Store, TurnLog};
use std::sync::Arc;

/// Model policy of every simulated model. A small window, so that building a prompt is cheap.
const POLICY: ModelPolicy = ModelPolicy {
    context_window_tokens: 8_000,
    effective_context_window_percent: 90,
    max_output_tokens: 1_000,
    source: PolicySource::ConfigOverride,
    output_source: PolicySource::ConfigOverride,
    freeform_tools: false,
    image_input: false,
    reasoning: ReasoningPolicy::NONE,
    token_ratio: TokenRatio::ONE,
};

/// Reminder settings with early thresholds, so that short turns have reminders too.
const TERMS: RequestTerms = RequestTerms {
    reminder: ReminderTerms {
        rounds: 2,
        cooldown_rounds: 1,
        max_tokens: 512,
    },
    web_tools: WebTools {
        fetch: false,
        search: false,
    },
    thread: THREAD,
};

/// A small thread, so that short histories fold it too.
const THREAD: ThreadTerms = ThreadTerms {
    most_tokens: Some(3_000),
    cold_after_ms: Some(60_000),
    cold_tokens: 600,
    ..ThreadTerms::DEFAULT
};

impl World {
    /// Builds the request of a round as the host does; `None` if the turn has ended.
    pub(crate) fn ask(
        &mut self,
        record: &EffectRecord,
        turn_index: u64,
    ) -> Verdict<Option<RoundRequest>> {
        let read = now(self
            .store
            .turn(&record.agent_id, turn_index, TurnLog::default()))?;
        let Some(rows) = self.check_readable(&record.agent_id, read)?.flatten() else {
            return Ok(None);
        };
        let turn = rows.turn.clone();
        let known = self.model.agent(&record.agent_id);
        let outstanding = known.map(|known| &known.outstanding);
        let waiting = outstanding.map_or(0, |all| {
            let seqs = all.interjections.iter().chain(&all.held);
            seqs.filter(|seq| !turn.keeps_apart(**seq)).count()
        });
        let plan = rows.item.as_ref().map_or(PlanFile::Known, |item| {
            work_answer::plan_look(item, self.tool_world.plan(&item.id).cloned())
        });
        let guidance = Guidance::default();
        let files = RequestFiles {
            plan,
            guidance,
            place: Place::default(),
            images: RequestImages::default(),
        };
        let mut rows = rows;
        let mut thread = KnownThread::default();
        thread.take(&mut rows);
        let Some(request) = RoundRequest::new(rows, &thread, POLICY, files, TERMS) else {
            return violation(
                "an open turn has what a request is built from",
                format!("{record:?}"),
            );
        };
        ensure(
            request.queued.len() + request.apart.len() == waiting.min(limits::JOINING_PER_ROUND),
            "a message that may join a turn is shown to its model, unless it is too long",
            || format!("{} of {waiting}", request.queued.len()),
        )?;
        Ok(Some(request))
    }

    /// Draws the answer or failure of the model as an input.
    pub(crate) fn answer(&mut self, record: &EffectRecord, request: RoundRequest) -> Input {
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
        let children: Vec<TaskId> = known.map_or_else(Vec::new, |known| {
            let open = known.tasks.children().filter(|task| !task.is_over());
            open.map(|task| task.id.clone()).collect()
        });
        let agents = self.agents_to_name(&record.agent_id);
        let work = known.map_or_else(WorkNames::default, |known| {
            WorkNames::of(&known.outstanding)
        });
        let asked = ModelQuery {
            plan: &self.plan,
            mood: self.mood,
            outage: self.outage,
            cut_off,
            tasks: &tasks,
            active,
            children: &children,
            work: &work,
            agents: &agents,
        };
        let mut reply = provider::answer(asked, &mut self.dice);
        if let Ok(reply) = &mut reply {
            self.exceed_estimate(&record.agent_id, reply);
        }
        let mut input = request.outcome(Stamp::of(record), reply, timing, &mut self.entropy);
        if let Input::RoundAnswered { answer, .. } = &mut input {
            name_letters(answer);
        }
        input
    }
}

/// Interprets the simulation's own message calls, which the real tools do not know.
fn name_letters(answer: &mut RoundAnswer) {
    let blocks = Arc::clone(&answer.blocks);
    let intents = Arc::make_mut(&mut answer.intents);
    for (call, asks_for) in calls_of(&blocks).zip(intents.iter_mut()) {
        if let Some(intent) = letter::intent(call) {
            *asks_for = Ok(intent);
        }
    }
}
