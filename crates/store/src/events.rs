//! The events table: the audit and notification log of each agent, dense from its retention boundary on.

use crate::agents::{self, Tally};
use crate::error::Error;
use crate::row::{AgentNo, all, limit, run};
use holon_domain::Timestamp;
use holon_domain::decision::EventSeq;
use holon_domain::event::Event;
use holon_domain::feed::{EventOrder, EventPage, EventQuery, EventRecord};
use rusqlite::{Connection, Row, params};

const INSERT: &str =
    "INSERT INTO events (agent_no, seq, at, kind, version, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
pub(crate) const ASCENDING: &str = "SELECT seq, at, kind, version, data FROM events \
     WHERE agent_no = ?1 AND seq >= ?2 AND seq <= ?3 ORDER BY seq LIMIT ?4";
pub(crate) const DESCENDING: &str = "SELECT seq, at, kind, version, data FROM events \
     WHERE agent_no = ?1 AND seq >= ?2 AND seq <= ?3 ORDER BY seq DESC LIMIT ?4";
pub(crate) const EXISTS: &str = "SELECT 1 FROM events WHERE agent_no = ?1 AND seq = ?2";

/// What a row takes beside its texts, roughly; retention accounts with it.
pub(crate) const ROW_BYTES: u64 = 24;

/// Records an event; it must be the next one.
pub(crate) fn record(
    conn: &Connection,
    no: AgentNo,
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
    let (kind, data) = (event.kind(), event.encode()?);
    run(
        conn,
        INSERT,
        params![no.0, seq, at.as_millis(), kind, event.version(), data],
    )?;
    tally.newest_event = seq;
    tally.event_bytes += ROW_BYTES + (kind.len() + data.len()) as u64;
    Ok(())
}

/// Whether an event is stored.
pub(crate) fn exists(conn: &Connection, no: AgentNo, seq: EventSeq) -> Result<bool, Error> {
    Ok(crate::row::first(conn, EXISTS, params![no.0, seq], |_| Ok(()))?.is_some())
}

fn read_event(row: &Row<'_>) -> Result<EventRecord, Error> {
    let event_seq: EventSeq = row.get(0)?;
    let text = |column| {
        row.get_ref(column)
            .map(|value| value.as_str().unwrap_or_default())
    };
    let event = Event::decode(text(2)?, row.get(3)?, text(4)?);
    Ok(EventRecord {
        event_seq,
        at: Timestamp::from_millis(row.get(1)?),
        event,
    })
}

/// A page of events between the bounds of a query.
pub(crate) fn page(conn: &Connection, no: AgentNo, query: EventQuery) -> Result<EventPage, Error> {
    let tally = agents::tally(conn, no)?;
    let (oldest, newest) = (tally.oldest_event, tally.newest_event);
    let low = query
        .after_seq
        .map_or(oldest, |after| after.saturating_add(1).max(oldest));
    let high = query
        .before_seq
        .map_or(newest, |before| before.saturating_sub(1).min(newest));
    let sql = match query.order {
        EventOrder::Ascending => ASCENDING,
        EventOrder::Descending => DESCENDING,
    };
    let events = all(
        conn,
        sql,
        params![no.0, limit(low), limit(high), limit(query.limit)],
        read_event,
    )?;
    let seqs = || events.iter().map(|event| event.event_seq);
    // An empty page lies just above its lower bound.
    let first = seqs().min().unwrap_or(low);
    let last = seqs().max().unwrap_or(low - 1);
    let stored = oldest <= newest;
    Ok(EventPage {
        oldest_seq: stored.then_some(oldest),
        newest_seq: stored.then_some(newest),
        has_older: stored && first > oldest,
        has_newer: stored && last < newest,
        events,
    })
}
