//! What one trivial message and its turn leave on disk after a checkpoint, and which tables hold it.

use crate::admission::turn;
use crate::stats::round;
use crate::world;
use holon_testkit::ports::FixedModel;
use rusqlite::Connection;
use serde_json::{Map, Value, json};
use std::error::Error;

pub(crate) async fn per_message(messages: usize) -> Result<Value, Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("holon.sqlite3");
    let host = world::host(&path, FixedModel::Text).await?;
    let agent_id = world::agent(&host, "worker").await?;
    turn(&host, &agent_id).await?;
    host.shut_down().await?;
    let before = std::fs::metadata(&path)?.len();
    let host = world::host(&path, FixedModel::Text).await?;
    for _ in 0..messages {
        turn(&host, &agent_id).await?;
    }
    host.shut_down().await?;
    let grown = std::fs::metadata(&path)?.len() - before;
    Ok(json!({
        "messages": messages,
        "bytes_per_message": round(grown as f64 / messages as f64),
        "bytes_per_message_aim": 2_048,
        "payload_bytes_per_message": payload(&path, messages)?,
    }))
}

fn payload(path: &std::path::Path, messages: usize) -> Result<Value, Box<dyn Error>> {
    let conn = Connection::open(path)?;
    let mut tables = Map::new();
    for (table, column) in [
        ("messages", "envelope"),
        ("log", "entry"),
        ("briefs", "row"),
        ("events", "data"),
        ("episodes", "record"),
    ] {
        let sql = format!("SELECT COALESCE(SUM(LENGTH({column})), 0) FROM {table}");
        let bytes: i64 = conn.query_row(&sql, [], |row| row.get(0))?;
        tables.insert(
            table.to_owned(),
            json!(round(bytes as f64 / messages as f64)),
        );
    }
    Ok(Value::Object(tables))
}
