//! The thread of an agent over the wire: what it shows, and what an operator asks of it.

use crate::world::{Reply, World};
use serde_json::{Value, json};

async fn post(world: &World, action: &str, body: &Value) -> Reply {
    let target = format!("/control/agents/main/context/{action}");
    world.ask("POST", &target, &body.to_string()).await
}

async fn show(world: &World) -> Value {
    let reply = world.ask("GET", "/agents/main/context", "").await;
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.json()
}

/// Has the agent answer one prompt.
async fn play_turn(world: &World) {
    let said = json!({"text": "hello"}).to_string();
    let asked = world
        .ask("POST", "/control/agents/main/prompt", &said)
        .await;
    assert_eq!(asked.status, 200, "{asked:?}");
    loop {
        let view = show(world).await;
        let turns = view["turns"].as_array().unwrap();
        if turns
            .last()
            .is_some_and(|turn| turn.get("open") != Some(&json!(true)))
        {
            return;
        }
    }
}

#[tokio::test]
async fn a_thread_is_shown_and_every_change_answers_with_it() {
    let world = World::start().await;
    play_turn(&world).await;
    let view = show(&world).await;
    assert_eq!(view["turns"][0]["turn_index"], 1);
    assert_eq!(view["turns"][0]["kind"], "operator_prompt");
    assert_eq!(view["turns"][0]["origin"]["kind"], "operator");
    for (action, body, changed) in [
        ("fold", json!({}), true),
        ("fold", json!({}), false),
        ("clear", json!({}), true),
        ("pin", json!({"turn": 1}), true),
        ("pin", json!({"turn": 1}), false),
        ("unpin", json!({"turn": 1}), true),
        ("unpin", json!({"turn": 1}), false),
    ] {
        let reply = post(&world, action, &body).await;
        assert_eq!(reply.status, 200, "{action}: {reply:?}");
        let reply = reply.json();
        assert_eq!(
            (&reply["ok"], &reply["changed"]),
            (&json!(true), &json!(changed)),
            "{action}"
        );
        assert_eq!(reply["context"], show(&world).await, "{action}");
    }
    assert_eq!(show(&world).await["asked"], "clear");
}

#[tokio::test]
async fn a_change_of_a_thread_is_refused_by_the_rules_of_its_route() {
    let world = World::start().await;
    for (action, body, refusal) in [
        ("pin", json!({"turn": 1}), (404, "turn_not_found")),
        ("pin", json!({"turn": u64::MAX}), (404, "turn_not_found")),
        ("unpin", json!({"turn": 1}), (404, "turn_not_found")),
    ] {
        let reply = post(&world, action, &body).await;
        assert_eq!(reply.refusal(), (refusal.0, refusal.1.into()), "{action}");
    }
    for body in [json!({}), json!({"turn": "1"}), json!({"turn": 1, "x": 2})] {
        let reply = post(&world, "pin", &body).await;
        assert_eq!(reply.status, 400, "{body}: {reply:?}");
    }
    let unknown = world
        .ask("POST", "/control/agents/nobody/context/fold", "{}")
        .await;
    assert_eq!(unknown.refusal(), (404, "agent_not_found".into()));
    let unknown = world.ask("GET", "/agents/nobody/context", "").await;
    assert_eq!(unknown.refusal(), (404, "agent_not_found".into()));
    let archived = world.ask("POST", "/control/agents/dev/archive", "{}").await;
    assert_eq!(archived.status, 200, "{archived:?}");
    let refused = world
        .ask("POST", "/control/agents/dev/context/fold", "{}")
        .await;
    assert_eq!(refused.refusal(), (409, "agent_archived".into()));
}

#[tokio::test]
async fn a_thread_of_a_host_without_a_model_has_marks_and_no_base() {
    let engine = holon_testkit::engine::TestEngine::start_without_model().await;
    let world = World::start_on(engine).await;
    let view = show(&world).await;
    assert_eq!(view["high_tokens"], 160_000);
    assert_eq!(
        (view.get("base_tokens"), view.get("window_tokens")),
        (None, None)
    );
}
