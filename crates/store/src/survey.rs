//! Checks of a home for the start of a host and for the doctor.
//!
//! Reads only; the database is read through SQLite.

use crate::agents;
use crate::error::Error;
use crate::migrate;
use crate::model_limits::{self, LearnedModel};
use crate::note::{PreviousNote, Progress};
use crate::open;
use crate::readers::check_tables;
use crate::row::{all_readable, first, limit};
use holon_domain::AgentId;
use holon_domain::agent::LastFailure;
use holon_domain::limits::AGENT_SETTINGS_BYTES;
use rusqlite::{Connection, params};
use std::fs;
use std::path::Path;

/// Directories and agents that are listed by name.
const NAMED: usize = 20;
const LARGE_SETTINGS: &str = "SELECT agent_id, length(CAST(settings AS BLOB)) AS bytes FROM agents \
     WHERE bytes > ?1 ORDER BY bytes DESC LIMIT ?2";

/// Describes for the operator the faults of the store at `db_path` and of the agents under `agents_dir`. Empty if there
/// are none or there is no store yet.
///
/// # Errors
/// When the store cannot be read.
pub fn survey(db_path: &Path, agents_dir: &Path) -> Result<Vec<String>, Error> {
    let before = PreviousNote::check(db_path)?;
    if !db_path.exists() {
        return Ok(Vec::new());
    }
    let conn = open::open_readable(db_path)?;
    let mut found = match before {
        Some(before) => before.findings(db_path, Progress::of(&conn)?),
        None => Vec::new(),
    };
    found.extend(strays(&conn, agents_dir)?);
    Ok(found)
}

/// Checks the pages of a store that a host may be using, one table at a time. Returns the findings; empty if there are
/// none, or no store.
///
/// # Errors
/// When the store cannot be read.
pub fn check_pages(db_path: &Path) -> Result<Vec<String>, Error> {
    if !db_path.exists() {
        return Ok(Vec::new());
    }
    check_tables(&open::open_readable(db_path)?)
}

/// Reads the limits that providers have revealed, from a store that a host may be using. Empty if there is no store yet,
/// or if an earlier build wrote it.
///
/// # Errors
/// When the store cannot be read.
pub fn learned_limits(db_path: &Path) -> Result<Vec<LearnedModel>, Error> {
    if !db_path.exists() {
        return Ok(Vec::new());
    }
    let conn = open::open_readable(db_path)?;
    if migrate::version(&conn)? < migrate::newest() {
        return Ok(Vec::new());
    }
    model_limits::all(&conn)
}

/// Reads the newest failure that the row of an agent keeps, and its agent, from a store that a host may be using. Rows
/// that cannot be read are passed over. `None` without a failure, without a store, and if an earlier build wrote it.
///
/// # Errors
/// When the store cannot be read.
pub fn newest_failure(db_path: &Path) -> Result<Option<(AgentId, LastFailure)>, Error> {
    if !db_path.exists() {
        return Ok(None);
    }
    let conn = open::open_readable(db_path)?;
    if migrate::version(&conn)? < migrate::newest() {
        return Ok(None);
    }
    let failures = agents::list_every(&conn)?.into_iter().filter_map(|listed| {
        let failure = listed.record.ok()?.last_failure?;
        Some((listed.agent_id, failure))
    });
    Ok(failures.max_by_key(|(_, failure)| failure.occurred_at))
}

/// Lists the agents whose settings are larger than this build would let them grow, the largest first, each with the bytes,
/// from a store that a host may be using. Empty without a store, and if an earlier build wrote it.
///
/// # Errors
/// When the store cannot be read.
pub fn large_settings(db_path: &Path) -> Result<Vec<(AgentId, u64)>, Error> {
    if !db_path.exists() {
        return Ok(Vec::new());
    }
    let conn = open::open_readable(db_path)?;
    if migrate::version(&conn)? < migrate::newest() {
        return Ok(Vec::new());
    }
    let bounds = params![limit(AGENT_SETTINGS_BYTES), limit(NAMED)];
    all_readable(&conn, LARGE_SETTINGS, bounds, |row| {
        let name: String = row.get(0)?;
        Ok((agents::parse_id(&name)?, row.get(1)?))
    })
}

/// Lists homes of agents that the store does not know.
pub(crate) fn strays(conn: &Connection, agents_dir: &Path) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    for name in directories(agents_dir) {
        let known = "SELECT 1 FROM agents WHERE agent_id = ?1";
        if first(conn, known, [name.as_str()], |_| Ok(()))?.is_none() {
            names.push(name);
        }
    }
    names.sort();
    let more = names.len().saturating_sub(NAMED);
    let mut found: Vec<String> = names
        .iter()
        .take(NAMED)
        .map(|name| {
            let path = agents_dir.join(name);
            format!(
                "{} is the home of an agent that the store does not know; its rows are missing, or it was copied there",
                path.display()
            )
        })
        .collect();
    if more > 0 {
        found.push(format!("and {more} more homes without an agent"));
    }
    Ok(found)
}

/// Lists the directories that can be agents' homes, by name. Temporary directories have other names.
fn directories(agents_dir: &Path) -> impl Iterator<Item = String> + use<> {
    let entries = fs::read_dir(agents_dir).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| AgentId::parse_stored(name).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Db;
    use crate::samples;
    use holon_domain::Timestamp;
    use holon_domain::failure::{FailureArtifact, FailureCategory, FailureCause};

    #[test]
    fn the_newest_failure_of_any_agent_is_read_without_a_host() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("holon.sqlite3");
        assert_eq!(newest_failure(&path).expect("reads"), None, "no store yet");
        let mut db = Db::open(&path).expect("opens");
        for (name, at) in [("early", 1), ("late", 3), ("middle", 2), ("sound", 0)] {
            let mut record = samples::agent(name);
            record.last_failure = (at > 0).then(|| LastFailure {
                occurred_at: Timestamp::from_millis(at),
                cause: FailureCause::Runtime,
                failure_artifact: FailureArtifact::new(FailureCategory::Runtime, "broken", name),
            });
            db.write(|tx| tx.create_agent(&record)).expect("creates");
        }
        db.close().expect("closes");
        let (agent, failure) = newest_failure(&path).expect("reads").expect("a failure");
        assert_eq!(agent.as_str(), "late");
        assert_eq!(failure.failure_artifact.summary, "late");
    }

    #[test]
    fn agents_with_settings_beyond_the_bound_are_named_largest_first() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("holon.sqlite3");
        assert_eq!(large_settings(&path), Ok(Vec::new()), "no store yet");
        let mut db = Db::open(&path).expect("opens");
        for (name, bytes) in [("at", 0), ("large", 1), ("small", 9), ("larger", 50)] {
            db.write(|tx| tx.create_agent(&samples::agent(name)))
                .expect("creates");
            let bytes = match name {
                "small" => bytes,
                _ => AGENT_SETTINGS_BYTES + bytes,
            };
            let sql = "UPDATE agents SET settings = ?1 WHERE agent_id = ?2";
            let changed = db
                .conn
                .execute(sql, params!["\u{e4}".repeat(bytes / 2), name]);
            changed.expect("changes");
        }
        let sql = "UPDATE agents SET settings = settings || 'xx' WHERE agent_id = 'large'";
        db.conn.execute(sql, []).expect("changes");
        db.close().expect("closes");
        let found = large_settings(&path).expect("reads");
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["larger", "large"], "{found:?}");
    }
}
