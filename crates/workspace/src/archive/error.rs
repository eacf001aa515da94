//! Errors about archives, with the next step.

use crate::error::Error;
use holon_domain::archive::ustar::HeaderFault;
use std::io;
use std::path::PathBuf;

/// An archive that cannot be written or read. Nothing was made.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The home has more than an archive may hold.
    #[error("the home has more than {what}; move large or generated files out of it and try again")]
    TooLarge {
        /// The limit with its unit.
        what: String,
    },
    /// The archive breaks a rule of the format.
    #[error("the archive is refused: {reason}")]
    Refused { reason: String },
    /// A newer program wrote the archive.
    #[error(
        "the archive has format {found}, and this build reads up to {known}; import it with a newer build"
    )]
    Newer { found: u32, known: u32 },
    /// The home of the new agent exists and is not empty.
    #[error("{} exists and is not empty; import under another name", path.display())]
    HomeInUse { path: PathBuf },
    /// The filesystem refused an operation.
    #[error(transparent)]
    Files(#[from] Error),
}

impl ArchiveError {
    pub(super) fn refused(reason: impl Into<String>) -> Self {
        Self::Refused {
            reason: reason.into(),
        }
    }

    pub(super) fn header(fault: &HeaderFault) -> Self {
        Self::refused(format!("a header cannot be read: {fault}"))
    }

    /// Converts an error of reading an archive.
    pub(super) fn reading(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            Self::refused("it ends before its end mark")
        } else {
            Self::refused(format!("it cannot be read: {error}"))
        }
    }
}
