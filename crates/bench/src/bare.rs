//! The baseline: the very rows the runtime writes, written bare.
//!
//! The rows of one operation are learnt from a store the runtime wrote (what its tables hold more than before), then
//! replayed under fresh keys with prepared statements, one durable transaction each: no decisions, no JSON, no threads.

use crate::stats::Sample;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use std::path::Path;
use std::time::Instant;

/// Tables that grow with messages, and the column that numbers their rows for one agent.
const GROWING: [(&str, &str); 4] = [
    ("messages", "seq"),
    ("log", "seq"),
    ("briefs", "seq"),
    ("events", "last_seq"),
];

/// The rows of one operation.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    inserts: Vec<(String, Vec<Value>, usize)>,
    record: String,
}

impl Rows {
    /// Reads the rows that the tables gained since `before` for agent 1, and the agent's row as it is now.
    pub(crate) fn learn(path: &Path, before: &[i64; 4]) -> rusqlite::Result<Self> {
        let conn = Connection::open(path)?;
        let mut inserts = Vec::new();
        for ((table, key), floor) in GROWING.iter().zip(before) {
            let mut statement = conn.prepare(&format!(
                "SELECT * FROM {table} WHERE agent_no = 1 AND {key} > ?1"
            ))?;
            let columns = statement.column_count();
            let key_index = statement.column_index(key)?;
            let rows = statement.query_map([floor], |row| {
                (0..columns)
                    .map(|i| row.get(i))
                    .collect::<Result<Vec<Value>, _>>()
            })?;
            let marks = vec!["?"; columns].join(", ");
            for row in rows {
                let mut row = row?;
                // The table's own number: SQLite gives the next one.
                if let Some(number) = row.first_mut() {
                    *number = Value::Null;
                }
                let sql = format!("INSERT INTO {table} VALUES ({marks})");
                inserts.push((sql, row, key_index));
            }
        }
        let record = conn.query_row("SELECT record FROM agents WHERE agent_no = 1", [], |row| {
            row.get(0)
        })?;
        Ok(Self { inserts, record })
    }

    /// The newest numbers of agent 1, to learn from there on.
    pub(crate) fn marks(path: &Path) -> rusqlite::Result<[i64; 4]> {
        let conn = Connection::open(path)?;
        let mut marks = [0; 4];
        for ((table, key), mark) in GROWING.iter().zip(&mut marks) {
            let sql = format!("SELECT COALESCE(MAX({key}), 0) FROM {table} WHERE agent_no = 1");
            *mark = conn.query_row(&sql, [], |row| row.get(0))?;
        }
        Ok(marks)
    }
}

/// A bare database with the same schema, and the next fresh key in it.
#[derive(Debug)]
pub(crate) struct Bare {
    conn: Connection,
    next: i64,
}

impl Bare {
    /// Opens a file the runtime made, with the runtime's own durability.
    pub(crate) fn open(path: &Path) -> rusqlite::Result<Self> {
        let conn = Connection::open(path)?;
        conn.pragma_update(None, "synchronous", "FULL")?;
        conn.set_prepared_statement_cache_capacity(64);
        Ok(Self {
            conn,
            next: 1_000_000,
        })
    }

    /// Writes the rows `times` times, one durable transaction each.
    pub(crate) fn write(&mut self, rows: &Rows, times: usize) -> rusqlite::Result<Sample> {
        let mut sample = Sample::default();
        for _ in 0..times {
            let began = Instant::now();
            self.write_once(rows)?;
            sample.add(began.elapsed());
        }
        Ok(sample)
    }

    fn write_once(&mut self, rows: &Rows) -> rusqlite::Result<()> {
        let transaction = self
            .conn
            .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        for (sql, values, key) in &rows.inserts {
            self.next += 1;
            let mut values = values.clone();
            if let Some(slot) = values.get_mut(*key) {
                *slot = Value::Integer(self.next);
            }
            transaction
                .prepare_cached(sql)?
                .execute(params_from_iter(values))?;
        }
        transaction
            .prepare_cached(
                "UPDATE agents SET record = ?1, pending = pending + 1 WHERE agent_no = 1",
            )?
            .execute([&rows.record])?;
        transaction.commit()
    }
}
