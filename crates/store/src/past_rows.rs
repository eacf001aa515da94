//! Reads the ended turns of an agent's thread for a request: their log entries and messages, the newest fold, and the
//! frozen beginning that the request repeats.
//!
//! The caller keeps what it has read, so a request of a resting agent's next turn reads one turn. An unreadable row costs
//! its turn and no more: what an agent did long ago must not keep it from working today.

use crate::error::Error;
use crate::log;
use crate::reader::Reader;
use crate::row::{AgentNo, all, first, json, limit, readable};
use holon_domain::Timestamp;
use holon_domain::limits::{THREAD_ROWS_BYTES, THREAD_TURNS};
use holon_domain::log::{FrameRecord, LogEntry};
use holon_domain::message::MessageEnvelope;
use holon_domain::queue::{MessageSeq, QueueStatus};
use holon_domain::thread::{ThreadBase, ThreadFold, ThreadState};
use holon_domain::turn::LogSeq;
use rusqlite::params;
use std::collections::HashMap;
use std::sync::Arc;

/// Entries between two positions, newest first.
pub(crate) const NEWEST_FIRST: &str = "SELECT seq, turn_index, at, entry FROM log \
     WHERE agent_no = ?1 AND seq >= ?2 AND seq < ?3 ORDER BY seq DESC";
/// Entries from a position on.
pub(crate) const FROM: &str = "SELECT seq, turn_index, at, entry FROM log \
     WHERE agent_no = ?1 AND seq >= ?2 ORDER BY seq LIMIT ?3";

/// Newest turns that are searched for the frozen beginning. A turn whose first request was never answered has none.
const BASE_TURNS: usize = 32;
/// Entries at the beginning of a turn that are searched for its frame.
const BEFORE_FRAME: usize = 64;
/// Most entries of a pinned turn.
const PINNED_ENTRIES: usize = 4_096;

/// An ended turn of a thread.
#[derive(Debug, Clone)]
pub struct PastTurnRows {
    pub turn_index: u64,
    pub first_entry: LogSeq,
    /// Time of its first entry.
    pub began_at: Timestamp,
    /// In order. Empty if one of them cannot be read.
    pub entries: Vec<Arc<LogEntry>>,
    /// Messages that the entries name, as far as they are stored and a model accepts them.
    pub messages: HashMap<MessageSeq, MessageEnvelope>,
}

/// What a request reads of its agent's thread.
#[derive(Debug, Clone, Default)]
pub struct PastRows {
    /// Turns that the caller does not know yet, oldest first.
    pub turns: Vec<PastTurnRows>,
    /// Newest fold. Absent before the first one, and if its row cannot be read.
    pub fold: Option<ThreadFold>,
    /// True if the thread has more turns than are read at once, so that the oldest are missing among `turns`.
    pub is_cut: bool,
    /// Frozen beginning that the turn repeats. Absent if the turn has stored its own, or begins a new one.
    pub base: Option<ThreadBase>,
}

struct Row {
    seq: LogSeq,
    turn_index: u64,
    at: Timestamp,
    /// Absent if the row cannot be read.
    entry: Option<LogEntry>,
}

/// Reads the turns before a position that the caller does not know, and the newest fold. `known_through` is the position
/// up to which it knows them; 0 if it knows none.
pub(crate) fn read(
    reader: &Reader<'_>,
    no: AgentNo,
    state: &ThreadState,
    known_through: LogSeq,
    before: LogSeq,
) -> Result<PastRows, Error> {
    let mut turns = Vec::new();
    if known_through == 0 {
        for pin in state
            .pins
            .iter()
            .filter(|pin| pin.first_entry < state.from_entry)
        {
            turns.extend(pinned(reader, no, pin.turn_index, pin.first_entry)?);
        }
    }
    let from = state.from_entry.max(known_through + 1);
    let NewestRows { rows, is_cut } = newest(reader, no, from, before)?;
    for rows in rows.chunk_by(|one, next| one.turn_index == next.turn_index) {
        turns.push(turn(reader, no, rows)?);
    }
    Ok(PastRows {
        turns,
        is_cut,
        fold: fold(reader, no, state)?,
        base: None,
    })
}

/// The newest whole turns, in order.
#[derive(Default)]
struct NewestRows {
    rows: Vec<Row>,
    is_cut: bool,
}

fn to_row(reader: &Reader<'_>, row: &rusqlite::Row<'_>) -> Result<Row, Error> {
    let seq: LogSeq = row.get(0)?;
    Ok(Row {
        seq,
        turn_index: row.get(1)?,
        at: Timestamp::from_millis(row.get(2)?),
        entry: readable(reader.conn(), json(row, 3, "log", seq))?,
    })
}

/// Reads the newest whole turns between two positions, within the bounds of a thread; in order.
fn newest(
    reader: &Reader<'_>,
    no: AgentNo,
    from: LogSeq,
    before: LogSeq,
) -> Result<NewestRows, Error> {
    if from >= before {
        return Ok(NewestRows::default());
    }
    let mut statement = reader.conn().prepare_cached(NEWEST_FIRST)?;
    let mut found = statement.query(params![no.0, from, before])?;
    let mut rows: Vec<Row> = Vec::new();
    let (mut bytes, mut turns, mut is_cut) = (0, 0, false);
    while let Some(row) = found.next()? {
        let text = row.get_ref(3)?.as_bytes_or_null().ok().flatten();
        bytes += text.map_or(0, <[u8]>::len);
        let row = to_row(reader, row)?;
        if rows
            .last()
            .is_none_or(|newer| newer.turn_index != row.turn_index)
        {
            turns += 1;
        }
        if turns > THREAD_TURNS || (bytes > THREAD_ROWS_BYTES && turns > 1) {
            is_cut = true;
            break;
        }
        rows.push(row);
    }
    // Of the oldest turn a part may be missing.
    if is_cut && turns <= THREAD_TURNS {
        let oldest = rows.last().map(|row| row.turn_index);
        let newest = rows.first().map(|row| row.turn_index);
        if oldest != newest {
            rows.retain(|row| Some(row.turn_index) != oldest);
        }
    }
    rows.reverse();
    Ok(NewestRows { rows, is_cut })
}

fn pinned(
    reader: &Reader<'_>,
    no: AgentNo,
    turn_index: u64,
    first_entry: LogSeq,
) -> Result<Option<PastTurnRows>, Error> {
    let bounds = params![no.0, first_entry, limit(PINNED_ENTRIES)];
    let rows = all(reader.conn(), FROM, bounds, |row| to_row(reader, row))?;
    let of_turn = rows
        .iter()
        .take_while(|row| row.turn_index == turn_index)
        .count();
    match rows.get(..of_turn) {
        Some(rows) if !rows.is_empty() => turn(reader, no, rows).map(Some),
        Some(_) | None => Ok(None),
    }
}

fn turn(reader: &Reader<'_>, no: AgentNo, rows: &[Row]) -> Result<PastTurnRows, Error> {
    // Retention takes a long turn in several steps, the message that began it with the first.
    let is_begun = rows
        .first()
        .is_some_and(|row| matches!(row.entry, Some(LogEntry::IncomingMessage { .. })));
    let is_lost = !is_begun || rows.iter().any(|row| row.entry.is_none());
    let entries: Vec<Arc<LogEntry>> = if is_lost {
        Vec::new()
    } else {
        let entries = rows.iter().filter_map(|row| row.entry.clone());
        entries.map(Arc::new).collect()
    };
    let mut messages = HashMap::new();
    let apart = entries.iter().filter_map(|entry| match &**entry {
        LogEntry::Frame(frame) => frame.operator_seq,
        _ => None,
    });
    let named = entries.iter().filter_map(|entry| entry.message_seq());
    for seq in named.chain(apart) {
        let found = readable(reader.conn(), reader.message(no, seq))?.flatten();
        // A dropped message is one that no model accepts. It would make every later request fail.
        if let Some(found) = found.filter(|found| found.status != QueueStatus::Dropped) {
            messages.insert(seq, found.envelope);
        }
    }
    let first = rows.first();
    Ok(PastTurnRows {
        turn_index: first.map_or(0, |row| row.turn_index),
        first_entry: first.map_or(0, |row| row.seq),
        began_at: first.map_or(Timestamp::from_millis(0), |row| row.at),
        entries,
        messages,
    })
}

/// Reads the newest fold of a thread.
fn fold(
    reader: &Reader<'_>,
    no: AgentNo,
    state: &ThreadState,
) -> Result<Option<ThreadFold>, Error> {
    let Some(seq) = state.fold else {
        return Ok(None);
    };
    let entry = readable(reader.conn(), log::entry(reader.conn(), no, seq))?.flatten();
    Ok(entry.and_then(|entry| match entry {
        LogEntry::ThreadFold(fold) => Some(fold),
        _ => None,
    }))
}

/// Finds the frozen beginning of a thread: that of the newest frame since the fold. `None` if there is none, or if its
/// texts are not stored any more.
pub(crate) fn base(
    reader: &Reader<'_>,
    no: AgentNo,
    state: &ThreadState,
    before: LogSeq,
) -> Result<Option<ThreadBase>, Error> {
    let taken = log::taken(reader.conn(), no, before, BASE_TURNS)?;
    let mut searched = None;
    for taken in taken.iter().filter(|taken| taken.seq >= state.from_entry) {
        if searched == Some(taken.turn_index) {
            continue;
        }
        searched = Some(taken.turn_index);
        let Some((seq, frame)) = frame_of(reader, no, taken.turn_index, before)? else {
            continue;
        };
        // A fold in the middle of a turn took away what turns before it had told.
        let is_newer = state.fold.is_none_or(|fold| seq > fold);
        return if is_newer && frame.opened_at.is_some() {
            texts(reader, frame)
        } else {
            Ok(None)
        };
    }
    Ok(None)
}

/// Finds the frame of a turn with its position.
fn frame_of(
    reader: &Reader<'_>,
    no: AgentNo,
    turn_index: u64,
    before: LogSeq,
) -> Result<Option<(LogSeq, FrameRecord)>, Error> {
    let found = readable(
        reader.conn(),
        log::frame_of(reader.conn(), no, turn_index, before, BASE_TURNS),
    )?
    .flatten();
    let Some((taken, frame)) = found else {
        return Ok(None);
    };
    let bounds = params![no.0, taken.seq, limit(BEFORE_FRAME)];
    let rows = all(reader.conn(), FROM, bounds, |row| to_row(reader, row))?;
    let place = rows
        .iter()
        .find(|row| matches!(row.entry, Some(LogEntry::Frame(_))));
    Ok(place.map(|row| (row.seq, frame)))
}

fn texts(reader: &Reader<'_>, frame: FrameRecord) -> Result<Option<ThreadBase>, Error> {
    let agent_scoped = reader.blob(&frame.agent_scoped)?;
    let surroundings = match &frame.surroundings {
        Some(hash) => reader.blob(hash)?,
        None => None,
    };
    let is_complete = surroundings.is_some() == frame.surroundings.is_some();
    Ok(agent_scoped
        .filter(|_| is_complete)
        .map(|agent_scoped| ThreadBase {
            agent_scoped,
            agent_parts: frame.agent_parts,
            surroundings,
            told: frame.told,
        }))
}

/// Returns the position of the first entry of a turn; `None` if the log holds nothing of it.
pub(crate) fn first_entry(
    reader: &Reader<'_>,
    no: AgentNo,
    turn_index: u64,
) -> Result<Option<LogSeq>, Error> {
    first(
        reader.conn(),
        FIRST_OF_TURN,
        params![no.0, turn_index],
        |row| Ok(row.get(0)?),
    )
}

// No index has the number of the turn. An operator's command may look through the agent's log.
const FIRST_OF_TURN: &str =
    "SELECT seq FROM log WHERE agent_no = ?1 AND turn_index = ?2 ORDER BY seq LIMIT 1";
