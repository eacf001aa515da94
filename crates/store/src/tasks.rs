//! The tasks table: managed executions in their current state, and the newest finished ones.
//!
//! Invariant: a status only moves forward, and a final one never changes. `ended` is set by the write that ends the
//! task; it numbers the ends of an agent densely, and retention removes a prefix of them.

use crate::error::Error;
use crate::row::{AgentNo, Unreadable, first, json, limit, run};
use holon_domain::TaskId;
use holon_domain::limits::{TASKS_KEPT, TASKS_PER_AGENT};
use holon_domain::task::{TaskRecord, TaskStatus};
use rusqlite::{Connection, Row, params};
use serde::Deserialize;

const INSERT: &str = "INSERT INTO tasks (agent_no, task_id, ended, record) VALUES (?1, ?2, ?3, ?4)";
pub(crate) const ONE: &str =
    "SELECT task_id, record, task_no FROM tasks WHERE agent_no = ?1 AND task_id = ?2";
pub(crate) const REWRITE: &str = "UPDATE tasks SET record = ?2 WHERE task_no = ?1";
/// Separate from a plain change, because naming `ended` rewrites its index entry.
pub(crate) const END: &str = "UPDATE tasks SET ended = ?2, record = ?3 WHERE task_no = ?1";
pub(crate) const LAST_END: &str =
    "SELECT ended FROM tasks WHERE agent_no = ?1 AND ended > 0 ORDER BY ended DESC LIMIT 1";
pub(crate) const FORGET: &str = "DELETE FROM tasks WHERE task_no IN (SELECT task_no FROM tasks \
     WHERE agent_no = ?1 AND ended <= ?2 ORDER BY ended LIMIT ?3)";
pub(crate) const ACTIVE: &str = "SELECT task_id, record FROM tasks \
     WHERE agent_no = ?1 AND ended IS NULL ORDER BY task_no LIMIT ?2";
pub(crate) const NEWEST: &str =
    "SELECT task_id, record FROM tasks WHERE agent_no = ?1 ORDER BY task_no DESC LIMIT ?2";

/// Most unfinished tasks in one read: twice the limit of core, since cancelled calls become tasks without the check.
const ACTIVE_READ: usize = 2 * TASKS_PER_AGENT;
/// Rows removed per end. Usually one; more only if an earlier build kept more.
const FORGOTTEN_PER_END: i64 = 16;

/// The fields of the stored row that a change is checked against.
#[derive(Deserialize)]
struct StoredTask {
    status: TaskStatus,
}

/// Rank of a status; it never decreases.
const fn stage(status: TaskStatus) -> u8 {
    match status {
        TaskStatus::Queued => 0,
        TaskStatus::Running => 1,
        TaskStatus::Cancelling => 2,
        TaskStatus::Completed
        | TaskStatus::Failed
        | TaskStatus::Cancelled
        | TaskStatus::Interrupted => 3,
    }
}

fn read_task(row: &Row<'_>) -> Result<TaskRecord, Error> {
    let id: String = row.get(0)?;
    json(row, 1, "tasks", id)
}

/// Writes a new or changed task. If it ends, removes the oldest finished ones.
pub(crate) fn write(conn: &Connection, no: AgentNo, task: &TaskRecord) -> Result<(), Error> {
    let found = first(conn, ONE, params![no.0, task.id.as_str()], |row| {
        let standing: StoredTask = json(row, 1, "tasks", &task.id)?;
        Ok((row.get::<_, i64>(2)?, standing.status))
    })?;
    if let Some((_, from)) = found {
        check_move(task, from)?;
    }
    let text = serde_json::to_string(task)?;
    let ended = if task.status.is_terminal() {
        Some(next_end(conn, no)?)
    } else {
        None
    };
    match (found, ended) {
        (None, _) => run(conn, INSERT, params![no.0, task.id.as_str(), ended, text])?,
        (Some((task_no, _)), None) => run(conn, REWRITE, params![task_no, text])?,
        (Some((task_no, _)), Some(ended)) => run(conn, END, params![task_no, ended, text])?,
    };
    ended.map_or(Ok(()), |ended| forget(conn, no, ended))
}

fn check_move(task: &TaskRecord, from: TaskStatus) -> Result<(), Error> {
    if !from.is_terminal() && stage(task.status) >= stage(from) {
        return Ok(());
    }
    // An interrupted child is not final: it can still be stopped or end by itself.
    let was_over = TaskRecord {
        status: from,
        ..task.clone()
    }
    .is_over();
    if from == TaskStatus::Interrupted && !was_over && task.status.is_terminal() {
        return Ok(());
    }
    Err(Error::contradiction(format!(
        "task {} becomes {:?}, but it is {from:?}",
        task.id, task.status
    )))
}

/// Returns the number of the next end of an agent's tasks.
fn next_end(conn: &Connection, no: AgentNo) -> Result<u64, Error> {
    let last: Option<u64> = first(conn, LAST_END, [no.0], |row| Ok(row.get(0)?))?;
    Ok(last.unwrap_or(0) + 1)
}

/// Removes the tasks whose ends lie too far back.
fn forget(conn: &Connection, no: AgentNo, newest: u64) -> Result<(), Error> {
    let Some(last) = newest.checked_sub(TASKS_KEPT).filter(|last| *last > 0) else {
        return Ok(());
    };
    run(conn, FORGET, params![no.0, last, FORGOTTEN_PER_END])?;
    Ok(())
}

/// Lists the unfinished tasks in the order they began.
pub(crate) fn active(
    conn: &Connection,
    no: AgentNo,
    unreadable: Unreadable,
) -> Result<Vec<TaskRecord>, Error> {
    let values = params![no.0, limit(ACTIVE_READ)];
    unreadable.all(conn, ACTIVE, values, read_task)
}

/// Reads one task, finished or not.
pub(crate) fn one(
    conn: &Connection,
    no: AgentNo,
    id: &TaskId,
) -> Result<Option<TaskRecord>, Error> {
    first(conn, ONE, params![no.0, id.as_str()], read_task)
}

/// Lists the tasks that began last, newest first.
pub(crate) fn newest(
    conn: &Connection,
    no: AgentNo,
    count: usize,
    unreadable: Unreadable,
) -> Result<Vec<TaskRecord>, Error> {
    unreadable.all(conn, NEWEST, params![no.0, limit(count)], read_task)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::CommitFault;
    use crate::db::Db;
    use crate::samples::Scribe;
    use rusqlite::ffi::SQLITE_IOERR_FSYNC;

    #[test]
    fn an_end_that_lets_an_old_task_go_is_recognised_when_its_commit_holds_but_reports_failure() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut db = Db::open(&directory.path().join("s.sqlite3")).expect("opens");
        let mut scribe = Scribe::new("a");
        let no = db
            .write(|tx| tx.create_agent(&scribe.record))
            .expect("creates");
        for number in 1..=TASKS_KEPT {
            scribe.task(&number.to_string(), TaskStatus::Completed);
        }
        let full = scribe.task("last", TaskStatus::Running).event().decide();
        db.write(|tx| tx.apply(no, &full)).expect("writes");
        db.faults
            .extend([CommitFault::HoldsButFails(SQLITE_IOERR_FSYNC)]);
        let over = scribe.task("last", TaskStatus::Failed).event().decide();
        assert_eq!(db.write(|tx| tx.apply(no, &over)), Ok(()));
        let stored = |name: &str| {
            let found = db.reader().task(no, &TaskId::from_stored(name));
            found.expect("reads").map(|task| task.status)
        };
        assert_eq!(stored("task_last"), Some(TaskStatus::Failed));
        assert_eq!((stored("task_1"), db.commits()), (None, 3));
    }
}
