//! Running sums for the check of budgets: what a day has used, and what open calls have reserved. Their rows make the cost
//! of a check independent of the number of calls.
//!
//! Invariant: `day_meters` has for an agent or the host what `usage` has for its day; a row of another day says nothing.
//! `reserved` has what the rows of `reservations` come to; triggers of the schema write it, so that each way in which a
//! reservation goes takes its part away.

use crate::error::Error;
use crate::row::{AgentNo, all_readable, first, readable, run};
use crate::usage::stored;
use holon_domain::budget::{BudgetKey, BudgetMeter, BudgetPeriod, BudgetScope, Reservation};
use holon_domain::usage::UsageCharge;
use rusqlite::{Connection, Row, params};

/// Sums up usage in two halves of each number, so that no sum overflows.
macro_rules! used {
    ($of:literal) => {
        concat!(
            "SELECT sum((max(input_tokens, 0) >> 32) + (max(output_tokens, 0) >> 32)), \
             sum((max(input_tokens, 0) & 4294967295) + (max(output_tokens, 0) & 4294967295)), \
             sum(max(known_cost, 0) >> 32), sum(max(known_cost, 0) & 4294967295), \
             0, sum(min(max(unpriced_calls, 0), 4294967295)) FROM usage WHERE ",
            $of
        )
    };
}
const USED_BY_AGENT: &str = used!("agent_id = ?1 AND ?2 IS NOT NULL");
const USED_BY_ITEM: &str = used!("item_id = ?1 AND ?2 IS NOT NULL");
const USED_BY_TREE: &str = used!("root_id = ?1 AND ?2 IS NOT NULL");
const USED_BY_HOST: &str = used!("?1 = '' AND ?2 IS NOT NULL");
pub(crate) const USED_BY_AGENT_IN_DAY: &str = used!("agent_id = ?1 AND day = ?2");
pub(crate) const USED_BY_ITEM_IN_DAY: &str = used!("item_id = ?1 AND day = ?2");
pub(crate) const USED_BY_TREE_IN_DAY: &str = used!("root_id = ?1 AND day = ?2");
pub(crate) const USED_BY_HOST_IN_DAY: &str = used!("?1 = '' AND day = ?2");

pub(crate) const DAY: &str = "SELECT spent_tokens, spent_micro_usd, unpriced_calls FROM day_meters \
     WHERE scope = ?1 AND key = ?2 AND day = ?3";
/// Sums saturate. A damaged row is not changed, so that it is summed up anew.
pub(crate) const SPEND: &str = "UPDATE day_meters SET \
     spent_tokens = min(spent_tokens, 9223372036854775807 - ?4) + ?4, \
     spent_micro_usd = min(spent_micro_usd, 9223372036854775807 - ?5) + ?5, \
     unpriced_calls = min(unpriced_calls, 9223372036854775807 - ?6) + ?6 WHERE scope = ?1 AND key = ?2 AND day = ?3 \
     AND spent_tokens >= 0 AND spent_micro_usd >= 0 AND unpriced_calls >= 0";
pub(crate) const BEGIN: &str = "INSERT OR REPLACE INTO day_meters (scope, key, day, spent_tokens, spent_micro_usd, \
     unpriced_calls) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
/// Rows of other days say nothing. They go with the first charge of a day.
const FORGET: &str = "DELETE FROM day_meters WHERE day <> ?1";

pub(crate) const RESERVE: &str = "INSERT INTO reservations (agent_no, agent_id, root_id, item_id, tokens, micro_usd) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
pub(crate) const RELEASE: &str = "DELETE FROM reservations WHERE agent_no = ?1";
/// Reservations without an agent, whose call nobody ends any more.
pub(crate) const RELEASE_STRAYS: &str =
    "DELETE FROM reservations WHERE agent_no NOT IN (SELECT agent_no FROM agents)";
pub(crate) const RESERVED: &str =
    "SELECT tokens, micro_usd, unpriced FROM reserved WHERE scope = ?1 AND key = ?2";
pub(crate) const OWN: &str =
    "SELECT tokens, micro_usd, agent_id, root_id, item_id FROM reservations WHERE agent_no = ?1";
/// What the sums of a scope must come to.
const COUNTED: &str = "SELECT tokens, micro_usd FROM reservations WHERE ?1 = 'host' OR ?1 = 'agent' AND agent_id = ?2 \
     OR ?1 = 'tree' AND root_id = ?2 OR ?1 = 'item' AND item_id = ?2";

/// Stands in a reservation for a cost that is not known.
const UNPRICED: i64 = -1;
/// Most that one call reserves, in tokens or millionths of a dollar. No sum of them overflows.
const MOST_RESERVED: u64 = 1 << 42;

/// Sums up what was used of a budget, from the rows of usage.
pub(crate) fn used(
    conn: &Connection,
    key: &BudgetKey,
    day: &str,
) -> Result<(i64, i64, i64), Error> {
    use BudgetPeriod::{Day, Total};
    let sql = match (&key.scope, key.period) {
        (BudgetScope::Agent(_), Total) => USED_BY_AGENT,
        (BudgetScope::Item(_), Total) => USED_BY_ITEM,
        (BudgetScope::Tree(_), Total) => USED_BY_TREE,
        (BudgetScope::Host, Total) => USED_BY_HOST,
        (BudgetScope::Agent(_), Day) => USED_BY_AGENT_IN_DAY,
        (BudgetScope::Item(_), Day) => USED_BY_ITEM_IN_DAY,
        (BudgetScope::Tree(_), Day) => USED_BY_TREE_IN_DAY,
        (BudgetScope::Host, Day) => USED_BY_HOST_IN_DAY,
    };
    let sums = first(conn, sql, params![key.scope.key(), day], |row| {
        Ok((join(row, 0)?, join(row, 2)?, join(row, 4)?))
    })?;
    Ok(sums.unwrap_or_default())
}

/// Joins the two halves of a sum, at most to the largest number of the database.
fn join(row: &Row<'_>, column: usize) -> rusqlite::Result<i64> {
    let half = |column: usize| -> rusqlite::Result<i128> {
        Ok(row.get::<_, Option<i64>>(column)?.unwrap_or(0).into())
    };
    let sum = (half(column)? << 32) + half(column + 1)?;
    Ok(i64::try_from(sum).unwrap_or(i64::MAX))
}

/// Reads what an agent or the host has used in a day; `None` for scopes that no setting limits.
pub(crate) fn stored_sum(
    conn: &Connection,
    scope: &BudgetScope,
    day: &str,
) -> Result<Option<BudgetMeter>, Error> {
    match scope {
        BudgetScope::Agent(_) | BudgetScope::Host => {}
        BudgetScope::Item(_) | BudgetScope::Tree(_) => return Ok(None),
    }
    let values = params![scope.kind(), scope.key(), day];
    let found = readable(
        conn,
        first(conn, DAY, values, |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        }),
    )?;
    let is_sound = |sums: &(i64, i64, i64)| sums.0 >= 0 && sums.1 >= 0 && sums.2 >= 0;
    let sums = match found.flatten().filter(is_sound) {
        Some(sums) => sums,
        // Before the first charge of its day, a scope has no usage to sum up. Afterwards this happens only to a damaged
        // row and in the day of an upgrade.
        None => {
            let (scope, period) = (scope.clone(), BudgetPeriod::Day);
            used(conn, &BudgetKey { scope, period }, day)?
        }
    };
    let number = |stored: i64| u64::try_from(stored).unwrap_or(u64::MAX);
    Ok(Some(BudgetMeter {
        spent_tokens: number(sums.0),
        spent_micro_usd: number(sums.1),
        unpriced_calls: number(sums.2),
        ..BudgetMeter::default()
    }))
}

/// Adds a charge to the sums of its day. The row of usage has it already.
pub(crate) fn spend(conn: &Connection, charge: &UsageCharge) -> Result<(), Error> {
    let sums = charge.sums();
    for scope in [
        BudgetScope::Agent(charge.agent_id.clone()),
        BudgetScope::Host,
    ] {
        let (kind, key) = (scope.kind(), scope.key());
        let values = params![
            kind,
            key,
            charge.day,
            stored(sums.total_tokens()),
            stored(sums.known_cost),
            stored(sums.unpriced_calls)
        ];
        if run(conn, SPEND, values)? > 0 {
            continue;
        }
        let period = BudgetPeriod::Day;
        let whole = BudgetKey {
            scope: scope.clone(),
            period,
        };
        let (tokens, cost, unpriced) = used(conn, &whole, &charge.day)?;
        let values = params![kind, key, charge.day, tokens, cost, unpriced];
        run(conn, BEGIN, values)?;
        if scope == BudgetScope::Host {
            run(conn, FORGET, [&charge.day])?;
        }
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
    let bounded = |number: u64| stored(number.min(MOST_RESERVED));
    release(conn, no)?;
    let values = params![
        no.0,
        reservation.agent_id.as_str(),
        reservation.root_agent_id.as_str(),
        item.map_or("", |id| id.as_str()),
        bounded(reservation.tokens),
        reservation.micro_usd.map_or(UNPRICED, bounded)
    ];
    run(conn, RESERVE, values)?;
    Ok(())
}

/// Releases the reservation of an agent.
pub(crate) fn release(conn: &Connection, no: AgentNo) -> Result<(), Error> {
    run(conn, RELEASE, [no.0])?;
    Ok(())
}

/// What open calls have reserved of one scope.
#[derive(Debug, Clone, Copy, Default)]
struct ReservedSum {
    tokens: u64,
    micro_usd: u64,
    unpriced: u64,
}

impl ReservedSum {
    /// Reads the stored sum of a scope. One that cannot be right is counted from the reservations.
    fn of(conn: &Connection, scope: &BudgetScope) -> Result<Self, Error> {
        let values = params![scope.kind(), scope.key()];
        let found = readable(
            conn,
            first(conn, RESERVED, values, |row| {
                Ok(Self {
                    tokens: row.get(0)?,
                    micro_usd: row.get(1)?,
                    unpriced: row.get(2)?,
                })
            }),
        )?;
        match found {
            Some(sum) => Ok(sum.unwrap_or_default()),
            None => Self::count(conn, scope),
        }
    }

    fn count(conn: &Connection, scope: &BudgetScope) -> Result<Self, Error> {
        let values = params![scope.kind(), scope.key()];
        let calls = all_readable(conn, COUNTED, values, |row| {
            Ok(Self::of_call(row.get(0)?, row.get(1)?))
        })?;
        Ok(calls.into_iter().fold(Self::default(), |sum, call| Self {
            tokens: sum.tokens.saturating_add(call.tokens),
            micro_usd: sum.micro_usd.saturating_add(call.micro_usd),
            unpriced: sum.unpriced.saturating_add(call.unpriced),
        }))
    }

    fn of_call(tokens: i64, micro_usd: i64) -> Self {
        Self {
            tokens: u64::try_from(tokens).unwrap_or(0),
            micro_usd: u64::try_from(micro_usd).unwrap_or(0),
            unpriced: u64::from(micro_usd == UNPRICED),
        }
    }

    /// Reads the reservation of one agent, if it counts in a scope.
    fn of_agent(conn: &Connection, no: AgentNo, scope: &BudgetScope) -> Result<Self, Error> {
        let found = readable(
            conn,
            first(conn, OWN, [no.0], |row| {
                let column = match scope {
                    BudgetScope::Agent(_) => 2,
                    BudgetScope::Tree(_) => 3,
                    BudgetScope::Item(_) => 4,
                    BudgetScope::Host => return Ok(Some(Self::of_call(row.get(0)?, row.get(1)?))),
                };
                let name: String = row.get(column)?;
                let call = Self::of_call(row.get(0)?, row.get(1)?);
                Ok((name == scope.key()).then_some(call))
            }),
        )?;
        Ok(found.flatten().flatten().unwrap_or_default())
    }
}

/// Adds what open calls have reserved, without the call of one agent.
pub(crate) fn add_reserved(
    conn: &Connection,
    scope: &BudgetScope,
    but: Option<AgentNo>,
    meter: &mut BudgetMeter,
) -> Result<(), Error> {
    let all = ReservedSum::of(conn, scope)?;
    let own = match but {
        Some(no) => ReservedSum::of_agent(conn, no, scope)?,
        None => ReservedSum::default(),
    };
    meter.reserved_tokens = all.tokens.saturating_sub(own.tokens);
    meter.reserved_micro_usd = all.micro_usd.saturating_sub(own.micro_usd);
    meter.unpriced_reservations = all.unpriced.saturating_sub(own.unpriced);
    Ok(())
}
