//! Renders the result for a model: the task's status, its output, and the offset to continue at.

use super::envelope::{
    OffsetPastEnd, RetrievalStatus, StreamName, TaskOutputResult, UnrequestedStream, outcome,
};
use crate::lines::{FenceKey, line, section, strip_complaints};
use holon_domain::delegation::{ChildSupervision, CleanupStatus};
use holon_domain::marker;
use holon_domain::task::TaskOutputSnapshot;
use std::fmt::Write as _;

/// Renders the receipt of a call.
pub(crate) fn text(result: &TaskOutputResult, key: FenceKey<'_>) -> String {
    let task = &result.task;
    let mut text = outcome(result);
    if result.retrieval_status == RetrievalStatus::Timeout {
        line(
            &mut text,
            "its result arrives as a message by itself: do other work or end the turn",
        );
    }
    if result.wait_cut_short {
        line(
            &mut text,
            "the wait for its end was broken off: something else has come for you",
        );
    }
    if let Some(reason) = &result.unreadable {
        line(
            &mut text,
            &format!("its output could not be read: {reason}"),
        );
    }
    let name = match result.unreadable {
        Some(_) => "the last it printed",
        None => "output",
    };
    let complaints = task.stderr_preview.as_deref().unwrap_or_default();
    let output = strip_complaints(&task.output_preview, complaints);
    // A child or a command might write the markers of messages.
    section(&mut text, key, name, &marker::without_markers(output));
    let shown = marker::without_markers(complaints);
    section(&mut text, key, "stderr", &shown);
    for beyond in &result.beyond_end {
        line(&mut text, &too_far(*beyond));
    }
    let silent = task.output_preview.is_empty() && complaints.is_empty();
    let all_read = result.unreadable.is_none()
        && result.output_lacks.is_none()
        && result.stderr_lacks.is_none();
    if silent && all_read && result.beyond_end.is_empty() {
        let nothing = match task.output_bytes {
            Some(1..) => "(nothing new)",
            Some(0) | None => "(no output)",
        };
        line(&mut text, nothing);
    }
    if let Some(unrequested) = result.not_asked_for.filter(|stream| stream.bytes > 0) {
        line(&mut text, &size(unrequested, task));
    }
    if let Some(next) = next(result) {
        line(&mut text, &next);
    }
    files(&mut text, result);
    if let Some(child) = &task.child_supervision {
        kept_worktree(&mut text, child);
    }
    text
}

/// Says why the worktree of an ended child was kept, and which files differ there.
fn kept_worktree(text: &mut String, child: &ChildSupervision) {
    if child.cleanup_status == Some(CleanupStatus::Pending) {
        line(
            text,
            "its worktree has not been looked at yet; ask again to learn whether it is kept",
        );
    }
    if !child.kept_reasons.is_empty() {
        let reasons = child.kept_reasons.join("; ");
        line(text, &format!("its worktree was kept: {reasons}"));
    }
    if !child.changed_files.is_empty() {
        let files = child.changed_files.join(", ");
        let told = match child.changed_files_total {
            Some(total) => format!("changed files ({total}): {files}"),
            None => format!("files its patches changed, the newest first: {files}"),
        };
        line(text, &told);
    }
}

/// Describes a stream that was not requested.
fn size(
    UnrequestedStream { stream, bytes }: UnrequestedStream,
    task: &TaskOutputSnapshot,
) -> String {
    let (name, argument, next) = match stream {
        StreamName::Output => ("output", "after_byte", task.next_offset),
        StreamName::Stderr => ("stderr", "stderr_after_byte", task.next_stderr_offset),
    };
    let next = next.unwrap_or(bytes);
    format!(
        "{name} was not asked for: {bytes} bytes so far; {argument}=0 shows them, {argument}={next} what comes after"
    )
}

/// Describes an offset past the end of its stream.
fn too_far(beyond: OffsetPastEnd) -> String {
    let OffsetPastEnd {
        stream,
        offset,
        bytes,
    } = beyond;
    let (name, argument) = match stream {
        StreamName::Output => ("output", "after_byte"),
        StreamName::Stderr => ("stderr", "stderr_after_byte"),
    };
    format!("{argument}={offset} lies beyond the end of the {name}, which has {bytes} bytes so far")
}

/// Names the offsets to continue at; `None` for an ended task that was shown in full.
fn next(result: &TaskOutputResult) -> Option<String> {
    let task = &result.task;
    if task.status.is_terminal() && !task.output_truncated {
        return None;
    }
    let unrequested = result.not_asked_for.map(|unrequested| unrequested.stream);
    let mut next = "next:".to_owned();
    if unrequested != Some(StreamName::Output) {
        // Writing to a string cannot fail, here and below.
        write!(next, " after_byte={}", task.next_offset?).ok();
    }
    if let Some(offset) = task.next_stderr_offset
        && unrequested != Some(StreamName::Stderr)
    {
        write!(next, " stderr_after_byte={offset}").ok();
    }
    Some(next).filter(|next| next.ends_with(|last: char| last.is_ascii_digit()))
}

/// Names the files if they hold more than is shown, or less than was printed.
fn files(text: &mut String, result: &TaskOutputResult) {
    let task = &result.task;
    let unrequested = result.not_asked_for.map(|unrequested| unrequested.stream);
    for (stream, name, index, lacks) in [
        (
            StreamName::Output,
            "output",
            task.stdout_artifact.or(task.output_artifact),
            &result.output_lacks,
        ),
        (
            StreamName::Stderr,
            "stderr",
            task.stderr_artifact,
            &result.stderr_lacks,
        ),
    ] {
        let Some(file) = index.and_then(|index| task.artifacts.get(index)) else {
            continue;
        };
        if unrequested == Some(stream) {
            continue;
        }
        match lacks {
            Some(lacks) => line(
                text,
                &format!("the file of the {name} {lacks}: {}", file.path),
            ),
            None if task.output_truncated => {
                line(text, &format!("all of the {name}: {}", file.path));
            }
            None => {}
        }
    }
    let combined = task.output_artifact.filter(|index| {
        task.stdout_artifact.is_some_and(|stdout| stdout != *index) && task.output_truncated
    });
    if let Some(file) = combined.and_then(|index| task.artifacts.get(index)) {
        line(text, &format!("both in order: {}", file.path));
    }
}
