//! Rows of work items, their delivery summaries, waits, timers and wake hints, and the events of timers.

use super::{Result, all, json, stored_events, text};
use rusqlite::{Connection, Row};
use serde_json::Value;

/// Value of the column `class` of a completed item.
const COMPLETED: i64 = 3;
/// Value of the column `class` of an item that may run.
const MAY_RUN: i64 = 0;
/// Idle turns after which an item is stalled.
const STALLED: i64 = 3;

/// Everything that outlasts a turn.
#[derive(Debug, Clone, Default)]
pub(crate) struct WorkRows {
    pub(crate) items: Vec<ItemRow>,
    pub(crate) summaries: Vec<SummaryRow>,
    pub(crate) waits: Vec<LastingRow>,
    pub(crate) timers: Vec<LastingRow>,
    /// Agents with pending wake hints.
    pub(crate) hints: Vec<i64>,
    /// Creations and fires of timers, in order for each agent.
    pub(crate) slots: Vec<SlotEvent>,
}

/// One row of the table of work items.
#[derive(Debug, Clone, Default)]
pub(crate) struct ItemRow {
    pub(crate) agent: i64,
    pub(crate) id: String,
    pub(crate) completed: bool,
    /// True if a tick has to offer it.
    pub(crate) runnable: bool,
    pub(crate) record: Value,
}

/// The delivery summary of a completed item.
#[derive(Debug, Clone, Default)]
pub(crate) struct SummaryRow {
    pub(crate) agent: i64,
    pub(crate) id: String,
    pub(crate) item: String,
    /// Log position of the round that is its text. Absent once the row has the text.
    pub(crate) round: Option<i64>,
    pub(crate) words: Option<String>,
}

/// A wait or a timer.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastingRow {
    pub(crate) agent: i64,
    pub(crate) id: String,
    pub(crate) active: bool,
    pub(crate) record: Value,
}

/// An event about the slots of a timer.
#[derive(Debug, Clone, Default)]
pub(crate) struct SlotEvent {
    pub(crate) agent: i64,
    pub(crate) timer: String,
    /// Slot that came; absent for the creation.
    pub(crate) planned_at: Option<String>,
    /// Slot that comes next; absent after the last.
    pub(crate) next_fire_at: Option<String>,
    /// True if the slot gave the agent a message.
    pub(crate) queued: bool,
}

impl WorkRows {
    pub(super) fn read(db: &Connection) -> Result<Self> {
        let slots: Vec<Vec<SlotEvent>> = all(
            db,
            "SELECT agent_no, data FROM events ORDER BY agent_no, last_seq",
            slots,
        )?;
        Ok(Self {
            items: all(
                db,
                "SELECT i.agent_no, i.work_item_id, i.class, i.idle, i.wake_count, i.record, a.record \
                 FROM work_items i JOIN agents a ON a.agent_no = i.agent_no ORDER BY i.item_no",
                item,
            )?,
            summaries: all(
                db,
                "SELECT agent_no, summary_id, row FROM delivery_summaries ORDER BY summary_no",
                summary,
            )?,
            waits: all(
                db,
                "SELECT agent_no, wait_id, active, record FROM waits ORDER BY wait_no",
                lasting,
            )?,
            timers: all(
                db,
                "SELECT agent_no, timer_id, active, record FROM timers ORDER BY timer_no",
                lasting,
            )?,
            hints: all(db, "SELECT agent_no FROM hints ORDER BY agent_no", |row| {
                row.get(0)
            })?,
            slots: slots.concat(),
        })
    }

    /// Lists what the runtime has to come back to. A stalled item waits for an operator.
    pub(crate) fn outstanding(&self) -> impl Iterator<Item = (i64, String)> {
        let items = self.items.iter().filter(|row| row.runnable);
        let items = items.map(|row| (row.agent, format!("{} may run", row.id)));
        let waits = self.waits.iter().filter(|row| row.active);
        let waits = waits.map(|row| (row.agent, format!("{} is active", row.id)));
        let timers = self.timers.iter().filter(|row| row.active);
        let timers = timers.map(|row| (row.agent, format!("{} is active", row.id)));
        let hints = self.hints.iter();
        let hints = hints.map(|agent| (*agent, "a wake hint is pending".to_owned()));
        items.chain(waits).chain(timers).chain(hints)
    }
}

fn item(row: &Row<'_>) -> rusqlite::Result<ItemRow> {
    let (class, idle, wake_count): (i64, i64, i64) = (row.get(2)?, row.get(3)?, row.get(4)?);
    let agent = json(row, 6)?;
    let current = agent["work"]["wake_count"].as_i64().unwrap_or_default();
    let stalled = idle >= STALLED && wake_count == current;
    Ok(ItemRow {
        agent: row.get(0)?,
        id: row.get(1)?,
        completed: class == COMPLETED,
        runnable: class == MAY_RUN && !stalled,
        record: json(row, 5)?,
    })
}

fn summary(row: &Row<'_>) -> rusqlite::Result<SummaryRow> {
    let record = json(row, 2)?;
    Ok(SummaryRow {
        agent: row.get(0)?,
        id: row.get(1)?,
        item: text(&record["work_item_id"]),
        round: record["text"]["round"].as_i64(),
        words: record["text"]["words"].as_str().map(str::to_owned),
    })
}

fn lasting(row: &Row<'_>) -> rusqlite::Result<LastingRow> {
    let active: i64 = row.get(2)?;
    Ok(LastingRow {
        agent: row.get(0)?,
        id: row.get(1)?,
        active: active > 0,
        record: json(row, 3)?,
    })
}

fn slots(row: &Row<'_>) -> rusqlite::Result<Vec<SlotEvent>> {
    let agent = row.get(0)?;
    let events = stored_events(row, 1)?.into_iter();
    let slots = events.filter_map(|event| {
        let data = &event.payload;
        matches!(event.kind.as_str(), "timer_fired" | "timer_created").then(|| SlotEvent {
            agent,
            timer: text(&data["timer_id"]),
            planned_at: data["planned_at"].as_str().map(str::to_owned),
            next_fire_at: data["next_fire_at"].as_str().map(str::to_owned),
            queued: data["message_id"].is_string(),
        })
    });
    Ok(slots.collect())
}
