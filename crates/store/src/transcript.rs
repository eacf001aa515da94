//! The transcript: the log as people and clients read it, with message bodies included.
//!
//! It is a projection; nothing here is stored. Frames and recaps are not entries of their own: their content is shown on the
//! assistant rounds of their turn.

use crate::error::Error;
use crate::row::{AgentNo, json, limit};
use crate::{agents, queue};
use holon_domain::feed::SeqQuery;
use holon_domain::log::{FrameRecord, LogEntry};
use holon_domain::queue::MessageSeq;
use holon_domain::tool::{ToolEnvelope, ToolOutcome};
use holon_domain::transcript::{TranscriptEntry, TranscriptKind};
use holon_domain::turn::LogSeq;
use holon_domain::{AgentId, Timestamp};
use rusqlite::{Connection, Row, params};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::ops::Range;

pub(crate) const BACKWARD: &str = "SELECT seq, turn_index, at, entry FROM log \
     WHERE agent_no = ?1 AND seq < ?2 ORDER BY seq DESC";

pub(crate) const FORWARD: &str = "SELECT seq, turn_index, at, entry FROM log \
     WHERE agent_no = ?1 AND seq > ?2 AND seq < ?3 ORDER BY seq";

/// Entries before a page that are searched for the frame of its oldest turn.
const FRAME_REACH: usize = 256;

/// One row of the log.
struct LogRow {
    seq: LogSeq,
    turn_index: u64,
    at: Timestamp,
    entry: LogEntry,
}

fn read_row(row: &Row<'_>) -> Result<LogRow, Error> {
    let seq: LogSeq = row.get(0)?;
    Ok(LogRow {
        seq,
        turn_index: row.get(1)?,
        at: Timestamp::from_millis(row.get(2)?),
        entry: json(row, 3, "log", seq)?,
    })
}

/// Returns the newest entries in ascending order.
pub(crate) fn newest(
    conn: &Connection,
    no: AgentNo,
    count: usize,
) -> Result<Vec<TranscriptEntry>, Error> {
    let query = SeqQuery {
        limit: count,
        ..SeqQuery::default()
    };
    page(conn, no, query)
}

/// Returns a page of entries in ascending order.
pub(crate) fn page(
    conn: &Connection,
    no: AgentNo,
    query: SeqQuery,
) -> Result<Vec<TranscriptEntry>, Error> {
    let agent_id = agents::id_of(conn, no)?;
    let before = limit(query.before_seq.unwrap_or(u64::MAX));
    let page = match query.after_seq {
        None => collect(conn, no, before, query.limit)?,
        Some(after) => collect_forward(conn, no, limit(after)..before, query.limit)?,
    };
    page.rows
        .into_iter()
        .rev()
        .map(|row| {
            let frame = page.frames.get(&row.turn_index);
            project(conn, no, &agent_id, row, frame)
        })
        .collect()
}

/// The rows of a page, newest first, and the frames of their turns.
struct Page {
    rows: Vec<LogRow>,
    frames: HashMap<u64, FrameRecord>,
}

/// Collects the first rows between two positions, and the frames of their turns.
fn collect_forward(
    conn: &Connection,
    no: AgentNo,
    between: Range<i64>,
    count: usize,
) -> Result<Page, Error> {
    let mut statement = conn.prepare_cached(FORWARD)?;
    let mut found = statement.query(params![no.0, between.start, between.end])?;
    let mut page = Page {
        rows: Vec::new(),
        frames: HashMap::new(),
    };
    while page.rows.len() < count
        && let Some(row) = found.next()?
    {
        let row = read_row(row)?;
        match row.entry {
            LogEntry::Frame(frame) => {
                page.frames.entry(row.turn_index).or_insert(frame);
            }
            LogEntry::Recap(_) | LogEntry::ThreadFold(_) | LogEntry::Shortened(_) => {}
            _ => page.rows.push(row),
        }
    }
    if let Some(first) = page.rows.first()
        && !page.frames.contains_key(&first.turn_index)
    {
        // The frame of the first turn may stand before the page.
        let turn = first.turn_index;
        let frame = frame_before(conn, no, limit(first.seq), turn)?;
        page.frames.extend(frame.map(|frame| (turn, frame)));
    }
    page.rows.reverse();
    Ok(page)
}

/// Finds the frame of a turn among the entries before a position.
fn frame_before(
    conn: &Connection,
    no: AgentNo,
    before: i64,
    turn_index: u64,
) -> Result<Option<FrameRecord>, Error> {
    let mut statement = conn.prepare_cached(BACKWARD)?;
    let mut found = statement.query(params![no.0, before])?;
    for _ in 0..FRAME_REACH {
        let Some(row) = found.next()? else { break };
        let row = read_row(row)?;
        if row.turn_index != turn_index {
            break;
        }
        if let LogEntry::Frame(frame) = row.entry {
            return Ok(Some(frame));
        }
    }
    Ok(None)
}

/// Collects the last rows before a position, and the frames of their turns.
fn collect(conn: &Connection, no: AgentNo, before: i64, count: usize) -> Result<Page, Error> {
    let mut statement = conn.prepare_cached(BACKWARD)?;
    let mut found = statement.query(params![no.0, before])?;
    let mut page = Page {
        rows: Vec::new(),
        frames: HashMap::new(),
    };
    let mut beyond = 0;
    while let Some(row) = found.next()? {
        let row = read_row(row)?;
        if let LogEntry::Frame(frame) = row.entry {
            page.frames.entry(row.turn_index).or_insert(frame);
        } else if matches!(
            row.entry,
            LogEntry::Recap(_) | LogEntry::ThreadFold(_) | LogEntry::Shortened(_)
        ) {
            continue;
        } else if page.rows.len() < count {
            page.rows.push(row);
            continue;
        }
        let oldest = page.rows.last().map(|row| row.turn_index);
        let full = page.rows.len() >= count;
        let complete =
            oldest.is_none_or(|turn| page.frames.contains_key(&turn) || turn != row.turn_index);
        if full && (complete || beyond >= FRAME_REACH) {
            break;
        }
        beyond += usize::from(full);
    }
    Ok(page)
}

fn project(
    conn: &Connection,
    no: AgentNo,
    agent_id: &AgentId,
    row: LogRow,
    frame: Option<&FrameRecord>,
) -> Result<TranscriptEntry, Error> {
    let mut entry = TranscriptEntry {
        id: format!("log_{}", row.seq),
        agent_id: agent_id.clone(),
        seq: row.seq,
        created_at: row.at,
        turn_index: row.turn_index,
        kind: TranscriptKind::IncomingMessage,
        round: None,
        related_message_id: None,
        related_task_id: None,
        stop_reason: None,
        input_tokens: None,
        output_tokens: None,
        data: Value::Null,
    };
    match row.entry {
        LogEntry::IncomingMessage { message_seq } => {
            fill_message(conn, no, message_seq, &mut entry)?
        }
        LogEntry::Interjection {
            message_seq,
            boundary,
            waits: _,
        } => {
            fill_message(conn, no, message_seq, &mut entry)?;
            set(&mut entry.data, "boundary", serde_json::to_value(boundary)?);
        }
        // Never collected as a row. If it were, it would be shown empty rather than lost.
        LogEntry::Frame(_)
        | LogEntry::Recap(_)
        | LogEntry::ThreadFold(_)
        | LogEntry::Shortened(_) => {}
        said @ LogEntry::AssistantRound { .. } => fill_round(said, frame, &mut entry)?,
        LogEntry::ToolResult {
            round,
            call_id,
            envelope,
            duration_ms,
        } => {
            entry.kind = TranscriptKind::ToolResults;
            entry.round = Some(round);
            entry.data =
                json!({ "results": [tool_result(call_id.as_str(), envelope, duration_ms)] });
        }
        LogEntry::ContinuationPrompt { text, reason } => {
            entry.kind = TranscriptKind::ContinuationPrompt;
            entry.data = json!({ "text": text, "reason": reason });
        }
        failed @ LogEntry::RuntimeFailure { .. } => fill_failure(failed, &mut entry),
    }
    Ok(entry)
}

fn set(data: &mut Value, key: &str, value: Value) {
    if let Value::Object(fields) = data {
        fields.insert(key.to_owned(), value);
    }
}

fn fill_message(
    conn: &Connection,
    no: AgentNo,
    seq: MessageSeq,
    entry: &mut TranscriptEntry,
) -> Result<(), Error> {
    let Some(message) = queue::message(conn, no, seq)? else {
        // A turn took it a second time, long after the first one, which retention has removed.
        entry.data = json!({ "message": null, "removed_by_retention": true });
        return Ok(());
    };
    entry.related_message_id = Some(message.envelope.id.clone());
    entry.related_task_id = message.envelope.task_id.clone();
    entry.data = json!({ "message": message.envelope });
    Ok(())
}

fn fill_round(
    said: LogEntry,
    frame: Option<&FrameRecord>,
    entry: &mut TranscriptEntry,
) -> Result<(), Error> {
    let LogEntry::AssistantRound {
        round,
        blocks,
        stop_reason,
        usage,
        tries,
        intents: _,
    } = said
    else {
        return Ok(());
    };
    entry.kind = TranscriptKind::AssistantRound;
    entry.round = Some(round);
    entry.stop_reason = serde_json::to_value(stop_reason)?
        .as_str()
        .map(str::to_owned);
    entry.input_tokens = Some(usage.input_tokens);
    entry.output_tokens = Some(usage.output_tokens);
    entry.data = json!({
        "blocks": blocks,
        "token_usage": usage,
        "requested_model": tries.requested_model(),
        "active_model": tries.model_ref,
        "fallback_active": tries.fallback_active(),
        "provider_attempt_timeline": tries.timeline(usage),
    });
    if let Some(cache) = usage.cache_usage() {
        set(&mut entry.data, "provider_cache_usage", json!(cache));
    }
    if let Some(reduced) = tries.context_management {
        set(&mut entry.data, "context_management", json!(reduced));
    }
    if let Some(frame) = frame {
        set(
            &mut entry.data,
            "prompt_cache_key",
            json!(frame.prompt_cache_key),
        );
        set(
            &mut entry.data,
            "context_fingerprint",
            json!(frame.context_fingerprint),
        );
        set(
            &mut entry.data,
            "working_memory_revision",
            json!(frame.working_memory_revision),
        );
        set(
            &mut entry.data,
            "compression_epoch",
            json!(frame.compression_epoch),
        );
    }
    Ok(())
}

fn tool_result(call_id: &str, envelope: ToolEnvelope, duration_ms: u64) -> Value {
    let mut result = json!({
        "tool_call_id": call_id,
        "tool_name": envelope.tool_name,
        "summary_text": envelope.summary_text,
        "duration_ms": duration_ms,
    });
    match envelope.outcome {
        ToolOutcome::Success { result: value } => {
            set(&mut result, "status", json!("success"));
            set(&mut result, "result", value);
        }
        ToolOutcome::Error { error } => {
            set(&mut result, "status", json!("error"));
            set(&mut result, "error", json!(error));
        }
    }
    result
}

fn fill_failure(failed: LogEntry, entry: &mut TranscriptEntry) {
    let LogEntry::RuntimeFailure {
        message_id,
        text,
        failure_artifact,
        usage,
        timeline,
        reason: _,
        task_id,
    } = failed
    else {
        return;
    };
    entry.kind = TranscriptKind::RuntimeFailure;
    entry.related_message_id = Some(message_id);
    entry.related_task_id = task_id;
    entry.input_tokens = usage.map(|usage| usage.input_tokens);
    entry.output_tokens = usage.map(|usage| usage.output_tokens);
    entry.data = json!({
        "text": text,
        "error": failure_artifact.summary,
        "error_chain": failure_artifact.source_chain,
        "failure_artifact": failure_artifact,
        "token_usage": usage,
        "provider_attempt_timeline": timeline,
    });
}
