//! The export of an agent's episodes, `.holon/ledger/context_episodes.jsonl` in its home: one line of JSON for each.
//!
//! The export is disposable. It is only ever a prefix of what the store holds: lines are added at the end, an incomplete
//! line of a crash is cut off before the next one, and a file that is begun anew replaces the old one by a rename. The
//! home belongs to the agent, so no link is followed and only a regular file is written.

use crate::plain_file::{PlainFile, ReadFailure};
use holon_domain::EpisodeId;
use holon_domain::memory::EpisodeSeq;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, fstat, ftruncate, mkdirat, openat, renameat, unlinkat,
};
use rustix::io::{Errno, retry_on_intr};
use serde::Deserialize;
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

/// Directories from the home to the export.
const FOLDERS: [&str; 2] = [".holon", "ledger"];
const NAME: &str = "context_episodes.jsonl";
/// Name under which a file that is begun anew is written.
const UNFINISHED: &str = "context_episodes.jsonl.new";
/// Bytes at the end of the file that are searched for the last line. No episode is nearly as long.
const TAIL_BYTES: u64 = 128 << 10;

/// The last complete line of an export.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ExportedEpisode {
    pub seq: EpisodeSeq,
    pub id: EpisodeId,
}

/// Reads which episode an export ends with. `None` if there is no export, or none that can be continued.
#[must_use]
pub fn newest_exported_episode(agent_home: &Path) -> Option<ExportedEpisode> {
    let folder = folder(agent_home, false).ok()??;
    let file = PlainFile::open_at(&folder, NAME).ok()??;
    let tail = Tail::read(&file).ok()?;
    serde_json::from_str(tail.last_line()?).ok()
}

/// Adds lines to the export, or begins it anew with them. Lines have no line break.
///
/// # Errors
/// When the home is gone, something else is in the place of the file or a folder, or the disk fails.
pub fn export_episodes(agent_home: &Path, lines: &[String], restarts: bool) -> io::Result<()> {
    let folder = folder(agent_home, true)?.ok_or(io::ErrorKind::NotFound)?;
    let mut text = lines.join("\n");
    if !text.is_empty() {
        text.push('\n');
    }
    if restarts {
        return replace(&folder, &text);
    }
    let found = PlainFile::open_at(&folder, NAME).map_err(io::Error::other)?;
    let tail = found.map(|found| Tail::read(&found)).transpose();
    let complete = match tail.map_err(io::Error::other)? {
        Some(tail) => tail.complete_bytes(),
        None => 0,
    };
    let mut file = open(&folder, NAME)?;
    ftruncate(&file, complete)?;
    file.seek(SeekFrom::Start(complete))?;
    file.write_all(text.as_bytes())?;
    file.sync_data()
}

fn replace(folder: &OwnedFd, text: &str) -> io::Result<()> {
    match unlinkat(folder, UNFINISHED, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    let mut file = open(folder, UNFINISHED)?;
    file.write_all(text.as_bytes())?;
    file.sync_data()?;
    Ok(renameat(folder, UNFINISHED, folder, NAME)?)
}

fn open(folder: &OwnedFd, name: &str) -> io::Result<File> {
    let flags =
        OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = retry_on_intr(|| openat(folder, name, flags, Mode::RUSR | Mode::WUSR));
    let file = File::from(opened?);
    match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(file),
        _ => Err(io::Error::other(ReadFailure::NotRegularFile)),
    }
}

/// Opens the folder of the export, made if asked for; `None` if it is absent.
fn folder(agent_home: &Path, makes: bool) -> io::Result<Option<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut dir = match File::open(agent_home) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => OwnedFd::from(opened?),
    };
    for name in FOLDERS {
        if makes {
            match mkdirat(&dir, name, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        dir = match retry_on_intr(|| openat(&dir, name, flags, Mode::empty())) {
            Err(Errno::NOENT) => return Ok(None),
            opened => opened?,
        };
    }
    Ok(Some(dir))
}

/// The end of a file.
struct Tail {
    /// Position in the file at which it begins.
    start: u64,
    bytes: Vec<u8>,
}

impl Tail {
    fn read(file: &PlainFile) -> Result<Self, ReadFailure> {
        let (start, bytes) = file.read_tail(TAIL_BYTES)?;
        Ok(Self { start, bytes })
    }

    /// Returns the length of the file without an incomplete last line.
    fn complete_bytes(&self) -> u64 {
        let end = self.bytes.iter().rposition(|byte| *byte == b'\n');
        self.start + end.map_or(0, |end| end as u64 + 1)
    }

    fn last_line(&self) -> Option<&str> {
        let end = self.bytes.iter().rposition(|byte| *byte == b'\n')?;
        let complete = self.bytes.get(..end)?;
        let start = complete.iter().rposition(|byte| *byte == b'\n');
        let line = complete.get(start.map_or(0, |start| start + 1)..)?;
        std::str::from_utf8(line).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn line(seq: u64) -> String {
        format!(r#"{{"id":"ep_{seq}","seq":{seq},"summary":"did it"}}"#)
    }

    fn newest(home: &Path) -> Option<u64> {
        newest_exported_episode(home).map(|episode| episode.seq)
    }

    fn text(home: &Path) -> String {
        fs::read_to_string(home.join(".holon/ledger").join(NAME)).unwrap()
    }

    #[test]
    fn lines_are_added_behind_the_last_complete_one() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path();
        assert_eq!(newest(home), None);
        export_episodes(home, &[line(1), line(2)], true).unwrap();
        assert_eq!(newest(home), Some(2));
        let path = home.join(".holon/ledger").join(NAME);
        // A crash left a part of the next line.
        let part = line(3).chars().take(9).collect::<String>();
        let torn = format!("{}{part}", text(home));
        fs::write(&path, torn).unwrap();
        assert_eq!(newest(home), Some(2));
        export_episodes(home, &[line(3)], false).unwrap();
        assert_eq!(
            text(home),
            format!("{}\n{}\n{}\n", line(1), line(2), line(3))
        );
        assert_eq!(newest(home), Some(3));
    }

    #[test]
    fn an_export_that_is_begun_anew_replaces_the_old_one() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path();
        export_episodes(home, &[line(1), line(2)], true).unwrap();
        fs::write(
            home.join(".holon/ledger").join(UNFINISHED),
            "left by a crash",
        )
        .unwrap();
        export_episodes(home, &[line(7)], true).unwrap();
        assert_eq!(text(home), format!("{}\n", line(7)));
        assert!(!home.join(".holon/ledger").join(UNFINISHED).exists());
        export_episodes(home, &[], true).unwrap();
        assert_eq!(text(home), "");
        assert_eq!(newest(home), None);
    }

    #[test]
    fn something_else_in_the_place_of_the_export_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        let outside = dir.path().join("outside");
        fs::create_dir_all(home.join(".holon")).unwrap();
        fs::create_dir(&outside).unwrap();
        symlink(&outside, home.join(".holon/ledger")).unwrap();
        assert!(export_episodes(&home, &[line(1)], true).is_err());
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        fs::remove_file(home.join(".holon/ledger")).unwrap();
        fs::create_dir(home.join(".holon/ledger")).unwrap();
        let victim = outside.join("victim");
        fs::write(&victim, "kept").unwrap();
        symlink(&victim, home.join(".holon/ledger").join(NAME)).unwrap();
        assert!(export_episodes(&home, &[line(1)], false).is_err());
        assert_eq!(newest(&home), None);
        assert_eq!(fs::read_to_string(&victim).unwrap(), "kept");
        let gone = dir.path().join("gone");
        assert!(export_episodes(&gone, &[line(1)], true).is_err());
        assert!(!gone.exists());
    }
}
