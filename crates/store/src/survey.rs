//! Checks of a home for the start of a host and for the doctor.
//!
//! Reads only; the database is read through SQLite.

use crate::error::Error;
use crate::migrate;
use crate::model_limits::{self, LearnedModel};
use crate::note::{PreviousNote, Progress};
use crate::open;
use crate::readers::check_tables;
use crate::row::first;
use holon_domain::AgentId;
use rusqlite::Connection;
use std::fs;
use std::path::Path;

/// Directories that are listed by name.
const NAMED: usize = 20;

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
