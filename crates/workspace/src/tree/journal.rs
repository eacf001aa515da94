//! The journal of one call: the plan, written completely before anything is done, then one line per phase.
//!
//! Lines are JSON. A phase line begins with a line break of its own, so a torn line does not damage the next; the last
//! complete line counts. After a line `undoing`, the call is only undone: of the later lines only `undone` counts.

use super::Leftover;
use super::disk::{Disk, open};
use super::error::{TreeError, at};
use super::file::{self, ReadFailure};
use super::path::is_reserved;
use super::plan::Plan;
use super::second::beneath;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Version of the journal format.
pub(super) const VERSION: u32 = 1;

/// Larger journals are refused; no plan needs this much.
const MAX_BYTES: u64 = 64 << 20;

/// Progress of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "phase")]
pub(super) enum Phase {
    /// Side files and directories are being created; no target file has been touched.
    Staging,
    /// All side files are complete and on disk; files are being put in place.
    Committing,
    /// All files are in place and on disk.
    Done,
    /// The call failed and is being undone.
    Undoing,
    /// The call was undone, except for `left`.
    Undone {
        /// Entries that were not restored.
        left: Vec<Leftover>,
    },
}

/// To turn back, this line is overwritten with `UNDOING`. Both have the same length, so that it needs no disk space,
/// whose lack may be the reason for the failure.
const COMMITTING: &[u8] = br#"{"phase":"committing"}"#;
const UNDOING: &[u8] = br#"{"phase":"undoing"}   "#;

/// An open journal directory and the name of the journal in it.
#[derive(Debug)]
pub(super) struct Journal {
    dir: OwnedFd,
    name: String,
    path: PathBuf,
}

impl Phase {
    /// Returns the phase after another line: the call never goes forward again once it is being undone.
    fn advance(self, next: Self) -> Self {
        match (&self, &next) {
            (
                Self::Undoing | Self::Undone { .. },
                Self::Staging | Self::Committing | Self::Done,
            ) => self,
            (Self::Staging | Self::Committing | Self::Done, _)
            | (Self::Undoing | Self::Undone { .. }, Self::Undoing | Self::Undone { .. }) => next,
        }
    }

    /// Returns true if there is nothing left to do.
    pub(super) const fn is_finished(&self) -> bool {
        match self {
            Self::Done | Self::Undone { .. } => true,
            Self::Staging | Self::Committing | Self::Undoing => false,
        }
    }
}

/// Content of a journal.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) plan: Plan,
    pub(super) phase: Phase,
}

impl Journal {
    /// Opens a journal whose directory must exist.
    pub(super) fn at(path: &Path) -> Result<Self, TreeError> {
        let missing = || TreeError::Journal {
            path: path.to_owned(),
            why: "its directory does not exist; create it".to_owned(),
        };
        Self::find(path)?.ok_or_else(missing)
    }

    /// Opens a journal; `None` if its directory does not exist, so that there was never a journal.
    pub(super) fn find(path: &Path) -> Result<Option<Self>, TreeError> {
        let unusable = |why: String| TreeError::Journal {
            path: path.to_owned(),
            why,
        };
        let (Some(parent), Some(name)) = (path.parent(), path.file_name().and_then(|n| n.to_str()))
        else {
            let why = "its name is not usable; name a file with a text name";
            return Err(unusable(why.to_owned()));
        };
        let dir = match File::open(parent) {
            Ok(dir) => dir,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                let why = format!("its directory cannot be opened: {error}; check permissions");
                return Err(unusable(why));
            }
        };
        Ok(Some(Self {
            dir: dir.into(),
            name: name.to_owned(),
            path: path.to_owned(),
        }))
    }

    /// Loads the journal; `None` if there is none.
    pub(super) fn load(&self) -> Result<Option<Record>, TreeError> {
        let Some(content) = self.read()? else {
            return Ok(None);
        };
        let mut lines = content.split(|byte| *byte == b'\n');
        let plan: Plan = lines
            .next()
            .and_then(|line| serde_json::from_slice(line).ok())
            .ok_or_else(|| self.damaged_error())?;
        let second = plan.second_root.as_ref();
        let names = plan.changes.iter().flat_map(|change| {
            let dir = beneath(&change.dir, second).iter();
            dir.chain([&change.name, &change.side])
        });
        let made = plan.made.iter().flat_map(|made| beneath(made, second));
        let plain = |name: &String| {
            !name.is_empty()
                && name != "."
                && name != ".."
                && !name.contains('/')
                && !is_reserved(name)
        };
        if plan.version != VERSION || !names.chain(made).all(plain) {
            return Err(self.damaged_error());
        }
        let phases = lines.filter_map(|line| serde_json::from_slice(line).ok());
        Ok(Some(Record {
            plan,
            phase: phases.fold(Phase::Staging, Phase::advance),
        }))
    }

    fn read(&self) -> Result<Option<Vec<u8>>, TreeError> {
        match file::read(&self.dir, &self.name, MAX_BYTES) {
            Ok(found) => Ok(found.map(|found| found.content)),
            Err(ReadFailure::Errno(errno)) => Err(self.io("read")(errno)),
            Err(ReadFailure::NotAFile(_) | ReadFailure::TooLarge) => Err(self.damaged_error()),
        }
    }

    /// Writes the plan durably, replacing a journal that is finished.
    pub(super) fn begin(&self, disk: Disk<'_>, plan: &Plan) -> Result<(), TreeError> {
        let io = |errno| self.io("write")(errno);
        let mut text = serde_json::to_vec(plan).map_err(|_| self.damaged_error())?;
        text.push(b'\n');
        let fresh = format!("{}.new", self.name);
        disk.remove(&self.dir, &fresh).map_err(io)?;
        let mut file = disk
            .create(&self.dir, &fresh, Mode::from_raw_mode(0o600))
            .map_err(io)?;
        let written = disk
            .write(&mut file, &text)
            .and_then(|()| disk.sync(&file))
            .and_then(|()| disk.rename_over(&self.dir, &fresh, &self.name));
        if let Err(errno) = written {
            // Frees the disk space; a leftover file is harmless.
            let _unneeded = disk.remove(&self.dir, &fresh);
            return Err(io(errno));
        }
        disk.sync(&self.dir).map_err(io)
    }

    /// Appends the next phase durably.
    pub(super) fn enter(&self, disk: Disk<'_>, phase: &Phase) -> Result<(), TreeError> {
        let json = serde_json::to_string(phase).map_err(|_| self.damaged_error())?;
        let flags = OFlags::WRONLY | OFlags::APPEND;
        let added = open(&self.dir, &self.name, flags, Mode::empty()).and_then(|fd| {
            let mut file = File::from(fd);
            disk.write(&mut file, format!("\n{json}\n").as_bytes())?;
            disk.sync(&file)
        });
        added.map_err(self.io("write"))
    }

    /// Switches a call to undoing, durably. A call that is still staging is undone anyway, and an undone one is
    /// finished.
    pub(super) fn turn_back(&self, disk: Disk<'_>) -> Result<(), TreeError> {
        let content = self.read()?.unwrap_or_default();
        let committing = content
            .windows(COMMITTING.len())
            .rposition(|line| line == COMMITTING);
        let Some(place) = committing.and_then(|place| u64::try_from(place).ok()) else {
            return Ok(());
        };
        let overwritten =
            open(&self.dir, &self.name, OFlags::WRONLY, Mode::empty()).and_then(|fd| {
                let file = File::from(fd);
                disk.overwrite(&file, place, UNDOING)?;
                disk.sync(&file)
            });
        // A filesystem that cannot overwrite in place may still have room for another line.
        overwritten.or_else(|_| self.enter(disk, &Phase::Undoing))
    }

    /// Removes the journal durably; idempotent.
    pub(super) fn remove(&self, disk: Disk<'_>) -> Result<(), TreeError> {
        disk.remove(&self.dir, &self.name)
            .and_then(|()| disk.remove(&self.dir, &format!("{}.new", self.name)))
            .and_then(|()| disk.sync(&self.dir))
            .map_err(self.io("remove"))
    }

    /// The error of a call whose journal belongs to another, unfinished call.
    pub(super) fn unsettled_error(&self) -> TreeError {
        TreeError::Journal {
            path: self.path.clone(),
            why: "an earlier change was cut off; settle it first".to_owned(),
        }
    }

    fn damaged_error(&self) -> TreeError {
        TreeError::Journal {
            path: self.path.clone(),
            why: "it is damaged or of another version; look at the tree by hand and remove it"
                .to_owned(),
        }
    }

    fn io(&self, action: &'static str) -> impl FnOnce(Errno) -> TreeError {
        let path = self.path.display().to_string();
        move |errno| at(action, &path)(errno)
    }
}
