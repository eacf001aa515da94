//! Reads the end of a host's log, and what is added to it.

use crate::log_file::numbered;
use holon_domain::limits::DAEMON_LOG_FILES;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Bytes at the end of a log that are searched for its last lines.
const TAIL_BYTES: u64 = 1 << 20;
/// Bytes that are read in one step of following.
const STEP_BYTES: u64 = 256 << 10;

/// Returns the last lines of a log, oldest first, also those in files that were rotated away. A log that does not exist
/// has none. Of each file the last megabyte is searched.
///
/// # Errors
/// Fails if it cannot be read.
pub fn log_tail(path: &Path, lines: usize) -> io::Result<Vec<String>> {
    let mut found = file_tail(path, lines)?;
    // Right after a rotation the newest file holds few lines, and the ones before it are in the older files.
    for older in 1..=DAEMON_LOG_FILES {
        let missing = lines.saturating_sub(found.len());
        if missing == 0 {
            break;
        }
        let mut before = file_tail(&numbered(path, older), missing)?;
        before.append(&mut found);
        found = before;
    }
    Ok(found)
}

fn file_tail(path: &Path, lines: usize) -> io::Result<Vec<String>> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened?,
    };
    let len = file.metadata()?.len();
    let from = len.saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    // The first line may be the end of one.
    let skipped = usize::from(from > 0);
    let all: Vec<&str> = text.lines().skip(skipped).collect();
    let first = all.len().saturating_sub(lines);
    Ok(all
        .iter()
        .skip(first)
        .map(|line| (*line).to_owned())
        .collect())
}

/// Follows a log over its rotations.
#[derive(Debug)]
pub struct LogFollower {
    path: PathBuf,
    /// The file that is read, with its inode number; absent while there is none.
    file: Option<(File, u64)>,
    /// Beginning of a line whose end is not there yet.
    partial: Vec<u8>,
}

impl LogFollower {
    /// Follows a log from its present end on.
    ///
    /// # Errors
    /// Fails if it cannot be read.
    pub fn at_end(path: PathBuf) -> io::Result<Self> {
        let mut follower = Self {
            file: open(&path)?,
            path,
            partial: Vec::new(),
        };
        if let Some((file, _)) = &mut follower.file {
            file.seek(SeekFrom::End(0))?;
        }
        Ok(follower)
    }

    /// Returns the whole lines that were added since the last call, also to a file that was rotated away meanwhile.
    ///
    /// # Errors
    /// Fails if the log cannot be read.
    pub fn read(&mut self) -> io::Result<Vec<String>> {
        let mut lines = Vec::new();
        loop {
            let Some((file, inode)) = &mut self.file else {
                self.file = open(&self.path)?;
                if self.file.is_none() {
                    return Ok(lines);
                }
                continue;
            };
            let before = self.partial.len();
            file.take(STEP_BYTES).read_to_end(&mut self.partial)?;
            if self.partial.len() > before {
                take_lines(&mut self.partial, &mut lines);
                continue;
            }
            // Everything was read. If the path names another file now, that one is next.
            let inode = *inode;
            match std::fs::metadata(&self.path) {
                Ok(now) if now.ino() != inode => self.file = None,
                Ok(_) | Err(_) => return Ok(lines),
            }
        }
    }
}

fn open(path: &Path) -> io::Result<Option<(File, u64)>> {
    match File::open(path) {
        Ok(file) => {
            let inode = file.metadata()?.ino();
            Ok(Some((file, inode)))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Moves the whole lines from the front of a buffer.
fn take_lines(buffer: &mut Vec<u8>, lines: &mut Vec<String>) {
    while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
        let line: Vec<u8> = buffer.drain(..=end).collect();
        let line = String::from_utf8_lossy(&line);
        lines.push(line.trim_end_matches('\n').to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn the_lines_before_a_rotation_are_shown_too() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("daemon.log");
        for (name, text) in [
            ("daemon.log.2", "one\ntwo\n"),
            ("daemon.log.1", "three\n"),
            ("daemon.log", "four\n"),
        ] {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        assert_eq!(log_tail(&path, 1).unwrap(), ["four"]);
        assert_eq!(log_tail(&path, 3).unwrap(), ["two", "three", "four"]);
        assert_eq!(log_tail(&path, 9).unwrap().len(), 4);
    }

    #[test]
    fn the_last_lines_are_returned_and_a_missing_log_has_none() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        assert!(log_tail(&path, 5).unwrap().is_empty());
        std::fs::write(&path, "1\n2\n3\n").unwrap();
        assert_eq!(log_tail(&path, 2).unwrap(), ["2", "3"]);
        assert_eq!(log_tail(&path, 9).unwrap().len(), 3);
        assert!(log_tail(&path, 0).unwrap().is_empty());
        let long = "x".repeat(usize::try_from(TAIL_BYTES).unwrap());
        std::fs::write(&path, format!("{long}\nlast\n")).unwrap();
        assert_eq!(
            log_tail(&path, 9).unwrap(),
            ["last"],
            "a bounded part is read"
        );
    }

    #[test]
    fn a_log_is_followed_over_a_rotation_and_by_whole_lines() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut follower = LogFollower::at_end(path.clone()).unwrap();
        assert!(follower.read().unwrap().is_empty(), "there is no log yet");
        let mut file = File::create(&path).unwrap();
        write!(file, "one\ntw").unwrap();
        assert_eq!(follower.read().unwrap(), ["one"]);
        writeln!(file, "o").unwrap();
        std::fs::rename(&path, dir.path().join("log.1")).unwrap();
        writeln!(file, "three").unwrap();
        std::fs::write(&path, "four\n").unwrap();
        assert_eq!(follower.read().unwrap(), ["two", "three", "four"]);
        assert!(follower.read().unwrap().is_empty());
        let mut again = LogFollower::at_end(path).unwrap();
        assert!(
            again.read().unwrap().is_empty(),
            "what is there is not repeated"
        );
    }
}
