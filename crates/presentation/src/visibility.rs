//! Visibility and category of an event.

use serde::{Deserialize, Serialize};

/// Relevance of an event to an operator, most relevant first. Delivery decides by it; what a conversation shows is
/// decided by the display mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// The agent needs its operator before it can continue.
    ActionRequired,
    /// A work item is completed: its report, and the brief of the turn that completed it.
    WorkDone,
    /// Another result or failure of a turn.
    TurnResult,
    /// Progress inside a turn. Never delivered outside.
    Progress,
    /// Tool calls and internal diagnostics. Never delivered outside.
    Trace,
}

impl Visibility {
    /// Returns the name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ActionRequired => "action_required",
            Self::WorkDone => "work_done",
            Self::TurnResult => "turn_result",
            Self::Progress => "progress",
            Self::Trace => "trace",
        }
    }
}

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
