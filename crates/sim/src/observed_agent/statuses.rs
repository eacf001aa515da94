//! Queue statuses of an agent's messages, compared with the contract at every observation.

use super::ObservedAgent;
use crate::coverage::Coverage;
use crate::message::Message;
use crate::violation::{Verdict, ensure, stored, violation};
use holon_domain::needs::Part;
use holon_domain::queue::{QueueStatus, QueueView};
use holon_domain::turn::TerminalReason;
use holon_store::{AgentNo, Reader};

impl ObservedAgent {
    /// Reads the status of every live message and checks that it moved as the contract allows.
    pub(super) fn read_statuses(
        &mut self,
        reader: &Reader<'_>,
        no: AgentNo,
        coverage: &mut Coverage,
    ) -> Verdict<()> {
        let unanswered = matches!(self.last_end, Some((TerminalReason::AgentStopped, 0)));
        let aborted_unanswered =
            matches!(self.last_end, Some((TerminalReason::OperatorAborted, 0)));
        let no_model_asked = matches!(self.last_end, Some((TerminalReason::ProviderFailed, 0)));
        let refused = matches!(
            self.last_end,
            Some((TerminalReason::ContextLengthExceeded, 0))
        );
        let open = self.record.open_turn.as_ref().map(|turn| turn.message_seq);
        let live: Vec<u64> = self.live.iter().copied().collect();
        for seq in live {
            let to = self.status(reader, no, seq)?;
            let Some(message) = self.messages.get_mut(&seq) else {
                continue;
            };
            let from = message.status;
            message.status = to;
            let in_vain = message.is_result() && no_model_asked && from == QueueStatus::Dequeued;
            let put_back = message.is_result() && unanswered && from == QueueStatus::Dequeued;
            let aborted =
                message.is_result() && aborted_unanswered && from == QueueStatus::Dequeued;
            let fits = match to {
                QueueStatus::Queued if put_back => message.turn.take() == Some(seq),
                QueueStatus::Held if in_vain || aborted => message.turn.take() == Some(seq),
                QueueStatus::Held => {
                    message.is_result()
                        && message.turn.is_none()
                        && matches!(from, QueueStatus::Queued | QueueStatus::Held)
                }
                QueueStatus::Queued => from == QueueStatus::Queued && message.turn.is_none(),
                QueueStatus::Dequeued => open == Some(seq) && from != QueueStatus::Held,
                QueueStatus::Processed => {
                    let timer = message.timer_id.as_ref();
                    let is_cancelled = timer.is_some_and(|id| self.cancelled_timers.contains(id));
                    message.turn == Some(seq) || !message.for_a_model || is_cancelled
                }
                QueueStatus::Aborted if from == QueueStatus::Held => no_model_asked || refused,
                QueueStatus::Aborted => message.turn == Some(seq) && !put_back && !aborted,
                QueueStatus::Interjected => {
                    message.may_join() && message.turn.is_some_and(|turn| turn != seq)
                }
                QueueStatus::Dropped => message.turn == Some(seq) && (no_model_asked || refused),
            };
            match (from, to) {
                (QueueStatus::Dequeued, QueueStatus::Queued) => coverage.count("result:put_back"),
                (QueueStatus::Dequeued, QueueStatus::Held) => coverage.count("result:in_vain"),
                (QueueStatus::Queued, QueueStatus::Held) => coverage.count("result:held"),
                (QueueStatus::Held, QueueStatus::Interjected) => {
                    coverage.count("result:told_later")
                }
                (QueueStatus::Held, QueueStatus::Aborted) => coverage.count("result:given_up"),
                _ => {}
            }
            ensure(
                fits,
                "a message is pending, in a turn, or answered by one",
                || {
                    format!(
                        "{seq} went from {from:?} to {to:?} in turn {:?}",
                        message.turn
                    )
                },
            )?;
            if to.is_final() {
                self.live.remove(&seq);
            }
        }
        Ok(())
    }

    pub(super) fn check_operators(&self, queue: &QueueView) -> Verdict<()> {
        let waiting = self.outstanding.interjections.iter();
        let owed =
            waiting.filter(|seq| self.messages.get(seq).is_some_and(Message::is_owed_outcome));
        let owed = owed.take(QueueView::OPERATORS_COUNTED).count() as u64;
        ensure(
            queue.operators == Part::Loaded(owed),
            "the queue counts the operators who wait to be heard",
            || format!("{:?} instead of {owed}", queue.operators),
        )
    }

    fn status(&self, reader: &Reader<'_>, no: AgentNo, seq: u64) -> Verdict<QueueStatus> {
        if self.outstanding.queued.binary_search(&seq).is_ok() {
            return Ok(QueueStatus::Queued);
        }
        match stored(reader.message(no, seq))? {
            Some(entry) => Ok(entry.status),
            None => violation("no message is lost", format!("{seq}")),
        }
    }
}
