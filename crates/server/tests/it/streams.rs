//! Streams deliver every event once and in order, from any cursor, through every interruption.

use crate::world::World;
use holon_api::RunRequest;
use holon_client::{Error as ClientError, EventStream, RunItem, StreamItem};
use holon_domain::limits::STREAM_LAG;
use holon_testkit::engine::{TestEngine, agent};
use tokio::io::Interest;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

async fn take(stream: &mut EventStream, count: usize) -> Vec<u64> {
    let mut seqs = Vec::new();
    for _ in 0..count {
        seqs.push(stream.next().await.unwrap().event_seq);
    }
    seqs
}

/// A raw stream and the text read from it so far.
struct RawStream(UnixStream, String);

impl RawStream {
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

/// Lists the sequence numbers `first..=last`.
fn seqs(first: u64, last: u64) -> Vec<u64> {
    (first..=last).collect()
}

#[tokio::test]
async fn a_stream_replays_after_its_cursor_and_goes_on_live() {
    let world = World::start().await;
    let base = world.engine.newest("main").await;
    world.engine.record_events("main", 300).await;
    let mut stream = world.local().events_stream(agent("main"), Some(base + 10));
    assert_eq!(take(&mut stream, 290).await, seqs(base + 11, base + 300));
    world.engine.record_events("main", 5).await;
    assert_eq!(take(&mut stream, 5).await, seqs(base + 301, base + 305));
    assert_eq!(stream.cursor(), Some(base + 305));
}

#[tokio::test]
async fn a_stream_without_a_cursor_begins_with_what_comes_next() {
    let world = World::start().await;
    let newest = world.engine.newest("main").await;
    let mut stream = world.remote().events_stream(agent("main"), None);
    stream.open().await.unwrap();
    assert_eq!(stream.cursor(), Some(newest));
    world.engine.record_events("dev", 3).await;
    world.engine.record_events("main", 2).await;
    assert_eq!(take(&mut stream, 2).await, [newest + 1, newest + 2]);
}

#[tokio::test]
async fn a_burst_reaches_a_reader_whole() {
    let world = World::start().await;
    let newest = world.engine.newest("main").await;
    let mut stream = world.local().events_stream(agent("main"), None);
    stream.open().await.unwrap();
    let burst = 2 * STREAM_LAG;
    world.engine.record_events("main", burst as u64).await;
    assert_eq!(
        take(&mut stream, burst).await,
        seqs(newest + 1, newest + burst as u64)
    );
}

#[tokio::test]
async fn frames_carry_position_kind_and_envelope() {
    let world = World::start().await;
    let base = world.engine.newest("main").await;
    world.engine.record_events("main", 1).await;
    let mut raw = RawStream::open(&world, &format!("{STREAM}?after_seq={base}"), "").await;
    let text = raw.read_until("\"payload\"").await;
    assert!(
        text.contains("content-type: text/event-stream\r\n"),
        "{text}"
    );
    let epoch = world.engine.reads().epoch().to_owned();
    assert!(
        text.contains(&format!("holon-epoch: {epoch}\r\n")),
        "{text}"
    );
    assert!(
        text.contains(&format!("retry: 1000\nid: {base}\n\n")),
        "{text}"
    );
    let next = base + 1;
    assert!(
        text.contains(&format!(
            "id: {next}\nevent: agent_model_override_set\ndata: {{\"id\":\"evt_main_{next}\""
        )),
        "{text}"
    );
}

#[tokio::test]
async fn the_header_of_a_returning_reader_counts_before_its_query() {
    let world = World::start().await;
    let base = world.engine.newest("main").await;
    world.engine.record_events("main", 9).await;
    let event = |number: u64| format!("\"evt_main_{}\"", base + number);
    let header = |number: u64| format!("Last-Event-ID: {}\r\n", base + number);
    let mut by_header = RawStream::open(&world, STREAM, &header(7)).await;
    let text = by_header.read_until(&event(9)).await;
    assert!(
        text.contains(&event(8)) && !text.contains(&event(7)),
        "{text}"
    );
    // A browser that reconnects repeats its first URL.
    let target = format!("{STREAM}?after_seq={}", base + 2);
    let mut by_both = RawStream::open(&world, &target, &header(8)).await;
    let text = by_both.read_until(&event(9)).await;
    assert!(!text.contains(&event(8)), "{text}");
    let nonsense = "GET /agents/main/events/stream HTTP/1.1\r\nHost: x\r\nLast-Event-ID: x\r\nConnection: close\r\n\r\n";
    assert_eq!(
        world.over_unix(nonsense).await.refusal(),
        (400, "invalid_cursor".into())
    );
}

#[tokio::test]
async fn a_cursor_that_cannot_be_continued_is_refused_before_the_stream_begins() {
    let world = World::start_on(TestEngine::start_forgetful().await).await;
    // More than every agent keeps.
    world.engine.record_events("main", 1_600).await;
    world.engine.advance(60_000);
    let page = loop {
        let page = world
            .ask("GET", "/agents/main/events?after_seq=2&order=asc", "")
            .await;
        if page.status != 200 {
            break page;
        }
    };
    assert_eq!(page.refusal(), (410, "cursor_too_old".into()));
    let old = world.ask("GET", &format!("{STREAM}?after_seq=2"), "").await;
    assert_eq!(old.refusal(), (410, "cursor_too_old".into()));
    let newest = world.engine.newest("main").await;
    let oldest = old.json()["oldest_seq"].as_u64().unwrap();
    assert_eq!(old.json()["newest_seq"].as_u64(), Some(newest));
    assert!(oldest > 3 && oldest < newest, "{oldest}");
    let hint = old.json()["hint"].as_str().unwrap().to_owned();
    assert!(
        hint.ends_with(&format!("after_seq={}", oldest - 1)),
        "{hint}"
    );
    for ahead in [newest + 1, u64::MAX] {
        let target = format!("{STREAM}?after_seq={ahead}");
        let reply = world.ask("GET", &target, "").await;
        assert_eq!(reply.refusal(), (410, "cursor_ahead".into()));
    }
    let mut stream = world.local().events_stream(agent("main"), Some(2));
    assert!(matches!(
        stream.next().await,
        Err(ClientError::Api { status: 410, .. })
    ));
}

#[tokio::test(start_paused = true)]
async fn an_idle_stream_shows_that_it_lives() {
    let world = World::start().await;
    let newest = world.engine.newest("main").await;
    let mut raw = RawStream::open(&world, STREAM, "").await;
    let text = raw.read_until(": heartbeat\n\n").await;
    assert!(text.contains(&format!("id: {newest}\n\n")), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_takes_nothing_loses_its_connection() {
    let world = World::start().await;
    let base = world.engine.newest("main").await;
    world.engine.record_events("main", 4_000).await;
    let mut raw = RawStream::open(&world, &format!("{STREAM}?after_seq={base}"), "").await;
    loop {
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
        if raw
            .0
            .ready(Interest::READABLE)
            .await
            .unwrap()
            .is_read_closed()
        {
            break;
        }
    }
    let event = |number: u64| format!("\"evt_main_{}\"", base + number);
    let text = raw.read_until(&event(4_000)).await;
    assert!(
        text.contains(&event(1)) && !text.contains(&event(4_000)),
        "it was cut off"
    );
}

#[tokio::test]
async fn streams_end_and_the_server_returns_when_the_host_goes_down() {
    let world = World::start().await;
    let newest = world.engine.newest("main").await;
    let mut raw = RawStream::open(&world, STREAM, "").await;
    raw.read_until(&format!("id: {newest}\n\n")).await;
    world.shutdown.cancel();
    let text = raw.read_until("never").await;
    assert!(
        text.ends_with("0\r\n\r\n"),
        "the body is ended, not cut: {text:?}"
    );
    assert!(world.serving.await.unwrap().is_ok());
}

/// Sends a prompt to an agent.
async fn prompt(world: &World, name: &str) {
    let request = holon_api::PromptRequest {
        images: Vec::new(),
        text: "hello".to_owned(),
        priority: None,
        max_turns: None,
        trust: None,
    };
    world.local().prompt(&agent(name), &request).await.unwrap();
}

/// Describes the items of a stream up to the end of a turn: kinds of events, and texts of deltas.
async fn take_turn(stream: &mut EventStream) -> Vec<String> {
    let mut seen = Vec::new();
    loop {
        let item = match stream.next_item().await.unwrap() {
            StreamItem::Event(envelope) => envelope.kind,
            StreamItem::Delta(delta) => format!("{}:{}", delta.offset, delta.text),
        };
        seen.push(item);
        if seen.last().is_some_and(|last| last == "turn_terminal") {
            return seen;
        }
    }
}

#[tokio::test]
async fn a_stream_that_asks_for_deltas_gets_those_of_its_agent_before_the_recorded_round() {
    let world = World::start().await;
    let mut stream = world
        .local()
        .events_stream(agent("main"), None)
        .with_deltas();
    stream.open().await.unwrap();
    let before = stream.cursor();
    prompt(&world, "dev").await;
    prompt(&world, "main").await;
    let seen = take_turn(&mut stream).await;
    let at = |what: &str| seen.iter().position(|one| one == what);
    assert!(at("0:do").is_some() && at("0:do") < at("2:ne"), "{seen:?}");
    assert!(at("2:ne") < at("assistant_round_recorded"), "{seen:?}");
    let deltas = seen.iter().filter(|one| one.contains(':')).count();
    assert_eq!(deltas, 2, "{seen:?}");
    let events = (seen.len() - deltas) as u64;
    assert_eq!(stream.cursor(), before.map(|before| before + events));
}

#[tokio::test]
async fn a_delta_frame_has_no_id_and_only_those_who_ask_get_it() {
    let world = World::start().await;
    let mut asking = RawStream::open(&world, &format!("{STREAM}?deltas=true"), "").await;
    let mut plain = RawStream::open(&world, STREAM, "").await;
    asking.read_until("retry: 1000").await;
    plain.read_until("retry: 1000").await;
    prompt(&world, "main").await;
    let text = asking.read_until("event: turn_terminal").await.to_owned();
    assert!(
        text.contains("\n\nevent: assistant_delta\ndata: {\"agent_id\":\"main\",\"turn_index\":1,\"round\":1,\"effect\":"),
        "{text}"
    );
    let text = plain.read_until("event: turn_terminal").await;
    assert!(!text.contains("assistant_delta"), "{text}");
}

/// Runs a request and describes its news.
async fn watch_run(world: &World, request: &RunRequest) -> (String, Vec<String>) {
    let mut seen = Vec::new();
    let news = |item| {
        seen.push(match item {
            RunItem::Queued(_) => "queued".to_owned(),
            RunItem::Event(envelope) => envelope.kind,
            RunItem::Delta(delta) => delta.text,
        });
    };
    let answer = world.local().run_watched(request, news).await.unwrap();
    (answer.final_text.clone(), seen)
}

#[tokio::test]
async fn a_watched_run_tells_its_news_and_then_its_outcome_for_every_agent() {
    let world = World::start().await;
    for (agent_id, create_agent) in [(None, false), (Some("main"), false), (Some("fresh"), true)] {
        let request = RunRequest {
            text: "hello".to_owned(),
            agent_id: agent_id.map(agent),
            create_agent,
            ..RunRequest::default()
        };
        let (answer, seen) = watch_run(&world, &request).await;
        assert_eq!(answer, "done", "{agent_id:?}");
        let at = |what: &str| seen.iter().position(|one| one == what);
        assert!(at("do").is_some() && at("do") < at("ne"), "{seen:?}");
    }
}

#[tokio::test]
async fn a_watched_run_that_is_refused_gets_a_plain_refusal() {
    let world = World::start().await;
    let request = RunRequest {
        text: "hello".to_owned(),
        agent_id: Some(agent("nobody")),
        ..RunRequest::default()
    };
    let refused = world.local().run_watched(&request, |_| {}).await;
    let Err(ClientError::Api { status, code, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!((status, code.as_deref()), (404, Some("agent_not_found")));
}
