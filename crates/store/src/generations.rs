//! The host's counter of generations: one row of `meta`, raised by every decision that fences an agent's effects.
//!
//! Invariant: no generation is given out twice, not even to another agent of the same name after a removal.

use crate::error::Error;
use crate::row::{first, run};
use rusqlite::{Connection, params};

pub(crate) const NEWEST: &str = "SELECT value FROM meta WHERE key = 'generation'";
const RAISE: &str = "INSERT INTO meta (key, value) VALUES ('generation', ?1) \
     ON CONFLICT (key) DO UPDATE SET value = excluded.value";

/// Largest step of the counter at once. Agents of builds that numbered each agent separately are ahead of it by a
/// little. A damaged row that claims more is that agent's fault and must not use up the numbers of the others.
const LONGEST_LEAP: u64 = 1 << 32;

/// Returns the newest generation that was given out; 0 before the first.
pub(crate) fn newest(conn: &Connection) -> Result<u64, Error> {
    let found = first(conn, NEWEST, [], |row| {
        let text = row.get_ref(0)?.as_str().ok();
        Ok(text.and_then(|text| text.parse().ok()))
    })?;
    if found == Some(None) {
        tracing::warn!(
            "the counter of generations in `meta` cannot be read; it is counted from the agents anew"
        );
    }
    Ok(found.flatten().unwrap_or(0))
}

/// Records that a generation was given out.
pub(crate) fn take(conn: &Connection, generation: u64) -> Result<(), Error> {
    let newest = newest(conn)?;
    if generation <= newest {
        return Err(Error::contradiction(format!(
            "generation {generation} was given out before; the newest is {newest}"
        )));
    }
    if generation - newest > LONGEST_LEAP {
        return Err(Error::contradiction(format!(
            "generation {generation} of the agent is out of range: the host is at {newest}"
        )));
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
    fn a_counter_that_is_no_number_is_counted_anew() {
        let db = Db::in_memory().expect("opens");
        take(&db.conn, 3).expect("given out");
        let damage = "UPDATE meta SET value = 'x' WHERE key = 'generation'";
        db.conn.execute(damage, []).expect("changes");
        assert_eq!(newest(&db.conn), Ok(0));
        take(&db.conn, 4).expect("given out");
        assert_eq!(newest(&db.conn), Ok(4));
    }
}
