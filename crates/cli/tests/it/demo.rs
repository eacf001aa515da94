//! `holon demo`: its checks pass, and it leaves nothing behind.

use crate::processes::below;
use crate::support::world;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

#[test]
fn the_demo_survives_its_own_crash_and_cleans_up() {
    let world = world();
    let temp = world.path().join("temp");
    std::fs::create_dir(&temp).unwrap();
    let output = world
        .command()
        .args(["demo", "--fast"])
        .env("TMPDIR", &temp)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    for part in [
        " goes on by itself",
        "The tests go on without it",
        "turn 1 resumed after log entry",
        "; 0 calls of unknown outcome",
        "ok   one brief",
        "ok   each command ran exactly once",
        "ok   the tests ran through the crash to their end: completed",
        "Lost: nothing.",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(
        std::fs::read_dir(&temp).unwrap().count(),
        0,
        "the directory is removed"
    );
    for untouched in [world.home(), world.path().join("user/.agents")] {
        assert!(!untouched.exists(), "{} is touched", untouched.display());
    }
}

#[test]
fn a_demo_that_is_interrupted_while_its_tests_run_leaves_no_file_and_no_process() {
    let world = world();
    let temp = world.path().join("temp");
    std::fs::create_dir(&temp).unwrap();
    let mut demo = world
        .command()
        .args(["demo", "--fast"])
        .env("TMPDIR", &temp)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(demo.stdout.take().unwrap()).lines();
    let mut said = lines.map(|line| line.unwrap());
    assert!(said.any(|line| line.contains("goes on by itself")));
    kill_process(Pid::from_child(&demo), Signal::INT).unwrap();
    drop(said.last());
    let output = demo.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("everything it started has been ended"),
        "{said}"
    );
    assert_eq!(std::fs::read_dir(&temp).unwrap().count(), 0);
    assert_eq!(below(&temp), []);
}

#[test]
fn a_kept_demo_names_its_directory_to_programs() {
    let world = world();
    let ran = world
        .command()
        .args(["demo", "--fast", "--keep", "--json"])
        .env("TMPDIR", world.path())
        .output()
        .unwrap();
    let report: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(report["ok"], true);
    assert_eq!(report["checks"].as_array().unwrap().len(), 6);
    assert!(
        std::path::Path::new(report["directory"].as_str().unwrap())
            .join("repo/.git")
            .is_dir()
    );
}

#[test]
fn a_demo_without_git_says_what_is_missing() {
    let world = world();
    let ran = world
        .command()
        .args(["demo", "--fast"])
        .env("PATH", world.path())
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(1));
    let said = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(
        said,
        "error: the demo needs git, and it was not found\nnext: install git and try again\ncode: demo_failed (holon explain-error demo_failed)\n"
    );
}
