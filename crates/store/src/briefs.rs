//! The briefs table: the messages to operators. Text that is in the log or in a delivery summary is read from there.

use crate::error::Error;
use crate::row::{AgentNo, all, all_readable, first, json, limit, run, short_text};
use crate::{agents, delivery_summaries};
use holon_domain::AgentId;
use holon_domain::brief::{BriefKind, BriefRecord, BriefRow, BriefText};
use holon_domain::decision::BriefSeq;
use holon_domain::feed::SeqQuery;
use rusqlite::{Connection, params};

const INSERT: &str = "INSERT INTO briefs (agent_no, seq, row) VALUES (?1, ?2, ?3)";
pub(crate) const ONE: &str = "SELECT row FROM briefs WHERE agent_no = ?1 AND seq = ?2";
pub(crate) const NEWEST: &str =
    "SELECT seq, row FROM briefs WHERE agent_no = ?1 ORDER BY seq DESC LIMIT ?2";

pub(crate) const BEFORE: &str = "SELECT seq, row FROM briefs WHERE agent_no = ?1 AND seq > ?2 AND seq < ?3 ORDER BY seq DESC LIMIT ?4";
pub(crate) const AFTER: &str = "SELECT seq, row FROM briefs WHERE agent_no = ?1 AND seq > ?2 AND seq < ?3 ORDER BY seq LIMIT ?4";

pub(crate) fn write(
    conn: &Connection,
    no: AgentNo,
    seq: BriefSeq,
    row: &BriefRow,
) -> Result<(), Error> {
    let text = short_text(row)?;
    run(conn, INSERT, params![no.0, seq, text])?;
    Ok(())
}

/// Returns the newest briefs in ascending order.
pub(crate) fn newest(
    conn: &Connection,
    no: AgentNo,
    count: usize,
) -> Result<Vec<BriefRecord>, Error> {
    let query = SeqQuery {
        limit: count,
        ..SeqQuery::default()
    };
    page(conn, no, query)
}

/// Returns a page of briefs in ascending order.
pub(crate) fn page(
    conn: &Connection,
    no: AgentNo,
    query: SeqQuery,
) -> Result<Vec<BriefRecord>, Error> {
    let agent_id = agents::id_of(conn, no)?;
    let sql = if query.after_seq.is_some() {
        AFTER
    } else {
        BEFORE
    };
    let bounds = params![
        no.0,
        limit(query.after_seq.unwrap_or(0)),
        limit(query.before_seq.unwrap_or(u64::MAX)),
        limit(query.limit)
    ];
    let mut rows = all(conn, sql, bounds, |row| {
        let seq: BriefSeq = row.get(0)?;
        Ok((seq, json::<BriefRow>(row, 1, "briefs", seq)?))
    })?;
    if query.after_seq.is_none() {
        rows.reverse();
    }
    rows.into_iter()
        .map(|(seq, row)| resolve(conn, no, &agent_id, seq, row))
        .collect()
}

pub(crate) fn one(
    conn: &Connection,
    no: AgentNo,
    seq: BriefSeq,
) -> Result<Option<BriefRecord>, Error> {
    let Some(row) = stored(conn, no, seq)? else {
        return Ok(None);
    };
    resolve(conn, no, &agents::id_of(conn, no)?, seq, row).map(Some)
}

/// Returns the newest rows, newest first, without their texts.
pub(crate) fn newest_rows(
    conn: &Connection,
    no: AgentNo,
    count: usize,
) -> Result<Vec<BriefRow>, Error> {
    all(conn, NEWEST, params![no.0, limit(count)], |row| {
        let seq: BriefSeq = row.get(0)?;
        json(row, 1, "briefs", seq)
    })
}

/// Returns the newest rows like [`newest_rows`], without those that cannot be read.
pub(crate) fn newest_readable(
    conn: &Connection,
    no: AgentNo,
    count: usize,
) -> Result<Vec<BriefRow>, Error> {
    all_readable(conn, NEWEST, params![no.0, limit(count)], |row| {
        let seq: BriefSeq = row.get(0)?;
        json(row, 1, "briefs", seq)
    })
}

/// Words of an outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OutcomeWords {
    pub(crate) text: String,
    /// True if the runtime wrote them, because the request failed.
    pub(crate) is_failure: bool,
}

/// Reads the text of one brief.
pub(crate) fn words(
    conn: &Connection,
    no: AgentNo,
    seq: BriefSeq,
) -> Result<Option<OutcomeWords>, Error> {
    stored(conn, no, seq)?
        .map(|row| outcome_words(conn, no, row))
        .transpose()
}

fn outcome_words(conn: &Connection, no: AgentNo, row: BriefRow) -> Result<OutcomeWords, Error> {
    Ok(OutcomeWords {
        is_failure: row.kind == BriefKind::Failure,
        text: words_of(conn, no, row.text)?,
    })
}

fn stored(conn: &Connection, no: AgentNo, seq: BriefSeq) -> Result<Option<BriefRow>, Error> {
    first(conn, ONE, params![no.0, seq], |row| {
        json(row, 0, "briefs", seq)
    })
}

/// Reads a text that may stand in the log or in a delivery summary.
pub(crate) fn words_of(conn: &Connection, no: AgentNo, text: BriefText) -> Result<String, Error> {
    match text {
        BriefText::Words(words) => Ok(words),
        BriefText::Round(seq) => delivery_summaries::words_of_round(conn, no, seq),
        BriefText::Report(id) => delivery_summaries::words(conn, no, &id),
    }
}

fn resolve(
    conn: &Connection,
    no: AgentNo,
    agent_id: &AgentId,
    seq: BriefSeq,
    row: BriefRow,
) -> Result<BriefRecord, Error> {
    Ok(BriefRecord {
        id: row.id,
        seq,
        agent_id: agent_id.clone(),
        workspace_id: row.workspace_id,
        work_item_id: row.work_item_id,
        kind: row.kind,
        created_at: row.created_at,
        text: words_of(conn, no, row.text)?,
        note: row.note,
        attachments: row.attachments,
        related_message_id: row
            .related_message_id
            .or_else(|| row.settles.first().cloned()),
        related_task_id: row.related_task_id,
        settles: row.settles,
        turn_index: row.turn_index,
        acknowledges: row.acknowledges,
        action_required: row.action_required,
        usage: row.spending.map(Into::into),
    })
}
