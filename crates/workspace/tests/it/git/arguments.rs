//! Tests of the arguments and the environment of git, as seen by a program in its place that writes both down.

use super::fixture::{World, commit, git, make_repository};
use holon_domain::workspace::{CleanVerdict, UseMode};
use holon_workspace::{Git, ManagedWorktrees, WorkspaceSelection};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

/// Options that the runtime gives by itself. `--contains=` is followed by a full commit id.
const OPTIONS: [&str; 30] = [
    "--",
    "--all",
    "--count=1",
    "--end-of-options",
    "--format=%(refname)",
    "--format=%(worktreepath)",
    "--git-dir",
    "--ignore-missing",
    "--ignore-submodules=all",
    "--ignored=traditional",
    "--list",
    "--max-count=1",
    "--name-only",
    "--no-checkout",
    "--no-deref",
    "--no-pager",
    "--no-recurse",
    "--no-recurse-submodules",
    "--no-renames",
    "--not",
    "--porcelain=v2",
    "--quiet",
    "--reset",
    "--topo-order",
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
    for variable in ["HOME=", "XDG_CONFIG_HOME=", "LD_PRELOAD="] {
        assert!(!recorded.contains(&format!("env {variable}")), "{variable}");
    }
    // A worktree that was moved aside is opened by the directory that git keeps for it.
    let mut told = recorded
        .lines()
        .filter_map(|line| line.strip_prefix("env GIT_DIR="));
    assert!(told.all(|dir| dir.contains("/.git/worktrees/")));
    assert!(recorded.contains("env GIT_TERMINAL_PROMPT=0"));
}

/// Calls of the recorder: the arguments and the environment of each.
fn calls(recorded: &str) -> Vec<(Vec<&str>, Vec<&str>)> {
    let mut calls: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    for line in recorded.lines() {
        if line == "arg --no-pager" {
            calls.push((Vec::new(), Vec::new()));
        }
        let Some((args, variables)) = calls.last_mut() else {
            continue;
        };
        if let Some(arg) = line.strip_prefix("arg ") {
            args.push(arg);
        } else if let Some(variable) = line.strip_prefix("env ") {
            variables.push(variable);
        }
    }
    calls
}

/// Returns true if a command can run a hook: all but those by which the runtime learns the names.
fn can_run_hooks(args: &[&str]) -> bool {
    !args.contains(&"--git-dir") && args.get(1) != Some(&"config")
}

fn is_switched_off(variables: &[&str], hook: &str) -> bool {
    let key = format!("=hook.{hook}.enabled");
    let found = variables
        .iter()
        .find_map(|variable| variable.strip_suffix(&key));
    let number = found.and_then(|name| name.strip_prefix("GIT_CONFIG_KEY_"));
    let value = number.map(|number| format!("GIT_CONFIG_VALUE_{number}=false"));
    value.is_some_and(|value| variables.contains(&value.as_str()))
}

#[test]
fn every_hook_of_the_configuration_is_switched_off_in_every_command() {
    let world = World::new();
    let repo = world.repo();
    let set = |key: &str, value: &str| git(&repo, &["config", key, value]);
    let include = |name: &str, key: &str| {
        let file = world.base().join(name);
        let text = format!("[hook \"{name}\"]\n\tevent = post-checkout\n\tcommand = false\n");
        fs::write(&file, text).unwrap();
        set(key, &file.display().to_string());
    };
    set("hook.plain.event", "reference-transaction");
    set("hook.plain.command", "false");
    set("hook.a.b c.command", "false");
    include("included", "include.path");
    include("by-directory", "includeIf.gitdir:/**.path");
    include("by-branch", "includeIf.onbranch:holon/**.path");
    set("extensions.worktreeConfig", "true");
    git(
        &repo,
        &["config", "--worktree", "hook.here.event", "post-checkout"],
    );
    let (git_program, log) = recorder(&world);
    let selection = WorkspaceSelection {
        worktrees: ManagedWorktrees::new(world.home().join("execution-roots"), git_program),
        ..world.selection()
    };
    selection
        .select(&world.by_path(&repo, UseMode::Isolated))
        .unwrap();
    for record in selection.worktrees.records().unwrap().records {
        let cleaned = selection.worktrees.clean(&record, &[], false);
        let is_removed = matches!(cleaned, CleanVerdict::Removed { .. });
        assert!(is_removed, "{cleaned:?}");
    }
    let recorded = fs::read_to_string(log).unwrap();
    let calls = calls(&recorded);
    let calls = calls.iter().filter(|(args, _)| can_run_hooks(args));
    let (mut seen, mut inside) = (0, 0);
    for (args, variables) in calls {
        seen += 1;
        for hook in ["plain", "a.b c", "included", "by-directory"] {
            assert!(is_switched_off(variables, hook), "{hook}: {args:?}");
        }
        // These two are settings of the worktree, or of the main one alone.
        let is_inside = args.contains(&"read-tree");
        inside += usize::from(is_inside);
        let name = if is_inside { "by-branch" } else { "plain" };
        assert!(is_switched_off(variables, name), "{name}: {args:?}");
        if args.contains(&"update-ref") || args.contains(&"add") {
            assert!(is_switched_off(variables, "here"), "{args:?}");
        }
    }
    assert!(seen > 5 && inside == 1, "{seen} commands, {inside} inside");
}
