//! Builds the request of a model round from the rows of its turn, and maps the model's reply to the outcome that is
//! committed. Pure: the shell and the simulation read rows and call models in their own ways and share this code.
//!
//! Nothing is kept between rounds. Each request is rebuilt from the store, so a resumption after a restart uses the
//! same code as the round after a tool call. Invariant: the outcome names the messages that its request held, and only
//! there are they consumed.

mod budget;
mod frame;
mod images;
mod thread;

pub(crate) use budget::{needs_brief_tools, offered_tools, prompt_budget};
pub(crate) use frame::{kept_frame, kept_memory, shown_children, tasks_running_at};
pub use images::{RequestImages, SentFile, SoughtImages, sought};
pub(crate) use thread::thread_of;
pub use thread::{KnownThread, ThreadTerms};

use crate::kernel::intents_of;
use budget::{
    CountedRequest, PromptBudget, conversation_room, lesson, output_room, over_window, turn_budget,
};
use frame::{RequestTools, build_frame, context_size, frame_record, with_tools};
use holon_core::input::{ContextSize, FailedAttempt, RoundTiming, blocks};
use holon_core::{Input, RoundAnswer, Stamp};
use holon_domain::agent::ProfilePreset;
use holon_domain::attempt::TokenUsage;
use holon_domain::block::Block;
use holon_domain::budget::CallTerms;
use holon_domain::compaction::Compaction;
use holon_domain::guidance::Guidance;
use holon_domain::limits::LARGEST_WINDOW_TOKENS;
use holon_domain::log::{FrameRecord, InterjectionBoundary, LogEntry};
use holon_domain::model::{
    ModelFailure, ModelFailureKind, ModelRef, ModelReply, ModelRequest, PromptFrame,
};
use holon_domain::place::Place;
use holon_domain::provider::{AskedServer, LearnedLimits, ModelPolicy, PolicySource, StatedWindow};
use holon_domain::queue::QueueEntry;
use holon_domain::thread::{FoldCause, ThreadFold};
use holon_domain::tool_set::ToolSet;
use holon_domain::turn::{OpenTurn, PromptCeiling};
use holon_domain::usage::{CallEstimate, UsageBounds};
use holon_domain::web::WebTools;
use holon_domain::work_item::{PlanArtifact, StaleReminder, WorkItemRecord};
use holon_domain::{Entropy, WorkItemId};
pub use holon_prompt::conversation::ReminderTerms;
use holon_prompt::conversation::{self, BuiltConversation, ConversationInput, split_by_size};
use holon_prompt::{BuiltFrame, PlanFile};
use holon_store::TurnRows;
use std::sync::Arc;
use thread::{RequestThread, shown_content};

/// Files that the shell read for a request.
#[derive(Debug, Clone)]
pub struct RequestFiles {
    /// State of the plan file of the turn's work item.
    pub plan: PlanFile,
    /// Guidance of the agent. Only the first request of a turn uses it; later ones show what the first one showed.
    pub guidance: Guidance,
    /// Where the agent works. Used by the first request of a turn, likewise.
    pub place: Place,
    /// Images that were sent or viewed and that the model can see.
    pub images: RequestImages,
}

/// Most times that a request folds the thread: down to its mark, and whole if rounds of the turn give way otherwise.
const FOLDS_A_REQUEST: usize = 2;

/// Conditions of a request that the host sets.
#[derive(Debug, Clone, Copy)]
pub struct RequestTerms {
    /// Conditions for reminders of the turn's work item.
    pub reminder: ReminderTerms,
    /// Web tools that are on.
    pub web_tools: WebTools,
    pub thread: ThreadTerms,
}

/// A model request of an open turn, with the facts needed to record its reply.
#[derive(Debug, Clone)]
pub struct RoundRequest {
    /// Request for the model client.
    pub request: ModelRequest,
    /// Messages that were queued when the request was built. The request includes them, so its reply consumes them.
    pub queued: Vec<QueueEntry>,
    /// Operator messages that are too long to join the turn. They get turns of their own.
    pub apart: Vec<QueueEntry>,
    preset: ProfilePreset,
    learned: LearnedLimits,
    server: AskedServer,
    frame: FrameRecord,
    context: ContextSize,
    /// Estimated tokens of the request. Texts are estimated once: a long request has many.
    request_tokens: u64,
    /// Tokens that the call takes at most, as its provider counts them.
    estimate: CallEstimate,
    /// True if the call may not be made as it is, because a budget has not reserved its size.
    over_budget: bool,
    shown_items: Vec<WorkItemId>,
    /// Texts that the frame refers to, by hash; empty after the first round.
    kept: Vec<(String, String)>,
    boundary: InterjectionBoundary,
    plan: Option<(WorkItemId, PlanArtifact)>,
    reminder: Option<StaleReminder>,
    reminder_text: Option<String>,
    compaction: Option<Compaction>,
    /// Fold of the thread that this request made.
    fold: Option<ThreadFold>,
    policy: ModelPolicy,
    /// The refusal of this round's request that this one follows. Absent if none was refused.
    refusal: Option<PromptCeiling>,
}

/// Limits the answer to what a budget has reserved. Returns true if the request may not be sent, because no budget has
/// reserved that much.
fn bind_to_reservation(
    turn: &OpenTurn,
    estimate: CallEstimate,
    request: &mut ModelRequest,
) -> bool {
    let reserved = turn.call.filter(|_| turn.call_terms != CallTerms::Free);
    if let Some(reserved) = reserved {
        let most = u32::try_from(reserved.output_tokens).unwrap_or(u32::MAX);
        request.max_output_tokens = request.max_output_tokens.min(most);
    }
    match turn.call_terms {
        CallTerms::Free => false,
        CallTerms::Measure => true,
        CallTerms::Bound => {
            reserved.is_none_or(|reserved| estimate.input_tokens > reserved.input_tokens)
        }
    }
}

impl RoundRequest {
    /// Builds the request. `None` if the turn has no model, or its opening message is missing. `policy` holds the
    /// model's limits before anything was learned from its provider.
    #[must_use]
    pub fn new(
        mut rows: TurnRows,
        known: &KnownThread,
        policy: ModelPolicy,
        mut files: RequestFiles,
        terms: RequestTerms,
    ) -> Option<Self> {
        let model = rows.turn.model.clone()?;
        let policy = policy.with(rows.learned.limits);
        // A turn keeps the workspace it began with, even if the agent's workspace is changed meanwhile.
        rows.agent.settings.workspace = rows.turn.workspace.clone();
        let preset = rows.agent.identity.profile_preset;
        let budget = turn_budget(&rows, policy);
        let mut earlier = RequestThread::new(known, &rows, policy, terms.thread);
        let parts = (&model, policy, budget);
        let FixedPart { tools, built } =
            FixedPart::beside(&mut earlier, &rows, known, parts, &files, terms)?;
        let fixed_tokens = built.tokens + tools.set.estimated_tokens();
        let context = context_size(&built);
        let mut frame = frame_record(&rows, &built, &tools);
        let mut request = without_rounds(&rows, model, policy, built.frame, tools.set);
        let room = conversation_room(fixed_tokens, budget);
        let least_room = conversation_room(usize::MAX, budget);
        let room_beside = |earlier: &RequestThread| earlier.rounds_room(room, least_room);
        // What images may take, texts may not.
        let room_now = room_beside(&earlier);
        let image_tokens = images::reserve(&rows, policy, &mut files.images, room_now / 2);
        let joining = split_by_size(
            std::mem::take(&mut rows.queued),
            &rows.log.entries,
            &rows.messages,
            room_now.saturating_sub(image_tokens),
        );
        let build = |earlier: &RequestThread| {
            conversation::build(&ConversationInput {
                agent: &rows.agent,
                turn: &rows.turn,
                item: rows.item.as_ref(),
                plan: &files.plan,
                context: &request.frame.context_blocks,
                entries: &rows.log.entries,
                messages: &rows.messages,
                queued: &joining.joining,
                waits: &rows.waits,
                receipt: holon_tools::receipt,
                short_receipt: holon_tools::short_receipt,
                entered_guidance: holon_tools::use_workspace::entered_guidance,
                reminders: terms.reminder,
                room_tokens: room_beside(earlier).saturating_sub(image_tokens),
                is_refused: budget.ceiling.is_some(),
                is_unsealed: earlier.is_unsealed(&rows.agent.thread),
            })
        };
        let built_conversation = fit_rounds(&mut earlier, build);
        request.thread = earlier.thread.shown_turns();
        let earlier_tokens = earlier.thread.tokens();
        let fold = earlier.thread.into_new_fold().map(|fold| ThreadFold {
            // A thread without turns goes on with this one.
            from_entry: fold.from_entry.min(rows.turn.first_entry),
            ..fold
        });
        request.conversation = built_conversation.items;
        let shown_tokens = images::show(&mut request, &rows, &files.images, policy);
        frame.compression_epoch +=
            new_recaps(built_conversation.compaction.as_ref()) + u64::from(fold.is_some());
        request.frame.cache.compression_epoch = frame.compression_epoch;
        request.frame.cache.life = terms.thread.cache.for_rests(thread::rests_before(&rows));
        let request_tokens =
            u64::try_from(fixed_tokens + earlier_tokens + built_conversation.tokens + shown_tokens)
                .unwrap_or(u64::MAX);
        request.max_output_tokens = output_room(request_tokens, policy, budget.ceiling);
        let estimate = CallEstimate {
            input_tokens: policy.to_counted(request_tokens),
            output_tokens: u64::from(request.max_output_tokens),
        };
        let over_budget = bind_to_reservation(&rows.turn, estimate, &mut request);
        let surroundings = built.surroundings_hash.zip(built.surroundings);
        let lasting = [
            (built.stable_hash, built.stable),
            (built.agent_scoped_hash, built.agent_scoped),
        ];
        let lasting = lasting.into_iter().chain(surroundings);
        let kept = lasting.filter(|_| rows.turn.rounds == 0).collect();
        Some(Self {
            request,
            request_tokens,
            estimate,
            over_budget,
            frame,
            context,
            shown_items: built.shown_items,
            kept,
            boundary: boundary(&rows.log.entries, rows.turn.rounds),
            queued: joining.joining,
            apart: joining.apart,
            learned: rows.learned.limits,
            server: AskedServer {
                endpoint: rows.learned.endpoint,
                stated_window_tokens: None,
            },
            preset,
            plan: changed_plan(rows.item.as_ref(), files.plan),
            reminder: built_conversation.reminder,
            reminder_text: built_conversation.reminder_text,
            compaction: built_conversation.compaction,
            fold,
            policy,
            refusal: budget.ceiling.filter(|_| budget.is_refused),
        })
    }

    /// Adds a window that the server described, in tokens. The outcome records it, whether it is an answer or a failure.
    #[must_use]
    pub const fn with_statement(mut self, stated_window_tokens: Option<u32>) -> Self {
        self.server.stated_window_tokens = stated_window_tokens;
        self
    }

    /// Returns the size of a request that may not be sent, because no budget has reserved that much.
    #[must_use]
    pub fn over_budget(&self) -> Option<CallEstimate> {
        self.over_budget.then_some(self.estimate)
    }

    /// Returns a failure if the request cannot fit the model's window, even if its size was estimated too high, or if the
    /// provider refused it and it could not be made smaller. Such a request is not sent.
    #[must_use]
    pub fn over_length(&self) -> Option<ModelFailure> {
        let model = &self.request.model;
        let (tokens, limit) = match over_window(self.policy, self.request_tokens) {
            Some(tokens) => {
                let window = self.policy.context_window_tokens;
                (tokens, format!("{model} takes {window}"))
            }
            None if self.is_as_refused() => (
                self.policy.to_counted(self.request_tokens),
                format!("the provider of {model} refused that as too long"),
            ),
            None => return None,
        };
        Some(ModelFailure::new(
            ModelFailureKind::ContextLengthExceeded,
            format!(
                "the prompt takes about {tokens} tokens after everything that may be left out was left out, and {limit}; \
                 choose a model with a larger window, or shorten the message or the instruction files"
            ),
        ))
    }

    /// Returns true if the request is no smaller than the one that the provider refused in this round. A shorter answer
    /// makes it smaller only if the refusal was about both together.
    fn is_as_refused(&self) -> bool {
        let Some(refusal) = self.refusal.filter(|refusal| refusal.refused > 0) else {
            return false;
        };
        let sum = |tokens: u64, answer: u32| self.policy.to_counted(tokens) + u64::from(answer);
        let is_smaller_sum = sum(self.request_tokens, self.request.max_output_tokens)
            < sum(refusal.refused, refusal.refused_answer);
        self.request_tokens >= refusal.refused && !(refusal.counts_answer && is_smaller_sum)
    }

    /// Maps the model's reply or failure to the outcome that is committed.
    #[must_use]
    pub fn outcome(
        self,
        stamp: Stamp,
        reply: Result<ModelReply, ModelFailure>,
        timing: RoundTiming,
        entropy: &mut dyn Entropy,
    ) -> Input {
        match reply {
            Ok(reply) => Input::RoundAnswered {
                stamp,
                answer: Box::new(self.answer(reply.without_repeats(), timing, entropy)),
            },
            Err(failure) => Input::AttemptFailed {
                stamp,
                attempt: Box::new(self.failed(failure, timing)),
            },
        }
    }

    /// Returns the bounds of what a provider may report about this request and an answer of a size.
    fn usage_bounds(&self, answer_tokens: u64) -> UsageBounds {
        let window = match self.policy.source {
            // The assumed window is the smallest that may be, and what the model reasons is hidden.
            PolicySource::UnknownFallback => LARGEST_WINDOW_TOKENS,
            PolicySource::BuiltInCatalog | PolicySource::ConfigOverride | PolicySource::Learned => {
                self.policy.context_window_tokens
            }
        };
        UsageBounds::new(self.estimate, window, answer_tokens)
    }

    fn failed(self, mut failure: ModelFailure, timing: RoundTiming) -> FailedAttempt {
        let bounds = self.usage_bounds(0);
        FailedAttempt {
            implausible_usage: failure.usage.take_if(|claim| !bounds.explain(claim)),
            failure,
            timing,
            request_tokens: self.request_tokens,
            answer_tokens: self.request.max_output_tokens,
            shown: shown_content(&self.request),
            server: self.server,
            interjected: self.queued,
        }
    }

    fn answer(
        self,
        reply: ModelReply,
        timing: RoundTiming,
        entropy: &mut dyn Entropy,
    ) -> RoundAnswer {
        let blocks = blocks(&self.request.model.to_string(), reply.blocks, entropy);
        let intents = intents_of(&blocks, self.preset);
        let said: usize = blocks.iter().map(Block::estimated_tokens).sum();
        let said = u64::try_from(said).unwrap_or(u64::MAX);
        let answer_tokens = self.policy.to_counted(said);
        let bounds = self.usage_bounds(answer_tokens);
        let implausible_usage = Some(reply.usage).filter(|claim| !bounds.explain(claim));
        let usage = match implausible_usage {
            None => reply.usage,
            Some(_) => TokenUsage::new(self.estimate.input_tokens, answer_tokens),
        };
        let counted = CountedRequest {
            estimated_tokens: self.request_tokens,
            usage: reply.usage,
            reduction: reply.context_management,
        };
        RoundAnswer {
            learned: match implausible_usage {
                None => lesson(self.learned, self.policy, counted),
                Some(_) => None,
            },
            context_management: reply.context_management,
            overlap: None,
            server: self.server,
            intents,
            interjected: self.queued,
            apart: self.apart,
            request_tokens: self.request_tokens,
            estimate: self.estimate,
            boundary: self.boundary,
            context: self.context,
            frame: self.frame,
            shown_items: self.shown_items,
            plan: self.plan,
            reminder: self.reminder,
            reminder_text: self.reminder_text,
            compaction: self.compaction,
            fold: self.fold,
            kept: self.kept,
            blocks,
            stop_reason: reply.stop_reason,
            usage,
            implausible_usage,
            timing,
        }
    }
}

/// Returns the request without its thread and its rounds.
fn without_rounds(
    rows: &TurnRows,
    model: ModelRef,
    policy: ModelPolicy,
    frame: PromptFrame,
    tools: ToolSet,
) -> ModelRequest {
    ModelRequest {
        model,
        round: rows.turn.rounds + 1,
        frame,
        thread: Vec::new(),
        conversation: Vec::new(),
        tools,
        max_output_tokens: policy.max_output_tokens,
        reasoning_effort: rows.turn.reasoning_effort,
        reasoning: policy.reasoning.with_thinking(rows.turn.thinking_tokens),
        prior_rounds: rows
            .agent
            .totals
            .model_rounds
            .saturating_sub(u64::from(rows.turn.rounds)),
    }
}

/// What a request holds beside its thread and its rounds.
struct FixedPart {
    tools: RequestTools,
    built: BuiltFrame,
}

impl FixedPart {
    /// Builds the fixed part, and folds the thread if that is due or what is left does not suffice for it. A fold renews
    /// the base, so the part is then built again.
    fn beside(
        earlier: &mut RequestThread,
        rows: &TurnRows,
        known: &KnownThread,
        (model, policy, budget): (&ModelRef, ModelPolicy, PromptBudget),
        files: &RequestFiles,
        terms: RequestTerms,
    ) -> Option<Self> {
        let preset = rows.agent.identity.profile_preset;
        let offer = |is_brief| offered_tools(preset, policy, terms.web_tools, is_brief);
        let build = |earlier: &RequestThread| {
            let (tools, built) = with_tools(rows, budget, offer, |tools| {
                build_frame(rows, &earlier.thread, model, tools, budget, files)
            })?;
            Some(Self { tools, built })
        };
        let part = build(earlier)?;
        let tokens = part.built.tokens + part.tools.set.estimated_tokens();
        let room = conversation_room(tokens, budget);
        let forced = if budget.is_refused {
            Some(FoldCause::Refused)
        } else {
            images::need_fold(rows, known, policy).then_some(FoldCause::Room)
        };
        if earlier.fold_at_start(rows, known, terms.thread, room, forced) {
            return build(earlier);
        }
        Some(part)
    }
}

/// Builds the rounds of the turn. The oldest turns give way before any of them does.
fn fit_rounds(
    earlier: &mut RequestThread,
    build: impl Fn(&RequestThread) -> BuiltConversation,
) -> BuiltConversation {
    let mut built = build(earlier);
    for _ in 0..FOLDS_A_REQUEST {
        let made = built.compaction.as_ref();
        let whole = made.and_then(|made| usize::try_from(made.tokens_before).ok());
        let tokens = whole.unwrap_or(built.tokens);
        if !earlier.make_room(tokens, made.is_some()) {
            break;
        }
        built = build(earlier);
    }
    built
}

/// Counts the recaps that a request is the first to hold.
fn new_recaps(compaction: Option<&Compaction>) -> u64 {
    u64::from(compaction.is_some_and(|made| made.recap.is_some()))
}

/// Returns the plan if its file differs from the item's row.
fn changed_plan(
    item: Option<&WorkItemRecord>,
    plan: PlanFile,
) -> Option<(WorkItemId, PlanArtifact)> {
    match (item, plan) {
        (Some(item), PlanFile::Changed(plan)) => Some((item.id.clone(), plan)),
        (Some(_) | None, PlanFile::Changed(_) | PlanFile::Known | PlanFile::Missing) => None,
    }
}

/// Adds the server's description of a model to what is known of it. Returns the described window in tokens if it is new.
/// `policy` holds the window that counts while none is known.
pub fn add_statement(
    rows: &mut TurnRows,
    policy: ModelPolicy,
    stated: Option<StatedWindow>,
) -> Option<u32> {
    rows.learned
        .take_statement(stated?, policy.context_window_tokens)
}

fn boundary(entries: &[Arc<LogEntry>], rounds: u32) -> InterjectionBoundary {
    match (rounds, entries.last().map(AsRef::as_ref)) {
        (0, _) => InterjectionBoundary::BeforeProviderRequest,
        (_, Some(LogEntry::ToolResult { .. })) => InterjectionBoundary::AfterToolResults,
        (_, _) => InterjectionBoundary::AfterProviderRound,
    }
}

#[cfg(test)]
mod tests;
