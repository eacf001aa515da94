//! What the control plane tells about an agent beside its events: what a prompt may say of itself, what an abort answers,
//! the order of a snapshot, the raw side of an event, and the size of an answer.

use crate::world::World;
use flate2::read::GzDecoder;
use holon_testkit::engine::ENDLESS;
use serde_json::{Value, json};
use std::io::Read as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

/// Returns the newest events of an agent of one kind, oldest first.
async fn events(world: &World, agent: &str, kind: &str, query: &str) -> Vec<Value> {
    let target = format!("/agents/{agent}/events?order=asc&limit=512{query}");
    let page = world.ask("GET", &target, "").await.json();
    let events = page["events"].as_array().unwrap().iter();
    events
        .filter(|event| event["type"] == kind)
        .cloned()
        .collect()
}

#[tokio::test]
async fn a_prompt_may_lower_its_trust_and_then_does_not_interject() {
    let world = World::start().await;
    let path = "/control/agents/main/prompt";
    for (trust, class, priority) in [
        (None, "operator_instruction", "interject"),
        (
            Some("trusted_operator"),
            "operator_instruction",
            "interject",
        ),
        (Some("trusted_integration"), "integration_signal", "next"),
        (Some("untrusted_external"), "external_evidence", "next"),
    ] {
        let mut body = json!({ "text": "look at this" });
        if let Some(trust) = trust {
            body["trust"] = json!(trust);
        }
        let reply = world.ask("POST", path, &body.to_string()).await;
        assert_eq!(reply.status, 200, "{trust:?}: {reply:?}");
        let id = reply.json()["message_id"].clone();
        let admitted = events(&world, "main", "message_admitted", "").await;
        let mut admitted = admitted.iter().map(|event| &event["payload"]);
        let message = admitted
            .find(|payload| payload["message_id"] == id)
            .unwrap();
        assert_eq!(message["authority_class"], class, "{trust:?}");
        assert_eq!(message["priority"], priority, "{trust:?}");
    }
    let loud = json!({ "text": "x", "trust": "untrusted_external", "priority": "interject" });
    let refused = world.ask("POST", path, &loud.to_string()).await;
    assert_eq!(refused.status, 403, "{refused:?}");
    let unknown = json!({ "text": "x", "trust": "trusted_root" });
    let refused = world.ask("POST", path, &unknown.to_string()).await;
    assert!((400..500).contains(&refused.status), "{refused:?}");
}

#[tokio::test]
async fn an_abort_says_how_its_caller_was_admitted_and_repeats_the_trust_it_was_given() {
    let world = World::start().await;
    for (body, provided) in [
        (json!({ "mode": "continue_after_abort" }), Value::Null),
        (
            json!({ "trust": "trusted_operator", "mode": "continue_after_abort" }),
            json!("trusted_operator"),
        ),
    ] {
        let endless = json!({ "text": ENDLESS }).to_string();
        let begun = world
            .ask("POST", "/control/agents/main/prompt", &endless)
            .await;
        assert_eq!(begun.status, 200, "{begun:?}");
        let path = "/control/agents/main/current-run/abort";
        let reply = world.ask("POST", path, &body.to_string()).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        let answer = reply.json();
        assert_eq!(answer["admission_context"], "control_authenticated");
        assert_eq!(answer["provided_trust"], provided);
        assert!(answer.get("provided_trust").is_some(), "{answer}");
    }
}

#[tokio::test]
async fn a_stop_is_on_record_before_what_it_does_with_the_names_of_the_contract() {
    let world = World::start().await;
    for action in ["stop", "start"] {
        let body = json!({ "action": action }).to_string();
        let reply = world
            .ask("POST", "/control/agents/dev/control", &body)
            .await;
        assert_eq!(reply.status, 200, "{reply:?}");
        let admitted = events(&world, "dev", "control_request_admitted", "").await;
        let applied = events(&world, "dev", "control_applied", "").await;
        let (admitted, applied) = (admitted.last().unwrap(), applied.last().unwrap());
        assert!(admitted["event_seq"].as_u64() < applied["event_seq"].as_u64());
        let (before, after) = match action {
            "stop" => ("asleep", "stopped"),
            _ => ("stopped", "asleep"),
        };
        let payload = &applied["payload"];
        for (field, value) in [
            ("action", action),
            ("boundary", "control"),
            ("previous_status", before),
            ("next_status", after),
        ] {
            assert_eq!(payload[field], value, "{field} in {payload}");
        }
        let decided = events(&world, "dev", "scheduler_posture_decision", "").await;
        let of_control = |event: &&Value| event["payload"]["boundary"] == "control";
        let decided = decided.iter().rfind(of_control).unwrap();
        assert!(applied["event_seq"].as_u64() < decided["event_seq"].as_u64());
        let payload = &decided["payload"];
        for (field, value) in [
            ("boundary", "control"),
            ("previous_status", before),
            ("next_status", after),
        ] {
            assert_eq!(payload[field], value, "{field} in {payload}");
        }
        assert_eq!(admitted["payload"]["previous_status"], before);
    }
    let again = json!({ "action": "start" }).to_string();
    while world.ask("GET", "/agents/dev/status", "").await.json()["agent"]["status"] == "booting" {}
    let before = events(&world, "dev", "control_request_admitted", "")
        .await
        .len();
    world
        .ask("POST", "/control/agents/dev/control", &again)
        .await;
    let after = events(&world, "dev", "control_request_admitted", "")
        .await
        .len();
    assert_eq!(
        before, after,
        "a request that changes nothing is not recorded"
    );
}

#[tokio::test]
async fn local_debug_has_the_stored_payload_and_needs_the_rights_of_control() {
    let world = World::start().await;
    let prompt = json!({ "text": "hello" }).to_string();
    world
        .ask("POST", "/control/agents/main/prompt", &prompt)
        .await;
    let kind = "message_admitted";
    let shown = events(&world, "main", kind, "&projection=operator").await;
    let shown = shown.last().unwrap();
    assert_eq!(shown["projection"]["raw_payload_included"], false);
    assert_eq!(shown.get("raw_payload"), None);
    let debug = events(&world, "main", kind, "&projection=local_debug").await;
    let debug = debug.last().unwrap();
    assert_eq!(debug["projection"]["raw_payload_included"], true);
    assert_eq!(
        debug["payload"], shown["payload"],
        "the standard payload stays"
    );
    assert_eq!(
        debug["payload"]["trust"], "trusted_operator",
        "it is derived"
    );
    assert_eq!(debug["raw_payload"].get("trust"), None, "and not stored");
    assert_eq!(
        debug["raw_payload"]["authority_class"],
        "operator_instruction"
    );
}

#[tokio::test]
async fn a_snapshot_lists_what_can_go_on_first_and_what_is_done_last() {
    let world = World::start().await;
    let items = "/control/agents/dev/work-items";
    let mut ids = Vec::new();
    for (objective, plan_status) in [
        ("first", "needs_input"),
        ("second", "draft"),
        ("third", "draft"),
    ] {
        let body = json!({ "objective": objective, "plan_status": plan_status }).to_string();
        let made = world.ask("POST", items, &body).await;
        assert_eq!(made.status, 200, "{made:?}");
        ids.push(made.json()["id"].as_str().unwrap().to_owned());
    }
    let complete = format!("{items}/{}/complete", ids[1]);
    let done = world.ask("POST", &complete, "").await;
    assert_eq!(done.status, 200, "{done:?}");
    let state = world.ask("GET", "/agents/dev/state", "").await.json();
    let listed = state["work_items"].as_array().unwrap().iter();
    let listed: Vec<&str> = listed
        .map(|item| item["objective"].as_str().unwrap())
        .collect();
    assert_eq!(listed, ["third", "first", "second"], "{state:#}");
}

/// Asks over the socket with a header of its own, and returns the head and the bytes of the body.
async fn ask_raw(world: &World, target: &str, header: &str) -> (String, Vec<u8>) {
    let mut stream = UnixStream::connect(&world.socket).await.unwrap();
    let request =
        format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n{header}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    let at = bytes
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap();
    let head = String::from_utf8(bytes[..at].to_vec()).unwrap();
    (head.to_lowercase(), bytes[at + 4..].to_vec())
}

/// Joins the chunks of a body.
fn unchunk(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    loop {
        let end = body.windows(2).position(|two| two == b"\r\n").unwrap();
        let length = std::str::from_utf8(&body[..end]).unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            return whole;
        }
        let begin = end + 2;
        whole.extend_from_slice(&body[begin..begin + length]);
        body = &body[begin + length + 2..];
    }
}

#[tokio::test]
async fn a_large_answer_is_compressed_for_a_caller_that_asks_and_only_then() {
    let world = World::start().await;
    let (head, plain) = ask_raw(&world, "/openapi.json", "").await;
    assert!(!head.contains("content-encoding"), "{head}");
    let (head, packed) = ask_raw(&world, "/openapi.json", "Accept-Encoding: gzip\r\n").await;
    assert!(head.contains("content-encoding: gzip"), "{head}");
    assert!(
        packed.len() * 4 < plain.len(),
        "{} of {}",
        packed.len(),
        plain.len()
    );
    let packed = unchunk(&packed);
    let mut text = Vec::new();
    GzDecoder::new(packed.as_slice())
        .read_to_end(&mut text)
        .unwrap();
    assert!(text == plain, "it is the same document");
    let (head, _) = ask_raw(&world, "/healthz", "Accept-Encoding: gzip\r\n").await;
    assert!(!head.contains("content-encoding"), "too small: {head}");
}

#[tokio::test]
async fn a_stream_is_never_compressed() {
    let world = World::start().await;
    let mut stream = UnixStream::connect(&world.socket).await.unwrap();
    let request = "GET /agents/main/events/stream?after_seq=0 HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains("event: agent_created") {
        let read = stream.read_buf(&mut seen).await.unwrap();
        assert!(read > 0, "{}", String::from_utf8_lossy(&seen));
    }
    let head = String::from_utf8_lossy(&seen).to_lowercase();
    assert!(!head.contains("content-encoding"), "{head}");
}
