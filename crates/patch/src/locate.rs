//! Where a hunk goes.
//!
//! Owns the order of the attempts: the end of the file if the hunk says it is there, the hinted line, then the only
//! place in the file. Hunks go from top to bottom, but a copy above the end of the last hunk is left out of account
//! only if the hunk's own line number says that it comes later. Never guesses between places. Each search is linear,
//! and all searches of a file share one allowance.

use std::collections::HashMap;

use crate::error::{Error, ErrorKind};
use crate::hunk::{Hunk, Reading, Sign};
use crate::insight;
use crate::source::narrow;
use crate::target::Target;

/// Most line comparisons for one file: a fraction of a second, a thousand misplaced hunks in 50,000 lines.
const ALLOWANCE: usize = 50_000_000;
/// Most places an error lists.
const PLACES: usize = 10;

/// The lines of a file that a hunk replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    /// The first line it covers, counted from 0.
    pub(crate) start: usize,
    /// Number of lines that the hunk replaces.
    pub(crate) len: usize,
    /// The reading of the context that matched.
    pub(crate) reading: Reading,
}

/// Finds the places of a file's hunks.
#[derive(Debug)]
pub(crate) struct Finder<'a> {
    target: &'a Target<'a>,
    hunks: &'a [Hunk],
    /// Made by the first search: a patch whose numbers are right needs none.
    index: Option<Index<'a>>,
    allowance: usize,
}

/// Lines as numbers, so that comparing two costs the same whatever their length.
#[derive(Debug)]
struct Index<'a> {
    words: HashMap<&'a [u8], u32>,
    /// The file; 0 is a line that no hunk knows.
    file: Vec<u32>,
}

impl<'a> Finder<'a> {
    pub(crate) fn new(target: &'a Target<'a>, hunks: &'a [Hunk]) -> Self {
        Self {
            target,
            hunks,
            index: None,
            allowance: ALLOWANCE,
        }
    }

    /// The place of `hunk` at or after line `from`.
    pub(crate) fn locate(&mut self, hunk: &'a Hunk, from: usize) -> Result<Place, Error> {
        if hunk.counts().0 == 0 {
            return self.insertion(hunk, from);
        }
        if let Some(place) = self.attempt(hunk, Reading::Marked, from)? {
            return Ok(place);
        }
        if hunk.has_two_readings()
            && let Some(place) = self.attempt(hunk, Reading::Verbatim, from)?
        {
            return Ok(place);
        }
        Err(self.not_found(hunk, from)?)
    }

    fn attempt(
        &mut self,
        hunk: &'a Hunk,
        reading: Reading,
        from: usize,
    ) -> Result<Option<Place>, Error> {
        let old = hunk.old(reading);
        let place = |start| Place {
            start,
            len: old.len(),
            reading,
        };
        let sure = [ending(hunk, self.target.len(), old.len()), hinted(hunk)];
        for start in sure.into_iter().flatten() {
            if start >= from && self.target.matches(start, &old) {
                return Ok(Some(place(start)));
            }
        }
        let hint = hinted(hunk);
        if let Some(start) = hint.filter(|start| *start < from)
            && self.target.matches(start, &old)
        {
            return Err(self.passed(hunk, start, from));
        }
        let comes_later = hint.is_some_and(|start| start >= from);
        let found = self.search(&old, if comes_later { from } else { 0 }, PLACES + 1)?;
        match found.as_slice() {
            [] => Ok(None),
            [start] if *start >= from => Ok(Some(place(*start))),
            [start] => Err(self.passed(hunk, *start, from)),
            several => Err(self.ambiguous(hunk, several)),
        }
    }

    /// The place of lines that come without any context: only the numbers can say it.
    fn insertion(&self, hunk: &Hunk, from: usize) -> Result<Place, Error> {
        let after = hunk
            .range
            .filter(|range| range.old_count == 0)
            .map(|range| range.old_start as usize);
        let start = match after {
            Some(start) if (from..=self.target.len()).contains(&start) => start,
            _ if self.target.len() == 0 => 0,
            Some(_) | None => return Err(self.without_context(hunk)),
        };
        Ok(Place {
            start,
            len: 0,
            reading: Reading::Marked,
        })
    }

    /// The first places of `lines` at or after line `from`.
    fn search(
        &mut self,
        lines: &[&'a [u8]],
        from: usize,
        most: usize,
    ) -> Result<Vec<usize>, Error> {
        let cost = (self.target.len() - from).saturating_add(lines.len());
        self.allowance = self.allowance.checked_sub(cost).ok_or_else(|| {
            let message = "too many hunks have wrong line numbers for so large a file";
            let hint = "correct the numbers in the @@ lines, or split the patch into several calls";
            Error::new(ErrorKind::TooLarge, message, hint)
        })?;
        let (target, hunks) = (self.target, self.hunks);
        let index = self.index.get_or_insert_with(|| Index::new(target, hunks));
        let pattern: Vec<u32> = lines.iter().map(|line| index.word(line)).collect();
        let mut found = occurrences(&index.file[from..], &pattern, most);
        for start in &mut found {
            *start += from;
        }
        Ok(found)
    }

    fn ambiguous(&self, hunk: &Hunk, places: &[usize]) -> Error {
        let listed = &places[..places.len().min(PLACES)];
        let numbers: Vec<String> = listed.iter().map(|start| (start + 1).to_string()).collect();
        let more = if places.len() > PLACES {
            " and more"
        } else {
            ""
        };
        let message = format!(
            "the old lines of the hunk are at lines {}{more}",
            numbers.join(", ")
        );
        let hint =
            "add context lines until only one place fits, or give the right line in the @@ line";
        let near = listed
            .iter()
            .map(|start| self.target.shown_line(*start))
            .collect();
        Error::new(ErrorKind::AmbiguousContext, message, hint)
            .at(hunk.line)
            .near(near)
    }

    fn without_context(&self, hunk: &Hunk) -> Error {
        let message = format!(
            "the hunk has no context or removed line, so it fits anywhere in the {} lines of the file",
            self.target.len()
        );
        let hint = "add the unchanged line before or after the new ones as context";
        let near = insight::around(self.target, hinted(hunk));
        Error::new(ErrorKind::AmbiguousContext, message, hint)
            .at(hunk.line)
            .near(near)
    }

    /// The refusal of a hunk whose lines stand above the end of an earlier one.
    fn passed(&self, hunk: &Hunk, start: usize, from: usize) -> Error {
        let message = format!(
            "the old lines of the hunk are at line {}, which an earlier hunk has passed ({from} lines)",
            start + 1
        );
        let hint = "order the hunks of a file from top to bottom, without overlap";
        let near = insight::around(self.target, Some(start));
        Error::new(ErrorKind::ContextNotFound, message, hint)
            .at(hunk.line)
            .near(near)
    }

    /// Says why nothing fits, with the lines that come nearest.
    fn not_found(&mut self, hunk: &'a Hunk, from: usize) -> Result<Error, Error> {
        let old = hunk.old(Reading::Marked);
        if let Some(start) = self.search(&old, 0, 1)?.first() {
            return Ok(self.passed(hunk, *start, from));
        }
        let applied = self.find_applied(hunk)?;
        let insight = insight::nearest(self.target, &old, hinted(hunk));
        let hint = match applied {
            Some(start) => format!(
                "the new lines are already at line {}; if this was applied before, nothing is left to do",
                start + 1
            ),
            None => {
                "copy the old lines exactly from the lines shown, with their indentation".to_owned()
            }
        };
        let error = Error::new(ErrorKind::ContextNotFound, insight.message, hint);
        Ok(error.at(hunk.line).near(insight.lines))
    }

    /// Finds the place where the file already has the content that the hunk would produce. Only added lines prove it,
    /// and a lone brace does not: context is there in either case.
    fn find_applied(&mut self, hunk: &'a Hunk) -> Result<Option<usize>, Error> {
        let adds = hunk.lines.iter().any(|line| {
            line.sign == Sign::Added && insight::is_telling(hunk.text(line, Reading::Marked))
        });
        if !adds {
            return Ok(None);
        }
        let fresh = hunk.new_side(Reading::Marked);
        Ok(self.search(&fresh, 0, 1)?.first().copied())
    }
}

/// The line the header names, counted from 0.
fn hinted(hunk: &Hunk) -> Option<usize> {
    let start = hunk.range?.old_start as usize;
    start.checked_sub(1)
}

/// The first line of a hunk whose header says that it reaches the end of the file.
fn ending(hunk: &Hunk, lines: usize, len: usize) -> Option<usize> {
    let last = hunk.lines.iter().rev().find(|line| line.sign.is_old())?;
    last.no_newline.then(|| lines.checked_sub(len)).flatten()
}

impl<'a> Index<'a> {
    fn new(target: &Target<'a>, hunks: &'a [Hunk]) -> Self {
        let mut words = HashMap::new();
        for hunk in hunks {
            for reading in [Reading::Marked, Reading::Verbatim] {
                for line in &hunk.lines {
                    let next = narrow(words.len() + 1);
                    words.entry(hunk.text(line, reading)).or_insert(next);
                }
            }
        }
        let file = (0..target.len())
            .map(|index| words.get(target.line(index).text).copied().unwrap_or(0))
            .collect();
        Self { words, file }
    }

    /// The number of a line of a hunk; the largest is nobody's.
    fn word(&self, line: &[u8]) -> u32 {
        self.words.get(line).copied().unwrap_or(u32::MAX)
    }
}

/// The first places of `pattern` in `text`, overlapping ones included, without ever going back in `text`.
fn occurrences(text: &[u32], pattern: &[u32], most: usize) -> Vec<usize> {
    let mut found = Vec::new();
    if pattern.is_empty() || pattern.len() > text.len() {
        return found;
    }
    let borders = borders(pattern);
    let mut matched = 0;
    for (at, word) in text.iter().enumerate() {
        while matched > 0 && pattern[matched] != *word {
            matched = borders[matched - 1];
        }
        if pattern[matched] == *word {
            matched += 1;
        }
        if matched == pattern.len() {
            found.push(at + 1 - matched);
            if found.len() == most {
                break;
            }
            matched = borders[matched - 1];
        }
    }
    found
}

/// For each prefix of `pattern`, how much of its start is also its end.
fn borders(pattern: &[u32]) -> Vec<usize> {
    let mut borders = vec![0; pattern.len()];
    let mut matched = 0;
    for at in 1..pattern.len() {
        while matched > 0 && pattern[matched] != pattern[at] {
            matched = borders[matched - 1];
        }
        if pattern[matched] == pattern[at] {
            matched += 1;
        }
        borders[at] = matched;
    }
    borders
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_search_finds_what_a_plain_comparison_finds(
            text in prop::collection::vec(0_u32..3, 0..60),
            pattern in prop::collection::vec(0_u32..3, 1..6),
        ) {
            let plain: Vec<usize> = text
                .windows(pattern.len())
                .enumerate()
                .filter_map(|(at, window)| (window == pattern).then_some(at))
                .collect();
            prop_assert_eq!(occurrences(&text, &pattern, usize::MAX), plain);
        }
    }

    #[test]
    fn the_search_stops_at_the_wanted_number() {
        assert_eq!(occurrences(&[1; 100], &[1, 1], 3), [0, 1, 2]);
    }
}
