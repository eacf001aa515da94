//! The end of a task: its final status, the stored record and the message that reports it.

use crate::admission::{self, Provenance};
use crate::draft::Draft;
use crate::ingress::Ingress;
use crate::rest::self_caused_priority;
use crate::wait;
use holon_domain::authority::AuthorityClass;
use holon_domain::command::{CapturedStream, CommandEnd, CommandOutput};
use holon_domain::event::{Event, TaskResultReceived};
use holon_domain::failure::{FailureArtifact, FailureCategory};
use holon_domain::message::{
    AdmissionContext, Body, Cause, DeliverySurface, MessageKind, Origin, Priority,
};
use holon_domain::queue::QueueEntry;
use holon_domain::send::ChildEnd;
use holon_domain::task::{TaskEnd, TaskRecord, TaskRecoverySpec, TaskReport, TaskStatus};
use holon_domain::wait::WaitRecord;
use holon_domain::work_item::WorkItemState;
use holon_domain::{Timestamp, limits, text};
use serde_json::json;
use std::fmt::Write as _;

/// Derives the final status of a task. Only a command that a stop has ended is cancelled; one that ended before the
/// stop reached it has its own status.
const fn status(report: &TaskReport) -> TaskStatus {
    match report {
        TaskReport::Lost { .. } => TaskStatus::Interrupted,
        TaskReport::NotStarted { .. } => TaskStatus::Failed,
        TaskReport::Ended(output) if output.stopped => TaskStatus::Cancelled,
        TaskReport::Ended(output) => match output.end {
            CommandEnd::Exited { status: 0 } => TaskStatus::Completed,
            CommandEnd::Exited { .. } | CommandEnd::Signalled { .. } | CommandEnd::TimedOut => {
                TaskStatus::Failed
            }
        },
    }
}

/// Builds the stored end of a command's task.
pub(super) fn of_command(
    task: &TaskRecord,
    report: &TaskReport,
    now: Timestamp,
) -> (TaskStatus, TaskEnd) {
    let status = status(report);
    let end = match report {
        TaskReport::Ended(output) => of_ended(task, status, output, now),
        TaskReport::NotStarted { reason } => {
            let summary = text::preview(reason, limits::FAILURE_SUMMARY_BYTES);
            TaskEnd {
                duration_ms: None,
                failure_artifact: Some(artifact(task, "command_not_started", &summary, None)),
                ..without_output(task, &summary, now)
            }
        }
        TaskReport::Lost {
            reason,
            stdout,
            stderr,
        } => {
            let again = task.command().map_or(String::new(), |spec| {
                format!("; to run it again: {}", spec.cmd)
            });
            let summary = text::preview(&format!("{reason}{again}"), limits::FAILURE_SUMMARY_BYTES);
            let said = output_tail(stdout, stderr);
            TaskEnd {
                ended_at: now,
                exit_status: None,
                signal: None,
                duration_ms: None,
                output_summary: said.text,
                output_bytes: stdout.total_bytes.saturating_add(stderr.total_bytes),
                output_cut: Some(!said.is_all),
                failure_artifact: Some(artifact(task, "task_interrupted", &summary, None)),
                result_summary: summary,
            }
        }
    };
    (status, end)
}

/// Builds the stored end of a child's task.
pub(super) fn of_child(
    task: &TaskRecord,
    child: &ChildEnd,
    now: Timestamp,
) -> (TaskStatus, TaskEnd) {
    let summary = text::preview(child.summary.trim(), limits::FAILURE_SUMMARY_BYTES);
    let whole = text::preview(&child.summary, limits::CHILD_REPORT_BYTES);
    let (status, failure_artifact) = if child.completed {
        (TaskStatus::Completed, None)
    } else {
        let failed = artifact(task, "child_failed", &summary, None);
        (TaskStatus::Failed, Some(failed))
    };
    let end = TaskEnd {
        failure_artifact,
        output_bytes: child.summary.len() as u64,
        output_cut: Some(whole.len() < child.summary.len()),
        output_summary: whole,
        ..without_output(task, &summary, now)
    };
    (status, end)
}

/// Builds the stored end of a task without output.
pub(super) fn without_output(task: &TaskRecord, summary: &str, now: Timestamp) -> TaskEnd {
    TaskEnd {
        ended_at: now,
        exit_status: None,
        signal: None,
        duration_ms: Some(now.millis_since(task.created_at)),
        output_summary: String::new(),
        output_bytes: 0,
        output_cut: Some(false),
        failure_artifact: None,
        result_summary: summary.to_owned(),
    }
}

fn of_ended(
    task: &TaskRecord,
    status: TaskStatus,
    output: &CommandOutput,
    now: Timestamp,
) -> TaskEnd {
    let (exit_status, signal) = (output.end.exit_status(), output.end.signal());
    let mut summary = match (status, output.end) {
        (TaskStatus::Cancelled, _) => "stopped".to_owned(),
        (_, CommandEnd::Exited { status }) => format!("exit {status}"),
        (_, CommandEnd::Signalled { signal }) => format!("ended by signal {signal}"),
        (_, CommandEnd::TimedOut) => "stopped because its time was up".to_owned(),
    };
    // Writing to a string cannot fail.
    write!(summary, " after {} ms", output.duration_ms).ok();
    if output.survivors > 0 {
        write!(
            summary,
            "; {} processes of it could not be killed",
            output.survivors
        )
        .ok();
    }
    if output.leftovers > 0 {
        write!(
            summary,
            "; {} processes it left were stopped",
            output.leftovers
        )
        .ok();
    }
    let failure_artifact = match status {
        TaskStatus::Failed => Some(artifact(
            task,
            "command_failed",
            &summary,
            Some(exit_status),
        )),
        TaskStatus::Cancelled => Some(artifact(
            task,
            "task_cancelled",
            &summary,
            Some(exit_status),
        )),
        TaskStatus::Queued
        | TaskStatus::Running
        | TaskStatus::Cancelling
        | TaskStatus::Completed
        | TaskStatus::Interrupted => None,
    };
    let said = output_tail(&output.stdout, &output.stderr);
    TaskEnd {
        ended_at: now,
        exit_status: Some(exit_status),
        signal,
        duration_ms: Some(output.duration_ms),
        result_summary: summary,
        output_summary: said.text,
        output_bytes: output
            .stdout
            .total_bytes
            .saturating_add(output.stderr.total_bytes),
        output_cut: Some(!said.is_all),
        failure_artifact,
    }
}

fn artifact(
    task: &TaskRecord,
    kind: &str,
    summary: &str,
    exit_status: Option<i32>,
) -> FailureArtifact {
    FailureArtifact {
        task_id: Some(task.id.clone()),
        exit_status,
        ..FailureArtifact::new(FailureCategory::Task, kind, summary)
    }
}

/// The last output of both streams, standard error after standard output.
struct OutputTail {
    text: String,
    /// True if nothing was cut off before it.
    is_all: bool,
}

fn output_tail(stdout: &CapturedStream, stderr: &CapturedStream) -> OutputTail {
    let both = [("", stdout), ("stderr:\n", stderr)];
    let printed: Vec<_> = both
        .iter()
        .map(|(name, stream)| (*name, stream.last().trim_end()))
        .filter(|(_, words)| !words.is_empty())
        .collect();
    let share = limits::TASK_SUMMARY_BYTES / printed.len().max(1);
    let parts: Vec<String> = printed
        .iter()
        .map(|(name, words)| format!("{name}{}", text::suffix(words, share)))
        .collect();
    let captured = |stream: &CapturedStream| {
        !stream.lacks.missing && stream.total_bytes <= stream.last().len() as u64
    };
    OutputTail {
        text: parts.join("\n"),
        is_all: both.iter().all(|(_, stream)| captured(stream))
            && printed.iter().all(|(_, words)| words.len() <= share),
    }
}

/// Output of a task that is shown beside its summary.
#[derive(Debug)]
pub(super) enum LastOutput<'a> {
    /// The last output of its command.
    Streams {
        stdout: &'a CapturedStream,
        stderr: &'a CapturedStream,
    },
    /// There is no output beside the summary.
    None,
}

impl<'a> LastOutput<'a> {
    pub(super) const fn of(report: &'a TaskReport) -> Self {
        match report {
            TaskReport::Ended(CommandOutput { stdout, stderr, .. })
            | TaskReport::Lost { stdout, stderr, .. } => Self::Streams { stdout, stderr },
            TaskReport::NotStarted { .. } => Self::None,
        }
    }
}

/// Removes a completed item from a task whose result is about to be told. The result belongs to the open item for which
/// the task was started, wherever the focus is now.
pub(super) fn keep_open_item(draft: &Draft<'_>, task: &mut TaskRecord) {
    let item = task.work_item_id.take();
    task.work_item_id = item.filter(|id| {
        let item = draft.work_item(id);
        item.is_some_and(|item| item.state == WorkItemState::Open)
    });
}

/// Queues the result message of an ended task.
pub(super) fn queue(
    draft: &mut Draft<'_>,
    task: &TaskRecord,
    output: &LastOutput<'_>,
    ended: &[WaitRecord],
) {
    send_message(draft, task, output, admission::enqueue, ended);
}

/// Holds the result message of an ended task for the next turn, without beginning one.
pub(super) fn hold(draft: &mut Draft<'_>, task: &TaskRecord, output: &LastOutput<'_>) {
    send_message(draft, task, output, admission::hold, &[]);
}

/// Queues the status message of a task that its agent stopped. It is recorded and opens no turn.
pub(super) fn queue_status(draft: &mut Draft<'_>, task: &TaskRecord, output: &LastOutput<'_>) {
    let status = message(draft, task, output, MessageKind::TaskStatus);
    let provenance = Provenance::new(authority(task), Cause::Runtime);
    admission::enqueue(draft, status, provenance);
}

/// A function that queues or holds a message for its agent.
type AdmitFn = fn(&mut Draft<'_>, Ingress, Provenance) -> QueueEntry;

fn send_message(
    draft: &mut Draft<'_>,
    task: &TaskRecord,
    output: &LastOutput<'_>,
    admit: AdmitFn,
    ended: &[WaitRecord],
) {
    let result = message(draft, task, output, MessageKind::TaskResult);
    let provenance =
        Provenance::self_caused(authority(task)).with_waits(wait::notes_of_ended(ended));
    let entry = admit(draft, result, provenance);
    draft.event(Event::TaskResultReceived(TaskResultReceived {
        task_id: task.id.clone(),
        status: task.status,
        message_id: entry.envelope.id,
        terminal_reentry: task.terminal_reentry,
        work_item_id: task.work_item_id.clone(),
        message_seq: Some(entry.seq),
    }));
}

fn message(
    draft: &Draft<'_>,
    task: &TaskRecord,
    output: &LastOutput<'_>,
    kind: MessageKind,
) -> Ingress {
    Ingress {
        kind,
        origin: Origin::Task {
            task_id: task.id.clone(),
        },
        priority: self_caused_priority(&draft.agent, Priority::Next),
        body: Body::text(message_text(task, output)),
        images: Vec::new(),
        metadata: task
            .work_item_id
            .as_ref()
            .map(|item| json!({ "work_item_id": item })),
        delivery_surface: DeliverySurface::TaskRejoin,
        admission_context: AdmissionContext::RuntimeOwned,
        correlation_id: Some(task.id.to_string()),
        causation_id: task.parent_message_id.as_ref().map(ToString::to_string),
        max_rounds: None,
        at_most: None,
    }
}

/// Returns the authority of a task's result: at most that of the turn that started the task.
fn authority(task: &TaskRecord) -> AuthorityClass {
    let begun_on = task.recovery.as_ref().map(TaskRecoverySpec::trust);
    let authority = begun_on.map_or_else(AuthorityClass::weakest, AuthorityClass::from);
    authority.weaker(AuthorityClass::RuntimeInstruction)
}

/// Formats the first line of a result: the task, its end and its command.
fn headline(task: &TaskRecord) -> String {
    let name = match task.status {
        TaskStatus::Completed => "completed",
        TaskStatus::Failed => "failed",
        TaskStatus::Cancelled => "was cancelled",
        TaskStatus::Interrupted => "was interrupted",
        TaskStatus::Queued | TaskStatus::Running | TaskStatus::Cancelling => "goes on",
    };
    // Writing to a string cannot fail, so the results are ignored.
    if let Some(child) = task.child() {
        let label = task.summary.as_deref().unwrap_or_default();
        let mut told = format!(
            "Task {} {name}: child agent {} ({label})",
            task.id, child.child_agent_id
        );
        if !child.changed_files.is_empty() {
            let files = child.changed_files.join(", ");
            write!(
                told,
                "\nFiles its patches changed, the newest first: {files}"
            )
            .ok();
        }
        if let Some(worktree) = &child.worktree {
            write!(
                told,
                "\nIt worked in the worktree {} on branch {}. A clean-up looks at the worktree now and keeps it if it holds \
                 work. TaskStatus and TaskOutput then list every changed file and the reasons; until then they show \
                 cleanup_status=pending.",
                worktree.worktree_path, worktree.worktree_branch
            )
            .ok();
        }
        // Last, so that the child's words cannot pass for those of the runtime.
        match &task.end {
            Some(end) if !end.output_summary.is_empty() => {
                write!(told, "\nIts report:\n{}", end.output_summary).ok();
            }
            Some(end) => drop(write!(told, "\n{}", end.result_summary)),
            None => {}
        }
        return told;
    }
    let mut told = format!("Task {} {name}", task.id);
    if let Some(end) = &task.end {
        write!(told, ": {}", end.result_summary).ok();
    }
    if let Some(spec) = task.command() {
        let cmd = text::preview(&spec.cmd, limits::TASK_SUMMARY_BYTES / 2);
        write!(told, "\nCommand: {cmd}").ok();
    }
    told
}

/// Explains an end that the agent did not cause and cannot know about.
fn stopped_with_agent(task: &TaskRecord) -> &'static str {
    if !task.stop.is_some_and(|order| order.with_agent) {
        return "";
    }
    match task.status {
        TaskStatus::Cancelled => "\nIt was stopped because an operator had stopped you.",
        TaskStatus::Completed
        | TaskStatus::Failed
        | TaskStatus::Interrupted
        | TaskStatus::Queued
        | TaskStatus::Running
        | TaskStatus::Cancelling => "\nAn operator had stopped you meanwhile.",
    }
}

fn message_text(task: &TaskRecord, last: &LastOutput<'_>) -> String {
    let mut told = headline(task);
    told.push_str(stopped_with_agent(task));
    let LastOutput::Streams { stdout, stderr } = last else {
        return told;
    };
    let OutputTail { text: said, is_all } = output_tail(stdout, stderr);
    let unread = unread_notes(stdout, stderr);
    let bytes = task.end.as_ref().map_or(0, |end| end.output_bytes);
    match (said.is_empty(), is_all) {
        (true, _) if !unread.is_empty() => {}
        (true, true) => told.push_str("\nIt printed nothing."),
        (true, false) => drop(write!(
            told,
            "\nTaskOutput reads its {bytes} bytes of output."
        )),
        (false, true) => drop(write!(told, "\nOutput:\n{said}")),
        (false, false) => drop(write!(
            told,
            "\nLast output:\n{said}\nTaskOutput reads more of its {bytes} bytes."
        )),
    }
    for words in unread {
        write!(told, "\n{words}.").ok();
    }
    told
}

/// Returns a note for each output file that could not be read.
fn unread_notes(stdout: &CapturedStream, stderr: &CapturedStream) -> Vec<String> {
    let both = [("output", stdout), ("stderr", stderr)];
    both.into_iter()
        .filter(|(_, stream)| stream.last().is_empty())
        .filter_map(|(name, stream)| {
            let words = stream.lacks.words()?;
            Some(format!("The file of its {name} {words}"))
        })
        .collect()
}
