//! What is shown of a task: to models, to operators, on the wire. Computed from the row, never stored.
//!
//! A status snapshot is lifecycle and coordination only; output belongs to the output snapshot.

use super::{CommandTaskSpec, TaskEnd, TaskKind, TaskRecord, TaskStatus, WaitPolicy};
use crate::failure::FailureArtifact;
use crate::id::{MessageId, TaskId};
use crate::limits::EVENT_PREVIEW_BYTES;
use crate::text;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};

/// A task as the call that made it names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskHandle {
    /// Which.
    pub task_id: TaskId,
    /// What runs.
    pub task_kind: TaskKind,
    /// Where it stands.
    pub status: TaskStatus,
    /// The beginning of what it printed before its call was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_output: Option<String>,
}

/// Where input goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputTarget {
    /// A pipe.
    Stdin,
    /// A terminal.
    Tty,
    /// A child agent.
    ChildFollowup,
}

/// The command of a task.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a published field of its own"
)]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandSnapshot {
    /// The shell text.
    pub cmd: String,
    /// What tells equal commands.
    pub cmd_digest: String,
    /// Where it runs.
    pub workdir: String,
    /// Which shell, where one was named.
    pub shell: Option<String>,
    /// Whether as a login shell.
    pub login: bool,
    /// Whether on a terminal.
    pub tty: bool,
    /// Where its output is kept.
    pub output_path: Option<String>,
    /// Where its complaints are kept, when apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_path: Option<String>,
    /// One sentence on its end.
    pub result_summary: Option<String>,
    /// Its exit status.
    pub exit_status: Option<i32>,
    /// Whether its end starts a model turn.
    pub terminal_reentry: bool,
    /// Whether a call promoted it.
    pub promoted_from_exec_command: bool,
    /// Whether it can be written to.
    pub accepts_input: bool,
    /// Where that would go.
    pub input_target: Option<InputTarget>,
}

/// A task's lifecycle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskStatusSnapshot {
    /// Which.
    pub task_id: TaskId,
    /// What runs.
    pub kind: TaskKind,
    /// Where it stands.
    pub status: TaskStatus,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Whether the scheduler waits for it.
    pub wait_policy: WaitPolicy,
    /// The message whose turn made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_message_id: Option<MessageId>,
    /// Its command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandSnapshot>,
}

/// The command of a task in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedCommand {
    /// The beginning of the shell text.
    pub cmd: String,
    /// What tells equal commands.
    pub cmd_digest: String,
    /// Where it runs.
    pub workdir: String,
    /// Whether on a terminal.
    pub tty: bool,
    /// Whether it can be written to.
    pub accepts_input: bool,
}

/// A task in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskListEntry {
    /// Which.
    pub id: TaskId,
    /// What runs.
    pub kind: TaskKind,
    /// Where it stands.
    pub status: TaskStatus,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Since when it runs.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Whether the scheduler waits for it.
    pub wait_policy: WaitPolicy,
    /// Its command; absent in what an older build wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<ListedCommand>,
}

/// A task's output, bounded, with what is known of its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskOutputSnapshot {
    /// Which.
    pub task_id: TaskId,
    /// What runs.
    pub kind: TaskKind,
    /// Where it stands.
    pub status: TaskStatus,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// A bounded preview of what was printed on both pipes, never the promise of all of it. Of a look that reads on from
    /// an offset it is the output alone.
    pub output_preview: String,
    /// What was printed on standard error, where that is kept apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_preview: Option<String>,
    /// Whether a preview was cut, by more than white space at its end.
    pub output_truncated: bool,
    /// The offset to read the output from next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
    /// The offset to read separate complaints from next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_stderr_offset: Option<u64>,
    /// Bytes of output so far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    /// Files by path.
    pub artifacts: Vec<ArtifactRef>,
    /// Which of them is the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_artifact: Option<usize>,
    /// Which of them is the complaints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_artifact: Option<usize>,
    /// One sentence on its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result_summary: Option<String>,
    /// Its exit status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i32>,
    /// Evidence, when it did not end well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_artifact: Option<FailureArtifact>,
}

/// A file the runtime keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactRef {
    /// Where.
    pub path: String,
}

impl TaskRecord {
    /// The task as the call that made it names it.
    #[must_use]
    pub fn handle(&self) -> TaskHandle {
        TaskHandle {
            task_id: self.id.clone(),
            task_kind: self.kind,
            status: self.status,
            initial_output: None,
        }
    }

    /// The task in a list.
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
        }
    }

    /// What is on record of the task's output and end, without a look at its files.
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
            stderr_artifact: stderr.is_some().then_some(usize::from(output.is_some())),
            artifacts: output.into_iter().chain(stderr).collect(),
            result_summary: end.map(|end| end.result_summary.clone()),
            exit_status: end.and_then(|end| end.exit_status),
            failure_artifact: end.and_then(|end| end.failure_artifact.clone()),
        }
    }

    /// The task's lifecycle.
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
    /// Where input goes, when it is taken.
    #[must_use]
    pub const fn input_target(&self) -> Option<InputTarget> {
        match (self.accepts_input, self.tty) {
            (false, _) => None,
            (true, true) => Some(InputTarget::Tty),
            (true, false) => Some(InputTarget::Stdin),
        }
    }
}
