//! Logins and keys that end: a background turn waits and goes on by itself, a run fails and names the command.

use crate::looking::follow;
use crate::models::{Entry, configure};
use crate::support::{wait_for_status, world};
use holon_testkit::World;
use holon_testkit::provider::{Fault, Protocol, Provider, RecordedRequest, Round, Script};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Settings of a provider that uses the login of the Codex program.
const LOGIN: &str =
    "{ source = \"external_cli\", external = \"codex_cli\", kind = \"session_token\" }";

/// `{"exp":1}` as the middle of a token.
const LONG_EXPIRED: &str = "h.eyJleHAiOjF9.s";

/// A server that accepts the token `new` and refuses every other.
fn server() -> Provider {
    Provider::start(Script::choose(|request: &RecordedRequest| {
        match request.header("authorization") {
            Some("Bearer new") => Round::text("Back again."),
            _ => Round::fault(Fault::Unauthorized),
        }
    }))
}

/// Configures a world whose only model is asked with this source of credentials.
fn world_with(protocol: Protocol, provider: &Provider, auth: &str) -> World {
    let world = world();
    let entry = Entry {
        auth: Some(auth.to_owned()),
        ..Entry::new("acme", protocol, provider.base_url())
    };
    configure(&world, "model.default = \"acme/one\"\n", &[entry]);
    world
}

fn login_path(world: &World) -> PathBuf {
    world.path().join("user/.codex/auth.json")
}

fn login(token: &str) -> String {
    json!({ "tokens": { "access_token": token, "account_id": "someone" } }).to_string()
}

/// Writes a file that only its owner can read, in place.
fn write_private(path: &Path, content: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Replaces the login with a rename, as a careful program does.
fn replace_login(world: &World, content: &str) {
    let path = login_path(world);
    let fresh = path.with_extension("fresh");
    write_private(&fresh, content);
    std::fs::rename(&fresh, &path).unwrap();
}

/// Returns the actions that the operator was asked for.
fn actions(told: &[Value]) -> Vec<String> {
    let action = |brief: &Value| {
        let action = &brief["action_required"];
        action["next_step"].as_str().map(str::to_owned)
    };
    told.iter().filter_map(action).collect()
}

#[test]
fn a_refused_login_suspends_the_turn_until_the_file_has_another_one_also_over_a_crash() {
    let provider = server();
    let world = world_with(Protocol::Codex, &provider, LOGIN);
    write_private(&login_path(&world), &login("old"));
    let served = world.serve(&[]);
    assert_eq!(world.run(&["prompt", "hi"]).code, Some(0));
    wait_for_status(&world, "is missing or refused");
    let before = provider.requests().len();
    served.crash();
    let served = world.serve(&[]);
    provider.wait_for_requests(before + 1);
    wait_for_status(&world, "is missing or refused");
    // The login is replaced badly before it is replaced well.
    write_private(&login_path(&world), login("new").split_at(20).0);
    write_private(&login_path(&world), "");
    std::fs::remove_file(login_path(&world)).unwrap();
    replace_login(&world, &login(LONG_EXPIRED));
    replace_login(&world, &login("new"));
    let told = follow(&world, "main", 2);
    assert_eq!(told[1]["text"], "Back again.", "{told:?}");
    assert_eq!(
        actions(&told),
        ["log in again: codex login; the turn then goes on by itself where it stopped"]
    );
    assert_eq!(served.terminate().0, Some(0));
    let sent = provider.finish();
    let accepted =
        |request: &&RecordedRequest| request.header("authorization") == Some("Bearer new");
    assert_eq!(sent.iter().filter(accepted).count(), 1);
}

#[test]
fn an_expired_login_is_not_sent_and_the_turn_goes_on_with_the_next_one() {
    let provider = server();
    let world = world_with(Protocol::Codex, &provider, LOGIN);
    write_private(&login_path(&world), &login(LONG_EXPIRED));
    let served = world.serve(&[]);
    assert_eq!(world.run(&["prompt", "hi"]).code, Some(0));
    wait_for_status(&world, "is missing or refused");
    replace_login(&world, &login("new"));
    let told = follow(&world, "main", 2);
    assert_eq!(told[1]["text"], "Back again.", "{told:?}");
    assert_eq!(actions(&told).len(), 1, "{told:?}");
    assert_eq!(served.terminate().0, Some(0));
    assert_eq!(provider.finish().len(), 1);
}

#[test]
fn a_stored_key_that_was_replaced_lets_the_turn_go_on() {
    let provider = server();
    let auth = "{ source = \"credential_profile\", profile = \"mine\", kind = \"bearer_token\" }";
    let world = world_with(Protocol::Chat, &provider, auth);
    let set = [
        "config",
        "credentials",
        "set",
        "mine",
        "--kind",
        "bearer_token",
        "--stdin",
    ];
    assert_eq!(world.run_with(&set, b"old").code, Some(0));
    let served = world.serve(&[]);
    assert_eq!(world.run(&["prompt", "hi"]).code, Some(0));
    wait_for_status(&world, "is missing or refused");
    assert_eq!(world.run_with(&set, b"new").code, Some(0));
    let told = follow(&world, "main", 2);
    assert_eq!(told[1]["text"], "Back again.", "{told:?}");
    let step = &actions(&told)[0];
    assert!(
        step.contains("holon config credentials set mine;"),
        "{step}"
    );
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_run_does_not_wait_for_a_login_and_names_the_command() {
    let provider = server();
    let world = world_with(Protocol::Codex, &provider, LOGIN);
    let half = login("new");
    for content in ["", half.split_at(20).0, &login(LONG_EXPIRED), &login("old")] {
        write_private(&login_path(&world), content);
        let ran = world.run(&["run", "hi"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{ran:?}");
        assert!(ran.stderr.contains("codex login"), "{content}: {ran:?}");
    }
    assert_eq!(provider.finish().len(), 1, "only the last could be sent");
}

/// A server that refuses `old` and runs `renew` at the same time, and accepts `new`.
fn renewing_server(renew: impl Fn() + Send + 'static) -> Provider {
    Provider::start(Script::choose(
        move |request: &RecordedRequest| match request.header("authorization") {
            Some("Bearer new") => Round::text("Back again."),
            _ => {
                renew();
                Round::fault(Fault::Unauthorized)
            }
        },
    ))
}

/// Settings of a provider whose key a command prints; each run of the command leaves a mark.
fn printed(world: &World) -> String {
    let (key, runs) = (world.path().join("key"), world.path().join("runs"));
    let script = format!("echo run >> {}; cat {}", runs.display(), key.display());
    format!(
        "{{ source = \"credential_process\", command = [\"sh\", \"-c\", {script:?}], kind = \"bearer_token\" }}"
    )
}

#[test]
fn a_key_of_a_command_and_a_login_are_read_again_after_a_refusal_within_a_run() {
    let made = world();
    let key = made.path().join("key");
    write_private(&key, "old");
    let auth = printed(&made);
    let provider = renewing_server(move || write_private(&key, "new"));
    let entry = Entry {
        auth: Some(auth),
        ..Entry::new("acme", Protocol::Messages, provider.base_url())
    };
    configure(&made, "model.default = \"acme/one\"\n", &[entry]);
    assert_eq!(made.run(&["run", "hi"]).answer(), "Back again.\n");
    let runs = std::fs::read_to_string(made.path().join("runs")).unwrap();
    assert_eq!(runs.lines().count(), 2);
    assert_eq!(provider.finish().len(), 2);

    let made = world();
    let path = login_path(&made);
    write_private(&path, &login("old"));
    let provider = renewing_server(move || write_private(&path, &login("new")));
    let entry = Entry {
        auth: Some(LOGIN.to_owned()),
        ..Entry::new("acme", Protocol::Codex, provider.base_url())
    };
    configure(&made, "model.default = \"acme/one\"\n", &[entry]);
    assert_eq!(made.run(&["run", "hi"]).answer(), "Back again.\n");
    assert_eq!(provider.finish().len(), 2);
}

#[test]
fn a_key_of_a_command_that_stays_the_same_is_sent_once() {
    let made = world();
    write_private(&made.path().join("key"), "old");
    let provider = server();
    let entry = Entry {
        auth: Some(printed(&made)),
        ..Entry::new("acme", Protocol::Responses, provider.base_url())
    };
    configure(&made, "model.default = \"acme/one\"\n", &[entry]);
    let ran = made.run(&["run", "hi"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("renew what its command prints"),
        "{ran:?}"
    );
    let runs = std::fs::read_to_string(made.path().join("runs")).unwrap();
    // The check before the run is cached, and the refusal reads it once more.
    assert_eq!(runs.lines().count(), 2);
    assert_eq!(provider.finish().len(), 1);
}

#[test]
fn thinking_of_one_agent_is_asked_for_and_returned_with_its_signature() {
    let world = world();
    let provider = Provider::start(Script::of([
        Round::empty()
            .reasoning("I should look.")
            .call("ExecCommand", json!({ "cmd": "true" })),
        Round::text("Done."),
        Round::text("Without a thought."),
    ]));
    let entry = Entry::new("acme", Protocol::Messages, provider.base_url());
    configure(&world, "model.default = \"acme/one\"\n", &[entry]);
    let served = world.serve(&[]);
    let small = [
        "agent",
        "model",
        "set",
        "acme/one",
        "--thinking-tokens",
        "100",
    ];
    let refused = world.run(&small);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("at least 1024"), "{refused:?}");
    let set = [
        "agent",
        "model",
        "set",
        "acme/one",
        "--thinking-tokens",
        "2048",
    ];
    assert_eq!(world.run(&set).code, Some(0));
    let shown = world.run(&["agent", "model", "get"]);
    assert!(
        shown.answer().contains("thinking   up to 2048 tokens"),
        "{shown:?}"
    );
    assert_eq!(world.run(&["prompt", "hi"]).code, Some(0));
    assert_eq!(follow(&world, "main", 1)[0]["text"], "Done.");
    // An agent without a choice of its own does not think.
    assert_eq!(world.run(&["run", "hi"]).code, Some(0));
    assert_eq!(served.terminate().0, Some(0));
    let bodies: Vec<Value> = provider.finish().into_iter().map(|one| one.body).collect();
    let budget = json!({ "type": "enabled", "budget_tokens": 2_048 });
    assert_eq!(bodies[0]["thinking"], budget);
    assert_eq!(bodies[1]["thinking"], budget);
    assert_eq!(bodies[2].get("thinking"), None);
    let messages = bodies[1]["messages"].as_array().unwrap();
    let blocks = messages.iter().filter_map(|one| one["content"].as_array());
    let thought = blocks.flatten().find(|block| block["type"] == "thinking");
    let thought = thought.expect("the thinking goes back");
    assert_eq!(thought["thinking"], "I should look.");
    assert!(!thought["signature"].as_str().unwrap().is_empty());
}

#[test]
fn an_agent_falls_back_to_its_own_list_and_status_shows_it() {
    let world = world();
    let refusing = Provider::start(Script::always(Round::fault(Fault::Unauthorized)));
    let (hosts, own) = (
        Provider::start(Script::always(Round::text("From the host's list."))),
        Provider::start(Script::always(Round::text("From the agent's list."))),
    );
    let entries = [("first", &refusing), ("hosts", &hosts), ("own", &own)]
        .map(|(id, provider)| Entry::new(id, Protocol::Chat, provider.base_url()));
    let settings = "[model]\ndefault = \"hosts/m\"\nfallbacks = [\"hosts/m\"]\n";
    configure(&world, settings, &entries);
    let served = world.serve(&[]);
    let unknown = [
        "agent",
        "model",
        "set",
        "first/m",
        "--fallback",
        "nowhere/m",
    ];
    assert_eq!(world.run(&unknown).code, Some(1));
    let set = ["agent", "model", "set", "first/m", "--fallback", "own/m"];
    assert_eq!(world.run(&set).code, Some(0));
    let status = world.run(&["status"]);
    assert!(
        status
            .answer()
            .contains("fallbacks  own/m (agent_override)"),
        "{status:?}"
    );
    assert_eq!(world.run(&["prompt", "hi"]).code, Some(0));
    assert_eq!(
        follow(&world, "main", 1)[0]["text"],
        "From the agent's list."
    );
    let none = ["agent", "model", "set", "hosts/m", "--no-fallback"];
    assert_eq!(world.run(&none).code, Some(0));
    let status = world.run(&["status", "--json"]).json();
    assert_eq!(status["model"]["effective_fallback_models"], json!([]));
    assert_eq!(status["model"]["override_fallback_models"], json!([]));
    let ran = world.run(&["run", "hi", "--agent", "main", "--model", "own/m"]);
    assert_eq!(ran.answer(), "From the agent's list.\n");
    let status = world.run(&["status", "--json"]).json();
    assert_eq!(status["model"]["override_fallback_models"], json!([]));
    assert_eq!(served.terminate().0, Some(0));
    assert_eq!(hosts.finish().len(), 0);
}
