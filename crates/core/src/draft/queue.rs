//! The queue in a draft: every move of a message, with the counts in the agent's row and the view of the queue.

use super::Draft;
use crate::assess::is_self_caused;
use crate::planted::{Fault, is_planted};
use holon_domain::decision::Fact;
use holon_domain::message::{MessageEnvelope, MessageKind};
use holon_domain::needs::Part;
use holon_domain::queue::{MessageSeq, QueueEntry, QueueStatus};

impl Draft<'_> {
    /// Queues a message and updates the view of the queue.
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

    /// Holds a new message until the next turn, which receives it regardless of what began the turn.
    pub(crate) fn hold_message(&mut self, entry: QueueEntry) {
        self.agent.held.push(entry.seq);
        self.facts.push(Fact::MessageAdmitted(entry));
    }

    /// Moves a queued message to the held ones.
    pub(crate) fn hold_queued(&mut self, entry: &QueueEntry) {
        if is_planted(Fault::HeldResultDropped) {
            return self.unqueue(entry, QueueStatus::Processed);
        }
        self.agent.held.push(entry.seq);
        self.unqueue(entry, QueueStatus::Held);
    }

    /// Moves the message of the ending turn to the held ones.
    pub(crate) fn hold(&mut self, seq: MessageSeq) {
        self.agent.held.push(seq);
        self.move_message(seq, QueueStatus::Dequeued, QueueStatus::Held);
    }

    /// Moves a message that a turn received out of the queue, or out of the held ones.
    pub(crate) fn take_along(&mut self, entry: &QueueEntry, to: QueueStatus) {
        match self.agent.held.iter().position(|held| *held == entry.seq) {
            Some(position) => {
                self.agent.held.remove(position);
                self.move_message(entry.seq, QueueStatus::Held, to);
            }
            None => self.unqueue(entry, to),
        }
    }

    /// Queues a held message, so that it gets a turn of its own. A message that is already queued stays so.
    pub(crate) fn queue_held(&mut self, entry: &QueueEntry) {
        let Some(position) = self.agent.held.iter().position(|held| *held == entry.seq) else {
            return;
        };
        self.agent.held.remove(position);
        self.move_message(entry.seq, QueueStatus::Held, QueueStatus::Queued);
        self.count_queued(&entry.envelope);
        self.forget_head();
    }

    /// Removes a message from the queue. The head of the queue is unknown afterwards.
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

    /// Returns the result of a task to the queue, because no model has seen it yet.
    pub(crate) fn put_back(&mut self, seq: MessageSeq) {
        self.move_message(seq, QueueStatus::Dequeued, QueueStatus::Queued);
        self.queue.pending += 1;
        self.queue.interjections += 1;
        self.agent.self_caused_queued = self.agent.self_caused_queued.saturating_add(1);
        self.forget_head();
    }

    /// Marks the head of the queue as unknown: only a fresh view has the next message.
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
}
