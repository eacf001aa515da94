//! What is recorded of turns: their beginning, their rounds and calls, their end.

use crate::attempt::{AttemptTimeline, TokenUsage};
use crate::authority::AuthorityClass;
use crate::id::{CallId, MessageId, RunId, TaskId};
use crate::message::MessageKind;
use crate::model::ModelFailureKind;
use crate::queue::MessageSeq;
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
    /// Position of the message that the turn answers; where events are read, its id and origin are added from it. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
    /// The task whose result the turn answers. Absent when it answers anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
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
    /// Position of the message that the turn answers; where events are read, its id and origin are added from it. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
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
    /// Position of the message that the turn answers; where events are read, its id and origin are added from it. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
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
    /// The host was started again, perhaps with another credential.
    HostStart,
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
    /// Position of the message that the turn answers; where events are read, its id and origin are added from it. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
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
    /// The run this belongs to. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Position of the message that the turn answers; where events are read, its id and origin are added from it. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
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
    /// The run this belongs to. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Position of the message that the turn answers; where events are read, its id and origin are added from it. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

/// See [`super::Event::MaxOutputTokensRecovery`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MaxOutputTokensRecovery {
    /// The turn.
    pub turn_index: u64,
    /// Which one in a row.
    pub attempt: u32,
    /// The run this belongs to. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Position of the message that the turn answers; where events are read, its id and origin are added from it. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

/// See [`super::Event::ProcessExecutionRequested`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessExecutionRequested {
    /// The call that asks for the command.
    pub tool_call_id: CallId,
    /// The tool of that call: `ExecCommand` or `ExecCommandBatch`.
    pub surface: String,
    /// Position of the command in its batch, from 1. Absent for a command that has a call of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_item: Option<u32>,
    /// The beginning of the shell text.
    pub cmd_preview: String,
    /// Directory as the call names it, relative to the workspace's current directory. Absent when it names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workdir: Option<String>,
    /// On whose authority the command runs: that of the message the turn answers. Readers also get the older label
    /// `trust`.
    pub authority_class: AuthorityClass,
    /// The turn of the call.
    pub turn_index: u64,
    /// The run of the call.
    pub run_id: RunId,
    /// Position of the message that the turn answers; where events are read, its id and origin are added from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
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
    /// Position of the message that the turn answers; where events are read, its id and origin are added from it. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
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
    /// The error itself, as the log holds it. Details that are larger than a kilobyte are replaced by a preview and a
    /// digest.
    pub tool_error: ToolError,
    /// Position of the message that the turn answers; where events are read, its id and origin are added from it. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
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
    /// Position of the message that the turn answers; where events are read, its id and origin are added from it. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
    /// The beginning of the last words the model said in the turn, for a quick look; the whole stands in the transcript.
    /// Absent when it said nothing in its last round. Readers also get `completed_at`, which is the event's own time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_assistant_message: Option<String>,
    /// The task whose result the turn answered. Absent when it answered anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
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
    /// Tokens of the whole turn until it failed: of the rounds that were answered and of failed tries whose provider
    /// reported any. Absent when none is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_usage: Option<TokenUsage>,
    /// The tries it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_attempt_timeline: Option<AttemptTimeline>,
    /// The run this belongs to. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The turn that failed. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_index: Option<u64>,
    /// Position of the message that the turn answers; where events are read, its id and origin are added from it. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}
