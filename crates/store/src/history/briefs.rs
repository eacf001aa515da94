//! Briefs of removed turns: they get words of their own, and the oldest of many go.

use super::Cut;
use crate::error::Error;
use crate::memory_outbox::{self, MemorySource};
use crate::row::{AgentNo, json, run, short_text};
use crate::{briefs, deliveries};
use holon_domain::BriefId;
use holon_domain::agent::AgentRecord;
use holon_domain::brief::{BriefRow, BriefText};
use holon_domain::decision::BriefSeq;
use holon_domain::limits::BRIEFS_KEPT_PER_AGENT;
use rusqlite::{Connection, params};
use std::collections::BTreeSet;

/// The briefs from a position on.
pub(crate) const BORROWED: &str =
    "SELECT seq, row FROM briefs WHERE agent_no = ?1 AND seq >= ?2 ORDER BY seq";
pub(crate) const OWN_WORDS: &str = "UPDATE briefs SET row = ?3 WHERE agent_no = ?1 AND seq = ?2";
pub(crate) const REMOVE_BRIEFS: &str = "DELETE FROM briefs WHERE agent_no = ?1 AND seq <= ?2";

/// A brief that goes.
pub(super) struct GoneBrief {
    /// Absent if the row cannot be read.
    id: Option<BriefId>,
    pub(super) bytes: u64,
}

/// What becomes of the briefs of the turns that go.
#[derive(Default)]
pub(super) struct BriefPlan {
    /// Briefs whose words stand in an entry that goes, with the words in place.
    borrowing: Vec<(BriefSeq, BriefRow)>,
    pub(super) removed: Vec<GoneBrief>,
    /// Last brief that goes; 0 if none does.
    pub(super) through: BriefSeq,
    /// Briefs that cannot be read, or whose words cannot.
    pub(super) unreadable: BTreeSet<BriefSeq>,
}

impl BriefPlan {
    /// Bytes of words that briefs take over from entries that go.
    pub(super) fn copied_bytes(&self) -> u64 {
        let words = self.borrowing.iter().map(|(_, row)| match &row.text {
            BriefText::Words(words) => words.len() as u64,
            BriefText::Round(_) | BriefText::Report(_) => 0,
        });
        words.sum()
    }
}

/// Plans what becomes of the briefs behind a position whose turns go.
pub(super) fn plan(
    conn: &Connection,
    no: AgentNo,
    agent: &AgentRecord,
    from: BriefSeq,
    cut: &Cut,
) -> Result<BriefPlan, Error> {
    let mut plan = BriefPlan::default();
    let newest = agent.counters.briefs;
    let Some(oldest) = super::oldest_brief(conn, no)?.map(|oldest| oldest.max(from + 1)) else {
        return Ok(plan);
    };
    // The oldest briefs may belong to turns that went before. They go when there are enough newer ones.
    let last_gone = newest.saturating_sub(BRIEFS_KEPT_PER_AGENT);
    let undelivered = deliveries::oldest_pending_brief(conn, no)?;
    let last_gone = last_gone.min(undelivered.map_or(u64::MAX, |seq| seq.saturating_sub(1)));
    let first_turn = cut.entries.first().map_or(0, |entry| entry.turn_index);
    let begin = first_of_turn(conn, no, oldest..newest.saturating_add(1), first_turn)?;
    let most = cut.entries.len();
    each(conn, no, oldest, |seq, row, bytes| {
        // One that cannot be read goes with those before it.
        let is_of_gone_turn = |row: &BriefRow| row.turn_index <= cut.last_turn;
        let goes = seq <= last_gone && row.as_ref().is_none_or(is_of_gone_turn);
        if !goes || plan.removed.len() >= most {
            return Ok(false);
        }
        if row.is_none() {
            plan.unreadable.insert(seq);
        }
        let id = row.map(|row| row.id);
        plan.removed.push(GoneBrief { id, bytes });
        plan.through = seq;
        Ok(true)
    })?;
    each(conn, no, begin.max(plan.through + 1), |seq, row, _| {
        let Some(row) = row else {
            plan.unreadable.insert(seq);
            return Ok(true);
        };
        let goes_on = row.turn_index <= cut.last_turn;
        if goes_on && matches!(row.text, BriefText::Round(_)) {
            match briefs::words_of(conn, no, row.text) {
                Ok(words) => {
                    let text = BriefText::Words(words);
                    plan.borrowing.push((seq, BriefRow { text, ..row }));
                }
                Err(Error::Row { .. }) => drop(plan.unreadable.insert(seq)),
                Err(error) => return Err(error),
            }
        }
        Ok(goes_on)
    })?;
    Ok(plan)
}

/// Calls a function with the briefs from a position on until it returns false. A brief that cannot be read is `None`.
fn each(
    conn: &Connection,
    no: AgentNo,
    from: BriefSeq,
    mut look: impl FnMut(BriefSeq, Option<BriefRow>, u64) -> Result<bool, Error>,
) -> Result<(), Error> {
    let mut statement = conn.prepare_cached(BORROWED)?;
    let mut rows = statement.query(params![no.0, from])?;
    while let Some(row) = rows.next()? {
        let seq: BriefSeq = row.get(0)?;
        let bytes = row.get_ref(1)?.as_str().map_or(0, str::len) as u64;
        if !look(seq, json(row, 1, "briefs", seq).ok(), bytes)? {
            break;
        }
    }
    Ok(())
}

/// Finds the first brief of a turn or of a later one. Briefs are written by open turns, so their turns never decrease. One
/// that cannot be read counts as of the turn of the next one that can.
fn first_of_turn(
    conn: &Connection,
    no: AgentNo,
    among: std::ops::Range<BriefSeq>,
    turn_index: u64,
) -> Result<BriefSeq, Error> {
    let (mut low, mut high) = (among.start, among.end);
    while low < high {
        let middle = low + (high - low) / 2;
        let mut readable = None;
        each(conn, no, middle, |seq, row, _| {
            readable = row.map(|row| (seq, row.turn_index));
            Ok(readable.is_none())
        })?;
        match readable {
            Some((seq, turn)) if turn < turn_index => low = seq + 1,
            Some(_) | None => high = middle,
        }
    }
    Ok(low)
}

/// Copies the borrowed words and removes the oldest briefs.
pub(super) fn apply(conn: &Connection, no: AgentNo, plan: &BriefPlan) -> Result<(), Error> {
    for (seq, row) in &plan.borrowing {
        run(conn, OWN_WORDS, params![no.0, seq, short_text(row)?])?;
    }
    for id in plan.removed.iter().filter_map(|brief| brief.id.clone()) {
        memory_outbox::add(conn, no, &MemorySource::RemovedBrief(id))?;
    }
    if !plan.removed.is_empty() {
        run(conn, REMOVE_BRIEFS, params![no.0, plan.through])?;
    }
    Ok(())
}
