//! Webhooks over the wire: signatures, the replay window, repetitions, and agents that accept none.

use crate::callbacks::post;
use crate::host::Mood;
use crate::world::{Reply, World};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use holon_domain::hmac;
use holon_domain::limits::{DELIVERY_BURST, GUESS_BURST, WEBHOOK_BODY_BYTES};
use serde_json::{Value, json};

const TARGET: &str = "/webhooks/generic/main";
const SECRET: &str = "a secret of tests";

async fn set(world: &World, name: &str, body: Value) -> Value {
    let target = format!("/control/agents/{name}/webhook");
    let reply = world.ask("POST", &target, &body.to_string()).await;
    assert_eq!(reply.status, 200, "{reply:?}");
    reply.json()
}

fn signed_as_github(body: &[u8], delivery: &str) -> String {
    let mac = hmac::hex(&hmac::hmac_sha256(SECRET.as_bytes(), &[body]));
    format!(
        "Content-Type: application/json\r\nX-GitHub-Event: push\r\nX-GitHub-Delivery: {delivery}\r\n\
         X-Hub-Signature-256: sha256={mac}\r\n"
    )
}

fn signed_as_standard(world: &World, body: &[u8], id: &str, seconds: i64) -> String {
    let now = world.engine.control().now().as_millis() / 1_000;
    let time = (now + seconds).to_string();
    let signed: [&[u8]; 5] = [id.as_bytes(), b".", time.as_bytes(), b".", body];
    let mac = STANDARD.encode(hmac::hmac_sha256(SECRET.as_bytes(), &signed));
    format!(
        "Content-Type: application/json\r\nwebhook-id: {id}\r\nwebhook-timestamp: {time}\r\n\
         webhook-signature: v1,{mac}\r\n"
    )
}

async fn admitted(world: &World, name: &str) -> Vec<Value> {
    let target = format!("/agents/{name}/events?limit=500");
    let page = world.ask("GET", &target, "").await.json();
    let events = page["events"].as_array().unwrap().clone();
    let is_admission = |event: &Value| event["type"] == "message_admitted";
    let mut found: Vec<Value> = events.into_iter().filter(is_admission).collect();
    found.sort_by_key(|event| event["event_seq"].as_u64());
    found
}

#[tokio::test]
async fn a_signed_webhook_is_an_integration_signal_with_its_headers_as_metadata() {
    let world = World::start().await;
    let shown = set(&world, "main", json!({ "secret": SECRET })).await;
    assert_eq!(shown["has_secret"], true);
    assert_eq!(shown["url"], format!("http://127.0.0.1:7878{TARGET}"));
    let body = br#"{"ref":"refs/heads/main","trust":"trusted_operator"}"#;
    let sent = post(&world, TARGET, &signed_as_github(body, "d-1"), body).await;
    assert_eq!(sent.status, 200, "{sent:?}");
    assert_eq!(sent.json()["agent_id"], "main");
    let standard = signed_as_standard(&world, body, "msg_1", 0);
    let sent = post(&world, &format!("{TARGET}?source=stripe"), &standard, body).await;
    assert_eq!(sent.status, 200, "{sent:?}");
    let [github, standard] = &admitted(&world, "main").await[..] else {
        panic!("two messages");
    };
    for event in [github, standard] {
        let payload = &event["payload"];
        assert_eq!(payload["kind"], "webhook_event");
        assert_eq!(payload["admission_context"], "signed_integration");
        assert_eq!(payload["delivery_surface"], "http_webhook");
        assert_eq!(payload["authority_class"], "integration_signal");
        assert_eq!(event["provenance"]["trust"], "trusted_integration");
    }
    let origin = json!({ "kind": "webhook", "source": "github", "event_type": "push" });
    assert_eq!(github["payload"]["origin"], origin);
    let origin = json!({ "kind": "webhook", "source": "stripe" });
    assert_eq!(standard["payload"]["origin"], origin);
}

#[tokio::test]
async fn the_published_examples_are_accepted_within_their_window() {
    let world = World::start().await;
    set(
        &world,
        "main",
        json!({ "secret": "It's a Secret to Everybody" }),
    )
    .await;
    let signature = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    let headers = format!("X-Hub-Signature-256: sha256={signature}\r\n");
    let reply = post(&world, TARGET, &headers, b"Hello, World!").await;
    assert_eq!(reply.status, 200, "{reply:?}");
    set(
        &world,
        "main",
        json!({ "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" }),
    )
    .await;
    let headers = "webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek\r\nwebhook-timestamp: 1614265330\r\n\
                   webhook-signature: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=\r\n";
    // The signature is right; the clock of the host is far from the time of the example.
    let reply = post(&world, TARGET, headers, br#"{"test": 2432232314}"#).await;
    assert_eq!(reply.refusal(), (401, "webhook_outside_window".into()));
}

#[tokio::test]
async fn a_dot_in_the_id_of_a_webhook_is_refused_because_its_text_would_read_as_two_messages() {
    let world = World::start().await;
    set(&world, "main", json!({ "secret": SECRET })).await;
    let headers = signed_as_standard(&world, b"{}", "msg.1", 0);
    let reply = post(&world, TARGET, &headers, b"{}").await;
    assert_eq!(reply.refusal(), (401, "webhook_signature_invalid".into()));
    let told = reply.json()["error"].to_string();
    assert!(told.contains("has a dot"), "{told}");
}

#[tokio::test]
async fn the_signature_of_a_form_of_github_is_that_of_the_form() {
    let world = World::start().await;
    set(&world, "main", json!({ "secret": SECRET })).await;
    let form = b"payload=%7B%22action%22%3A+%22opened%22%7D";
    let headers = signed_as_github(form, "d-1");
    let headers = headers.replace("application/json", "application/x-www-form-urlencoded");
    let sent = post(&world, TARGET, &headers, form).await;
    assert_eq!(sent.status, 200, "{sent:?}");
    let [event] = &admitted(&world, "main").await[..] else {
        panic!("one message");
    };
    assert_eq!(event["payload"]["origin"]["source"], "github");
}

#[tokio::test]
async fn a_wrong_missing_or_late_signature_is_refused() {
    let world = World::start().await;
    set(&world, "main", json!({ "secret": SECRET })).await;
    let body = b"{}".as_slice();
    let good = signed_as_github(body, "d-1");
    let wrong = (401, "webhook_signature_invalid".to_owned());
    for (headers, body) in [
        (String::new(), body),
        (good.clone(), b"{ }".as_slice()),
        (good.replace("sha256=", "sha1="), body),
        (good.replace("sha256=", "sha256=zz"), body),
        (format!("{good}X-Hub-Signature-256: sha256=00\r\n"), body),
        (signed_as_standard(&world, b"{ }", "m", 0), body),
    ] {
        let reply = post(&world, TARGET, &headers, body).await;
        assert_eq!(reply.refusal(), wrong, "{headers}");
    }
    for seconds in [-301, 301, -1_000_000_000] {
        let headers = signed_as_standard(&world, body, "m", seconds);
        let reply = post(&world, TARGET, &headers, body).await;
        assert_eq!(reply.refusal(), (401, "webhook_outside_window".into()));
    }
    let headers = signed_as_standard(&world, body, "m", 299);
    assert_eq!(post(&world, TARGET, &headers, body).await.status, 200);
    let huge = vec![b' '; WEBHOOK_BODY_BYTES + 1];
    let reply = post(&world, TARGET, &good, &huge).await;
    assert_eq!(reply.refusal(), (413, "too_large".into()));
    assert_eq!(admitted(&world, "main").await.len(), 1);
}

#[tokio::test]
async fn a_repeated_webhook_is_one_message_for_a_day() {
    let world = World::start().await;
    set(&world, "main", json!({ "secret": SECRET })).await;
    let body = b"{}".as_slice();
    let first = post(&world, TARGET, &signed_as_github(body, "d-1"), body).await;
    let again = post(&world, TARGET, &signed_as_github(body, "d-1"), body).await;
    assert_eq!(again.json(), first.json());
    // A captured webhook under another id is still the same: the id is not signed.
    let replayed = post(&world, TARGET, &signed_as_github(body, "d-2"), body).await;
    assert_eq!(replayed.json(), first.json());
    let standard = signed_as_standard(&world, body, "msg_1", 0);
    let second = post(&world, TARGET, &standard, body).await;
    assert_ne!(second.json()["message_id"], first.json()["message_id"]);
    let later = signed_as_standard(&world, body, "msg_1", 60);
    assert_eq!(
        post(&world, TARGET, &later, body).await.json(),
        second.json()
    );
    assert_eq!(admitted(&world, "main").await.len(), 2);
    world.engine.advance(23 * 3_600_000);
    let again = post(&world, TARGET, &signed_as_github(body, "d-1"), body).await;
    assert_eq!(again.json(), first.json());
}

#[tokio::test]
async fn without_a_secret_webhooks_are_refused_unless_an_operator_allowed_them() {
    let world = World::start().await;
    let unknown = (404, "webhook_not_found".to_owned());
    let mut answers: Vec<Reply> = Vec::new();
    for target in [
        TARGET,
        "/webhooks/generic/nobody",
        "/webhooks/generic/..%2fx",
    ] {
        let reply = post(&world, target, "Content-Type: application/json\r\n", b"{}").await;
        assert_eq!(reply.refusal(), unknown, "{target}");
        answers.push(reply);
    }
    assert!(answers.iter().all(|reply| reply.body == answers[0].body));
    set(&world, "main", json!({ "allow_unsigned": true })).await;
    let headers = "webhook-id: m\r\nContent-Type: application/json\r\n";
    let sent = post(&world, TARGET, headers, b"{}").await;
    assert_eq!(sent.status, 200, "{sent:?}");
    let again = post(&world, TARGET, headers, b"{}").await;
    assert_eq!(again.json(), sent.json());
    let event = admitted(&world, "main").await.remove(0);
    assert_eq!(
        event["payload"]["admission_context"],
        "public_unauthenticated"
    );
    assert_eq!(event["payload"]["authority_class"], "external_evidence");
    assert_eq!(event["provenance"]["trust"], "untrusted_external");
    // With a secret too, a signed one is a signal, an unsigned one evidence, and a wrong one is refused.
    set(
        &world,
        "main",
        json!({ "secret": SECRET, "allow_unsigned": true }),
    )
    .await;
    let wrong = "X-Hub-Signature-256: sha256=00\r\n";
    assert_eq!(post(&world, TARGET, wrong, b"{}").await.status, 401);
    // The id of an unsigned one does not stand in the way of a signed one.
    let signed = signed_as_standard(&world, b"{}", "m", 0);
    assert_eq!(post(&world, TARGET, &signed, b"{}").await.status, 200);
    let all = admitted(&world, "main").await;
    assert_eq!(all[1]["payload"]["admission_context"], "signed_integration");
    let gone = world
        .ask("POST", "/control/agents/main/webhook/remove", "")
        .await;
    assert_eq!(gone.json()["has_secret"], false);
    assert_eq!(gone.json()["allow_unsigned"], false);
    let reply = post(&world, TARGET, headers, b"{}").await;
    assert_eq!(reply.refusal(), unknown);
    let shown = world.ask("GET", "/agents/main/webhook", "").await.json();
    assert_eq!(shown["allow_unsigned"], false);
    assert!(!shown.to_string().contains(SECRET));
}

#[tokio::test]
async fn a_stopped_agent_takes_no_webhook_and_a_removed_one_is_unknown() {
    let world = World::start().await;
    set(&world, "main", json!({ "secret": SECRET })).await;
    set(&world, "dev", json!({ "secret": SECRET })).await;
    let stop = r#"{"action":"stop"}"#;
    world
        .ask("POST", "/control/agents/main/control", stop)
        .await;
    let reply = post(&world, TARGET, &signed_as_github(b"{}", "d"), b"{}").await;
    assert_eq!(reply.refusal(), (409, "agent_stopped".into()));
    let start = r#"{"action":"start"}"#;
    world
        .ask("POST", "/control/agents/main/control", start)
        .await;
    // What was refused was not remembered as delivered.
    let reply = post(&world, TARGET, &signed_as_github(b"{}", "d"), b"{}").await;
    assert_eq!(reply.status, 200, "{reply:?}");
    world.ask("POST", "/control/agents/dev/delete", "").await;
    let target = "/webhooks/generic/dev";
    let reply = post(&world, target, &signed_as_github(b"{}", "d"), b"{}").await;
    assert_eq!(reply.refusal(), (404, "webhook_not_found".into()));
    let refused = world
        .ask(
            "POST",
            "/control/agents/nobody/webhook",
            r#"{"allow_unsigned":true}"#,
        )
        .await;
    assert_eq!(refused.refusal(), (404, "agent_not_found".into()));
    let empty = world
        .ask("POST", "/control/agents/main/webhook", r#"{"secret":""}"#)
        .await;
    assert_eq!(empty.refusal(), (400, "invalid_request".into()));
}

#[tokio::test]
async fn a_secret_that_was_left_behind_opens_no_other_agent_of_the_name() {
    let world = World::start().await;
    world.engine.create("hooked").await;
    set(&world, "hooked", json!({ "secret": SECRET })).await;
    let (target, body) = ("/webhooks/generic/hooked", b"{}".as_slice());
    let sent = post(&world, target, &signed_as_github(body, "d-1"), body).await;
    assert_eq!(sent.status, 200, "{sent:?}");
    world.host.set(Mood::KeepsSecrets);
    let deleted = world.ask("POST", "/control/agents/hooked/delete", "");
    assert_eq!(deleted.await.status, 200);
    while world.ask("GET", "/agents/hooked/status", "").await.status != 404 {}
    world.engine.create("hooked").await;
    let sent = post(&world, target, &signed_as_github(body, "d-2"), body).await;
    assert_eq!(sent.refusal(), (404, "webhook_not_found".into()));
    let shown = world.ask("GET", "/agents/hooked/webhook", "").await;
    assert_eq!(shown.json()["has_secret"], false, "{shown:?}");
    set(&world, "hooked", json!({ "secret": SECRET })).await;
    let sent = post(&world, target, &signed_as_github(body, "d-3"), body).await;
    assert_eq!(sent.status, 200, "{sent:?}");
}

#[tokio::test]
async fn senders_that_prove_nothing_do_not_shut_out_one_that_signs() {
    let world = World::start().await;
    set(&world, "main", json!({ "secret": SECRET })).await;
    let wrong = "X-Hub-Signature-256: sha256=00\r\n";
    for _ in 0..=DELIVERY_BURST {
        let reply = post(&world, TARGET, wrong, b"{}").await;
        assert!(matches!(reply.status, 401 | 429), "{reply:?}");
    }
    let signed = signed_as_github(b"{}", "d-1");
    let reply = post(&world, TARGET, &signed, b"{}").await;
    assert_eq!(reply.status, 200, "{reply:?}");
    // Unsigned ones that are allowed have an allowance of their own.
    set(&world, "main", json!({ "allow_unsigned": true })).await;
    let mut statuses = Vec::new();
    for _ in 0..=DELIVERY_BURST {
        statuses.push(
            post(&world, TARGET, "webhook-id: m\r\n", b"{}")
                .await
                .status,
        );
    }
    assert_eq!(statuses.first(), Some(&200));
    assert_eq!(statuses.last(), Some(&429));
    let signed = signed_as_github(b"[]", "d-2");
    let reply = post(&world, TARGET, &signed, b"[]").await;
    assert_eq!(reply.status, 200, "{reply:?}");
}

#[tokio::test]
async fn an_archived_agent_refuses_a_webhook_and_a_private_one_is_unknown() {
    let world = World::start().await;
    let (target, body) = ("/webhooks/generic/hooked", b"{}".as_slice());
    world.engine.create("hooked").await;
    set(&world, "hooked", json!({ "secret": SECRET })).await;
    let archived = world.ask("POST", "/control/agents/hooked/archive", "");
    assert_eq!(archived.await.status, 200);
    let reply = post(&world, target, &signed_as_github(body, "d-1"), body).await;
    assert_eq!(reply.refusal(), (409, "agent_archived".into()));
    assert_eq!(admitted(&world, "hooked").await.len(), 0);
    // Its secret is stored, and it accepts unsigned ones too.
    let both = json!({ "secret": SECRET, "allow_unsigned": true });
    set(&world, "dev", both).await;
    world.engine.hide("dev");
    let target = "/webhooks/generic/dev";
    let nobody = post(&world, "/webhooks/generic/nobody", "", body).await;
    for headers in [signed_as_github(body, "d-1"), String::new()] {
        let reply = post(&world, target, &headers, body).await;
        assert_eq!(reply.refusal(), (404, "webhook_not_found".into()));
        assert_eq!(reply.body, nobody.body);
    }
}

#[tokio::test]
async fn made_up_names_are_limited_before_they_are_looked_up_and_shut_out_no_known_sender() {
    let world = World::start().await;
    set(&world, "main", json!({ "secret": SECRET })).await;
    let mut limited = None;
    for number in 0..GUESS_BURST + 200 {
        let target = format!("/webhooks/generic/nobody-{number}");
        let reply = post(&world, &target, "", b"{}").await;
        if reply.status == 429 {
            limited = Some(reply);
            break;
        }
        assert_eq!(reply.refusal(), (404, "webhook_not_found".into()));
    }
    let limited = limited.expect("names are limited");
    assert_eq!(limited.refusal(), (429, "rate_limited".into()));
    // An agent without a webhook is as unknown as a name without an agent.
    let unused = post(&world, "/webhooks/generic/dev", "", b"{}").await;
    assert_eq!(unused.status, 429, "{unused:?}");
    // The names use up nothing of what signatures may.
    let wrong = "X-Hub-Signature-256: sha256=00\r\n";
    assert_eq!(post(&world, TARGET, wrong, b"{}").await.status, 401);
    let signed = signed_as_github(b"{}", "d-1");
    assert_eq!(post(&world, TARGET, &signed, b"{}").await.status, 200);
}

#[tokio::test]
async fn receivers_of_an_earlier_process_share_no_allowance_with_made_up_names() {
    let world = World::start().await;
    set(&world, "main", json!({ "secret": SECRET })).await;
    set(&world, "dev", json!({ "allow_unsigned": true })).await;
    let world = world.restarted().await;
    let mut last = 404;
    for number in 0..GUESS_BURST + 200 {
        let target = format!("/webhooks/generic/nobody-{number}");
        last = post(&world, &target, "", b"{}").await.status;
        if last == 429 {
            break;
        }
    }
    assert_eq!(last, 429, "names are limited");
    let signed = signed_as_github(b"{}", "d-1");
    assert_eq!(post(&world, TARGET, &signed, b"{}").await.status, 200);
    let unsigned = post(&world, "/webhooks/generic/dev", "", b"{}").await;
    assert_eq!(unsigned.status, 200, "{unsigned:?}");
}
