//! Streams: every event once and in order, from any cursor, through every interruption.

use crate::engine::agent;
use crate::world::World;
use holon_client::{Error as ClientError, EventStream};
use holon_domain::limits::STREAM_LAG;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

async fn take(stream: &mut EventStream, count: usize) -> Vec<u64> {
    let mut seqs = Vec::new();
    for _ in 0..count {
        seqs.push(stream.next().await.unwrap().event_seq);
    }
    seqs
}

/// A stream as its bytes, read until it holds `until` or ends.
struct Raw(UnixStream, String);

impl Raw {
    async fn open(world: &World, target: &str, headers: &str) -> Self {
        let mut stream = UnixStream::connect(&world.socket).await.unwrap();
        let request = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        Self(stream, String::new())
    }

    async fn read_until(&mut self, until: &str) -> &str {
        let mut buffer = vec![0; 64 << 10];
        while !self.1.contains(until) {
            let count = self.0.read(&mut buffer).await.unwrap();
            if count == 0 {
                break;
            }
            self.1
                .push_str(std::str::from_utf8(&buffer[..count]).unwrap());
        }
        &self.1
    }
}

const STREAM: &str = "/agents/main/events/stream";

#[tokio::test]
async fn a_stream_replays_after_its_cursor_and_goes_on_live() {
    let world = World::start().await;
    world.engine.commit(300);
    let mut stream = world.local().events_stream(agent("main"), Some(10));
    assert_eq!(take(&mut stream, 290).await, (11..=300).collect::<Vec<_>>());
    world.engine.commit(5);
    assert_eq!(take(&mut stream, 5).await, (301..=305).collect::<Vec<_>>());
    assert_eq!(stream.cursor(), Some(305));
}

#[tokio::test]
async fn a_stream_without_a_cursor_begins_with_what_comes_next() {
    let world = World::start().await;
    world.engine.commit(7);
    let mut stream = world.remote().events_stream(agent("main"), None);
    stream.open().await.unwrap();
    assert_eq!(stream.cursor(), Some(7));
    world.engine.commit(2);
    assert_eq!(take(&mut stream, 2).await, [8, 9]);
}

#[tokio::test]
async fn frames_carry_position_kind_and_envelope() {
    let world = World::start().await;
    world.engine.commit(1);
    let mut raw = Raw::open(&world, &format!("{STREAM}?after_seq=0"), "").await;
    let text = raw.read_until("\"payload\"").await;
    assert!(
        text.contains("content-type: text/event-stream\r\n"),
        "{text}"
    );
    assert!(text.contains("holon-epoch: epoch-1\r\n"), "{text}");
    assert!(text.contains("retry: 1000\nid: 0\n\n"), "{text}");
    assert!(
        text.contains("id: 1\nevent: max_output_tokens_recovery\ndata: {\"id\":\"evt_main_1\""),
        "{text}"
    );
}

#[tokio::test]
async fn the_header_of_a_returning_reader_counts_unless_the_query_says_otherwise() {
    let world = World::start().await;
    world.engine.commit(9);
    let mut by_header = Raw::open(&world, STREAM, "Last-Event-ID: 7\r\n").await;
    let text = by_header.read_until("evt_main_9").await;
    assert!(
        text.contains("evt_main_8") && !text.contains("evt_main_7"),
        "{text}"
    );
    let mut by_query = Raw::open(
        &world,
        &format!("{STREAM}?after_seq=8"),
        "Last-Event-ID: 2\r\n",
    )
    .await;
    let text = by_query.read_until("evt_main_9").await;
    assert!(!text.contains("evt_main_8"), "{text}");
    let nonsense = "GET /agents/main/events/stream HTTP/1.1\r\nHost: x\r\nLast-Event-ID: x\r\nConnection: close\r\n\r\n";
    assert_eq!(
        world.over_unix(nonsense).await.refusal(),
        (400, "invalid_cursor".into())
    );
}

#[tokio::test]
async fn a_cursor_that_cannot_be_continued_is_refused_before_the_stream_begins() {
    let world = World::start().await;
    world.engine.commit(9);
    world.engine.forget(5);
    let old = world.ask("GET", &format!("{STREAM}?after_seq=2"), "").await;
    assert_eq!(old.refusal(), (410, "cursor_too_old".into()));
    assert_eq!(
        (
            old.json()["oldest_seq"].as_u64(),
            old.json()["newest_seq"].as_u64()
        ),
        (Some(6), Some(9))
    );
    let ahead = world
        .ask("GET", &format!("{STREAM}?after_seq=10"), "")
        .await;
    assert_eq!(ahead.refusal(), (410, "cursor_ahead".into()));
    let far = world
        .ask("GET", &format!("{STREAM}?after_seq={}", u64::MAX), "")
        .await;
    assert_eq!(far.refusal(), (410, "cursor_ahead".into()));
    let mut stream = world.local().events_stream(agent("main"), Some(2));
    assert!(matches!(
        stream.next().await,
        Err(ClientError::Api { status: 410, .. })
    ));
}

#[tokio::test]
async fn news_that_was_lost_costs_no_event() {
    let world = World::start().await;
    let mut stream = world.local().events_stream(agent("main"), None);
    stream.open().await.unwrap();
    world.engine.commit_in_silence(3);
    for _ in 0..20 {
        world.engine.announce("other");
    }
    assert_eq!(take(&mut stream, 3).await, [1, 2, 3]);
}

#[tokio::test]
async fn news_of_another_agent_reads_no_page() {
    let world = World::start().await;
    let mut stream = world.local().events_stream(agent("main"), Some(0));
    stream.open().await.unwrap();
    world.engine.commit(1);
    assert_eq!(take(&mut stream, 1).await, [1]);
    let before = world.engine.asked().len();
    world.engine.announce("other");
    world.engine.commit(1);
    assert_eq!(take(&mut stream, 1).await, [2]);
    assert_eq!(world.engine.asked().len(), before + 1);
}

#[tokio::test]
async fn a_reader_that_fell_behind_is_told_so_and_loses_nothing() {
    let world = World::start().await;
    let mut raw = Raw::open(&world, STREAM, "").await;
    raw.read_until("id: 0\n\n").await;
    let mut stream = world.local().events_stream(agent("main"), None);
    stream.open().await.unwrap();
    let burst = STREAM_LAG as u64 + 1;
    world.engine.commit(burst);
    let text = raw.read_until("}\n\n").await.to_owned();
    assert!(
        text.contains(&format!(
            "event: gap\ndata: {{\"after_seq\":0,\"newest_seq\":{burst}}}"
        )),
        "{text}"
    );
    assert_eq!(
        take(&mut stream, STREAM_LAG + 1).await,
        (1..=burst).collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn a_reader_who_leaves_takes_its_stream_along() {
    let world = World::start().await;
    let mut stream = world.local().events_stream(agent("main"), None);
    stream.open().await.unwrap();
    assert_eq!(world.engine.listeners(), 1);
    drop(stream);
    while world.engine.listeners() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn an_engine_that_fails_ends_the_stream_with_its_reason() {
    let world = World::start().await;
    let mut raw = Raw::open(&world, STREAM, "").await;
    raw.read_until("id: 0\n\n").await;
    world.engine.fail(holon_engine::Error::Overloaded);
    world.engine.commit(1);
    let text = raw.read_until("}\n\n").await;
    assert!(text.contains("event: error\ndata: {\"ok\":false"), "{text}");
    assert!(text.contains("\"code\":\"overloaded\""), "{text}");
}

#[tokio::test(start_paused = true)]
async fn an_idle_stream_shows_that_it_lives() {
    let world = World::start().await;
    let mut raw = Raw::open(&world, STREAM, "").await;
    let text = raw.read_until(": heartbeat\n\n").await;
    assert!(text.contains("id: 0\n\n"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_takes_nothing_loses_its_connection() {
    let world = World::start().await;
    world.engine.commit(20_000);
    let mut raw = Raw::open(&world, &format!("{STREAM}?after_seq=0"), "").await;
    while world.engine.listeners() == 0 {
        tokio::task::yield_now().await;
    }
    while world.engine.listeners() > 0 {
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
    }
    let text = raw.read_until("evt_main_20000\"").await;
    assert!(
        text.contains("evt_main_1\"") && !text.contains("evt_main_20000\""),
        "it was cut off"
    );
}

#[tokio::test]
async fn streams_end_and_the_server_returns_when_the_host_goes_down() {
    let world = World::start().await;
    let mut raw = Raw::open(&world, STREAM, "").await;
    raw.read_until("id: 0\n\n").await;
    world.shutdown.cancel();
    let text = raw.read_until("never").await;
    assert!(
        text.ends_with("0\r\n\r\n"),
        "the body is ended, not cut: {text:?}"
    );
    assert!(world.serving.await.unwrap().is_ok());
}
