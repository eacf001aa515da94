//! The cost of a message must not depend on the number of messages before it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use super::{
    KnownThread, ReminderTerms, RequestFiles, RequestImages, RequestTerms, RoundRequest,
    ThreadTerms,
};
use crate::conditions::SharedConditions;
use crate::kernel::{HandledInput, Kernel};
use holon_core::input::{NewAgent, RoundTiming};
use holon_core::{HostConditions, Input, RoundAnswer, Stamp};
use holon_domain::agent::{AgentIdentity, AgentKind, Ownership, ProfilePreset, Visibility};
use holon_domain::attempt::TokenUsage;
use holon_domain::effect::{Effect, EffectRecord};
use holon_domain::guidance::Guidance;
use holon_domain::message::{AdmissionContext, DeliverySurface, Priority};
use holon_domain::model::{ModelChain, ModelRef, ModelReply, ReplyBlock, StopReason};
use holon_domain::place::Place;
use holon_domain::provider::{
    ContextReduction, LearnedLimits, LimitSource, ModelPolicy, PolicySource, ReasoningPolicy,
};
use holon_domain::token_ratio::TokenRatio;
use holon_domain::web::WebTools;
use holon_domain::workspace::WorkspaceEntry;
use holon_domain::{AgentId, Entropy, Timestamp};
use holon_prompt::PlanFile;
use holon_store::{Db, Inline, Store, TurnLog};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

const POLICY: ModelPolicy = ModelPolicy {
    context_window_tokens: 32_000,
    effective_context_window_percent: 90,
    max_output_tokens: 4_096,
    source: PolicySource::UnknownFallback,
    output_source: PolicySource::UnknownFallback,
    freeform_tools: false,
    image_input: false,
    reasoning: ReasoningPolicy::NONE,
    token_ratio: TokenRatio::ONE,
};

const TERMS: RequestTerms = RequestTerms {
    reminder: ReminderTerms {
        rounds: 10,
        cooldown_rounds: 10,
        max_tokens: 512,
    },
    web_tools: WebTools::ALL,
    thread: ThreadTerms::DEFAULT,
};

#[derive(Debug, Default)]
struct Counter(u128);

impl Entropy for Counter {
    fn next(&mut self) -> u128 {
        self.0 += 1;
        self.0
    }
}

/// Returns the value of a future that is ready at once, because the store has no thread.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a store without a thread answers at once"),
    }
}

/// One agent on an in-memory database, and the kernel that drives it.
struct MessageBench {
    store: Inline,
    kernel: Kernel,
    id: AgentId,
    numbers: Counter,
    /// Virtual machine steps of SQLite so far.
    steps: Arc<AtomicU64>,
    /// Answer to the last request that was built.
    answer: Option<RoundAnswer>,
    /// The ended turns that are kept between requests.
    thread: KnownThread,
}

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

const TIMING: RoundTiming = RoundTiming {
    context_build_ms: 0,
    started_at: NOW,
    completed_at: NOW,
    provider_ms: 0,
};

fn reply() -> ModelReply {
    ModelReply {
        blocks: vec![ReplyBlock::Text {
            text: "nothing much".to_owned(),
        }],
        stop_reason: StopReason::EndTurn,
        usage: TokenUsage::new(10, 2),
        context_management: None,
    }
}

impl MessageBench {
    fn new() -> Self {
        let default_model = ModelRef::parse("test/model").unwrap();
        let id = AgentId::parse("main").unwrap();
        let mut db = Db::in_memory().unwrap();
        let steps = db.count_steps().unwrap();
        let mut bench = Self {
            store: Inline::new(db),
            steps,
            kernel: Kernel::new(SharedConditions::new(HostConditions::new(
                ModelChain::only(default_model),
            ))),
            id: id.clone(),
            numbers: Counter::default(),
            answer: None,
            thread: KnownThread::default(),
        };
        let new = NewAgent {
            identity: AgentIdentity {
                agent_id: id,
                kind: AgentKind::Default,
                visibility: Visibility::Public,
                ownership: Ownership::SelfOwned,
                profile_preset: ProfilePreset::PublicNamed,
                lineage_parent_agent_id: None,
                root_agent_id: None,
            },
            agent_home: "/agents/main".to_owned(),
            workspace: WorkspaceEntry::agent_home("/agents/main"),
            model: None,
            run: None,
        };
        let (kernel, numbers) = (&bench.kernel, &mut bench.numbers);
        let made = bench
            .store
            .db()
            .write(|tx| kernel.create(tx, new.clone(), NOW, numbers));
        let made = made.unwrap().effects;
        let stamp = Stamp::of(made.values().next().unwrap());
        bench.handle(&Input::HomePrepared {
            stamp,
            result: Ok(()),
        });
        bench
    }

    fn handle(&mut self, input: &Input) -> HandledInput {
        let (kernel, id, numbers) = (&self.kernel, &self.id, &mut self.numbers);
        let handled = self
            .store
            .db()
            .write(|tx| kernel.handle(tx, id, input, NOW, numbers));
        handled.unwrap().unwrap()
    }

    fn admit(&mut self) -> EffectRecord {
        let ingress = holon_core::Ingress::operator_prompt(
            "what is new".to_owned(),
            Priority::Normal,
            DeliverySurface::HttpControlPrompt,
            AdmissionContext::ControlAuthenticated,
        );
        let handled = self.handle(&Input::Admit(Box::new(ingress)));
        handled.work.effects.into_values().next().unwrap()
    }

    /// Builds the request from the store as a round does.
    fn build(&mut self, effect: &EffectRecord) {
        let Effect::CallModel { turn_index, .. } = effect.effect else {
            panic!("a turn begins with a request");
        };
        let round = self.round(turn_index);
        assert_eq!(round.request_tokens, round.request.estimated_tokens());
        self.answer = Some(round.answer(reply(), TIMING, &mut self.numbers));
    }

    fn round(&mut self, turn_index: u64) -> RoundRequest {
        let known = TurnLog {
            past_through: self.thread.through(),
            ..TurnLog::default()
        };
        let rows = ready(self.store.turn(&self.id, turn_index, known));
        let mut rows = rows.unwrap().unwrap();
        self.thread.take(&mut rows);
        let files = RequestFiles {
            plan: PlanFile::Known,
            guidance: Guidance::default(),
            place: Place::default(),
            images: RequestImages::default(),
        };
        RoundRequest::new(rows, &self.thread, POLICY, files, TERMS).unwrap()
    }

    /// Answers the request with a usage that a provider claims.
    fn answered(&mut self, claim: TokenUsage) -> RoundAnswer {
        let effect = self.admit();
        let Effect::CallModel { turn_index, .. } = effect.effect else {
            panic!("a turn begins with a request");
        };
        let reply = ModelReply {
            usage: claim,
            ..reply()
        };
        self.round(turn_index)
            .answer(reply, TIMING, &mut self.numbers)
    }

    fn finish(&mut self, effect: &EffectRecord) {
        let answer = self.answer.clone().expect("a request was built");
        self.handle(&Input::RoundAnswered {
            stamp: Stamp::of(effect),
            answer: Box::new(answer),
        });
    }

    /// Takes one message the whole way: admitted, asked, answered, settled.
    fn whole_message(&mut self) {
        let effect = self.admit();
        self.build(&effect);
        self.finish(&effect);
    }

    /// The fewest steps over ten whole messages. Some of them also move a bound of the event log, which is not counted.
    fn steps_of_a_message(&mut self) -> u64 {
        let mut least = u64::MAX;
        for _ in 0..10 {
            let before = self.steps.load(Ordering::Relaxed);
            self.whole_message();
            least = least.min(self.steps.load(Ordering::Relaxed) - before);
        }
        least
    }
}

#[test]
fn a_usage_that_the_request_cannot_explain_is_replaced_by_an_estimate() {
    let honest = TokenUsage::new(2_000, 3);
    let believed = MessageBench::new().answered(honest);
    assert_eq!((believed.usage, believed.implausible_usage), (honest, None));
    // The window of this model is assumed, so its hidden reasoning may be longer.
    let reasoned = TokenUsage::new(2_000, u64::from(POLICY.context_window_tokens) * 20);
    let believed = MessageBench::new().answered(reasoned);
    assert_eq!(believed.implausible_usage, None);
    let most = i64::MAX as u64;
    for claim in [TokenUsage::new(most, 3), TokenUsage::new(2_000, most)] {
        let answer = MessageBench::new().answered(claim);
        assert_eq!(answer.implausible_usage, Some(claim));
        assert_eq!(answer.learned, None, "it teaches nothing");
        assert_eq!(answer.usage.input_tokens, answer.estimate.input_tokens);
        assert!((1..100).contains(&answer.usage.output_tokens));
    }
}

#[test]
fn the_ten_thousandth_message_is_as_much_work_as_the_two_hundredth() {
    let mut bench = MessageBench::new();
    // By then there are as many episodes as a prompt considers, and the thread has been folded.
    for _ in 0..400 {
        bench.whole_message();
    }
    let early = bench.steps_of_a_message();
    for _ in 410..10_000 {
        let effect = bench.admit();
        bench.finish(&effect);
    }
    bench.whole_message();
    let late = bench.steps_of_a_message();
    assert!(early > 100, "steps are counted: {early}");
    assert_eq!(early, late, "steps of SQLite's machine per message");
}

/// A request whose conversation holds these words alone.
fn request_of(words: String) -> holon_domain::model::ModelRequest {
    holon_domain::model::ModelRequest {
        model: ModelRef::parse("test/model").unwrap(),
        round: 1,
        frame: holon_domain::model::PromptFrame {
            system_prompt: String::new(),
            system_blocks: Vec::new(),
            context_blocks: Vec::new(),
            cache: holon_domain::model::PromptCache {
                agent_id: "main".to_owned(),
                prompt_cache_key: String::new(),
                context_fingerprint: String::new(),
                working_memory_revision: 0,
                compression_epoch: 0,
                life: holon_domain::model::CacheLife::Usual,
            },
        },
        thread: Vec::new(),
        conversation: vec![holon_domain::model::ConversationItem::User { text: words }],
        tools: holon_domain::tool_set::ToolSet::default(),
        max_output_tokens: 16_000,
        reasoning_effort: None,
        reasoning: ReasoningPolicy::NONE,
        prior_rounds: 0,
    }
}

#[test]
fn a_model_that_counts_more_tokens_gets_less_text_and_less_room_for_its_answer() {
    let policy = |per_mille: i64| ModelPolicy {
        source: PolicySource::ConfigOverride,
        token_ratio: TokenRatio::try_from(per_mille).unwrap(),
        ..POLICY
    };
    let usual = super::prompt_budget(policy(1_000));
    assert_eq!(usual, 32_000 * 9 / 10 - 4_096);
    assert_eq!(super::prompt_budget(policy(2_000)), usual / 2);
    assert_eq!(super::prompt_budget(policy(950)), usual * 1_000 / 950);
    // A smaller count may leave something out, such as tools that a template drops. Prompt and answer fit without it too.
    let widest = 32_000 - 4_096;
    assert_eq!(super::prompt_budget(policy(800)), widest);
    let answer = super::output_room(widest.into(), policy(800), None);
    assert_eq!(answer, 4_096);
    let request = request_of(" word".repeat(20_000));
    let estimated = request.estimated_tokens();
    let wide = |per_mille| ModelPolicy {
        max_output_tokens: 16_000,
        ..policy(per_mille)
    };
    let left = |counted: u64| u32::try_from(32_000 - counted).unwrap();
    assert_eq!(
        super::output_room(estimated, wide(1_000), None),
        left(estimated)
    );
    assert_eq!(
        super::output_room(estimated, wide(1_200), None),
        left(estimated * 12 / 10)
    );
}

#[test]
fn a_long_input_leaves_half_of_an_assumed_window_to_the_conversation() {
    let request = request_of(" word".repeat(40_000));
    let estimated = usize::try_from(request.estimated_tokens()).unwrap();
    let room = |is_assumed| {
        let budget = super::budget::PromptBudget {
            ceiling: None,
            is_refused: false,
            tokens: 24_000,
            answer_tokens: 4_096,
            is_assumed,
        };
        super::conversation_room(estimated, budget)
    };
    assert_eq!((room(true), room(false)), (12_000, 3_000));
}

#[test]
fn an_answer_beyond_the_assumed_window_widens_it_and_leaves_it_assumed() {
    let request = request_of(" word".repeat(40_000));
    let estimated = request.estimated_tokens();
    let learn = |policy, learned, input_tokens| {
        let counted = super::CountedRequest {
            estimated_tokens: estimated,
            usage: TokenUsage::new(input_tokens, 100),
            reduction: None,
        };
        super::lesson(learned, policy, counted).and_then(|new| new.context_window_tokens)
    };
    let none = LearnedLimits::default();
    let took = u32::try_from(estimated + 100).unwrap();
    assert_eq!(learn(POLICY, none, estimated), Some(took));
    let learned = LearnedLimits::window(took, LimitSource::Answer);
    let wider = POLICY.with(learned);
    assert_eq!(
        (wider.context_window_tokens, wider.source),
        (took, PolicySource::UnknownFallback)
    );
    assert_eq!(learn(wider, learned, estimated), None, "nothing new");
    let set = ModelPolicy {
        source: PolicySource::ConfigOverride,
        ..POLICY
    };
    assert_eq!(learn(set, none, estimated), None, "the settings win");
}

#[test]
fn a_server_that_leaves_out_context_teaches_no_count_of_tokens() {
    let estimated = u64::from(POLICY.context_window_tokens) * 2;
    let learn = |input_tokens, reduction| {
        let counted = super::CountedRequest {
            estimated_tokens: estimated,
            usage: TokenUsage::new(input_tokens, 100),
            reduction,
        };
        super::lesson(LearnedLimits::default(), POLICY, counted)
    };
    let cleared = Some(ContextReduction {
        cleared_tool_uses: 9,
        ..ContextReduction::default()
    });
    for reduction in [cleared, Some(ContextReduction::default())] {
        assert_eq!(learn(estimated / 4, reduction), None, "{reduction:?}");
        let wider = learn(estimated * 3 / 4, reduction).expect("what was counted is true");
        assert!(wider.context_window_tokens.is_some() && wider.token_ratio.is_none());
    }
    let ratio = learn(estimated / 8 * 7, None).and_then(|new| new.token_ratio);
    assert!(
        ratio.is_some(),
        "without it the count is that of the request"
    );
}

#[test]
fn a_request_is_held_against_the_window_as_its_provider_counts() {
    let policy = |per_mille: i64| ModelPolicy {
        source: PolicySource::BuiltInCatalog,
        token_ratio: TokenRatio::try_from(per_mille).unwrap(),
        ..POLICY
    };
    assert_eq!(super::over_window(policy(1_000), 50_000), Some(50_000));
    assert_eq!(
        super::over_window(policy(1_000), 33_000),
        None,
        "it may fit"
    );
    assert_eq!(super::over_window(policy(800), 40_000), None);
    assert_eq!(super::over_window(policy(2_000), 20_000), Some(40_000));
    assert_eq!(super::over_window(POLICY, 90_000), None, "nobody knows it");
}

#[test]
fn prompt_and_answer_fit_a_small_window_together_while_they_can() {
    let policy = ModelPolicy {
        source: PolicySource::ConfigOverride,
        context_window_tokens: 8_192,
        max_output_tokens: 4_096,
        ..POLICY
    };
    for prompt in [3_000, 5_000, 6_900, 7_168] {
        let answer = u64::from(super::output_room(prompt, policy, None));
        assert!(prompt + answer <= 8_192, "{prompt} and {answer}");
    }
    assert_eq!(
        super::output_room(8_000, policy, None),
        1_024,
        "the estimate may be too high"
    );
}
