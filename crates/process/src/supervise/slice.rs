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
            bytes: bytes.map_err(|error| Error::Output {
                reason: format!("{} ({})", error, self.path.display()),
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
        Ok(joined(head, &tail))
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
    let tail_from = facts.total_bytes.saturating_sub(tail as u64);
    ((0, head), (tail_from, tail))
}

/// Two ends as one capture.
pub(super) fn joined(head: Slice, tail: &Slice) -> CapturedStream {
    // An end that fell together with the other, or was dropped, adds nothing twice.
    let overlap = head.next_offset().saturating_sub(tail.at);
    let skip = usize::try_from(overlap).unwrap_or(usize::MAX);
    let rest = tail.bytes.get(skip..).unwrap_or_default().to_vec();
    capture::of_ends(head.bytes, rest, tail.total_bytes)
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
