//! Named tokens: scopes, revocation, and namespaces.

use crate::world::{Reply, SECRET, World, read_reply};
use holon_domain::request_key::TokenScope;
use holon_server::{Access, route_access};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

async fn make(world: &World, name: &str, scope: &str) -> String {
    let body = json!({"name": name, "scope": scope}).to_string();
    let made = world.ask("POST", "/control/tokens", &body).await;
    assert_eq!(made.status, 200, "{made:?}");
    assert_eq!(made.json()["scope"], scope);
    made.json()["token"].as_str().unwrap().to_owned()
}

async fn send(world: &World, token: &str, method: &str, target: &str, body: &str) -> Reply {
    let length = body.len();
    let kind = if body.is_empty() {
        ""
    } else {
        "Content-Type: application/json\r\n"
    };
    world
        .over_tcp(format!(
            "{method} {target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n{kind}\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        ))
        .await
}

#[tokio::test]
async fn every_route_is_closed_to_a_token_below_its_scope() {
    let world = World::start().await;
    let read = make(&world, "reader", "read").await;
    let prompt = make(&world, "prompter", "prompt").await;
    let before = world.engine.commits().await;
    for (method, path, access) in route_access() {
        let target = path.replace("{id}", "main");
        for (token, scope) in [(&read, TokenScope::Read), (&prompt, TokenScope::Prompt)] {
            let Access::Scope(needed) = access else {
                continue;
            };
            if scope >= needed {
                continue;
            }
            let reply = send(&world, token, method.as_str(), &target, "").await;
            let refused = (403, "scope_not_sufficient".into());
            assert_eq!(reply.refusal(), refused, "{method} {path}");
        }
    }
    assert_eq!(world.engine.commits().await, before);
}

#[tokio::test]
async fn a_token_may_do_what_its_scope_says() {
    let world = World::start().await;
    let read = make(&world, "r", "read").await;
    let prompt = make(&world, "p", "prompt").await;
    let control = make(&world, "c", "control").await;
    let hello = r#"{"text":"hello"}"#;
    for (token, method, target, body, status) in [
        (&read, "GET", "/agents/main/status", "", 200),
        (
            &read,
            "GET",
            "/agents/main/events?projection=local_debug",
            "",
            403,
        ),
        (
            &control,
            "GET",
            "/agents/main/events?projection=local_debug",
            "",
            200,
        ),
        (&read, "POST", "/control/agents/main/prompt", hello, 403),
        (&prompt, "POST", "/control/agents/main/prompt", hello, 200),
        (&prompt, "POST", "/agents/main/enqueue", hello, 200),
        (
            &prompt,
            "POST",
            "/control/agents/main/control",
            r#"{"action":"stop"}"#,
            403,
        ),
        (
            &control,
            "POST",
            "/control/agents/main/control",
            r#"{"action":"stop"}"#,
            200,
        ),
        (&prompt, "GET", "/tokens", "", 403),
        (&control, "GET", "/tokens", "", 200),
    ] {
        let reply = send(&world, token, method, target, body).await;
        assert_eq!(reply.status, status, "{method} {target}: {reply:?}");
    }
}

#[tokio::test]
async fn a_revoked_token_admits_nothing_and_its_stream_ends_at_once() {
    let world = World::start().await;
    let token = make(&world, "viewer", "read").await;
    let mut stream = TcpStream::connect(world.address).await.unwrap();
    let request = format!(
        "GET /agents/main/events/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
         Connection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let ended = tokio::spawn(async move { read_reply(&mut stream).await });
    let listed = send(&world, &token, "GET", "/agents/list", "").await;
    assert_eq!(listed.status, 200);
    let gone = world.ask("POST", "/control/tokens/viewer/revoke", "").await;
    assert_eq!(gone.status, 200, "{gone:?}");
    let refused = send(&world, &token, "GET", "/agents/list", "").await;
    assert_eq!(refused.refusal(), (401, "unauthorized".into()));
    let reply = ended.await.unwrap();
    assert!([200, 401].contains(&reply.status), "{reply:?}");
    let again = world.ask("POST", "/control/tokens/viewer/revoke", "").await;
    assert_eq!(again.refusal(), (404, "token_not_found".into()));
}

#[tokio::test]
async fn a_list_has_names_and_scopes_and_no_secret_or_hash() {
    let world = World::start().await;
    let token = make(&world, "ci", "prompt").await;
    let list = world.ask("GET", "/tokens", "").await;
    assert_eq!(list.json()["tokens"][0]["name"], "ci");
    let shown = list.json()["tokens"][0].as_object().unwrap().clone();
    let mut fields: Vec<&str> = shown.keys().map(String::as_str).collect();
    fields.sort_unstable();
    assert_eq!(fields, ["created_at", "name", "scope"]);
    assert!(!list.body.contains(&token) && !list.body.contains(SECRET));
    for (body, refused) in [
        (r#"{"name":"ci","scope":"read"}"#, (409, "token_exists")),
        (
            r#"{"name":"@local","scope":"read"}"#,
            (400, "invalid_token_name"),
        ),
        (r#"{"name":"","scope":"read"}"#, (400, "invalid_token_name")),
        (r#"{"name":"x","scope":"admin"}"#, (400, "invalid_request")),
    ] {
        let reply = world.ask("POST", "/control/tokens", body).await;
        assert_eq!(reply.refusal(), (refused.0, refused.1.into()), "{body}");
    }
}

#[tokio::test]
async fn the_control_token_is_no_named_token_and_the_other_way_round() {
    let world = World::start().await;
    let named = make(&world, "x", "control").await;
    for wrong in [
        format!("hlt_{SECRET}"),
        named.trim_start_matches("hlt_").to_owned(),
    ] {
        let reply = send(&world, &wrong, "GET", "/agents/list", "").await;
        assert_eq!(reply.refusal(), (401, "unauthorized".into()));
    }
}

#[tokio::test]
async fn a_token_that_revokes_itself_is_told_so_and_opens_nothing_after_it() {
    let world = World::start().await;
    let token = make(&world, "self", "control").await;
    let revoked = send(&world, &token, "POST", "/control/tokens/self/revoke", "").await;
    assert_eq!(
        (revoked.status, revoked.json()),
        (200, json!({"ok": true, "name": "self"}))
    );
    let refused = send(&world, &token, "GET", "/agents/list", "").await;
    assert_eq!(refused.refusal(), (401, "unauthorized".into()));
}

#[tokio::test]
async fn a_token_that_may_only_read_sees_no_path_of_an_address_and_no_argument() {
    let world = World::start().await;
    let read = make(&world, "reader", "read").await;
    let control = make(&world, "keeper", "control").await;
    for target in [
        json!({"name": "hook", "kind": "http", "url": "https://hooks.example/T0/xyz"}),
        json!({"name": "mail", "kind": "command", "command": ["mail", "jo@example"]}),
    ] {
        let target = target.to_string();
        let added = world.ask("POST", "/control/delivery/targets", &target);
        assert_eq!(added.await.status, 200);
    }
    let bound = json!({
        "transport": "bridge", "operator_actor_id": "jo", "default_route_id": "room-1",
        "delivery_callback_url": "https://bridge.example/T0/xyz", "delivery_auth": {"kind": "none"},
        "capabilities": {"text": true}, "provider": "matrix",
    });
    let bound = bound.to_string();
    let made = world.ask("POST", "/control/agents/main/operator-bindings", &bound);
    assert_eq!(made.await.status, 200);
    let shown = async |token: &str| {
        let targets = send(&world, token, "GET", "/delivery/targets", "")
            .await
            .json();
        let bindings = send(&world, token, "GET", "/agents/main/operator-bindings", "").await;
        json!([
            targets["targets"][0]["url"],
            targets["targets"][1]["argv"],
            bindings.json()["bindings"][0]["delivery_callback_url"],
        ])
    };
    assert_eq!(
        shown(&read).await,
        json!([
            "https://hooks.example/…",
            ["mail", "…"],
            "https://bridge.example/…"
        ])
    );
    assert_eq!(
        shown(&control).await,
        json!([
            "https://hooks.example/T0/xyz",
            ["mail", "jo@example"],
            "https://bridge.example/T0/xyz"
        ])
    );
}
