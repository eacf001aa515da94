//! The messages table: envelopes as admitted, their place in the queue, and the brief that settled each.
//!
//! Invariant: a status changes only from the one that the decision saw, and an outcome is written at most once.

use crate::agents::Tally;
use crate::error::Error;
use crate::row::{AgentNo, Unreadable, all, first, json, limit, run, short_text};
use crate::{effects, image_refs, interjections};
use holon_domain::decision::BriefSeq;
use holon_domain::message::{MessageKind, MessageLabels};
use holon_domain::needs::{Needs, Part};
use holon_domain::queue::{MessageSeq, QueueEntry, QueueStatus, QueueView, QueuedPrompt};
use holon_domain::{MessageId, Timestamp, limits};
use rusqlite::{Connection, Row, params};
use serde::Deserialize;

const INSERT: &str = "INSERT INTO messages (agent_no, seq, status, priority, interject, max_rounds, envelope) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
pub(crate) const HEAD: &str = "SELECT seq, status, max_rounds, envelope FROM messages \
     WHERE agent_no = ?1 AND status = 0 ORDER BY priority, seq LIMIT 1";
pub(crate) const QUEUED: &str = "SELECT seq, envelope FROM messages \
     WHERE agent_no = ?1 AND status = 0 ORDER BY priority, seq LIMIT ?2";
pub(crate) const ONE: &str =
    "SELECT seq, status, max_rounds, envelope FROM messages WHERE agent_no = ?1 AND seq = ?2";
/// Only operators may interject by priority, and the first band holds nothing else, so the count stops at its bound for
/// a queue of any length.
pub(crate) const OPERATORS: &str = "SELECT seq FROM messages \
     WHERE agent_no = ?1 AND status = 0 AND priority = 0 AND interject = 1 LIMIT ?2";
pub(crate) const STANDING: &str =
    "SELECT status, interject, priority FROM messages WHERE agent_no = ?1 AND seq = ?2";
pub(crate) const MOVE: &str = "UPDATE messages SET status = ?3 WHERE agent_no = ?1 AND seq = ?2";
pub(crate) const SETTLE: &str =
    "UPDATE messages SET outcome = ?3 WHERE agent_no = ?1 AND seq = ?2 AND outcome IS NULL";
pub(crate) const OUTCOME: &str = "SELECT outcome FROM messages WHERE agent_no = ?1 AND seq = ?2";

/// Stored number of a status; the queue's index knows `Queued` as 0.
pub(crate) const fn status_code(status: QueueStatus) -> i64 {
    match status {
        QueueStatus::Queued => 0,
        QueueStatus::Dequeued => 1,
        QueueStatus::Processed => 2,
        QueueStatus::Interjected => 3,
        QueueStatus::Aborted => 4,
        QueueStatus::Dropped => 5,
        QueueStatus::Held => 6,
    }
}

fn status_of(code: i64) -> Option<QueueStatus> {
    QueueStatus::ALL
        .into_iter()
        .find(|status| status_code(*status) == code)
}

pub(crate) fn read_entry(row: &Row<'_>) -> Result<QueueEntry, Error> {
    let seq: MessageSeq = row.get(0)?;
    Ok(QueueEntry {
        seq,
        status: read_status(row, 1, seq)?,
        max_rounds: row.get(2)?,
        envelope: json(row, 3, "messages", seq)?,
    })
}

/// Reads the labels of one message.
pub(crate) fn labels(
    conn: &Connection,
    no: AgentNo,
    seq: MessageSeq,
) -> Result<Option<MessageLabels>, Error> {
    first(conn, ONE, params![no.0, seq], |row| {
        json(row, 3, "messages", seq)
    })
}

fn read_status(row: &Row<'_>, column: usize, seq: MessageSeq) -> Result<QueueStatus, Error> {
    let code = row.get(column)?;
    status_of(code).ok_or_else(|| Error::Row {
        table: "messages",
        key: seq.to_string(),
        reason: format!("unknown status {code}"),
    })
}

/// Writes an admitted message.
pub(crate) fn admit(
    conn: &Connection,
    no: AgentNo,
    entry: &QueueEntry,
    tally: &mut Tally,
) -> Result<(), Error> {
    let interject = entry.envelope.may_interject();
    let envelope = short_text(&entry.envelope)?;
    let values = params![
        no.0,
        entry.seq,
        status_code(entry.status),
        entry.envelope.priority.rank(),
        interject,
        entry.max_rounds,
        envelope
    ];
    run(conn, INSERT, values)?;
    image_refs::note(conn, no, entry)?;
    if entry.status == QueueStatus::Queued {
        tally.pending += 1;
        if interject {
            tally.interjections += 1;
            interjections::add(conn, no, entry.envelope.priority.rank(), entry.seq)?;
        }
    }
    Ok(())
}

/// Changes the status of a message.
pub(crate) fn shift(
    conn: &Connection,
    no: AgentNo,
    seq: MessageSeq,
    from: QueueStatus,
    to: QueueStatus,
    tally: &mut Tally,
) -> Result<(), Error> {
    let found = first(conn, STANDING, params![no.0, seq], |row| {
        Ok((read_status(row, 0, seq)?, (row.get(1)?, row.get(2)?)))
    })?;
    let Some((_, (interject, priority))) = found.filter(|(status, _)| *status == from) else {
        let found = found.map(|(status, _)| status);
        return Err(Error::contradiction(format!(
            "message {seq} moves from {from:?}, but it is {found:?}"
        )));
    };
    run(conn, MOVE, params![no.0, seq, status_code(to)])?;
    if from == QueueStatus::Queued {
        tally.pending = tally.pending.saturating_sub(1);
        if interject {
            tally.interjections = tally.interjections.saturating_sub(1);
            interjections::remove(conn, no, priority, seq)?;
        }
    }
    if to == QueueStatus::Queued {
        tally.pending += 1;
        if interject {
            tally.interjections += 1;
            interjections::add(conn, no, priority, seq)?;
        }
    }
    Ok(())
}

/// Writes the one outcome of a message.
pub(crate) fn settle(
    conn: &Connection,
    no: AgentNo,
    seq: MessageSeq,
    brief: BriefSeq,
) -> Result<(), Error> {
    if run(conn, SETTLE, params![no.0, seq, brief])? == 1 {
        return Ok(());
    }
    Err(Error::contradiction(format!(
        "message {seq} is settled by brief {brief}, but it is absent or settled already"
    )))
}

/// Reads the lengths of the queue, and the requested parts of it.
pub(crate) fn view(
    conn: &Connection,
    no: AgentNo,
    tally: &Tally,
    needs: &Needs,
) -> Result<QueueView, Error> {
    let mut view = QueueView::of_length(tally.pending, tally.interjections);
    if needs.queue_head && tally.pending > 0 {
        view.head = Part::Loaded(first(conn, HEAD, [no.0], read_entry)?);
    }
    if needs.operators && tally.interjections > 0 {
        let bound = limit(QueueView::OPERATORS_COUNTED);
        let found = all(conn, OPERATORS, params![no.0, bound], |_| Ok(()))?;
        view.operators = Part::Loaded(found.len() as u64);
    }
    if needs.soonest_due {
        view.soonest = Part::Loaded(effects::soonest(conn, no, Unreadable::Fails)?);
    }
    Ok(view)
}

/// The fields of a queued message that tell if it is a waiting prompt.
#[derive(Deserialize)]
struct StoredPrompt {
    id: MessageId,
    kind: MessageKind,
    created_at: Timestamp,
}

/// Lists the operators' prompts near the head of the queue, in order. Bodies are skipped.
pub(crate) fn prompts(conn: &Connection, no: AgentNo) -> Result<Vec<QueuedPrompt>, Error> {
    let mut statement = conn.prepare_cached(QUEUED)?;
    let mut rows = statement.query(params![no.0, limit(limits::QUEUED_PROMPTS_SEEN)])?;
    let (mut prompts, mut seen_bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let seq: MessageSeq = row.get(0)?;
        let stored: StoredPrompt = json(row, 1, "messages", seq)?;
        if stored.kind == MessageKind::OperatorPrompt {
            prompts.push(QueuedPrompt {
                seq,
                id: stored.id,
                created_at: stored.created_at,
            });
        }
        seen_bytes += row.get_ref(1)?.as_str().map_or(0, str::len);
        if prompts.len() >= limits::QUEUED_PROMPTS
            || seen_bytes >= limits::QUEUED_PROMPTS_SEEN_BYTES
        {
            break;
        }
    }
    Ok(prompts)
}

pub(crate) fn message(
    conn: &Connection,
    no: AgentNo,
    seq: MessageSeq,
) -> Result<Option<QueueEntry>, Error> {
    first(conn, ONE, params![no.0, seq], read_entry)
}

/// Reads the brief that settled a message.
pub(crate) fn outcome(
    conn: &Connection,
    no: AgentNo,
    seq: MessageSeq,
) -> Result<Option<BriefSeq>, Error> {
    Ok(first(conn, OUTCOME, params![no.0, seq], |row| Ok(row.get(0)?))?.flatten())
}

/// Returns true if there is a message without an outcome.
pub(crate) fn is_open(conn: &Connection, no: AgentNo, seq: MessageSeq) -> Result<bool, Error> {
    let found: Option<Option<BriefSeq>> =
        first(conn, OUTCOME, params![no.0, seq], |row| Ok(row.get(0)?))?;
    Ok(found.is_some_and(|outcome| outcome.is_none()))
}
