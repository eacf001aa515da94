//! Every change to the filesystem, one step each.
//!
//! Each step names one directory entry relative to an open descriptor, so none follows a link. A hook is called before
//! each step: tests use it to stop, fail or disturb any step, and in production it does nothing.

use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, ResolveFlags, fchmod, fsync, mkdirat, openat2, renameat,
    renameat_with, unlinkat,
};
use rustix::io::{Errno, retry_on_intr};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt, fchown};

/// Bytes written in one step; few in tests, so that a small file takes several.
const CHUNK: usize = if cfg!(test) { 64 } else { 256 * 1024 };

/// Called before every step.
pub(super) trait Hook {
    /// Lets the step happen or makes it fail.
    fn pass(&self, step: &'static str) -> Result<(), Errno>;
}

/// Lets every step happen.
#[derive(Debug)]
pub(super) struct NoHook;

impl Hook for NoHook {
    fn pass(&self, _step: &'static str) -> Result<(), Errno> {
        Ok(())
    }
}

/// Opens one entry of a directory; a link is never followed.
pub(super) fn open(
    dir: impl AsFd,
    name: &str,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    retry_on_intr(|| openat2(&dir, name, flags, mode, resolve))
}

/// Opens a directory in a directory.
pub(super) fn open_dir(dir: impl AsFd, name: &str) -> Result<OwnedFd, Errno> {
    open(dir, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())
}

/// The operations that change files.
#[derive(Clone, Copy)]
pub(super) struct Disk<'a> {
    hook: &'a dyn Hook,
}

impl<'a> Disk<'a> {
    pub(super) fn new(hook: &'a dyn Hook) -> Self {
        Self { hook }
    }

    /// Creates a file; fails if the name is taken, even by a link.
    pub(super) fn create(self, dir: impl AsFd, name: &str, mode: Mode) -> Result<File, Errno> {
        self.hook.pass("create")?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        open(dir, name, flags, mode).map(File::from)
    }

    /// Appends bytes to a file.
    pub(super) fn write(self, file: &mut File, content: &[u8]) -> Result<(), Errno> {
        for chunk in content.chunks(CHUNK) {
            self.hook.pass("write")?;
            file.write_all(chunk).map_err(|error| number(&error))?;
        }
        Ok(())
    }

    /// Sets a new file's owner, as far as the system allows, and then its mode, because a change of owner clears setuid
    /// and setgid. These bits are only valid for one owner, so a file with another owner does not get them.
    pub(super) fn set_owner_and_mode(
        self,
        file: &File,
        owner: Option<(u32, u32)>,
        mode: u32,
    ) -> Result<(), Errno> {
        self.hook.pass("set_mode")?;
        let is = file.metadata().map_err(|error| number(&error))?;
        let mut mode = mode;
        if let Some(owner) = owner
            && let Err(errno) = self.change_owner(file, (is.uid(), is.gid()), owner)
        {
            if !keeps_own_owner(errno) {
                return Err(errno);
            }
            mode &= 0o1777;
        }
        fchmod(file, Mode::from_raw_mode(mode & 0o7777))
    }

    /// Changes the owner of a file from `is` to `owner`.
    fn change_owner(self, file: &File, is: (u32, u32), owner: (u32, u32)) -> Result<(), Errno> {
        self.hook.pass("change owner")?;
        if is == owner {
            return Ok(());
        }
        let (user, group) = owner;
        fchown(file, Some(user), Some(group)).map_err(|error| number(&error))
    }

    /// Overwrites bytes in the middle of a file.
    pub(super) fn overwrite(self, file: &File, place: u64, content: &[u8]) -> Result<(), Errno> {
        self.hook.pass("overwrite")?;
        file.write_all_at(content, place)
            .map_err(|error| number(&error))
    }

    /// Makes the changes of a file or a directory survive a power failure.
    pub(super) fn sync(self, file: impl AsFd) -> Result<(), Errno> {
        self.hook.pass("sync")?;
        fsync(file)
    }

    pub(super) fn make_dir(self, dir: impl AsFd, name: &str) -> Result<(), Errno> {
        self.hook.pass("make directory")?;
        mkdirat(dir, name, Mode::from_raw_mode(0o777))
    }

    /// Swaps two entries atomically.
    pub(super) fn exchange(self, dir: impl AsFd, one: &str, other: &str) -> Result<(), Errno> {
        self.hook.pass("exchange")?;
        renameat_with(&dir, one, &dir, other, RenameFlags::EXCHANGE)
    }

    /// Renames to a name that must be free.
    pub(super) fn rename_new(self, dir: impl AsFd, from: &str, to: &str) -> Result<(), Errno> {
        self.hook.pass("rename to a new name")?;
        renameat_with(&dir, from, &dir, to, RenameFlags::NOREPLACE)
    }

    /// Renames and replaces an existing entry.
    pub(super) fn rename_over(self, dir: impl AsFd, from: &str, to: &str) -> Result<(), Errno> {
        self.hook.pass("rename")?;
        renameat(&dir, from, &dir, to)
    }

    /// Removes a file or a link; idempotent.
    pub(super) fn remove(self, dir: impl AsFd, name: &str) -> Result<(), Errno> {
        self.hook.pass("remove")?;
        match unlinkat(dir, name, AtFlags::empty()) {
            Err(Errno::NOENT) | Ok(()) => Ok(()),
            Err(other) => Err(other),
        }
    }

    pub(super) fn remove_dir(self, dir: impl AsFd, name: &str) -> Result<(), Errno> {
        self.hook.pass("remove directory")?;
        unlinkat(dir, name, AtFlags::REMOVEDIR)
    }
}

/// Returns true if a refusal to change an owner only means that the new file belongs to this process, as with any
/// editor: only root may change owners, and in a user namespace an unmapped owner cannot be set at all.
fn keeps_own_owner(errno: Errno) -> bool {
    [Errno::PERM, Errno::ACCESS, Errno::INVAL].contains(&errno)
}

/// Returns the error number of a standard library error.
pub(super) fn number(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
