//! Detects if the store is still where it was opened: the inode numbers of its files, compared by path.
//!
//! The check never opens a file: closing a handle on the database would drop the locks that SQLite holds on it in this
//! process. The files stay open while the store is open, so the system does not reuse their inode numbers.

use crate::error::Error;
use crate::open;
use rusqlite::{Connection, FileControl};
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Suffix that the system appends to the name of a deleted open file.
const DELETED: &str = " (deleted)";

/// The identity of a file, independent of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId {
    device: u64,
    pub(crate) inode: u64,
}

impl FileId {
    /// Identity from the metadata of a file.
    pub(crate) fn of(found: &fs::Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
        }
    }

    /// Identity of the file at `path` itself: a symbolic link is not followed.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        fs::symlink_metadata(path).map(|found| Self::of(&found))
    }
}

/// The fate of a file that is no longer in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileFate {
    /// The file was deleted; its content is lost when this process ends.
    Deleted,
    Moved {
        /// New path of the file.
        to: PathBuf,
    },
    /// The file is not in its place, and the system does not tell its path.
    Gone,
    /// Another file has taken its place.
    Replaced,
    /// A symbolic link has taken its place. SQLite would look for the log beside the file that the link leads to.
    Linked,
}

impl fmt::Display for FileFate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deleted => f.write_str("was deleted"),
            Self::Moved { to } => write!(f, "was moved to {}", to.display()),
            Self::Gone => f.write_str("was deleted or moved"),
            Self::Replaced => f.write_str("was replaced by another file"),
            Self::Linked => f.write_str("was replaced by a symbolic link"),
        }
    }
}

/// A file of the store is no longer the one this process opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the store is no longer there: {} {fate} while this process held it", path.display())]
pub struct StoreLost {
    /// Original path of the file.
    pub path: PathBuf,
    pub fate: FileFate,
}

/// The files this process holds open, with their identities.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct HeldFiles {
    files: Vec<(PathBuf, FileId)>,
}

impl HeldFiles {
    /// Records the files of the open database at `path`. SQLite has created its log and the log's index by now.
    pub(crate) fn of_database(conn: &Connection, path: &Path) -> Result<Self, Error> {
        let mut held = Self::default();
        for suffix in ["", "-wal", "-shm"] {
            let path = open::with_suffix(path, suffix);
            let id = FileId::at(&path).map_err(|error| open::file_error(&path, &error))?;
            held.add(path, id);
        }
        if has_moved(conn)? {
            return Err(Error::Lost(lost(path, FileFate::Replaced)));
        }
        Ok(held)
    }

    /// Records the file at `path` alone, for readers, which own no log.
    pub(crate) fn of_file(path: &Path) -> Result<Self, Error> {
        let id = FileId::at(path).map_err(|error| open::file_error(path, &error))?;
        let mut held = Self::default();
        held.add(path.to_owned(), id);
        Ok(held)
    }

    fn add(&mut self, path: PathBuf, id: FileId) {
        self.files.push((path, id));
    }

    /// Adds a file that is checked first: the home's lock file is missing when the whole home is gone.
    pub(crate) fn add_first(&mut self, path: PathBuf, id: FileId) {
        self.files.insert(0, (path, id));
    }

    /// Recorded identity of the file at this path.
    pub(crate) fn id_of(&self, path: &Path) -> Option<FileId> {
        let found = self.files.iter().find(|(noted, _)| noted == path);
        found.map(|(_, id)| *id)
    }

    /// Returns the first file that is no longer in its place.
    pub(crate) fn first_lost(&self) -> Option<StoreLost> {
        self.files.iter().find_map(|(path, id)| look(path, *id))
    }

    /// Returns true if only the file at `path` is lost, and no other file has taken its place.
    pub(crate) fn lacks_only(&self, path: &Path) -> bool {
        let is_free = |path: &Path| FileId::at(path).is_err_and(|error| is_absence(&error));
        self.files.iter().all(|(noted, id)| {
            if noted == path {
                is_free(noted)
            } else {
                look(noted, *id).is_none()
            }
        })
    }
}

/// Returns true if the file of an open connection has been renamed or deleted.
pub(crate) fn has_moved(conn: &Connection) -> Result<bool, Error> {
    let mut moved = 0;
    conn.file_control(Some("main"), FileControl::HasMoved(&mut moved))?;
    Ok(moved != 0)
}

/// Checks one file. A file that cannot be examined counts as present, because an inaccessible directory has lost
/// nothing.
fn look(path: &Path, id: FileId) -> Option<StoreLost> {
    match fs::symlink_metadata(path) {
        Ok(found) if FileId::of(&found) == id => None,
        Ok(found) if found.is_symlink() => Some(lost(path, FileFate::Linked)),
        Ok(_) => Some(lost(path, FileFate::Replaced)),
        Err(error) if is_absence(&error) => Some(lost(path, fate_of(id))),
        Err(_) => None,
    }
}

pub(crate) fn lost(path: &Path, fate: FileFate) -> StoreLost {
    let path = path.to_owned();
    StoreLost { path, fate }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Finds the fate of an open file from the names that the system reports for this process's open files.
fn fate_of(id: FileId) -> FileFate {
    let Ok(open) = fs::read_dir("/proc/self/fd") else {
        return FileFate::Gone;
    };
    // The entries of this directory are links to the open files.
    let is_it = |path: &PathBuf| fs::metadata(path).is_ok_and(|found| FileId::of(&found) == id);
    let found = open.flatten().map(|entry| entry.path()).find(is_it);
    match found.and_then(|path| fs::read_link(path).ok()) {
        Some(name) if name.to_string_lossy().ends_with(DELETED) => FileFate::Deleted,
        Some(to) => FileFate::Moved { to },
        None => FileFate::Gone,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Db;

    struct TestFiles {
        directory: tempfile::TempDir,
        db: Db,
    }

    impl TestFiles {
        fn new() -> Self {
            let directory = tempfile::tempdir().expect("a directory");
            let db = Db::open(&directory.path().join("s.sqlite3")).expect("opens");
            Self { directory, db }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.directory.path().join(name)
        }

        fn lost(&self) -> Option<(String, FileFate)> {
            let lost = self.db.held.first_lost()?;
            let name = lost.path.file_name().expect("a name").to_string_lossy();
            Some((name.into_owned(), lost.fate))
        }
    }

    #[test]
    fn each_file_that_is_deleted_moved_or_replaced_is_named_with_its_fate() {
        for name in ["s.sqlite3", "s.sqlite3-wal", "s.sqlite3-shm"] {
            let place = TestFiles::new();
            assert_eq!(place.lost(), None);
            let (here, away) = (place.path(name), place.path("away"));
            fs::rename(&here, &away).expect("moves");
            let moved = FileFate::Moved { to: away.clone() };
            assert_eq!(place.lost(), Some((name.to_owned(), moved)));
            fs::copy(&away, &here).expect("copies");
            assert_eq!(place.lost(), Some((name.to_owned(), FileFate::Replaced)));
            fs::rename(&away, &here).expect("moves back");
            assert_eq!(place.lost(), None);
            fs::remove_file(&here).expect("removes");
            assert_eq!(place.lost(), Some((name.to_owned(), FileFate::Deleted)));
        }
    }

    #[test]
    fn a_link_to_the_moved_file_does_not_stand_for_the_file() {
        for name in ["s.sqlite3", "s.sqlite3-wal", "s.sqlite3-shm"] {
            let place = TestFiles::new();
            let (here, away) = (place.path(name), place.path("away"));
            fs::rename(&here, &away).expect("moves");
            std::os::unix::fs::symlink(&away, &here).expect("links");
            assert_eq!(place.lost(), Some((name.to_owned(), FileFate::Linked)));
            assert!(!place.db.held.lacks_only(&here), "its place is not free");
        }
    }

    #[test]
    fn only_a_log_that_is_gone_beside_a_sound_file_leaves_something_to_save() {
        let place = TestFiles::new();
        let wal = place.path("s.sqlite3-wal");
        let held = &place.db.held;
        assert!(!held.lacks_only(&wal), "it is there");
        fs::rename(&wal, place.path("away")).expect("moves");
        assert!(held.lacks_only(&wal));
        fs::write(&wal, "").expect("writes");
        assert!(!held.lacks_only(&wal), "another one is in its place");
        fs::remove_file(&wal).expect("removes");
        fs::remove_file(place.path("s.sqlite3")).expect("removes");
        assert!(!held.lacks_only(&wal), "the file is gone as well");
    }
}
