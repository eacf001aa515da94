//! Streams over agents that are deleted and made again, and the stream over all agents of the host.

use crate::world::World;
use holon_api::{CreateAgentRequest, EventEnvelope, PageOrder, RunRequest};
use holon_client::{Error as ClientError, EventStream, EventsQuery};
use holon_domain::feed::HostSeq;
use holon_testkit::engine::{ENDLESS, agent};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

/// Deletes an agent and waits until its name is free.
async fn delete(world: &World, name: &str) {
    world.local().delete_agent(&agent(name)).await.unwrap();
    while world
        .ask("GET", &format!("/agents/{name}/status"), "")
        .await
        .status
        != 404
    {}
}

async fn create(world: &World, name: &str) {
    let request = CreateAgentRequest::default();
    world
        .local()
        .create_agent(&agent(name), &request)
        .await
        .unwrap();
}

/// Reads a raw stream until a text appears in it, or to its end.
async fn read_raw(world: &World, target: &str, headers: &str, until: &str) -> String {
    let mut stream = UnixStream::connect(&world.socket).await.unwrap();
    let request = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let (mut text, mut buffer) = (String::new(), vec![0; 64 << 10]);
    while !text.contains(until) {
        let count = stream.read(&mut buffer).await.unwrap();
        if count == 0 {
            break;
        }
        text.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
    }
    text
}

#[tokio::test]
async fn the_stream_of_an_agent_that_is_deleted_ends_with_a_frame_that_says_so() {
    let world = World::start().await;
    create(&world, "r1").await;
    let mut stream = world.local().events_stream(agent("r1"), Some(0));
    stream.open().await.unwrap();
    delete(&world, "r1").await;
    create(&world, "r1").await;
    let end = loop {
        match stream.next().await {
            Ok(event) => assert!(event.event_seq < 100, "{event:?}"),
            Err(end) => break end,
        }
    };
    assert!(
        matches!(&end, ClientError::AgentDeleted { agent_id } if *agent_id == agent("r1")),
        "{end:?}"
    );
}

#[tokio::test]
async fn a_cursor_of_a_deleted_agent_is_not_continued_by_another_one_of_its_name() {
    let world = World::start().await;
    create(&world, "r1").await;
    world.engine.record_events("r1", 5).await;
    let old = world.engine.newest("r1").await;
    delete(&world, "r1").await;
    create(&world, "r1").await;
    world.engine.record_events("r1", 9).await;
    for cursor in [1, old] {
        for route in ["events", "events/stream"] {
            let target = format!("/agents/r1/{route}?after_seq={cursor}");
            let reply = world.ask("GET", &target, "").await;
            assert_eq!(reply.refusal(), (410, "agent_replaced".into()), "{target}");
            assert!(
                reply.json()["oldest_seq"].as_u64() > Some(old + 1),
                "{reply:?}"
            );
        }
    }
    let mut resumed = world.local().events_stream(agent("r1"), Some(old));
    let refused = resumed.next().await.unwrap_err();
    assert_eq!(refused.code(), Some("agent_replaced"));
    let query = EventsQuery {
        after_seq: Some(0),
        order: Some(PageOrder::Asc),
        ..EventsQuery::default()
    };
    let page = world.local().events(&agent("r1"), query).await.unwrap();
    let kinds: Vec<&str> = page
        .events
        .iter()
        .map(|event| event.kind.as_str())
        .collect();
    assert_eq!(kinds.first(), Some(&"agent_created"), "{kinds:?}");
    let seqs: Vec<u64> = page.events.iter().map(|event| event.event_seq).collect();
    let first = page.oldest_seq.unwrap();
    assert!(first > old + 1, "{seqs:?}");
    assert_eq!(seqs, (first..first + seqs.len() as u64).collect::<Vec<_>>());
}

/// Describes an event of the host's stream.
fn describe(event: &EventEnvelope) -> (String, u64) {
    (event.agent_id.to_string(), event.event_seq)
}

async fn take(stream: &mut EventStream, count: usize) -> Vec<EventEnvelope> {
    let mut taken = Vec::new();
    for _ in 0..count {
        taken.push(stream.next().await.unwrap());
    }
    taken
}

#[tokio::test]
async fn the_stream_of_the_host_has_the_events_of_all_agents_once_and_in_order() {
    let world = World::start().await;
    let mut stream = world.local().host_events_stream(None);
    stream.open().await.unwrap();
    let begin = stream.cursor();
    let (main, dev) = (
        world.engine.newest("main").await,
        world.engine.newest("dev").await,
    );
    world.engine.record_events("main", 2).await;
    world.engine.record_events("dev", 1).await;
    world.engine.record_events("main", 1).await;
    let live = take(&mut stream, 4).await;
    let told: Vec<(String, u64)> = live.iter().map(describe).collect();
    let expected = [
        ("main", main + 1),
        ("main", main + 2),
        ("dev", dev + 1),
        ("main", main + 3),
    ];
    assert_eq!(told, expected.map(|(name, seq)| (name.to_owned(), seq)));
    let seqs: Vec<u64> = live.iter().filter_map(|event| event.host_seq).collect();
    assert!(seqs.windows(2).all(|pair| pair[0] < pair[1]), "{seqs:?}");
    // A reader that comes back continues after any of them.
    let mut again = world.remote().host_events_stream(begin);
    let replayed = take(&mut again, 4).await;
    assert_eq!(replayed.iter().map(describe).collect::<Vec<_>>(), told);
    let header = format!("Last-Event-ID: {}\r\n", seqs[1]);
    let text = read_raw(
        &world,
        "/events/stream",
        &header,
        &format!("evt_main_{}\"", main + 3),
    )
    .await;
    assert!(
        text.contains(&format!("id: {}\nevent: agent_model_override_set", seqs[2])),
        "{text}"
    );
    assert!(
        !text.contains(&format!("\"evt_main_{}\"", main + 2)),
        "{text}"
    );
}

#[tokio::test]
async fn pages_of_the_host_go_forward_and_backward_and_pass_over_private_agents() {
    let world = World::start().await;
    world.engine.record_events("main", 3).await;
    let request = RunRequest {
        text: "hello".to_owned(),
        ..RunRequest::default()
    };
    // A run without a name makes a private agent, whose events callers do not see.
    world.local().run(&request).await.unwrap();
    world.engine.record_events("dev", 3).await;
    let page = |query: EventsQuery| {
        let client = world.local();
        async move { client.host_events(query).await.unwrap() }
    };
    let mut forward = Vec::new();
    let mut cursor = 0;
    loop {
        let query = EventsQuery {
            after_seq: Some(cursor),
            limit: Some(2),
            order: Some(PageOrder::Asc),
            ..EventsQuery::default()
        };
        let page = page(query).await;
        assert!(page.events.len() <= 2);
        forward.extend(
            page.events
                .iter()
                .map(|event| (event.host_seq, describe(event))),
        );
        cursor = page.next_seq;
        if !page.has_newer {
            break;
        }
    }
    let mut backward = Vec::new();
    let mut before = None;
    loop {
        let query = EventsQuery {
            before_seq: before,
            limit: Some(2),
            ..EventsQuery::default()
        };
        let page = page(query).await;
        backward.extend(
            page.events
                .iter()
                .map(|event| (event.host_seq, describe(event))),
        );
        before = Some(page.next_seq);
        if !page.has_older {
            break;
        }
    }
    backward.reverse();
    assert_eq!(forward, backward);
    let agents: std::collections::BTreeSet<&str> = forward
        .iter()
        .map(|(_, (agent, _))| agent.as_str())
        .collect();
    assert_eq!(agents.into_iter().collect::<Vec<_>>(), ["dev", "main"]);
    assert!(
        forward.windows(2).all(|pair| pair[0].0 < pair[1].0),
        "{forward:?}"
    );
}

/// Records events of `main`, of `dev` and of a private agent; a turn of `main` has commits with several events. Returns
/// the positions of the public ones in order.
async fn record_turns(world: &World) -> Vec<u64> {
    world.engine.record_events("dev", 2).await;
    for agent_id in [Some(agent("main")), None, Some(agent("main"))] {
        let request = RunRequest {
            text: "hello".to_owned(),
            agent_id,
            ..RunRequest::default()
        };
        world.local().run(&request).await.unwrap();
    }
    let query = EventsQuery {
        after_seq: Some(0),
        limit: Some(512),
        order: Some(PageOrder::Asc),
        ..EventsQuery::default()
    };
    let page = world.local().host_events(query).await.unwrap();
    assert!(!page.has_newer, "one page has all of them");
    let seqs: Vec<u64> = page.events.iter().filter_map(|one| one.host_seq).collect();
    let shares_row = |pair: &[u64]| HostSeq(pair[0]).row() == HostSeq(pair[1]).row();
    assert!(seqs.windows(2).any(shares_row), "{seqs:?}");
    seqs
}

/// Returns the positions of all events up to `newest`, read in pages of one event.
async fn read_singly(world: &World, order: PageOrder, newest: u64) -> Vec<u64> {
    let (mut seqs, mut after_seq, mut before_seq) = (Vec::new(), None, None);
    match order {
        PageOrder::Asc => after_seq = Some(0),
        PageOrder::Desc => before_seq = Some(newest + 1),
    }
    loop {
        let query = EventsQuery {
            after_seq,
            before_seq,
            limit: Some(1),
            order: Some(order),
            ..EventsQuery::default()
        };
        let page = world.local().host_events(query).await.unwrap();
        assert!(page.events.len() <= 1);
        seqs.extend(page.events.iter().filter_map(|event| event.host_seq));
        let (cursor, goes_on) = match order {
            PageOrder::Asc => (&mut after_seq, page.has_newer),
            PageOrder::Desc => (&mut before_seq, page.has_older),
        };
        if !goes_on {
            break;
        }
        assert_ne!(*cursor, Some(page.next_seq), "the cursor moves");
        *cursor = Some(page.next_seq);
    }
    seqs.retain(|seq| *seq <= newest);
    seqs
}

#[tokio::test]
async fn pages_of_one_event_lead_through_the_whole_history_both_ways() {
    let world = World::start().await;
    let seqs = record_turns(&world).await;
    let newest = *seqs.last().unwrap();
    assert_eq!(read_singly(&world, PageOrder::Asc, newest).await, seqs);
    let mut backward = read_singly(&world, PageOrder::Desc, newest).await;
    backward.reverse();
    assert_eq!(backward, seqs);
}

#[tokio::test]
async fn a_stream_with_pages_of_one_event_sends_the_whole_history() {
    let world = World::start().await;
    let seqs = record_turns(&world).await;
    let newest = *seqs.last().unwrap();
    let until = format!("id: {newest}\n");
    let reading = read_raw(&world, "/events/stream?limit=1&after_seq=0", "", &until);
    let text = tokio::time::timeout(Duration::from_secs(30), reading).await;
    let text = text.expect("the stream gets to the newest event");
    let (before_newest, _) = text.split_once(&until).expect("the stream goes on");
    let lines = before_newest.lines();
    let ids = lines.filter_map(|line| line.strip_prefix("id: "));
    let mut sent: Vec<u64> = ids.map(|id| id.parse().unwrap()).collect();
    sent.push(newest);
    let (opening, events) = sent.split_first().unwrap();
    assert_eq!((*opening, events), (0, seqs.as_slice()));
}

#[tokio::test]
async fn a_cursor_of_the_host_is_never_given_out_twice() {
    let world = World::start().await;
    create(&world, "r1").await;
    world.engine.record_events("r1", 3).await;
    let newest = world
        .local()
        .host_events(EventsQuery::default())
        .await
        .unwrap();
    let last = newest.events[0].clone();
    assert_eq!(last.agent_id, agent("r1"));
    let mut stream = world.local().host_events_stream(last.host_seq);
    stream.open().await.unwrap();
    delete(&world, "r1").await;
    create(&world, "r1").await;
    let mut seen = Vec::new();
    while seen
        .iter()
        .all(|event: &EventEnvelope| event.kind != "agent_created")
    {
        seen.push(stream.next().await.unwrap());
    }
    let deleted = seen
        .iter()
        .find(|event| event.kind == "agent_deleted")
        .unwrap();
    assert_eq!(deleted.agent_id, agent("r1"));
    assert!(deleted.event_seq > last.event_seq, "{deleted:?}");
    let created = seen.last().unwrap();
    assert!(created.event_seq > deleted.event_seq, "{created:?}");
    let seqs: Vec<Option<u64>> = seen.iter().map(|event| event.host_seq).collect();
    assert!(seqs.windows(2).all(|pair| pair[0] < pair[1]), "{seqs:?}");
    let far = world
        .ask("GET", "/events/stream?after_seq=99999999999", "")
        .await;
    assert_eq!(far.refusal(), (410, "cursor_ahead".into()));
}

#[tokio::test]
async fn a_cursor_of_another_store_is_refused_on_pages_and_streams() {
    let world = World::start().await;
    let epoch = world.engine.reads().epoch().to_owned();
    let other = "0".repeat(32);
    for route in [
        "/events",
        "/events/stream",
        "/agents/main/events",
        "/agents/main/events/stream",
    ] {
        let target = format!("{route}?after_seq=1&epoch={other}");
        let reply = world.ask("GET", &target, "").await;
        assert_eq!(reply.refusal(), (410, "epoch_changed".into()), "{target}");
        assert_eq!(reply.json()["epoch"], epoch.as_str(), "{target}");
        let request = format!(
            "GET {route} HTTP/1.1\r\nHost: localhost\r\nLast-Event-ID: 1\r\nHolon-Epoch: {other}\r\nConnection: close\r\n\r\n"
        );
        let reply = world.over_unix(request).await;
        assert_eq!(reply.refusal(), (410, "epoch_changed".into()), "{route}");
    }
    for route in ["/events", "/agents/main/events"] {
        let target = format!("{route}?after_seq=0&order=asc&epoch={epoch}");
        let reply = world.ask("GET", &target, "").await;
        assert_eq!(reply.status, 200, "{reply:?}");
        assert_eq!(reply.json()["epoch"], epoch.as_str());
    }
    let target = format!("/agents/main/events/stream?after_seq=0&epoch={epoch}");
    let text = read_raw(&world, &target, "", "agent_created").await;
    assert!(text.contains("agent_created"), "{text}");
}

#[tokio::test]
async fn a_page_after_a_cursor_that_this_store_never_gave_out_is_refused() {
    let world = World::start().await;
    for route in ["/events", "/agents/main/events"] {
        let page = world.ask("GET", route, "").await;
        let newest = page.json()["newest_seq"].as_u64().unwrap();
        let at = |seq: u64| format!("{route}?after_seq={seq}&order=asc");
        assert_eq!(world.ask("GET", &at(newest), "").await.status, 200);
        let ahead = world.ask("GET", &at(newest + 1), "").await;
        assert_eq!(ahead.refusal(), (410, "cursor_ahead".into()), "{route}");
        assert_eq!(ahead.json()["newest_seq"], newest, "{route}");
    }
}

#[tokio::test]
async fn archived_agents_are_listed_on_request_and_not_counted_as_active() {
    let world = World::start().await;
    create(&world, "old").await;
    let text = format!(r#"{{"text":"{ENDLESS}"}}"#);
    let asked = world.ask("POST", "/control/agents/old/prompt", &text).await;
    assert_eq!(asked.status, 200, "{asked:?}");
    let sent = world.ask("POST", "/agents/old/enqueue", r#"{"text":"look"}"#);
    assert_eq!(sent.await.status, 200);
    let is_queued = async |count: u32| {
        let metrics = world.ask("GET", "/metrics", "").await.body;
        metrics.contains(&format!("\nholon_queue_messages {count}\n"))
    };
    while !is_queued(1).await {}
    world.local().archive_agent(&agent("old")).await.unwrap();
    assert!(is_queued(0).await, "what it will never take does not wait");
    let names = |list: serde_json::Value| -> Vec<String> {
        let entries = list.as_array().unwrap().iter();
        let id =
            |entry: &serde_json::Value| entry["identity"]["agent_id"].as_str().unwrap().to_owned();
        entries.map(id).collect()
    };
    let listed = names(world.ask("GET", "/agents/list", "").await.json());
    assert_eq!(listed, ["dev", "main"]);
    let archived = names(
        world
            .ask("GET", "/agents/list?archived=true", "")
            .await
            .json(),
    );
    assert_eq!(archived, ["old"]);
    let refused = world
        .local()
        .control(&agent("old"), holon_api::ControlAction::Stop)
        .await;
    assert_eq!(refused.unwrap_err().code(), Some("agent_archived"));
    let wrong = world.ask("GET", "/agents/list?archived=maybe", "").await;
    assert_eq!(wrong.status, 400, "{wrong:?}");
}
