//! The timers table: active timers and the newest finished ones.

use crate::error::Error;
use crate::row::{AgentNo, Unreadable, all, first, json, limit, run};
use holon_domain::TimerId;
use holon_domain::limits::{CAUGHT_UP_AT_ONCE, TIMERS_KEPT};
use holon_domain::timer::{TimerRecord, TimerStatus};
use rusqlite::{Connection, Row, params};

pub(crate) const WRITE: &str = "INSERT INTO timers (agent_no, timer_id, active, record) \
     VALUES (?1, ?2, ?3, ?4) ON CONFLICT (agent_no, timer_id) DO UPDATE SET active = ?3, record = ?4";
pub(crate) const ONE: &str =
    "SELECT timer_id, record FROM timers WHERE agent_no = ?1 AND timer_id = ?2";
pub(crate) const ACTIVE: &str = "SELECT timer_id, record FROM timers \
     WHERE agent_no = ?1 AND active > 0 ORDER BY timer_no LIMIT ?2";
pub(crate) const NEWEST: &str =
    "SELECT timer_id, record FROM timers WHERE agent_no = ?1 ORDER BY timer_no DESC LIMIT ?2";
pub(crate) const FORGET: &str = "DELETE FROM timers WHERE active = 0 AND timer_no IN \
     (SELECT timer_no FROM timers WHERE agent_no = ?1 ORDER BY timer_no DESC LIMIT 16 OFFSET ?2)";

pub(crate) const PARKED_PAGE: &str = "SELECT timer_id, record FROM timers \
     WHERE agent_no = ?1 AND active = 2 ORDER BY timer_no LIMIT ?2";

/// Values of the column `active`.
const OVER: i64 = 0;
const ARMED: i64 = 1;
/// The slot came while the agent was stopped.
const PARKED: i64 = 2;

fn read(row: &Row<'_>) -> Result<TimerRecord, Error> {
    let id: String = row.get(0)?;
    json(row, 1, "timers", id)
}

/// Writes a timer that was created, fired or cancelled, and removes old ones.
pub(crate) fn write(conn: &Connection, no: AgentNo, timer: &TimerRecord) -> Result<(), Error> {
    let active = match (timer.status, timer.due) {
        (TimerStatus::Active, Some(_)) => ARMED,
        (TimerStatus::Active, None) => PARKED,
        (TimerStatus::Completed | TimerStatus::Cancelled, _) => OVER,
    };
    let text = serde_json::to_string(timer)?;
    run(conn, WRITE, params![no.0, timer.id.as_str(), active, text])?;
    if active == OVER {
        run(conn, FORGET, params![no.0, TIMERS_KEPT])?;
    }
    Ok(())
}

/// Reads one timer, active or not.
pub(crate) fn one(
    conn: &Connection,
    no: AgentNo,
    id: &TimerId,
) -> Result<Option<TimerRecord>, Error> {
    first(conn, ONE, params![no.0, id.as_str()], read)
}

/// Lists active timers, oldest first.
pub(crate) fn active(
    conn: &Connection,
    no: AgentNo,
    count: usize,
    unreadable: Unreadable,
) -> Result<Vec<TimerRecord>, Error> {
    unreadable.all(conn, ACTIVE, params![no.0, limit(count)], read)
}

/// Lists a page of the timers whose slot came while the agent was stopped.
pub(crate) fn deferred(conn: &Connection, no: AgentNo) -> Result<Vec<TimerRecord>, Error> {
    all(
        conn,
        PARKED_PAGE,
        params![no.0, limit(CAUGHT_UP_AT_ONCE)],
        read,
    )
}

/// Lists the timers that were created last, newest first.
pub(crate) fn newest(
    conn: &Connection,
    no: AgentNo,
    count: usize,
    unreadable: Unreadable,
) -> Result<Vec<TimerRecord>, Error> {
    unreadable.all(conn, NEWEST, params![no.0, limit(count)], read)
}
