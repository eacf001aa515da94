//! The context window that a server states: used from the first request of a host on, shown by status and doctor.

use crate::looking::follow;
use crate::models::{Entry, configure};
use crate::support::{hello, world};
use holon_testkit::provider::{Fault, Protocol, Provider, Round, Script};
use holon_testkit::{HostProcess, ProgramOutput, World};
use serde_json::{Value, json};

/// Starts a host whose agents ask this server.
fn host_on(world: &World, provider: &Provider, settings: &str) -> HostProcess {
    let base = format!("{}/v1", provider.base_url());
    let settings = format!("[model]\ndefault = \"mine/m\"\n{settings}");
    configure(
        world,
        &settings,
        &[Entry::new("mine", Protocol::Chat, base)],
    );
    world.serve(&[])
}

fn policy(world: &World) -> Value {
    let status: ProgramOutput = world.run(&["status", "--json"]);
    status.json()["model"]["resolved_policy"].clone()
}

fn stating(window: u32) -> Value {
    json!({ "data": [{ "id": "m", "owned_by": "vllm", "max_model_len": window }] })
}

#[test]
fn a_stated_window_is_used_kept_and_shown_with_its_source() {
    let world = world();
    let script =
        Script::of([Round::text("one"), Round::text("two")]).models_document(stating(8_192));
    let provider = Provider::start(script);
    let served = host_on(&world, &provider, "");
    assert_eq!(policy(&world)["source"], "unknown_fallback");
    for number in 1..=2 {
        assert_eq!(world.run(&["prompt", "hi"]).code, Some(0));
        follow(&world, "main", number);
    }
    assert_eq!(policy(&world)["context_window_tokens"], 8_192);
    assert_eq!(policy(&world)["source"], "learned");
    assert_eq!(provider.looks().len(), 1, "the server is asked once");
    let doctor = world.run(&["config", "doctor"]);
    let words = "learned     mine/m: window 8192 tokens, its server says so at 20";
    assert!(doctor.stdout.contains(words), "{doctor:?}");
    let json = world.run(&["config", "doctor", "--json"]).json();
    assert_eq!(json["learned_limits"][0]["window_source"], "server");
    assert_eq!(json["learned_limits"][0]["is_used"], true);
    assert_eq!(json["running_host"]["default_model"], "mine/m");

    // Another server may serve the model with another window.
    let moved = ["config", "providers", "set", "mine", "--base-url"];
    let elsewhere = Provider::start(Script::of([]));
    let url = format!("{}/v1", elsewhere.base_url());
    let set = world.run(&[&moved[..], &[url.as_str()]].concat());
    assert_eq!(set.code, Some(0), "{set:?}");
    assert_eq!(policy(&world)["source"], "unknown_fallback");
    let doctor = world.run(&["config", "doctor"]);
    let words = format!(
        "not used, because it was learned at {}/v1",
        provider.base_url()
    );
    let shown = doctor
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(shown.contains(&words), "{doctor:?}");
    assert_eq!(served.terminate().0, Some(0));
    provider.finish();
}

#[test]
fn a_window_of_the_settings_is_not_asked_for() {
    let world = world();
    let script = Script::of([Round::text("one")]).models_document(stating(8_192));
    let provider = Provider::start(script);
    let set = "[models.catalog.\"mine/m\"]\ncontext_window_tokens = 50000\n";
    let served = host_on(&world, &provider, set);
    assert_eq!(world.run(&["prompt", "hi"]).code, Some(0));
    follow(&world, "main", 1);
    assert_eq!(policy(&world)["context_window_tokens"], 50_000);
    assert!(provider.looks().is_empty());
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_reload_asks_the_server_again() {
    let world = world();
    let rounds = [Round::text("one"), Round::text("two")];
    let provider = Provider::start(Script::of(rounds).models_fault(Fault::HtmlOk));
    let served = host_on(&world, &provider, "");
    assert_eq!(world.run(&["prompt", "hi"]).code, Some(0));
    follow(&world, "main", 1);
    assert_eq!(policy(&world)["source"], "unknown_fallback");
    let asked = provider.looks().len();
    assert!(asked > 0);
    let set = ["config", "set", "model.fallbacks", "mine/other"];
    assert_eq!(world.run(&set).code, Some(0));
    assert_eq!(world.run(&["prompt", "hi"]).code, Some(0));
    follow(&world, "main", 2);
    assert_eq!(provider.looks().len(), 2 * asked);
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn the_doctor_shows_the_chains_of_a_running_host_and_of_its_agents() {
    let world = world();
    let model = hello(&world);
    let settings = format!("[model]\ndefault = \"ollama/file\"\nfallbacks = [{model:?}]\n");
    configure(&world, &settings, &[]);
    let served = world.serve(&["--model", &model]);
    let own = world.model("own", &json!([{ "text": "mine" }]));
    assert_eq!(world.run(&["agent", "model", "set", &own]).code, Some(0));
    let doctor = world.run(&["config", "doctor"]);
    assert!(doctor.stdout.contains("1. ollama/file"), "{doctor:?}");
    assert!(
        doctor
            .stdout
            .contains(&format!("host        runs and asks {model}")),
        "{doctor:?}"
    );
    assert!(
        doctor.stdout.contains(&format!("agent main asks {own}")),
        "{doctor:?}"
    );
    assert_eq!(served.terminate().0, Some(0));
    let alone = world.run(&["config", "doctor"]);
    assert!(!alone.stdout.contains("runs and asks"), "{alone:?}");
}
