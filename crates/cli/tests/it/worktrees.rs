//! Workspaces and worktrees with the real program: isolated work over a crash, merged by hand, and cleaned up.

use crate::looking::follow;
use crate::processes::ProcessCleanup;
use crate::support::{until, world};
use holon_testkit::World;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs git as the user of the repository would.
pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"])
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {said}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

pub(crate) fn repository(world: &World) -> PathBuf {
    world.write("project/a.txt", "one\n");
    let repo = world.path().join("project").canonicalize().unwrap();
    git(&repo, &["init", "--quiet", "--initial-branch=main"]);
    git(&repo, &["add", "."]);
    git(&repo, &["commit", "--quiet", "-m", "first"]);
    repo
}

fn round(tool: &str, input: &Value) -> Value {
    json!({ "calls": [{ "tool": tool, "input": input }] })
}

/// Runs the program and returns what it printed as JSON.
pub(crate) fn ask(world: &World, args: &[&str]) -> Value {
    let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
    let ran = world.run(&args);
    assert_eq!(ran.code, Some(0), "{args:?}: {}{}", ran.stdout, ran.stderr);
    ran.json()
}

fn reasons(report: &Value) -> Vec<&str> {
    let reasons = report["worktrees"][0]["reasons"].as_array().unwrap();
    reasons
        .iter()
        .map(|reason| reason["reason"].as_str().unwrap())
        .collect()
}

#[test]
fn isolated_work_survives_a_crash_is_merged_by_hand_and_cleaned_up() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let repo = repository(&world);
    let (done, go) = (world.path().join("done"), world.path().join("go"));
    let work = format!(
        "echo work > work.txt && git add work.txt \
         && git -c user.name=Ada -c user.email=ada@example.org commit -qm work && touch {}; \
         until [ -e {} ]; do sleep 0.05; done; pwd",
        done.display(),
        go.display()
    );
    let enter = json!({ "path": repo, "mode": "isolated", "isolation_label": "Fix it" });
    let look = "git symbolic-ref --short HEAD";
    let model = world.model(
        "isolated",
        &json!([
            round("UseWorkspace", &enter),
            round("ExecCommand", &json!({ "cmd": work, "yield_time_ms": 600_000 })),
            { "text": "{{tool_result}}" },
            round("ExecCommand", &json!({ "cmd": look })),
            { "text": "{{tool_result}}" },
        ]),
    );
    let served = world.serve(&["--model", &model]);
    assert_eq!(world.run(&["prompt", "fix it"]).code, Some(0));
    until("the work is committed", || done.exists());
    served.crash();
    let _served = world.serve(&["--model", &model]);
    world.write("go", "");
    let told = follow(&world, "main", 1);

    let status = ask(&world, &["status"]);
    let session = &status["agent"]["worktree_session"];
    let branch = session["worktree_branch"].as_str().unwrap().to_owned();
    let root = PathBuf::from(session["worktree_path"].as_str().unwrap());
    assert!(branch.starts_with("holon/fix-it-"), "{branch}");
    assert!(
        root.starts_with(
            world
                .home()
                .canonicalize()
                .unwrap()
                .join("execution-roots/git-worktree")
        )
    );
    assert_eq!(session["original_branch"], "main");
    assert_eq!(status["execution"]["workspace_anchor"], json!(repo));
    assert_eq!(status["execution"]["projection_kind"], "git_worktree_root");
    let text = told[0]["text"].as_str().unwrap();
    assert!(text.contains(root.to_str().unwrap()), "{text}");
    assert_eq!(
        git(&repo, &["status", "--porcelain"]),
        "",
        "the checkout is untouched"
    );

    // A later turn goes on in the same place.
    assert_eq!(world.run(&["prompt", "where are you"]).code, Some(0));
    let told = follow(&world, "main", 2);
    assert!(
        told[1]["text"].as_str().unwrap().contains(&branch),
        "{told:?}"
    );

    let kept = ask(&world, &["worktree", "clean"]);
    assert_eq!(reasons(&kept), ["active_for", "own_commits"]);
    git(&repo, &["merge", "--quiet", &branch]);
    assert_eq!(ask(&world, &["workspace", "exit"])["ok"], true);
    let seen = ask(&world, &["worktree", "clean", "--dry-run"]);
    assert_eq!(seen["worktrees"][0]["verdict"], "removable");
    assert!(root.exists());
    let cleaned = ask(&world, &["worktree", "clean"]);
    assert_eq!(cleaned["worktrees"][0]["verdict"], "removed");
    assert!(!root.exists());
    assert_eq!(git(&repo, &["branch", "--list", "holon/*"]), "");
    assert_eq!(
        std::fs::read_to_string(repo.join("work.txt")).unwrap(),
        "work\n"
    );
    assert_eq!(ask(&world, &["worktree", "list"])["worktrees"], json!([]));
}

#[test]
fn a_workspace_is_attached_used_listed_left_and_detached() {
    let world = world();
    let repo = repository(&world);
    let model = crate::support::hello(&world);
    let _served = world.serve(&["--model", &model]);
    let path = repo.to_str().unwrap();
    let attached = ask(&world, &["workspace", "attach", path]);
    assert_eq!(attached["workspace_anchor"], json!(repo));
    let id = attached["workspace_id"].as_str().unwrap().to_owned();
    let used = ask(&world, &["workspace", "use", &id, "--mode", "isolated"]);
    assert_eq!(used["entry"]["workspace_id"], json!(id));
    assert_eq!(used["entry"]["ownership"], "session_owned");
    let refused = world.run(&["workspace", "detach", &id]);
    assert_eq!(refused.code, Some(1), "{}", refused.stdout);
    assert!(
        refused.stderr.contains("holon workspace exit"),
        "{}",
        refused.stderr
    );
    let listed = world.run(&["workspace", "list"]);
    assert!(
        listed.stdout.contains(&format!("* {id}")),
        "{}",
        listed.stdout
    );
    for args in [vec!["workspace", "exit"], vec!["workspace", "detach", &id]] {
        assert_eq!(world.run(&args).code, Some(0), "{args:?}");
    }
    let status = ask(&world, &["status"]);
    assert_eq!(
        status["agent"]["attached_workspaces"],
        json!(["agent_home"])
    );
    assert!(repo.join("a.txt").exists());
    let missing = world.run(&["workspace", "use", "/nowhere/at/all"]);
    assert_eq!(missing.code, Some(1), "{}", missing.stdout);
    assert!(
        missing.stderr.contains("does not exist"),
        "{}",
        missing.stderr
    );
}

#[test]
fn a_worktree_that_is_gone_is_an_error_and_no_other_directory_takes_its_place() {
    let world = world();
    let repo = repository(&world);
    let enter = json!({ "path": repo, "mode": "isolated" });
    let touch = json!({ "cmd": "touch here" });
    let model = world.model(
        "stray",
        &json!([
            round("UseWorkspace", &enter),
            { "text": "In." },
            round("ExecCommand", &touch),
            { "text": "{{tool_result}}" },
        ]),
    );
    let _served = world.serve(&["--model", &model]);
    assert_eq!(world.run(&["prompt", "go in"]).code, Some(0));
    follow(&world, "main", 1);
    let status = ask(&world, &["status"]);
    let root = PathBuf::from(status["execution"]["execution_root"].as_str().unwrap());
    std::fs::remove_dir_all(&root).unwrap();
    assert_eq!(world.run(&["prompt", "go on"]).code, Some(0));
    let told = follow(&world, "main", 2);
    let text = told[1]["text"].as_str().unwrap();
    assert!(text.contains("does not exist"), "{text}");
    for dir in [root.clone(), repo, world.home().join("agents/main")] {
        assert!(!dir.join("here").exists(), "{}", dir.display());
    }
    assert!(!root.exists());
}
