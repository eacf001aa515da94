//! The events of all agents in the order of their commits, and the removals of agents among them.
//!
//! Rows of `events` and of `removals` share one series of numbers. Invariant: no number is given out twice, because a row
//! of `removals` keeps the highest number before the row that holds it is removed. Only agents that callers know are
//! shown, and none whose rows are being removed.

use crate::agents::parse_id;
use crate::error::Error;
use crate::events::{newest_row, read_events};
use crate::row::{AgentNo, all, first, limit, readable, run};
use crate::tombstones::{self, Tombstone};
use holon_domain::decision::EventSeq;
use holon_domain::feed::{EventOrder, EventRecord};
use holon_domain::limits::REMOVALS_KEPT;
use holon_domain::{AgentId, Timestamp};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};
use std::ops::RangeInclusive;

/// The tombstone of an agent whose rows are being removed is not older than its events.
macro_rules! select_rows {
    () => {
        "SELECT e.row_no, e.agent_no, e.last_seq, e.at, e.data, \
         CASE WHEN a.visible = 1 AND t.agent_id IS NULL THEN a.agent_id END FROM events e \
         LEFT JOIN agents a ON a.agent_no = e.agent_no \
         LEFT JOIN tombstones t ON t.agent_id = a.agent_id AND t.newest_event >= a.oldest_event \
         AND t.newest_event <= 70368744177664 \
         WHERE e.row_no >= ?1 AND e.row_no <= ?2 ORDER BY e.row_no"
    };
}
pub(crate) const ASCENDING: &str = concat!(select_rows!(), " LIMIT ?3");
pub(crate) const DESCENDING: &str = concat!(select_rows!(), " DESC LIMIT ?3");
macro_rules! select_removals {
    () => {
        "SELECT row_no, agent_id, newest_event, at FROM removals \
         WHERE row_no >= ?1 AND row_no <= ?2 AND agent_id IS NOT NULL ORDER BY row_no"
    };
}
pub(crate) const REMOVALS: &str = concat!(select_removals!(), " LIMIT ?3");
pub(crate) const NEWEST_REMOVALS: &str = concat!(select_removals!(), " DESC LIMIT ?3");
pub(crate) const NEWEST: &str = concat!("SELECT ", newest_row!());
const ADD_REMOVAL: &str = concat!(
    "INSERT INTO removals (row_no, agent_id, newest_event, at) SELECT 1 + ",
    newest_row!(),
    ", ?1, ?2, ?3"
);
/// Keeps the highest number if it is that of this agent's row.
pub(crate) const KEEP_NUMBER: &str = "INSERT INTO removals (row_no, agent_id, newest_event, at) \
     SELECT row_no + 1, NULL, 0, at FROM events WHERE row_no = (SELECT max(row_no) FROM events WHERE row_no <= 70368744177664) AND agent_no = ?1 \
     AND row_no > coalesce((SELECT max(row_no) FROM removals WHERE row_no <= 70368744177664), 0)";
/// A number without a name is needed only until there is a higher one.
const FORGET_NUMBERS: &str = "DELETE FROM removals WHERE agent_id IS NULL AND row_no < (SELECT max(row_no) FROM removals WHERE row_no <= 70368744177664)";
pub(crate) const FORGET: &str = "DELETE FROM removals WHERE row_no = ?1 AND row_no < (SELECT max(row_no) FROM removals WHERE row_no <= 70368744177664)";
pub(crate) const OLDEST: &str =
    "SELECT row_no, agent_id FROM removals WHERE row_no <= ?1 ORDER BY row_no LIMIT ?2";
/// Number of removals that are kept, so that a write does not count them.
pub(crate) const KEPT: &str = "SELECT value FROM meta WHERE key = 'removals_kept'";
const SET_KEPT: &str = "INSERT INTO meta (key, value) VALUES ('removals_kept', ?1) \
     ON CONFLICT (key) DO UPDATE SET value = excluded.value";
/// Replaces a number of kept removals that is lost or damaged.
const COUNT_KEPT: &str = "SELECT count(*) FROM removals WHERE agent_id IS NOT NULL";
pub(crate) const TRIMMED: &str =
    "SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'events_trimmed'";
const SET_TRIMMED: &str = "INSERT INTO meta (key, value) VALUES ('events_trimmed', ?1) \
     ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE CAST(value AS INTEGER) < CAST(?1 AS INTEGER)";
/// The last row up to which removals are gone although events may be kept.
pub(crate) const REMOVALS_TRIMMED: &str =
    "SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'removals_trimmed'";
const SET_REMOVALS_TRIMMED: &str = "INSERT INTO meta (key, value) VALUES ('removals_trimmed', ?1) \
     ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE CAST(value AS INTEGER) < CAST(?1 AS INTEGER)";

/// Rows looked at for one page at most. Rows of agents that callers do not know count too.
const ROWS_PER_PAGE: u64 = 4_096;
/// Rows that one query may look at, at least. A page of few events can have to pass over many rows that are not shown.
const ROWS_PER_QUERY: u64 = 128;
/// Removals that one write removes at most. No page shows what is left of them, and the next write goes on.
const FORGOTTEN_AT_ONCE: usize = 64;
/// Largest number of kept removals that is believed. No build lets so many gather.
const MOST_KEPT: u64 = 1 << 24;

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
    /// Removals of agents up to this row are not kept; 0 if none was given up.
    pub removals_trimmed: u64,
    /// Newest row of the host; 0 if there is none.
    pub newest: u64,
    /// Last row that was looked at; absent if the page reaches the end of the selection.
    pub reached: Option<u64>,
}

/// Notes the removal of an agent that callers know. Of more removals than are kept, the oldest go.
pub(crate) fn add_removal(
    conn: &Connection,
    agent_id: &AgentId,
    tombstone: Tombstone,
) -> Result<(), Error> {
    let (newest, at) = (tombstone.newest_event, tombstone.deleted_at.as_millis());
    run(conn, ADD_REMOVAL, params![agent_id.as_str(), newest, at])?;
    let kept = match kept(conn)? {
        Some(before) => before + 1,
        None => first(conn, COUNT_KEPT, [], |row| Ok(row.get(0)?))?.unwrap_or(0),
    };
    run(conn, SET_KEPT, [kept.to_string()])?;
    let beyond = kept.saturating_sub(REMOVALS_KEPT as u64);
    if beyond == 0 {
        return Ok(());
    }
    let most =
        usize::try_from(beyond).map_or(FORGOTTEN_AT_ONCE, |beyond| beyond.min(FORGOTTEN_AT_ONCE));
    if let Some(last) = forget_removals(conn, i64::MAX as u64, most)? {
        run(conn, SET_REMOVALS_TRIMMED, [last.to_string()])?;
    }
    Ok(())
}

/// Reads the number of kept removals; `None` if an earlier build wrote the store, or it is damaged.
fn kept(conn: &Connection) -> Result<Option<u64>, Error> {
    let found = first(conn, KEPT, [], |row| {
        let text = row.get_ref(0)?.as_str().ok();
        Ok(text.and_then(|text| text.parse().ok()))
    })?;
    Ok(found
        .flatten()
        .filter(|kept| (1..=MOST_KEPT).contains(kept)))
}

/// Removes the oldest removals up to a row, at most as many as given, with the tombstones of their agents. Returns the
/// last one.
fn forget_removals(conn: &Connection, until: u64, most: usize) -> Result<Option<u64>, Error> {
    let bounds = params![limit(until), limit(most)];
    let oldest = all(conn, OLDEST, bounds, |row| {
        // The name may be damaged; its tombstone then stays.
        let name = row.get_ref(1)?;
        let is_removal = name != ValueRef::Null;
        let name = name.as_str().ok().map(str::to_owned);
        Ok((row.get::<_, i64>(0)?, name, is_removal))
    })?;
    let mut forgotten = 0;
    for (row_no, name, is_removal) in &oldest {
        if let Some(name) = name {
            tombstones::forget(conn, name)?;
        }
        if run(conn, FORGET, [row_no])? > 0 && *is_removal {
            forgotten += 1;
        }
    }
    if let Some(kept) = kept(conn)?.filter(|_| forgotten > 0) {
        let left = kept.saturating_sub(forgotten);
        run(conn, SET_KEPT, [left.to_string()])?;
    }
    Ok(oldest
        .last()
        .and_then(|(row_no, ..)| u64::try_from(*row_no).ok()))
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
    forget_removals(conn, row_no, FORGOTTEN_AT_ONCE)?;
    Ok(())
}

/// Reads a page of rows. No page has rows up to `trimmed`: there, the history of the host is incomplete, and a cursor is
/// refused.
pub(crate) fn page(conn: &Connection, query: HostQuery) -> Result<HostRows, Error> {
    let number = |sql: &str| -> Result<u64, Error> {
        let found = readable(conn, first(conn, sql, [], |row| Ok(row.get(0)?)))?;
        Ok(found.flatten().unwrap_or(0))
    };
    let (newest, trimmed) = (number(NEWEST)?, number(TRIMMED)?);
    let removals_trimmed = number(REMOVALS_TRIMMED)?;
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
        removals_trimmed,
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
    let (removals, covered) = removal_rows(conn, covered, query)?;
    let looked = (found.len() + removals.len()) as u64;
    let shown = found.into_iter().filter_map(|(_, row)| row);
    let shown = shown.filter(|row| covered.contains(&row.row_no));
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

/// Reads a bounded number of removals in the requested order. Returns with them the part of the range that they cover.
fn removal_rows(
    conn: &Connection,
    range: RangeInclusive<u64>,
    query: HostQuery,
) -> Result<(Vec<HostRow>, RangeInclusive<u64>), Error> {
    let sql = match query.order {
        EventOrder::Ascending => REMOVALS,
        EventOrder::Descending => NEWEST_REMOVALS,
    };
    let most = query.limit.max(ROWS_PER_QUERY);
    let bounds = params![limit(*range.start()), limit(*range.end()), limit(most)];
    // A row that cannot be read counts for what the query covers, so that the next one goes on behind it.
    let found: Vec<NumberedRow> = all(conn, sql, bounds, |row| {
        Ok((row.get(0)?, readable(conn, read_removal(conn, row))?))
    })?;
    let last = found.last().map(|(row_no, _)| *row_no);
    let covered = match (last.filter(|_| found.len() as u64 >= most), query.order) {
        (Some(last), EventOrder::Ascending) => *range.start()..=last,
        (Some(last), EventOrder::Descending) => last..=*range.end(),
        (None, EventOrder::Ascending | EventOrder::Descending) => range,
    };
    let removals = found.into_iter().filter_map(|(_, row)| row).collect();
    Ok((removals, covered))
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
        let (row_no, shown) = read_row(conn, row)?;
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
fn read_row(conn: &Connection, row: &Row<'_>) -> Result<NumberedRow, Error> {
    let row_no = row.get(0)?;
    let name = readable(conn, row.get::<_, Option<String>>(5).map_err(Error::from))?;
    let Some(name) = name.flatten() else {
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
    Ok((row_no, readable(conn, read())?))
}

fn read_removal(conn: &Connection, row: &Row<'_>) -> Result<HostRow, Error> {
    let name: String = row.get(1)?;
    let tombstone = Tombstone {
        newest_event: tombstones::believed(conn, "removals", &name, row.get(2)?)?,
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
    use crate::samples::{Scribe, id};
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

    fn removed(count: u64) -> Db {
        let db = Db::in_memory().expect("opens");
        add_removals(&db, 1..=count);
        db
    }

    /// Writes removals of agents that are gone, each with its tombstone.
    fn add_removals(db: &Db, rows: RangeInclusive<u64>) {
        let numbers =
            "WITH RECURSIVE n(i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)";
        for insert in [
            "INSERT INTO removals (row_no, agent_id, newest_event, at) %% SELECT i, 'gone-' || i, i, 0 FROM n",
            "INSERT INTO tombstones (agent_id, deleted_at, newest_event) %% SELECT 'gone-' || i, 0, i FROM n",
        ] {
            let sql = insert.replace("%%", numbers);
            let bounds = [rows.start(), rows.end()];
            db.conn.execute(&sql, bounds).expect("writes");
        }
    }

    fn count(db: &Db, table: &str) -> u64 {
        let sql = format!("SELECT count(*) FROM {table}");
        let found = first(&db.conn, &sql, [], |row| Ok(row.get(0)?));
        found.expect("counts").expect("a row")
    }

    #[test]
    fn a_page_has_a_bounded_number_of_removals_and_the_next_one_goes_on() {
        let db = removed(5_000);
        for order in [EventOrder::Ascending, EventOrder::Descending] {
            let (mut low, mut high, mut seen) = (1, u64::MAX, Vec::new());
            loop {
                let query = HostQuery {
                    low,
                    high,
                    limit: 100,
                    order,
                };
                let page = page(&db.conn, query).expect("reads");
                assert!(page.rows.len() <= 228, "{}", page.rows.len());
                seen.extend(page.rows.iter().map(|row| row.row_no));
                match (page.reached, order) {
                    (Some(reached), EventOrder::Ascending) => low = reached + 1,
                    (Some(reached), EventOrder::Descending) => high = reached - 1,
                    (None, EventOrder::Ascending | EventOrder::Descending) => break,
                }
            }
            let mut expected: Vec<u64> = (1..=5_000).collect();
            if order == EventOrder::Descending {
                expected.reverse();
            }
            assert_eq!(seen, expected);
        }
    }

    #[test]
    fn old_removals_go_with_their_tombstones_and_no_name_counts_below_them_again() {
        let kept = u64::try_from(REMOVALS_KEPT).expect("a count");
        let db = removed(kept + 100);
        let tombstone = Tombstone {
            newest_event: 3,
            deleted_at: Timestamp::default(),
        };
        for _ in 0..4 {
            add_removal(&db.conn, &id("new"), tombstone).expect("adds");
        }
        assert_eq!(count(&db, "removals"), kept);
        assert_eq!(count(&db, "tombstones"), kept - 4);
        let all = HostQuery {
            low: 1,
            high: u64::MAX,
            limit: 1,
            order: EventOrder::Ascending,
        };
        let page = page(&db.conn, all).expect("reads");
        assert_eq!((page.trimmed, page.removals_trimmed), (0, 104));
        let floor = |name: &str| tombstones::event_floor(&db.conn, name).expect("reads");
        assert_eq!(floor("gone-104"), 105, "as with its tombstone");
        assert_eq!(floor("gone-9000"), 9_001);
    }

    #[test]
    fn old_removals_that_go_hide_no_events_of_agents_that_live() {
        let kept = u64::try_from(REMOVALS_KEPT).expect("a count");
        let mut db = Db::in_memory().expect("opens");
        let mut scribe = Scribe::new("live");
        let no = db
            .write(|tx| tx.create_agent(&scribe.record))
            .expect("creates");
        let decision = scribe.event().decide();
        db.write(|tx| tx.apply(no, &decision)).expect("writes");
        add_removals(&db, 2..=kept + 1);
        let tombstone = Tombstone {
            newest_event: 3,
            deleted_at: Timestamp::default(),
        };
        add_removal(&db.conn, &id("new"), tombstone).expect("adds");
        for order in [EventOrder::Ascending, EventOrder::Descending] {
            let all = HostQuery {
                low: 0,
                high: 4,
                limit: 100,
                order,
            };
            let page = page(&db.conn, all).expect("reads");
            assert_eq!((page.trimmed, page.removals_trimmed), (0, 2), "{order:?}");
            let mut seen: Vec<u64> = page.rows.iter().map(|row| row.row_no).collect();
            seen.sort_unstable();
            assert_eq!(seen, [1, 3, 4], "{order:?}");
        }
    }

    #[test]
    fn a_count_of_removals_that_is_damaged_is_taken_again() {
        let db = removed(100);
        let tombstone = Tombstone {
            newest_event: 3,
            deleted_at: Timestamp::default(),
        };
        for damaged in [
            "'x'",
            "'-1'",
            "'0'",
            "'9223372036854775807'",
            "CAST(x'ff' AS TEXT)",
        ] {
            let sql = format!(
                "INSERT OR REPLACE INTO meta (key, value) VALUES ('removals_kept', {damaged})"
            );
            db.conn.execute(&sql, []).expect("writes");
            add_removal(&db.conn, &id("new"), tombstone).expect("adds");
            let counted = kept(&db.conn).expect("reads");
            assert_eq!(counted, Some(count(&db, "removals")), "{damaged}");
        }
        let last = forget_removals(&db.conn, 30, FORGOTTEN_AT_ONCE);
        assert_eq!(last, Ok(Some(30)));
        assert_eq!(kept(&db.conn), Ok(Some(count(&db, "removals"))));
    }
}
