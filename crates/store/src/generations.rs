//! The host's counter of generations: one row of `meta`, raised by every decision that fences an agent's effects.
//!
//! Invariant: no generation is given out twice, not even to another agent of the same name after a removal.

use crate::error::Error;
use crate::row::{first, run};
use rusqlite::{Connection, params};

pub(crate) const NEWEST: &str = "SELECT value FROM meta WHERE key = 'generation'";
const RAISE: &str = "INSERT INTO meta (key, value) VALUES ('generation', ?1) \
     ON CONFLICT (key) DO UPDATE SET value = excluded.value";

const LOSE: &str = "DELETE FROM meta WHERE key = 'generation'";

/// Largest step of the counter at once. Agents of builds that numbered each agent separately are ahead of it by a
/// little. A damaged row that claims more is that agent's fault and must not use up the numbers of the others.
const LONGEST_LEAP: u64 = 1 << 32;

/// Every place in which a generation that was given out stands: agents, their births and effects, and the births that
/// kept replies belong to. Negative numbers are marks or damage. Numbers beyond the largest are a damaged agent's fault.
const GIVEN_OUT: &str = "SELECT max(coalesce((SELECT max(generation) FROM effects WHERE generation <= ?1), 0), \
     coalesce((SELECT max(birth) FROM agents WHERE birth <= ?1), 0), \
     coalesce((SELECT max(birth) FROM kept_replies WHERE birth <= ?1), 0), \
     coalesce((SELECT max(generation) FROM (SELECT CASE WHEN json_valid(record) \
     THEN CAST(json_extract(record, '$.generation') AS INTEGER) END AS generation FROM agents) \
     WHERE generation <= ?1), 0))";
/// The part of [`GIVEN_OUT`] that is compared with the counter at each open.
const IN_USE: &str = "SELECT max(coalesce((SELECT max(generation) FROM effects WHERE generation <= ?1), 0), \
     coalesce((SELECT max(birth) FROM agents WHERE birth <= ?1), 0), \
     coalesce((SELECT max(generation) FROM (SELECT CASE WHEN json_valid(record) \
     THEN CAST(json_extract(record, '$.generation') AS INTEGER) END AS generation FROM agents) \
     WHERE generation <= ?1), 0))";
/// Largest generation that is given out, and that is believed of the counter or of a row without a counter.
const LARGEST_FOUND: u64 = 1 << 48;

/// Returns the newest generation that was given out; 0 before the first. If the counter is lost, it is the largest that
/// is found in a row.
pub(crate) fn newest(conn: &Connection) -> Result<u64, Error> {
    match counter(conn)? {
        Some(newest) => Ok(newest),
        None => largest_in_use(conn),
    }
}

/// Reads the counter; `None` if it is lost, and before the first generation.
fn counter(conn: &Connection) -> Result<Option<u64>, Error> {
    let found = first(conn, NEWEST, [], |row| {
        let text = row.get_ref(0)?.as_str().ok();
        Ok(text.and_then(|text| text.parse().ok()))
    })?;
    Ok(found.flatten().filter(|newest| *newest <= LARGEST_FOUND))
}

/// Raises a counter that is below a generation in use, at the open of a store: it was lowered from outside. A row that
/// claims more than one leap beyond the counter is damaged and counts for nothing. A lost counter is replaced when the
/// next generation is given out, and so is one so near to its end that no row can have brought it there.
pub(crate) fn check(conn: &Connection) -> Result<(), Error> {
    let Some(counted) = counter(conn)? else {
        return Ok(());
    };
    if counted > LARGEST_FOUND - LONGEST_LEAP && largest_in_use(conn)? < counted - LONGEST_LEAP {
        tracing::warn!(counted, "the counter of generations in `meta` is damaged");
        run(conn, LOSE, [])?;
        return Ok(());
    }
    let most = counted.saturating_add(LONGEST_LEAP).min(LARGEST_FOUND);
    let in_use = first(conn, IN_USE, [most], |row| Ok(row.get(0)?))?;
    let in_use: u64 = in_use.unwrap_or(0);
    if in_use > counted {
        tracing::warn!(
            counted,
            in_use,
            "the counter of generations in `meta` was below one in use; it goes on after that"
        );
        run(conn, RAISE, params![in_use.to_string()])?;
    }
    Ok(())
}

fn largest_in_use(conn: &Connection) -> Result<u64, Error> {
    let found = first(conn, GIVEN_OUT, [LARGEST_FOUND], |row| Ok(row.get(0)?))?;
    Ok(found.unwrap_or(0))
}

/// Records that a generation was given out. One that could not be found again is refused.
pub(crate) fn take(conn: &Connection, generation: u64) -> Result<(), Error> {
    let counted = counter(conn)?;
    let newest = match counted {
        Some(newest) => newest,
        None => largest_in_use(conn)?,
    };
    // Without a counter, the rows of this very decision may hold the new generation already.
    if generation < newest || counted == Some(generation) {
        return Err(Error::contradiction(format!(
            "generation {generation} was given out before; the newest is {newest}"
        )));
    }
    if generation - newest > LONGEST_LEAP || generation > LARGEST_FOUND {
        return Err(Error::contradiction(format!(
            "generation {generation} of the agent is out of range: the host is at {newest}"
        )));
    }
    if counted.is_none() && generation > 1 {
        tracing::warn!(
            newest,
            "the counter of generations in `meta` was lost; it goes on after the largest one in use"
        );
    }
    run(conn, RAISE, params![generation.to_string()])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Db;

    #[test]
    fn a_generation_is_given_out_once_and_no_row_uses_the_numbers_up() {
        let db = Db::in_memory().expect("opens");
        assert_eq!(newest(&db.conn), Ok(0));
        take(&db.conn, 1).expect("given out");
        take(&db.conn, 9).expect("an agent of an earlier build is ahead");
        assert!(take(&db.conn, 9).is_err(), "twice");
        assert!(take(&db.conn, u64::MAX).is_err(), "a damaged row");
        assert_eq!(newest(&db.conn), Ok(9));
    }

    #[test]
    fn a_counter_that_was_lowered_or_is_no_counter_goes_on_after_the_largest_generation_in_use() {
        for damage in ["0", "3", "9223372036854775807", "18446744073709551615"] {
            let mut db = Db::in_memory().expect("opens");
            let record = crate::samples::agent("a");
            db.write(|tx| tx.create_agent(&record)).expect("creates");
            take(&db.conn, 20).expect("given out");
            let grown = "UPDATE agents SET record = json_set(record, '$.generation', 20)";
            db.conn.execute(grown, []).expect("changes");
            let damaged = "UPDATE meta SET value = ?1 WHERE key = 'generation'";
            db.conn.execute(damaged, [damage]).expect("changes");
            check(&db.conn).expect("looks");
            assert_eq!(newest(&db.conn), Ok(20), "{damage}");
            take(&db.conn, 21).expect("given out");
        }
        let db = Db::in_memory().expect("opens");
        take(&db.conn, 5).expect("given out");
        check(&db.conn).expect("looks");
        assert_eq!(newest(&db.conn), Ok(5), "a counter that is ahead stays");
    }

    #[test]
    fn a_counter_at_its_end_that_no_row_has_reached_is_damaged_and_agents_are_made() {
        let mut db = Db::in_memory().expect("opens");
        let record = crate::samples::agent("a");
        db.write(|tx| tx.create_agent(&record)).expect("creates");
        for damage in [LARGEST_FOUND, LARGEST_FOUND - 9] {
            run(&db.conn, RAISE, [damage.to_string()]).expect("changes");
            check(&db.conn).expect("looks");
            assert_eq!(newest(&db.conn), Ok(1), "{damage}");
        }
        take(&db.conn, 2).expect("given out");
    }

    #[test]
    fn a_row_that_claims_far_more_than_the_counter_is_not_believed() {
        for claimed in [LARGEST_FOUND, LARGEST_FOUND - 3, 20 + LONGEST_LEAP + 1] {
            let mut db = Db::in_memory().expect("opens");
            let record = crate::samples::agent("a");
            db.write(|tx| tx.create_agent(&record)).expect("creates");
            take(&db.conn, 20).expect("given out");
            for damage in [
                "UPDATE agents SET birth = ?1",
                "INSERT INTO effects VALUES (1, 1, ?1, 0, 'x')",
                "UPDATE agents SET record = json_set(record, '$.generation', ?1)",
            ] {
                db.conn.execute(damage, [claimed]).expect("changes");
                check(&db.conn).expect("looks");
                assert_eq!(newest(&db.conn), Ok(20), "{damage}, {claimed}");
            }
            take(&db.conn, 21).expect("given out");
        }
    }

    #[test]
    fn no_generation_is_given_out_beyond_the_largest_that_is_found_again() {
        let db = Db::in_memory().expect("opens");
        let counter = "INSERT INTO meta (key, value) VALUES ('generation', ?1)";
        let before = (LARGEST_FOUND - 1).to_string();
        db.conn.execute(counter, [before]).expect("writes");
        take(&db.conn, LARGEST_FOUND).expect("the last one");
        assert!(take(&db.conn, LARGEST_FOUND + 1).is_err());
        assert_eq!(newest(&db.conn), Ok(LARGEST_FOUND));
    }

    #[test]
    fn a_lost_counter_goes_on_after_the_largest_generation_that_is_in_use() {
        let damages = [
            "UPDATE meta SET value = 'x' WHERE key = 'generation'",
            "UPDATE meta SET value = CAST(x'ff' AS TEXT) WHERE key = 'generation'",
            "DELETE FROM meta WHERE key = 'generation'",
        ];
        let places = [
            (
                "UPDATE agents SET record = json_set(record, '$.generation', 7)",
                7,
            ),
            ("UPDATE agents SET birth = 8", 8),
            ("INSERT INTO effects VALUES (1, 1, 9, 0, 'x')", 9),
            ("INSERT INTO kept_replies VALUES ('k', 'd', 'r', 0, 10)", 10),
            ("UPDATE agents SET record = 'x'", 1),
            (
                "UPDATE agents SET record = json_set(record, '$.generation', 9223372036854775807)",
                1,
            ),
        ];
        for damage in damages {
            for (place, expected) in places {
                let mut db = Db::in_memory().expect("opens");
                let record = crate::samples::agent("a");
                db.write(|tx| tx.create_agent(&record)).expect("creates");
                take(&db.conn, 20).expect("given out");
                db.conn.execute(place, []).expect("changes");
                db.conn.execute(damage, []).expect("changes");
                assert_eq!(newest(&db.conn), Ok(expected), "{damage}, {place}");
                take(&db.conn, expected + 1).expect("given out");
                assert_eq!(newest(&db.conn), Ok(expected + 1));
            }
        }
    }
}
