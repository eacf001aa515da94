//! Commands: their output as bounded captures, their end, and the failures to run them.

mod order;
mod state;

pub use order::{
    AliveCommand, CommandContext, CommandKey, CommandOrder, CommandRun, InputRefusal, LatePolicy,
    OutputRetention, OutputSize,
};
pub use state::{CommandProbe, CommandState, UnknownCause};

use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// One captured stream: all of it, or its head and tail if it was longer than the capture.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CapturedStream {
    /// Beginning of the stream, or all of it.
    pub head: String,
    /// End of the stream. Empty unless something between was dropped.
    pub tail: String,
    /// Bytes that the stream had in total.
    pub total_bytes: u64,
    /// Bytes dropped between head and tail.
    pub dropped_bytes: u64,
    /// Bytes at the end that are in neither part, such as the beginning of a character whose rest has not arrived yet.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub unread_bytes: u64,
    /// File that holds the stream. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Part of the stream that the file does not hold.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub lacks: MissingOutput,
}

impl CapturedStream {
    /// Returns the offset from which to read on: that of the first byte that was not returned.
    #[must_use]
    pub const fn next_offset(&self) -> u64 {
        self.total_bytes.saturating_sub(self.unread_bytes)
    }
}

/// Part of a stream that its file does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MissingOutput {
    pub bytes: u64,
    /// Cause of the loss, for example a full disk. Absent if the stream was larger than files may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// True if the file was removed. `bytes` is then the size of the stream, as far as it is known.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub missing: bool,
}

impl MissingOutput {
    /// Describes the loss as a clause about the file. `None` if the file is complete.
    #[must_use]
    pub fn words(&self) -> Option<String> {
        if self.missing {
            return Some("is missing".to_owned());
        }
        let reason = self.reason.as_deref();
        let reason = reason.unwrap_or("there was more than a file may hold");
        (self.bytes > 0).then(|| format!("lacks {} bytes ({reason})", self.bytes))
    }
}

/// End of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum CommandEnd {
    /// The program exited by itself.
    Exited { status: i32 },
    /// A signal killed it that the runtime did not send.
    Signalled { signal: i32 },
    /// The runtime stopped it because its time was up.
    TimedOut,
}

/// Shells report a death by signal as this plus the signal's number.
const SIGNAL_BASE: i32 = 128;
/// Exit status that shells report for a command that ran out of time.
const TIMED_OUT_STATUS: i32 = 124;

impl CommandEnd {
    /// Returns the exit status as a shell reports it.
    #[must_use]
    pub const fn exit_status(self) -> i32 {
        match self {
            Self::Exited { status } => status,
            Self::Signalled { signal } => SIGNAL_BASE.saturating_add(signal),
            Self::TimedOut => TIMED_OUT_STATUS,
        }
    }

    /// Returns the signal that killed the command, if one did.
    #[must_use]
    pub const fn signal(self) -> Option<i32> {
        match self {
            Self::Signalled { signal } => Some(signal),
            Self::Exited { .. } | Self::TimedOut => None,
        }
    }
}

impl CapturedStream {
    /// Returns the last captured part of the stream.
    #[must_use]
    pub fn last(&self) -> &str {
        if self.tail.is_empty() {
            &self.head
        } else {
            &self.tail
        }
    }
}

/// Output and end of a finished command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandOutput {
    pub end: CommandEnd,
    pub stdout: CapturedStream,
    pub stderr: CapturedStream,
    /// Milliseconds from the start of the program to its end.
    pub duration_ms: u64,
    /// Child processes that the command left behind and that were stopped.
    pub leftovers: u32,
    /// Processes of the command that could not be stopped and may still run.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub survivors: u32,
    /// True if the command was stopped on request. False if it had ended by itself before the request arrived.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub stopped: bool,
}

/// Reason for which a command could not be run or its outcome is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "failure", rename_all = "snake_case")]
pub enum CommandFailure {
    /// The working directory is not inside the execution root.
    #[error("working directory {workdir} is outside the execution root {execution_root}")]
    OutsideRoot {
        /// Directory as the call names it.
        workdir: String,
        execution_root: String,
    },
    /// The working directory does not exist.
    #[error("working directory {workdir} does not exist")]
    MissingWorkdir { workdir: String },
    /// The working directory is not a directory.
    #[error("working directory {workdir} is not a directory")]
    WorkdirNoDirectory { workdir: String },
    /// The process could not be started.
    #[error("the command could not be started: {reason}")]
    Spawn { reason: String },
    /// The call was cancelled before its command started, or its turn no longer waits for the command. A command that
    /// was started may still run; the caller stops it if it must end.
    #[error("the command was stopped because its run was aborted")]
    Cancelled,
    /// It was started, but it cannot be proven that it runs or how it ended.
    #[error("the command was started, and what came of it is not known: {reason}")]
    Lost {
        /// Facts that are known instead.
        reason: String,
        /// End of its output, as far as it could be read.
        output_tail: String,
    },
}

/// A command that still runs after its call has waited long enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningCommand {
    /// Directory in which it runs, resolved.
    pub workdir: String,
    /// Time at which its program began.
    pub started_at: Timestamp,
    pub found: FoundRunning,
    pub stdout: CapturedStream,
    /// Empty on a terminal, where the two streams are one.
    pub stderr: CapturedStream,
}

/// Circumstances in which a command was found to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundRunning {
    /// Its call has waited for as long as it may.
    AfterWait,
    /// A host that was started again found it.
    AfterRestart,
}

/// Part of one output stream of a task: one piece, or two with a gap between. Invalid characters are replaced.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StreamPart {
    pub head: String,
    /// Second piece. Empty if there is no gap.
    pub tail: String,
    /// Bytes of the gap.
    pub left_out: u64,
    /// Offset of the first byte in the stream. If it is greater than the requested one, the bytes between were not
    /// kept.
    pub at: u64,
    /// Offset to ask for next.
    pub next_offset: u64,
    /// Bytes that the stream has so far.
    pub total_bytes: u64,
    /// File that holds the stream. Absent if there is none.
    pub path: Option<String>,
    /// Part of the stream that the file does not hold.
    pub lacks: MissingOutput,
}

/// Output streams of a task, as far as they were asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskStreams {
    /// Standard output, or the transcript of the terminal.
    pub output: StreamPart,
    /// Standard error. Absent on a terminal, or if it was not asked for.
    pub stderr: Option<StreamPart>,
    /// File of both in the order in which they arrived. Absent unless both were used.
    pub combined: Option<String>,
}
