//! The thread of an agent's earlier turns, measured.

use serde::Deserialize;

/// What an agent's next request would show of its earlier turns. All tokens are estimated.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Context {
    pub agent_id: String,
    /// Model that the next turn would ask first. Absent if none is configured.
    pub model_ref: Option<String>,
    /// Context window of that model.
    pub window_tokens: Option<u64>,
    pub thread_tokens: u64,
    /// Tokens of what stands before the thread.
    pub base_tokens: Option<u64>,
    pub tools_tokens: Option<u64>,
    /// Bound of this agent's thread. Absent if the setting of the host holds.
    pub own_thread_tokens: Option<u64>,
    /// Size above which the thread is folded.
    pub high_tokens: u64,
    /// Size that a fold aims at.
    pub low_tokens: u64,
    /// Most that pinned turns may take together.
    pub pin_tokens: u64,
    pub pinned_tokens: u64,
    #[serde(default)]
    pub cold: ColdThread,
    /// `fold` or `clear`, if the next turn is asked to do that.
    pub asked: Option<String>,
    /// Newest fold. Absent before the first one.
    pub fold: Option<ContextFold>,
    #[serde(default)]
    pub turns: Vec<ContextTurn>,
    #[serde(default)]
    pub has_more: bool,
}

/// Whether the provider's cache of the thread has expired, and what follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct ColdThread {
    pub is_cold: bool,
    /// Milliseconds after a turn from which on the cache counts as expired; 0 if threads do not get cold.
    pub after_ms: u64,
    /// Size above which a cold thread is folded before a turn that no operator began.
    pub fold_above_tokens: u64,
}

/// The newest fold of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ContextFold {
    pub cause: String,
    /// Turn whose request folded.
    pub turn_index: u64,
    /// Last turn that the recap covers.
    pub last_turn: u64,
    pub tokens_before: u64,
    pub tokens_after: u64,
    /// Turns whose recaps had no room.
    #[serde(default)]
    pub omitted: u64,
}

/// A turn of a thread, or the recap of one.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "columns of a table")]
pub struct ContextTurn {
    pub turn_index: u64,
    /// Absent for a folded turn.
    pub began_at: Option<String>,
    /// Kind of the message that began the turn. Absent for a folded turn.
    pub kind: Option<String>,
    pub tokens: u64,
    #[serde(default)]
    pub pinned: bool,
    /// True if only a recap stands for the turn.
    #[serde(default)]
    pub folded: bool,
    /// True if the turn is not over yet.
    #[serde(default)]
    pub open: bool,
    /// True if the turn's pin was taken back.
    #[serde(default)]
    pub released: bool,
}

/// Response to a change of a thread.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ContextChange {
    /// False if the request changed nothing.
    pub changed: bool,
    /// The thread after the change.
    pub context: Context,
}
