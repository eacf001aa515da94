//! Reads the rows from which the last prompt of an agent is shown again.

use crate::error::Error;
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

/// Log entries that are searched for the last frame.
const ENTRIES: usize = 512;
/// Rounds whose usage is returned.
const ROUNDS: usize = 12;

const NEWEST: &str = "SELECT seq, turn_index, at, entry FROM log \
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
    at: Timestamp,
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
                at: Timestamp::from_millis(row.get(2)?),
                entry: json(row, 3, "log", seq)?,
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

fn frame_of(row: &Row) -> Option<(u64, &FrameRecord)> {
    let LogEntry::Frame(frame) = &row.entry else {
        return None;
    };
    Some((row.turn_index, frame))
}

/// Returns the row with which the turn began, and its message, if this row is the one.
fn opening(row: &Row, turn_index: u64) -> Option<(&Row, MessageSeq)> {
    let LogEntry::IncomingMessage { message_seq } = row.entry else {
        return None;
    };
    (row.turn_index == turn_index).then_some((row, message_seq))
}

fn prompt(
    reader: &Reader<'_>,
    no: AgentNo,
    newest_first: &[Row],
) -> Result<Option<PromptRows>, Error> {
    let mut frames = newest_first.iter().filter_map(frame_of);
    let Some((turn_index, frame)) = frames.next() else {
        return Ok(None);
    };
    let mut opened = newest_first
        .iter()
        .filter_map(|row| opening(row, turn_index));
    let Some((first, message_seq)) = opened.next() else {
        return Ok(None);
    };
    let read = |seq: MessageSeq| -> Result<Option<MessageEnvelope>, Error> {
        Ok(reader.message(no, seq)?.map(|entry| entry.envelope))
    };
    let (Some(current), Some(texts)) = (read(message_seq)?, frame_texts(reader, frame)?) else {
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
        frame: frame.clone(),
    }))
}
