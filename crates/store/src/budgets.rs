//! The table of budgets: limits that operators set, each with what was spent under it. Budgets belong to the host.
//!
//! A row that cannot be read never counts as no budget: it is reported, and what it may cover makes no call.

use crate::budget_sums::{add_reserved, stored_sum, used};
use crate::error::Error;
use crate::row::{AgentNo, all, first, limit, readable, run};
use crate::usage::stored;
use holon_domain::budget::{
    Budget, BudgetKey, BudgetMeter, BudgetPeriod, BudgetReading, BudgetScope, BudgetStanding,
    StoredBudgets, UnreadableBudget,
};
use holon_domain::limits::BUDGETS;
use holon_domain::usage::UsageCharge;
use rusqlite::{Connection, Row, params};

/// Columns of a budget: what it is, what it limits, how far it is used, and its name as bytes, which always can be read.
macro_rules! columns {
    () => {
        "SELECT scope, key, period, record, day, spent_tokens, spent_micro_usd, unpriced_calls, \
         CAST(scope AS BLOB), CAST(key AS BLOB), CAST(period AS BLOB) FROM budgets "
    };
}
pub(crate) const ALL: &str = concat!(columns!(), "ORDER BY scope, key, period LIMIT ?1");
pub(crate) const ONE: &str = concat!(columns!(), "WHERE scope = ?1 AND key = ?2 AND period = ?3");
pub(crate) const COUNT: &str = "SELECT count(*) FROM budgets";
pub(crate) const CHANGE: &str =
    "UPDATE budgets SET record = ?4 WHERE scope = ?1 AND key = ?2 AND period = ?3";
pub(crate) const ADD: &str = "INSERT INTO budgets (scope, key, period, record, day, spent_tokens, spent_micro_usd, \
     unpriced_calls) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
pub(crate) const REMOVE: &str = "DELETE FROM budgets WHERE scope = ?1 AND key = ?2 AND period = ?3";
/// Removes a row by the bytes of its name, which may be no text.
const REMOVE_NAMED: &str = "DELETE FROM budgets WHERE CAST(scope AS BLOB) = ?1 AND CAST(key AS BLOB) = ?2 \
     AND CAST(period AS BLOB) = ?3";
/// Conditions of a row whose sums and day are sound. A charge never makes a damaged row look sound: what was spent under
/// it is not known.
macro_rules! sound {
    () => {
        "spent_tokens >= 0 AND spent_micro_usd >= 0 AND unpriced_calls >= 0 \
         AND day GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]'"
    };
}
/// Adds a charge to the budgets of all time, and to those of a day that have its day. Sums saturate.
pub(crate) const SPEND: &str = concat!(
    "UPDATE budgets SET spent_tokens = min(spent_tokens, 9223372036854775807 - ?4) + ?4, \
     spent_micro_usd = min(spent_micro_usd, 9223372036854775807 - ?5) + ?5, \
     unpriced_calls = min(unpriced_calls, 9223372036854775807 - ?6) + ?6, day = ?3 \
     WHERE scope = ?1 AND key = ?2 AND (period <> 'day' OR day = ?3) AND ",
    sound!()
);
/// Finds the budget of a day that counts for another day.
pub(crate) const OF_OTHER_DAY: &str = concat!(
    "SELECT 1 FROM budgets WHERE scope = ?1 AND key = ?2 AND period = 'day' AND day <> ?3 AND ",
    sound!()
);
/// Lets the budget of a day count for another day, with what was used in that day.
pub(crate) const BEGIN_DAY: &str = "UPDATE budgets SET day = ?3, spent_tokens = ?4, spent_micro_usd = ?5, \
     unpriced_calls = ?6 WHERE scope = ?1 AND key = ?2 AND period = 'day'";

/// The result of setting a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetChange {
    Added,
    Changed,
    /// The host has as many budgets as it may.
    TooMany,
}

/// A row that can be read.
struct SoundRow {
    standing: BudgetStanding,
    /// True if its sums are those of another day than the one that was asked for. The clock may have been set back to a day
    /// that has usage already.
    is_of_other_day: bool,
}

impl SoundRow {
    /// Returns the budget with its meter of a day, without what open calls have reserved.
    fn into_standing(self, conn: &Connection, day: &str) -> Result<BudgetStanding, Error> {
        let Self {
            mut standing,
            is_of_other_day,
        } = self;
        if is_of_other_day {
            let (tokens, cost, unpriced) = used(conn, &standing.budget.key, day)?;
            let number = |stored: i64| u64::try_from(stored).unwrap_or(u64::MAX);
            standing.meter = BudgetMeter {
                spent_tokens: number(tokens),
                spent_micro_usd: number(cost),
                unpriced_calls: number(unpriced),
                ..BudgetMeter::default()
            };
        }
        Ok(standing)
    }
}

/// A row that cannot be read, with the bytes of its name.
struct DamagedRow {
    budget: UnreadableBudget,
    /// The budget that its own name stands for; absent if the name cannot be read.
    named: Option<BudgetKey>,
    name: [Vec<u8>; 3],
}

/// Adds a budget or changes its limits. A limit that is absent stays as it is. A new budget counts what was used before
/// it was set, and so does one that replaces a row that cannot be read.
pub(crate) fn set(conn: &Connection, budget: &Budget, day: &str) -> Result<BudgetChange, Error> {
    let BudgetKey { scope, period } = &budget.key;
    let (kind, key, period) = (scope.kind(), scope.key(), period.as_str());
    let record = serde_json::to_string(&with_limits_of_before(conn, budget, day)?)?;
    let is_there = run(conn, CHANGE, params![kind, key, period, record])? > 0;
    // A new record mends a row whose record was the fault. A row that still cannot be read is replaced.
    let replaced = remove_damaged(conn, &budget.key)?;
    if is_there && first(conn, ONE, params![kind, key, period], |_| Ok(()))?.is_some() {
        return Ok(BudgetChange::Changed);
    }
    let count: Option<u64> = first(conn, COUNT, [], |row| Ok(row.get(0)?))?;
    if count.unwrap_or(0) >= BUDGETS as u64 {
        return Ok(BudgetChange::TooMany);
    }
    let (tokens, cost, unpriced) = used(conn, &budget.key, day)?;
    let values = params![kind, key, period, record, day, tokens, cost, unpriced];
    run(conn, ADD, values)?;
    Ok(match replaced {
        0 => BudgetChange::Added,
        _ => BudgetChange::Changed,
    })
}

/// Completes a budget with the limits that are set already. A row that cannot be read has none.
fn with_limits_of_before(conn: &Connection, budget: &Budget, day: &str) -> Result<Budget, Error> {
    let BudgetKey { scope, period } = &budget.key;
    let values = params![scope.kind(), scope.key(), period.as_str()];
    let found = readable(
        conn,
        first(conn, ONE, values, |row| Ok(read_row(row, day)?)),
    )?;
    let mut budget = budget.clone();
    if let Some(Some(Ok(before))) = found {
        let before = before.standing.budget;
        budget.limit_tokens = budget.limit_tokens.or(before.limit_tokens);
        budget.limit_micro_usd = budget.limit_micro_usd.or(before.limit_micro_usd);
    }
    Ok(budget)
}

/// Removes a budget, and every row that cannot be read and may be it. Returns false if there is none.
pub(crate) fn remove(conn: &Connection, key: &BudgetKey) -> Result<bool, Error> {
    let scope = &key.scope;
    let values = params![scope.kind(), scope.key(), key.period.as_str()];
    let removed = run(conn, REMOVE, values)?;
    Ok(removed + remove_damaged(conn, key)? > 0)
}

fn remove_damaged(conn: &Connection, key: &BudgetKey) -> Result<usize, Error> {
    let mut removed = 0;
    for damaged in rows(conn, "")?.1 {
        // A record that names another budget says nothing against the name of its row.
        let is_it = match &damaged.named {
            Some(named) => named == key,
            None => damaged.budget.keys.contains(key),
        };
        if is_it {
            let [scope, key, period] = damaged.name;
            removed += run(conn, REMOVE_NAMED, params![scope, key, period])?;
        }
    }
    Ok(removed)
}

/// Reads the rows of budgets, without what open calls have reserved, and those that cannot be read.
fn rows(conn: &Connection, day: &str) -> Result<(Vec<SoundRow>, Vec<DamagedRow>), Error> {
    let (mut sound, mut damaged) = (Vec::new(), Vec::new());
    let read = all(conn, ALL, [limit(BUDGETS)], |row| Ok(read_row(row, day)?))?;
    for row in read {
        match row {
            Ok(row) => sound.push(row),
            Err(row) => damaged.push(row),
        }
    }
    Ok((sound, damaged))
}

/// Lists the budgets with their meters, and the rows that cannot be read.
pub(crate) fn list(conn: &Connection, day: &str) -> Result<StoredBudgets, Error> {
    let (sound, damaged) = rows(conn, day)?;
    let mut standings = Vec::with_capacity(sound.len());
    for row in sound {
        let mut standing = row.into_standing(conn, day)?;
        add_reserved(conn, &standing.budget.key.scope, None, &mut standing.meter)?;
        standings.push(standing);
    }
    let unreadable = damaged.into_iter().map(|damaged| damaged.budget).collect();
    Ok(StoredBudgets {
        standings,
        unreadable,
    })
}

/// Reads how far a budget is used up in a day, without the reservation of one agent.
pub(crate) fn meter(
    conn: &Connection,
    key: &BudgetKey,
    day: &str,
    but: AgentNo,
) -> Result<BudgetReading, Error> {
    let scope = &key.scope;
    let values = params![scope.kind(), scope.key(), key.period.as_str()];
    let found = readable(
        conn,
        first(conn, ONE, values, |row| Ok(read_row(row, day)?)),
    )?;
    let mut meter = match found {
        Some(Some(Ok(row))) => row.into_standing(conn, day)?.meter,
        Some(Some(Err(damaged))) => return Ok(BudgetReading::Unreadable(damaged.budget.row)),
        None => return Ok(BudgetReading::Unreadable(format!("budgets {key}"))),
        // Budgets of the settings have no row.
        Some(None) if key.period == BudgetPeriod::Day => match stored_sum(conn, scope, day)? {
            Some(meter) => meter,
            None => return Ok(BudgetReading::Absent),
        },
        Some(None) => return Ok(BudgetReading::Absent),
    };
    add_reserved(conn, scope, Some(but), &mut meter)?;
    Ok(BudgetReading::Metered(meter))
}

/// Reads a row of [`columns`]; the inner error is a row that is no budget.
fn read_row(row: &Row<'_>, today: &str) -> rusqlite::Result<Result<SoundRow, DamagedRow>> {
    let text = |column: usize| {
        row.get_ref(column)?
            .as_str()
            .map_err(|_| rusqlite::Error::InvalidQuery)
    };
    let record = text(3)
        .ok()
        .and_then(|text| serde_json::from_str::<Budget>(text).ok());
    let name = [text(0).ok(), text(1).ok(), text(2).ok()];
    let scope = match name {
        [Some(kind), Some(key), _] => BudgetScope::from_stored(kind, key),
        _ => None,
    };
    let period = name[2].and_then(BudgetPeriod::from_stored);
    let named = scope
        .clone()
        .zip(period)
        .map(|(scope, period)| BudgetKey { scope, period });
    let fault = match (&record, &named) {
        (_, None) => "its scope, key or period names no budget",
        (None, Some(_)) => "its record is no budget",
        (Some(record), Some(named)) if record.key != *named => "its record is of another budget",
        (Some(record), Some(_)) if record.limit_tokens.or(record.limit_micro_usd).is_none() => {
            "its record has no limit"
        }
        (Some(record), Some(named)) => match read_meter(row) {
            Some((meter, day)) => {
                let budget = record.clone();
                return Ok(Ok(SoundRow {
                    standing: BudgetStanding { budget, meter },
                    is_of_other_day: named.period == BudgetPeriod::Day && day != today,
                }));
            }
            None => "what was spent under it is no number",
        },
    };
    let shown = name.map(|part| part.unwrap_or("?"));
    let mut keys: Vec<BudgetKey> = Vec::new();
    let periods = period.or_else(|| record.as_ref().map(|record| record.key.period));
    let period = periods.unwrap_or_default();
    keys.extend(scope.map(|scope| BudgetKey { scope, period }));
    keys.extend(
        record
            .map(|record| record.key)
            .filter(|key| !keys.contains(key)),
    );
    if keys.is_empty() {
        let scope = BudgetScope::Host;
        keys.push(BudgetKey { scope, period });
    }
    Ok(Err(DamagedRow {
        budget: UnreadableBudget {
            row: format!("budgets {}: {fault}", shown.join(" ").trim()),
            keys,
            stored_as: named.clone(),
        },
        named,
        name: [row.get(8)?, row.get(9)?, row.get(10)?],
    }))
}

/// Reads what was spent under a budget, and the day for which it counts; `None` if the columns hold no meter.
fn read_meter<'a>(row: &'a Row<'_>) -> Option<(BudgetMeter, &'a str)> {
    let day = row.get_ref(4).ok()?.as_str().ok()?;
    let number = |column: usize| {
        row.get::<_, i64>(column)
            .ok()
            .and_then(|stored| u64::try_from(stored).ok())
    };
    let meter = BudgetMeter {
        spent_tokens: number(5)?,
        spent_micro_usd: number(6)?,
        unpriced_calls: number(7)?,
        ..BudgetMeter::default()
    };
    // Only a day that is written as one is another day.
    is_day(day).then_some((meter, day))
}

/// Returns true if a text has the form of a day, `2026-11-16`.
fn is_day(text: &str) -> bool {
    let digits =
        |part: &str, count| part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = text.split('-');
    let mut next = |count| parts.next().is_some_and(|part| digits(part, count));
    next(4) && next(2) && next(2) && parts.next().is_none()
}

/// Adds a charge to every budget that covers it. The row of usage has it already.
pub(crate) fn spend(conn: &Connection, charge: &UsageCharge) -> Result<(), Error> {
    let sums = charge.sums();
    let item = charge.work_item_id.clone();
    let scopes = [
        Some(BudgetScope::Agent(charge.agent_id.clone())),
        Some(BudgetScope::Tree(charge.root_agent_id.clone())),
        item.map(BudgetScope::Item),
        Some(BudgetScope::Host),
    ];
    for scope in scopes.into_iter().flatten() {
        let (kind, key) = (scope.kind(), scope.key());
        let values = params![
            kind,
            key,
            charge.day,
            stored(sums.total_tokens()),
            stored(sums.known_cost),
            stored(sums.unpriced_calls)
        ];
        run(conn, SPEND, values)?;
        let other = params![kind, key, charge.day];
        if first(conn, OF_OTHER_DAY, other, |_| Ok(()))?.is_some() {
            begin_day(conn, &scope, &charge.day)?;
        }
    }
    Ok(())
}

/// Lets the budget of a day count for another day. A clock that was set back may name a day that has usage already.
fn begin_day(conn: &Connection, scope: &BudgetScope, day: &str) -> Result<(), Error> {
    let whole = BudgetKey {
        scope: scope.clone(),
        period: BudgetPeriod::Day,
    };
    let (tokens, cost, unpriced) = used(conn, &whole, day)?;
    let values = params![scope.kind(), scope.key(), day, tokens, cost, unpriced];
    run(conn, BEGIN_DAY, values)?;
    Ok(())
}

#[cfg(test)]
mod tests;
