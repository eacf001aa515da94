//! What a model reads of a look at a task: where it stands, what it printed, and where to read on.

use super::envelope::{RetrievalStatus, Retrieved, outcome};
use crate::lines::{line, section};
use holon_domain::task::TaskOutputSnapshot;
use std::fmt::Write as _;

/// The receipt.
pub(crate) fn text(result: &Retrieved) -> String {
    let task = &result.task;
    let mut text = outcome(result);
    if result.retrieval_status == RetrievalStatus::Timeout {
        line(
            &mut text,
            "its result arrives as a message by itself: do other work or end the turn",
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
    section(&mut text, name, &task.output_preview);
    section(&mut text, "stderr", complaints);
    if task.output_preview.is_empty() && complaints.is_empty() && result.unreadable.is_none() {
        let nothing = match task.output_bytes {
            Some(1..) => "(nothing new)",
            Some(0) | None => "(no output)",
        };
        line(&mut text, nothing);
    }
    if let Some(next) = next(task) {
        line(&mut text, &next);
    }
    if task.output_truncated {
        files(&mut text, task);
    }
    text
}

/// Where to read on. Of a task that is over and was shown whole there is nothing more.
fn next(task: &TaskOutputSnapshot) -> Option<String> {
    if task.status.is_terminal() && !task.output_truncated {
        return None;
    }
    let mut next = format!("next: after_byte={}", task.next_offset?);
    if let Some(offset) = task.next_stderr_offset {
        // Writing to a string cannot fail.
        write!(next, " stderr_after_byte={offset}").ok();
    }
    Some(next)
}

fn files(text: &mut String, task: &TaskOutputSnapshot) {
    for (name, index) in [
        ("output", task.output_artifact),
        ("stderr", task.stderr_artifact),
    ] {
        if let Some(file) = index.and_then(|index| task.artifacts.get(index)) {
            line(text, &format!("all of the {name}: {}", file.path));
        }
    }
}
