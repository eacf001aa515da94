//! Errors of reading or changing files of a tree, with the next step.

use super::Leftover;
use rustix::io::Errno;
use std::io;
use std::path::PathBuf;

/// An error about a tree. Paths are relative to its root and as the caller wrote them.
///
/// Except for [`TreeError::Unsettled`], nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// The path is not allowed.
    #[error("{path:?} is refused: {why}")]
    Refused {
        path: String,
        /// Predicate that describes the rule.
        why: &'static str,
    },
    /// The path leads out of the root.
    #[error(
        "{path:?} leads out of the execution root; name a file inside it, not by way of a link that leads elsewhere"
    )]
    Escape { path: String },
    /// There is no such file, or a link on the way is dangling.
    #[error("{path:?} does not exist; check the path, or add the file instead of changing it")]
    Missing { path: String },
    /// A file that should be new already exists.
    #[error("{path:?} exists already; read it and change it instead of adding it")]
    Exists { path: String },
    /// The entry is not a regular file.
    #[error("{path:?} is a {found} and not a regular file; name a regular file")]
    NotAFile {
        path: String,
        /// The kind of entry, for the message.
        found: &'static str,
    },
    /// A parent of the file is not a directory.
    #[error(
        "a parent of {path:?} is not a directory, or its links go round in a circle; check the path"
    )]
    NotADirectory { path: String },
    /// The file was changed since the caller read it.
    #[error(
        "{path:?} was changed by someone else in the meantime; read it again and redo the change"
    )]
    Changed { path: String },
    /// The file has more bytes than the caller accepts.
    #[error("{path:?} is larger than {max_bytes} bytes; work on a part of it with a command")]
    TooLarge { path: String, max_bytes: u64 },
    /// There is no room on the disk or in the quota.
    #[error("no space is left for {path:?}; free some and try again")]
    Full { path: String },
    /// The system lacks a feature that confinement or atomic changes need.
    #[error("cannot change files safely here: {what}; use a newer kernel or a local filesystem")]
    Unsupported {
        /// Names the missing feature.
        what: &'static str,
    },
    /// The journal cannot be used.
    #[error("journal {}: {why}", path.display())]
    Journal {
        path: PathBuf,
        /// Names the problem and the next step.
        why: String,
    },
    /// The directory at the root's path is not the one the tree was attached to.
    #[error(
        "{path:?} is no longer the directory this agent works in: {found}; put it back, or stop and start the agent to \
         work in what is there now"
    )]
    Replaced {
        /// Path of the root.
        path: String,
        /// Kind of the entry that is there instead.
        found: &'static str,
    },
    /// A change failed and could not be fully undone. From here on it is only undone: `settle` with the same journal
    /// tries again.
    #[error("{cause}; {}", list_leftovers(left))]
    Unsettled {
        /// The error of the change itself.
        cause: Box<Self>,
        /// Entries that are not, or may not be, restored. Empty if only the journal could not be removed.
        left: Vec<Leftover>,
    },
    /// The filesystem refused an operation.
    #[error("cannot {action} {path:?}: {source}; check permissions")]
    Io {
        /// The attempted operation, as a verb for the message.
        action: &'static str,
        path: String,
        source: io::Error,
    },
}

/// Largest number of files named in one message.
const NAMED: usize = 20;

/// Names the files that were not restored.
fn list_leftovers(left: &[Leftover]) -> String {
    if left.is_empty() {
        return "it was taken back, but its journal could not be removed".to_owned();
    }
    let named = left.iter().take(NAMED).map(|left| match &left.kept {
        Some(kept) => format!("{:?} (its former content is in {kept:?})", left.path),
        None => format!("{:?}", left.path),
    });
    let mut names = named.collect::<Vec<_>>().join(", ");
    if left.len() > NAMED {
        names.push_str(&format!(" and {} more", left.len() - NAMED));
    }
    format!("it could not be taken back whole, and these may not be as they were: {names}")
}

/// Adds the attempted operation and its path to an error number.
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
