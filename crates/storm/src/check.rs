//! The rules that must hold after a storm, checked over the evidence. Pure functions: rows and files in, sentences
//! out.

mod delivery;
mod outcome;
mod provider;
mod sequence;
mod token;
mod tree;
mod work;

use crate::provider::FailureCounts;
use crate::record::{AcknowledgedPrompt, CompletedRun, FailedRun, SentDelivery, WakeCounts};
use crate::rest::AgentView;
use crate::rows::Rows;
pub(crate) use sequence::check as sequence;
use std::collections::{BTreeMap, BTreeSet};

/// All evidence that was collected after the storm.
#[derive(Debug, Clone, Default)]
pub(crate) struct Evidence {
    pub(crate) rows: Rows,
    pub(crate) acknowledged: Vec<AcknowledgedPrompt>,
    pub(crate) runs: Vec<CompletedRun>,
    pub(crate) failed_runs: Vec<FailedRun>,
    /// Failures of the provider.
    pub(crate) failures: FailureCounts,
    /// Lines of the marks file, to which commands append.
    pub(crate) marks: Vec<String>,
    /// Ids that the delivery target noted, in order, with repetitions.
    pub(crate) delivered: Vec<String>,
    /// Traces of patches, by workspace.
    pub(crate) workspaces: BTreeMap<String, PatchTraces>,
    /// Texts of the plan files, by agent and work item.
    pub(crate) plans: BTreeMap<(String, String), String>,
    /// Wakes of each agent.
    pub(crate) wakes: BTreeMap<String, WakeCounts>,
    /// Deliveries from outside, by their ids.
    pub(crate) deliveries: BTreeMap<String, SentDelivery>,
    pub(crate) views: Vec<AgentView>,
    /// Processes that still use the storm's directory.
    pub(crate) processes: Vec<String>,
}

/// Traces of patches in one workspace.
#[derive(Debug, Clone, Default)]
pub(crate) struct PatchTraces {
    /// Lines of the ledger below its first: a token and its number of files.
    pub(crate) lines: Vec<(String, u64)>,
    /// Names of the files that patches added.
    pub(crate) files: Vec<String>,
}

/// Returns every broken rule as a sentence.
pub(crate) fn violations(evidence: &Evidence) -> Vec<String> {
    let mut found = outcome::check(evidence);
    found.extend(provider::check(evidence));
    found.extend(token::check(evidence));
    found.extend(work::check(evidence));
    found.extend(tree::check(&evidence.rows));
    found.extend(crate::budget::check(&evidence.rows.budgets));
    found.extend(crate::delivery::check(evidence));
    found.extend(delivery::check(&evidence.rows, &evidence.deliveries));
    found.extend(sequence::check(&evidence.rows, &evidence.views));
    found.extend(results(&evidence.rows));
    found.extend(rest(evidence));
    found
}

/// Returns every rule that a restored home breaks. Of what lies outside the database, only the acknowledged prompts are
/// known.
pub(crate) fn restored(evidence: &Evidence) -> Vec<String> {
    let mut found = outcome::check(evidence);
    found.extend(tree::check(&evidence.rows));
    found.extend(sequence::check(&evidence.rows, &evidence.views));
    found.extend(results(&evidence.rows));
    found.extend(rest(evidence));
    found
}

/// Rule: each tool call has exactly one result, and each result has a call.
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

/// Children that were archived because their task ended before they were done. What was queued for them stays queued.
fn stopped_children(rows: &Rows) -> BTreeSet<i64> {
    let cut_short = rows.tasks.iter();
    let cut_short = cut_short.filter(|task| task.ended && task.record["status"] != "completed");
    let cut_short: BTreeSet<&str> = cut_short.map(|task| task.id.as_str()).collect();
    let archived = rows.agents.iter().filter(|row| row.archived);
    let stopped = archived.filter(|row| {
        let task = row.parent_task.as_deref();
        task.is_some_and(|task| cut_short.contains(task))
    });
    stopped.map(|row| row.no).collect()
}

/// Rule: no work is left and no process runs.
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
    let stopped = stopped_children(rows);
    let queued = rows.messages.iter().filter(|row| row.queued);
    let queued = queued.filter(|row| !stopped.contains(&row.agent));
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
