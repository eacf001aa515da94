//! The executable file that shims are started from.

use rustix::fs::{Mode, OFlags};
use rustix::process::{Resource, getrlimit};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

/// The program of this process, held open from the start: after an upgrade replaces the file, shims still have the
/// version of their host.
///
/// It also holds the soft limit of open files at that time, so that a host can raise its own limit later without
/// raising that of its commands.
#[derive(Debug)]
pub struct Image {
    file: OwnedFd,
    open_files: Option<u64>,
}

impl Image {
    /// Opens the program of this process.
    ///
    /// # Errors
    /// Fails if the system does not allow it.
    pub fn open() -> io::Result<Self> {
        Self::of(Path::new("/proc/self/exe"))
    }

    /// Opens another program that calls [`shim_main`](crate::shim_main).
    ///
    /// # Errors
    /// Fails if it cannot be opened.
    pub fn of(program: &Path) -> io::Result<Self> {
        let file = rustix::fs::open(program, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self {
            file,
            open_files: getrlimit(Resource::Nofile).current,
        })
    }

    /// Soft limit of open files when this was opened; `None` if unlimited.
    pub(crate) const fn open_files(&self) -> Option<u64> {
        self.open_files
    }

    /// Path of the file for a child process, valid until the child executes a program.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }
}
