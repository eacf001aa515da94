//! The records a shim writes about its command: its end, and the facts about its output.
//!
//! They are stored in the command's directory and sent over the wire, so fields are only added.

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
pub struct StreamRecord {
    pub path: PathBuf,
    /// Bytes the command has written to the stream so far.
    pub total_bytes: u64,
    /// Bytes at the file's beginning that are the stream's beginning.
    pub head_bytes: u64,
    /// Bytes kept of the stream's end beyond the head.
    pub tail_bytes: u64,
    /// Offset of the tail in the file. Absent while the shim holds the tail in memory, and if there is no tail.
    pub tail_at: Option<u64>,
    /// Reason the file holds less than its cap allows, for example a full disk.
    pub error: Option<String>,
    /// True if the file no longer exists and nothing else is known about the stream.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub missing: bool,
}

impl StreamRecord {
    /// Bytes between head and tail that were dropped.
    #[must_use]
    pub const fn dropped_bytes(&self) -> u64 {
        self.total_bytes
            .saturating_sub(self.head_bytes)
            .saturating_sub(self.tail_bytes)
    }
}

/// The facts about both streams of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputRecord {
    /// Standard output, or everything where there is one stream only.
    pub output: StreamRecord,
    /// Standard error, where it is kept apart.
    pub errors: Option<StreamRecord>,
}

/// One of the two output streams of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// Standard output, or everything where there is one stream only.
    Output,
    /// Standard error, where it is kept apart.
    Errors,
}

impl OutputRecord {
    /// Returns the facts of one stream; `None` if the command has no separate stderr.
    #[must_use]
    pub const fn stream(&self, stream: Stream) -> Option<&StreamRecord> {
        match stream {
            Stream::Output => Some(&self.output),
            Stream::Errors => self.errors.as_ref(),
        }
    }

    /// Sum of the bytes of both streams.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.sum(|facts| facts.total_bytes)
    }

    /// Sum of the dropped bytes of both streams.
    #[must_use]
    pub fn dropped_bytes(&self) -> u64 {
        self.sum(StreamRecord::dropped_bytes)
    }

    fn sum(&self, of: impl Fn(&StreamRecord) -> u64) -> u64 {
        of(&self.output).saturating_add(self.errors.as_ref().map_or(0, of))
    }
}

/// The end of a command, as its shim recorded it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndRecord {
    /// Id of the command, as in the spec.
    pub task_id: String,
    /// End of the command. After a stop this is the end of the direct child, usually by a signal.
    pub end: CommandEnd,
    /// True if it was stopped on request.
    pub stopped: bool,
    /// Time at which its program was executed.
    pub started_at: Timestamp,
    /// Time at which its direct child had ended and its output was drained.
    pub ended_at: Timestamp,
    /// Run time by the monotonic clock, in milliseconds.
    pub duration_ms: u64,
    /// Facts about the output that was kept.
    pub output: OutputRecord,
    /// Processes it left behind. They were killed unless the spec keeps them.
    pub leftovers: u32,
    /// Processes that could not be killed before the timeout.
    pub survivors: u32,
}

/// The outcome of a spec, as stored in the status file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// The command ran and ended.
    Ended(Box<EndRecord>),
    NotStarted {
        failure: CommandFailure,
    },
}

impl Outcome {
    /// Converts the outcome to a command state, which is never `Running`.
    pub(crate) fn into_state<R>(self) -> CommandState<R, Box<EndRecord>> {
        match self {
            Self::Ended(ended) => CommandState::Ended(ended),
            Self::NotStarted { failure } => CommandState::StartFailed(failure),
        }
    }
}

/// The identity of a shim, as it reports it to the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Version of spec, protocol and status that the shim speaks.
    pub version: u32,
    /// Id of the command whose command it runs.
    pub task_id: String,
    /// Process id of the direct child, for display only: no process may be signalled by it. 0 if the shim did not
    /// answer and has recorded none.
    pub pid: i32,
    pub started_at: Timestamp,
    /// Birth record of the shim and its command, see [`BORN`](crate::wire::BORN).
    #[serde(default, rename = "born")]
    pub(crate) birth_record: Option<String>,
}

/// The first line a shim writes to the host that started it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub(crate) enum Report {
    /// The command's program was executed.
    Started(Identity),
    /// The program was not executed and will not be.
    NotStarted { failure: CommandFailure },
}
