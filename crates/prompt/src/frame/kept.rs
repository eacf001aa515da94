//! Rebuilds the parts of a frame from its stored texts, for later requests of the turn.
//!
//! The texts are stored joined, with the lengths of their parts. Under a smaller budget each part gives way as it did
//! when the frame was built: an optional part before a pin, and a pin by its own shorter form. Invariant: if nothing has
//! to give way, the parts joined are the stored text, byte for byte.

use super::KeptFrame;
use crate::candidate::{Candidate, Priority};
use crate::excerpt::Excerpt;
use crate::{instructions, memory, stable, work};
use holon_domain::prompt_plan::{BlockSource, PartLength};
use holon_domain::thread::ThreadBase;

/// Stands between the parts of a stored text.
pub(super) const BETWEEN_PARTS: &str = "\n\n";

/// Shortest form of the current work item, in estimated tokens: its id and its objective.
const LEAST_ITEM_TOKENS: usize = 96;

/// Lists the system parts.
pub(super) fn system<'a>(kept: KeptFrame<'a>) -> Vec<Candidate<'a>> {
    let policy = stable::candidate(kept.stable);
    let agent_scoped = match split(kept.agent_scoped, kept.agent_parts) {
        Some(parts) => parts.into_iter().map(system_part).collect(),
        // A frame of an earlier build has no lengths.
        None => vec![excerpted(BlockSource::AgentScoped, kept.agent_scoped)],
    };
    let surroundings = kept
        .surroundings
        .map(|text| Candidate::pin(BlockSource::Surroundings, text));
    std::iter::once(policy)
        .chain(agent_scoped)
        .chain(surroundings)
        .map(Candidate::repeated)
        .collect()
}

/// Lists the system parts of a frame that repeats the frozen beginning of a thread. The rules are those of this build: a
/// new one has other tools too, so nothing of an older request could be served from a cache.
pub(super) fn base(base: &ThreadBase) -> Vec<Candidate<'_>> {
    let agent_scoped = match split(&base.agent_scoped, &base.agent_parts) {
        Some(parts) => parts.into_iter().map(system_part).collect(),
        None => vec![excerpted(BlockSource::AgentScoped, &base.agent_scoped)],
    };
    let surroundings = base
        .surroundings
        .as_deref()
        .map(|text| Candidate::pin(BlockSource::Surroundings, text));
    std::iter::once(stable::candidate(stable::text()))
        .chain(agent_scoped)
        .chain(surroundings)
        .collect()
}

fn system_part<'a>((source, text): (BlockSource, &'a str)) -> Candidate<'a> {
    match source {
        BlockSource::Instructions => Candidate::pin(source, text)
            .or_shorter(move |tokens| instructions::shorten_rendered(text, tokens)),
        BlockSource::Skills => Candidate::optional(source, Priority::Skills, text),
        BlockSource::Notes => Candidate::optional(source, Priority::Notes, text),
        BlockSource::ToolGuidance => {
            Candidate::pin(source, text).or_shorter(|_| stable::SHORT_TOOLS.to_owned())
        }
        BlockSource::Delegation => Candidate::pin(source, text),
        _ => excerpted(source, text),
    }
}

/// Lists the parts about the agent's work.
pub(super) fn work<'a>(text: &'a str, lengths: &[PartLength]) -> Vec<Candidate<'a>> {
    let parts = match split(text, lengths) {
        Some(parts) => parts.into_iter().map(work_part).collect(),
        None => vec![excerpted(BlockSource::Work, text)],
    };
    parts.into_iter().map(Candidate::repeated).collect()
}

fn work_part<'a>((source, text): (BlockSource, &'a str)) -> Candidate<'a> {
    let optional = |priority| Candidate::optional(source, priority, text);
    match source {
        BlockSource::Waits => {
            Candidate::pin(source, text).or_shorter(|_| work::shorten_waits(text))
        }
        // The oldest words stand at the end.
        BlockSource::WorkingMemory => optional(Priority::WorkingMemory)
            .or_shorter(|tokens| memory::shorten_rendered(text, tokens)),
        BlockSource::WorkingMemoryDelta => optional(Priority::WorkingMemoryDelta),
        BlockSource::ItemTrace => optional(Priority::ItemTrace),
        BlockSource::TriggeredItems => optional(Priority::TriggeredItems),
        BlockSource::DueReminders => optional(Priority::DueReminders),
        BlockSource::QueuedItems => optional(Priority::QueuedItems),
        BlockSource::ItemsForOperator => optional(Priority::ItemsForOperator),
        BlockSource::BlockedItems => optional(Priority::BlockedItems),
        BlockSource::Timers => optional(Priority::Timers),
        BlockSource::CompletedItems => optional(Priority::CompletedItems),
        BlockSource::Children => optional(Priority::Children),
        // The heading and the note at the end.
        BlockSource::Work => Candidate::pin(source, text),
        BlockSource::CurrentItem => Candidate::pin(source, text)
            .or_shorter(|tokens| Excerpt::of(text, tokens.max(LEAST_ITEM_TOKENS)).render()),
        _ => excerpted(source, text),
    }
}

fn excerpted(source: BlockSource, text: &str) -> Candidate<'_> {
    Candidate::pin(source, text).or_shorter(|tokens| Excerpt::of(text, tokens).render())
}

/// Splits a stored text into its parts. `None` if the lengths are not those of the text.
pub(crate) fn split<'a>(
    text: &'a str,
    lengths: &[PartLength],
) -> Option<Vec<(BlockSource, &'a str)>> {
    let mut parts = Vec::with_capacity(lengths.len());
    let mut rest = text;
    for (place, PartLength(source, bytes)) in lengths.iter().enumerate() {
        if place > 0 {
            rest = rest.strip_prefix(BETWEEN_PARTS)?;
        }
        let (part, after) = rest.split_at_checked(usize::try_from(*bytes).ok()?)?;
        parts.push((*source, part));
        rest = after;
    }
    (rest.is_empty() && !parts.is_empty()).then_some(parts)
}
