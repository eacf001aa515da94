//! The thread of an agent as its operator measures it: sizes, marks, turns, and what is asked of it. Rebuilt for readers,
//! never stored.

use crate::id::AgentId;
use crate::message::{MessageKind, Origin};
use crate::thread::{FoldCause, ThreadCommand};
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an agent's next request would show of its earlier turns, with the sizes between which the thread stays. All
/// tokens are estimated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextView {
    pub agent_id: AgentId,
    /// Model that the next turn would ask first, as `provider/model`. Absent if none is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_ref: Option<String>,
    /// Context window of that model, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_tokens: Option<u32>,
    /// Tokens of the recap and the turns that the thread shows.
    pub thread_tokens: u64,
    /// Tokens of what stands before the thread: the policy and the texts about the agent. Absent without a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_tokens: Option<u64>,
    /// Tokens of the tools on offer. Absent without a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools_tokens: Option<u64>,
    /// Bound of this agent's thread, set with `holon context limit`. Absent if `context.thread_tokens` holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_thread_tokens: Option<u32>,
    /// Size above which the thread is folded: that bound, and never more than 60 % of the model's window.
    pub high_tokens: u64,
    /// Size that a fold aims at.
    pub low_tokens: u64,
    /// Most that pinned turns may take together.
    pub pin_tokens: u64,
    /// Tokens of the pinned turns, as measured when they were pinned.
    pub pinned_tokens: u64,
    pub cold: ColdThread,
    /// What an operator asked the next turn to do with the thread. Absent if nothing is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<ThreadCommand>,
    /// Newest fold. Absent before the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fold: Option<FoldView>,
    /// Turns, oldest first: those that the fold's recap lists, and those that are shown as they were.
    pub turns: Vec<ContextTurn>,
    /// True if the thread has older turns than are read at once. The next turn folds them.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub has_more: bool,
}

/// Whether the provider's cache of the thread has expired, and what follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ColdThread {
    /// True if the agent has rested for longer than `after_ms`.
    pub is_cold: bool,
    /// Milliseconds after a turn from which on the cache counts as expired; 0 if threads do not get cold.
    pub after_ms: u64,
    /// Size above which a cold thread is folded before a turn that no operator began.
    pub fold_above_tokens: u64,
}

/// The newest fold of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoldView {
    pub cause: FoldCause,
    /// Turn whose request folded.
    pub turn_index: u64,
    /// Last turn that the recap covers; 0 if it covers none.
    pub last_turn: u64,
    pub tokens_before: u64,
    pub tokens_after: u64,
    /// Turns whose recaps had no room.
    pub omitted: u64,
}

/// A turn of a thread, or the recap of one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "columns of a table")]
pub struct ContextTurn {
    pub turn_index: u64,
    /// Absent for a folded turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_at: Option<Timestamp>,
    /// Kind of the message that began the turn. Absent for a folded turn, and if the message is no longer stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<MessageKind>,
    /// Sender of that message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Tokens of the turn, or of its recap.
    pub tokens: u64,
    pub pinned: bool,
    /// True if only a recap stands for the turn.
    pub folded: bool,
    /// True if the turn is not over yet.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub open: bool,
    /// True if the turn's pin was taken back. It is shown until the next fold.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub released: bool,
}
