//! Chooses the workspace an agent starts in from the operator's options.
//!
//! A project's identity is its canonical path, so a directory reached by two paths is one workspace. A directory in a
//! git repository or in a linked worktree belongs to the project of the repository, as it does for `UseWorkspace`.

use crate::error::Error;
use crate::git::{Detection, detect};
use crate::root::{ExecutionRoot, canonical_dir};
use holon_domain::WorkspaceId;
use holon_domain::workspace::{
    DetectedKind, ProjectionKind, ReservedDirs, RootOwnership, WorkspaceEntry,
};
use std::path::{Path, PathBuf};

/// Resolves the workspace an operator requested: its root and the current directory in it.
///
/// Without a root, `cwd` is the root; without both, it is the agent's home, which need not exist yet. A relative `cwd`
/// is resolved against the root. A root below the top of a repository stands for the repository, and the agent begins
/// in the directory that was named. A repository that reaches into `reserved`, or whose pointers contradict each other,
/// does not count as one.
///
/// # Errors
/// Fails if a directory is missing or relative, or `cwd` lies outside the root.
pub fn choose(
    workspace_root: Option<&Path>,
    cwd: Option<&Path>,
    agent_home: &Path,
    reserved: &ReservedDirs,
) -> Result<WorkspaceEntry, Error> {
    let named = workspace_root.or(cwd);
    if named.is_some_and(|named| is_unmade_home(named, agent_home))
        && (workspace_root.is_none() || cwd.is_none())
    {
        return Ok(WorkspaceEntry::agent_home(&text("agent home", agent_home)?));
    }
    let (root, cwd) = match (workspace_root, cwd) {
        (None, None) => return Ok(WorkspaceEntry::agent_home(&text("agent home", agent_home)?)),
        (None, Some(cwd)) => {
            let root = canonical_dir("current directory", cwd)?;
            (root.clone(), root)
        }
        (Some(root), None) => {
            let root = canonical_dir("workspace root", root)?;
            (root.clone(), root)
        }
        (Some(root), Some(cwd)) => resolve_inside(&canonical_dir("workspace root", root)?, cwd)?,
    };
    entry(&root, &cwd, agent_home, reserved)
}

/// Returns true if a path names the agent's home and the home was not created yet.
fn is_unmade_home(named: &Path, agent_home: &Path) -> bool {
    let names_home = || {
        let parents = named.parent().zip(agent_home.parent());
        let is_same = |(one, other): (&Path, &Path)| {
            let canonical = one.canonicalize().ok().zip(other.canonicalize().ok());
            canonical.is_some_and(|(one, other)| one == other)
        };
        named.file_name() == agent_home.file_name() && parents.is_some_and(is_same)
    };
    named.is_absolute() && names_home() && !agent_home.exists()
}

fn resolve_inside(root: &Path, cwd: &Path) -> Result<(PathBuf, PathBuf), Error> {
    let confined = ExecutionRoot::open(root)?;
    let cwd = canonical_dir("current directory", &root.join(cwd))?;
    if confined.contains(&cwd) {
        Ok((root.to_owned(), cwd))
    } else {
        Err(Error::CwdOutsideRoot {
            cwd,
            root: root.to_owned(),
        })
    }
}

fn entry(
    root: &Path,
    cwd: &Path,
    agent_home: &Path,
    reserved: &ReservedDirs,
) -> Result<WorkspaceEntry, Error> {
    let cwd = text("current directory", cwd)?;
    // The home named by its path is still the home: one directory must not have two identities.
    if agent_home.canonicalize().is_ok_and(|home| home == root) {
        return Ok(WorkspaceEntry {
            cwd,
            ..WorkspaceEntry::agent_home(&text("workspace root", root)?)
        });
    }
    // A repository that cannot be verified is not run, and its directory can be worked in as a plain one.
    let found = detect(root, reserved).ok();
    let found = found.unwrap_or_else(|| Detection::plain(root));
    let anchor = text("workspace", &found.anchor)?;
    Ok(WorkspaceEntry {
        workspace_id: WorkspaceId::of_anchor(&anchor),
        workspace_anchor: anchor,
        execution_root: text("workspace root", &found.execution_root)?,
        cwd,
        projection_kind: match found.kind {
            DetectedKind::ExistingGitWorktree => ProjectionKind::GitWorktreeRoot,
            DetectedKind::CanonicalRepo
            | DetectedKind::RepoSubdir
            | DetectedKind::PlainDirectory
            | DetectedKind::AgentHome => ProjectionKind::CanonicalRoot,
        },
        ownership: RootOwnership::External,
        repository: repository_of(&found),
    })
}

/// Returns the repository of a detected directory as text. One whose path is not UTF-8 is not named.
pub(crate) fn repository_of(found: &Detection) -> Option<String> {
    found.repository.as_deref()?.to_str().map(str::to_owned)
}

pub(crate) fn text(what: &'static str, path: &Path) -> Result<String, Error> {
    path.to_str()
        .map(str::to_owned)
        .ok_or_else(|| Error::NotUtf8 {
            what,
            path: path.to_owned(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_short_digest_of_the_anchor() {
        // sha256("/srv/project"), first twenty characters.
        let id = WorkspaceId::of_anchor("/srv/project");
        assert_eq!(id.as_str(), "ws-4f3f91f6b0b47e3bebd4");
    }
}
