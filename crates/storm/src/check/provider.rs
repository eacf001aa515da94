//! Rule: a failing provider costs no turn its answer, except a run that a client waits for, and that client gets the
//! true reason.

use super::Evidence;
use crate::rows::Rows;
use std::collections::BTreeSet;

/// Reasons for which a background turn may fail: an operator ended it, or it was resumed too often without progress.
const FAIR_REASONS: [&str; 3] = ["operator_aborted", "agent_stopped", "poisoned"];

pub(super) fn check(evidence: &Evidence) -> Vec<String> {
    let mut found = unfair_failures(&evidence.rows);
    found.extend(unended_suspensions(&evidence.rows));
    found.extend(failed_runs(evidence));
    found
}

/// Turns that failed for another reason than a fair one. Temporary agents, whose turns a client waits for, are gone
/// by now.
fn unfair_failures(rows: &Rows) -> Vec<String> {
    let failures = rows.log.iter();
    let failures = failures.filter(|row| row.entry["entry"] == "runtime_failure");
    let unfair = failures.filter_map(|row| {
        let reason = row.entry["reason"].as_str().unwrap_or("no reason");
        let name = rows.name(row.agent);
        let text = &row.entry["text"];
        let is_fair = FAIR_REASONS.contains(&reason);
        (!is_fair).then(|| format!("{name}: a turn was given up ({reason}): {text}"))
    });
    unfair.collect()
}

/// Turns whose last suspension has not ended.
fn unended_suspensions(rows: &Rows) -> Vec<String> {
    let mut suspended = BTreeSet::new();
    for event in &rows.pauses {
        let turn = (event.agent, event.turn);
        match event.kind.as_str() {
            "turn_suspended" => drop(suspended.insert(turn)),
            "turn_suspension_ended" | "turn_terminal" => drop(suspended.remove(&turn)),
            _ => {}
        }
    }
    let left = suspended.into_iter();
    left.map(|(agent, turn)| {
        let name = rows.name(agent);
        format!("{name}: turn {turn} was suspended and never went on")
    })
    .collect()
}

/// Runs that failed although no request of theirs failed in that way.
fn failed_runs(evidence: &Evidence) -> Vec<String> {
    let has_met = |job: u64, kind: &str| {
        let mut met = evidence.failures.jobs.iter();
        met.any(|(other, met)| *other == job && *met == kind)
    };
    let runs = evidence.failed_runs.iter();
    let unexplained = runs.filter(|run| run.status != "failed" || !has_met(run.job, &run.kind));
    unexplained
        .map(|run| {
            format!(
                "the run of job {} was answered as {} ({:?}), and no request of it failed so",
                run.job, run.status, run.kind
            )
        })
        .collect()
}
