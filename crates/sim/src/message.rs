//! A message as the oracle remembers it.

use crate::ingress::SIM;
use holon_domain::authority::AuthorityClass;
use holon_domain::message::{MessageEnvelope, MessageKind, Origin};
use holon_domain::queue::QueueStatus;
use holon_domain::{BriefId, MessageId};

/// What of a message the rules speak of.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) id: MessageId,
    pub(crate) rank: u8,
    pub(crate) authority: AuthorityClass,
    kind: MessageKind,
    pub(crate) self_caused: bool,
    pub(crate) for_a_model: bool,
    pub(crate) status: QueueStatus,
    /// The opener of the turn it was answered in.
    pub(crate) turn: Option<u64>,
    pub(crate) outcome: Option<BriefId>,
}

impl Message {
    pub(crate) fn of(envelope: &MessageEnvelope) -> Self {
        let observes = matches!(
            envelope.kind,
            MessageKind::TaskStatus
                | MessageKind::Control
                | MessageKind::BriefAck
                | MessageKind::BriefResult
        );
        Self {
            id: envelope.id.clone(),
            rank: envelope.priority.rank(),
            authority: envelope.authority_class,
            kind: envelope.kind,
            self_caused: is_self_caused(envelope),
            for_a_model: !observes && envelope.body.is_contentful(),
            status: QueueStatus::Queued,
            turn: None,
            outcome: None,
        }
    }
}

impl Message {
    /// Whether it may enter the turn of another.
    pub(crate) fn joins(&self) -> bool {
        self.owes() || self.is_result()
    }

    /// Whether it is an operator's, who is owed an outcome.
    pub(crate) fn owes(&self) -> bool {
        self.kind == MessageKind::OperatorPrompt
    }

    /// Whether it tells the end of a task.
    pub(crate) fn is_result(&self) -> bool {
        self.kind == MessageKind::TaskResult
    }
}

/// What only the agent itself caused: its follow-ups, the ends of its rests and of its tasks.
fn is_self_caused(envelope: &MessageEnvelope) -> bool {
    is_made_by_turn(envelope) || envelope.kind == MessageKind::TaskResult
}

/// What repeats the words of a turn: follow-ups and the ends of rests.
pub(crate) fn is_made_by_turn(envelope: &MessageEnvelope) -> bool {
    let own = matches!(&envelope.origin, Origin::System { subsystem } if subsystem != SIM);
    own && matches!(
        envelope.kind,
        MessageKind::SystemTick | MessageKind::InternalFollowup
    )
}
