//! Retention: removes a prefix of events from the largest holders, and a cursor can tell that it is too old.

use crate::samples::{Scribe, at, id};
use crate::{apply, with_agent};
use holon_domain::decision::Fact;
use holon_domain::event::Event;
use holon_domain::feed::{EventOrder, EventQuery};
use holon_store::{AgentNo, Db};

/// Records `count` events of about a kilobyte each, one decision each.
fn fill(db: &mut Db, no: AgentNo, scribe: &mut Scribe, count: u64) {
    for _ in 0..count {
        scribe.record.counters.events += 1;
        let seq = scribe.record.counters.events;
        let data = serde_json::json!({ "text": "x".repeat(1_000) });
        let event = Event::Unknown {
            kind: "filler".to_owned(),
            version: 1,
            data,
        };
        scribe.fact(Fact::EventRecorded {
            seq,
            at: at(0),
            event,
        });
        let decision = scribe.decide();
        db.write(|tx| tx.apply(no, &decision)).expect("writes");
    }
}

#[test]
fn the_events_of_one_decision_go_together_or_stay() {
    let mut scribe = Scribe::new("a");
    let (mut db, no) = with_agent(&scribe.record);
    for _ in 0..4 {
        scribe.event().event().event();
        apply(&mut db, no, &scribe.decide()).expect("writes");
    }
    db.write(|tx| tx.trim_events(0, 4, 100)).expect("trims");
    assert_eq!(
        held(&db, no),
        (1..=12).collect::<Vec<_>>(),
        "too little is held to bother"
    );
    fill(&mut db, no, &mut scribe, 200);
    assert_eq!(
        trim(&mut db, 0, 200, 4),
        3,
        "a row of three fits in four, two rows do not"
    );
    assert_eq!(held(&db, no), (4..=212).collect::<Vec<_>>());
    let page = |order, before_seq, limit| {
        let query = EventQuery {
            before_seq,
            limit,
            order,
            ..EventQuery::default()
        };
        let page = db.reader().events(no, query).expect("reads");
        page.events
            .iter()
            .map(|event| event.event_seq)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        page(EventOrder::Descending, Some(9), 4),
        [8, 7, 6, 5],
        "from the middle of a row"
    );
    assert_eq!(page(EventOrder::Ascending, Some(6), 9), [4, 5]);
}

fn held(db: &Db, no: AgentNo) -> Vec<u64> {
    let query = EventQuery {
        limit: 100_000,
        order: EventOrder::Ascending,
        ..EventQuery::default()
    };
    let page = db.reader().events(no, query).expect("reads");
    let held: Vec<u64> = page.events.iter().map(|event| event.event_seq).collect();
    assert_eq!(page.oldest_seq, held.first().copied());
    assert_eq!(page.newest_seq, held.last().copied());
    held
}

fn trim(db: &mut Db, budget: u64, keep: u64, step: u64) -> u64 {
    db.write(|tx| tx.trim_events(budget, keep, step))
        .expect("trims")
}

#[test]
fn what_goes_is_a_prefix_in_bounded_steps_and_the_newest_stay() {
    let mut scribe = Scribe::new("a");
    let (mut db, no) = with_agent(&scribe.record);
    fill(&mut db, no, &mut scribe, 300);
    assert_eq!(trim(&mut db, 0, 50, 100), 100);
    assert_eq!(held(&db, no), (101..=300).collect::<Vec<_>>());
    assert_eq!(trim(&mut db, 0, 50, 1_000), 150);
    assert_eq!(held(&db, no), (251..=300).collect::<Vec<_>>());
    assert_eq!(trim(&mut db, 0, 50, 1_000), 0);
    fill(&mut db, no, &mut scribe, 1);
    assert_eq!(
        held(&db, no),
        (251..=301).collect::<Vec<_>>(),
        "positions go on"
    );
}

#[test]
fn inside_the_budget_nothing_goes() {
    let mut scribe = Scribe::new("a");
    let (mut db, no) = with_agent(&scribe.record);
    fill(&mut db, no, &mut scribe, 300);
    assert_eq!(trim(&mut db, 1 << 20, 0, 1_000), 0);
    assert_eq!(held(&db, no).len(), 300);
}

#[test]
fn the_largest_holder_gives_first_and_only_until_the_budget_is_met() {
    let (mut small, mut large) = (Scribe::new("small"), Scribe::new("large"));
    let (mut db, small_no) = with_agent(&small.record);
    let large_no = db
        .write(|tx| tx.create_agent(&large.record))
        .expect("creates");
    fill(&mut db, small_no, &mut small, 200);
    fill(&mut db, large_no, &mut large, 900);
    while trim(&mut db, 600 << 10, 10, 100) > 0 {}
    assert_eq!(held(&db, small_no).len(), 200);
    let left = held(&db, large_no).len();
    assert!(
        (300..600).contains(&left),
        "{left} of the large holder's events are left"
    );
}

#[test]
fn large_holders_with_nothing_to_give_do_not_hold_the_others_up() {
    let event = |scribe: &mut Scribe, bytes: usize| {
        scribe.record.counters.events += 1;
        let event = Event::Unknown {
            kind: "filler".to_owned(),
            version: 1,
            data: serde_json::json!({ "text": "x".repeat(bytes) }),
        };
        let seq = scribe.record.counters.events;
        scribe.fact(Fact::EventRecorded {
            seq,
            at: at(0),
            event,
        });
    };
    let mut small = Scribe::new("small");
    let (mut db, small_no) = with_agent(&small.record);
    for _ in 0..5 {
        event(&mut small, 20 << 10);
        apply(&mut db, small_no, &small.decide()).expect("writes");
    }
    for number in 0..40 {
        let mut large = Scribe::new(&format!("large-{number}"));
        let no = db
            .write(|tx| tx.create_agent(&large.record))
            .expect("creates");
        (0..3).for_each(|_| event(&mut large, 60 << 10));
        apply(&mut db, no, &large.decide()).expect("writes");
    }
    // Each large one has one event too many, in a row with two that stay.
    assert_eq!(trim(&mut db, 0, 2, 100), 3);
    assert_eq!(held(&db, small_no), [4, 5]);
}

#[test]
fn a_cursor_before_the_boundary_can_be_told_from_one_at_it() {
    let mut scribe = Scribe::new("a");
    let (mut db, no) = with_agent(&scribe.record);
    fill(&mut db, no, &mut scribe, 300);
    trim(&mut db, 0, 100, 1_000);
    let after = |cursor| {
        let query = EventQuery {
            after_seq: Some(cursor),
            limit: 1,
            order: EventOrder::Ascending,
            before_seq: None,
        };
        let page = db.reader().events(no, query).expect("reads");
        let next = page.events.first().map(|event| event.event_seq);
        (next == Some(cursor + 1), page.oldest_seq)
    };
    assert_eq!(after(200), (true, Some(201)), "nothing was missed");
    assert_eq!(after(199), (false, Some(201)), "one event was missed");
}

#[test]
fn retention_survives_a_restart_with_its_accounts_in_order() {
    let mut scribe = Scribe::new("a");
    let (mut db, no) = with_agent(&scribe.record);
    fill(&mut db, no, &mut scribe, 300);
    trim(&mut db, 0, 200, 1_000);
    let mut db = Db::from_image(&db.image().expect("an image")).expect("starts");
    let (no, _) = db
        .reader()
        .agent(&id("a"))
        .expect("reads")
        .expect("is there");
    assert_eq!(
        trim(&mut db, 1 << 20, 0, 1_000),
        0,
        "what went is no longer counted"
    );
    assert_eq!(trim(&mut db, 0, 100, 1_000), 100);
    assert_eq!(held(&db, no), (201..=300).collect::<Vec<_>>());
}

#[test]
fn space_is_given_back_to_the_file_system() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("s.sqlite3");
    let mut db = Db::open(&path).expect("opens");
    let mut scribe = Scribe::new("a");
    let no = db
        .write(|tx| tx.create_agent(&scribe.record))
        .expect("creates");
    fill(&mut db, no, &mut scribe, 600);
    let before = db.image().expect("an image").len();
    trim(&mut db, 0, 10, 2_000);
    let after = db.image().expect("an image").len();
    assert!(after < before / 2, "{after} of {before} bytes are left");
    db.close().expect("closes");
}
