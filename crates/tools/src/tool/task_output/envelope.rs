//! The stored result of reading a task's output.
//!
//! The task's row alone decides its status: reading an ended task succeeds even if its files are gone. Invariant: both
//! previews together stay within the call's output budget, without the markers.

use super::NAME;
use super::part::{PartRequest, ShownPart, show_part};
use crate::lines::{join_streams, span};
use crate::preview::{self, Ends};
use crate::tool::command::shown_tokens;
use crate::tool::task;
use holon_domain::command::{MissingOutput, StreamPart, TaskStreams};
use holon_domain::intent::TaskOutput;
use holon_domain::limits::EVENT_PREVIEW_BYTES;
use holon_domain::task::{ArtifactRef, TaskKind, TaskOutputSnapshot, TaskRecord};
use holon_domain::text;
use holon_domain::time::Timestamp;
use holon_domain::tool::ToolEnvelope;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The result of a call as it is stored; its receipt is rendered from it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TaskOutputResult {
    pub(crate) retrieval_status: RetrievalStatus,
    pub(crate) task: TaskOutputSnapshot,
    /// Absent if the task has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) running_for_ms: Option<u64>,
    /// Reason why the output could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) unreadable: Option<String>,
    /// True if the wait for the task's end was interrupted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) wait_cut_short: bool,
    /// The stream that is not shown because only the other was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) not_asked_for: Option<UnrequestedStream>,
    /// The streams that end before the requested offset.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) beyond_end: Vec<OffsetPastEnd>,
    /// Description of what the file with the output lacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) output_lacks: Option<String>,
    /// Description of what the file with standard error lacks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stderr_lacks: Option<String>,
}

/// A stream that was not requested.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct UnrequestedStream {
    pub(crate) stream: StreamName,
    /// Bytes of the stream so far.
    pub(crate) bytes: u64,
}

/// A requested offset past the end of its stream.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct OffsetPastEnd {
    pub(crate) stream: StreamName,
    pub(crate) offset: u64,
    /// Bytes of the stream so far.
    pub(crate) bytes: u64,
}

impl OffsetPastEnd {
    fn of(stream: StreamName, offset: Option<u64>, part: Option<&StreamPart>) -> Option<Self> {
        let (offset, bytes) = (offset?, part?.total_bytes);
        (offset > bytes).then_some(Self {
            stream,
            offset,
            bytes,
        })
    }
}

/// Name of a stream in the stored result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StreamName {
    Output,
    Stderr,
}

/// State of the task at the time of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RetrievalStatus {
    /// The task has ended.
    Success,
    /// The call waited, and the task is still running.
    Timeout,
    /// The task is still running.
    NotReady,
}

/// Returns the bytes of one stream that are worth reading for a call; more is not shown.
#[must_use]
pub fn shown_bytes(query: &TaskOutput) -> usize {
    preview::budget(shown_tokens(query.max_output_tokens))
}

/// Builds the envelope; `printed` is the output that was read, or the reason why it could not be.
#[must_use]
pub fn envelope(
    task: &TaskRecord,
    query: &TaskOutput,
    printed: Result<&TaskStreams, &str>,
    now: Timestamp,
) -> ToolEnvelope {
    let missed = match query.wait_ms {
        Some(_) => RetrievalStatus::Timeout,
        None => RetrievalStatus::NotReady,
    };
    to_envelope(&build_result(task, query, printed, missed, now))
}

/// Builds the envelope after an interrupted wait, because something else needs the turn.
#[must_use]
pub fn cut_short(
    task: &TaskRecord,
    query: &TaskOutput,
    printed: Result<&TaskStreams, &str>,
    now: Timestamp,
) -> ToolEnvelope {
    let result = build_result(task, query, printed, RetrievalStatus::NotReady, now);
    to_envelope(&TaskOutputResult {
        wait_cut_short: result.retrieval_status != RetrievalStatus::Success,
        ..result
    })
}

fn to_envelope(result: &TaskOutputResult) -> ToolEnvelope {
    ToolEnvelope::success(NAME, outcome(result), json!(result))
}

/// Builds the result. `missed` is its status if the task is still running.
fn build_result(
    task: &TaskRecord,
    query: &TaskOutput,
    printed: Result<&TaskStreams, &str>,
    missed: RetrievalStatus,
    now: Timestamp,
) -> TaskOutputResult {
    let running = !task.status.is_terminal();
    let with_missing = printed
        .ok()
        .and_then(|printed| with_missing_stderr(task, printed));
    let printed = printed.map(|printed| with_missing.as_ref().unwrap_or(printed));
    let snapshot = match printed {
        Ok(printed) => with_output(bare(task), query, printed),
        Err(_) => with_last_output(bare(task), task, shown_bytes(query)),
    };
    let output = printed.ok().map(|printed| &printed.output);
    let stderr = printed.ok().and_then(|printed| printed.stderr.as_ref());
    let unrequested = |stream: StreamName, part: Option<&StreamPart>| {
        part.map(|part| UnrequestedStream {
            stream,
            bytes: part.total_bytes,
        })
    };
    TaskOutputResult {
        retrieval_status: if running {
            missed
        } else {
            RetrievalStatus::Success
        },
        task: snapshot,
        running_for_ms: running.then(|| now.millis_since(task.runs_since())),
        unreadable: printed
            .err()
            // A child has a report in place of output.
            .filter(|_| task.child().is_none())
            .map(|reason| text::preview(reason, EVENT_PREVIEW_BYTES)),
        wait_cut_short: false,
        not_asked_for: match (query.wants_output(), query.wants_stderr()) {
            (false, _) => unrequested(StreamName::Output, output),
            (true, false) => unrequested(StreamName::Stderr, stderr),
            (true, true) => None,
        },
        beyond_end: [
            OffsetPastEnd::of(StreamName::Output, query.after_byte, output),
            OffsetPastEnd::of(StreamName::Stderr, query.stderr_after_byte, stderr),
        ]
        .into_iter()
        .flatten()
        .collect(),
        output_lacks: output.and_then(|part| part.lacks.words()),
        stderr_lacks: stderr.and_then(|part| part.lacks.words()),
    }
}

/// Adds a note about standard error if its file should exist and does not.
fn with_missing_stderr(task: &TaskRecord, printed: &TaskStreams) -> Option<TaskStreams> {
    let spec = task.command().filter(|spec| !spec.tty)?;
    let path = spec.stderr_path.clone()?;
    if printed.stderr.is_some() {
        return None;
    }
    Some(TaskStreams {
        output: printed.output.clone(),
        combined: printed.combined.clone(),
        stderr: Some(StreamPart {
            path: Some(path),
            lacks: MissingOutput {
                missing: true,
                ..MissingOutput::default()
            },
            ..StreamPart::default()
        }),
    })
}

/// Renders the task's status in one line. The summary of a child that reported is the beginning of its report, which
/// stands in a fence, so the line leaves it out.
pub(super) fn outcome(result: &TaskOutputResult) -> String {
    let snapshot = &result.task;
    let status = task::status_name(snapshot.status);
    let told = format!("task {} {status}", snapshot.task_id);
    let summary = snapshot
        .result_summary
        .as_ref()
        .filter(|_| !is_reported(snapshot));
    match (summary, result.running_for_ms) {
        (Some(summary), _) => {
            let prefix = format!("{status}: ");
            let summary = summary.strip_prefix(&prefix).unwrap_or(summary);
            format!("{told}: {summary}")
        }
        (None, Some(millis)) => format!("{told} for {}", span(millis)),
        (None, None) => told,
    }
}

/// Returns true if a child wrote a report. The runtime's words about the end of a child leave no output behind.
const fn is_reported(snapshot: &TaskOutputSnapshot) -> bool {
    match snapshot.kind {
        TaskKind::CommandTask | TaskKind::SleepJob => false,
        TaskKind::ChildAgentTask | TaskKind::SubagentTask | TaskKind::WorktreeSubagentTask => {
            !matches!(snapshot.output_bytes, Some(0)) || !snapshot.output_preview.is_empty()
        }
    }
}

/// Builds the snapshot from the row alone.
fn bare(task: &TaskRecord) -> TaskOutputSnapshot {
    let end = task.end.as_ref();
    TaskOutputSnapshot {
        task_id: task.id.clone(),
        kind: task.kind,
        status: task.status,
        summary: task.summary.clone(),
        output_preview: String::new(),
        stderr_preview: None,
        output_truncated: false,
        next_offset: None,
        next_stderr_offset: None,
        output_bytes: end.map(|end| end.output_bytes),
        artifacts: Vec::new(),
        output_artifact: None,
        stdout_artifact: None,
        stderr_artifact: None,
        result_summary: end.map(|end| end.result_summary.clone()),
        exit_status: end.and_then(|end| end.exit_status),
        failure_artifact: end.and_then(|end| end.failure_artifact.clone()),
        child_supervision: task.child_supervision(),
    }
}

fn with_output(
    bare: TaskOutputSnapshot,
    query: &TaskOutput,
    printed: &TaskStreams,
) -> TaskOutputSnapshot {
    let request = |offset: Option<u64>, asked: bool| match (offset, query.tail_lines) {
        (Some(offset), _) => PartRequest::From(offset),
        (None, _) if !asked => PartRequest::Nothing,
        (None, Some(lines)) => PartRequest::Last(lines),
        (None, None) => PartRequest::Whole,
    };
    let held = |part: &StreamPart, asked: bool| if asked { Ends::from(part).held() } else { 0 };
    let (output, stderr) = (&printed.output, printed.stderr.as_ref());
    let (asks_output, asks_stderr) = (query.wants_output(), query.wants_stderr());
    let (for_output, for_stderr) = preview::divide(
        held(output, asks_output),
        stderr.map_or(0, |part| held(part, asks_stderr)),
        shown_bytes(query),
    );
    let output = show_part(output, request(query.after_byte, asks_output), for_output);
    let request = request(query.stderr_after_byte, asks_stderr);
    let stderr: Option<ShownPart> = stderr.map(|part| show_part(part, request, for_stderr));
    let mut artifacts = Vec::new();
    let stdout_artifact = file(&mut artifacts, printed.output.path.as_ref());
    let stderr_artifact = printed
        .stderr
        .as_ref()
        .and_then(|part| file(&mut artifacts, part.path.as_ref()));
    let combined = file(&mut artifacts, printed.combined.as_ref());
    let stderr_preview = stderr.as_ref().filter(|_| asks_stderr);
    let stderr_preview = stderr_preview.map(|part| part.shown.text.clone());
    let stderr_bytes = printed.stderr.as_ref().map_or(0, |part| part.total_bytes);
    TaskOutputSnapshot {
        output_truncated: output.shown.cut || stderr.as_ref().is_some_and(|part| part.shown.cut),
        next_offset: Some(output.next_offset),
        next_stderr_offset: stderr.as_ref().map(|part| part.next_offset),
        output_preview: match (query.names_offset(), &stderr_preview) {
            (false, Some(complaints)) => join_streams(&output.shown.text, complaints),
            (true, _) | (false, None) => output.shown.text,
        },
        stderr_preview,
        output_bytes: Some(printed.output.total_bytes.saturating_add(stderr_bytes)),
        artifacts,
        output_artifact: combined.or(stdout_artifact),
        stdout_artifact,
        stderr_artifact,
        ..bare
    }
}

fn file(artifacts: &mut Vec<ArtifactRef>, path: Option<&String>) -> Option<usize> {
    let path = path.cloned()?;
    artifacts.push(ArtifactRef { path });
    Some(artifacts.len() - 1)
}

/// Adds the last output from the row, for a task whose files are gone.
fn with_last_output(
    bare: TaskOutputSnapshot,
    task: &TaskRecord,
    budget: usize,
) -> TaskOutputSnapshot {
    let Some(end) = &task.end else {
        return bare;
    };
    let last = text::suffix(&end.output_summary, budget);
    TaskOutputSnapshot {
        output_truncated: end.lacks_output() || last.len() < end.output_summary.len(),
        output_preview: last.to_owned(),
        ..bare
    }
}
