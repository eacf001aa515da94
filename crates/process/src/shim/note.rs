//! The note of who a shim and its command are, by which a host finds what a shim that was killed left behind.
//!
//! The shim writes the lines about itself before there is a command, and the command the lines about itself before it
//! runs anything, so that there is no moment at which a command could kill its shim unnoted.

use crate::table;
use crate::wire::BORN;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;

/// More than a note is long.
const NOTE_BYTES: usize = 4096;

/// A note that the command has to finish.
#[derive(Debug)]
pub(super) struct Note {
    file: File,
}

impl Note {
    /// Begins the note.
    pub(super) fn begin(dir: &OwnedFd) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(dir, BORN, flags, Mode::RUSR | Mode::WUSR)?;
        let realm = table::realm().ok_or(io::ErrorKind::NotFound)?;
        let us = std::fs::read_to_string("/proc/self/stat")?;
        let mut file = File::from(file);
        write!(file, "{realm}\n{us}")?;
        Ok(Self { file })
    }

    /// A handle for the command to go on with.
    pub(super) fn handle(&self) -> Option<OwnedFd> {
        Some(self.file.try_clone().ok()?.into())
    }

    /// The whole of it, once the command runs.
    pub(super) fn text(&self) -> Option<String> {
        let mut text = vec![0; NOTE_BYTES];
        let read = self.file.read_at(&mut text, 0).ok()?;
        text.truncate(read);
        String::from_utf8(text).ok()
    }
}
