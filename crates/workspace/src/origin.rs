//! The GitHub repository that a directory belongs to, by the address of its remote `origin`.

use crate::git::{Git, GitError, detect};
use holon_domain::remote::GitHubRepo;
use holon_domain::workspace::{DetectedKind, ReservedDirs};
use std::path::{Path, PathBuf};

/// A working directory of a repository on GitHub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitHubCheckout {
    /// Root of the working files.
    pub root: PathBuf,
    pub repo: GitHubRepo,
}

/// Finds the repository around `dir`, a canonical directory. `None` if there is none, or its `origin` is not on GitHub.
///
/// # Errors
/// git cannot be run, or does not accept the repository.
pub fn github_checkout(git: &Git, dir: &Path) -> Result<Option<GitHubCheckout>, GitError> {
    let found = detect(dir, &ReservedDirs::new(Vec::new()))?;
    if found.kind == DetectedKind::PlainDirectory {
        return Ok(None);
    }
    let repository = git.open(&found.execution_root)?;
    let asked = repository.ask(&["config", "--get", "remote.origin.url"])?;
    let url = String::from_utf8_lossy(&asked.stdout);
    let repo = GitHubRepo::of_remote(url.trim_end()).filter(|_| asked.success);
    Ok(repo.map(|repo| GitHubCheckout {
        root: found.execution_root,
        repo,
    }))
}
