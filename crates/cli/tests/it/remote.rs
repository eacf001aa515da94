//! Templates and skills on GitHub through the program, with a mirror on disk in the place of GitHub.

use crate::hands::{self, Hands};
use crate::support::world;
use holon_domain::event::Event;
use holon_domain::guidance::SkillSourceKind;
use holon_testkit::World;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Runs plain git and returns what it printed.
pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=n", "-c", "user.email=n@example.org"])
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Makes a mirror with the repository `acme/agents`, names it in the settings, and returns the commit.
fn mirror(world: &World) -> String {
    let files = [
        ("templates/pilot/AGENTS.md", "# Role\n\nYou fly.\n"),
        (
            "templates/pilot/skills.json",
            r#"{"skill_refs":[{"kind":"github","package":"acme/agents@deploy"}]}"#,
        ),
        (
            "skills/deploy/SKILL.md",
            "---\nname: deploy\ndescription: Ships the product.\n---\nShip it.\n",
        ),
        (
            "skills/deploy/scripts/ship.sh",
            "#!/bin/sh\ntouch \"$HOME/ran\"\n",
        ),
    ];
    for (name, text) in files {
        world.write(&format!("work/{name}"), text);
    }
    let (work, bare) = (
        world.path().join("work"),
        world.path().join("mirror/acme/agents.git"),
    );
    fs::create_dir_all(&bare).unwrap();
    git(&bare, &["init", "-q", "--bare", "-b", "main"]);
    git(&work, &["init", "-q", "-b", "main"]);
    git(&work, &["add", "-A"]);
    git(&work, &["commit", "-q", "-m", "x"]);
    git(
        &work,
        &["push", "-q", bare.to_str().unwrap(), "main:team/main"],
    );
    git(&bare, &["symbolic-ref", "HEAD", "refs/heads/team/main"]);
    let base = format!("file://{}", world.path().join("mirror").display());
    let set = world.run(&["config", "set", "github.base_url", &base]);
    assert_eq!(set.code, Some(0), "{set:?}");
    git(&work, &["rev-parse", "HEAD"])
}

const TEMPLATE: &str = "https://github.com/acme/agents/tree/team/main/templates/pilot";

/// Returns the events about skills, without those of activations.
fn skill_events(world: &World) -> Vec<Event> {
    let events = Hands::of(world).events().into_iter();
    let is_change = |event: &Event| {
        matches!(
            event,
            Event::SkillInstalled(_) | Event::SkillUninstalled(_) | Event::SkillChanged(_)
        )
    };
    events.filter(is_change).collect()
}

#[test]
fn an_agent_is_made_from_a_template_on_github() {
    let world = world();
    let commit = mirror(&world);
    let shown = world.run(&["template", "show", TEMPLATE]);
    assert!(shown.answer().contains("You fly."), "{shown:?}");
    assert!(shown.answer().contains(&commit), "{shown:?}");
    let _served = world.serve(&[]);
    let made = world.run(&["agent", "create", "pilot", "--template", TEMPLATE]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let home = world.home().join("agents/pilot");
    let record = fs::read(home.join(".holon/state/template-provenance.json")).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    assert_eq!(record["commit"], commit);
    assert_eq!(record["skills"][0]["fetched_from"]["commit"], commit);
    assert!(home.join("skills/deploy/scripts/ship.sh").exists());
    assert!(!world.path().join("user/ran").exists(), "nothing is run");
    for bad in [
        "https://github.com/acme/agents/tree/main/templates/pilot",
        "https://github.com/acme/agents/tree/team/main/nope",
        "https://github.com/acme/missing/tree/main/x",
    ] {
        let refused = world.run(&["agent", "create", "other", "--template", bad, "--json"]);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains("invalid_template"), "{refused:?}");
    }
    assert!(!world.home().join("agents/other").exists());
}

#[test]
fn a_remote_skill_is_installed_with_its_commit_and_removed() {
    let world = world();
    let commit = mirror(&world);
    let _served = world.serve(&[]);
    let run = |args: &[&str]| world.run(args);
    let installed = run(&[
        "skills",
        "install",
        "--remote",
        "https://github.com/acme/agents",
    ]);
    assert_eq!(installed.answer(), "skill deploy is installed in main\n");
    let listed = run(&["skills", "list", "--json"]).json();
    assert_eq!(listed["skills"][0]["fetched_from"]["commit"], commit);
    assert_eq!(listed["skills"][0]["warning"], Value::Null);
    assert!(run(&["skills", "list"]).answer().contains(&commit));
    let again = run(&[
        "skills",
        "install",
        "--remote",
        "acme/agents@deploy#team/main",
    ]);
    assert!(again.stderr.contains("is installed already"), "{again:?}");
    assert_eq!(run(&["skills", "uninstall", "deploy"]).code, Some(0));
    for (args, code, words) in [
        (&["acme/agents@nope"][..], 1, "no skill \"nope\""),
        (&["acme/missing@deploy"], 1, "cannot be read"),
        (&["acme/agents@deploy#nope"], 1, "has no branch or tag"),
        (&["https://gitlab.com/a/b"], 2, "cannot be used"),
        (&["ext::sh"], 2, "cannot be used"),
        (
            &["acme/agents@deploy", "--skill", "x"],
            2,
            "names one skill already",
        ),
    ] {
        let refused = run(&[&["skills", "install", "--remote"], args].concat());
        assert_eq!(refused.code, Some(code), "{refused:?}");
        assert!(refused.stderr.contains(words), "{refused:?}");
    }
    let events = skill_events(&world);
    let [
        Event::SkillInstalled(installed),
        Event::SkillUninstalled(removed),
    ] = events.as_slice()
    else {
        panic!("{events:?}");
    };
    assert_eq!(installed.kind, SkillSourceKind::Remote);
    assert_eq!(installed.fetched_from.as_ref().unwrap().commit, commit);
    assert_eq!(removed.skill_name, "deploy");
    assert_eq!(removed.kind, Some(SkillSourceKind::Remote));
    assert!(!world.path().join("user/ran").exists(), "nothing is run");
    let left = fs::read_dir(world.home().join("run/fetch"))
        .unwrap()
        .count();
    assert_eq!(left, 1, "only the lock file is left");
}

#[test]
fn a_skill_that_was_changed_since_it_was_installed_is_told_and_not_active() {
    let world = world();
    mirror(&world);
    let model = hands::model(&world);
    let _served = world.serve(&["--model", &model]);
    let installed = world.run(&["skills", "install", "--remote", "acme/agents@deploy"]);
    assert_eq!(installed.code, Some(0), "{installed:?}");
    let active = || world.run(&["status", "--json"]).json()["skills"]["active_skills"].clone();
    let hands = Hands::of(&world);
    let look = json!({ "cmd": "cat skills/deploy/SKILL.md" });
    hands.call("ExecCommand", look.clone());
    assert_eq!(active()[0]["skill_id"], "agent:deploy");
    hands.call(
        "ExecCommand",
        json!({ "cmd": "echo 'Ship it elsewhere.' >> skills/deploy/SKILL.md; true" }),
    );
    hands.call("ExecCommand", look);
    assert_eq!(active(), json!([]));
    let events = skill_events(&world);
    let Some(Event::SkillChanged(changed)) = events.last() else {
        panic!("{events:?}");
    };
    assert_eq!(changed.skill_id, "agent:deploy");
    let listed = world.run(&["skills", "list"]);
    assert!(
        listed.answer().contains("changed since it was installed"),
        "{listed:?}"
    );
    let catalog = world.run(&["skills", "list", "--json"]).json();
    assert_eq!(
        catalog["discoverable_skills"][0]["changed_since_install"],
        true
    );
}
