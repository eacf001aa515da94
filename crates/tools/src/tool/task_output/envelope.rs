//! A look at a task's output, in the shape that is stored.
//!
//! Where a task stands is told by its row and by nothing else: a task that is over is read successfully also when its
//! files are gone. Invariant: both previews together stay within the call's output budget, markers aside.

use super::NAME;
use super::part::{Looked, Wanted, look};
use crate::lines::{joined, span};
use crate::preview::{self, Ends};
use crate::tool::command::shown_tokens;
use crate::tool::task;
use holon_domain::command::{MissingOutput, StreamPart, TaskStreams};
use holon_domain::intent::TaskOutput;
use holon_domain::limits::EVENT_PREVIEW_BYTES;
use holon_domain::task::{ArtifactRef, TaskOutputSnapshot, TaskRecord};
use holon_domain::text;
use holon_domain::time::Timestamp;
use holon_domain::tool::ToolEnvelope;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The result of a call, as it is stored and as its receipt is rendered from.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Retrieved {
    pub(crate) retrieval_status: RetrievalStatus,
    pub(crate) task: TaskOutputSnapshot,
    /// Since when it runs, for one that is not over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) running_for_ms: Option<u64>,
    /// Why its output could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) unreadable: Option<String>,
    /// Whether the wait for its end was broken off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) wait_cut_short: bool,
    /// The stream of which nothing is shown, because only the other was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) not_asked_for: Option<NotAskedFor>,
    /// The streams that end before the offset they were asked for from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) beyond_end: Vec<BeyondEnd>,
    /// What the file of its output does not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) output_lacks: Option<String>,
    /// The same of its complaints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stderr_lacks: Option<String>,
}

/// A stream that was not asked for.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct NotAskedFor {
    pub(crate) stream: StreamName,
    /// Bytes it has so far.
    pub(crate) bytes: u64,
}

/// A stream that was asked for from beyond its end.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct BeyondEnd {
    pub(crate) stream: StreamName,
    /// The offset as asked for.
    pub(crate) offset: u64,
    /// Bytes the stream has so far.
    pub(crate) bytes: u64,
}

impl BeyondEnd {
    fn of(stream: StreamName, offset: Option<u64>, part: Option<&StreamPart>) -> Option<Self> {
        let (offset, bytes) = (offset?, part?.total_bytes);
        (offset > bytes).then_some(Self {
            stream,
            offset,
            bytes,
        })
    }
}

/// Which stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StreamName {
    Output,
    Stderr,
}

/// Whether the look found the task's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RetrievalStatus {
    /// It is over.
    Success,
    /// It was waited for, and goes on.
    Timeout,
    /// It goes on.
    NotReady,
}

/// Bytes of one stream worth reading for a call: more than this is not shown.
#[must_use]
pub fn shown_bytes(query: &TaskOutput) -> usize {
    preview::budget(shown_tokens(query.max_output_tokens))
}

/// The envelope of a look at a task's output; `printed` is what was read of it, or why nothing could be.
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
    told(&looked(task, query, (printed, missed), now))
}

/// The same after a wait that was broken off before its time was up, because something else wants the turn.
#[must_use]
pub fn cut_short(
    task: &TaskRecord,
    query: &TaskOutput,
    printed: Result<&TaskStreams, &str>,
    now: Timestamp,
) -> ToolEnvelope {
    let result = looked(task, query, (printed, RetrievalStatus::NotReady), now);
    told(&Retrieved {
        wait_cut_short: result.retrieval_status != RetrievalStatus::Success,
        ..result
    })
}

fn told(result: &Retrieved) -> ToolEnvelope {
    ToolEnvelope::success(NAME, outcome(result), json!(result))
}

/// A look at a task, which `missed` its end if that has not come.
fn looked(
    task: &TaskRecord,
    query: &TaskOutput,
    (printed, missed): (Result<&TaskStreams, &str>, RetrievalStatus),
    now: Timestamp,
) -> Retrieved {
    let running = !task.status.is_terminal();
    let with_missing = printed
        .ok()
        .and_then(|printed| with_missing_stderr(task, printed));
    let printed = printed.map(|printed| with_missing.as_ref().unwrap_or(printed));
    let snapshot = match printed {
        Ok(printed) => with_output(bare(task), query, printed),
        Err(_) => with_last_words(bare(task), task, shown_bytes(query)),
    };
    let output = printed.ok().map(|printed| &printed.output);
    let stderr = printed.ok().and_then(|printed| printed.stderr.as_ref());
    let unasked = |stream: StreamName, part: Option<&StreamPart>| {
        part.map(|part| NotAskedFor {
            stream,
            bytes: part.total_bytes,
        })
    };
    Retrieved {
        retrieval_status: if running {
            missed
        } else {
            RetrievalStatus::Success
        },
        task: snapshot,
        running_for_ms: running.then(|| now.millis_since(task.runs_since())),
        unreadable: printed
            .err()
            .map(|reason| text::preview(reason, EVENT_PREVIEW_BYTES)),
        wait_cut_short: false,
        not_asked_for: match (query.wants_output(), query.wants_stderr()) {
            (false, _) => unasked(StreamName::Output, output),
            (true, false) => unasked(StreamName::Stderr, stderr),
            (true, true) => None,
        },
        beyond_end: [
            BeyondEnd::of(StreamName::Output, query.after_byte, output),
            BeyondEnd::of(StreamName::Stderr, query.stderr_after_byte, stderr),
        ]
        .into_iter()
        .flatten()
        .collect(),
        output_lacks: output.and_then(|part| part.lacks.words()),
        stderr_lacks: stderr.and_then(|part| part.lacks.words()),
    }
}

/// What was read with word of the complaints, where their file should be there and is not.
fn with_missing_stderr(task: &TaskRecord, printed: &TaskStreams) -> Option<TaskStreams> {
    let spec = task.command().filter(|spec| !spec.tty)?;
    let path = spec.stderr_path.clone()?;
    if printed.stderr.is_some() {
        return None;
    }
    Some(TaskStreams {
        output: printed.output.clone(),
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

/// Where the task stands, in one line.
pub(super) fn outcome(result: &Retrieved) -> String {
    let snapshot = &result.task;
    let status = task::spelled(snapshot.status);
    let told = format!("task {} {status}", snapshot.task_id);
    match (&snapshot.result_summary, result.running_for_ms) {
        (Some(summary), _) => {
            let prefix = format!("{status}: ");
            let summary = summary.strip_prefix(&prefix).unwrap_or(summary);
            format!("{told}: {summary}")
        }
        (None, Some(millis)) => format!("{told} for {}", span(millis)),
        (None, None) => told,
    }
}

/// What the row alone tells.
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
        stderr_artifact: None,
        result_summary: end.map(|end| end.result_summary.clone()),
        exit_status: end.and_then(|end| end.exit_status),
        failure_artifact: end.and_then(|end| end.failure_artifact.clone()),
    }
}

fn with_output(
    bare: TaskOutputSnapshot,
    query: &TaskOutput,
    printed: &TaskStreams,
) -> TaskOutputSnapshot {
    let wanted = |offset: Option<u64>, asked: bool| match (offset, query.tail_lines) {
        (Some(offset), _) => Wanted::From(offset),
        (None, _) if !asked => Wanted::Nothing,
        (None, Some(lines)) => Wanted::Last(lines),
        (None, None) => Wanted::Whole,
    };
    let held = |part: &StreamPart, asked: bool| if asked { Ends::from(part).held() } else { 0 };
    let (output, stderr) = (&printed.output, printed.stderr.as_ref());
    let (asks_output, asks_stderr) = (query.wants_output(), query.wants_stderr());
    let (for_output, for_stderr) = preview::divide(
        held(output, asks_output),
        stderr.map_or(0, |part| held(part, asks_stderr)),
        shown_bytes(query),
    );
    let output = look(output, wanted(query.after_byte, asks_output), for_output);
    let wanted = wanted(query.stderr_after_byte, asks_stderr);
    let stderr: Option<Looked> = stderr.map(|part| look(part, wanted, for_stderr));
    let mut artifacts = Vec::new();
    let output_artifact = file(&mut artifacts, &printed.output);
    let stderr_artifact = printed
        .stderr
        .as_ref()
        .and_then(|part| file(&mut artifacts, part));
    let stderr_preview = stderr.as_ref().filter(|_| asks_stderr);
    let stderr_preview = stderr_preview.map(|look| look.shown.text.clone());
    let stderr_bytes = printed.stderr.as_ref().map_or(0, |part| part.total_bytes);
    TaskOutputSnapshot {
        output_truncated: output.shown.cut || stderr.as_ref().is_some_and(|look| look.shown.cut),
        next_offset: Some(output.next_offset),
        next_stderr_offset: stderr.as_ref().map(|look| look.next_offset),
        output_preview: match (query.names_offset(), &stderr_preview) {
            (false, Some(complaints)) => joined(&output.shown.text, complaints),
            (true, _) | (false, None) => output.shown.text,
        },
        stderr_preview,
        output_bytes: Some(printed.output.total_bytes.saturating_add(stderr_bytes)),
        artifacts,
        output_artifact,
        stderr_artifact,
        ..bare
    }
}

fn file(artifacts: &mut Vec<ArtifactRef>, part: &StreamPart) -> Option<usize> {
    let path = part.path.clone()?;
    artifacts.push(ArtifactRef { path });
    Some(artifacts.len() - 1)
}

/// What the row keeps of the output for when its files are gone.
fn with_last_words(
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
