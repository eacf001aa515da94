//! Reads parts of an output stream by their offsets, from the file or from the shim's memory.

use crate::capture;
use crate::error::Error;
use crate::record::StreamRecord;
use holon_domain::command::CapturedStream;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// A part of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// Offset of the first byte. If it is beyond the requested offset, the bytes between were dropped.
    pub at: u64,
    pub bytes: Vec<u8>,
    /// Bytes of the whole stream at the time of the read.
    pub total_bytes: u64,
}

impl Slice {
    /// Offset at which the next read continues.
    #[must_use]
    pub const fn next_offset(&self) -> u64 {
        self.at.saturating_add(self.bytes.len() as u64)
    }
}

/// A requested range of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SliceRange {
    /// Offset at which the read starts.
    pub(super) after: u64,
    /// Most bytes to read.
    pub(super) max: usize,
}

impl SliceRange {
    const fn new(after: u64, max: usize) -> Self {
        Self { after, max }
    }
}

impl StreamRecord {
    /// Reads at most `max` bytes from offset `after` on, from the file of a command that has ended.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub async fn slice(&self, after: u64, max: usize) -> Result<Slice, Error> {
        let missing = || Error::OutputMissing {
            path: self.path.display().to_string(),
        };
        if self.missing {
            return Err(missing());
        }
        let after = after.min(self.total_bytes);
        let tail_begins = self.total_bytes - self.tail_bytes;
        let (at, position, available) = if after < self.head_bytes {
            (after, after, self.head_bytes - after)
        } else {
            let at = after.max(tail_begins);
            let tail_at = self.tail_at.unwrap_or(self.head_bytes);
            let available = match self.tail_at {
                Some(_) => self.total_bytes - at,
                None => 0,
            };
            (at, tail_at + (at - tail_begins), available)
        };
        let length = max.min(usize::try_from(available).unwrap_or(usize::MAX));
        let path = self.path.clone();
        let read = move || match length {
            // The file may not exist in this case.
            0 => Ok(Vec::new()),
            length => read_at(&File::open(path)?, position, length),
        };
        let bytes = tokio::task::spawn_blocking(read).await;
        let bytes = bytes.unwrap_or_else(|error| Err(io::Error::other(error)));
        Ok(Slice {
            at,
            bytes: bytes.map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => missing(),
                _ => Error::Output {
                    reason: format!("{} ({})", error, self.path.display()),
                },
            })?,
            total_bytes: self.total_bytes,
        })
    }

    /// Returns head and tail of the stream as text, at most `capture_bytes` of it, for a command that has ended.
    /// Invalid bytes are replaced, each by up to three.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub async fn preview(&self, capture_bytes: usize) -> Result<CapturedStream, Error> {
        let [head, tail] = end_ranges(self, capture_bytes);
        let head = self.slice(head.after, head.max).await?;
        let tail = self.slice(tail.after, tail.max).await?;
        let (head, tail) = without_overlap(head, &tail);
        Ok(capture::capture_ends(head, tail, self.total_bytes))
    }
}

/// Returns the ranges of the two ends that a preview shows.
pub(super) fn end_ranges(facts: &StreamRecord, capture_bytes: usize) -> [SliceRange; 2] {
    if facts.total_bytes <= capture_bytes as u64 && facts.dropped_bytes() == 0 {
        // One piece, unless the shim still holds its end.
        let tail = usize::try_from(facts.total_bytes - facts.head_bytes).unwrap_or(usize::MAX);
        return [
            SliceRange::new(0, capture_bytes),
            SliceRange::new(facts.head_bytes, tail),
        ];
    }
    let head = capture_bytes / 2;
    let tail = capture_bytes - head;
    let mut tail_from = facts.total_bytes.saturating_sub(tail as u64);
    if facts.head_bytes < facts.total_bytes {
        // One read does not go beyond the head, and a preview shows the end.
        tail_from = tail_from.max(facts.head_bytes);
    }
    [SliceRange::new(0, head), SliceRange::new(tail_from, tail)]
}

/// Combines two ends of a growing stream of `total_bytes` into one capture. Bytes that were not read, because the
/// stream has grown or ends with an incomplete character, are left for the next read.
pub(super) fn capture_so_far(head: Slice, tail: &Slice, total_bytes: u64) -> CapturedStream {
    let end = head.next_offset().max(match tail.bytes.len() {
        0 => 0,
        _ => tail.next_offset(),
    });
    let (mut head, mut tail) = without_overlap(head, tail);
    let last = if tail.is_empty() {
        &mut head
    } else {
        &mut tail
    };
    let incomplete_bytes = incomplete_bytes(last);
    last.truncate(last.len() - incomplete_bytes);
    let shown = end - incomplete_bytes as u64;
    let total_bytes = total_bytes.max(end);
    CapturedStream {
        total_bytes,
        unread_bytes: total_bytes - shown,
        ..capture::capture_ends(head, tail, shown)
    }
}

/// Returns the bytes of two ends without the overlap between them.
fn without_overlap(head: Slice, tail: &Slice) -> (Vec<u8>, Vec<u8>) {
    let overlap = head.next_offset().saturating_sub(tail.at);
    let skip = usize::try_from(overlap).unwrap_or(usize::MAX);
    let rest = tail.bytes.get(skip..).unwrap_or_default().to_vec();
    (head.bytes, rest)
}

/// Counts the bytes at the end that start an incomplete character.
fn incomplete_bytes(bytes: &[u8]) -> usize {
    let is_begun = |count: &usize| {
        let from = bytes.len().checked_sub(*count);
        let end = from.and_then(|from| bytes.get(from..));
        let read = end.map(std::str::from_utf8);
        matches!(read, Some(Err(error)) if error.valid_up_to() == 0 && error.error_len().is_none())
    };
    // A character has at most four bytes, so at most three are incomplete.
    (1..4).find(is_begun).unwrap_or(0)
}

fn read_at(file: &File, position: u64, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, position + filled as u64)? {
            // The file is shorter than it was: it was truncated, or a power failure lost its end.
            0 => break,
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(at: u64, bytes: &[u8]) -> Slice {
        Slice {
            at,
            bytes: bytes.to_vec(),
            total_bytes: at + bytes.len() as u64,
        }
    }

    #[test]
    fn only_the_beginning_of_a_character_is_unfinished() {
        let crab = "🦀".as_bytes();
        for (bytes, expected) in [
            (&b""[..], 0),
            (b"a", 0),
            ("é".as_bytes(), 0),
            (b"a\xc3", 1),
            (&crab[..2], 2),
            (&crab[..3], 3),
            (crab, 0),
            (b"\xff", 0),
            (b"\xa9", 0),
            (b"\xe6\xbcx", 0),
        ] {
            assert_eq!(incomplete_bytes(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn bytes_of_a_stream_that_has_grown_are_left_for_the_next_read() {
        // The stream had 30 bytes when its size was read, and 90 when its end was read.
        let seen = capture_so_far(slice(0, b"head"), &slice(80, b"tail"), 30);
        assert_eq!((seen.next_offset(), seen.dropped_bytes), (84, 76));
        // An end that could not be read stays unread.
        let seen = capture_so_far(slice(0, b"head"), &slice(30, b""), 30);
        assert_eq!((seen.next_offset(), seen.unread_bytes), (4, 26));
        assert_eq!((seen.head.as_str(), seen.dropped_bytes), ("head", 0));
    }

    #[test]
    fn the_end_that_the_shim_holds_is_shown_also_where_the_head_reaches_far() {
        let facts = StreamRecord {
            path: "/nowhere".into(),
            total_bytes: 100,
            head_bytes: 80,
            tail_bytes: 20,
            tail_at: None,
            error: None,
            missing: false,
        };
        let ranges =
            |capture_bytes| end_ranges(&facts, capture_bytes).map(|end| (end.after, end.max));
        assert_eq!(ranges(60), [(0, 30), (80, 30)]);
        assert_eq!(ranges(20), [(0, 10), (90, 10)]);
        assert_eq!(ranges(100), [(0, 100), (80, 20)]);
    }
}
