//! Tasks as a client reads them.

use serde::Deserialize;

/// One task in a list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ListedTask {
    pub id: String,
    pub kind: String,
    pub status: String,
    pub summary: Option<String>,
    pub created_at: String,
}

/// One task without its output.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TaskView {
    pub task_id: String,
    pub kind: String,
    pub status: String,
    pub summary: Option<String>,
    pub created_at: String,
    pub updated_at: String,
    /// Absent for a child agent.
    pub command: Option<TaskCommand>,
}

/// The command of a task.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TaskCommand {
    pub cmd: String,
    pub workdir: String,
    /// One sentence about its end; absent while it runs.
    pub result_summary: Option<String>,
    pub exit_status: Option<i32>,
    #[serde(default)]
    pub accepts_input: bool,
}

/// A part of a task's output.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TaskOutput {
    /// `success` once the task is over.
    pub retrieval_status: String,
    pub task: TaskPrinted,
    /// Reason why the output could not be read.
    pub unreadable: Option<String>,
}

/// The shown output, and the offsets from which to read on.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TaskPrinted {
    pub task_id: String,
    pub status: String,
    pub output_preview: String,
    /// Absent if the standard error is not separate, or was not requested.
    pub stderr_preview: Option<String>,
    pub next_offset: Option<u64>,
    pub next_stderr_offset: Option<u64>,
    /// One sentence about the end of the task; absent while it runs.
    pub result_summary: Option<String>,
    pub exit_status: Option<i32>,
}

/// Input that a task has taken.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TaskWrite {
    pub bytes_written: u64,
    /// Reason why the input was not closed although it was asked for.
    pub not_closed: Option<String>,
}

/// A task after a request to stop it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TaskStop {
    pub task: TaskView,
    /// False if the task was over before.
    pub stop_requested: bool,
    /// True if the task is killed.
    pub force_stop_requested: bool,
}
