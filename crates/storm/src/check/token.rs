//! Every effect that leaves a token happened at most once, and exactly once where its success was reported.

use super::{Evidence, Patched};
use crate::job;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn check(evidence: &Evidence) -> Vec<String> {
    let mut found = Vec::new();
    let marks = count(&evidence.marks);
    let twice = marks.iter().filter(|(_, times)| **times > 1);
    found.extend(twice.map(|(mark, times)| format!("{mark} happened {times} times")));
    for (token, source) in reported_commands(evidence) {
        for half in ["b", "e"] {
            let mark = format!("{token}.{half}");
            if !marks.contains_key(mark.as_str()) {
                found.push(format!("{mark} left no mark, and {source} says it ran"));
            }
        }
    }
    let patched = reported_patches(evidence);
    for (workspace, left) in &evidence.workspaces {
        found.extend(uneven(workspace, left));
    }
    let files: BTreeSet<&str> = evidence
        .workspaces
        .values()
        .flat_map(|left| left.files.iter().map(String::as_str))
        .collect();
    let lost = patched
        .iter()
        .filter(|(token, _)| !files.contains(token.as_str()));
    found.extend(lost.map(|(token, source)| {
        format!("patch {token} left no file, and {source} says it was applied")
    }));
    found
}

/// A patch of two files is applied to both or to none, and once.
fn uneven(workspace: &str, left: &Patched) -> Vec<String> {
    let lines = count(&left.lines);
    let files: BTreeSet<&str> = left.files.iter().map(String::as_str).collect();
    let mut found = Vec::new();
    for (token, times) in &lines {
        if *times > 1 {
            found.push(format!(
                "{workspace}: patch {token} was applied {times} times"
            ));
        }
        if !files.contains(token) {
            found.push(format!(
                "{workspace}: patch {token} has its line and no file"
            ));
        }
    }
    let lineless = files.iter().filter(|token| !lines.contains_key(**token));
    found.extend(
        lineless.map(|token| format!("{workspace}: patch {token} has its file and no line")),
    );
    found
}

fn count(words: &[String]) -> BTreeMap<&str, u32> {
    let mut counts = BTreeMap::new();
    for word in words {
        *counts.entry(word.as_str()).or_default() += 1;
    }
    counts
}

/// Tokens of commands whose end somebody was told of, and by whom.
fn reported_commands(evidence: &Evidence) -> Vec<(String, String)> {
    let rows = &evidence.rows;
    let mut reported = Vec::new();
    for row in &rows.log {
        if row.entry["entry"] == "tool_result" {
            let source = format!("log entry {} of {}", row.seq, rows.name(row.agent));
            let envelope = row.entry["envelope"].to_string();
            let tokens = job::reported_in(&envelope);
            reported.extend(
                tokens
                    .iter()
                    .map(|token| ((*token).to_owned(), source.clone())),
            );
        }
    }
    for row in &rows.tasks {
        let command = row.record["recovery"]["spec"]["cmd"].as_str();
        let token = command.and_then(job::token_of_command);
        if let Some(token) = token.filter(|_| row.record["end"]["exit_status"] == 0) {
            reported.push((token.to_owned(), row.id.clone()));
        }
    }
    for run in &evidence.runs {
        let tokens = job::reported_in(&run.text);
        let source = format!("the run of job {}", run.job);
        reported.extend(
            tokens
                .iter()
                .map(|token| ((*token).to_owned(), source.clone())),
        );
    }
    reported
}

/// Tokens of patches that were answered with success, and by whom.
fn reported_patches(evidence: &Evidence) -> Vec<(String, String)> {
    let rows = &evidence.rows;
    let mut patches: BTreeMap<(i64, &str), &str> = BTreeMap::new();
    let mut reported = Vec::new();
    for row in &rows.log {
        for block in row.entry["blocks"].as_array().into_iter().flatten() {
            let token = block["input"]["patch"]
                .as_str()
                .and_then(job::token_of_patch);
            if let (Some(token), Some(call)) = (token, block["id"].as_str()) {
                patches.insert((row.agent, call), token);
            }
        }
        let call = row.entry["call_id"].as_str().unwrap_or_default();
        let succeeded = row.entry["envelope"]["status"] == Value::from("success");
        let token = patches.get(&(row.agent, call)).filter(|_| succeeded);
        reported.extend(token.map(|token| {
            let source = format!("log entry {} of {}", row.seq, rows.name(row.agent));
            ((*token).to_owned(), source)
        }));
    }
    for run in &evidence.runs {
        let tokens = job::patches_in(&run.text);
        let source = format!("the run of job {}", run.job);
        reported.extend(
            tokens
                .iter()
                .map(|token| ((*token).to_owned(), source.clone())),
        );
    }
    reported
}
