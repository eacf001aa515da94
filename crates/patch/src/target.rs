//! A file's bytes as lines.
//!
//! Owns what a line and a line end are in a file that a patch is applied to. Bytes that are not UTF-8 pass through
//! untouched; NUL bytes make a file no text.

use std::ops::Range;

use crate::error::{Error, ErrorKind, FileLine, quote};
use crate::source::narrow;
use crate::{MAX_BYTES, MAX_LINES};

/// A file before the patch.
#[derive(Debug)]
pub(crate) struct Target<'a> {
    bytes: &'a [u8],
    /// Start offset of each line, with the end of the file as the last entry.
    starts: Vec<u32>,
}

/// One line of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TargetLine<'a> {
    /// Without its line end.
    pub(crate) text: &'a [u8],
    /// True if it ends in a carriage return, before the line feed if there is one.
    pub(crate) cr: bool,
    /// True if it ends in a line feed; only the last may not.
    pub(crate) lf: bool,
}

impl<'a> Target<'a> {
    /// Cuts a file into lines, after looking at its size.
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self, Error> {
        let too_large = |message| {
            let hint = "change so large a file with a command";
            Error::new(ErrorKind::TooLarge, message, hint)
        };
        if bytes.len() > MAX_BYTES {
            let size = bytes.len();
            return Err(too_large(format!(
                "the file has {size} bytes and may have {MAX_BYTES}"
            )));
        }
        if bytes.contains(&0) {
            let hint = "patches change text only; write binary files with a command";
            let message = "the file contains NUL bytes";
            return Err(Error::new(ErrorKind::NotText, message, hint));
        }
        let breaks = bytes.iter().filter(|byte| **byte == b'\n').count();
        if breaks >= MAX_LINES {
            return Err(too_large(format!(
                "the file has {breaks} lines and may have {MAX_LINES}"
            )));
        }
        let mut starts = Vec::with_capacity(breaks + 2);
        starts.push(0);
        starts.extend(
            (1_u32..)
                .zip(bytes)
                .filter_map(|(next, byte)| (*byte == b'\n').then_some(next)),
        );
        if bytes.last().is_some_and(|byte| *byte != b'\n') {
            starts.push(narrow(bytes.len()));
        }
        Ok(Self { bytes, starts })
    }

    pub(crate) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The bytes of some lines, ends included.
    pub(crate) fn bytes(&self, lines: Range<usize>) -> &'a [u8] {
        &self.bytes[self.starts[lines.start] as usize..self.starts[lines.end] as usize]
    }

    /// Line `index`, counted from 0; it must be there.
    pub(crate) fn line(&self, index: usize) -> TargetLine<'a> {
        let whole = self.bytes(index..index + 1);
        let bare = whole.strip_suffix(b"\n");
        let text = bare.unwrap_or(whole);
        let short = text.strip_suffix(b"\r");
        TargetLine {
            text: short.unwrap_or(text),
            cr: short.is_some(),
            lf: bare.is_some(),
        }
    }

    /// Returns true if the lines at `start` are `expected`, line ends apart.
    pub(crate) fn matches(&self, start: usize, expected: &[&[u8]]) -> bool {
        let fits = start
            .checked_add(expected.len())
            .is_some_and(|end| end <= self.len());
        fits && (start..)
            .zip(expected)
            .all(|(index, text)| self.line(index).text == *text)
    }

    /// Some lines with their numbers, for an error.
    pub(crate) fn shown(&self, lines: Range<usize>) -> Vec<FileLine> {
        let end = lines.end.min(self.len());
        (lines.start..end)
            .map(|index| self.shown_line(index))
            .collect()
    }

    /// One line with its number, for an error.
    pub(crate) fn shown_line(&self, index: usize) -> FileLine {
        FileLine {
            number: index + 1,
            text: quote(self.line(index).text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_know_their_ends() {
        let target = Target::new(b"a\r\n\nb\xff\r").unwrap();
        let ends: Vec<_> = (0..target.len())
            .map(|index| target.line(index))
            .map(|line| (line.text, line.cr, line.lf))
            .collect();
        let expected: [(&[u8], bool, bool); 3] = [
            (b"a", true, true),
            (b"", false, true),
            (b"b\xff", true, false),
        ];
        assert_eq!(ends, expected);
        assert_eq!(Target::new(b"").unwrap().len(), 0);
    }

    #[test]
    fn what_is_no_text_or_too_much_is_refused() {
        let kind = |bytes: &[u8]| Target::new(bytes).unwrap_err().kind;
        assert_eq!(kind(b"a\0b"), ErrorKind::NotText);
        assert_eq!(kind(&vec![b'x'; MAX_BYTES + 1]), ErrorKind::TooLarge);
        assert_eq!(kind(&vec![b'\n'; MAX_LINES]), ErrorKind::TooLarge);
    }
}
