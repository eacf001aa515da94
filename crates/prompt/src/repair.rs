//! Rules for a turn by which the runtime goes on with the work of a turn that failed.
//!
//! They narrow what the agent may start on its own. A turn that an operator, an event or a timer began has other rules,
//! and so has a turn for another work item. A provider that did not answer leaves nothing that an agent could repair.

use crate::candidate::Candidate;
use crate::context;
use holon_domain::agent::FailedTurn;
use holon_domain::message::{MessageEnvelope, MessageKind};
use holon_domain::prompt_plan::BlockSource;
use holon_domain::turn::TerminalReason;

/// Returns the failure that a turn repairs. `None` if its message came from elsewhere or is about other work, or if the
/// turn before did not fail.
#[must_use]
pub fn repaired_failure(
    message: &MessageEnvelope,
    failed: Option<&FailedTurn>,
) -> Option<TerminalReason> {
    let failed = failed?;
    let is_repair = goes_on_by_itself(message)
        && context::event_turn(message).is_none()
        && is_about(message, failed)
        && why(failed.reason).is_some();
    is_repair.then_some(failed.reason)
}

/// Returns true if a message is about the work item of a failed turn, or if that turn itself sent it.
fn is_about(message: &MessageEnvelope, failed: &FailedTurn) -> bool {
    let same_item = message.work_item_id.is_some() && message.work_item_id == failed.work_item_id;
    same_item || message.causation_id.as_deref() == Some(failed.message_id.as_str())
}

/// Renders the rules; `None` for an end that needs no repair.
pub(crate) fn candidate(reason: TerminalReason) -> Option<Candidate<'static>> {
    let text = format!(
        "# This turn\n\n\
         The turn before this one failed: {}. This turn is for nothing else than getting over that.\n\
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

/// Returns true for a message by which the runtime or the agent itself goes on with its work. The tick of a timer
/// begins a job of its own.
const fn goes_on_by_itself(message: &MessageEnvelope) -> bool {
    match message.kind {
        MessageKind::SystemTick | MessageKind::InternalFollowup => true,
        MessageKind::OperatorPrompt
        | MessageKind::TimerTick
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
