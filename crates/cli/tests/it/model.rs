//! `holon agent model`: changes of an agent's model, effective at its next turn.

use crate::looking::follow;
use crate::support::{assert_output, hello, http, records, world};
use serde_json::json;

#[test]
fn an_agent_is_given_a_model_of_its_own_and_gives_it_up_again() {
    let world = world();
    let other = world.model("other", &json!([{ "text": "I am the other." }]));
    let served = world.serve(&["--model", &hello(&world)]);
    assert_output!(records(
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
    assert_output!(records(
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

#[test]
fn a_host_lists_the_models_it_knows_and_which_of_them_can_be_asked() {
    let world = world();
    let variables = [("ANTHROPIC_API_KEY", "sk-never-shown")];
    let served = world.serve_with(&[], &variables);
    let token = std::fs::read_to_string(world.home().join("run/control.token")).unwrap();
    let answer = http(
        &served.addr,
        &format!(
            "GET /models HTTP/1.1\nHost: localhost\nAuthorization: Bearer {}\nConnection: close\n\n",
            token.trim()
        ),
    );
    assert!(!answer.contains("sk-never-shown"));
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let models: serde_json::Value = serde_json::from_str(body).unwrap();
    assert!(models["available_models"].as_array().unwrap().len() > 50);
    let rows = models["model_availability"].as_array().unwrap();
    let available = |provider: &str| {
        let row = rows.iter().find(|row| row["provider"] == provider);
        row.unwrap()["available"].clone()
    };
    assert_eq!(available("anthropic"), true);
    assert_eq!(available("openai"), false);
    assert_eq!(served.terminate().0, Some(0));
}
