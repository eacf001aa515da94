//! Idempotency keys over the wire.

use crate::world::{Reply, SECRET, World};
use holon_domain::delivery::{DeliveryTarget, TargetAuth, TargetKind};
use holon_domain::limits::REQUEST_KEY_BYTES;
use holon_domain::operator_transport::OperatorTransportBinding;
use holon_domain::request_key::{KeyScope, RequestKey};
use holon_domain::text::sha256_hex;
use holon_domain::{BindingId, Timestamp, WorkspaceId};
use holon_engine::archive::ArchiveMode;
use holon_engine::{BindingAddition, ControlHandle, TargetMaking, TokenRemoval};
use holon_testkit::engine::agent;
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
    let create = |key| send(&world, "/control/agents/r1/create", key, "{}");
    assert_eq!(create("c").await.status, 200);
    let first = send(&world, "/control/agents/r1/prompt", "p", HELLO).await;
    assert_eq!(first.status, 200, "{first:?}");
    let deleted = send(&world, "/control/agents/r1/delete", "d", "{}").await;
    assert_eq!(deleted.status, 200, "{deleted:?}");
    while world.ask("GET", "/agents/r1/status", "").await.status != 404 {}
    let gone = send(&world, "/control/agents/r1/prompt", "p", HELLO).await;
    assert_eq!(gone.refusal(), (404, "agent_not_found".into()));
    world.engine.advance(10);
    // The late repetition of a creation does not bring the removed agent back.
    for (key, status) in [("c", 404), ("c2", 200), ("c", 200)] {
        assert_eq!(create(key).await.status, 200);
        let found = world.ask("GET", "/agents/r1/status", "").await;
        assert_eq!(found.status, status, "after key {key}");
    }
    let again = send(&world, "/control/agents/r1/prompt", "p", HELLO).await;
    assert_eq!(again.status, 200, "{again:?}");
    assert_ne!(again.json()["message_id"], first.json()["message_id"]);
    // The late repetition of a removal does not remove the new agent.
    let late = send(&world, "/control/agents/r1/delete", "d", "{}").await;
    assert_eq!(late.status, 200, "{late:?}");
    assert_eq!(world.ask("GET", "/agents/r1/status", "").await.status, 200);
}

/// A handle for a request over the socket whose decision is committed before its response is kept, as a crash between
/// the two leaves it. `route` is a pattern for the path of `target`, and `name` the agent in it.
fn cut_off(world: &World, route: &str, name: &str, target: &str, body: &str) -> ControlHandle {
    let scope = KeyScope {
        caller: "@local",
        route,
        agent: name,
        kind: "decision",
    };
    let digest = sha256_hex(json!([target, sha256_hex(body)]).to_string());
    let control = world.engine.control();
    control.for_request(RequestKey::new(scope, "cut", digest))
}

#[tokio::test]
async fn a_change_of_workspaces_is_found_again_although_its_response_was_not_kept() {
    let world = World::start().await;
    let main = agent("main");
    let of = |act: &str, body: &str| {
        let route = format!("/control/agents/{{id}}/workspace/{act}");
        let target = format!("/control/agents/main/workspace/{act}");
        (cut_off(&world, &route, "main", &target, body), target)
    };
    let body = r#"{"path":"/p"}"#;
    let (control, attach) = of("attach", body);
    let attached = control.attach_workspace(&main, "/p".to_owned()).await;
    let id = attached.unwrap().workspace_id;
    let again = send(&world, &attach, "cut", body).await;
    assert_eq!(again.status, 200, "{again:?}");
    assert_eq!(again.json()["workspace_id"], id.as_str());
    let used = json!({"workspace_id": id.as_str()}).to_string();
    let used = send(&world, "/control/agents/main/workspace/use", "u", &used).await;
    assert_eq!(used.status, 200, "{used:?}");
    let (control, exit) = of("exit", "{}");
    control.exit_workspace(&main).await.unwrap();
    let again = send(&world, &exit, "cut", "{}").await;
    assert_eq!(again.status, 200, "{again:?}");
    let body = json!({"workspace_id": id.as_str()}).to_string();
    let (control, detach) = of("detach", &body);
    let id = WorkspaceId::from_stored(id.as_str());
    control.detach_workspace(&main, id.clone()).await.unwrap();
    let again = send(&world, &detach, "cut", &body).await;
    assert_eq!(again.status, 200, "{again:?}");
    assert_eq!(again.json()["workspace_id"], id.as_str());
}

#[tokio::test]
async fn a_removal_is_found_again_although_its_response_was_not_kept() {
    let world = World::start().await;
    let token = r#"{"name":"ci","scope":"read"}"#;
    let make = async || world.ask("POST", "/control/tokens", token).await;
    assert_eq!(make().await.status, 200);
    let target = "/control/tokens/ci/revoke";
    let route = "/control/tokens/{name}/revoke";
    let removed = cut_off(&world, route, "", target, "{}")
        .remove_token("ci")
        .await;
    assert_eq!(removed, Ok(TokenRemoval::Removed));
    let again = send(&world, target, "cut", "{}").await;
    assert_eq!(
        (again.status, again.json()),
        (200, json!({"ok": true, "name": "ci"}))
    );
    let other = send(&world, target, "cut", "").await;
    assert_eq!(other.refusal(), (422, "idempotency_key_reused".into()));
    let phone = json!({
        "name": "phone", "kind": "http", "url": "http://127.0.0.1:9/hook", "auth": "bearer", "secret": CANARY,
    });
    let added = send(&world, "/control/delivery/targets", "a", &phone.to_string()).await;
    assert_eq!(added.status, 200, "{added:?}");
    let target = "/control/delivery/targets/phone/remove";
    let route = "/control/delivery/targets/{name}/remove";
    let control = cut_off(&world, route, "", target, "{}");
    assert_eq!(control.remove_delivery_target("phone").await, Ok(Some(0)));
    let again = send(&world, target, "cut", "{}").await;
    assert_eq!(
        (again.status, again.json()),
        (200, json!({"ok": true, "name": "phone", "given_up": 0}))
    );
}

#[tokio::test]
async fn what_was_added_is_found_again_although_its_response_was_not_kept() {
    let world = World::start().await;
    let targets = "/control/delivery/targets";
    let phone = json!({
        "name": "phone", "kind": "http", "url": "http://127.0.0.1:9/hook", "auth": "bearer", "secret": CANARY,
    });
    let phone = phone.to_string();
    let target = DeliveryTarget {
        name: "phone".to_owned(),
        kind: TargetKind::Http {
            url: "http://127.0.0.1:9/hook".to_owned(),
            auth: TargetAuth::Bearer,
        },
        turn_results: false,
        agents: Vec::new(),
        created_at: Timestamp::from_millis(5),
        id: None,
    };
    let control = cut_off(&world, targets, "", targets, &phone);
    let made = control.add_delivery_target(target, Some(CANARY)).await;
    assert!(matches!(made, Ok(TargetMaking::Made(_))), "{made:?}");
    let again = send(&world, targets, "cut", &phone).await;
    let stored = json!(Timestamp::from_millis(5));
    assert_eq!(
        (again.status, &again.json()["target"]["created_at"]),
        (200, &stored)
    );
    let other = json!({"name": "other", "kind": "command", "command": ["true"]});
    let other = send(&world, targets, "cut", &other.to_string()).await;
    assert_eq!(other.refusal(), (422, "idempotency_key_reused".into()));
}

#[tokio::test]
async fn a_binding_that_was_made_is_found_again_although_its_response_was_not_kept() {
    let world = World::start().await;
    let main = agent("main");
    let bindings = "/control/agents/main/operator-bindings";
    let bound = json!({
        "transport": "bridge", "operator_actor_id": "jo", "default_route_id": "room-1",
        "delivery_callback_url": "http://127.0.0.1:9/cb", "delivery_auth": {"kind": "none"},
        "capabilities": {"text": true}, "provider": "matrix",
    });
    let bound = bound.to_string();
    let first = send(&world, bindings, "first", &bound).await.json();
    let listed = async || {
        let listed = world.ask("GET", "/agents/main/operator-bindings", "");
        listed.await.json()["bindings"].as_array().cloned().unwrap()
    };
    let made: OperatorTransportBinding =
        serde_json::from_value(first["binding"].clone()).expect("a binding");
    let made = OperatorTransportBinding {
        binding_id: BindingId::from_stored("cut_off"),
        ..made
    };
    let route = "/control/agents/{id}/operator-bindings";
    let control = cut_off(&world, route, "main", bindings, &bound);
    let made = control.bind_operator(&main, made, None).await;
    assert!(matches!(made, Ok(BindingAddition::Made(_))), "{made:?}");
    let again = send(&world, bindings, "cut", &bound).await.json();
    assert_eq!(again["binding"]["binding_id"], "cut_off");
    assert_eq!(listed().await.len(), 2);
}

#[tokio::test]
async fn a_repeated_request_brings_no_older_secret_of_a_webhook_back() {
    let world = World::start().await;
    let main = agent("main");
    let (set, remove) = (
        "/control/agents/main/webhook",
        "/control/agents/main/webhook/remove",
    );
    let body = |secret: &str| json!({"secret": secret, "allow_unsigned": false}).to_string();
    // The request with the key did all its work, and the host went down before it answered.
    assert_eq!(world.ask("POST", set, &body("first")).await.status, 200);
    let control = cut_off(
        &world,
        "/control/agents/{id}/webhook",
        "main",
        set,
        &body("first"),
    );
    control
        .configure_webhook(&main, false)
        .await
        .expect("is decided");
    assert_eq!(world.ask("POST", set, &body("second")).await.status, 200);
    assert_eq!(send(&world, set, "cut", &body("first")).await.status, 200);
    assert_eq!(world.host.stored_secret(&main).as_deref(), Some("second"));
    let route = "/control/agents/{id}/webhook/remove";
    let control = cut_off(&world, route, "main", remove, "{}");
    control
        .configure_webhook(&main, false)
        .await
        .expect("is decided");
    assert_eq!(send(&world, remove, "cut", "{}").await.status, 200);
    assert_eq!(world.host.stored_secret(&main).as_deref(), Some("second"));
}

#[tokio::test]
async fn a_revocation_that_is_repeated_spares_a_later_token_of_the_name() {
    let world = World::start().await;
    let body = r#"{"name":"ci","scope":"read"}"#;
    assert_eq!(world.ask("POST", "/control/tokens", body).await.status, 200);
    let target = "/control/tokens/ci/revoke";
    let route = "/control/tokens/{name}/revoke";
    let control = cut_off(&world, route, "", target, "{}");
    assert_eq!(control.remove_token("ci").await, Ok(TokenRemoval::Removed));
    let made = world.ask("POST", "/control/tokens", body).await.json();
    let again = send(&world, target, "cut", "{}").await;
    assert_eq!(again.status, 200, "{again:?}");
    let listed = world.ask("GET", "/tokens", "").await.json();
    assert_eq!(listed["tokens"][0]["name"], "ci");
    let token = made["token"].as_str().unwrap();
    let read = world
        .over_tcp(format!(
            "GET /agents/list HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        ))
        .await;
    assert_eq!(read.status, 200, "{read:?}");
}

#[tokio::test]
async fn a_clone_and_an_import_are_found_again_although_their_responses_were_not_kept() {
    let world = World::start().await;
    let body = r#"{"name":"copy"}"#;
    let target = "/control/agents/main/clone";
    let control = cut_off(&world, "/control/agents/{id}/clone", "main", target, body);
    let main = agent("main");
    let copied = control.clone_agent(&main, agent("copy"), ArchiveMode::Make);
    let copied = copied.await.unwrap();
    let again = send(&world, target, "cut", body).await;
    assert_eq!((again.status, again.json()), (200, json!(copied)));
    let exported = world
        .engine
        .control()
        .export_agent(&main, ArchiveMode::Make)
        .await;
    let archive = std::io::read_to_string(exported.unwrap().file.unwrap()).unwrap();
    let target = "/control/agents/eve/import";
    let route = "/control/agents/{id}/import";
    let control = cut_off(&world, route, "eve", target, &archive);
    let mut file = control.new_upload().await.unwrap();
    std::io::Write::write_all(&mut file, archive.as_bytes()).unwrap();
    let imported = control.import_agent(agent("eve"), file, ArchiveMode::Make);
    let imported = imported.await.unwrap();
    let request = format!(
        "POST {target} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-tar\r\nIdempotency-Key: cut\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{archive}",
        archive.len()
    );
    let again = world.over_unix(request).await;
    assert_eq!((again.status, again.json()), (200, json!(imported)));
}
