//! Idempotency keys over the wire.

use crate::world::{Reply, SECRET, World};
use holon_domain::limits::REQUEST_KEY_BYTES;
use serde_json::json;

async fn send(world: &World, target: &str, key: &str, body: &str) -> Reply {
    let length = body.len();
    let request = format!(
        "POST {target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nIdempotency-Key: {key}\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    world.over_unix(request).await
}

/// Secret that no answer holds.
const CANARY: &str = "tok-canary";
const HELLO: &str = r#"{"text":"hello"}"#;

#[tokio::test]
async fn a_key_makes_a_message_once_for_its_caller_route_and_agent() {
    let world = World::start().await;
    let first = send(&world, "/agents/main/enqueue", "k", HELLO).await;
    assert_eq!(first.status, 200, "{first:?}");
    let again = send(&world, "/agents/main/enqueue", "k", HELLO).await;
    assert_eq!(again.json(), first.json());
    let other = send(&world, "/agents/main/enqueue", "k", r#"{"text":"bye"}"#).await;
    assert_eq!(other.refusal(), (422, "idempotency_key_reused".into()));
    for target in ["/agents/dev/enqueue", "/control/agents/main/prompt"] {
        let elsewhere = send(&world, target, "k", HELLO).await;
        assert_eq!(elsewhere.status, 200, "{target}");
        assert_ne!(elsewhere.json()["message_id"], first.json()["message_id"]);
    }
    let request = format!(
        "POST /agents/main/enqueue HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {SECRET}\r\n\
         Content-Type: application/json\r\nIdempotency-Key: k\r\nContent-Length: 16\r\nConnection: close\r\n\r\n{HELLO}"
    );
    let by_another = world.over_tcp(request).await;
    assert_ne!(by_another.json()["message_id"], first.json()["message_id"]);
}

#[tokio::test]
async fn a_repeated_change_is_made_once_and_answered_the_same() {
    let world = World::start().await;
    for (target, body) in [
        ("/control/agents/main/work-items", json!({"objective": "x"})),
        (
            "/control/agents/main/timers",
            json!({"duration_ms": 60_000}),
        ),
        ("/control/agents/main/wake", json!({"reason": "look"})),
        (
            "/control/agents/main/workspace/attach",
            json!({"path": "/p"}),
        ),
        (
            "/control/agents/main/operator-bindings",
            json!({
                "transport": "bridge", "operator_actor_id": "jo", "default_route_id": "room-1",
                "delivery_callback_url": "http://127.0.0.1:9/cb",
                "delivery_auth": {"kind": "hmac", "key_id": "k1", "secret": CANARY},
                "capabilities": {"text": true}, "provider": "matrix",
            }),
        ),
        (
            "/control/delivery/targets",
            json!({
                "name": "phone", "kind": "http", "url": "http://127.0.0.1:9/hook",
                "auth": "bearer", "secret": CANARY,
            }),
        ),
        (
            "/control/agents/main/webhook",
            json!({"secret": CANARY, "allow_unsigned": true}),
        ),
        ("/control/agents/main/webhook/remove", json!({})),
        ("/control/agents/new/create", json!({})),
        ("/control/agents/main/control", json!({"action": "stop"})),
    ] {
        let body = body.to_string();
        let first = send(&world, target, "once", &body).await;
        assert_eq!(first.status, 200, "{target}: {first:?}");
        let again = send(&world, target, "once", &body).await;
        assert_eq!(again.json(), first.json(), "{target}");
        assert!(!again.body.contains(CANARY), "{target}: {again:?}");
    }
    let bindings = world.ask("GET", "/agents/main/operator-bindings", "");
    let bindings = bindings.await.json();
    assert_eq!(bindings["bindings"].as_array().map(Vec::len), Some(1));
    let items = world.ask("GET", "/agents/main/work-items", "").await.json();
    assert_eq!(items["total_matching"], 1);
    let timers = world.ask("GET", "/agents/main/timers", "").await.json();
    assert_eq!(timers.as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn a_refusal_is_not_kept_and_a_bad_key_is_refused() {
    let world = World::start().await;
    let before = world.engine.commits().await;
    for key in [
        "",
        "a b",
        &"x".repeat(REQUEST_KEY_BYTES + 1),
        "k\r\nIdempotency-Key: l",
    ] {
        let reply = send(&world, "/agents/main/enqueue", key, HELLO).await;
        assert_eq!(
            reply.refusal(),
            (400, "invalid_idempotency_key".into()),
            "{key}"
        );
    }
    assert_eq!(world.engine.commits().await, before);
    let stop = r#"{"action":"stop"}"#;
    world
        .ask("POST", "/control/agents/main/control", stop)
        .await;
    let refused = send(&world, "/control/agents/main/prompt", "k", HELLO).await;
    assert_eq!(refused.refusal(), (409, "agent_stopped".into()));
    let start = r#"{"action":"start"}"#;
    world
        .ask("POST", "/control/agents/main/control", start)
        .await;
    let taken = send(&world, "/control/agents/main/prompt", "k", HELLO).await;
    assert_eq!(taken.status, 200, "{taken:?}");
}

#[tokio::test]
async fn a_repeated_request_for_a_token_is_told_that_it_was_made() {
    let world = World::start().await;
    let body = r#"{"name":"ci","scope":"read"}"#;
    let first = send(&world, "/control/tokens", "t", body).await;
    assert_eq!(first.status, 200, "{first:?}");
    let again = send(&world, "/control/tokens", "t", body).await;
    assert_eq!(again.refusal(), (409, "token_already_made".into()));
    assert!(
        again.json()["hint"]
            .as_str()
            .is_some_and(|hint| hint.contains("revoke"))
    );
    let other = send(
        &world,
        "/control/tokens",
        "t",
        r#"{"name":"ci","scope":"control"}"#,
    )
    .await;
    assert_eq!(other.refusal(), (422, "idempotency_key_reused".into()));
    let taken = send(&world, "/control/tokens", "u", body).await;
    assert_eq!(taken.refusal(), (409, "token_exists".into()));
    let gone = send(&world, "/control/tokens/ci/revoke", "r", "{}").await;
    assert_eq!(gone.status, 200, "{gone:?}");
    let again = send(&world, "/control/tokens/ci/revoke", "r", "{}").await;
    assert_eq!((again.status, again.json()), (200, gone.json()));
}

#[tokio::test]
async fn a_key_ends_with_the_agent_that_it_was_used_for() {
    let world = World::start().await;
    let create = || send(&world, "/control/agents/r1/create", "c", "{}");
    assert_eq!(create().await.status, 200);
    let first = send(&world, "/control/agents/r1/prompt", "p", HELLO).await;
    assert_eq!(first.status, 200, "{first:?}");
    let deleted = send(&world, "/control/agents/r1/delete", "d", "{}").await;
    assert_eq!(deleted.status, 200, "{deleted:?}");
    while world.ask("GET", "/agents/r1/status", "").await.status != 404 {}
    let gone = send(&world, "/control/agents/r1/prompt", "p", HELLO).await;
    assert_eq!(gone.refusal(), (404, "agent_not_found".into()));
    world.engine.advance(10);
    assert_eq!(create().await.status, 200);
    assert_eq!(
        world.ask("GET", "/agents/r1/status", "").await.status,
        200,
        "it was made"
    );
    let again = send(&world, "/control/agents/r1/prompt", "p", HELLO).await;
    assert_eq!(again.status, 200, "{again:?}");
    assert_ne!(again.json()["message_id"], first.json()["message_id"]);
    // The late repetition of a removal does not remove the new agent.
    let late = send(&world, "/control/agents/r1/delete", "d", "{}").await;
    assert_eq!(late.status, 200, "{late:?}");
    assert_eq!(world.ask("GET", "/agents/r1/status", "").await.status, 200);
}
