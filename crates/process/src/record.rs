//! What a shim says of its command: how it ended, and what was kept of its output.
//!
//! Written into the task's directory and sent over the wire; fields are only added.

use holon_domain::command::{CommandEnd, CommandFailure, CommandState};
use holon_domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// One output stream and the file that keeps it.
///
/// Offsets are those of the stream. The file holds the stream's first `head_bytes` bytes at their own offsets, so
/// that those never move. When there was more than the cap, the last `tail_bytes` are kept by the shim while the
/// command runs and are appended at `tail_at`, after a line that says how much is missing, when it has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamFacts {
    /// The file.
    pub path: PathBuf,
    /// Bytes the stream had so far.
    pub total_bytes: u64,
    /// Bytes at the file's beginning that are the stream's beginning.
    pub head_bytes: u64,
    /// Bytes kept of the stream's end beyond the head.
    pub tail_bytes: u64,
    /// Where in the file the tail begins; none while the shim holds it, and when there is none.
    pub tail_at: Option<u64>,
    /// Why the file holds less than its cap allows, as when the disk is full.
    pub error: Option<String>,
    /// Whether there is no such file any more, where nothing else is known of the stream.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
}

impl StreamFacts {
    /// Bytes between head and tail that nobody has any more.
    #[must_use]
    pub const fn dropped_bytes(&self) -> u64 {
        self.total_bytes
            .saturating_sub(self.head_bytes)
            .saturating_sub(self.tail_bytes)
    }
}

/// Both streams of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputFacts {
    /// Standard output, or everything where there is one stream only.
    pub output: StreamFacts,
    /// Standard error, where it is kept apart.
    pub errors: Option<StreamFacts>,
}

/// Which stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// Standard output, or everything where there is one stream only.
    Output,
    /// Standard error, where it is kept apart.
    Errors,
}

impl OutputFacts {
    /// One of the streams, if there is such.
    #[must_use]
    pub const fn stream(&self, stream: Stream) -> Option<&StreamFacts> {
        match stream {
            Stream::Output => Some(&self.output),
            Stream::Errors => self.errors.as_ref(),
        }
    }

    /// Bytes of both streams.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.sum(|facts| facts.total_bytes)
    }

    /// Bytes of both streams that were not kept.
    #[must_use]
    pub fn dropped_bytes(&self) -> u64 {
        self.sum(StreamFacts::dropped_bytes)
    }

    fn sum(&self, of: impl Fn(&StreamFacts) -> u64) -> u64 {
        of(&self.output).saturating_add(self.errors.as_ref().map_or(0, of))
    }
}

/// A command that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Whose it was.
    pub task_id: String,
    /// How it ended. After a stop this is what became of the direct child, most often a signal.
    pub end: CommandEnd,
    /// Whether it was stopped on request.
    pub stopped: bool,
    /// When its program began.
    pub started_at: Timestamp,
    /// When its direct child had ended and its output was read.
    pub ended_at: Timestamp,
    /// The time between by a clock that nobody sets.
    pub duration_ms: u64,
    /// What was kept of its output.
    pub output: OutputFacts,
    /// Processes it left behind, which were killed unless the spec says otherwise.
    pub leftovers: u32,
    /// Processes that could not be killed in time.
    pub survivors: u32,
}

/// What came of a spec, as the status file says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// The command ran and ended.
    Ended(Box<Ended>),
    /// It could not be started.
    NotStarted {
        /// Why.
        failure: CommandFailure,
    },
}

impl Outcome {
    /// The state a command with this outcome is in; never a running one.
    pub(crate) fn into_state<R>(self) -> CommandState<R, Box<Ended>> {
        match self {
            Self::Ended(ended) => CommandState::Ended(ended),
            Self::NotStarted { failure } => CommandState::Failed(failure),
        }
    }
}

/// Who a shim is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The version it speaks.
    pub version: u32,
    /// Whose command it runs.
    pub task_id: String,
    /// The direct child's process id, for people to read; 0 where the shim did not answer and has noted none. Nothing
    /// may be signalled by it.
    pub pid: i32,
    /// When its program began.
    pub started_at: Timestamp,
    /// What was noted of who it and its command are, see [`BORN`](crate::wire::BORN).
    #[serde(default)]
    pub(crate) born: Option<String>,
}

/// The first line a shim writes to whoever started it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub(crate) enum Report {
    /// The command's program runs.
    Started(Identity),
    /// It does not and will not.
    NotStarted {
        /// Why.
        failure: CommandFailure,
    },
}
