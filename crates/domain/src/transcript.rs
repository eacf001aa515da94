//! The transcript as read: a projection of the log with message bodies put back in.

use crate::id::{AgentId, MessageId, TaskId};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Kind of a transcript entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TranscriptKind {
    /// A message a turn took up, or one that entered it.
    IncomingMessage,
    /// What a model said.
    AssistantRound,
    /// What calls came to.
    ToolResults,
    /// A failed turn.
    RuntimeFailure,
    /// The runtime asked the model to go on.
    ContinuationPrompt,
    /// What a child was told.
    SubagentPrompt,
    /// What a child's model said.
    SubagentAssistantRound,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TranscriptEntry {
    /// Unique for the agent.
    pub id: String,
    /// Whose.
    pub agent_id: AgentId,
    /// Position in the log.
    pub seq: u64,
    /// When.
    pub created_at: Timestamp,
    /// Which turn.
    pub turn_index: u64,
    /// What.
    pub kind: TranscriptKind,
    /// Which round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
    /// Which message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub related_message_id: Option<MessageId>,
    /// The task that the message, or the failed turn's message, belongs to. Absent where it belongs to none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub related_task_id: Option<TaskId>,
    /// Why the model stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// Tokens read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// The rest.
    pub data: Value,
}
