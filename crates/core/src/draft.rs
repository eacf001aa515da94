//! The draft of a decision: the agent as it becomes, and the facts so far.
//!
//! The only place where an agent's sequences advance, so that every number is given out once and in order. Parts of
//! the view that were not loaded are asked for here: the draft notes what it misses, and the decision is made again.

use crate::assess::{Next, Standing, assess, is_self_caused, signal};
use crate::input::{AgentView, HostFacts, Stamp};
use holon_domain::agent::{AgentRecord, AgentSettings, Lifecycle, StateSignal};
use holon_domain::attempt::AttemptRecord;
use holon_domain::decision::{BriefSeq, Decision, Fact};
use holon_domain::effect::{Effect, EffectId};
use holon_domain::event::{
    AgentStateChanged, ControlApplied, EffectOutcomeDropped, Event, SessionStateChanged,
};
use holon_domain::log::LogEntry;
use holon_domain::message::{MessageEnvelope, MessageKind};
use holon_domain::needs::{LoadedRows, Needs, Part};
use holon_domain::queue::{MessageSeq, QueueEntry, QueueStatus, QueueView, QueuedPrompt};
use holon_domain::send::AgentSend;
use holon_domain::task::TaskRecord;
use holon_domain::timer::{DueAction, DueId, DueTime, Pause};
use holon_domain::turn::LogSeq;
use holon_domain::{AgentId, Entropy, RunId, TaskId, Timestamp};
use std::cell::RefCell;
use std::collections::BTreeMap;

mod view;
mod work;

use work::WorkRows;

/// Inputs for other agents, each with its receiver, in order.
pub(crate) type Sends = Vec<(AgentId, AgentSend)>;

pub(crate) struct Draft<'a> {
    pub(crate) agent: AgentRecord,
    pub(crate) queue: QueueView,
    pub(crate) host: &'a HostFacts,
    pub(crate) now: Timestamp,
    pub(crate) entropy: &'a mut dyn Entropy,
    /// What clients were told last of the agent's state.
    before: StateSignal,
    queued_prompts: Part<Vec<QueuedPrompt>>,
    round: Part<(LogSeq, Option<LogEntry>)>,
    active_tasks: Part<Vec<TaskRecord>>,
    /// Tasks by name: as loaded, or as this decision wrote them.
    tasks: BTreeMap<TaskId, Option<TaskRecord>>,
    effects: BTreeMap<EffectId, Option<Effect>>,
    attempts: Part<Vec<AttemptRecord>>,
    /// The newest generation of the host, this decision's own included.
    newest_generation: Part<u64>,
    /// Work items, waits, timers and hints.
    work: WorkRows,
    facts: Vec<Fact>,
    sends: Sends,
    /// What was read and had not been loaded. Such a decision is not used.
    missing: RefCell<Needs>,
    /// The view of the queue no longer says what its head is; deciding goes on with a fresh view.
    queue_is_stale: bool,
    /// Whether this decision ended a turn.
    ended_turn: bool,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(
        view: AgentView,
        host: &'a HostFacts,
        now: Timestamp,
        entropy: &'a mut dyn Entropy,
    ) -> Self {
        let AgentView { agent, mut loaded } = view;
        let work = WorkRows::take(&mut loaded);
        let LoadedRows {
            queue,
            queued_prompts,
            round,
            active_tasks,
            tasks,
            effects,
            attempts,
            generation,
            ..
        } = loaded;
        let before = match &agent.unsignalled {
            Some(before) => before.clone(),
            None => signal(Standing::new(&agent, &queue)),
        };
        let tried = agent.open_turn.as_ref();
        let attempts = match tried.map_or(0, |turn| turn.failed_attempts) {
            0 => Part::Loaded(Vec::new()),
            _ => attempts,
        };
        Self {
            agent,
            before,
            queue,
            host,
            now,
            entropy,
            queued_prompts,
            round,
            active_tasks,
            tasks,
            effects,
            attempts,
            newest_generation: generation,
            work,
            facts: Vec::new(),
            sends: Vec::new(),
            missing: RefCell::default(),
            queue_is_stale: false,
            ended_turn: false,
        }
    }

    /// Notes that a turn has ended, so that what follows is a rest or the next turn.
    pub(crate) fn note_end_of_turn(&mut self) {
        self.ended_turn = true;
    }

    /// Whether a turn has ended since the last look. The answer is given once.
    pub(crate) fn take_end_of_turn(&mut self) -> bool {
        std::mem::take(&mut self.ended_turn)
    }

    /// The decision of a draft that has seen everything there is, as that of a new agent has.
    pub(crate) fn decide_alone(self) -> Decision {
        Decision {
            agent: self.agent,
            facts: self.facts,
            more: false,
        }
    }

    /// Where the agent stands as decided so far.
    pub(crate) fn standing(&self) -> Standing<'_> {
        Standing::new(&self.agent, &self.queue)
    }

    /// The decision and what it sends to other agents; or the rows that have to be loaded first.
    pub(crate) fn finish(mut self) -> Result<(Decision, Sends), Box<Needs>> {
        let goes_on = matches!(assess(self.standing()).next, Next::Take | Next::Tick(_));
        let more = self.queue_is_stale && goes_on;
        self.signal_change(more);
        let missing = self.missing.into_inner();
        if !missing.is_empty() {
            return Err(Box::new(missing));
        }
        let decision = Decision {
            agent: self.agent,
            facts: self.facts,
            more,
        };
        Ok((decision, self.sends))
    }

    /// Records what changed of the state that clients are told of. Where another decision follows in the same commit,
    /// that one does: what lies between is seen by nobody.
    fn signal_change(&mut self, more: bool) {
        let now = signal(self.standing());
        if more {
            self.agent.unsignalled = Some(self.before.clone());
            return;
        }
        self.agent.unsignalled = None;
        let (status, posture) = (now.status, now.posture);
        if (status, posture) != (self.before.status, self.before.posture) {
            self.event(Event::AgentStateChanged(AgentStateChanged {
                status,
                posture,
            }));
        }
        if now.run_id != self.before.run_id {
            self.event(Event::SessionStateChanged(SessionStateChanged {
                current_run_id: now.run_id,
            }));
        }
    }

    /// Whether a part was read that had not been loaded: nothing more needs to be decided on it.
    pub(crate) fn misses_something(&self) -> bool {
        !self.missing.borrow().is_empty()
    }

    /// Sends something to another agent, in this commit.
    pub(crate) fn send(&mut self, to: AgentId, sent: AgentSend) {
        self.sends.push((to, sent));
    }

    /// Moves the agent to another state of its life, and records that.
    pub(crate) fn apply_control(
        &mut self,
        action: &str,
        next: Lifecycle,
        aborted_run_id: Option<RunId>,
    ) {
        let previous = self.agent.lifecycle;
        self.agent.lifecycle = next;
        self.event(Event::ControlApplied(ControlApplied {
            action: action.to_owned(),
            previous,
            next,
            aborted_run_id,
        }));
    }

    pub(crate) fn event(&mut self, event: Event) {
        self.agent.counters.events += 1;
        let seq = self.agent.counters.events;
        self.facts.push(Fact::EventRecorded {
            seq,
            at: self.now,
            event,
        });
    }

    pub(crate) fn log(&mut self, turn_index: u64, entry: LogEntry) -> LogSeq {
        self.agent.counters.log += 1;
        let seq = self.agent.counters.log;
        self.facts.push(Fact::LogAppended {
            seq,
            turn_index,
            at: self.now,
            entry,
        });
        seq
    }

    pub(crate) fn next_message(&mut self) -> MessageSeq {
        self.agent.counters.messages += 1;
        self.agent.counters.messages
    }

    pub(crate) fn next_brief(&mut self) -> BriefSeq {
        self.agent.counters.briefs += 1;
        self.agent.counters.briefs
    }

    pub(crate) fn fact(&mut self, fact: Fact) {
        self.facts.push(fact);
    }

    /// Puts a message into the queue and into the view of it.
    pub(crate) fn queue_message(&mut self, entry: QueueEntry) {
        self.count_queued(&entry.envelope);
        if let Part::Loaded(head) = &mut self.queue.head {
            let outranks =
                |head: &QueueEntry| entry.envelope.priority.rank() < head.envelope.priority.rank();
            if head.as_ref().is_none_or(outranks) {
                *head = Some(entry.clone());
            }
        }
        self.facts.push(Fact::MessageAdmitted(entry));
    }

    fn count_queued(&mut self, message: &MessageEnvelope) {
        self.queue.pending += 1;
        self.queue.interjections += u64::from(message.may_interject());
        if let Part::Loaded(operators) = &mut self.queue.operators {
            *operators += u64::from(message.operator_interjects());
        }
        let own = u64::from(is_self_caused(message));
        self.agent.self_caused_queued = self.agent.self_caused_queued.saturating_add(own);
        let ticks = &mut self.agent.work.timer_ticks;
        *ticks = ticks.saturating_add(u32::from(message.kind == MessageKind::TimerTick));
    }

    /// Keeps a message for the next turn that runs, whoever begins it.
    pub(crate) fn hold_message(&mut self, entry: QueueEntry) {
        self.agent.held.push(entry.seq);
        self.facts.push(Fact::MessageAdmitted(entry));
    }

    /// Holds a message that was queued.
    pub(crate) fn hold_queued(&mut self, entry: &QueueEntry) {
        self.agent.held.push(entry.seq);
        self.unqueue(entry, QueueStatus::Held);
    }

    /// Holds the message of the turn that ends.
    pub(crate) fn hold(&mut self, seq: MessageSeq) {
        self.agent.held.push(seq);
        self.move_message(seq, QueueStatus::Dequeued, QueueStatus::Held);
    }

    /// Takes a message that a turn was told of out of the queue, or out of what is held.
    pub(crate) fn take_along(&mut self, entry: &QueueEntry, to: QueueStatus) {
        match self.agent.held.iter().position(|held| *held == entry.seq) {
            Some(position) => {
                self.agent.held.remove(position);
                self.move_message(entry.seq, QueueStatus::Held, to);
            }
            None => self.unqueue(entry, to),
        }
    }

    /// Puts a message into the queue that was held, so that it gets a turn of its own. One that is queued stays so.
    pub(crate) fn queue_held(&mut self, entry: &QueueEntry) {
        let Some(position) = self.agent.held.iter().position(|held| *held == entry.seq) else {
            return;
        };
        self.agent.held.remove(position);
        self.move_message(entry.seq, QueueStatus::Held, QueueStatus::Queued);
        self.count_queued(&entry.envelope);
        self.forget_head();
    }

    /// Takes a message out of the queue. Its head is then unknown.
    pub(crate) fn unqueue(&mut self, entry: &QueueEntry, to: QueueStatus) {
        self.move_message(entry.seq, QueueStatus::Queued, to);
        self.queue.pending = self.queue.pending.saturating_sub(1);
        self.queue.interjections = self
            .queue
            .interjections
            .saturating_sub(u64::from(entry.envelope.may_interject()));
        if let Part::Loaded(operators) = &mut self.queue.operators {
            *operators = operators.saturating_sub(u64::from(entry.envelope.operator_interjects()));
        }
        self.agent.self_caused_queued = self
            .agent
            .self_caused_queued
            .saturating_sub(u64::from(is_self_caused(&entry.envelope)));
        let ticks = &mut self.agent.work.timer_ticks;
        let own = u32::from(entry.envelope.kind == MessageKind::TimerTick);
        *ticks = ticks.saturating_sub(own);
        self.forget_head();
    }

    /// Puts the result of a task back into the queue: nobody has seen it yet.
    pub(crate) fn put_back(&mut self, seq: MessageSeq) {
        self.move_message(seq, QueueStatus::Dequeued, QueueStatus::Queued);
        self.queue.pending += 1;
        self.queue.interjections += 1;
        self.agent.self_caused_queued = self.agent.self_caused_queued.saturating_add(1);
        self.forget_head();
    }

    /// The queue has changed at its head: what is next only a fresh view can say.
    fn forget_head(&mut self) {
        self.queue_is_stale = self.queue.pending > 0;
        self.queue.head = if self.queue_is_stale {
            Part::Missing
        } else {
            Part::Loaded(None)
        };
    }

    pub(crate) fn queue_is_stale(&self) -> bool {
        self.queue_is_stale
    }

    pub(crate) fn move_message(&mut self, seq: MessageSeq, from: QueueStatus, to: QueueStatus) {
        self.facts.push(Fact::MessageMoved { seq, from, to });
    }

    pub(crate) fn open_effect(&mut self, effect: Effect) -> EffectId {
        let id = self.next_effect();
        let generation = self.agent.generation;
        self.facts.push(Fact::EffectOpened {
            id,
            generation,
            at: self.now,
            effect,
        });
        id
    }

    /// Opens an effect whose content a later part of this decision may read.
    pub(crate) fn open_known(&mut self, effect: Effect) -> EffectId {
        let id = self.open_effect(effect.clone());
        self.effects.insert(id, Some(effect));
        id
    }

    pub(crate) fn close_effect(&mut self, id: EffectId) {
        self.facts.push(Fact::EffectClosed { id });
    }

    /// Begins a pause that lasts from now until `at`.
    pub(crate) fn set_due(&mut self, at: Timestamp, due: DueAction) -> DueId {
        let pause = Pause {
            set_at: self.now,
            length_ms: at.millis_since(self.now),
        };
        self.set_pause(pause, due)
    }

    pub(crate) fn set_pause(&mut self, pause: Pause, due: DueAction) -> DueId {
        self.set_due_time(DueTime::Pause(pause), due)
    }

    /// Sets an entry of the due-queue for a pause or a slot on the wall.
    pub(crate) fn set_due_time(&mut self, time: DueTime, due: DueAction) -> DueId {
        let id = self.next_effect();
        self.facts.push(Fact::DueSet { id, time, due });
        id
    }

    pub(crate) fn clear_due(&mut self, id: DueId) {
        self.facts.push(Fact::DueCleared { id });
    }

    /// Keeps a failed attempt at its position in the round, from 1. One that is there already is replaced.
    pub(crate) fn keep_attempt(&mut self, n: usize, record: AttemptRecord) {
        let mut attempts = self.attempts();
        attempts.truncate(n - 1);
        attempts.push(record.clone());
        self.attempts = Part::Loaded(attempts);
        self.facts.push(Fact::AttemptKept {
            n: u32::try_from(n).unwrap_or(u32::MAX),
            record: Box::new(record),
        });
    }

    /// Lets go of the failed attempts of a round that is over.
    pub(crate) fn clear_attempts(&mut self) {
        self.attempts = Part::Loaded(Vec::new());
        self.facts.push(Fact::AttemptsCleared);
    }

    /// Changes the agent's settings, and has them written if that made a difference.
    pub(crate) fn change_settings(&mut self, change: impl FnOnce(&mut AgentSettings)) {
        let before = self.agent.settings.clone();
        change(&mut self.agent.settings);
        if self.agent.settings != before {
            let settings = Box::new(self.agent.settings.clone());
            self.facts.push(Fact::SettingsWritten(settings));
        }
    }

    /// Whether an outcome belongs to the effect that is waited for; a stale one is recorded.
    pub(crate) fn accept(&mut self, stamp: Stamp, awaited: Option<EffectId>) -> bool {
        let current = self.agent.generation;
        if stamp.generation == current && awaited == Some(stamp.effect) {
            self.close_effect(stamp.effect);
            return true;
        }
        self.event(Event::EffectOutcomeDropped(EffectOutcomeDropped {
            effect_id: stamp.effect,
            generation: stamp.generation,
            current_generation: current,
        }));
        false
    }

    /// The next number of the sequence that effects, due entries and sends share.
    pub(crate) fn next_effect(&mut self) -> u64 {
        self.agent.counters.effects += 1;
        self.agent.counters.effects
    }
}
