//! What a model is shown of instruction files, through the program and a provider.

use crate::models::{Entry, configure};
use crate::support::world;
use holon_testkit::World;
use holon_testkit::provider::{Protocol, Provider, RecordedRequest, Round, Script};
use std::fs;

/// Returns the system prompt of a request.
pub(crate) fn system_prompt(request: &RecordedRequest) -> String {
    let messages = request.body["messages"].as_array().unwrap();
    let system = messages.iter().find(|message| message["role"] == "system");
    let content = &system.unwrap()["content"];
    match content.as_str() {
        Some(text) => text.to_owned(),
        None => {
            let blocks = content.as_array().unwrap().iter();
            let texts = blocks.map(|block| block["text"].as_str().unwrap());
            texts.collect::<Vec<_>>().join("\n\n")
        }
    }
}

/// Starts a provider that answers everything, as the default of a world.
pub(crate) fn provider(world: &World) -> Provider {
    provider_of(world, Script::always(Round::text("Understood.")))
}

/// Starts a provider with a script, as the default of a world.
pub(crate) fn provider_of(world: &World, script: Script) -> Provider {
    let provider = Provider::start(script);
    let entry = Entry::new("fake", Protocol::Chat, provider.base_url());
    let limits = "models.catalog.\"fake/reader\".context_window_tokens = 128000\n";
    configure(
        world,
        &format!("model.default = \"fake/reader\"\n{limits}"),
        &[entry],
    );
    provider
}

/// Runs one request of the agent and returns what its model was shown.
fn shown(world: &World, provider: &Provider) -> String {
    let ran = world.run(&["run", "go on", "--agent", "scout"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    system_prompt(provider.requests().last().unwrap())
}

#[test]
fn a_new_named_agent_has_its_home_and_its_file_in_its_first_request() {
    let world = world();
    let provider = provider(&world);
    let served = world.serve(&[]);
    let created = world.run(&["agent", "create", "scout"]);
    assert_eq!(created.code, Some(0), "{created:?}");
    let text = shown(&world, &provider);
    assert_eq!(provider.requests().len(), 1, "it is the first request");
    let file = fs::read_to_string(world.path().join("holon/agents/scout/AGENTS.md")).unwrap();
    assert!(!file.trim().is_empty());
    assert!(text.contains("=== begin of agent_instructions"), "{text}");
    assert!(text.contains(file.trim()), "{file}\n{text}");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_model_is_shown_the_files_of_the_stable_roots_as_they_are_when_a_turn_begins() {
    let world = world();
    let provider = provider(&world);
    world.write("project/AGENTS.md", "Run make check before you finish.\n");
    world.write("project/sub/AGENTS.md", "Never shown: below the anchor.\n");
    world.write("user/.agents/AGENTS.md", "Answer in British English.\n");
    let served = world.serve(&[]);
    let created = world.run(&[
        "agent",
        "create",
        "scout",
        "--workspace-root",
        "project",
        "--cwd",
        "project/sub",
    ]);
    assert_eq!(created.code, Some(0), "{created:?}");
    world.write("holon/agents/scout/AGENTS.md", "You scout ahead.\n");
    let text = shown(&world, &provider);
    let places: Vec<Option<usize>> = [
        "# Home and execution",
        "# Instruction files",
        "Your operator's messages prevail over them",
        "=== begin of user_instructions",
        "Answer in British English.",
        "=== begin of agent_instructions",
        "You scout ahead.",
        "=== begin of workspace_instructions",
        "Run make check before you finish.",
        "# Your tools",
    ]
    .iter()
    .map(|part| text.find(part))
    .collect();
    assert!(places.iter().all(Option::is_some), "{places:?}\n{text}");
    assert!(places.is_sorted(), "{places:?}");
    assert!(!text.contains("Never shown"), "{text}");

    // The next turn is told what is on disk then; the text before its thread stays.
    world.write("project/AGENTS.md", "Run make test before you finish.\n");
    assert_eq!(shown(&world, &provider), text);
    let body = provider.requests().last().unwrap().body.to_string();
    assert!(body.contains("Run make test"), "{body}");
    let status = world.run(&["status", "--agent", "scout", "--json"]);
    let loaded = status.json()["loaded_agents_md"].clone();
    let path = |name: &str| world.path().canonicalize().unwrap().join(name);
    assert_eq!(
        loaded["workspace_source"],
        serde_json::json!({
            "scope": "workspace",
            "kind": "agents_md",
            "path": path("project/AGENTS.md"),
        })
    );
    assert_eq!(loaded["user_global_source"]["scope"], "user_global");
    assert_eq!(loaded["agent_source"]["scope"], "agent");
    assert!(!status.stdout.contains("You scout ahead"), "{status:?}");

    // The compatibility file takes the place of one that is gone.
    fs::rename(
        world.path().join("project/AGENTS.md"),
        world.path().join("project/CLAUDE.md"),
    )
    .unwrap();
    assert_eq!(shown(&world, &provider), text);
    let body = provider.requests().last().unwrap().body.to_string();
    assert!(body.contains("project/CLAUDE.md"), "{body}");
    drop(served);
    provider.finish();
}

#[test]
fn a_file_that_leads_elsewhere_is_not_shown_and_the_model_and_the_status_say_so() {
    let world = world();
    let provider = provider(&world);
    world.write("secret", "the secret of the operator");
    fs::create_dir(world.path().join("project")).unwrap();
    std::os::unix::fs::symlink(
        world.path().join("secret"),
        world.path().join("project/AGENTS.md"),
    )
    .unwrap();
    world.write("project/CLAUDE.md", "Not a replacement.");
    let served = world.serve(&[]);
    let args = ["agent", "create", "scout", "--workspace-root", "project"];
    assert_eq!(world.run(&args).code, Some(0));
    let text = shown(&world, &provider);
    assert!(!text.contains("the secret of the operator"), "{text}");
    assert!(!text.contains("Not a replacement."), "{text}");
    assert!(
        text.contains("This file was not loaded: it is a symbolic link"),
        "{text}"
    );
    let status = world.run(&["status", "--agent", "scout"]);
    assert!(
        status
            .answer()
            .contains("project/AGENTS.md: not loaded: it is a symbolic link"),
        "{status:?}"
    );
    drop(served);
    provider.finish();
}
