//! Agents made from templates, and their skills, through the program.

use crate::hands::{self, Hands};
use crate::instructions::{provider, system_prompt};
use crate::support::world;
use serde_json::{Value, json};
use std::fs;

const BUILTIN: [&str; 5] = [
    "holon-default",
    "holon-developer",
    "holon-github-solve",
    "holon-release",
    "holon-reviewer",
];

#[test]
fn the_builtin_templates_are_in_the_program_and_a_host_writes_them_down() {
    let world = world();
    let ids = |listed: &Value| -> Vec<String> {
        let all = listed.as_array().unwrap().iter();
        all.map(|entry| entry["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let listed = world.run(&["template", "list", "--json"]).json();
    assert_eq!(ids(&listed), BUILTIN);
    assert_eq!(listed[0]["origin"], "builtin");
    let templates = world.path().join("user/.agents/templates");
    assert!(!templates.exists(), "a list writes nothing");

    assert_eq!(world.serve(&[]).terminate().0, Some(0));
    let changed = templates.join("holon-reviewer/AGENTS.md");
    fs::write(&changed, "# Role\n\nMine.\n").unwrap();
    assert_eq!(world.serve(&[]).terminate().0, Some(0));
    assert_eq!(fs::read_to_string(&changed).unwrap(), "# Role\n\nMine.\n");
    let listed = world.run(&["template", "list", "--json"]).json();
    assert_eq!(ids(&listed), BUILTIN);
    assert_eq!(listed[0]["origin"], "directory");
    let shown = world.run(&["template", "show", "holon-reviewer"]);
    assert!(shown.answer().contains("Mine."), "{shown:?}");
    let checked = world.run(&["template", "validate", "holon-github-solve", "--json"]);
    assert_eq!(checked.json()["skills"].as_array().unwrap().len(), 4);
    let refused = world.run(&["template", "validate", "nope"]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("there is no template"),
        "{refused:?}"
    );
}

#[test]
fn an_agent_from_a_template_is_shown_its_text_and_its_skills() {
    let world = world();
    let provider = provider(&world);
    let served = world.serve(&[]);
    let made = world.run(&[
        "agent",
        "create",
        "solver",
        "--template",
        "holon-github-solve",
        "--seed",
        "Answer in verse.",
    ]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let home = world.home().join("agents/solver");
    let record = fs::read(home.join(".holon/state/template-provenance.json")).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    assert_eq!(record["template_id"], "holon-github-solve");

    let ran = world.run(&["run", "go on", "--agent", "solver"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = system_prompt(provider.requests().last().unwrap());
    let places: Vec<Option<usize>> = [
        "=== begin of agent_instructions",
        "You take one GitHub issue or pull request",
        "## This home",
        "Answer in verse.",
        "# Skills",
        "- agent:ghx (",
        "- agent:github-review (",
        "# Your tools",
    ]
    .iter()
    .map(|part| text.find(part))
    .collect();
    assert!(places.iter().all(Option::is_some), "{places:?}\n{text}");
    assert!(places.is_sorted(), "{places:?}");
    assert!(
        !text.contains("# Using gh from an agent"),
        "a body is not shown"
    );
    // The mark of an unfinished creation is gone once the agent runs.
    assert!(!home.join(".holon/state/unconfirmed").exists());

    let again = world.run(&["agent", "create", "solver", "--template", "holon-default"]);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.stderr.contains("exists already"), "{again:?}");
    drop(served);
    provider.finish();
}

#[test]
fn a_template_that_cannot_be_used_makes_no_agent_and_leaves_nothing() {
    let world = world();
    let _served = world.serve(&[]);
    world.write("bad/AGENTS.md", "# Role\n");
    let skills = json!({ "skill_refs": [
        { "kind": "builtin", "name": "ghx" },
        { "kind": "local", "path": "/nonexistent/skill" },
    ] });
    world.write("bad/skills.json", &skills.to_string());
    let bad = world.path().join("bad").display().to_string();
    for template in [
        bad.as_str(),
        "nope",
        "../up",
        "/nonexistent",
        "https://github.com/a/b/tree/main/x",
        "https://evil.example/a/b/tree/main/x",
    ] {
        let made = world.run(&["agent", "create", "x", "--template", template, "--json"]);
        assert_eq!(made.code, Some(1), "{made:?}");
        assert!(made.stderr.contains("invalid_template"), "{made:?}");
    }
    let agents = world.home().join("agents");
    let left: Vec<_> = fs::read_dir(&agents)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["main"]);
    assert!(!world.run(&["agent", "list"]).answer().contains("x "));
}

#[test]
fn a_run_makes_its_agent_from_a_template_without_a_host() {
    let world = world();
    let provider = provider(&world);
    let args = [
        "run",
        "go",
        "--agent",
        "checker",
        "--create-agent",
        "--template",
        "holon-reviewer",
    ];
    let ran = world.run(&args);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let text = system_prompt(provider.requests().last().unwrap());
    assert!(text.contains("You review changes."), "{text}");
    assert!(
        !world.path().join("user/.agents").exists(),
        "only a host writes the built-in templates down"
    );
    let again = world.run(&args);
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(
        again.stderr.contains("its template was not applied"),
        "{again:?}"
    );
    provider.finish();
}

#[test]
fn skills_are_installed_listed_and_removed() {
    let world = world();
    let _served = world.serve(&[]);
    let text = "---\nname: deploy\ndescription: Ships the product.\n---\nBody\n";
    let dir = world.write("source/deploy/SKILL.md", text);
    let dir = dir.parent().unwrap().display().to_string();
    let run = |args: &[&str]| world.run(args);
    assert_eq!(
        run(&["skills", "install", "ghx", "--builtin"]).code,
        Some(0)
    );
    assert_eq!(run(&["skills", "install", &dir]).code, Some(0));
    let again = run(&["skills", "install", &dir, "--copy"]);
    assert!(again.stderr.contains("is installed already"), "{again:?}");
    let listed = run(&["skills", "list", "--json"]).json();
    let ids: Vec<&str> = listed["discoverable_skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skill| skill["skill_id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["agent:deploy", "agent:ghx"]);
    let shown = run(&["skills", "list"]);
    assert!(shown.answer().contains("Ships the product."), "{shown:?}");
    let status = run(&["status", "--json"]).json();
    assert_eq!(status["skills"]["discoverable_skills"][0]["name"], "deploy");
    assert_eq!(run(&["skills", "uninstall", "deploy"]).code, Some(0));
    let gone = run(&["skills", "uninstall", "deploy"]);
    assert!(gone.stderr.contains("is not installed"), "{gone:?}");
    assert!(world.path().join("source/deploy/SKILL.md").exists());
    let refused = run(&["skills", "install", "nope", "--builtin"]);
    assert!(refused.stderr.contains("no skill \"nope\""), "{refused:?}");
}

#[test]
fn a_skill_that_was_opened_stays_active_across_a_crash() {
    let world = world();
    let model = hands::model(&world);
    let served = world.serve(&["--model", &model]);
    let install = ["skills", "install", "ghx", "--builtin"];
    assert_eq!(world.run(&install).code, Some(0));
    let active = || world.run(&["status", "--json"]).json()["skills"]["active_skills"].clone();
    let hands = Hands::of(&world);
    hands.call("ExecCommand", json!({ "cmd": "ls skills" }));
    assert_eq!(active(), json!([]), "a listing opens nothing");
    hands.call(
        "ExecCommand",
        json!({ "cmd": "head -n 3 skills/ghx/SKILL.md" }),
    );
    let opened = active();
    assert_eq!(opened[0]["skill_id"], "agent:ghx");
    assert_eq!(opened[0]["activation_source"], "agent_command");
    served.crash();
    let served = world.serve(&["--model", &model]);
    let kept = active();
    assert_eq!(kept[0]["activation_state"], "session_active");
    assert_eq!(kept[0]["activation_source"], "restored");
    assert_eq!(served.terminate().0, Some(0));
}
