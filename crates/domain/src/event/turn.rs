//! What is recorded of turns: their beginning, their rounds and calls, their end.

use crate::attempt::{AttemptTimeline, TokenUsage};
use crate::id::{CallId, MessageId, RunId};
use crate::message::MessageKind;
use crate::model::ModelFailureKind;
use crate::time::Timestamp;
use crate::tool::ToolError;
use crate::turn::{SuspensionReason, TerminalKind, TerminalReason};
use serde::{Deserialize, Serialize};

/// See [`super::Event::TurnStarted`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnStarted {
    /// The message.
    pub message_id: MessageId,
    /// Its kind.
    pub message_kind: MessageKind,
    /// The run.
    pub run_id: RunId,
    /// The turn.
    pub turn_index: u64,
    /// The model it asks.
    pub requested_model: String,
}

/// See [`super::Event::TurnResumed`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnResumed {
    /// The run.
    pub run_id: RunId,
    /// The turn.
    pub turn_index: u64,
    /// The last entry that was there.
    pub after_entry: u64,
    /// Resumptions without progress so far.
    pub resumes_without_progress: u32,
    /// Calls whose outcome is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_calls: Vec<CallId>,
    /// Calls that had not begun.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unstarted_calls: Vec<CallId>,
}

/// See [`super::Event::TurnSuspended`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnSuspended {
    /// The run that is suspended.
    pub run_id: RunId,
    /// Its turn.
    pub turn_index: u64,
    /// The round that could not be answered.
    pub round: u32,
    /// Why no model could answer.
    pub reason: SuspensionReason,
    /// How the model that was asked last failed.
    pub failure_kind: ModelFailureKind,
    /// What that model's provider said, shortened.
    pub error: String,
    /// When the models are asked again. Absent when the turn waits for an operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// How long the turn has been suspended so far, counting only pauses that ran to their end.
    pub waited_ms: u64,
}

/// What ended a suspension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuspensionEnd {
    /// The pause ran to its end.
    PauseOver,
    /// An operator wrote to the agent.
    OperatorMessage,
    /// The agent was started although it was not stopped.
    Start,
    /// The agent was given another model, or the host's models or credentials changed.
    ModelChange,
}

/// See [`super::Event::TurnSuspensionEnded`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnSuspensionEnded {
    /// The run that goes on.
    pub run_id: RunId,
    /// Its turn.
    pub turn_index: u64,
    /// What ended the suspension.
    pub by: SuspensionEnd,
}

/// See [`super::Event::TurnContextBuilt`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnContextBuilt {
    /// The turn.
    pub turn_index: u64,
    /// How long it took.
    pub duration_ms: u64,
    /// Sections of the context.
    pub context_section_count: usize,
    /// Characters of the context.
    pub rendered_context_chars: usize,
    /// Characters of the system prompt.
    pub rendered_system_chars: usize,
}

/// See [`super::Event::AssistantRoundRecorded`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AssistantRoundRecorded {
    /// The turn.
    pub turn_index: u64,
    /// The round.
    pub round: u32,
    /// Its first words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_preview: Option<String>,
    /// How many characters there are.
    pub text_char_count: usize,
    /// The tools it asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_names: Vec<String>,
}

/// See [`super::Event::MaxOutputTokensRecovery`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MaxOutputTokensRecovery {
    /// The turn.
    pub turn_index: u64,
    /// Which one in a row.
    pub attempt: u32,
}

/// See [`super::Event::ToolExecuted`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolExecuted {
    /// The call.
    pub tool_call_id: CallId,
    /// The tool.
    pub tool_name: String,
    /// The turn.
    pub turn_index: u64,
    /// The run.
    pub run_id: RunId,
    /// How long it took.
    pub duration_ms: u64,
    /// In one line.
    pub summary: String,
    /// The command, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec_command_cmd: Option<String>,
}

/// See [`super::Event::ToolExecutionFailed`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolExecutionFailed {
    /// The call.
    pub tool_call_id: CallId,
    /// The tool.
    pub tool_name: String,
    /// The turn.
    pub turn_index: u64,
    /// The run.
    pub run_id: RunId,
    /// How long it took.
    pub duration_ms: u64,
    /// The error as one string.
    pub error: String,
    /// The error itself.
    pub tool_error: ToolError,
}

/// See [`super::Event::TurnTerminal`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnTerminal {
    /// The turn.
    pub turn_index: u64,
    /// The run.
    pub run_id: RunId,
    /// How it ended.
    pub kind: TerminalKind,
    /// Why.
    pub reason: TerminalReason,
    /// How long it took, without the time it was queued.
    pub duration_ms: u64,
    /// Rounds it took.
    pub rounds: u32,
    /// What it cost.
    pub token_usage: TokenUsage,
}

/// See [`super::Event::RuntimeError`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RuntimeError {
    /// The message.
    pub message_id: MessageId,
    /// Its kind.
    pub message_kind: MessageKind,
    /// What happened.
    pub error: String,
    /// Its class.
    pub failure_kind: String,
    /// What it cost, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_usage: Option<TokenUsage>,
    /// The tries it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_attempt_timeline: Option<AttemptTimeline>,
}
