//! Limits of the server's input, and the response at each limit.

use crate::host::Mood;
use crate::world::{SECRET, World, read_reply};
use holon_domain::limits::{
    BODY_ROOM_BYTES, CONNECTIONS, REQUEST_BODY_BYTES, REQUEST_HEAD_BYTES, REQUEST_READ_MS,
};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};

const PROMPT: &str = "/control/agents/main/prompt";

#[tokio::test]
async fn a_body_over_the_limit_is_refused_with_413_and_reaches_no_agent() {
    let world = World::start().await;
    let before = world.engine.commits().await;
    let body = format!("{{\"text\":\"{}\"}}", "x".repeat(REQUEST_BODY_BYTES));
    let reply = world.ask("POST", PROMPT, &body).await;
    assert_eq!(reply.refusal(), (413, "too_large".into()));
    assert_eq!(world.engine.commits().await, before);
}

#[tokio::test]
async fn a_body_that_could_not_be_read_again_is_refused_and_a_flatter_one_is_taken() {
    let world = World::start().await;
    let before = world.engine.commits().await;
    let nested = |depth: usize| {
        let value = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        format!("{{\"json\":{value}}}")
    };
    for depth in [64, 100, 126, 5_000] {
        let reply = world
            .ask("POST", "/agents/main/enqueue", &nested(depth))
            .await;
        assert_eq!(reply.refusal(), (400, "invalid_json".into()), "{depth}");
    }
    assert_eq!(world.engine.commits().await, before);
    let reply = world.ask("POST", "/agents/main/enqueue", &nested(63)).await;
    assert_eq!(reply.status, 200, "{reply:?}");
}

#[tokio::test]
async fn a_body_that_hides_its_size_is_refused_as_well() {
    let world = World::start().await;
    let chunk = format!("{:x}\r\n{}\r\n", 1 << 20, "x".repeat(1 << 20));
    let mut request = format!(
        "POST {PROMPT} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    );
    for _ in 0..=REQUEST_BODY_BYTES >> 20 {
        request.push_str(&chunk);
    }
    request.push_str("0\r\n\r\n");
    assert_eq!(
        world.over_unix(request).await.refusal(),
        (413, "too_large".into())
    );
}

#[tokio::test]
async fn a_body_of_absurd_size_is_refused_before_it_is_sent() {
    let world = World::start().await;
    let request = format!(
        "POST {PROMPT} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000000000\r\nConnection: close\r\n\r\n"
    );
    assert_eq!(
        world.over_unix(request).await.refusal(),
        (413, "too_large".into())
    );
}

#[tokio::test]
async fn peers_that_stop_in_large_bodies_take_no_more_than_the_room_of_all() {
    let world = World::start().await;
    let large = format!("{{\"text\":\"{}\"}}", "x".repeat(900_000));
    let head = format!(
        "POST {PROMPT} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {REQUEST_BODY_BYTES}\r\n\r\n"
    );
    let part = vec![b' '; REQUEST_BODY_BYTES - 1];
    let mut stalled = Vec::new();
    for _ in 0..BODY_ROOM_BYTES / REQUEST_BODY_BYTES {
        let mut stream = UnixStream::connect(&world.socket).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&part).await.unwrap();
        stalled.push(stream);
    }
    // The server may still be reading the last of them.
    let refused = loop {
        let reply = world.ask("POST", PROMPT, &large).await;
        if reply.status != 200 {
            break reply;
        }
    };
    assert_eq!(refused.refusal(), (503, "overloaded".into()));
    let small = world.ask("POST", PROMPT, "{\"text\":\"hi\"}").await;
    assert_eq!(small.status, 200, "{small:?}");
    drop(stalled);
    while world.ask("POST", PROMPT, &large).await.status != 200 {}
}

#[tokio::test]
async fn bodies_that_are_not_json_are_refused_with_the_place() {
    let world = World::start().await;
    let before = world.engine.commits().await;
    let deep = "[".repeat(100_000);
    for (body, code) in [
        ("{\"text\": \"x\",\n  oops}", "invalid_json"),
        ("{\"text\": \"x\"", "invalid_json"),
        (deep.as_str(), "invalid_request"),
        ("{\"text\": 7}", "invalid_request"),
        ("{\"text\": \"x\", \"nonsense\": 1}", "invalid_request"),
        ("[]", "invalid_request"),
    ] {
        let reply = world.ask("POST", PROMPT, body).await;
        assert_eq!(reply.refusal(), (400, code.into()), "{reply:?}");
        assert!(
            reply.json()["line"].is_u64() && reply.json()["column"].is_u64(),
            "{reply:?}"
        );
    }
    let nested = format!("{{\"json\":{deep}");
    assert_eq!(
        world.ask("POST", "/enqueue", &nested).await.refusal(),
        (400, "invalid_json".into())
    );
    assert_eq!(world.engine.commits().await, before);
}

#[tokio::test]
async fn bytes_that_are_not_text_are_refused() {
    let world = World::start().await;
    let mut request = format!(
        "POST {PROMPT} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 13\r\nConnection: close\r\n\r\n"
    )
    .into_bytes();
    request.extend_from_slice(b"{\"text\":\"\xff\xfe\"}");
    assert_eq!(world.over_unix(request).await.refusal().0, 400);
}

#[tokio::test]
async fn a_missing_body_is_named() {
    let world = World::start().await;
    assert_eq!(
        world.ask("POST", PROMPT, "").await.refusal(),
        (400, "missing_body".into())
    );
}

#[tokio::test]
async fn a_head_over_the_limit_is_refused() {
    let world = World::start().await;
    let padding = "x".repeat(REQUEST_HEAD_BYTES);
    let large = format!("GET / HTTP/1.1\r\nHost: x\r\nX-Padding: {padding}\r\n\r\n");
    let long = format!("GET /agents?x={padding} HTTP/1.1\r\nHost: x\r\n\r\n");
    for head in [large, long] {
        let told = world.over_unix(head).await.refusal();
        assert_eq!(told, (431, "request_head_too_large".into()));
    }
    let endless = format!("GET /agents?x={padding}{padding} HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(world.over_unix(endless).await.status, 431);
    let many = "X-A: b\r\n".repeat(1_000);
    let many = format!("GET / HTTP/1.1\r\nHost: x\r\n{many}\r\n");
    assert_eq!(world.over_unix(many).await.status, 431);
}

#[tokio::test(start_paused = true)]
async fn a_head_that_never_ends_is_given_up() {
    let world = World::start().await;
    let mut stream = UnixStream::connect(&world.socket).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost:").await.unwrap();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).await.unwrap();
    assert_eq!(String::from_utf8(rest).unwrap(), "");
}

#[tokio::test(start_paused = true)]
async fn a_body_that_never_ends_is_answered_with_408() {
    let world = World::start().await;
    let before = world.engine.commits().await;
    let mut stream = UnixStream::connect(&world.socket).await.unwrap();
    let head = format!(
        "POST {PROMPT} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\nConnection: close\r\n\r\n{{"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let reply = read_reply(&mut stream).await;
    assert_eq!(reply.refusal(), (408, "body_timeout".into()));
    assert_eq!(world.engine.commits().await, before);
}

#[tokio::test]
async fn a_fault_in_one_request_is_one_bad_answer() {
    let world = World::start().await;
    world.host.set(Mood::Panics);
    let reply = world.ask("GET", "/models", "").await;
    assert_eq!(reply.refusal(), (500, "internal".into()));
    assert_eq!(world.ask("GET", "/healthz", "").await.status, 200);
}

#[tokio::test]
async fn what_is_not_there_is_said_in_json() {
    let world = World::start().await;
    assert_eq!(
        world.ask("GET", "/nowhere", "").await.refusal(),
        (404, "route_not_found".into())
    );
    let wrong = world.ask("DELETE", "/agents/list", "").await;
    assert_eq!(wrong.refusal(), (405, "method_not_allowed".into()));
    assert_eq!(wrong.header("allow"), Some("GET,HEAD"));
    for id in ["..", "a%2fb", "%ff", "tmp%20x"] {
        let reply = world.ask("GET", &format!("/agents/{id}/status"), "").await;
        assert_eq!(reply.refusal(), (400, "invalid_agent_id".into()), "{id}");
    }
}

#[tokio::test]
async fn a_body_has_one_length_and_one_encoding() {
    let world = World::start().await;
    let head =
        "POST /control/agents/main/prompt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    // The chunks alone say where the body ends, so that no second request can hide behind the other length.
    let both = format!(
        "{head}Content-Type: application/json\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    );
    let reply = world.over_unix(both).await;
    assert_eq!(reply.refusal(), (400, "missing_body".into()));
    let body = r#"{"text":"a"}"#;
    let utf16 = format!(
        "{head}Content-Type: application/json; charset=utf-16\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let reply = world.over_unix(utf16).await;
    assert_eq!(reply.refusal(), (415, "unsupported_media_type".into()));
}

#[tokio::test]
async fn refusals_about_tasks_say_what_is_wrong() {
    let world = World::start().await;
    let none = world.ask("GET", "/agents/main/tasks/nope/output", "").await;
    assert_eq!(none.refusal(), (404, "task_not_found".into()));
    assert_eq!(none.json()["error"], "the agent has no such task");
    let lines = world
        .ask("GET", "/agents/main/tasks/nope/output?tail_lines=0", "")
        .await;
    assert_eq!(lines.refusal(), (400, "invalid_limit".into()));
    assert_eq!(
        lines.json()["error"],
        "tail_lines is 0; give a number from 1 to 4294967295"
    );
}

/// Returns more connections than the socket serves at once, whatever this process may open.
fn more_than_slots() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let files = limit.map_or(usize::MAX, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    });
    (files.saturating_sub(256) / 3).clamp(16, CONNECTIONS) + 20
}

#[tokio::test]
async fn connections_that_send_half_a_head_keep_no_client_out() {
    let world = World::start().await;
    let mut silent = Vec::new();
    for _ in 0..more_than_slots() {
        let mut stream = UnixStream::connect(&world.socket).await.unwrap();
        stream
            .write_all(b"GET /healthz HTTP/1.1\r\nHost: l")
            .await
            .unwrap();
        silent.push(stream);
    }
    let patience = Duration::from_millis(REQUEST_READ_MS / 2);
    let reply = tokio::time::timeout(patience, world.ask("GET", "/agents/list", "")).await;
    assert_eq!(reply.expect("there is room").status, 200);
    let newest = silent.last_mut().unwrap();
    newest
        .write_all(b"ocalhost\r\nConnection: close\r\n\r\n")
        .await
        .unwrap();
    assert_eq!(
        read_reply(newest).await.status,
        200,
        "the newest keep theirs"
    );
}

/// Lets this process open enough files for a flood. Returns more connections than the TCP listener serves at once.
fn raise_to_more_than_tcp_slots() -> usize {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    let wanted = u64::try_from(4 * CONNECTIONS).unwrap();
    limit.current = Some(limit.maximum.map_or(wanted, |most| most.min(wanted)));
    setrlimit(Resource::Nofile, limit).unwrap();
    CONNECTIONS + 20
}

#[tokio::test]
async fn connections_without_a_token_keep_no_client_out_although_they_send_requests() {
    let flood = raise_to_more_than_tcp_slots();
    let world = World::start().await;
    let patience = Duration::from_millis(REQUEST_READ_MS / 2);
    let mut anonymous = Vec::new();
    for _ in 0..flood {
        let mut stream = TcpStream::connect(world.address).await.unwrap();
        stream
            .write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .await
            .unwrap();
        let mut start = [0; 12];
        let read = tokio::time::timeout(patience, stream.read_exact(&mut start));
        read.await.expect("there is room").unwrap();
        assert_eq!(&start, b"HTTP/1.1 200");
        anonymous.push(stream);
    }
    let request = format!(
        "GET /agents/list HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {SECRET}\r\nConnection: close\r\n\r\n"
    );
    let reply = tokio::time::timeout(patience, world.over_tcp(request)).await;
    assert_eq!(reply.expect("there is room").status, 200);
}
