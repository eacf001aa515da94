//! Rule: every effect that leaves a token happened at most once, exactly once if its success was reported, and never
//! if its call was reported as not started.

use super::{Evidence, PatchTraces};
use crate::job;
use crate::rows::Rows;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// A token and the source that reports it.
type Claim<'a> = (&'a str, String);

pub(super) fn check(evidence: &Evidence) -> Vec<String> {
    let calls = calls(&evidence.rows);
    let marks = count(evidence.marks.iter().map(String::as_str));
    let mut found = repeated(&marks);
    for (token, source) in ended_commands(evidence) {
        for half in ["b", "e"] {
            let mark = format!("{token}.{half}");
            if !marks.contains_key(mark.as_str()) {
                found.push(format!("{mark} left no mark, and {source} says it ran"));
            }
        }
    }
    for (token, source) in written_words(&evidence.rows, &calls) {
        let mark = format!("{token}.{}", job::WORD);
        if !marks.contains_key(mark.as_str()) {
            found.push(format!(
                "{mark} left no mark, and {source} says it was written"
            ));
        }
    }
    found.extend(patches(evidence, &calls));
    found.extend(follow_ups(&evidence.rows, &calls));
    found.extend(never_started(evidence, &calls, &marks));
    found
}

/// A call in a log, and the envelope of its result.
pub(super) struct Call<'a> {
    pub(super) source: String,
    pub(super) input: &'a Value,
    envelope: &'a Value,
}

impl<'a> Call<'a> {
    pub(super) fn has_succeeded(&self) -> bool {
        self.envelope["status"] == "success"
    }

    /// A task that has ended takes no input, and the call succeeds in reporting that.
    fn took_input(&self) -> bool {
        self.has_succeeded() && self.envelope["result"]["accepted_input"] != false
    }

    fn is_unstarted(&self) -> bool {
        self.envelope["error"]["kind"] == "not_started"
    }

    fn commands(&self) -> impl Iterator<Item = &'a str> {
        let items = self.input["items"].as_array().into_iter().flatten();
        let commands = items
            .chain([self.input])
            .filter_map(|item| item["cmd"].as_str());
        commands.filter_map(job::token_of_command)
    }

    fn patch(&self) -> Option<&'a str> {
        self.input["patch"].as_str().and_then(job::token_of_patch)
    }

    fn follow_up(&self) -> Option<&'a str> {
        self.input["text"]
            .as_str()
            .and_then(job::token_of_follow_up)
    }
}

/// Returns every call that has a result; a missing result breaks another rule.
pub(super) fn calls(rows: &Rows) -> Vec<Call<'_>> {
    let mut inputs: BTreeMap<(i64, &str), &Value> = BTreeMap::new();
    let mut calls = Vec::new();
    for row in &rows.log {
        for block in row.entry["blocks"].as_array().into_iter().flatten() {
            if let Some(call) = block["id"].as_str() {
                inputs.insert((row.agent, call), &block["input"]);
            }
        }
        let call = row.entry["call_id"].as_str().unwrap_or_default();
        if let Some(input) = inputs.get(&(row.agent, call)) {
            calls.push(Call {
                source: format!("log entry {} of {}", row.seq, rows.name(row.agent)),
                input,
                envelope: &row.entry["envelope"],
            });
        }
    }
    calls
}

pub(super) fn count<'a>(words: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, u32> {
    let mut counts = BTreeMap::new();
    for word in words {
        *counts.entry(word).or_default() += 1;
    }
    counts
}

pub(super) fn repeated(counts: &BTreeMap<&str, u32>) -> Vec<String> {
    let twice = counts.iter().filter(|(_, times)| **times > 1);
    let violations = twice.map(|(token, times)| format!("{token} happened {times} times"));
    violations.collect()
}

/// Commands whose final line was read, or whose task ended well.
fn ended_commands(evidence: &Evidence) -> Vec<(String, String)> {
    let rows = &evidence.rows;
    let mut ended = Vec::new();
    for row in rows
        .log
        .iter()
        .filter(|row| row.entry["entry"] == "tool_result")
    {
        let source = format!("log entry {} of {}", row.seq, rows.name(row.agent));
        let envelope = row.entry["envelope"].to_string();
        let tokens = job::reported_in(&envelope);
        ended.extend(
            tokens
                .iter()
                .map(|token| ((*token).to_owned(), source.clone())),
        );
    }
    for run in &evidence.runs {
        let source = format!("the run of job {}", run.job);
        let tokens = job::reported_in(&run.text);
        ended.extend(
            tokens
                .iter()
                .map(|token| ((*token).to_owned(), source.clone())),
        );
    }
    let tasks = good_tasks(rows).map(|(task, token)| (token.to_owned(), task.to_owned()));
    ended.extend(tasks);
    ended
}

/// Tasks that ended with exit status 0, and the tokens of their commands.
fn good_tasks(rows: &Rows) -> impl Iterator<Item = (&str, &str)> {
    let good = rows
        .tasks
        .iter()
        .filter(|row| row.record["end"]["exit_status"] == 0);
    good.filter_map(|row| {
        let command = row.record["recovery"]["spec"]["cmd"].as_str()?;
        Some((row.id.as_str(), job::token_of_command(command)?))
    })
}

/// Words that a call reports as written to a task which then ended well: the task has read all of its input by then.
fn written_words<'a>(rows: &'a Rows, calls: &[Call<'_>]) -> Vec<Claim<'a>> {
    let writes = calls
        .iter()
        .filter(|call| call.took_input() && call.input["input"].is_string());
    let written: BTreeMap<&str, &str> = writes
        .filter_map(|call| Some((call.input["task_id"].as_str()?, call.source.as_str())))
        .collect();
    let read_words = good_tasks(rows).filter_map(|(task, token)| {
        let source = written.get(task)?;
        Some((token, (*source).to_owned()))
    });
    read_words.collect()
}

/// A patch is applied once, to all its files or to none, and exists if a call reports it.
fn patches(evidence: &Evidence, calls: &[Call<'_>]) -> Vec<String> {
    let mut found = Vec::new();
    for (workspace, left) in &evidence.workspaces {
        found.extend(incomplete_patches(workspace, left));
    }
    let present = patched_tokens(evidence);
    let applied = calls.iter().filter(|call| call.has_succeeded());
    let applied = applied.filter_map(|call| Some((call.patch()?, call.source.clone())));
    let of_runs = evidence.runs.iter().flat_map(|run| {
        let source = format!("the run of job {}", run.job);
        let tokens = job::patches_in(&run.text).into_iter();
        tokens.map(move |token| (token, source.clone()))
    });
    let lost = applied
        .chain(of_runs)
        .filter(|(token, _)| !present.contains(token));
    found.extend(lost.map(|(token, source)| {
        format!("patch {token} left nothing, and {source} says it was applied")
    }));
    found
}

/// Tokens of all patches that left a trace.
fn patched_tokens(evidence: &Evidence) -> BTreeSet<&str> {
    let workspaces = evidence.workspaces.values();
    let tokens = workspaces.flat_map(|left| {
        let files = left.files.iter().map(|name| job::token_of_file(name));
        files.chain(left.lines.iter().map(|(token, _)| token.as_str()))
    });
    tokens.collect()
}

fn incomplete_patches(workspace: &str, left: &PatchTraces) -> Vec<String> {
    let lines = count(left.lines.iter().map(|(token, _)| token.as_str()));
    let files: BTreeSet<&str> = left.files.iter().map(String::as_str).collect();
    let mut found = repeated(&lines);
    for (token, added) in &left.lines {
        let expected = (0..*added).map(|number| job::patched_file(token, number));
        let there = expected
            .filter(|name| files.contains(name.as_str()))
            .count();
        if there as u64 != *added || *added == 0 {
            found.push(format!("{token} has its line and {there} of {added} files"));
        }
    }
    let mut lineless = files
        .iter()
        .filter(|name| !lines.contains_key(job::token_of_file(name)));
    if let Some(name) = lineless.next() {
        let more = lineless.count();
        found.push(format!(
            "{name} and {more} more files are there, and no line for them"
        ));
    }
    let violations = found
        .iter()
        .map(|words| format!("{workspace}: patch {words}"));
    violations.collect()
}

/// A follow-up is one message, and it exists if a call reports it.
fn follow_ups(rows: &Rows, calls: &[Call<'_>]) -> Vec<String> {
    let texts = rows.messages.iter().map(|row| row.text.as_str());
    let queued = count(texts.filter_map(job::token_of_follow_up));
    let mut found = repeated(&queued);
    let promised = calls.iter().filter(|call| call.has_succeeded());
    let promised = promised.filter_map(|call| Some((call.follow_up()?, &call.source)));
    let lost = promised.filter(|(token, _)| !queued.contains_key(token));
    found.extend(lost.map(|(token, source)| {
        format!("follow-up {token} is no message, and {source} says it was queued")
    }));
    found
}

/// Effects of calls that were reported as not started.
fn never_started(
    evidence: &Evidence,
    calls: &[Call<'_>],
    marks: &BTreeMap<&str, u32>,
) -> Vec<String> {
    let patched = patched_tokens(evidence);
    let mut found = Vec::new();
    for call in calls.iter().filter(|call| call.is_unstarted()) {
        let begun = call
            .commands()
            .filter(|token| marks.contains_key(format!("{token}.b").as_str()));
        let applied = call.patch().filter(|token| patched.contains(token));
        let source = &call.source;
        let wrong = begun.chain(applied);
        found.extend(
            wrong.map(|token| format!("{token} took effect, and {source} says it was not started")),
        );
    }
    found
}
