//! Commands: what is asked for, the one state of a command, and what came of it: bounded captures of its streams and
//! how it ended.

mod order;
mod state;

pub use order::{
    AliveCommand, CommandContext, CommandKey, CommandOrder, CommandRun, InputRefusal, LatePolicy,
    OutputRetention,
};
pub use state::{CommandProbe, CommandState, UnknownCause};

use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// One captured stream: all of it, or its head and tail when it was longer than the capture.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CapturedStream {
    /// The beginning, or all of it.
    pub head: String,
    /// The end, when something between was dropped.
    pub tail: String,
    /// Bytes the stream had in all.
    pub total_bytes: u64,
    /// Bytes dropped between head and tail.
    pub dropped_bytes: u64,
    /// Bytes at its end that are at hand in neither, such as the beginning of a character whose rest is yet to come.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub unread_bytes: u64,
    /// The file that keeps it, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What that file lacks.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub lacks: MissingOutput,
}

impl CapturedStream {
    /// The offset to read on from: that of the first byte nobody was shown.
    #[must_use]
    pub const fn next_offset(&self) -> u64 {
        self.total_bytes.saturating_sub(self.unread_bytes)
    }
}

/// What the file of a stream does not hold of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MissingOutput {
    /// How many bytes.
    pub bytes: u64,
    /// Why, where it is not that the stream was larger than files may be: a full disk, say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether the file was removed. `bytes` is then what the stream had, as far as that is known.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub missing: bool,
}

impl MissingOutput {
    /// What is said of the file; none when it is complete.
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

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "snake_case")]
pub enum CommandEnd {
    /// By itself.
    Exited {
        /// Its exit status.
        status: i32,
    },
    /// By a signal it did not get from us.
    Signalled {
        /// Which.
        signal: i32,
    },
    /// By us, because its time was up.
    TimedOut,
}

/// Shells report a death by signal as this plus the signal's number.
const SIGNAL_BASE: i32 = 128;
/// And a command that ran out of time as this.
const TIMED_OUT_STATUS: i32 = 124;

impl CommandEnd {
    /// The exit status as a shell tells it.
    #[must_use]
    pub const fn exit_status(self) -> i32 {
        match self {
            Self::Exited { status } => status,
            Self::Signalled { signal } => SIGNAL_BASE.saturating_add(signal),
            Self::TimedOut => TIMED_OUT_STATUS,
        }
    }

    /// The signal that ended it.
    #[must_use]
    pub const fn signal(self) -> Option<i32> {
        match self {
            Self::Signalled { signal } => Some(signal),
            Self::Exited { .. } | Self::TimedOut => None,
        }
    }
}

impl CapturedStream {
    /// What stands at its end.
    #[must_use]
    pub fn last(&self) -> &str {
        if self.tail.is_empty() {
            &self.head
        } else {
            &self.tail
        }
    }
}

/// A finished command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandOutput {
    /// How it ended.
    pub end: CommandEnd,
    /// What it printed.
    pub stdout: CapturedStream,
    /// What it complained.
    pub stderr: CapturedStream,
    /// How long it took.
    pub duration_ms: u64,
    /// Processes it left behind, which were stopped.
    pub leftovers: u32,
    /// Processes of it that could not be stopped, and may still run.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub survivors: u32,
    /// Whether it was stopped on request. One that had ended by itself before the request reached it was not.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub stopped: bool,
}

/// Why a command could not be run at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "failure", rename_all = "snake_case")]
pub enum CommandFailure {
    /// The working directory is not inside the execution root.
    #[error("working directory {workdir} is outside the execution root {execution_root}")]
    OutsideRoot {
        /// The directory as asked for.
        workdir: String,
        /// The root.
        execution_root: String,
    },
    /// The working directory does not exist.
    #[error("working directory {workdir} does not exist")]
    MissingWorkdir {
        /// The directory as asked for.
        workdir: String,
    },
    /// What is named as the working directory is something else.
    #[error("working directory {workdir} is not a directory")]
    WorkdirNoDirectory {
        /// The directory as asked for.
        workdir: String,
    },
    /// The process could not be started.
    #[error("the command could not be started: {reason}")]
    Spawn {
        /// Why.
        reason: String,
    },
    /// The run was aborted and the command with it.
    #[error("the command was stopped because its run was aborted")]
    Cancelled,
    /// It was started, and nobody can prove that it runs or how it ended.
    #[error("the command was started, and what came of it is not known: {reason}")]
    Lost {
        /// What is known instead.
        reason: String,
        /// The last it printed.
        output_tail: String,
    },
}

/// A command that still runs when its call has waited long enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningCommand {
    /// Where it runs, resolved.
    pub workdir: String,
    /// When its program began.
    pub started_at: Timestamp,
    /// What it has printed so far.
    pub stdout: CapturedStream,
    /// What it has complained so far; empty on a terminal.
    pub stderr: CapturedStream,
}

/// Part of one output stream of a task: one piece of it, or two with a hole between. Broken characters are replaced.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StreamPart {
    /// The first piece.
    pub head: String,
    /// The second, where there is one.
    pub tail: String,
    /// Bytes between the two.
    pub left_out: u64,
    /// The stream's offset of its first byte. Beyond the one that was asked for, what lies between was not kept.
    pub at: u64,
    /// The offset to ask for next.
    pub next_offset: u64,
    /// Bytes the stream has in all, so far.
    pub total_bytes: u64,
    /// The file that keeps it.
    pub path: Option<String>,
    /// What that file lacks.
    pub lacks: MissingOutput,
}

/// What a task has printed, as far as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskStreams {
    /// Its output, or the terminal's transcript.
    pub output: StreamPart,
    /// Its complaints, where they are kept apart.
    pub stderr: Option<StreamPart>,
}
