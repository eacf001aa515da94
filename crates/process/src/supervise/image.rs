//! The program file that shims are made of.

use rustix::fs::{Mode, OFlags};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

/// Our own program, held open from the start: when an upgrade replaces the file, shims are still of our version.
#[derive(Debug)]
pub struct Image {
    file: OwnedFd,
}

impl Image {
    /// The program of this process.
    ///
    /// # Errors
    /// When the system does not let us open it.
    pub fn open() -> io::Result<Self> {
        Self::of(Path::new("/proc/self/exe"))
    }

    /// Another program that calls [`shim_main`](crate::shim_main).
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn of(program: &Path) -> io::Result<Self> {
        let file = rustix::fs::open(program, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { file })
    }

    /// A path that leads to the file in a child of ours, until it executes something.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }
}
