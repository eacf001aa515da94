//! Intents: requests of tool calls after their arguments were checked.
//!
//! An intent is either decided by the kernel inside its own commit, or performed by the shell as an effect.

mod work;

pub use work::{
    BlockerChange, NewTimer, NewWait, NewWorkItem, WakeCondition, WorkIntent, WorkItemChange,
    WorkItemFilter, WorkQuery,
};

use crate::delegation::SpawnAgent;
use crate::id::{AgentId, TaskId, TriggerId};
use crate::limits::CALLS_PER_ROUND;
use crate::memory::MemoryQuery;
use crate::message::Priority;
use crate::tool::ToolError;
use crate::trigger::DeliveryMode;
use crate::turn::CallPlace;
use crate::web::{WebFetch, WebSearch};
use crate::workspace::UseWorkspace;
use serde::{Deserialize, Serialize};

/// Request of a tool call after its arguments were checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "intent", rename_all = "snake_case")]
pub enum Intent {
    /// Rest for a while, or until something wakes the agent.
    Sleep {
        /// Reason in the agent's words.
        reason: Option<String>,
        /// Length of the rest in milliseconds. Absent if the agent rests until something arrives.
        duration_ms: Option<u64>,
    },
    /// Put a follow-up message into the agent's own queue.
    Enqueue {
        text: String,
        priority: Priority,
    },
    /// Tell the operator something, or the supervising parent of a private child. Creates no wait.
    NotifyOperator {
        message: String,
        /// Paths of files in the agent's home.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<String>,
    },
    AgentGet,
    /// List the agent's tasks that have not ended.
    TaskList,
    TaskStatus {
        task_id: TaskId,
    },
    /// Ask a task to stop. A second call stops it by force.
    TaskStop {
        task_id: TaskId,
    },
    /// Write to the standard input of a task.
    TaskInput {
        task_id: TaskId,
        input: String,
        /// True if the input is closed after the write.
        close_input: bool,
    },
    /// Read the output of a task.
    TaskOutput(TaskOutput),
    /// Send a message to another agent. The call stays open until that agent has accepted or refused it.
    Message {
        agent_id: AgentId,
        text: String,
        /// Band in the receiver's queue. `interject` counts as `next` there.
        priority: Priority,
    },
    /// Make another agent. The call stays open until the agent exists.
    SpawnAgent(SpawnAgent),
    /// An action of the shell, outside of the kernel.
    Host(HostAction),
    /// Create a work item. The shell writes its plan file first, then the commit of the row creates the item.
    CreateWorkItem(NewWorkItem),
    /// Declare a wait and end the turn.
    WaitFor(NewWait),
    /// Change work. The kernel decides it in the commit of the round.
    Work(WorkIntent),
    WorkQuery(WorkQuery),
    /// Search the agent's memory, or read one document of it.
    Memory(MemoryQuery),
    /// Ask for an external trigger or revoke one. The kernel decides it in the commit of the round.
    Trigger(TriggerIntent),
}

/// A call about the external triggers of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "trigger", rename_all = "snake_case")]
pub enum TriggerIntent {
    /// Return the capability of a mode, made if there is none.
    Create {
        delivery_mode: DeliveryMode,
    },
    Cancel {
        external_trigger_id: TriggerId,
    },
}

impl Intent {
    /// Returns the action that the shell performs for the call at this place. `None` if the kernel or another agent
    /// answers the call. A call yields the same action after a restart.
    #[must_use]
    pub fn action(&self, place: CallPlace) -> Option<HostAction> {
        match self {
            Self::Host(action) => Some(action.clone()),
            Self::TaskOutput(query) => Some(HostAction::TaskOutput(query.clone())),
            Self::CreateWorkItem(_) => Some(HostAction::WritePlan),
            Self::NotifyOperator { attachments, .. }
            | Self::Work(WorkIntent::Complete { attachments, .. })
                if !attachments.is_empty() =>
            {
                Some(HostAction::LookAtFiles {
                    paths: attachments.clone(),
                })
            }
            Self::WorkQuery(query) => Some(HostAction::WorkQuery(query.clone())),
            Self::Memory(query) => Some(HostAction::Memory(query.clone())),
            Self::SpawnAgent(spawn) if spawn.needs_host() => {
                Some(HostAction::PrepareChild(spawn.clone()))
            }
            Self::TaskInput {
                task_id,
                input,
                close_input,
            } => Some(HostAction::TaskInput(TaskInput {
                task_id: task_id.clone(),
                // The place of a call grows over the log, so later calls have greater numbers.
                number: place.round_entry * CALLS_PER_ROUND as u64 + place.call_index as u64,
                input: input.clone(),
                close_input: *close_input,
                by_operator: false,
            })),
            Self::Sleep { .. }
            | Self::Enqueue { .. }
            | Self::NotifyOperator { .. }
            | Self::AgentGet
            | Self::TaskList
            | Self::TaskStatus { .. }
            | Self::TaskStop { .. }
            | Self::Message { .. }
            | Self::SpawnAgent(_)
            | Self::WaitFor(_)
            | Self::Trigger(_)
            | Self::Work(_) => None,
        }
    }
}

/// Action that the shell performs for a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum HostAction {
    /// Run a command until it ends or has run long enough to continue as a task.
    ExecCommand(ExecCommand),
    /// Run commands one after the other, each to its end.
    ExecCommandBatch(ExecCommandBatch),
    /// Apply a patch to all of its files or to none.
    ApplyPatch(ApplyPatch),
    /// Write to the standard input of a task.
    TaskInput(TaskInput),
    /// Read the output of a task.
    TaskOutput(TaskOutput),
    /// Write the plan file of a new work item, whose id is derived from the id of the call.
    WritePlan,
    WorkQuery(WorkQuery),
    /// Search the agent's memory, or read one document of it.
    Memory(MemoryQuery),
    /// Look at a directory, and make a worktree if it is to be isolated. Its name is derived from the id of the call.
    UseWorkspace(UseWorkspace),
    /// Read a page of the web.
    WebFetch(WebFetch),
    /// Ask search providers, one after the other, until one answers.
    WebSearch(WebSearch),
    /// Look at an image file of the workspace.
    ViewImage {
        /// Relative to the workspace's current directory, or absolute and inside of the execution root.
        file_path: String,
    },
    /// Make the worktree or the home of an agent that the call makes afterwards. Its names are derived from the id of the
    /// call.
    PrepareChild(SpawnAgent),
    /// Look at files of the home, because a call attaches them.
    LookAtFiles {
        /// Relative to the home.
        paths: Vec<String>,
    },
}

/// Treatment of a running call after a restart of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestartPolicy {
    /// The call is performed again. It is idempotent: it finds what it had begun, or only reads.
    Repeat,
    /// The call is not performed again. Its outcome is proven from a journal, or is unknown.
    ProveOutcome,
}

impl HostAction {
    /// Returns the treatment of this action after a restart.
    #[must_use]
    pub const fn restart_policy(&self) -> RestartPolicy {
        match self {
            // A shim claims its command, so it starts once; input is numbered, so it is written once.
            Self::ExecCommand(_)
            | Self::ExecCommandBatch(_)
            | Self::TaskInput(_)
            | Self::TaskOutput(_)
            | Self::WritePlan
            | Self::WorkQuery(_)
            | Self::Memory(_)
            | Self::UseWorkspace(_)
            | Self::WebFetch(_)
            | Self::WebSearch(_)
            | Self::ViewImage { .. }
            | Self::PrepareChild(_)
            | Self::LookAtFiles { .. } => RestartPolicy::Repeat,
            Self::ApplyPatch(_) => RestartPolicy::ProveOutcome,
        }
    }
}

/// A patch that was parsed and is well-formed. Its text is stored only in the block of the call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplyPatch {
    /// SHA-256 of the text in hex. It guards that the applied text is the parsed one.
    pub digest: String,
}

/// Treatment of a new command while an equal one runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DuplicatePolicy {
    /// The call returns the running command instead of starting another.
    #[default]
    ReuseRunning,
    StartNew,
}

/// A command with checked and bounded arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecCommand {
    pub cmd: String,
    /// Working directory relative to the workspace's current directory. Absent if that directory itself is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workdir: Option<String>,
    /// Program of the shell. Absent if the user's shell is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// True if the shell runs as a login shell.
    pub login: bool,
    /// True if the command runs on a terminal.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub tty: bool,
    /// True if the command accepts input while it runs.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub accepts_input: bool,
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub duplicate_policy: DuplicatePolicy,
    /// Milliseconds that the call waits before the command continues as a task. In a batch, milliseconds that the
    /// command may run.
    #[serde(alias = "timeout_ms")]
    pub yield_time_ms: u64,
    /// Most output that a model reads, in estimated tokens. Absent if the host's default applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
}

/// Commands to run one after the other. None of them becomes a task: a command that takes too long is stopped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExecCommandBatch {
    pub items: Vec<BatchItem>,
    /// True if the rest is skipped after a failure.
    pub stop_on_error: bool,
}

impl ExecCommandBatch {
    /// Returns the first command that is run.
    #[must_use]
    pub fn first_command(&self) -> Option<&ExecCommand> {
        self.items.iter().find_map(|item| match item {
            BatchItem::Command(command) => Some(command),
            BatchItem::Rejected(_) => None,
        })
    }
}

/// One item of a batch of commands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum BatchItem {
    Command(ExecCommand),
    /// Arguments that are not a valid command. The item fails without being run; the others run.
    Rejected(RejectedItem),
}

/// An item of a batch that cannot be run as it was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RejectedItem {
    /// The item as the model wrote it, cut to a bound.
    pub written: String,
    pub error: ToolError,
}

/// Input for a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskInput {
    pub task_id: TaskId,
    /// Sequence number of the input. It grows, and the supervisor accepts a number once, so that a repeated call writes
    /// only once.
    pub number: u64,
    pub input: String,
    /// True if the input is closed after the write.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub close_input: bool,
    /// True if an operator writes it. The numbers of operators and of the agent are counted apart.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub by_operator: bool,
}

/// Query for the output of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskOutput {
    pub task_id: TaskId,
    /// Milliseconds to wait for the end of the task first. Absent if the output is read at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// Offset in the output from which to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_byte: Option<u64>,
    /// Offset in the standard error from which to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_after_byte: Option<u64>,
    /// Number of last lines to read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail_lines: Option<u32>,
    /// Most output that a model reads, in estimated tokens. Absent if the host's default applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
}

impl TaskOutput {
    /// Returns true if the query names an offset, so that each stream is read on by itself.
    #[must_use]
    pub const fn names_offset(&self) -> bool {
        self.after_byte.is_some() || self.stderr_after_byte.is_some()
    }

    /// Returns true if the query asks for the output. A query that names only an offset of the standard error does not.
    #[must_use]
    pub const fn wants_output(&self) -> bool {
        self.after_byte.is_some() || self.stderr_after_byte.is_none()
    }

    /// Returns true if the query asks for a separate standard error. A query that names only an offset of the output
    /// does not.
    #[must_use]
    pub const fn wants_stderr(&self) -> bool {
        self.stderr_after_byte.is_some() || self.after_byte.is_none()
    }
}
