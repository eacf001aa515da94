//! Reports whose words stand in removed entries: they get a copy. A delivery summary itself stays as long as its agent,
//! like its work item.

use super::Cut;
use crate::delivery_summaries;
use crate::error::Error;
use crate::row::{AgentNo, Unreadable, readable, run, short_text};
use holon_domain::turn::LogSeq;
use holon_domain::work_item::{DeliverySummaryRow, ReportText};
use rusqlite::{Connection, params};

/// The summaries whose words stand behind one entry of the log and up to another.
pub(crate) const IN_LOG: &str = "SELECT summary_id, row FROM delivery_summaries \
     WHERE agent_no = ?1 AND entry > ?2 AND entry <= ?3 ORDER BY entry";
pub(crate) const OWN_TEXT: &str = "UPDATE delivery_summaries SET entry = NULL, row = ?3 \
     WHERE agent_no = ?1 AND summary_id = ?2";

/// The summaries whose words stand in an entry that goes, with the words in place.
#[derive(Default)]
pub(super) struct ReportPlan(Vec<DeliverySummaryRow>);

impl ReportPlan {
    /// Bytes of words that summaries take over from entries that go.
    pub(super) fn copied_bytes(&self) -> u64 {
        let words = self.0.iter().map(|row| match &row.text {
            ReportText::Words(words) => words.len() as u64,
            ReportText::Round(_) => 0,
        });
        words.sum()
    }
}

/// Plans the copies of reports behind a position whose entries go. What cannot be read is passed over: its words go.
pub(super) fn plan(
    conn: &Connection,
    no: AgentNo,
    from: LogSeq,
    cut: &Cut,
) -> Result<ReportPlan, Error> {
    let range = params![no.0, from, cut.through];
    let found = Unreadable::IsPassedOver.all(conn, IN_LOG, range, delivery_summaries::read)?;
    let mut plan = ReportPlan::default();
    for row in found {
        let words = delivery_summaries::words_of(conn, no, row.text.clone());
        if let Some(words) = readable(conn, words)? {
            let text = ReportText::Words(words);
            plan.0.push(DeliverySummaryRow { text, ..row });
        }
    }
    Ok(plan)
}

/// Writes the copies into the rows, which name no entry of the log from then on.
pub(super) fn apply(conn: &Connection, no: AgentNo, plan: &ReportPlan) -> Result<(), Error> {
    for row in &plan.0 {
        run(
            conn,
            OWN_TEXT,
            params![no.0, row.id.as_str(), short_text(row)?],
        )?;
    }
    Ok(())
}
