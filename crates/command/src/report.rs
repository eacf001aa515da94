//! Reports on commands: the end or the reason it is unknown, with bounded captures of the output.

use crate::facts::{lacks, unreadable};
use crate::paths::CommandPaths;
use holon_domain::command::{CapturedStream, CommandFailure, CommandOutput, MissingOutput};
use holon_domain::limits::TASK_SUMMARY_BYTES;
use holon_domain::task::TaskReport;
use holon_domain::text;
use holon_process::{EndRecord, Error, OutputRecord, ShimmedCommand, Stream, StreamRecord};
use std::path::{Path, PathBuf};

/// Size of a capture of which only the tail is shown; the tail is half of it.
const SHORT_BYTES: usize = 2 * TASK_SUMMARY_BYTES;

/// Builds the output of an ended command, with at most `bytes` of each stream.
pub(crate) async fn output(ended: &EndRecord, bytes: usize) -> CommandOutput {
    let (stdout, stderr) = captures(&ended.output, bytes).await;
    CommandOutput {
        end: ended.end,
        stdout,
        stderr,
        duration_ms: ended.duration_ms,
        leftovers: ended.leftovers,
        survivors: ended.survivors,
        stopped: ended.stopped,
    }
}

/// Reports on a command that was followed to its end.
pub(crate) async fn report(paths: &CommandPaths, ended: Result<EndRecord, Error>) -> TaskReport {
    match ended {
        Ok(ended) => TaskReport::Ended(output(&ended, SHORT_BYTES).await),
        Err(error) => lost(paths, &error.to_string()).await,
    }
}

/// Reports on a command whose end is unknown, with the end of its output.
pub(crate) async fn lost(paths: &CommandPaths, reason: &str) -> TaskReport {
    let (stdout, stderr) = captures_from_files(paths).await;
    TaskReport::Lost {
        reason: reason.to_owned(),
        stdout,
        stderr,
    }
}

/// Reports on a command that did not run.
pub(crate) fn lost_without_output(reason: &str) -> TaskReport {
    TaskReport::Lost {
        reason: reason.to_owned(),
        stdout: CapturedStream::default(),
        stderr: CapturedStream::default(),
    }
}

/// Builds the failure of a call that waited for a command whose end is unknown.
pub(crate) async fn lost_failure(paths: &CommandPaths, reason: &str) -> CommandFailure {
    let (stdout, stderr) = captures_from_files(paths).await;
    let mut tail = stdout.last().to_owned();
    if !stderr.last().trim().is_empty() {
        // Stderr says more about the cause, so it gets half of the space.
        let half = TASK_SUMMARY_BYTES / 2;
        tail = format!(
            "{}\nstderr:\n{}",
            text::suffix(tail.trim_end(), half),
            text::suffix(stderr.last(), half)
        );
    }
    let reason = match stdout.lacks.words().filter(|_| stdout.last().is_empty()) {
        Some(words) => format!("{reason}; the file of its output {words}"),
        None => reason.to_owned(),
    };
    CommandFailure::Lost {
        reason,
        output_tail: text::suffix(&tail, TASK_SUMMARY_BYTES).to_owned(),
    }
}

/// Captures the output of a running command so far. A file that cannot be read is reported with its stream.
///
/// # Errors
/// Fails if the shim does not answer or is dead.
pub(crate) async fn output_so_far(
    task: &ShimmedCommand,
    bytes: usize,
) -> Result<(CapturedStream, CapturedStream), Error> {
    let facts = task.output().await?;
    let stdout = task.preview_of(&facts, Stream::Output, bytes).await;
    let stdout = with_file_facts(&facts.output, stdout)?;
    let stderr = match &facts.errors {
        Some(errors) => {
            let stderr = task.preview_of(&facts, Stream::Errors, bytes).await;
            with_file_facts(errors, stderr)?
        }
        None => CapturedStream::default(),
    };
    Ok((stdout, stderr))
}

/// Names the output files of a running command without reading them.
pub(crate) fn unread_streams(paths: &CommandPaths, tty: bool) -> (CapturedStream, CapturedStream) {
    let of = |path: PathBuf| CapturedStream {
        path: Some(path.to_string_lossy().into_owned()),
        ..CapturedStream::default()
    };
    let stderr = match tty {
        true => CapturedStream::default(),
        false => of(paths.errors()),
    };
    (of(paths.output()), stderr)
}

async fn captures_from_files(paths: &CommandPaths) -> (CapturedStream, CapturedStream) {
    match paths.kept_output().await {
        Some(facts) => captures(&facts, SHORT_BYTES).await,
        // The shim creates the files before the command starts, so they were removed since.
        None => (missing_stream(&paths.output()), CapturedStream::default()),
    }
}

fn missing_stream(path: &Path) -> CapturedStream {
    CapturedStream {
        path: Some(path.to_string_lossy().into_owned()),
        lacks: MissingOutput {
            missing: true,
            ..MissingOutput::default()
        },
        ..CapturedStream::default()
    }
}

async fn captures(facts: &OutputRecord, bytes: usize) -> (CapturedStream, CapturedStream) {
    let stdout = capture_file(&facts.output, bytes).await;
    let stderr = match &facts.errors {
        Some(errors) => capture_file(errors, bytes).await,
        None => CapturedStream::default(),
    };
    (stdout, stderr)
}

async fn capture_file(facts: &StreamRecord, bytes: usize) -> CapturedStream {
    let preview = with_file_facts(facts, facts.preview(bytes).await);
    // An error of a read is always about the file that was read.
    preview.unwrap_or_else(|_| unreadable_stream(facts, MissingOutput::default()))
}

/// Adds path and losses to a stream that was read. A stream whose file cannot be read is empty and carries the
/// reason.
fn with_file_facts(
    facts: &StreamRecord,
    read: Result<CapturedStream, Error>,
) -> Result<CapturedStream, Error> {
    match read {
        Ok(stream) => Ok(CapturedStream {
            path: Some(facts.path.to_string_lossy().into_owned()),
            lacks: lacks(facts),
            ..stream
        }),
        Err(error) => match unreadable(facts, &error) {
            Some(lacks) => {
                tracing::warn!(%error, "what a command printed cannot be shown");
                Ok(unreadable_stream(facts, lacks))
            }
            None => Err(error),
        },
    }
}

fn unreadable_stream(facts: &StreamRecord, lacks: MissingOutput) -> CapturedStream {
    CapturedStream {
        total_bytes: facts.total_bytes,
        dropped_bytes: facts.total_bytes,
        path: Some(facts.path.to_string_lossy().into_owned()),
        lacks,
        ..CapturedStream::default()
    }
}
