//! Selects the workspace that a request names: detection, attachment rules, and the worktree of an isolated one.

mod rules;

pub use rules::check_homes;

use crate::choose::{repository_of, text};
use crate::error::Error;
use crate::git::{Detection, GitError, detect};
use crate::root::{ExecutionRoot, canonical_dir};
use crate::worktree::{ManagedWorktrees, NewWorktree};
use holon_domain::WorkspaceId;
use holon_domain::workspace::{
    AGENT_HOME, AttachedWorkspace, DetectedKind, ProjectionKind, ReservedDirs, RootOwnership,
    SelectedWorkspace, UseMode, WorkspaceEntry, WorkspaceErrorKind, WorkspaceFailure,
    WorkspaceOrder, WorkspaceSelector, WorktreeRecord, WorktreeSession,
};
use std::path::{Path, PathBuf};

type Selected<T> = Result<T, WorkspaceFailure>;

/// Selects workspaces of this host. All methods block on the file system and on git.
#[derive(Debug, Clone)]
pub struct WorkspaceSelection {
    pub worktrees: ManagedWorktrees,
    /// Directories of the host that no workspace may reach.
    pub reserved: ReservedDirs,
    /// Directory of the agents' homes.
    pub agents_dir: PathBuf,
}

impl WorkspaceSelection {
    /// Looks at what the request names, makes the worktree of an isolated request, and returns the entry that may
    /// become active. The same order gives the same worktree.
    ///
    /// # Errors
    /// The workspace cannot be used; nothing but an unfinished worktree is left behind.
    pub fn select(&self, order: &WorkspaceOrder) -> Selected<SelectedWorkspace> {
        let found = match &order.request.selector {
            WorkspaceSelector::WorkspaceId(id) if id.as_str() == AGENT_HOME => {
                return select_home(order);
            }
            WorkspaceSelector::WorkspaceId(id) => {
                let attached = order.attached.find(id).ok_or_else(|| not_attached(order))?;
                find_attached(attached, &self.reserved)?
            }
            WorkspaceSelector::Path(path) => {
                if names_home(path, &order.agent_home) {
                    return select_home(order);
                }
                self.find_path(path)?
            }
        };
        self.check(order, &found)?;
        match order.request.mode {
            UseMode::Direct => self.select_direct(order, &found),
            UseMode::Isolated => self.select_isolated(order, &found),
        }
    }

    /// Looks at a path that is to be attached, without making it active.
    ///
    /// # Errors
    /// The path is no directory that may be attached.
    pub fn attach(&self, order: &WorkspaceOrder) -> Selected<AttachedWorkspace> {
        let WorkspaceSelector::Path(path) = &order.request.selector else {
            return Err(not_attached(order));
        };
        if names_home(path, &order.agent_home) {
            return Ok(AttachedWorkspace::of(&WorkspaceEntry::agent_home(
                &order.agent_home,
            )));
        }
        let found = self.find_path(path)?;
        self.check(order, &found)?;
        workspace_of(&found)
    }

    /// Returns the directory that identifies the repository or the directory of an order, or the text by which the order
    /// names it if it cannot be used. Starts no process.
    #[must_use]
    pub fn anchor_of(&self, order: &WorkspaceOrder) -> String {
        let (named, found) = match &order.request.selector {
            WorkspaceSelector::WorkspaceId(id) => {
                let attached = order.attached.find(id);
                let anchor = attached.map(|attached| attached.workspace_anchor.clone());
                (id.as_str().to_owned(), anchor)
            }
            WorkspaceSelector::Path(path) => {
                let found = self.find_path(path).ok();
                let anchor = found.map(|found| found.anchor.display().to_string());
                (path.clone(), anchor)
            }
        };
        found.unwrap_or(named)
    }

    fn find_path(&self, path: &str) -> Selected<Detection> {
        let dir = canonical_dir("workspace", Path::new(path)).map_err(|error| invalid(&error))?;
        detect(&dir, &self.reserved).map_err(|error| git(&error))
    }

    fn select_direct(
        &self,
        order: &WorkspaceOrder,
        found: &Detection,
    ) -> Selected<SelectedWorkspace> {
        let workspace = workspace_of(found)?;
        let record = self.worktrees.find(&found.execution_root);
        let record = record.map_err(|error| git(&error))?;
        let is_worktree = found.kind == DetectedKind::ExistingGitWorktree;
        let entry = WorkspaceEntry {
            workspace_id: workspace.workspace_id,
            workspace_anchor: workspace.workspace_anchor,
            execution_root: text("execution root", &found.execution_root)
                .map_err(|error| invalid(&error))?,
            cwd: cwd_in(order, &found.execution_root, &found.cwd)?,
            projection_kind: if is_worktree {
                ProjectionKind::GitWorktreeRoot
            } else {
                ProjectionKind::CanonicalRoot
            },
            ownership: record
                .as_ref()
                .map_or(RootOwnership::External, |_| RootOwnership::SessionOwned),
            repository: workspace.repository,
        };
        let mut notes = Vec::new();
        if is_worktree && record.is_none() {
            notes.push(format!(
                "this worktree was adopted and is never cleaned up by the runtime; for one that is, use workspace_id \
                 {} with mode isolated",
                entry.workspace_id
            ));
        }
        Ok(SelectedWorkspace {
            worktree: record.map(|record| session(order, record)),
            entry,
            detected_kind: found.kind,
            mode: UseMode::Direct,
            by_path: is_by_path(order),
            notes,
        })
    }

    fn select_isolated(
        &self,
        order: &WorkspaceOrder,
        found: &Detection,
    ) -> Selected<SelectedWorkspace> {
        if !found.can_isolate {
            return Err(WorkspaceFailure::new(
                WorkspaceErrorKind::IsolationUnsupported,
                format!(
                    "{} is not a git repository of which a worktree can be made; use mode direct",
                    found.anchor.display()
                ),
            ));
        }
        let workspace = workspace_of(found)?;
        let new = NewWorktree {
            workspace_id: &workspace.workspace_id,
            anchor: &found.anchor,
            agent_id: &order.agent_id,
            label: order.request.isolation_label.as_deref(),
            request: &order.request_key,
        };
        let made = self.worktrees.create(&new).map_err(|error| git(&error))?;
        let root = PathBuf::from(&made.record.path);
        // The same directory below the root, where the commit has it.
        let below = found
            .cwd
            .strip_prefix(&found.execution_root)
            .unwrap_or_else(|_| Path::new(""));
        let is_root = below.as_os_str().is_empty();
        let cwd = Some(root.join(below))
            .filter(|cwd| !is_root && cwd.is_dir())
            .unwrap_or_else(|| root.clone());
        let cwd = cwd_in(order, &root, &cwd).inspect_err(|_| {
            // No agent gets the worktree of a request that is refused. What cannot be removed stays for a clean-up.
            drop(self.worktrees.clean(&made.record, &[], false));
        })?;
        let entry = WorkspaceEntry {
            workspace_id: workspace.workspace_id,
            workspace_anchor: workspace.workspace_anchor,
            cwd,
            execution_root: made.record.path.clone(),
            projection_kind: ProjectionKind::GitWorktreeRoot,
            ownership: RootOwnership::SessionOwned,
            repository: workspace.repository,
        };
        let mut notes = vec![format!(
            "work is committed on the branch {}; the directory stays until: holon worktree clean",
            made.record.branch
        )];
        if !made.skipped_filters.is_empty() {
            let names: Vec<String> = made.skipped_filters.into_iter().collect();
            notes.push(format!(
                "the runtime runs no filters of a repository; files that need these are as git stores them: {}",
                names.join(", ")
            ));
        }
        Ok(SelectedWorkspace {
            worktree: Some(session(order, made.record)),
            entry,
            detected_kind: found.kind,
            mode: UseMode::Isolated,
            by_path: is_by_path(order),
            notes,
        })
    }
}

/// Finds the directory of an attached workspace. It was detected when it was attached, so its anchor stays.
fn find_attached(attached: &AttachedWorkspace, reserved: &ReservedDirs) -> Selected<Detection> {
    let anchor = PathBuf::from(&attached.workspace_anchor);
    let dir = canonical_dir("workspace", &anchor).map_err(|error| {
        let message = format!("{error}; or use another workspace");
        WorkspaceFailure::new(WorkspaceErrorKind::MissingRoot, message)
    })?;
    if dir != anchor {
        return Err(WorkspaceFailure::new(
            WorkspaceErrorKind::MissingRoot,
            format!(
                "{} now leads to {}; name the directory by its path to attach it anew",
                anchor.display(),
                dir.display()
            ),
        ));
    }
    let seen = detect(&dir, reserved).ok();
    let own = seen.filter(|seen| seen.anchor == anchor && seen.execution_root == anchor);
    Ok(own.unwrap_or_else(|| Detection::plain(&anchor)))
}

fn select_home(order: &WorkspaceOrder) -> Selected<SelectedWorkspace> {
    if order.request.mode == UseMode::Isolated {
        return Err(WorkspaceFailure::new(
            WorkspaceErrorKind::IsolationUnsupported,
            "an agent's home cannot be isolated; use mode direct",
        ));
    }
    let home = Path::new(&order.agent_home);
    let mut entry = WorkspaceEntry::agent_home(&order.agent_home);
    // The home may not be made yet, and then nothing is below it.
    if order.request.cwd.is_some() {
        entry.cwd = cwd_in(order, home, home)?;
    }
    Ok(SelectedWorkspace {
        entry,
        detected_kind: DetectedKind::AgentHome,
        mode: UseMode::Direct,
        by_path: is_by_path(order),
        worktree: None,
        notes: Vec::new(),
    })
}

const fn is_by_path(order: &WorkspaceOrder) -> bool {
    matches!(order.request.selector, WorkspaceSelector::Path(_))
}

fn names_home(path: &str, agent_home: &str) -> bool {
    let canonical = |path: &str| Path::new(path).canonicalize().ok();
    path == agent_home || canonical(path).is_some_and(|path| Some(path) == canonical(agent_home))
}

fn workspace_of(found: &Detection) -> Selected<AttachedWorkspace> {
    let anchor = text("workspace", &found.anchor).map_err(|error| invalid(&error))?;
    Ok(AttachedWorkspace {
        workspace_id: WorkspaceId::of_anchor(&anchor),
        workspace_anchor: anchor,
        repository: repository_of(found),
    })
}

/// Resolves the current directory of a request inside a root, or takes the detected one.
fn cwd_in(order: &WorkspaceOrder, root: &Path, detected: &Path) -> Selected<String> {
    let Some(asked) = order.request.cwd.as_deref() else {
        return text("current directory", detected).map_err(|error| invalid(&error));
    };
    let confined = ExecutionRoot::open(root).map_err(|error| invalid(&error))?;
    let dir = confined.resolve_dir(root, Some(asked)).map_err(|failure| {
        WorkspaceFailure::new(WorkspaceErrorKind::InvalidPath, failure.to_string())
    })?;
    text("current directory", &dir).map_err(|error| invalid(&error))
}

fn session(order: &WorkspaceOrder, record: WorktreeRecord) -> WorktreeSession {
    WorktreeSession {
        original_working_directory: order.current_cwd.clone(),
        original_branch: record.original_branch,
        worktree_path: record.path,
        worktree_branch: record.branch,
        base_commit: record.base_commit,
    }
}

fn not_attached(order: &WorkspaceOrder) -> WorkspaceFailure {
    let known: Vec<&str> = order
        .attached
        .as_slice()
        .iter()
        .map(|known| known.workspace_id.as_str())
        .collect();
    let message = format!(
        "no such workspace is attached; attached are {AGENT_HOME} {}; name another one by its path",
        known.join(" ")
    );
    WorkspaceFailure::new(WorkspaceErrorKind::NotAttached, message)
}

fn invalid(error: &Error) -> WorkspaceFailure {
    WorkspaceFailure::new(WorkspaceErrorKind::InvalidPath, error.to_string())
}

fn git(error: &GitError) -> WorkspaceFailure {
    let kind = match error {
        GitError::Unverified { .. } | GitError::UnreadableRecord { .. } => {
            WorkspaceErrorKind::UnverifiedRepository
        }
        GitError::NoCommit { .. } | GitError::RefusedConfig { .. } => {
            WorkspaceErrorKind::IsolationUnsupported
        }
        GitError::NotStarted(_)
        | GitError::TimedOut { .. }
        | GitError::TooMuchOutput { .. }
        | GitError::Failed { .. }
        | GitError::OtherOwner { .. }
        | GitError::InvalidName { .. }
        | GitError::InUse { .. }
        | GitError::Io { .. } => WorkspaceErrorKind::Git,
    };
    WorkspaceFailure::new(kind, error.to_string())
}
