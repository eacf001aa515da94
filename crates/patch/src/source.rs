//! The text of a patch as numbered lines.
//!
//! Owns the size limits of a patch and the meaning of a line end in it. Lines are kept as positions in one shared
//! text, so that a patch of a million lines costs a few bytes for each.

use std::sync::Arc;

use crate::error::{Error, ErrorKind};
use crate::{MAX_BYTES, MAX_LINES};

/// A patch's text, cut into lines.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    text: Arc<str>,
    /// Start offset of each line, with the end of the text as the last entry.
    starts: Vec<u32>,
    /// The lines that count: without a code fence around the whole.
    first: usize,
    end: usize,
}

/// One line of a patch without its line end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub(crate) text: &'a str,
    /// Byte offset in the patch.
    pub(crate) start: u32,
    /// True if a carriage return stood before the line feed.
    pub(crate) cr: bool,
}

impl Source {
    /// Cuts `text` into lines, after looking at its size.
    pub(crate) fn new(text: &str) -> Result<Self, Error> {
        if text.len() > MAX_BYTES {
            return Err(too_large(format!(
                "the patch has {} bytes and may have {MAX_BYTES}",
                text.len()
            )));
        }
        let breaks = text.bytes().filter(|byte| *byte == b'\n').count();
        if breaks >= MAX_LINES {
            return Err(too_large(format!(
                "the patch has {breaks} lines and may have {MAX_LINES}"
            )));
        }
        let mut starts = Vec::with_capacity(breaks + 2);
        starts.push(0);
        starts.extend(
            (1_u32..)
                .zip(text.bytes())
                .filter_map(|(next, byte)| (byte == b'\n').then_some(next)),
        );
        let ends_in_break = text.is_empty() || text.ends_with('\n');
        if !ends_in_break {
            starts.push(narrow(text.len()));
        }
        let end = starts.len() - 1;
        let whole = Self {
            text: text.into(),
            starts,
            first: 0,
            end,
        };
        Ok(whole.without_fence())
    }

    /// The shared text, for hunks that keep positions in it.
    pub(crate) fn text(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }

    /// The first line that counts.
    pub(crate) const fn first(&self) -> usize {
        self.first
    }

    /// Line `index`, counted from 0; none after the last.
    pub(crate) fn line(&self, index: usize) -> Option<Line<'_>> {
        if index >= self.end {
            return None;
        }
        let (start, end) = (self.starts[index], self.starts[index + 1]);
        let text = self.text.get(start as usize..end as usize)?;
        let text = text.strip_suffix('\n').unwrap_or(text);
        let bare = text.strip_suffix('\r');
        Some(Line {
            text: bare.unwrap_or(text),
            start,
            cr: bare.is_some(),
        })
    }

    /// The text of line `index`; empty after the last.
    pub(crate) fn text_at(&self, index: usize) -> &str {
        self.line(index).map_or("", |line| line.text)
    }

    /// The first line from `index` on that is not blank; the end if there is none.
    pub(crate) fn skip_blank(&self, index: usize) -> usize {
        let mut at = index;
        while self
            .line(at)
            .is_some_and(|line| line.text.trim().is_empty())
        {
            at += 1;
        }
        at
    }

    /// Returns true if there is no line `index`.
    pub(crate) const fn is_end(&self, index: usize) -> bool {
        index >= self.end
    }

    /// Models like to wrap a patch as a code block; the fences are not part of it.
    fn without_fence(mut self) -> Self {
        let open = self.skip_blank(0);
        let last = (open + 1..self.end)
            .rev()
            .find(|index| !self.text_at(*index).trim().is_empty());
        if let Some(close) = last
            && self.text_at(open).starts_with("```")
            && self.text_at(close).trim_end() == "```"
        {
            (self.first, self.end) = (open + 1, close);
        }
        self
    }
}

/// A position in a text whose length was checked.
pub(crate) fn narrow(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

fn too_large(message: String) -> Error {
    let hint = "split the patch into several calls, or make the change with a command";
    Error::new(ErrorKind::TooLarge, message, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<(String, bool)> {
        let source = Source::new(text).unwrap();
        (source.first()..)
            .map_while(|index| source.line(index))
            .map(|line| (line.text.to_owned(), line.cr))
            .collect()
    }

    #[test]
    fn a_missing_last_line_feed_makes_no_difference() {
        assert_eq!(lines("a\nb\n"), lines("a\nb"));
        assert_eq!(lines(""), []);
        assert_eq!(lines("\n"), [(String::new(), false)]);
    }

    #[test]
    fn a_carriage_return_is_part_of_the_line_end() {
        assert_eq!(
            lines("a\r\nb\rc\r"),
            [("a".to_owned(), true), ("b\rc".to_owned(), true)]
        );
    }

    #[test]
    fn a_code_fence_around_the_whole_is_left_out() {
        assert_eq!(lines("\n```diff\na\n```\n\n"), [("a".to_owned(), false)]);
        assert_eq!(lines("```\n").len(), 1);
        assert_eq!(lines("a\n```\n").len(), 2);
    }

    #[test]
    fn size_and_line_count_are_limited() {
        let long = "x".repeat(MAX_BYTES + 1);
        assert_eq!(Source::new(&long).unwrap_err().kind, ErrorKind::TooLarge);
        let many = "\n".repeat(MAX_LINES);
        assert_eq!(Source::new(&many).unwrap_err().kind, ErrorKind::TooLarge);
        assert!(Source::new(&"\n".repeat(MAX_LINES - 1)).is_ok());
    }
}
