//! Category of an event; its visibility is a type of `domain`, because delivery decides by it too.

pub use holon_domain::visibility::Visibility;
use serde::{Deserialize, Serialize};

/// Subject of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    OperatorNotification,
    Brief,
    Message,
    WorkItem,
    Task,
    Waiting,
    Workspace,
    Runtime,
    AssistantProgress,
    Tool,
    /// Signals that a client should read the agent's state again. Never a row.
    StateSync,
    Trace,
    Skill,
    Configuration,
    Control,
    Context,
    Delivery,
}

impl Category {
    /// Returns the name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OperatorNotification => "operator_notification",
            Self::Brief => "brief",
            Self::Message => "message",
            Self::WorkItem => "work_item",
            Self::Task => "task",
            Self::Waiting => "waiting",
            Self::Workspace => "workspace",
            Self::Runtime => "runtime",
            Self::AssistantProgress => "assistant_progress",
            Self::Tool => "tool",
            Self::StateSync => "state_sync",
            Self::Trace => "trace",
            Self::Skill => "skill",
            Self::Configuration => "configuration",
            Self::Control => "control",
            Self::Context => "context",
            Self::Delivery => "delivery",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visibilities_are_ordered_from_the_operator_to_the_diagnostic() {
        let ordered = [
            Visibility::ActionRequired,
            Visibility::WorkDone,
            Visibility::TurnResult,
            Visibility::Progress,
            Visibility::Trace,
        ];
        assert!(ordered.is_sorted());
        for visibility in ordered {
            let wire = serde_json::to_value(visibility).expect("serialises");
            assert_eq!(wire, visibility.as_str());
        }
    }
}
