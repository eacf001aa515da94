//! The end of a task: which of the four it is, what stays on record, and the message that tells it.

use crate::admission::{self, Provenance};
use crate::draft::Draft;
use crate::ingress::Ingress;
use crate::rest::self_caused_priority;
use holon_domain::authority::AuthorityClass;
use holon_domain::command::{CapturedStream, CommandEnd, CommandOutput};
use holon_domain::event::{Event, TaskResultReceived};
use holon_domain::failure::{FailureArtifact, FailureCategory};
use holon_domain::message::{
    AdmissionContext, Body, Cause, DeliverySurface, MessageKind, Origin, Priority, ResumeReason,
};
use holon_domain::queue::QueueEntry;
use holon_domain::send::ChildEnd;
use holon_domain::task::{TaskEnd, TaskRecord, TaskRecoverySpec, TaskReport, TaskStatus};
use holon_domain::{Timestamp, limits, text};
use std::fmt::Write as _;

/// The end a task comes to. Only what a stop has ended is cancelled: a command that was done before one reached it has
/// an end of its own.
const fn status(report: &TaskReport) -> TaskStatus {
    match report {
        TaskReport::Lost { .. } => TaskStatus::Interrupted,
        TaskReport::Ended(output) if output.stopped => TaskStatus::Cancelled,
        TaskReport::Ended(output) => match output.end {
            CommandEnd::Exited { status: 0 } => TaskStatus::Completed,
            CommandEnd::Exited { .. } | CommandEnd::Signalled { .. } | CommandEnd::TimedOut => {
                TaskStatus::Failed
            }
        },
    }
}

/// How a command's task ends and what stays on record of it.
pub(super) fn of_command(
    task: &TaskRecord,
    report: &TaskReport,
    now: Timestamp,
) -> (TaskStatus, TaskEnd) {
    let status = status(report);
    let end = match report {
        TaskReport::Ended(output) => of_ended(task, status, output, now),
        TaskReport::Lost {
            reason,
            stdout,
            stderr,
        } => {
            let again = task.command().map_or(String::new(), |spec| {
                format!("; to run it again: {}", spec.cmd)
            });
            let summary = text::preview(&format!("{reason}{again}"), limits::FAILURE_SUMMARY_BYTES);
            let said = last_words(stdout, stderr);
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

/// How a child's task ends and what stays on record of it.
pub(super) fn of_child(
    task: &TaskRecord,
    child: &ChildEnd,
    now: Timestamp,
) -> (TaskStatus, TaskEnd) {
    let summary = text::preview(&child.summary, limits::TASK_SUMMARY_BYTES);
    let (status, failure_artifact) = if child.completed {
        (TaskStatus::Completed, None)
    } else {
        let failed = artifact(task, "child_failed", &summary, None);
        (TaskStatus::Failed, Some(failed))
    };
    let end = TaskEnd {
        failure_artifact,
        ..without_word(task, &summary, now)
    };
    (status, end)
}

/// The end of a task that printed nothing.
pub(super) fn without_word(task: &TaskRecord, summary: &str, now: Timestamp) -> TaskEnd {
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
    let said = last_words(&output.stdout, &output.stderr);
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

/// The last words of both streams, the complaints after the output.
struct LastWords {
    text: String,
    /// Whether they said nothing before.
    is_all: bool,
}

fn last_words(stdout: &CapturedStream, stderr: &CapturedStream) -> LastWords {
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
    LastWords {
        text: parts.join("\n"),
        is_all: both.iter().all(|(_, stream)| captured(stream))
            && printed.iter().all(|(_, words)| words.len() <= share),
    }
}

/// What a task left to be read beside its summary.
#[derive(Debug)]
pub(super) enum LastOutput<'a> {
    /// What its command printed last.
    Streams {
        stdout: &'a CapturedStream,
        stderr: &'a CapturedStream,
    },
    /// There is none: the summary says it all.
    None,
}

impl<'a> LastOutput<'a> {
    pub(super) const fn of(report: &'a TaskReport) -> Self {
        match report {
            TaskReport::Ended(CommandOutput { stdout, stderr, .. })
            | TaskReport::Lost { stdout, stderr, .. } => Self::Streams { stdout, stderr },
        }
    }
}

/// Queues the message that tells a task's end.
pub(super) fn queue(
    draft: &mut Draft<'_>,
    task: &TaskRecord,
    output: &LastOutput<'_>,
    resumes: Option<ResumeReason>,
) {
    tell(draft, task, output, (admission::enqueue, resumes));
}

/// Holds the message that tells a task's end: the next turn hears of it, and none begins for it.
pub(super) fn hold(draft: &mut Draft<'_>, task: &TaskRecord, output: &LastOutput<'_>) {
    tell(draft, task, output, (admission::hold, None));
}

/// Queues the message that tells the end of a task its agent stopped: it is on record, and opens no turn.
pub(super) fn queue_status(draft: &mut Draft<'_>, task: &TaskRecord, output: &LastOutput<'_>) {
    let status = message(draft, task, output, MessageKind::TaskStatus);
    let provenance = Provenance {
        authority: authority(task),
        cause: Cause::Runtime,
        resumes: None,
    };
    admission::enqueue(draft, status, provenance);
}

/// How a message comes to its agent.
type Admit = fn(&mut Draft<'_>, Ingress, Provenance) -> QueueEntry;

fn tell(
    draft: &mut Draft<'_>,
    task: &TaskRecord,
    output: &LastOutput<'_>,
    (admit, resumes): (Admit, Option<ResumeReason>),
) {
    let result = message(draft, task, output, MessageKind::TaskResult);
    let provenance = Provenance::itself(authority(task)).resuming(resumes);
    let entry = admit(draft, result, provenance);
    draft.event(Event::TaskResultReceived(TaskResultReceived {
        task_id: task.id.clone(),
        status: task.status,
        message_id: entry.envelope.id,
        terminal_reentry: task.terminal_reentry,
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
        body: Body::text(words(task, output)),
        metadata: None,
        delivery_surface: DeliverySurface::TaskRejoin,
        admission_context: AdmissionContext::RuntimeOwned,
        correlation_id: Some(task.id.to_string()),
        causation_id: task.parent_message_id.as_ref().map(ToString::to_string),
        max_rounds: None,
    }
}

/// What a turn began is worth no more than the turn was.
fn authority(task: &TaskRecord) -> AuthorityClass {
    let begun_on = task.recovery.as_ref().map(TaskRecoverySpec::trust);
    let authority = begun_on.map_or_else(AuthorityClass::weakest, AuthorityClass::from);
    authority.weaker(AuthorityClass::RuntimeInstruction)
}

/// Which task came to which end, and what it ran.
fn first_words(task: &TaskRecord) -> String {
    let name = match task.status {
        TaskStatus::Completed => "completed",
        TaskStatus::Failed => "failed",
        TaskStatus::Cancelled => "was cancelled",
        TaskStatus::Interrupted => "was interrupted",
        TaskStatus::Queued | TaskStatus::Running | TaskStatus::Cancelling => "goes on",
    };
    let mut told = format!("Task {} {name}", task.id);
    // Writing to a string cannot fail, so the results are of no interest.
    if let Some(end) = &task.end {
        write!(told, ": {}", end.result_summary).ok();
    }
    if let Some(spec) = task.command() {
        let cmd = text::preview(&spec.cmd, limits::TASK_SUMMARY_BYTES / 2);
        write!(told, "\nCommand: {cmd}").ok();
    }
    told
}

/// Why it ended, where the agent cannot know.
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

fn words(task: &TaskRecord, last: &LastOutput<'_>) -> String {
    let mut told = first_words(task);
    told.push_str(stopped_with_agent(task));
    let LastOutput::Streams { stdout, stderr } = last else {
        return told;
    };
    let LastWords { text: said, is_all } = last_words(stdout, stderr);
    let unread = unread(stdout, stderr);
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

/// What is said of files of which nothing could be read.
fn unread(stdout: &CapturedStream, stderr: &CapturedStream) -> Vec<String> {
    let both = [("output", stdout), ("stderr", stderr)];
    both.into_iter()
        .filter(|(_, stream)| stream.last().is_empty())
        .filter_map(|(name, stream)| {
            let words = stream.lacks.words()?;
            Some(format!("The file of its {name} {words}"))
        })
        .collect()
}
