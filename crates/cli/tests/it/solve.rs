//! `holon solve` with a scripted model, with and without a host.

use crate::remote::git;
use crate::support::world;
use holon_testkit::{ProgramOutput, World};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

fn artifact(dir: &Path, name: &str) -> Value {
    let text = fs::read(dir.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    serde_json::from_slice(&text).unwrap()
}

/// Creates a model that writes what its command finds of the token, and then a summary.
fn solver(world: &World) -> String {
    let cmd = "printf %s \"$GITHUB_TOKEN\" | wc -c > token-length; pwd > place";
    let call = json!({ "tool": "ExecCommand", "input": { "cmd": cmd } });
    world.model(
        "solver",
        &json!([{ "text": "I look.", "calls": [call] }, { "text": "Cause: a typo. Fixed." }]),
    )
}

fn solve(world: &World, args: &[&str], variables: &[(&str, &str)]) -> ProgramOutput {
    world.run_in(&[&["solve"], args].concat(), b"", variables)
}

#[test]
fn an_issue_is_worked_on_and_three_files_tell_what_came_of_it() {
    let world = world();
    let model = solver(&world);
    let token = [("GITHUB_TOKEN", "ghp_secretsecretsecret")];
    let args = [
        "acme/tools#12",
        "--model",
        &model,
        "--output",
        "out",
        "--input",
        "in",
    ];
    let ran = solve(&world, &args, &token);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stdout, "Cause: a typo. Fixed.\n");
    let out = world.path().join("out");
    assert!(
        ran.stderr.contains(&format!(
            "artifacts: {}",
            out.canonicalize().unwrap().display()
        )),
        "{ran:?}"
    );
    let manifest = artifact(&out, "manifest.json");
    let expected = json!({
        "provider": "holon-solve", "status": "completed", "outcome": "success",
        "target_ref": "acme/tools#12",
        "target": { "repo": "acme/tools", "number": 12, "kind": "unknown" },
        "agent_id": "github-solve", "run_json": "run.json", "summary": "summary.md",
    });
    assert_eq!(manifest, expected);
    let run = artifact(&out, "run.json");
    assert_eq!(run["final_text"], "Cause: a typo. Fixed.");
    assert_eq!(run["agent_id"], "github-solve");
    let summary = fs::read_to_string(out.join("summary.md")).unwrap();
    assert_eq!(
        summary,
        "# acme/tools#12\n\nStatus: completed\n\nCause: a typo. Fixed.\n"
    );
    let input = artifact(&world.path().join("in"), "solve.json");
    assert_eq!(input["url"], "https://github.com/acme/tools/issues/12");
    assert_eq!(input["base"], "main");

    // The agent has the template's skills, works in its home, and its commands have the token; nothing stores it.
    let home = world.home().join("agents/github-solve");
    assert!(home.join("skills/github-issue-solve/SKILL.md").exists());
    assert_eq!(
        fs::read_to_string(home.join("token-length"))
            .unwrap()
            .trim(),
        "22"
    );
    for dir in [world.home(), out, world.path().join("in")] {
        let found = std::process::Command::new("grep")
            .args(["-r", "-a", "-l", "ghp_secret"])
            .arg(&dir)
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8_lossy(&found.stdout),
            "",
            "{}",
            dir.display()
        );
    }

    // The agent is used again, and the files are those of the new run.
    let again = solve(
        &world,
        &["https://github.com/acme/tools/pull/13", "--output", "out"],
        &[],
    );
    assert_eq!(again.code, Some(0), "{again:?}");
    let manifest = artifact(&world.path().join("out"), "manifest.json");
    assert_eq!(manifest["target"]["kind"], "pull_request");
    assert_eq!(manifest["target_ref"], "acme/tools#13");
}

#[test]
fn a_bare_number_is_of_the_clone_around_the_current_directory() {
    let world = world();
    let clone = world.path().join("clone");
    world.write("clone/README.md", "x");
    git(&clone, &["init", "-q", "-b", "main"]);
    git(
        &clone,
        &["remote", "add", "origin", "git@github.com:acme/tools.git"],
    );
    git(&clone, &["add", "-A"]);
    git(&clone, &["commit", "-q", "-m", "x"]);
    let model = solver(&world);
    let refused = solve(&world, &["#7", "--model", &model], &[]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("--repo OWNER/REPO"), "{refused:?}");
    let mut command = world.command();
    let ran = command
        .args([
            "solve", "#7", "--model", &model, "--output", "../out", "--json",
        ])
        .current_dir(&clone)
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    let printed: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let out = world.path().join("out");
    assert_eq!(printed, artifact(&out, "run.json"));
    assert_eq!(
        artifact(&out, "manifest.json")["target_ref"],
        "acme/tools#7"
    );
    let place = fs::read_to_string(clone.join("place")).unwrap();
    assert_eq!(
        Path::new(place.trim()).canonicalize().unwrap(),
        clone.canonicalize().unwrap()
    );

    // The next target is of another repository, so the agent does not stay in this clone.
    fs::remove_file(clone.join("place")).unwrap();
    let other = solve(&world, &["acme/other#8", "--output", "out"], &[]);
    assert_eq!(other.code, Some(0), "{other:?}");
    assert!(!clone.join("place").exists(), "it works in the last clone");
    let home = world.home().join("agents/github-solve");
    assert!(home.join("place").exists());
}

#[test]
fn a_run_that_fails_or_cannot_begin_says_so_in_its_exit_code_and_manifest() {
    let world = world();
    let call = json!({ "tool": "ExecCommand", "input": { "cmd": "true" } });
    let endless = world.model("endless", &json!([{ "calls": [call] }]));
    let args = [
        "a/b#1",
        "--model",
        &endless,
        "--max-turns",
        "2",
        "--output",
        "out",
    ];
    let ran = solve(&world, &args, &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let out = world.path().join("out");
    let manifest = artifact(&out, "manifest.json");
    assert_eq!(manifest["status"], "max_turns_exceeded");
    assert_eq!(manifest["outcome"], "incomplete");

    let args = [
        "a/b#1",
        "--agent",
        "other",
        "--template",
        "nope",
        "--model",
        &endless,
        "--output",
        "out",
    ];
    let ran = solve(&world, &args, &[]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let manifest = artifact(&out, "manifest.json");
    assert_eq!(
        (&manifest["status"], &manifest["outcome"]),
        (&json!("failed"), &json!("incomplete"))
    );
    assert_eq!(manifest["run_json"], Value::Null);
    assert!(
        manifest["error"]
            .as_str()
            .unwrap()
            .contains("there is no template"),
        "{manifest}"
    );
    assert!(
        !out.join("run.json").exists(),
        "the file of the earlier run is gone"
    );
    assert!(
        fs::read_to_string(out.join("summary.md"))
            .unwrap()
            .contains("there is no template")
    );

    let wrong = solve(&world, &["fix it", "--output", "none"], &[]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(!world.path().join("none").exists());
}

#[test]
fn a_host_does_the_work_if_there_is_one() {
    let world = world();
    let model = solver(&world);
    let _served = world.serve(&["--model", &model]);
    let ran = solve(&world, &["acme/tools#12", "--output", "out"], &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        world
            .run(&["agent", "list"])
            .answer()
            .contains("github-solve")
    );
    assert_eq!(
        artifact(&world.path().join("out"), "manifest.json")["outcome"],
        "success"
    );
}
