//! The tables of budgets and of the reservations of open model calls. Budgets belong to the host; an agent has at most
//! one reservation, because it has at most one open call.

use crate::error::Error;
use crate::row::{AgentNo, all, first, limit, run};
use crate::usage::stored;
use holon_domain::budget::{
    Budget, BudgetKey, BudgetMeter, BudgetPeriod, BudgetScope, BudgetStanding, Reservation,
};
use holon_domain::limits::BUDGETS;
use holon_domain::usage::UsageCharge;
use rusqlite::{Connection, Row, params};

pub(crate) const ALL: &str = "SELECT record, day, spent_tokens, spent_micro_usd, unpriced_calls FROM budgets \
     ORDER BY scope, key, period LIMIT ?1";
pub(crate) const COUNT: &str = "SELECT count(*) FROM budgets";
pub(crate) const ONE: &str = "SELECT day, spent_tokens, spent_micro_usd, unpriced_calls FROM budgets \
     WHERE scope = ?1 AND key = ?2 AND period = ?3";
pub(crate) const CHANGE: &str =
    "UPDATE budgets SET record = ?4 WHERE scope = ?1 AND key = ?2 AND period = ?3";
pub(crate) const ADD: &str = "INSERT INTO budgets (scope, key, period, record, day, spent_tokens, spent_micro_usd, \
     unpriced_calls) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
pub(crate) const REMOVE: &str = "DELETE FROM budgets WHERE scope = ?1 AND key = ?2 AND period = ?3";
/// A budget of a day begins anew with the first charge of another day. Sums saturate.
pub(crate) const SPEND: &str = "UPDATE budgets SET \
     spent_tokens = CASE WHEN period = 'day' AND day <> ?3 THEN ?4 \
         ELSE min(spent_tokens, 9223372036854775807 - ?4) + ?4 END, \
     spent_micro_usd = CASE WHEN period = 'day' AND day <> ?3 THEN ?5 \
         ELSE min(spent_micro_usd, 9223372036854775807 - ?5) + ?5 END, \
     unpriced_calls = CASE WHEN period = 'day' AND day <> ?3 THEN ?6 ELSE unpriced_calls + ?6 END, \
     day = ?3 WHERE scope = ?1 AND key = ?2";
pub(crate) const RESERVE: &str = "INSERT OR REPLACE INTO reservations (agent_no, agent_id, root_id, item_id, tokens, \
     micro_usd) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
pub(crate) const RELEASE: &str = "DELETE FROM reservations WHERE agent_no = ?1";

/// Stands in a reservation for a cost that is not known.
const UNPRICED: i64 = -1;

/// The result of setting a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetChange {
    Added,
    Changed,
    /// The host has as many budgets as it may.
    TooMany,
}

/// Adds a budget or changes its limits. A new one counts what was used before it was set.
pub(crate) fn set(conn: &Connection, budget: &Budget, day: &str) -> Result<BudgetChange, Error> {
    let BudgetKey { scope, period } = &budget.key;
    let (kind, key, period) = (scope.kind(), scope.key(), period.as_str());
    let record = serde_json::to_string(budget)?;
    if run(conn, CHANGE, params![kind, key, period, record])? > 0 {
        return Ok(BudgetChange::Changed);
    }
    let count: Option<u64> = first(conn, COUNT, [], |row| Ok(row.get(0)?))?;
    if count.unwrap_or(0) >= BUDGETS as u64 {
        return Ok(BudgetChange::TooMany);
    }
    let (tokens, cost, unpriced) = used(conn, &budget.key, day)?;
    let values = params![kind, key, period, record, day, tokens, cost, unpriced];
    run(conn, ADD, values)?;
    Ok(BudgetChange::Added)
}

/// Sums up what was used before a budget is set.
fn used(conn: &Connection, key: &BudgetKey, day: &str) -> Result<(i64, i64, i64), Error> {
    let of_scope = match key.scope {
        BudgetScope::Agent(_) => "agent_id = ?1",
        BudgetScope::Item(_) => "item_id = ?1",
        BudgetScope::Tree(_) => "root_id = ?1",
        BudgetScope::Host => "?1 = ''",
    };
    let of_period = match key.period {
        BudgetPeriod::Total => "?2 IS NOT NULL",
        BudgetPeriod::Day => "day = ?2",
    };
    let sql = format!(
        "SELECT sum(input_tokens + output_tokens), sum(known_cost), sum(unpriced_calls) FROM usage \
         WHERE {of_scope} AND {of_period}"
    );
    let sums = first(conn, &sql, params![key.scope.key(), day], |row| {
        let sum = |column: usize| -> rusqlite::Result<i64> {
            Ok(row.get::<_, Option<i64>>(column)?.unwrap_or(0))
        };
        Ok((sum(0)?, sum(1)?, sum(2)?))
    })?;
    Ok(sums.unwrap_or_default())
}

/// Removes a budget. Returns false if there is none of this name.
pub(crate) fn remove(conn: &Connection, key: &BudgetKey) -> Result<bool, Error> {
    let scope = &key.scope;
    let values = params![scope.kind(), scope.key(), key.period.as_str()];
    Ok(run(conn, REMOVE, values)? > 0)
}

/// Lists the budgets with their meters. A row that this build cannot read limits nothing, so it is left out.
pub(crate) fn list(conn: &Connection, day: &str) -> Result<Vec<BudgetStanding>, Error> {
    let rows = all(conn, ALL, [limit(BUDGETS)], |row| {
        let text: String = row.get(0)?;
        let budget: Option<Budget> = serde_json::from_str(&text).ok();
        budget
            .map(|budget| {
                let meter = to_meter(row, 1, budget.key.period, day)?;
                Ok(BudgetStanding { budget, meter })
            })
            .transpose()
    })?;
    let mut found = Vec::new();
    for mut standing in rows.into_iter().flatten() {
        add_reserved(conn, &standing.budget.key.scope, None, &mut standing.meter)?;
        found.push(standing);
    }
    Ok(found)
}

/// Reads how far a budget is used up, without the reservation of one agent. `None` if there is no such budget over all
/// time.
pub(crate) fn meter(
    conn: &Connection,
    key: &BudgetKey,
    day: &str,
    but: AgentNo,
) -> Result<Option<BudgetMeter>, Error> {
    let scope = &key.scope;
    let values = params![scope.kind(), scope.key(), key.period.as_str()];
    let found = first(conn, ONE, values, |row| {
        Ok(to_meter(row, 0, key.period, day)?)
    })?;
    let mut meter = match (found, key.period) {
        (Some(meter), _) => meter,
        // Budgets of the settings have no row. A day has few rows of usage.
        (None, BudgetPeriod::Day) => {
            let (tokens, cost, unpriced) = used(conn, key, day)?;
            let number = |stored: i64| u64::try_from(stored).unwrap_or(0);
            BudgetMeter {
                spent_tokens: number(tokens),
                spent_micro_usd: number(cost),
                unpriced_calls: number(unpriced),
                ..BudgetMeter::default()
            }
        }
        (None, BudgetPeriod::Total) => return Ok(None),
    };
    add_reserved(conn, scope, Some(but), &mut meter)?;
    Ok(Some(meter))
}

fn to_meter(
    row: &Row<'_>,
    from: usize,
    period: BudgetPeriod,
    today: &str,
) -> rusqlite::Result<BudgetMeter> {
    let day: String = row.get(from)?;
    if period == BudgetPeriod::Day && day != today {
        return Ok(BudgetMeter::default());
    }
    let number = |column: usize| -> rusqlite::Result<u64> {
        let stored: i64 = row.get(from + column)?;
        Ok(u64::try_from(stored).unwrap_or(0))
    };
    Ok(BudgetMeter {
        spent_tokens: number(1)?,
        spent_micro_usd: number(2)?,
        unpriced_calls: number(3)?,
        ..BudgetMeter::default()
    })
}

/// Adds what open calls have reserved. There are only as many as agents that wait for a model.
fn add_reserved(
    conn: &Connection,
    scope: &BudgetScope,
    but: Option<AgentNo>,
    meter: &mut BudgetMeter,
) -> Result<(), Error> {
    let of_scope = match scope {
        BudgetScope::Agent(_) => "agent_id = ?1",
        BudgetScope::Item(_) => "item_id = ?1",
        BudgetScope::Tree(_) => "root_id = ?1",
        BudgetScope::Host => "?1 = ''",
    };
    let sql = format!(
        "SELECT tokens, micro_usd FROM reservations WHERE {of_scope} AND agent_no IS NOT ?2"
    );
    let but = but.map(|no| no.0);
    let rows = all(conn, &sql, params![scope.key(), but], |row| {
        let pair: (i64, i64) = (row.get(0)?, row.get(1)?);
        Ok(pair)
    })?;
    for (tokens, micro_usd) in rows {
        let number = |stored: i64| u64::try_from(stored).unwrap_or(0);
        meter.reserved_tokens = meter.reserved_tokens.saturating_add(number(tokens));
        meter.reserved_micro_usd = meter.reserved_micro_usd.saturating_add(number(micro_usd));
        meter.unpriced_reservations += u64::from(micro_usd == UNPRICED);
    }
    Ok(())
}

/// Adds a charge to every budget that covers it.
pub(crate) fn spend(conn: &Connection, charge: &UsageCharge) -> Result<(), Error> {
    let sums = charge.sums();
    let item = charge.work_item_id.as_ref();
    let scopes = [
        Some(("agent", charge.agent_id.as_str())),
        Some(("tree", charge.root_agent_id.as_str())),
        item.map(|id| ("item", id.as_str())),
        Some(("host", "")),
    ];
    for (kind, key) in scopes.into_iter().flatten() {
        let values = params![
            kind,
            key,
            charge.day,
            stored(sums.total_tokens()),
            stored(sums.known_cost),
            stored(sums.unpriced_calls)
        ];
        run(conn, SPEND, values)?;
    }
    Ok(())
}

/// Reserves what the open call of an agent may use. It replaces an earlier reservation of the agent.
pub(crate) fn reserve(
    conn: &Connection,
    no: AgentNo,
    reservation: &Reservation,
) -> Result<(), Error> {
    let item = reservation.work_item_id.as_ref();
    let values = params![
        no.0,
        reservation.agent_id.as_str(),
        reservation.root_agent_id.as_str(),
        item.map_or("", |id| id.as_str()),
        stored(reservation.tokens),
        reservation.micro_usd.map_or(UNPRICED, stored)
    ];
    run(conn, RESERVE, values)?;
    Ok(())
}

/// Releases the reservation of an agent.
pub(crate) fn release(conn: &Connection, no: AgentNo) -> Result<(), Error> {
    run(conn, RELEASE, [no.0])?;
    Ok(())
}

#[cfg(test)]
mod tests;
