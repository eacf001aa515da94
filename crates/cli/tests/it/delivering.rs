//! Briefs and notifications reach endpoints, topics and programs, and the host says how it goes.

use crate::support::{hello, until, world};
use holon_testkit::World;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// An endpoint on loopback. It answers with the next response, and with the last one from then on.
struct Endpoint {
    url: String,
    requests: Receiver<String>,
}

impl Endpoint {
    fn start(responses: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let responses: Vec<String> = responses.iter().map(|it| (*it).to_owned()).collect();
        let (sender, requests) = channel();
        std::thread::spawn(move || answer_all(&listener, &responses, &sender));
        Self { url, requests }
    }

    fn next(&self) -> String {
        let request = self.requests.recv_timeout(Duration::from_secs(60));
        request.expect("a delivery")
    }
}

fn answer_all(listener: &TcpListener, responses: &[String], sender: &Sender<String>) {
    for count in 0.. {
        let Ok((mut stream, _)) = listener.accept() else {
            return;
        };
        let request = read_request(&mut stream);
        let at = std::cmp::min(count, responses.len() - 1);
        stream.write_all(responses[at].as_bytes()).ok();
        if sender.send(request).is_err() {
            return;
        }
    }
}

/// An endpoint on loopback that accepts connections and reads requests, and answers none before it is repaired.
struct HangingEndpoint {
    url: String,
    requests: Receiver<String>,
    is_repaired: Arc<AtomicBool>,
    /// Connections that wait for an answer.
    held: Arc<Mutex<Vec<TcpStream>>>,
}

impl HangingEndpoint {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let (sender, requests) = channel();
        let (is_repaired, held) = (
            Arc::<AtomicBool>::default(),
            Arc::<Mutex<Vec<_>>>::default(),
        );
        let (repaired, kept) = (Arc::clone(&is_repaired), Arc::clone(&held));
        std::thread::spawn(move || {
            while let Ok((mut stream, _)) = listener.accept() {
                let request = read_request(&mut stream);
                if repaired.load(Ordering::SeqCst) {
                    stream.write_all(ACCEPTED.as_bytes()).ok();
                } else {
                    kept.lock().unwrap().push(stream);
                }
                if sender.send(request).is_err() {
                    return;
                }
            }
        });
        Self {
            url,
            requests,
            is_repaired,
            held,
        }
    }

    /// Returns the id of the next delivery.
    fn next_id(&self) -> String {
        let request = self.requests.recv_timeout(Duration::from_secs(60));
        let body = body_of(&request.expect("a delivery"));
        body["delivery_intent_id"].as_str().unwrap().to_owned()
    }

    /// Answers from now on, and hangs up where it did not answer.
    fn repair(&self) {
        self.is_repaired.store(true, Ordering::SeqCst);
        self.held.lock().unwrap().clear();
    }
}

fn read_request(stream: &mut TcpStream) -> String {
    let (mut bytes, mut buffer) = (Vec::new(), [0_u8; 4096]);
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = header_of(head, "content-length").and_then(|it| it.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return text;
            }
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return text,
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
        }
    }
}

fn header_of<'a>(request: &'a str, name: &str) -> Option<&'a str> {
    let lines = request.lines().filter_map(|line| line.split_once(": "));
    let mut found = lines.filter(|(known, _)| known.eq_ignore_ascii_case(name));
    found.next().map(|(_, value)| value)
}

fn body_of(request: &str) -> Value {
    let (_, body) = request.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap()
}

const ACCEPTED: &str = "HTTP/1.1 202 Accepted\r\ncontent-length: 32\r\nconnection: close\r\n\r\n{\"transport_delivery_id\": \"t-1\"}\n";
const BROKEN: &str = "HTTP/1.1 500 Oops\r\ncontent-length: 4\r\nconnection: close\r\n\r\noops";

fn notifier(world: &World) -> String {
    let call = json!({"tool": "NotifyOperator", "input": {"message": "the disk fills"}});
    world.model(
        "notifier",
        &json!([{"calls": [call]}, {"text": "I told you."}]),
    )
}

fn state_of(world: &World) -> Value {
    let listed = world.run(&["delivery", "list", "--json"]).json();
    listed["targets"][0].clone()
}

#[test]
fn a_notification_reaches_an_endpoint_signed_and_with_its_id_as_key() {
    let world = world();
    let endpoint = Endpoint::start(&[ACCEPTED]);
    let _served = world.serve(&["--model", &notifier(&world)]);
    let add = [
        "delivery",
        "add",
        "ops",
        "--http",
        &endpoint.url,
        "--auth",
        "hmac",
        "--secret-stdin",
    ];
    let added = world.run_with(&add, b"canary-key-4711\n");
    assert_eq!(added.code, Some(0), "{added:?}");
    let ran = world.run(&["run", "look", "--agent", "main"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let request = endpoint.next();
    let body = body_of(&request);
    assert_eq!(body["text"], "the disk fills");
    assert_eq!(body["kind"], "operator_output");
    assert_eq!(body["target_agent_id"], "main");
    let id = body["delivery_intent_id"].as_str().unwrap();
    assert_eq!(header_of(&request, "idempotency-key"), Some(id));
    assert_eq!(header_of(&request, "webhook-id"), Some(id));
    let signature = header_of(&request, "webhook-signature").unwrap();
    assert!(signature.starts_with("v1,"), "{signature}");
    until("the delivery is recorded", || {
        state_of(&world)["pending"] == 0
    });
    assert_eq!(state_of(&world)["state"], "ok");
    let tail = world.run(&["tail"]);
    assert!(tail.answer().contains("the disk fills"), "{tail:?}");
    let store = std::fs::read(world.home().join("state/holon.sqlite3")).unwrap();
    let wal = std::fs::read(world.home().join("state/holon.sqlite3-wal")).unwrap_or_default();
    let needle = b"canary-key-4711";
    let holds = |bytes: &[u8]| bytes.windows(needle.len()).any(|part| part == needle);
    assert!(
        !holds(&store) && !holds(&wal),
        "the secret is in the credential store only"
    );
}

#[test]
fn an_endpoint_that_fails_is_shown_as_failing_and_gets_the_same_delivery_again() {
    let world = world();
    let endpoint = Endpoint::start(&[BROKEN, ACCEPTED]);
    let served = world.serve(&["--model", &hello(&world)]);
    let add = [
        "delivery",
        "add",
        "ops",
        "--http",
        &endpoint.url,
        "--turn-results",
    ];
    assert_eq!(world.run(&add).code, Some(0));
    assert_eq!(world.run(&["run", "hi", "--agent", "main"]).code, Some(0));
    let first = body_of(&endpoint.next());
    until("the target fails", || {
        state_of(&world)["state"] == "retrying"
    });
    let listed = world.run(&["delivery", "list"]);
    assert!(listed.answer().contains("1 pending"), "{listed:?}");
    assert!(
        listed
            .answer()
            .contains("last error: the endpoint answered 500 oops"),
        "{listed:?}"
    );
    drop(served);
    let _served = world.serve(&["--model", &hello(&world)]);
    let second = body_of(&endpoint.next());
    assert_eq!(first["delivery_intent_id"], second["delivery_intent_id"]);
    until("the target is well again", || {
        let state = state_of(&world);
        state["state"] == "ok" && state["pending"] == 0
    });
    let briefs = world.run(&["tail"]);
    assert!(!briefs.answer().contains("given up"), "{briefs:?}");
}

#[test]
fn an_endpoint_that_never_answers_has_one_state_and_loses_nothing() {
    let world = world();
    let endpoint = HangingEndpoint::start();
    let served = world.serve(&["--model", &hello(&world)]);
    let add = [
        "delivery",
        "add",
        "ops",
        "--http",
        &endpoint.url,
        "--turn-results",
    ];
    assert_eq!(world.run(&add).code, Some(0));
    assert_eq!(world.run(&["run", "hi", "--agent", "main"]).code, Some(0));
    let id = endpoint.next_id();
    let says = |parts: &[&str]| {
        let listed = world.run(&["delivery", "list"]);
        for part in parts {
            assert!(listed.answer().contains(part), "{part}: {listed:?}");
        }
    };
    says(&["sending since ", ", 1 pending"]);
    let state = state_of(&world);
    assert_eq!(
        (&state["state"], &state["pending"]),
        (&json!("ok"), &json!(1))
    );
    // The host is killed while it waits for the answer, and sends the same delivery again.
    served.crash();
    let _served = world.serve(&["--model", &hello(&world)]);
    assert_eq!(endpoint.next_id(), id);
    says(&["sending since ", ", 1 pending"]);
    // Another delivery of the agent waits behind the first.
    assert_eq!(world.run(&["run", "hi", "--agent", "main"]).code, Some(0));
    until("both wait", || state_of(&world)["pending"] == 2);

    endpoint.repair();
    until("the attempt has failed", || {
        state_of(&world)["state"] == "retrying" || state_of(&world)["pending"] != 2
    });
    assert_eq!(world.run(&["delivery", "retry", "ops"]).code, Some(0));
    assert_eq!(endpoint.next_id(), id, "the first one is sent again");
    let second = endpoint.next_id();
    assert_ne!(second, id);
    until("both are delivered", || {
        let state = state_of(&world);
        state["state"] == "ok" && state["pending"] == 0 && state["delivered"] == true
    });
    says(&["  ok"]);
    assert!(endpoint.requests.try_recv().is_err(), "none is sent twice");
    let briefs = world.run(&["tail"]);
    assert!(!briefs.answer().contains("given up"), "{briefs:?}");
}

#[test]
fn the_removal_of_an_agent_says_how_many_deliveries_are_given_up() {
    let world = world();
    let endpoint = Endpoint::start(&[BROKEN]);
    let _served = world.serve(&["--model", &hello(&world)]);
    let add = [
        "delivery",
        "add",
        "ops",
        "--http",
        &endpoint.url,
        "--turn-results",
    ];
    assert_eq!(world.run(&add).code, Some(0));
    let delete = |agent: &str, rest: &[&str]| {
        let args = ["agent", "delete", agent];
        world.run(&[&args[..], rest].concat())
    };
    for agent in ["scout", "other", "quiet"] {
        assert_eq!(world.run(&["agent", "create", agent]).code, Some(0));
    }
    for agent in ["scout", "scout", "other"] {
        let ran = world.run(&["run", "hi", "--agent", agent]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    until("all of them wait", || state_of(&world)["pending"] == 3);
    let refused = delete("scout", &[]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.stderr.contains("gives up 2 deliveries that wait"),
        "{refused:?}"
    );
    let gone = delete("scout", &["--yes"]);
    assert!(
        gone.answer()
            .contains("2 deliveries that waited are given up"),
        "{gone:?}"
    );
    let gone = delete("other", &["--yes", "--json"]).json();
    assert_eq!(gone["deliveries_given_up"], 1, "{gone}");
    assert_eq!(gone["delete_requested"], true, "{gone}");
    let refused = delete("quiet", &[]);
    assert!(!refused.stderr.contains("gives up"), "{refused:?}");
    let gone = delete("quiet", &["--yes"]);
    assert!(!gone.answer().contains("given up"), "{gone:?}");
    until("nothing waits any more", || {
        state_of(&world)["pending"] == 0
    });
}

#[test]
fn a_redirect_to_loopback_and_a_hanging_up_are_failures_that_a_test_shows() {
    let world = world();
    let inside = Endpoint::start(&[ACCEPTED]);
    let redirect = format!(
        "HTTP/1.1 307 Elsewhere\r\nlocation: {}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        inside.url
    );
    let outside = Endpoint::start(&[&redirect]);
    let silent = Endpoint::start(&[""]);
    let _served = world.serve(&["--model", &hello(&world)]);
    for (name, endpoint, words) in [
        ("redirecting", &outside, "not a public address"),
        ("dropping", &silent, "not accepted"),
    ] {
        let added = world.run(&["delivery", "add", name, "--http", &endpoint.url]);
        assert_eq!(added.code, Some(0), "{added:?}");
        let tried = world.run(&["delivery", "test", name]);
        assert_eq!(tried.code, Some(1), "{tried:?}");
        assert!(tried.stdout.contains("POST "), "{tried:?}");
        assert!(tried.stdout.contains(words), "{tried:?}");
    }
    assert!(inside.requests.try_recv().is_err(), "nothing went inside");
}

#[test]
fn a_program_and_a_topic_are_tried_and_removed() {
    let world = world();
    let topic = Endpoint::start(&[ACCEPTED]);
    let _served = world.serve(&["--model", &hello(&world)]);
    let add = [
        "delivery",
        "add",
        "desk",
        "--command",
        "sh",
        "--",
        "-c",
        "cat; echo \" for $HOLON_DELIVERY_AGENT\"",
    ];
    assert_eq!(world.run(&add).code, Some(0));
    let tried = world.run(&["delivery", "test", "desk"]);
    assert_eq!(tried.code, Some(0), "{tried:?}");
    assert!(tried.stdout.contains("for main"), "{tried:?}");
    assert!(tried.stdout.contains("accepted"), "{tried:?}");
    assert_eq!(
        world
            .run(&["delivery", "add", "phone", "--ntfy", &topic.url])
            .code,
        Some(0)
    );
    assert_eq!(world.run(&["delivery", "test", "phone"]).code, Some(0));
    let request = topic.next();
    assert_eq!(header_of(&request, "priority"), Some("high"));
    assert_eq!(world.run(&["delivery", "remove", "desk"]).code, Some(0));
    let gone = world.run(&["delivery", "test", "desk"]);
    assert!(gone.stderr.contains("there is no such target"), "{gone:?}");
    let listed = world.run(&["delivery", "list"]);
    assert!(listed.answer().starts_with("phone  ntfy  "), "{listed:?}");
    let none = world.run(&["delivery", "add", "x"]);
    assert_eq!(none.code, Some(2), "{none:?}");
}

#[test]
fn a_remote_operator_asks_and_the_answer_goes_back_by_the_route() {
    let world = world();
    let callback = Endpoint::start(&[ACCEPTED]);
    let _served = world.serve(&["--model", &hello(&world)]);
    let add = [
        "binding",
        "add",
        "main",
        "--transport",
        "bridge",
        "--actor",
        "jo",
        "--route",
        "room-1",
        "--reply-route",
        "room-7",
        "--callback",
        &callback.url,
        "--secret-stdin",
        "--json",
    ];
    let made = world.run_with(&add, b"tok-4712\n");
    assert_eq!(made.code, Some(0), "{made:?}");
    let binding = made.json()["binding"]["binding_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let body = json!({"text": "hi", "actor_id": "jo", "binding_id": binding, "reply_route_id": "room-7", "correlation_id": "c-1"});
    let admitted = post(&world, "/control/agents/main/operator-ingress", &body);
    assert!(admitted.contains("200 OK"), "{admitted}");
    let request = callback.next();
    assert_eq!(
        header_of(&request, "authorization"),
        Some("Bearer tok-4712")
    );
    let body = body_of(&request);
    assert_eq!(body["route_id"], "room-7");
    assert_eq!(body["binding_id"], binding);
    assert_eq!(body["correlation_id"], "c-1");
    assert_eq!(body["trigger"], "turn_result");
    let gone = world.run(&["binding", "revoke", "main", &binding]);
    assert_eq!(gone.code, Some(0), "{gone:?}");
    let listed = world.run(&["binding", "list", "main"]);
    assert!(
        listed.answer().contains("revoked  jo by bridge"),
        "{listed:?}"
    );
}

/// Posts JSON over the host's socket.
fn post(world: &World, path: &str, body: &Value) -> String {
    let socket = world.home().join("run/holon.sock");
    let mut stream = std::os::unix::net::UnixStream::connect(socket).unwrap();
    let body = body.to_string();
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
