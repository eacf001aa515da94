//! Schema versions: an ordered list of scripts, each applied once.
//!
//! The scripts that a database lacks run in one transaction: an upgrade is made as a whole or not at all. A script runs
//! at start-up and contains constant-time DDL only; work on every row is a resumable job instead. A released script is
//! never edited: the next version is another script.
//!
//! A new database gets the result of all scripts at once, from `schema.sql`: SQLite reads the whole schema again for
//! every column that a script adds.

use crate::error::Error;
use rusqlite::Connection;

/// Every script, oldest first. The schema version is the number of applied scripts.
pub(crate) const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_initial.sql"),
    include_str!("migrations/0002_model_limits.sql"),
    include_str!("migrations/0003_tasks.sql"),
    include_str!("migrations/0004_agents_split.sql"),
    include_str!("migrations/0005_attempts.sql"),
    include_str!("migrations/0006_interjections.sql"),
    include_str!("migrations/0007_pauses.sql"),
    include_str!("migrations/0008_work.sql"),
    include_str!("migrations/0009_learned_limits.sql"),
    include_str!("migrations/0010_workspaces.sql"),
    include_str!("migrations/0011_limit_endpoints.sql"),
    include_str!("migrations/0012_due_of_agent.sql"),
    include_str!("migrations/0013_token_ratio.sql"),
    include_str!("migrations/0014_control.sql"),
    include_str!("migrations/0015_host_feed.sql"),
    include_str!("migrations/0016_external_triggers.sql"),
    include_str!("migrations/0017_deliveries.sql"),
    include_str!("migrations/0018_usage.sql"),
    include_str!("migrations/0019_budgets.sql"),
    include_str!("migrations/0020_children.sql"),
    include_str!("migrations/0021_memory_outbox.sql"),
    include_str!("migrations/0022_episodes.sql"),
    include_str!("migrations/0023_references.sql"),
    include_str!("migrations/0024_large_replies.sql"),
    include_str!("migrations/0025_budget_sums.sql"),
    include_str!("migrations/0026_attention_by_number.sql"),
    include_str!("migrations/0027_spawns.sql"),
    include_str!("migrations/0028_damaged_sums.sql"),
    include_str!("migrations/0029_delivery_summaries.sql"),
    include_str!("migrations/0030_image_refs.sql"),
];

/// What all scripts make together.
const SCHEMA: &str = include_str!("schema.sql");

/// Newest schema version that this build knows.
pub(crate) fn newest() -> i64 {
    MIGRATIONS.len() as i64
}

/// Schema version of an open database.
pub(crate) fn version(conn: &Connection) -> Result<i64, Error> {
    Ok(conn.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}

/// Makes the schema of the newest version in an empty database.
pub(crate) fn create(conn: &Connection) -> Result<(), Error> {
    apply(conn, SCHEMA, newest())
}

/// Applies the scripts that a database lacks.
pub(crate) fn run(conn: &Connection, scripts: &[&str]) -> Result<(), Error> {
    let applied = usize::try_from(version(conn)?).unwrap_or(0);
    let missing = scripts.get(applied..).unwrap_or_default();
    if missing.is_empty() {
        return Ok(());
    }
    apply(conn, &missing.join(";\n"), scripts.len() as i64)
}

/// Runs a script that leads to a version, as a whole or not at all.
fn apply(conn: &Connection, script: &str, version: i64) -> Result<(), Error> {
    let outcome = conn.execute_batch(&format!(
        "BEGIN IMMEDIATE; {script}; PRAGMA user_version = {version}; COMMIT"
    ));
    if let Err(error) = outcome {
        // The version is raised in the same transaction, so a failed script leaves the old schema intact.
        if !conn.is_autocommit() {
            conn.execute_batch("ROLLBACK")?;
        }
        return Err(error.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    const FIRST: &str = "CREATE TABLE a (x INTEGER) STRICT; INSERT INTO a VALUES (1)";
    const SECOND: &str = "ALTER TABLE a ADD COLUMN y INTEGER";
    const BROKEN: &str = "CREATE TABLE b (x INTEGER) STRICT; INSERT INTO nowhere VALUES (1)";

    #[test]
    fn an_existing_database_gets_only_the_scripts_it_lacks() {
        let conn = Connection::open_in_memory().unwrap();
        run(&conn, &[FIRST]).unwrap();
        run(&conn, &[FIRST, SECOND]).unwrap();
        run(&conn, &[FIRST, SECOND]).unwrap();
        assert_eq!(version(&conn).unwrap(), 2);
        let row: (i64, Option<i64>) = conn
            .query_row("SELECT x, y FROM a", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .unwrap();
        assert_eq!(row, (1, None));
    }

    /// The statement of every table and index, by name. Added columns stand on the line of the last one, so space does
    /// not count.
    fn schema(conn: &Connection) -> Vec<(String, String)> {
        let sql = "SELECT name, coalesce(sql, '') FROM sqlite_schema ORDER BY name";
        let mut statement = conn.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        let plain = |(name, sql): (String, String)| {
            let words: Vec<&str> = sql.split_whitespace().collect();
            let sql = words.join(" ");
            (
                name,
                sql.replace(" ,", ",").replace("( ", "(").replace(" )", ")"),
            )
        };
        rows.unwrap().map(|row| plain(row.unwrap())).collect()
    }

    #[test]
    fn a_store_of_any_earlier_version_gets_the_tables_and_indexes_of_a_new_one() {
        let new = Connection::open_in_memory().unwrap();
        create(&new).unwrap();
        assert_eq!(version(&new).unwrap(), newest());
        for applied in 0..MIGRATIONS.len() {
            let old = Connection::open_in_memory().unwrap();
            run(&old, &MIGRATIONS[..applied]).unwrap();
            assert_ne!(schema(&old), schema(&new), "from {applied}");
            run(&old, MIGRATIONS).unwrap();
            assert_eq!(version(&old).unwrap(), newest(), "from {applied}");
            assert_eq!(schema(&old), schema(&new), "from {applied}");
        }
    }

    #[test]
    fn an_agent_of_a_store_before_work_items_has_none_and_can_be_given_some() {
        let conn = Connection::open_in_memory().unwrap();
        run(&conn, &MIGRATIONS[..7]).unwrap();
        let before = crate::samples::agent("a");
        let sql = "INSERT INTO agents (agent_no, agent_id, visible, attention, pending, interjections, oldest_event, \
             newest_event, event_bytes, event_chunks, record, settings, newest_message, newest_entry, newest_brief, \
             newest_effect, newest_turn, interjections_listed) \
             VALUES (1, 'a', 1, 0, 0, 0, 1, 0, 0, 0, ?1, ?2, 0, 0, 0, 0, 0, 1)";
        let texts = [
            serde_json::to_string(&before).unwrap(),
            serde_json::to_string(&before.settings).unwrap(),
        ];
        conn.execute(sql, texts).unwrap();
        let no = crate::row::AgentNo(1);
        run(&conn, MIGRATIONS).unwrap();
        let (found, agent) = crate::agents::by_id(&conn, &crate::samples::id("a"))
            .unwrap()
            .unwrap();
        assert_eq!((found, &agent), (no, &before));
        assert_eq!(agent.work, holon_domain::agent::WorkState::default());
        let item = crate::samples::work_item(&crate::samples::id("a"), "x");
        crate::work_items::write(&conn, no, &item).unwrap();
        let next = crate::work_items::next(&conn, no, 0).unwrap();
        assert_eq!(next, [item]);
    }

    #[test]
    fn reservations_of_any_size_and_the_spawns_of_the_last_hour_are_taken_over() {
        const MOST: i64 = 1 << 42;
        let conn = Connection::open_in_memory().unwrap();
        run(&conn, &MIGRATIONS[..24]).unwrap();
        conn.execute_batch(
            "INSERT INTO reservations (agent_no, agent_id, root_id, item_id, tokens, micro_usd) \
             VALUES (1, 'a', 'a', '', 9223372036854775807, 9223372036854775807), \
                 (2, 'b', 'a', '', 9223372036854775807, -1), (3, 'c', 'a', '', -9, 5); \
             INSERT INTO children (root, parent, child, depth, supervised, live, spawned_at) \
             VALUES ('a', 'a', 'old', 1, 1, 1, (unixepoch() - 7200) * 1000), \
                 ('a', 'a', 'new', 1, 1, 1, unixepoch() * 1000)",
        )
        .unwrap();
        run(&conn, MIGRATIONS).unwrap();
        let sum = || {
            let sql =
                "SELECT calls, tokens, micro_usd, unpriced FROM reserved WHERE scope = 'tree'";
            conn.query_row(sql, [], |row| {
                Ok::<[i64; 4], _>([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?])
            })
            .unwrap()
        };
        assert_eq!(sum(), [3, 2 * MOST, MOST + 5, 1]);
        conn.execute("DELETE FROM reservations WHERE agent_no = 1", [])
            .unwrap();
        assert_eq!(sum(), [2, MOST, 5, 1], "it takes away what it added");
        let spawned: Vec<i64> = conn
            .prepare("SELECT spawn_no FROM spawns")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(|row| row.unwrap())
            .collect();
        assert_eq!(spawned, [2]);
    }

    #[test]
    fn a_script_that_fails_leaves_the_version_before_the_upgrade_whole() {
        let conn = Connection::open_in_memory().unwrap();
        run(&conn, &[FIRST]).unwrap();
        assert!(run(&conn, &[FIRST, SECOND, BROKEN]).is_err());
        assert_eq!(version(&conn).unwrap(), 1);
        assert!(conn.is_autocommit());
        conn.execute("INSERT INTO a VALUES (2)", []).unwrap();
        assert!(conn.execute("INSERT INTO b VALUES (1)", []).is_err());
    }
}
