//! Retention of history: removes the oldest turns of an agent, with everything that only they need.
//!
//! Invariants:
//! - What goes of the log, the briefs and the events is a prefix of each. A cursor behind it stays valid.
//! - An open turn and the thread that it shows stay. By age, the thread of a resting agent stays too. If the store needs
//!   space, the newest messages stay with their turns, and the thread was moved to them before.
//! - A brief or a report that takes its words from a removed entry gets a copy of them in the same commit.
//! - A message stays while it is not final, while a kept entry, the open turn, open work or an active task names it, and
//!   if it is the newest one of the operator.
//! - A text of a frame, or an output file of a command, goes with the last entry that names it, and not before.
//! - A brief that cannot be read is passed over and named. It keeps nothing else.
//!
//! A step is planned from the rows and then applied. A plan without its application is a preview: both come from one
//! function, so a preview says what a removal would do.

pub(crate) mod briefs;
pub(crate) mod events;
pub(crate) mod messages;
mod outputs;
pub(crate) mod reports;
pub(crate) mod texts;

use crate::error::Error;
use crate::retention::give_back_pages;
use crate::row::{AgentNo, all_readable, first, json, limit, run};
use crate::{agents, image_refs, log};
use holon_domain::Timestamp;
use holon_domain::agent::{AgentRecord, AgentSettings};
use holon_domain::limits::{HISTORY_STEP, HISTORY_STEP_BYTES};
use holon_domain::queue::MessageSeq;
use holon_domain::storage::{
    HistoryHolder, HistoryPosition, HistoryRule, HistoryStep, RemovedHistory,
};
use holon_domain::turn::LogSeq;
use rusqlite::{Connection, params};
use std::collections::BTreeSet;

/// The next entries behind a position.
pub(crate) const ENTRIES: &str = "SELECT seq, turn_index, at, message_seq, entry FROM log \
     WHERE agent_no = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";
/// The entries behind a position without their texts, to find the end of a turn.
pub(crate) const REST: &str =
    "SELECT seq, turn_index, at FROM log WHERE agent_no = ?1 AND seq > ?2 ORDER BY seq";
pub(crate) const REMOVE_ENTRIES: &str = "DELETE FROM log WHERE agent_no = ?1 AND seq <= ?2";
pub(crate) const ENTRY_AFTER: &str =
    "SELECT at FROM log WHERE agent_no = ?1 AND seq > ?2 ORDER BY seq LIMIT 1";
pub(crate) const OLDEST_ENTRY: &str =
    "SELECT seq FROM log WHERE agent_no = ?1 ORDER BY seq LIMIT 1";
pub(crate) const OLDEST_BRIEF: &str =
    "SELECT seq FROM briefs WHERE agent_no = ?1 ORDER BY seq LIMIT 1";
/// Agents with a log, each with the time of its first entry. Walks the agents, not their logs.
const HOLDERS: &str = "SELECT agent_id, settings, (SELECT at FROM log l WHERE l.agent_no = a.agent_no \
     ORDER BY seq LIMIT 1) FROM agents a WHERE aside IS NULL AND settings IS NOT NULL";

/// Position behind every entry.
pub(crate) const NEWEST: LogSeq = i64::MAX as u64;

/// One entry of the log, as far as retention reads it.
struct Entry {
    seq: LogSeq,
    turn_index: u64,
    at: Timestamp,
    message_seq: Option<MessageSeq>,
    bytes: u64,
    outputs: BTreeSet<String>,
}

/// The entries that a step removes. They are the next ones behind the position of the plan.
struct Cut {
    entries: Vec<Entry>,
    /// False if the last turn is longer than a step, and the rest of it goes later.
    ends_turn: bool,
    /// Last entry that goes.
    through: LogSeq,
    last_turn: u64,
    /// Time of that entry. Events up to it go too.
    at: Timestamp,
}

/// Everything that a step removes or rewrites.
pub(crate) struct Plan {
    cut: Cut,
    briefs: briefs::BriefPlan,
    reports: reports::ReportPlan,
    events: Option<events::EventPlan>,
    texts: texts::TextPlan,
    /// End of the agent's log.
    newest_entry: LogSeq,
    pub(crate) step: HistoryStep,
}

/// Plans the next step behind a position. `None` if nothing is left to remove by the rule.
pub(crate) fn plan(
    conn: &Connection,
    no: AgentNo,
    agent: &AgentRecord,
    from: &HistoryPosition,
    rule: HistoryRule,
) -> Result<Option<Plan>, Error> {
    let Some(floor) = floor(conn, no, agent, rule)? else {
        return Ok(None);
    };
    let Some(cut) = cut(conn, no, from.entry, floor, rule)? else {
        return Ok(None);
    };
    let messages = messages::plan(conn, no, agent, &from.messages, &cut)?;
    let briefs = briefs::plan(conn, no, agent, from.brief, &cut)?;
    let reports = reports::plan(conn, no, from.entry, &cut)?;
    let events = events::plan(conn, no, from.event, cut.at)?;
    let outputs = outputs::plan(conn, no, &from.outputs, &cut)?;
    let texts = texts::plan(conn, no, &from.texts, &cut)?;
    let turns: BTreeSet<u64> = cut.entries.iter().map(|entry| entry.turn_index).collect();
    let removed = RemovedHistory {
        turns: turns.len() as u64 - u64::from(!cut.ends_turn),
        entries: cut.entries.len() as u64,
        messages: messages.len() as u64,
        briefs: briefs.removed.len() as u64,
        events: events.as_ref().map_or(0, |events| events.count),
        row_bytes: (cut.entries.iter().map(|entry| entry.bytes).sum::<u64>()
            + messages.iter().map(|message| message.bytes).sum::<u64>()
            + briefs.removed.iter().map(|brief| brief.bytes).sum::<u64>()
            + events.as_ref().map_or(0, |events| events.bytes)
            + texts.bytes)
            .saturating_sub(briefs.copied_bytes() + reports.copied_bytes()),
        files: 0,
        file_bytes: 0,
    };
    let oldest_left = first(conn, ENTRY_AFTER, params![no.0, cut.through], |row| {
        Ok(Timestamp::from_millis(row.get(0)?))
    })?;
    Ok(Some(Plan {
        step: HistoryStep {
            entry: cut.through,
            brief: briefs.through,
            event: events.as_ref().map_or(0, |events| events.last),
            messages: messages.into_iter().map(|message| message.seq).collect(),
            removed,
            outputs: outputs.into_iter().collect(),
            texts: texts.hashes.clone(),
            unreadable_briefs: briefs.unreadable.iter().copied().collect(),
            oldest_left,
        },
        briefs,
        reports,
        events,
        texts,
        newest_entry: agent.counters.log,
        cut,
    }))
}

/// Removes what a plan of this transaction names.
pub(crate) fn apply(conn: &Connection, no: AgentNo, plan: &Plan) -> Result<(), Error> {
    briefs::apply(conn, no, &plan.briefs)?;
    reports::apply(conn, no, &plan.reports)?;
    run(conn, REMOVE_ENTRIES, params![no.0, plan.cut.through])?;
    for seq in &plan.step.messages {
        run(conn, messages::REMOVE_MESSAGE, params![no.0, seq])?;
        image_refs::remove(conn, no, *seq)?;
    }
    if let Some(events) = &plan.events {
        events::apply(conn, no, events)?;
    }
    outputs::apply(conn, no, &plan.step.outputs)?;
    texts::apply(conn, no, &plan.texts, plan.newest_entry)?;
    give_back_pages(conn)
}

/// Returns the first entry that stays. `None` if the agent has no more history than always stays.
fn floor(
    conn: &Connection,
    no: AgentNo,
    agent: &AgentRecord,
    rule: HistoryRule,
) -> Result<Option<LogSeq>, Error> {
    let open = agent.open_turn.as_ref();
    let before = open.map_or(NEWEST, |turn| turn.first_entry);
    let shown = first_entry_shown(agent).min(before);
    match rule {
        HistoryRule::OlderThan(_) => Ok(Some(shown)),
        HistoryRule::AllBut(messages) => {
            // Messages that joined the open turn are not history yet.
            let newest = log::taken(conn, no, before, messages)?;
            let oldest = newest.last().filter(|_| newest.len() == messages);
            // The thread of a resting agent was moved before; that of an open turn stays as it is.
            let shown = open.map_or(NEWEST, |_| shown);
            Ok(oldest.map(|taken| taken.seq.min(shown)))
        }
    }
}

/// Returns the first entry of the agent's thread, which the next request shows.
fn first_entry_shown(agent: &AgentRecord) -> LogSeq {
    let pins = agent.thread.pins.iter().map(|pin| pin.first_entry);
    pins.fold(agent.thread.from_entry, LogSeq::min)
}

/// Chooses the entries of a step: whole turns, or a part of a turn that is longer than a step.
fn cut(
    conn: &Connection,
    no: AgentNo,
    from: LogSeq,
    floor: LogSeq,
    rule: HistoryRule,
) -> Result<Option<Cut>, Error> {
    let mut entries = read_entries(conn, no, from)?;
    let mut bytes = 0;
    let may_go = |entry: &Entry| entry.seq < floor && rule.takes(entry.at);
    let going = entries
        .iter()
        .take(HISTORY_STEP)
        .take_while(|entry| {
            let has_room = bytes < HISTORY_STEP_BYTES;
            bytes += entry.bytes;
            has_room && may_go(entry)
        })
        .count();
    let ends_turn = |index: &usize| {
        let (last, next) = (entries.get(index - 1), entries.get(*index));
        last.zip(next)
            .is_some_and(|(last, next)| last.turn_index != next.turn_index)
    };
    let whole = (1..=going).rev().find(ends_turn);
    let (count, ends_turn) = match whole {
        Some(count) => (count, true),
        None if going > 0 && rest_may_go(conn, no, &entries, floor, rule)? => (going, false),
        None => return Ok(None),
    };
    entries.truncate(count);
    let Some(last) = entries.last() else {
        return Ok(None);
    };
    Ok(Some(Cut {
        ends_turn,
        through: last.seq,
        last_turn: last.turn_index,
        at: last.at,
        entries,
    }))
}

/// Returns true if all entries of the first turn may go.
fn rest_may_go(
    conn: &Connection,
    no: AgentNo,
    entries: &[Entry],
    floor: LogSeq,
    rule: HistoryRule,
) -> Result<bool, Error> {
    let Some(begin) = entries.first() else {
        return Ok(false);
    };
    let mut statement = conn.prepare_cached(REST)?;
    let mut rows = statement.query(params![no.0, begin.seq])?;
    while let Some(row) = rows.next()? {
        let (seq, turn_index): (LogSeq, u64) = (row.get(0)?, row.get(1)?);
        if turn_index != begin.turn_index {
            return Ok(true);
        }
        if seq >= floor || !rule.takes(Timestamp::from_millis(row.get(2)?)) {
            return Ok(false);
        }
    }
    Ok(false)
}

/// Reads the entries of a step and the one behind them.
fn read_entries(conn: &Connection, no: AgentNo, from: LogSeq) -> Result<Vec<Entry>, Error> {
    let mut statement = conn.prepare_cached(ENTRIES)?;
    let mut rows = statement.query(params![no.0, from, limit(HISTORY_STEP + 1)])?;
    let (mut entries, mut bytes) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let text = row.get_ref(4)?.as_str().unwrap_or_default();
        let seq = row.get(0)?;
        let is_behind = bytes >= HISTORY_STEP_BYTES;
        bytes += text.len() as u64;
        entries.push(Entry {
            seq,
            turn_index: row.get(1)?,
            at: Timestamp::from_millis(row.get(2)?),
            message_seq: row.get(3)?,
            bytes: text.len() as u64,
            outputs: outputs::named(row, 4, seq, text),
        });
        if is_behind {
            break;
        }
    }
    Ok(entries)
}

/// Returns those of the names that do not stand in the next entries behind a cut.
fn not_named_next(
    conn: &Connection,
    no: AgentNo,
    cut: &Cut,
    mut names: Vec<String>,
    searched: u64,
) -> Result<Vec<String>, Error> {
    let mut statement = conn.prepare_cached(log::NEXT)?;
    let mut rows = statement.query(params![no.0, cut.through, limit(searched)])?;
    while !names.is_empty()
        && let Some(row) = rows.next()?
    {
        let text = row.get_ref(1)?.as_str().unwrap_or_default();
        names.retain(|name| !text.contains(name.as_str()));
    }
    Ok(names)
}

/// Lists the agents with history.
pub(crate) fn holders(conn: &Connection) -> Result<Vec<HistoryHolder>, Error> {
    let found = all_readable(conn, HOLDERS, [], |row| {
        let name: String = row.get(0)?;
        let (at, settings) = (row.get(2)?, json::<AgentSettings>(row, 1, "agents", &name));
        // An agent whose settings cannot be read is put aside by the decision that needs them.
        let (Some(at), Ok(settings)) = (at, settings) else {
            return Ok(None);
        };
        Ok(Some(HistoryHolder {
            agent_id: agents::parse_id(&name)?,
            agent_home: settings.agent_home,
            oldest_at: Timestamp::from_millis(at),
        }))
    })?;
    Ok(found.into_iter().flatten().collect())
}

/// Returns the position of the oldest entry of the log.
pub(crate) fn oldest_entry(conn: &Connection, no: AgentNo) -> Result<Option<LogSeq>, Error> {
    first(conn, OLDEST_ENTRY, [no.0], |row| Ok(row.get(0)?))
}

/// Returns the position of the oldest brief.
pub(crate) fn oldest_brief(conn: &Connection, no: AgentNo) -> Result<Option<u64>, Error> {
    first(conn, OLDEST_BRIEF, [no.0], |row| Ok(row.get(0)?))
}
