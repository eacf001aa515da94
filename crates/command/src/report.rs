//! Reports on commands: how one ended, or why that is unknown, with bounded captures of what it printed.

use crate::facts::{lacks, unread};
use crate::place::Place;
use holon_domain::command::{CapturedStream, CommandFailure, CommandOutput, MissingOutput};
use holon_domain::limits::TASK_SUMMARY_BYTES;
use holon_domain::task::TaskReport;
use holon_domain::text;
use holon_process::{Ended, Error, OutputFacts, Stream, StreamFacts, Task};
use std::path::{Path, PathBuf};

/// Size of a capture of which only the end is shown; the end is half of it.
const SHORT_BYTES: usize = 2 * TASK_SUMMARY_BYTES;

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

/// The report of a command that did not run.
pub(crate) fn not_run(reason: &str) -> TaskReport {
    TaskReport::Lost {
        reason: reason.to_owned(),
        stdout: CapturedStream::default(),
        stderr: CapturedStream::default(),
    }
}

/// What the call is told that waited for a command whose end is not known.
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
    let reason = match stdout.lacks.words().filter(|_| stdout.last().is_empty()) {
        Some(words) => format!("{reason}; the file of its output {words}"),
        None => reason.to_owned(),
    };
    CommandFailure::Lost {
        reason,
        output_tail: text::suffix(&tail, TASK_SUMMARY_BYTES).to_owned(),
    }
}

/// What a command that runs has printed so far. A file that cannot be read is told with its stream.
///
/// # Errors
/// When its shim does not answer, or is dead.
pub(crate) async fn so_far(
    task: &Task,
    bytes: usize,
) -> Result<(CapturedStream, CapturedStream), Error> {
    let facts = task.output().await?;
    let stdout = task.preview_of(&facts, Stream::Output, bytes).await;
    let stdout = told(&facts.output, stdout)?;
    let stderr = match &facts.errors {
        Some(errors) => {
            let stderr = task.preview_of(&facts, Stream::Errors, bytes).await;
            told(errors, stderr)?
        }
        None => CapturedStream::default(),
    };
    Ok((stdout, stderr))
}

/// Nothing of what a command that runs has printed, and the files it is kept in.
pub(crate) fn unseen(place: &Place, tty: bool) -> (CapturedStream, CapturedStream) {
    let of = |path: PathBuf| CapturedStream {
        path: Some(path.to_string_lossy().into_owned()),
        ..CapturedStream::default()
    };
    let stderr = match tty {
        true => CapturedStream::default(),
        false => of(place.errors()),
    };
    (of(place.output()), stderr)
}

async fn last_words(place: &Place) -> (CapturedStream, CapturedStream) {
    match place.kept().await {
        Some(facts) => captures(&facts, SHORT_BYTES).await,
        // The shim makes them before the command begins, so they were removed since.
        None => (missing(&place.output()), CapturedStream::default()),
    }
}

fn missing(path: &Path) -> CapturedStream {
    CapturedStream {
        path: Some(path.to_string_lossy().into_owned()),
        lacks: MissingOutput {
            missing: true,
            ..MissingOutput::default()
        },
        ..CapturedStream::default()
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
    let preview = told(facts, facts.preview(bytes).await);
    // Reading a file fails by that file alone.
    preview.unwrap_or_else(|_| without(facts, MissingOutput::default()))
}

/// A stream as it was read; one whose file cannot be read is empty and says why.
fn told(facts: &StreamFacts, read: Result<CapturedStream, Error>) -> Result<CapturedStream, Error> {
    match read {
        Ok(stream) => Ok(CapturedStream {
            path: Some(facts.path.to_string_lossy().into_owned()),
            lacks: lacks(facts),
            ..stream
        }),
        Err(error) => match unread(facts, &error) {
            Some(lacks) => {
                tracing::warn!(%error, "what a command printed cannot be shown");
                Ok(without(facts, lacks))
            }
            None => Err(error),
        },
    }
}

fn without(facts: &StreamFacts, lacks: MissingOutput) -> CapturedStream {
    CapturedStream {
        total_bytes: facts.total_bytes,
        dropped_bytes: facts.total_bytes,
        path: Some(facts.path.to_string_lossy().into_owned()),
        lacks,
        ..CapturedStream::default()
    }
}
