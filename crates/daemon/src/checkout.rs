//! The GitHub repository around a directory, for commands that need no host.

use holon_workspace::Git;
use std::path::Path;

pub use holon_workspace::GitHubCheckout;

/// Finds the repository around a directory. `None` if there is none, or its `origin` is not on GitHub.
///
/// # Errors
/// The reason for which the repository around the directory cannot be read.
pub fn github_checkout(dir: &Path) -> Result<Option<GitHubCheckout>, String> {
    let dir = dir
        .canonicalize()
        .map_err(|error| format!("{}: {error}", dir.display()))?;
    holon_workspace::github_checkout(&Git::default(), &dir).map_err(|error| error.to_string())
}
