//! Damage to a database that no build does by itself: rows changed by hand, as a bad disk or a newer build would leave
//! them.

#![allow(
    clippy::disallowed_methods,
    reason = "tests change rows behind the store's back"
)]

use std::path::Path;

/// Runs SQL on a database file beside whoever has it open. Answers how many rows it changed.
///
/// # Panics
/// When the file or the SQL is no good.
pub fn sql(db: &Path, sql: &str) -> usize {
    let conn = rusqlite::Connection::open(db).unwrap();
    conn.busy_timeout(std::time::Duration::from_secs(10))
        .unwrap();
    conn.execute(sql, []).unwrap()
}
