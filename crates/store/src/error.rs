//! Errors of the store, worded so that the reader knows the next step.
//!
//! No SQLite type leaves the crate: `Error` carries the result code and the message only.

use crate::held_files::StoreLost;
use holon_domain::AgentId;
use std::path::PathBuf;

/// Mask of the primary part of an extended result code.
const PRIMARY: i32 = 0xff;
/// Stands for the table where SQLite reports a value without one.
const UNNAMED_TABLE: &str = "row";
/// Precede the number of a column, and the name of a table.
const COLUMN: &str = "column ";
const OF: &str = "of ";
/// Columns of numbers that tell which row it is.
const ROW_NUMBERS: usize = 2;
/// Bytes of a fact that an error shows.
const FACT_PREVIEW_BYTES: usize = 200;

/// A failure of the store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// SQLite answered with an error.
    #[error("the database answered with an error ({code}): {message}")]
    Sqlite { code: i32, message: String },
    /// The file is not one that this build may change.
    #[error(
        "{path}: {found}. The file was left untouched. Move it aside and restore a backup, or save what can be read with: sqlite3 {path} \".recover\" | sqlite3 recovered.sqlite3"
    )]
    Damaged {
        path: PathBuf,
        /// Description of the fault.
        found: String,
    },
    /// The file belongs to a later build.
    #[error(
        "{path} has schema version {found}, and this build knows versions up to {known}. The file was left untouched. Start the newer build again, or move the file aside and restore a backup made before the upgrade"
    )]
    NewerSchema {
        path: PathBuf,
        /// Schema version of the file.
        found: i64,
        /// Newest schema version that this build knows.
        known: i64,
    },
    /// The file or its directory cannot be used.
    #[error(
        "cannot use {path}: {reason}. Check that the directory exists, belongs to this user and has free space"
    )]
    File { path: PathBuf, reason: String },
    /// The write-ahead log beside the file belongs to another file.
    #[error(
        "{log} is the write-ahead log of another file than {path}: the file its process held was moved, and the log was left behind. Opened together they would be mixed, so both were left untouched. If {path} is a backup to go on with, move the log aside; otherwise put the file the log belongs to back"
    )]
    ForeignLog {
        /// Database file in the store's place.
        path: PathBuf,
        /// Log that does not belong to it.
        log: PathBuf,
    },
    /// A file of the store is a symbolic link. SQLite keeps the log beside the file that the link leads to, so the
    /// commits in a log beside the link would be lost.
    #[error(
        "{path} is a symbolic link to {to}, and its write-ahead log would be looked for beside that file. Both were left untouched. Remove the link and move {to} back to {path}; to keep the store on another disk, move the whole directory and link that"
    )]
    Linked {
        path: PathBuf,
        /// Target of the link as it is written there.
        to: PathBuf,
    },
    /// The store is no longer where this process opened it.
    #[error(transparent)]
    Lost(#[from] StoreLost),
    /// The linked SQLite has known defects in write-ahead logging.
    #[error(
        "SQLite {found} is too old; this build needs {needed} or newer. Build with the bundled SQLite"
    )]
    OldSqlite { found: i32, needed: i32 },
    /// An agent of that name exists already.
    #[error("there is already an agent named {agent_id}; choose another name")]
    AgentExists { agent_id: AgentId },
    /// A decision does not fit the rows it was made on. Nothing of it was written.
    #[error(
        "a decision contradicts the stored rows: {what}. Nothing of it was written; this is a defect to report"
    )]
    Contradiction { what: String },
    /// A stored row cannot be read.
    #[error(
        "a stored row cannot be read: {table} {key}: {reason}. Stop the host and check its file with: sqlite3 FILE \"PRAGMA integrity_check\"; restore a backup if it is damaged, and report a defect if it is sound"
    )]
    Row {
        table: &'static str,
        key: String,
        reason: String,
    },
    /// The agent was put aside because one of its rows could not be read.
    #[error("agent {agent_id} was put aside: {reason}")]
    Aside {
        agent_id: AgentId,
        /// Names the row and the fault.
        reason: String,
    },
    /// The system provides no random bytes.
    #[error(
        "the system gives no random bytes: {reason}. A store needs some for its identity; start the host on a system whose random source works"
    )]
    NoRandomness { reason: String },
    /// The writer thread ended unexpectedly.
    #[error(
        "the writer thread ended unexpectedly, and the exit is not a clean one; start the host again, and report this as a defect with the log"
    )]
    WriterGone,
    /// A value cannot be written as JSON.
    #[error("a value cannot be stored: {reason}")]
    Encode { reason: String },
    /// A read took too long and was interrupted.
    #[error(
        "the read took longer than {limit_ms} ms and was interrupted; ask for less, or again later"
    )]
    ReadDeadline { limit_ms: u64 },
    #[error("a read failed unexpectedly: {message}; this is a defect to report")]
    ReadPanicked {
        /// Message of the panic.
        message: String,
    },
    /// A nested part of a transaction panicked and was rolled back.
    #[error("a decision failed unexpectedly: {message}; this is a defect to report")]
    Panicked {
        /// Message of the panic.
        message: String,
    },
    /// The caller aborted the write for its own reason. Nothing of it was written.
    #[error("{reason}")]
    Refused { reason: String },
}

impl Error {
    /// Builds the error for a decision that does not fit.
    pub(crate) fn contradiction(what: impl Into<String>) -> Self {
        Self::Contradiction { what: what.into() }
    }

    /// Builds the error for a transaction that SQLite ended. There is nothing left to write into.
    pub(crate) fn transaction_gone(cause: impl std::fmt::Display) -> Self {
        Self::Sqlite {
            code: rusqlite::ffi::SQLITE_ABORT,
            message: format!("the transaction is gone: {cause}"),
        }
    }

    /// Builds the error for a full disk that a file operation met.
    pub(crate) fn full(message: String) -> Self {
        Self::Sqlite {
            code: rusqlite::ffi::SQLITE_FULL,
            message,
        }
    }

    /// Converts a constraint violation to `Contradiction`, because the written rows do not fit. Other errors stay as
    /// they are.
    pub(crate) fn into_contradiction(self, written: &dyn std::fmt::Debug) -> Self {
        if self.primary() == Some(rusqlite::ffi::SQLITE_CONSTRAINT) {
            let shown = holon_domain::text::preview(&format!("{written:?}"), FACT_PREVIEW_BYTES);
            return Self::contradiction(format!("{self}: {shown}"));
        }
        self
    }

    /// Returns true if the fault lies in one agent's rows or decision and not in the database, so that others can
    /// continue.
    #[must_use]
    pub const fn concerns_one_agent(&self) -> bool {
        match self {
            Self::Contradiction { .. }
            | Self::Row { .. }
            | Self::Aside { .. }
            | Self::Panicked { .. } => true,
            Self::Sqlite { .. }
            | Self::Damaged { .. }
            | Self::NewerSchema { .. }
            | Self::File { .. }
            | Self::ForeignLog { .. }
            | Self::Linked { .. }
            | Self::Lost(_)
            | Self::OldSqlite { .. }
            | Self::AgentExists { .. }
            | Self::NoRandomness { .. }
            | Self::WriterGone
            | Self::Encode { .. }
            | Self::ReadDeadline { .. }
            | Self::ReadPanicked { .. }
            | Self::Refused { .. } => false,
        }
    }

    /// Names the row of a query whose fault says no more than the number of a column: its table, the numbers by which
    /// it can be found, and the column's name.
    pub(crate) fn in_row(self, sql: &str, row: &rusqlite::Row<'_>) -> Self {
        match self {
            Self::Row { table, key, reason } if table == UNNAMED_TABLE => {
                let column = key.strip_prefix(COLUMN).and_then(|no| no.parse().ok());
                let key = column.map_or(key, |column| describe(sql, row, column));
                Self::Row { table, key, reason }
            }
            other => other,
        }
    }

    /// Returns the row that cannot be read and the reason, in words for a list of such rows.
    pub(crate) fn unreadable_row(&self) -> Option<String> {
        match self {
            Self::Row { table, key, reason } if *table == UNNAMED_TABLE => {
                let row = key.strip_prefix(OF).unwrap_or(key);
                Some(format!("{row}: {reason}"))
            }
            Self::Row { table, key, reason } => Some(format!("{table} {key}: {reason}")),
            _ => None,
        }
    }

    /// Returns true if the disk is full.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.primary() == Some(rusqlite::ffi::SQLITE_FULL)
    }

    /// Returns true if a copy of the store could not be made for lack of space. In the store itself a shared index that
    /// cannot grow is another error: it leaves open whether the commit stands.
    #[must_use]
    pub fn is_copy_full(&self) -> bool {
        let index = rusqlite::ffi::SQLITE_IOERR_SHMSIZE;
        self.is_full() || matches!(self, Self::Sqlite { code, .. } if *code == index)
    }

    /// Returns true if the database could not be reached or extended, which a full disk may cause.
    pub(crate) fn may_be_full_disk(&self) -> bool {
        let code = self.primary();
        code == Some(rusqlite::ffi::SQLITE_IOERR)
            || code == Some(rusqlite::ffi::SQLITE_CANTOPEN)
            || matches!(self, Self::File { .. })
    }

    /// Returns true if the file is not a sound database.
    pub(crate) fn is_damage(&self) -> bool {
        let code = self.primary();
        code == Some(rusqlite::ffi::SQLITE_NOTADB) || code == Some(rusqlite::ffi::SQLITE_CORRUPT)
    }

    /// Returns true if a running statement was interrupted.
    pub(crate) fn is_interrupt(&self) -> bool {
        self.primary() == Some(rusqlite::ffi::SQLITE_INTERRUPT)
    }

    fn primary(&self) -> Option<i32> {
        match self {
            Self::Sqlite { code, .. } => Some(code & PRIMARY),
            Self::Damaged { .. }
            | Self::NewerSchema { .. }
            | Self::File { .. }
            | Self::ForeignLog { .. }
            | Self::Linked { .. }
            | Self::Lost(_)
            | Self::OldSqlite { .. }
            | Self::AgentExists { .. }
            | Self::Contradiction { .. }
            | Self::Row { .. }
            | Self::Aside { .. }
            | Self::NoRandomness { .. }
            | Self::WriterGone
            | Self::Encode { .. }
            | Self::ReadDeadline { .. }
            | Self::ReadPanicked { .. }
            | Self::Panicked { .. }
            | Self::Refused { .. } => None,
        }
    }
}

/// Names a row by its table and the numbers in it, and one of its columns.
fn describe(sql: &str, row: &rusqlite::Row<'_>, column: usize) -> String {
    let table = sql.split_once(" FROM ");
    let table = table.and_then(|(_, rest)| rest.split_whitespace().next());
    let mut key = format!("{OF}{}", table.unwrap_or("a query"));
    let names = row.as_ref();
    // The name of an expression is its text, which says nothing to the reader.
    let name = |column: usize| {
        let name = names.column_name(column).ok();
        name.filter(|name| {
            name.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        })
    };
    let others = (0..names.column_count()).filter(|other| *other != column);
    let numbers = others.filter_map(|other| {
        let number = row.get_ref(other).ok()?.as_i64().ok()?;
        Some(format!(", {} {number}", name(other)?))
    });
    key.extend(numbers.take(ROW_NUMBERS));
    let named = name(column).map_or_else(|| column.to_string(), str::to_owned);
    format!("{key}, {COLUMN}{named}")
}

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        // A value that does not fit its column is the fault of one row, not of the database.
        if let rusqlite::Error::InvalidColumnType(column, ..)
        | rusqlite::Error::FromSqlConversionFailure(column, ..)
        | rusqlite::Error::Utf8Error(column, _)
        | rusqlite::Error::IntegralValueOutOfRange(column, _) = &error
        {
            return Self::Row {
                table: UNNAMED_TABLE,
                key: format!("{COLUMN}{column}"),
                // The name of a column without one is the statement, which says nothing to the reader.
                reason: match &error {
                    rusqlite::Error::InvalidColumnType(_, _, found) => {
                        format!("it holds a value of the type {found}")
                    }
                    rusqlite::Error::IntegralValueOutOfRange(_, found) => {
                        format!("it holds the number {found}")
                    }
                    other => other.to_string(),
                },
            };
        }
        // Only a decision can write a number that no column can hold, so it is the decision's fault.
        if let rusqlite::Error::ToSqlConversionFailure(_) = error {
            return Self::contradiction(error.to_string());
        }
        let code = error
            .sqlite_error()
            .map_or(rusqlite::ffi::SQLITE_ERROR, |found| found.extended_code);
        let message = match &error {
            rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
            other => other.to_string(),
        };
        Self::Sqlite { code, message }
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Encode {
            reason: error.to_string(),
        }
    }
}

/// The failure of a write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The writer's queue is full; nothing was written.
    #[error("the store has too much waiting to be written; try again in a moment")]
    Overloaded,
    /// The disk is full; nothing was written.
    #[error("the disk is full and nothing was written; free some space, then try again")]
    DiskFull,
    /// The commit failed, and it is unknown if it holds.
    #[error("the store cannot tell whether this was written; read back before trying again")]
    CommitUnknown,
    /// The decision panicked. Nothing of it was written.
    #[error(
        "a decision failed unexpectedly and nothing of it was written: {message}; this is a defect to report"
    )]
    Panicked {
        /// Message of the panic.
        message: String,
    },
    /// The store is lost. The write may exist in a file that only this process still holds open.
    #[error(transparent)]
    StoreLost(StoreLost),
    /// The store is closed; nothing was written.
    #[error("the store is closed; start the host again")]
    Closed,
    /// The write itself failed. Nothing of it was written.
    #[error(transparent)]
    Store(#[from] Error),
}

impl WriteError {
    /// Converts the error of a member of which nothing was written.
    pub(crate) fn of(error: Error) -> Self {
        match error {
            Error::Lost(lost) => Self::StoreLost(lost),
            error if error.is_full() => Self::DiskFull,
            error => Self::Store(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_cannot_be_read_is_checked_with_a_command_that_exists() {
        let error = Error::Row {
            table: "log",
            key: "7".to_owned(),
            reason: "cut off".to_owned(),
        };
        let text = error.to_string();
        assert!(
            text.contains("sqlite3 FILE \"PRAGMA integrity_check\""),
            "{text}"
        );
        assert!(!text.contains("holon "), "{text}");
    }
}
