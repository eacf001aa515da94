//! Assembles the frame in its fixed order: system blocks, context blocks and the cache identity.
//!
//! Owns order and identity; the texts are in `policy`, `scope` and `context`. Invariants: stable before agent-scoped
//! before turn-scoped; the current input is last; the cache key depends on nothing turn-scoped.

use crate::context::HistoryItem;
use crate::measured::MeasuredText;
use crate::work::{self, Work, WorkText};
use crate::{context, digest, instructions, policy, scope, skills};
use holon_domain::WorkItemId;
use holon_domain::agent::AgentRecord;
use holon_domain::guidance::Guidance;
use holon_domain::limits::{INSTRUCTION_BUDGET_SHARE, SKILL_BUDGET_SHARE};
use holon_domain::message::MessageEnvelope;
use holon_domain::model::{ModelRef, PromptBlock, PromptCache, PromptFrame, Stability};
use holon_domain::task::TaskListEntry;
use holon_domain::text;
use holon_domain::time::Timestamp;
use holon_domain::tool_set::ToolSet;

/// Everything a frame is made of.
#[derive(Debug, Clone, Copy)]
pub struct FrameInput<'a> {
    pub agent: &'a AgentRecord,
    /// Guidance on disk when the turn started. Later requests of the turn show what the first one showed.
    pub guidance: &'a Guidance,
    /// The model that gets the request.
    pub model: &'a ModelRef,
    /// The message this turn answers.
    pub current: &'a MessageEnvelope,
    /// Messages before the current one, oldest first.
    pub history: &'a [HistoryItem],
    pub work: Work<'a>,
    /// The tasks that ran when the turn started, oldest first.
    pub tasks: &'a [TaskListEntry],
    /// Time at which the turn started.
    pub now: Timestamp,
    /// The tools on offer; part of the cache identity.
    pub tools: &'a ToolSet,
    /// Estimated tokens the prompt may take. The oldest earlier messages are left out to stay within.
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
    /// Text that changes only with the agent, its workspace, its model or its guidance.
    pub agent_scoped: String,
    /// Hash of `agent_scoped`, under which it is stored.
    pub agent_scoped_hash: String,
    /// Text about the agent's work; `None` if the frame shows none.
    pub work: Option<String>,
    /// The work items that the first request of a turn shows; empty for later requests.
    pub shown_items: Vec<WorkItemId>,
    /// Number of blocks in the frame.
    pub sections: usize,
}

/// Builds the frame of a turn's first request.
#[must_use]
pub fn build(input: &FrameInput<'_>) -> BuiltFrame {
    rebuild(input, policy::text(), &agent_scoped(input))
}

/// Renders the text that changes only with the agent, its workspace, its model or its guidance: surroundings, user-wide,
/// agent and workspace instructions, then the use of skills and of tools.
fn agent_scoped(input: &FrameInput<'_>) -> String {
    let room = |share| usize::try_from(input.budget_tokens / share).unwrap_or(usize::MAX);
    let guidance = input.guidance;
    let instructions = instructions::text(&guidance.instructions, room(INSTRUCTION_BUDGET_SHARE));
    let skills = skills::text(
        &guidance.skills,
        &input.agent.active_skills,
        room(SKILL_BUDGET_SHARE),
    );
    let parts: Vec<String> = [scope::text(input.agent, input.model)]
        .into_iter()
        .chain(instructions)
        .chain(skills)
        .chain([policy::tools().to_owned()])
        .collect();
    parts.join("\n\n")
}

/// Builds the frame of a later request of the same turn from the two stored texts. They are not rendered again, so a
/// new build or a change of workspace or model during the turn does not alter what the model was told.
#[must_use]
pub fn rebuild(input: &FrameInput<'_>, stable: &str, agent_scoped: &str) -> BuiltFrame {
    let (stable, agent_scoped) = (policy::measure(stable), MeasuredText::of(agent_scoped));
    let system_blocks = vec![
        cached_block(stable.text, Stability::Stable),
        cached_block(agent_scoped.text, Stability::AgentScoped),
    ];
    let current = context::current(input.current, input.now);
    let tasks = context::tasks(input.tasks);
    let listed = tasks.as_deref().unwrap_or_default();
    let fixed = stable.tokens
        + agent_scoped.tokens
        + text::estimate_tokens(listed)
        + text::estimate_tokens(&current);
    let work = work_text(input, room(input, fixed) / 2);
    let shown = work.text.as_deref().unwrap_or_default();
    let room = room(input, fixed + text::estimate_tokens(shown));
    let context_blocks: Vec<PromptBlock> = context::recent(input.history, room)
        .into_iter()
        .chain(work.text.clone())
        .chain(tasks)
        .chain([current])
        .map(|text| PromptBlock {
            text,
            stability: Stability::TurnScoped,
            cache_breakpoint: false,
        })
        .collect();
    let sections = system_blocks.len() + context_blocks.len();
    let frame = PromptFrame {
        system_prompt: format!("{}\n\n{}", stable.text, agent_scoped.text),
        cache: cache(input, [&stable, &agent_scoped], &context_blocks),
        system_blocks,
        context_blocks,
    };
    BuiltFrame {
        frame,
        stable: stable.text.to_owned(),
        stable_hash: stable.hash.into_owned(),
        agent_scoped: agent_scoped.text.to_owned(),
        agent_scoped_hash: agent_scoped.hash.into_owned(),
        work: work.text,
        shown_items: work.shown,
        sections,
    }
}

/// Renders the agent's work, or returns the text that the first request showed.
fn work_text(input: &FrameInput<'_>, room_tokens: usize) -> WorkText {
    match input.work {
        Work::Rows(rows, plan) => work::text(input.agent, rows, plan, room_tokens),
        Work::Kept(text) => WorkText {
            text: text.map(str::to_owned),
            shown: Vec::new(),
        },
    }
}

/// Returns the estimated tokens for the variable parts: what the fixed texts and the tools leave, and never more than
/// half of the budget, because the turn itself needs room to grow.
fn room(input: &FrameInput<'_>, fixed_tokens: usize) -> usize {
    let budget = usize::try_from(input.budget_tokens).unwrap_or(usize::MAX);
    let fixed = fixed_tokens + input.tools.estimated_tokens();
    budget.saturating_sub(fixed).min(budget / 2)
}

/// Builds a block that ends its stability class, where a provider's cache may end too.
fn cached_block(text: &str, stability: Stability) -> PromptBlock {
    PromptBlock {
        text: text.to_owned(),
        stability,
        cache_breakpoint: true,
    }
}

fn cache(
    input: &FrameInput<'_>,
    system: [&MeasuredText<'_>; 2],
    context: &[PromptBlock],
) -> PromptCache {
    let agent_id = input.agent.identity.agent_id.to_string();
    let [stable, agent_scoped] = system.map(|text| &*text.hash);
    let fixed = [&*agent_id, stable, agent_scoped, input.tools.digest()];
    let prompt_cache_key = digest::hash_parts(fixed);
    let shown = context.iter().map(|block| block.text.as_str());
    let context_fingerprint =
        digest::hash_parts([prompt_cache_key.as_str()].into_iter().chain(shown));
    // Working memory and compression do not exist yet; both count from zero.
    PromptCache {
        agent_id,
        prompt_cache_key,
        context_fingerprint,
        working_memory_revision: 0,
        compression_epoch: 0,
    }
}
