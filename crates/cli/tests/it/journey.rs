//! The whole way of an agent in a project: made from a template, it reads the project's instructions and skills, works
//! in a worktree of its own, is killed in the middle of a command, goes on, and its work is merged and cleaned up. What
//! the model was shown is compared as a whole.

use crate::instructions::system_prompt;
use crate::looking::follow;
use crate::models::{Entry, configure};
use crate::processes::ProcessCleanup;
use crate::support::{until, world};
use crate::worktrees::{ask, git};
use holon_testkit::World;
use holon_testkit::provider::{Protocol, Provider, RecordedRequest, Round, Script};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

fn skill(name: &str, description: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: {description}\n---\n\n# {name}\n\nThe body of {name}.\n"
    )
}

/// Makes a repository with an instruction file and two skills.
fn repository(world: &World) -> PathBuf {
    world.write("project/a.txt", "one\n");
    world.write(
        "project/AGENTS.md",
        "# Project\n\nRun `make check` before you finish.\n",
    );
    let greet = skill("greet", "Greets people by their names.");
    world.write("project/.agents/skills/greet/SKILL.md", &greet);
    let ship = skill("ship", "Ships the product to its users.");
    world.write("project/.agents/skills/ship/SKILL.md", &ship);
    let repo = world.path().join("project").canonicalize().unwrap();
    git(&repo, &["init", "--quiet", "--initial-branch=main"]);
    git(&repo, &["add", "."]);
    git(&repo, &["commit", "--quiet", "-m", "first"]);
    repo
}

/// Makes a template with a role and a skill of its own.
fn template(world: &World) -> String {
    world.write("template/AGENTS.md", "# Role\n\nYou mend small things.\n");
    let skill = json!({ "skill_refs": [{ "kind": "builtin", "name": "ghx" }] });
    world.write("template/skills.json", &skill.to_string());
    world.path().join("template").display().to_string()
}

/// The part of a system prompt that says who the agent is, where it works and by which rules.
fn guidance(request: &RecordedRequest) -> String {
    let text = system_prompt(request);
    let begin = text.find("# Instruction files").unwrap();
    text.get(begin..).unwrap().trim_end().to_owned()
}

/// The last message that the model was shown, with the result of its call.
fn last_message(request: &RecordedRequest) -> String {
    let messages = request.body["messages"].as_array().unwrap();
    let content = &messages.last().unwrap()["content"];
    match content.as_str() {
        Some(text) => text.to_owned(),
        None => content.to_string(),
    }
}

#[test]
fn an_agent_from_a_template_works_in_a_project_over_a_crash_and_its_work_is_merged() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let repo = repository(&world);
    let (done, go) = (world.path().join("done"), world.path().join("go"));
    let work = format!(
        "echo work > work.txt && git add work.txt \
         && git -c user.name=Ada -c user.email=ada@example.org commit -qm work && touch {}; \
         until [ -e {} ]; do sleep 0.05; done; echo finished",
        done.display(),
        go.display()
    );
    let enter = json!({ "path": repo, "mode": "isolated", "isolation_label": "mend" });
    let skill = repo.join(".agents/skills/greet/SKILL.md");
    let read = json!({ "cmd": format!("head -n 3 {}", skill.display()) });
    let provider = Provider::start(Script::of([
        Round::empty().call("UseWorkspace", enter),
        Round::empty().call("ExecCommand", read),
        Round::empty().call(
            "ExecCommand",
            json!({ "cmd": work, "yield_time_ms": 600_000 }),
        ),
        Round::text("It is mended."),
        Round::text("Nothing more."),
    ]));
    let entry = Entry::new("fake", Protocol::Chat, provider.base_url());
    let limits = "models.catalog.\"fake/mender\".context_window_tokens = 128000\n";
    let settings = format!("model.default = \"fake/mender\"\n{limits}");
    configure(&world, &settings, &[entry]);

    let served = world.serve(&[]);
    let made = world.run(&["agent", "create", "mender", "--template", &template(&world)]);
    assert_eq!(made.code, Some(0), "{made:?}");
    let prompted = world.run(&["prompt", "mend it", "--agent", "mender"]);
    assert_eq!(prompted.code, Some(0), "{prompted:?}");
    until("the work is committed", || done.exists());
    served.crash();
    let _served = world.serve(&[]);
    world.write("go", "");
    let told = follow(&world, "mender", 1);
    assert_eq!(told[0]["text"], "It is mended.", "{told:?}");

    // The next turn is shown the project's files and the skill that stayed active.
    let prompted = world.run(&["prompt", "anything else?", "--agent", "mender"]);
    assert_eq!(prompted.code, Some(0), "{prompted:?}");
    follow(&world, "mender", 2);
    let requests = provider.requests();
    assert_eq!(requests.len(), 5, "no round was asked twice");
    let shown = [
        (
            "first turn, before it enters the project",
            guidance(&requests[0]),
        ),
        ("result of UseWorkspace", last_message(&requests[1])),
        (
            "result of the command over the crash",
            last_message(&requests[3]),
        ),
        ("second turn, in the worktree", guidance(&requests[4])),
    ];
    let shown: Vec<String> = shown
        .into_iter()
        .map(|(title, text)| format!("##### {title}\n{text}\n"))
        .collect();
    let text = shown.join("\n");
    let real = world.path().canonicalize().unwrap();
    let text = text
        .replace(&real.display().to_string(), "[WORLD]")
        .replace(&world.path().display().to_string(), "[WORLD]");
    insta::with_settings!({
        filters => [
            (r"mend-[0-9a-z]{6,}", "mend-[KEY]"),
            (r"ws-[0-9a-z]{8,}", "ws-[ID]"),
            (r"\b[0-9a-f]{40}\b", "[COMMIT]"),
            (r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "[TIME]"),
            (r"\d+ ms\b", "[MS] ms"),
            (r"_instructions [0-9a-f]{16}", "_instructions [CODE]"),
            (r"skill_catalog [0-9a-f]{16}", "skill_catalog [CODE]"),
            (r"\b(stdout|end) \d{18}", "$1 [CODE]"),
        ],
        omit_expression => true
    }, { insta::assert_snapshot!(text) });

    let status = ask(&world, &["status", "--agent", "mender"]);
    let session = &status["agent"]["worktree_session"];
    let branch = session["worktree_branch"].as_str().unwrap().to_owned();
    let root = PathBuf::from(session["worktree_path"].as_str().unwrap());
    let active: Vec<&Value> = status["skills"]["active_skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skill| &skill["skill_id"])
        .collect();
    assert_eq!(active, ["workspace:greet"]);
    git(&repo, &["merge", "--quiet", &branch]);
    ask(&world, &["workspace", "exit", "--agent", "mender"]);
    let cleaned = ask(&world, &["worktree", "clean"]);
    assert_eq!(cleaned["worktrees"][0]["verdict"], "removed");
    assert!(!root.exists());
    assert_eq!(fs::read_to_string(repo.join("work.txt")).unwrap(), "work\n");
    assert_eq!(git(&repo, &["branch", "--list", "holon/*"]), "");
    provider.finish();
}
