//! The file of a memory index: where it lies, how it is made, and the checks before it is used.
//!
//! The agent's own commands can write to its home, so anything may be in the place of the file. No link is followed, and
//! a file whose schema is not exactly the one of this build is thrown away.

use super::fault::IndexFault;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Application id in the file header. Spells `HLNM`.
const APPLICATION_ID: i64 = 0x484c_4e4d;
/// Version of the tables, of the projection and of what documents hold. An index of another version is built anew.
pub(super) const VERSION: i64 = 3;
const FILE: &str = "memory.sqlite3";
const MARKER: &str = "memory.dirty";
/// Files that SQLite puts beside a database.
const COMPANIONS: [&str; 4] = ["", "-wal", "-shm", "-journal"];
/// Pages that a connection keeps, in KiB.
const CACHE_KIB: u32 = 4_096;

const TABLES: [&str; 4] = [
    "CREATE TABLE state (key TEXT NOT NULL PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE TABLE documents (document_no INTEGER PRIMARY KEY, source_ref TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, \
     workspace_id TEXT, hash TEXT NOT NULL, provenance TEXT NOT NULL, body TEXT NOT NULL) STRICT",
    "CREATE INDEX documents_kind ON documents (kind)",
    "CREATE VIRTUAL TABLE documents_fts USING fts5(title, body, content='', contentless_delete=1, \
     tokenize = \"porter unicode61 remove_diacritics 2 categories 'L* N* Co M*' tokenchars '_-./:@#+~'\")",
];
/// A match in a title counts this many times as much as one in a body.
const RANK: &str =
    "INSERT INTO documents_fts (documents_fts, rank) VALUES ('rank', 'bm25(3.0, 1.0)')";

/// The files of one agent's index.
#[derive(Debug, Clone)]
pub(super) struct Files {
    dir: PathBuf,
}

impl Files {
    /// Names the files in an agent's home, and makes their folders. `None` if there is no home.
    pub(super) fn in_home(agent_home: &Path) -> Result<Option<Self>, IndexFault> {
        // Links above the home are the operator's; from here on none is followed.
        let home = match fs::canonicalize(agent_home) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            found => found.map_err(|error| IndexFault::of_file(agent_home, &error))?,
        };
        let mut dir = home;
        for name in [".holon", "indexes"] {
            dir.push(name);
            match fs::DirBuilder::new().mode(0o700).create(&dir) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(IndexFault::of_file(&dir, &error));
                }
                Ok(()) | Err(_) => {}
            }
            let found = fs::symlink_metadata(&dir).map_err(|e| IndexFault::of_file(&dir, &e))?;
            if !found.is_dir() {
                let reason = format!("{} is not a directory", dir.display());
                return Err(IndexFault::Unavailable { reason });
            }
        }
        Ok(Some(Self { dir }))
    }

    /// Names the files in an agent's home without a look at it.
    pub(super) fn named_in(agent_home: &Path) -> Self {
        Self {
            dir: agent_home.join(".holon").join("indexes"),
        }
    }

    fn index(&self) -> PathBuf {
        self.dir.join(FILE)
    }

    fn marker(&self) -> PathBuf {
        self.dir.join(MARKER)
    }

    /// Opens the index if a sound one is there.
    pub(super) fn open(&self) -> Result<Option<Connection>, IndexFault> {
        self.open_for(OpenFlags::SQLITE_OPEN_READ_WRITE)
    }

    /// Opens the index for a look, if a sound one is there.
    pub(super) fn open_to_read(&self) -> Result<Option<Connection>, IndexFault> {
        self.open_for(OpenFlags::SQLITE_OPEN_READ_ONLY)
    }

    fn open_for(&self, access: OpenFlags) -> Result<Option<Connection>, IndexFault> {
        let path = self.index();
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(IndexFault::of_file(&path, &error)),
            Ok(found) if !found.is_file() => {
                return Err(IndexFault::unsound("it is not a regular file"));
            }
            Ok(_) => {}
        }
        self.check_companions()?;
        let conn = connect(&path, access)?;
        check(&conn)?;
        Ok(Some(conn))
    }

    /// Checks that everything beside the index is a plain file. SQLite would wait for the other end of a pipe for ever.
    fn check_companions(&self) -> Result<(), IndexFault> {
        for path in self.companions() {
            match fs::symlink_metadata(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(IndexFault::of_file(&path, &error)),
                Ok(found) if !found.is_file() => {
                    return Err(IndexFault::unsound(
                        "a file beside it is not a regular file",
                    ));
                }
                Ok(_) => {}
            }
        }
        Ok(())
    }

    fn companions(&self) -> impl Iterator<Item = PathBuf> {
        let index = self.index();
        COMPANIONS.into_iter().map(move |suffix| {
            let mut name = index.clone().into_os_string();
            name.push(suffix);
            PathBuf::from(name)
        })
    }

    /// Makes an empty index. The marker is written first, so that an interrupted build is noticed.
    pub(super) fn create(&self) -> Result<Connection, IndexFault> {
        self.mark()?;
        // What stands beside an index that is gone belongs to no index.
        for stray in self.companions().filter(|path| *path != self.index()) {
            remove_if_present(&stray)?;
        }
        let path = self.index();
        let mut options = OpenOptions::new();
        let made = options.write(true).create_new(true).mode(0o600).open(&path);
        made.map_err(|error| IndexFault::of_file(&path, &error))?;
        let conn = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let mode: String = conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
        tracing::trace!(mode, "made a memory index");
        let tables = TABLES.join("; ");
        conn.execute_batch(&format!(
            "BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION_ID}; {tables}; {RANK}; \
             PRAGMA user_version = {VERSION}; COMMIT"
        ))?;
        Ok(conn)
    }

    /// Removes the index with everything beside it. What is no plain file is removed by its name only.
    pub(super) fn discard(&self) -> Result<(), IndexFault> {
        for path in self.companions() {
            remove_if_present(&path)?;
        }
        Ok(())
    }

    /// Writes the marker of an index that is not complete.
    pub(super) fn mark(&self) -> Result<(), IndexFault> {
        let path = self.marker();
        let mut options = OpenOptions::new();
        match options.write(true).create_new(true).mode(0o600).open(&path) {
            Ok(mut file) => file
                .write_all(b"The memory index is being rebuilt. It can be deleted at any time.\n")
                .map_err(|error| IndexFault::of_file(&path, &error)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(IndexFault::of_file(&path, &error)),
        }
    }

    /// Returns true if something is in the place of the index.
    pub(super) fn is_there(&self) -> bool {
        fs::symlink_metadata(self.index()).is_ok()
    }

    pub(super) fn is_marked(&self) -> bool {
        fs::symlink_metadata(self.marker()).is_ok()
    }

    pub(super) fn unmark(&self) -> Result<(), IndexFault> {
        remove_if_present(&self.marker())
    }
}

fn remove_if_present(path: &Path) -> Result<(), IndexFault> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(IndexFault::of_file(path, &error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

fn connect(path: &Path, access: OpenFlags) -> Result<Connection, IndexFault> {
    let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let conn = Connection::open_with_flags(path, access | flags)?;
    set_up(&conn)?;
    Ok(conn)
}

fn set_up(conn: &Connection) -> Result<(), IndexFault> {
    let patience = Duration::from_millis(holon_domain::limits::MEMORY_LOCK_MS);
    conn.busy_timeout(patience)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    // A crash may cost the last changes, which are then taken again; it never damages the file.
    conn.execute_batch(&format!(
        "PRAGMA synchronous = NORMAL; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; \
         PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -{CACHE_KIB}"
    ))?;
    Ok(())
}

/// Checks that the file is an index of this version and holds nothing else, such as a trigger.
fn check(conn: &Connection) -> Result<(), IndexFault> {
    let number = |sql: &str| conn.query_row(sql, [], |row| row.get::<_, i64>(0));
    let owner = number("PRAGMA application_id")?;
    if owner == 0 && number("SELECT count(*) FROM sqlite_schema")? == 0 {
        return Err(IndexFault::unsound("its making was interrupted"));
    }
    if owner != APPLICATION_ID {
        return Err(IndexFault::unsound("it belongs to another program"));
    }
    if number("PRAGMA user_version")? != VERSION {
        return Err(IndexFault::unsound("it has another version"));
    }
    let mut statement = conn.prepare(
        "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT GLOB 'documents_fts_*' ORDER BY rowid",
    )?;
    let found: Vec<String> = statement
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    if found != TABLES {
        return Err(IndexFault::unsound(
            "its tables are not those of this build",
        ));
    }
    let foreign = number("SELECT count(*) FROM sqlite_schema WHERE type IN ('trigger', 'view')")?;
    if foreign > 0 {
        return Err(IndexFault::unsound("it holds a trigger or a view"));
    }
    Ok(())
}

/// Makes an index in memory, for an agent without a home.
pub(super) fn in_memory() -> Result<Connection, IndexFault> {
    let conn = Connection::open_in_memory()?;
    set_up(&conn)?;
    let tables = TABLES.join("; ");
    conn.execute_batch(&format!("{tables}; {RANK}"))?;
    Ok(conn)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_whose_making_a_kill_interrupted_is_not_called_foreign() {
        let home = tempfile::tempdir().expect("a directory");
        let files = Files::in_home(home.path()).expect("makes").expect("a home");
        fs::write(files.index(), "").expect("an empty file");
        let fault = files.open().expect_err("is no index yet").to_string();
        assert!(fault.contains("its making was interrupted"), "{fault}");
        let foreign = Connection::open(files.index()).expect("opens");
        foreign.execute_batch("CREATE TABLE x (y)").expect("makes");
        drop(foreign);
        let fault = files.open().expect_err("is foreign").to_string();
        assert!(fault.contains("belongs to another program"), "{fault}");
    }
}
