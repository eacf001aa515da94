//! Reads the rows from which the last prompt of an agent is shown again.

use crate::error::Error;
use crate::log::{self, Taken};
use crate::reader::{HistoryItem, Reader};
use crate::row::{AgentNo, all, json, limit};
use crate::turn_rows::{FrameTexts, frame_texts};
use holon_domain::attempt::TokenUsage;
use holon_domain::log::{FrameRecord, LogEntry};
use holon_domain::message::MessageEnvelope;
use holon_domain::prompt_plan::first_turn_shown;
use holon_domain::queue::MessageSeq;
use holon_domain::task::TaskRecord;
use holon_domain::turn::LogSeq;
use holon_domain::{Timestamp, limits};
use rusqlite::params;

/// Log entries that are searched for rounds and for the last answered turn.
const ENTRIES: usize = 64;
/// Rounds whose usage is returned.
const ROUNDS: usize = 12;

const NEWEST: &str = "SELECT seq, turn_index, entry FROM log \
     WHERE agent_no = ?1 ORDER BY seq DESC LIMIT ?2";

/// Usage of an answered round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoundUsage {
    pub turn_index: u64,
    pub round: u32,
    pub usage: TokenUsage,
    /// Model that answered, as `provider/model`.
    pub model_ref: String,
}

/// The rows of the last prompt.
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
}

struct Row {
    seq: LogSeq,
    turn_index: u64,
    entry: LogEntry,
}

/// Returns the last rounds, newest first, and the rows of the last prompt; `None` if no frame is found, or if its texts
/// are no longer stored.
pub(crate) fn read(
    reader: &Reader<'_>,
    no: AgentNo,
) -> Result<(Vec<RoundUsage>, Option<PromptRows>), Error> {
    let newest_first = all(
        reader.conn(),
        NEWEST,
        params![no.0, limit(ENTRIES)],
        |row| {
            let seq: LogSeq = row.get(0)?;
            Ok(Row {
                seq,
                turn_index: row.get(1)?,
                entry: json(row, 2, "log", seq)?,
            })
        },
    )?;
    let rounds = newest_first.iter().filter_map(round).take(ROUNDS).collect();
    Ok((rounds, prompt(reader, no, &newest_first)?))
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
        let found = log::frame_of(reader.conn(), no, row.turn_index, row.seq + 1)?;
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
    Ok(Some(PromptRows {
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
