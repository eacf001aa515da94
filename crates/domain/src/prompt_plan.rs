//! The plan of a prompt: its parts, and what became of each under the token budget.
//!
//! The prompt crate makes the plan. The frame's log entry keeps only the parts that were not shown whole, and the debug
//! view shows all of them.

use crate::model::Stability;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Part of a prompt, in the order in which parts are shown.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum BlockSource {
    /// Rules of the runtime and the execution contract, equal for all agents.
    Policy,
    /// Rules for an agent that works for another one.
    Delegation,
    /// Instruction files of the user, the agent and the workspace.
    Instructions,
    Skills,
    /// What the agent has noted for itself: the two files of its memory.
    Notes,
    /// Use of the tools.
    ToolGuidance,
    /// The lasting parts of an agent as an earlier request of the turn showed them: delegation, instructions, skills and
    /// the use of tools.
    AgentScoped,
    /// Name, home, workspace and model of the agent.
    Surroundings,
    /// An earlier message and its answer.
    History,
    /// The newest message of the operator, if neither the input nor the thread shows it.
    OperatorWords,
    /// What changed in the base of the thread since it was frozen or told last.
    Changes,
    /// Episodes of the agent that fit its work.
    Episodes,
    /// The agent's work as an earlier request of the turn showed it.
    Work,
    /// What the agent did last, as far as no other part shows it.
    WorkingMemory,
    /// The change of the working memory since the prompt before.
    WorkingMemoryDelta,
    CurrentItem,
    TriggeredItems,
    DueReminders,
    QueuedItems,
    ItemsForOperator,
    BlockedItems,
    Waits,
    Timers,
    CompletedItems,
    /// Children that work for the agent, and what each does.
    Children,
    /// Latest steps of the current work item.
    ItemTrace,
    RunningTasks,
    /// Rules for a turn that no operator began.
    EventTurn,
    /// Rules for a turn that goes on after a failed one.
    ConstrainedRepair,
    CurrentInput,
    /// A part that another build wrote.
    #[serde(other)]
    Other,
}

impl BlockSource {
    /// Returns the stability of the block that shows the part.
    #[must_use]
    pub const fn stability(self) -> Stability {
        match self {
            Self::Policy => Stability::Stable,
            Self::Delegation
            | Self::Instructions
            | Self::Skills
            | Self::Notes
            | Self::ToolGuidance
            | Self::AgentScoped
            | Self::Surroundings => Stability::AgentScoped,
            Self::History
            | Self::OperatorWords
            | Self::Changes
            | Self::Episodes
            | Self::Work
            | Self::WorkingMemory
            | Self::WorkingMemoryDelta
            | Self::CurrentItem
            | Self::TriggeredItems
            | Self::DueReminders
            | Self::QueuedItems
            | Self::ItemsForOperator
            | Self::BlockedItems
            | Self::Waits
            | Self::Timers
            | Self::CompletedItems
            | Self::Children
            | Self::ItemTrace
            | Self::RunningTasks
            | Self::EventTurn
            | Self::ConstrainedRepair
            | Self::CurrentInput
            | Self::Other => Stability::TurnScoped,
        }
    }

    /// Returns the stored spelling, which is never renamed.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Delegation => "delegation",
            Self::Instructions => "instructions",
            Self::Skills => "skills",
            Self::Notes => "notes",
            Self::ToolGuidance => "tool_guidance",
            Self::AgentScoped => "agent_scoped",
            Self::Surroundings => "surroundings",
            Self::History => "history",
            Self::OperatorWords => "operator_words",
            Self::Changes => "changes",
            Self::Episodes => "episodes",
            Self::Work => "work",
            Self::WorkingMemory => "working_memory",
            Self::WorkingMemoryDelta => "working_memory_delta",
            Self::CurrentItem => "current_item",
            Self::TriggeredItems => "triggered_items",
            Self::DueReminders => "due_reminders",
            Self::QueuedItems => "queued_items",
            Self::ItemsForOperator => "items_for_operator",
            Self::BlockedItems => "blocked_items",
            Self::Waits => "waits",
            Self::Timers => "timers",
            Self::CompletedItems => "completed_items",
            Self::Children => "children",
            Self::ItemTrace => "item_trace",
            Self::RunningTasks => "running_tasks",
            Self::EventTurn => "event_turn",
            Self::ConstrainedRepair => "constrained_repair",
            Self::CurrentInput => "current_input",
            Self::Other => "other",
        }
    }
}

/// Reason for which a part is shorter than it could be, or missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CutReason {
    /// It takes more than the share of the budget that such a part may take.
    OverShare,
    /// The parts that may be left out take more than the room for them, and this one has the lowest priority.
    OverRoom,
    /// The parts that are always shown do not fit the model's window.
    OverWindow,
    /// A reason of another build.
    #[serde(other)]
    Other,
}

impl CutReason {
    /// Returns the stored spelling, which is never renamed.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OverShare => "over_share",
            Self::OverRoom => "over_room",
            Self::OverWindow => "over_window",
            Self::Other => "other",
        }
    }
}

/// A part that is not shown whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockCut {
    pub source: BlockSource,
    /// Log position of the newest earlier message that is left out. Present for history only; the older ones are left
    /// out with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<u64>,
    /// Estimated tokens of the whole part.
    pub from: u32,
    /// Estimated tokens that are shown; 0 if the part is left out.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub to: u32,
    /// Tokens to which the part was shortened; its form may take fewer. 0 if the part is left out or has its shortest form.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub limit: u32,
    pub reason: CutReason,
}

/// A part of a stored text, and its length in bytes. A blank line stands between two parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartLength(pub BlockSource, pub u32);

/// What became of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum BlockOutcome {
    Kept,
    Shortened { reason: CutReason },
    Cut { reason: CutReason },
}

/// The plan's decision about one part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockDecision {
    pub source: BlockSource,
    pub stability: Stability,
    /// True if the part is left out only by an explicit error, never for lack of room.
    pub pinned: bool,
    /// Log position of the message. Present for history only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_seq: Option<u64>,
    /// Estimated tokens of the whole part.
    pub from_tokens: u32,
    /// Estimated tokens that are shown.
    pub to_tokens: u32,
    #[serde(flatten)]
    pub outcome: BlockOutcome,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_or_reason_of_another_build_loads_as_other() {
        let cut: BlockCut =
            serde_json::from_str(r#"{"source":"dreams","from":12,"reason":"too_old"}"#)
                .expect("a cut");
        assert_eq!(
            (cut.source, cut.reason),
            (BlockSource::Other, CutReason::Other)
        );
        assert_eq!((cut.to, cut.through), (0, None));
    }

    /// Every source, in the order of the type.
    const SOURCES: [BlockSource; 31] = [
        BlockSource::Policy,
        BlockSource::Delegation,
        BlockSource::Instructions,
        BlockSource::Skills,
        BlockSource::Notes,
        BlockSource::ToolGuidance,
        BlockSource::AgentScoped,
        BlockSource::Surroundings,
        BlockSource::History,
        BlockSource::OperatorWords,
        BlockSource::Changes,
        BlockSource::Episodes,
        BlockSource::Work,
        BlockSource::WorkingMemory,
        BlockSource::WorkingMemoryDelta,
        BlockSource::CurrentItem,
        BlockSource::TriggeredItems,
        BlockSource::DueReminders,
        BlockSource::QueuedItems,
        BlockSource::ItemsForOperator,
        BlockSource::BlockedItems,
        BlockSource::Waits,
        BlockSource::Timers,
        BlockSource::CompletedItems,
        BlockSource::Children,
        BlockSource::ItemTrace,
        BlockSource::RunningTasks,
        BlockSource::EventTurn,
        BlockSource::ConstrainedRepair,
        BlockSource::CurrentInput,
        BlockSource::Other,
    ];

    #[test]
    fn words_are_spelled_as_they_are_stored() {
        let last = BlockSource::Other as usize;
        assert_eq!(SOURCES.len(), last + 1, "every source has a name");
        for (place, source) in SOURCES.into_iter().enumerate() {
            assert_eq!(source as usize, place, "{source:?}");
            assert_eq!(serde_json::json!(source), source.as_str());
            let read: BlockSource = serde_json::from_value(source.as_str().into()).expect("a name");
            assert_eq!(read, source);
        }
        for reason in [
            CutReason::OverShare,
            CutReason::OverRoom,
            CutReason::OverWindow,
        ] {
            assert_eq!(serde_json::json!(reason), reason.as_str());
        }
    }
}
