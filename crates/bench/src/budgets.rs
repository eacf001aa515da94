//! The check of budgets before a model call, beside few and many rows of usage. It must cost the same.
//!
//! The time is that of reading the meters of the two budgets that settings can ask for, inside the writer's transaction.

use crate::program::Fallible;
use crate::stats::{Sample, round};
use holon_domain::AgentId;
use holon_domain::WorkItemId;
use holon_domain::attempt::TokenUsage;
use holon_domain::budget::{BudgetKey, BudgetPeriod, BudgetScope};
use holon_domain::decision::{Decision, Fact};
use holon_domain::needs::Needs;
use holon_domain::usage::UsageCharge;
use holon_store::{Db, Ledger as _};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// Rows of usage of one day, smallest first.
const SIZES: [usize; 3] = [0, 10_000, 100_000];
/// Rows of usage of one commit while a database is filled.
const PER_COMMIT: usize = 1_000;
/// Checks of each size in one block.
const PER_BLOCK: usize = 200;
/// Blocks in which the sizes alternate.
const BLOCKS: usize = 6;
const DAY: &str = "2026-11-16";

/// Budget check at 0, 10,000 and 100,000 usage rows.
pub(crate) fn checks() -> Fallible<Value> {
    let dir = tempfile::tempdir()?;
    let agent_id = AgentId::parse("worker")?;
    let mut filled = Vec::new();
    for rows in SIZES {
        let path = dir.path().join(format!("{rows}.sqlite3"));
        filled.push((rows, fill(&path, &agent_id, rows)?, Sample::default()));
    }
    for _ in 0..BLOCKS {
        for (_, db, sample) in &mut filled {
            for _ in 0..PER_BLOCK {
                sample.add(check(db, &agent_id)?);
            }
        }
    }
    let fewest = filled
        .first()
        .map_or(f64::NAN, |(_, _, sample)| sample.quantile(0.5));
    let mut report = Map::new();
    for (rows, db, sample) in filled {
        let ratio = round(sample.quantile(0.5) / fewest);
        let figures = json!({ "check": sample.report(), "p50_ratio": ratio });
        report.insert(format!("usage_rows_{rows}"), figures);
        db.close()?;
    }
    Ok(Value::Object(report))
}

/// Creates a database with one agent and this many rows of usage.
fn fill(path: &Path, agent_id: &AgentId, rows: usize) -> Fallible<Db> {
    crate::backlog::Backlog::create(path, agent_id.as_str())?.close()?;
    let mut db = Db::open(path)?;
    let numbers: Vec<usize> = (0..rows).collect();
    for group in numbers.chunks(PER_COMMIT) {
        db.write(|tx| {
            let Some((no, agent)) = tx.agent(agent_id)? else {
                return Ok(());
            };
            let charged = |n: &usize| Fact::UsageCharged(Box::new(charge(agent_id, *n)));
            let decision = Decision {
                agent,
                facts: group.iter().map(charged).collect(),
                more: false,
            };
            tx.apply(no, &decision)
        })?;
    }
    Ok(db)
}

fn charge(agent_id: &AgentId, number: usize) -> UsageCharge {
    UsageCharge {
        agent_id: agent_id.clone(),
        root_agent_id: agent_id.clone(),
        work_item_id: Some(WorkItemId::from_stored(format!("work_{number}"))),
        day: DAY.to_owned(),
        model_ref: "bench/instant".to_owned(),
        usage: TokenUsage::new(1_000, 100),
        estimated: false,
        cost: None,
    }
}

/// Reads the meters as a decision does. Returns the time it took, without the commit.
fn check(db: &mut Db, agent_id: &AgentId) -> Fallible<Duration> {
    let period = BudgetPeriod::Day;
    let scopes = [BudgetScope::Host, BudgetScope::Agent(agent_id.clone())];
    let needs = Needs {
        meters: scopes
            .map(|scope| BudgetKey { scope, period })
            .into_iter()
            .collect(),
        day: DAY.to_owned(),
        ..Needs::default()
    };
    let took = db.write(|tx| {
        let Some((no, _)) = tx.agent(agent_id)? else {
            return Ok(Duration::ZERO);
        };
        let began = Instant::now();
        tx.load(no, &needs)?;
        Ok(began.elapsed())
    })?;
    Ok(took)
}
