//! A look at a task's output, in the shape that is stored.
//!
//! Where a task stands is told by its row and by nothing else: a task that is over is read successfully also when its
//! files are gone. Invariant: both previews together stay within the call's output budget, markers aside.

use super::NAME;
use super::part::{Looked, Wanted, look};
use crate::lines::span;
use crate::preview;
use crate::tool::command::shown_tokens;
use crate::tool::task;
use holon_domain::command::{StreamPart, TaskPrinted};
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
    printed: Result<&TaskPrinted, &str>,
    now: Timestamp,
) -> ToolEnvelope {
    let running = !task.status.is_terminal();
    let retrieval_status = match (running, query.wait_ms) {
        (false, _) => RetrievalStatus::Success,
        (true, Some(_)) => RetrievalStatus::Timeout,
        (true, None) => RetrievalStatus::NotReady,
    };
    let snapshot = match printed {
        Ok(printed) => with_output(bare(task), query, printed),
        Err(_) => with_last_words(bare(task), task, shown_bytes(query)),
    };
    let result = Retrieved {
        retrieval_status,
        task: snapshot,
        running_for_ms: running.then(|| now.millis_since(task.created_at)),
        unreadable: printed
            .err()
            .map(|reason| text::preview(reason, EVENT_PREVIEW_BYTES)),
    };
    ToolEnvelope::success(NAME, outcome(&result), json!(result))
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
    printed: &TaskPrinted,
) -> TaskOutputSnapshot {
    let wanted = |offset: Option<u64>| match (offset, query.tail_lines) {
        (Some(offset), _) => Wanted::From(offset),
        (None, Some(lines)) => Wanted::Last(lines),
        (None, None) => Wanted::Whole,
    };
    let stderr_held = printed.stderr.as_ref().map_or(0, |part| part.text.len());
    let (for_output, for_stderr) =
        preview::divide(printed.output.text.len(), stderr_held, shown_bytes(query));
    let output = look(&printed.output, wanted(query.after_byte), for_output);
    let stderr: Option<Looked> = printed
        .stderr
        .as_ref()
        .map(|part| look(part, wanted(query.stderr_after_byte), for_stderr));
    let mut artifacts = Vec::new();
    let output_artifact = file(&mut artifacts, &printed.output);
    let stderr_artifact = printed
        .stderr
        .as_ref()
        .and_then(|part| file(&mut artifacts, part));
    let stderr_bytes = printed.stderr.as_ref().map_or(0, |part| part.total_bytes);
    TaskOutputSnapshot {
        output_truncated: output.shown.cut || stderr.as_ref().is_some_and(|look| look.shown.cut),
        next_offset: Some(output.next_offset),
        next_stderr_offset: stderr.as_ref().map(|look| look.next_offset),
        output_preview: output.shown.text,
        stderr_preview: stderr.map(|look| look.shown.text),
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
        output_truncated: end.output_bytes > last.len() as u64,
        output_preview: last.to_owned(),
        ..bare
    }
}
