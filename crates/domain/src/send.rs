//! What one agent's decision gives another agent as an input, inside the same transaction.
//!
//! A decision changes one agent only. For another it can send one of these; the kernel hands it to the receiver's own
//! decision and tells the sender the verdict where the sender waits for one. Stored only when a commit had no room for
//! it, as part of a `Deliver` effect.

use crate::authority::AuthorityClass;
use crate::id::{AgentId, MessageId, TaskId};
use crate::message::Priority;
use serde::{Deserialize, Serialize};

/// Number of a send that waits for its verdict; unique for its sender, like an effect's number.
pub type SendId = u64;

/// One input for another agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "sent", rename_all = "snake_case")]
pub enum AgentSend {
    /// A message for the receiver's queue. The sender's call waits for the verdict.
    Message {
        /// Under which number the verdict is expected.
        send: SendId,
        /// The sending agent; the receiver sees it as the origin of the message.
        from: AgentId,
        /// What the receiver is told.
        text: String,
        /// Band in the receiver's queue; `interject` counts as `next` there.
        priority: Priority,
        /// Authority of the sender's turn; the message carries no more.
        authority: AuthorityClass,
    },
    /// A child agent came to its end, which ends the parent's task for it.
    ChildEnded {
        /// The parent's task.
        task_id: TaskId,
        /// How the child ended.
        end: ChildEnd,
    },
    /// The receiver is stopped with its supervisor.
    Stop,
    /// What became of an earlier send; goes back to its sender.
    Verdict {
        /// Which send.
        send: SendId,
        /// Accepted or refused.
        verdict: Verdict,
    },
}

impl AgentSend {
    /// The number under which the sender expects a verdict, if it waits for one.
    #[must_use]
    pub const fn awaits_verdict(&self) -> Option<SendId> {
        match self {
            Self::Message { send, .. } => Some(*send),
            Self::ChildEnded { .. } | Self::Stop | Self::Verdict { .. } => None,
        }
    }
}

/// How a child agent ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildEnd {
    /// Whether it did what it was asked to.
    pub completed: bool,
    /// What it says of its work, or why it failed.
    pub summary: String,
}

/// What became of a send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// The receiver took it.
    Accepted {
        /// The message it became in the receiver's queue, if it became one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<MessageId>,
    },
    /// The receiver did not take it; nothing changed there.
    Refused {
        /// Stable and machine-readable.
        code: String,
        /// Why, for the sender's model.
        reason: String,
    },
}
