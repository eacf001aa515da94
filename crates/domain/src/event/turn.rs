//! Payloads of events about turns: start, rounds, tool calls, suspensions and end.

use crate::attempt::{AttemptTimeline, TokenUsage};
use crate::authority::AuthorityClass;
use crate::id::{CallId, MessageId, RunId, TaskId};
use crate::message::MessageKind;
use crate::model::ModelFailureKind;
use crate::prompt_plan::BlockSource;
use crate::queue::MessageSeq;
use crate::thread::FoldCause;
use crate::time::Timestamp;
use crate::tool::ToolError;
use crate::turn::{SuspensionReason, TerminalKind, TerminalReason};
use serde::{Deserialize, Serialize};

/// Message, run and model of a new turn. See [`Event::TurnStarted`](super::Event::TurnStarted).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnStarted {
    /// Message that the turn answers.
    pub message_id: MessageId,
    pub message_kind: MessageKind,
    pub run_id: RunId,
    /// Number of the turn, counted from 1 over the life of the agent.
    pub turn_index: u64,
    /// Model that the turn asks first, as `provider/model`.
    pub requested_model: String,
    /// Queue position of the message that the turn answers. The API adds the id and the origin of that message. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
    /// Task whose result the turn answers. Absent when it answers anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
}

/// State of a turn after a restart. See [`Event::TurnResumed`](super::Event::TurnResumed).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnResumed {
    pub run_id: RunId,
    pub turn_index: u64,
    /// Position of the last log entry before the restart; the turn continues after it.
    pub after_entry: u64,
    /// Resumptions in a row that found no new log entry. After three the turn is given up.
    pub resumes_without_progress: u32,
    /// Calls that were running and of which it cannot be proven whether they took effect. They are not repeated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_calls: Vec<CallId>,
    /// Calls that had not begun and therefore had no effect.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unstarted_calls: Vec<CallId>,
    /// Queue position of the message that the turn answers. The API adds the id and the origin of that message. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

/// A pause of a turn that no model can answer. See [`Event::TurnSuspended`](super::Event::TurnSuspended).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnSuspended {
    pub run_id: RunId,
    pub turn_index: u64,
    /// Number of the round that could not be answered, counted from 1.
    pub round: u32,
    /// Condition that has to change before a model can answer.
    pub reason: SuspensionReason,
    /// Failure of the model that was asked last. Absent if no model failed, because a budget was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_kind: Option<ModelFailureKind>,
    /// Message of that model's provider, shortened; for a budget, its limit and what is used.
    pub error: String,
    /// Time at which the models are asked again. Absent when the turn waits for an operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Milliseconds that the turn has been suspended so far. Only pauses that ran to their end count.
    pub waited_ms: u64,
    /// Queue position of the message that the turn answers. The API adds the id and the origin of that message. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

/// Cause that ended the suspension of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuspensionEnd {
    /// The planned pause ran to its end.
    PauseOver,
    /// An operator wrote to the agent.
    OperatorMessage,
    /// An operator started the agent although it was not stopped.
    Start,
    /// The host was restarted, perhaps with another credential.
    HostStart,
    /// The agent was given another model, or the host's models or credentials changed.
    ModelChange,
    /// The host found another credential of a provider that had refused the last one.
    CredentialRenewed,
    /// An operator changed the budget that had no room.
    BudgetChanged,
}

/// End of a suspension. See [`Event::TurnSuspensionEnded`](super::Event::TurnSuspensionEnded).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnSuspensionEnded {
    pub run_id: RunId,
    pub turn_index: u64,
    pub by: SuspensionEnd,
    /// Queue position of the message that the turn answers. The API adds the id and the origin of that message. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

/// Size of a turn's prompt. See [`Event::TurnContextBuilt`](super::Event::TurnContextBuilt).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnContextBuilt {
    pub turn_index: u64,
    /// Milliseconds that building the prompt took.
    pub duration_ms: u64,
    /// Sections of the prompt beside the system text.
    pub context_section_count: usize,
    /// Characters of those sections.
    pub rendered_context_chars: usize,
    /// Characters of the system text.
    pub rendered_system_chars: usize,
    /// Parts that are always shown and were shortened, because they do not fit the model's window together. Absent if all
    /// are whole.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shortened_parts: Vec<BlockSource>,
    /// Run of the turn. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Queue position of the message that the turn answers. The API adds the id and the origin of that message. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

/// Summary of a model's answer. See [`Event::AssistantRoundRecorded`](super::Event::AssistantRoundRecorded).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AssistantRoundRecorded {
    pub turn_index: u64,
    /// Number of the round in its turn, counted from 1.
    pub round: u32,
    /// Beginning of the text. Absent if the answer has no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_preview: Option<String>,
    /// Characters of the whole text.
    pub text_char_count: usize,
    /// Names of the called tools, in the order of the calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_names: Vec<String>,
    /// Run of the turn. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Queue position of the message that the turn answers. The API adds the id and the origin of that message. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

/// Recovery from a cut-off answer. See [`Event::MaxOutputTokensRecovery`](super::Event::MaxOutputTokensRecovery).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MaxOutputTokensRecovery {
    pub turn_index: u64,
    /// Number of cut-off answers in a row, counted from 1. The turn fails after `OUTPUT_LIMIT_RECOVERIES`.
    pub attempt: u32,
    /// Run of the turn. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Queue position of the message that the turn answers. The API adds the id and the origin of that message. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

/// A compaction of a long turn. See [`Event::TurnLocalCompactionApplied`](super::Event::TurnLocalCompactionApplied).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnLocalCompactionApplied {
    pub turn_index: u64,
    /// Round whose request was the first to be compacted, counted from 1.
    pub round: u32,
    /// Rounds that the recap stands for. 0 if only results were shortened.
    pub compacted_rounds: u32,
    /// Rounds after the recap that are shown as they were.
    pub exact_tail_rounds: u32,
    /// Estimated tokens of the conversation without this compaction.
    pub projected_tokens: u64,
    /// Estimated tokens of the conversation with it.
    pub effective_tokens: u64,
    /// Estimated tokens that the conversation may take.
    pub room_tokens: u64,
    /// True if results in the newest rounds were shortened as well.
    pub strict_fallback_applied: bool,
    pub run_id: RunId,
    /// Queue position of the message that the turn answers. The API adds the id and the origin of that message.
    pub message_seq: MessageSeq,
}

/// A fold of an agent's thread. See [`Event::ThreadFolded`](super::Event::ThreadFolded).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThreadFolded {
    /// Reason for the fold: the thread exceeded its size, the turn needed the room, the provider's cache had expired, a
    /// request was refused, or an operator asked for it.
    pub cause: FoldCause,
    pub turn_index: u64,
    /// Round whose request was the first to begin with the recap, counted from 1.
    pub round: u32,
    /// Last turn that the recap covers; 0 if it covers none.
    pub last_turn: u64,
    /// Turns that the recap describes.
    pub recaps: u64,
    /// Estimated tokens of the thread without this fold.
    pub tokens_before: u64,
    /// Estimated tokens of the thread with it.
    pub tokens_after: u64,
    pub run_id: RunId,
    /// Queue position of the message that the turn answers. The API adds the id and the origin of that message.
    pub message_seq: MessageSeq,
}

/// A change of an agent's thread that an operator can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThreadChange {
    /// The next turn folds the thread.
    Fold,
    /// The next turn begins an empty thread.
    Clear,
    /// A turn stays whole through folds.
    Pin,
    /// A turn may give way to the next fold.
    Unpin,
    /// The thread has another bound.
    Limit,
    /// A change of another build.
    #[serde(other)]
    Other,
}

/// An accepted request about an agent's thread. See
/// [`Event::ThreadChangeRequested`](super::Event::ThreadChangeRequested).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadChangeRequested {
    /// What was asked for: `fold`, `clear`, `pin`, `unpin` or `limit`.
    pub change: ThreadChange,
    /// Turn that a pin is about. Absent for the other changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pinned_turn: Option<u64>,
    /// New bound of the thread, in estimated tokens. Absent for the other changes, and if the setting of the host holds
    /// again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_tokens: Option<u32>,
}

/// State of one item of a batch after the run of the batch was aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchItemEnd {
    /// It had ended before.
    Ran,
    /// It was running and was stopped.
    Stopped,
    /// It had not begun, and never will.
    NotBegun,
    /// Nothing shows whether it ran or how it ended.
    Unknown,
}

/// The end of a batch whose run was aborted. See
/// [`Event::CommandBatchStopped`](super::Event::CommandBatchStopped).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommandBatchStopped {
    /// Call that ran the batch.
    pub tool_call_id: CallId,
    /// State of each item, in order.
    pub items: Vec<BatchItemEnd>,
    pub turn_index: u64,
    pub run_id: RunId,
    /// Queue position of the message that the turn answered. The API adds the id and the origin of that message.
    pub message_seq: MessageSeq,
}

/// A command that a call asks for. See [`Event::ProcessExecutionRequested`](super::Event::ProcessExecutionRequested).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessExecutionRequested {
    /// Call that asks for the command.
    pub tool_call_id: CallId,
    /// Tool of that call: `ExecCommand` or `ExecCommandBatch`.
    pub surface: String,
    /// Position of the command in its batch, counted from 1. Absent for a command that has a call of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_item: Option<u32>,
    /// Beginning of the shell text.
    pub cmd_preview: String,
    /// Directory as the call names it, relative to the workspace's current directory. Absent when the call names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workdir: Option<String>,
    /// Authority under which the command runs: that of the message the turn answers. Readers also get the older label
    /// `trust`.
    pub authority_class: AuthorityClass,
    pub turn_index: u64,
    pub run_id: RunId,
    /// Queue position of the message that the turn answers. The API adds the id and the origin of that message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

/// A call that worked. See [`Event::ToolExecuted`](super::Event::ToolExecuted).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolExecuted {
    pub tool_call_id: CallId,
    pub tool_name: String,
    pub turn_index: u64,
    pub run_id: RunId,
    /// Milliseconds from the start of the call to its result.
    pub duration_ms: u64,
    /// Outcome of the call in one line.
    pub summary: String,
    /// Beginning of the shell text. Absent if the call ran no command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec_command_cmd: Option<String>,
    /// Queue position of the message that the turn answers. The API adds the id and the origin of that message. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

/// A call that failed. See [`Event::ToolExecutionFailed`](super::Event::ToolExecutionFailed).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolExecutionFailed {
    pub tool_call_id: CallId,
    pub tool_name: String,
    pub turn_index: u64,
    pub run_id: RunId,
    /// Milliseconds from the start of the call to its error.
    pub duration_ms: u64,
    /// Kind and message of the error in one string.
    pub error: String,
    /// The error as it stands in the log. Details larger than a kilobyte are replaced by a preview and a digest.
    pub tool_error: ToolError,
    /// Queue position of the message that the turn answers. The API adds the id and the origin of that message. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

/// Outcome and cost of a turn. See [`Event::TurnTerminal`](super::Event::TurnTerminal).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnTerminal {
    pub turn_index: u64,
    pub run_id: RunId,
    /// Tells success from failure or abort; `reason` says more.
    pub kind: TerminalKind,
    pub reason: TerminalReason,
    /// Milliseconds from the start of the turn to its end. The time in the queue does not count.
    pub duration_ms: u64,
    /// Model rounds that were answered.
    pub rounds: u32,
    /// Tokens of all rounds of the turn.
    pub token_usage: TokenUsage,
    /// Queue position of the message that the turn answers. The API adds the id and the origin of that message. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
    /// Beginning of the last text that a model wrote in the turn, for a quick look; the transcript has the whole.
    /// Present however the turn ended. Absent if no round of the turn had text. Readers also get `completed_at`, which
    /// is the event's own time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_assistant_message: Option<String>,
    /// Task whose result the turn answered. Absent when it answered anything else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
}

/// Failure of a turn. See [`Event::RuntimeError`](super::Event::RuntimeError).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RuntimeError {
    /// Message that the turn answered.
    pub message_id: MessageId,
    pub message_kind: MessageKind,
    /// Summary of the failure for people.
    pub error: String,
    /// Stable name of the failure for programs.
    pub failure_kind: String,
    /// Tokens of the whole turn until it failed: of answered rounds, and of failed attempts whose provider reported
    /// any. Absent when none is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_usage: Option<TokenUsage>,
    /// Every request of the round that failed, in order. Absent if no model request failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_attempt_timeline: Option<AttemptTimeline>,
    /// Run of the turn. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Turn that failed. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_index: Option<u64>,
    /// Queue position of the message that the turn answers. The API adds the id and the origin of that message. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}
