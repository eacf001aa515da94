//! `UseWorkspace` in isolated mode, from the order to the worktree that may become active, against a bare
//! `git worktree add` in the same repository.

use crate::stats::{Sample, round};
use holon_domain::AgentId;
use holon_domain::workspace::{
    ReservedDirs, UseMode, UseWorkspace, WorkspaceOrder, WorkspaceSelector, WorkspaceSet,
};
use holon_workspace::{Git, ManagedWorktrees, WorkspaceSelection};
use serde_json::{Value, json};
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Files in one directory of the repository.
const PER_DIRECTORY: usize = 100;

/// Measures isolated worktrees of a repository with this many files.
pub(crate) fn isolated(files: usize, rounds: usize) -> Result<Value, Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let root = dir.path().canonicalize()?;
    let repo = root.join("project");
    make_repository(&repo, files)?;
    let agents_dir = root.join("agents");
    fs::create_dir_all(agents_dir.join("bench"))?;
    let selection = WorkspaceSelection {
        worktrees: ManagedWorktrees::new(root.join("worktrees"), Git::default()),
        reserved: ReservedDirs::none(),
        agents_dir: agents_dir.clone(),
    };
    let (mut bare, mut subject) = (Sample::default(), Sample::default());
    for number in 0..rounds {
        let target = root.join(format!("bare-{number}"));
        let (path, branch) = (text(&target)?, format!("bare-{number}"));
        let began = Instant::now();
        git(&repo, &["worktree", "add", "--quiet", "-b", &branch, path])?;
        bare.add(began.elapsed());
        git(&repo, &["worktree", "remove", "--force", path])?;

        let order = order(&agents_dir, &repo, number)?;
        let began = Instant::now();
        let selected = selection.select(&order).map_err(|failed| failed.message)?;
        subject.add(began.elapsed());
        let made = selected.entry.execution_root;
        assert!(Path::new(&made).join("d0/f0.txt").exists());
        git(&repo, &["worktree", "remove", "--force", &made])?;
    }
    let (bare_ms, ms) = (bare.quantile(0.5) / 1e3, subject.quantile(0.5) / 1e3);
    Ok(json!({
        "files": files,
        "git_worktree_add": bare.report(),
        "use_workspace_isolated": subject.report(),
        "p50_ms": round(ms),
        "added_p50_ms": round(ms - bare_ms),
        "ratio_of_p50": round(ms / bare_ms * 10.0) / 10.0,
    }))
}

pub(crate) fn make_repository(repo: &Path, files: usize) -> Result<(), Box<dyn Error>> {
    for number in 0..files {
        let folder = repo.join(format!("d{}", number / PER_DIRECTORY));
        if number % PER_DIRECTORY == 0 {
            fs::create_dir_all(&folder)?;
        }
        let content = format!("file {number}\n").repeat(20);
        fs::write(folder.join(format!("f{number}.txt")), content)?;
    }
    git(repo, &["init", "--quiet", "--initial-branch=main"])?;
    git(repo, &["add", "."])?;
    git(repo, &["commit", "--quiet", "-m", "first"])
}

fn order(agents_dir: &Path, repo: &Path, number: usize) -> Result<WorkspaceOrder, Box<dyn Error>> {
    let agent_home = text(&agents_dir.join("bench"))?.to_owned();
    Ok(WorkspaceOrder {
        agent_id: AgentId::parse("bench")?,
        current_cwd: agent_home.clone(),
        agent_home,
        attached: WorkspaceSet::default(),
        may_attach: true,
        request: UseWorkspace {
            selector: WorkspaceSelector::Path(text(repo)?.to_owned()),
            mode: UseMode::Isolated,
            cwd: None,
            isolation_label: Some("bench".to_owned()),
        },
        request_key: format!("{number:032x}"),
    })
}

fn text(path: &Path) -> Result<&str, Box<dyn Error>> {
    Ok(path.to_str().ok_or("a path that is not UTF-8")?)
}

pub(crate) fn git(repo: &Path, args: &[&str]) -> Result<(), Box<dyn Error>> {
    let status = Command::new("git")
        .args(["-c", "user.name=bench", "-c", "user.email=bench@localhost"])
        .args(args)
        .current_dir(repo)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("git {args:?}: {status}").into())
    }
}
