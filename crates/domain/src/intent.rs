//! Intents: what a tool call asks for once its arguments are understood.
//!
//! An intent is either a fact the kernel decides inside its own commit, or an action the shell performs as an effect.

mod work;

pub use work::{
    BlockerChange, NewTimer, NewWait, NewWorkItem, WakeCondition, WorkIntent, WorkItemChange,
    WorkItemFilter, WorkQuery,
};

use crate::id::{AgentId, TaskId};
use crate::limits::CALLS_PER_ROUND;
use crate::message::Priority;
use crate::tool::ToolError;
use crate::turn::CallPlace;
use serde::{Deserialize, Serialize};

/// What a call asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "intent", rename_all = "snake_case")]
pub enum Intent {
    /// Rest, for a while or until something wakes the agent.
    Sleep {
        /// Why, in the agent's words.
        reason: Option<String>,
        /// For how long; none means until something arrives.
        duration_ms: Option<u64>,
    },
    /// Put a follow-up into the agent's own queue.
    Enqueue {
        /// What to do.
        text: String,
        /// When.
        priority: Priority,
    },
    /// Describe the agent.
    AgentGet,
    /// List the agent's tasks that are not over.
    TaskList,
    /// Describe one task.
    TaskStatus {
        /// Which.
        task_id: TaskId,
    },
    /// Ask a task to stop; asked again, stop it by force.
    TaskStop {
        /// Which.
        task_id: TaskId,
    },
    /// Write to a task.
    TaskInput {
        /// Which.
        task_id: TaskId,
        /// What.
        input: String,
        /// Whether nothing more follows.
        close_input: bool,
    },
    /// Read what a task printed.
    TaskOutput(TaskOutput),
    /// Give another agent a message. The call stays open until that agent has accepted or refused it.
    Message {
        /// The receiver.
        agent_id: AgentId,
        /// What the receiver is told.
        text: String,
        /// Band in the receiver's queue; `interject` counts as `next` there.
        priority: Priority,
    },
    /// Something outside the kernel.
    Host(HostAction),
    /// Make a work item. The shell writes its plan file first, then the row makes it exist.
    CreateWorkItem(NewWorkItem),
    /// Declare a wait and end the turn.
    WaitFor(NewWait),
    /// Change work, decided in the commit of the round.
    Work(WorkIntent),
    /// Read stored work.
    WorkQuery(WorkQuery),
}

impl Intent {
    /// What the shell does for the call at this place; none where the kernel or another agent answers it. The same
    /// call is the same action after a restart, too.
    #[must_use]
    pub fn action(&self, place: CallPlace) -> Option<HostAction> {
        match self {
            Self::Host(action) => Some(action.clone()),
            Self::TaskOutput(query) => Some(HostAction::TaskOutput(query.clone())),
            Self::CreateWorkItem(_) => Some(HostAction::WritePlan),
            Self::WorkQuery(query) => Some(HostAction::WorkQuery(query.clone())),
            Self::TaskInput {
                task_id,
                input,
                close_input,
            } => Some(HostAction::TaskInput(TaskInput {
                task_id: task_id.clone(),
                // Later calls have greater numbers, whatever came of the ones before.
                number: place.round_entry * CALLS_PER_ROUND as u64 + place.call_index as u64,
                input: input.clone(),
                close_input: *close_input,
            })),
            Self::Sleep { .. }
            | Self::Enqueue { .. }
            | Self::AgentGet
            | Self::TaskList
            | Self::TaskStatus { .. }
            | Self::TaskStop { .. }
            | Self::Message { .. }
            | Self::WaitFor(_)
            | Self::Work(_) => None,
        }
    }
}

/// What the shell is asked to do for a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum HostAction {
    /// Run a command until it ends or has run for long enough to go on as a task.
    ExecCommand(ExecCommand),
    /// Run commands one after the other, each to its end.
    ExecCommandBatch(ExecCommandBatch),
    /// Change files by a patch, all of them or none.
    ApplyPatch(ApplyPatch),
    /// Write to a task.
    TaskInput(TaskInput),
    /// Read what a task printed.
    TaskOutput(TaskOutput),
    /// Write the plan file of a new work item, whose id follows from the id of the call.
    WritePlan,
    WorkQuery(WorkQuery),
}

/// What a restart means for a call that was under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestartPolicy {
    /// It is performed again: it finds what it began rather than begin it a second time, or only reads.
    Repeat,
    /// It is not performed again: what came of it is proven, or unknown.
    ProveOutcome,
}

impl HostAction {
    /// What a restart means for it.
    #[must_use]
    pub const fn restart_policy(&self) -> RestartPolicy {
        match self {
            // A shim claims its command, so it is started once; input is numbered, so it is given once.
            Self::ExecCommand(_)
            | Self::ExecCommandBatch(_)
            | Self::TaskInput(_)
            | Self::TaskOutput(_)
            | Self::WritePlan
            | Self::WorkQuery(_) => RestartPolicy::Repeat,
            Self::ApplyPatch(_) => RestartPolicy::ProveOutcome,
        }
    }
}

/// A patch that was read and found well-formed. Its text stands in the call's own block and nowhere else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplyPatch {
    /// SHA-256 of the text in hex: what is applied is what was read.
    pub digest: String,
}

/// What an equal command that runs already means for a new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DuplicatePolicy {
    /// The running one is named instead of starting another.
    #[default]
    ReuseRunning,
    /// Another is started.
    StartNew,
}

/// A command, understood and bounded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecCommand {
    /// The shell text.
    pub cmd: String,
    /// Where, relative to the active workspace's current directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workdir: Option<String>,
    /// Which shell; the user's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// Whether as a login shell.
    pub login: bool,
    /// Whether on a terminal.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub tty: bool,
    /// Whether it can be written to.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub accepts_input: bool,
    /// What an equal command that runs already means.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub duplicate_policy: DuplicatePolicy,
    /// How long the call waits for it before it goes on as a task; in a batch, how long it may run.
    #[serde(alias = "timeout_ms")]
    pub yield_time_ms: u64,
    /// The most of its output a model reads, in estimated tokens; the host's default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
}

/// Commands to run one after the other. None of them becomes a task: one that takes too long is stopped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExecCommandBatch {
    /// In this order.
    pub items: Vec<BatchItem>,
    /// Whether the rest is skipped once one fails.
    pub stop_on_error: bool,
}

impl ExecCommandBatch {
    /// The first command that is run.
    #[must_use]
    pub fn first_command(&self) -> Option<&ExecCommand> {
        self.items.iter().find_map(|item| match item {
            BatchItem::Command(command) => Some(command),
            BatchItem::Rejected(_) => None,
        })
    }
}

/// One item of a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum BatchItem {
    /// A command.
    Command(ExecCommand),
    /// Arguments that make no command. The item fails without being run, and the others do not.
    Rejected(RejectedItem),
}

/// An item of a batch that cannot be run as it was written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RejectedItem {
    /// The item as it was written, bounded.
    pub written: String,
    /// Why it is not run.
    pub error: ToolError,
}

/// Something to write to a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskInput {
    /// Which.
    pub task_id: TaskId,
    /// Its number: later input has a greater one, and a number is given once.
    pub number: u64,
    /// What.
    pub input: String,
    /// Whether nothing more follows.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub close_input: bool,
}

/// A look at what a task printed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskOutput {
    /// Which.
    pub task_id: TaskId,
    /// How long to wait for its end first; none reads at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// Only what its output has from this offset on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_byte: Option<u64>,
    /// Only what its separate complaints have from this offset on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_after_byte: Option<u64>,
    /// Only the last lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail_lines: Option<u32>,
    /// The most a model reads, in estimated tokens; the host's default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
}

impl TaskOutput {
    /// Whether it reads on from an offset, so that the streams are followed each by itself.
    #[must_use]
    pub const fn names_offset(&self) -> bool {
        self.after_byte.is_some() || self.stderr_after_byte.is_some()
    }

    /// Whether it asks for the output. Who names an offset of the complaints alone does not.
    #[must_use]
    pub const fn wants_output(&self) -> bool {
        self.after_byte.is_some() || self.stderr_after_byte.is_none()
    }

    /// Whether it asks for complaints that are kept apart. Who names an offset of the output alone does not.
    #[must_use]
    pub const fn wants_stderr(&self) -> bool {
        self.stderr_after_byte.is_some() || self.after_byte.is_none()
    }
}
