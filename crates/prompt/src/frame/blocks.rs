//! Puts the parts of a plan into the blocks of a frame, with cache breakpoints and the cache identity.

use super::{BuiltFrame, FrameInput, kept};
use crate::measured::MeasuredText;
use crate::plan::{Part, PromptPlan};
use crate::{digest, history, stable, work};
use holon_domain::WorkItemId;
use holon_domain::model::{PromptBlock, PromptCache, PromptFrame, Stability};
use holon_domain::prompt_plan::{BlockCut, BlockSource, PartLength};
use holon_domain::text;
use std::borrow::Cow;

/// Block of the prompt in which a part stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Stable,
    AgentScoped,
    Surroundings,
    /// Each earlier message is a block of its own.
    History,
    /// A block of its own, stored by its hash.
    Episodes,
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
        | BlockSource::ToolGuidance
        | BlockSource::AgentScoped => Place::AgentScoped,
        BlockSource::Surroundings => Place::Surroundings,
        BlockSource::History => Place::History,
        BlockSource::Episodes => Place::Episodes,
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
    history: Vec<Cow<'a, str>>,
    episodes: Option<Cow<'a, str>>,
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
        if matches!(place, Place::History | Place::Episodes | Place::Alone) {
            self.own_tokens += part.tokens;
        }
        match place {
            Place::Stable => self.stable = part.text,
            Place::AgentScoped => self.agent_scoped.push((part.source, part.text)),
            Place::Surroundings => self.surroundings = Some(part.text),
            Place::History => self.history.push(part.text),
            Place::Episodes => self.episodes = Some(part.text),
            Place::Work => {
                self.work_is_kept |= part.source == BlockSource::Work;
                self.work.push((part.source, part.text));
                self.shown_items.extend(part.shown);
            }
            Place::Alone if part.source == BlockSource::OperatorWords => {
                self.shows_operator_words = true;
                self.before_work.push(part.text);
            }
            Place::Alone => self.after_work.push(part.text),
        }
    }

    /// Adds the heading to the parts about the agent's work, and a note if some were left out. Those of an earlier
    /// request have them.
    fn frame_work(&mut self, cuts: &[BlockCut]) {
        if self.work.is_empty() {
            return;
        }
        if !self.work_is_kept {
            self.work
                .insert(0, (BlockSource::Work, Cow::Borrowed(work::HEADING)));
        }
        let is_left_out = |cut: &BlockCut| cut.to == 0 && place(cut.source) == Place::Work;
        let is_noted = self
            .work
            .last()
            .is_some_and(|(_, text)| text.ends_with(work::LEFT_OUT));
        if cuts.iter().any(is_left_out) && !is_noted {
            let note = (BlockSource::Work, Cow::Borrowed(work::LEFT_OUT));
            self.work.push(note);
        }
    }

    /// Estimates the tokens of the context blocks. Only what joins several parts is estimated anew.
    fn context_tokens(&self, work: Option<&str>) -> usize {
        let heading = (!self.history.is_empty()).then_some(history::HEADING);
        let joined = heading.into_iter().chain(work);
        self.own_tokens + joined.map(text::estimate_tokens).sum::<usize>()
    }

    /// Lists the context blocks. A cache may end after the last earlier message: the next turn goes on from there.
    fn context_blocks(&self, work: Option<&str>) -> Vec<PromptBlock> {
        let heading = (!self.history.is_empty()).then_some(history::HEADING);
        let last = self.history.len().saturating_sub(1);
        let messages = self.history.iter().enumerate();
        let messages = messages.map(|(place, text)| (&**text, place == last));
        let episodes = self.episodes.iter().map(|text| &**text);
        let before = episodes.chain(self.before_work.iter().map(|text| &**text));
        let after = self.after_work.iter().map(|text| &**text);
        let others = before.chain(work).chain(after).map(|text| (text, false));
        heading
            .map(|text| (text, false))
            .into_iter()
            .chain(messages)
            .chain(others)
            .map(|(text, cache_breakpoint)| block(text, Stability::TurnScoped, cache_breakpoint))
            .collect()
    }
}

pub(super) fn assemble(
    input: &FrameInput<'_>,
    plan: PromptPlan<'_>,
    budget_tokens: u32,
) -> BuiltFrame {
    let mut texts = Texts::default();
    for part in plan.parts {
        texts.add(part);
    }
    texts.frame_work(&plan.cuts);
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
        episodes_hash: texts.episodes.as_deref().map(digest::hash),
        episodes: texts.episodes.map(Cow::into_owned),
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
    }
}
