//! Messages that only removed turns have named.

use super::Cut;
use crate::error::Error;
use crate::queue::status_code;
use crate::row::{AgentNo, Unreadable, all, first, json, limit};
use crate::{log, tasks, work_items};
use holon_domain::MessageId;
use holon_domain::agent::AgentRecord;
use holon_domain::limits::HISTORY_MESSAGES_KEPT;
use holon_domain::log::LogEntry;
use holon_domain::queue::{MessageSeq, QueueStatus};
use holon_domain::turn::LogSeq;
use rusqlite::{Connection, params};
use serde::Deserialize;
use std::collections::BTreeSet;

// The index is named: with a column that it lacks, SQLite would read the rounds between the messages.
pub(crate) const NAMED_NEXT: &str = "SELECT message_seq FROM log INDEXED BY log_messages \
     WHERE agent_no = ?1 AND seq > ?2 AND message_seq IS NOT NULL ORDER BY seq LIMIT ?3";
pub(crate) const STANDING: &str =
    "SELECT status, envelope FROM messages WHERE agent_no = ?1 AND seq = ?2";
pub(crate) const OLDEST_MESSAGES: &str =
    "SELECT seq FROM messages WHERE agent_no = ?1 AND seq > ?2 AND seq <= ?3 ORDER BY seq";
pub(crate) const REMOVE_MESSAGE: &str = "DELETE FROM messages WHERE agent_no = ?1 AND seq = ?2";

/// Entries behind a cut that are searched for messages which turns took a second time, and oldest messages that are
/// looked at beside those of a cut: some stayed when their turns went.
const SEARCHED: usize = 4_096;
/// Most of these oldest messages that go in a step.
const OLDEST: usize = 256;

/// Fewest consecutive messages that went before for which the rows behind them are sought anew.
const SKIPPED_RUN: u64 = 64;

/// Entries at the beginning of the open turn that are searched for its frame.
const BEFORE_FRAME: i64 = 64;

/// A message that goes.
pub(super) struct GoneMessage {
    pub(super) seq: MessageSeq,
    pub(super) bytes: u64,
}

/// The part of an envelope that retention reads.
#[derive(Deserialize)]
struct StoredId {
    id: MessageId,
}

/// Plans the removal of the messages that the entries of a cut name, and of older ones that nothing names any more.
pub(super) fn plan(
    conn: &Connection,
    no: AgentNo,
    agent: &AgentRecord,
    gone_before: &BTreeSet<MessageSeq>,
    cut: &Cut,
) -> Result<Vec<GoneMessage>, Error> {
    let named = |row: &rusqlite::Row<'_>| Ok(row.get::<_, MessageSeq>(0)?);
    let next = params![no.0, cut.through, limit(SEARCHED)];
    let named_next = all(conn, NAMED_NEXT, next, named)?;
    let knows_all_named = named_next.len() < SEARCHED;
    let mut kept: BTreeSet<MessageSeq> = named_next.into_iter().collect();
    let newest = log::taken(conn, no, super::NEWEST, HISTORY_MESSAGES_KEPT)?.into_iter();
    let newest = newest.filter(|taken| taken.seq > cut.through);
    kept.extend(newest.map(|taken| taken.message_seq));
    kept.extend(named_by_agent(conn, no, agent)?);
    let of_cut = cut.entries.iter().filter_map(|entry| entry.message_seq);
    let of_cut: BTreeSet<MessageSeq> = of_cut.collect();
    let open_work = named_by_work(conn, no)?;
    let mut gone = Vec::new();
    for seq in of_cut.difference(&kept) {
        if gone_before.contains(seq) {
            continue;
        }
        gone.extend(unless_needed(conn, no, *seq, &open_work)?);
    }
    if knows_all_named && let Some(last) = of_cut.last() {
        // Every message that the log still names is known, so the others up to here are named by nothing.
        let mut statement = conn.prepare_cached(OLDEST_MESSAGES)?;
        let mut rows = statement.query(params![no.0, 0, last])?;
        let (mut looked, most) = (0, gone.len() + OLDEST);
        while looked < SEARCHED
            && gone.len() < most
            && let Some(row) = rows.next()?
        {
            let seq = named(row)?;
            if gone_before.contains(&seq) {
                let run_end = end_of_run(gone_before, seq);
                if run_end - seq >= SKIPPED_RUN {
                    drop(rows);
                    rows = statement.query(params![no.0, run_end, last])?;
                }
            } else if !kept.contains(&seq) && !of_cut.contains(&seq) {
                looked += 1;
                gone.extend(unless_needed(conn, no, seq, &open_work)?);
            }
        }
    }
    Ok(gone)
}

/// Returns the last of the consecutive messages from this one on that went before.
fn end_of_run(gone: &BTreeSet<MessageSeq>, from: MessageSeq) -> MessageSeq {
    let run = gone.range(from..).zip(from..);
    let run = run.take_while(|(gone, expected)| *gone == expected);
    run.last().map_or(from, |(gone, _)| *gone)
}

/// Returns a message that goes if it is final and no open work names it.
fn unless_needed(
    conn: &Connection,
    no: AgentNo,
    seq: MessageSeq,
    open_work: &BTreeSet<MessageId>,
) -> Result<Option<GoneMessage>, Error> {
    let found = first(conn, STANDING, params![no.0, seq], |row| {
        let bytes = row.get_ref(1)?.as_str().map_or(0, str::len) as u64;
        let stored: Option<StoredId> = json(row, 1, "messages", seq).ok();
        Ok((row.get::<_, i64>(0)?, stored, bytes))
    })?;
    let goes = found.filter(|(status, stored, _)| {
        let is_needed = |stored: &StoredId| open_work.contains(&stored.id);
        is_final(*status) && !stored.as_ref().is_some_and(is_needed)
    });
    Ok(goes.map(|(_, _, bytes)| GoneMessage { seq, bytes }))
}

/// Messages that the agent's record and its open turn name.
fn named_by_agent(
    conn: &Connection,
    no: AgentNo,
    agent: &AgentRecord,
) -> Result<BTreeSet<MessageSeq>, Error> {
    let mut named: BTreeSet<MessageSeq> = agent.operator_seq.into_iter().collect();
    named.extend(&agent.held);
    named.extend(&agent.acknowledged);
    named.extend(&agent.left_by_caller);
    if let Some(turn) = &agent.open_turn {
        named.insert(turn.message_seq);
        named.extend(turn.owes.iter().map(|owed| owed.seq));
        // The requests of a turn repeat the words of the operator that its frame names.
        let begin = params![no.0, turn.first_entry.saturating_sub(1), BEFORE_FRAME];
        let shown = all(conn, log::NEXT, begin, |row| {
            let seq: LogSeq = row.get(0)?;
            match json(row, 1, "log", seq)? {
                LogEntry::Frame(frame) => Ok(frame.operator_seq),
                _ => Ok(None),
            }
        })?;
        named.extend(shown.into_iter().flatten());
    }
    Ok(named)
}

/// Messages that open work items and active tasks name.
fn named_by_work(conn: &Connection, no: AgentNo) -> Result<BTreeSet<MessageId>, Error> {
    let of_items = work_items::messages_of_open(conn, no)?;
    let active = tasks::active(conn, no, Unreadable::Fails)?;
    let of_tasks = active.into_iter().filter_map(|task| task.parent_message_id);
    Ok(of_items.into_iter().chain(of_tasks).collect())
}

/// Returns true if a message with this status never changes again.
fn is_final(status: i64) -> bool {
    QueueStatus::ALL
        .into_iter()
        .any(|known| known.is_final() && status_code(known) == status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_ends_before_the_first_message_that_did_not_go() {
        let gone: BTreeSet<MessageSeq> = [3, 4, 5, 7, 8].into();
        let ends = [3, 5, 7, 8].map(|from| end_of_run(&gone, from));
        assert_eq!(ends, [5, 5, 8, 8]);
    }
}
