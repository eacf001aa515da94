//! The turn log: the ordered, durable account of what was said and done. A restart continues after its last entry.
//!
//! Bodies stand here or in the message table, once; the transcript is a projection of this log.

use crate::attempt::{AttemptTimeline, TokenUsage, Tries};
use crate::block::Block;
use crate::failure::FailureArtifact;
use crate::id::{CallId, MessageId, TaskId};
use crate::intent::Intent;
use crate::model::StopReason;
use crate::queue::MessageSeq;
use crate::tool::{ToolEnvelope, ToolError};
use crate::turn::TerminalReason;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Hash of a kept text: the first 128 bits of its SHA-256, in hex.
pub type BlobHash = String;

/// How a turn's prompt frame is rebuilt exactly: the texts by hash; the history is the log before the turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameRecord {
    /// Cache scope.
    pub prompt_cache_key: String,
    /// Fingerprint of the whole.
    pub context_fingerprint: String,
    /// The stable system text.
    pub stable: BlobHash,
    /// The agent-scoped text.
    pub agent_scoped: BlobHash,
    /// What the frame shows of the agent's work, itself and not by hash: no other turn shares it. Absent when the agent
    /// had no work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<String>,
}

/// At which safe point an interjection entered.
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

/// What the calls of a round ask for, in their order: understood, or refused with the reason.
pub type Intents = Vec<Result<Intent, ToolError>>;

/// One entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum LogEntry {
    /// A turn begins with this message.
    IncomingMessage {
        /// Where its body is.
        message_seq: MessageSeq,
    },
    /// The frame of the turn's requests; written with the first answer.
    Frame(FrameRecord),
    /// An operator message that entered the running turn.
    Interjection {
        /// Where its body is.
        message_seq: MessageSeq,
        /// At which safe point.
        boundary: InterjectionBoundary,
    },
    /// What the model said.
    AssistantRound {
        /// Counted over the turn, from 1.
        round: u32,
        /// Its blocks; calls carry the runtime's ids. Shared, because an answer may be megabytes long.
        blocks: Arc<Vec<Block>>,
        /// What its calls were found to ask for when the answer arrived, so that they are not interpreted again.
        /// Shorter than the calls in entries of builds that did not store it.
        #[serde(default, skip_serializing_if = "no_intents")]
        intents: Arc<Intents>,
        /// Why it stopped.
        stop_reason: StopReason,
        /// What it cost.
        usage: TokenUsage,
        /// The tries it took.
        tries: Tries,
    },
    /// What a call came to; exactly one per call.
    ToolResult {
        /// The round of the call.
        round: u32,
        /// The call.
        call_id: CallId,
        /// What it came to.
        envelope: ToolEnvelope,
        /// How long it took.
        duration_ms: u64,
    },
    /// The runtime asked the model to go on.
    ContinuationPrompt {
        /// In these words.
        text: String,
        /// Why.
        reason: String,
    },
    /// The turn failed.
    RuntimeFailure {
        /// The message it answered.
        message_id: MessageId,
        /// What is said of it.
        text: String,
        /// The artifact, written for people.
        failure_artifact: FailureArtifact,
        /// Why the turn ended, as decisions read it; absent in entries of builds that stored only the artifact.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<TerminalReason>,
        /// Tokens of the whole turn until it failed, where any are known. Entries of earlier builds count the failed tries
        /// alone.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<TokenUsage>,
        /// The tries it took.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeline: Option<AttemptTimeline>,
        /// The task that the message belongs to. Absent when it belongs to none, and in entries of earlier builds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        task_id: Option<TaskId>,
    },
}

fn no_intents(intents: &Arc<Intents>) -> bool {
    intents.is_empty()
}

impl LogEntry {
    /// The message the entry took up, if it is such an entry.
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
            | Self::RuntimeFailure { .. } => None,
        }
    }
}
