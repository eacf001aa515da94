//! Views of a task for models, operators and clients. Computed from the row, never stored.
//!
//! A status snapshot has no output; the output snapshot has.

use super::{CommandTaskSpec, TaskEnd, TaskKind, TaskRecord, TaskStatus, WaitPolicy};
use crate::delegation::{ChildObservability, ChildSupervision, DelegationRecord};
use crate::failure::FailureArtifact;
use crate::id::{AgentId, MessageId, TaskId};
use crate::limits::EVENT_PREVIEW_BYTES;
use crate::text;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Reference to a task in the result of the call that created it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskHandle {
    pub task_id: TaskId,
    pub task_kind: TaskKind,
    pub status: TaskStatus,
    /// Beginning of its output before the call returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_output: Option<String>,
}

/// Destination of input for a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InputTarget {
    /// A pipe to standard input.
    Stdin,
    Tty,
    ChildFollowup,
}

/// Command of a task with its files and its end.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a published field of its own"
)]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandSnapshot {
    pub cmd: String,
    /// Equal commands have equal digests.
    pub cmd_digest: String,
    pub workdir: String,
    /// Absent if the user's shell is used.
    pub shell: Option<String>,
    pub login: bool,
    pub tty: bool,
    /// File of its output. Absent if there is none.
    pub output_path: Option<String>,
    /// File of its standard error. Absent if it is not separate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_path: Option<String>,
    /// One sentence about its end. Absent while it runs.
    pub result_summary: Option<String>,
    pub exit_status: Option<i32>,
    /// True if its end opens a model turn.
    pub terminal_reentry: bool,
    /// True if its call turned it into a task.
    pub promoted_from_exec_command: bool,
    pub accepts_input: bool,
    /// Absent if no input is accepted.
    pub input_target: Option<InputTarget>,
}

/// Lifecycle of a task without its output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskStatusSnapshot {
    pub task_id: TaskId,
    pub kind: TaskKind,
    pub status: TaskStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub wait_policy: WaitPolicy,
    /// Message whose turn created the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_message_id: Option<MessageId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandSnapshot>,
    /// Private agent that the task stands for. Absent for a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_agent_id: Option<AgentId>,
    /// What the child does. Absent for a command, and if the child was not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_observability: Option<ChildObservability>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_supervision: Option<ChildSupervision>,
    /// The delegation that the task stands for. Absent for a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegation: Option<DelegationRecord>,
}

/// Command of a task in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedCommand {
    /// Beginning of the shell text.
    pub cmd: String,
    /// Equal commands have equal digests.
    pub cmd_digest: String,
    pub workdir: String,
    pub tty: bool,
    pub accepts_input: bool,
}

/// One task in a list of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskListEntry {
    pub id: TaskId,
    pub kind: TaskKind,
    pub status: TaskStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Time since which the task runs.
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub wait_policy: WaitPolicy,
    /// Absent in entries of older builds, and for child agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<ListedCommand>,
    /// Private agent that the task stands for. Absent for a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_agent_id: Option<AgentId>,
}

/// Bounded output of a task, with its end if it has one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskOutputSnapshot {
    pub task_id: TaskId,
    pub kind: TaskKind,
    pub status: TaskStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Bounded preview of the output of both pipes. If the query named an offset, it is the output alone.
    pub output_preview: String,
    /// Preview of the standard error. Absent if it is not separate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_preview: Option<String>,
    /// True if a preview was cut by more than white space at its end.
    pub output_truncated: bool,
    /// Offset from which to read the output next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
    /// Offset from which to read the standard error next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_stderr_offset: Option<u64>,
    /// Bytes of output so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    pub artifacts: Vec<ArtifactRef>,
    /// Index in `artifacts` of the file with the whole output: the combined one if the command used both pipes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_artifact: Option<usize>,
    /// Index of the standard output alone in `artifacts`; `next_offset` counts in it. Absent in results of earlier
    /// builds, where it is `output_artifact`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout_artifact: Option<usize>,
    /// Index of the standard error in `artifacts`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_artifact: Option<usize>,
    /// One sentence about its end. Absent while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_summary: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i32>,
    /// Present if the task failed or was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_artifact: Option<FailureArtifact>,
    /// Present for a child agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_supervision: Option<ChildSupervision>,
}

/// A file that the runtime keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactRef {
    pub path: String,
}

impl TaskRecord {
    /// Returns the reference that the creating call returns.
    #[must_use]
    pub fn handle(&self) -> TaskHandle {
        TaskHandle {
            task_id: self.id.clone(),
            task_kind: self.kind,
            status: self.status,
            initial_output: None,
        }
    }

    /// Returns the entry of this task for a list.
    #[must_use]
    pub fn list_entry(&self) -> TaskListEntry {
        TaskListEntry {
            id: self.id.clone(),
            kind: self.kind,
            status: self.status,
            summary: self.summary.clone(),
            created_at: self.created_at,
            updated_at: self.updated_at,
            wait_policy: self.wait_policy,
            command: self.command().map(|spec| ListedCommand {
                cmd: text::preview(&spec.cmd, EVENT_PREVIEW_BYTES),
                cmd_digest: spec.cmd_digest.clone(),
                workdir: spec.workdir.clone(),
                tty: spec.tty,
                accepts_input: spec.accepts_input,
            }),
            child_agent_id: self.child().map(|child| child.child_agent_id.clone()),
        }
    }

    /// Returns the recorded output and end without reading the task's files.
    #[must_use]
    pub fn output_snapshot(&self) -> TaskOutputSnapshot {
        let (spec, end) = (self.command(), self.end.as_ref());
        let path = |path: Option<&String>| path.cloned().map(|path| ArtifactRef { path });
        let output = path(spec.and_then(|spec| spec.output_path.as_ref()));
        let stderr = path(spec.and_then(|spec| spec.stderr_path.as_ref()));
        let preview = end.map(|end| end.output_summary.clone());
        let preview = preview.unwrap_or_default();
        let bytes = end.map(|end| end.output_bytes);
        TaskOutputSnapshot {
            task_id: self.id.clone(),
            kind: self.kind,
            status: self.status,
            summary: self.summary.clone(),
            output_truncated: end.is_some_and(TaskEnd::lacks_output),
            output_preview: preview,
            stderr_preview: None,
            next_offset: None,
            next_stderr_offset: None,
            output_bytes: bytes,
            output_artifact: output.is_some().then_some(0),
            stdout_artifact: output.is_some().then_some(0),
            stderr_artifact: stderr.is_some().then_some(usize::from(output.is_some())),
            artifacts: output.into_iter().chain(stderr).collect(),
            result_summary: end.map(|end| end.result_summary.clone()),
            exit_status: end.and_then(|end| end.exit_status),
            failure_artifact: end.and_then(|end| end.failure_artifact.clone()),
            child_supervision: self.child_supervision(),
        }
    }

    /// Returns the lifecycle of the task without its output.
    #[must_use]
    pub fn status_snapshot(&self) -> TaskStatusSnapshot {
        TaskStatusSnapshot {
            task_id: self.id.clone(),
            kind: self.kind,
            status: self.status,
            summary: self.summary.clone(),
            created_at: self.created_at,
            updated_at: self.updated_at,
            wait_policy: self.wait_policy,
            parent_message_id: self.parent_message_id.clone(),
            command: self
                .command()
                .map(|spec| command_snapshot(spec, self.terminal_reentry, self.end.as_ref())),
            child_agent_id: self.child().map(|child| child.child_agent_id.clone()),
            child_observability: None,
            child_supervision: self.child_supervision(),
            delegation: self.delegation(),
        }
    }
}

fn command_snapshot(
    spec: &CommandTaskSpec,
    terminal_reentry: bool,
    end: Option<&TaskEnd>,
) -> CommandSnapshot {
    CommandSnapshot {
        cmd: spec.cmd.clone(),
        cmd_digest: spec.cmd_digest.clone(),
        workdir: spec.workdir.clone(),
        shell: spec.shell.clone(),
        login: spec.login,
        tty: spec.tty,
        output_path: spec.output_path.clone(),
        stderr_path: spec.stderr_path.clone(),
        result_summary: end.map(|end| end.result_summary.clone()),
        exit_status: end.and_then(|end| end.exit_status),
        terminal_reentry,
        promoted_from_exec_command: spec.promoted_from_exec_command,
        accepts_input: spec.accepts_input,
        input_target: spec.input_target(),
    }
}

impl CommandTaskSpec {
    /// Returns the destination of input. `None` if none is accepted.
    #[must_use]
    pub const fn input_target(&self) -> Option<InputTarget> {
        match (self.accepts_input, self.tty) {
            (false, _) => None,
            (true, true) => Some(InputTarget::Tty),
            (true, false) => Some(InputTarget::Stdin),
        }
    }
}
