//! Reads the rows from which a prompt of an agent is shown again: that of its last answered turn, or of a turn by its
//! number.

use crate::error::Error;
use crate::log::{self, Taken};
use crate::reader::{HistoryItem, Reader};
use crate::row::{AgentNo, all, json, limit};
use crate::turn_rows::{FrameTexts, frame_texts};
use holon_domain::attempt::TokenUsage;
use holon_domain::log::{FrameRecord, LogEntry};
use holon_domain::message::MessageEnvelope;
use holon_domain::prompt_plan::first_turn_shown;
use holon_domain::provider::ContextReduction;
use holon_domain::queue::MessageSeq;
use holon_domain::task::TaskRecord;
use holon_domain::turn::LogSeq;
use holon_domain::{Timestamp, limits};
use rusqlite::params;
use std::collections::HashMap;

/// Log entries that are searched for rounds and for the last answered turn.
const ENTRIES: usize = 64;
/// Rounds whose usage is returned.
const ROUNDS: usize = 12;
/// Messages that are searched for the one that began the turn. More cannot join a turn under the largest window.
const JOINED: usize = 16_384;

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
    /// Messages of earlier turns with their answers, oldest first.
    pub history: Vec<HistoryItem>,
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
        rows: prompt(reader, no, &newest_first)?,
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
        let found = log::frame_of(reader.conn(), no, row.turn_index, row.seq + 1, JOINED)?;
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

fn prompt(
    reader: &Reader<'_>,
    no: AgentNo,
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
    Ok(Some(PromptRows {
        entries,
        joined,
        turn_index,
        started_at: first.at,
        current,
        texts,
        operator,
        history: reader.history(
            no,
            first.seq,
            first_turn_shown(turn_index),
            2 * limits::RECENT_MESSAGES,
        )?,
        tasks: reader.tasks_to_tell(no)?,
        frame,
    }))
}
