//! The log file of a host in the background. It is rotated by size, so that it cannot fill the disk.
//!
//! `daemon.log` is the newest; `daemon.log.1` is the one before it, and so on. Standard error follows the newest file,
//! so that the report of a panic is in it too.

use crate::error::Error;
use holon_domain::limits::{DAEMON_LOG_BYTES, DAEMON_LOG_FILES};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Returns the path of a home's log.
#[must_use]
pub fn log_path(home: &Path) -> PathBuf {
    home.join("run").join("daemon.log")
}

/// Opens the log of a home for a process that is about to be started.
///
/// # Errors
/// Fails if the file cannot be created or written.
pub fn open_log(path: &Path) -> Result<File, Error> {
    open(path).map_err(|source| Error::File {
        path: path.to_owned(),
        source,
    })
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).open(path)
}

/// Points standard error at a file.
fn follow_with_stderr(file: &File) -> io::Result<()> {
    Ok(rustix::stdio::dup2_stderr(file)?)
}

/// A log that is rotated by size.
#[derive(Debug)]
pub(crate) struct RotatingLog {
    path: PathBuf,
    file: File,
    /// Bytes in the newest file.
    written: u64,
    /// Bytes from which on a new file is begun.
    limit: u64,
    /// Number of older files that are kept.
    kept: usize,
    /// Called with every file that becomes the newest.
    follow: fn(&File) -> io::Result<()>,
}

impl RotatingLog {
    /// Opens the log of this process and points standard error at it.
    pub(crate) fn of_process(path: PathBuf) -> io::Result<Self> {
        Self::open(path, DAEMON_LOG_BYTES, DAEMON_LOG_FILES, follow_with_stderr)
    }

    fn open(
        path: PathBuf,
        limit: u64,
        kept: usize,
        follow: fn(&File) -> io::Result<()>,
    ) -> io::Result<Self> {
        let file = open(&path)?;
        follow(&file)?;
        let written = file.metadata()?.len();
        Ok(Self {
            path,
            file,
            written,
            limit,
            kept,
            follow,
        })
    }

    /// Begins a new file. If that fails, the old one goes on.
    fn rotate(&mut self) -> io::Result<()> {
        for older in (1..self.kept).rev() {
            rename_if_there(
                &numbered(&self.path, older),
                &numbered(&self.path, older + 1),
            )?;
        }
        rename_if_there(&self.path, &numbered(&self.path, 1))?;
        let file = open(&self.path)?;
        (self.follow)(&file)?;
        self.file = file;
        self.written = 0;
        Ok(())
    }
}

impl Write for RotatingLog {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.written >= self.limit {
            // Without a new file the log grows on; a host does not end because of its log.
            drop(self.rotate());
        }
        self.file.write_all(line)?;
        self.written = self.written.saturating_add(line.len() as u64);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the path of an older file; 1 is the one before the newest.
pub(crate) fn numbered(path: &Path, number: usize) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

fn rename_if_there(from: &Path, to: &Path) -> io::Result<()> {
    match std::fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &Path) -> String {
        std::fs::read_to_string(path).unwrap_or_default()
    }

    #[test]
    fn a_log_is_rotated_by_size_and_the_oldest_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("daemon.log");
        std::fs::write(&path, "before\n").unwrap();
        let mut log = RotatingLog::open(path.clone(), 10, 2, |_| Ok(())).unwrap();
        for number in 1..=6 {
            // A log line is written in one call.
            log.write_all(format!("line {number}\n").as_bytes())
                .unwrap();
        }
        assert_eq!(read(&path), "line 6\n");
        assert_eq!(read(&numbered(&path, 1)), "line 4\nline 5\n");
        assert_eq!(read(&numbered(&path, 2)), "line 2\nline 3\n");
        assert!(!numbered(&path, 3).exists());
    }

    #[test]
    fn a_log_whose_file_cannot_be_replaced_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("daemon.log");
        let mut log = RotatingLog::open(path.clone(), 1, 1, |_| Ok(())).unwrap();
        // A directory that is not empty in the place of the older file.
        std::fs::create_dir_all(numbered(&path, 1).join("x")).unwrap();
        writeln!(log, "one").unwrap();
        writeln!(log, "two").unwrap();
        assert_eq!(read(&path), "one\ntwo\n");
    }
}
