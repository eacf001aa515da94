//! Inputs from one agent to another, inside the same transaction.
//!
//! A decision changes one agent only. To reach another it sends one of these; the kernel passes it to the receiver's
//! own decision and returns the verdict if the sender waits for one. A send is stored only if a commit had no room for
//! it, as part of a `Deliver` effect.

use crate::authority::AuthorityClass;
use crate::delegation::{ParentMessage, SpawnOrder};
use crate::id::{AgentId, MessageId, TaskId, WorkItemId};
use crate::message::Priority;
use serde::{Deserialize, Serialize};

/// Number of a send that waits for its verdict. Unique for its sender, like the number of an effect.
pub type SendId = u64;

/// One input from an agent to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "sent", rename_all = "snake_case")]
pub enum AgentSend {
    /// A message for the receiver's queue. The sender's call waits for the verdict.
    Message {
        /// Number under which the sender expects the verdict.
        send: SendId,
        /// Sending agent. The receiver sees it as the origin of the message.
        from: AgentId,
        text: String,
        /// Band in the receiver's queue. `interject` counts as `next` there.
        priority: Priority,
        /// Authority of the sender's turn. The message has no more.
        authority: AuthorityClass,
    },
    /// A private child asks for the attention of its supervising parent. The child waits for no verdict.
    Notification {
        from: AgentId,
        text: String,
        /// Authority of the child's turn. The message has no more.
        authority: AuthorityClass,
    },
    /// The receiver does not exist yet: it is made by this order and gets its first message. The sender's call waits for
    /// the verdict.
    Spawn {
        /// Number under which the sender expects the verdict.
        send: SendId,
        order: Box<SpawnOrder>,
    },
    /// A supervising parent writes to its child. The sender's call waits for the verdict.
    Followup {
        /// Number under which the sender expects the verdict.
        send: SendId,
        message: ParentMessage,
    },
    /// A child exists, or goes on after a restart. A parent that does not wait for it answers with a stop.
    ChildAttached {
        child: AgentId,
        task_id: TaskId,
        after_restart: bool,
    },
    /// A child agent ended, which ends the parent's task for it.
    ChildEnded { task_id: TaskId, end: ChildEnd },
    /// The receiver's supervisor was stopped, or does not need the receiver any more, so the receiver stops, too. A private
    /// child is archived.
    Stop,
    /// The receiver's supervisor is removed, so the receiver is removed, too.
    Remove,
    /// Reply to an earlier send; it goes back to the sender.
    Verdict { send: SendId, verdict: Verdict },
}

impl AgentSend {
    /// Returns the number under which the sender expects a verdict. `None` if it expects none.
    #[must_use]
    pub const fn awaits_verdict(&self) -> Option<SendId> {
        match self {
            Self::Message { send, .. } | Self::Spawn { send, .. } | Self::Followup { send, .. } => {
                Some(*send)
            }
            Self::Notification { .. }
            | Self::ChildAttached { .. }
            | Self::ChildEnded { .. }
            | Self::Stop
            | Self::Remove
            | Self::Verdict { .. } => None,
        }
    }
}

/// End of a child agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildEnd {
    /// True if the child finished its work.
    pub completed: bool,
    /// The child's report, or the reason for its failure.
    pub summary: String,
    /// Work item with the focus of the child, or that it picked last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// Files that patches of the child changed, the newest first. Empty in sends of earlier builds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_files: Vec<String>,
}

/// Reply of a receiver to a send.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    Accepted {
        /// Message in the receiver's queue. Absent if the send became none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message_id: Option<MessageId>,
    },
    /// The receiver refused the send; nothing changed there.
    Refused {
        code: String,
        /// Explanation for the sender's model.
        reason: String,
    },
}
