//! The usage table: what model calls used, summed up by day, agent, work item and model. Belongs to the host, not to an
//! agent: the usage of a removed agent was paid as well.

use crate::error::Error;
use crate::row::{all_readable, first, limit, run};
use holon_domain::limits;
use holon_domain::usage::{UsageCharge, UsageFilter, UsageGrouping, UsageRow, UsageSums};
use rusqlite::{Connection, Row, params};

/// Sums saturate at the largest number of the database, which no account reaches.
pub(crate) const ADD: &str = "UPDATE usage SET calls = min(calls, 9223372036854775807 - 1) + 1, \
     input_tokens = min(input_tokens, 9223372036854775807 - ?6) + ?6, \
     cache_read_tokens = min(cache_read_tokens, 9223372036854775807 - ?7) + ?7, \
     cache_write_tokens = min(cache_write_tokens, 9223372036854775807 - ?8) + ?8, \
     output_tokens = min(output_tokens, 9223372036854775807 - ?9) + ?9, \
     estimated_calls = min(estimated_calls, 9223372036854775807 - ?10) + ?10, \
     estimated_tokens = min(estimated_tokens, 9223372036854775807 - ?11) + ?11, \
     known_cost = min(known_cost, 9223372036854775807 - ?12) + ?12, \
     unpriced_calls = min(unpriced_calls, 9223372036854775807 - ?13) + ?13 \
     WHERE day = ?1 AND agent_id = ?2 AND item_id = ?3 AND model_ref = ?4 AND root_id = ?5";
pub(crate) const BEGIN: &str = "INSERT INTO usage (day, agent_id, item_id, model_ref, root_id, calls, input_tokens, \
     cache_read_tokens, cache_write_tokens, output_tokens, estimated_calls, estimated_tokens, known_cost, \
     unpriced_calls) VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
pub(crate) const FORGET: &str = "DELETE FROM usage WHERE day < date(?1, ?2)";

/// Columns of the sums in a query that groups rows. `sum` fails when it exceeds the largest number; `total` is exact up
/// to 2^53, and the cast of a greater one is the largest number.
const SUMS: &str = "CAST(total(calls) AS INTEGER), CAST(total(input_tokens) AS INTEGER), \
     CAST(total(cache_read_tokens) AS INTEGER), CAST(total(cache_write_tokens) AS INTEGER), \
     CAST(total(output_tokens) AS INTEGER), CAST(total(estimated_calls) AS INTEGER), \
     CAST(total(estimated_tokens) AS INTEGER), CAST(total(known_cost) AS INTEGER), \
     CAST(total(unpriced_calls) AS INTEGER)";
/// Conditions of a filter; an absent one holds for every row.
const FILTER: &str =
    "(?1 IS NULL OR agent_id = ?1) AND (?2 IS NULL OR item_id = ?2) AND (?3 IS NULL OR day = ?3)";

/// Adds a charge to the row of its day, agent, item and model. The first charge of a day removes rows that are too old.
pub(crate) fn charge(conn: &Connection, charge: &UsageCharge) -> Result<(), Error> {
    let sums = charge.sums();
    let item = charge.work_item_id.as_ref();
    let values = params![
        charge.day,
        charge.agent_id.as_str(),
        item.map_or("", |id| id.as_str()),
        charge.model_ref,
        charge.root_agent_id.as_str(),
        stored(sums.input_tokens),
        stored(sums.cache_read_tokens),
        stored(sums.cache_write_tokens),
        stored(sums.output_tokens),
        stored(sums.estimated_calls),
        stored(sums.estimated_tokens),
        stored(sums.known_cost),
        stored(sums.unpriced_calls),
    ];
    if run(conn, ADD, values)? == 0 {
        run(conn, BEGIN, values)?;
        let kept = format!("-{} days", limits::USAGE_DAYS);
        run(conn, FORGET, params![charge.day, kept])?;
    }
    Ok(())
}

/// Lists sums by key, those after `after` only, at most `most` of them.
pub(crate) fn list(
    conn: &Connection,
    filter: &UsageFilter,
    by: UsageGrouping,
    after: Option<&str>,
    most: usize,
) -> Result<Vec<UsageRow>, Error> {
    let key = match by {
        UsageGrouping::Agent => "agent_id",
        UsageGrouping::Item => "item_id",
        UsageGrouping::Day => "day",
        UsageGrouping::Model => "model_ref",
    };
    let sql = format!(
        "SELECT {SUMS}, {key} FROM usage WHERE {FILTER} AND (?4 IS NULL OR {key} > ?4) GROUP BY {key} ORDER BY {key} \
         LIMIT ?5"
    );
    let (agent, item, day) = texts(filter);
    all_readable(
        conn,
        &sql,
        params![agent, item, day, after, limit(most)],
        |row| {
            Ok(UsageRow {
                key: row.get(9)?,
                sums: to_sums(row)?,
            })
        },
    )
}

/// Sums up everything that a filter selects.
pub(crate) fn total(conn: &Connection, filter: &UsageFilter) -> Result<UsageSums, Error> {
    let sql = format!("SELECT {SUMS} FROM usage WHERE {FILTER} HAVING count(*) > 0");
    let (agent, item, day) = texts(filter);
    let found = first(conn, &sql, params![agent, item, day], |row| {
        Ok(to_sums(row)?)
    })?;
    Ok(found.unwrap_or_default())
}

fn texts(filter: &UsageFilter) -> (Option<&str>, Option<&str>, Option<&str>) {
    let agent = filter.agent_id.as_ref().map(|id| id.as_str());
    let item = filter.work_item_id.as_ref().map(|id| id.as_str());
    (agent, item, filter.day.as_deref())
}

/// Returns a number as the database stores it. A greater one counts as the largest.
pub(crate) fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn to_sums(row: &Row<'_>) -> rusqlite::Result<UsageSums> {
    let number = |column: usize| -> rusqlite::Result<u64> {
        let stored: i64 = row.get(column)?;
        Ok(u64::try_from(stored).unwrap_or(0))
    };
    Ok(UsageSums {
        calls: number(0)?,
        input_tokens: number(1)?,
        cache_read_tokens: number(2)?,
        cache_write_tokens: number(3)?,
        output_tokens: number(4)?,
        estimated_calls: number(5)?,
        estimated_tokens: number(6)?,
        known_cost: number(7)?,
        unpriced_calls: number(8)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Db;
    use holon_domain::AgentId;
    use holon_domain::WorkItemId;
    use holon_domain::attempt::TokenUsage;

    fn one(day: &str, agent: &str, model: &str, input: u64) -> UsageCharge {
        let agent_id = AgentId::parse(agent).expect("a name");
        UsageCharge {
            root_agent_id: agent_id.clone(),
            agent_id,
            work_item_id: None,
            day: day.to_owned(),
            model_ref: model.to_owned(),
            usage: TokenUsage::new(input, 1),
            estimated: false,
            cost: None,
        }
    }

    fn keys(db: &Db, filter: &UsageFilter, by: UsageGrouping) -> Vec<(String, u64)> {
        let rows = list(&db.conn, filter, by, None, 10).expect("lists");
        rows.into_iter()
            .map(|row| (row.key, row.sums.input_tokens))
            .collect()
    }

    #[test]
    fn charges_of_one_day_agent_and_model_share_a_row() {
        let db = Db::in_memory().expect("opens");
        for (day, agent, model, input) in [
            ("2026-11-16", "a", "p/m", 5),
            ("2026-11-16", "a", "p/m", 7),
            ("2026-11-17", "a", "p/n", 1),
            ("2026-11-17", "b", "p/m", 2),
        ] {
            charge(&db.conn, &one(day, agent, model, input)).expect("charges");
        }
        let rows: i64 = db
            .conn
            .query_row("SELECT count(*) FROM usage", [], |row| row.get(0))
            .expect("counts");
        assert_eq!(rows, 3);
        let everything = UsageFilter::default();
        let by = |by| keys(&db, &everything, by);
        assert_eq!(
            by(UsageGrouping::Agent),
            [("a".to_owned(), 13), ("b".to_owned(), 2)]
        );
        assert_eq!(
            by(UsageGrouping::Day),
            [("2026-11-16".to_owned(), 12), ("2026-11-17".to_owned(), 3)]
        );
        let of_b = UsageFilter {
            agent_id: AgentId::parse("b").ok(),
            ..UsageFilter::default()
        };
        assert_eq!(
            keys(&db, &of_b, UsageGrouping::Model),
            [("p/m".to_owned(), 2)]
        );
        let sums = total(&db.conn, &everything).expect("sums up");
        assert_eq!(
            (sums.calls, sums.input_tokens, sums.output_tokens),
            (4, 15, 4)
        );
        assert_eq!(sums.cost(), None);
    }

    #[test]
    fn usage_is_listed_by_item_and_calls_without_one_have_an_empty_key() {
        let db = Db::in_memory().expect("opens");
        let (first, second) = ("work_1", "work_2");
        for (agent, item, input) in [
            ("a", Some(first), 5),
            ("b", Some(first), 7),
            ("b", Some(second), 11),
            ("b", None, 2),
        ] {
            let charged = UsageCharge {
                work_item_id: item.map(WorkItemId::from_stored),
                ..one("2026-11-16", agent, "p/m", input)
            };
            charge(&db.conn, &charged).expect("charges");
        }
        let row = |key: &str, input: u64| (key.to_owned(), input);
        assert_eq!(
            keys(&db, &UsageFilter::default(), UsageGrouping::Item),
            [row("", 2), row(first, 12), row(second, 11)]
        );
        let of_first = UsageFilter {
            work_item_id: Some(WorkItemId::from_stored(first)),
            ..UsageFilter::default()
        };
        assert_eq!(
            keys(&db, &of_first, UsageGrouping::Agent),
            [row("a", 5), row("b", 7)]
        );
        let sums = total(&db.conn, &of_first).expect("sums up");
        assert_eq!((sums.calls, sums.input_tokens), (2, 12));
        let after = |key| {
            let everything = UsageFilter::default();
            let rows = list(&db.conn, &everything, UsageGrouping::Item, Some(key), 1);
            rows.expect("lists").into_iter().map(|row| row.key)
        };
        assert!(after("").eq([first.to_owned()]), "an empty key is a cursor");
        assert!(after(first).eq([second.to_owned()]));
        assert_eq!(after(second).count(), 0);
    }

    #[test]
    fn sums_stay_at_the_largest_number() {
        let db = Db::in_memory().expect("opens");
        for _ in 0..3 {
            charge(&db.conn, &one("2026-11-16", "a", "p/m", u64::MAX)).expect("charges");
        }
        let sums = total(&db.conn, &UsageFilter::default()).expect("sums up");
        assert_eq!((sums.calls, sums.input_tokens), (3, i64::MAX as u64));
    }

    #[test]
    fn rows_whose_sum_is_above_the_largest_number_are_summed_up() {
        let db = Db::in_memory().expect("opens");
        for model in ["p/m", "p/n", "p/o"] {
            charge(&db.conn, &one("2026-11-16", "a", model, u64::MAX)).expect("charges");
        }
        let most = i64::MAX as u64;
        let sums = total(&db.conn, &UsageFilter::default()).expect("sums up");
        assert_eq!(
            (sums.calls, sums.input_tokens, sums.output_tokens),
            (3, most, 3)
        );
        let by_agent = keys(&db, &UsageFilter::default(), UsageGrouping::Agent);
        assert_eq!(by_agent, [("a".to_owned(), most)]);
    }

    #[test]
    fn the_first_charge_of_a_day_forgets_rows_that_are_too_old() {
        let db = Db::in_memory().expect("opens");
        charge(&db.conn, &one("2024-01-01", "a", "p/m", 1)).expect("charges");
        charge(&db.conn, &one("2026-11-16", "a", "p/m", 1)).expect("charges");
        let found = keys(&db, &UsageFilter::default(), UsageGrouping::Day);
        assert_eq!(found, [("2026-11-16".to_owned(), 1)]);
    }

    #[test]
    fn nothing_used_sums_up_to_nothing() {
        let db = Db::in_memory().expect("opens");
        let sums = total(&db.conn, &UsageFilter::default()).expect("sums up");
        assert_eq!(sums, UsageSums::default());
    }
}
