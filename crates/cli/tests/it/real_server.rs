//! The chat-completions protocol against a third-party server. Needs one on this machine, so it runs only on demand;
//! CONTRIBUTING.md says how to start it.

use crate::models::{Entry, configure, figures};
use crate::support::world;
use holon_testkit::provider::Protocol;

/// Base URL of the server.
const SERVER: &str = "http://127.0.0.1:18080/v1";

#[test]
#[ignore = "needs a llama.cpp-based server on 127.0.0.1:18080; CONTRIBUTING.md says how to start one"]
fn a_small_open_model_answers_and_its_window_is_learned_from_its_own_error() {
    let world = world();
    let local = Entry::new("local", Protocol::Chat, SERVER.to_owned());
    configure(&world, "model.default = \"local/smollm2\"\n", &[local]);

    let short = world.run(&["run", "Say hello in one short sentence.", "--json"]);
    assert_eq!(short.code, Some(0), "{short:?}");
    let answer = short.json();
    assert_eq!(answer["final_status"], "completed");
    assert_ne!(answer["final_text"], "", "{answer:#}");
    assert!(answer["token_usage"]["input_tokens"].as_u64() > Some(0));
    assert_eq!(
        answer["provider_attempt_timeline"]["winning_model_ref"],
        "local/smollm2"
    );

    let long = world.run(&["run", &"many words ".repeat(10_000), "--json"]);
    assert_eq!(long.code, Some(1), "{long:?}");
    let failure = &long.json()["failure_artifact"];
    assert_eq!(failure["kind"], "context_length_exceeded", "{failure:#}");

    let again = world.run(&["run", "Say hello once more.", "--json"]);
    assert_eq!(
        again.code,
        Some(0),
        "what was learned leaves room: {again:?}"
    );
    // The window the server was started with.
    let figures = figures(&world);
    assert_eq!(figures["source"], "learned", "{figures}");
    assert_eq!(figures["context_window_tokens"], 8_192, "{figures}");
}
