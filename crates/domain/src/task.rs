//! Tasks: background commands and child agents.
//!
//! A row exists from the moment a command outlives the call that started it, or from the request of an operator who
//! starts one. Its status only moves forward: queued, running, cancelling, then one of the four ends, which are final.
//! Until then the row holds the one effect that starts, watches or stops the task.

mod snapshot;

pub use snapshot::{
    ArtifactRef, CommandSnapshot, InputTarget, ListedCommand, TaskHandle, TaskListEntry,
    TaskOutputSnapshot, TaskStatusSnapshot,
};

use crate::authority::TrustLevel;
use crate::command::{CapturedStream, CommandOutput};
use crate::delegation::ChildTask;
use crate::effect::EffectId;
use crate::failure::FailureArtifact;
use crate::guidance::TaskSkills;
use crate::id::{AgentId, CallId, MessageId, TaskId, WorkItemId};
use crate::intent::{DuplicatePolicy, ExecCommand};
use crate::queue::MessageSeq;
use crate::text;
use crate::time::Timestamp;
use crate::workspace::WorkspaceEntry;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Kind of work that a task runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// A command in the background.
    CommandTask,
    /// A supervised child agent.
    ChildAgentTask,
    /// A rest as a task; read, never written.
    SleepJob,
    /// Older name of a child; read, never written.
    SubagentTask,
    /// Older name of a child in a worktree; read, never written.
    WorktreeSubagentTask,
}

/// Status of a task. It only moves forward. A terminal status never changes, except that an interrupted child agent
/// may be found again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// It was created and has not started yet.
    Queued,
    Running,
    /// It was asked to stop.
    Cancelling,
    /// It ended without an error.
    Completed,
    /// It ended with an error.
    Failed,
    /// It was stopped on request.
    Cancelled,
    /// The runtime lost it; the failure artifact holds the evidence.
    Interrupted,
}

impl TaskStatus {
    /// Returns true if the task has ended. Only an interrupted child agent may still be found again.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Queued | Self::Running | Self::Cancelling => false,
            Self::Completed | Self::Failed | Self::Cancelled | Self::Interrupted => true,
        }
    }
}

/// Tells whether the scheduler waits for a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitPolicy {
    #[default]
    Background,
    Blocking,
}

/// Data from which a task is resumed after a restart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TaskRecoverySpec {
    CommandTask {
        summary: String,
        /// Start parameters and location of the command.
        spec: Box<CommandTaskSpec>,
        trust: TrustLevel,
    },
    ChildAgentTask {
        summary: String,
        /// Instruction of the child.
        prompt: String,
        trust: TrustLevel,
        workspace_mode: WorkspaceMode,
        /// Absent in rows of earlier builds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        child: Option<Box<ChildTask>>,
    },
    /// Older form of a child in the workspace of its parent; read, never written for a new task.
    SubagentTask {
        summary: String,
        /// Instruction of the child.
        prompt: String,
        trust: TrustLevel,
    },
    /// Older form of a child in a worktree; read, never written for a new task.
    WorktreeSubagentTask {
        summary: String,
        /// Instruction of the child.
        prompt: String,
        trust: TrustLevel,
    },
}

impl TaskRecoverySpec {
    /// Returns the trust under which the task was created.
    #[must_use]
    pub const fn trust(&self) -> TrustLevel {
        match self {
            Self::CommandTask { trust, .. }
            | Self::ChildAgentTask { trust, .. }
            | Self::SubagentTask { trust, .. }
            | Self::WorktreeSubagentTask { trust, .. } => *trust,
        }
    }

    /// Returns the workspace of the child; `None` for a command.
    #[must_use]
    pub const fn workspace_mode(&self) -> Option<WorkspaceMode> {
        match self {
            Self::CommandTask { .. } => None,
            Self::ChildAgentTask { workspace_mode, .. } => Some(*workspace_mode),
            Self::SubagentTask { .. } => Some(WorkspaceMode::Inherit),
            Self::WorktreeSubagentTask { .. } => Some(WorkspaceMode::Worktree),
        }
    }
}

/// A command that outlived the call that started it.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a published field of its own"
)]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandTaskSpec {
    /// Call that started the command. Its shim answers only to a caller that knows this id.
    pub call_id: CallId,
    pub cmd: String,
    /// Digest of text, directory, shell, login and terminal. Equal commands have equal digests.
    pub cmd_digest: String,
    /// Absolute path of the working directory.
    pub workdir: String,
    /// Program of the shell. Absent if the user's shell is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// True if the shell runs as a login shell.
    #[serde(default)]
    pub login: bool,
    /// True if the command runs on a terminal.
    #[serde(default)]
    pub tty: bool,
    /// True if the command accepts input while it runs.
    #[serde(default)]
    pub accepts_input: bool,
    /// File of its output, or of the terminal's transcript.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_path: Option<String>,
    /// File of its standard error. Absent if it is not separate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_path: Option<String>,
    /// True if its call turned it into a task. False if it became one when its run was aborted.
    #[serde(default)]
    pub promoted_from_exec_command: bool,
    /// Number of commands if the call is a batch; each is found by its number. Absent for a single command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_items: Option<u32>,
    /// Time at which its program began. Absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// True if an operator started it as a task.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub started_by_operator: bool,
    /// Workspace in which a queued command is started. Absent once it has started, and if its call started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starts_in: Option<Box<WorkspaceEntry>>,
    /// Skills that the command refers to, found when it became a task. Absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skills: Option<Box<TaskSkills>>,
    /// Older place of [`TaskRecord::terminal_reentry`]. Reading a row moves it there, so it is never written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continue_on_result: Option<bool>,
}

impl CommandTaskSpec {
    /// Describes the command of a call whose files are not known yet.
    #[must_use]
    pub fn of(call_id: &CallId, command: &ExecCommand, workspace: &WorkspaceEntry) -> Self {
        Self {
            call_id: call_id.clone(),
            cmd: command.cmd.clone(),
            cmd_digest: cmd_digest(command, workspace),
            workdir: workdir(command, workspace),
            shell: command.shell.clone(),
            login: command.login,
            tty: command.tty,
            accepts_input: command.accepts_input,
            output_path: None,
            stderr_path: None,
            promoted_from_exec_command: false,
            batch_items: None,
            started_at: None,
            started_by_operator: false,
            starts_in: None,
            skills: None,
            continue_on_result: None,
        }
    }

    /// Returns the command of a queued task in the form in which a call gives one. Its directory is absolute.
    #[must_use]
    pub fn order(&self) -> ExecCommand {
        ExecCommand {
            cmd: self.cmd.clone(),
            workdir: Some(self.workdir.clone()),
            shell: self.shell.clone(),
            login: self.login,
            tty: self.tty,
            accepts_input: self.accepts_input,
            duplicate_policy: DuplicatePolicy::StartNew,
            yield_time_ms: 0,
            max_output_tokens: None,
        }
    }
}

/// Command that an operator asks for, with checked arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCommandTask {
    pub command: ExecCommand,
    /// Short description for lists. The command itself if absent.
    pub summary: Option<String>,
    /// Trust of the caller, which its result cannot exceed.
    pub trust: TrustLevel,
}

/// Start of a queued command, as its supervisor reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartedCommand {
    /// Directory in which it runs, resolved.
    pub workdir: String,
    pub started_at: Timestamp,
    pub output_path: Option<String>,
    /// `None` on a terminal.
    pub stderr_path: Option<String>,
}

/// Returns the hexadecimal SHA-256 of text, directory, shell, login and terminal. Equal commands have equal digests.
#[must_use]
pub fn cmd_digest(command: &ExecCommand, workspace: &WorkspaceEntry) -> String {
    let identity = serde_json::json!([
        command.cmd,
        workdir(command, workspace),
        command.shell,
        command.login,
        command.tty,
    ]);
    text::sha256_hex(identity.to_string())
}

/// Joins the directory without resolving links; the executor resolves them.
fn workdir(command: &ExecCommand, workspace: &WorkspaceEntry) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let asked = command.workdir.as_deref().unwrap_or_default();
    let from = if asked.starts_with('/') {
        ""
    } else {
        workspace.cwd.as_str()
    };
    for part in from.split('/').chain(asked.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Report of the effect that watched or stopped a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskReport {
    /// It ended. The captures are short.
    Ended(CommandOutput),
    /// It could not be started, and nothing of it has run.
    NotStarted {
        /// Cause, with the next step.
        reason: String,
    },
    /// It cannot be proven that it runs or how it ended.
    Lost {
        /// Facts that are known instead.
        reason: String,
        /// End of its output, as far as it could be read.
        stdout: CapturedStream,
        stderr: CapturedStream,
    },
}

/// End of a task. It stays readable when the task's files are gone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskEnd {
    /// Time at which the end was recorded.
    pub ended_at: Timestamp,
    /// Exit status of the command as a shell reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i32>,
    /// Signal that killed the command. Absent if none did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Milliseconds from the start of the program to its end. Absent if the start is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// One sentence for the agent and the operator.
    pub result_summary: String,
    /// End of its output, cut to a bound.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output_summary: String,
    /// Bytes of output in total.
    #[serde(default)]
    pub output_bytes: u64,
    /// True if the summary lacks some of the output, apart from white space at an end. Absent in rows of earlier
    /// builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_cut: Option<bool>,
    /// Present if the task failed or was lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_artifact: Option<FailureArtifact>,
}

impl TaskEnd {
    /// Returns true if the summary lacks some of the output. If that is not on record, it is assumed when the summary
    /// is shorter.
    #[must_use]
    pub fn lacks_output(&self) -> bool {
        self.output_cut
            .unwrap_or(self.output_bytes > self.output_summary.len() as u64)
    }
}

/// Order to stop a task. Several requests merge into the strongest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "requests of several parties merge, so each has a mark of its own"
)]
pub struct StopOrder {
    /// True if the task is killed at once, without time to end by itself.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub force: bool,
    /// True if an operator stopped it together with its agent. The agent is told of its end later.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub with_agent: bool,
    /// True if the agent asked for it. Its end then leaves a `task_status` message.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub by_agent: bool,
    /// True if an operator asked for it, without stopping the agent. Its end leaves a `task_status` message too.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub by_operator: bool,
}

impl StopOrder {
    /// The order for a task that is stopped together with its agent.
    #[must_use]
    pub fn with_agent() -> Self {
        Self {
            with_agent: true,
            ..Self::default()
        }
    }
}

/// Workspace of a child agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceMode {
    /// The workspace of its parent.
    Inherit,
    /// A git worktree of its own.
    Worktree,
}

/// One background command or child agent, as stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct TaskRecord {
    pub id: TaskId,
    pub agent_id: AgentId,
    pub kind: TaskKind,
    pub status: TaskStatus,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    /// Message whose turn created the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_message_id: Option<MessageId>,
    /// Queue position of that message. Absent in rows of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_message_seq: Option<MessageSeq>,
    /// Work item that the task belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// Short description for lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    #[serde(default)]
    pub wait_policy: WaitPolicy,
    /// True if its end opens a model turn.
    #[serde(default, alias = "continue_on_result")]
    pub terminal_reentry: bool,
    /// Absent in rows that cannot be resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<TaskRecoverySpec>,
    /// Written by earlier builds and not read any more: the bound of a run is part of the terms of its agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rounds: Option<u32>,
    /// Open effect that watches or stops the task. Absent once it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<EffectId>,
    /// Absent if the task was not asked to stop, and in old rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopOrder>,
    /// Absent until the task has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<TaskEnd>,
    /// Restarts in a row after an unclean exit that found the command ended without a record of its end, or a queued
    /// one not started. Reading its output or starting it may have killed the host; `core::task` decides what follows.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub ends_unread: u32,
    /// Number of inputs that operators have written. The next one gets the next number.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub operator_inputs: u64,
}

impl TaskRecord {
    /// Returns the time since which the task runs: the start of its program if it is known, else the creation of its
    /// row.
    #[must_use]
    pub fn runs_since(&self) -> Timestamp {
        let started_at = self.command().and_then(|spec| spec.started_at);
        started_at.unwrap_or(self.created_at)
    }

    /// Returns true if nothing more happens to the task. An interrupted child is not over: the child may be alive, so
    /// its task can still be stopped, and its end is still accepted.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        match (self.kind, self.status) {
            (
                TaskKind::ChildAgentTask | TaskKind::SubagentTask | TaskKind::WorktreeSubagentTask,
                TaskStatus::Interrupted,
            ) => false,
            (_, status) => status.is_terminal(),
        }
    }

    /// Returns the command if the task runs one.
    #[must_use]
    pub fn command(&self) -> Option<&CommandTaskSpec> {
        match &self.recovery {
            Some(TaskRecoverySpec::CommandTask { spec, .. }) => Some(spec),
            Some(
                TaskRecoverySpec::ChildAgentTask { .. }
                | TaskRecoverySpec::SubagentTask { .. }
                | TaskRecoverySpec::WorktreeSubagentTask { .. },
            )
            | None => None,
        }
    }
}

impl Serialize for TaskRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for TaskRecord {
    /// Reads a row. In rows of older builds the specification of the command says whether its end opens a turn.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut task = Self::deserialize(deserializer)?;
        if let Some(TaskRecoverySpec::CommandTask { spec, .. }) = &mut task.recovery {
            task.terminal_reentry |= spec.continue_on_result.take().unwrap_or_default();
        }
        Ok(task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn row(kind: &str, status: &str, recovery: &Value) -> Value {
        json!({
            "id": "task_1", "agent_id": "main", "kind": kind, "status": status,
            "created_at": "2026-11-14T21:46:40.123Z", "updated_at": "2026-11-14T21:46:40.123Z",
            "wait_policy": "blocking", "recovery": recovery,
        })
    }

    #[test]
    fn a_retired_kind_of_child_is_read_with_its_workspace_and_written_back_unchanged() {
        let table = [
            ("subagent_task", WorkspaceMode::Inherit),
            ("worktree_subagent_task", WorkspaceMode::Worktree),
        ];
        for (kind, mode) in table {
            let recovery = json!({
                "kind": kind, "summary": "look", "prompt": "Look into it.", "trust": "trusted_operator",
            });
            let task: TaskRecord =
                serde_json::from_value(row(kind, "running", &recovery)).expect("is read");
            let read = task.recovery.as_ref().expect("a recovery");
            assert_eq!(read.workspace_mode(), Some(mode));
            assert_eq!(read.trust(), TrustLevel::TrustedOperator);
            assert_eq!((task.command(), task.child()), (None, None));
            let again = serde_json::to_value(&task).expect("is written");
            assert_eq!(again["recovery"], recovery);
        }
    }

    #[test]
    fn a_flag_inside_the_command_of_an_old_row_says_whether_its_end_opens_a_turn() {
        for flag in [true, false] {
            let recovery = json!({
                "kind": "command_task", "summary": "make", "trust": "trusted_operator",
                "spec": {
                    "call_id": "call_1", "cmd": "make", "cmd_digest": "5f1d", "workdir": "/w",
                    "continue_on_result": flag,
                },
            });
            let task: TaskRecord =
                serde_json::from_value(row("command_task", "running", &recovery)).expect("is read");
            assert_eq!(task.terminal_reentry, flag);
            let mut again = serde_json::to_value(&task).expect("is written");
            assert_eq!(again["terminal_reentry"], flag);
            // What is decided later holds: the old flag does not come back with the next read.
            again["terminal_reentry"] = json!(false);
            let task: TaskRecord = serde_json::from_value(again).expect("is read");
            assert!(!task.terminal_reentry);
        }
    }
}
