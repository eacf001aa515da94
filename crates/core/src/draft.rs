//! The draft of a decision: the agent as it becomes, and the facts so far.
//!
//! The only place where an agent's sequences advance, so that every number is given out once and in order.

use crate::assess::{Next, Standing, assess, is_self_caused};
use crate::input::{AgentView, HostFacts, RoundInHand, Stamp};
use holon_domain::agent::{AgentRecord, AgentSettings, Lifecycle};
use holon_domain::attempt::AttemptRecord;
use holon_domain::block::ToolCall;
use holon_domain::decision::{BriefSeq, Decision, Fact};
use holon_domain::effect::{Effect, EffectId};
use holon_domain::event::{ControlApplied, EffectOutcomeDropped, Event};
use holon_domain::intent::HostAction;
use holon_domain::log::LogEntry;
use holon_domain::queue::{MessageSeq, QueueEntry, QueueStatus, QueueView};
use holon_domain::task::TaskRecord;
use holon_domain::timer::{Due, DueId};
use holon_domain::turn::LogSeq;
use holon_domain::{Entropy, RunId, Timestamp};

pub(crate) struct Draft<'a> {
    pub(crate) agent: AgentRecord,
    pub(crate) queue: QueueView,
    pub(crate) round: Option<RoundInHand>,
    pub(crate) in_hand: Option<(ToolCall, HostAction)>,
    pub(crate) tasks: Vec<TaskRecord>,
    pub(crate) attempts: Vec<AttemptRecord>,
    pub(crate) host: &'a HostFacts,
    pub(crate) now: Timestamp,
    pub(crate) entropy: &'a mut dyn Entropy,
    facts: Vec<Fact>,
    /// The view of the queue no longer says what its head is; deciding goes on with a fresh view.
    queue_is_stale: bool,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(
        view: AgentView,
        host: &'a HostFacts,
        now: Timestamp,
        entropy: &'a mut dyn Entropy,
    ) -> Self {
        let AgentView {
            agent,
            queue,
            round,
            in_hand,
            tasks,
            attempts,
        } = view;
        Self {
            agent,
            queue,
            round,
            in_hand,
            tasks,
            attempts,
            host,
            now,
            entropy,
            facts: Vec::new(),
            queue_is_stale: false,
        }
    }

    pub(crate) fn finish(self) -> Decision {
        let takes = assess(self.standing()).next == Next::Take;
        let more = self.queue_is_stale && takes;
        Decision {
            agent: self.agent,
            facts: self.facts,
            more,
        }
    }

    /// Where the agent stands as decided so far.
    pub(crate) fn standing(&self) -> Standing<'_> {
        Standing::new(&self.agent, &self.queue)
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
        let outranks = self
            .queue
            .head
            .as_ref()
            .is_none_or(|head| entry.envelope.priority.rank() < head.envelope.priority.rank());
        self.queue.pending += 1;
        self.queue.interjections += u64::from(entry.envelope.may_interject());
        self.queue.operators += u64::from(entry.envelope.operator_interjects());
        self.agent.self_caused_queued += u64::from(is_self_caused(&entry.envelope));
        if outranks && !self.queue_is_stale {
            self.queue.head = Some(entry.clone());
        }
        self.facts.push(Fact::MessageAdmitted(entry));
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

    /// Sets aside whatever is held.
    pub(crate) fn give_up_held(&mut self) {
        for seq in std::mem::take(&mut self.agent.held) {
            self.move_message(seq, QueueStatus::Held, QueueStatus::Aborted);
        }
    }

    /// Takes a message out of the queue. Its head is then unknown.
    pub(crate) fn unqueue(&mut self, entry: &QueueEntry, to: QueueStatus) {
        self.move_message(entry.seq, QueueStatus::Queued, to);
        self.queue.pending = self.queue.pending.saturating_sub(1);
        self.queue.interjections = self
            .queue
            .interjections
            .saturating_sub(u64::from(entry.envelope.may_interject()));
        self.queue.operators = self
            .queue
            .operators
            .saturating_sub(u64::from(entry.envelope.operator_interjects()));
        self.agent.self_caused_queued = self
            .agent
            .self_caused_queued
            .saturating_sub(u64::from(is_self_caused(&entry.envelope)));
        self.queue.head = None;
        self.queue_is_stale = self.queue.pending > 0;
    }

    /// Puts the result of a task back into the queue: nobody has seen it yet.
    pub(crate) fn put_back(&mut self, seq: MessageSeq) {
        self.move_message(seq, QueueStatus::Dequeued, QueueStatus::Queued);
        self.queue.pending += 1;
        self.queue.interjections += 1;
        self.agent.self_caused_queued += 1;
        self.queue.head = None;
        self.queue_is_stale = true;
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

    pub(crate) fn close_effect(&mut self, id: EffectId) {
        self.facts.push(Fact::EffectClosed { id });
    }

    pub(crate) fn set_due(&mut self, at: Timestamp, due: Due) -> DueId {
        let id = self.next_effect();
        self.facts.push(Fact::DueSet { id, at, due });
        id
    }

    pub(crate) fn clear_due(&mut self, id: DueId) {
        self.facts.push(Fact::DueCleared { id });
    }

    /// Keeps a failed attempt at its position in the round, from 1. One that is there already is replaced.
    pub(crate) fn keep_attempt(&mut self, n: usize, record: AttemptRecord) {
        self.attempts.truncate(n - 1);
        self.attempts.push(record.clone());
        self.facts.push(Fact::AttemptKept {
            n: u32::try_from(n).unwrap_or(u32::MAX),
            record: Box::new(record),
        });
    }

    /// Lets go of the failed attempts of a round that is over.
    pub(crate) fn clear_attempts(&mut self) {
        self.attempts.clear();
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

    /// Writes a task's row, and into the view of them.
    pub(crate) fn write_task(&mut self, task: TaskRecord) {
        match self.tasks.iter_mut().find(|known| known.id == task.id) {
            Some(known) => known.clone_from(&task),
            None => self.tasks.push(task.clone()),
        }
        let active = self.tasks.iter().filter(|task| !task.status.is_terminal());
        self.agent.active_tasks = u32::try_from(active.count()).unwrap_or(u32::MAX);
        self.facts.push(Fact::TaskWritten(Box::new(task)));
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

    fn next_effect(&mut self) -> u64 {
        self.agent.counters.effects += 1;
        self.agent.counters.effects
    }
}
