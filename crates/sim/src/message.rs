//! A message as the oracle remembers it.

use crate::ingress::SIM;
use crate::letter;
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
    /// Whether an agent sent it.
    pub(crate) of_an_agent: bool,
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
            of_an_agent: letter::sender(envelope).is_some(),
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

/// What only the agent itself caused: its follow-ups, what it sent itself, the ends of its rests and of its tasks.
fn is_self_caused(envelope: &MessageEnvelope) -> bool {
    let sender = letter::sender(envelope).map(|(from, _)| from);
    let to_itself = sender == Some(envelope.agent_id.as_str());
    to_itself || is_made_by_turn(envelope) || envelope.kind == MessageKind::TaskResult
}

/// What repeats the words of a turn: follow-ups and the ends of rests.
pub(crate) fn is_made_by_turn(envelope: &MessageEnvelope) -> bool {
    let own = matches!(&envelope.origin, Origin::System { subsystem } if subsystem != SIM);
    // A message between agents is worth what its sender's turn was, which is checked where it was sent.
    own && letter::sender(envelope).is_none()
        && matches!(
            envelope.kind,
            MessageKind::SystemTick | MessageKind::InternalFollowup
        )
}
