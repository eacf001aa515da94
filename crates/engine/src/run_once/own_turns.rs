//! Tells the turns that answer the message of a run from the other turns of its agent.

use crate::request::AdmittedMessage;
use holon_domain::brief::BriefRecord;
use holon_domain::queue::MessageSeq;
use holon_domain::turn::OpenTurn;

/// The turns of an agent that belong to a run.
#[derive(Debug)]
pub(super) enum OwnTurns {
    /// The agent was made for the run.
    All,
    Of {
        admitted: AdmittedMessage,
        /// The turn that was judged last, and whether it belongs to the run.
        judged: Option<(u64, bool)>,
    },
}

/// The rows of an agent that tell whose turn it is, from one read.
#[derive(Debug, Default)]
pub(super) struct TurnRows {
    pub(super) open: Option<OpenTurn>,
    /// Brief that settled the message of the run.
    pub(super) outcome: Option<BriefRecord>,
}

impl OwnTurns {
    pub(super) const fn of_message(admitted: AdmittedMessage) -> Self {
        Self::Of {
            admitted,
            judged: None,
        }
    }

    /// Returns the position of the message whose turns they are. Absent if all turns are.
    pub(super) const fn message_seq(&self) -> Option<MessageSeq> {
        match self {
            Self::All => None,
            Self::Of { admitted, .. } => Some(admitted.message_seq),
        }
    }

    /// Returns the message if another turn is open before its own.
    pub(super) fn queued(&self, rows: &TurnRows) -> Option<AdmittedMessage> {
        let Self::Of { admitted, .. } = self else {
            return None;
        };
        let is_other = |open: &OpenTurn| open.message_seq != admitted.message_seq;
        (rows.outcome.is_none() && rows.open.as_ref().is_some_and(is_other))
            .then(|| admitted.clone())
    }

    /// Returns whether a turn belongs to the run, if no rows are needed to tell it.
    pub(super) const fn known(&self, turn_index: u64) -> Option<bool> {
        match self {
            Self::All => Some(true),
            Self::Of {
                judged: Some((index, is_own)),
                ..
            } if *index == turn_index => Some(*is_own),
            Self::Of { .. } => None,
        }
    }

    /// Judges a turn by rows that were read after it began.
    pub(super) fn judge(&mut self, turn_index: u64, rows: &TurnRows) -> bool {
        match self {
            Self::All => true,
            Self::Of { admitted, judged } => {
                let is_own = rows.is_of(admitted.message_seq, turn_index);
                *judged = Some((turn_index, is_own));
                is_own
            }
        }
    }
}

impl TurnRows {
    /// Returns true if a turn answers the message: it took the message from the queue, or it follows at once on the turn
    /// that did, because that one was woken before it could wait, and it answers no other operator.
    fn is_of(&self, seq: MessageSeq, turn_index: u64) -> bool {
        let open = self
            .open
            .as_ref()
            .filter(|open| open.turn_index == turn_index);
        if open.is_some_and(|open| open.message_seq == seq) {
            return true;
        }
        let Some(outcome) = &self.outcome else {
            return false;
        };
        let goes_on = outcome.is_wait_notice()
            && outcome.turn_index + 1 == turn_index
            && open.is_some_and(|open| open.owes.is_empty());
        outcome.turn_index == turn_index || goes_on
    }
}
