//! Why a file of a tree was not read or changed, with the next step.

use rustix::io::Errno;
use std::io;
use std::path::PathBuf;

/// What went wrong with a tree. Paths are relative to its root and as the caller wrote them.
///
/// Unless it is [`TreeError::Unsettled`], everything is as it was.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// A path no file may have.
    #[error("{path:?} is refused: {why}")]
    Refused {
        /// The path.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A path that leads out of the root.
    #[error(
        "{path:?} leads out of the execution root; name a file inside it, not by way of a link that leads elsewhere"
    )]
    Escape {
        /// The path.
        path: String,
    },
    /// No such file, or a link on the way that leads to nothing.
    #[error("{path:?} does not exist; check the path, or add the file instead of changing it")]
    Missing {
        /// The path.
        path: String,
    },
    /// A file that was to be new is there.
    #[error("{path:?} exists already; read it and change it instead of adding it")]
    Exists {
        /// The path.
        path: String,
    },
    /// Something that is no regular file.
    #[error("{path:?} is a {found} and not a regular file; name a regular file")]
    NotAFile {
        /// The path.
        path: String,
        /// What it is.
        found: &'static str,
    },
    /// Something on the way to the file that is no directory.
    #[error(
        "a parent of {path:?} is not a directory, or its links go round in a circle; check the path"
    )]
    NotADirectory {
        /// The path.
        path: String,
    },
    /// The file is not as it was when the change was worked out.
    #[error(
        "{path:?} was changed by someone else in the meantime; read it again and redo the change"
    )]
    Changed {
        /// The path.
        path: String,
    },
    /// More bytes than the caller takes.
    #[error("{path:?} is larger than {max_bytes} bytes; work on a part of it with a command")]
    TooLarge {
        /// The path.
        path: String,
        /// What the caller takes.
        max_bytes: u64,
    },
    /// No room on the disk or in the quota.
    #[error("no space is left for {path:?}; free some and try again")]
    Full {
        /// The path.
        path: String,
    },
    /// The system lacks what keeps a change inside the root or makes it whole.
    #[error("cannot change files safely here: {what}; use a newer kernel or a local filesystem")]
    Unsupported {
        /// What is missing.
        what: &'static str,
    },
    /// The journal is not to be used.
    #[error("journal {}: {why}", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
        /// What is wrong with it and what to do.
        why: String,
    },
    /// A change failed and could not be taken back whole: `settle` with the same journal says how it ended.
    #[error("{cause}; and taking back what had been done is not complete ({} left); settle the journal", left.len())]
    Unsettled {
        /// Why the change failed.
        cause: Box<Self>,
        /// What is not as it was. When empty, `settle` has yet to find out.
        left: Vec<super::Left>,
    },
    /// The filesystem refused.
    #[error("cannot {action} {path:?}: {source}; check permissions")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: String,
        /// Why not.
        source: io::Error,
    },
}

/// Attaches what was tried and on what to an error number.
pub(super) fn at<'a>(
    action: &'static str,
    path: &'a str,
) -> impl FnOnce(Errno) -> TreeError + 'a + use<'a> {
    move |errno| match errno {
        Errno::NOSPC | Errno::DQUOT => TreeError::Full {
            path: path.to_owned(),
        },
        other => TreeError::Io {
            action,
            path: path.to_owned(),
            source: other.into(),
        },
    }
}
