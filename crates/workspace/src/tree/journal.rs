//! The journal of one call: the plan, written whole before anything is done, then one line per phase.
//!
//! Lines are JSON. A phase line begins with a line break of its own, so a torn one spoils nothing after it; the
//! last whole one counts. Once a journal says `undoing`, the call only goes backward, whatever else it says: nothing
//! but `undone` counts after that.

use super::Left;
use super::disk::{Disk, open};
use super::error::{TreeError, at};
use super::file::{self, Unread};
use super::path::is_reserved;
use super::plan::Plan;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The format written.
pub(super) const VERSION: u32 = 1;

/// More than any plan takes.
const MAX_BYTES: u64 = 64 << 20;

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "phase")]
pub(super) enum Phase {
    /// Sides and directories are being made; no file has been touched.
    Staging,
    /// All sides are whole and on disk; files are being put in place.
    Committing,
    /// All files are in place and on disk.
    Done,
    /// The call failed and is being taken back.
    Undoing,
    /// Taken back, but for what is left.
    Undone {
        /// What is not as it was.
        left: Vec<Left>,
    },
}

/// What is overwritten where a call turns back, and with what: the same length, so that it takes no space, which may be
/// what the call failed for.
const COMMITTING: &[u8] = br#"{"phase":"committing"}"#;
const UNDOING: &[u8] = br#"{"phase":"undoing"}   "#;

/// A journal's place.
#[derive(Debug)]
pub(super) struct Journal {
    dir: OwnedFd,
    name: String,
    path: PathBuf,
}

impl Phase {
    /// The phase of a journal that says `self` and then `next`.
    fn then(self, next: Self) -> Self {
        match (&self, &next) {
            (
                Self::Undoing | Self::Undone { .. },
                Self::Staging | Self::Committing | Self::Done,
            ) => self,
            (Self::Staging | Self::Committing | Self::Done, _)
            | (Self::Undoing | Self::Undone { .. }, Self::Undoing | Self::Undone { .. }) => next,
        }
    }

    /// Whether nothing is left to be done.
    pub(super) const fn is_over(&self) -> bool {
        match self {
            Self::Done | Self::Undone { .. } => true,
            Self::Staging | Self::Committing | Self::Undoing => false,
        }
    }
}

/// What a journal says.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) plan: Plan,
    pub(super) phase: Phase,
}

impl Journal {
    /// The place of a journal, whose directory must exist.
    pub(super) fn at(path: &Path) -> Result<Self, TreeError> {
        let missing = || TreeError::Journal {
            path: path.to_owned(),
            why: "its directory does not exist; create it".to_owned(),
        };
        Self::find(path)?.ok_or_else(missing)
    }

    /// The place of a journal; `None` without its directory, where no journal can ever have been.
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

    /// Reads the journal; `None` when there is none.
    pub(super) fn load(&self) -> Result<Option<Record>, TreeError> {
        let Some(content) = self.read()? else {
            return Ok(None);
        };
        let mut lines = content.split(|byte| *byte == b'\n');
        let plan: Plan = lines
            .next()
            .and_then(|line| serde_json::from_slice(line).ok())
            .ok_or_else(|| self.damaged())?;
        let names = plan
            .changes
            .iter()
            .flat_map(|change| change.dir.iter().chain([&change.name, &change.side]));
        let plain = |name: &String| {
            !name.is_empty()
                && name != "."
                && name != ".."
                && !name.contains('/')
                && !is_reserved(name)
        };
        if plan.version != VERSION || !names.chain(plan.made.iter().flatten()).all(plain) {
            return Err(self.damaged());
        }
        let phases = lines.filter_map(|line| serde_json::from_slice(line).ok());
        Ok(Some(Record {
            plan,
            phase: phases.fold(Phase::Staging, Phase::then),
        }))
    }

    fn read(&self) -> Result<Option<Vec<u8>>, TreeError> {
        match file::read(&self.dir, &self.name, MAX_BYTES) {
            Ok(found) => Ok(found.map(|found| found.content)),
            Err(Unread::Errno(errno)) => Err(self.io("read")(errno)),
            Err(Unread::NotAFile(_) | Unread::TooLarge) => Err(self.damaged()),
        }
    }

    /// Writes the plan durably, replacing a journal that is over.
    pub(super) fn begin(&self, disk: Disk<'_>, plan: &Plan) -> Result<(), TreeError> {
        let io = |errno| self.io("write")(errno);
        let mut text = serde_json::to_vec(plan).map_err(|_| self.damaged())?;
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
            // The space may be needed; that it is still there harms nobody.
            let _unneeded = disk.remove(&self.dir, &fresh);
            return Err(io(errno));
        }
        disk.sync(&self.dir).map_err(io)
    }

    /// Adds the next phase durably.
    pub(super) fn enter(&self, disk: Disk<'_>, phase: &Phase) -> Result<(), TreeError> {
        let json = serde_json::to_string(phase).map_err(|_| self.damaged())?;
        let flags = OFlags::WRONLY | OFlags::APPEND;
        let added = open(&self.dir, &self.name, flags, Mode::empty()).and_then(|fd| {
            let mut file = File::from(fd);
            disk.write(&mut file, format!("\n{json}\n").as_bytes())?;
            disk.sync(&file)
        });
        added.map_err(self.io("write"))
    }

    /// Makes a call go only backward from here on, durably. One that is still staging does so anyway, and one that was
    /// taken back is through.
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
        // A file system that writes nothing in place may still have room for another line.
        overwritten.or_else(|_| self.enter(disk, &Phase::Undoing))
    }

    /// Removes the journal durably; harmless when there is none.
    pub(super) fn remove(&self, disk: Disk<'_>) -> Result<(), TreeError> {
        disk.remove(&self.dir, &self.name)
            .and_then(|()| disk.remove(&self.dir, &format!("{}.new", self.name)))
            .and_then(|()| disk.sync(&self.dir))
            .map_err(self.io("remove"))
    }

    /// The refusal of a call whose journal tells of another that is not over.
    pub(super) fn unsettled(&self) -> TreeError {
        TreeError::Journal {
            path: self.path.clone(),
            why: "an earlier change was cut off; settle it first".to_owned(),
        }
    }

    fn damaged(&self) -> TreeError {
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
