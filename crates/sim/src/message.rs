//! The oracle's record of a message.

use crate::ingress::SIM;
use crate::letter;
use crate::work_rules::{Happening, subsystem};
use holon_domain::authority::AuthorityClass;
use holon_domain::message::{Cause, MessageEnvelope, MessageKind, Origin};
use holon_domain::queue::QueueStatus;
use holon_domain::{BriefId, MessageId, TimerId, WorkItemId};

/// The properties of a message that the rules refer to.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) id: MessageId,
    pub(crate) rank: u8,
    pub(crate) authority: AuthorityClass,
    kind: MessageKind,
    pub(crate) self_caused: bool,
    /// True if an agent sent it.
    pub(crate) of_an_agent: bool,
    pub(crate) for_a_model: bool,
    pub(crate) status: QueueStatus,
    /// Position of the message that opened the turn in which it was answered.
    pub(crate) turn: Option<u64>,
    pub(crate) outcome: Option<BriefId>,
    /// Timer whose tick it is.
    pub(crate) timer_id: Option<TimerId>,
    /// Work item that it is bound to.
    pub(crate) work_item_id: Option<WorkItemId>,
    /// What may end waits when the message comes or is taken up.
    pub(crate) happening: Option<Happening>,
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
            of_an_agent: letter::sending_agent(envelope).is_some(),
            for_a_model: !observes && envelope.body.is_contentful(),
            status: QueueStatus::Queued,
            turn: None,
            outcome: None,
            timer_id: match &envelope.origin {
                Origin::Timer { timer_id } => Some(timer_id.clone()),
                _ => None,
            },
            work_item_id: envelope.work_item_id.clone(),
            happening: Happening::of_message(envelope),
        }
    }
}

impl Message {
    /// Returns true if it may join the turn of another message.
    pub(crate) fn may_join(&self) -> bool {
        self.is_owed_outcome() || self.is_result()
    }

    /// Returns true if it is a tick of the runtime.
    pub(crate) fn is_tick(&self) -> bool {
        self.kind == MessageKind::SystemTick
    }

    /// Returns true if it is a follow-up of a turn.
    pub(crate) fn is_followup(&self) -> bool {
        self.kind == MessageKind::InternalFollowup
    }

    /// Returns true if it is an operator's message, which is owed an outcome.
    pub(crate) fn is_owed_outcome(&self) -> bool {
        self.kind == MessageKind::OperatorPrompt
    }

    /// Returns true if it reports the end of a task.
    pub(crate) fn is_result(&self) -> bool {
        self.kind == MessageKind::TaskResult
    }
}

/// Returns true if only the agent itself caused a message: follow-ups, messages to itself, ends of its rests and of its
/// tasks, and ticks of its own timers (`work_rules` checks which timers those are).
fn is_self_caused(envelope: &MessageEnvelope) -> bool {
    let sender = letter::sending_agent(envelope);
    let to_itself = sender == Some(envelope.agent_id.as_str());
    let of_runtime = is_of_runtime(envelope) && subsystem(envelope) != Some("wake_hint");
    let of_own_timer = envelope.kind == MessageKind::TimerTick && envelope.cause() == Cause::Itself;
    to_itself || of_runtime || of_own_timer || envelope.kind == MessageKind::TaskResult
}

/// Returns true if a message repeats the text of the last turn: follow-ups and ends of rests. Ticks about work repeat
/// the text of other turns.
pub(crate) fn is_made_by_turn(envelope: &MessageEnvelope) -> bool {
    let repeats = matches!(subsystem(envelope), Some("sleep_wait" | "tool_enqueue"));
    repeats && is_of_runtime(envelope)
}

/// Returns true if the runtime sent a message of its own accord: a follow-up or a tick.
fn is_of_runtime(envelope: &MessageEnvelope) -> bool {
    let own = matches!(&envelope.origin, Origin::System { subsystem } if subsystem != SIM);
    // A message between agents has the authority of its sender's turn, which is checked where it was sent.
    own && letter::sending_agent(envelope).is_none()
        && matches!(
            envelope.kind,
            MessageKind::SystemTick | MessageKind::InternalFollowup
        )
}
