//! Damage to a database that no build causes by itself: rows changed as a bad disk or a newer build would leave them.

#![allow(
    clippy::disallowed_methods,
    reason = "tests change rows behind the store's back"
)]

use std::path::Path;

/// Runs SQL on a database file that may be open elsewhere. Returns the number of changed rows.
///
/// # Panics
/// When the file or the SQL is invalid.
pub fn sql(db: &Path, sql: &str) -> usize {
    let conn = rusqlite::Connection::open(db).unwrap();
    conn.busy_timeout(std::time::Duration::from_secs(10))
        .unwrap();
    conn.execute(sql, []).unwrap()
}

/// Reads the first column of every row that a query finds, as text.
///
/// # Panics
/// When the file or the SQL is invalid, or a column is no text.
#[must_use]
pub fn rows(db: &Path, sql: &str) -> Vec<String> {
    let conn = rusqlite::Connection::open(db).unwrap();
    let mut statement = conn.prepare(sql).unwrap();
    let found = statement.query_map([], |row| row.get(0)).unwrap();
    found.map(Result::unwrap).collect()
}

/// Runs SQL on an image of a database. Returns the new image and the number of changed rows.
///
/// # Panics
/// When the image or the SQL is invalid.
#[must_use]
pub fn in_image(image: &[u8], sql: &str) -> (Vec<u8>, usize) {
    let mut conn = rusqlite::Connection::open_in_memory().unwrap();
    conn.deserialize_read_exact("main", image, image.len(), false)
        .unwrap();
    let changed = conn.execute(sql, []).unwrap();
    (conn.serialize("main").unwrap().to_vec(), changed)
}
