//! The log table: the messages, rounds, results and failures of turns, in order.

use crate::error::Error;
use crate::output_refs;
use crate::row::{AgentNo, all, first, json, limit, run, short_text};
use holon_domain::Timestamp;
use holon_domain::log::{FrameRecord, LogEntry};
use holon_domain::queue::MessageSeq;
use holon_domain::turn::LogSeq;
use rusqlite::{Connection, params};

const INSERT: &str = "INSERT INTO log (agent_no, seq, turn_index, at, message_seq, entry) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
pub(crate) const ONE: &str = "SELECT entry FROM log WHERE agent_no = ?1 AND seq = ?2";
pub(crate) const FROM: &str =
    "SELECT seq, entry FROM log WHERE agent_no = ?1 AND seq >= ?2 ORDER BY seq";
pub(crate) const WITH_TURN: &str =
    "SELECT seq, entry, turn_index FROM log WHERE agent_no = ?1 AND seq >= ?2 ORDER BY seq";
pub(crate) const NEXT: &str =
    "SELECT seq, entry FROM log WHERE agent_no = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";
// The index is named: with a column that it lacks, SQLite would read the rounds between the messages.
pub(crate) const TAKEN: &str = "SELECT seq, message_seq, turn_index, at FROM log INDEXED BY log_messages \
     WHERE agent_no = ?1 AND seq < ?2 AND message_seq IS NOT NULL ORDER BY seq DESC LIMIT ?3";

pub(crate) fn append(
    conn: &Connection,
    no: AgentNo,
    seq: LogSeq,
    turn_index: u64,
    at: Timestamp,
    entry: &LogEntry,
) -> Result<(), Error> {
    let text = short_text(entry)?;
    run(
        conn,
        INSERT,
        params![
            no.0,
            seq,
            turn_index,
            at.as_millis(),
            entry.message_seq(),
            text
        ],
    )?;
    output_refs::note(conn, no, seq, entry, &text)
}

pub(crate) fn entry(
    conn: &Connection,
    no: AgentNo,
    seq: LogSeq,
) -> Result<Option<LogEntry>, Error> {
    first(conn, ONE, params![no.0, seq], |row| {
        json(row, 0, "log", seq)
    })
}

/// Reads every entry from a position on. The caller's position bounds it to one turn.
pub(crate) fn from(
    conn: &Connection,
    no: AgentNo,
    seq: LogSeq,
) -> Result<Vec<(LogSeq, LogEntry)>, Error> {
    all(conn, FROM, params![no.0, seq], |row| {
        let seq: LogSeq = row.get(0)?;
        Ok((seq, json(row, 1, "log", seq)?))
    })
}

/// Reads the entries from a position on up to the end of a turn; without a turn, to the end of the log.
pub(crate) fn through_turn(
    conn: &Connection,
    no: AgentNo,
    from: LogSeq,
    turn_index: Option<u64>,
) -> Result<Vec<(LogSeq, LogEntry)>, Error> {
    let mut statement = conn.prepare_cached(WITH_TURN)?;
    let mut rows = statement.query(params![no.0, from])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let of: u64 = row.get(2)?;
        // Turns follow one another in the log, so nothing of the turn comes later.
        if turn_index.is_some_and(|turn_index| of > turn_index) {
            break;
        }
        let seq: LogSeq = row.get(0)?;
        found.push((seq, json(row, 1, "log", seq)?));
    }
    Ok(found)
}

/// Reads every entry from a position on, each with the size of its row in bytes.
pub(crate) fn sized_from(
    conn: &Connection,
    no: AgentNo,
    seq: LogSeq,
) -> Result<Vec<(LogEntry, usize)>, Error> {
    all(conn, FROM, params![no.0, seq], |row| {
        let seq: LogSeq = row.get(0)?;
        let text = row.get_ref(1)?.as_bytes_or_null().ok().flatten();
        let bytes = text.map_or(0, <[u8]>::len);
        Ok((json(row, 1, "log", seq)?, bytes))
    })
}

/// Messages of one turn that are searched for the first one, where the turn is one of many.
pub(crate) const JOINED: usize = 64;
/// Entries after the first message of a turn that are searched for its frame.
const BEFORE_FRAME: usize = 16;

/// Reads the frame of a turn that has an entry before a position, with the position and the message the turn began
/// with. At most `joined` messages are searched for that. `None` if its first request has not been answered.
pub(crate) fn frame_of(
    conn: &Connection,
    no: AgentNo,
    turn_index: u64,
    before: LogSeq,
    joined: usize,
) -> Result<Option<(Taken, FrameRecord)>, Error> {
    let taken = taken(conn, no, before, joined)?.into_iter();
    let mut of_turn = taken.filter(|taken| taken.turn_index == turn_index);
    let Some(first) = of_turn.next_back() else {
        return Ok(None);
    };
    let next = all(
        conn,
        NEXT,
        params![no.0, first.seq, limit(BEFORE_FRAME)],
        |row| {
            let seq: LogSeq = row.get(0)?;
            json::<LogEntry>(row, 1, "log", seq)
        },
    )?;
    let frame = next.into_iter().find_map(|entry| match entry {
        LogEntry::Frame(frame) => Some(frame),
        _ => None,
    });
    Ok(frame.map(|frame| (first, frame)))
}

/// A message that a turn took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Taken {
    /// Log position at which the turn took it.
    pub(crate) seq: LogSeq,
    pub(crate) message_seq: MessageSeq,
    pub(crate) turn_index: u64,
    pub(crate) at: Timestamp,
}

/// Lists the newest messages that turns took before a position, newest first.
pub(crate) fn taken(
    conn: &Connection,
    no: AgentNo,
    before: LogSeq,
    count: usize,
) -> Result<Vec<Taken>, Error> {
    all(conn, TAKEN, params![no.0, before, limit(count)], |row| {
        Ok(Taken {
            seq: row.get(0)?,
            message_seq: row.get(1)?,
            turn_index: row.get(2)?,
            at: Timestamp::from_millis(row.get(3)?),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Db;

    #[test]
    fn entries_are_read_to_the_end_of_their_turn_and_no_further() {
        let db = Db::in_memory().expect("opens");
        let no = AgentNo(1);
        for seq in 1..=30_u64 {
            let entry = LogEntry::IncomingMessage { message_seq: seq };
            let at = Timestamp::from_millis(0);
            append(&db.conn, no, seq, seq.div_ceil(10), at, &entry).expect("writes");
        }
        let last = |from, turn| {
            let read = through_turn(&db.conn, no, from, turn).expect("reads");
            (read.len(), read.last().map(|(seq, _)| *seq))
        };
        assert_eq!(last(5, Some(2)), (16, Some(20)));
        assert_eq!(last(5, None), (26, Some(30)));
        assert_eq!(last(25, Some(2)), (0, None));
        db.conn
            .execute("UPDATE log SET entry = 'x' WHERE seq > 20", [])
            .expect("changes");
        assert_eq!(last(1, Some(2)), (20, Some(20)), "later turns are not read");
    }
}
