//! The pump of a stream with lost notices, long lags and failing reads, which real connections cannot produce reliably.

use super::*;
use crate::ports::SetupReader;
use crate::state::Transport;
use axum::http::StatusCode;
use holon_api::ModelsResponse;
use holon_domain::agent::Visibility;
use holon_testkit::engine::{TestEngine, agent};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// A setup that no test reads.
struct NoSetup;

#[async_trait::async_trait]
impl SetupReader for NoSetup {
    async fn models(&self) -> ModelsResponse {
        unreachable!("no business of a stream")
    }
}

/// Creates a host with this many places for streams.
pub(crate) fn host(streams: usize) -> Arc<Host> {
    Arc::new(Host {
        default_agent: agent("main"),
        workspace_dir: String::new(),
        home_dir: String::new(),
        pid: 0,
        listen: None,
        named_tokens: Arc::default(),
        served_keys: Arc::default(),
        deliveries: Default::default(),
        webhook_secrets: Default::default(),
        bodies: Default::default(),
        counters: Default::default(),
        advertise_url: None,
        streams: Arc::new(Semaphore::new(streams)),
        run_streams: Arc::new(Semaphore::new(streams)),
        replays: Arc::new(Semaphore::new(1)),
        shutdown: CancellationToken::new(),
        tasks: TaskTracker::new(),
        cut_off: CancellationToken::new(),
    })
}

fn request(name: &str) -> StreamRequest {
    StreamRequest {
        source: EventSource::Agent(agent(name)),
        cursor: None,
        limit: 1,
        projection: Projection::Operator,
        deltas: false,
        connection: None,
    }
}

/// Creates a pump that has sent everything up to `cursor`, with the receiver of its chunks.
fn pump(engine: &TestEngine, name: &str, cursor: u64) -> (Pump, mpsc::Receiver<Bytes>) {
    pump_of(host(1), engine, name, cursor)
}

fn pump_of(
    host: Arc<Host>,
    engine: &TestEngine,
    name: &str,
    cursor: u64,
) -> (Pump, mpsc::Receiver<Bytes>) {
    let (chunks, received) = ChunkSender::open(&host, StreamKind::Events, None)
        .ok()
        .unwrap();
    let pump = Pump {
        reads: Arc::new(engine.reads()),
        host,
        request: request(name),
        cursor,
        deltas: None,
        chunks,
    };
    (pump, received)
}

fn notice(name: &str, newest_seq: u64) -> FeedNotice {
    FeedNotice {
        agent_id: agent(name),
        newest_seq,
        visibility: Visibility::Public,
        changes_memory: false,
    }
}

/// Returns the last frame of a stream as text.
fn last_frame(end: Result<impl Sized, StreamEnd>) -> String {
    match end {
        Err(StreamEnd::Last(chunk)) => String::from_utf8(chunk.to_vec()).unwrap(),
        Err(StreamEnd::Quiet) | Ok(_) => String::new(),
    }
}

#[tokio::test]
async fn one_stream_more_than_allowed_is_refused() {
    let engine = TestEngine::start().await;
    let state = ReadState {
        host: host(0),
        reads: Arc::new(engine.reads()),
        stream_reads: Arc::new(engine.reads()),
        setup: Arc::new(NoSetup),
        meters: engine.control().meters(),
        transport: Transport::Unix,
    };
    let refusal = open(&state, request("main")).await.unwrap_err();
    assert_eq!(refusal.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(
        refusal.into_body().code.as_deref(),
        Some("too_many_streams")
    );
}

#[tokio::test]
async fn a_reader_who_leaves_makes_room_for_another() {
    let engine = TestEngine::start().await;
    let state = ReadState {
        host: host(1),
        reads: Arc::new(engine.reads()),
        stream_reads: Arc::new(engine.reads()),
        setup: Arc::new(NoSetup),
        meters: engine.control().meters(),
        transport: Transport::Unix,
    };
    let response = open(&state, request("main")).await.unwrap();
    assert_eq!(state.host.streams.available_permits(), 0);
    drop(response);
    while state.host.streams.available_permits() == 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn only_news_of_its_own_agent_that_it_has_not_sent_wakes_a_stream() {
    let engine = TestEngine::start().await;
    let (mut pump, _received) = pump(&engine, "main", 7);
    for (told, wakes) in [
        (notice("dev", 9), false),
        (notice("main", 7), false),
        (notice("main", 8), true),
    ] {
        let (sender, mut notices) = broadcast::channel(4);
        sender.send(told.clone()).unwrap();
        // The channel is closed after the notice, so a wait that the notice does not end fails.
        drop(sender);
        assert_eq!(
            pump.wait_for_notice(&mut notices).await.is_ok(),
            wakes,
            "{told:?}"
        );
    }
}

#[tokio::test]
async fn news_that_was_lost_counts_as_news() {
    let engine = TestEngine::start().await;
    let (mut pump, _received) = pump(&engine, "main", 7);
    let (sender, mut notices) = broadcast::channel(4);
    for _ in 0..20 {
        sender.send(notice("dev", 9)).unwrap();
    }
    assert!(pump.wait_for_notice(&mut notices).await.is_ok());
}

#[tokio::test]
async fn a_reader_that_fell_too_far_behind_is_sent_away_with_its_cursor() {
    let engine = TestEngine::start().await;
    engine.record_events("main", STREAM_LAG as u64 + 1).await;
    let newest = engine.newest("main").await;
    let cursor = newest - STREAM_LAG as u64 - 1;
    let (mut pump, mut received) = pump(&engine, "main", cursor);
    assert_eq!(
        last_frame(pump.follow().await),
        format!("event: gap\ndata: {{\"after_seq\":{cursor},\"newest_seq\":{newest}}}\n\n")
    );
    assert!(received.try_recv().is_err(), "nothing was sent before");
}

#[tokio::test]
async fn a_stream_whose_agent_is_gone_ends_with_the_frame_that_says_so() {
    let engine = TestEngine::start().await;
    let (mut pump, _received) = pump(&engine, "gone", 4);
    assert_eq!(
        last_frame(pump.replay().await),
        "event: agent_deleted\ndata: {\"agent_id\":\"gone\",\"after_seq\":4}\n\n"
    );
}

#[tokio::test]
async fn a_page_that_leads_no_further_ends_the_stream_with_an_error() {
    let engine = TestEngine::start().await;
    let (mut pump, _received) = pump(&engine, "main", 7);
    let page = |cursor| SourcePage {
        entries: Vec::new(),
        cursor,
        newest_seq: 9,
        has_more: true,
    };
    let mut take = async |page: SourcePage| {
        let start = pump.cursor;
        let chunks = pump.render(&page)?;
        pump.send_page(&page, start, chunks).await
    };
    assert!(matches!(take(page(8)).await, Ok(true)));
    let words = last_frame(take(page(8)).await);
    assert!(words.starts_with("event: error\n"), "{words}");
    assert!(words.contains("\"code\":\"internal\""), "{words}");
}

#[tokio::test]
async fn a_replay_waits_for_its_turn_and_its_reader_hears_that_it_is_alive() {
    let engine = TestEngine::start().await;
    engine.record_events("main", 3).await;
    let host = host(2);
    let turn = Arc::clone(&host.replays).try_acquire_owned().unwrap();
    let (mut pump, mut received) = pump_of(Arc::clone(&host), &engine, "main", 0);
    tokio::time::pause();
    let replay = tokio::spawn(async move { pump.replay().await.is_ok() });
    let first = received.recv().await.unwrap();
    assert!(first.starts_with(b":"), "{first:?}");
    tokio::time::resume();
    drop(turn);
    let mut events = 0;
    while let Some(chunk) = received.recv().await {
        events += sent_events(&chunk);
    }
    assert!(replay.await.unwrap() && events > 0, "{events}");
}

#[tokio::test]
async fn a_reader_that_does_not_read_holds_no_turn() {
    let engine = TestEngine::start().await;
    engine.record_events("main", 9).await;
    let newest = engine.newest("main").await;
    let host = host(2);
    let (mut slow, unread) = pump_of(Arc::clone(&host), &engine, "main", 0);
    let slow = tokio::spawn(async move { slow.replay().await.is_ok() });
    while unread.len() < unread.max_capacity() {
        tokio::task::yield_now().await;
    }
    let (mut other, mut received) = pump_of(host, &engine, "main", newest - 2);
    assert!(other.replay().await.is_ok());
    assert_eq!(sent_events(sent(&mut received).as_bytes()), 2);
    drop(unread);
    assert!(!slow.await.unwrap());
}

#[test]
fn a_failure_of_the_engine_ends_the_stream_with_its_reason() {
    let end: Result<(), StreamEnd> = Err(end_with_error(Refusal::from(Error::Overloaded)));
    let words = last_frame(end);
    assert!(
        words.starts_with("event: error\ndata: {\"ok\":false"),
        "{words}"
    );
    assert!(words.contains("\"code\":\"overloaded\""), "{words}");
}

fn delta(name: &str, text: &str) -> Arc<AssistantDelta> {
    Arc::new(AssistantDelta {
        agent_id: agent(name),
        turn_index: 1,
        round: 1,
        effect: 9,
        offset: 0,
        text: text.to_owned(),
    })
}

fn sent_events(chunk: &[u8]) -> usize {
    let text = String::from_utf8_lossy(chunk);
    text.lines().filter(|line| line.starts_with("id: ")).count()
}

/// Returns everything that a pump has sent.
fn sent(received: &mut mpsc::Receiver<Bytes>) -> String {
    let mut all = Vec::new();
    while let Ok(chunk) = received.try_recv() {
        all.extend_from_slice(&chunk);
    }
    String::from_utf8(all).unwrap()
}

#[tokio::test]
async fn deltas_of_its_own_agent_go_before_the_events_that_were_read_after_them() {
    let engine = TestEngine::start().await;
    let cursor = engine.newest("main").await;
    engine.record_events("main", 1).await;
    let (mut pump, mut received) = pump(&engine, "main", cursor);
    let (sender, deltas) = broadcast::channel(8);
    pump.deltas = Some(deltas);
    for one in [
        delta("main", "Half"),
        delta("dev", "no"),
        delta("main", " a word"),
    ] {
        sender.send(one).unwrap();
    }
    pump.follow().await.ok().unwrap();
    let text = sent(&mut received);
    let names: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("event: "))
        .collect();
    assert_eq!(
        names,
        [
            "assistant_delta",
            "assistant_delta",
            "agent_model_override_set"
        ]
    );
    assert!(text.starts_with("event: assistant_delta\ndata: {\"agent_id\":\"main\""));
    assert!(!text.contains("\"dev\""), "{text}");
}

#[tokio::test]
async fn a_reader_that_lags_loses_deltas_and_no_event() {
    let engine = TestEngine::start().await;
    let cursor = engine.newest("main").await;
    engine.record_events("main", 3).await;
    let (mut pump, mut received) = pump(&engine, "main", cursor);
    let (sender, deltas) = broadcast::channel(2);
    pump.deltas = Some(deltas);
    for number in 0..9 {
        sender
            .send(delta("main", &format!("piece-{number}")))
            .unwrap();
    }
    pump.follow().await.ok().unwrap();
    let text = sent(&mut received);
    assert_eq!(text.matches("event: assistant_delta").count(), 2, "{text}");
    assert_eq!(text.matches("\nid: ").count(), 3, "{text}");
    assert!(
        text.contains("piece-8") && !text.contains("piece-0"),
        "{text}"
    );
}

#[tokio::test]
async fn a_delta_is_sent_while_nothing_is_committed() {
    let engine = TestEngine::start().await;
    let (mut pump, mut received) = pump(&engine, "main", 7);
    let (sender, deltas) = broadcast::channel(4);
    pump.deltas = Some(deltas);
    let (committed, mut notices) = broadcast::channel(4);
    sender.send(delta("main", "word")).unwrap();
    let waiting = tokio::spawn(async move { pump.wait_for_notice(&mut notices).await.is_ok() });
    let chunk = received.recv().await.unwrap();
    assert!(chunk.starts_with(b"event: assistant_delta\ndata: "));
    committed.send(notice("main", 8)).unwrap();
    assert!(waiting.await.unwrap());
}
