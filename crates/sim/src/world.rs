//! The world around the kernel: what the shell, the disk and the clock are to it in a real host.
//!
//! Commits go through the real store in memory. Work of a commit is begun only if its process lives to see it; what
//! was in flight is lost with it. The oracle looks at every commit.

use crate::model::Model;
use crate::plan::{Fault, Plan};
use crate::provider::Mood;
use crate::rng::Rng;
use crate::tools::Bench;
use crate::trace::Trace;
use crate::violation::{Verdict, Violation, ensure, stored, violation};
use holon_core::input::NewAgent;
use holon_core::{HostFacts, Input, Reply};
use holon_domain::agent::Lifecycle;
use holon_domain::effect::{Effect, EffectRecord};
use holon_domain::model::ModelRef;
use holon_domain::queue::QueueEntry;
use holon_domain::tool::ToolEnvelope;
use holon_domain::{AgentId, CallId, Timestamp};
use holon_engine::kernel::{Handled, Kernel, Refusal, Work};
use holon_store::{Db, DueRow, WriteError};
use std::collections::BTreeSet;

/// When every run begins.
const BEGINNING: i64 = 1_800_000_000_000;

/// How far an effect got.
#[derive(Debug, Clone)]
pub(crate) enum Stage {
    /// Nothing happened yet.
    Begun,
    /// The request is out; it holds these queued messages.
    Asked(Vec<QueueEntry>),
    /// The command has run; nobody knows yet.
    Executed(ToolEnvelope),
}

/// An effect in the hands of the process.
#[derive(Debug, Clone)]
pub(crate) struct Flight {
    pub(crate) record: EffectRecord,
    pub(crate) stage: Stage,
}

/// What became of an input.
#[derive(Debug)]
pub(crate) enum Sent {
    /// It was handled and its sender lived to know.
    Handled(Reply),
    /// It was refused; nothing was written.
    Refused(Refusal),
    /// Its decision panicked; nothing was written.
    Panicked,
    /// The process died before or after its commit.
    Died,
    /// Its commit holds, but nobody was told and nothing of its work was begun.
    Unknown,
}

/// Everything there is.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) mood: Mood,
    pub(crate) dice: Rng,
    pub(crate) now: Timestamp,
    pub(crate) model: Model,
    pub(crate) bench: Bench,
    pub(crate) trace: Trace,
    pub(crate) flights: Vec<Flight>,
    /// Outcomes that will come again, or too late.
    pub(crate) late: Vec<(AgentId, Input)>,
    /// Times that have come and were not handed over yet.
    pub(crate) due: Vec<DueRow>,
    pub(crate) unfinished: Vec<AgentId>,
    pub(crate) going: Vec<AgentId>,
    pub(crate) crashes: u64,
    pub(crate) steps: u64,
    kernel: Kernel,
    pub(crate) db: Db,
    entropy: Rng,
    begun: BTreeSet<CallId>,
    /// Agents with an effect whose outcome was lost to a panic; only a boot mends that.
    pub(crate) orphans: BTreeSet<AgentId>,
    /// Agents with a commit nobody could be sure of, until that is cleared up.
    doubtful: BTreeSet<AgentId>,
    pub(crate) draining: bool,
}

impl World {
    /// An empty world.
    pub(crate) fn new(plan: Plan, trace: Trace) -> Verdict<Self> {
        let model = ModelRef::parse("sim/model")
            .or_else(|error| violation("the simulation names a model", error.to_string()))?;
        let facts = HostFacts {
            default_model: model,
        };
        Ok(Self {
            mood: Mood::Busy,
            dice: Rng::new(plan.seed),
            entropy: Rng::new(plan.seed ^ 0x656e_7472_6f70_79),
            now: Timestamp::from_millis(BEGINNING),
            model: Model::default(),
            bench: Bench::default(),
            trace,
            flights: Vec::new(),
            late: Vec::new(),
            due: Vec::new(),
            unfinished: Vec::new(),
            going: Vec::new(),
            crashes: 0,
            steps: 0,
            kernel: Kernel::new(facts),
            db: stored(Db::in_memory())?,
            begun: BTreeSet::new(),
            orphans: BTreeSet::new(),
            doubtful: BTreeSet::new(),
            draining: false,
            plan,
        })
    }

    /// A choice that is only open while trouble lasts.
    pub(crate) fn trouble(&mut self, fault: Fault, percent: u64) -> bool {
        self.mood == Mood::Busy && self.plan.has(fault) && self.dice.percent(percent)
    }

    pub(crate) fn create(&mut self, new: NewAgent) -> Verdict<()> {
        let id = new.identity.agent_id.clone();
        self.trace.note(|| format!("create {id}"));
        let (seed, now, kernel) = (self.entropy.bits(), self.now, self.kernel.clone());
        let made = self.db.write(|tx| {
            let mut entropy = Rng::new(seed);
            kernel.create(tx, new.clone(), now, &mut entropy)
        });
        let work = made.map_err(|error| refused_by_store(&error))?;
        self.dispatch(work)?;
        self.observe(&id)
    }

    /// Hands an input to the kernel, in a commit of its own.
    pub(crate) fn send(&mut self, id: &AgentId, input: &Input) -> Verdict<Sent> {
        if self.trouble(Fault::Crash, 1) {
            self.trace
                .note(|| "the process dies before the commit".to_owned());
            self.die()?;
            return Ok(Sent::Died);
        }
        let panics = !matches!(input, Input::Recover { .. } | Input::GiveUp { .. })
            && self.trouble(Fault::Panic, 3);
        let (seed, now, kernel) = (self.entropy.bits(), self.now, self.kernel.clone());
        let written = self.db.write(|tx| {
            let mut entropy = Rng::new(seed);
            let handled = kernel.handle(tx, id, input.clone(), now, &mut entropy)?;
            if panics {
                std::panic::resume_unwind(Box::new("the simulation asked for this"));
            }
            Ok(handled)
        });
        let handled = match written {
            Ok(Ok(handled)) => handled,
            Ok(Err(refusal)) => {
                self.trace.note(|| format!("  refused: {refusal:?}"));
                self.observe(id)?;
                return Ok(Sent::Refused(refusal));
            }
            Err(WriteError::Panicked { .. }) if panics => {
                self.trace.note(|| "  panicked".to_owned());
                self.observe(id)?;
                return Ok(Sent::Panicked);
            }
            Err(error) => return Err(refused_by_store(&error)),
        };
        self.observe(id)?;
        self.committed(id, handled)
    }

    fn committed(&mut self, id: &AgentId, handled: Handled) -> Verdict<Sent> {
        let Handled { reply, work } = handled;
        self.trace.note(|| describe(&reply, &work));
        if self.trouble(Fault::Crash, 1) {
            self.trace
                .note(|| "the process dies after the commit".to_owned());
            self.die()?;
            return Ok(Sent::Died);
        }
        if self.trouble(Fault::Unknown, 4) {
            self.trace
                .note(|| "nobody learns that the commit holds".to_owned());
            self.model.coverage.count("commit_unknown");
            self.doubtful.insert(id.clone());
            return Ok(Sent::Unknown);
        }
        if let Reply::Admitted {
            message_id,
            message_seq,
        } = &reply
        {
            self.model.acknowledged(id, message_id, *message_seq)?;
        }
        if reply == Reply::RowsMayGo {
            self.model.is_going(id);
            self.going.push(id.clone());
        }
        self.dispatch(work)?;
        self.check_flights(id)?;
        Ok(Sent::Handled(reply))
    }

    fn dispatch(&mut self, work: Work) -> Verdict<()> {
        for (agent_id, effect) in work.closed {
            let held =
                |flight: &Flight| flight.record.agent_id == agent_id && flight.record.id == effect;
            if let Some(at) = self.flights.iter().position(held) {
                let flight = self.flights.remove(at);
                // A cancelled effect may have been too far along to stop.
                if self.trouble(Fault::Stale, 50) {
                    self.finish_too_late(flight)?;
                }
            }
        }
        self.unfinished.extend(work.unfinished);
        if self.draining {
            return Ok(());
        }
        for record in work.effects {
            self.begin(record)?;
        }
        Ok(())
    }

    fn begin(&mut self, record: EffectRecord) -> Verdict<()> {
        if let Effect::RunTool { call, .. } = &record.effect {
            let first = self.begun.insert(call.id.clone());
            ensure(first, "a tool call is begun at most once", || {
                call.id.to_string()
            })?;
        }
        self.flights.push(Flight {
            record,
            stage: Stage::Begun,
        });
        Ok(())
    }

    /// Exactly the open effects are in somebody's hands: none is forgotten, none is done for nobody.
    pub(crate) fn check_flights(&self, id: &AgentId) -> Verdict<()> {
        let Some(known) = self.model.agent(id).filter(|known| !known.removing) else {
            return Ok(());
        };
        if self.draining || self.orphans.contains(id) || self.doubtful.contains(id) {
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

    /// As the shell does after a commit it could not be sure of: what is open and in nobody's hands is recovered, and
    /// what is in hand for nothing ends by itself.
    pub(crate) fn clear_up(&mut self, id: &AgentId) -> Verdict<()> {
        self.doubtful.remove(id);
        let reader = self.db.reader();
        let Some((no, agent)) = stored(reader.agent(id))? else {
            return Ok(());
        };
        let open = stored(reader.outstanding(no))?.effects;
        let gone_home =
            open.is_empty() && agent.lifecycle == Lifecycle::Deleting && !self.going.contains(id);
        let mine = |flight: &Flight| flight.record.agent_id == *id;
        let stale = |flight: &Flight| mine(flight) && !open.contains(&flight.record.id);
        while let Some(at) = self.flights.iter().position(stale) {
            let flight = self.flights.remove(at);
            self.finish_too_late(flight)?;
        }
        let held = open.iter().all(|effect| {
            let held = |flight: &Flight| mine(flight) && flight.record.id == *effect;
            self.flights.iter().any(held)
        });
        if held && !gone_home {
            return Ok(());
        }
        let all = self.db.write(|tx| tx.open_effects());
        let all = all.map_err(|error| refused_by_store(&error))?;
        let left = all.into_iter().filter(|effect| effect.agent_id == *id);
        self.recover(id, true, left.collect())
    }

    pub(crate) fn observe(&mut self, id: &AgentId) -> Verdict<()> {
        let reader = self.db.reader();
        self.model.observe(&reader, id, &self.bench, self.now)
    }

    /// Ends the process without a word and starts another on what was committed.
    pub(crate) fn die(&mut self) -> Verdict<()> {
        self.crashes += 1;
        self.model.coverage.count("crash");
        self.start_over()?;
        self.boot(false)
    }

    /// Takes the committed image into a new process; everything in memory is gone.
    pub(crate) fn start_over(&mut self) -> Verdict<()> {
        let image = stored(self.db.image())?;
        self.db = stored(Db::from_image(&image))?;
        self.flights.clear();
        self.due.clear();
        self.unfinished.clear();
        self.going.clear();
        self.orphans.clear();
        self.doubtful.clear();
        self.draining = false;
        Ok(())
    }

    /// What a host does before it admits anything. Dying in here begins it again.
    pub(crate) fn boot(&mut self, clean_exit: bool) -> Verdict<()> {
        let mut clean_exit = clean_exit;
        'boot: loop {
            let left = self
                .db
                .write(|tx| Ok((tx.agents_to_recover()?, tx.open_effects()?)));
            let (agents, effects) = left.map_err(|error| refused_by_store(&error))?;
            for id in agents {
                if self.trouble(Fault::Crash, 5) {
                    self.crashes += 1;
                    self.model.coverage.count("crash_in_recovery");
                    self.trace
                        .note(|| "the process dies in recovery".to_owned());
                    self.start_over()?;
                    clean_exit = false;
                    continue 'boot;
                }
                let open_effects: Vec<EffectRecord> = effects
                    .iter()
                    .filter(|effect| effect.agent_id == id)
                    .cloned()
                    .collect();
                self.recover(&id, clean_exit, open_effects)?;
            }
            return Ok(());
        }
    }

    fn recover(
        &mut self,
        id: &AgentId,
        clean_exit: bool,
        open_effects: Vec<EffectRecord>,
    ) -> Verdict<()> {
        self.trace.note(|| {
            format!(
                "{id} recover clean={clean_exit} {} open",
                open_effects.len()
            )
        });
        let input = Input::Recover {
            clean_exit,
            open_effects,
        };
        let mut handled = self.decide_recovery(id, &input)?;
        // A commit that holds and was not known to: the same recovery is sent again.
        if self.trouble(Fault::Unknown, 10) {
            self.model.coverage.count("recovered_twice");
            self.observe(id)?;
            handled = self.decide_recovery(id, &input)?;
        }
        self.trace.note(|| describe(&handled.reply, &handled.work));
        self.dispatch(handled.work)?;
        self.observe(id)?;
        self.check_flights(id)
    }
}

impl World {
    fn decide_recovery(&mut self, id: &AgentId, input: &Input) -> Verdict<Handled> {
        let (seed, now, kernel) = (self.entropy.bits(), self.now, self.kernel.clone());
        let written = self.db.write(|tx| {
            let mut entropy = Rng::new(seed);
            kernel.handle(tx, id, input.clone(), now, &mut entropy)
        });
        written
            .map_err(|error| refused_by_store(&error))?
            .or_else(|refusal| violation("recovery is never refused", format!("{refusal:?}")))
    }
}

/// No fault of the plan lets the store refuse a decision.
pub(crate) fn refused_by_store(error: &WriteError) -> Violation {
    Violation {
        rule: "decisions fit the stored rows".to_owned(),
        found: format!("{error:?}"),
    }
}

fn describe(reply: &Reply, work: &Work) -> String {
    let effects: Vec<String> = work
        .effects
        .iter()
        .map(|effect| format!("{}#{}", effect.effect.name(), effect.id))
        .collect();
    let reply = match reply {
        Reply::Admitted { message_seq, .. } => format!("admitted {message_seq}"),
        Reply::Done => "done".to_owned(),
        Reply::Unchanged => "unchanged".to_owned(),
        Reply::RowsMayGo => "rows may go".to_owned(),
    };
    let closed: Vec<u64> = work.closed.iter().map(|(_, id)| *id).collect();
    format!(
        "  {reply}; begin {effects:?}; closed {closed:?}; due {:?}",
        work.due
    )
}
