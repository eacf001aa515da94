//! The lines of a file that come nearest to what a hunk expected.
//!
//! Owns the help in `context_not_found`: enough real lines, with numbers, that the next attempt can copy them.
//! It decides nothing about where a hunk goes. Work is linear in the file and what it returns is bounded.

use std::collections::HashMap;

use crate::error::{FileLine, quote};
use crate::target::Target;

const SHOWN: usize = 20;
/// Lines shown before and after the nearest place.
const MARGIN: usize = 2;
/// Most lines of a hunk that are compared, and most places of one text among them.
const COMPARED: usize = 400;
const REPEATS: usize = 4;
/// Bytes of a line that are compared when no whole line is found.
const PAIRS_BYTES: usize = 400;

/// The explanation for a hunk that fits nowhere: the closest match and the lines that differ.
#[derive(Debug)]
pub(crate) struct Insight {
    pub(crate) message: String,
    pub(crate) lines: Vec<FileLine>,
}

/// Finds the place where most lines of `old` stand, indentation apart, and says what differs there.
pub(crate) fn nearest(target: &Target<'_>, old: &[&[u8]], hint: Option<usize>) -> Insight {
    let start = best_alignment(target, old, hint).or_else(|| most_similar(target, old));
    let Some(start) = start else {
        let message = format!(
            "the old lines of the hunk are not in the file, nor anything like them; it has {} lines",
            target.len()
        );
        return Insight {
            message,
            lines: around(target, hint),
        };
    };
    let differing = old
        .iter()
        .zip(start..)
        .find(|(text, index)| *index >= target.len() || target.line(*index).text != **text);
    let (wanted, at) = differing.map_or((None, start), |(text, at)| (Some(*text), at));
    Insight {
        message: difference(target, start, wanted, at),
        lines: window(target, start, old.len(), at),
    }
}

/// Some lines around a hinted place; the beginning of a file if there is no hint in it.
pub(crate) fn around(target: &Target<'_>, hint: Option<usize>) -> Vec<FileLine> {
    let centre = hint.filter(|line| *line < target.len()).unwrap_or(0);
    let first = centre.saturating_sub(SHOWN / 2);
    target.shown(first..first + SHOWN)
}

fn difference(target: &Target<'_>, start: usize, wanted: Option<&[u8]>, at: usize) -> String {
    let found = if at < target.len() {
        format!("reads `{}`", quote(target.line(at).text))
    } else {
        "is not there".to_owned()
    };
    let wanted = quote(wanted.unwrap_or_default());
    format!(
        "the old lines of the hunk are not in the file; the nearest place is line {}, where line {} {found} and the patch expects `{wanted}`",
        start + 1,
        at + 1
    )
}

/// The lines to show: the whole place with a margin, or the part of a long one that differs.
fn window(target: &Target<'_>, start: usize, len: usize, differs: usize) -> Vec<FileLine> {
    let first = if len + 2 * MARGIN <= SHOWN {
        start.saturating_sub(MARGIN)
    } else {
        start
            .max(differs.saturating_sub(SHOWN / 2))
            .saturating_sub(MARGIN)
    };
    let end = (start + len + MARGIN).min(first + SHOWN);
    target.shown(first..end)
}

/// The start at which most lines of `old` are in their places; the nearest to the hint among equals.
fn best_alignment(target: &Target<'_>, old: &[&[u8]], hint: Option<usize>) -> Option<usize> {
    let mut places: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (offset, line) in old
        .iter()
        .enumerate()
        .filter(|(_, line)| is_telling(line))
        .take(COMPARED)
    {
        let offsets = places.entry(line.trim_ascii()).or_default();
        if offsets.len() < REPEATS {
            offsets.push(offset);
        }
    }
    let mut scores = vec![0_u32; target.len()];
    for index in 0..target.len() {
        let offsets = places.get(target.line(index).text.trim_ascii());
        for start in offsets
            .into_iter()
            .flatten()
            .filter_map(|offset| index.checked_sub(*offset))
        {
            scores[start] += 1;
        }
    }
    let distance = |start: usize| hint.map_or(start, |hint| hint.abs_diff(start));
    let scored = scores.iter().enumerate().filter(|(_, score)| **score > 0);
    let best = scored.max_by_key(|(start, score)| (**score, std::cmp::Reverse(distance(*start))));
    best.map(|(start, _)| start)
}

/// Returns true if a line says anything about its place; a lone brace stands everywhere.
pub(crate) fn is_telling(line: &[u8]) -> bool {
    line.iter()
        .any(|byte| byte.is_ascii_alphanumeric() || *byte >= 0x80)
}

/// The start at which the longest line of `old` meets the line it shares most pairs of bytes with.
fn most_similar(target: &Target<'_>, old: &[&[u8]]) -> Option<usize> {
    let telling = old.iter().enumerate().filter(|(_, line)| is_telling(line));
    let (offset, wanted) =
        telling.max_by_key(|(_, line)| line.trim_ascii().len().min(PAIRS_BYTES))?;
    let mut known = vec![false; 1 << 16];
    let mut wanted_len = 0;
    for pair in pairs(wanted) {
        known[pair] = true;
        wanted_len += 1;
    }
    let likeness = |index: usize| {
        let (mut shared, mut len) = (0, 0);
        for pair in pairs(target.line(index).text) {
            shared += usize::from(known[pair]);
            len += 1;
        }
        // In thousandths, so that likenesses can be ordered.
        2000 * shared.min(wanted_len) / (len + wanted_len).max(1)
    };
    let alike = (0..target.len()).map(|index| (likeness(index), index));
    let best = alike.max_by_key(|(alike, index)| (*alike, std::cmp::Reverse(*index)));
    // Under a third, a likeness is chance.
    best.filter(|(alike, _)| *alike >= 333)
        .map(|(_, index)| index.saturating_sub(offset))
}

/// The neighbouring bytes of a line, each pair as a number.
fn pairs(line: &[u8]) -> impl Iterator<Item = usize> + '_ {
    let trimmed = line.trim_ascii();
    let compared = &trimmed[..trimmed.len().min(PAIRS_BYTES)];
    compared
        .windows(2)
        .map(|pair| usize::from(pair[0]) << 8 | usize::from(pair[1]))
}
