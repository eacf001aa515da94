//! Managed executions: the row of one, how it is found again, and how it ended.
//!
//! A row exists from the moment a command goes on without the call that started it. Its status only moves forward:
//! queued, running, cancelling, then one of the four ends, which nothing changes any more. While it is not over it
//! holds the one effect that watches or stops it.

mod snapshot;

pub use snapshot::{
    ArtifactRef, CommandSnapshot, InputTarget, ListedCommand, TaskHandle, TaskListEntry,
    TaskOutputSnapshot, TaskStatusSnapshot,
};

use crate::authority::TrustLevel;
use crate::command::{CapturedStream, CommandOutput};
use crate::effect::EffectId;
use crate::failure::FailureArtifact;
use crate::id::{AgentId, CallId, MessageId, TaskId, WorkItemId};
use crate::intent::ExecCommand;
use crate::text;
use crate::time::Timestamp;
use crate::workspace::WorkspaceEntry;
use serde::{Deserialize, Serialize};

/// What runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskKind {
    /// A command.
    CommandTask,
    /// A supervised child agent.
    ChildAgentTask,
    /// A rest.
    SleepJob,
    /// Older name of a child; read, never written.
    SubagentTask,
    /// Older name of a child in a worktree; read, never written.
    WorktreeSubagentTask,
}

/// Where it stands. Monotone: a terminal state never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Not started.
    Queued,
    /// Running.
    Running,
    /// Asked to stop.
    Cancelling,
    /// Done.
    Completed,
    /// Failed.
    Failed,
    /// Stopped.
    Cancelled,
    /// Lost, with evidence.
    Interrupted,
}

impl TaskStatus {
    /// Whether nothing more happens.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        match self {
            Self::Queued | Self::Running | Self::Cancelling => false,
            Self::Completed | Self::Failed | Self::Cancelled | Self::Interrupted => true,
        }
    }
}

/// Whether the scheduler waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Default)]
#[serde(rename_all = "snake_case")]
pub enum WaitPolicy {
    /// No.
    #[default]
    Background,
    /// Yes.
    Blocking,
}

/// How it is brought back after a restart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TaskRecoverySpec {
    /// A command.
    CommandTask {
        /// What it was for.
        summary: String,
        /// How it was started and where it is found.
        spec: Box<CommandTaskSpec>,
        /// On whose word.
        trust: TrustLevel,
    },
    /// A child.
    ChildAgentTask {
        /// What it was for.
        summary: String,
        /// What it was told.
        prompt: String,
        /// On whose word.
        trust: TrustLevel,
        /// Where it works.
        workspace_mode: WorkspaceMode,
    },
}

impl TaskRecoverySpec {
    /// On whose word it was begun.
    #[must_use]
    pub const fn trust(&self) -> TrustLevel {
        match self {
            Self::CommandTask { trust, .. } | Self::ChildAgentTask { trust, .. } => *trust,
        }
    }
}

/// A command that goes on without the call that started it.
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a published field of its own"
)]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandTaskSpec {
    /// The call that started it; its shim answers to this and to nothing else.
    pub call_id: CallId,
    /// The shell text.
    pub cmd: String,
    /// What tells equal commands: a digest of text, directory, shell, login and terminal.
    pub cmd_digest: String,
    /// Where it runs.
    pub workdir: String,
    /// Which shell; the user's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// Whether as a login shell.
    #[serde(default)]
    pub login: bool,
    /// Whether on a terminal.
    #[serde(default)]
    pub tty: bool,
    /// Whether it can be written to.
    #[serde(default)]
    pub accepts_input: bool,
    /// The file of its output, or of the terminal's transcript.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_path: Option<String>,
    /// The file of its complaints, where they are kept apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_path: Option<String>,
    /// Whether it was promoted by its call, rather than taken over when its run was called off.
    #[serde(default)]
    pub promoted_from_exec_command: bool,
    /// How many commands the call holds, where it holds several; each is found by its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_items: Option<u32>,
    /// When its program began, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
}

impl CommandTaskSpec {
    /// The command of a call, before anything is known of its files.
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
        }
    }
}

/// What tells equal commands: the hexadecimal SHA-256 of text, directory, shell, login and terminal.
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

/// The directory by its words: the way through links is the executor's.
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

/// What whoever watched or stopped a command reports of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskReport {
    /// It ended. The captures are short.
    Ended(CommandOutput),
    /// Nobody can prove that it runs or how it ended.
    Lost {
        /// What is known instead.
        reason: String,
        /// The last it printed.
        stdout: CapturedStream,
        /// The last it complained.
        stderr: CapturedStream,
    },
}

/// How a task ended: what stays readable when its files are gone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskEnd {
    /// When that was put on record.
    pub ended_at: Timestamp,
    /// The command's exit status, as a shell tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<i32>,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// How long it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// One sentence.
    pub result_summary: String,
    /// The last of its output, bounded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output_summary: String,
    /// Bytes of output in all.
    #[serde(default)]
    pub output_bytes: u64,
    /// Whether the summary lacks some of the output, white space at an end apart; rows from before this was kept do
    /// not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_cut: Option<bool>,
    /// Evidence, when it did not end well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_artifact: Option<FailureArtifact>,
}

impl TaskEnd {
    /// Whether the summary lacks some of the output. Where that is not on record, it may when it is shorter.
    #[must_use]
    pub fn lacks_output(&self) -> bool {
        self.output_cut
            .unwrap_or(self.output_bytes > self.output_summary.len() as u64)
    }
}

/// How a task is stopped, as strongly as anybody ever asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct StopOrder {
    /// Whether it is killed at once, without time to end by itself.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub force: bool,
    /// Whether an operator stopped it with its agent, which had not asked for that and is told of its end later.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub with_agent: bool,
    /// Whether its agent asked for it. Its end then leaves a `task_status` message.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub by_agent: bool,
}

/// Where a child works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceMode {
    /// Where its parent does.
    Inherit,
    /// In a worktree of its own.
    Worktree,
}

/// One managed execution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskRecord {
    /// Its id.
    pub id: TaskId,
    /// Whose it is.
    pub agent_id: AgentId,
    /// What runs.
    pub kind: TaskKind,
    /// Where it stands.
    pub status: TaskStatus,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// The message whose turn made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_message_id: Option<MessageId>,
    /// The work it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Whether the scheduler waits for it.
    #[serde(default)]
    pub wait_policy: WaitPolicy,
    /// Whether its end starts a model turn.
    #[serde(default, alias = "continue_on_result")]
    pub terminal_reentry: bool,
    /// How it is brought back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<TaskRecoverySpec>,
    /// Written by earlier builds and no longer read: the bound of a run is among the terms of its agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rounds: Option<u32>,
    /// The effect that watches or stops it; none once it is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<EffectId>,
    /// How it is stopped, or was; none where nobody stopped it, and in rows of old.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<StopOrder>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<TaskEnd>,
    /// Boots after an unclean exit, in a row, that found its command over although its end was not on record: what
    /// killed the host may be reading it. `core::task` says what becomes of it.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub ends_unread: u32,
}

impl TaskRecord {
    /// Since when it runs: its program where that is known, else its row.
    #[must_use]
    pub fn runs_since(&self) -> Timestamp {
        let started_at = self.command().and_then(|spec| spec.started_at);
        started_at.unwrap_or(self.created_at)
    }

    /// Whether nothing more happens to it. An interrupted child is not over: the child may live, so its task can still be
    /// stopped, and the child's end is still taken.
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

    /// The command, where it is one.
    #[must_use]
    pub fn command(&self) -> Option<&CommandTaskSpec> {
        match &self.recovery {
            Some(TaskRecoverySpec::CommandTask { spec, .. }) => Some(spec),
            Some(TaskRecoverySpec::ChildAgentTask { .. }) | None => None,
        }
    }
}
