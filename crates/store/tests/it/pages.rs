//! Pages of events: bounds, order and neighbours.

use crate::samples::Scribe;
use crate::{apply, with_agent};
use holon_domain::feed::{EventOrder, EventPage, EventQuery};
use holon_store::{AgentNo, Db};

fn ten_events() -> (Db, AgentNo) {
    let mut scribe = Scribe::new("a");
    let (mut db, no) = with_agent(&scribe.record);
    for _ in 0..10 {
        scribe.event();
    }
    apply(&mut db, no, &scribe.decide()).expect("writes");
    (db, no)
}

fn page(
    db: &Db,
    no: AgentNo,
    after: Option<u64>,
    before: Option<u64>,
    limit: u64,
    order: EventOrder,
) -> EventPage {
    let query = EventQuery {
        before_seq: before,
        after_seq: after,
        limit,
        order,
    };
    db.reader().events(no, query).expect("reads")
}

fn positions(page: &EventPage) -> Vec<u64> {
    page.events.iter().map(|event| event.event_seq).collect()
}

/// After, before, limit and order; then the positions, and if there are older and newer ones.
type Case = (
    Option<u64>,
    Option<u64>,
    u64,
    EventOrder,
    &'static [u64],
    bool,
    bool,
);

#[test]
fn a_page_holds_what_its_bounds_say_in_the_order_asked_for() {
    use EventOrder::{Ascending, Descending};
    let (db, no) = ten_events();
    let cases: [Case; 10] = [
        (None, None, 3, Ascending, &[1, 2, 3], false, true),
        (None, None, 3, Descending, &[10, 9, 8], true, false),
        (Some(4), None, 2, Ascending, &[5, 6], true, true),
        (Some(8), None, 9, Ascending, &[9, 10], true, false),
        (None, Some(4), 2, Descending, &[3, 2], true, true),
        (Some(2), Some(6), 9, Ascending, &[3, 4, 5], true, true),
        (Some(10), None, 9, Ascending, &[], true, false),
        (None, Some(1), 9, Descending, &[], false, true),
        (
            None,
            None,
            99,
            Ascending,
            &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
            false,
            false,
        ),
        (Some(u64::MAX), None, 9, Ascending, &[], true, false),
    ];
    for (after, before, limit, order, expected, older, newer) in cases {
        let page = page(&db, no, after, before, limit, order);
        let case = format!("after {after:?} before {before:?} limit {limit} {order:?}");
        assert_eq!(positions(&page), expected, "{case}");
        assert_eq!((page.has_older, page.has_newer), (older, newer), "{case}");
        assert_eq!(
            (page.oldest_seq, page.newest_seq),
            (Some(1), Some(10)),
            "{case}"
        );
    }
}

#[test]
fn an_agent_without_events_has_an_empty_page_without_bounds() {
    let (db, no) = with_agent(&Scribe::new("a").record);
    let page = page(&db, no, None, None, 9, EventOrder::Descending);
    assert_eq!(
        page,
        EventPage {
            events: Vec::new(),
            oldest_seq: None,
            newest_seq: None,
            has_older: false,
            has_newer: false
        }
    );
}
