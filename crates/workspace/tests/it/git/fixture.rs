//! Repositories for tests, made with plain git and without the user's configuration.

use holon_domain::workspace::{
    ReservedDirs, UseMode, UseWorkspace, WorkspaceOrder, WorkspaceSelector, WorkspaceSet,
};
use holon_domain::{AgentId, WorkspaceId};
use holon_workspace::{Git, ManagedWorktrees, WorkspaceSelection};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A temporary directory with a repository, a host's home and a place for canaries.
pub(crate) struct World {
    _dir: tempfile::TempDir,
    base: PathBuf,
}

impl World {
    /// Makes the directories and a repository with one commit.
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        for part in ["canaries", "holon/state", "holon/run", "holon/agents/main"] {
            fs::create_dir_all(base.join(part)).unwrap();
        }
        let world = Self { _dir: dir, base };
        let script = format!(
            "#!/bin/sh\n: > \"{}/$$\"\nexit 0\n",
            world.base.join("canaries").display()
        );
        fs::write(world.evil(), script).unwrap();
        fs::set_permissions(world.evil(), fs::Permissions::from_mode(0o755)).unwrap();
        make_repository(&world.repo());
        world
    }

    pub(crate) fn base(&self) -> &Path {
        &self.base
    }

    pub(crate) fn repo(&self) -> PathBuf {
        self.base.join("repo")
    }

    /// A program that leaves a canary.
    pub(crate) fn evil(&self) -> PathBuf {
        self.base.join("evil.sh")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.base.join("holon")
    }

    pub(crate) fn agent_home(&self) -> PathBuf {
        self.home().join("agents/main")
    }

    /// Counts the canaries and removes them.
    pub(crate) fn take_canaries(&self) -> usize {
        let mut count = 0;
        for entry in fs::read_dir(self.base.join("canaries")).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
            count += 1;
        }
        count
    }

    pub(crate) fn worktrees(&self) -> ManagedWorktrees {
        ManagedWorktrees::new(
            self.home().join("execution-roots/git-worktree"),
            Git::default(),
        )
    }

    pub(crate) fn selection(&self) -> WorkspaceSelection {
        WorkspaceSelection {
            worktrees: self.worktrees(),
            reserved: ReservedDirs::new(vec![self.home().join("state"), self.home().join("run")])
                .with_execution_roots(self.home().join("execution-roots")),
            agents_dir: self.home().join("agents"),
        }
    }

    pub(crate) fn order(&self, selector: WorkspaceSelector, mode: UseMode) -> WorkspaceOrder {
        WorkspaceOrder {
            agent_id: AgentId::parse("main").unwrap(),
            agent_home: self.agent_home().display().to_string(),
            current_cwd: self.agent_home().display().to_string(),
            attached: WorkspaceSet::default(),
            may_attach: true,
            request: UseWorkspace {
                selector,
                mode,
                cwd: None,
                isolation_label: Some("Fix it".to_owned()),
            },
            request_key: "call_1".to_owned(),
        }
    }

    pub(crate) fn by_path(&self, path: &Path, mode: UseMode) -> WorkspaceOrder {
        self.order(WorkspaceSelector::Path(path.display().to_string()), mode)
    }

    pub(crate) fn by_id(&self, id: &str) -> WorkspaceOrder {
        let id = WorkspaceId::from_stored(id);
        self.order(WorkspaceSelector::WorkspaceId(id), UseMode::Direct)
    }
}

/// Makes a repository with the files `a.txt` and `sub/b.txt` in one commit.
pub(crate) fn make_repository(root: &Path) {
    fs::create_dir_all(root.join("sub")).unwrap();
    git(root, &["init", "--quiet", "--initial-branch=main"]);
    fs::write(root.join("a.txt"), "one\n").unwrap();
    fs::write(root.join("sub/b.txt"), "two\n").unwrap();
    commit(root, "first");
}

/// Commits everything in a directory.
pub(crate) fn commit(root: &Path, message: &str) {
    git(root, &["add", "--all"]);
    git(root, &["commit", "--quiet", "--allow-empty", "-m", message]);
}

/// Runs plain git and expects it to succeed.
pub(crate) fn git(root: &Path, args: &[&str]) -> String {
    let output = plain_git(root, args);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {said}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Runs git as a user would, without any hardening.
pub(crate) fn plain_git(root: &Path, args: &[&str]) -> Output {
    let identity = [
        "user.name=Ada",
        "user.email=ada@example.org",
        "protocol.file.allow=always",
        // A process of git that goes on in the background would be a user of the worktree.
        "maintenance.auto=false",
    ];
    let mut command = Command::new("git");
    for setting in identity {
        command.args(["-c", setting]);
    }
    command
        .args(args)
        .current_dir(root)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap()
}
