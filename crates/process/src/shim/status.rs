//! Writes the status file: the outcome of the command, written once and synced to disk.

use crate::record::Outcome;
use crate::wire::{STATUS, UNFINISHED};
use rustix::fs::{FallocateFlags, Mode, OFlags};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;

/// Larger than any status, so that its space can be reserved in advance.
const STATUS_BYTES: u64 = 4096;

/// A status file that has its space reserved and is not written yet.
#[derive(Debug)]
pub(super) struct StatusFile {
    dir: OwnedFd,
    file: File,
}

impl StatusFile {
    /// Creates the file and reserves its space.
    pub(super) fn reserve(dir: &OwnedFd) -> io::Result<Self> {
        // The claim's own handle is `O_PATH`; this one can be synced.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::openat(dir, ".", flags, Mode::empty())?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&dir, UNFINISHED, flags, Mode::RUSR | Mode::WUSR)?;
        // Fails on file systems that cannot reserve space.
        rustix::fs::fallocate(&file, FallocateFlags::KEEP_SIZE, 0, STATUS_BYTES).ok();
        Ok(Self {
            dir,
            file: File::from(file),
        })
    }

    /// Writes the status and returns when it is on disk.
    pub(super) fn write(mut self, outcome: &Outcome) -> io::Result<()> {
        let text = serde_json::to_vec(outcome)?;
        self.file.write_all(&text)?;
        self.file.sync_all()?;
        rustix::fs::renameat(&self.dir, UNFINISHED, &self.dir, STATUS)?;
        rustix::fs::fsync(&self.dir)?;
        Ok(())
    }
}
