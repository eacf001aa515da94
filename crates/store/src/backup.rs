//! Copies of a store: a consistent one of a store that a host may be using, and the marks of a restored one.

use crate::error::Error;
use crate::exit;
use crate::migrate;
use crate::open;
use rusqlite::Connection;
use rusqlite::backup::Backup;
use std::path::Path;
use std::time::Duration;

/// Pause between two tries to copy while the store is locked for a moment.
const RETRY_PAUSE: Duration = Duration::from_millis(20);

/// A copy of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreCopy {
    pub schema_version: i64,
    /// Identity of the store that was copied.
    pub epoch: String,
    pub agents: u64,
}

/// Copies the store at `db_path` to a new file. The copy holds every commit up to one moment. A host goes on committing
/// meanwhile; its log grows until the copy is done.
///
/// # Errors
/// When the store cannot be read, or the copy cannot be written.
pub fn copy_store(db_path: &Path, target: &Path) -> Result<StoreCopy, Error> {
    let source = open::open_readable(db_path)?;
    let mut copy = open::create_copy(target)?;
    {
        let backup = Backup::new(&source, &mut copy)?;
        // All pages in one step, so that one read transaction covers them. With several steps a commit of the host
        // between two of them begins the copy anew.
        backup.run_to_completion(i32::MAX, RETRY_PAUSE, None)?;
    }
    describe(&copy)
}

/// Gives a restored store an identity of its own, removes its named tokens, and marks that its open calls may have been
/// performed elsewhere.
///
/// # Errors
/// When the file is no store, is newer than this build, or cannot be written.
pub fn mark_restored(db_path: &Path) -> Result<StoreCopy, Error> {
    let conn = open::open_writable(db_path)?;
    open::renew_epoch(&conn)?;
    exit::mark_restored(&conn)?;
    // A token that was revoked after the backup must not count again.
    conn.execute("DELETE FROM tokens", [])?;
    let copy = describe(&conn)?;
    open::close_in_order(conn)?;
    Ok(copy)
}

fn describe(conn: &Connection) -> Result<StoreCopy, Error> {
    let agents = conn.query_row("SELECT count(*) FROM agents", [], |row| row.get(0))?;
    Ok(StoreCopy {
        schema_version: migrate::version(conn)?,
        epoch: open::stored_epoch(conn)?.unwrap_or_default(),
        agents,
    })
}
