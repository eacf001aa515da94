//! The events of all agents in the order of their commits, and the removals of agents among them.
//!
//! Rows of `events` and of `removals` share one series of numbers. Invariant: no number is given out twice, because a row
//! of `removals` keeps the highest number before the row that holds it is removed. Only agents that callers know are
//! shown, and none whose rows are being removed.

use crate::agents::parse_id;
use crate::error::Error;
use crate::events::read_events;
use crate::row::{AgentNo, all, first, limit, run};
use crate::tombstones::Tombstone;
use holon_domain::decision::EventSeq;
use holon_domain::feed::{EventOrder, EventRecord};
use holon_domain::{AgentId, Timestamp};
use rusqlite::{Connection, Row, params};
use std::ops::RangeInclusive;

/// The tombstone of an agent whose rows are being removed is not older than its events.
macro_rules! select_rows {
    () => {
        "SELECT e.row_no, e.agent_no, e.last_seq, e.at, e.data, \
         CASE WHEN a.visible = 1 AND t.agent_id IS NULL THEN a.agent_id END FROM events e \
         LEFT JOIN agents a ON a.agent_no = e.agent_no \
         LEFT JOIN tombstones t ON t.agent_id = a.agent_id AND t.newest_event >= a.oldest_event \
         WHERE e.row_no >= ?1 AND e.row_no <= ?2 ORDER BY e.row_no"
    };
}
pub(crate) const ASCENDING: &str = concat!(select_rows!(), " LIMIT ?3");
pub(crate) const DESCENDING: &str = concat!(select_rows!(), " DESC LIMIT ?3");
pub(crate) const REMOVALS: &str = "SELECT row_no, agent_id, newest_event, at FROM removals \
     WHERE row_no >= ?1 AND row_no <= ?2 AND agent_id IS NOT NULL ORDER BY row_no LIMIT ?3";
pub(crate) const NEWEST: &str = "SELECT max(coalesce((SELECT max(row_no) FROM events), 0), \
     coalesce((SELECT max(row_no) FROM removals), 0))";
const ADD_REMOVAL: &str = "INSERT INTO removals (row_no, agent_id, newest_event, at) \
     SELECT 1 + max(coalesce((SELECT max(row_no) FROM events), 0), coalesce((SELECT max(row_no) FROM removals), 0)), \
     ?1, ?2, ?3";
/// Keeps the highest number if it is that of this agent's row.
pub(crate) const KEEP_NUMBER: &str = "INSERT INTO removals (row_no, agent_id, newest_event, at) \
     SELECT row_no + 1, NULL, 0, at FROM events WHERE row_no = (SELECT max(row_no) FROM events) AND agent_no = ?1 \
     AND row_no > coalesce((SELECT max(row_no) FROM removals), 0)";
/// A number without a name is needed only until there is a higher one.
const FORGET_NUMBERS: &str =
    "DELETE FROM removals WHERE agent_id IS NULL AND row_no < (SELECT max(row_no) FROM removals)";
pub(crate) const FORGET_UNTIL: &str =
    "DELETE FROM removals WHERE row_no <= ?1 AND row_no < (SELECT max(row_no) FROM removals)";
pub(crate) const TRIMMED: &str =
    "SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'events_trimmed'";
const SET_TRIMMED: &str = "INSERT INTO meta (key, value) VALUES ('events_trimmed', ?1) \
     ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE CAST(value AS INTEGER) < CAST(?1 AS INTEGER)";

/// Rows looked at for one page at most. Rows of agents that callers do not know count too.
const ROWS_PER_PAGE: u64 = 4_096;
/// Rows that one query may look at, at least. A page of few events can have to pass over many rows that are not shown.
const ROWS_PER_QUERY: u64 = 128;

/// One row of the host's history.
#[derive(Debug, Clone, PartialEq)]
pub struct HostRow {
    /// Position among all rows of the host.
    pub row_no: u64,
    pub agent_id: AgentId,
    pub content: HostRowContent,
}

impl HostRow {
    /// Returns the number of entries that the row takes on a page.
    const fn entry_count(&self) -> u64 {
        match &self.content {
            HostRowContent::Events { events, .. } => events.len() as u64,
            HostRowContent::Removed { .. } => 1,
        }
    }
}

/// The content of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum HostRowContent {
    /// The events of one decision, oldest first.
    Events {
        no: AgentNo,
        events: Vec<EventRecord>,
    },
    /// The agent was removed, with all its events.
    Removed {
        /// The number that the removal takes among the agent's events.
        event_seq: EventSeq,
        at: Timestamp,
    },
}

/// Selection of the rows of a page.
#[derive(Debug, Clone, Copy)]
pub struct HostQuery {
    /// Lowest row that is wanted.
    pub low: u64,
    /// Highest row that is wanted.
    pub high: u64,
    /// Events after which the page is full.
    pub limit: u64,
    pub order: EventOrder,
}

/// A page of rows in the requested order.
#[derive(Debug, Clone, PartialEq)]
pub struct HostRows {
    pub rows: Vec<HostRow>,
    /// Retention has removed events up to this row; 0 if none.
    pub trimmed: u64,
    /// Newest row of the host; 0 if there is none.
    pub newest: u64,
    /// Last row that was looked at; absent if the page reaches the end of the selection.
    pub reached: Option<u64>,
}

/// Notes a removal. `agent_id` is absent if callers do not know the agent.
pub(crate) fn add_removal(
    conn: &Connection,
    agent_id: Option<&AgentId>,
    tombstone: Tombstone,
) -> Result<(), Error> {
    let name = agent_id.map(AgentId::as_str);
    let (newest, at) = (tombstone.newest_event, tombstone.deleted_at.as_millis());
    run(conn, ADD_REMOVAL, params![name, newest, at])?;
    Ok(())
}

/// Keeps the highest number of a row before rows of this agent are removed.
pub(crate) fn keep_numbers(conn: &Connection, no: AgentNo) -> Result<(), Error> {
    if run(conn, KEEP_NUMBER, [no.0])? > 0 {
        run(conn, FORGET_NUMBERS, [])?;
    }
    Ok(())
}

/// Notes that retention removed events up to a row. Removals of agents up to it are not kept either.
pub(crate) fn note_trimmed(conn: &Connection, row_no: u64) -> Result<(), Error> {
    run(conn, SET_TRIMMED, [row_no.to_string()])?;
    run(conn, FORGET_UNTIL, [row_no])?;
    Ok(())
}

/// Reads a page of rows. No page has rows up to `trimmed`: there, the history of the host is incomplete, and a cursor is
/// refused.
pub(crate) fn page(conn: &Connection, query: HostQuery) -> Result<HostRows, Error> {
    let number = |sql: &str| -> Result<u64, Error> {
        Ok(first(conn, sql, [], |row| Ok(row.get(0)?))?.unwrap_or(0))
    };
    let (newest, trimmed) = (number(NEWEST)?, number(TRIMMED)?);
    let low = query.low.max(trimmed.saturating_add(1));
    let mut left = low..=query.high.min(newest);
    let (mut rows, mut events, mut looked) = (Vec::new(), 0, 0);
    let mut reached = None;
    while !left.is_empty() && events < query.limit && looked < ROWS_PER_PAGE {
        let rest = HostQuery {
            limit: query.limit - events,
            ..query
        };
        let batch = batch(conn, &left, rest)?;
        let end = batch.end;
        looked += batch.looked;
        events += batch.rows.iter().map(HostRow::entry_count).sum::<u64>();
        rows.extend(batch.rows);
        left = match query.order {
            EventOrder::Ascending => end + 1..=*left.end(),
            EventOrder::Descending if end > *left.start() => *left.start()..=end - 1,
            EventOrder::Descending => RangeInclusive::new(1, 0),
        };
        reached = (!left.is_empty()).then_some(end);
    }
    Ok(HostRows {
        rows,
        trimmed,
        newest,
        reached,
    })
}

/// The number of a row, and the row if it is shown.
type NumberedRow = (u64, Option<HostRow>);

/// Rows of one query.
struct Batch {
    rows: Vec<HostRow>,
    looked: u64,
    /// Last row that the query covers.
    end: u64,
}

fn batch(conn: &Connection, range: &RangeInclusive<u64>, query: HostQuery) -> Result<Batch, Error> {
    let (found, is_full) = event_rows(conn, range, query)?;
    let last = found.last().map(|(row_no, _)| *row_no);
    let covered = match (query.order, is_full, last) {
        (EventOrder::Ascending, true, Some(last)) => *range.start()..=last,
        (EventOrder::Descending, true, Some(last)) => last..=*range.end(),
        (EventOrder::Ascending | EventOrder::Descending, true | false, Some(_) | None) => {
            range.clone()
        }
    };
    let bounds = params![limit(*covered.start()), limit(*covered.end()), i64::MAX];
    let removals = all(conn, REMOVALS, bounds, read_removal)?;
    let looked = (found.len() + removals.len()) as u64;
    let shown = found.into_iter().filter_map(|(_, row)| row);
    let mut rows: Vec<HostRow> = shown.chain(removals).collect();
    rows.sort_by_key(|row| row.row_no);
    let end = match query.order {
        EventOrder::Ascending => *covered.end(),
        EventOrder::Descending => {
            rows.reverse();
            *covered.start()
        }
    };
    Ok(Batch {
        rows,
        looked: looked.max(1),
        end,
    })
}

/// Reads rows of events in the requested order until they hold enough events. Returns true with them if rows of the range
/// may be left.
fn event_rows(
    conn: &Connection,
    range: &RangeInclusive<u64>,
    query: HostQuery,
) -> Result<(Vec<NumberedRow>, bool), Error> {
    let sql = match query.order {
        EventOrder::Ascending => ASCENDING,
        EventOrder::Descending => DESCENDING,
    };
    let most = query.limit.max(ROWS_PER_QUERY);
    let bounds = params![limit(*range.start()), limit(*range.end()), limit(most)];
    let mut statement = conn.prepare_cached(sql)?;
    let mut selected = statement.query(bounds)?;
    let (mut rows, mut events) = (Vec::new(), 0);
    while let Some(row) = selected.next()? {
        let (row_no, shown) = read_row(row)?;
        events += shown.as_ref().map_or(0, HostRow::entry_count);
        rows.push((row_no, shown));
        if events >= query.limit {
            return Ok((rows, true));
        }
    }
    let is_full = rows.len() as u64 >= most;
    Ok((rows, is_full))
}

/// Reads a row and its number. A row that is not shown, or cannot be read, has its number only: the decision that needs
/// it puts the agent aside.
fn read_row(row: &Row<'_>) -> Result<NumberedRow, Error> {
    let row_no = row.get(0)?;
    let Some(name) = row.get::<_, Option<String>>(5)? else {
        return Ok((row_no, None));
    };
    let read = || {
        Ok(HostRow {
            row_no,
            agent_id: parse_id(&name)?,
            content: HostRowContent::Events {
                no: AgentNo(row.get(1)?),
                events: read_events(row, 2)?,
            },
        })
    };
    match read() {
        Ok(row) => Ok((row_no, Some(row))),
        Err(Error::Row { .. }) => Ok((row_no, None)),
        Err(error) => Err(error),
    }
}

fn read_removal(row: &Row<'_>) -> Result<HostRow, Error> {
    let name: String = row.get(1)?;
    let tombstone = Tombstone {
        newest_event: row.get(2)?,
        deleted_at: Timestamp::from_millis(row.get(3)?),
    };
    Ok(HostRow {
        row_no: row.get(0)?,
        agent_id: parse_id(&name)?,
        content: HostRowContent::Removed {
            event_seq: tombstone.last_seq(),
            at: tombstone.deleted_at,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Db;
    use crate::samples::Scribe;
    use holon_domain::agent::Visibility;

    #[test]
    fn one_query_passes_over_many_rows_that_are_not_shown() {
        let mut hidden = Scribe::new("hidden");
        hidden.record.settings.identity.visibility = Visibility::Private;
        let mut db = Db::in_memory().expect("opens");
        let no = db
            .write(|tx| tx.create_agent(&hidden.record))
            .expect("creates");
        let mut notices = db.subscribe();
        for _ in 0..200 {
            let decision = hidden.event().decide();
            db.write(|tx| tx.apply(no, &decision)).expect("writes");
        }
        let notice = notices.try_recv().expect("told");
        assert_eq!(notice.visibility, Visibility::Private);
        for (order, end) in [
            (EventOrder::Ascending, 128),
            (EventOrder::Descending, 200 - 127),
        ] {
            let query = HostQuery {
                low: 1,
                high: 200,
                limit: 1,
                order,
            };
            let batch = batch(db.reader().conn(), &(1..=200), query).expect("reads");
            assert_eq!((batch.looked, batch.end), (128, end), "{order:?}");
            assert_eq!(batch.rows, []);
        }
    }
}
