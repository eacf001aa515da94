//! Compaction of a long turn: older rounds give way to a recap, so that later requests fit the model's window.

use crate::id::CallId;
use serde::{Deserialize, Serialize};

/// A recap of consecutive rounds of a turn. It stands in every later request in place of these rounds. The rounds stay
/// in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recap {
    /// First round that the recap covers, counted from 1. A recap from round 1 on replaces every earlier recap.
    pub first_round: u32,
    /// Last round that it covers.
    pub last_round: u32,
    /// Text that the model reads. It is stored, so that every later request repeats it exactly.
    pub text: String,
}

/// Shorter forms of what rounds hold, because the whole texts had no room. They are stored, so that every later request
/// repeats them exactly. The whole texts stay in the log.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ShortTexts {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<ShortResult>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<ShortAnswer>,
}

impl ShortTexts {
    /// Returns true if nothing was shortened.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.results.is_empty() && self.answers.is_empty()
    }
}

/// The result of a call as a model reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShortResult {
    pub call_id: CallId,
    pub text: String,
}

/// What a model wrote in a round: its texts, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShortAnswer {
    pub round: u32,
    pub texts: Vec<String>,
}

/// A compaction that a request was the first to have, with its sizes in estimated tokens of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compaction {
    /// Absent if only results in the newest rounds were shortened.
    pub recap: Option<Recap>,
    /// Rounds after the recap, which are shown as they were.
    pub exact_rounds: u32,
    pub tokens_before: u64,
    pub tokens_after: u64,
    /// Tokens that the conversation may take.
    pub room_tokens: u64,
    /// Texts of the newest rounds that this request was the first to shorten, because the recap alone was not enough.
    pub shortened: ShortTexts,
}
