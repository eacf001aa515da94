//! Tests of the arguments and the environment of git, as seen by a program in its place that writes both down.

use super::fixture::{World, commit, git, make_repository};
use holon_domain::workspace::{CleanVerdict, UseMode};
use holon_workspace::{Git, ManagedWorktrees, WorkspaceSelection};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

/// Options that the runtime gives by itself. `--contains=` is followed by a full commit id.
const OPTIONS: [&str; 22] = [
    "--",
    "--end-of-options",
    "--format=%(refname)",
    "--format=%(worktreepath)",
    "--git-dir",
    "--ignore-submodules=all",
    "--ignored=traditional",
    "--list",
    "--name-only",
    "--no-checkout",
    "--no-pager",
    "--no-recurse-submodules",
    "--no-renames",
    "--porcelain=v2",
    "--quiet",
    "--reset",
    "--untracked-files=all",
    "--verify",
    "-d",
    "-s",
    "-u",
    "-v",
];

/// Makes a program that records how it is called and then is git.
fn recorder(world: &World) -> (Git, PathBuf) {
    let (program, log) = (world.base().join("recorder"), world.base().join("log"));
    let script = format!(
        "#!/bin/sh\nprintf 'arg %s\\n' \"$@\" >> {0}\nenv | sed 's/^/env /' >> {0}\nexec git \"$@\"\n",
        log.display()
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    (
        Git::with_program(program, "/usr/local/bin:/usr/bin:/bin".into()),
        log,
    )
}

fn is_known(option: &str) -> bool {
    let tip = option.strip_prefix("--contains=");
    let is_commit = |tip: &str| tip.len() == 40 && tip.bytes().all(|byte| byte.is_ascii_hexdigit());
    OPTIONS.contains(&option) || option == "-z" || tip.is_some_and(is_commit)
}

#[test]
fn no_name_becomes_an_option_and_nothing_is_inherited() {
    let world = World::new();
    let (git_program, log) = recorder(&world);
    let selection = WorkspaceSelection {
        worktrees: ManagedWorktrees::new(world.home().join("execution-roots"), git_program),
        ..world.selection()
    };
    for (number, name) in ["--upload-pack=x", "-rf", "a b", "ext::sh", "@{-1}"]
        .iter()
        .enumerate()
    {
        let repo = world.base().join(name);
        make_repository(&repo);
        git(&repo, &["checkout", "--quiet", "-b", "topic"]);
        let mut order = world.by_path(&repo, UseMode::Isolated);
        order.request.isolation_label = Some((*name).to_owned());
        order.request_key = format!("call_{number}");
        let selected = selection.select(&order).unwrap();
        commit(selected.entry.execution_root.as_ref(), "work");
        git(
            &repo,
            &[
                "merge",
                "--quiet",
                &selected.worktree.unwrap().worktree_branch,
            ],
        );
    }
    for record in selection.worktrees.records().unwrap().records {
        let cleaned = selection.worktrees.clean(&record, &[], false);
        assert!(
            matches!(cleaned, CleanVerdict::Removed { .. }),
            "{cleaned:?}"
        );
    }
    let recorded = fs::read_to_string(log).unwrap();
    let options = recorded
        .lines()
        .filter_map(|line| line.strip_prefix("arg "));
    let unknown: Vec<&str> = options
        .filter(|arg| arg.starts_with('-') && !is_known(arg))
        .collect();
    assert_eq!(unknown, Vec::<&str>::new());
    for variable in ["HOME=", "XDG_CONFIG_HOME=", "GIT_DIR=", "LD_PRELOAD="] {
        assert!(!recorded.contains(&format!("env {variable}")), "{variable}");
    }
    assert!(recorded.contains("env GIT_TERMINAL_PROMPT=0"));
}
