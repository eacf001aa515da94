//! What came of a command: bounded captures of its streams and how it ended.

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
    /// The working directory does not exist or is no directory.
    #[error("working directory {workdir} does not exist")]
    MissingWorkdir {
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
}
