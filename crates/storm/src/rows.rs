//! The rows of a home's database, read with plain SQL and JSON, without any code of the product.

mod pause;
mod work;

pub(crate) use pause::PauseEvent;
#[cfg(test)]
pub(crate) use work::ItemRow;
pub(crate) use work::{LastingRow, SlotEvent, SummaryRow, WorkRows};

use crate::budget::{self, BudgetRow};
use crate::delivery::{self, DeliveryRow};
use holon_domain::packed::{self, StoredEvent};
use rusqlite::{Connection, OpenFlags, Row};
use serde_json::Value;
use std::path::Path;

/// Result of reading the database.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Status of a message that waits in its queue.
const QUEUED: i64 = 0;

/// All rows that the checker reads.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rows {
    pub(crate) agents: Vec<AgentRow>,
    pub(crate) messages: Vec<MessageRow>,
    pub(crate) briefs: Vec<BriefRow>,
    pub(crate) log: Vec<LogRow>,
    pub(crate) events: Vec<EventsRow>,
    /// Events about the pauses of turns, in order for each agent.
    pub(crate) pauses: Vec<PauseEvent>,
    pub(crate) effects: Vec<EffectRow>,
    pub(crate) tasks: Vec<TaskRow>,
    /// Agents with a call whose reservation in a budget was not released.
    pub(crate) reserved: Vec<i64>,
    pub(crate) budgets: Vec<BudgetRow>,
    pub(crate) work: WorkRows,
    pub(crate) deliveries: Vec<DeliveryRow>,
}

/// An agent, with the counters of its rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct AgentRow {
    pub(crate) no: i64,
    pub(crate) id: String,
    pub(crate) temporary: bool,
    /// Task of the parent that a child works for.
    pub(crate) parent_task: Option<String>,
    pub(crate) archived: bool,
    pub(crate) open_turn: bool,
    pub(crate) oldest_event: i64,
    pub(crate) counters: Counters,
}

/// The highest number assigned of each kind.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counters {
    pub(crate) messages: i64,
    pub(crate) events: i64,
    pub(crate) log: i64,
    pub(crate) briefs: i64,
}

/// A row of the message table.
#[derive(Debug, Clone, Default)]
pub(crate) struct MessageRow {
    pub(crate) agent: i64,
    pub(crate) seq: i64,
    pub(crate) queued: bool,
    /// Number of the brief that settled it.
    pub(crate) outcome: Option<i64>,
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) text: String,
    /// Task that a result is about.
    pub(crate) task_id: Option<String>,
    /// Id that the sender of a delivery from outside gave it.
    pub(crate) delivery_id: Option<String>,
}

/// A row of the brief table.
#[derive(Debug, Clone, Default)]
pub(crate) struct BriefRow {
    pub(crate) agent: i64,
    pub(crate) seq: i64,
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) settles: Vec<String>,
    /// Delivery summary that has its text. Absent for every other brief.
    pub(crate) report: Option<String>,
}

/// A row of an agent's log.
#[derive(Debug, Clone, Default)]
pub(crate) struct LogRow {
    pub(crate) agent: i64,
    pub(crate) seq: i64,
    pub(crate) entry: Value,
}

/// The events of one commit: `count` events up to `last_seq`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EventsRow {
    pub(crate) agent: i64,
    pub(crate) last_seq: i64,
    pub(crate) count: i64,
}

/// An effect that has no outcome yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct EffectRow {
    pub(crate) agent: i64,
    pub(crate) id: i64,
    pub(crate) effect: Value,
}

/// A row of the task table.
#[derive(Debug, Clone, Default)]
pub(crate) struct TaskRow {
    pub(crate) agent: i64,
    pub(crate) id: String,
    pub(crate) ended: bool,
    pub(crate) record: Value,
}

impl Rows {
    /// Name of an agent for messages.
    pub(crate) fn name(&self, agent: i64) -> &str {
        let mut agents = self.agents.iter();
        let found = agents.find(|row| row.no == agent);
        found.map_or("an agent that is gone", |row| row.id.as_str())
    }
}

fn open(path: &Path) -> Result<Connection> {
    Ok(Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?)
}

/// Reads all rows in one transaction.
pub(crate) fn read(path: &Path) -> Result<Rows> {
    let mut db = open(path)?;
    let tx = db.transaction()?;
    Ok(Rows {
        agents: all(
            &tx,
            "SELECT agent_no, agent_id, oldest_event, record, settings, newest_message, newest_event, newest_entry, \
             newest_brief FROM agents ORDER BY agent_no",
            agent,
        )?,
        messages: all(
            &tx,
            "SELECT agent_no, seq, status, outcome, envelope FROM messages ORDER BY agent_no, seq",
            message,
        )?,
        briefs: all(
            &tx,
            "SELECT agent_no, seq, row FROM briefs ORDER BY agent_no, seq",
            brief,
        )?,
        log: all(
            &tx,
            "SELECT agent_no, seq, entry FROM log ORDER BY agent_no, seq",
            log,
        )?,
        events: all(
            &tx,
            "SELECT agent_no, last_seq, data FROM events ORDER BY agent_no, last_seq",
            events,
        )?,
        pauses: all(&tx, pause::QUERY, pause::read)?.concat(),
        effects: all(
            &tx,
            "SELECT agent_no, id, effect FROM effects ORDER BY agent_no, id",
            effect,
        )?,
        tasks: all(
            &tx,
            "SELECT agent_no, task_id, ended, record FROM tasks ORDER BY agent_no, task_no",
            task,
        )?,
        reserved: all(&tx, "SELECT agent_no FROM reservations", |row| row.get(0))?,
        budgets: budget::read(&tx)?,
        work: WorkRows::read(&tx)?,
        deliveries: delivery::read(&tx)?,
    })
}

/// Lists unfinished work, also of temporary agents, which the API does not list.
pub(crate) fn outstanding(path: &Path) -> Result<Vec<String>> {
    let rows = read(path)?;
    let effects = rows.effects.iter().map(|row| {
        let kind = row.effect["effect"].as_str().unwrap_or_default();
        format!("{} has an open effect {kind}", rows.name(row.agent))
    });
    let temporary = rows.agents.iter().filter(|agent| agent.temporary);
    let temporary = temporary.map(|agent| format!("{} is there", agent.id));
    let tasks = rows.tasks.iter().filter(|task| !task.ended);
    let tasks = tasks.map(|task| format!("{} is not over", task.id));
    let work = rows.work.outstanding();
    let work = work.map(|(agent, words)| format!("{}: {words}", rows.name(agent)));
    Ok(effects.chain(temporary).chain(tasks).chain(work).collect())
}

fn all<T>(
    db: &Connection,
    sql: &str,
    read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>> {
    let mut statement = db.prepare(sql)?;
    let rows = statement.query_map([], |row| read(row))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn json(row: &Row<'_>, column: usize) -> rusqlite::Result<Value> {
    let text: String = row.get(column)?;
    let unpacked = packed::unpack(&text).map_err(|error| unreadable(column, error))?;
    let plain = unpacked.as_deref().unwrap_or(&text);
    serde_json::from_str(plain).map_err(|error| unreadable(column, error))
}

/// Reads the events of a row, oldest first.
fn stored_events(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<StoredEvent>> {
    let text: String = row.get(column)?;
    packed::unpack_events(&text).map_err(|error| unreadable(column, error))
}

fn unreadable(
    column: usize,
    error: impl std::error::Error + Send + Sync + 'static,
) -> rusqlite::Error {
    let text = rusqlite::types::Type::Text;
    rusqlite::Error::FromSqlConversionFailure(column, text, Box::new(error))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn agent(row: &Row<'_>) -> rusqlite::Result<AgentRow> {
    let (record, settings) = (json(row, 3)?, json(row, 4)?);
    Ok(AgentRow {
        no: row.get(0)?,
        id: row.get(1)?,
        oldest_event: row.get(2)?,
        temporary: settings["run"]["when_over"] == "remove",
        parent_task: settings["supervision"]["task_id"]
            .as_str()
            .map(str::to_owned),
        archived: record["archived_at"].is_string(),
        open_turn: record["open_turn"].is_object(),
        counters: Counters {
            messages: row.get(5)?,
            events: row.get(6)?,
            log: row.get(7)?,
            briefs: row.get(8)?,
        },
    })
}

fn message(row: &Row<'_>) -> rusqlite::Result<MessageRow> {
    let status: i64 = row.get(2)?;
    let envelope = json(row, 4)?;
    Ok(MessageRow {
        agent: row.get(0)?,
        seq: row.get(1)?,
        queued: status == QUEUED,
        outcome: row.get(3)?,
        id: text(&envelope["id"]),
        kind: text(&envelope["kind"]),
        text: text(&envelope["body"]["text"]),
        task_id: envelope["origin"]["task_id"].as_str().map(str::to_owned),
        delivery_id: envelope["metadata"]["delivery_id"]
            .as_str()
            .map(str::to_owned),
    })
}

fn brief(row: &Row<'_>) -> rusqlite::Result<BriefRow> {
    let record = json(row, 2)?;
    let settles = record["settles"].as_array().into_iter().flatten();
    Ok(BriefRow {
        agent: row.get(0)?,
        seq: row.get(1)?,
        id: text(&record["id"]),
        kind: text(&record["kind"]),
        settles: settles.map(text).collect(),
        report: record["text"]["report"].as_str().map(str::to_owned),
    })
}

fn log(row: &Row<'_>) -> rusqlite::Result<LogRow> {
    Ok(LogRow {
        agent: row.get(0)?,
        seq: row.get(1)?,
        entry: json(row, 2)?,
    })
}

fn events(row: &Row<'_>) -> rusqlite::Result<EventsRow> {
    let count = stored_events(row, 2)?.len();
    Ok(EventsRow {
        agent: row.get(0)?,
        last_seq: row.get(1)?,
        count: i64::try_from(count).unwrap_or(i64::MAX),
    })
}

fn effect(row: &Row<'_>) -> rusqlite::Result<EffectRow> {
    Ok(EffectRow {
        agent: row.get(0)?,
        id: row.get(1)?,
        effect: json(row, 2)?,
    })
}

fn task(row: &Row<'_>) -> rusqlite::Result<TaskRow> {
    let ended: Option<i64> = row.get(2)?;
    Ok(TaskRow {
        agent: row.get(0)?,
        id: row.get(1)?,
        ended: ended.is_some(),
        record: json(row, 3)?,
    })
}
