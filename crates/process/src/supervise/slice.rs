//! Parts of an output stream by their offsets, wherever they are kept.

use crate::capture;
use crate::error::Error;
use crate::record::StreamFacts;
use holon_domain::command::CapturedStream;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// Bytes of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slice {
    /// The offset of the first of them. Beyond the one that was asked for, what lies between was dropped.
    pub at: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Bytes the stream had in all.
    pub total_bytes: u64,
}

impl Slice {
    /// The offset to ask for next.
    #[must_use]
    pub const fn next_offset(&self) -> u64 {
        self.at.saturating_add(self.bytes.len() as u64)
    }
}

impl StreamFacts {
    /// At most `max` bytes from offset `after` on, as the file of a command that has ended keeps them.
    ///
    /// # Errors
    /// When the file cannot be read.
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
        let wanted = max.min(usize::try_from(available).unwrap_or(usize::MAX));
        let path = self.path.clone();
        let read = move || match wanted {
            // There may not even be a file.
            0 => Ok(Vec::new()),
            wanted => read_at(&File::open(path)?, position, wanted),
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

    /// Head and tail of the stream as text, at most `capture_bytes` of it, for a command that has ended. Bytes that
    /// are no text are replaced, each by up to three.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub async fn preview(&self, capture_bytes: usize) -> Result<CapturedStream, Error> {
        let (head, tail) = halves(self, capture_bytes);
        let head = self.slice(head.0, head.1).await?;
        let tail = self.slice(tail.0, tail.1).await?;
        let (head, tail) = apart(head, &tail);
        Ok(capture::of_ends(head, tail, self.total_bytes))
    }
}

/// The offsets and lengths of the two ends a preview shows.
pub(super) fn halves(facts: &StreamFacts, capture_bytes: usize) -> ((u64, usize), (u64, usize)) {
    if facts.total_bytes <= capture_bytes as u64 && facts.dropped_bytes() == 0 {
        // One piece, unless the shim still holds the end of it.
        let tail = usize::try_from(facts.total_bytes - facts.head_bytes).unwrap_or(usize::MAX);
        return ((0, capture_bytes), (facts.head_bytes, tail));
    }
    let head = capture_bytes / 2;
    let tail = capture_bytes - head;
    let mut tail_from = facts.total_bytes.saturating_sub(tail as u64);
    if facts.head_bytes < facts.total_bytes {
        // One read does not go beyond the head, and the end is what is wanted.
        tail_from = tail_from.max(facts.head_bytes);
    }
    ((0, head), (tail_from, tail))
}

/// Two ends of a stream that had so many bytes and goes on, as one capture. What was not read, because the stream has
/// moved on or because a character at its end is not whole yet, is left for whoever reads on.
pub(super) fn so_far(head: Slice, tail: &Slice, total_bytes: u64) -> CapturedStream {
    let end = head.next_offset().max(match tail.bytes.len() {
        0 => 0,
        _ => tail.next_offset(),
    });
    let (mut head, mut tail) = apart(head, tail);
    let last = if tail.is_empty() {
        &mut head
    } else {
        &mut tail
    };
    let unfinished = unfinished(last);
    last.truncate(last.len() - unfinished);
    let shown = end - unfinished as u64;
    let total_bytes = total_bytes.max(end);
    CapturedStream {
        total_bytes,
        unread_bytes: total_bytes - shown,
        ..capture::of_ends(head, tail, shown)
    }
}

/// The bytes of two ends. One that fell together with the other, or was dropped, adds nothing twice.
fn apart(head: Slice, tail: &Slice) -> (Vec<u8>, Vec<u8>) {
    let overlap = head.next_offset().saturating_sub(tail.at);
    let skip = usize::try_from(overlap).unwrap_or(usize::MAX);
    let rest = tail.bytes.get(skip..).unwrap_or_default().to_vec();
    (head.bytes, rest)
}

/// Bytes at the end that are the beginning of a character and may become a whole one.
fn unfinished(bytes: &[u8]) -> usize {
    let is_begun = |count: &usize| {
        let from = bytes.len().checked_sub(*count);
        let end = from.and_then(|from| bytes.get(from..));
        let read = end.map(std::str::from_utf8);
        matches!(read, Some(Err(error)) if error.valid_up_to() == 0 && error.error_len().is_none())
    };
    // A character has at most four bytes.
    (1..4).find(is_begun).unwrap_or(0)
}

fn read_at(file: &File, position: u64, wanted: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; wanted];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, position + filled as u64)? {
            // Shorter than it was: somebody cut it, or the power failed before it was on disk.
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
            assert_eq!(unfinished(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn what_a_stream_had_that_moved_on_is_left_for_whoever_reads_on() {
        // It had 30 bytes when it was looked at, and 90 when its end was read.
        let seen = so_far(slice(0, b"head"), &slice(80, b"tail"), 30);
        assert_eq!((seen.next_offset(), seen.dropped_bytes), (84, 76));
        // Of an end that could not be read nothing is passed over.
        let seen = so_far(slice(0, b"head"), &slice(30, b""), 30);
        assert_eq!((seen.next_offset(), seen.unread_bytes), (4, 26));
        assert_eq!((seen.head.as_str(), seen.dropped_bytes), ("head", 0));
    }

    #[test]
    fn the_end_that_the_shim_holds_is_shown_also_where_the_head_reaches_far() {
        let facts = StreamFacts {
            path: "/nowhere".into(),
            total_bytes: 100,
            head_bytes: 80,
            tail_bytes: 20,
            tail_at: None,
            error: None,
            missing: false,
        };
        assert_eq!(halves(&facts, 60), ((0, 30), (80, 30)));
        assert_eq!(halves(&facts, 20), ((0, 10), (90, 10)));
        assert_eq!(halves(&facts, 100), ((0, 100), (80, 20)));
    }
}
