//! Opens and creates the database file, and sets up its connections.
//!
//! Invariant: a file is created only where there is none, and appears complete under its name or not at all. A file
//! that is foreign, damaged or too new is refused before SQLite touches it.

use crate::error::Error;
use crate::migrate;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Application id in the file header; it distinguishes our files from other databases. Spells `HLN1`.
const APPLICATION_ID: u32 = 0x484c_4e31;
/// Older versions can lose a commit when a write-ahead log is restarted during a checkpoint.
const OLDEST_SQLITE: i32 = 3_051_003;
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
const HEADER_BYTES: usize = 100;
/// Time a statement waits for the checkpoint thread to release its lock.
const BUSY: std::time::Duration = std::time::Duration::from_secs(10);
/// Size of the statement cache; every hot statement stays prepared.
const STATEMENTS: usize = 128;
/// Pages that the writer keeps, in KiB: what one batch changes, and the ends of the tables, which every decision reads.
/// SQLite keeps appended pages up to this bound, so it is a part of the memory of every host that has run for a while.
const WRITER_CACHE_KIB: u32 = 2_048;
/// Pages that each reader keeps, in KiB. Every commit makes them stale, so they serve one read.
const READER_CACHE_KIB: u32 = 1_024;
/// Epoch of an in-memory database. It is fixed, so that a simulation is the same for the same seed.
const MEMORY_EPOCH: &str = "in-memory";

/// Opens the file for writing, creates it if it is missing, and migrates its schema.
pub(crate) fn open_writable(path: &Path) -> Result<Connection, Error> {
    check_library()?;
    check_plain(path)?;
    if !path
        .try_exists()
        .map_err(|error| file_error(path, &error))?
    {
        create(path)?;
    }
    check_header(path)?;
    let conn = reopen(path)?;
    enable_wal(&conn, path)?;
    migrate::run(&conn, migrate::MIGRATIONS)?;
    Ok(conn)
}

/// Opens an existing file for writing without changing it.
///
/// It does not open the file itself: closing a plain handle would drop the locks that other connections of this process
/// hold on the file, and another program could then truncate the log under them.
pub(crate) fn reopen(path: &Path) -> Result<Connection, Error> {
    let conn = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    configure(&conn, WRITER_CACHE_KIB)
        .and_then(|()| check_schema(&conn, path))
        .map_err(|error| to_damage(path, error))?;
    Ok(conn)
}

/// Opens an existing file for reading; like `reopen`, through SQLite only.
pub(crate) fn open_readable(path: &Path) -> Result<Connection, Error> {
    let conn = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let setup = configure(&conn, READER_CACHE_KIB)
        .and_then(|()| Ok(conn.execute_batch("PRAGMA query_only = ON")?));
    setup
        .and_then(|()| check_schema(&conn, path))
        .map_err(|error| to_damage(path, error))?;
    Ok(conn)
}

/// Creates a database file for the copy of a store, readable by this user alone. The file must not exist.
pub(crate) fn create_copy(path: &Path) -> Result<Connection, Error> {
    let mut options = OpenOptions::new();
    let created = options.write(true).create_new(true).mode(0o600).open(path);
    created.map_err(|error| file_error(path, &error))?;
    let conn = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    conn.busy_timeout(BUSY)?;
    Ok(conn)
}

/// Creates an empty in-memory database.
pub(crate) fn open_memory() -> Result<Connection, Error> {
    check_library()?;
    let conn = Connection::open_in_memory()?;
    create_schema(&conn, MEMORY_EPOCH)?;
    configure(&conn, WRITER_CACHE_KIB)?;
    Ok(conn)
}

/// Loads an image into an in-memory database.
pub(crate) fn from_image(image: &[u8]) -> Result<Connection, Error> {
    check_library()?;
    let mut conn = Connection::open_in_memory()?;
    conn.deserialize_read_exact("main", image, image.len(), false)?;
    configure(&conn, WRITER_CACHE_KIB)?;
    check_schema(&conn, Path::new(MEMORY_EPOCH))?;
    migrate::run(&conn, migrate::MIGRATIONS)?;
    Ok(conn)
}

fn check_library() -> Result<(), Error> {
    let found = rusqlite::version_number();
    if found < OLDEST_SQLITE {
        Err(Error::OldSqlite {
            found,
            needed: OLDEST_SQLITE,
        })
    } else {
        Ok(())
    }
}

/// A database, the files beside it that SQLite opens by itself, and the note of the process that holds it.
const COMPANIONS: [&str; 5] = ["", "-journal", "-wal", "-shm", "-held"];

/// Checks that the database and the files beside it are plain files, as far as they are there. Opening a pipe would wait
/// for its other end for ever. The opener of the store refuses links.
pub(crate) fn check_plain(path: &Path) -> Result<(), Error> {
    for suffix in COMPANIONS {
        let path = with_suffix(path, suffix);
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(file_error(&path, &error)),
            Ok(found) if found.is_file() || found.is_symlink() => {}
            Ok(_) => {
                let reason = "it is not a regular file; move it away".to_owned();
                return Err(Error::File { path, reason });
            }
        }
    }
    Ok(())
}

fn connect(path: &Path, mode: OpenFlags) -> Result<Connection, Error> {
    check_plain(path)?;
    Connection::open_with_flags(path, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX).map_err(|error| {
        Error::File {
            path: path.to_owned(),
            reason: error.to_string(),
        }
    })
}

fn configure(conn: &Connection, cache_kib: u32) -> Result<(), Error> {
    conn.busy_timeout(BUSY)?;
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    // Without this, SQLite replans a query on a partial index for every parameter value.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // A dropped connection must write nothing more, because its file may no longer be the store.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    conn.execute_batch(&format!(
        "PRAGMA synchronous = FULL; PRAGMA foreign_keys = OFF; PRAGMA trusted_schema = OFF;
         PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA wal_autocheckpoint = 0;
         PRAGMA temp_store = MEMORY; PRAGMA cache_size = -{cache_kib}",
    ))?;
    Ok(())
}

/// Enables write-ahead logging and verifies it. A file restored from a backup or recovered from damage comes without
/// it, and readers would then block commits.
fn enable_wal(conn: &Connection, path: &Path) -> Result<(), Error> {
    let mode: String = conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode == "wal" {
        return Ok(());
    }
    Err(Error::File {
        path: path.to_owned(),
        reason: format!(
            "write-ahead logging cannot be switched on, the journal mode stays {mode:?}; \
             it takes a local file system and no other program on the file"
        ),
    })
}

/// Writes the schema and the creation facts into an empty database.
fn create_schema(conn: &Connection, epoch: &str) -> Result<(), Error> {
    // Must come before the first table; later it would need a rewrite of the whole file.
    conn.execute_batch("PRAGMA auto_vacuum = INCREMENTAL")?;
    conn.execute_batch(&format!("PRAGMA application_id = {APPLICATION_ID}"))?;
    migrate::create(conn)?;
    let rows = [("epoch", epoch), ("created_at", "0"), ("clean_exit", "1")];
    for (key, value) in rows {
        conn.execute(
            "INSERT INTO meta (key, value) VALUES (?1, ?2)",
            [key, value],
        )?;
    }
    Ok(())
}

/// Creates the file under another name and renames it, so that a crash leaves no partial store.
fn create(path: &Path) -> Result<(), Error> {
    let wal = with_suffix(path, "-wal");
    if fs::metadata(&wal).is_ok_and(|found| found.len() > 0) {
        let found = format!(
            "the file is missing, but its write-ahead log {} is there",
            wal.display()
        );
        return Err(Error::Damaged {
            path: path.to_owned(),
            found,
        });
    }
    let draft = with_suffix(path, ".new");
    for suffix in ["", "-journal", "-wal", "-shm"] {
        remove_if_present(&with_suffix(&draft, suffix))?;
    }
    let fail = |error: std::io::Error| file_error(path, &error);
    drop(
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&draft)
            .map_err(fail)?,
    );
    holon_fault::hit("store.draft_made");
    let conn = connect(&draft, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    configure(&conn, WRITER_CACHE_KIB)?;
    // The draft is synced once as a whole and used by nobody else, so it needs no journal and is locked once. A
    // failure or a crash before that leaves a draft, which the next start removes.
    conn.execute_batch(
        "PRAGMA synchronous = OFF; PRAGMA journal_mode = OFF; PRAGMA locking_mode = EXCLUSIVE",
    )?;
    create_schema(&conn, &random_epoch()?)?;
    // Shown to people only, so the database's own clock is good enough.
    conn.execute(
        "UPDATE meta SET value = CAST(unixepoch() * 1000 AS TEXT) WHERE key = 'created_at'",
        [],
    )?;
    enable_wal(&conn, &draft)?;
    close_in_order(conn)?;
    File::open(&draft)
        .and_then(|file| file.sync_all())
        .map_err(fail)?;
    holon_fault::hit("store.draft_written");
    fs::rename(&draft, path).map_err(fail)?;
    if let Some(directory) = path.parent() {
        File::open(directory)
            .and_then(|file| file.sync_all())
            .map_err(fail)?;
    }
    holon_fault::hit("store.created");
    Ok(())
}

/// Closes a connection whose file is in its place. The last connection to the file empties the log.
pub(crate) fn close_in_order(conn: Connection) -> Result<(), Error> {
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    conn.close().map_err(|(_, error)| error.into())
}

fn remove_if_present(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(file_error(path, &error)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Returns the epoch of an open store. A store that has lost it gets a new one: clients' cursors cannot be trusted any
/// more, and a new epoch makes the clients read afresh.
pub(crate) fn epoch(conn: &Connection) -> Result<String, Error> {
    if let Some(epoch) = stored_epoch(conn)? {
        return Ok(epoch);
    }
    let epoch = renew_epoch(conn)?;
    tracing::warn!(
        epoch,
        "the store had lost its identity (`epoch` in `meta`) and has a new one"
    );
    Ok(epoch)
}

/// Gives the store a new epoch, so that clients with cursors of the old one read afresh.
pub(crate) fn renew_epoch(conn: &Connection) -> Result<String, Error> {
    let epoch = random_epoch()?;
    conn.execute(
        "INSERT OR REPLACE INTO meta (key, value) VALUES ('epoch', ?1)",
        [&epoch],
    )?;
    Ok(epoch)
}

/// Reads the stored epoch, if there is one.
pub(crate) fn stored_epoch(conn: &Connection) -> Result<Option<String>, Error> {
    let found = crate::row::first(
        conn,
        "SELECT value FROM meta WHERE key = 'epoch'",
        [],
        |row| Ok(row.get_ref(0)?.as_str().ok().map(str::to_owned)),
    )?;
    Ok(found.flatten())
}

fn random_epoch() -> Result<String, Error> {
    let fail = |error: getrandom::Error| Error::NoRandomness {
        reason: error.to_string(),
    };
    let (high, low) = (
        getrandom::u64().map_err(fail)?,
        getrandom::u64().map_err(fail)?,
    );
    Ok(format!("{high:016x}{low:016x}"))
}

/// Checks the file header before SQLite opens the file, so that a foreign file stays unchanged. Only called before this
/// process has a connection to the file; see `reopen`.
fn check_header(path: &Path) -> Result<(), Error> {
    let damaged = |found: String| {
        Err(Error::Damaged {
            path: path.to_owned(),
            found,
        })
    };
    let mut file = File::open(path).map_err(|error| file_error(path, &error))?;
    let length = file
        .metadata()
        .map_err(|error| file_error(path, &error))?
        .len();
    let mut header = [0_u8; HEADER_BYTES];
    if length == 0 {
        return damaged("the file is empty".to_owned());
    }
    if length < HEADER_BYTES as u64 {
        return damaged(format!("the file has only {length} bytes and is cut off"));
    }
    file.read_exact(&mut header)
        .map_err(|error| file_error(path, &error))?;
    if !header.starts_with(MAGIC) {
        return damaged("the file is not an SQLite database".to_owned());
    }
    let id = read_word(&header, 68);
    if id != APPLICATION_ID {
        return damaged(format!(
            "the file is a database of another program (application id {id:#010x})"
        ));
    }
    let version = i64::from(read_word(&header, 60));
    if version > migrate::newest() {
        return Err(newer_schema(path, version));
    }
    let needed = u64::from(read_word(&header, 28)) * page_size(&header);
    let logged = fs::metadata(with_suffix(path, "-wal")).is_ok_and(|wal| wal.len() > 0);
    // A crash during a checkpoint can leave a short file, which recovery completes from the write-ahead log.
    if length < needed && !logged {
        return damaged(format!("the file is cut off: {length} of {needed} bytes"));
    }
    Ok(())
}

fn read_word(header: &[u8; HEADER_BYTES], at: usize) -> u32 {
    header
        .iter()
        .skip(at)
        .take(4)
        .fold(0, |value, byte| (value << 8) | u32::from(*byte))
}

fn page_size(header: &[u8; HEADER_BYTES]) -> u64 {
    match read_word(header, 16) >> 16 {
        1 => 65_536,
        size => u64::from(size),
    }
}

fn check_schema(conn: &Connection, path: &Path) -> Result<(), Error> {
    let id: u32 = conn.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    if id != APPLICATION_ID {
        let found =
            format!("the file is a database of another program (application id {id:#010x})");
        return Err(Error::Damaged {
            path: path.to_owned(),
            found,
        });
    }
    let version = migrate::version(conn)?;
    if version > migrate::newest() {
        return Err(newer_schema(path, version));
    }
    let tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables == 0 {
        let found = "the file is a database without tables".to_owned();
        return Err(Error::Damaged {
            path: path.to_owned(),
            found,
        });
    }
    Ok(())
}

fn newer_schema(path: &Path, found: i64) -> Error {
    Error::NewerSchema {
        path: path.to_owned(),
        found,
        known: migrate::newest(),
    }
}

fn to_damage(path: &Path, error: Error) -> Error {
    if error.is_damage() {
        Error::Damaged {
            path: path.to_owned(),
            found: error.to_string(),
        }
    } else {
        error
    }
}

/// Converts an I/O error. A full disk becomes the same error as from SQLite.
pub(crate) fn file_error(path: &Path, error: &std::io::Error) -> Error {
    use std::io::ErrorKind;
    if matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    ) {
        return Error::full(format!("{}: {error}", path.display()));
    }
    Error::File {
        path: path.to_owned(),
        reason: error.to_string(),
    }
}

/// Appends a suffix to the file name, as SQLite names the files beside a database.
pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path.as_os_str());
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_without_write_ahead_logging_is_refused_by_name() {
        let conn = Connection::open_in_memory().expect("opens");
        let error = enable_wal(&conn, Path::new("s.sqlite3")).expect_err("is refused");
        let text = error.to_string();
        assert!(
            text.contains("s.sqlite3") && text.contains("\"memory\""),
            "{text}"
        );
    }

    #[test]
    fn a_pipe_in_place_of_a_file_of_the_store_is_refused_by_name() {
        for suffix in COMPANIONS {
            let home = tempfile::tempdir().expect("a place");
            let path = home.path().join("s.sqlite3");
            drop(crate::Db::open(&path).expect("opens"));
            let pipe = with_suffix(&path, suffix);
            // Keeps the inode number in use, so that the pipe is known for another file.
            fs::hard_link(&pipe, home.path().join("kept")).ok();
            remove_if_present(&pipe).expect("removes");
            rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).expect("a pipe");
            let refused = crate::Db::open(&path).map(drop);
            let text = refused.expect_err("is refused").to_string();
            let name = pipe.display().to_string();
            assert!(
                text.contains(&name) && text.contains("move it away"),
                "{text}"
            );
        }
    }
}
