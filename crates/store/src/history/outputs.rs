//! Output files of commands that the results of removed turns name.

use super::Cut;
use crate::error::Error;
use crate::row::{AgentNo, first, json};
use crate::tasks;
use holon_domain::log::LogEntry;
use holon_domain::tool::ToolOutcome;
use rusqlite::{Connection, Row, params};
use serde_json::Value;
use std::collections::BTreeSet;

/// Part of the path of every output file.
const FOLDER: &str = "/task-output/";
/// Prefix of the names of commands.
const COMMAND: &str = "task_";
/// Endings of output files, the longer one first.
const ENDINGS: [&str; 2] = [".stderr.log", ".log"];

/// Returns the commands whose output files an entry names. An entry that cannot be read names none.
pub(super) fn named(row: &Row<'_>, column: usize, seq: u64, text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    if text.contains(FOLDER)
        && let Ok(LogEntry::ToolResult { envelope, .. }) = json::<LogEntry>(row, column, "log", seq)
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

/// Returns the commands of a cut without a row in `tasks`. The row of a task names its files.
pub(super) fn unnamed(conn: &Connection, no: AgentNo, cut: &Cut) -> Result<Vec<String>, Error> {
    let named = cut.entries.iter().flat_map(|entry| &entry.outputs);
    let named: BTreeSet<&String> = named.collect();
    let mut unnamed = Vec::new();
    for name in named {
        if first(conn, tasks::ONE, params![no.0, name], |_| Ok(()))?.is_none() {
            unnamed.push(name.clone());
        }
    }
    Ok(unnamed)
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
