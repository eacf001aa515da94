//! Reading one entry of a held directory: regular files only, links never followed, bounded.

use super::disk::{number, open};
use super::error::{TreeError, at};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, statat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;

/// What a file is known by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Image {
    sha256: String,
    length: u64,
    /// Permissions; `None` for a new file that takes what the system gives.
    mode: Option<u32>,
}

impl Image {
    pub(super) fn of(content: &[u8], mode: Option<u32>) -> Self {
        let digest = Sha256::digest(content);
        Self {
            sha256: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            length: u64::try_from(content.len()).unwrap_or(u64::MAX),
            mode,
        }
    }

    fn is(&self, found: &Self) -> bool {
        self.sha256 == found.sha256
            && self.length == found.length
            && (self.mode.is_none() || self.mode == found.mode)
    }
}

/// A regular file, read.
pub(super) struct Regular {
    pub(super) content: Vec<u8>,
    pub(super) stat: Stat,
}

/// Why an entry could not be read.
pub(super) enum Unread {
    NotAFile(&'static str),
    TooLarge,
    Errno(Errno),
}

impl Unread {
    pub(super) fn on(self, path: &str, max_bytes: u64) -> TreeError {
        let path_owned = path.to_owned();
        match self {
            Self::NotAFile(found) => TreeError::NotAFile {
                path: path_owned,
                found,
            },
            Self::TooLarge => TreeError::TooLarge {
                path: path_owned,
                max_bytes,
            },
            Self::Errno(errno) => at("read", path)(errno),
        }
    }
}

/// Permissions of a file: read, write, execute, and nothing of setuid and its kin.
pub(super) fn permissions(stat: &Stat) -> u32 {
    stat.st_mode & 0o777
}

/// Setuid, setgid and sticky bits of a file.
pub(super) fn special(stat: &Stat) -> u32 {
    stat.st_mode & 0o7000
}

/// The regular file with this name; `None` when there is nothing.
pub(super) fn read(dir: impl AsFd, name: &str, max_bytes: u64) -> Result<Option<Regular>, Unread> {
    // Looked at before it is opened: opening a device can have effects of its own.
    let before = match statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(Unread::Errno(errno)),
    };
    regular(&before)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let fd = match open(&dir, name, flags, Mode::empty()) {
        Ok(fd) => fd,
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP) => return Err(Unread::NotAFile("symbolic link")),
        Err(errno) => return Err(Unread::Errno(errno)),
    };
    let stat = fstat(&fd).map_err(Unread::Errno)?;
    regular(&stat)?;
    if u64::try_from(stat.st_size).unwrap_or(u64::MAX) > max_bytes {
        return Err(Unread::TooLarge);
    }
    let mut content = Vec::new();
    // It may grow while it is read, so the bound is kept here too.
    File::from(fd)
        .take(max_bytes.saturating_add(1))
        .read_to_end(&mut content)
        .map_err(|error| Unread::Errno(number(&error)))?;
    if u64::try_from(content.len()).unwrap_or(u64::MAX) > max_bytes {
        return Err(Unread::TooLarge);
    }
    Ok(Some(Regular { content, stat }))
}

fn regular(stat: &Stat) -> Result<(), Unread> {
    let found = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => "directory",
        FileType::Symlink => "symbolic link",
        FileType::Fifo => "pipe",
        FileType::Socket => "socket",
        FileType::CharacterDevice | FileType::BlockDevice => "device",
        FileType::Unknown => "special file",
    };
    Err(Unread::NotAFile(found))
}

/// What stands at a name, seen against what a change knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// Nothing.
    Absent,
    /// The file as it was before the change.
    Before,
    /// The file as it is to be after the change.
    After,
    /// Anything else: somebody else's.
    Other,
}

/// Compares what stands at a name with the two images of a change. Never reads more than the longer of them.
pub(super) fn see(
    dir: impl AsFd,
    name: &str,
    before: Option<&Image>,
    after: Option<&Image>,
) -> Result<Seen, Errno> {
    let longest = before
        .into_iter()
        .chain(after)
        .map(|image| image.length)
        .max();
    let found = match read(dir, name, longest.unwrap_or(0)) {
        Ok(None) => return Ok(Seen::Absent),
        Ok(Some(found)) => Image::of(&found.content, Some(permissions(&found.stat))),
        // What may not be read is not ours: we could read both images.
        Err(
            Unread::NotAFile(_) | Unread::TooLarge | Unread::Errno(Errno::ACCESS | Errno::PERM),
        ) => {
            return Ok(Seen::Other);
        }
        Err(Unread::Errno(errno)) => return Err(errno),
    };
    if before.is_some_and(|image| image.is(&found)) {
        Ok(Seen::Before)
    } else if after.is_some_and(|image| image.is(&found)) {
        Ok(Seen::After)
    } else {
        Ok(Seen::Other)
    }
}
