//! Chooses what a prompt shows under its budget: parts by priority, then shorter forms of the pins.
//!
//! Order of parts in the prompt and order of their removal are independent. Invariants: a pin is shortened only when no
//! other part is left, or, if the pins alone exceed the budget, to its share if it has one; no pin gives way while one
//! before it in that order can; the current input is shortened after the others, unless it alone exceeds the budget; a
//! pin is left out only if its shorter form has no words; the same candidates, budget and earlier cuts give the same
//! plan.

use crate::candidate::{BETWEEN, Candidate, Priority, Shorten, count};
use holon_domain::WorkItemId;
use holon_domain::limits::{INSTRUCTION_BUDGET_SHARE, TURN_BUDGET_SHARE};
use holon_domain::prompt_plan::{BlockCut, BlockDecision, BlockOutcome, BlockSource, CutReason};
use std::borrow::Cow;

/// Fewest tokens of the current input under every budget. A turn without the words it answers would do anything; if the
/// rest does not fit beside them, the request is too long and the turn ends with that reason.
const LEAST_INPUT: usize = 512;
/// Fewest tokens of the operator's latest words under every budget.
const LEAST_WORDS: usize = 128;
/// Tokens of the headings that join parts to blocks.
const HEADINGS: usize = 64;
/// Fewest tokens to which a part that may be left out is shortened; below it the part is left out.
const LEAST_OPTIONAL: usize = 64;
/// Most renderings of a shorter form. A form may exceed what was asked for, because the tokens of its pieces do not add
/// up to those of the whole; the next one is asked to be shorter by the excess.
const RENDERINGS: usize = 8;

/// Tokens for a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Budget {
    total: usize,
    /// Tokens by which a prompt may exceed the total so that its current input stays whole, or that its parts stay as
    /// the turn's first request showed them. The turn and the answer then have less room to grow.
    stretch: usize,
    /// True if a prompt may not exceed the total while a part has a shorter form.
    is_strict: bool,
    /// True if nobody knows the model's window. Pins are then whole: the provider's refusal teaches the real window.
    is_assumed: bool,
}

impl Budget {
    /// Takes from a model's budget the tools and the room in which the turn itself grows.
    pub(crate) fn new(budget_tokens: u32, tools_tokens: usize, is_assumed: bool) -> Self {
        let budget = usize::try_from(budget_tokens).unwrap_or(usize::MAX);
        let share = usize::try_from(TURN_BUDGET_SHARE).unwrap_or(1);
        Self {
            total: budget.saturating_sub(tools_tokens + budget / share + HEADINGS),
            stretch: budget / share,
            is_strict: false,
            is_assumed,
        }
    }

    /// Returns a budget under which nothing has to give way.
    pub(crate) const fn unlimited() -> Self {
        Self {
            total: usize::MAX / 2,
            stretch: 0,
            is_strict: false,
            is_assumed: false,
        }
    }

    /// Returns the budget of a prompt that may not exceed it.
    pub(crate) const fn strict(self) -> Self {
        Self {
            stretch: 0,
            is_strict: true,
            ..self
        }
    }

    /// Returns the budget for a frame that repeats an earlier one: its texts hold their headings, and it may exceed the
    /// budget by as much, or by the stretch. A strict budget may not be exceeded.
    pub(crate) fn repeated(self, over_tokens: u32) -> Self {
        let over = usize::try_from(over_tokens).unwrap_or(usize::MAX);
        let over = if self.is_strict {
            0
        } else {
            over.max(self.stretch)
        };
        Self {
            total: self.total.saturating_add(HEADINGS).saturating_add(over),
            ..self
        }
    }

    /// Returns one part of so many.
    pub(crate) const fn share(self, parts: usize) -> usize {
        self.total / parts
    }

    /// Size of the operator's latest words in a turn that something else began, if the pins do not fit with all of them.
    /// Beside a request that is too long anyway the turn keeps its history and its work. Absent if the window is assumed.
    pub(crate) fn words_share(self) -> Option<usize> {
        (!self.is_assumed).then(|| self.share(4).max(LEAST_WORDS))
    }
}

/// A part of the plan's prompt.
#[derive(Debug, Clone)]
pub(crate) struct Part<'a> {
    pub(crate) source: BlockSource,
    pub(crate) text: Cow<'a, str>,
    /// Estimated tokens of the text alone.
    pub(crate) tokens: usize,
    pub(crate) shown: Vec<WorkItemId>,
}

/// The parts of a prompt in their order, and what became of every candidate.
#[derive(Debug, Clone)]
pub(crate) struct PromptPlan<'a> {
    pub(crate) parts: Vec<Part<'a>>,
    /// One for each candidate, in the order of the prompt.
    pub(crate) decisions: Vec<BlockDecision>,
    /// The candidates that are not shown whole. Earlier messages are one entry.
    pub(crate) cuts: Vec<BlockCut>,
    /// Tokens by which the shortest forms of the pins exceed the budget; 0 if they fit.
    pub(crate) over_tokens: usize,
}

/// A candidate and its present form.
struct Entry<'a> {
    candidate: Candidate<'a>,
    /// Absent if the part is left out.
    text: Option<Cow<'a, str>>,
    tokens: usize,
    /// Tokens to which the part was shortened last.
    limit: usize,
    /// Absent while the part is whole.
    reason: Option<CutReason>,
}

/// Plans a prompt. `earlier` are the cuts of an earlier request of the same turn, which are repeated first, so that the
/// requests of a turn begin alike.
pub(crate) fn plan<'a>(
    candidates: Vec<Candidate<'a>>,
    budget: Budget,
    earlier: &[BlockCut],
) -> PromptPlan<'a> {
    let mut entries: Vec<Entry<'a>> = candidates.into_iter().map(Entry::whole).collect();
    for cut in earlier {
        repeat(&mut entries, cut);
    }
    if pinned(&entries) > budget.total {
        for entry in &mut entries {
            if let Some(share) = entry.candidate.share {
                entry.shorten(share, CutReason::OverShare);
            }
        }
    }
    cut_optional(&mut entries, budget);
    shorten_pins(&mut entries, budget);
    finish(entries, budget)
}

impl<'a> Entry<'a> {
    fn whole(mut candidate: Candidate<'a>) -> Self {
        let tokens = candidate.tokens;
        candidate.tokens += candidate.left_out;
        Self {
            text: Some(std::mem::take(&mut candidate.whole)),
            tokens,
            limit: tokens,
            reason: (candidate.left_out > 0).then_some(CutReason::OverShare),
            candidate,
        }
    }

    /// Shortens the part to a number of tokens, or leaves it out if that form has no words. Returns false if it has no form
    /// that is shorter than the present one.
    fn shorten(&mut self, tokens: usize, reason: CutReason) -> bool {
        let Some(shorten) = self.candidate.shorten.as_ref() else {
            return false;
        };
        if self.tokens <= tokens || self.text.is_none() {
            return false;
        }
        let (text, now) = render_within(shorten, tokens);
        if text.is_empty() {
            self.cut(reason);
            return true;
        }
        if now >= self.tokens {
            return false;
        }
        (self.text, self.tokens, self.reason) = (Some(Cow::Owned(text)), now, Some(reason));
        self.limit = tokens;
        true
    }

    /// Notes how the text was shortened before it was stored.
    fn note_cut(&mut self, cut: &BlockCut) {
        self.reason = Some(cut.reason);
        self.candidate.tokens = usize::try_from(cut.from).unwrap_or(usize::MAX);
        self.limit = usize::try_from(cut.limit).unwrap_or(usize::MAX);
    }

    fn cut(&mut self, reason: CutReason) {
        (self.text, self.tokens, self.reason) = (None, 0, Some(reason));
        self.limit = 0;
    }
}

/// Renders a part within a number of tokens, or in its shortest form, and counts it.
fn render_within(shorten: &Shorten<'_>, tokens: usize) -> (String, usize) {
    let mut asked = tokens;
    let mut text = shorten(asked);
    let mut now = count(&text);
    for _ in 1..RENDERINGS {
        let excess = now.saturating_sub(tokens);
        if excess == 0 || asked == 0 {
            break;
        }
        asked = asked.saturating_sub(excess);
        text = shorten(asked);
        now = count(&text);
    }
    (text, now)
}

fn repeat(entries: &mut [Entry<'_>], cut: &BlockCut) {
    let is_meant = |entry: &&mut Entry<'_>| {
        entry.candidate.source == cut.source
            && match (cut.through, entry.candidate.log_seq) {
                (Some(through), Some(seq)) => seq <= through && !entry.candidate.is_pin(),
                (None, _) | (Some(_), None) => cut.through.is_none(),
            }
    };
    let limit = usize::try_from(cut.limit).unwrap_or(usize::MAX);
    for entry in entries.iter_mut().filter(is_meant) {
        if entry.candidate.is_repeated {
            entry.note_cut(cut);
        } else if cut.to == 0 {
            entry.cut(cut.reason);
        } else {
            entry.shorten(limit, cut.reason);
        }
    }
}

fn total(entries: &[Entry<'_>]) -> usize {
    entries.iter().map(|entry| entry.tokens).sum()
}

/// Tokens of the parts that are not left out for lack of room.
fn pinned(entries: &[Entry<'_>]) -> usize {
    let pins = entries.iter().filter(|entry| entry.candidate.is_pin());
    pins.map(|entry| entry.tokens).sum()
}

/// Cuts by priority what may be left out, until it fits: in half of the budget, because the turn itself needs room to
/// grow, and in what the pins leave.
fn cut_optional(entries: &mut [Entry<'_>], budget: Budget) {
    let pinned = pinned(entries);
    let room = budget.share(2).min(budget.total.saturating_sub(pinned));
    loop {
        let excess = (total(entries) - pinned).saturating_sub(room);
        let Some((priority, group)) = next_to_go(entries).filter(|_| excess > 0) else {
            return;
        };
        for entry in entries.iter_mut() {
            if entry.candidate.priority != Some(priority)
                || entry.candidate.group != group
                || entry.text.is_none()
            {
                continue;
            }
            let least = (entry.candidate.tokens / 4).max(LEAST_OPTIONAL);
            let left = entry.tokens.saturating_sub(excess);
            if left < least || !entry.shorten(left, CutReason::OverRoom) {
                entry.cut(CutReason::OverRoom);
            }
        }
    }
}

/// Finds the lowest priority and group of the parts that may still be left out.
fn next_to_go(entries: &[Entry<'_>]) -> Option<(Priority, u64)> {
    let left = entries.iter().filter(|entry| entry.text.is_some());
    left.filter_map(|entry| Some((entry.candidate.priority?, entry.candidate.group)))
        .min()
}

/// Shortens the pins in a fixed order until they fit: a text that fills the window before the others, standing texts
/// before the words of the operator, and each to a readable length before any is reduced to a line.
fn shorten_pins(entries: &mut [Entry<'_>], budget: Budget) {
    if budget.is_assumed {
        return;
    }
    let is_input = |entry: &&Entry<'_>| entry.candidate.source == BlockSource::CurrentInput;
    let input = entries
        .iter()
        .find(is_input)
        .map_or(0, |entry| entry.tokens);
    for (source, least) in pin_order(budget, input) {
        for entry in 0..entries.len() {
            let excess = total(entries).saturating_sub(budget.total);
            let allowed = match source {
                BlockSource::CurrentInput if input <= budget.total => budget.stretch,
                _ => 0,
            };
            if excess <= allowed {
                return;
            }
            if let Some(entry) = entries
                .get_mut(entry)
                .filter(|entry| entry.candidate.source == source && entry.candidate.is_pin())
            {
                let left = entry.tokens.saturating_sub(excess).max(least);
                entry.shorten(left, CutReason::OverWindow);
            }
        }
    }
}

/// Lists the steps in which pins are shortened: part, and fewest tokens of it in that step. `input` is the size of the
/// current input in tokens.
fn pin_order(budget: Budget, input: usize) -> Vec<(BlockSource, usize)> {
    let parts = usize::try_from(INSTRUCTION_BUDGET_SHARE).unwrap_or(1);
    // A text that exceeds the budget is shortened in any case, and would otherwise cost the rules of the runtime too.
    let first = (BlockSource::CurrentInput, budget.share(2).max(LEAST_INPUT));
    let first = (input > budget.total).then_some(first);
    let others = [
        (BlockSource::OperatorWords, budget.share(4).max(LEAST_WORDS)),
        (BlockSource::Instructions, budget.share(parts)),
        (BlockSource::AgentScoped, budget.share(2)),
        (BlockSource::Work, budget.share(8)),
        (BlockSource::CurrentItem, budget.share(8)),
        (BlockSource::Policy, 0),
        (BlockSource::ToolGuidance, 0),
        (BlockSource::History, budget.share(8)),
        (BlockSource::OperatorWords, budget.share(8).max(LEAST_WORDS)),
        (BlockSource::Instructions, budget.share(16)),
        (BlockSource::Waits, 0),
        (BlockSource::CurrentItem, 0),
        (BlockSource::Work, 0),
        (BlockSource::History, 0),
        (BlockSource::OperatorWords, LEAST_WORDS),
        (BlockSource::CurrentInput, budget.share(2).max(LEAST_INPUT)),
        (BlockSource::CurrentInput, budget.share(4).max(LEAST_INPUT)),
        (BlockSource::Instructions, 0),
        (BlockSource::AgentScoped, 0),
        (BlockSource::CurrentInput, LEAST_INPUT),
    ];
    first.into_iter().chain(others).collect()
}

fn finish(entries: Vec<Entry<'_>>, budget: Budget) -> PromptPlan<'_> {
    let over_tokens = total(&entries).saturating_sub(budget.total);
    let decisions = entries.iter().map(decide).collect();
    let cuts = list_cuts(&entries);
    let parts = entries.into_iter().filter_map(|entry| {
        Some(Part {
            source: entry.candidate.source,
            text: entry.text?,
            tokens: entry.tokens.saturating_sub(BETWEEN),
            shown: entry.candidate.shown,
        })
    });
    PromptPlan {
        parts: parts.collect(),
        decisions,
        cuts,
        over_tokens,
    }
}

fn decide(entry: &Entry<'_>) -> BlockDecision {
    BlockDecision {
        source: entry.candidate.source,
        stability: entry.candidate.source.stability(),
        pinned: entry.candidate.is_pin(),
        log_seq: entry.candidate.log_seq,
        from_tokens: tokens_u32(entry.candidate.tokens),
        to_tokens: tokens_u32(entry.tokens),
        outcome: match (entry.reason, &entry.text) {
            (None, _) => BlockOutcome::Kept,
            (Some(reason), Some(_)) => BlockOutcome::Shortened { reason },
            (Some(reason), None) => BlockOutcome::Cut { reason },
        },
    }
}

fn list_cuts(entries: &[Entry<'_>]) -> Vec<BlockCut> {
    let mut cuts: Vec<BlockCut> = Vec::new();
    for entry in entries {
        let Some(reason) = entry.reason else {
            continue;
        };
        let is_gone = entry.text.is_none();
        // Every request cuts a long message at the same place by itself.
        let is_own_bound = reason == CutReason::OverShare && entry.candidate.left_out > 0;
        if !is_gone && is_own_bound && entry.candidate.log_seq.is_some() {
            continue;
        }
        let through = entry.candidate.log_seq.filter(|_| is_gone);
        let from = tokens_u32(entry.candidate.tokens);
        // Earlier messages are cut oldest first, so the newest position tells all of them.
        let last = cuts.last_mut().filter(|last| {
            through.is_some() && last.through.is_some() && last.source == entry.candidate.source
        });
        match last {
            Some(last) => (last.through, last.from) = (through, last.from.saturating_add(from)),
            None => cuts.push(BlockCut {
                source: entry.candidate.source,
                through,
                from,
                to: tokens_u32(entry.tokens),
                limit: tokens_u32(entry.limit),
                reason,
            }),
        }
    }
    cuts
}

fn tokens_u32(tokens: usize) -> u32 {
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
