//! Shared by the tools that run commands: rules for arguments, descriptions of failures, and the files with the full
//! output.
//!
//! Errors are about a `Subject`, so this file does not know the calling tool. Invariant: a command repeated in a
//! message is shortened.

use crate::input::Subject;
use crate::preview::{Previews, ShownText};
use holon_domain::command::{CapturedStream, CommandFailure, CommandOutput};
use holon_domain::limits::{EVENT_PREVIEW_BYTES, FAILURE_SUMMARY_BYTES, TASK_SUMMARY_BYTES};
use holon_domain::task::ArtifactRef;
use holon_domain::text;
use holon_domain::tool::{ToolError, ToolErrorKind, ToolOutputBudget};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Error detail of a lost command that holds its last output.
pub(crate) const OUTPUT_TAIL: &str = "output_tail";
/// Error detail of a lost command that holds the command text.
pub(crate) const RUN_AGAIN: &str = "run_again";

/// Checks the command text; an empty one is refused.
pub(crate) fn cmd(subject: Subject<'_>, value: String) -> Result<String, ToolError> {
    if value.trim().is_empty() {
        return Err(subject
            .invalid(Some("cmd"), "the command is empty")
            .hint("give the command to run"));
    }
    refuse_nul(subject, "cmd", value)
}

/// Reads an optional text; models write an empty one for "none".
pub(crate) fn optional_text(
    subject: Subject<'_>,
    field: &str,
    value: Option<String>,
) -> Result<Option<String>, ToolError> {
    value
        .filter(|value| !value.trim().is_empty())
        .map(|value| refuse_nul(subject, field, value))
        .transpose()
}

/// Refuses a NUL byte, which no operating system accepts in an argument or a path. The error names the argument.
fn refuse_nul(subject: Subject<'_>, field: &str, value: String) -> Result<String, ToolError> {
    if value.contains('\0') {
        return Err(subject
            .invalid(Some(field), "it contains a NUL character")
            .hint("remove the NUL character"));
    }
    Ok(value)
}

/// Checks the requested output budget; the host may still reduce it.
pub(crate) fn output_tokens(
    subject: Subject<'_>,
    asked: Option<u64>,
) -> Result<Option<u32>, ToolError> {
    if asked == Some(0) {
        let hint = "leave max_output_tokens out for the usual amount, or give at least 1";
        return Err(subject
            .invalid(Some("max_output_tokens"), "it must be at least 1")
            .hint(hint));
    }
    Ok(asked.map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX)))
}

/// Returns the output budget in tokens: what the host allowed, or the default.
pub(crate) fn shown_tokens(allowed: Option<u32>) -> u32 {
    ToolOutputBudget::default().allow(allowed)
}

/// Renders one line for each kind of process that was still there when a command had ended.
pub(crate) fn left_running(leftovers: u32, survivors: u32) -> impl Iterator<Item = String> {
    [
        ("processes it left running were stopped", leftovers),
        (
            "processes of it could not be stopped and may still run",
            survivors,
        ),
    ]
    .into_iter()
    .filter(|(_, count)| *count > 0)
    .map(|(what, count)| format!("{what}: {count}"))
}

/// Repeats a command on one line as it was written: blanks may matter to it. A line break becomes `⏎`.
pub(crate) fn cmd_echo(cmd: &str) -> String {
    let beginning = text::prefix(cmd.trim(), EVENT_PREVIEW_BYTES * 4);
    let line = beginning.replace("\r\n", "\n").replace(['\n', '\r'], "⏎");
    text::preview(&line, EVENT_PREVIEW_BYTES)
}

/// Shortens a command to one line. Runs of blanks become one.
pub(crate) fn cmd_preview(cmd: &str) -> String {
    // The beginning is enough, even of a very long command.
    let beginning = text::prefix(cmd, EVENT_PREVIEW_BYTES * 4);
    let line: Vec<&str> = beginning.split_whitespace().collect();
    text::preview(&line.join(" "), EVENT_PREVIEW_BYTES)
}

/// Files that hold what was cut out of a command's output, and the stream of each.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Files {
    artifacts: Vec<ArtifactRef>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stdout_artifact: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stderr_artifact: Option<usize>,
    /// Description of what the file itself lacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stdout_lacks: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stderr_lacks: Option<String>,
}

impl Files {
    /// Collects the files of a finished command. A stream that is shown in full needs no file.
    pub(crate) fn of(output: &CommandOutput, previews: &Previews) -> Self {
        let mut files = Self {
            stdout_lacks: output.stdout.lacks.words(),
            stderr_lacks: output.stderr.lacks.words(),
            ..Self::default()
        };
        files.stdout_artifact = files.add(&output.stdout, &previews.stdout);
        files.stderr_artifact = files.add(&output.stderr, &previews.stderr);
        files
    }

    fn add(&mut self, stream: &CapturedStream, shown: &ShownText) -> Option<usize> {
        let path = stream.path.clone().filter(|_| shown.cut)?;
        self.artifacts.push(ArtifactRef { path });
        Some(self.artifacts.len() - 1)
    }

    /// Renders one line for each stream that was cut.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> {
        [
            ("stdout", self.stdout_artifact, &self.stdout_lacks),
            ("stderr", self.stderr_artifact, &self.stderr_lacks),
        ]
        .into_iter()
        .filter_map(|(name, index, lacks)| {
            let file = self.artifacts.get(index?)?;
            let holds = match lacks {
                Some(lacks) => format!("its file {lacks}"),
                None => "all of it".to_owned(),
            };
            Some(format!("{name} is cut here; {holds}: {}", file.path))
        })
    }
}

/// Describes a command that did not run to its end for a model.
pub(crate) fn explain(cmd: &str, workdir: Option<&str>, failure: &CommandFailure) -> ToolError {
    let (kind, details, hint) = match failure {
        CommandFailure::OutsideRoot {
            workdir,
            execution_root,
        } => (
            ToolErrorKind::ExecutionRootViolation,
            json!({"field": "workdir", "workdir": brief(workdir), "execution_root": brief(execution_root)}),
            "omit workdir or give a path inside the execution root; where paths are not enforced, `cd DIR && …` in the \
             command works",
        ),
        CommandFailure::MissingWorkdir { workdir } => (
            ToolErrorKind::CommandSpawnFailed,
            json!({"field": "workdir", "workdir": brief(workdir)}),
            "omit workdir, give a directory that exists, or make it first",
        ),
        CommandFailure::WorkdirNoDirectory { workdir } => (
            ToolErrorKind::CommandSpawnFailed,
            json!({"field": "workdir", "workdir": brief(workdir)}),
            "omit workdir or give a directory, such as the one the file is in",
        ),
        CommandFailure::Spawn { reason } => (
            ToolErrorKind::CommandSpawnFailed,
            json!({"reason": brief(reason), "cmd_preview": cmd_preview(cmd)}),
            // The message itself says what to do; a second piece of advice might contradict it.
            "nothing was run; put right what the message names, then make the call again",
        ),
        CommandFailure::Cancelled => (
            ToolErrorKind::RunAborted,
            json!({"cmd_preview": cmd_preview(cmd)}),
            "it may have done part of its work: look before you repeat it",
        ),
        CommandFailure::Lost { output_tail, .. } => (
            ToolErrorKind::OutcomeUnknown,
            lost_details(cmd, workdir, output_tail),
            "it may have done all, part or nothing of its work: look before you run it again",
        ),
    };
    let message = text::preview(&failure.to_string(), FAILURE_SUMMARY_BYTES);
    ToolError::new(kind, message).details(details).hint(hint)
}

/// Details of a lost command: its text for running it again, and its last output.
fn lost_details(cmd: &str, workdir: Option<&str>, output_tail: &str) -> Value {
    let mut details = json!({ OUTPUT_TAIL: text::suffix(output_tail, TASK_SUMMARY_BYTES) });
    let again = if cmd.len() <= TASK_SUMMARY_BYTES {
        cmd.to_owned()
    } else {
        // Too long to repeat; the call contains it.
        format!("{} (as in the call)", cmd_preview(cmd))
    };
    details[RUN_AGAIN] = json!(again);
    if let Some(workdir) = workdir {
        details["workdir"] = json!(brief(workdir));
    }
    details
}

fn brief(text: &str) -> String {
    text::preview(text, EVENT_PREVIEW_BYTES)
}
