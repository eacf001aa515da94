//! Errors about homes and workspaces, with the next step.

use std::io;
use std::path::{Path, PathBuf};

/// An error about a directory.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is nothing at the path.
    #[error("{what} {} does not exist; create it or name another", path.display())]
    Missing {
        /// The expected kind of directory, for the message.
        what: &'static str,
        path: PathBuf,
    },
    /// There is something else at the path.
    #[error("{what} {} is not a directory; name a directory", path.display())]
    NotADirectory {
        /// The expected kind of directory, for the message.
        what: &'static str,
        path: PathBuf,
    },
    /// The path would depend on the current directory of the process.
    #[error("{what} {} is relative; name it by its absolute path", path.display())]
    Relative {
        /// The expected kind of directory, for the message.
        what: &'static str,
        path: PathBuf,
    },
    /// The path is not valid UTF-8.
    #[error("{what} {} is not valid UTF-8; rename it or name another", path.display())]
    NotUtf8 {
        /// The expected kind of directory, for the message.
        what: &'static str,
        path: PathBuf,
    },
    /// The current directory is not inside the workspace.
    #[error("current directory {} is outside the workspace {}; name one inside it, or another workspace root",
        cwd.display(), root.display())]
    CwdOutsideRoot { cwd: PathBuf, root: PathBuf },
    /// Something that is not a directory is in the place of the home.
    #[error("{} is in the way: an agent home is a directory and not a link or a file; move it away and try again",
        path.display())]
    HomeBlocked { path: PathBuf },
    /// The record of an agent's directory is there and cannot be read.
    #[error("the record {} of an agent's directory cannot be read: {detail}; put it back, or remove it and start the \
             agent again to attach it to the directory that is there", path.display())]
    UnreadableRecord { path: PathBuf, detail: String },
    /// The filesystem refused an operation.
    #[error("cannot {action} {}: {source}; check permissions and free space", path.display())]
    Io {
        /// The attempted operation, as a verb for the message.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// The system had no randomness for a temporary name.
    #[error("the system gave no random bits: {0}; try again")]
    Random(getrandom::Error),
}

/// Adds the attempted operation and its path to an I/O error.
pub(crate) fn at<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + 'a {
    move |source| Error::Io {
        action,
        path: path.to_owned(),
        source,
    }
}
