//! The events table: the audit and notification log of each agent, dense from its retention boundary on.
//!
//! The events of one decision are one row, packed together (`holon_domain::packed`): fewer rows to write, and the run,
//! the turn and the message that they share stand in it once. Rows of earlier builds are lists of plain payloads.

use crate::agents::{self, Tally};
use crate::error::Error;
use crate::row::{AgentNo, first, limit, readable, run};
use holon_domain::Timestamp;
use holon_domain::decision::EventSeq;
use holon_domain::event::Event;
use holon_domain::feed::{EventOrder, EventPage, EventQuery, EventRecord};
use holon_domain::packed::{self, StoredEvent};
use rusqlite::{Connection, Row, params};
use std::ops::RangeInclusive;

/// Selects the newest number among the rows of the host. A number above 2^46 is no host's: the row is damaged, and is
/// left out, so that numbers remain for the rows that follow.
macro_rules! newest_row {
    () => {
        "max(coalesce((SELECT max(row_no) FROM events WHERE row_no <= 70368744177664), 0), \
         coalesce((SELECT max(row_no) FROM removals WHERE row_no <= 70368744177664), 0))"
    };
}
pub(crate) use newest_row;

/// Finds the number of the next row, and whether a row already holds one of the new events. The counter beside the agent
/// may be too low, and the index does not detect it, because it knows only the last event of each row.
pub(crate) const NEXT: &str = concat!(
    "SELECT 1 + ",
    newest_row!(),
    ", EXISTS (SELECT 1 FROM events WHERE agent_no = ?1 AND last_seq >= ?2)"
);
const INSERT: &str =
    "INSERT INTO events (row_no, agent_no, last_seq, at, data) VALUES (?1, ?2, ?3, ?4, ?5)";
pub(crate) const ASCENDING: &str = "SELECT last_seq, at, data FROM events \
     WHERE agent_no = ?1 AND last_seq >= ?2 AND last_seq <= ?3 ORDER BY last_seq";
pub(crate) const DESCENDING: &str = "SELECT last_seq, at, data FROM events \
     WHERE agent_no = ?1 AND last_seq >= ?2 AND last_seq <= ?3 ORDER BY last_seq DESC";
/// Finds the row of an event: it ends with that event or a later one.
pub(crate) const ROW_OF: &str = "SELECT last_seq FROM events \
     WHERE agent_no = ?1 AND last_seq >= ?2 ORDER BY last_seq LIMIT 1";
pub(crate) const EXISTS: &str = "SELECT 1 FROM events WHERE agent_no = ?1 AND last_seq = ?2";

/// The first row of an agent that ends with an event or a later one, with its time.
pub(crate) const TIME_FROM: &str = "SELECT last_seq, at FROM events \
     WHERE agent_no = ?1 AND last_seq >= ?2 ORDER BY last_seq LIMIT 1";

/// The newest row of all agents. Row numbers follow the order of commits.
pub(crate) const NEWEST_AT: &str = "SELECT at FROM events ORDER BY row_no DESC LIMIT 1";

/// Approximate size of a row beside its text, for retention.
pub(crate) const ROW_BYTES: u64 = 40;

/// Returns the time of the last commit that recorded an event, for any agent.
pub(crate) fn newest_at(conn: &Connection) -> Result<Option<Timestamp>, Error> {
    let read = |row: &Row<'_>| Ok(Timestamp::from_millis(row.get(0)?));
    first(conn, NEWEST_AT, [], read)
}

/// Returns the position of the first event of an agent that was recorded at a time or later, by halving: times grow with
/// positions unless a clock was set back. The position after the last one if there is none.
pub(crate) fn first_at_or_after(
    conn: &Connection,
    no: AgentNo,
    time: Timestamp,
) -> Result<EventSeq, Error> {
    let tally = agents::tally(conn, no)?;
    let (mut low, mut high) = (
        tally.oldest_event.max(1),
        tally.newest_event.saturating_add(1),
    );
    while low < high {
        let middle = low + (high - low) / 2;
        let read = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
        let found = first(conn, TIME_FROM, params![no.0, middle], read)?;
        match found {
            Some((last, at)) if Timestamp::from_millis(at) < time => {
                low = u64::try_from(last).unwrap_or(middle).max(middle) + 1;
            }
            Some(_) | None => high = middle,
        }
    }
    Ok(low)
}

/// The events of one decision, which become one row.
#[derive(Debug, Default)]
pub(crate) struct EventBatch {
    first: EventSeq,
    at: Timestamp,
    events: Vec<StoredEvent>,
}

impl EventBatch {
    /// Adds an event, which must have the next number.
    pub(crate) fn add(
        &mut self,
        seq: EventSeq,
        at: Timestamp,
        event: &Event,
        tally: &mut Tally,
    ) -> Result<(), Error> {
        if seq != tally.newest_event + 1 {
            return Err(Error::contradiction(format!(
                "event {seq} follows event {}",
                tally.newest_event
            )));
        }
        if self.events.is_empty() {
            self.first = seq;
        }
        self.at = at;
        self.events.push(event.to_stored()?);
        tally.newest_event = seq;
        Ok(())
    }

    /// Writes the row, unless it is empty.
    pub(crate) fn write(
        self,
        conn: &Connection,
        no: AgentNo,
        tally: &mut Tally,
    ) -> Result<(), Error> {
        if self.events.is_empty() {
            return Ok(());
        }
        let data = packed::pack_events(&self.events);
        let last = tally.newest_event;
        insert(conn, no, self.first..=last, self.at, &data)?;
        tally.event_bytes += ROW_BYTES + data.len() as u64;
        Ok(())
    }
}

fn insert(
    conn: &Connection,
    no: AgentNo,
    seqs: RangeInclusive<EventSeq>,
    at: Timestamp,
    data: &str,
) -> Result<(), Error> {
    let (start, last) = (seqs.start(), seqs.end());
    let next = first(conn, NEXT, params![no.0, start], |row| {
        Ok((row.get::<_, i64>(0)?, row.get(1)?))
    })?;
    let Some((row_no, false)) = next else {
        return Err(Error::contradiction(format!(
            "event {start} is recorded already: the agent counts too few"
        )));
    };
    run(
        conn,
        INSERT,
        params![row_no, no.0, last, at.as_millis(), data],
    )?;
    Ok(())
}

/// The newest event number of an agent and the size of all its events.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EventEnds {
    pub(crate) newest: EventSeq,
    pub(crate) bytes: u64,
}

/// Records one event outside a decision. Returns the ends after it.
pub(crate) fn record_one(
    conn: &Connection,
    no: AgentNo,
    ends: EventEnds,
    at: Timestamp,
    event: &Event,
) -> Result<EventEnds, Error> {
    let data = packed::pack_events(&[event.to_stored()?]);
    let seq = ends.newest + 1;
    insert(conn, no, seq..=seq, at, &data)?;
    Ok(EventEnds {
        newest: seq,
        bytes: ends.bytes + ROW_BYTES + data.len() as u64,
    })
}

/// Returns true if a row ends with this event.
pub(crate) fn exists(conn: &Connection, no: AgentNo, seq: EventSeq) -> Result<bool, Error> {
    Ok(first(conn, EXISTS, params![no.0, seq], |_| Ok(()))?.is_some())
}

#[cfg(test)]
thread_local! {
    /// Rows that this thread has parsed, for the tests of what a page costs.
    static PARSED_ROWS: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Parses the events of one row, oldest first. Their columns begin at `column`.
pub(crate) fn read_events(row: &Row<'_>, column: usize) -> Result<Vec<EventRecord>, Error> {
    #[cfg(test)]
    PARSED_ROWS.set(PARSED_ROWS.get() + 1);
    let last_seq: EventSeq = row.get(column)?;
    let at = Timestamp::from_millis(row.get(column + 1)?);
    let unreadable = |reason: String| Error::Row {
        table: "events",
        key: last_seq.to_string(),
        reason,
    };
    let text = row.get_ref(column + 2)?.as_str();
    let text = text.map_err(|error| unreadable(error.to_string()))?;
    let stored = packed::unpack_events(text).map_err(|error| unreadable(error.to_string()))?;
    let first = (last_seq + 1).saturating_sub(stored.len() as u64);
    let events = stored
        .into_iter()
        .zip(first..)
        .map(|(stored, event_seq)| EventRecord {
            event_seq,
            at,
            event: Event::from_stored(stored),
            labels: None,
        });
    Ok(events.collect())
}

/// Reads the events of a range in the requested order, at most as many as wanted. Only rows with events of the range are
/// read, and none after the last wanted one. Rows that cannot be read are passed over: it reads on until there are
/// enough events or no row is left.
fn events_between(
    conn: &Connection,
    no: AgentNo,
    seqs: &RangeInclusive<EventSeq>,
    query: EventQuery,
) -> Result<Vec<EventRecord>, Error> {
    let wanted = usize::try_from(query.limit).unwrap_or(usize::MAX);
    let mut events = Vec::new();
    if seqs.is_empty() || wanted == 0 {
        return Ok(events);
    }
    // The row of the newest event may end with a later one.
    let top = first(conn, ROW_OF, params![no.0, limit(*seqs.end())], |row| {
        Ok(row.get::<_, i64>(0)?)
    })?;
    let sql = match query.order {
        EventOrder::Ascending => ASCENDING,
        EventOrder::Descending => DESCENDING,
    };
    let bounds = params![
        no.0,
        limit(*seqs.start()),
        top.unwrap_or_else(|| limit(*seqs.end()))
    ];
    let mut statement = conn.prepare_cached(sql)?;
    let mut rows = statement.query(bounds)?;
    while events.len() < wanted
        && let Some(row) = rows.next()?
    {
        let mut of_row = readable(conn, read_events(row, 0))?.unwrap_or_default();
        if query.order == EventOrder::Descending {
            of_row.reverse();
        }
        let in_range = |event: &EventRecord| seqs.contains(&event.event_seq);
        let left = wanted - events.len();
        events.extend(of_row.into_iter().filter(in_range).take(left));
    }
    Ok(events)
}

/// Reads a page of events between the bounds of a query.
pub(crate) fn page(conn: &Connection, no: AgentNo, query: EventQuery) -> Result<EventPage, Error> {
    let tally = agents::tally(conn, no)?;
    // Numbers begin with 1, even if a damaged row says otherwise.
    let (oldest, newest) = (tally.oldest_event.max(1), tally.newest_event);
    let low = query
        .after_seq
        .map_or(oldest, |after| after.saturating_add(1).max(oldest));
    let high = query
        .before_seq
        .map_or(newest, |before| before.saturating_sub(1).min(newest));
    let events = events_between(conn, no, &(low..=high), query)?;
    let seqs = || events.iter().map(|event| event.event_seq);
    // The position of an empty page is just above its lower bound.
    let first_seq = seqs().min().unwrap_or(low);
    let last = seqs().max().unwrap_or(low - 1);
    let stored = oldest <= newest;
    // All that follows cannot be read. A reader that goes on from here waits for the next event.
    let has_nothing_left = query.order == EventOrder::Ascending && events.is_empty() && low <= high;
    Ok(EventPage {
        oldest_seq: stored.then_some(oldest),
        newest_seq: stored.then_some(newest),
        has_older: stored && first_seq > oldest,
        has_newer: stored && last < newest && !has_nothing_left,
        events,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Db;
    use crate::samples::Scribe;

    #[test]
    fn a_row_that_says_events_begin_with_none_is_read_from_the_first() {
        let mut db = Db::in_memory().expect("opens");
        let mut scribe = Scribe::new("a");
        let no = db
            .write(|tx| tx.create_agent(&scribe.record))
            .expect("creates");
        let decision = scribe.event().decide();
        db.write(|tx| tx.apply(no, &decision)).expect("writes");
        let damage = "UPDATE agents SET oldest_event = 0";
        db.conn.execute(damage, []).expect("changes");
        for query in [
            EventQuery::default(),
            EventQuery {
                before_seq: Some(1),
                ..EventQuery::default()
            },
        ] {
            let found = page(&db.conn, no, query).expect("reads");
            assert_eq!((found.oldest_seq, found.newest_seq), (Some(1), Some(1)));
        }
    }

    #[test]
    fn a_page_of_one_event_passes_over_many_rows_that_cannot_be_read() {
        let mut db = Db::in_memory().expect("opens");
        let mut scribe = Scribe::new("a");
        let no = db
            .write(|tx| tx.create_agent(&scribe.record))
            .expect("creates");
        for _ in 0..200 {
            let decision = scribe.event().decide();
            db.write(|tx| tx.apply(no, &decision)).expect("writes");
        }
        let damage = "UPDATE events SET data = 'x' WHERE last_seq BETWEEN 10 AND 190";
        db.conn.execute(damage, []).expect("changes");
        let seen = |after_seq, before_seq, order| {
            let query = EventQuery {
                after_seq,
                before_seq,
                limit: 1,
                order,
            };
            let found = page(&db.conn, no, query).expect("reads");
            let seqs: Vec<EventSeq> = found.events.iter().map(|event| event.event_seq).collect();
            (seqs, found.has_newer)
        };
        assert_eq!(
            seen(Some(9), None, EventOrder::Ascending),
            (vec![191], true)
        );
        assert_eq!(seen(None, Some(191), EventOrder::Descending).0, [9]);
        let damage = "UPDATE events SET data = 'x' WHERE last_seq > 190";
        db.conn.execute(damage, []).expect("changes");
        assert_eq!(seen(Some(9), None, EventOrder::Ascending), (vec![], false));
    }

    /// An agent with this many rows of one event each.
    fn with_rows(count: u64) -> (Db, AgentNo) {
        let mut db = Db::in_memory().expect("opens");
        let mut scribe = Scribe::new("a");
        let no = db
            .write(|tx| tx.create_agent(&scribe.record))
            .expect("creates");
        for _ in 0..count {
            let decision = scribe.event().decide();
            db.write(|tx| tx.apply(no, &decision)).expect("writes");
        }
        (db, no)
    }

    #[test]
    fn a_page_reads_only_rows_with_wanted_events() {
        let (db, no) = with_rows(200);
        let both = [EventOrder::Ascending, EventOrder::Descending];
        let cases = [
            // Nothing lies between the bounds.
            (None, Some(1), 50, 0),
            (Some(100), Some(101), 50, 0),
            (Some(100), Some(50), 50, 0),
            (Some(u64::MAX), Some(0), 50, 0),
            // The page is smaller than what is left.
            (None, None, 1, 1),
            (Some(10), Some(150), 1, 1),
            (Some(10), Some(13), 50, 2),
            (None, None, 0, 0),
        ];
        for ((after_seq, before_seq, limit, rows), order) in cases
            .iter()
            .flat_map(|case| both.map(|order| (*case, order)))
        {
            let query = EventQuery {
                after_seq,
                before_seq,
                limit,
                order,
            };
            PARSED_ROWS.set(0);
            let found = page(&db.conn, no, query).expect("reads");
            assert_eq!(found.events.len(), rows, "{query:?}");
            assert_eq!(PARSED_ROWS.get(), rows, "{query:?}");
        }
    }

    #[test]
    fn a_page_begins_and_ends_within_rows_of_several_events() {
        let mut db = Db::in_memory().expect("opens");
        let mut scribe = Scribe::new("a");
        let no = db
            .write(|tx| tx.create_agent(&scribe.record))
            .expect("creates");
        for _ in 0..5 {
            let decision = scribe.event().event().event().event().decide();
            db.write(|tx| tx.apply(no, &decision)).expect("writes");
        }
        for (after, before) in (0..22).flat_map(|after| (0..23).map(move |before| (after, before)))
        {
            for (order, limit) in [
                (EventOrder::Ascending, 3),
                (EventOrder::Descending, 3),
                (EventOrder::Ascending, 50),
                (EventOrder::Descending, 50),
            ] {
                let query = EventQuery {
                    after_seq: Some(after),
                    before_seq: Some(before),
                    limit,
                    order,
                };
                let mut wanted: Vec<u64> = (after + 1..before.min(21)).collect();
                if order == EventOrder::Descending {
                    wanted.reverse();
                }
                wanted.truncate(usize::try_from(limit).expect("small"));
                let found = page(&db.conn, no, query).expect("reads");
                let seqs: Vec<u64> = found.events.iter().map(|event| event.event_seq).collect();
                assert_eq!(seqs, wanted, "{query:?}");
            }
        }
    }
}
