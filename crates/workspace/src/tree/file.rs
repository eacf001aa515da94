//! Reads one entry of an open directory: regular files only, links never followed, bounded.

use super::disk::{number, open};
use super::error::{TreeError, at};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, statat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;

/// Digest, length and permissions by which a file is recognised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Image {
    sha256: String,
    length: u64,
    /// Permissions; `None` for a new file with the system's defaults.
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

/// Content and metadata of a regular file.
pub(super) struct RegularFile {
    pub(super) content: Vec<u8>,
    pub(super) stat: Stat,
}

/// Reason why an entry could not be read.
pub(super) enum ReadFailure {
    NotAFile(&'static str),
    TooLarge,
    Errno(Errno),
}

impl ReadFailure {
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

/// Returns the read, write and execute bits of a file, without setuid, setgid and sticky.
pub(super) fn permissions(stat: &Stat) -> u32 {
    stat.st_mode & 0o777
}

/// Returns the setuid, setgid and sticky bits of a file.
pub(super) fn special(stat: &Stat) -> u32 {
    stat.st_mode & 0o7000
}

/// Reads the regular file with this name; `None` if there is no entry.
pub(super) fn read(
    dir: impl AsFd,
    name: &str,
    max_bytes: u64,
) -> Result<Option<RegularFile>, ReadFailure> {
    let Some((file, stat)) = open_regular(dir, name, max_bytes)? else {
        return Ok(None);
    };
    let mut content = Vec::new();
    // The file may grow while it is read, so the bound is enforced here too.
    file.take(max_bytes.saturating_add(1))
        .read_to_end(&mut content)
        .map_err(|error| ReadFailure::Errno(number(&error)))?;
    if u64::try_from(content.len()).unwrap_or(u64::MAX) > max_bytes {
        return Err(ReadFailure::TooLarge);
    }
    Ok(Some(RegularFile { content, stat }))
}

/// Opens the regular file with this name, unless it is too large; `None` if there is no entry.
pub(super) fn open_regular(
    dir: impl AsFd,
    name: &str,
    max_bytes: u64,
) -> Result<Option<(File, Stat)>, ReadFailure> {
    // Checked before opening, because opening a device can have side effects.
    let before = match statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(None),
        Err(errno) => return Err(ReadFailure::Errno(errno)),
    };
    regular(&before)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let fd = match open(&dir, name, flags, Mode::empty()) {
        Ok(fd) => fd,
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP) => return Err(ReadFailure::NotAFile("symbolic link")),
        Err(errno) => return Err(ReadFailure::Errno(errno)),
    };
    let stat = fstat(&fd).map_err(ReadFailure::Errno)?;
    regular(&stat)?;
    if u64::try_from(stat.st_size).unwrap_or(u64::MAX) > max_bytes {
        return Err(ReadFailure::TooLarge);
    }
    Ok(Some((File::from(fd), stat)))
}

fn regular(stat: &Stat) -> Result<(), ReadFailure> {
    let found = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => "directory",
        FileType::Symlink => "symbolic link",
        FileType::Fifo => "pipe",
        FileType::Socket => "socket",
        FileType::CharacterDevice | FileType::BlockDevice => "device",
        FileType::Unknown => "special file",
    };
    Err(ReadFailure::NotAFile(found))
}

/// State of an entry, compared with the two images of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryState {
    Absent,
    /// The file before the change.
    Before,
    /// The file after the change.
    After,
    /// Anything else: written by another program.
    Other,
}

/// Compares an entry with the two images of a change. Never reads more than the longer of them.
pub(super) fn compare_entry(
    dir: impl AsFd,
    name: &str,
    before: Option<&Image>,
    after: Option<&Image>,
) -> Result<EntryState, Errno> {
    let longest = before
        .into_iter()
        .chain(after)
        .map(|image| image.length)
        .max();
    let found = match read(dir, name, longest.unwrap_or(0)) {
        Ok(None) => return Ok(EntryState::Absent),
        Ok(Some(found)) => Image::of(&found.content, Some(permissions(&found.stat))),
        // An unreadable file is not ours, because both images could be read.
        Err(
            ReadFailure::NotAFile(_)
            | ReadFailure::TooLarge
            | ReadFailure::Errno(Errno::ACCESS | Errno::PERM),
        ) => {
            return Ok(EntryState::Other);
        }
        Err(ReadFailure::Errno(errno)) => return Err(errno),
    };
    if before.is_some_and(|image| image.is(&found)) {
        Ok(EntryState::Before)
    } else if after.is_some_and(|image| image.is(&found)) {
        Ok(EntryState::After)
    } else {
        Ok(EntryState::Other)
    }
}
