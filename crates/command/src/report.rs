//! Reports on commands: how one ended, or why that is unknown, with bounded captures of what it printed.

use crate::facts::lacks;
use crate::place::Place;
use holon_domain::command::{CapturedStream, CommandFailure, CommandOutput, Lacks};
use holon_domain::limits::TASK_SUMMARY_BYTES;
use holon_domain::task::TaskReport;
use holon_domain::text;
use holon_process::{Ended, Error, OutputFacts, Stream, StreamFacts, Task};

/// Size of a capture of which only the end is shown; the end is half of it.
const SHORT_BYTES: usize = 2 * TASK_SUMMARY_BYTES;

/// What is said of an output file that was removed.
const MISSING: &str = "the file is missing: a process removed it while the command ran, or since";

/// A command that has ended, with at most `bytes` of each stream.
pub(crate) async fn output(ended: &Ended, bytes: usize) -> CommandOutput {
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

/// The report of a command that was followed to its end.
pub(crate) async fn report(place: &Place, ended: Result<Ended, Error>) -> TaskReport {
    match ended {
        Ok(ended) => TaskReport::Ended(output(&ended, SHORT_BYTES).await),
        Err(error) => lost(place, &error.to_string()).await,
    }
}

/// The report of a command whose end is not known, with the end of its output.
pub(crate) async fn lost(place: &Place, reason: &str) -> TaskReport {
    let (stdout, stderr) = last_words(place).await;
    TaskReport::Lost {
        reason: reason.to_owned(),
        stdout,
        stderr,
    }
}

/// The same for the call that waited for it.
pub(crate) async fn lost_failure(place: &Place, reason: &str) -> CommandFailure {
    let (stdout, stderr) = last_words(place).await;
    let mut tail = stdout.last().to_owned();
    if !stderr.last().trim().is_empty() {
        // The complaints say more about what went wrong, so they get their half.
        let half = TASK_SUMMARY_BYTES / 2;
        tail = format!(
            "{}\nstderr:\n{}",
            text::suffix(tail.trim_end(), half),
            text::suffix(stderr.last(), half)
        );
    }
    CommandFailure::Lost {
        reason: reason.to_owned(),
        output_tail: text::suffix(&tail, TASK_SUMMARY_BYTES).to_owned(),
    }
}

/// What a command that runs has printed so far.
///
/// # Errors
/// When its shim does not answer any more.
pub(crate) async fn so_far(
    task: &Task,
    bytes: usize,
) -> Result<(CapturedStream, CapturedStream), Error> {
    let facts = task.output().await?;
    let stdout = task.preview_of(&facts, Stream::Output, bytes).await;
    let stdout = shown(&facts.output, stdout)?;
    let stderr = match &facts.errors {
        Some(errors) => shown(errors, task.preview_of(&facts, Stream::Errors, bytes).await)?,
        None => CapturedStream::default(),
    };
    Ok((stdout, stderr))
}

/// What was read of a stream. A file that cannot be read costs what it held, and not the command.
fn shown(
    facts: &StreamFacts,
    read: Result<CapturedStream, Error>,
) -> Result<CapturedStream, Error> {
    match read {
        Ok(stream) => Ok(at(facts, stream)),
        Err(error @ Error::Output { .. }) => Ok(unread(facts, &error)),
        Err(error) => Err(error),
    }
}

async fn last_words(place: &Place) -> (CapturedStream, CapturedStream) {
    match place.kept().await {
        Some(facts) => captures(&facts, SHORT_BYTES).await,
        None => Default::default(),
    }
}

async fn captures(facts: &OutputFacts, bytes: usize) -> (CapturedStream, CapturedStream) {
    let stdout = captured(&facts.output, bytes).await;
    let stderr = match &facts.errors {
        Some(errors) => captured(errors, bytes).await,
        None => CapturedStream::default(),
    };
    (stdout, stderr)
}

async fn captured(facts: &StreamFacts, bytes: usize) -> CapturedStream {
    match facts.preview(bytes).await {
        Ok(stream) => at(facts, stream),
        Err(error) => unread(facts, &error),
    }
}

/// A stream whose file cannot be read.
fn unread(facts: &StreamFacts, error: &Error) -> CapturedStream {
    tracing::warn!(%error, "what a command printed cannot be shown");
    let reason = if facts.path.exists() {
        error.to_string()
    } else {
        MISSING.to_owned()
    };
    CapturedStream {
        total_bytes: facts.total_bytes,
        dropped_bytes: facts.total_bytes,
        path: Some(facts.path.to_string_lossy().into_owned()),
        lacks: Lacks {
            bytes: facts.total_bytes,
            reason: Some(reason),
        },
        ..CapturedStream::default()
    }
}

fn at(facts: &StreamFacts, stream: CapturedStream) -> CapturedStream {
    CapturedStream {
        path: Some(facts.path.to_string_lossy().into_owned()),
        lacks: lacks(facts),
        ..stream
    }
}
