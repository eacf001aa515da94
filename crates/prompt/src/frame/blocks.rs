//! Puts the parts of a plan into the blocks of a frame, with cache breakpoints and the cache identity.

use super::{BuiltFrame, FrameInput, kept};
use crate::measured::MeasuredText;
use crate::plan::{Part, PromptPlan};
use crate::thread::told::ToldWork;
use crate::{digest, stable, work};
use holon_domain::WorkItemId;
use holon_domain::model::{CacheLife, PromptBlock, PromptCache, PromptFrame, Stability};
use holon_domain::prompt_plan::{BlockCut, BlockSource, PartLength};
use holon_domain::text;
use holon_domain::thread::ToldTexts;
use std::borrow::Cow;

/// Block of the prompt in which a part stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Stable,
    AgentScoped,
    Surroundings,
    Work,
    /// A block of its own.
    Alone,
}

const fn place(source: BlockSource) -> Place {
    match source {
        BlockSource::Policy => Place::Stable,
        BlockSource::Delegation
        | BlockSource::Instructions
        | BlockSource::Skills
        | BlockSource::Notes
        | BlockSource::ToolGuidance
        | BlockSource::AgentScoped => Place::AgentScoped,
        BlockSource::Surroundings => Place::Surroundings,
        BlockSource::Work
        | BlockSource::WorkingMemory
        | BlockSource::WorkingMemoryDelta
        | BlockSource::CurrentItem
        | BlockSource::TriggeredItems
        | BlockSource::DueReminders
        | BlockSource::QueuedItems
        | BlockSource::ItemsForOperator
        | BlockSource::BlockedItems
        | BlockSource::Waits
        | BlockSource::Timers
        | BlockSource::CompletedItems
        | BlockSource::Children
        | BlockSource::ItemTrace => Place::Work,
        BlockSource::OperatorWords
        | BlockSource::Changes
        | BlockSource::History
        | BlockSource::Episodes
        | BlockSource::RunningTasks
        | BlockSource::EventTurn
        | BlockSource::ConstrainedRepair
        | BlockSource::CurrentInput
        | BlockSource::Other => Place::Alone,
    }
}

/// The texts of a frame, part by part.
#[derive(Default)]
struct Texts<'a> {
    stable: Cow<'a, str>,
    agent_scoped: Vec<(BlockSource, Cow<'a, str>)>,
    surroundings: Option<Cow<'a, str>>,
    changes: Option<String>,
    tasks: Option<String>,
    work: Vec<(BlockSource, Cow<'a, str>)>,
    shown_items: Vec<WorkItemId>,
    /// Estimated tokens of the parts that are blocks of their own.
    own_tokens: usize,
    /// Blocks before the work, and blocks after it.
    before_work: Vec<Cow<'a, str>>,
    after_work: Vec<Cow<'a, str>>,
    shows_operator_words: bool,
    /// True if the work is the text of an earlier request.
    work_is_kept: bool,
}

impl<'a> Texts<'a> {
    fn add(&mut self, part: Part<'a>) {
        let place = place(part.source);
        if place == Place::Alone {
            self.own_tokens += part.tokens;
        }
        match place {
            Place::Stable => self.stable = part.text,
            Place::AgentScoped => self.agent_scoped.push((part.source, part.text)),
            Place::Surroundings => self.surroundings = Some(part.text),
            Place::Work => {
                self.work_is_kept |= part.source == BlockSource::Work;
                self.work.push((part.source, part.text));
                self.shown_items.extend(part.shown);
            }
            Place::Alone if part.source == BlockSource::OperatorWords => {
                self.shows_operator_words = true;
                self.before_work.push(part.text);
            }
            Place::Alone if part.source == BlockSource::Changes => {
                self.changes = Some(part.text.to_string());
                self.before_work.push(part.text);
            }
            Place::Alone => {
                if part.source == BlockSource::RunningTasks {
                    self.tasks = Some(part.text.to_string());
                }
                self.after_work.push(part.text);
            }
        }
    }

    /// Adds the heading to the parts about the agent's work, and a note if some were left out. Those of an earlier
    /// request have them.
    fn frame_work(&mut self, cuts: &[BlockCut], told: &ToldWork) {
        let untold = told.untold();
        if !self.work.is_empty() && !self.work_is_kept {
            self.work
                .insert(0, (BlockSource::Work, Cow::Borrowed(work::HEADING)));
        }
        let is_left_out = |cut: &BlockCut| cut.to == 0 && lists_items(cut.source);
        let is_noted = self
            .work
            .last()
            .is_some_and(|(_, text)| text.ends_with(work::LEFT_OUT));
        if cuts.iter().any(is_left_out) && !is_noted {
            let note = (BlockSource::Work, Cow::Borrowed(work::LEFT_OUT));
            self.work.push(note);
        }
        self.work
            .extend(untold.map(|note| (BlockSource::Work, Cow::Owned(note))));
    }

    /// Estimates the tokens of the context blocks. Only what joins several parts is estimated anew.
    fn context_tokens(&self, work: Option<&str>) -> usize {
        self.own_tokens + work.map_or(0, text::estimate_tokens)
    }

    /// Lists the context blocks.
    fn context_blocks(&self, work: Option<&str>) -> Vec<PromptBlock> {
        let before = self.before_work.iter().map(|text| &**text);
        let after = self.after_work.iter().map(|text| &**text);
        before
            .chain(work)
            .chain(after)
            .map(|text| block(text, Stability::TurnScoped, false))
            .collect()
    }
}

/// Lists the texts of the context blocks of a plan without a system text.
pub(crate) fn context_texts(plan: PromptPlan<'_>) -> Vec<String> {
    let mut texts = Texts::default();
    for part in plan.parts {
        texts.add(part);
    }
    let work = (!texts.work.is_empty()).then(|| join(&texts.work));
    let blocks = texts.context_blocks(work.as_deref()).into_iter();
    blocks.map(|block| block.text).collect()
}

pub(super) fn assemble(
    input: &FrameInput<'_>,
    plan: PromptPlan<'_>,
    told: &ToldWork,
    budget_tokens: u32,
) -> BuiltFrame {
    let mut texts = Texts::default();
    for part in plan.parts {
        texts.add(part);
    }
    texts.frame_work(&plan.cuts, told);
    let work = (!texts.work.is_empty()).then(|| join(&texts.work));
    let context_blocks = texts.context_blocks(work.as_deref());
    let agent_scoped = join(&texts.agent_scoped);
    let stable = stable::measure(&texts.stable);
    let agent_scoped = MeasuredText::of(&agent_scoped);
    let surroundings = texts.surroundings.as_deref().map(MeasuredText::of);
    let lasting: Vec<(&MeasuredText<'_>, Stability)> = [
        (&stable, Stability::Stable),
        (&agent_scoped, Stability::AgentScoped),
    ]
    .into_iter()
    .chain(
        surroundings
            .as_ref()
            .map(|text| (text, Stability::AgentScoped)),
    )
    .collect();
    let system_blocks: Vec<PromptBlock> = lasting
        .iter()
        .map(|(text, stability)| block(text.text, *stability, true))
        .collect();
    let system_texts: Vec<&str> = lasting.iter().map(|(text, _)| text.text).collect();
    let sections = system_blocks.len() + context_blocks.len();
    let lasting_tokens: usize = lasting.iter().map(|(text, _)| text.tokens).sum();
    let tokens = lasting_tokens + texts.context_tokens(work.as_deref());
    let frame = PromptFrame {
        system_prompt: system_texts.join("\n\n"),
        cache: cache(input, &lasting, &context_blocks),
        system_blocks,
        context_blocks,
    };
    BuiltFrame {
        frame,
        stable: stable.text.to_owned(),
        stable_hash: stable.hash.to_string(),
        agent_scoped: agent_scoped.text.to_owned(),
        agent_parts: lengths(&texts.agent_scoped),
        agent_scoped_hash: agent_scoped.hash.to_string(),
        surroundings_hash: surroundings.as_ref().map(|text| text.hash.to_string()),
        surroundings: surroundings.map(|text| text.text.to_owned()),
        changes: texts.changes,
        now: None,
        tasks: texts.tasks,
        told: ToldTexts::default(),
        work,
        work_parts: lengths(&texts.work),
        shown_items: texts.shown_items,
        shows_operator_words: texts.shows_operator_words,
        cuts: plan.cuts,
        over_tokens: plan.over_tokens,
        budget_tokens,
        sections,
        tokens,
    }
}

fn join(parts: &[(BlockSource, Cow<'_, str>)]) -> String {
    let texts: Vec<&str> = parts.iter().map(|(_, text)| &**text).collect();
    texts.join(kept::BETWEEN_PARTS)
}

fn lengths(parts: &[(BlockSource, Cow<'_, str>)]) -> Vec<PartLength> {
    let length = |text: &str| u32::try_from(text.len()).unwrap_or(u32::MAX);
    parts
        .iter()
        .map(|(source, text)| PartLength(*source, length(text)))
        .collect()
}

fn block(text: &str, stability: Stability, cache_breakpoint: bool) -> PromptBlock {
    PromptBlock {
        text: text.to_owned(),
        stability,
        cache_breakpoint,
    }
}

/// Computes the identity. The key of a temporary agent does not depend on its name, its home or its workspace: the next
/// run has others, and shares everything before them.
fn cache(
    input: &FrameInput<'_>,
    lasting: &[(&MeasuredText<'_>, Stability)],
    context: &[PromptBlock],
) -> PromptCache {
    let agent_id = input.agent.identity.agent_id.to_string();
    let is_temporary = input.agent.is_temporary();
    let shared = lasting.len().min(if is_temporary { 2 } else { usize::MAX });
    let hashes = lasting.iter().take(shared).map(|(text, _)| &*text.hash);
    let name = if is_temporary { "" } else { agent_id.as_str() };
    let fixed = [name]
        .into_iter()
        .chain(hashes)
        .chain([input.tools.digest()]);
    let prompt_cache_key = digest::hash_parts(fixed);
    let all = lasting.iter().map(|(text, _)| &*text.hash);
    let shown = context.iter().map(|block| block.text.as_str());
    let context_fingerprint = digest::hash_parts(
        [prompt_cache_key.as_str()]
            .into_iter()
            .chain(all)
            .chain(shown),
    );
    // The caller adds the recap of the request to the epoch.
    PromptCache {
        agent_id,
        prompt_cache_key,
        context_fingerprint,
        working_memory_revision: input.memory.revision(),
        compression_epoch: input.agent.totals.compactions,
        life: CacheLife::Usual,
    }
}

/// Returns true for a part that a model can list with a tool if it is left out.
const fn lists_items(source: BlockSource) -> bool {
    matches!(
        source,
        BlockSource::CurrentItem
            | BlockSource::TriggeredItems
            | BlockSource::DueReminders
            | BlockSource::QueuedItems
            | BlockSource::ItemsForOperator
            | BlockSource::BlockedItems
            | BlockSource::CompletedItems
    )
}
