//! Why a file of a tree was not read or changed, with the next step.

use super::Left;
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
    /// The directory at the root's path is not the one the tree was attached to.
    #[error(
        "{path:?} is no longer the directory this agent works in: {found}; put it back, or stop and start the agent to \
         work in what is there now"
    )]
    Replaced {
        /// The root.
        path: String,
        /// What is there instead.
        found: &'static str,
    },
    /// A change failed and could not be taken back whole. It only goes backward from here on: `settle` with the same
    /// journal tries again to take it back.
    #[error("{cause}; {}", untaken(left))]
    Unsettled {
        /// Why the change failed.
        cause: Box<Self>,
        /// What is not as it was, or may not be. Empty if only the journal could not be removed.
        left: Vec<Left>,
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

/// Most files named in one message.
const NAMED: usize = 20;

/// Says which files are not as they were.
fn untaken(left: &[Left]) -> String {
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
