//! Notices of commits, and cursors that are older than the oldest kept event.

use crate::house::{House, agent, at_rest, briefs, commits, events, prompt, until};
use holon_domain::agent::AgentStatus;
use holon_domain::feed::{EventOrder, EventQuery};
use holon_domain::limits;
use holon_domain::message::Origin;
use holon_engine::Error;
use holon_testkit::ports::says;

#[tokio::test]
async fn every_commit_with_events_is_news_of_the_newest() {
    let house = House::new();
    let host = house.with_main().await;
    // The preparation of the home is a notice, too.
    until(&host, "main", |status| {
        status.agent.status == AgentStatus::Asleep
    })
    .await;
    let mut news = host.reads().subscribe();
    let before = events(&host, "main").await.len() as u64;
    prompt(&host, "main", "hello").await;
    let notice = news.recv().await.expect("news");
    assert_eq!(notice.agent_id, agent("main"));
    let now = events(&host, "main").await.len() as u64;
    assert_eq!(notice.newest_seq, now);
    assert!(now > before);
    house.model.next().await.answer(says("hi"));
    let notice = news.recv().await.expect("news");
    assert_eq!(notice.newest_seq, events(&host, "main").await.len() as u64);
}

#[tokio::test]
async fn every_event_of_a_turn_is_read_with_the_labels_of_its_message() {
    let house = House::new();
    let host = house.with_main().await;
    let admitted = prompt(&host, "main", "hello").await;
    house.model.next().await.answer(says("hi"));
    at_rest(&host, "main").await;
    let query = EventQuery {
        limit: 512,
        ..EventQuery::default()
    };
    let page = host.reads().events(&agent("main"), query).await;
    let records = page.expect("events").events;
    for kind in [
        "turn_started",
        "turn_context_built",
        "provider_round_completed",
        "assistant_round_recorded",
        "turn_terminal",
        "brief_created",
    ] {
        let found = records.iter().find(|record| record.event.kind() == kind);
        let labels = found.and_then(|record| record.labels.as_deref());
        let labels = labels.unwrap_or_else(|| panic!("{kind} has no labels"));
        assert_eq!(labels.message_id, admitted.message_id, "{kind}");
        assert_eq!(labels.origin, Origin::Operator { actor_id: None }, "{kind}");
    }
}

#[tokio::test]
async fn reading_changes_nothing_and_wakes_nobody() {
    let house = House::new();
    let host = house.with_main().await;
    let before = commits(&host, "main").await;
    host.reads().agents().await.expect("a list");
    at_rest(&host, "main").await;
    events(&host, "main").await;
    host.reads()
        .transcript(&agent("main"), 10)
        .await
        .expect("a transcript");
    assert_eq!(commits(&host, "main").await, before);
    assert!(house.model.is_quiet().await);
}

#[tokio::test]
async fn the_events_of_an_agent_that_counts_above_forgotten_names_are_read_from_the_beginning() {
    let house = House::new();
    let host = house.with_main().await;
    house.damage("INSERT INTO meta (key, value) VALUES ('event_floor', '1000')");
    crate::house::create(&host, "new").await;
    for order in [EventOrder::Ascending, EventOrder::Descending] {
        let all = EventQuery {
            before_seq: None,
            after_seq: Some(0),
            limit: 1,
            order,
        };
        let page = host.reads().events(&agent("new"), all).await;
        let page = page.expect("nothing was removed");
        assert_eq!(page.oldest_seq, Some(1_001));
    }
    let old = EventQuery {
        after_seq: Some(7),
        limit: 1,
        ..EventQuery::default()
    };
    let refused = host.reads().events(&agent("new"), old).await;
    assert!(
        matches!(refused, Err(Error::CursorTooOld { .. })),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_cursor_older_than_what_is_kept_is_refused_with_where_to_go_on() {
    let house = House::new();
    let host = house.start_with(0).await;
    crate::house::create(&host, "main").await;
    // Enough turns to have more events than the number every agent keeps.
    let mut told = 0;
    loop {
        prompt(&host, "main", "hello").await;
        house.model.next().await.answer(says("hi"));
        told += 1;
        briefs(&host, "main", told.min(100)).await;
        let newest = at_rest(&host, "main").await.newest_seq;
        if newest > limits::EVENTS_KEPT_PER_AGENT + 500 {
            break;
        }
    }
    house.clock.advance(60_000);
    let first = EventQuery {
        before_seq: None,
        after_seq: Some(0),
        limit: 10,
        order: EventOrder::Ascending,
    };
    let refusal = loop {
        match host.reads().events(&agent("main"), first).await {
            Err(refusal) => break refusal,
            Ok(_) => tokio::task::yield_now().await,
        }
    };
    let Error::CursorTooOld { oldest_seq, .. } = refusal else {
        panic!("{refusal}");
    };
    let after = EventQuery {
        after_seq: Some(oldest_seq - 1),
        ..first
    };
    let page = host.reads().events(&agent("main"), after).await;
    assert_eq!(page.expect("a page").events[0].event_seq, oldest_seq);
}

#[tokio::test]
async fn a_page_of_events_has_a_bounded_part_of_the_texts_of_briefs() {
    let house = House::new();
    let host = house.with_main().await;
    let most = limits::EVENT_PAGE_BRIEF_BYTES / limits::EVENT_BRIEF_BYTES;
    let long = "x".repeat(limits::EVENT_BRIEF_BYTES + 1);
    for count in 1..=most + 3 {
        prompt(&host, "main", "tell").await;
        house.model.next().await.answer(says(&long));
        briefs(&host, "main", count).await;
    }
    let query = EventQuery {
        limit: 512,
        ..EventQuery::default()
    };
    let page = host.reads().events(&agent("main"), query).await;
    let told = page.expect("events").events.into_iter();
    let told: Vec<_> = told
        .filter_map(|record| match record.event {
            holon_domain::event::Event::BriefCreated(brief) => Some(brief),
            _ => None,
        })
        .collect();
    assert_eq!(told.len(), most + 3);
    let bytes = told.iter().filter_map(|brief| brief.text.as_ref());
    let bytes: usize = bytes.map(String::len).sum();
    assert!(bytes <= limits::EVENT_PAGE_BRIEF_BYTES, "{bytes}");
    assert!(told[0].text.is_some() && told[most + 2].text.is_none());
    assert!(told.iter().all(|brief| !brief.text_preview.is_empty()));
}

#[tokio::test]
async fn a_row_that_only_a_reader_needs_does_not_make_its_agent_one_that_was_put_aside() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "tell").await;
    house.model.next().await.answer(says("hi"));
    briefs(&host, "main", 1).await;
    house.damage("UPDATE log SET entry = 'x' WHERE seq = 1");
    let read = host.reads().transcript(&agent("main"), 10).await;
    assert!(
        matches!(read, Err(Error::AgentUnreadable { .. })),
        "{read:?}"
    );
    at_rest(&host, "main").await;
}
