//! A model of the store: it keeps what decisions write, and panics on a write that no store could make.
//!
//! It knows none of the core's rules except those of the rows: dense positions, guarded moves, one outcome each, and
//! tasks that only move forward. `rows` writes them; this file reads them.

use crate::make;
use holon_core::import::{ImportedAgent, import};
use holon_core::input::NewAgent;
use holon_core::input::{Finding, ProbeResult};
use holon_core::invariant::{self, StoredRows, Violation};
use holon_core::lifecycle::GivenNumbers;
use holon_core::{
    AgentView, HostConditions, Input, Rejection, Reply, Stamp, Step, StepError, lifecycle, needs,
    step,
};
use holon_domain::agent::AgentRecord;
use holon_domain::attempt::AttemptRecord;
use holon_domain::block::{ToolCall, calls_of};
use holon_domain::brief::BriefRow;
use holon_domain::budget::{BudgetKey, BudgetMeter, BudgetReading, Reservation};
use holon_domain::decision::{Decision, Fact};
use holon_domain::delegation::{ChildFacts, TreeStanding};
use holon_domain::delivery::{DeliveryOutcome, DeliveryRecord};
use holon_domain::effect::{Effect, EffectRecord};
use holon_domain::event::Event;
use holon_domain::intent::HostAction;
use holon_domain::log::LogEntry;
use holon_domain::memory::{EpisodeRecord, WorkingMemoryState};
use holon_domain::model::ModelChain;
use holon_domain::needs::{LoadedRows, Needs, Part};
use holon_domain::previous_exit::PreviousExit;
use holon_domain::provider::LearnedLimits;
use holon_domain::queue::{QueueEntry, QueueStatus, QueueView, QueuedPrompt};
use holon_domain::send::AgentSend;
use holon_domain::task::TaskRecord;
use holon_domain::timer::{DueAction, DueTime, PlannedDue, TimerRecord};
use holon_domain::trigger::{TriggerRecord, WakeHint};
use holon_domain::turn::{CallPlace, TerminalReason};
use holon_domain::usage::UsageCharge;
use holon_domain::wait::WaitRecord;
use holon_domain::work_item::{DeliverySummaryRow, WorkItemRecord};
use holon_domain::workspace::Occupancy;
use holon_domain::{
    AgentId, CallId, DeliverySummaryId, Entropy, TaskId, Timestamp, WorkItemId, limits,
};
use std::collections::{BTreeMap, BTreeSet};

/// Seeded randomness without repeated draws.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) const fn new() -> Self {
        Self(0)
    }
}

impl Entropy for Dice {
    fn next(&mut self) -> u128 {
        self.0 += 1;
        let mixed = u128::from(self.0).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        mixed ^ (mixed >> 64)
    }
}

/// A message as the model store keeps it.
#[derive(Debug, Clone)]
pub(crate) struct StoredMessage {
    pub(crate) entry: QueueEntry,
    pub(crate) outcome: Option<u64>,
}

/// The result of an input.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) reply: Result<Reply, Rejection>,
    /// Facts of the input and of everything decided after it in the same commit.
    pub(crate) facts: Vec<Fact>,
}

#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) agent: AgentRecord,
    pub(crate) messages: BTreeMap<u64, StoredMessage>,
    pub(crate) effects: BTreeMap<u64, EffectRecord>,
    pub(crate) due: BTreeMap<u64, (DueTime, DueAction)>,
    pub(crate) log: Vec<(u64, LogEntry)>,
    pub(crate) events: Vec<Event>,
    pub(crate) briefs: Vec<BriefRow>,
    /// Active and ended tasks in the order they began.
    pub(crate) tasks: Vec<TaskRecord>,
    /// Failed attempts of the current round.
    pub(crate) attempts: Vec<AttemptRecord>,
    /// Calls whose commands were started.
    pub(crate) begun: BTreeSet<CallId>,
    /// Sends to other agents, in order.
    pub(crate) sends: Vec<(AgentId, AgentSend)>,
    pub(crate) learned: BTreeMap<String, LearnedLimits>,
    /// Charges of model calls, in order.
    pub(crate) charges: Vec<UsageCharge>,
    /// How far the budgets of the host are used up.
    pub(crate) meters: BTreeMap<BudgetKey, BudgetMeter>,
    /// Reservation of the open call.
    pub(crate) reserved: Option<Reservation>,
    pub(crate) items: BTreeMap<WorkItemId, WorkItemRecord>,
    pub(crate) summaries: BTreeMap<DeliverySummaryId, DeliverySummaryRow>,
    /// Active and ended waits in the order they were declared.
    pub(crate) waits: Vec<WaitRecord>,
    /// Active and ended timers in the order they were created.
    pub(crate) timers: Vec<TimerRecord>,
    pub(crate) hints: BTreeMap<String, WakeHint>,
    /// Deliveries by route and position, each with its end.
    pub(crate) deliveries: BTreeMap<(String, u64), (DeliveryRecord, Option<DeliveryOutcome>)>,
    /// External triggers, oldest first.
    pub(crate) triggers: Vec<TriggerRecord>,
    /// Place of the agent in its tree.
    pub(crate) tree: TreeStanding,
    /// What the agent is shown of its children.
    pub(crate) children: BTreeMap<AgentId, ChildFacts>,
    pub(crate) memory: WorkingMemoryState,
    /// Archived episodes, oldest first.
    pub(crate) episodes: Vec<EpisodeRecord>,
    /// Stored occupancy of the agent.
    pub(crate) occupancy: Option<Occupancy>,
    /// Newest generation that the host has given out.
    pub(crate) newest_generation: u64,
    pub(crate) now: Timestamp,
    pub(crate) host: HostConditions,
    dice: Dice,
}

impl World {
    /// Creates a world with one new agent, whose home is being checked.
    pub(crate) fn with(new: NewAgent) -> Self {
        let host = HostConditions::new(ModelChain::only(make::model("scripted/default")));
        let mut dice = Dice::new();
        let decision = lifecycle::create(new, &host, GivenNumbers::default(), make::T0, &mut dice);
        Self::after(decision, host, dice)
    }

    /// Creates a world with one agent that was made from an archive.
    pub(crate) fn imported(imported: ImportedAgent) -> Self {
        let host = HostConditions::new(ModelChain::only(make::model("scripted/default")));
        let mut dice = Dice::new();
        let decision = import(
            imported,
            &host,
            GivenNumbers::default(),
            make::T0,
            &mut dice,
        );
        Self::after(decision, host, dice)
    }

    fn after(decision: Decision, host: HostConditions, dice: Dice) -> Self {
        let Decision { agent, facts, .. } = decision;
        let mut world = Self {
            agent: agent.clone(),
            messages: BTreeMap::new(),
            effects: BTreeMap::new(),
            due: BTreeMap::new(),
            log: Vec::new(),
            events: Vec::new(),
            briefs: Vec::new(),
            tasks: Vec::new(),
            attempts: Vec::new(),
            begun: BTreeSet::new(),
            sends: Vec::new(),
            learned: BTreeMap::new(),
            charges: Vec::new(),
            meters: BTreeMap::new(),
            reserved: None,
            items: BTreeMap::new(),
            summaries: BTreeMap::new(),
            waits: Vec::new(),
            timers: Vec::new(),
            hints: BTreeMap::new(),
            deliveries: BTreeMap::new(),
            triggers: Vec::new(),
            tree: TreeStanding::default(),
            children: BTreeMap::new(),
            memory: WorkingMemoryState::default(),
            episodes: Vec::new(),
            occupancy: None,
            newest_generation: 0,
            now: make::T0,
            host,
            dice,
        };
        world.write(agent, &facts);
        world
    }

    pub(crate) fn queue(&self) -> QueueView {
        let queued: Vec<&QueueEntry> = self.in_status(QueueStatus::Queued);
        let head = queued
            .iter()
            .min_by_key(|entry| (entry.envelope.priority.rank(), entry.seq));
        QueueView {
            head: Part::Loaded(head.map(|entry| (*entry).clone())),
            pending: queued.len() as u64,
            interjections: queued
                .iter()
                .filter(|entry| entry.envelope.may_interject())
                .count() as u64,
            operators: Part::Loaded(
                queued
                    .iter()
                    .filter(|entry| entry.envelope.operator_interjects())
                    .take(QueueView::OPERATORS_COUNTED)
                    .count() as u64,
            ),
            soonest: Part::Loaded(self.soonest()),
        }
    }

    /// Returns the soonest due entries, as many as the store loads.
    fn soonest(&self) -> Vec<PlannedDue> {
        let entry = |(id, (time, action)): (&u64, &(DueTime, DueAction))| PlannedDue {
            id: *id,
            at: time.at(),
            action: action.clone(),
        };
        let mut soonest: Vec<PlannedDue> = self.due.iter().map(entry).collect();
        soonest.sort_by_key(|due| due.at);
        soonest.truncate(QueueView::SOONEST);
        soonest
    }

    pub(crate) fn in_status(&self, status: QueueStatus) -> Vec<&QueueEntry> {
        let all = self.messages.values().map(|kept| &kept.entry);
        all.filter(|entry| entry.status == status).collect()
    }

    /// Loads exactly the requested parts.
    fn load(&self, needs: &Needs) -> LoadedRows {
        let all = self.queue();
        let mut queue = QueueView::of_length(all.pending, all.interjections);
        if needs.queue_head {
            queue.head = all.head;
        }
        if needs.operators {
            queue.operators = all.operators;
        }
        if needs.soonest_due {
            queue.soonest = all.soonest;
        }
        let round = needs.round.map_or(Part::Missing, |seq| {
            let entry = self.log.get(seq as usize - 1);
            Part::Loaded((seq, entry.map(|(_, entry)| entry.clone())))
        });
        let active_tasks = if needs.active_tasks {
            Part::Loaded(self.active_tasks().cloned().collect())
        } else {
            Part::Missing
        };
        let task = |id: &TaskId| self.tasks.iter().find(|task| task.id == *id).cloned();
        let effect = |id: &u64| self.effects.get(id).map(|open| open.effect.clone());
        let queued_prompts = if needs.queued_prompts {
            let mut queued = self.in_status(QueueStatus::Queued);
            queued.sort_by_key(|entry| (entry.envelope.priority.rank(), entry.seq));
            let prompts = queued
                .into_iter()
                .filter(|entry| entry.envelope.owes_outcome());
            let prompt = |entry: &QueueEntry| QueuedPrompt {
                seq: entry.seq,
                id: entry.envelope.id.clone(),
                created_at: entry.envelope.created_at,
            };
            Part::Loaded(prompts.map(prompt).take(limits::QUEUED_PROMPTS).collect())
        } else {
            Part::Missing
        };
        LoadedRows {
            queue,
            queued_prompts,
            round,
            active_tasks,
            attempts: if needs.attempts {
                Part::Loaded(self.attempts.clone())
            } else {
                Part::Missing
            },
            tasks: needs
                .tasks
                .iter()
                .map(|id| (id.clone(), task(id)))
                .collect(),
            effects: needs.effects.iter().map(|id| (*id, effect(id))).collect(),
            generation: part(needs.generation, || self.newest_generation),
            meters: needs
                .meters
                .iter()
                .map(|key| {
                    let meter = self.meters.get(key).copied();
                    let reading = meter.map_or(BudgetReading::Absent, BudgetReading::Metered);
                    (key.clone(), reading)
                })
                .collect(),
            tree: part(needs.tree, || self.tree.clone()),
            children: needs
                .children
                .iter()
                .map(|id| (id.clone(), self.children.get(id).cloned().map(Box::new)))
                .collect(),
            memory: part(needs.memory, || Box::new(self.memory.clone())),
            ..self.load_work(needs)
        }
    }

    /// Decides as the kernel does: with the forecast needs, and again with the missing ones.
    fn decide(&self, input: &Input, dice: &mut Dice) -> Result<Step, Rejection> {
        self.decide_on(input, dice, &|_| {})
    }

    /// Decides on other rows than the stored ones.
    pub(crate) fn decide_on(
        &self,
        input: &Input,
        dice: &mut Dice,
        change: &dyn Fn(&mut LoadedRows),
    ) -> Result<Step, Rejection> {
        let mut wanted = needs(input, &self.agent);
        loop {
            let mut loaded = self.load(&wanted);
            change(&mut loaded);
            let view = AgentView {
                agent: self.agent.clone(),
                loaded,
            };
            match step(view, input, &self.host, self.now, dice) {
                Ok(step) => return Ok(step),
                Err(StepError::Rejected(rejection)) => return Err(rejection),
                Err(StepError::NeedsMore(more)) => {
                    let before = wanted.clone();
                    wanted.extend(*more);
                    assert_ne!(before, wanted, "what was asked for is not asked for again");
                }
            }
        }
    }

    /// Returns a call of the log and the shell's action for it.
    pub(crate) fn call_at(
        &self,
        round_entry: u64,
        call_index: usize,
    ) -> (ToolCall, Option<HostAction>) {
        let (
            _,
            LogEntry::AssistantRound {
                blocks, intents, ..
            },
        ) = &self.log[round_entry as usize - 1]
        else {
            panic!("entry {round_entry} is a round");
        };
        let call = calls_of(blocks).nth(call_index).expect("a call");
        let place = CallPlace {
            round_entry,
            call_index,
        };
        let intent = intents[call_index].as_ref().ok();
        let action = intent.and_then(|intent| intent.action(place));
        (call.clone(), action)
    }

    /// Returns the active tasks.
    pub(crate) fn active_tasks(&self) -> impl Iterator<Item = &TaskRecord> {
        self.tasks.iter().filter(|task| !task.status.is_terminal())
    }

    /// Sends an input and continues until the queue has nothing more to offer, as one commit does.
    #[allow(
        clippy::needless_pass_by_value,
        reason = "inputs are made where they are sent"
    )]
    pub(crate) fn send(&mut self, input: Input) -> Outcome {
        let (mut sent, mut more) = self.send_once(&input);
        let mut steps = 0;
        while more {
            let (next, still) = self.send_once(&Input::Continue);
            sent.facts.extend(next.facts);
            more = still;
            steps += 1;
            assert!(steps < 10_000, "deciding does not come to rest");
        }
        sent
    }

    /// Sends an input and takes one step only. Returns true with it if more is to be decided.
    pub(crate) fn send_once(&mut self, input: &Input) -> (Outcome, bool) {
        let mut again = self.dice.clone();
        let mut dice = self.dice.clone();
        let decided = self.decide(input, &mut dice);
        let repeated = self.decide(input, &mut again);
        self.dice = dice;
        match (decided, repeated) {
            (Ok(first), Ok(second)) => {
                assert_eq!(
                    first.decision, second.decision,
                    "the same input decides alike"
                );
                let Decision { agent, facts, more } = first.decision;
                self.write(agent, &facts);
                self.sends.extend(first.sends);
                let reply = Ok(first.reply);
                (Outcome { reply, facts }, more)
            }
            (Err(refused), Err(_)) => {
                let (reply, facts) = (Err(refused), Vec::new());
                (Outcome { reply, facts }, false)
            }
            (first, _) => panic!("the same input was refused once only: {first:?}"),
        }
    }

    /// Checks the rows against the core's invariants.
    pub(crate) fn violations(&self) -> Vec<Violation> {
        let dequeued = self.in_status(QueueStatus::Dequeued);
        let held = self.in_status(QueueStatus::Held);
        let stored = StoredRows {
            effects: self.effects.keys().copied().collect(),
            due: self.due.keys().copied().collect(),
            tasks: self.active_tasks().cloned().collect(),
            dequeued: dequeued.iter().map(|entry| entry.seq).collect(),
            held: held.iter().map(|entry| entry.seq).collect(),
            attempts: u32::try_from(self.attempts.len()).expect("few"),
            work: self.stored_work(),
            occupancy: self.occupancy.clone(),
        };
        invariant::check(&self.agent, &self.queue(), &stored)
    }

    /// Returns the open effect of the turn or the home; there is at most one.
    pub(crate) fn effect(&self) -> Option<&EffectRecord> {
        let of_another = |open: &EffectRecord| {
            matches!(
                open.effect,
                Effect::StartTask { .. }
                    | Effect::WatchTask { .. }
                    | Effect::StopTask { .. }
                    | Effect::FinishPatch { .. }
                    | Effect::StopBatch { .. }
                    | Effect::CleanWorktree { .. }
                    | Effect::SubmitDelivery { .. }
            )
        };
        self.effects.values().find(|open| !of_another(open))
    }

    /// Returns the open effects that finish patches of cancelled turns.
    pub(crate) fn patches(&self) -> Vec<&EffectRecord> {
        let is_one = |open: &&EffectRecord| matches!(open.effect, Effect::FinishPatch { .. });
        self.effects.values().filter(is_one).collect()
    }

    /// Returns the open effects that stop batches of cancelled turns.
    pub(crate) fn batches(&self) -> Vec<&EffectRecord> {
        let is_one = |open: &&EffectRecord| matches!(open.effect, Effect::StopBatch { .. });
        self.effects.values().filter(is_one).collect()
    }

    /// Returns the stamp of the open effect.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        self.effect().map(stamp_of)
    }

    /// Returns the effect that watches or stops a task.
    pub(crate) fn following(&self, task: &TaskRecord) -> Option<&EffectRecord> {
        self.effects.get(&task.effect?)
    }

    /// Builds the input of the first due entry.
    pub(crate) fn first_due(&self) -> Option<Input> {
        let (id, (time, due)) = self.due.iter().min_by_key(|(_, (time, _))| time.at())?;
        Some(Input::DueCame {
            id: *id,
            planned_at: time.at(),
            due: due.clone(),
        })
    }

    /// Moves the clock to the first due entry and sends its input.
    pub(crate) fn let_due_come(&mut self) -> Outcome {
        let input = self.first_due().expect("something is due");
        if let Input::DueCame { planned_at, .. } = &input {
            self.now = self.now.max(*planned_at);
        }
        self.send(input)
    }

    pub(crate) fn advance(&mut self, millis: u64) {
        self.now = self.now.plus_millis(millis);
    }

    /// Recovers as a new process.
    pub(crate) fn recover(&mut self, clean_exit: bool) -> Outcome {
        self.send(Input::Recover {
            exit: PreviousExit::of(clean_exit),
            proven: None,
            found: Vec::new(),
        })
    }

    /// Recovers after an unclean exit with this probe of the running call.
    pub(crate) fn recover_finding(&mut self, found: ProbeResult) -> Outcome {
        let effect = self.effect().expect("something is open").effect.clone();
        self.send(Input::Recover {
            exit: PreviousExit::Unclean,
            proven: None,
            found: vec![Finding { effect, found }],
        })
    }

    /// Recovers after an unconfirmed commit.
    pub(crate) fn take_up(&mut self) -> Outcome {
        self.send(Input::TakeUp)
    }

    /// Returns the queued messages that may join an open turn.
    pub(crate) fn interjections(&self) -> Vec<QueueEntry> {
        let queued = self.in_status(QueueStatus::Queued).into_iter();
        let held = self.in_status(QueueStatus::Held);
        queued
            .filter(|entry| entry.envelope.may_interject())
            .chain(held)
            .cloned()
            .collect()
    }

    /// Returns the reason of the last turn's end.
    pub(crate) fn ended_as(&self) -> Option<TerminalReason> {
        self.agent.last_turn.as_ref().map(|end| end.reason)
    }

    /// Returns the kinds of the events from position `from` on.
    pub(crate) fn event_kinds(&self, from: usize) -> Vec<&str> {
        self.events.iter().skip(from).map(Event::kind).collect()
    }

    /// Returns the results of the calls in the log, in order: `ok` or the kind of the error.
    pub(crate) fn results(&self) -> Vec<String> {
        let results = self.log.iter().filter_map(|(_, entry)| match entry {
            LogEntry::ToolResult { envelope, .. } => Some(
                envelope
                    .error()
                    .map_or_else(|| "ok".to_owned(), |error| error.kind.to_string()),
            ),
            _ => None,
        });
        results.collect()
    }
}

/// Loads a part if it was requested.
pub(crate) fn part<T>(asked: bool, load: impl FnOnce() -> T) -> Part<T> {
    if asked {
        Part::Loaded(load())
    } else {
        Part::Missing
    }
}

pub(crate) fn stamp_of(record: &EffectRecord) -> Stamp {
    Stamp {
        effect: record.id,
        generation: record.generation,
    }
}
