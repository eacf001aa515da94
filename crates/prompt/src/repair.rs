//! Rules for a turn that the runtime began after a turn that failed.
//!
//! They narrow what the agent may start on its own. A turn that an operator or an event began has other rules, and a
//! provider that did not answer leaves nothing that an agent could repair.

use crate::candidate::Candidate;
use crate::context;
use holon_domain::message::{MessageEnvelope, MessageKind};
use holon_domain::prompt_plan::BlockSource;
use holon_domain::turn::{TerminalReason, TerminalRecord};

/// Returns the failure that a turn repairs; `None` if its message came from elsewhere or the turn before did not fail.
#[must_use]
pub fn repaired_failure(
    message: &MessageEnvelope,
    last_turn: Option<&TerminalRecord>,
) -> Option<TerminalReason> {
    let reason = last_turn?.reason;
    let is_repair = goes_on_by_itself(message)
        && context::event_turn(message).is_none()
        && why(reason).is_some();
    is_repair.then_some(reason)
}

/// Renders the rules; `None` for an end that needs no repair.
pub(crate) fn candidate(reason: TerminalReason) -> Option<Candidate<'static>> {
    let text = format!(
        "# This turn\n\n\
         The turn before this one failed: {}. This turn repairs that and nothing else.\n\
         - Look at files, tasks and work items before you repeat a step: a part of it may have happened.\n\
         - Take the smallest step that lets the work go on, and check it.\n\
         - Start no other work. If you cannot repair it, set the blocker of the item and tell your operator why.",
        why(reason)?
    );
    Some(Candidate::pin(BlockSource::ConstrainedRepair, text))
}

const fn why(reason: TerminalReason) -> Option<&'static str> {
    match reason {
        TerminalReason::ContextLengthExceeded => {
            Some("its request was longer than the model takes; take smaller steps and print less")
        }
        TerminalReason::OutputLimit => {
            Some("the output limit cut off too many of its answers; write shorter ones")
        }
        TerminalReason::Poisoned => Some(
            "the host died again and again while it ran; do not repeat its last step unchanged",
        ),
        TerminalReason::RuntimeFault => {
            Some("the runtime gave it up because of a fault of its own")
        }
        TerminalReason::Finished
        | TerminalReason::Slept
        | TerminalReason::MaxRounds
        | TerminalReason::ProviderFailed
        | TerminalReason::OperatorAborted
        | TerminalReason::AgentStopped => None,
    }
}

/// Returns true for a message by which the runtime or the agent itself goes on with its work.
const fn goes_on_by_itself(message: &MessageEnvelope) -> bool {
    match message.kind {
        MessageKind::SystemTick | MessageKind::TimerTick | MessageKind::InternalFollowup => true,
        MessageKind::OperatorPrompt
        | MessageKind::ChannelEvent
        | MessageKind::WebhookEvent
        | MessageKind::CallbackEvent
        | MessageKind::TaskStatus
        | MessageKind::TaskResult
        | MessageKind::Control
        | MessageKind::BriefAck
        | MessageKind::BriefResult => false,
    }
}
