//! How much of a part of a stream is shown, and where the next look begins.
//!
//! Whoever reads on sees everything once: such a part is cut at its end only, and the offset to ask for next is that of
//! the first byte that was not shown. Every other look shows the two ends of what there is, and goes on after the end.
//! Invariants: no character is split; the next offset never skips what was not shown, and moves on whenever anything was.

use crate::preview::{Ends, Shown};
use holon_domain::command::StreamPart;
use holon_domain::text;

/// Bytes of the longest character. Fewer than this may be the beginning of one that is not complete yet.
const LONGEST_CHARACTER: u64 = 4;

/// Which part was asked for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Wanted {
    /// What there is from an offset on.
    From(u64),
    /// The last lines.
    Last(u32),
    /// The whole.
    Whole,
    /// Nothing, because another stream was asked for.
    Nothing,
}

/// A part as far as it is shown.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Looked {
    pub(super) shown: Shown,
    /// The offset to ask for next.
    pub(super) next_offset: u64,
}

/// Cuts a part to its budget.
pub(super) fn look(part: &StreamPart, wanted: Wanted, budget: usize) -> Looked {
    match wanted {
        Wanted::From(offset) => follow(part, offset, budget),
        Wanted::Last(lines) => {
            let all_there = part.head.lines().count() >= lines as usize;
            ends(part, budget, if all_there { 0 } else { part.at })
        }
        Wanted::Whole => ends(part, budget, part.at),
        Wanted::Nothing => Looked {
            shown: Shown {
                text: String::new(),
                cut: false,
            },
            next_offset: part.next_offset,
        },
    }
}

/// What is new, from its beginning.
fn follow(part: &StreamPart, offset: u64, budget: usize) -> Looked {
    let kept = beginning(&part.head, budget);
    let next_offset = offset_after(part, kept);
    let gone = part.at.saturating_sub(offset);
    let text = match gone {
        0 => kept.to_owned(),
        _ => format!("[{gone} bytes were not kept]\n{kept}"),
    };
    let more = part.total_bytes.saturating_sub(next_offset) >= LONGEST_CHARACTER;
    Looked {
        shown: Shown {
            text,
            cut: gone > 0 || more || kept.len() < part.head.len(),
        },
        next_offset,
    }
}

/// As much as fits, but at least one character: a reader that never moves on would read for ever.
fn beginning(text: &str, budget: usize) -> &str {
    let first = text.chars().next().map_or(0, char::len_utf8);
    text::prefix(text, budget.max(first))
}

/// The offset of the first byte after `kept`, a beginning of the part's text.
///
/// A replacement stands for one to three bytes that were no text, or for itself, so behind one the place is not exactly
/// known from either side; then the earliest place it can be is taken, so that nothing is skipped.
fn offset_after(part: &StreamPart, kept: &str) -> u64 {
    let rest = part.head.get(kept.len()..).unwrap_or_default();
    if rest.is_empty() {
        return part.next_offset;
    }
    let (_, most_after) = extent(rest);
    let (least_before, _) = extent(kept);
    let from_the_start = part.at.saturating_add(least_before);
    let from_the_end = part.next_offset.saturating_sub(most_after);
    from_the_start.max(from_the_end).min(part.next_offset)
}

/// The fewest and the most bytes of a stream that a text can stand for.
fn extent(text: &str) -> (u64, u64) {
    let most = text.len() as u64;
    let replaced = text.matches(char::REPLACEMENT_CHARACTER).count() as u64;
    let slack = char::REPLACEMENT_CHARACTER.len_utf8() as u64 - 1;
    (most - replaced * slack, most)
}

/// The two ends of what there is, `missing` bytes before it. What the host left out is counted with what is cut here.
fn ends(part: &StreamPart, budget: usize, missing: u64) -> Looked {
    let Shown { text, cut } = Ends::from(part).fit(budget);
    let more = part.total_bytes.saturating_sub(part.next_offset) >= LONGEST_CHARACTER;
    Looked {
        shown: Shown {
            text: match missing {
                0 => text,
                _ => format!("[{missing} bytes before this left out]\n{text}"),
            },
            cut: cut || missing > 0 || more,
        },
        next_offset: part.next_offset,
    }
}

#[cfg(test)]
mod tests;
