//! The answer of a one-shot run.

use crate::attempt::{AttemptTimeline, ProviderCacheUsage, TokenUsage};
use crate::closure::WaitingReason;
use crate::failure::FailureArtifact;
use crate::id::{AgentId, MessageId};
use serde::{Deserialize, Serialize};

/// How a run stood when it was reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Done.
    Completed,
    /// Waits for something.
    Waiting,
    /// Failed.
    Failed,
    /// Cut off by its round bound.
    MaxTurnsExceeded,
}

/// The whole answer, as `holon run --json` prints it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunOnceResponse {
    /// Who answered.
    pub agent_id: AgentId,
    /// The request.
    pub message_id: MessageId,
    /// How it stands.
    pub final_status: RunStatus,
    /// What it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_reason: Option<WaitingReason>,
    /// The answer.
    pub final_text: String,
    /// The model's terminal message as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_final_text: Option<String>,
    /// Why the agent rests, if it said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sleep_reason: Option<String>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_artifact: Option<FailureArtifact>,
    /// Managed executions of the run.
    pub tasks: Vec<serde_json::Value>,
    /// Messages the agent had in all.
    pub message_count: u64,
    /// Files patches changed.
    pub changed_files: Vec<String>,
    /// What the run cost.
    pub token_usage: TokenUsage,
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// How far a provider's cache served the run. Absent when no provider reported cached tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_cache_usage: Option<ProviderCacheUsage>,
    /// Model rounds.
    pub model_rounds: u64,
    /// Tool calls.
    pub tool_calls: u64,
    /// Commands that ran, by whichever call. One that was refused, skipped or could not be started does not count.
    pub shell_commands: u64,
    /// Of these, the ones that `ExecCommand` started.
    pub exec_command_items: u64,
    /// Of these, the ones that `ExecCommandBatch` started.
    pub batched_exec_command_items: u64,
    /// Every try of every round.
    pub provider_attempt_timeline: AttemptTimeline,
}
