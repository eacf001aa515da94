//! The rows that readers pass over because they cannot be read: logged once each, and kept for the operator.
//!
//! They are kept per database file and process, because a reader holds nothing but a connection. Invariant: the number
//! of kept rows is bounded; beyond it rows are still passed over, but not counted.

use crate::error::Error;
use holon_domain::limits::{PASSED_OVER_KEPT, PASSED_OVER_SHOWN};
use holon_domain::storage::PassedOverRows;
use holon_domain::text;
use rusqlite::Connection;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Longest description of a row, in bytes.
const DESCRIPTION_BYTES: usize = 200;

/// Descriptions of the rows of each file.
static ROWS: Mutex<BTreeMap<PathBuf, BTreeSet<String>>> = Mutex::new(BTreeMap::new());

/// Notes a row that is passed over.
pub(crate) fn note(conn: &Connection, fault: &Error) {
    let description = fault.unreadable_row().unwrap_or_else(|| fault.to_string());
    let description = text::preview(&description, DESCRIPTION_BYTES);
    let mut all = ROWS.lock().unwrap_or_else(PoisonError::into_inner);
    let rows = all.entry(path_of(conn)).or_default();
    if rows.len() < PASSED_OVER_KEPT && rows.insert(description) {
        tracing::warn!(%fault, "a row is passed over");
    }
}

/// Returns the rows of a connection's file that were passed over since this process began.
pub(crate) fn of(conn: &Connection) -> PassedOverRows {
    let all = ROWS.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(rows) = all.get(&path_of(conn)) else {
        return PassedOverRows::default();
    };
    PassedOverRows {
        count: rows.len() as u64,
        first: rows.iter().take(PASSED_OVER_SHOWN).cloned().collect(),
    }
}

/// Returns the path of a connection's file as SQLite resolved it; empty in memory.
fn path_of(conn: &Connection) -> PathBuf {
    PathBuf::from(conn.path().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::all_readable;

    #[test]
    fn a_row_that_is_passed_over_again_and_again_is_counted_once_with_its_table() {
        let dir = tempfile::TempDir::new().expect("a directory");
        let path = dir.path().join("x.sqlite3");
        let conn = Connection::open(&path).expect("a database");
        let made = conn
            .execute_batch("CREATE TABLE shelf (n INTEGER); INSERT INTO shelf VALUES (-1), (7)");
        made.expect("a table");
        for _ in 0..3 {
            let read = all_readable(&conn, "SELECT n FROM shelf", [], |row| {
                Ok(row.get::<_, u64>(0)?)
            });
            assert_eq!(read, Ok(vec![7]));
        }
        let noted = of(&conn);
        assert_eq!(noted.count, 1);
        assert!(noted.first[0].starts_with("shelf, column n: "), "{noted:?}");
        let other = Connection::open(dir.path().join("y.sqlite3")).expect("a database");
        assert_eq!(of(&other), PassedOverRows::default());
    }
}
