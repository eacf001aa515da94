//! Assembles the frame in its fixed order: system blocks, context blocks and the cache identity.
//!
//! Owns order and identity; `plan` chooses what is shown and the texts are in their own modules. Invariants: stable
//! before agent-scoped before turn-scoped; the current input is last; the cache key depends on nothing turn-scoped.

mod blocks;
mod kept;
mod lasting;

use crate::candidate::Candidate;
use crate::history::{self, HistoryItem};
use crate::memory::{self, Memory, WorkAtHand};
use crate::plan::{Budget, PromptPlan, plan};
use crate::work::{self, Work};
use crate::{context, delegation, instructions, policy, repair, scope, skills, stable};
use holon_domain::WorkItemId;
use holon_domain::agent::AgentRecord;
use holon_domain::delegation::ActiveChild;
use holon_domain::guidance::Guidance;
use holon_domain::message::MessageEnvelope;
use holon_domain::model::{ModelRef, PromptFrame};
use holon_domain::prompt_plan::{
    BlockCut, BlockDecision, BlockSource, PartLength, message_bytes_shown,
};
use holon_domain::task::TaskListEntry;
use holon_domain::time::Timestamp;
use holon_domain::timer::LateTick;
use holon_domain::tool_set::ToolSet;
use holon_domain::turn::TerminalReason;
use holon_domain::wait::WaitNote;

/// Everything a frame is made of.
#[derive(Debug, Clone, Copy)]
pub struct FrameInput<'a> {
    pub agent: &'a AgentRecord,
    /// Guidance on disk when the turn started. Later requests of the turn show what the first one showed.
    pub guidance: &'a Guidance,
    /// The model that gets the request.
    pub model: &'a ModelRef,
    /// Number of the turn, counted from 1.
    pub turn_index: u64,
    /// The message this turn answers.
    pub current: &'a MessageEnvelope,
    /// What that message did to waits.
    pub waits: &'a [WaitNote],
    /// Messages before the current one, oldest first.
    pub history: &'a [HistoryItem],
    /// Newest message of the operator before the turn. If absent, the newest one in `history` counts.
    pub operator: Option<&'a MessageEnvelope>,
    pub work: Work<'a>,
    pub memory: Memory<'a>,
    /// The tasks that ran when the turn started, oldest first.
    pub tasks: &'a [TaskListEntry],
    /// Children that work for the agent, oldest first. Later requests of the turn show what the first one showed.
    pub children: &'a [ActiveChild],
    /// Reason for which the turn before failed, if this one repairs that.
    pub repairs: Option<TerminalReason>,
    /// Time at which the turn started.
    pub now: Timestamp,
    /// The tools on offer; part of the cache identity.
    pub tools: &'a ToolSet,
    /// Estimated tokens that the prompt and the tools may take.
    pub budget_tokens: u32,
    /// True if the budget is a guess, because nobody knows the model's window.
    pub budget_is_assumed: bool,
    /// True if a provider refused a request of this turn for its length. The prompt then does not exceed its budget
    /// while a part has a shorter form.
    pub is_refused: bool,
}

/// The texts and cuts of a turn's first frame, from which later requests rebuild it.
#[derive(Debug, Clone, Copy)]
pub struct KeptFrame<'a> {
    pub stable: &'a str,
    pub agent_scoped: &'a str,
    /// Parts of `agent_scoped`; empty in frames of earlier builds.
    pub agent_parts: &'a [PartLength],
    /// Parts of the text about the agent's work; empty in frames of earlier builds.
    pub work_parts: &'a [PartLength],
    /// Absent in frames of earlier builds, whose `agent_scoped` holds it.
    pub surroundings: Option<&'a str>,
    pub cuts: &'a [BlockCut],
    /// Tokens by which the first frame exceeded its budget.
    pub over_tokens: u32,
    /// Budget of the first frame, from which the length of earlier messages follows. 0 in frames of earlier builds.
    pub budget_tokens: u32,
}

/// A frame and the texts it was made from. The caller stores the texts by their hash to rebuild the frame later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltFrame {
    pub frame: PromptFrame,
    /// Text that is the same for all agents of a build.
    pub stable: String,
    /// Hash of `stable`, under which it is stored.
    pub stable_hash: String,
    /// Text that changes only with the agent's guidance, its skills and the use of tools.
    pub agent_scoped: String,
    /// Parts of `agent_scoped`, in order.
    pub agent_parts: Vec<PartLength>,
    /// Hash of `agent_scoped`, under which it is stored.
    pub agent_scoped_hash: String,
    /// Text that changes only with the agent, its workspace or its model. Absent if `agent_scoped` of an earlier build
    /// holds it.
    pub surroundings: Option<String>,
    /// Hash of `surroundings`, under which it is stored.
    pub surroundings_hash: Option<String>,
    /// Text about the agent's episodes; `None` if the frame shows none.
    pub episodes: Option<String>,
    /// Hash of `episodes`, under which it is stored.
    pub episodes_hash: Option<String>,
    /// Text about the agent's work; `None` if the frame shows none.
    pub work: Option<String>,
    /// Parts of `work`, in order; empty if the frame shows none.
    pub work_parts: Vec<PartLength>,
    /// The work items that the first request of a turn shows; empty for later requests.
    pub shown_items: Vec<WorkItemId>,
    /// True if the newest message of the operator is shown apart from the history.
    pub shows_operator_words: bool,
    /// Parts that are not shown whole.
    pub cuts: Vec<BlockCut>,
    /// Tokens by which the shortest possible frame exceeds its budget; 0 if the frame fits.
    pub over_tokens: usize,
    /// Budget of the turn's first frame.
    pub budget_tokens: u32,
    /// Number of blocks in the frame.
    pub sections: usize,
    /// Estimated tokens of the blocks.
    pub tokens: usize,
}

/// A part of a prompt and the decision about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedPart {
    pub decision: BlockDecision,
    /// Absent if the part is left out.
    pub text: Option<String>,
}

/// Builds the frame of a turn's first request.
#[must_use]
pub fn build(input: &FrameInput<'_>) -> BuiltFrame {
    blocks::assemble(input, planned(input, None), input.budget_tokens)
}

/// Builds the frame of a later request of the same turn from the stored texts. They are not rendered again, so a new
/// build or a change of workspace or model during the turn does not alter what the model was told.
#[must_use]
pub fn rebuild(input: &FrameInput<'_>, kept: KeptFrame<'_>) -> BuiltFrame {
    blocks::assemble(input, planned(input, Some(kept)), kept.budget_tokens)
}

/// Lists the parts of the prompt with the decision about each. Without `kept` they are those of a first request; with it,
/// the text about the agent is shown by the parts that it was made of.
#[must_use]
pub fn explain(input: &FrameInput<'_>, kept: Option<KeptFrame<'_>>) -> Vec<ExplainedPart> {
    let plan = planned(input, kept);
    let mut parts = plan.parts.into_iter();
    let explained = plan.decisions.into_iter().map(|decision| {
        let is_shown = decision.to_tokens > 0;
        let text = is_shown.then(|| parts.next().map(|part| part.text.into_owned()));
        ExplainedPart {
            decision,
            text: text.flatten(),
        }
    });
    let with_parts = |part: ExplainedPart| match &kept {
        Some(kept) if part.decision.source == BlockSource::AgentScoped => {
            lasting::explain_parts(part, kept)
        }
        Some(_) | None => vec![part],
    };
    explained.flat_map(with_parts).collect()
}

fn planned<'a>(input: &FrameInput<'a>, kept: Option<KeptFrame<'a>>) -> PromptPlan<'a> {
    let budget = Budget::new(
        input.budget_tokens,
        input.tools.estimated_tokens(),
        input.budget_is_assumed,
    );
    let budget = if input.is_refused {
        budget.strict()
    } else {
        budget
    };
    let Some(kept) = kept else {
        return first_plan(input, budget);
    };
    let budget = budget.repeated(kept.over_tokens);
    let mut candidates = kept::system(kept);
    candidates.extend(context(input, Some(kept), budget, 0));
    plan(candidates, budget, kept.cuts)
}

/// Plans a turn's first request. If the history has no room for its oldest turns, the plan is made once more with the
/// episodes of those turns as candidates.
fn first_plan<'a>(input: &FrameInput<'a>, budget: Budget) -> PromptPlan<'a> {
    let with_episodes_before = |turn_index: u64| {
        let mut candidates = system(input);
        candidates.extend(context(input, None, budget, turn_index));
        plan(candidates, budget, &[])
    };
    let window = history::window(input.history, input.turn_index);
    let first = |item: Option<&HistoryItem>| item.map_or(input.turn_index, |item| item.turn_index);
    let in_window = first(window.first());
    let planned = with_episodes_before(in_window);
    let decisions = planned.decisions.iter();
    let decisions = decisions.filter(|decision| decision.source == BlockSource::History);
    let mut seated = window
        .iter()
        .zip(decisions)
        .filter(|(_, decision)| decision.to_tokens > 0);
    let shown = first(seated.next().map(|(item, _)| item));
    if shown == in_window {
        planned
    } else {
        with_episodes_before(shown)
    }
}

/// Lists the system parts: the rules of the runtime, the mode of the agent, instruction files, skills, tools, and the
/// facts about this agent.
fn system<'a>(input: &FrameInput<'a>) -> Vec<Candidate<'a>> {
    let guidance = input.guidance;
    let policy = stable::candidate(stable::text());
    let skills = skills::candidate(
        &guidance.skills,
        &input.agent.active_skills,
        input.budget_tokens,
    );
    let tools = Candidate::pin(BlockSource::ToolGuidance, policy::tools())
        .or_shorter(|_| stable::SHORT_TOOLS.to_owned());
    let surroundings = scope::surroundings(input.agent, input.model);
    [policy]
        .into_iter()
        .chain(delegation::candidate(input.agent))
        .chain(instructions::candidate(&guidance.instructions))
        .chain(skills)
        .chain([
            tools,
            Candidate::pin(BlockSource::Surroundings, surroundings),
        ])
        .collect()
}

/// Lists the parts of this turn, the current input last. `first_shown` is the first turn that the history shows.
fn context<'a>(
    input: &FrameInput<'a>,
    kept: Option<KeptFrame<'a>>,
    budget: Budget,
    first_shown: u64,
) -> Vec<Candidate<'a>> {
    let shown = history::window(input.history, input.turn_index);
    let operator = latest_operator_words(input);
    let first_budget = kept.map_or(input.budget_tokens, |kept| kept.budget_tokens);
    let most_bytes = message_bytes_shown(first_budget);
    let in_history = operator.filter(|message| is_whole_in(shown, message, most_bytes));
    let apart = operator.filter(|_| in_history.is_none());
    history::candidates(shown, in_history, input.turn_index, most_bytes)
        .into_iter()
        .chain(episodes(input, first_shown))
        .chain(apart.map(|message| context::operator_words(message, budget.words_share())))
        .chain(work_parts(input, kept))
        .chain(context::tasks(input.tasks))
        .chain(context::event_turn(input.current))
        .chain(input.repairs.and_then(repair::candidate))
        .chain([context::current(
            input.current,
            input.waits,
            input.now,
            late_tick(input),
        )])
        .collect()
}

/// Returns how late the tick of the turn began, if its turn is the agent's open one.
fn late_tick(input: &FrameInput<'_>) -> Option<LateTick> {
    let turn = input.agent.open_turn.as_ref()?;
    (turn.turn_index == input.turn_index)
        .then_some(turn.late_tick)
        .flatten()
}

/// Returns the part about the agent's episodes: chosen from rows, or the text that the first request showed.
fn episodes<'a>(input: &FrameInput<'a>, first_shown: u64) -> Option<Candidate<'a>> {
    match input.memory {
        Memory::Rows(state, rows) => memory::episodes(
            rows,
            WorkAtHand {
                memory: &state.current_working_memory,
                workspace_id: &input.agent.workspace.workspace_id,
                first_shown,
            },
        ),
        Memory::Kept { episodes, .. } => episodes.map(memory::kept_episodes),
    }
}

/// Lists the parts of the working memory. Later requests have them in the text about the agent's work.
fn working_memory<'a>(memory: Memory<'a>) -> Vec<Candidate<'a>> {
    match memory {
        Memory::Rows(state, _) => memory::working_memory(state),
        Memory::Kept { .. } => Vec::new(),
    }
}

/// Lists the parts about the agent's work: from its rows, or from the text that the first request showed.
fn work_parts<'a>(input: &FrameInput<'a>, kept: Option<KeptFrame<'a>>) -> Vec<Candidate<'a>> {
    match input.work {
        Work::Rows(rows, plan) => working_memory(input.memory)
            .into_iter()
            .chain(work::candidates(input.agent, rows, plan))
            .chain(delegation::children(input.children))
            .collect(),
        Work::Kept(Some(text)) => kept::work(text, kept.map_or(&[], |kept| kept.work_parts)),
        Work::Kept(None) => Vec::new(),
    }
}

/// Finds the newest message of the operator; `None` if the turn answers it, or if there is none.
fn latest_operator_words<'a>(input: &FrameInput<'a>) -> Option<&'a MessageEnvelope> {
    if input.current.is_operator_instruction() {
        return None;
    }
    let mut newest_first = input.history.iter().rev().map(|item| &item.message);
    input
        .operator
        .or_else(|| newest_first.find(|message| message.is_operator_instruction()))
}

/// Returns true if the history shows the whole text of a message.
fn is_whole_in(shown: &[HistoryItem], message: &MessageEnvelope, most_bytes: usize) -> bool {
    shown.iter().any(|item| item.message.id == message.id)
        && message.body.render().len() <= most_bytes
}
