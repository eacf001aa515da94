//! Writes the birth record of a shim and its command, by which a host finds the processes that a killed shim left.
//!
//! The shim writes the lines about itself before there is a command, and the child writes its own lines before it
//! executes anything, so that there is no moment at which a command could kill its shim unrecorded.

use crate::table;
use crate::wire::BORN;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt as _;

/// Longer than any birth record.
const RECORD_BYTES: usize = 4096;

/// A birth record to which the child process has to add its lines.
#[derive(Debug)]
pub(super) struct BirthRecordWriter {
    file: File,
}

impl BirthRecordWriter {
    /// Creates the record and writes the lines about the shim.
    pub(super) fn create(dir: &OwnedFd) -> io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::openat(dir, BORN, flags, Mode::RUSR | Mode::WUSR)?;
        let scope = table::pid_scope().ok_or(io::ErrorKind::NotFound)?;
        let shim = std::fs::read_to_string("/proc/self/stat")?;
        let mut file = File::from(file);
        write!(file, "{scope}\n{shim}")?;
        Ok(Self { file })
    }

    /// Returns a descriptor for the child to write to.
    pub(super) fn handle(&self) -> Option<OwnedFd> {
        Some(self.file.try_clone().ok()?.into())
    }

    /// Reads the whole record, once the command runs.
    pub(super) fn text(&self) -> Option<String> {
        let mut text = vec![0; RECORD_BYTES];
        let read = self.file.read_at(&mut text, 0).ok()?;
        text.truncate(read);
        String::from_utf8(text).ok()
    }
}
