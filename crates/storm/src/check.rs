//! The rules a storm must leave unbroken, checked over what was read. Pure: rows and files in, sentences out.

mod outcome;
mod provider;
mod sequence;
mod token;

use crate::provider::Failed;
use crate::record::{Acknowledged, CompletedRun, FailedRun};
use crate::rest::Told;
use crate::rows::Rows;
use std::collections::BTreeMap;

/// Everything that is known when the storm is over.
#[derive(Debug, Clone, Default)]
pub(crate) struct Evidence {
    pub(crate) rows: Rows,
    pub(crate) acknowledged: Vec<Acknowledged>,
    pub(crate) runs: Vec<CompletedRun>,
    pub(crate) failed_runs: Vec<FailedRun>,
    /// How the provider failed.
    pub(crate) failed: Failed,
    /// Lines of the file that commands append to.
    pub(crate) marks: Vec<String>,
    /// What patches left, by workspace.
    pub(crate) workspaces: BTreeMap<String, Patched>,
    pub(crate) told: Vec<Told>,
    /// Processes that still name the storm's directory.
    pub(crate) processes: Vec<String>,
}

/// What patches left in one workspace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Patched {
    /// Lines of the ledger below its first: a token and the number of files that belong to it.
    pub(crate) lines: Vec<(String, u64)>,
    /// Names of the files that were added.
    pub(crate) files: Vec<String>,
}

/// Every broken rule, one sentence each.
pub(crate) fn violations(evidence: &Evidence) -> Vec<String> {
    let mut found = outcome::check(evidence);
    found.extend(provider::check(evidence));
    found.extend(token::check(evidence));
    found.extend(sequence::check(&evidence.rows, &evidence.told));
    found.extend(results(&evidence.rows));
    found.extend(rest(evidence));
    found
}

/// Each tool call has exactly one result, and no result is without a call.
fn results(rows: &Rows) -> Vec<String> {
    let mut counts: BTreeMap<(i64, &str), (u32, u32)> = BTreeMap::new();
    for row in &rows.log {
        for block in row.entry["blocks"].as_array().into_iter().flatten() {
            if block["type"] == "tool_call" {
                let call = block["id"].as_str().unwrap_or_default();
                counts.entry((row.agent, call)).or_default().0 += 1;
            }
        }
        if row.entry["entry"] == "tool_result" {
            let call = row.entry["call_id"].as_str().unwrap_or_default();
            counts.entry((row.agent, call)).or_default().1 += 1;
        }
    }
    let wrong = counts.iter().filter(|(_, counts)| **counts != (1, 1));
    wrong
        .map(|((agent, call), (calls, results))| {
            let name = rows.name(*agent);
            format!("{name}: {call} was called {calls} times and has {results} results")
        })
        .collect()
}

/// Nothing is left to do and nothing runs.
fn rest(evidence: &Evidence) -> Vec<String> {
    let rows = &evidence.rows;
    let effects = rows.effects.iter().map(|row| {
        let (name, id, effect) = (rows.name(row.agent), row.id, &row.effect);
        format!("{name}: effect {id} is open: {effect}")
    });
    let tasks = rows.tasks.iter().filter(|row| !row.ended).map(|row| {
        let (name, status) = (rows.name(row.agent), &row.record["status"]);
        format!("{name}: {} is not over: {status}", row.id)
    });
    let turns = rows.agents.iter().filter(|row| row.open_turn);
    let turns = turns.map(|row| format!("{}: its turn is open", row.id));
    let temporary = rows.agents.iter().filter(|row| row.temporary);
    let temporary = temporary.map(|row| format!("{}: a temporary agent is left", row.id));
    let queued = rows.messages.iter().filter(|row| row.queued);
    let queued = queued.map(|row| {
        let (name, kind) = (rows.name(row.agent), &row.kind);
        format!("{name}: {} ({kind}) is still queued", row.id)
    });
    let processes = evidence.processes.iter();
    let processes = processes.map(|process| format!("a process is left: {process}"));
    effects
        .chain(tasks)
        .chain(turns)
        .chain(temporary)
        .chain(queued)
        .chain(processes)
        .collect()
}

#[cfg(test)]
mod tests;
