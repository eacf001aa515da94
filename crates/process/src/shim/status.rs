//! The status file: what came of the command, written once and durably.

use crate::record::Outcome;
use crate::wire::{STATUS, UNFINISHED};
use rustix::fs::{FallocateFlags, Mode, OFlags};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;

/// More than a status takes, so that its room can be taken before it is known.
const ROOM: u64 = 4096;

/// A status that is not written yet but has its place on disk.
#[derive(Debug)]
pub(super) struct StatusFile {
    dir: OwnedFd,
    file: File,
}

impl StatusFile {
    /// Makes the file and takes the room.
    pub(super) fn reserve(dir: &OwnedFd) -> io::Result<Self> {
        // The claim's own handle only names the directory; this one can be synced.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::openat(dir, ".", flags, Mode::empty())?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&dir, UNFINISHED, flags, Mode::RUSR | Mode::WUSR)?;
        // Where the file system cannot promise room, there is none to promise.
        rustix::fs::fallocate(&file, FallocateFlags::KEEP_SIZE, 0, ROOM).ok();
        Ok(Self {
            dir,
            file: File::from(file),
        })
    }

    /// Writes it and returns when it would survive a loss of power.
    pub(super) fn write(mut self, outcome: &Outcome) -> io::Result<()> {
        let text = serde_json::to_vec(outcome)?;
        self.file.write_all(&text)?;
        self.file.sync_all()?;
        rustix::fs::renameat(&self.dir, UNFINISHED, &self.dir, STATUS)?;
        rustix::fs::fsync(&self.dir)?;
        Ok(())
    }
}
