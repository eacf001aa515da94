//! Refusals over the wire: each has one code and writes nothing.

use crate::world::{Reply, World};
use holon_testkit::engine::TestEngine;
use serde_json::json;

async fn enqueue(world: &World, body: &str) -> Reply {
    world.ask("POST", "/agents/main/enqueue", body).await
}

async fn prompt(world: &World, body: &str) -> Reply {
    world.ask("POST", "/control/agents/main/prompt", body).await
}

#[tokio::test]
async fn what_the_public_may_not_send_is_refused_by_code() {
    let world = World::start().await;
    let before = world.engine.commits().await;
    for (body, status, code) in [
        (
            r#"{"text":"x","kind":"operator_prompt"}"#,
            403,
            "kind_not_allowed",
        ),
        (
            r#"{"text":"x","kind":"system_tick"}"#,
            403,
            "kind_not_allowed",
        ),
        (
            r#"{"text":"x","kind":"callback_event"}"#,
            403,
            "kind_not_allowed",
        ),
        (r#"{"text":"x","kind":"control"}"#, 403, "kind_not_allowed"),
        (
            r#"{"text":"x","priority":"interject"}"#,
            403,
            "priority_not_allowed",
        ),
        (
            r#"{"text":"x","origin":{"kind":"operator"}}"#,
            403,
            "origin_not_accepted",
        ),
        (
            r#"{"text":"x","kind":"operator_prompt","origin":{"kind":"operator"}}"#,
            403,
            "origin_not_accepted",
        ),
        (
            r#"{"text":"x","origin":{"kind":"system","subsystem":"timer"}}"#,
            403,
            "origin_not_accepted",
        ),
        (
            r#"{"text":"x","kind":"webhook_event","origin":{"kind":"channel","channel_id":"irc"}}"#,
            400,
            "kind_origin_mismatch",
        ),
        (
            r#"{"body":{"type":"brief","text":"x"}}"#,
            403,
            "body_not_allowed",
        ),
        (r"{}", 400, "missing_content"),
        (
            r#"{"text":"x","trust":"trusted_operator"}"#,
            400,
            "authority_not_accepted",
        ),
    ] {
        let reply = enqueue(&world, body).await;
        assert_eq!(reply.refusal(), (status, code.into()), "{body}");
        assert!(reply.json()["hint"].is_string(), "{reply:?}");
    }
    assert_eq!(world.engine.commits().await, before);
    for kind in ["channel_event", "webhook_event"] {
        let body = json!({"text": "x", "kind": kind}).to_string();
        assert_eq!(enqueue(&world, &body).await.status, 200, "{kind}");
    }
}

#[tokio::test]
async fn a_prompt_that_cannot_be_worked_on_is_refused_by_code() {
    let world = World::start().await;
    let before = world.engine.commits().await;
    let large = json!({"text": "x".repeat(1 << 20 | 1)}).to_string();
    for (body, status, code) in [
        (r#"{"text":" "}"#, 400, "empty_message"),
        (r#"{"text":"go","max_turns":0}"#, 400, "invalid_max_turns"),
        (large.as_str(), 413, "too_large"),
    ] {
        assert_eq!(prompt(&world, body).await.refusal(), (status, code.into()));
        let run = world.ask("POST", "/control/run", body).await;
        assert_eq!(run.refusal(), (status, code.into()), "a run");
    }
    assert_eq!(world.engine.commits().await, before);
}

#[tokio::test]
async fn ids_and_names_of_megabytes_reach_neither_row_nor_event() {
    let world = World::start().await;
    let before = world.engine.commits().await;
    let long = "x".repeat(3 << 20);
    for field in [
        json!({"text": "x", "correlation_id": long}),
        json!({"text": "x", "causation_id": long}),
        json!({"text": "x", "origin": {"kind": "channel", "channel_id": long}}),
        json!({"text": "x", "origin": {"kind": "webhook", "source": "ci", "event_type": long}}),
    ] {
        let reply = enqueue(&world, &field.to_string()).await;
        assert_eq!(reply.refusal(), (400, "name_too_long".into()));
        assert!(reply.json()["hint"].is_string(), "{reply:?}");
    }
    assert_eq!(world.engine.commits().await, before);
}

#[tokio::test]
async fn a_stopped_agent_refuses_with_its_name_and_the_next_step() {
    let world = World::start().await;
    let stop = r#"{"action":"stop"}"#;
    world.ask("POST", "/control/agents/dev/control", stop).await;
    for (target, body) in [
        ("/control/agents/dev/prompt", r#"{"text":"go"}"#),
        ("/agents/dev/enqueue", r#"{"text":"go"}"#),
        ("/control/run", r#"{"text":"go","agent_id":"dev"}"#),
    ] {
        let reply = world.ask("POST", target, body).await;
        assert_eq!(reply.refusal(), (409, "agent_stopped".into()), "{target}");
        assert_eq!(
            (&reply.json()["agent_id"], &reply.json()["hint"]),
            (
                &json!("dev"),
                &json!("start it with: holon agent start dev")
            )
        );
    }
}

#[tokio::test]
async fn a_host_without_a_model_refuses_work_the_same_way_at_every_route() {
    let world = World::start_on(TestEngine::start_without_model().await).await;
    let before = world.engine.commits().await;
    for (target, body) in [
        ("/control/agents/main/prompt", r#"{"text":"go"}"#),
        ("/enqueue", r#"{"text":"go"}"#),
        ("/control/run", r#"{"text":"go"}"#),
        ("/control/run", r#"{"text":"go","agent_id":"main"}"#),
        (
            "/control/run",
            r#"{"text":"go","agent_id":"new","create_agent":true}"#,
        ),
    ] {
        let reply = world.ask("POST", target, body).await;
        assert_eq!(reply.refusal(), (422, "no_model".into()), "{target} {body}");
        let hint = reply.json()["hint"].as_str().unwrap().to_owned();
        assert!(hint.contains("--model PROVIDER/MODEL"), "{hint}");
    }
    assert_eq!(world.engine.commits().await, before);
}

#[tokio::test]
async fn a_model_that_cannot_be_asked_is_refused_the_same_way_at_every_route() {
    let world = World::start().await;
    let before = world.engine.commits().await;
    for (target, body) in [
        (
            "/control/agents/dev/model",
            r#"{"model":"elsewhere/large"}"#,
        ),
        (
            "/control/agents/new/create",
            r#"{"model":"elsewhere/large"}"#,
        ),
        ("/control/run", r#"{"text":"go","model":"elsewhere/large"}"#),
    ] {
        let reply = world.ask("POST", target, body).await;
        assert_eq!(
            reply.refusal(),
            (400, "model_unavailable".into()),
            "{target}"
        );
        assert!(reply.body.contains("holon init"), "{reply:?}");
    }
    assert_eq!(world.engine.commits().await, before);
}

#[tokio::test]
async fn a_workspace_that_cannot_be_used_and_a_name_that_is_taken_are_refused() {
    let world = World::start().await;
    for (target, body, status, code) in [
        (
            "/control/agents/new/create",
            r#"{"workspace_root":"/srv/missing"}"#,
            400,
            "invalid_workspace",
        ),
        (
            "/control/agents/dev/create",
            r#"{"model":"test/other"}"#,
            409,
            "agent_conflict",
        ),
        ("/control/agents/tmp_x/create", "", 400, "invalid_agent_id"),
        (
            "/control/agents/new/create",
            r#"{"template":"x"}"#,
            400,
            "invalid_template",
        ),
        (
            "/control/agents/nobody/prompt",
            r#"{"text":"go"}"#,
            404,
            "agent_not_found",
        ),
    ] {
        let reply = world.ask("POST", target, body).await;
        assert_eq!(reply.refusal(), (status, code.into()), "{target} {body}");
    }
}
