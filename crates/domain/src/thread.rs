//! The thread of an agent: its earlier turns as native dialogue of the provider, with a recap in place of the oldest.
//!
//! Owns what is stored of it. A fold is an entry of the log, written in the commit of the first answer whose request held
//! it, and the same commit moves the thread's beginning in the agent's record. Between two folds the thread only grows.
//! Rendering and the decision when to fold belong to `prompt`.

use crate::id::{WaitId, WorkItemId};
use crate::model::ConversationItem;
use crate::prompt_plan::{BlockSource, PartLength};
use crate::queue::MessageSeq;
use crate::time::Timestamp;
use crate::turn::LogSeq;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where an agent's thread begins. The default is a thread that begins with the agent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ThreadState {
    /// Log position of the newest fold, whose recap begins the thread. Absent before the first fold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fold: Option<LogSeq>,
    /// Log position from which on turns are shown as they were.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub from_entry: LogSeq,
    /// First turn that is shown with its sealed blocks. A model binds them to all that stood before, so every fold moves
    /// this to the turn that folded. A provider that refused them moves it to the turn after.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub sealed_from: u64,
    /// Milliseconds for which the agent rested before the last turn that ended and before the one before it. They tell how
    /// long a cache has to live.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub rested_ms: [u64; 2],
    /// Turns that stay whole through folds, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pins: Vec<PinnedTurn>,
    /// What an operator asked to be done with the thread. The first request of a turn after `asked_in` does it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<ThreadCommand>,
    /// Newest turn when that was asked. Its own requests may be under way, so they leave the thread as it is.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub asked_in: u64,
}

impl ThreadState {
    /// Returns what the first request of a turn does with the thread because an operator asked for it.
    #[must_use]
    pub fn asked_of(&self, turn_index: u64) -> Option<ThreadCommand> {
        self.asked.filter(|_| self.asked_in < turn_index)
    }
}

/// A turn that an operator keeps whole.
///
/// Pins and releases count from the turn after the newest one on, because a request of that one may be under way: what a
/// fold keeps then follows from the stored state alone, whenever the fold is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PinnedTurn {
    pub turn_index: u64,
    /// Log position of its first entry.
    pub first_entry: LogSeq,
    /// Estimated tokens of the turn, measured when it was pinned.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub tokens: u64,
    /// Newest turn when the turn was pinned.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub pinned_in: u64,
    /// Newest turn when the pin was taken back. The turn stays in the thread until a later turn folds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released_in: Option<u64>,
}

impl PinnedTurn {
    /// Returns true if the turn stays whole when the given turn folds the thread.
    #[must_use]
    pub fn is_kept_by(&self, turn_index: u64) -> bool {
        self.pinned_in < turn_index
            && self
                .released_in
                .is_none_or(|released| released >= turn_index)
    }
}

/// A change of the thread that an operator asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThreadCommand {
    /// Fold to the low mark.
    Fold,
    /// Begin an empty thread. History, memory and work items stay.
    Clear,
}

/// Reason for a fold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FoldCause {
    /// The thread exceeded its high mark.
    HighMark,
    /// The turn itself needed the room.
    Room,
    /// The provider's cache had expired, and something other than the operator began the turn.
    Cold,
    /// A provider refused the request for its length.
    Refused,
    /// A provider refused the request as invalid, so no earlier turn is shown as it was.
    Invalid,
    /// An operator asked for it.
    Operator,
    /// An operator began an empty thread.
    Cleared,
    /// A cause of another build.
    #[serde(other)]
    Other,
}

impl FoldCause {
    /// Returns true if the fold takes pinned turns too.
    #[must_use]
    pub const fn takes_pins(self) -> bool {
        match self {
            Self::Cleared | Self::Invalid => true,
            Self::HighMark
            | Self::Room
            | Self::Cold
            | Self::Refused
            | Self::Operator
            | Self::Other => false,
        }
    }
}

/// A fold: the recap of turns that are no longer shown as they were. It replaces the fold before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadFold {
    pub cause: FoldCause,
    /// Log position from which on turns are shown as they were.
    pub from_entry: LogSeq,
    /// Last turn that the recap covers; 0 if it covers none.
    pub last_turn: u64,
    /// Recaps of single turns, oldest first. Every later request repeats their texts.
    pub turns: Vec<TurnRecap>,
    /// Turns before those, whose recaps had no room.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub omitted: u64,
    /// Summaries of episodes in which those turns stand, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub episodes: Vec<String>,
    /// Messages in the turns that stay.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub kept_messages: u64,
    /// Estimated tokens of the thread before and after the fold.
    pub tokens_before: u64,
    pub tokens_after: u64,
}

/// Recap of one turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnRecap {
    pub turn_index: u64,
    /// Work item that the turn's message named. Absent if it named none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// One line, which stays when the text has to go.
    pub line: String,
    /// What was asked, done and answered. Absent if the recap had no room for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Newest message of an operator that the text holds whole. Absent if it holds none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator: Option<MessageSeq>,
    /// Wait with which the turn left open what was asked. Absent if it left nothing open, or a later turn closed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_open: Option<OpenAsk>,
    /// Waits of earlier turns that the turn ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub closed: Vec<WaitId>,
    /// Items that the turn completed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub completed: Vec<WorkItemId>,
    /// Set if a tick began the turn and changed nothing. Equal ones in a row are one recap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quiet: Option<QuietTick>,
}

impl TurnRecap {
    /// Returns the number of turns that the recap covers.
    #[must_use]
    pub fn turns(&self) -> u64 {
        self.quiet.as_ref().map_or(1, |quiet| quiet.count)
    }
}

/// The wait of a turn that left open what was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenAsk {
    pub id: WaitId,
    /// Item that waits. Absent if the agent itself waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
}

/// Equal ticks in a row that changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuietTick {
    /// What each of them brought and what came of it, on one line.
    pub told: String,
    /// Hash of all of that, the calls included, by which two ticks are compared.
    pub digest: String,
    pub count: u64,
    pub first_turn: u64,
    pub first_at: Timestamp,
    pub last_at: Timestamp,
}

/// Texts of a frame that are in force although its system text shows an earlier form of them. The base of a thread is
/// frozen between folds; what changed is told once, and this records what the agent knows by now.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ToldTexts {
    /// Hash of each part that differs from the base, by its source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub base: Vec<ToldPart>,
    /// Hash of each part about the agent's work that is in force.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub work: Vec<ToldPart>,
}

/// A part and the beginning of the hash of its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToldPart(pub BlockSource, pub u64);

impl ToldTexts {
    /// Returns true if the base and the work stand as the thread shows them.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.base.is_empty() && self.work.is_empty()
    }
}

/// The frozen beginning of a thread, which requests repeat until the next fold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ThreadBase {
    /// Text about the agent: its instructions, skills, memory and the use of tools.
    pub agent_scoped: String,
    pub agent_parts: Vec<PartLength>,
    /// Facts about the agent and its surroundings.
    pub surroundings: Option<String>,
    /// What was told since.
    pub told: ToldTexts,
}

/// An earlier turn as requests show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThreadTurn {
    /// Absent for the recap that begins a thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_index: Option<u64>,
    /// Never changed between folds, so that a provider's cache serves it.
    pub items: Vec<ConversationItem>,
    /// Estimated tokens of the items.
    pub tokens: usize,
}

impl ThreadTurn {
    /// Measures the items of a turn.
    #[must_use]
    pub fn new(turn_index: Option<u64>, items: Vec<ConversationItem>) -> Self {
        let tokens = items.iter().map(ConversationItem::estimated_tokens).sum();
        Self {
            turn_index,
            items,
            tokens,
        }
    }
}
