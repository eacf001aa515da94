//! The history of the host: the events of all agents in the order of their commits, with numbers that are never reused.

use crate::samples::{Scribe, agent, at, id};
use crate::{apply, with_agent};
use holon_domain::decision::Fact;
use holon_domain::event::Event;
use holon_domain::feed::EventOrder;
use holon_store::{AgentNo, Db, HostQuery, HostRowContent, HostRows, Ledger, Removal};

fn page(db: &Db, low: u64, limit: u64, order: EventOrder) -> HostRows {
    let query = HostQuery {
        low,
        high: u64::MAX,
        limit,
        order,
    };
    db.reader().host_events(query).expect("reads")
}

/// Describes rows: number, agent, and the numbers of its events; none for a removal.
fn describe(rows: &HostRows) -> Vec<(u64, String, Vec<u64>)> {
    let events = |content: &HostRowContent| match content {
        HostRowContent::Events { events, .. } => {
            events.iter().map(|event| event.event_seq).collect()
        }
        HostRowContent::Removed { .. } => Vec::new(),
    };
    rows.rows
        .iter()
        .map(|row| (row.row_no, row.agent_id.to_string(), events(&row.content)))
        .collect()
}

#[test]
fn rows_of_all_agents_come_in_the_order_of_their_commits() {
    let (mut one, mut two) = (Scribe::new("a"), Scribe::new("b"));
    let (mut db, first) = with_agent(&one.record);
    let second = db
        .write(|tx| tx.create_agent(&two.record))
        .expect("creates");
    apply(&mut db, first, &one.event().event().decide()).expect("writes");
    apply(&mut db, second, &two.event().decide()).expect("writes");
    apply(&mut db, first, &one.event().decide()).expect("writes");
    let row = |number: u64, name: &str, events: &[u64]| (number, name.to_owned(), events.to_vec());
    let all = [row(1, "a", &[1, 2]), row(2, "b", &[1]), row(3, "a", &[3])];
    let upward = page(&db, 0, 100, EventOrder::Ascending);
    assert_eq!(describe(&upward), all);
    assert_eq!((upward.newest, upward.reached), (3, None));
    let mut downward = describe(&page(&db, 0, 100, EventOrder::Descending));
    downward.reverse();
    assert_eq!(downward, all);
    let short = page(&db, 0, 2, EventOrder::Ascending);
    assert_eq!((short.rows.len(), short.reached), (1, Some(1)));
    let short = page(&db, 0, 3, EventOrder::Ascending);
    assert_eq!((short.rows.len(), short.reached), (2, Some(2)));
    let short = page(&db, 0, 2, EventOrder::Descending);
    assert_eq!((short.rows.len(), short.reached), (2, Some(2)));
}

#[test]
fn a_number_is_not_given_out_again_when_the_newest_agent_is_removed() {
    let (mut one, mut two) = (Scribe::new("a"), Scribe::new("b"));
    let (mut db, first) = with_agent(&one.record);
    let second = db
        .write(|tx| tx.create_agent(&two.record))
        .expect("creates");
    apply(&mut db, first, &one.event().decide()).expect("writes");
    apply(&mut db, second, &two.event().decide()).expect("writes");
    db.write(|tx| Ledger::add_tombstone(tx, &id("b"), at(7)))
        .expect("notes");
    db.write(|tx| Ledger::add_tombstone(tx, &id("b"), at(8)))
        .expect("notes again");
    let hidden = describe(&page(&db, 0, 100, EventOrder::Ascending));
    assert_eq!(
        hidden.len(),
        2,
        "its events are not shown any more: {hidden:?}"
    );
    while db
        .write(|tx| tx.remove_agent_rows(second, 1))
        .expect("removes")
        == Removal::More
    {}
    apply(&mut db, first, &one.event().decide()).expect("writes");
    let rows = page(&db, 0, 100, EventOrder::Ascending);
    let expected = [
        (1, "a".to_owned(), vec![1]),
        (3, "b".to_owned(), vec![]),
        (4, "a".to_owned(), vec![2]),
    ];
    assert_eq!(describe(&rows), expected);
    let Some(HostRowContent::Removed { event_seq, .. }) = rows.rows.get(1).map(|row| &row.content)
    else {
        panic!("{rows:?}");
    };
    assert_eq!(
        *event_seq, 2,
        "the removal takes the number after its last event"
    );
}

#[test]
fn another_agent_of_a_name_numbers_its_events_above_its_predecessor() {
    let mut one = Scribe::new("a");
    let (mut db, no) = with_agent(&one.record);
    apply(&mut db, no, &one.event().event().decide()).expect("writes");
    db.write(|tx| Ledger::add_tombstone(tx, &id("a"), at(7)))
        .expect("notes");
    while db.write(|tx| tx.remove_agent_rows(no, 1)).expect("removes") == Removal::More {}
    let floor = db
        .write(|tx| Ledger::event_floor(tx, &id("a")))
        .expect("reads");
    assert_eq!(floor, 3);
    let mut again = agent("a");
    again.counters.events = floor;
    let no = db.write(|tx| tx.create_agent(&again)).expect("creates");
    let mut again = Scribe::new("a");
    again.record.counters.events = floor;
    apply(&mut db, no, &again.event().decide()).expect("writes");
    let page = db.reader().events(
        no,
        holon_domain::feed::EventQuery {
            limit: 9,
            ..Default::default()
        },
    );
    let page = page.expect("reads");
    assert_eq!((page.oldest_seq, page.newest_seq), (Some(4), Some(4)));
}

/// Records `count` events of about a kilobyte each, one decision each.
fn fill(db: &mut Db, no: AgentNo, scribe: &mut Scribe, count: u64) {
    for _ in 0..count {
        scribe.record.counters.events += 1;
        let event = Event::Unknown {
            kind: "filler".to_owned(),
            version: 1,
            data: serde_json::json!({ "text": "x".repeat(1_000) }),
        };
        scribe.fact(Fact::EventRecorded {
            seq: scribe.record.counters.events,
            at: at(0),
            event,
        });
        apply(db, no, &scribe.decide()).expect("writes");
    }
}

#[test]
fn retention_says_up_to_which_row_events_are_gone() {
    let mut scribe = Scribe::new("a");
    let (mut db, no) = with_agent(&scribe.record);
    fill(&mut db, no, &mut scribe, 200);
    assert_eq!(page(&db, 0, 1, EventOrder::Ascending).trimmed, 0);
    let removed = db.write(|tx| tx.trim_events(0, 10, 50)).expect("trims");
    let rows = page(&db, 0, 1, EventOrder::Ascending);
    assert_eq!((rows.trimmed, rows.newest), (removed, 200));
    assert_eq!(rows.rows.first().map(|row| row.row_no), Some(removed + 1));
}

#[test]
fn rows_before_the_boundary_of_retention_are_not_shown_in_either_order() {
    let (mut small, mut large) = (Scribe::new("small"), Scribe::new("large"));
    let (mut db, first) = with_agent(&small.record);
    let second = db
        .write(|tx| tx.create_agent(&large.record))
        .expect("creates");
    apply(&mut db, first, &small.event().decide()).expect("writes");
    fill(&mut db, second, &mut large, 200);
    let removed = db.write(|tx| tx.trim_events(0, 10, 50)).expect("trims");
    for order in [EventOrder::Ascending, EventOrder::Descending] {
        let rows = page(&db, 0, 1_000, order);
        assert_eq!(rows.trimmed, removed + 1, "the small one has row 1");
        let oldest = rows.rows.iter().map(|row| row.row_no).min();
        assert_eq!(oldest, Some(rows.trimmed + 1), "{order:?}");
        assert_eq!((rows.newest, rows.reached), (201, None), "{order:?}");
    }
}
