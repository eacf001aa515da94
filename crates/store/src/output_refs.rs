//! The output_refs table: commands whose output files entries of the log name, each with the newest of these entries.
//!
//! A row is written with the entry and goes with the file (`history`). Entries of earlier builds have no rows.

use crate::error::Error;
use crate::row::{AgentNo, run};
use holon_domain::log::LogEntry;
use holon_domain::tool::ToolOutcome;
use holon_domain::turn::LogSeq;
use rusqlite::{Connection, params};
use serde_json::Value;
use std::collections::BTreeSet;

pub(crate) const NOTE: &str = "INSERT INTO output_refs (agent_no, name, newest) VALUES (?1, ?2, ?3) \
     ON CONFLICT (agent_no, name) DO UPDATE SET newest = excluded.newest";
/// Commands that no entry behind a position names, those that were named longest ago first.
pub(crate) const UNNAMED: &str = "SELECT name FROM output_refs INDEXED BY output_refs_by_use \
     WHERE agent_no = ?1 AND newest <= ?2 ORDER BY newest";
pub(crate) const ONE: &str = "SELECT newest FROM output_refs WHERE agent_no = ?1 AND name = ?2";
pub(crate) const REMOVE: &str = "DELETE FROM output_refs WHERE agent_no = ?1 AND name = ?2";

/// Part of the path of every output file.
const FOLDER: &str = "/task-output/";
/// Prefix of the names of commands.
const COMMAND: &str = "task_";
/// Endings of output files, the longer ones first.
const ENDINGS: [&str; 3] = [".stderr.log", ".combined.log", ".log"];

/// Records the commands whose output files an entry names. `text` is the stored text of the entry.
pub(crate) fn note(
    conn: &Connection,
    no: AgentNo,
    seq: LogSeq,
    entry: &LogEntry,
    text: &str,
) -> Result<(), Error> {
    if may_name(text) {
        for name in named(entry) {
            run(conn, NOTE, params![no.0, name, seq])?;
        }
    }
    Ok(())
}

/// Returns true if the stored text of an entry may name an output file.
pub(crate) fn may_name(text: &str) -> bool {
    text.contains(FOLDER)
}

/// Returns the commands whose output files an entry names.
pub(crate) fn named(entry: &LogEntry) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    if let LogEntry::ToolResult { envelope, .. } = entry
        && let ToolOutcome::Success { result } = &envelope.outcome
    {
        collect(result, &mut names);
    }
    names
}

/// Collects the commands of all lists of artifacts in a result.
fn collect(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, names)),
        Value::Object(fields) => {
            let listed = fields.get("artifacts").and_then(Value::as_array);
            let paths = listed
                .into_iter()
                .flatten()
                .filter_map(|file| file.get("path")?.as_str());
            names.extend(paths.filter_map(command_of).map(str::to_owned));
            fields.values().for_each(|field| collect(field, names));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns the command that an output file belongs to.
fn command_of(path: &str) -> Option<&str> {
    let (_, file) = path.rsplit_once(FOLDER)?;
    let name = ENDINGS.iter().find_map(|end| file.strip_suffix(end))?;
    (name.starts_with(COMMAND) && !name.contains('/')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_output_files_of_commands_are_taken_for_them() {
        let of = |path: &str| command_of(path).map(str::to_owned);
        assert_eq!(of("/h/task-output/task_1.log").as_deref(), Some("task_1"));
        assert_eq!(
            of("/h/task-output/task_1.stderr.log").as_deref(),
            Some("task_1")
        );
        for other in [
            "/h/task-output/notes.log",
            "/h/task-output/../task_1.log",
            "/h/task-output/task_1/x.log",
            "/h/task_1.log",
            "/h/task-output/task_1",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
