//! Steps of the statements behind one scheduling decision: as many with 100,000 rows of each table as with 10.
//!
//! SQLite counts the instructions of its virtual machine for each statement, so the test asserts on work and not on
//! time.

use crate::db::Db;
use crate::{effects, hints, queue, timers, waits, work_items};
use rusqlite::StatementStatus;

/// Rows of each table, smallest first.
const SIZES: [u32; 3] = [10, 1_000, 100_000];
/// Rows that a page of a list has at most.
const PAGE: i64 = 8;

/// Statements that read the next message, item, reminder, wait, timer or due entry, with their values.
const DECISION: &[(&str, &[i64])] = &[
    (queue::HEAD, &[1]),
    (queue::QUEUED, &[1, PAGE]),
    (work_items::NEXT, &[1, 0, 0, 0, PAGE]),
    (work_items::NEXT, &[1, 3, 0, 4, PAGE]),
    (work_items::RECHECKS, &[1, PAGE]),
    (work_items::OLDEST_RUNNABLE, &[1, PAGE]),
    (work_items::LIST, &[1, PAGE, i64::MAX, i64::MAX]),
    (work_items::LIST_CLASS, &[1, PAGE, i64::MAX, i64::MAX, 0]),
    (effects::SOONEST, &[1, PAGE]),
    (waits::ACTIVE, &[1, PAGE]),
    (timers::ACTIVE, &[1, PAGE]),
    (timers::PARKED_PAGE, &[1, PAGE]),
    (hints::PENDING, &[1, PAGE]),
    (effects::NEXT_DUE, &[]),
    (effects::DUE, &[1_000, 0, 0, 0, PAGE, 1, 0]),
];

/// Fills each table with this many rows of agent 1. None of the due entries has come.
fn filled(rows: u32) -> Db {
    let db = Db::in_memory().expect("opens");
    let numbers =
        format!("WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {rows})");
    for (table, columns, values) in [
        (
            "messages",
            "agent_no, seq, status, priority, interject, envelope",
            "1, n, 0, 2, 0, '{}'",
        ),
        (
            "work_items",
            "agent_no, work_item_id, class, changed, idle, wake_count, recheck_at, record",
            "1, 'work_' || n, 0, n, 0, 0, n, '{}'",
        ),
        (
            "waits",
            "agent_no, wait_id, active, record",
            "1, 'wait_' || n, 1, '{}'",
        ),
        (
            "timers",
            "agent_no, timer_id, active, record",
            "1, 'timer_' || n, 2, '{}'",
        ),
        ("due", "at, agent_no, id, due", "100000 + n, 1, n, '{}'"),
    ] {
        let sql = format!("{numbers} INSERT INTO {table} ({columns}) SELECT {values} FROM n");
        let written = db.conn.execute(&sql, []).expect("fills");
        assert_eq!(u32::try_from(written), Ok(rows), "{table}");
    }
    db
}

/// Instructions that one statement takes, and the rows that it returns.
fn steps(db: &Db, sql: &str, values: &[i64]) -> (i32, usize) {
    let mut statement = db.conn.prepare(sql).expect("prepares");
    let mut found = 0;
    let mut rows = statement
        .query(rusqlite::params_from_iter(values))
        .expect("runs");
    while rows.next().expect("steps").is_some() {
        found += 1;
    }
    drop(rows);
    (statement.get_status(StatementStatus::VmStep), found)
}

#[test]
fn one_scheduling_decision_takes_as_many_steps_with_a_hundred_thousand_rows_as_with_ten() {
    let filled = SIZES.map(filled);
    for (sql, values) in DECISION {
        let counted: Vec<(i32, usize)> = filled.iter().map(|db| steps(db, sql, values)).collect();
        assert!(counted[0].0 > 0, "{sql} was counted");
        assert!(
            counted.iter().all(|steps| *steps == counted[0]),
            "{sql} with {SIZES:?} rows: {counted:?} (steps, rows)"
        );
    }
}
