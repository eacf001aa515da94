//! Event streams that break, repeat events, or resume on another store.

use crate::canned::{HANDSHAKE, Host, Script, event, json, stream};
use holon_client::{Error, EventStream, RunItem, StreamItem, retry_read};
use holon_domain::AgentId;
use holon_domain::limits::STREAM_RETRIES;

fn events(host: &Host, after: Option<u64>) -> EventStream {
    host.client()
        .events_stream(AgentId::parse("main").unwrap(), after)
}

async fn take(stream: &mut EventStream, count: usize) -> Vec<u64> {
    let mut seqs = Vec::new();
    for _ in 0..count {
        seqs.push(stream.next().await.unwrap().event_seq);
    }
    seqs
}

const OPENING: &str = "retry: 1000\nid: 4\n\n";

#[tokio::test(start_paused = true)]
async fn a_broken_stream_is_continued_after_the_last_event() {
    let first = format!("{OPENING}{}{}", event(5), event(6));
    let cut_in_a_frame = format!("{}id: 8\nevent: x\nda", event(7));
    let repeated = format!("{}{}{}", event(6), event(7), event(8));
    let host = Host::start(vec![
        stream("e", &first),
        stream("e", &cut_in_a_frame),
        stream("e", &repeated),
    ]);
    let mut events = events(&host, None);
    assert_eq!(take(&mut events, 4).await, [5, 6, 7, 8]);
    assert_eq!(
        host.heard(),
        [
            "GET /agents/main/events/stream HTTP/1.1",
            "GET /agents/main/events/stream?after_seq=6 HTTP/1.1",
            "GET /agents/main/events/stream?after_seq=7 HTTP/1.1",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_broke_before_its_first_event_continues_from_where_it_began() {
    let host = Host::start(vec![stream("e", OPENING), stream("e", &event(5))]);
    let mut events = events(&host, None);
    assert_eq!(take(&mut events, 1).await, [5]);
    assert_eq!(
        host.heard()[1],
        "GET /agents/main/events/stream?after_seq=4 HTTP/1.1"
    );
}

#[tokio::test(start_paused = true)]
async fn gaps_failures_and_busy_hosts_are_come_back_from() {
    let gap = format!(
        "{}event: gap\ndata: {{\"after_seq\":5,\"newest_seq\":2000}}\n\n",
        event(5)
    );
    let failed =
        "event: error\ndata: {\"ok\":false,\"error\":\"overloaded\",\"code\":\"overloaded\"}\n\n";
    let busy = json(
        503,
        r#"{"ok":false,"error":"busy","code":"too_many_streams"}"#,
    );
    let host = Host::start(vec![
        stream("e", &gap),
        stream("e", failed),
        busy,
        stream("e", &event(6)),
    ]);
    let mut events = events(&host, Some(4));
    assert_eq!(take(&mut events, 2).await, [5, 6]);
}

#[tokio::test(start_paused = true)]
async fn notices_and_comments_it_does_not_know_are_passed_over() {
    let frames = format!(
        ": heartbeat\n\nevent: from_tomorrow\ndata: not even json\n\n{}",
        event(5)
    );
    let host = Host::start(vec![stream("e", &frames)]);
    assert_eq!(take(&mut events(&host, Some(4)), 1).await, [5]);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_never_delivers_is_given_up_after_so_many_tries() {
    let tries = STREAM_RETRIES as usize + 1;
    let host = Host::start(vec![Script::HangUp; tries + 1]);
    let error = events(&host, None).next().await.unwrap_err();
    assert!(matches!(error, Error::Interrupted { .. }), "{error:?}");
    assert_eq!(host.heard().len(), tries);
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_is_opened_again() {
    let host = Host::start(vec![Script::Silence, stream("e", &event(5))]);
    assert_eq!(take(&mut events(&host, Some(4)), 1).await, [5]);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_final() {
    let gone = json(
        410,
        r#"{"ok":false,"error":"gone","code":"cursor_too_old","oldest_seq":9}"#,
    );
    let host = Host::start(vec![gone]);
    let error = events(&host, Some(1)).next().await.unwrap_err();
    assert_eq!(error.code(), Some("cursor_too_old"));
}

#[tokio::test(start_paused = true)]
async fn a_cursor_is_not_carried_over_to_another_store() {
    let host = Host::start(vec![stream("old", &event(5)), stream("new", &event(6))]);
    let mut events = events(&host, Some(4));
    assert_eq!(take(&mut events, 1).await, [5]);
    assert!(matches!(
        events.next().await,
        Err(Error::StoreReplaced { .. })
    ));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_gave_up_continues_from_its_cursor_and_in_no_other_store() {
    let mut scripts = vec![stream("old", &event(5))];
    // Every reconnect of the first reader fails, and the next call begins with another one.
    scripts.extend(vec![Script::HangUp; STREAM_RETRIES as usize]);
    scripts.extend([stream("old", &event(6)), stream("new", &event(7))]);
    let host = Host::start(scripts);
    let mut events = events(&host, Some(4));
    assert_eq!(take(&mut events, 1).await, [5]);
    assert!(matches!(
        events.next().await,
        Err(Error::Interrupted { .. })
    ));
    assert_eq!(take(&mut events, 1).await, [6]);
    assert!(matches!(
        events.next().await,
        Err(Error::StoreReplaced { .. })
    ));
}

#[tokio::test(start_paused = true)]
async fn a_read_is_repeated_while_the_host_restarts_and_a_refusal_is_not() {
    let refused = json(404, r#"{"ok":false,"error":"no","code":"agent_not_found"}"#);
    let host = Host::start(vec![
        Script::HangUp,
        json(503, r#"{"ok":false,"error":"busy"}"#),
        json(200, "[]"),
        refused,
    ]);
    let client = host.client();
    let briefs = async || client.briefs(None, None).await;
    assert_eq!(retry_read(briefs).await.unwrap(), []);
    assert_eq!(host.heard().len(), 3);
    let error = retry_read(briefs).await.unwrap_err();
    assert_eq!(error.code(), Some("agent_not_found"));
    assert_eq!(host.heard().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_no_stream_is_named_as_such() {
    let host = Host::start(vec![json(200, "[]")]);
    assert!(matches!(
        events(&host, None).next().await,
        Err(Error::Protocol { .. })
    ));
}

#[tokio::test(start_paused = true)]
async fn giving_up_a_wait_loses_no_event() {
    let host = Host::start(vec![stream("e", &format!("{}{}", event(5), event(6)))]);
    let mut events = events(&host, Some(4));
    let mut seen = Vec::new();
    while seen.len() < 2 {
        tokio::select! {
            biased;
            next = events.next() => seen.push(next.unwrap().event_seq),
            () = tokio::task::yield_now() => {}
        }
    }
    assert_eq!(seen, [5, 6]);
}

/// Returns the frame of a delta.
fn delta(offset: u64, text: &str) -> String {
    format!(
        "event: assistant_delta\ndata: {{\"agent_id\":\"main\",\"turn_index\":1,\"round\":2,\"effect\":7,\"offset\":{offset},\
         \"text\":\"{text}\"}}\n\n"
    )
}

#[tokio::test(start_paused = true)]
async fn deltas_come_between_events_and_do_not_move_the_cursor() {
    let odd = "event: assistant_delta\ndata: {\"from\":\"tomorrow\"}\n\n";
    let first = format!("{OPENING}{}{odd}{}", delta(0, "Half "), event(5));
    let second = format!("{}{}", delta(5, "a word"), event(6));
    let host = Host::start(vec![stream("e", &first), stream("e", &second)]);
    let mut events = events(&host, None).with_deltas();
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.push(match events.next_item().await.unwrap() {
            StreamItem::Event(envelope) => envelope.event_seq.to_string(),
            StreamItem::Delta(delta) => delta.text,
        });
    }
    assert_eq!(seen, ["Half ", "5", "a word", "6"]);
    assert_eq!(
        host.heard(),
        [
            "GET /agents/main/events/stream?deltas=true HTTP/1.1",
            "GET /agents/main/events/stream?after_seq=5&deltas=true HTTP/1.1",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_wants_events_only_is_not_shown_deltas() {
    let frames = format!("{}{}", delta(0, "word"), event(5));
    let host = Host::start(vec![stream("e", &frames)]);
    assert_eq!(take(&mut events(&host, Some(4)), 1).await, [5]);
}

#[tokio::test(start_paused = true)]
async fn a_run_over_a_restart_joins_the_first_one_and_one_that_is_refused_says_why() {
    let error =
        "event: error\ndata: {\"ok\":false,\"error\":\"stopped\",\"code\":\"agent_stopped\"}\n\n";
    let leaving = r#"{"ok":false,"error":"going down","code":"shutting_down"}"#;
    let host = Host::start(vec![
        stream("e", &delta(0, "word")),
        Script::HangUp,
        json(200, HANDSHAKE),
        Script::HangUp,
        json(200, HANDSHAKE),
        json(503, leaving),
        json(200, HANDSHAKE),
        stream("e", error),
    ]);
    let request = holon_api::RunRequest::default();
    let mut texts = Vec::new();
    let client = host.client();
    let ran = client.run_watched(&request, |item| {
        if let RunItem::Delta(delta) = item {
            texts.push(delta.text);
        }
    });
    let refused = ran.await.unwrap_err();
    assert_eq!(refused.code(), Some("agent_stopped"), "{refused:?}");
    assert_eq!(texts, ["word"]);
    let heard = host.heard();
    let run = "POST /control/run?deltas=true HTTP/1.1";
    let runs: Vec<usize> = (0..heard.len()).filter(|at| heard[*at] == run).collect();
    assert_eq!(runs, [0, 3, 5, 7], "{heard:?}");
    let keys = host.keys();
    assert!(
        runs.iter()
            .all(|at| keys[*at].is_some() && keys[*at] == keys[0])
    );
}

#[tokio::test(start_paused = true)]
async fn a_run_without_a_place_among_the_streams_is_sent_without_one() {
    let full = r#"{"ok":false,"error":"too many streams are open","code":"too_many_streams"}"#;
    let stopped = r#"{"ok":false,"error":"stopped","code":"agent_stopped"}"#;
    let host = Host::start(vec![json(503, full), json(409, stopped)]);
    let request = holon_api::RunRequest::default();
    let ran = host.client().run_watched(&request, |_| {}).await;
    assert_eq!(ran.unwrap_err().code(), Some("agent_stopped"));
    let [watched, plain] = host.heard().try_into().expect("two requests");
    assert_eq!(watched, "POST /control/run?deltas=true HTTP/1.1");
    assert_eq!(plain, "POST /control/run HTTP/1.1");
    // A run that has begun is joined where it began: another route would not know its key.
    let failed = format!("event: error\ndata: {stopped}\n\n");
    let host = Host::start(vec![
        stream("e", &delta(0, "word")),
        json(200, HANDSHAKE),
        json(503, full),
        json(200, HANDSHAKE),
        stream("e", &failed),
    ]);
    let ran = host.client().run_watched(&request, |_| {}).await;
    assert_eq!(ran.unwrap_err().code(), Some("agent_stopped"));
    let heard = host.heard();
    let runs: Vec<&String> = heard
        .iter()
        .filter(|line| line.starts_with("POST"))
        .collect();
    assert_eq!(runs, [&watched, &watched, &watched]);
    let keys = host.keys();
    assert!(keys[0].is_some() && keys[0] == keys[2] && keys[0] == keys[4]);
}

#[tokio::test(start_paused = true)]
async fn a_lost_run_is_not_sent_again_to_a_host_without_keys_or_to_none() {
    let request = holon_api::RunRequest::default();
    let old = HANDSHAKE.replace("control.idempotency", "control.run");
    let host = Host::start(vec![Script::HangUp, json(200, &old)]);
    let error = host.client().run(&request).await.unwrap_err();
    assert!(matches!(error, Error::Interrupted { .. }), "{error:?}");
    let runs = host.heard();
    let runs = runs.iter().filter(|line| line.starts_with("POST")).count();
    assert_eq!(runs, 1);
    // The host does not come back.
    let host = Host::start(vec![Script::HangUp]);
    let error = host.client().run(&request).await.unwrap_err();
    assert!(matches!(error, Error::Interrupted { .. }), "{error:?}");
    // There was none, so nothing can have begun.
    let error = host.client().run(&request).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_watched_run_that_waits_for_its_turn_names_its_message() {
    let queued =
        "event: run_queued\ndata: {\"message_id\":\"msg_1\",\"message_seq\":4,\"later\":true}\n\n";
    let unknown = "event: run_of_a_newer_host\ndata: {\"message_seq\":4}\n\n";
    let frames = format!("{unknown}{queued}{}", delta(0, "word"));
    let host = Host::start(vec![stream("e", &frames)]);
    let mut seen = Vec::new();
    let request = holon_api::RunRequest::default();
    let client = host.client();
    let ran = client.run_watched(&request, |item| {
        seen.push(match item {
            RunItem::Queued(queued) => format!("{} {}", queued.message_id, queued.message_seq),
            RunItem::Event(envelope) => envelope.kind,
            RunItem::Delta(delta) => delta.text,
        });
    });
    assert!(matches!(ran.await, Err(Error::Interrupted { .. })));
    assert_eq!(seen, ["msg_1 4", "word"]);
}

#[tokio::test(start_paused = true)]
async fn the_stream_of_a_deleted_agent_ends_and_is_not_continued() {
    let end = format!(
        "{}event: agent_deleted\ndata: {{\"agent_id\":\"main\",\"after_seq\":5}}\n\n",
        event(5)
    );
    let host = Host::start(vec![stream("e", &end)]);
    let mut events = events(&host, Some(4));
    assert_eq!(take(&mut events, 1).await, [5]);
    let error = events.next().await.unwrap_err();
    assert!(matches!(error, Error::AgentDeleted { .. }), "{error:?}");
    assert_eq!(error.to_string(), "agent main was deleted");
    assert_eq!(host.heard().len(), 1, "it is not asked again");
}

#[tokio::test(start_paused = true)]
async fn the_stream_of_the_host_is_continued_by_its_own_cursor() {
    let at = |host_seq: u64, seq: u64| {
        let frame = event(seq);
        let data = frame.split_once("data: {").map_or("", |(_, data)| data);
        format!("id: {host_seq}\nevent: x\ndata: {{\"host_seq\":{host_seq},{data}")
    };
    let host = Host::start(vec![
        stream("e", &format!("{}{}", at(65_536, 9), at(131_072, 4))),
        stream("e", &format!("{}{}", at(131_072, 4), at(196_608, 10))),
    ]);
    let mut events = host.client().host_events_stream(Some(1));
    assert_eq!(take(&mut events, 3).await, [9, 4, 10]);
    assert_eq!(events.cursor(), Some(196_608));
    assert_eq!(
        host.heard(),
        [
            "GET /events/stream?after_seq=1 HTTP/1.1",
            "GET /events/stream?after_seq=131072 HTTP/1.1",
        ]
    );
}
