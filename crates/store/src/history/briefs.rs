//! Briefs of removed turns: they get words of their own, and the oldest of many go.

use super::Cut;
use crate::error::Error;
use crate::memory_outbox::{self, MemorySource};
use crate::row::{AgentNo, first, json, run, short_text};
use crate::{briefs, deliveries};
use holon_domain::BriefId;
use holon_domain::agent::AgentRecord;
use holon_domain::brief::{BriefRow, BriefText};
use holon_domain::decision::BriefSeq;
use holon_domain::limits::BRIEFS_KEPT_PER_AGENT;
use rusqlite::{Connection, params};

/// The briefs from a position on.
pub(crate) const BORROWED: &str =
    "SELECT seq, row FROM briefs WHERE agent_no = ?1 AND seq >= ?2 ORDER BY seq";
pub(crate) const OWN_WORDS: &str = "UPDATE briefs SET row = ?3 WHERE agent_no = ?1 AND seq = ?2";
pub(crate) const REMOVE_BRIEFS: &str = "DELETE FROM briefs WHERE agent_no = ?1 AND seq <= ?2";

/// A brief that goes.
pub(super) struct GoneBrief {
    id: BriefId,
    pub(super) bytes: u64,
}

/// What becomes of the briefs of the turns that go.
#[derive(Default)]
pub(super) struct BriefPlan {
    /// Briefs whose words stand in an entry that goes.
    borrowing: Vec<(BriefSeq, BriefRow)>,
    pub(super) removed: Vec<GoneBrief>,
    /// Last brief that goes; 0 if none does.
    pub(super) through: BriefSeq,
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
        let goes = seq <= last_gone && row.turn_index <= cut.last_turn;
        if goes && plan.removed.len() < most {
            plan.removed.push(GoneBrief { id: row.id, bytes });
            plan.through = seq;
            return true;
        }
        false
    })?;
    each(conn, no, begin.max(plan.through + 1), |seq, row, _| {
        let goes_on = row.turn_index <= cut.last_turn;
        if goes_on && matches!(row.text, BriefText::Round(_)) {
            plan.borrowing.push((seq, row));
        }
        goes_on
    })?;
    Ok(plan)
}

/// Calls a function with the briefs from a position on until it returns false.
fn each(
    conn: &Connection,
    no: AgentNo,
    from: BriefSeq,
    mut look: impl FnMut(BriefSeq, BriefRow, u64) -> bool,
) -> Result<(), Error> {
    let mut statement = conn.prepare_cached(BORROWED)?;
    let mut rows = statement.query(params![no.0, from])?;
    while let Some(row) = rows.next()? {
        let seq: BriefSeq = row.get(0)?;
        let bytes = row.get_ref(1)?.as_str().map_or(0, str::len) as u64;
        if !look(seq, json(row, 1, "briefs", seq)?, bytes) {
            break;
        }
    }
    Ok(())
}

/// Finds the first brief of a turn or of a later one. Briefs are written by open turns, so their turns never decrease.
fn first_of_turn(
    conn: &Connection,
    no: AgentNo,
    among: std::ops::Range<BriefSeq>,
    turn_index: u64,
) -> Result<BriefSeq, Error> {
    let (mut low, mut high) = (among.start, among.end);
    while low < high {
        let middle = low + (high - low) / 2;
        let turn = first(conn, briefs::ONE, params![no.0, middle], |row| {
            Ok(json::<BriefRow>(row, 0, "briefs", middle)?.turn_index)
        })?;
        if turn.is_none_or(|turn| turn < turn_index) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// Copies the borrowed words and removes the oldest briefs.
pub(super) fn apply(conn: &Connection, no: AgentNo, plan: &BriefPlan) -> Result<(), Error> {
    for (seq, row) in &plan.borrowing {
        let words = briefs::words_of(conn, no, row.text.clone())?;
        let row = BriefRow {
            text: BriefText::Words(words),
            ..row.clone()
        };
        run(conn, OWN_WORDS, params![no.0, seq, short_text(&row)?])?;
    }
    for brief in &plan.removed {
        memory_outbox::add(conn, no, &MemorySource::RemovedBrief(brief.id.clone()))?;
    }
    if !plan.removed.is_empty() {
        run(conn, REMOVE_BRIEFS, params![no.0, plan.through])?;
    }
    Ok(())
}
