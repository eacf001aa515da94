//! Collects the files and commands of a turn while its calls end.
//!
//! Lists are bounded; the oldest entries go. A command is a check if it runs tests or a linter, which its words say.

use super::one_line;
use holon_domain::intent::{BatchItem, ExecCommand, HostAction, Intent};
use holon_domain::limits::{MEMORY_ENTRY_BYTES, MEMORY_FILES, MEMORY_TURN_COMMANDS};
use holon_domain::memory::TurnEvidence;
use holon_domain::text;
use holon_domain::tool::{ToolEnvelope, ToolOutcome};
use serde_json::Value;

/// Words of commands that test or check something.
const CHECK_WORDS: &[&str] = &[
    "check",
    "clippy",
    "ctest",
    "eslint",
    "jest",
    "lint",
    "mocha",
    "mypy",
    "nextest",
    "phpunit",
    "pytest",
    "rspec",
    "ruff",
    "test",
    "tests",
    "tox",
    "tsc",
    "typecheck",
    "unittest",
    "verify",
    "vet",
    "vitest",
];
/// Programs that only show something, whatever their arguments are called.
const VIEWERS: &[&str] = &[
    "awk", "cat", "cd", "cp", "diff", "echo", "find", "git", "grep", "head", "less", "ls", "mkdir",
    "mv", "printf", "rg", "rm", "sed", "sort", "tail", "touch", "wc",
];
/// Bytes of a command in an entry, so that its end has room behind it.
const COMMAND_BYTES: usize = MEMORY_ENTRY_BYTES - 24;

/// Notes what a call of the host came to.
pub(crate) fn note_call(evidence: &mut TurnEvidence, intent: &Intent, envelope: &ToolEnvelope) {
    let Intent::Host(action) = intent else {
        return;
    };
    let result = match &envelope.outcome {
        ToolOutcome::Success { result } => result,
        ToolOutcome::Error { .. } => &Value::Null,
    };
    match action {
        HostAction::ExecCommand(command) => note_command(evidence, command, result),
        HostAction::ExecCommandBatch(batch) => {
            for (place, item) in batch.items.iter().enumerate() {
                if let BatchItem::Command(command) = item {
                    note_command(evidence, command, &result["items"][place]);
                }
            }
        }
        HostAction::ApplyPatch(_) => note_files(evidence, result),
        _ => {}
    }
}

fn note_files(evidence: &mut TurnEvidence, result: &Value) {
    let paths = result["changed_paths"].as_array().into_iter().flatten();
    for path in paths.filter_map(Value::as_str).filter_map(one_line) {
        evidence.touched_files.retain(|known| *known != path);
        evidence.touched_files.insert(0, path);
    }
    evidence.touched_files.truncate(MEMORY_FILES);
}

/// Notes a command and its end. One that was never started leaves nothing.
fn note_command(evidence: &mut TurnEvidence, command: &ExecCommand, result: &Value) {
    let end = match (result["exit_status"].as_i64(), &result["disposition"]) {
        (Some(status), _) => format!("exit {status}"),
        (None, disposition) if disposition == "promoted_to_task" => "goes on as a task".to_owned(),
        (None, _) => return,
    };
    let Some(line) = one_line(&command.cmd) else {
        return;
    };
    let entry = format!("{}: {end}", text::preview(&line, COMMAND_BYTES));
    let list = if is_check(&command.cmd) {
        &mut evidence.verification
    } else {
        &mut evidence.commands
    };
    list.retain(|known| *known != entry);
    list.push(entry);
    let surplus = list.len().saturating_sub(MEMORY_TURN_COMMANDS);
    list.drain(..surplus);
}

/// Returns true if a part of a command line runs a test or a linter.
pub(super) fn is_check(cmd: &str) -> bool {
    let parts = cmd.split(['\n', ';', '|', '&']);
    parts.into_iter().any(|part| {
        let mut words = part.split_whitespace().map(stem);
        let Some(program) = words.next() else {
            return false;
        };
        let is_known = |word: &str| CHECK_WORDS.contains(&word);
        !VIEWERS.contains(&program) && (is_known(program) || words.any(is_known))
    })
}

/// Returns the name of a program without its directory and ending.
fn stem(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or(word);
    name.split_once('.').map_or(name, |(stem, _)| stem)
}
