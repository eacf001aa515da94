//! The delivery_summaries table: the reports of completed work items.
//!
//! The text of a report is stored once. While its round is in the log, the row names the entry (`entry` repeats the
//! position, so that retention finds the row); later the row has the text.

use crate::error::Error;
use crate::log;
use crate::row::{AgentNo, Unreadable, first, json, run, short_text};
use holon_domain::DeliverySummaryId;
use holon_domain::block::text_of;
use holon_domain::log::LogEntry;
use holon_domain::turn::LogSeq;
use holon_domain::work_item::{DeliverySummaryRow, ReportText};
use rusqlite::{Connection, Row, params};

const INSERT: &str =
    "INSERT INTO delivery_summaries (agent_no, summary_id, entry, row) VALUES (?1, ?2, ?3, ?4)";
pub(crate) const ONE: &str =
    "SELECT summary_id, row FROM delivery_summaries WHERE agent_no = ?1 AND summary_id = ?2";

pub(crate) fn read(row: &Row<'_>) -> Result<DeliverySummaryRow, Error> {
    let id: String = row.get(0)?;
    json(row, 1, "delivery_summaries", id)
}

/// Writes the summary of an item that was just completed. A second one of an item is an error of the decision.
pub(crate) fn write(
    conn: &Connection,
    no: AgentNo,
    summary: &DeliverySummaryRow,
) -> Result<(), Error> {
    let entry = entry_of(summary);
    let text = short_text(summary)?;
    run(
        conn,
        INSERT,
        params![no.0, summary.id.as_str(), entry, text],
    )?;
    Ok(())
}

/// Returns the entry of the log in which the text of a report stands.
pub(crate) const fn entry_of(summary: &DeliverySummaryRow) -> Option<LogSeq> {
    match summary.text {
        ReportText::Round(entry) => Some(entry),
        ReportText::Words(_) => None,
    }
}

/// Reads a summary. Its text may stand in the log.
pub(crate) fn one(
    conn: &Connection,
    no: AgentNo,
    id: &DeliverySummaryId,
    unreadable: Unreadable,
) -> Result<Option<DeliverySummaryRow>, Error> {
    unreadable.first(conn, ONE, params![no.0, id.as_str()], read)
}

/// Reads the text of a report that something points to.
pub(crate) fn words(
    conn: &Connection,
    no: AgentNo,
    id: &DeliverySummaryId,
) -> Result<String, Error> {
    let found = first(conn, ONE, params![no.0, id.as_str()], read)?;
    let summary = found.ok_or_else(|| Error::Row {
        table: "delivery_summaries",
        key: id.to_string(),
        reason: "a brief takes its words from here, but there is no such row".to_owned(),
    })?;
    words_of(conn, no, summary.text)
}

/// Reads a text that may stand in the log.
pub(crate) fn words_of(conn: &Connection, no: AgentNo, text: ReportText) -> Result<String, Error> {
    match text {
        ReportText::Words(words) => Ok(words),
        ReportText::Round(seq) => words_of_round(conn, no, seq),
    }
}

/// Reads the text of an assistant round.
pub(crate) fn words_of_round(conn: &Connection, no: AgentNo, seq: LogSeq) -> Result<String, Error> {
    match log::entry(conn, no, seq)? {
        Some(LogEntry::AssistantRound { blocks, .. }) => Ok(text_of(&blocks)),
        Some(_) | None => Err(Error::Row {
            table: "log",
            key: seq.to_string(),
            reason: "a brief takes its words from here, but this is no assistant round".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Db;
    use crate::samples::{Scribe, delivery_summary, id, work_item};
    use holon_domain::brief::BriefText;
    use holon_domain::decision::Fact;

    #[test]
    fn an_item_has_one_summary_and_a_brief_that_points_to_none_names_the_row() {
        let mut db = Db::in_memory().unwrap();
        let mut scribe = Scribe::new("a");
        let no = db.write(|tx| tx.create_agent(&scribe.record)).unwrap();
        let words = || ReportText::Words("it builds".to_owned());
        let summary = delivery_summary(&work_item(&id("a"), "done"), words());
        let brief = BriefText::Report(summary.id.clone());
        scribe
            .brief(brief)
            .fact(Fact::DeliverySummaryWritten(Box::new(summary.clone())));
        let decision = scribe.decide();
        db.write(|tx| tx.apply(no, &decision)).unwrap();
        let briefs = db.reader().briefs(no, 9).unwrap();
        assert_eq!(briefs[0].text, "it builds");
        let found = db.reader().delivery_summary(no, &summary.id).unwrap();
        assert_eq!(found.as_ref(), Some(&summary));
        scribe.fact(Fact::DeliverySummaryWritten(Box::new(summary)));
        let again = scribe.decide();
        assert!(db.write(|tx| tx.apply(no, &again)).is_err());
        db.conn
            .execute("DELETE FROM delivery_summaries", [])
            .unwrap();
        let error = db.reader().briefs(no, 9).unwrap_err().to_string();
        assert!(error.contains("delivery_summaries dsum_done"), "{error}");
    }
}
