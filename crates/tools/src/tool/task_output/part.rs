//! Decides how much of a stream is shown, and the offset of the next call.
//!
//! A reader that continues at an offset sees everything once: such a part is cut at its end only, and the next offset
//! is that of the first byte not shown. Every other call shows the two ends of the stream, and continues after its end.
//! Invariants: no character is split; the next offset never skips bytes that were not shown, and advances whenever some
//! were.

use crate::preview::{Ends, ShownText};
use holon_domain::command::StreamPart;
use holon_domain::text;

/// Bytes of the longest character. Fewer than this may be the beginning of an incomplete one.
const LONGEST_CHARACTER: u64 = 4;

/// The requested part of a stream.
#[derive(Debug, Clone, Copy)]
pub(super) enum PartRequest {
    /// Everything from an offset on.
    From(u64),
    /// The last lines, this many.
    Last(u32),
    Whole,
    /// Nothing, because the other stream was requested.
    Nothing,
}

/// A part of a stream that is shown.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ShownPart {
    pub(super) shown: ShownText,
    /// Offset at which the next call continues.
    pub(super) next_offset: u64,
}

/// Cuts a part to its budget.
pub(super) fn show_part(part: &StreamPart, request: PartRequest, budget: usize) -> ShownPart {
    match request {
        PartRequest::From(offset) => follow(part, offset, budget),
        PartRequest::Last(lines) => {
            let all_there = part.head.lines().count() >= lines as usize;
            ends(part, budget, if all_there { 0 } else { part.at })
        }
        PartRequest::Whole => ends(part, budget, part.at),
        PartRequest::Nothing => ShownPart {
            shown: ShownText {
                text: String::new(),
                cut: false,
            },
            next_offset: part.next_offset,
        },
    }
}

/// Shows what is new, from its beginning.
fn follow(part: &StreamPart, offset: u64, budget: usize) -> ShownPart {
    let kept = beginning(&part.head, budget);
    let next_offset = offset_after(part, kept);
    let gone = part.at.saturating_sub(offset);
    let text = match gone {
        0 => kept.to_owned(),
        _ => format!("[{gone} bytes were not kept]\n{kept}"),
    };
    let more = part.total_bytes.saturating_sub(next_offset) >= LONGEST_CHARACTER;
    ShownPart {
        shown: ShownText {
            text,
            cut: gone > 0 || more || kept.len() < part.head.len(),
        },
        next_offset,
    }
}

/// Returns as much as fits, but at least one character, so that a reader always advances.
fn beginning(text: &str, budget: usize) -> &str {
    let first = text.chars().next().map_or(0, char::len_utf8);
    text::prefix(text, budget.max(first))
}

/// Returns the offset of the first byte after `kept`, a prefix of the part's text.
///
/// A replacement character stands for one to three invalid bytes, or for itself, so the position after one is not
/// exactly known. The earliest possible position is used, so that nothing is skipped.
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

/// Returns the smallest and the largest number of bytes that a text can stand for.
fn extent(text: &str) -> (u64, u64) {
    let most = text.len() as u64;
    let replaced = text.matches(char::REPLACEMENT_CHARACTER).count() as u64;
    let slack = char::REPLACEMENT_CHARACTER.len_utf8() as u64 - 1;
    (most - replaced * slack, most)
}

/// Shows the two ends of a stream that lacks `missing` bytes at its beginning. Bytes that the host left out are counted
/// with those cut here.
fn ends(part: &StreamPart, budget: usize, missing: u64) -> ShownPart {
    let ShownText { text, cut } = Ends::from(part).fit(budget);
    let more = part.total_bytes.saturating_sub(part.next_offset) >= LONGEST_CHARACTER;
    ShownPart {
        shown: ShownText {
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
