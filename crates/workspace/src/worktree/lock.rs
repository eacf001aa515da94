//! Exclusive use of one managed worktree while it is made or removed.
//!
//! The lock is `<name>.lock` beside the record. Every git of the runtime that works on the worktree inherits the locked
//! file as its standard input, so the lock is held until the last of them has ended, also after the host was killed. The
//! next host waits for it before it touches what such a git may still be writing.

use crate::git::{GitError, at};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

const EXTENSION: &str = "lock";
/// Interval of the looks at a lock that is held.
const LOOK_PAUSE: Duration = Duration::from_millis(10);

/// The lock of a worktree, held by this process and by every git that was started with it.
#[derive(Debug)]
pub(super) struct WorktreeLock {
    file: Arc<File>,
    path: PathBuf,
}

impl WorktreeLock {
    /// Takes the lock of a worktree, and waits at most `patience` for it.
    ///
    /// # Errors
    /// The lock is still held, or its file cannot be opened.
    pub(super) fn take(worktree: &Path, patience: Duration) -> Result<Self, GitError> {
        let path = worktree.with_extension(EXTENSION);
        let deadline = Instant::now() + patience;
        // Empty for ever; it serves as the pause between two looks.
        let (_sender, empty) = mpsc::channel::<()>();
        loop {
            if let Some(file) = try_take(&path).map_err(at("lock", &path))? {
                return Ok(Self {
                    file: Arc::new(file),
                    path,
                });
            }
            if Instant::now() >= deadline {
                return Err(GitError::InUse {
                    path: worktree.to_owned(),
                });
            }
            // Ends with the time and never with a message.
            empty.recv_timeout(LOOK_PAUSE).unwrap_or_default();
        }
    }

    /// Returns the locked file, for the git processes that are to hold it.
    pub(super) fn file(&self) -> Arc<File> {
        Arc::clone(&self.file)
    }

    /// Removes the file of the lock with the record of its worktree. A process that waits for it then makes a new one.
    pub(super) fn forget(self) -> Result<(), GitError> {
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(at("remove", &self.path)(error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// Takes a lock once; `None` if it is held, or its file was removed meanwhile.
fn try_take(path: &Path) -> io::Result<Option<File>> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK | Errno::INTR) => return Ok(None),
        Err(errno) => return Err(errno.into()),
    }
    let (locked, named) = (file.metadata()?, fs::symlink_metadata(path));
    let is_same =
        named.is_ok_and(|named| (named.dev(), named.ino()) == (locked.dev(), locked.ino()));
    Ok(is_same.then_some(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_that_inherited_the_lock_holds_it_after_its_parent_let_go() {
        let dir = tempfile::tempdir().unwrap();
        let worktree = dir.path().join("fix-1");
        let lock = WorktreeLock::take(&worktree, Duration::ZERO).unwrap();
        let stdin = Stdio::from(lock.file().try_clone().unwrap());
        // Its input stays the locked file; it ends when its second pipe does.
        let mut holder = Command::new("/bin/sh")
            .args(["-c", "echo up; read line <&2"])
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::from(pipe_end(dir.path())))
            .spawn()
            .unwrap();
        drop(lock);
        let refused = WorktreeLock::take(&worktree, Duration::from_millis(50));
        assert!(
            matches!(refused, Err(GitError::InUse { .. })),
            "{refused:?}"
        );
        holder.kill().unwrap();
        holder.wait().unwrap();
        WorktreeLock::take(&worktree, Duration::from_secs(30)).unwrap();
    }

    /// Opens a pipe for both ends, so that a read of it waits.
    fn pipe_end(dir: &Path) -> File {
        let path = dir.join("pipe");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, 0).unwrap();
        OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .unwrap()
    }

    #[test]
    fn a_lock_that_was_removed_with_its_worktree_is_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let worktree = dir.path().join("fix-1");
        let first = WorktreeLock::take(&worktree, Duration::ZERO).unwrap();
        first.forget().unwrap();
        let second = WorktreeLock::take(&worktree, Duration::ZERO).unwrap();
        assert!(second.path.exists());
    }
}
