//! `holon agent model`: which model an agent asks, from its next turn on.

use crate::looking::follow;
use crate::support::{assert_said, hello, records, world};
use serde_json::json;

#[test]
fn an_agent_is_given_a_model_of_its_own_and_gives_it_up_again() {
    let world = world();
    let other = world.model("other", &json!([{ "text": "I am the other." }]));
    let served = world.serve(&["--model", &hello(&world)]);
    assert_said!(records(
        &world,
        &[
            &["agent", "model", "get"],
            &["agent", "model", "set", &other, "--effort", "high"],
            &["agent", "model", "get", "main"],
        ]
    ));
    assert_eq!(world.run(&["prompt", "hi"]).code, Some(0));
    assert_eq!(follow(&world, "main", 1)[0]["text"], "I am the other.");
    let status = world.run(&["status", "--json"]).json();
    assert_eq!(status["model"]["source"], "agent_override");
    assert_eq!(status["model"]["override_reasoning_effort"], "high");
    let cleared = world.run(&["agent", "model", "clear", "--json"]).json();
    assert_eq!(
        (&cleared["ok"], &cleared["model"]["source"]),
        (&json!(true), &json!("runtime_default"))
    );
    assert_eq!(world.run(&["prompt", "hi"]).code, Some(0));
    assert_eq!(follow(&world, "main", 2)[1]["text"], "Hello there.");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_model_that_cannot_be_asked_is_not_given_to_an_agent() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    assert_said!(records(
        &world,
        &[
            &["agent", "model", "set", "nonsense"],
            &["agent", "model", "set", "opena/gpt-5.4"],
            &["agent", "model", "set", "openai/gpt-5.4"],
            &["agent", "model", "set", "scripted/missing.json"],
            &["agent", "model", "set", &hello(&world), "nobody"],
            &[
                "agent",
                "model",
                "set",
                &hello(&world),
                "--effort",
                "extreme"
            ],
        ]
    ));
    let state = world.run(&["agent", "model", "get", "--json"]).json();
    assert_eq!(state["source"], "runtime_default");
    assert_eq!(served.terminate().0, Some(0));
}
