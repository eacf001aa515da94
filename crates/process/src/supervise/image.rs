//! The program file that shims are made of.

use rustix::fs::{Mode, OFlags};
use rustix::process::{Resource, getrlimit};
use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

/// Our own program, held open from the start: when an upgrade replaces the file, shims are still of our version.
///
/// With it goes what else commands are to find as it was then: how many files this process might have open, so that a
/// host that asks for more afterwards asks for itself alone.
#[derive(Debug)]
pub struct Image {
    file: OwnedFd,
    open_files: Option<u64>,
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
        Ok(Self {
            file,
            open_files: getrlimit(Resource::Nofile).current,
        })
    }

    /// How many files a process might have open when this one was made; none for any number.
    pub(crate) const fn open_files(&self) -> Option<u64> {
        self.open_files
    }

    /// A path that leads to the file in a child of ours, until it executes something.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.file.as_raw_fd()))
    }
}
