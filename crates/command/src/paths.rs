//! The files of a command: its claim directory under the host's state, and its output files in the agent's home.
//!
//! This file owns their names, and creates and removes them. Invariants: a command's directory is on disk before the
//! command starts, so a missing directory proves that the command was not started; and no workspace contains the
//! directory, so a command that empties its home does not remove it. An earlier build kept the directory in the
//! agent's home; such a directory is used where it is. Blocking work runs off the async threads.

use crate::facts;
use crate::folders::Folders;
use crate::off_thread::off_thread;
use holon_domain::command::CommandKey;
use holon_process::OutputRecord;
use holon_workspace::{ClaimFolders, make_home, make_private_dir};
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Directory of the output files, in an agent's home.
const OUTPUTS: &str = "task-output";
/// Suffixes of the files for stdout (or the terminal) and for stderr.
const OUTPUT_END: &str = ".log";
const ERRORS_END: &str = ".stderr.log";
/// Suffix of the file for both, which exists only if both were used.
const COMBINED_END: &str = ".combined.log";
/// File in the claim directory of a command that was stopped before it started.
const STOPPED: &str = "stopped";
/// Suffix of a claim directory that is no longer in use.
const UNUSED_END: &str = ".unused";

/// Paths of one command: its claim directory and its output files.
#[derive(Debug, Clone)]
pub(crate) struct CommandPaths {
    home: PathBuf,
    folders: Folders,
    /// Folder that contains the command's directory, or in which it will be created.
    folder: PathBuf,
    name: String,
}

/// State of a command as far as its directory shows it, without asking the supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StartMark {
    /// The directory does not exist, so the command was not started.
    Empty,
    /// The directory exists, so the command may have been started; the supervisor or its record knows.
    Begun,
    /// The command was stopped before it started and must never start.
    Barred,
}

impl CommandPaths {
    /// Finds the directory of a command, in the folder of this build or of an earlier one.
    pub(crate) async fn find(claims: &ClaimFolders, key: &CommandKey) -> Self {
        let home = PathBuf::from(&key.agent_home);
        let folders = Folders::of(claims, &home);
        let (own, name) = (folders.own.clone(), key.name.clone());
        let searched = folders.clone();
        let found = off_thread(move || Ok(searched.holding(&name).to_owned())).await;
        Self {
            home,
            folders,
            folder: found.unwrap_or(own),
            name: key.name.clone(),
        }
    }

    /// Returns the place of a command whose directory is in this folder.
    pub(crate) fn in_folder(home: &Path, folders: &Folders, folder: &Path, name: &str) -> Self {
        Self {
            home: home.to_owned(),
            folders: folders.clone(),
            folder: folder.to_owned(),
            name: name.to_owned(),
        }
    }

    /// Returns the place for a first start, which is always in the folder of this build.
    pub(crate) fn for_new_start(&self) -> Self {
        Self {
            folder: self.folders.own.clone(),
            ..self.clone()
        }
    }

    pub(crate) fn claim_dir(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// File of stdout, or of the terminal's transcript.
    pub(crate) fn output(&self) -> PathBuf {
        output_dir(&self.home).join(format!("{}{OUTPUT_END}", self.name))
    }

    /// File of stderr. A command on a terminal has none.
    pub(crate) fn errors(&self) -> PathBuf {
        output_dir(&self.home).join(format!("{}{ERRORS_END}", self.name))
    }

    /// File of both streams in the order of their arrival.
    pub(crate) fn combined(&self) -> PathBuf {
        output_dir(&self.home).join(format!("{}{COMBINED_END}", self.name))
    }

    fn unused(&self) -> PathBuf {
        self.folder.join(format!("{}{UNUSED_END}", self.name))
    }

    /// Reads the mark from the directory.
    pub(crate) async fn mark(&self) -> io::Result<StartMark> {
        let dir = self.claim_dir();
        off_thread(move || {
            if !path_exists(&dir)? {
                return Ok(StartMark::Empty);
            }
            Ok(if path_exists(&dir.join(STOPPED))? {
                StartMark::Barred
            } else {
                StartMark::Begun
            })
        })
        .await
    }

    /// Creates the agent's home if it is missing and `cancel` has not fired. Removing an agent cancels its calls
    /// first, so its home is not created again.
    pub(crate) async fn make_home(&self, cancel: &CancellationToken) -> io::Result<()> {
        let (home, cancel) = (self.home.clone(), cancel.clone());
        let make = move || make_home(&home, || !cancel.is_cancelled()).map_err(io::Error::other);
        off_thread(make).await
    }

    /// Creates the claim directory, which must not exist yet, and the output directory in the agent's home, which
    /// must exist. The directory is on disk when this returns.
    pub(crate) async fn make(&self) -> io::Result<()> {
        let paths = self.clone();
        off_thread(move || {
            make_dir(&output_dir(&paths.home))?;
            if make_private_dir(&paths.claim_dir())? {
                return Ok(());
            }
            Err(io::ErrorKind::AlreadyExists.into())
        })
        .await
    }

    /// Prevents a command that has not started from ever starting.
    pub(crate) async fn prevent_start(&self) -> io::Result<()> {
        let paths = self.clone();
        off_thread(move || {
            make_private_dir(&paths.claim_dir())?;
            File::create(paths.claim_dir().join(STOPPED)).map(drop)
        })
        .await
    }

    /// Renames a directory in which no command ran. A slow shim may have it open: it finds the mark in the lock
    /// there, instead of creating a new lock in a directory that is being emptied.
    pub(crate) async fn set_aside(&self) -> io::Result<()> {
        let paths = self.clone();
        off_thread(move || {
            remove_dir(&paths.unused())?;
            std::fs::rename(paths.claim_dir(), paths.unused())?;
            for file in [paths.output(), paths.errors()] {
                if std::fs::metadata(&file).is_ok_and(|found| found.len() == 0) {
                    std::fs::remove_file(file)?;
                }
            }
            Ok(())
        })
        .await
    }

    /// Removes the directory of a command that does not run, after saving the facts about its output that only the
    /// directory holds. Idempotent. The directory is renamed first, so that a slow shim finds its lock marked or no
    /// lock at all.
    pub(crate) async fn remove(&self) -> io::Result<()> {
        if let Err(error) = facts::save_facts(&self.claim_dir()).await {
            tracing::warn!(name = self.name, %error, "the facts of an output could not be saved");
        }
        let paths = self.clone();
        off_thread(move || {
            remove_dir(&paths.unused())?;
            ignore_missing(std::fs::rename(paths.claim_dir(), paths.unused()))?;
            remove_dir(&paths.unused())
        })
        .await
    }

    /// Removes the output files. Idempotent.
    pub(crate) async fn remove_output(&self) -> io::Result<()> {
        let files = [self.output(), self.errors(), self.combined()];
        off_thread(move || files.iter().try_for_each(|file| remove_output(file))).await
    }

    /// Returns the facts about the output files when no supervisor can be asked; `None` if there are no files.
    pub(crate) async fn kept_output(&self) -> Option<OutputRecord> {
        let (output, errors) = (self.output(), self.errors());
        let kept_output = off_thread(move || {
            let errors = path_exists(&errors)?.then_some(errors);
            if errors.is_none() && !path_exists(&output)? {
                return Ok(None);
            }
            let found = holon_process::kept_output(&output, errors.as_deref());
            Ok(Some(OutputRecord {
                output: facts::prefer_saved(found.output),
                errors: found.errors.map(facts::prefer_saved),
            }))
        });
        kept_output.await.ok().flatten()
    }
}

/// Returns the directory of the output files of an agent.
pub(crate) fn output_dir(home: &Path) -> PathBuf {
    home.join(OUTPUTS)
}

/// Returns the file of both streams beside the file of stdout, if there is one.
pub(crate) fn find_combined(output: &Path) -> Option<PathBuf> {
    let name = output.file_name()?.to_str()?.strip_suffix(OUTPUT_END)?;
    let path = output.with_file_name(format!("{name}{COMBINED_END}"));
    path_exists(&path)
        .is_ok_and(|exists| exists)
        .then_some(path)
}

/// Returns the name of the command that an output file belongs to, or `None` for other files.
pub(crate) fn command_of_file(file: &str) -> Option<&str> {
    file.strip_suffix(ERRORS_END)
        .or_else(|| file.strip_suffix(COMBINED_END))
        .or_else(|| file.strip_suffix(OUTPUT_END))
}

/// Returns true if the name is that of a directory which is no longer in use.
pub(crate) fn is_unused(name: &str) -> bool {
    name.ends_with(UNUSED_END)
}

pub(crate) fn path_exists(path: &Path) -> io::Result<bool> {
    match std::fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Creates a directory with mode 0700 unless it exists.
fn make_dir(dir: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

pub(crate) fn remove_dir(dir: &Path) -> io::Result<()> {
    ignore_missing(std::fs::remove_dir_all(dir))
}

/// Removes an output file and its facts file. Idempotent.
pub(crate) fn remove_output(file: &Path) -> io::Result<()> {
    ignore_missing(std::fs::remove_file(facts::facts_path(file)))?;
    ignore_missing(std::fs::remove_file(file))
}

fn ignore_missing(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_workspace::ClaimFolders;
    use rustix::fs::{Mode, OFlags};

    const LOCK: &str = "spec.lock";

    /// Returns true if the directory can be opened under its name but has no lock.
    fn is_torn(dir: &Path) -> bool {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(open) = rustix::fs::open(dir, flags, Mode::empty()) else {
            return false;
        };
        let lock = rustix::fs::openat(&open, LOCK, OFlags::RDONLY, Mode::empty());
        lock.is_err() && dir.exists()
    }

    #[tokio::test]
    async fn a_directory_that_is_removed_is_never_found_without_its_lock() {
        let home = tempfile::tempdir().unwrap();
        let folders = Folders::of(&ClaimFolders::of_host(home.path()), home.path());
        let paths = CommandPaths::in_folder(home.path(), &folders, &folders.own, "task_1");
        paths.make().await.unwrap();
        let dir = paths.claim_dir();
        std::fs::write(dir.join(LOCK), "given up\n").unwrap();
        // Many files, so that the removal takes long enough to be observed.
        for number in 0..2_000 {
            std::fs::write(dir.join(number.to_string()), "").unwrap();
        }
        let late = std::thread::spawn({
            let dir = dir.clone();
            move || {
                while dir.exists() {
                    if is_torn(&dir) {
                        return true;
                    }
                }
                false
            }
        });
        paths.remove().await.unwrap();
        assert!(!late.join().unwrap());
        assert_eq!(std::fs::read_dir(&folders.own).unwrap().count(), 0);
        paths.remove().await.unwrap();
    }
}
