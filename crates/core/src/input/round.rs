//! A round of a turn: a model's answer as it enters a decision, and the calls of a round as the log holds them.

use holon_domain::attempt::{RequestOverlap, TokenUsage};
use holon_domain::block::{Block, OpaqueData, ToolCall, calls_of, text_beginning};
use holon_domain::compaction::Compaction;
use holon_domain::intent::Intent;
use holon_domain::limits::JSON_DEPTH;
use holon_domain::log::{FrameRecord, Intents, InterjectionBoundary, LogEntry};
use holon_domain::model::{ModelFailure, ReplyBlock, StopReason};
use holon_domain::nesting::is_value_too_deep;
use holon_domain::provider::{AskedServer, ContextReduction, LearnedLimits};
use holon_domain::queue::QueueEntry;
use holon_domain::thread::ThreadFold;
use holon_domain::tool::ToolError;
use holon_domain::turn::{LogSeq, ShownContent};
use holon_domain::usage::CallEstimate;
use holon_domain::work_item::{PlanArtifact, StaleReminder};
use holon_domain::{CallId, Entropy, Timestamp, WorkItemId, limits, text};
use serde_json::Value;
use std::sync::Arc;

/// One round of a turn with its tool calls and their intents.
#[derive(Debug, Clone)]
pub(crate) struct CurrentRound {
    pub(crate) entry: LogSeq,
    blocks: Arc<Vec<Block>>,
    intents: Arc<Intents>,
}

impl CurrentRound {
    pub(crate) const fn new(entry: LogSeq, blocks: Arc<Vec<Block>>, intents: Arc<Intents>) -> Self {
        Self {
            entry,
            blocks,
            intents,
        }
    }

    /// Reads a round from its log entry; `None` for an entry of another kind.
    pub(crate) fn of_entry(seq: LogSeq, entry: &LogEntry) -> Option<Self> {
        match entry {
            LogEntry::AssistantRound {
                blocks, intents, ..
            } => Some(Self::new(seq, Arc::clone(blocks), Arc::clone(intents))),
            LogEntry::IncomingMessage { .. }
            | LogEntry::Frame(_)
            | LogEntry::Interjection { .. }
            | LogEntry::ToolResult { .. }
            | LogEntry::ContinuationPrompt { .. }
            | LogEntry::Recap(_)
            | LogEntry::ThreadFold(_)
            | LogEntry::Shortened(_)
            | LogEntry::RuntimeFailure { .. } => None,
        }
    }

    /// Returns the calls in order with their intents. A call without an intent was not interpreted.
    pub(crate) fn calls(&self) -> impl Iterator<Item = (&ToolCall, Option<&CallIntent>)> {
        let intents = self.intents.iter().map(Some);
        calls_of(&self.blocks).zip(intents.chain(std::iter::repeat(None)))
    }

    /// Returns the text of the round for a completion report.
    pub(crate) fn report(&self) -> String {
        text_beginning(&self.blocks, limits::RESULT_SUMMARY_BYTES)
            .trim()
            .to_owned()
    }

    /// Returns the beginning of the round's text; empty if the model wrote none.
    pub(crate) fn words(&self) -> String {
        let beginning = text_beginning(&self.blocks, limits::EVENT_PREVIEW_BYTES);
        text::preview(beginning.trim(), limits::EVENT_PREVIEW_BYTES)
    }
}

/// The intent of a call, or the reason for which its arguments were refused.
pub(crate) type CallIntent = Result<Intent, ToolError>;

/// A model's answer with the contents, cost and timing of its request.
#[derive(Debug, Clone)]
pub struct RoundAnswer {
    /// The answer as the log keeps it; calls carry the runtime's ids. See [`blocks`].
    pub blocks: Arc<Vec<Block>>,
    /// Intents of the calls, in the order of the calls.
    pub intents: Arc<Intents>,
    /// Reason for which the model ended the answer: finished, calls to run, or cut off by the output limit.
    pub stop_reason: StopReason,
    /// Usage as the provider reported it, or an estimate if its report is implausible.
    pub usage: TokenUsage,
    /// Usage that the provider reported and that the request cannot explain.
    pub implausible_usage: Option<TokenUsage>,
    /// What the provider's servers left out of the request; `None` if it did not allow that.
    pub context_management: Option<ContextReduction>,
    /// How much of the request begins like the one before.
    pub overlap: Option<RequestOverlap>,
    /// Queued messages that the request contained. The commit of the answer consumes them.
    pub interjected: Vec<QueueEntry>,
    /// Operator messages that are too long to join this turn. They stay queued and get turns of their own.
    pub apart: Vec<QueueEntry>,
    /// Estimated tokens of the request; 0 if unknown.
    pub request_tokens: u64,
    /// Tokens that the call could take at most, as its provider counts them.
    pub estimate: CallEstimate,
    /// Point of the turn at which the messages of `interjected` joined.
    pub boundary: InterjectionBoundary,
    pub frame: FrameRecord,
    /// Work items that the request showed, on the turn's first round only. Showing an item consumes its due recheck.
    pub shown_items: Vec<WorkItemId>,
    /// Plan file of the turn's item as the request found it; `None` if it is unchanged since the record.
    pub plan: Option<(WorkItemId, PlanArtifact)>,
    /// Reminder to update the current work item that this request was the first to hold; `None` if none was due.
    pub reminder: Option<StaleReminder>,
    /// Text of that reminder. The log keeps it, so that later requests repeat it. Absent if the request held none.
    pub reminder_text: Option<String>,
    /// Compaction that this request was the first to have; `None` if it had none or only that of the log.
    pub compaction: Option<Compaction>,
    /// Fold of the agent's thread that this request was the first to begin with.
    pub fold: Option<ThreadFold>,
    /// Texts that the frame refers to, by hash. Sent on the turn's first round only.
    pub kept: Vec<(String, String)>,
    pub context: ContextSize,
    /// Limits learned from the answer, such as a context window that is wider than recorded.
    pub learned: Option<LearnedLimits>,
    pub server: AskedServer,
    pub timing: RoundTiming,
}

impl RoundAnswer {
    /// Returns the size of the answer in a write batch: its text and the texts kept with it.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let said = self.blocks.iter().map(|block| match block {
            Block::Text { text } | Block::Reasoning { text, .. } => text.len(),
            Block::ToolCall(call) => call.input.to_string().len(),
        });
        let kept = self.kept.iter().map(|(_, body)| body.len());
        said.chain(kept).sum()
    }
}

/// Converts a model's answer to the form the log keeps: calls get ids of the runtime, opaque blocks the lineage of the
/// model. The shell calls this before the commit, so that the writer copies no answer.
#[must_use]
pub fn blocks(lineage: &str, reply: Vec<ReplyBlock>, entropy: &mut dyn Entropy) -> Arc<Vec<Block>> {
    let sealed = |data: String| OpaqueData {
        lineage: lineage.to_owned(),
        data,
    };
    let blocks = reply.into_iter().filter_map(|block| match block {
        ReplyBlock::Text { text } if text.is_empty() => None,
        ReplyBlock::Text { text } => Some(Block::Text { text }),
        ReplyBlock::Reasoning { text, opaque } => Some(Block::Reasoning {
            text,
            opaque: opaque.map(sealed),
        }),
        ReplyBlock::Call(call) => Some(Block::ToolCall(ToolCall {
            id: CallId::mint(entropy),
            name: call.name,
            input: storable(call.input),
            provider_id: call.provider_id.map(sealed),
        })),
    });
    Arc::new(blocks.collect())
}

/// Returns arguments as the log keeps them. Those that are nested too deeply are replaced by words, which no tool takes as
/// arguments, so the call gets an error that the model can read.
fn storable(input: Value) -> Value {
    if is_value_too_deep(&input) {
        format!("(arguments nested more than {JSON_DEPTH} levels deep)").into()
    } else {
        input
    }
}

/// A failed request and its circumstances.
#[derive(Debug, Clone)]
pub struct FailedAttempt {
    pub failure: ModelFailure,
    /// Usage that the provider reported and that the request cannot explain; the failure then has none.
    pub implausible_usage: Option<TokenUsage>,
    pub timing: RoundTiming,
    pub server: AskedServer,
    /// Messages that the request contained. They are still queued.
    pub interjected: Vec<QueueEntry>,
    /// Estimated tokens of the request; 0 if none was built.
    pub request_tokens: u64,
    /// Output tokens that the request allowed; 0 if none was built.
    pub answer_tokens: u32,
    /// What another form of the request would leave out.
    pub shown: ShownContent,
}

/// Size of the context of one request.
#[derive(Debug, Clone, Copy, Default)]
pub struct ContextSize {
    pub sections: usize,
    pub context_chars: usize,
    pub system_chars: usize,
}

/// Times and durations of one round.
#[derive(Debug, Clone, Copy)]
pub struct RoundTiming {
    pub context_build_ms: u64,
    /// Time at which the request was sent.
    pub started_at: Timestamp,
    /// Time at which the answer was complete.
    pub completed_at: Timestamp,
    /// Duration of the request by the monotonic clock.
    pub provider_ms: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::model::RequestedCall;

    struct Ones;

    impl Entropy for Ones {
        fn next(&mut self) -> u128 {
            1
        }
    }

    #[test]
    fn arguments_that_could_not_be_read_again_are_replaced_by_words() {
        let nested =
            |depth: usize| (0..depth).fold(Value::Null, |inner, _| Value::from(vec![inner]));
        for (depth, is_kept) in [
            (1, true),
            (JSON_DEPTH, true),
            (JSON_DEPTH + 1, false),
            (126, false),
        ] {
            let input = nested(depth);
            let call = RequestedCall {
                provider_id: None,
                name: "ExecCommand".to_owned(),
                input: input.clone(),
            };
            let kept = blocks("a/b", vec![ReplyBlock::Call(call)], &mut Ones);
            let Some(Block::ToolCall(call)) = kept.first() else {
                panic!("a call");
            };
            assert_eq!(call.input == input, is_kept, "{depth}");
            assert!(is_kept || call.input.is_string(), "{depth}");
        }
    }
}
