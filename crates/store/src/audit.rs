//! Audit: the outstanding work of one agent, counted from the rows and not from derived columns.
//!
//! Also counts virtual machine steps of SQLite, a measure that no clock or cache changes. For tests and the simulation;
//! not used on hot paths.

use crate::db::Db;
use crate::error::Error;
use crate::reader::Reader;
use crate::row::{AgentNo, all, json};
use holon_domain::effect::EffectId;
use holon_domain::log::BlobHash;
use holon_domain::queue::MessageSeq;
use holon_domain::task::TaskRecord;
use holon_domain::timer::{DueId, TimerRecord, TimerStatus};
use holon_domain::trigger::WakeHint;
use holon_domain::wait::{WaitRecord, WaitStatus};
use holon_domain::work_item::{DeliverySummaryRow, WorkItemRecord};
use holon_domain::workspace::Occupancy;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const TEXTS: &str = "SELECT hash FROM blob_refs WHERE agent_no = ?1 ORDER BY hash";
const EFFECTS: &str = "SELECT id FROM effects WHERE agent_no = ?1 ORDER BY id";
const DUE: &str = "SELECT id FROM due WHERE agent_no = ?1 ORDER BY id";
const QUEUED: &str = "SELECT seq FROM messages WHERE agent_no = ?1 AND status = 0 ORDER BY seq";
const DEQUEUED: &str = "SELECT seq FROM messages WHERE agent_no = ?1 AND status = 1 ORDER BY seq";
const HELD: &str = "SELECT seq FROM messages WHERE agent_no = ?1 AND status = 6 ORDER BY seq";
const INTERJECTIONS: &str =
    "SELECT seq FROM messages WHERE agent_no = ?1 AND status = 0 AND interject = 1 ORDER BY seq";

/// Selects all tasks; their records say which are unfinished.
const TASKS: &str = "SELECT task_no, record FROM tasks WHERE agent_no = ?1 ORDER BY task_no";

/// Selects all items; their records say which are active.
const ITEMS: &str =
    "SELECT work_item_id, record FROM work_items WHERE agent_no = ?1 ORDER BY item_no";
const SUMMARIES: &str =
    "SELECT summary_id, row FROM delivery_summaries WHERE agent_no = ?1 ORDER BY summary_no";
const WAITS: &str = "SELECT wait_id, record FROM waits WHERE agent_no = ?1 ORDER BY wait_no";
const TIMERS: &str = "SELECT timer_id, record FROM timers WHERE agent_no = ?1 ORDER BY timer_no";
const HINTS: &str = "SELECT key, record FROM hints WHERE agent_no = ?1 ORDER BY key";

/// The outstanding work of one agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OutstandingWork {
    pub effects: Vec<EffectId>,
    pub due: Vec<DueId>,
    /// Messages in the queue.
    pub queued: Vec<MessageSeq>,
    /// Queued messages that may enter a running turn.
    pub interjections: Vec<MessageSeq>,
    /// Messages that a turn is working on.
    pub dequeued: Vec<MessageSeq>,
    /// Messages that are held for the next turn.
    pub held: Vec<MessageSeq>,
    /// Number of stored failed attempts of a round.
    pub attempts: u32,
    /// Unfinished tasks, in the order they began.
    pub tasks: Vec<TaskRecord>,
    /// Work items, open or completed, in the order they were created.
    pub items: Vec<WorkItemRecord>,
    /// Delivery summaries of completed items, in the order they were written.
    pub summaries: Vec<DeliverySummaryRow>,
    /// Active waits, in the order they were declared.
    pub waits: Vec<WaitRecord>,
    /// Active timers, in the order they were created.
    pub timers: Vec<TimerRecord>,
    pub hints: Vec<WakeHint>,
    /// Execution root that the agent occupies.
    pub occupancy: Option<Occupancy>,
}

impl Reader<'_> {
    /// Reads the outstanding work of one agent from its rows.
    ///
    /// # Errors
    /// When the database fails.
    pub fn outstanding(&self, no: AgentNo) -> Result<OutstandingWork, Error> {
        let numbers = |sql| all(self.conn(), sql, [no.0], |row| Ok(row.get::<_, u64>(0)?));
        let mut tasks = all(self.conn(), TASKS, [no.0], |row| {
            json::<TaskRecord>(row, 1, "tasks", row.get::<_, i64>(0)?)
        })?;
        tasks.retain(|task| !task.status.is_terminal());
        let mut waits: Vec<WaitRecord> = self.records(no, WAITS, "waits")?;
        waits.retain(|wait| wait.status == WaitStatus::Active);
        let mut timers: Vec<TimerRecord> = self.records(no, TIMERS, "timers")?;
        timers.retain(|timer| timer.status == TimerStatus::Active);
        Ok(OutstandingWork {
            effects: numbers(EFFECTS)?,
            due: numbers(DUE)?,
            queued: numbers(QUEUED)?,
            interjections: numbers(INTERJECTIONS)?,
            dequeued: numbers(DEQUEUED)?,
            held: numbers(HELD)?,
            attempts: u32::try_from(crate::attempts::of_agent(self.conn(), no)?.len())
                .unwrap_or(u32::MAX),
            tasks,
            items: self.records(no, ITEMS, "work_items")?,
            summaries: self.records(no, SUMMARIES, "delivery_summaries")?,
            waits,
            timers,
            hints: self.records(no, HINTS, "hints")?,
            occupancy: crate::workspaces::of_agent(self.conn(), no)?,
        })
    }

    /// Returns the hashes of the texts that an agent refers to.
    ///
    /// # Errors
    /// When the database fails.
    pub fn texts_referred(&self, no: AgentNo) -> Result<Vec<BlobHash>, Error> {
        all(self.conn(), TEXTS, [no.0], |row| Ok(row.get(0)?))
    }

    /// Reads every record of an agent in a table, without a bound.
    fn records<T: DeserializeOwned>(
        &self,
        no: AgentNo,
        sql: &str,
        table: &'static str,
    ) -> Result<Vec<T>, Error> {
        all(self.conn(), sql, [no.0], |row| {
            json(row, 1, table, row.get::<_, String>(0)?)
        })
    }
}

impl Db {
    /// Counts the virtual machine steps of SQLite on this connection from now on.
    ///
    /// # Errors
    /// When SQLite cannot count.
    pub fn count_steps(&mut self) -> Result<Arc<AtomicU64>, Error> {
        let steps = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&steps);
        let count = move || {
            counted.fetch_add(1, Ordering::Relaxed);
            false
        };
        self.conn.progress_handler(1, Some(count))?;
        Ok(steps)
    }
}
