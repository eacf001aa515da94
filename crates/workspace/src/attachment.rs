//! Records the directory an agent was attached to, so that another directory at the same path is noticed.
//!
//! The path of a workspace may come to mean another directory: it is renamed and created again, or a link takes its
//! place. Files there are not changed until the agent is stopped and started, which attaches it to the new directory.

use crate::error::{Error, at};
use crate::plain_file;
use crate::tree::{RootIdentity, Tree, TreeError};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Largest record that is read, in bytes.
const RECORD_BYTES: u64 = 64 << 10;

/// The stored record of one agent's attachment: a file that only this type reads and writes.
#[derive(Debug, Clone)]
pub struct Attachment {
    record: PathBuf,
    /// Path of the record in earlier builds; it is read and removed, never written.
    former: Option<PathBuf>,
}

/// Identity of a directory at the time an agent was attached to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachedRoot {
    /// The path as the operator named it.
    root: PathBuf,
    /// The canonical path it resolved to.
    canonical: PathBuf,
    identity: RootIdentity,
}

impl AttachedRoot {
    /// Inspects the directory that is now at this path.
    ///
    /// # Errors
    /// Fails if there is no such directory or it cannot be opened.
    pub fn inspect(root: &Path) -> Result<Self, TreeError> {
        let tree = Tree::open(root)?;
        Ok(Self {
            root: root.to_owned(),
            canonical: tree.path().to_owned(),
            identity: tree.identity().clone(),
        })
    }

    fn open(&self) -> Result<Tree, TreeError> {
        Tree::open_same(&self.root, &self.canonical, &self.identity)
    }
}

impl Attachment {
    /// Returns the attachment with the record file `record`. Its directory is created when it is needed.
    #[must_use]
    pub const fn at(record: PathBuf) -> Self {
        Self {
            record,
            former: None,
        }
    }

    /// Also reads the record from `former` while the record file does not exist.
    #[must_use]
    pub fn with_former_record(self, former: PathBuf) -> Self {
        Self {
            former: Some(former),
            ..self
        }
    }

    /// Returns the path of the recorded directory, as the operator named it.
    ///
    /// # Errors
    /// There is a record, and it cannot be read.
    pub fn root(&self) -> Result<Option<PathBuf>, Error> {
        Ok(self.load()?.map(|attached| attached.root))
    }

    /// Opens `root` if it is still the directory the agent was attached to: `seen`, if the path was named since the
    /// record was written, otherwise the recorded one. If neither is known, the agent is attached to the current
    /// directory.
    ///
    /// # Errors
    /// [`TreeError::Replaced`] if it is another directory; other errors if the root or the record cannot be used.
    pub fn open(&self, root: &Path, seen: Option<AttachedRoot>) -> Result<Tree, TreeError> {
        let recorded = self.load().map_err(|error| self.unusable(error))?;
        let recorded = recorded.filter(|attached| attached.root == root);
        let attached = match (seen.filter(|seen| seen.root == root), &recorded) {
            (Some(seen), _) => seen,
            (None, Some(recorded)) => recorded.clone(),
            (None, None) => AttachedRoot::inspect(root)?,
        };
        // The record is written first: a directory other than the one that was seen must not be accepted the next time.
        if recorded.as_ref() != Some(&attached) {
            self.save(&attached).map_err(|error| self.unusable(error))?;
        }
        attached.open()
    }

    /// Attaches the agent to the directory that is now at the path that was named last; used when an agent starts. An
    /// agent without a record is new, and is attached to the directory seen when its workspace was named.
    ///
    /// # Errors
    /// Fails if the record cannot be written or removed.
    pub fn renew(&self, seen: Option<AttachedRoot>) -> Result<(), Error> {
        let (attached, seen) = match (self.load()?, seen) {
            (None, None) => return Ok(()),
            (None, Some(seen)) => return self.save(&seen),
            (Some(recorded), seen) => (recorded, seen),
        };
        let root = seen.map_or_else(|| attached.root.clone(), |seen| seen.root);
        match AttachedRoot::inspect(&root) {
            Ok(now) if now == attached => Ok(()),
            Ok(now) => self.save(&now),
            // There is no directory to attach to; the next use inspects the path again.
            Err(_) => self.places().try_for_each(remove),
        }
    }

    /// Returns the possible paths of the record, the current one first.
    fn places(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.record).chain(&self.former)
    }

    /// Loads the record; `None` if there is none. One that is there and cannot be read is an error: it may name another
    /// directory than the one that would take its place.
    fn load(&self) -> Result<Option<AttachedRoot>, Error> {
        for place in self.places() {
            let refuse = |detail: String| Error::UnreadableRecord {
                path: place.clone(),
                detail,
            };
            let text = plain_file::read(place, RECORD_BYTES)
                .map_err(|failure| refuse(failure.to_string()))?;
            if let Some(text) = text {
                let attached = serde_json::from_slice(&text);
                return attached
                    .map(Some)
                    .map_err(|error| refuse(error.to_string()));
            }
        }
        Ok(None)
    }

    fn unusable(&self, error: Error) -> TreeError {
        TreeError::Io {
            action: "note the execution root in",
            path: self.record.display().to_string(),
            source: io::Error::other(error),
        }
    }

    fn save(&self, attached: &AttachedRoot) -> Result<(), Error> {
        let text = serde_json::to_vec(attached)
            .map_err(|error| at("write", &self.record)(io::Error::other(error)))?;
        if let Some(dir) = self.record.parent() {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(dir)
                .map_err(at("create", dir))?;
        }
        let fresh = self.record.with_extension("new");
        let written = || {
            let mut file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .open(&fresh)?;
            file.write_all(&text)?;
            file.sync_all()?;
            fs::rename(&fresh, &self.record)
        };
        written().map_err(at("write", &self.record))
    }
}

fn remove(record: &PathBuf) -> Result<(), Error> {
    match fs::remove_file(record) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(at("remove", record)(error)),
        Ok(()) | Err(_) => Ok(()),
    }
}
