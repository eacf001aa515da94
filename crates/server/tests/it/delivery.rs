//! Delivery targets, bindings to remote operators, and their messages over HTTP.

use crate::world::World;
use serde_json::{Value, json};

const TARGETS: &str = "/control/delivery/targets";
const BINDINGS: &str = "/control/agents/main/operator-bindings";
const INGRESS: &str = "/control/agents/main/operator-ingress";

fn target(name: &str) -> Value {
    json!({"name": name, "kind": "http", "url": "http://127.0.0.1:9/hook", "auth": "bearer", "secret": "tok-canary"})
}

fn binding() -> Value {
    json!({
        "transport": "bridge", "operator_actor_id": "jo", "default_route_id": "room-1",
        "delivery_callback_url": "http://127.0.0.1:9/cb",
        "delivery_auth": {"kind": "hmac", "key_id": "k1", "secret": "tok-canary"},
        "capabilities": {"text": true}, "provider": "matrix",
    })
}

async fn bind(world: &World) -> String {
    let made = world.ask("POST", BINDINGS, &binding().to_string()).await;
    assert_eq!(made.status, 200, "{made:?}");
    let made = made.json();
    assert!(!made.to_string().contains("tok-canary"), "{made}");
    made["binding"]["binding_id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_target_is_added_listed_tried_and_removed_and_its_secret_is_never_shown() {
    let world = World::start().await;
    let added = world
        .ask("POST", TARGETS, &target("phone").to_string())
        .await;
    assert_eq!(added.status, 200, "{added:?}");
    let again = world
        .ask("POST", TARGETS, &target("phone").to_string())
        .await;
    assert_eq!(again.refusal(), (409, "delivery_target_exists".into()));
    let listed = world.ask("GET", "/delivery/targets", "").await.json();
    assert!(!listed.to_string().contains("tok-canary"), "{listed}");
    let first = &listed["targets"][0];
    assert_eq!(first["name"], "phone");
    assert_eq!(first["kind"], "http");
    assert_eq!(first["state"], "ok");
    assert_eq!(first["pending"], 0);
    let tried = world
        .ask("POST", "/control/delivery/targets/phone/test", "")
        .await;
    assert_eq!(tried.json()["ok"], true, "{tried:?}");
    let gone = world
        .ask("POST", "/control/delivery/targets/phone/remove", "")
        .await;
    assert_eq!(gone.status, 200, "{gone:?}");
    for act in ["test", "retry", "remove"] {
        let path = format!("/control/delivery/targets/phone/{act}");
        let refused = world.ask("POST", &path, "").await;
        assert_eq!(refused.refusal(), (404, "delivery_target_not_found".into()));
    }
}

#[tokio::test]
async fn a_target_that_cannot_work_is_refused_with_the_reason() {
    let world = World::start().await;
    let changed = |key: &str, value: Value| {
        let mut request = target("phone");
        request[key] = value;
        request
    };
    let signed = |secret: &str| {
        let mut request = changed("auth", json!("hmac"));
        request["secret"] = json!(secret);
        request
    };
    for request in [
        changed("url", json!("ftp://x/")),
        changed("url", json!("/relative")),
        changed("url", json!("http://user:pass@host/")),
        changed("url", Value::Null),
        changed("name", json!("")),
        changed("name", json!("a b")),
        changed("name", json!("x".repeat(49))),
        changed("auth", json!("none")),
        changed("secret", Value::Null),
        changed("kind", json!("command")),
        changed("command", json!(["true"])),
        signed("whsec_"),
        signed("whsec_ab-_ab-_"),
    ] {
        let refused = world.ask("POST", TARGETS, &request.to_string()).await;
        let expected = (400, "invalid_delivery_target".into());
        assert_eq!(refused.refusal(), expected, "{request}");
    }
    let listed = world.ask("GET", "/delivery/targets", "").await.json();
    assert_eq!(listed["targets"], json!([]));
}

#[tokio::test]
async fn the_number_of_targets_is_bounded() {
    let world = World::start().await;
    for count in 0..holon_domain::limits::DELIVERY_TARGETS {
        let request = target(&format!("t{count}")).to_string();
        assert_eq!(world.ask("POST", TARGETS, &request).await.status, 200);
    }
    let refused = world
        .ask("POST", TARGETS, &target("more").to_string())
        .await;
    assert_eq!(refused.refusal(), (409, "too_many_delivery_targets".into()));
}

#[tokio::test]
async fn a_bound_operator_is_admitted_and_everybody_else_is_not() {
    let world = World::start().await;
    let binding_id = bind(&world).await;
    let message = |actor: &str, binding: &str| {
        json!({"text": "how far?", "actor_id": actor, "binding_id": binding, "provider": "matrix"})
            .to_string()
    };
    let admitted = world
        .ask("POST", INGRESS, &message("jo", &binding_id))
        .await;
    assert_eq!(admitted.status, 200, "{admitted:?}");
    let message_id = admitted.json()["message_id"].clone();
    let page = world
        .ask(
            "GET",
            "/agents/main/events?order=asc&after_seq=0&limit=200",
            "",
        )
        .await;
    let events = page.json()["events"].as_array().unwrap().clone();
    let is_it = |event: &&Value| {
        event["type"] == "message_admitted" && event["payload"]["message_id"] == message_id
    };
    let event = events.iter().find(is_it).expect("its admission");
    let provenance = &event["provenance"];
    assert_eq!(provenance["delivery_surface"], "remote_operator_transport");
    assert_eq!(
        provenance["admission_context"],
        "operator_transport_authenticated"
    );
    assert_eq!(provenance["authority_class"], "operator_instruction");
    let nameless = json!({"text": "how far?", "actor_id": "jo", "binding_id": binding_id});
    let nameless = world.ask("POST", INGRESS, &nameless.to_string()).await;
    let missing = (422, "operator_identity_missing".into());
    assert_eq!(nameless.refusal(), missing);
    let forged = world
        .ask("POST", INGRESS, &message("eve", &binding_id))
        .await;
    assert_eq!(forged.refusal(), (403, "operator_mismatch".into()));
    let unknown = world
        .ask("POST", INGRESS, &message("jo", "opb_nowhere"))
        .await;
    assert_eq!(unknown.refusal(), (404, "binding_not_found".into()));
    let foreign = "/control/agents/dev/operator-ingress";
    let foreign = world
        .ask("POST", foreign, &message("jo", &binding_id))
        .await;
    assert_eq!(foreign.refusal(), (404, "binding_not_found".into()));
    let revoke = format!("{BINDINGS}/{binding_id}/revoke");
    assert_eq!(world.ask("POST", &revoke, "").await.status, 200);
    let late = world
        .ask("POST", INGRESS, &message("jo", &binding_id))
        .await;
    assert_eq!(late.refusal(), (403, "binding_inactive".into()));
    let listed = world
        .ask("GET", "/agents/main/operator-bindings", "")
        .await
        .json();
    assert_eq!(listed["bindings"][0]["status"], "revoked");
    assert!(!listed.to_string().contains("tok-canary"), "{listed}");
}

#[tokio::test]
async fn a_binding_that_cannot_work_is_refused_with_the_reason() {
    let world = World::start().await;
    let changed = |key: &str, value: Value| {
        let mut request = binding();
        request[key] = value;
        request
    };
    let with_auth = |key: &str, value: &str| {
        let mut request = binding();
        request["delivery_auth"][key] = json!(value);
        request
    };
    for request in [
        changed("target_agent_id", json!("dev")),
        changed("transport", json!(" ")),
        changed("capabilities", json!({"text": false})),
        changed("delivery_auth", json!({"kind": "bearer"})),
        changed("binding_id", json!("a/b")),
        with_auth("key_id", "schl\u{fc}ssel"),
        with_auth("key_id", "two words"),
        with_auth("key_id", "line\n"),
        with_auth("secret", "whsec_"),
        with_auth("secret", "whsec_ab-_ab-_"),
        {
            let mut replacing = changed("delivery_auth", json!({"kind": "bearer"}));
            replacing["binding_id"] = json!("nowhere");
            replacing
        },
    ] {
        let refused = world.ask("POST", BINDINGS, &request.to_string()).await;
        let expected = (400, "invalid_operator_binding".into());
        assert_eq!(refused.refusal(), expected, "{request}");
    }
}

#[tokio::test]
async fn a_message_that_a_transport_repeats_with_its_key_is_admitted_once() {
    let world = World::start().await;
    let binding_id = bind(&world).await;
    let body =
        json!({"text": "go", "actor_id": "jo", "binding_id": binding_id, "provider": "matrix"});
    let body = body.to_string();
    let mut ids = Vec::new();
    for _ in 0..2 {
        let reply = world
            .over_tcp(format!(
                "POST {INGRESS} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\n\
                 Content-Type: application/json\r\nIdempotency-Key: m-1\r\nContent-Length: {}\r\n\
                 Connection: close\r\n\r\n{body}",
                crate::world::SECRET,
                body.len()
            ))
            .await;
        assert_eq!(reply.status, 200, "{reply:?}");
        ids.push(reply.json()["message_id"].clone());
    }
    assert_eq!(ids[0], ids[1]);
}

#[tokio::test]
async fn the_query_of_an_address_is_not_shown() {
    let world = World::start().await;
    let mut request = target("phone");
    request["url"] = json!("http://127.0.0.1:9/hook?key=canary-4711#part");
    let added = world.ask("POST", TARGETS, &request.to_string()).await;
    assert_eq!(added.status, 200, "{added:?}");
    let mut bound = binding();
    bound["delivery_callback_url"] = json!("http://127.0.0.1:9/cb?key=canary-4711");
    let made = world.ask("POST", BINDINGS, &bound.to_string()).await;
    assert_eq!(made.status, 200, "{made:?}");
    let targets = world.ask("GET", "/delivery/targets", "").await;
    let first = targets.json()["targets"][0].clone();
    let bindings = world.ask("GET", "/agents/main/operator-bindings", "").await;
    for shown in [added, made, targets, bindings] {
        assert!(!shown.body.contains("canary-4711"), "{shown:?}");
        assert!(shown.body.contains("?…"), "{shown:?}");
    }
    assert_eq!(
        (&first["delivered"], &first["state"]),
        (&json!(false), &json!("ok"))
    );
}

#[tokio::test]
async fn an_address_that_cannot_be_used_is_refused_with_an_example() {
    let world = World::start().await;
    for url in ["ntfy.sh/x", "ftp://x/", "http://user:pass@x/", ""] {
        let mut request = target("phone");
        request["url"] = json!(url);
        let refused = world.ask("POST", TARGETS, &request.to_string()).await;
        let expected = (400, "invalid_delivery_target".into());
        assert_eq!(refused.refusal(), expected, "{url}");
        assert!(refused.body.contains("https://ntfy.sh/my-topic"), "{url}");
    }
}

#[tokio::test]
async fn a_secret_that_is_no_key_is_refused_with_a_right_one_as_hint() {
    let world = World::start().await;
    let mut signed = target("phone");
    signed["auth"] = json!("hmac");
    signed["secret"] = json!("whsec_");
    let mut bound = binding();
    bound["delivery_auth"]["secret"] = json!("whsec_");
    for (path, request) in [(TARGETS, &signed), (BINDINGS, &bound)] {
        let refused = world.ask("POST", path, &request.to_string()).await;
        assert_eq!(refused.status, 400, "{refused:?}");
        assert!(refused.body.contains("openssl rand -base64 24"), "{path}");
    }
    // Only a signature has a key; a token is sent as it is.
    signed["auth"] = json!("bearer");
    let added = world.ask("POST", TARGETS, &signed.to_string()).await;
    assert_eq!(added.status, 200, "{added:?}");
    bound["delivery_auth"]["secret"] = json!("whsec_AAAA");
    let made = world.ask("POST", BINDINGS, &bound.to_string()).await;
    assert_eq!(made.status, 200, "{made:?}");
}
