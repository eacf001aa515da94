//! Errors of backups and restorations.

use std::io;
use std::path::{Path, PathBuf};

/// The reason for which a backup was not made, or a home not restored.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("{} has no store, so there is nothing to back up", home.display())]
    NoStore { home: PathBuf },
    #[error("{} exists; name a file that does not", path.display())]
    TargetExists { path: PathBuf },
    #[error("{} is inside the home; name a file outside of it", path.display())]
    TargetInHome { path: PathBuf },
    #[error("{} is not empty; restore into a home that is empty or does not exist: --home DIR", home.display())]
    HomeNotEmpty { home: PathBuf },
    #[error(
        "{} could not be put into its place: {source}; a mount point or a link cannot be replaced, so name a new directory \
         with --home DIR, for example one below it",
        home.display()
    )]
    Place { home: PathBuf, source: io::Error },
    #[error("{} is no whole backup: {reason}; nothing was restored", path.display())]
    Invalid { path: PathBuf, reason: String },
    #[error(
        "{} was made by a newer version (format {format}); restore it with that version",
        path.display()
    )]
    Newer { path: PathBuf, format: u32 },
    #[error(
        "there is no space left on the disk of {}; free some, or name a place on another disk: a backup needs room for \
         the store twice while it is made, and a home once",
        place.display()
    )]
    NoSpace {
        /// The file or the home that was asked for.
        place: PathBuf,
    },
    #[error(transparent)]
    Store(#[from] holon_store::Error),
    #[error("{} could not be {verb}: {source}", path.display())]
    File {
        /// Past participle, such as `written`.
        verb: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

impl BackupError {
    /// Names what was asked for in the place of the temporary file or of the database that met the full disk.
    pub(super) fn on_disk_of(self, place: &Path) -> Self {
        let is_full = match &self {
            Self::Store(error) => error.is_copy_full(),
            Self::File { source, .. } => matches!(
                source.kind(),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
            ),
            Self::NoStore { .. }
            | Self::TargetExists { .. }
            | Self::TargetInHome { .. }
            | Self::HomeNotEmpty { .. }
            | Self::Place { .. }
            | Self::Invalid { .. }
            | Self::Newer { .. }
            | Self::NoSpace { .. } => false,
        };
        match is_full {
            true => Self::NoSpace {
                place: place.to_owned(),
            },
            false => self,
        }
    }

    /// Stable error code for callers.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NoStore { .. } => "no_store",
            Self::TargetExists { .. } => "file_exists",
            Self::TargetInHome { .. } => "invalid_target",
            Self::HomeNotEmpty { .. } => "home_not_empty",
            Self::Invalid { .. } => "invalid_backup",
            Self::Newer { .. } => "newer_backup",
            Self::NoSpace { .. } => "no_space",
            Self::Store(_) => "store_unusable",
            Self::Place { .. } | Self::File { .. } => "file_failed",
        }
    }
}

/// Adds the path to an I/O error.
pub(super) fn at(verb: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BackupError {
    let path = path.to_owned();
    move |source| BackupError::File { verb, path, source }
}
