//! The place of a command: its own directory under the host's state, and its output files under the agent's home.
//!
//! Owns their names, and creates and removes them. Invariants: a command's directory is on disk before the command
//! begins, so a missing directory proves that nothing was begun; and it lies where no workspace reaches, so a command
//! that empties its home does not remove it. An earlier build kept it in the agent's home; a command that has its
//! directory there is found there. Blocking work runs off the async threads.

use crate::facts;
use crate::folders::Folders;
use crate::off_thread::off_thread;
use holon_domain::command::CommandKey;
use holon_process::OutputFacts;
use holon_workspace::{Claims, make_home, make_private_dir};
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use tokio_util::sync::CancellationToken;

/// Where output files stand, under an agent's home.
const OUTPUTS: &str = "task-output";
/// How the file of the output ends, and how that of the complaints does.
const OUTPUT_END: &str = ".log";
const ERRORS_END: &str = ".stderr.log";
/// The mark of a command that was stopped before it had begun.
const STOPPED: &str = "stopped";
/// What the name of a directory gets when nothing ever ran from it.
const UNUSED_END: &str = ".unused";

/// The place of one command.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    home: PathBuf,
    folders: Folders,
    /// The one of the folders that holds the command's directory, or is to hold it.
    folder: PathBuf,
    name: String,
}

/// How far a command got, by its directory alone and without asking its supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlaceMark {
    /// There is no directory: nothing was begun.
    Empty,
    /// The command was begun; its state says what came of it.
    Begun,
    /// It was stopped before it had begun and must never begin.
    Barred,
}

impl Place {
    /// The place of the command of a key, where its directory stands.
    pub(crate) async fn find(claims: &Claims, key: &CommandKey) -> Self {
        let home = PathBuf::from(&key.agent_home);
        let folders = Folders::of(claims, &home);
        let (own, name) = (folders.own.clone(), key.name.clone());
        let sought = folders.clone();
        let found = off_thread(move || Ok(sought.holding(&name).to_owned())).await;
        Self {
            home,
            folders,
            folder: found.unwrap_or(own),
            name: key.name.clone(),
        }
    }

    /// The place of a name whose directory stands in this folder.
    pub(crate) fn in_folder(home: &Path, folders: &Folders, folder: &Path, name: &str) -> Self {
        Self {
            home: home.to_owned(),
            folders: folders.clone(),
            folder: folder.to_owned(),
            name: name.to_owned(),
        }
    }

    /// The place in which a command that was not begun is begun.
    pub(crate) fn to_begin(&self) -> Self {
        Self {
            folder: self.folders.own.clone(),
            ..self.clone()
        }
    }

    /// The command's own directory.
    pub(crate) fn state_dir(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// The file of its output, or of the terminal's transcript.
    pub(crate) fn output(&self) -> PathBuf {
        outputs(&self.home).join(format!("{}{OUTPUT_END}", self.name))
    }

    /// The file of its complaints, where they are kept apart.
    pub(crate) fn errors(&self) -> PathBuf {
        outputs(&self.home).join(format!("{}{ERRORS_END}", self.name))
    }

    fn unused(&self) -> PathBuf {
        self.folder.join(format!("{}{UNUSED_END}", self.name))
    }

    /// Reads how far the command got.
    pub(crate) async fn mark(&self) -> io::Result<PlaceMark> {
        let dir = self.state_dir();
        off_thread(move || {
            if !is_there(&dir)? {
                return Ok(PlaceMark::Empty);
            }
            Ok(if is_there(&dir.join(STOPPED))? {
                PlaceMark::Barred
            } else {
                PlaceMark::Begun
            })
        })
        .await
    }

    /// Makes the agent's home where it is missing, unless the call is called off before that: an agent that is removed
    /// calls off its calls first, and its home does not come back.
    pub(crate) async fn make_home(&self, cancel: &CancellationToken) -> io::Result<()> {
        let (home, cancel) = (self.home.clone(), cancel.clone());
        let make = move || make_home(&home, || !cancel.is_cancelled()).map_err(io::Error::other);
        off_thread(make).await
    }

    /// Makes the directory, which must not be there, and what its files need in the agent's home, which must be there.
    /// The directory is on disk when this returns.
    pub(crate) async fn make(&self) -> io::Result<()> {
        let place = self.clone();
        off_thread(move || {
            make_dir(&outputs(&place.home))?;
            if make_private_dir(&place.state_dir())? {
                return Ok(());
            }
            Err(io::ErrorKind::AlreadyExists.into())
        })
        .await
    }

    /// Bars a command that has not begun from ever beginning.
    pub(crate) async fn bar(&self) -> io::Result<()> {
        let place = self.clone();
        off_thread(move || {
            make_private_dir(&place.state_dir())?;
            File::create(place.state_dir().join(STOPPED)).map(drop)
        })
        .await
    }

    /// Moves a directory nothing ever ran from out of the way. A shim that comes late may have it open: it finds its
    /// lock marked there, where it would make a new one in a directory that is being emptied.
    pub(crate) async fn set_aside(&self) -> io::Result<()> {
        let place = self.clone();
        off_thread(move || {
            remove_dir(&place.unused())?;
            std::fs::rename(place.state_dir(), place.unused())?;
            for file in [place.output(), place.errors()] {
                if std::fs::metadata(&file).is_ok_and(|found| found.len() == 0) {
                    std::fs::remove_file(file)?;
                }
            }
            Ok(())
        })
        .await
    }

    /// Removes the directory of a command that does not run, and keeps what only that knew of its output; harmless when
    /// it is gone. First it gets another name, so that a shim that comes late finds its lock marked or no lock at all.
    pub(crate) async fn remove(&self) -> io::Result<()> {
        if let Err(error) = facts::keep(&self.state_dir()).await {
            tracing::warn!(name = self.name, %error, "what is known of an output could not be kept");
        }
        let place = self.clone();
        off_thread(move || {
            remove_dir(&place.unused())?;
            gone(std::fs::rename(place.state_dir(), place.unused()))?;
            remove_dir(&place.unused())
        })
        .await
    }

    /// Removes the output files; harmless when they are gone.
    pub(crate) async fn remove_output(&self) -> io::Result<()> {
        let files = [self.output(), self.errors()];
        off_thread(move || files.iter().try_for_each(|file| remove_output(file))).await
    }

    /// What the output files hold, when nobody is left who knows more; none when there are no files.
    pub(crate) async fn kept(&self) -> Option<OutputFacts> {
        let (output, errors) = (self.output(), self.errors());
        let kept = off_thread(move || {
            let errors = is_there(&errors)?.then_some(errors);
            if errors.is_none() && !is_there(&output)? {
                return Ok(None);
            }
            let found = holon_process::kept_output(&output, errors.as_deref());
            Ok(Some(OutputFacts {
                output: facts::or_kept(found.output),
                errors: found.errors.map(facts::or_kept),
            }))
        });
        kept.await.ok().flatten()
    }
}

/// Where the output files of an agent's commands stand.
pub(crate) fn outputs(home: &Path) -> PathBuf {
    home.join(OUTPUTS)
}

/// The command whose output file has this name, if it is one.
pub(crate) fn owner(file: &str) -> Option<&str> {
    file.strip_suffix(ERRORS_END)
        .or_else(|| file.strip_suffix(OUTPUT_END))
}

/// Whether a directory's name says that nothing ever ran from it.
pub(crate) fn is_unused(name: &str) -> bool {
    name.ends_with(UNUSED_END)
}

pub(crate) fn is_there(path: &Path) -> io::Result<bool> {
    match std::fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Makes a directory of this user alone where there is none.
fn make_dir(dir: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

pub(crate) fn remove_dir(dir: &Path) -> io::Result<()> {
    gone(std::fs::remove_dir_all(dir))
}

/// Removes an output file and what is known of it; harmless when they are gone.
pub(crate) fn remove_output(file: &Path) -> io::Result<()> {
    gone(std::fs::remove_file(facts::beside(file)))?;
    gone(std::fs::remove_file(file))
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_workspace::Claims;
    use rustix::fs::{Mode, OFlags};

    const LOCK: &str = "spec.lock";

    /// Whether somebody who comes to the directory now finds it without its lock, and still under its name.
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
        let folders = Folders::of(&Claims::of_host(home.path()), home.path());
        let place = Place::in_folder(home.path(), &folders, &folders.own, "task_1");
        place.make().await.unwrap();
        let dir = place.state_dir();
        std::fs::write(dir.join(LOCK), "given up\n").unwrap();
        // Much to remove, so that there is time to come late.
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
        place.remove().await.unwrap();
        assert!(!late.join().unwrap());
        assert_eq!(std::fs::read_dir(&folders.own).unwrap().count(), 0);
        place.remove().await.unwrap();
    }
}
