//! The check of budgets costs the same however much was used, and however many calls are open.

use crate::samples::{self, Scribe};
use holon_domain::attempt::TokenUsage;
use holon_domain::budget::{BudgetKey, BudgetPeriod, BudgetReading, BudgetScope, Reservation};
use holon_domain::decision::Fact;
use holon_domain::needs::Needs;
use holon_domain::usage::UsageCharge;
use holon_store::{AgentNo, Db, Ledger, WriteError};
use std::sync::atomic::Ordering;

const DAY: &str = "2026-11-16";

fn charge(item: u64) -> UsageCharge {
    UsageCharge {
        agent_id: samples::id("a"),
        root_agent_id: samples::id("a"),
        work_item_id: Some(holon_domain::WorkItemId::from_stored(format!(
            "work_{item}"
        ))),
        day: DAY.to_owned(),
        model_ref: "p/m".to_owned(),
        usage: TokenUsage::new(3, 4),
        estimated: false,
        cost: None,
    }
}

/// The meters that the settings ask for before every call.
fn check() -> Needs {
    let key = |scope| BudgetKey {
        scope,
        period: BudgetPeriod::Day,
    };
    let scopes = [BudgetScope::Host, BudgetScope::Agent(samples::id("a"))];
    Needs {
        meters: scopes.map(key).into(),
        day: DAY.to_owned(),
        ..Needs::default()
    }
}

fn read(db: &mut Db, no: AgentNo) -> Result<Vec<BudgetReading>, WriteError> {
    db.write(|tx| Ok(tx.load(no, &check())?.meters.into_values().collect()))
}

/// Virtual machine steps of SQLite for one check beside this many rows of usage and a tenth as many open calls.
fn steps_beside(rows: u64) -> u64 {
    let mut scribe = Scribe::new("a");
    let mut db = Db::in_memory().expect("opens");
    let no = db
        .write(|tx| tx.create_agent(&scribe.record))
        .expect("creates");
    let numbers: Vec<u64> = (0..rows).collect();
    for part in numbers.chunks(5_000) {
        for number in part {
            scribe.fact(Fact::UsageCharged(Box::new(charge(*number))));
        }
        let decision = scribe.event().decide();
        db.write(|tx| tx.apply(no, &decision)).expect("writes");
    }
    for number in 0..(rows / 10).min(500) {
        let mut other = Scribe::new(&format!("other{number}"));
        let reservation = Reservation {
            agent_id: other.record.identity.agent_id.clone(),
            root_agent_id: other.record.identity.agent_id.clone(),
            work_item_id: None,
            tokens: 2,
            micro_usd: None,
        };
        let decision = other
            .fact(Fact::CallReserved(Box::new(reservation)))
            .event()
            .decide();
        db.write(|tx| {
            let no = tx.create_agent(&decision.agent)?;
            tx.apply(no, &decision)
        })
        .expect("writes");
    }
    let counted = db.count_steps().expect("counts");
    read(&mut db, no).expect("reads");
    let before = counted.load(Ordering::Relaxed);
    let found = read(&mut db, no).expect("reads");
    let steps = counted.load(Ordering::Relaxed) - before;
    let spent = |reading: &BudgetReading| match reading {
        BudgetReading::Metered(meter) => Some(meter.spent_tokens),
        BudgetReading::Absent | BudgetReading::Unreadable(_) => None,
    };
    let spent: Vec<Option<u64>> = found.iter().map(spent).collect();
    assert_eq!(spent, [Some(7 * rows), Some(7 * rows)], "everything counts");
    steps
}

#[test]
fn a_check_of_budgets_costs_the_same_beside_any_amount_of_usage() {
    let [few, many, most] = [10, 1_000, 20_000].map(steps_beside);
    assert!(few.abs_diff(many) <= few / 20, "{few} and {many}");
    assert!(many.abs_diff(most) <= many / 20, "{many} and {most}");
}
