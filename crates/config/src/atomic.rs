//! Replacing a file so that a reader, and whoever comes back after a crash, sees the old one or the new one whole;
//! and the lock that keeps two changes of a home's settings apart.

use rustix::fs::{FlockOperation, Mode, OFlags};
use std::fs::{File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The file whose lock is held while settings or credentials change.
const LOCK: &str = ".settings.lock";

/// Held while a change of a home's settings or credentials is made; given back when dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

/// Waits until nobody else changes the settings of this home, and makes the home if there is none.
pub(crate) fn lock(home: &Path) -> std::io::Result<Lock> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(home)?;
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = rustix::fs::open(home.join(LOCK), flags, Mode::RUSR | Mode::WUSR)?;
    rustix::fs::flock(&file, FlockOperation::LockExclusive)?;
    Ok(Lock {
        _file: File::from(file),
    })
}

/// Puts `content` in the place of the file at `path`, durably, with these permission bits.
pub(crate) fn replace(path: &Path, content: &[u8], mode: u32) -> std::io::Result<()> {
    let beside = beside(path)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let written = rustix::fs::open(&beside, flags, Mode::RUSR | Mode::WUSR)
        .map_err(std::io::Error::from)
        .and_then(|fd| {
            let mut file = File::from(fd);
            file.write_all(content)?;
            file.set_permissions(Permissions::from_mode(mode))?;
            file.sync_all()
        })
        .and_then(|()| std::fs::rename(&beside, path))
        .and_then(|()| match path.parent() {
            Some(dir) => File::open(dir)?.sync_all(),
            None => Ok(()),
        });
    if written.is_err() {
        // Best effort: what is left behind is an unused file only this user can read.
        drop(std::fs::remove_file(&beside));
    }
    written
}

/// A name beside `path` that nobody else has.
fn beside(path: &Path) -> std::io::Result<PathBuf> {
    let mut bytes = [0_u8; 8];
    getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
    let tag: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Ok(path.with_file_name(format!(".{name}.{tag}.new")))
}
