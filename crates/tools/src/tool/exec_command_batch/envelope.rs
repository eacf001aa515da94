//! The stored result of a batch: one entry for each command, with its outcome.
//!
//! The call succeeds even if items fail. Invariant: the shown output of all items together is bounded. An item shows at
//! most its own budget, and the batch at most twice the largest of these budgets, and never more than any call may
//! show; budget that quiet items do not need goes to the others.

use super::NAME;
use crate::preview::{self, Ends, Previews};
use crate::tool::command::{self, Files, shown_tokens};
use holon_domain::command::{CommandEnd, CommandFailure, CommandOutput};
use holon_domain::intent::{BatchItem, ExecCommand, ExecCommandBatch};
use holon_domain::limits::{FAILURE_SUMMARY_BYTES, TOOL_OUTPUT_TOKENS_MAX};
use holon_domain::text;
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind, ToolOutcome};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Output of a batch as a multiple of its largest item's budget: it stands for several calls, but is read as one.
const SHARED_BUDGETS: usize = 2;

/// Outcome of one command of a batch.
#[derive(Debug, Clone, PartialEq)]
pub enum ItemOutcome {
    /// Ran to its end, or was stopped at its time limit.
    Ran(CommandOutput),
    /// Was not run, or it is unknown whether it ran.
    NotRun(CommandFailure),
    /// Its arguments are invalid.
    Rejected(ToolError),
    /// Was not started, because an earlier item failed or the call was cancelled.
    Skipped,
}

impl ItemOutcome {
    /// Returns true if the item failed; with `stop_on_error` the rest is then skipped.
    #[must_use]
    pub const fn failed(&self) -> bool {
        match self {
            Self::Ran(output) => match output.end {
                CommandEnd::Exited { status } => status != 0,
                CommandEnd::Signalled { .. } | CommandEnd::TimedOut => true,
            },
            Self::NotRun(_) | Self::Rejected(_) => true,
            Self::Skipped => false,
        }
    }

    /// Returns the bytes available to be shown.
    fn held(&self) -> usize {
        match self {
            Self::Ran(output) => {
                Ends::from(&output.stdout).held() + Ends::from(&output.stderr).held()
            }
            Self::NotRun(CommandFailure::Lost { output_tail, .. }) => output_tail.len(),
            Self::NotRun(
                CommandFailure::OutsideRoot { .. }
                | CommandFailure::MissingWorkdir { .. }
                | CommandFailure::WorkdirNoDirectory { .. }
                | CommandFailure::Spawn { .. }
                | CommandFailure::Cancelled,
            )
            | Self::Rejected(_)
            | Self::Skipped => 0,
        }
    }

    const fn status(&self) -> Status {
        match self {
            Self::Skipped => Status::Skipped,
            Self::Ran(_) | Self::NotRun(_) | Self::Rejected(_) if self.failed() => Status::Failed,
            Self::Ran(_) | Self::NotRun(_) | Self::Rejected(_) => Status::Completed,
        }
    }
}

/// The result of a call as it is stored; its receipt is rendered from it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Batch {
    pub(crate) item_count: usize,
    pub(crate) completed_count: usize,
    pub(crate) failed_count: usize,
    /// Failed items whose arguments are invalid; also part of the failed count.
    rejected_count: usize,
    pub(crate) skipped_count: usize,
    pub(crate) stop_on_error: bool,
    pub(crate) items: Vec<Item>,
}

impl Batch {
    /// Renders the number of items per outcome.
    pub(crate) fn header(&self) -> String {
        let mut text = format!(
            "{}/{} items completed",
            self.completed_count, self.item_count
        );
        for (count, what) in [
            (self.failed_count, "failed"),
            (self.skipped_count, "skipped"),
        ] {
            if count > 0 {
                // Writing to a string cannot fail.
                write!(text, ", {count} {what}").ok();
            }
        }
        text
    }
}

/// State of an item in the stored result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    Completed,
    Failed,
    Skipped,
}

/// One command of the batch in the stored result.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Item {
    /// The first item is 1.
    pub(crate) index: usize,
    pub(crate) cmd: String,
    pub(crate) status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) exit_status: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) signal: Option<i32>,
    pub(crate) stdout_preview: String,
    pub(crate) stderr_preview: String,
    truncated: bool,
    #[serde(flatten)]
    pub(crate) files: Files,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) duration_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) leftover_processes: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) surviving_processes: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error_kind: Option<ToolErrorKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error_message: Option<String>,
}

/// Builds the envelope of a batch. Items without an outcome count as skipped.
#[must_use]
pub fn completed(batch: &ExecCommandBatch, outcomes: &[ItemOutcome]) -> ToolEnvelope {
    let outcomes = outcomes
        .iter()
        .chain(std::iter::repeat(&ItemOutcome::Skipped));
    let pairs: Vec<(&BatchItem, &ItemOutcome)> = batch.items.iter().zip(outcomes).collect();
    let items: Vec<Item> = pairs
        .iter()
        .zip(budgets(&pairs))
        .enumerate()
        .map(|(place, ((asked, outcome), budget))| item(place + 1, asked, outcome, budget))
        .collect();
    let count = |status: Status| items.iter().filter(|item| item.status == status).count();
    let result = Batch {
        item_count: items.len(),
        completed_count: count(Status::Completed),
        failed_count: count(Status::Failed),
        rejected_count: pairs
            .iter()
            .filter(|(_, outcome)| matches!(outcome, ItemOutcome::Rejected(_)))
            .count(),
        skipped_count: count(Status::Skipped),
        stop_on_error: batch.stop_on_error,
        items,
    };
    ToolEnvelope::success(NAME, result.header(), json!(result))
}

/// Divides the output budget among the items, in bytes.
fn budgets(pairs: &[(&BatchItem, &ItemOutcome)]) -> Vec<usize> {
    let own = |item: &BatchItem| match item {
        BatchItem::Command(command) => preview::budget(shown_tokens(command.max_output_tokens)),
        BatchItem::Rejected(_) => 0,
    };
    let largest = pairs.iter().map(|(item, _)| own(item)).max();
    let most = preview::budget(TOOL_OUTPUT_TOKENS_MAX);
    let shared = largest
        .unwrap_or_default()
        .saturating_mul(SHARED_BUDGETS)
        .min(most);
    let needs: Vec<usize> = pairs
        .iter()
        .map(|(item, outcome)| outcome.held().min(own(item)))
        .collect();
    preview::divide_evenly(&needs, shared)
}

fn item(index: usize, asked: &BatchItem, outcome: &ItemOutcome, budget: usize) -> Item {
    let cmd = match asked {
        BatchItem::Command(command) => &command.cmd,
        BatchItem::Rejected(rejected) => &rejected.written,
    };
    let bare = Item {
        index,
        cmd: text::preview(cmd, FAILURE_SUMMARY_BYTES),
        status: outcome.status(),
        exit_status: None,
        signal: None,
        stdout_preview: String::new(),
        stderr_preview: String::new(),
        truncated: false,
        files: Files::default(),
        duration_ms: None,
        leftover_processes: None,
        surviving_processes: None,
        error_kind: None,
        error_message: None,
    };
    match (outcome, asked) {
        (ItemOutcome::Ran(output), BatchItem::Command(command)) => {
            ran(bare, command, output, budget)
        }
        (ItemOutcome::NotRun(failure), BatchItem::Command(command)) => {
            not_run(bare, command, failure, budget)
        }
        (ItemOutcome::Rejected(error), _) => Item {
            error_kind: Some(error.kind),
            error_message: Some(with_hint(error.clone())),
            ..bare
        },
        // An item with invalid arguments was not run.
        (ItemOutcome::Ran(_) | ItemOutcome::NotRun(_), BatchItem::Rejected(_))
        | (ItemOutcome::Skipped, _) => bare,
    }
}

fn with_hint(error: ToolError) -> String {
    match error.recovery_hint {
        Some(hint) => format!("{}; {hint}", error.message),
        None => error.message,
    }
}

fn ran(bare: Item, command: &ExecCommand, output: &CommandOutput, budget: usize) -> Item {
    let previews: Previews = preview::cut_streams(&output.stdout, &output.stderr, budget);
    let (exit_status, signal) = (output.end.exit_status(), output.end.signal());
    let (error_kind, error_message) = match output.end {
        CommandEnd::TimedOut => (
            Some(ToolErrorKind::CommandTimedOut),
            Some(format!(
                "stopped after {} ms, its time limit",
                command.yield_time_ms
            )),
        ),
        CommandEnd::Exited { .. } | CommandEnd::Signalled { .. } => (None, None),
    };
    Item {
        exit_status: Some(exit_status),
        signal,
        truncated: previews.truncated(),
        files: Files::of(output, &previews),
        stdout_preview: previews.stdout.text,
        stderr_preview: previews.stderr.text,
        duration_ms: Some(output.duration_ms),
        leftover_processes: Some(output.leftovers).filter(|count| *count > 0),
        surviving_processes: Some(output.survivors).filter(|count| *count > 0),
        error_kind,
        error_message,
        ..bare
    }
}

fn not_run(bare: Item, command: &ExecCommand, failure: &CommandFailure, budget: usize) -> Item {
    let error = command::explain(&command.cmd, command.workdir.as_deref(), failure);
    let last = match failure {
        CommandFailure::Lost { output_tail, .. } => text::suffix(output_tail, budget),
        CommandFailure::OutsideRoot { .. }
        | CommandFailure::MissingWorkdir { .. }
        | CommandFailure::WorkdirNoDirectory { .. }
        | CommandFailure::Spawn { .. }
        | CommandFailure::Cancelled => "",
    };
    Item {
        stdout_preview: last.to_owned(),
        error_kind: Some(error.kind),
        error_message: Some(with_hint(error)),
        ..bare
    }
}

/// Returns the number of commands the call ran: items that ended by themselves or at their time limit, or started and
/// were lost. Items that were skipped or could not be started do not count.
#[must_use]
pub fn commands_run(envelope: &ToolEnvelope) -> u64 {
    let items = match &envelope.outcome {
        ToolOutcome::Success { result } if envelope.tool_name == NAME => result["items"].as_array(),
        ToolOutcome::Success { .. } | ToolOutcome::Error { .. } => None,
    };
    let lost = json!(ToolErrorKind::OutcomeUnknown);
    let ran = |item: &&Value| item["exit_status"].is_i64() || item["error_kind"] == lost;
    items.map_or(0, |items| items.iter().filter(ran).count() as u64)
}
