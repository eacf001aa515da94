//! Shared helpers for rows: the agent's number, JSON columns and one-row queries.

use crate::error::Error;
use crate::passed_over;
use holon_domain::nesting::parse_stored;
use holon_domain::packed;
use rusqlite::{Connection, Params, Row};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Display;

/// The short number of an agent in this store. It has no meaning outside and may be reused after the agent's last row
/// is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentNo(pub(crate) i64);

impl AgentNo {
    /// Returns the number, for log messages.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0
    }
}

impl Display for AgentNo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// Longest JSON text that is packed, in bytes. A longer row is mostly body, for which there are no codes.
const PACKED_BYTES: usize = 2_048;

/// Writes a value as the text of a column that is filled in every turn: packed if it is short.
pub(crate) fn short_text(value: &impl Serialize) -> Result<String, Error> {
    let plain = serde_json::to_string(value)?;
    if plain.len() > PACKED_BYTES {
        return Ok(plain);
    }
    Ok(packed::pack(&plain).unwrap_or(plain))
}

/// Reads a JSON column, packed or plain. Plain text is not copied.
pub(crate) fn json<T: DeserializeOwned>(
    row: &Row<'_>,
    column: usize,
    table: &'static str,
    key: impl Display,
) -> Result<T, Error> {
    let unreadable = |reason: String| Error::Row {
        table,
        key: key.to_string(),
        reason,
    };
    let text = row
        .get_ref(column)?
        .as_str()
        .map_err(|error| unreadable(error.to_string()))?;
    let unpacked = packed::unpack(text).map_err(|error| unreadable(error.to_string()))?;
    let plain = unpacked.as_deref().unwrap_or(text);
    parse_stored(plain).map_err(|error| unreadable(error.to_string()))
}

/// Returns the first row of a cached query, if there is one.
pub(crate) fn first<T>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnOnce(&Row<'_>) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    match rows.next()? {
        Some(row) => read(row).map(Some).map_err(|fault| fault.in_row(sql, row)),
        None => Ok(None),
    }
}

/// Returns every row of a cached query. The query itself bounds their number.
pub(crate) fn all<T>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    mut read: impl FnMut(&Row<'_>) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(read(row).map_err(|fault| fault.in_row(sql, row))?);
    }
    Ok(found)
}

/// Passes over what cannot be read because of one agent's rows: it becomes `None`, and the fault is kept for the
/// operator. For readers that show the rows of others beside it.
pub(crate) fn readable<T>(conn: &Connection, read: Result<T, Error>) -> Result<Option<T>, Error> {
    match read {
        Ok(found) => Ok(Some(found)),
        Err(fault) if fault.concerns_one_agent() => {
            passed_over::note(conn, &fault);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns every readable row of a cached query, like [`all`]. Rows that cannot be read are passed over.
pub(crate) fn all_readable<T>(
    conn: &Connection,
    sql: &str,
    params: impl Params,
    mut read: impl FnMut(&Row<'_>) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let found = all(conn, sql, params, |row| {
        readable(conn, read(row).map_err(|fault| fault.in_row(sql, row)))
    })?;
    Ok(found.into_iter().flatten().collect())
}

/// What a read does at a row that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// It fails, so that the agent of the row is put aside. For decisions, and for what a model is shown.
    Fails,
    /// It passes over the row and keeps the fault for the operator. For projections.
    IsPassedOver,
}

impl Unreadable {
    /// Returns the rows of a cached query like [`all`].
    pub(crate) fn all<T>(
        self,
        conn: &Connection,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        match self {
            Self::Fails => all(conn, sql, params, read),
            Self::IsPassedOver => all_readable(conn, sql, params, read),
        }
    }

    /// Returns the first row of a cached query like [`first`].
    pub(crate) fn first<T>(
        self,
        conn: &Connection,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let found = first(conn, sql, params, read);
        match self {
            Self::Fails => found,
            Self::IsPassedOver => Ok(readable(conn, found)?.flatten()),
        }
    }
}

/// Runs a cached statement and returns the number of changed rows.
pub(crate) fn run(conn: &Connection, sql: &str, params: impl Params) -> Result<usize, Error> {
    Ok(conn.prepare_cached(sql)?.execute(params)?)
}

/// Converts a count to a row limit. A count beyond SQLite's range means no limit.
pub(crate) fn limit(count: impl TryInto<i64>) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_cannot_be_read_is_named_by_its_table_its_numbers_and_its_column() {
        let conn = Connection::open_in_memory().expect("opens");
        let made = conn.execute_batch(
            "CREATE TABLE shelf (seq, at, word, more);
             INSERT INTO shelf VALUES (7, 3, CAST(x'ff' AS TEXT), -1)",
        );
        made.expect("a table");
        let word = |row: &Row<'_>| Ok(row.get::<_, String>(2)?);
        let sql = "SELECT seq, at, word FROM shelf WHERE seq = 7";
        let fault = first(&conn, sql, [], word).expect_err("is no text");
        let named = "row of shelf, seq 7, at 3, column word: ";
        assert!(fault.to_string().contains(named), "{fault}");
        let every = all(&conn, sql, [], word).expect_err("is no text");
        assert_eq!(every, fault);
        let sum = "SELECT seq, more + 0 FROM shelf";
        let number = |row: &Row<'_>| Ok(row.get::<_, u64>(1)?);
        let fault = first(&conn, sum, [], number).expect_err("is below zero");
        let named = "row of shelf, seq 7, column 1: it holds the number -1";
        assert!(fault.to_string().contains(named), "{fault}");
    }
}
