//! Renders a command for a model: the outcome first, so that it survives any later cut, then the output.
//!
//! Depends on the stored result alone.

use super::envelope::{CompletedCommand, Disposition, PromotedCommand, RunningDuplicate};
use crate::lines::{FenceKey, line, section, span, strip_complaints};
use crate::tool::command::{cmd_preview, left_running};
use std::fmt::Write as _;

/// Renders a result as a shell would show it.
pub(crate) fn text(result: &Disposition, key: FenceKey<'_>) -> String {
    match result {
        Disposition::Completed(completed) => completed_text(completed, key),
        Disposition::PromotedToTask(promoted) => promoted_text(promoted, key),
        Disposition::AlreadyRunning(running) => duplicate_text(running),
    }
}

fn completed_text(completed: &CompletedCommand, key: FenceKey<'_>) -> String {
    let mut text = format!("exit {}", completed.exit_status);
    // Writing to a string cannot fail, so the results are ignored.
    if let Some(signal) = completed.signal {
        write!(text, ", ended by signal {signal}").ok();
    }
    write!(text, " ({} ms)", completed.duration_ms).ok();
    let left = left_running(completed.leftover_processes, completed.surviving_processes);
    for words in left.chain(completed.files.lines()) {
        line(&mut text, &words);
    }
    section(&mut text, key, "stdout", &completed.stdout_preview);
    section(&mut text, key, "stderr", &completed.stderr_preview);
    if completed.stdout_preview.is_empty() && completed.stderr_preview.is_empty() {
        line(&mut text, "(no output)");
    }
    text
}

fn promoted_text(promoted: &PromotedCommand, key: FenceKey<'_>) -> String {
    let handle = &promoted.task_handle;
    let status = crate::tool::task::status_name(handle.status);
    let mut text = match promoted.waited_ms {
        _ if promoted.found_after_restart => format!(
            "the host was started again while it ran; it goes on as task {} ({status})",
            handle.task_id
        ),
        0 => format!("started as task {} ({status})", handle.task_id),
        millis => format!(
            "still running after {} as task {} ({status})",
            span(millis),
            handle.task_id
        ),
    };
    let complaints = promoted.initial_stderr_preview.as_deref();
    let names = match complaints {
        Some(_) => ("stdout so far", "stderr so far"),
        None => ("output so far", ""),
    };
    let complained = complaints.unwrap_or_default();
    let printed = strip_complaints(&promoted.initial_output_preview, complained);
    section(&mut text, key, names.0, printed);
    section(&mut text, key, names.1, complained);
    if promoted.initial_output_preview.is_empty() && complaints.is_none_or(str::is_empty) {
        line(&mut text, "(no output yet)");
    }
    line(&mut text, &next_steps(promoted));
    text
}

fn next_steps(promoted: &PromotedCommand) -> String {
    let mut cursor = format!("after_byte={}", promoted.next_offset);
    if let Some(offset) = promoted.next_stderr_offset {
        write!(cursor, " stderr_after_byte={offset}").ok();
    }
    let writes = if promoted.accepts_input {
        "TaskInput writes to it, "
    } else {
        ""
    };
    format!(
        "its result arrives as a message by itself: do other work or end the turn. TaskOutput with {cursor} reads what \
         is new, {writes}TaskStop ends it."
    )
}

fn duplicate_text(running: &RunningDuplicate) -> String {
    let handle = &running.task_handle;
    let mut text = format!(
        "already running as task {} ({}) for {}: nothing was started; duplicate_policy=start_new starts another",
        handle.task_id,
        crate::tool::task::status_name(handle.status),
        span(running.running_for_ms)
    );
    if let Some(command) = &running.command {
        let cmd = cmd_preview(&command.cmd);
        line(
            &mut text,
            &format!("command: {cmd} (in {})", command.workdir),
        );
    }
    line(&mut text, &running.instructions);
    text
}
