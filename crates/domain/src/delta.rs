//! Text of an answer while it is still arriving.

use crate::id::AgentId;
use serde::{Deserialize, Serialize};

/// Receives the text of an answer in pieces while it arrives. It is provisional until the model call returns.
pub type TextSink<'a> = &'a (dyn Fn(&str) + Send + Sync);

/// A piece of an assistant's text that is not stored yet.
///
/// It is provisional. Pieces of one round belong together only while `effect` stays the same: another effect for the
/// same round means that the model is asked again, and what was shown of the round is void. The stored round replaces
/// all of its pieces. A reader that is too slow misses pieces without notice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssistantDelta {
    pub agent_id: AgentId,
    pub turn_index: u64,
    /// Number of the round in its turn, counted from 1.
    pub round: u32,
    /// Identifies the attempt that the piece belongs to; unique for its agent.
    pub effect: u64,
    /// Bytes of the attempt's text before this piece. A reader whose own count differs has missed a piece.
    pub offset: u64,
    pub text: String,
}
