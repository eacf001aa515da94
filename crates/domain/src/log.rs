//! The turn log: the ordered, durable record of messages, answers and results. A restart continues after its last
//! entry.
//!
//! A body is stored once, here or in the message table. The transcript is a projection of this log.

use crate::attempt::{AttemptTimeline, RoundAttempts, TokenUsage};
use crate::block::Block;
use crate::compaction::{Recap, ShortTexts};
use crate::failure::FailureArtifact;
use crate::id::{CallId, MessageId, TaskId, WorkItemId};
use crate::intent::Intent;
use crate::model::StopReason;
use crate::prompt_plan::{BlockCut, PartLength};
use crate::queue::MessageSeq;
use crate::thread::{ThreadFold, ToldTexts};
use crate::time::Timestamp;
use crate::timer::LateTick;
use crate::tool::{ToolEnvelope, ToolError};
use crate::turn::TerminalReason;
use crate::wait::WaitNote;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Hash of a stored text: the first 128 bits of its SHA-256, in hex.
pub type BlobHash = String;

/// Parts from which a turn's prompt frame is rebuilt exactly. Texts are stored by hash; the history is the log before
/// the turn.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FrameRecord {
    /// Key under which the provider may cache the stable part of the prompt.
    pub prompt_cache_key: String,
    /// Hash of the whole frame.
    pub context_fingerprint: String,
    /// Revision of the agent's working memory when the frame was built. Omitted if 0, and in entries of earlier builds.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub working_memory_revision: u64,
    /// Recaps that the agent's turns had had by then. Omitted if 0, and in entries of earlier builds.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub compression_epoch: u64,
    /// System text that all agents share.
    pub stable: BlobHash,
    /// System text that depends on the agent's instructions, skills and tools.
    pub agent_scoped: BlobHash,
    /// System text with the agent's name, home, workspace and model. Absent in entries of earlier builds, whose
    /// `agent_scoped` holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub surroundings: Option<BlobHash>,
    /// Section about the agent's work. Stored itself and not by hash, because no other turn shares it. Absent if the
    /// agent had no work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<String>,
    /// Section with the agent's episodes. Absent if there is none, and in entries of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub episodes: Option<BlobHash>,
    /// Parts of the text in `agent_scoped`, from which a request under a smaller budget is cut. Empty in entries of
    /// earlier builds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agent_parts: Vec<PartLength>,
    /// Parts of `work`. Empty if there is no work, and in entries of earlier builds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub work_parts: Vec<PartLength>,
    /// Work item that the message of the turn names. Earlier builds have the current item here. Absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// What the message of the turn did to waits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<WaitNote>,
    /// Newest message of the operator before the turn, if the frame shows it apart from the history. Absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operator_seq: Option<MessageSeq>,
    /// Reason for which the turn before this one failed, if this one has the rules of a repair. Absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repairs: Option<TerminalReason>,
    /// Parts that are not shown whole. Later requests of the turn cut the same ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cuts: Vec<BlockCut>,
    /// Estimated tokens by which the shortest possible frame exceeds its budget; 0 if the frame fits.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub over_tokens: u32,
    /// True if the turn's first request offered its tools without the descriptions of their arguments. Later requests
    /// offer them likewise.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub brief_tools: bool,
    /// Estimated tokens of those tools. 0 in entries of earlier builds.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub tools_tokens: u32,
    /// Estimated tokens that the prompt and those tools could take. 0 in entries of earlier builds.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub budget_tokens: u32,
    /// Time that the input names as the turn's beginning. Absent in entries of earlier builds, whose turns a thread shows
    /// by their messages and answers alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_at: Option<Timestamp>,
    /// Time on the operator's clock and state of the repository, as the input names them. Absent in entries of earlier
    /// builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<String>,
    /// Lateness of the tick that the input tells of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_tick: Option<LateTick>,
    /// What changed in the base of the thread since it was frozen or told last. Absent if nothing did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<String>,
    /// Tasks that ran when the turn began, as shown. Absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<String>,
    /// Texts that the agent knows after this frame, apart from the base. Empty in entries of earlier builds.
    #[serde(default, skip_serializing_if = "ToldTexts::is_empty")]
    pub told: ToldTexts,
}

/// Safe point of a turn at which an interjection joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterjectionBoundary {
    /// Before the turn's first request.
    BeforeProviderRequest,
    /// After a round without calls.
    AfterProviderRound,
    /// After the results of a round's calls.
    AfterToolResults,
}

/// Requests of a round's calls in their order. A call that was refused has its error instead.
pub type Intents = Vec<Result<Intent, ToolError>>;

/// One entry of the turn log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum LogEntry {
    /// A turn begins with this message.
    IncomingMessage {
        /// Position of the message, whose body is in the message table.
        message_seq: MessageSeq,
    },
    /// Frame of the turn's requests. Written with the first answer.
    Frame(FrameRecord),
    /// An operator message or a task result that joined the running turn.
    Interjection {
        /// Position of the message, whose body is in the message table.
        message_seq: MessageSeq,
        boundary: InterjectionBoundary,
        /// What the message did to waits when it joined. Absent if that is what it did at its admission.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waits: Option<Vec<WaitNote>>,
    },
    /// An answer of a model, with its calls.
    AssistantRound {
        /// Number of the round in its turn, counted from 1.
        round: u32,
        /// Content of the answer; calls carry the runtime's ids. Shared, because an answer may be megabytes long.
        blocks: Arc<Vec<Block>>,
        /// Requests of the calls as they were checked when the answer arrived, so that they are not checked again.
        /// Shorter than the calls in entries of builds that did not store it.
        #[serde(default, skip_serializing_if = "no_intents")]
        intents: Arc<Intents>,
        stop_reason: StopReason,
        usage: TokenUsage,
        tries: RoundAttempts,
    },
    /// Outcome of a call. There is exactly one per call.
    ToolResult {
        /// Round that made the call.
        round: u32,
        call_id: CallId,
        envelope: ToolEnvelope,
        /// Milliseconds from the start of the call to its outcome.
        duration_ms: u64,
    },
    /// Recap of older rounds of the turn. Written with the first answer whose request had it.
    Recap(Recap),
    /// Shorter forms of results and answers. Written with the first answer whose request held them.
    Shortened(ShortTexts),
    /// A fold of the agent's thread. Written with the first answer whose request began with its recap.
    ThreadFold(ThreadFold),
    /// The runtime asked the model to continue.
    ContinuationPrompt { text: String, reason: String },
    RuntimeFailure {
        /// Message that the turn answered.
        message_id: MessageId,
        /// Text that the transcript shows.
        text: String,
        failure_artifact: FailureArtifact,
        /// End of the turn as decisions read it. Absent in entries of builds that stored only the artifact.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<TerminalReason>,
        /// Tokens of the whole turn until it failed. Absent if none are known. Entries of earlier builds count the
        /// failed attempts alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<TokenUsage>,
        /// Absent if no model request failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeline: Option<AttemptTimeline>,
        /// Task that the message belongs to. Absent if it belongs to none, and in entries of earlier builds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task_id: Option<TaskId>,
    },
}

fn no_intents(intents: &Arc<Intents>) -> bool {
    intents.is_empty()
}

impl LogEntry {
    /// Returns the message that joined the turn with this entry, if it is such an entry.
    #[must_use]
    pub const fn message_seq(&self) -> Option<MessageSeq> {
        match self {
            Self::IncomingMessage { message_seq } | Self::Interjection { message_seq, .. } => {
                Some(*message_seq)
            }
            Self::Frame(_)
            | Self::AssistantRound { .. }
            | Self::ToolResult { .. }
            | Self::ContinuationPrompt { .. }
            | Self::Recap(_)
            | Self::ThreadFold(_)
            | Self::Shortened(_)
            | Self::RuntimeFailure { .. } => None,
        }
    }
}
