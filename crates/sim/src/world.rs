//! The world around the kernel: simulates the shell, the disk and the clock of a host.
//!
//! Commits go through the real store in memory. Effects of a commit are started only if its process lives to see them,
//! and performances in progress are lost with the process. The oracle observes every commit.

use crate::budgets::{self, RunBudget};
use crate::callbacks::{DeliveryName, TakenDelivery};
use crate::damage::Damage;
use crate::delivery::Endpoints;
use crate::flight::{Flight, Stage};
use crate::keys::home_of;
use crate::model::Model;
use crate::plan::{Fault, Plan};
use crate::post::Delivery;
use crate::request::Mood;
use crate::rng::Rng;
use crate::store::refused_by_store;
use crate::tool_world::ToolWorld;
use crate::trace::Trace;
use crate::violation::{Verdict, ensure, stored, violation};
use holon_core::input::NewAgent;
use holon_core::{HostConditions, Input, Reply};
use holon_domain::effect::{Effect, EffectRecord};
use holon_domain::intent::RestartPolicy;
use holon_domain::model::{ModelChain, ModelFailureKind, ModelRef};
use holon_domain::{AgentId, CallId, Timestamp, limits};
use holon_engine::SharedConditions;
use holon_engine::kernel::{Kernel, PostCommitWork, Refusal};
use holon_store::{Db, DueRow, Inline, Reader};
use std::collections::{BTreeMap, BTreeSet};

/// Wall-clock start of every run, in milliseconds since the epoch.
const BEGINNING: i64 = 1_800_000_000_000;
/// More open effects than an agent of the simulation has.
const EFFECTS: usize = 10_000;
/// Times at which the clocks of Berlin are set forward and back.
const CLOCK_CHANGES: [i64; 2] = [1_806_195_600_000, 1_824_944_400_000];

/// The result of sending an input.
#[derive(Debug)]
pub(crate) enum InputResult {
    /// The input was committed and its sender lived to see the reply.
    Handled(Reply),
    /// The input was refused; nothing was written.
    Refused(Refusal),
    /// Its decision panicked; nothing was written.
    Panicked,
    /// The store failed; nothing was written.
    Failed,
    /// The agent is put aside, or was just now; nothing was written.
    Aside,
    /// The process died before or after its commit.
    Died,
    /// Its commit holds, but it is unconfirmed and none of its effects was started. It decided about these agents.
    Unknown(BTreeSet<AgentId>),
}

/// The state of a simulation run.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) mood: Mood,
    /// Failure of every model during an outage.
    pub(crate) outage: Option<ModelFailureKind>,
    pub(crate) dice: Rng,
    pub(crate) now: Timestamp,
    pub(crate) model: Model,
    pub(crate) tool_world: ToolWorld,
    pub(crate) trace: Trace,
    pub(crate) flights: Vec<Flight>,
    /// Outcomes that will be delivered twice or too late.
    pub(crate) late: Vec<(AgentId, Input)>,
    /// Due entries that were read and not handed over yet.
    pub(crate) due: Vec<DueRow>,
    pub(crate) unfinished: Vec<AgentId>,
    pub(crate) going: Vec<AgentId>,
    pub(crate) crashes: u64,
    pub(crate) steps: u64,
    pub(crate) kernel: Kernel,
    pub(crate) store: Inline,
    pub(crate) entropy: Rng,
    begun: BTreeSet<CallId>,
    /// Agents with an unconfirmed commit, until they are recovered.
    pub(crate) doubtful: BTreeSet<AgentId>,
    pub(crate) draining: bool,
    /// The process has begun and recovered no agent yet, so that it performs none of the open effects.
    pub(crate) before_recovery: bool,
    /// Agents with damaged rows.
    pub(crate) damage: BTreeMap<AgentId, Damage>,
    pub(crate) endpoints: Endpoints,
    /// Deliveries from outside that took effect, by capability and id.
    pub(crate) deliveries: BTreeMap<DeliveryName, TakenDelivery>,
    pub(crate) budget: RunBudget,
}

impl World {
    /// Creates a world without agents.
    pub(crate) fn new(plan: Plan, trace: Trace) -> Verdict<Self> {
        let now = beginning(&plan);
        Ok(Self {
            mood: Mood::Busy,
            outage: None,
            budget: RunBudget::of(&plan),
            dice: Rng::new(plan.seed),
            entropy: Rng::new(plan.seed ^ 0x0065_6e74_726f_7079),
            now,
            model: Model::new(plan.has(Fault::ClockJump), now, spawn_depth(&plan)),
            tool_world: ToolWorld::default(),
            trace,
            flights: Vec::new(),
            late: Vec::new(),
            due: Vec::new(),
            unfinished: Vec::new(),
            going: Vec::new(),
            crashes: 0,
            steps: 0,
            kernel: kernel_of(&plan, now)?,
            store: Inline::new(stored(Db::in_memory())?),
            begun: BTreeSet::new(),
            doubtful: BTreeSet::new(),
            draining: false,
            before_recovery: false,
            damage: BTreeMap::new(),
            endpoints: Endpoints::default(),
            deliveries: BTreeMap::new(),
            plan,
        })
    }

    /// Draws a fault, only while the plan has it and faults last.
    pub(crate) fn trouble(&mut self, fault: Fault, percent: u64) -> bool {
        self.mood == Mood::Busy && self.plan.has(fault) && self.dice.percent(percent)
    }

    pub(crate) fn create(&mut self, new: &NewAgent) -> Verdict<()> {
        let id = new.identity.agent_id.clone();
        self.trace.note(|| format!("create {id}"));
        self.endpoints.forget(&id);
        let (seed, now, kernel) = (self.entropy.bits(), self.now, self.kernel.clone());
        let new = new.clone();
        let made = self.commit(move |ledger| {
            let mut entropy = Rng::new(seed);
            kernel.create(ledger, new.clone(), now, &mut entropy)
        })?;
        let work = made.map_err(|error| refused_by_store(&error))?;
        self.observe_commit(&BTreeSet::from([id]), Delivery::default())?;
        self.dispatch(work)
    }

    pub(crate) fn dispatch(&mut self, work: PostCommitWork) -> Verdict<()> {
        for (agent_id, effect) in work.closed {
            let held =
                |flight: &Flight| flight.record.agent_id == agent_id && flight.record.id == effect;
            if let Some(at) = self.flights.iter().position(held) {
                let flight = self.flights.remove(at);
                // A cancelled effect may be too far along to stop.
                if self.trouble(Fault::Stale, 50) {
                    self.finish_too_late(flight)?;
                }
            }
        }
        for (agent_id, reason) in work.faulty {
            self.model.coverage.count("aside:receiver");
            self.put_aside(&agent_id, reason)?;
        }
        self.unfinished.extend(work.unfinished);
        if self.draining {
            return Ok(());
        }
        for record in work.effects.into_values() {
            self.begin(record)?;
        }
        Ok(())
    }

    fn begin(&mut self, record: EffectRecord) -> Verdict<()> {
        let run = match &record.effect {
            Effect::RunTool { .. } => {
                let found = self.call_in_hand(&record.agent_id)?;
                if self.is_aside(&record.agent_id)? {
                    return Ok(());
                }
                let Some(run) = found.filter(|run| run.effect == record.id) else {
                    return violation(
                        "the call an effect runs stands in the log",
                        format!("{record:?}"),
                    );
                };
                let again = run.action.restart_policy() == RestartPolicy::Repeat;
                let first = self.begun.insert(run.call.id.clone());
                ensure(
                    first || again,
                    "a call that cannot find what it began is begun at most once",
                    || run.call.id.to_string(),
                )?;
                Some(run)
            }
            Effect::PrepareHome
            | Effect::CallModel { .. }
            | Effect::StartTask { .. }
            | Effect::WatchTask { .. }
            | Effect::StopTask { .. }
            | Effect::RemoveHome
            | Effect::FinishPatch { .. }
            | Effect::StopBatch { .. }
            | Effect::CleanWorktree { .. }
            | Effect::SubmitDelivery { .. }
            | Effect::Deliver { .. } => None,
        };
        self.flights.push(Flight {
            record,
            run,
            stage: Stage::Begun,
        });
        Ok(())
    }

    /// Checks that the process performs exactly the open effects.
    pub(crate) fn check_flights(&self, id: &AgentId) -> Verdict<()> {
        let Some(known) = self.model.agent(id).filter(|known| !known.removing) else {
            return Ok(());
        };
        let performs = !self.draining && !self.before_recovery;
        if !performs || self.doubtful.contains(id) || self.is_aside(id)? {
            return Ok(());
        }
        let open = &known.outstanding.effects;
        let mut held: Vec<u64> = self
            .flights
            .iter()
            .filter(|flight| flight.record.agent_id == *id)
            .map(|flight| flight.record.id)
            .collect();
        held.sort_unstable();
        ensure(
            *open == held,
            "every open effect is being performed",
            || format!("{id}: open {open:?}, performed {held:?}"),
        )
    }

    /// Observes the agents that a commit touched and its deliveries, and checks that it changed no other agent. A
    /// failed commit touched none.
    pub(crate) fn observe_commit(
        &mut self,
        touched: &BTreeSet<AgentId>,
        delivery: Delivery<'_>,
    ) -> Verdict<()> {
        let repaired = self.repaired_copy()?;
        for id in touched {
            self.observe_in(repaired.as_ref(), id)?;
        }
        self.check_budget()?;
        self.model.check_live_children()?;
        let db = self.store.db();
        let reader = repaired.as_ref().map_or_else(|| db.reader(), Db::reader);
        self.model.check_untouched(&reader, touched)?;
        self.model.check_deliveries(delivery)
    }

    /// Observes an agent after a commit about it.
    pub(crate) fn observe(&mut self, id: &AgentId) -> Verdict<()> {
        let repaired = self.repaired_copy()?;
        self.observe_in(repaired.as_ref(), id)
    }

    /// Observes an agent in a repaired copy of the store, if one is given.
    fn observe_in(&mut self, repaired: Option<&Db>, id: &AgentId) -> Verdict<()> {
        let db = self.store.db();
        let reader = repaired.map_or_else(|| db.reader(), Db::reader);
        self.model
            .observe(&reader, id, &self.tool_world, self.now)?;
        if self.model.agent(id).is_none() {
            self.damage.remove(id);
        }
        self.check_followed(&reader, id)
    }

    /// Checks that a command runs only while a call waits for it, an active task represents it, or its batch is being
    /// stopped.
    fn check_followed(&self, reader: &Reader<'_>, id: &AgentId) -> Verdict<()> {
        let known = self.model.agent(id).filter(|known| !known.removing);
        for command in self.tool_world.commands.running_in(&home_of(id)) {
            let waits = known.is_some_and(|known| known.follows(&command.call));
            let is_followed = waits || stopped_batches(reader, id)?.contains(&command.call);
            ensure(
                is_followed,
                "a command runs only for a waiting call, an active task or a batch that is being stopped",
                || format!("{} of {id}", command.call),
            )?;
        }
        Ok(())
    }
}

/// Returns the calls of the batches that are being stopped.
pub(crate) fn stopped_batches(reader: &Reader<'_>, id: &AgentId) -> Verdict<BTreeSet<CallId>> {
    let effects = stored(reader.open_effects(id, 0, EFFECTS))?.into_iter();
    let calls = effects.filter_map(|record| match record.effect {
        Effect::StopBatch { call_id, .. } => Some(call_id),
        _ => None,
    });
    Ok(calls.collect())
}

/// Creates the kernel of a process that starts now.
pub(crate) fn kernel_of(plan: &Plan, started_at: Timestamp) -> Verdict<Kernel> {
    let parse_model = |text| {
        ModelRef::parse(text)
            .or_else(|error| violation("the simulation names a model", error.to_string()))
    };
    let models = ModelChain {
        fallbacks: vec![parse_model("sim/second")?],
        prices: budgets::prices(plan),
        ..ModelChain::only(parse_model("sim/model")?)
    };
    let facts = SharedConditions::new(HostConditions {
        started_at,
        delivery_targets: match plan.has(Fault::Delivery) {
            true => crate::delivery::targets().into(),
            false => std::sync::Arc::new([]),
        },
        spawn_depth: spawn_depth(plan),
        ..HostConditions::new(models)
    });
    Ok(Kernel::with_send_limit(facts, room_for_sends(plan.seed)))
}

/// Returns the most agents above a new one.
const fn spawn_depth(plan: &Plan) -> u32 {
    match plan.seed % 3 {
        0 => limits::SPAWN_DEPTH_MAX,
        _ => limits::SPAWN_DEPTH,
    }
}

/// Returns the time at which a run begins. Runs with timers often begin in the days before a clock change.
fn beginning(plan: &Plan) -> Timestamp {
    let mut dice = Rng::new(plan.seed ^ 0x0063_6c6f_636b);
    let change = dice.pick(&CLOCK_CHANGES).unwrap_or(BEGINNING);
    if plan.has(Fault::Timers) && dice.percent(70) {
        Timestamp::from_millis(change).minus_millis(dice.below(3 * 86_400_000))
    } else {
        Timestamp::from_millis(BEGINNING)
    }
}

/// Returns how many sends one commit hands over. In some runs very few, so that calls wait for verdicts over several
/// commits.
pub(crate) fn room_for_sends(seed: u64) -> usize {
    match seed % 5 {
        0 => 1,
        1 => 3,
        _ => limits::SENDS_PER_COMMIT,
    }
}
