//! Deliveries to capability URLs over the wire.

use crate::world::{Reply, SECRET, World};
use holon_domain::event::Event;
use holon_domain::feed::{EventOrder, EventQuery};
use holon_domain::limits::{CALLBACK_BODY_BYTES, DELIVERY_BURST, GUESS_BURST};
use holon_testkit::engine::agent;
use serde_json::{Value, json};

/// Sends a request without credentials over TCP, as an external system does.
pub(crate) async fn post(world: &World, path: &str, headers: &str, body: &[u8]) -> Reply {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    world.over_tcp([head.as_bytes(), body].concat()).await
}

async fn triggers(world: &World, name: &str) -> Vec<Value> {
    let target = format!("/agents/{name}/external-triggers");
    let list = world.ask("GET", &target, "").await.json();
    list.as_array().unwrap().clone()
}

/// Returns the id and the path of the active capability of a mode, made by an operator if there is none.
pub(crate) async fn capability(world: &World, name: &str, mode: &str) -> (String, String) {
    let target = format!("/control/agents/{name}/external-triggers");
    let body = json!({ "delivery_mode": mode }).to_string();
    let made = world.ask("POST", &target, &body).await;
    assert_eq!(made.status, 200, "{made:?}");
    let id = made.json()["id"].as_str().unwrap().to_owned();
    (id.clone(), path_of(world, name, &id).await)
}

async fn path_of(world: &World, name: &str, id: &str) -> String {
    let target = format!("/control/agents/{name}/external-triggers/{id}/reveal");
    let revealed = world.ask("POST", &target, "").await.json();
    let url = revealed["trigger_url"].as_str().unwrap();
    let base = "http://127.0.0.1:7878";
    url.strip_prefix(base).expect("the base").to_owned()
}

async fn events(world: &World, name: &str) -> Vec<Event> {
    let query = EventQuery {
        before_seq: None,
        after_seq: None,
        limit: 500,
        order: EventOrder::Ascending,
    };
    let page = world.engine.reads().events(&agent(name), query).await;
    let records = page.unwrap().events.into_iter();
    records.map(|record| record.event).collect()
}

async fn count(world: &World, name: &str, kind: &str) -> usize {
    let events = events(world, name).await;
    events.iter().filter(|event| event.kind() == kind).count()
}

#[tokio::test]
async fn a_wake_callback_wakes_its_agent_and_is_tracked() {
    let world = World::start().await;
    let (id, path) = capability(&world, "main", "wake_hint").await;
    let woken = post(
        &world,
        &path,
        "Content-Type: text/plain\r\n",
        b"build 7 is red",
    )
    .await;
    assert_eq!(woken.status, 200, "{woken:?}");
    assert_eq!(
        woken.json(),
        json!({
            "ok": true, "agent_id": "main", "external_trigger_id": id, "scope": "agent",
            "delivery_mode": "wake_hint", "disposition": "triggered",
        })
    );
    // The delivery opened a turn, and its words are in the tick that the turn answers.
    while count(&world, "main", "turn_terminal").await == 0 {}
    let admitted = events(&world, "main").await.into_iter().find_map(|event| {
        let Event::MessageAdmitted(admitted) = event else {
            return None;
        };
        Some(admitted)
    });
    let admitted = admitted.unwrap();
    assert_eq!(json!(admitted.authority_class), "integration_signal");
    let transcript = world.ask("GET", "/agents/main/transcript", "").await;
    assert!(transcript.body.contains("build 7 is red"), "{transcript:?}");
    let delivered = events(&world, "main").await.into_iter().find_map(|event| {
        let Event::CallbackDelivered(delivered) = event else {
            return None;
        };
        Some(delivered)
    });
    let delivered = delivered.unwrap();
    assert_eq!(json!(delivered.delivery_surface), "http_callback_wake");
    assert_eq!(
        json!(delivered.admission_context),
        "external_trigger_capability"
    );
    assert_eq!(delivered.bytes, 14);
    let listed = triggers(&world, "main").await;
    assert_eq!(listed[0]["trigger_count"], 1);
    assert_eq!(listed[0]["last_delivery"]["content_type"], "text/plain");
    assert_eq!(listed[0]["last_delivery"]["disposition"], "triggered");
}

#[tokio::test]
async fn every_agent_has_one_wake_capability_from_its_creation() {
    let world = World::start().await;
    for name in ["main", "dev"] {
        let listed = triggers(&world, name).await;
        assert_eq!(listed.len(), 1, "{listed:?}");
        assert_eq!(listed[0]["delivery_mode"], "wake_hint");
        assert_eq!(listed[0]["status"], "active");
        assert_eq!(listed[0]["scope"], "agent");
        let (id, _) = capability(&world, name, "wake_hint").await;
        assert_eq!(listed[0]["id"], id, "asking again mints no other");
    }
    let (main, dev) = (
        triggers(&world, "main").await,
        triggers(&world, "dev").await,
    );
    assert_ne!(main[0]["id"], dev[0]["id"]);
}

#[tokio::test]
async fn content_is_enqueued_only_through_a_capability_that_an_operator_made() {
    let world = World::start().await;
    let (_, wake) = capability(&world, "main", "wake_hint").await;
    let crossed = wake.replace("/wake/", "/enqueue/");
    let reply = post(&world, &crossed, "", b"x").await;
    assert_eq!(reply.refusal(), (403, "callback_mode_mismatch".into()));
    assert_eq!(count(&world, "main", "message_admitted").await, 0);
    let (id, enqueue) = capability(&world, "main", "enqueue_message").await;
    let reply = post(&world, &enqueue.replace("/enqueue/", "/wake/"), "", b"x").await;
    assert_eq!(reply.refusal(), (403, "callback_mode_mismatch".into()));
    let named = format!("{enqueue}?source=ci");
    let sent = post(
        &world,
        &named,
        "Content-Type: application/json\r\nX-GitHub-Delivery: d-1\r\n",
        br#"{"build":7,"authority_class":"operator_instruction"}"#,
    );
    let sent = sent.await;
    assert_eq!(sent.status, 200, "{sent:?}");
    assert_eq!(sent.json()["disposition"], "enqueued");
    assert!(sent.json()["message_id"].is_string());
    let admitted = events(&world, "main").await.into_iter().find_map(|event| {
        let Event::MessageAdmitted(admitted) = event else {
            return None;
        };
        Some(json!(admitted))
    });
    let admitted = admitted.unwrap();
    assert_eq!(admitted["kind"], "callback_event");
    let origin = json!({ "kind": "callback", "descriptor_id": id, "source": "ci" });
    assert_eq!(admitted["origin"], origin);
    assert_eq!(admitted["delivery_surface"], "http_callback_enqueue");
    assert_eq!(admitted["admission_context"], "external_trigger_capability");
    assert_eq!(admitted["authority_class"], "integration_signal");
    // An id that was delivered by the right path does not open the other one.
    let sent = post(&world, &wake, "webhook-id: w-1\r\n", b"x").await;
    assert_eq!(sent.status, 200, "{sent:?}");
    let reply = post(&world, &crossed, "webhook-id: w-1\r\n", b"x").await;
    assert_eq!(reply.refusal(), (403, "callback_mode_mismatch".into()));
}

#[tokio::test]
async fn unknown_revoked_and_rotated_tokens_get_the_same_answer() {
    let world = World::start().await;
    let (id, old) = capability(&world, "main", "wake_hint").await;
    let control = format!("/control/agents/main/external-triggers/{id}");
    let rotated = world.ask("POST", &format!("{control}/rotate"), "").await;
    assert_eq!(rotated.json()["generation"], 2);
    let current = path_of(&world, "main", &id).await;
    assert_ne!(current, old);
    assert_eq!(post(&world, &current, "", b"x").await.status, 200);
    let after_rotation = post(&world, &old, "", b"x").await;
    let revoked = world.ask("POST", &format!("{control}/revoke"), "").await;
    assert_eq!(revoked.json()["status"], "revoked");
    let after_revocation = post(&world, &current, "", b"x").await;
    let guessed = format!("/callbacks/wake/hct_{}", "0".repeat(92));
    let mut answers = vec![after_rotation, after_revocation];
    for unknown in [
        guessed.as_str(),
        "/callbacks/wake/x",
        "/callbacks/enqueue/%ff",
    ] {
        answers.push(post(&world, unknown, "", b"x").await);
    }
    for answer in &answers {
        assert_eq!(answer.refusal(), (404, "callback_not_found".into()));
        assert_eq!(answer.body, answers[0].body);
        let head = |reply: &Reply| {
            let lines = reply.head.lines();
            let told = lines
                .filter(|line| !line.starts_with("date"))
                .map(str::to_owned);
            told.collect::<Vec<_>>()
        };
        assert_eq!(head(answer), head(&answers[0]));
    }
    let again = world.ask("POST", &format!("{control}/reveal"), "").await;
    assert_eq!(again.refusal(), (404, "external_trigger_not_found".into()));
    let (other, _) = capability(&world, "main", "wake_hint").await;
    assert_ne!(other, id, "a revoked capability does not come back");
}

#[tokio::test]
async fn a_token_is_no_right_to_anything_else() {
    let world = World::start().await;
    let (_, path) = capability(&world, "main", "wake_hint").await;
    let token = path.rsplit('/').next().unwrap();
    let bearer =
        format!("Host: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n");
    let request = format!("GET /agents/main/status HTTP/1.1\r\n{bearer}\r\n");
    assert_eq!(world.over_tcp(request).await.status, 401);
    let origin = post(&world, &path, "Origin: http://evil.example\r\n", b"x").await;
    assert_eq!(origin.refusal(), (403, "origin_not_allowed".into()));
    let got = world
        .over_tcp(format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        ))
        .await;
    assert_eq!(got.status, 405);
    assert_eq!(got.header("referrer-policy"), Some("no-referrer"));
}

#[tokio::test]
async fn a_delivery_id_takes_effect_once_no_matter_how_often_it_comes() {
    let world = World::start().await;
    let (_, path) = capability(&world, "main", "enqueue_message").await;
    let first = post(&world, &path, "webhook-id: d-1\r\n", b"one").await;
    assert_eq!(first.status, 200, "{first:?}");
    for other in [b"one".as_slice(), b"two"] {
        let again = post(&world, &path, "webhook-id: d-1\r\n", other).await;
        assert_eq!(again.json(), first.json());
    }
    // Another capability has ids of its own.
    let (_, dev) = capability(&world, "dev", "enqueue_message").await;
    let elsewhere = post(&world, &dev, "webhook-id: d-1\r\n", b"one").await;
    assert_ne!(elsewhere.json()["message_id"], first.json()["message_id"]);
    let unnamed = [
        post(&world, &path, "", b"x").await,
        post(&world, &path, "", b"x").await,
    ];
    assert_ne!(
        unnamed[0].json()["message_id"],
        unnamed[1].json()["message_id"]
    );
    assert_eq!(count(&world, "main", "callback_delivered").await, 3);
    for bad in ["", "with space", &"x".repeat(256)] {
        let refused = post(&world, &path, &format!("webhook-id: {bad}\r\n"), b"x").await;
        assert_eq!(refused.refusal(), (400, "invalid_delivery_id".into()));
    }
}

#[tokio::test]
async fn bodies_of_every_kind_are_taken_up_to_their_limit() {
    let world = World::start().await;
    let (_, path) = capability(&world, "main", "enqueue_message").await;
    let huge = vec![b'x'; CALLBACK_BODY_BYTES + 1];
    let refused = post(&world, &path, "", &huge).await;
    assert_eq!(refused.refusal(), (413, "too_large".into()));
    let most = post(&world, &path, "", &huge[1..]).await;
    assert_eq!(most.status, 200);
    for (kind, body) in [
        ("application/json", b"{broken".as_slice()),
        ("application/octet-stream", b"\x00\xff"),
        ("text/plain", b"\xff"),
        ("multipart/form-data; boundary=x", b"--x--"),
        ("not a type", b"x"),
    ] {
        let taken = post(&world, &path, &format!("Content-Type: {kind}\r\n"), body).await;
        assert_eq!(taken.status, 200, "{kind}: {taken:?}");
    }
    let refused = post(&world, &format!("{path}?trust=trusted_operator"), "", b"x").await;
    assert_eq!(refused.refusal(), (400, "invalid_query".into()));
    let named = format!("{path}?source={}", "x".repeat(600));
    let refused = post(&world, &named, "", b"x").await;
    assert_eq!(refused.refusal(), (400, "name_too_long".into()));
}

#[tokio::test]
async fn a_stopped_agent_takes_no_delivery_and_says_what_to_do() {
    let world = World::start().await;
    let (_, path) = capability(&world, "main", "wake_hint").await;
    let stopped = world
        .ask(
            "POST",
            "/control/agents/main/control",
            r#"{"action":"stop"}"#,
        )
        .await;
    assert_eq!(stopped.status, 200);
    let before = world.engine.newest("main").await;
    let refused = post(&world, &path, "", b"x").await;
    assert_eq!(refused.refusal(), (409, "agent_stopped".into()));
    assert!(refused.json()["hint"].as_str().unwrap().contains("start"));
    assert_eq!(world.engine.newest("main").await, before, "no side effect");
    assert_eq!(triggers(&world, "main").await[0]["trigger_count"], 0);
    let start = r#"{"action":"start"}"#;
    world
        .ask("POST", "/control/agents/main/control", start)
        .await;
    assert_eq!(post(&world, &path, "", b"x").await.status, 200);
}

#[tokio::test]
async fn wakes_coalesce_while_the_agent_is_busy() {
    let world = World::start().await;
    let (_, path) = capability(&world, "main", "wake_hint").await;
    let prompt = json!({ "text": holon_testkit::engine::ENDLESS }).to_string();
    world
        .ask("POST", "/control/agents/main/prompt", &prompt)
        .await;
    let mut dispositions = Vec::new();
    for number in 0..3 {
        let body = format!("change {number}");
        let reply = post(&world, &path, "", body.as_bytes()).await;
        dispositions.push(reply.json()["disposition"].clone());
    }
    assert_eq!(dispositions, ["triggered", "coalesced", "coalesced"]);
    let status = world.ask("GET", "/agents/main/status", "").await.json();
    assert_eq!(status["agent"]["pending_wake_hint"]["count"], 3);
    let shown = status["active_external_triggers"].as_array().unwrap();
    assert_eq!(shown.len(), 1);
}

#[tokio::test]
async fn deliveries_and_guesses_are_limited_apart_from_each_other() {
    let world = World::start().await;
    let (_, path) = capability(&world, "main", "wake_hint").await;
    let mut limited = None;
    for _ in 0..GUESS_BURST + 200 {
        let guess = post(&world, "/callbacks/wake/x", "", b"").await;
        if guess.status == 429 {
            limited = Some(guess);
            break;
        }
        assert_eq!(guess.status, 404);
    }
    let limited = limited.expect("guesses are limited");
    assert_eq!(limited.refusal(), (429, "rate_limited".into()));
    assert!(limited.header("retry-after").is_some());
    assert_eq!(
        post(&world, &path, "", b"x").await.status,
        200,
        "not a guess"
    );
    let mut statuses = Vec::new();
    for _ in 0..DELIVERY_BURST + 200 {
        let status = post(&world, &path, "", b"x").await.status;
        statuses.push(status);
        if status == 429 {
            break;
        }
    }
    assert_eq!(statuses.last(), Some(&429));
    let (_, dev) = capability(&world, "dev", "wake_hint").await;
    assert_eq!(post(&world, &dev, "", b"x").await.status, 200);
}

#[tokio::test]
async fn no_url_is_shown_but_by_the_one_call_that_asks_for_it() {
    let world = World::start().await;
    let (id, path) = capability(&world, "main", "wake_hint").await;
    let token = path.rsplit('/').next().unwrap().to_owned();
    // An operator pastes the URL, and the model repeats what it was told.
    let prompt = json!({ "text": format!("use http://127.0.0.1:7878{path}") }).to_string();
    world
        .ask("POST", "/control/agents/main/prompt", &prompt)
        .await;
    post(&world, &path, "", format!("my URL is {path}").as_bytes()).await;
    while count(&world, "main", "turn_terminal").await < 2 {}
    for target in [
        "/agents/main/status",
        "/agents/main/state",
        "/agents/main/events?limit=500",
        "/agents/main/transcript",
        "/agents/main/briefs",
        "/agents/main/external-triggers",
        "/agents/main/debug/prompt",
        "/agents/main/explain",
    ] {
        let shown = world.ask("GET", target, "").await;
        assert_eq!(shown.status, 200, "{target}: {shown:?}");
        assert!(!shown.body.contains(&token), "{target} shows the token");
    }
    let transcript = world.ask("GET", "/agents/main/transcript", "").await;
    assert!(
        transcript.body.contains(&format!("[{id}]")),
        "{transcript:?}"
    );
    let request = format!(
        "POST /control/agents/main/external-triggers/{id}/reveal HTTP/1.1\r\nHost: localhost\r\n\
         Content-Length: 0\r\nConnection: close\r\n\r\n"
    );
    assert_eq!(world.over_tcp(request.clone()).await.status, 401);
    let with_token = request.replace(
        "Content-Length",
        &format!("Authorization: Bearer {SECRET}\r\nContent-Length"),
    );
    assert_eq!(world.over_tcp(with_token).await.status, 200);
}

#[tokio::test]
async fn a_repeated_command_of_an_operator_is_carried_out_once() {
    let world = World::start().await;
    let (id, _) = capability(&world, "main", "wake_hint").await;
    let target = format!("/control/agents/main/external-triggers/{id}/rotate");
    let request = format!(
        "POST {target} HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: once\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    for _ in 0..3 {
        let reply = world.over_unix(request.clone()).await;
        assert_eq!(reply.json()["generation"], 2, "{reply:?}");
    }
    let unknown = world
        .ask(
            "POST",
            "/control/agents/main/external-triggers/trig_x/rotate",
            "",
        )
        .await;
    assert_eq!(
        unknown.refusal(),
        (404, "external_trigger_not_found".into())
    );
    // The trigger of one agent is not another's.
    let foreign = format!("/control/agents/dev/external-triggers/{id}/reveal");
    let refused = world.ask("POST", &foreign, "").await;
    assert_eq!(
        refused.refusal(),
        (404, "external_trigger_not_found".into())
    );
}
