//! Whether the store is still where it was opened: the numbers of its files, noted once and compared by path.
//!
//! A file is only looked at, never opened: closing a handle on the database would drop the locks that SQLite holds on
//! it in this process. The files stay open for as long as the store does, so the system gives their numbers to no
//! other file meanwhile.

use crate::error::Error;
use crate::open;
use rusqlite::{Connection, FileControl};
use std::fmt;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// What the system appends to the name of an open file that has been deleted.
const DELETED: &str = " (deleted)";

/// What a file is apart from its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileId {
    device: u64,
    pub(crate) inode: u64,
}

impl FileId {
    /// The file that `found` tells of.
    pub(crate) fn of(found: &fs::Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
        }
    }

    /// The file that stands at `path` now.
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        fs::metadata(path).map(|found| Self::of(&found))
    }
}

/// What became of a file that is no longer in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It was deleted; what it holds ends with this process.
    Deleted,
    /// It has another name now.
    Moved {
        /// Its name.
        to: PathBuf,
    },
    /// It is not in its place, and the system does not say where it is.
    Gone,
    /// Another file stands in its place.
    Replaced,
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deleted => f.write_str("was deleted"),
            Self::Moved { to } => write!(f, "was moved to {}", to.display()),
            Self::Gone => f.write_str("was deleted or moved"),
            Self::Replaced => f.write_str("was replaced by another file"),
        }
    }
}

/// A file of the store is no longer the one this process opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the store is no longer there: {} {fate} while this process held it", path.display())]
pub struct StoreLost {
    /// Where the file was.
    pub path: PathBuf,
    /// What became of it.
    pub fate: Fate,
}

/// The files this process holds, with what each was when it was opened.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Held {
    files: Vec<(PathBuf, FileId)>,
}

impl Held {
    /// Notes the files of the open database at `path`. SQLite has made its log and the index of that by now.
    pub(crate) fn of_database(conn: &Connection, path: &Path) -> Result<Self, Error> {
        let mut held = Self::default();
        for suffix in ["", "-wal", "-shm"] {
            let path = open::beside(path, suffix);
            let id = FileId::at(&path).map_err(|error| open::file_error(&path, &error))?;
            held.add(path, id);
        }
        if has_moved(conn)? {
            return Err(Error::Lost(lost(path, Fate::Replaced)));
        }
        Ok(held)
    }

    fn add(&mut self, path: PathBuf, id: FileId) {
        self.files.push((path, id));
    }

    /// Notes a file that is looked at first: the lock of the home goes with the whole of it.
    pub(crate) fn add_first(&mut self, path: PathBuf, id: FileId) {
        self.files.insert(0, (path, id));
    }

    /// The file noted for this path.
    pub(crate) fn id_of(&self, path: &Path) -> Option<FileId> {
        let found = self.files.iter().find(|(noted, _)| noted == path);
        found.map(|(_, id)| *id)
    }

    /// The first file that is not in its place any more.
    pub(crate) fn first_lost(&self) -> Option<StoreLost> {
        self.files.iter().find_map(|(path, id)| look(path, *id))
    }

    /// Whether the file at `path` alone is lost, and nothing has taken its place.
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

/// Whether the file of an open connection has another name or none by now.
pub(crate) fn has_moved(conn: &Connection) -> Result<bool, Error> {
    let mut moved = 0;
    conn.file_control(Some("main"), FileControl::HasMoved(&mut moved))?;
    Ok(moved != 0)
}

/// Where the file at `path` cannot be looked at, it counts as there: a directory that may not be entered for a while
/// has lost nothing.
fn look(path: &Path, id: FileId) -> Option<StoreLost> {
    match FileId::at(path) {
        Ok(found) if found == id => None,
        Ok(_) => Some(lost(path, Fate::Replaced)),
        Err(error) if is_absence(&error) => Some(lost(path, fate_of(id))),
        Err(_) => None,
    }
}

pub(crate) fn lost(path: &Path, fate: Fate) -> StoreLost {
    let path = path.to_owned();
    StoreLost { path, fate }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// What became of an open file, by the names the system has for the open files of this process.
fn fate_of(id: FileId) -> Fate {
    let Ok(open) = fs::read_dir("/proc/self/fd") else {
        return Fate::Gone;
    };
    let is_it = |path: &PathBuf| FileId::at(path).is_ok_and(|found| found == id);
    let found = open.flatten().map(|entry| entry.path()).find(is_it);
    match found.and_then(|path| fs::read_link(path).ok()) {
        Some(name) if name.to_string_lossy().ends_with(DELETED) => Fate::Deleted,
        Some(to) => Fate::Moved { to },
        None => Fate::Gone,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Db;

    struct Place {
        directory: tempfile::TempDir,
        db: Db,
    }

    impl Place {
        fn new() -> Self {
            let directory = tempfile::tempdir().expect("a directory");
            let db = Db::open(&directory.path().join("s.sqlite3")).expect("opens");
            Self { directory, db }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.directory.path().join(name)
        }

        fn lost(&self) -> Option<(String, Fate)> {
            let lost = self.db.held.first_lost()?;
            let name = lost.path.file_name().expect("a name").to_string_lossy();
            Some((name.into_owned(), lost.fate))
        }
    }

    #[test]
    fn each_file_that_is_deleted_moved_or_replaced_is_named_with_its_fate() {
        for name in ["s.sqlite3", "s.sqlite3-wal", "s.sqlite3-shm"] {
            let place = Place::new();
            assert_eq!(place.lost(), None);
            let (here, away) = (place.path(name), place.path("away"));
            fs::rename(&here, &away).expect("moves");
            let moved = Fate::Moved { to: away.clone() };
            assert_eq!(place.lost(), Some((name.to_owned(), moved)));
            fs::copy(&away, &here).expect("copies");
            assert_eq!(place.lost(), Some((name.to_owned(), Fate::Replaced)));
            fs::rename(&away, &here).expect("moves back");
            assert_eq!(place.lost(), None);
            fs::remove_file(&here).expect("removes");
            assert_eq!(place.lost(), Some((name.to_owned(), Fate::Deleted)));
        }
    }

    #[test]
    fn only_a_log_that_is_gone_beside_a_sound_file_leaves_something_to_save() {
        let place = Place::new();
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
