//! Renders a batch for a model: a count, then each command under its number, even if its output was cut.

use super::envelope::{Batch, Item, Status};
use crate::lines::{FenceKey, line, section};
use crate::tool::command::{cmd_echo, left_running};
use holon_domain::tool::ToolErrorKind;
use std::fmt::Write as _;

/// Renders the receipt of a batch.
pub(crate) fn text(batch: &Batch, key: FenceKey<'_>) -> String {
    let mut text = batch.header();
    let why_skipped = why_skipped(batch);
    for item in &batch.items {
        add(&mut text, key, item, &why_skipped);
    }
    text
}

/// Explains why items were skipped.
fn why_skipped(batch: &Batch) -> String {
    let failed = batch
        .items
        .iter()
        .find(|item| item.status == Status::Failed);
    match failed {
        Some(item) if batch.stop_on_error => {
            let index = item.index;
            format!("item {index} failed, and stop_on_error skips what follows")
        }
        Some(_) | None => "the batch was interrupted before it".to_owned(),
    }
}

fn add(text: &mut String, key: FenceKey<'_>, item: &Item, why_skipped: &str) {
    line(text, &format!("[{}] {}", item.index, cmd_echo(&item.cmd)));
    line(text, &outcome(item, why_skipped));
    let left = left_running(
        item.leftover_processes.unwrap_or_default(),
        item.surviving_processes.unwrap_or_default(),
    );
    for words in left.chain(item.files.lines()) {
        line(text, &words);
    }
    section(text, key, "stdout", &item.stdout_preview);
    section(text, key, "stderr", &item.stderr_preview);
}

fn outcome(item: &Item, why_skipped: &str) -> String {
    let mut text = match (item.exit_status, item.status) {
        (Some(status), _) => format!("exit={status}"),
        (None, Status::Completed | Status::Failed) => without_status(item.error_kind).to_owned(),
        (None, Status::Skipped) => format!("not run: {why_skipped}"),
    };
    if let Some(signal) = item.signal {
        write!(text, ", ended by signal {signal}").ok();
    }
    if let Some(millis) = item.duration_ms {
        write!(text, " ({millis} ms)").ok();
    }
    if let (Some(kind), Some(message)) = (item.error_kind, &item.error_message) {
        write!(text, ", {kind}: {message}").ok();
    }
    text
}

/// Names the outcome of an item without an exit status.
fn without_status(why: Option<ToolErrorKind>) -> &'static str {
    if why == Some(ToolErrorKind::OutcomeUnknown) {
        "begun"
    } else if why == Some(ToolErrorKind::RunAborted) {
        "not run to its end"
    } else {
        "not run"
    }
}
