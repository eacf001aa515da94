//! Why a home or a workspace is not to be had, with the next step.

use std::io;
use std::path::{Path, PathBuf};

/// What went wrong with a directory.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nothing at the path.
    #[error("{what} {} does not exist; create it or name another", path.display())]
    Missing {
        /// What the path was to be.
        what: &'static str,
        /// The path.
        path: PathBuf,
    },
    /// Something else at the path.
    #[error("{what} {} is not a directory; name a directory", path.display())]
    NotADirectory {
        /// What the path was to be.
        what: &'static str,
        /// The path.
        path: PathBuf,
    },
    /// A path that depends on where the process happens to stand.
    #[error("{what} {} is relative; name it by its absolute path", path.display())]
    Relative {
        /// What the path was to be.
        what: &'static str,
        /// The path.
        path: PathBuf,
    },
    /// A path that cannot be written down as text.
    #[error("{what} {} is not valid UTF-8; rename it or name another", path.display())]
    NotUtf8 {
        /// What the path was to be.
        what: &'static str,
        /// The path.
        path: PathBuf,
    },
    /// The current directory is not inside the workspace.
    #[error("current directory {} is outside the workspace {}; name one inside it, or another workspace root",
        cwd.display(), root.display())]
    CwdOutsideRoot {
        /// The directory, resolved.
        cwd: PathBuf,
        /// The workspace, resolved.
        root: PathBuf,
    },
    /// Something that is not a home stands where the home should be.
    #[error("{} is in the way: an agent home is a directory and not a link or a file; move it away and try again",
        path.display())]
    HomeBlocked {
        /// The path.
        path: PathBuf,
    },
    /// The filesystem refused.
    #[error("cannot {action} {}: {source}; check permissions and free space", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The system had no randomness for a temporary name.
    #[error("the system gave no random bits: {0}; try again")]
    Random(getrandom::Error),
}

/// Attaches what was tried and on what to an I/O error.
pub(crate) fn at<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + 'a {
    move |source| Error::Io {
        action,
        path: path.to_owned(),
        source,
    }
}
