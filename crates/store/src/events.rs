//! The events table: the audit and notification log of each agent, dense from its retention boundary on.
//!
//! The events of one decision are one row, packed together (`holon_domain::packed`): fewer rows to write, and the run,
//! the turn and the message that they share stand in it once. Rows of earlier builds are lists of plain payloads.

use crate::agents::{self, Tally};
use crate::error::Error;
use crate::row::{AgentNo, all, first, limit, run};
use holon_domain::Timestamp;
use holon_domain::decision::EventSeq;
use holon_domain::event::Event;
use holon_domain::feed::{EventOrder, EventPage, EventQuery, EventRecord};
use holon_domain::packed::{self, StoredEvent};
use rusqlite::{Connection, Row, params};
use std::ops::RangeInclusive;

/// Finds the number of the next row, and whether a row already holds one of the new events. The counter beside the agent
/// may be too low, and the index does not detect it, because it knows only the last event of each row.
pub(crate) const NEXT: &str = "SELECT 1 + max(coalesce((SELECT max(row_no) FROM events), 0), \
     coalesce((SELECT max(row_no) FROM removals), 0)), \
     EXISTS (SELECT 1 FROM events WHERE agent_no = ?1 AND last_seq >= ?2)";
const INSERT: &str =
    "INSERT INTO events (row_no, agent_no, last_seq, at, data) VALUES (?1, ?2, ?3, ?4, ?5)";
pub(crate) const ASCENDING: &str = "SELECT last_seq, at, data FROM events \
     WHERE agent_no = ?1 AND last_seq >= ?2 ORDER BY last_seq LIMIT ?3";
pub(crate) const DESCENDING: &str = "SELECT last_seq, at, data FROM events \
     WHERE agent_no = ?1 AND last_seq >= ?2 AND last_seq <= ?3 ORDER BY last_seq DESC LIMIT ?4";
/// Finds the row of an event: it ends with that event or a later one.
pub(crate) const ROW_OF: &str = "SELECT last_seq FROM events \
     WHERE agent_no = ?1 AND last_seq >= ?2 ORDER BY last_seq LIMIT 1";
pub(crate) const EXISTS: &str = "SELECT 1 FROM events WHERE agent_no = ?1 AND last_seq = ?2";

/// The newest row of all agents. Row numbers follow the order of commits.
pub(crate) const NEWEST_AT: &str = "SELECT at FROM events ORDER BY row_no DESC LIMIT 1";

/// Approximate size of a row beside its text, for retention.
pub(crate) const ROW_BYTES: u64 = 40;

/// Returns the time of the last commit that recorded an event, for any agent.
pub(crate) fn newest_at(conn: &Connection) -> Result<Option<Timestamp>, Error> {
    let read = |row: &Row<'_>| Ok(Timestamp::from_millis(row.get(0)?));
    first(conn, NEWEST_AT, [], read)
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

fn read_row(row: &Row<'_>) -> Result<Vec<EventRecord>, Error> {
    read_events(row, 0)
}

/// Parses the events of one row, oldest first. Their columns begin at `column`.
pub(crate) fn read_events(row: &Row<'_>, column: usize) -> Result<Vec<EventRecord>, Error> {
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

/// Reads the rows that hold the events of a range, at most as many as there may be events.
fn rows_between(
    conn: &Connection,
    no: AgentNo,
    seqs: RangeInclusive<EventSeq>,
    query: EventQuery,
) -> Result<Vec<EventRecord>, Error> {
    let (low, high) = (*seqs.start(), *seqs.end());
    let rows = match query.order {
        EventOrder::Ascending => all(
            conn,
            ASCENDING,
            params![no.0, limit(low), limit(query.limit)],
            read_row,
        )?,
        EventOrder::Descending => {
            let top = first(conn, ROW_OF, params![no.0, limit(high)], |row| {
                Ok(row.get::<_, u64>(0)?)
            })?;
            let range = params![
                no.0,
                limit(low),
                limit(top.unwrap_or(high)),
                limit(query.limit)
            ];
            let mut rows = all(conn, DESCENDING, range, read_row)?;
            rows.iter_mut().for_each(|events| events.reverse());
            rows
        }
    };
    let wanted = rows
        .into_iter()
        .flatten()
        .filter(|event| seqs.contains(&event.event_seq));
    Ok(wanted
        .take(usize::try_from(query.limit).unwrap_or(usize::MAX))
        .collect())
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
    let events = rows_between(conn, no, low..=high, query)?;
    let seqs = || events.iter().map(|event| event.event_seq);
    // The position of an empty page is just above its lower bound.
    let first_seq = seqs().min().unwrap_or(low);
    let last = seqs().max().unwrap_or(low - 1);
    let stored = oldest <= newest;
    Ok(EventPage {
        oldest_seq: stored.then_some(oldest),
        newest_seq: stored.then_some(newest),
        has_older: stored && first_seq > oldest,
        has_newer: stored && last < newest,
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
}
