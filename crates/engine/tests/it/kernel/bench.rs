//! A kernel on an in-memory store, with agents whose model and tools the test plays.

use holon_core::input::{ContextSize, NewAgent, RoundTiming, blocks};
use holon_core::{HostConditions, Ingress, Input, RoundAnswer, Stamp};
use holon_domain::agent::{
    AgentIdentity, AgentKind, AgentRecord, Ownership, ProfilePreset, Visibility,
};
use holon_domain::attempt::TokenUsage;
use holon_domain::budget::{Budget, BudgetKey};
use holon_domain::decision::Decision;
use holon_domain::delivery::{DeliveryRoute, DeliveryTarget};
use holon_domain::effect::{Effect, EffectId, EffectRecord};
use holon_domain::intent::Intent;
use holon_domain::log::{FrameRecord, InterjectionBoundary, LogEntry};
use holon_domain::message::{AdmissionContext, DeliverySurface, Priority};
use holon_domain::model::{ModelChain, ModelRef, ReplyBlock, RequestedCall, StopReason};
use holon_domain::needs::{LoadedRows, Needs};
use holon_domain::request_key::{KeptReply, RequestKey, TokenRecord};
use holon_domain::tool::ToolError;
use holon_domain::workspace::WorkspaceEntry;
use holon_domain::{AgentId, Entropy, Timestamp};
use holon_engine::SharedConditions;
use holon_engine::kernel::{HandleResult, HandledInput, Kernel, PostCommitWork};
use holon_store::{
    AgentNo, BudgetChange, Db, Error, Hook, Ledger, TargetAddition, TokenAddition, WaitingAgents,
    WriteError,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

pub(super) fn id(name: &str) -> AgentId {
    AgentId::parse(name).unwrap()
}

#[derive(Default)]
struct Counter(u128);

impl Entropy for Counter {
    fn next(&mut self) -> u128 {
        self.0 += 1;
        self.0
    }
}

/// A call of the simulated model: name, arguments, and their interpretation.
pub(super) type Call = (&'static str, Value, Result<Intent, ToolError>);

pub(super) struct KernelBench {
    pub(super) db: Db,
    kernel: Kernel,
    numbers: Counter,
    /// Effects that were not performed yet.
    pub(super) open: BTreeMap<(AgentId, EffectId), EffectRecord>,
    /// Rows that each decision since the last look loaded.
    pub(super) loads: Vec<Needs>,
    /// Agent whose decisions panic when they are written.
    pub(super) panics: Option<AgentId>,
}

impl KernelBench {
    pub(super) fn with(agents: &[&str]) -> Self {
        let models = ModelChain::only(ModelRef::parse("test/model").unwrap());
        let mut bench = Self {
            db: Db::in_memory().unwrap(),
            kernel: Kernel::new(SharedConditions::new(HostConditions::new(models))),
            numbers: Counter::default(),
            open: BTreeMap::new(),
            loads: Vec::new(),
            panics: None,
        };
        agents.iter().for_each(|name| bench.create(name));
        bench
    }

    fn create(&mut self, name: &str) {
        let new = NewAgent {
            identity: AgentIdentity {
                agent_id: id(name),
                kind: AgentKind::Named,
                visibility: Visibility::Public,
                ownership: Ownership::SelfOwned,
                profile_preset: ProfilePreset::PublicNamed,
                lineage_parent_agent_id: None,
                root_agent_id: None,
            },
            agent_home: format!("/agents/{name}"),
            workspace: WorkspaceEntry::agent_home(&format!("/agents/{name}")),
            model: None,
            run: None,
        };
        let (kernel, numbers) = (&self.kernel, &mut self.numbers);
        let made = self
            .db
            .write(|tx| kernel.create(tx, new.clone(), NOW, numbers));
        self.take(made.unwrap());
        let stamp = self.stamp(name);
        self.handle(
            name,
            &Input::HomePrepared {
                stamp,
                result: Ok(()),
            },
        );
    }

    pub(super) fn try_handle(
        &mut self,
        name: &str,
        input: &Input,
    ) -> Result<Result<HandledInput, holon_engine::kernel::Refusal>, WriteError> {
        let (kernel, numbers, loads) = (&self.kernel, &mut self.numbers, &mut self.loads);
        let panics = self.panics.clone();
        self.db.write(|tx| -> HandleResult {
            let mut watched = RecordingLedger {
                inner: tx,
                loads,
                panics: &panics,
            };
            kernel.handle(&mut watched, &id(name), input, NOW, numbers)
        })
    }

    pub(super) fn handle(&mut self, name: &str, input: &Input) -> HandledInput {
        let handled = self.try_handle(name, input).unwrap().unwrap();
        self.take(handled.work.clone());
        handled
    }

    fn take(&mut self, work: PostCommitWork) {
        self.open.extend(work.effects);
        for closed in work.closed {
            self.open.remove(&closed);
        }
    }

    /// The stamp of an agent's one open effect.
    pub(super) fn stamp(&self, name: &str) -> Stamp {
        let mut mine = self.open.values().filter(|open| open.agent_id == id(name));
        let stamp = Stamp::of(mine.next().expect("an open effect"));
        assert!(mine.next().is_none(), "one open effect");
        stamp
    }

    pub(super) fn prompt(&mut self, name: &str) -> HandledInput {
        let ingress = Ingress::operator_prompt(
            "do this".to_owned(),
            Priority::Normal,
            DeliverySurface::HttpControlPrompt,
            AdmissionContext::ControlAuthenticated,
        );
        self.handle(name, &Input::Admit(Box::new(ingress)))
    }

    /// Answers an agent's model request with these calls.
    pub(super) fn calls(&mut self, name: &str, calls: &[Call]) -> HandledInput {
        let answer = self.answer(name, calls);
        self.handle(name, &answer)
    }

    pub(super) fn answer(&mut self, name: &str, calls: &[Call]) -> Input {
        let reply = calls.iter().map(|(name, input, _)| {
            ReplyBlock::Call(RequestedCall {
                provider_id: None,
                name: (*name).to_owned(),
                input: input.clone(),
            })
        });
        let answer = RoundAnswer {
            blocks: blocks("test/model", reply.collect(), &mut self.numbers),
            intents: Arc::new(calls.iter().map(|(_, _, intent)| intent.clone()).collect()),
            stop_reason: StopReason::ToolUse,
            usage: TokenUsage::new(10, 2),
            implausible_usage: None,
            interjected: Vec::new(),
            apart: Vec::new(),
            request_tokens: 0,
            estimate: Default::default(),
            boundary: InterjectionBoundary::AfterProviderRound,
            frame: FrameRecord {
                prompt_cache_key: "key".to_owned(),
                context_fingerprint: "print".to_owned(),
                stable: "s".to_owned(),
                agent_scoped: "a".to_owned(),
                ..FrameRecord::default()
            },
            shown_items: Vec::new(),
            plan: None,
            reminder: None,
            reminder_text: None,
            compaction: None,
            fold: None,
            kept: Vec::new(),
            context: ContextSize::default(),
            context_management: None,
            overlap: None,
            learned: None,
            server: Default::default(),
            timing: RoundTiming {
                context_build_ms: 0,
                started_at: NOW,
                completed_at: NOW,
                provider_ms: 0,
            },
        };
        Input::RoundAnswered {
            stamp: self.stamp(name),
            answer: Box::new(answer),
        }
    }

    pub(super) fn agent(&self, name: &str) -> (AgentNo, AgentRecord) {
        self.db.reader().agent(&id(name)).unwrap().unwrap()
    }

    /// Number of messages in an agent's queue.
    pub(super) fn queued(&self, name: &str) -> u64 {
        let (no, _) = self.agent(name);
        self.db.reader().queue(no).unwrap().pending
    }

    /// The results of an agent's calls: summary or error.
    pub(super) fn results(&self, name: &str) -> Vec<String> {
        let (no, _) = self.agent(name);
        let entries = self.db.reader().turn_entries(no, 1).unwrap();
        let results = entries.into_iter().filter_map(|(_, entry)| match entry {
            LogEntry::ToolResult { envelope, .. } => Some(envelope.error().map_or_else(
                || envelope.summary_text.clone(),
                |error| error.message.clone(),
            )),
            _ => None,
        });
        results.collect()
    }

    /// Kinds of the effects an agent waits for.
    pub(super) fn waits_for(&self, name: &str) -> Vec<&'static str> {
        let mine = self.open.values().filter(|open| open.agent_id == id(name));
        mine.map(|open| open.effect.name()).collect()
    }

    /// Delivers the sends that earlier commits deferred, until none is left.
    pub(super) fn deliver_all(&mut self) -> usize {
        let mut commits = 0;
        loop {
            let next = self.open.values().find_map(|open| match &open.effect {
                Effect::Deliver { sends } => Some((open.clone(), sends.clone())),
                _ => None,
            });
            let Some((record, sends)) = next else {
                return commits;
            };
            let stamp = Stamp::of(&record);
            self.handle(record.agent_id.as_str(), &Input::Deliver { stamp, sends });
            commits += 1;
        }
    }
}

/// A ledger that records loads, and panics where the test wants a defect.
struct RecordingLedger<'a> {
    inner: &'a mut dyn Ledger,
    loads: &'a mut Vec<Needs>,
    panics: &'a Option<AgentId>,
}

impl Ledger for RecordingLedger<'_> {
    fn agent(&mut self, id: &AgentId) -> Result<Option<(AgentNo, AgentRecord)>, Error> {
        self.inner.agent(id)
    }

    fn load(&mut self, no: AgentNo, needs: &Needs) -> Result<LoadedRows, Error> {
        self.loads.push(needs.clone());
        self.inner.load(no, needs)
    }

    fn create(&mut self, record: &AgentRecord) -> Result<AgentNo, Error> {
        self.inner.create(record)
    }

    fn apply(&mut self, no: AgentNo, decision: &Decision) -> Result<(), Error> {
        let written = self.inner.apply(no, decision);
        let agent_id = &decision.agent.identity.agent_id;
        assert_ne!(Some(agent_id), self.panics.as_ref(), "the test wants this");
        written
    }

    fn nested(
        &mut self,
        part: &mut dyn FnMut(&mut dyn Ledger) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (loads, panics) = (&mut *self.loads, self.panics);
        self.inner.nested(&mut |inner| {
            part(&mut RecordingLedger {
                inner,
                loads: &mut *loads,
                panics,
            })
        })
    }

    fn newest_generation(&mut self) -> Result<u64, Error> {
        self.inner.newest_generation()
    }

    fn event_floor(&mut self, id: &AgentId) -> Result<u64, Error> {
        self.inner.event_floor(id)
    }

    fn put_aside(&mut self, id: &AgentId, reason: &str, now: Timestamp) -> Result<bool, Error> {
        self.inner.put_aside(id, reason, now)
    }

    fn take_back(&mut self, id: &AgentId) -> Result<bool, Error> {
        self.inner.take_back(id)
    }

    fn open_effects(&mut self, no: AgentNo) -> Result<Vec<EffectId>, Error> {
        self.inner.open_effects(no)
    }

    fn kept_reply(&mut self, id: &str, now: Timestamp) -> Result<Option<KeptReply>, Error> {
        self.inner.kept_reply(id, now)
    }

    fn keep_reply(
        &mut self,
        key: &RequestKey,
        agent: Option<&AgentId>,
        reply: &str,
        now: Timestamp,
    ) -> Result<(), Error> {
        self.inner.keep_reply(key, agent, reply, now)
    }

    fn birth(&mut self, id: &AgentId) -> Result<Option<i64>, Error> {
        self.inner.birth(id)
    }

    fn add_tombstone(&mut self, id: &AgentId, now: Timestamp) -> Result<(), Error> {
        self.inner.add_tombstone(id, now)
    }

    fn add_token(&mut self, token: &TokenRecord) -> Result<TokenAddition, Error> {
        self.inner.add_token(token)
    }

    fn remove_token(&mut self, name: &str) -> Result<bool, Error> {
        self.inner.remove_token(name)
    }

    fn add_delivery_target(&mut self, target: &DeliveryTarget) -> Result<TargetAddition, Error> {
        self.inner.add_delivery_target(target)
    }

    fn remove_delivery_target(&mut self, name: &str) -> Result<Option<DeliveryRoute>, Error> {
        self.inner.remove_delivery_target(name)
    }

    fn set_budget(&mut self, budget: &Budget, day: &str) -> Result<BudgetChange, Error> {
        self.inner.set_budget(budget, day)
    }

    fn remove_budget(&mut self, key: &BudgetKey) -> Result<bool, Error> {
        self.inner.remove_budget(key)
    }

    fn waiting_agents(
        &mut self,
        route: &DeliveryRoute,
        after: Option<AgentNo>,
        limit: usize,
    ) -> Result<WaitingAgents, Error> {
        self.inner.waiting_agents(route, after, limit)
    }

    fn after_commit(&mut self, hook: Hook) {
        self.inner.after_commit(hook);
    }
}
