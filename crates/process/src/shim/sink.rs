//! One output stream: drained as long as the command writes, kept up to its cap.
//!
//! The file takes the stream from its beginning until the head is full and is never rewritten, so an offset in the
//! head always means the same byte. Later bytes pass through a tail of bounded memory, which is appended at the end.
//! If the disk is full, the head ends early and the command continues.

use super::{StartResult, broken};
use crate::record::StreamRecord;
use holon_domain::command::CommandFailure;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Most bytes of a stream's end that are held in memory.
const TAIL_BYTES: u64 = 1 << 20;
/// Most bytes read at once, so that a flood on one stream does not block the loop.
const PUMP_BYTES: usize = 1 << 20;
/// Size of the pipe of a command that fills it. Other pipes keep their size, because all pipes of a user share one
/// limit.
const LARGE_PIPE: usize = 512 << 10;
/// Default capacity of a pipe, which a read of a full pipe returns.
const FULL_PIPE: usize = 64 << 10;

/// Creates an output file, which must not exist.
pub(super) fn create(path: &Path) -> StartResult<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR) {
        Ok(file) => Ok(File::from(file)),
        Err(Errno::EXIST) => Err(CommandFailure::Spawn {
            reason: format!(
                "output file {} exists already; name one that does not",
                path.display()
            ),
        }),
        Err(error) => Err(broken(
            &format!("make the output file {}", path.display()),
            &error.into(),
        )),
    }
}

/// A stream, its file and its tail in memory.
#[derive(Debug)]
pub(super) struct Sink {
    source: Option<OwnedFd>,
    grown: bool,
    file: File,
    path: PathBuf,
    head_cap: u64,
    head_bytes: u64,
    tail: Vec<u8>,
    tail_cap: usize,
    tail_at: Option<u64>,
    total: u64,
    error: Option<String>,
}

impl Sink {
    /// Creates a sink of at most `cap` bytes for a non-blocking descriptor.
    pub(super) fn new(source: Option<OwnedFd>, file: File, path: &Path, cap: u64) -> Self {
        let tail_cap = (cap / 4).min(TAIL_BYTES);
        Self {
            source,
            grown: false,
            file,
            path: path.to_owned(),
            head_cap: cap - tail_cap,
            head_bytes: 0,
            tail: Vec::new(),
            tail_cap: usize::try_from(tail_cap).unwrap_or(usize::MAX),
            tail_at: None,
            total: 0,
            error: None,
        }
    }

    /// Descriptor to poll, until the stream has ended.
    pub(super) fn source(&self) -> Option<BorrowedFd<'_>> {
        self.source.as_ref().map(AsFd::as_fd)
    }

    /// Reads the available bytes, up to a bound, and shows each piece to `seen`.
    pub(super) fn pump(&mut self, buffer: &mut [u8], mut seen: impl FnMut(&[u8])) {
        let mut pumped = 0;
        while pumped < PUMP_BYTES {
            let Some(source) = &self.source else { return };
            match rustix::io::read(source, &mut *buffer) {
                Err(Errno::AGAIN | Errno::INTR) => return,
                // A terminal whose last user is gone returns an error.
                Ok(0) | Err(_) => self.source = None,
                Ok(read) => {
                    if read >= FULL_PIPE && !self.grown {
                        self.grown = true;
                        // Beyond the user's limit the pipe keeps its size, which only costs more reads.
                        rustix::pipe::fcntl_setpipe_size(source, LARGE_PIPE).ok();
                    }
                    pumped += read;
                    let piece = buffer.get(..read).unwrap_or_default();
                    self.take(piece);
                    seen(piece);
                }
            }
        }
    }

    /// Returns true if the stream has printed anything.
    pub(super) const fn has_output(&self) -> bool {
        self.total > 0
    }

    /// Takes over what another sink has kept so far. What that one lost, this one lacks too.
    pub(super) fn take_kept(&mut self, other: &Self) -> io::Result<()> {
        // The command may have put anything in the place of the file; a pipe must not block the loop.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(&other.path, flags, Mode::empty())?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("not a plain file"));
        }
        let mut head = file.take(other.head_bytes);
        let mut buffer = vec![0; FULL_PIPE];
        loop {
            match head.read(&mut buffer)? {
                0 => break,
                read => self.take(buffer.get(..read).unwrap_or_default()),
            }
        }
        let (at, tail) = other.tail_from(other.head_bytes, usize::MAX);
        let lost = at.saturating_sub(self.total);
        if lost > 0 {
            self.end_head("the output was larger than its cap");
            self.total += lost;
        }
        self.take(tail);
        Ok(())
    }

    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let rest = self.take_head(bytes);
        let keep = rest.len().saturating_sub(self.tail_cap);
        self.tail
            .extend_from_slice(rest.get(keep..).unwrap_or_default());
        if self.tail.len() > self.tail_cap.saturating_mul(2) {
            self.trim_tail();
        }
    }

    /// Writes the part that belongs to the head, and returns the rest.
    fn take_head<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let mut rest = bytes;
        while self.head_bytes < self.head_cap && !rest.is_empty() {
            let room = usize::try_from(self.head_cap - self.head_bytes).unwrap_or(usize::MAX);
            let part = rest.get(..room.min(rest.len())).unwrap_or(rest);
            match self.file.write(part) {
                Ok(written) if written > 0 => {
                    self.head_bytes += written as u64;
                    rest = rest.get(written..).unwrap_or_default();
                }
                Ok(_) => self.end_head("the file takes no more"),
                Err(error) => self.end_head(&error.to_string()),
            }
        }
        rest
    }

    /// Ends the head for good: later bytes would be at wrong offsets.
    fn end_head(&mut self, reason: &str) {
        self.head_cap = self.head_bytes;
        self.error.get_or_insert_with(|| reason.to_owned());
    }

    fn trim_tail(&mut self) {
        let excess = self.tail.len().saturating_sub(self.tail_cap);
        self.tail.drain(..excess);
    }

    /// Appends the tail to the file. The stream is not read afterwards.
    pub(super) fn finish(&mut self) {
        self.source = None;
        self.trim_tail();
        if self.tail.is_empty() {
            return;
        }
        let dropped = self.facts().dropped_bytes();
        let marker = match dropped {
            0 => String::new(),
            dropped => {
                let reason = self.error.as_deref();
                let reason = reason.unwrap_or("the output was larger than its cap");
                format!("\n[{dropped} bytes are missing here: {reason}]\n")
            }
        };
        let mut end = marker.clone().into_bytes();
        end.extend_from_slice(&self.tail);
        match self.file.write_all(&end) {
            Ok(()) if dropped == 0 => {
                self.head_bytes = self.total;
                self.tail.clear();
            }
            Ok(()) => self.tail_at = Some(self.head_bytes + marker.len() as u64),
            Err(error) => {
                self.error.get_or_insert_with(|| error.to_string());
                self.tail.clear();
            }
        }
    }

    /// Returns bytes of the tail from offset `after` on, and the offset of the first one.
    pub(super) fn tail_from(&self, after: u64, max: usize) -> (u64, &[u8]) {
        let kept = self.tail.len().min(self.tail_cap);
        let tail = self.tail.get(self.tail.len() - kept..).unwrap_or_default();
        let begins = self.total - kept as u64;
        let at = after.clamp(begins, self.total);
        let skip = usize::try_from(at - begins).unwrap_or(usize::MAX);
        let rest = tail.get(skip..).unwrap_or_default();
        (at, rest.get(..max.min(rest.len())).unwrap_or(rest))
    }

    /// Returns the facts about the stream so far.
    pub(super) fn facts(&self) -> StreamRecord {
        StreamRecord {
            path: self.path.clone(),
            total_bytes: self.total,
            head_bytes: self.head_bytes,
            tail_bytes: self.tail.len().min(self.tail_cap) as u64,
            tail_at: self.tail_at,
            error: self.error.clone(),
            missing: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sink(cap: u64) -> (tempfile::TempDir, Sink) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        let file = create(&path).unwrap();
        let sink = Sink::new(None, file, &path, cap);
        (dir, sink)
    }

    proptest! {
        #[test]
        fn every_kept_byte_is_found_at_its_offset(
            bytes in proptest::collection::vec(any::<u8>(), 0..400), chunk in 1_usize..60, cap in 0_u64..300,
        ) {
            let (_dir, mut sink) = sink(cap);
            for piece in bytes.chunks(chunk) {
                sink.take(piece);
                let seen = &bytes[..usize::try_from(sink.total).unwrap()];
                let (at, tail) = sink.tail_from(sink.head_bytes, usize::MAX);
                prop_assert_eq!(&seen[usize::try_from(at).unwrap()..], tail);
                prop_assert!(tail.len() as u64 + sink.head_bytes <= cap);
            }
            sink.finish();
            let facts = sink.facts();
            let file = std::fs::read(&facts.path).unwrap();
            let head = usize::try_from(facts.head_bytes).unwrap();
            prop_assert_eq!(&file[..head], &bytes[..head]);
            match facts.tail_at {
                Some(at) => {
                    let tail = &file[usize::try_from(at).unwrap()..];
                    prop_assert_eq!(tail.len() as u64, facts.tail_bytes);
                    prop_assert!(bytes.ends_with(tail));
                }
                None => prop_assert_eq!(file.len(), head),
            }
            prop_assert_eq!(facts.total_bytes, bytes.len() as u64);
            if bytes.len() as u64 <= cap {
                prop_assert_eq!(facts.head_bytes, facts.total_bytes);
            }
        }
    }

    #[test]
    fn the_file_says_why_bytes_are_missing_in_it() {
        for (error, expected) in [
            (
                None,
                "bytes are missing here: the output was larger than its cap]",
            ),
            (
                Some("the disk is full"),
                "bytes are missing here: the disk is full]",
            ),
        ] {
            let (_dir, mut sink) = sink(40);
            sink.take(b"0123456789");
            if let Some(error) = error {
                sink.end_head(error);
            }
            sink.take(&[b'x'; 100]);
            sink.finish();
            let file = std::fs::read_to_string(sink.facts().path).unwrap();
            assert!(file.contains(expected), "{file}");
        }
    }

    #[test]
    fn a_disk_that_takes_nothing_is_named_and_the_tail_goes_on() {
        let file = File::options().write(true).open("/dev/full").unwrap();
        let mut sink = Sink::new(None, file, Path::new("/dev/full"), 100);
        sink.take(b"0123456789");
        let facts = sink.facts();
        assert_eq!(
            (facts.total_bytes, facts.head_bytes, facts.tail_bytes),
            (10, 0, 10)
        );
        assert!(facts.error.is_some());
        assert_eq!(sink.tail_from(8, 100), (8, b"89".as_slice()));
    }
}
