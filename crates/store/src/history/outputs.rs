//! Output files of commands that only the results of removed turns have named.

use super::Cut;
use crate::error::Error;
use crate::row::{AgentNo, first, json, run};
use crate::{output_refs, tasks};
use holon_domain::limits::HISTORY_STEP;
use holon_domain::log::LogEntry;
use rusqlite::{Connection, Row, params};
use std::collections::BTreeSet;

/// Returns the commands whose output files an entry names. An entry that cannot be read names none.
pub(super) fn named(row: &Row<'_>, column: usize, seq: u64, text: &str) -> BTreeSet<String> {
    let entry = output_refs::may_name(text).then(|| json::<LogEntry>(row, column, "log", seq));
    match entry {
        Some(Ok(entry)) => output_refs::named(&entry),
        Some(Err(_)) | None => BTreeSet::new(),
    }
}

/// Returns the commands whose output files neither an entry behind a cut nor a row in `tasks` names.
pub(super) fn plan(
    conn: &Connection,
    no: AgentNo,
    gone_before: &BTreeSet<String>,
    cut: &Cut,
) -> Result<BTreeSet<String>, Error> {
    let mut unnamed = of_earlier_build(conn, no, gone_before, cut)?;
    let mut statement = conn.prepare_cached(output_refs::UNNAMED)?;
    let mut rows = statement.query(params![no.0, cut.through])?;
    while unnamed.len() < HISTORY_STEP
        && let Some(row) = rows.next()?
    {
        let name: String = row.get(0)?;
        if !gone_before.contains(&name) && !has_task(conn, no, &name)? {
            unnamed.insert(name);
        }
    }
    Ok(unnamed)
}

/// Returns commands of a cut whose uses an earlier build did not record. A few entries behind the cut are searched for
/// them: an agent looks at an output soon or never.
fn of_earlier_build(
    conn: &Connection,
    no: AgentNo,
    gone_before: &BTreeSet<String>,
    cut: &Cut,
) -> Result<BTreeSet<String>, Error> {
    let mut names = BTreeSet::new();
    for name in cut.entries.iter().flat_map(|entry| &entry.outputs) {
        let recorded = first(conn, output_refs::ONE, params![no.0, name], |_| Ok(()))?;
        if recorded.is_none() && !gone_before.contains(name) && !has_task(conn, no, name)? {
            names.insert(name.clone());
        }
    }
    let names = names.into_iter().collect();
    let unnamed = super::not_named_next(conn, no, cut, names, HISTORY_STEP as u64)?;
    Ok(unnamed.into_iter().collect())
}

/// Returns true if a task is listed. Its row names its files.
fn has_task(conn: &Connection, no: AgentNo, name: &str) -> Result<bool, Error> {
    Ok(first(conn, tasks::ONE, params![no.0, name], |_| Ok(()))?.is_some())
}

/// Forgets the commands whose files are gone.
pub(super) fn apply(conn: &Connection, no: AgentNo, names: &[String]) -> Result<(), Error> {
    for name in names {
        run(conn, output_refs::REMOVE, params![no.0, name])?;
    }
    Ok(())
}
