//! The cause of a message: the party that brought it about.
//!
//! Owns the rule for messages that come through an interface, and the one for messages of builds that stored no cause.

use super::{MessageKind, Origin};
use serde::{Deserialize, Serialize};

/// Party that caused a message. Determined once, at admission, and stored with the message.
///
/// Pacing, continuation and priorities read this instead of guessing from the kind, the origin or the name of a
/// subsystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// An operator wrote it.
    Operator,
    /// An outside system or participant sent it.
    Outside,
    /// Only the agent itself: its own follow-up, the end of its own rest, or the end of its own task.
    Itself,
    /// The runtime on the agent's behalf: a timer, a progress note or a delivery record.
    Runtime,
}

impl Cause {
    pub const ALL: [Self; 4] = [Self::Operator, Self::Outside, Self::Itself, Self::Runtime];

    /// Derives the cause of a message that was admitted through an interface from its kind and origin.
    ///
    /// Follow-ups and ends of rests never come through an interface: the runtime queues them itself with
    /// [`Cause::Itself`].
    #[must_use]
    pub const fn of_ingress(kind: MessageKind, origin: &Origin) -> Self {
        match origin {
            Origin::Operator { .. } => Self::Operator,
            Origin::Channel { .. } | Origin::Webhook { .. } | Origin::Callback { .. } => {
                Self::Outside
            }
            Origin::Task { .. } if matches!(kind, MessageKind::TaskResult) => Self::Itself,
            Origin::Timer { .. } | Origin::System { .. } | Origin::Task { .. } => Self::Runtime,
        }
    }

    /// Derives the cause of a message that an earlier build stored without one. Only here do the names of subsystems
    /// matter.
    pub(super) fn from_legacy(kind: MessageKind, origin: &Origin) -> Self {
        let own_words = matches!(
            kind,
            MessageKind::SystemTick | MessageKind::InternalFollowup
        );
        match origin {
            Origin::System { subsystem }
                if own_words && matches!(subsystem.as_str(), "sleep_wait" | "tool_enqueue") =>
            {
                Self::Itself
            }
            Origin::Operator { .. }
            | Origin::Channel { .. }
            | Origin::Webhook { .. }
            | Origin::Callback { .. }
            | Origin::Timer { .. }
            | Origin::System { .. }
            | Origin::Task { .. } => Self::of_ingress(kind, origin),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system(subsystem: &str) -> Origin {
        Origin::System {
            subsystem: subsystem.to_owned(),
        }
    }

    #[test]
    fn an_old_message_is_its_agents_own_only_by_kind_and_subsystem_together() {
        let old = |kind, subsystem| Cause::from_legacy(kind, &system(subsystem));
        for kind in [MessageKind::SystemTick, MessageKind::InternalFollowup] {
            assert_eq!(old(kind, "sleep_wait"), Cause::Itself);
            assert_eq!(old(kind, "tool_enqueue"), Cause::Itself);
            assert_eq!(old(kind, "another"), Cause::Runtime);
        }
        assert_eq!(old(MessageKind::Control, "sleep_wait"), Cause::Runtime);
    }

    #[test]
    fn the_end_of_a_task_is_its_agents_own_and_its_progress_is_the_runtimes() {
        let task = Origin::Task {
            task_id: crate::TaskId::from_stored("task_1"),
        };
        let cause = |kind| Cause::of_ingress(kind, &task);
        assert_eq!(cause(MessageKind::TaskResult), Cause::Itself);
        assert_eq!(cause(MessageKind::TaskStatus), Cause::Runtime);
        assert_eq!(
            Cause::from_legacy(MessageKind::TaskResult, &task),
            Cause::Itself
        );
    }
}
