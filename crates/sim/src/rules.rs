//! Rules that compare several parts of an agent's record: resumptions, order, authority and outcomes.

use crate::message::{Message, is_made_by_turn};
use crate::observed_agent::ObservedAgent;
use crate::violation::{Verdict, ensure, stored, violation};
use holon_core::input::{Finding, ProbeResult};
use holon_domain::CallId;
use holon_domain::agent::Lifecycle;
use holon_domain::authority::AuthorityClass;
use holon_domain::brief::{BriefKind, BriefRecord};
use holon_domain::effect::Effect;
use holon_domain::message::MessageEnvelope;
use holon_domain::queue::QueueStatus;
use holon_domain::turn::Phase;
use holon_store::{AgentNo, Reader};

/// Expected continuation of a turn whose process died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Resumption {
    /// The turn with this index asks its model again.
    GoesOn(u64),
    /// The host died with the turn too often: it is set aside.
    SetAside(u64),
    /// Its call is performed again and finds what it started.
    TakenUp(CallId),
    /// The host died with its call too often: the call is closed.
    LetGo(CallId),
    /// The host died too often while its command ran: the command continues as a task, and the turn continues.
    Promoted(u64, CallId),
}

/// Unclean exits in a row without a new log entry, counted by what the next process found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ResumptionCounts {
    pub(crate) log_end: u64,
    nothing: u32,
    alive: u32,
    ended: u32,
}

impl ObservedAgent {
    /// Counts an unclean exit without a new log entry, and returns the expected continuation.
    pub(crate) fn resumption(&mut self, found: Option<&[Finding]>) -> Option<Resumption> {
        if self.removing || self.record.is_removed_with_process() {
            return None;
        }
        let turn = self.record.open_turn.as_ref()?;
        let index = turn.turn_index;
        let call = match turn.phase {
            // A patch is not applied again: its outcome is proven or unknown.
            Phase::RunningTool { .. } => {
                let call = self.log.in_hand().filter(|call| call.name != "ApplyPatch");
                Some(call?.id.clone())
            }
            Phase::CallingModel { .. } => None,
            Phase::BackingOff { .. } | Phase::Suspended { .. } | Phase::Sending { .. } => {
                return None;
            }
        };
        let goes_on = || match &call {
            None => Resumption::GoesOn(index),
            Some(call) => Resumption::TakenUp(call.clone()),
        };
        let Some(found) = found else {
            return Some(goes_on());
        };
        let of_call = |finding: &&Finding| matches!(finding.effect, Effect::RunTool { .. });
        // A recovery that is sent again names the call that the first one closed.
        let of_call = found.iter().find(of_call).filter(|_| call.is_some());
        let of_call = of_call.map(|finding| &finding.found);
        let end = self.record.counters.log;
        if self.resumes.log_end != end {
            self.resumes = ResumptionCounts {
                log_end: end,
                ..ResumptionCounts::default()
            };
        }
        let counts = &mut self.resumes;
        if of_call != Some(&ProbeResult::Ended) {
            counts.ended = 0;
        }
        let count = match of_call {
            Some(ProbeResult::Alive { .. }) => &mut counts.alive,
            Some(ProbeResult::Ended) => &mut counts.ended,
            Some(ProbeResult::Nothing) | None => &mut counts.nothing,
        };
        *count += 1;
        let third = *count >= 3;
        Some(match (of_call, &call) {
            _ if !third => goes_on(),
            (Some(ProbeResult::Alive { as_task: Some(_) }), Some(call)) => {
                Resumption::Promoted(index, call.clone())
            }
            (Some(ProbeResult::Alive { .. }), _) => goes_on(),
            (Some(ProbeResult::Ended), _) | (_, None) => Resumption::SetAside(index),
            (Some(ProbeResult::Nothing) | None, Some(call)) => Resumption::LetGo(call.clone()),
        })
    }

    /// Checks that the turn continued as expected.
    pub(crate) fn check_resumption(&self, expected: &Resumption) -> Verdict<()> {
        let open = self.record.open_turn.as_ref().map(|turn| turn.turn_index);
        let in_hand = self.log.in_hand().map(|call| &call.id);
        // A child whose task was cancelled meanwhile ends when it looks for its parent.
        let was_given_up = open.is_none() && self.record.archived_at.is_some();
        let holds = was_given_up
            || match expected {
                Resumption::GoesOn(turn) => open == Some(*turn),
                Resumption::SetAside(turn) => open != Some(*turn),
                Resumption::TakenUp(call) => in_hand == Some(call),
                Resumption::LetGo(call) => in_hand != Some(call),
                Resumption::Promoted(turn, call) => {
                    open == Some(*turn) && in_hand != Some(call) && self.tasks.runs(call)
                }
            };
        ensure(
            holds,
            "a message or call is set aside after three deaths without progress, and a command that runs never",
            || format!("{expected:?}, open {open:?}, in hand {in_hand:?}"),
        )
    }

    /// Checks that products of a turn have no more authority than its message.
    pub(crate) fn check_authority(&self, envelope: &MessageEnvelope) -> Verdict<()> {
        let made_by_turn = is_made_by_turn(envelope);
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

    /// Checks that the opening message of a turn was first in the queue; only self-caused messages are paced.
    ///
    /// One commit may bring several messages of agents and results of children, from `first_new` on: when the first of
    /// them opened a turn, the others were not queued yet.
    pub(crate) fn check_order(&self, opened: Option<u64>, first_new: u64) -> Verdict<()> {
        let queued = &self.outstanding.queued;
        let place = |seq: u64| self.messages.get(&seq).map(|message| (message.rank, seq));
        let came_later = |seq: u64| {
            let comes_from_agents =
                |message: &Message| message.of_an_agent || self.tasks.is_childs_report(&message.id);
            seq > first_new && self.messages.get(&seq).is_some_and(comes_from_agents)
        };
        let head = queued.iter().filter_map(|seq| place(*seq)).min();
        let before = queued.iter().filter(|seq| !came_later(**seq));
        let first = before.filter_map(|seq| place(*seq)).min();
        if let (Some(taken), Some(head)) = (opened.and_then(place), first) {
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

    /// Checks that operator messages without an outcome are queued or being answered.
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

    /// Reads the briefs since the last observation.
    pub(crate) fn read_briefs(&mut self, reader: &Reader<'_>, no: AgentNo) -> Verdict<()> {
        let fresh = self.record.counters.briefs - self.briefs;
        if fresh == 0 {
            return Ok(());
        }
        self.briefs = self.record.counters.briefs;
        let count = usize::try_from(fresh).unwrap_or(usize::MAX);
        for brief in stored(reader.briefs(no, count))? {
            self.record_brief(&brief, reader, no)?;
        }
        Ok(())
    }

    fn record_brief(
        &mut self,
        brief: &BriefRecord,
        reader: &Reader<'_>,
        no: AgentNo,
    ) -> Verdict<()> {
        let asks = brief.action_required.is_some();
        if brief.kind == BriefKind::Ack {
            return self.record_notice(brief);
        }
        let failed = brief.kind == BriefKind::Failure;
        // A turn without words of its own is answered by the report of the work it completed.
        let words = self.log.words();
        let reported = words.is_empty() && self.last_report.as_ref() == Some(&brief.text);
        let waits = words.is_empty() && brief.text.starts_with("No answer yet. Waiting for: ");
        if !failed && brief.work_item_id.is_some() && brief.settles.is_empty() {
            self.last_report = Some(brief.text.clone());
        }
        ensure(
            failed || asks || reported || waits || brief.text == self.log.words(),
            "a result says what the model said last",
            || format!("{:?} instead of {:?}", brief.text, self.log.words()),
        )?;
        for id in &brief.settles {
            let Some(seq) = self.by_id.get(id).copied() else {
                return violation("an outcome names messages that exist", id.to_string());
            };
            let first = self.unsettled.remove(&seq);
            ensure(first, "an operator message has one outcome", || {
                format!("{seq} {id} is settled again by {}", brief.id)
            })?;
            let told = stored(reader.outcome(no, seq))?.map(|told| told.id);
            ensure(
                told.as_ref() == Some(&brief.id),
                "a message leads to its outcome",
                || format!("{seq} leads to {told:?}, not {}", brief.id),
            )?;
            if let Some(message) = self.messages.get_mut(&seq) {
                message.outcome = Some(brief.id.clone());
            }
        }
        Ok(())
    }
}
