//! Where a command is found again: a directory of its own and the files of its output, under the agent's home.
//!
//! Owns their names and how they come and go. Invariant: a command's directory is on disk before the command begins,
//! so that where there is none, nothing was begun. Everything blocking happens off the async threads.

use holon_engine::ports::CommandKey;
use holon_process::OutputFacts;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

/// Where directories of commands stand, under an agent's home.
const TASKS: [&str; 3] = [".holon", "state", "tasks"];
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
pub(super) struct Place {
    home: PathBuf,
    name: String,
}

/// What a place says before anybody is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// Nothing was begun.
    Nothing,
    /// Something was, whatever came of it.
    Begun,
    /// Nothing was, and nothing may be.
    Stopped,
}

impl Place {
    /// The place of the command of a key.
    pub(super) fn of(key: &CommandKey) -> Self {
        Self::named(Path::new(&key.agent_home), &key.name)
    }

    /// The place of a name in an agent's home.
    pub(super) fn named(home: &Path, name: &str) -> Self {
        Self {
            home: home.to_owned(),
            name: name.to_owned(),
        }
    }

    /// The command's own directory.
    pub(super) fn state_dir(&self) -> PathBuf {
        tasks(&self.home).join(&self.name)
    }

    /// The file of its output, or of the terminal's transcript.
    pub(super) fn output(&self) -> PathBuf {
        outputs(&self.home).join(format!("{}{OUTPUT_END}", self.name))
    }

    /// The file of its complaints, where they are kept apart.
    pub(super) fn errors(&self) -> PathBuf {
        outputs(&self.home).join(format!("{}{ERRORS_END}", self.name))
    }

    fn unused(&self) -> PathBuf {
        tasks(&self.home).join(format!("{}{UNUSED_END}", self.name))
    }

    /// Looks whether anything was begun.
    pub(super) async fn look(&self) -> io::Result<Look> {
        let dir = self.state_dir();
        off_thread(move || {
            if !is_there(&dir)? {
                return Ok(Look::Nothing);
            }
            Ok(if is_there(&dir.join(STOPPED))? {
                Look::Stopped
            } else {
                Look::Begun
            })
        })
        .await
    }

    /// Makes the directory, which must not be there, and what its files need. It is on disk when this returns.
    pub(super) async fn make(&self) -> io::Result<()> {
        let place = self.clone();
        off_thread(move || {
            place.check_home()?;
            make_dir(&outputs(&place.home))?;
            if place.make_dirs()? {
                return Ok(());
            }
            Err(io::ErrorKind::AlreadyExists.into())
        })
        .await
    }

    /// Sees to it that a command that has not begun never does.
    pub(super) async fn bar(&self) -> io::Result<()> {
        let place = self.clone();
        off_thread(move || {
            place.check_home()?;
            place.make_dirs()?;
            File::create(place.state_dir().join(STOPPED)).map(drop)
        })
        .await
    }

    /// A home that was removed must not come back as an empty one.
    fn check_home(&self) -> io::Result<()> {
        if self.home.is_dir() {
            return Ok(());
        }
        let words = format!("the agent's home {} is not there", self.home.display());
        Err(io::Error::new(io::ErrorKind::NotFound, words))
    }

    /// Makes the directory where there is none, and says whether it had to.
    fn make_dirs(&self) -> io::Result<bool> {
        let (mut dir, mut made) = (self.home.clone(), false);
        for part in TASKS.into_iter().chain([self.name.as_str()]) {
            let parent = dir.clone();
            dir.push(part);
            made = make_dir(&dir)?;
            if made {
                // Without it a loss of power could take the directory and leave what the command did.
                File::open(parent)?.sync_all()?;
            }
        }
        Ok(made)
    }

    /// Moves a directory nothing ever ran from out of the way. A shim that comes late may have it open: it finds its
    /// lock marked there, where it would make a new one in a directory that is being emptied.
    pub(super) async fn set_aside(&self) -> io::Result<()> {
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

    /// Removes the directory; harmless when it is gone.
    pub(super) async fn remove(&self) -> io::Result<()> {
        let place = self.clone();
        off_thread(move || {
            remove_dir(&place.unused())?;
            remove_dir(&place.state_dir())
        })
        .await
    }

    /// Removes the output files; harmless when they are gone.
    pub(super) async fn remove_output(&self) -> io::Result<()> {
        let files = [self.output(), self.errors()];
        off_thread(move || {
            for file in files {
                gone(std::fs::remove_file(file))?;
            }
            Ok(())
        })
        .await
    }

    /// What the output files hold, when nobody is left who knows more; none when there are no files.
    pub(super) async fn kept(&self) -> Option<OutputFacts> {
        let (output, errors) = (self.output(), self.errors());
        let kept = off_thread(move || {
            let errors = is_there(&errors)?.then_some(errors);
            if errors.is_none() && !is_there(&output)? {
                return Ok(None);
            }
            Ok(Some(holon_process::kept_output(&output, errors.as_deref())))
        });
        kept.await.ok().flatten()
    }
}

/// Where the directories of an agent's commands stand.
pub(super) fn tasks(home: &Path) -> PathBuf {
    let mut dir = home.to_owned();
    dir.extend(TASKS);
    dir
}

/// Where the output files of an agent's commands stand.
pub(super) fn outputs(home: &Path) -> PathBuf {
    home.join(OUTPUTS)
}

/// The command whose output file has this name, if it is one.
pub(super) fn owner(file: &str) -> Option<&str> {
    file.strip_suffix(ERRORS_END)
        .or_else(|| file.strip_suffix(OUTPUT_END))
}

/// Whether a directory's name says that nothing ever ran from it.
pub(super) fn is_unused(name: &str) -> bool {
    name.ends_with(UNUSED_END)
}

/// Does blocking work where it blocks nobody.
pub(super) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|ended| Err(io::Error::other(ended)))
}

fn is_there(path: &Path) -> io::Result<bool> {
    match std::fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Makes a directory of this user alone, and says whether it had to be made.
fn make_dir(dir: &Path) -> io::Result<bool> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

pub(super) fn remove_dir(dir: &Path) -> io::Result<()> {
    gone(std::fs::remove_dir_all(dir))
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}
