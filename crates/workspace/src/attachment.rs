//! The directory an agent was attached to, on record, so that another one that takes its place is noticed.
//!
//! The path of a workspace may come to mean another directory: it is renamed and made again, or a link takes its place.
//! Files are then not changed there before the agent is stopped and started, which attaches it to what is there.

use crate::error::{Error, at};
use crate::tree::{RootIdentity, Tree, TreeError};
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The record of one agent's attachment: a file that only this type reads and writes.
#[derive(Debug, Clone)]
pub struct Attachment {
    record: PathBuf,
    /// Where an earlier build kept the record; only read, and removed.
    former: Option<PathBuf>,
}

/// A directory at the moment an agent was attached to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachedRoot {
    /// The path it was named by.
    root: PathBuf,
    /// Where that path led, free of links.
    canonical: PathBuf,
    identity: RootIdentity,
}

impl AttachedRoot {
    /// What is at this path now.
    ///
    /// # Errors
    /// When there is no such directory or it cannot be opened.
    pub fn look(root: &Path) -> Result<Self, TreeError> {
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
    /// The attachment whose record stands in the file `record`. Its directory is made when it is needed.
    #[must_use]
    pub const fn at(record: PathBuf) -> Self {
        Self {
            record,
            former: None,
        }
    }

    /// The same attachment, whose record is read from `former` while there is none in its own place.
    #[must_use]
    pub fn formerly_at(self, former: PathBuf) -> Self {
        Self {
            former: Some(former),
            ..self
        }
    }

    /// Opens `root`, if it is still the directory the agent was attached to: `seen`, if the path was named since the
    /// record was made, otherwise the one on record. If neither is known, the agent is attached to what is there now.
    ///
    /// # Errors
    /// [`TreeError::Replaced`] when it is another directory, or when the root or the record cannot be used.
    pub fn open(&self, root: &Path, seen: Option<AttachedRoot>) -> Result<Tree, TreeError> {
        let recorded = self.load().filter(|attached| attached.root == root);
        let attached = match (seen.filter(|seen| seen.root == root), &recorded) {
            (Some(seen), _) => seen,
            (None, Some(recorded)) => recorded.clone(),
            (None, None) => AttachedRoot::look(root)?,
        };
        // It is noted first: a directory that is not the one that was seen must not be accepted the next time.
        if recorded.as_ref() != Some(&attached) {
            self.save(&attached).map_err(|error| TreeError::Io {
                action: "note the execution root in",
                path: self.record.display().to_string(),
                source: io::Error::other(error),
            })?;
        }
        attached.open()
    }

    /// Attaches the agent to whatever directory is now at the path that was named last, for the start of an agent. One
    /// that has no record yet is new, and is attached to what was seen when its workspace was named.
    ///
    /// # Errors
    /// When the record cannot be written or removed.
    pub fn renew(&self, seen: Option<AttachedRoot>) -> Result<(), Error> {
        let (attached, seen) = match (self.load(), seen) {
            (None, None) => return Ok(()),
            (None, Some(seen)) => return self.save(&seen),
            (Some(recorded), seen) => (recorded, seen),
        };
        let root = seen.map_or_else(|| attached.root.clone(), |seen| seen.root);
        match AttachedRoot::look(&root) {
            Ok(now) if now == attached => Ok(()),
            Ok(now) => self.save(&now),
            // Nothing to be attached to: the next use looks again.
            Err(_) => self.places().try_for_each(remove),
        }
    }

    /// Where the record may stand, the place that counts first.
    fn places(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.record).chain(&self.former)
    }

    /// A record that cannot be read is none: it protects from mistakes and not from malice.
    fn load(&self) -> Option<AttachedRoot> {
        let text = self.places().find_map(|place| fs::read(place).ok())?;
        serde_json::from_slice(&text).ok()
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
