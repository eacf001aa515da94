//! The rules that look at everything known of an agent at once.

use crate::message::is_self_caused;
use crate::model::Known;
use crate::violation::{Verdict, ensure};
use holon_domain::agent::Lifecycle;
use holon_domain::authority::AuthorityClass;
use holon_domain::message::MessageEnvelope;
use holon_domain::queue::QueueStatus;

impl Known {
    /// What a turn makes never has more authority than what the turn answered.
    pub(crate) fn check_authority(&self, envelope: &MessageEnvelope) -> Verdict<()> {
        let made_by_turn = is_self_caused(envelope);
        let allowed = self
            .turn_authority
            .weaker(AuthorityClass::RuntimeInstruction);
        ensure(
            !made_by_turn || envelope.authority_class >= allowed,
            "what a turn makes has no more authority than the turn",
            || {
                format!(
                    "{:?} with {:?} out of a turn with {:?}",
                    envelope.kind, envelope.authority_class, self.turn_authority
                )
            },
        )
    }

    pub(crate) fn check_turns(&self) -> Verdict<()> {
        let open = self.turns_started > self.turns_ended;
        ensure(
            open == self.record.open_turn.is_some()
                && self.record.counters.turns == self.turns_started,
            "a turn is open from its start to its end",
            || format!("{} begun, {} ended", self.turns_started, self.turns_ended),
        )
    }

    /// The message a turn was opened for stood before everything that still waits; only the agent's own are paced.
    pub(crate) fn check_order(&self, opened: Option<u64>) -> Verdict<()> {
        let queued = &self.outstanding.queued;
        let place = |seq: u64| self.messages.get(&seq).map(|message| (message.rank, seq));
        let head = queued.iter().filter_map(|seq| place(*seq)).min();
        if let (Some(taken), Some(head)) = (opened.and_then(place), head) {
            ensure(taken < head, "the queue is worked off in order", || {
                format!("took {taken:?} while {head:?} waited")
            })?;
        }
        let paced = self.record.pace.is_some_and(|pace| pace.due.is_some());
        let own = head
            .and_then(|(_, seq)| self.messages.get(&seq))
            .is_none_or(|message| message.self_caused);
        ensure(
            own || !paced || self.record.lifecycle != Lifecycle::Runnable,
            "only what an agent asks itself is paced",
            || format!("{head:?} waits"),
        )
    }

    /// Operator messages without an outcome still wait or are being answered.
    pub(crate) fn check_settled(&self) -> Verdict<()> {
        let open = self.record.open_turn.as_ref().map(|turn| turn.message_seq);
        for (seq, message) in self.unsettled.iter().filter_map(|seq| {
            let message = self.messages.get(seq)?;
            Some((seq, message))
        }) {
            let waits = message.status == QueueStatus::Queued;
            let in_turn = message.turn.is_some() && message.turn == open;
            ensure(
                waits || in_turn,
                "a turn's end settles what it owes",
                || format!("{seq} is {:?} without an outcome", message.status),
            )?;
        }
        let early = open.and_then(|seq| self.messages.get(&seq)?.outcome.as_ref());
        ensure(
            early.is_none(),
            "nothing is settled before its turn ends",
            || format!("{early:?}"),
        )
    }
}
