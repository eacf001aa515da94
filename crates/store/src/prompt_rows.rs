//! Reads the rows from which a prompt of an agent is shown again: that of its last answered turn, or of a turn by its
//! number.

use crate::error::Error;
use crate::log::{self, Taken};
use crate::past_rows::{self, PastRows};
use crate::reader::Reader;
use crate::row::{AgentNo, all, json, limit};
use crate::turn_rows::{FrameTexts, frame_texts};
use holon_domain::Timestamp;
use holon_domain::attempt::{RequestOverlap, TokenUsage};
use holon_domain::log::{FrameRecord, LogEntry};
use holon_domain::message::MessageEnvelope;
use holon_domain::provider::ContextReduction;
use holon_domain::queue::MessageSeq;
use holon_domain::task::TaskRecord;
use holon_domain::thread::{ThreadFold, ThreadState};
use holon_domain::turn::LogSeq;
use rusqlite::params;
use std::collections::HashMap;

/// Log entries that are searched for rounds and for the last answered turn.
const ENTRIES: usize = 64;
/// Rounds whose usage is returned.
const ROUNDS: usize = 12;
/// Messages that are searched for the one that began the turn. More cannot join a turn under the largest window.
const JOINED: usize = 16_384;

/// Largest number that a column of the log holds.
const LARGEST_SEQ: LogSeq = i64::MAX.unsigned_abs();

const NEWEST: &str = "SELECT seq, turn_index, entry FROM log \
     WHERE agent_no = ?1 ORDER BY seq DESC LIMIT ?2";
// No index has the number of the turn. A reader of one turn may look through the agent's log.
const NEWEST_OF_TURN: &str = "SELECT seq, turn_index, entry FROM log \
     WHERE agent_no = ?1 AND turn_index = ?3 ORDER BY seq DESC LIMIT ?2";
const OF_TURN: &str = "SELECT seq, turn_index, entry FROM log \
     WHERE agent_no = ?1 AND turn_index = ?2 AND seq >= ?3 ORDER BY seq";

/// Usage of an answered round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundUsage {
    pub turn_index: u64,
    pub round: u32,
    pub usage: TokenUsage,
    /// Model that answered, as `provider/model`.
    pub model_ref: String,
    /// What the provider's servers left out of the request. Absent if it did not allow that.
    pub context_management: Option<ContextReduction>,
    /// How much of the request begins like the one before. Absent in rows of earlier builds.
    pub overlap: Option<RequestOverlap>,
}

/// What the store holds of a prompt.
#[derive(Debug, Clone)]
pub struct StoredPrompt {
    /// Last answered rounds, newest first.
    pub rounds: Vec<RoundUsage>,
    /// Absent if there was no prompt, or if its texts are no longer stored.
    pub rows: Option<PromptRows>,
}

/// The rows of a prompt.
#[derive(Debug, Clone)]
pub struct PromptRows {
    pub turn_index: u64,
    pub started_at: Timestamp,
    /// Message that the turn answers.
    pub current: MessageEnvelope,
    pub frame: FrameRecord,
    pub texts: FrameTexts,
    /// The agent's thread before the turn, as its last request showed it.
    pub past: PastRows,
    /// Beginning of that thread.
    pub thread: ThreadState,
    pub operator: Option<MessageEnvelope>,
    /// Tasks that are still stored, newest first.
    pub tasks: Vec<TaskRecord>,
    /// The turn's log, without the rounds that a recap stands for.
    pub entries: Vec<LogEntry>,
    /// Messages that joined the turn.
    pub joined: HashMap<MessageSeq, MessageEnvelope>,
}

struct Row {
    seq: LogSeq,
    turn_index: u64,
    entry: LogEntry,
}

/// Reads the prompt of a turn, or of the last answered one. `None` if the log holds nothing of the turn.
pub(crate) fn read(
    reader: &Reader<'_>,
    no: AgentNo,
    thread: &ThreadState,
    turn_index: Option<u64>,
) -> Result<Option<StoredPrompt>, Error> {
    let conn = reader.conn();
    let newest_first = match turn_index {
        None => all(conn, NEWEST, params![no.0, limit(ENTRIES)], to_row)?,
        Some(turn) => {
            let rows = all(
                conn,
                NEWEST_OF_TURN,
                params![no.0, limit(ENTRIES), turn],
                to_row,
            )?;
            if rows.is_empty() {
                return Ok(None);
            }
            rows
        }
    };
    Ok(Some(StoredPrompt {
        rounds: newest_first.iter().filter_map(round).take(ROUNDS).collect(),
        rows: prompt(reader, no, thread, &newest_first)?,
    }))
}

fn to_row(row: &rusqlite::Row<'_>) -> Result<Row, Error> {
    let seq: LogSeq = row.get(0)?;
    Ok(Row {
        seq,
        turn_index: row.get(1)?,
        entry: json(row, 2, "log", seq)?,
    })
}

/// Reads the log of a turn from its first entry on. Rounds that a recap stands for are dropped while reading, so that a
/// long turn takes no more memory than its last request.
fn entries_of(reader: &Reader<'_>, no: AgentNo, first: Taken) -> Result<Vec<LogEntry>, Error> {
    let mut entries: Vec<LogEntry> = Vec::new();
    all(
        reader.conn(),
        OF_TURN,
        params![no.0, first.turn_index, first.seq],
        |row| {
            let entry = to_row(row)?.entry;
            if let LogEntry::Recap(recap) = &entry {
                entries.retain(|entry| !is_round_until(entry, recap.last_round));
            }
            entries.push(entry);
            Ok(())
        },
    )?;
    Ok(entries)
}

/// Returns true for the entries of a round up to the given one.
fn is_round_until(entry: &LogEntry, last_round: u32) -> bool {
    match entry {
        LogEntry::AssistantRound { round, .. } | LogEntry::ToolResult { round, .. } => {
            *round <= last_round
        }
        LogEntry::IncomingMessage { .. }
        | LogEntry::Frame(_)
        | LogEntry::Interjection { .. }
        | LogEntry::ContinuationPrompt { .. }
        | LogEntry::Recap(_)
        | LogEntry::ThreadFold(_)
        | LogEntry::Shortened(_)
        | LogEntry::RuntimeFailure { .. } => false,
    }
}

fn round(row: &Row) -> Option<RoundUsage> {
    let LogEntry::AssistantRound {
        round,
        usage,
        tries,
        ..
    } = &row.entry
    else {
        return None;
    };
    Some(RoundUsage {
        turn_index: row.turn_index,
        round: *round,
        usage: *usage,
        model_ref: tries.model_ref.clone(),
        context_management: tries.context_management,
        overlap: tries.overlap,
    })
}

/// Finds the frame of the newest turn whose first request was answered.
fn newest_frame(
    reader: &Reader<'_>,
    no: AgentNo,
    newest_first: &[Row],
) -> Result<Option<(Taken, FrameRecord)>, Error> {
    let mut rows = newest_first.iter().peekable();
    while let Some(row) = rows.next() {
        // A damaged row can have the largest number of all.
        let end = row.seq.saturating_add(1).min(LARGEST_SEQ);
        let found = log::frame_of(reader.conn(), no, row.turn_index, end, JOINED)?;
        if found.is_some() {
            return Ok(found);
        }
        while rows
            .next_if(|older| older.turn_index == row.turn_index)
            .is_some()
        {}
    }
    Ok(None)
}

/// Returns the fold that the last request of a turn began with, if the turn made one.
fn newest_fold(entries: &[LogEntry]) -> Option<&ThreadFold> {
    entries.iter().rev().find_map(|entry| match entry {
        LogEntry::ThreadFold(fold) => Some(fold),
        _ => None,
    })
}

/// Returns where the thread of a turn began. `now` is the agent's present one. Of a turn before a later fold nothing is
/// known but itself.
fn thread_of(now: &ThreadState, first_entry: LogSeq, entries: &[LogEntry]) -> ThreadState {
    let own = newest_fold(entries).map(|fold| ThreadState {
        from_entry: fold.from_entry,
        ..now.clone()
    });
    own.unwrap_or_else(|| {
        if now.fold.is_none_or(|fold| fold < first_entry) {
            now.clone()
        } else {
            ThreadState {
                from_entry: first_entry,
                ..ThreadState::default()
            }
        }
    })
}

fn prompt(
    reader: &Reader<'_>,
    no: AgentNo,
    thread: &ThreadState,
    newest_first: &[Row],
) -> Result<Option<PromptRows>, Error> {
    let Some((first, frame)) = newest_frame(reader, no, newest_first)? else {
        return Ok(None);
    };
    let (turn_index, message_seq) = (first.turn_index, first.message_seq);
    let read = |seq: MessageSeq| -> Result<Option<MessageEnvelope>, Error> {
        Ok(reader.message(no, seq)?.map(|entry| entry.envelope))
    };
    let (Some(current), Some(texts)) = (read(message_seq)?, frame_texts(reader, &frame)?) else {
        return Ok(None);
    };
    let operator = match frame.operator_seq {
        Some(seq) => read(seq)?,
        None => None,
    };
    let entries = entries_of(reader, no, first)?;
    let mut joined = HashMap::new();
    for entry in &entries {
        if let LogEntry::Interjection { message_seq, .. } = entry
            && let Some(message) = read(*message_seq)?
        {
            joined.insert(*message_seq, message);
        }
    }
    let thread = thread_of(thread, first.seq, &entries);
    let mut past = past_rows::read(reader, no, &thread, 0, first.seq)?;
    if let Some(fold) = newest_fold(&entries) {
        past.fold = Some(fold.clone());
    }
    Ok(Some(PromptRows {
        past,
        thread,
        entries,
        joined,
        turn_index,
        started_at: first.at,
        current,
        texts,
        operator,
        tasks: reader.tasks_to_tell(no)?,
        frame,
    }))
}
