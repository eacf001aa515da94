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
    // The subjects below are additions to the twelve of the contract. A client that does not know one shows its rows by
    // title and summary.
    Skill,
    Configuration,
    Control,
    Context,
    Delivery,
}

impl Category {
    /// Subjects beyond the twelve that the contract lists. A client that groups rows by subject needs a place for
    /// unknown ones.
    pub const ADDITIONS: [Self; 5] = [
        Self::Skill,
        Self::Configuration,
        Self::Control,
        Self::Context,
        Self::Delivery,
    ];

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

    #[test]
    fn the_guide_lists_every_category_and_tells_the_additions_apart() {
        let guide = include_str!("../../../docs/guide/watching.md");
        let line = |start: &str| {
            let found = guide.lines().find(|line| line.starts_with(start));
            found.expect("a sentence of the guide")
        };
        let names = |line: &str| -> Vec<String> {
            let quoted = line.split('`').skip(1).step_by(2);
            quoted.map(str::to_owned).collect()
        };
        let added: Vec<&str> = Category::ADDITIONS
            .iter()
            .map(|added| added.as_str())
            .collect();
        assert_eq!(names(line("This host adds `")), added);
        let contract = names(line("The categories are `"));
        assert_eq!(contract.len(), 12);
        for name in contract.iter().map(String::as_str).chain(added) {
            let known: Category = serde_json::from_value(name.into()).expect("a category");
            assert_eq!(known.as_str(), name);
        }
    }
}
