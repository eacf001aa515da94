//! Faults of a memory index. No type of the database library leaves the crate.

use crate::error::Error;
use holon_domain::limits::MEMORY_SEARCH_MS;
use holon_domain::memory::MemoryFault;
use rusqlite::ffi;

/// Reason for which an index could not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IndexFault {
    /// Another process holds the file.
    #[error("the memory index is locked by another process")]
    Locked,
    /// The file is damaged, foreign, of another version or of another agent. It can be thrown away.
    #[error("the memory index is unsound: {reason}")]
    Unsound { reason: String },
    /// The search took too long.
    #[error("the search took too long")]
    TooSlow,
    /// The directory or the disk does not allow the index.
    #[error("the memory index cannot be used: {reason}")]
    Unavailable { reason: String },
}

impl IndexFault {
    pub(super) fn unsound(reason: impl Into<String>) -> Self {
        Self::Unsound {
            reason: reason.into(),
        }
    }

    pub(super) fn of_file(path: &std::path::Path, error: &std::io::Error) -> Self {
        Self::Unavailable {
            reason: format!("{}: {error}", path.display()),
        }
    }
}

impl From<rusqlite::Error> for IndexFault {
    fn from(error: rusqlite::Error) -> Self {
        let code = error.sqlite_error().map(|found| found.extended_code);
        let reason = error.to_string();
        match code.map(|code| code & 0xff) {
            Some(ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED) => Self::Locked,
            Some(ffi::SQLITE_INTERRUPT) => Self::TooSlow,
            Some(
                ffi::SQLITE_FULL
                | ffi::SQLITE_IOERR
                | ffi::SQLITE_CANTOPEN
                | ffi::SQLITE_READONLY
                | ffi::SQLITE_PERM
                | ffi::SQLITE_NOMEM,
            ) => Self::Unavailable { reason },
            // Damage, a missing table, a column of another type: the index can be made anew.
            _ => Self::Unsound { reason },
        }
    }
}

impl From<serde_json::Error> for IndexFault {
    fn from(error: serde_json::Error) -> Self {
        Self::unsound(error.to_string())
    }
}

impl From<IndexFault> for MemoryFault {
    fn from(fault: IndexFault) -> Self {
        match fault {
            IndexFault::Locked => Self::Locked,
            IndexFault::TooSlow => Self::TooSlow {
                limit_ms: MEMORY_SEARCH_MS,
            },
            IndexFault::Unsound { reason } | IndexFault::Unavailable { reason } => {
                Self::Unavailable { reason }
            }
        }
    }
}

impl From<Error> for IndexFault {
    fn from(error: Error) -> Self {
        Self::Unavailable {
            reason: error.to_string(),
        }
    }
}
