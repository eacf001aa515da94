//! A delivery target of the storm's host: a program that notes each delivery in a file and fails every fourth time.
//!
//! Rules: every delivery that the host calls accepted was received, none is given up or left pending, and the
//! deliveries of an agent were received in their order, each under one id. A repetition is allowed: the host may die
//! between a delivery and its record.

use crate::Fallible;
use crate::check::Evidence;
use crate::world::World;
use holon_api::{CreateDeliveryTargetRequest, TargetKindName};
use rusqlite::Connection;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::time::Instant;

/// Longest time in which the host delivers what is left after the last kill.
const PATIENCE: Duration = Duration::from_secs(120);
/// Interval between two looks at the target.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A row of the deliveries table.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeliveryRow {
    pub(crate) agent: i64,
    pub(crate) seq: i64,
    /// 0 pending, 1 accepted, 2 given up.
    pub(crate) status: i64,
    pub(crate) id: String,
}

/// Adds the target, which wants the results of turns too.
pub(crate) async fn add_target(world: &World) -> Fallible<()> {
    let log = world.deliveries();
    let script = format!(
        "n=$(cat '{log}.tries' 2>/dev/null); n=$((n + 1)); echo $n > '{log}.tries'; \
         [ $((n % 4)) -ne 0 ] && echo \"$HOLON_DELIVERY_ID\" >> '{log}'",
        log = log.display()
    );
    let request = CreateDeliveryTargetRequest {
        name: "log".to_owned(),
        kind: TargetKindName::Command,
        url: None,
        command: ["sh", "-c", &script].map(str::to_owned).to_vec(),
        auth: None,
        secret: None,
        turn_results: true,
        agents: Vec::new(),
    };
    world.client().add_delivery_target(&request).await?;
    Ok(())
}

/// Waits until the host has delivered everything. Returns a sentence if it does not.
pub(crate) async fn wait_until_delivered(world: &World) -> Fallible<Option<String>> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let listed = world.client().delivery_targets().await?;
        let pending: u64 = listed.targets.iter().map(|target| target.pending).sum();
        if pending == 0 {
            return Ok(None);
        }
        if Instant::now() > deadline {
            return Ok(Some(format!("{pending} deliveries are still pending")));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Reads the kept deliveries.
pub(crate) fn read(conn: &Connection) -> crate::rows::Result<Vec<DeliveryRow>> {
    let sql = "SELECT agent_no, seq, status, record FROM deliveries ORDER BY agent_no, seq";
    let mut statement = conn.prepare(sql)?;
    let rows = statement.query_map([], |row| {
        let record: String = row.get(3)?;
        let record: Value = serde_json::from_str(&record).unwrap_or_default();
        Ok(DeliveryRow {
            agent: row.get(0)?,
            seq: row.get(1)?,
            status: row.get(2)?,
            id: record["id"].as_str().unwrap_or_default().to_owned(),
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Returns every broken rule as a sentence.
pub(crate) fn check(evidence: &Evidence) -> Vec<String> {
    let rows = &evidence.rows;
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, id) in evidence.delivered.iter().enumerate() {
        first.entry(id).or_insert(at);
    }
    let mut found = Vec::new();
    let mut before: BTreeMap<i64, usize> = BTreeMap::new();
    for row in &rows.deliveries {
        let name = rows.name(row.agent);
        let received = first.get(row.id.as_str()).copied();
        match (row.status, received) {
            (0, _) => found.push(format!("{name}: delivery {} is pending", row.seq)),
            (1, None) => found.push(format!(
                "{name}: delivery {} counts as accepted and was not received",
                row.seq
            )),
            (2, _) => found.push(format!(
                "{name}: delivery {} was given up, and the target works",
                row.seq
            )),
            (_, Some(at)) if before.get(&row.agent).is_some_and(|last| *last > at) => {
                found.push(format!(
                    "{name}: delivery {} came before an older one",
                    row.seq
                ));
            }
            (_, Some(at)) => drop(before.insert(row.agent, at)),
            (_, None) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Rows;

    fn row(seq: i64, status: i64, id: &str) -> DeliveryRow {
        DeliveryRow {
            agent: 1,
            seq,
            status,
            id: id.to_owned(),
        }
    }

    fn found(rows: Vec<DeliveryRow>, delivered: &[&str]) -> usize {
        check(&Evidence {
            rows: Rows {
                deliveries: rows,
                ..Rows::default()
            },
            delivered: delivered.iter().map(|id| (*id).to_owned()).collect(),
            ..Evidence::default()
        })
        .len()
    }

    #[test]
    fn a_repetition_is_allowed_and_a_loss_or_another_order_is_not() {
        let both = || vec![row(1, 1, "a"), row(2, 1, "b")];
        assert_eq!(found(both(), &["a", "a", "b"]), 0);
        assert_eq!(found(both(), &["a"]), 1, "one is lost");
        assert_eq!(found(both(), &["b", "a"]), 1, "out of order");
        assert_eq!(found(vec![row(1, 0, "a")], &["a"]), 1, "one is pending");
        assert_eq!(found(vec![row(1, 2, "a")], &[]), 1, "one was given up");
    }
}
