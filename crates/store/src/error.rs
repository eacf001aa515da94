//! What can go wrong in the store, said so that the reader knows what to do next.
//!
//! No SQLite type leaves the crate: `Error` carries the result code and the words, nothing else.

use crate::held::StoreLost;
use holon_domain::AgentId;
use std::path::PathBuf;

/// The extended result codes this crate distinguishes by their primary part.
const PRIMARY: i32 = 0xff;
/// How much of a fact an error shows.
const FACT_PREVIEW_BYTES: usize = 200;

/// A failure of the store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// SQLite answered with an error.
    #[error("the database answered with an error ({code}): {message}")]
    Sqlite {
        /// Extended result code.
        code: i32,
        /// Its words.
        message: String,
    },
    /// The file is not one this build may touch.
    #[error(
        "{path}: {found}. The file was left untouched. Move it aside and restore a backup, or save what can be read with: sqlite3 {path} \".recover\" | sqlite3 recovered.sqlite3"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        found: String,
    },
    /// The file belongs to a later build.
    #[error(
        "{path} has schema version {found}, and this build knows versions up to {known}. The file was left untouched. Start the newer build again, or move the file aside and restore a backup made before the upgrade"
    )]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest this build knows.
        known: i64,
    },
    /// The file or its directory cannot be used.
    #[error(
        "cannot use {path}: {reason}. Check that the directory exists, belongs to this user and has free space"
    )]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The log beside the file is that of another file.
    #[error(
        "{log} is the write-ahead log of another file than {path}: the file its process held was moved, and the log was left behind. Opened together they would be mixed, so both were left untouched. If {path} is a backup to go on with, move the log aside; otherwise put the file the log belongs to back"
    )]
    ForeignLog {
        /// The file that stands in the place.
        path: PathBuf,
        /// The log that is not its own.
        log: PathBuf,
    },
    /// The store is no longer where this process opened it.
    #[error(transparent)]
    Lost(#[from] StoreLost),
    /// The linked SQLite has known defects in write-ahead logging.
    #[error(
        "SQLite {found} is too old; this build needs {needed} or newer. Build with the bundled SQLite"
    )]
    OldSqlite {
        /// Version number found.
        found: i32,
        /// Version number needed.
        needed: i32,
    },
    /// An agent of that name exists already.
    #[error("there is already an agent named {agent_id}; choose another name")]
    AgentExists {
        /// Its name.
        agent_id: AgentId,
    },
    /// A decision does not fit the rows it was made on; nothing of it was written.
    #[error(
        "a decision contradicts the stored rows: {what}. Nothing of it was written; this is a defect to report"
    )]
    Contradiction {
        /// In which way.
        what: String,
    },
    /// A stored row cannot be read.
    #[error(
        "a stored row cannot be read: {table} {key}: {reason}. Stop the host and check its file with: sqlite3 FILE \"PRAGMA integrity_check\"; restore a backup if it is damaged, and report a defect if it is sound"
    )]
    Row {
        /// Its table.
        table: &'static str,
        /// Its key.
        key: String,
        /// Why.
        reason: String,
    },
    /// The agent was put aside because a row of it could not be read.
    #[error("agent {agent_id} was put aside: {reason}")]
    Aside {
        /// The agent.
        agent_id: AgentId,
        /// Which row, and why.
        reason: String,
    },
    /// The system gives no random bytes.
    #[error(
        "the system gives no random bytes: {reason}. A store needs some for its identity; start the host on a system whose random source works"
    )]
    NoRandomness {
        /// Why.
        reason: String,
    },
    /// The writer thread ended without being asked to.
    #[error(
        "the writer thread ended unexpectedly, and the exit is not a clean one; start the host again, and report this as a defect with the log"
    )]
    WriterGone,
    /// A value cannot be written as JSON.
    #[error("a value cannot be stored: {reason}")]
    Encode {
        /// Why.
        reason: String,
    },
    /// A read took too long and was interrupted.
    #[error(
        "the read took longer than {limit_ms} ms and was interrupted; ask for less, or again later"
    )]
    ReadDeadline {
        /// The bound.
        limit_ms: u64,
    },
    /// A read panicked.
    #[error("a read failed unexpectedly: {message}; this is a defect to report")]
    ReadPanicked {
        /// What it said.
        message: String,
    },
    /// A nested part of a transaction panicked; it was undone.
    #[error("a decision failed unexpectedly: {message}; this is a defect to report")]
    Panicked {
        /// What it said.
        message: String,
    },
    /// The caller's own reason to give a write up; nothing of it was written.
    #[error("{reason}")]
    Refused {
        /// Why.
        reason: String,
    },
}

impl Error {
    /// A decision that does not fit.
    pub(crate) fn contradiction(what: impl Into<String>) -> Self {
        Self::Contradiction { what: what.into() }
    }

    /// Space ran out where no database was asked.
    pub(crate) fn full(message: String) -> Self {
        Self::Sqlite {
            code: rusqlite::ffi::SQLITE_FULL,
            message,
        }
    }

    /// A broken constraint means that what was written does not fit the rows; any other error stays what it is.
    pub(crate) fn into_contradiction(self, written: &dyn std::fmt::Debug) -> Self {
        if self.primary() == Some(rusqlite::ffi::SQLITE_CONSTRAINT) {
            let shown = holon_domain::text::preview(&format!("{written:?}"), FACT_PREVIEW_BYTES);
            return Self::contradiction(format!("{self}: {shown}"));
        }
        self
    }

    /// Whether the fault lies with one agent's rows or decision, and not with the database: others can go on.
    #[must_use]
    pub const fn is_one_agents(&self) -> bool {
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

    /// Whether space ran out.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.primary() == Some(rusqlite::ffi::SQLITE_FULL)
    }

    /// Whether the database could not be reached or made larger, for which a full disk may be the reason.
    pub(crate) fn is_of_the_file_system(&self) -> bool {
        let code = self.primary();
        code == Some(rusqlite::ffi::SQLITE_IOERR)
            || code == Some(rusqlite::ffi::SQLITE_CANTOPEN)
            || matches!(self, Self::File { .. })
    }

    /// Whether the file is not a sound database.
    pub(crate) fn is_damage(&self) -> bool {
        let code = self.primary();
        code == Some(rusqlite::ffi::SQLITE_NOTADB) || code == Some(rusqlite::ffi::SQLITE_CORRUPT)
    }

    /// Whether a running statement was interrupted.
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

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        // A value that does not fit its column says something about one row, not about the database.
        if let rusqlite::Error::InvalidColumnType(column, ..)
        | rusqlite::Error::FromSqlConversionFailure(column, ..)
        | rusqlite::Error::IntegralValueOutOfRange(column, _) = error
        {
            return Self::Row {
                table: "row",
                key: format!("column {column}"),
                reason: error.to_string(),
            };
        }
        // A number no column can hold was written by a decision, so it is that decision's fault.
        if let rusqlite::Error::ToSqlConversionFailure(_) = error {
            return Self::contradiction(error.to_string());
        }
        let code = error
            .sqlite_error()
            .map_or(rusqlite::ffi::SQLITE_ERROR, |found| found.extended_code);
        Self::Sqlite {
            code,
            message: error.to_string(),
        }
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Encode {
            reason: error.to_string(),
        }
    }
}

/// What a write came to, when it did not come to what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// Too many writes wait; nothing was written.
    #[error("the store has too much waiting to be written; try again in a moment")]
    Overloaded,
    /// There is no space; nothing was written.
    #[error("the disk is full and nothing was written; free some space, then try again")]
    DiskFull,
    /// The commit failed in a way that does not say whether it holds.
    #[error("the store cannot tell whether this was written; read back before trying again")]
    CommitUnknown,
    /// The decision panicked; nothing of it was written.
    #[error(
        "a decision failed unexpectedly and nothing of it was written: {message}; this is a defect to report"
    )]
    Panicked {
        /// What it said.
        message: String,
    },
    /// The store is no longer there. The write may stand in a file that this process still holds.
    #[error(transparent)]
    StoreLost(StoreLost),
    /// The store is closed; nothing was written.
    #[error("the store is closed; start the host again")]
    Closed,
    /// The write failed by itself; nothing of it was written.
    #[error(transparent)]
    Store(#[from] Error),
}

impl WriteError {
    /// The answer for a member that failed with `error` and of which nothing was written.
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
