//! One model round: load what the turn has said so far, build the request, ask, and stamp the answer.
//!
//! Nothing is remembered between rounds: each request is rebuilt from the store, so going on after a restart is the
//! same code as going on after a tool call. What the request held is named in its outcome and consumed there.

use super::Shell;
use crate::error::Error;
use crate::kernel::intents_of;
use holon_core::input::{ContextSize, RoundTiming, blocks};
use holon_core::{Input, RoundAnswer, Stamp};
use holon_domain::agent::AgentRecord;
use holon_domain::log::{FrameRecord, InterjectionBoundary, LogEntry};
use holon_domain::message::MessageEnvelope;
use holon_domain::model::{
    ConversationItem, ModelFailure, ModelFailureKind, ModelReply, ModelRequest,
};
use holon_domain::provider::{LearnedLimits, ModelPolicy, PolicySource};
use holon_domain::queue::QueueEntry;
use holon_domain::task::{TaskListEntry, TaskRecord};
use holon_domain::tool::ToolSpec;
use holon_domain::{AgentId, Entropy, Timestamp, limits};
use holon_prompt::{Built, FrameInput, HistoryItem};
use holon_store::Reader;
use holon_tools::SchemaMode;
use std::collections::HashMap;
use tokio_util::sync::CancellationToken;

/// What a request is built from, as one read saw it.
struct TurnContext {
    agent: AgentRecord,
    entries: Vec<LogEntry>,
    messages: HashMap<u64, MessageEnvelope>,
    history: Vec<HistoryItem>,
    /// The turn's frame texts, from its second round on.
    kept: Option<(FrameRecord, String, String)>,
    /// The tasks that ran when the turn began, oldest first.
    tasks: Vec<TaskListEntry>,
    /// Messages that wait to enter the turn.
    queued: Vec<QueueEntry>,
    /// What the provider of the turn's model has taught.
    learned: LearnedLimits,
}

impl Shell {
    /// Asks the model. No outcome means: the turn is over, or the host goes down and asks again at its next boot.
    pub(super) async fn call_model(
        &self,
        agent_id: &AgentId,
        turn_index: u64,
        stamp: Stamp,
        cancel: CancellationToken,
    ) -> Option<Input> {
        let began = self.ports.clock.elapsed();
        let id = agent_id.clone();
        let read = move |reader: &Reader<'_>| load(reader, &id, turn_index);
        let context = match self.read_of(agent_id, read).await {
            Ok(context) => context?,
            Err(Error::AgentAside { .. }) => return None,
            Err(error) => return Some(self.context_failed(stamp, &error)),
        };
        let tools = holon_tools::catalog(context.agent.identity.profile_preset);
        let turn = context.agent.open_turn.as_ref()?;
        let Some(model) = &turn.model else {
            return Some(self.not_asked(stamp, ModelFailure::no_model()));
        };
        let policy = self.ports.model.policy(model).with(context.learned);
        let prepared = Prepared::new(&context, &tools, policy)?;
        let build_ms = self.millis_since(began);
        let (started_at, asked) = (self.ports.clock.now(), self.ports.clock.elapsed());
        let request = prepared.request.clone();
        let reply = tokio::select! {
            reply = self.ports.model.call(request, cancel.clone()) => reply,
            () = cancel.cancelled() => return None,
            () = self.draining.cancelled() => return None,
        };
        let timing = RoundTiming {
            context_build_ms: build_ms,
            started_at,
            completed_at: self.ports.clock.now(),
            provider_ms: self.millis_since(asked),
        };
        Some(match reply {
            Ok(reply) => {
                let mut entropy = self.ports.entropy.source();
                let reply = reply.without_repeats();
                let answer = prepared.answer(&context, reply, timing, entropy.as_mut());
                Input::RoundAnswered {
                    stamp,
                    answer: Box::new(answer),
                }
            }
            Err(failure) => Input::RoundFailed {
                stamp,
                failure,
                timing,
            },
        })
    }

    fn context_failed(&self, stamp: Stamp, error: &Error) -> Input {
        let failure = ModelFailure::new(
            ModelFailureKind::ServerError,
            format!("the turn's context could not be read: {error}"),
        );
        self.not_asked(stamp, failure)
    }

    /// A round that failed before any model was asked.
    fn not_asked(&self, stamp: Stamp, failure: ModelFailure) -> Input {
        let now = self.ports.clock.now();
        let timing = RoundTiming {
            context_build_ms: 0,
            started_at: now,
            completed_at: now,
            provider_ms: 0,
        };
        Input::RoundFailed {
            stamp,
            failure,
            timing,
        }
    }

    pub(super) fn millis_since(&self, began: std::time::Duration) -> u64 {
        let took = self.ports.clock.elapsed().saturating_sub(began);
        u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
    }
}

/// Reads everything a request needs in one transaction. None when the turn is over.
fn load(
    reader: &Reader<'_>,
    agent_id: &AgentId,
    turn_index: u64,
) -> Result<Option<TurnContext>, holon_store::Error> {
    let Some((no, mut agent)) = reader.agent(agent_id)? else {
        return Ok(None);
    };
    let Some(turn) = agent
        .open_turn
        .clone()
        .filter(|turn| turn.turn_index == turn_index)
    else {
        return Ok(None);
    };
    // A turn ends where it began, also when the agent is told to work elsewhere meanwhile.
    agent.settings.workspace = turn.workspace.clone();
    let entries: Vec<LogEntry> = reader
        .turn_entries(no, turn.first_entry)?
        .into_iter()
        .map(|(_, entry)| entry)
        .collect();
    let mut messages = HashMap::new();
    for seq in entries.iter().filter_map(LogEntry::message_seq) {
        if let Some(entry) = reader.message(no, seq)? {
            messages.insert(seq, entry.envelope);
        }
    }
    if !messages.contains_key(&turn.message_seq) {
        return Err(holon_store::Error::Row {
            table: "messages",
            key: turn.message_seq.to_string(),
            reason: "the open turn answers it, but it is not there".to_owned(),
        });
    }
    let kept = match entries.iter().find_map(frame_of) {
        Some(frame) => match (
            reader.blob(&frame.stable)?,
            reader.blob(&frame.agent_scoped)?,
        ) {
            (Some(stable), Some(agent_scoped)) => Some((frame.clone(), stable, agent_scoped)),
            (Some(_) | None, Some(_) | None) => None,
        },
        None => None,
    };
    let history = reader
        .history(no, turn.first_entry, limits::RECENT_MESSAGES)?
        .into_iter()
        .map(|item| HistoryItem {
            message: item.message,
            answer: item.answer,
        })
        .collect();
    let tasks = running_at(&crate::tasks::told(reader, no)?, turn.started_at);
    let queued = reader.joining(no, &agent.held, limits::INTERJECTIONS_PER_ROUND)?;
    let learned = reader.model_limits(&turn.model_ref())?;
    Ok(Some(TurnContext {
        agent,
        entries,
        messages,
        history,
        kept,
        tasks,
        queued,
        learned,
    }))
}

/// The tasks that ran at a time, oldest first: every round of a turn tells the same ones, whatever ended since.
fn running_at(newest_first: &[TaskRecord], at: Timestamp) -> Vec<TaskListEntry> {
    let ran = |task: &TaskRecord| {
        task.created_at < at && task.end.as_ref().is_none_or(|end| end.ended_at > at)
    };
    let mut ran: Vec<TaskListEntry> = newest_first
        .iter()
        .filter(|task| ran(task))
        .map(TaskRecord::list_entry)
        .collect();
    ran.reverse();
    ran
}

const fn frame_of(entry: &LogEntry) -> Option<&FrameRecord> {
    match entry {
        LogEntry::Frame(frame) => Some(frame),
        LogEntry::IncomingMessage { .. }
        | LogEntry::Interjection { .. }
        | LogEntry::AssistantRound { .. }
        | LogEntry::ToolResult { .. }
        | LogEntry::ContinuationPrompt { .. }
        | LogEntry::RuntimeFailure { .. } => None,
    }
}

/// A request and the facts its answer will be recorded with.
struct Prepared {
    request: ModelRequest,
    built: Built,
    boundary: InterjectionBoundary,
}

impl Prepared {
    fn new(context: &TurnContext, tools: &[ToolSpec], policy: ModelPolicy) -> Option<Self> {
        let turn = context.agent.open_turn.as_ref()?;
        let model = turn.model.clone()?;
        let input = FrameInput {
            agent: &context.agent,
            model: &model,
            current: context.messages.get(&turn.message_seq)?,
            history: &context.history,
            tasks: &context.tasks,
            now: turn.started_at,
            tools,
            budget_tokens: prompt_budget(policy),
        };
        let built = match &context.kept {
            Some((_, stable, agent_scoped)) => holon_prompt::rebuild(&input, stable, agent_scoped),
            None => holon_prompt::build(&input),
        };
        let mut request = ModelRequest {
            model,
            round: turn.rounds + 1,
            frame: built.frame.clone(),
            conversation: conversation(context),
            tools: tools
                .iter()
                .map(|spec| holon_tools::emit(spec, SchemaMode::Relaxed).as_taken_by(policy))
                .collect(),
            max_output_tokens: policy.max_output_tokens,
            reasoning_effort: turn.reasoning_effort,
            prior_rounds: context
                .agent
                .totals
                .model_rounds
                .saturating_sub(u64::from(turn.rounds)),
        };
        request.max_output_tokens = output_room(&request, policy);
        Some(Self {
            request,
            built,
            boundary: boundary(&context.entries, turn.rounds),
        })
    }

    fn answer(
        self,
        context: &TurnContext,
        reply: ModelReply,
        timing: RoundTiming,
        entropy: &mut dyn Entropy,
    ) -> RoundAnswer {
        let blocks = blocks(&self.request.model.to_string(), reply.blocks, entropy);
        let intents = intents_of(&blocks, context.agent.identity.profile_preset);
        let (stable, agent_scoped) = (
            holon_prompt::hash(&self.built.stable),
            holon_prompt::hash(&self.built.agent_scoped),
        );
        let cache = &self.built.frame.cache;
        RoundAnswer {
            learned: wider_window(context.learned, reply.usage.total_tokens),
            intents,
            interjected: context.queued.clone(),
            boundary: self.boundary,
            context: ContextSize {
                sections: self.built.sections,
                context_chars: self
                    .built
                    .frame
                    .context_blocks
                    .iter()
                    .map(|block| block.text.len())
                    .sum(),
                system_chars: self.built.frame.system_prompt.len(),
            },
            frame: FrameRecord {
                prompt_cache_key: cache.prompt_cache_key.clone(),
                context_fingerprint: cache.context_fingerprint.clone(),
                stable: stable.clone(),
                agent_scoped: agent_scoped.clone(),
            },
            kept: vec![
                (stable, self.built.stable),
                (agent_scoped, self.built.agent_scoped),
            ],
            blocks,
            stop_reason: reply.stop_reason,
            usage: reply.usage,
            timing,
        }
    }
}

/// What a prompt may take: its share of the window, less what the answer may need.
fn prompt_budget(policy: ModelPolicy) -> u32 {
    let answer = policy
        .max_output_tokens
        .min(policy.context_window_tokens / 4);
    policy.prompt_budget_tokens().saturating_sub(answer)
}

/// What the model may write: what it is allowed to, within what its window leaves. An assumed window takes nothing
/// away: the provider knows better, and its error teaches the real one.
fn output_room(request: &ModelRequest, policy: ModelPolicy) -> u32 {
    match policy.source {
        PolicySource::UnknownFallback => return policy.max_output_tokens,
        PolicySource::BuiltInCatalog | PolicySource::ConfigOverride | PolicySource::Learned => {}
    }
    let window = policy.context_window_tokens;
    let left = u64::from(window).saturating_sub(request.estimated_tokens());
    let left = u32::try_from(left).unwrap_or(u32::MAX);
    let least = limits::MIN_OUTPUT_TOKENS.min(window / 4);
    policy.max_output_tokens.min(left.max(least))
}

/// An answer that took more than was learned shows that the lesson is too narrow.
fn wider_window(learned: LearnedLimits, took_tokens: u64) -> Option<LearnedLimits> {
    let window = learned.context_window_tokens?;
    let took = u32::try_from(took_tokens).unwrap_or(u32::MAX);
    (took > window).then_some(LearnedLimits {
        context_window_tokens: Some(took),
        max_output_tokens: None,
    })
}

/// What was said since the frame, then what waits to be said.
fn conversation(context: &TurnContext) -> Vec<ConversationItem> {
    let said = context.entries.iter().filter_map(|entry| match entry {
        // No provider takes back an answer without content.
        LogEntry::AssistantRound { blocks, .. } if blocks.is_empty() => None,
        LogEntry::AssistantRound { blocks, tries, .. } => Some(ConversationItem::Assistant {
            model_ref: tries.model_ref.clone(),
            blocks: blocks.to_vec(),
        }),
        LogEntry::ToolResult {
            call_id, envelope, ..
        } => Some(ConversationItem::ToolResult {
            call_id: call_id.clone(),
            content: holon_tools::receipt(envelope),
            is_error: envelope.error().is_some(),
        }),
        LogEntry::Interjection { message_seq, .. } => {
            context.messages.get(message_seq).map(interjected)
        }
        LogEntry::ContinuationPrompt { text, .. } => {
            Some(ConversationItem::User { text: text.clone() })
        }
        LogEntry::IncomingMessage { .. } | LogEntry::Frame(_) | LogEntry::RuntimeFailure { .. } => {
            None
        }
    });
    let waiting = context
        .queued
        .iter()
        .map(|entry| interjected(&entry.envelope));
    said.chain(waiting).collect()
}

fn interjected(message: &MessageEnvelope) -> ConversationItem {
    ConversationItem::User {
        text: holon_prompt::interjection_text(message),
    }
}

fn boundary(entries: &[LogEntry], rounds: u32) -> InterjectionBoundary {
    match (rounds, entries.last()) {
        (0, _) => InterjectionBoundary::BeforeProviderRequest,
        (_, Some(LogEntry::ToolResult { .. })) => InterjectionBoundary::AfterToolResults,
        (_, _) => InterjectionBoundary::AfterProviderRound,
    }
}

#[cfg(test)]
mod tests;
