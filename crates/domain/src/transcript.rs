//! The transcript as clients read it: a projection of the log with the message bodies.

use crate::id::{AgentId, MessageId, TaskId};
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Kind of a transcript entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TranscriptKind {
    /// A message that began a turn or joined it.
    IncomingMessage,
    AssistantRound,
    /// Results of a round's calls.
    ToolResults,
    RuntimeFailure,
    /// The runtime asked the model to continue.
    ContinuationPrompt,
    /// Instruction of a child agent.
    SubagentPrompt,
    /// Answer of a child agent's model.
    SubagentAssistantRound,
}

/// One entry of the transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TranscriptEntry {
    /// Unique for the agent.
    pub id: String,
    pub agent_id: AgentId,
    /// Position in the log.
    pub seq: u64,
    pub created_at: Timestamp,
    pub turn_index: u64,
    pub kind: TranscriptKind,
    /// Number of the model round in its turn. Absent in entries that belong to no round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub related_message_id: Option<MessageId>,
    /// Task that the message, or the failed turn's message, belongs to. Absent if it belongs to none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub related_task_id: Option<TaskId>,
    /// Reason for which the model stopped. Present in assistant rounds only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Content of the entry; its shape depends on `kind`.
    pub data: Value,
}
