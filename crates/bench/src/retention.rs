//! What retention costs: the removal of old turns, for each message that goes with them.

use crate::admission::turn;
use crate::stats::{Sample, round};
use crate::world;
use holon_domain::storage::HistoryRule;
use holon_store::Db;
use holon_testkit::ports::FixedModel;
use serde_json::{Value, json};
use std::error::Error;
use std::time::Instant;

/// Measures the removal of the oldest of this many messages and their turns.
pub(crate) async fn history(messages: usize) -> Result<Value, Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let path = dir.path().join("holon.sqlite3");
    let host = world::host(&path, FixedModel::Text).await?;
    let agent_id = world::agent(&host, "worker").await?;
    for _ in 0..messages {
        turn(&host, &agent_id).await?;
    }
    host.shut_down().await?;
    let mut db = Db::open(&path)?;
    let (mut steps, mut removed) = (Sample::default(), 0);
    let began = Instant::now();
    loop {
        let step_began = Instant::now();
        let rule = HistoryRule::NEEDS_SPACE;
        let Some(step) = db.write(|tx| tx.trim_history(&agent_id, rule))? else {
            break;
        };
        steps.add(step_began.elapsed());
        removed += step.removed.messages;
    }
    let took = began.elapsed();
    db.close()?;
    Ok(json!({
        "messages": messages,
        "removed_messages": removed,
        "us_per_removed_message": round(took.as_secs_f64() * 1e6 / removed.max(1) as f64),
        "step": steps.report(),
    }))
}
