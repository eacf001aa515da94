//! A command that an agent asks for: its key, its order, and the reply to the waiting call.

use super::{CommandOutput, RunningCommand};
use crate::intent::ExecCommand;
use crate::task::CommandTaskSpec;
use crate::time::Timestamp;
use crate::workspace::WorkspaceEntry;
use crate::{AgentId, CallId, TaskId};

/// Facts about the agent that a command runs for.
#[derive(Debug, Clone)]
pub struct CommandContext {
    /// Passed to the command as `HOLON_AGENT_ID`.
    pub agent_id: AgentId,
    /// The agent's home directory, passed to the command as `HOLON_AGENT_HOME`.
    pub agent_home: String,
    /// The working directory of the command lies inside its execution root.
    pub workspace: WorkspaceEntry,
}

/// Identity of a command, for this process and for later ones. A command with a given key is started at most once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CommandKey {
    /// Home of the agent that the command runs for. Its output is kept there; the last part of the path is the agent's
    /// id.
    pub agent_home: String,
    /// Id of the task that the command is or would become, followed by its number if a call has several commands.
    pub name: String,
    /// Call that asked for the command. The supervisor answers only to a caller that knows this id.
    pub call: CallId,
}

impl CommandKey {
    /// Returns the key of a call's only command.
    #[must_use]
    pub fn of_call(agent_home: &str, call: &CallId) -> Self {
        Self {
            agent_home: agent_home.to_owned(),
            name: TaskId::of_call(call).to_string(),
            call: call.clone(),
        }
    }

    /// Returns the key of one of several commands of the same call, counted from 1.
    #[must_use]
    pub fn item(&self, number: usize) -> Self {
        Self {
            name: format!("{}-{number}", self.name),
            ..self.clone()
        }
    }

    /// Returns the keys of the commands of a batch.
    #[must_use]
    pub fn items(&self, items: u32) -> Vec<Self> {
        (1..=items as usize)
            .map(|number| self.item(number))
            .collect()
    }

    /// Returns the keys of all commands of the call that a task comes from. A batch has a key for each command and none
    /// for itself.
    #[must_use]
    pub fn all_of(&self, task: &CommandTaskSpec) -> Vec<Self> {
        match task.batch_items {
            Some(items) => self.items(items),
            None => vec![self.clone()],
        }
    }
}

/// Request to run a command.
#[derive(Debug, Clone)]
pub struct CommandOrder {
    pub key: CommandKey,
    pub context: CommandContext,
    pub command: ExecCommand,
    /// Applies when the command takes longer than `command.yield_time_ms`.
    pub when_late: LatePolicy,
}

/// Treatment of a command that takes longer than its call waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LatePolicy {
    /// The command continues, and the waiting call returns.
    Continue,
    Stop,
}

/// State of a command when its call stops waiting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandRun {
    Ended(CommandOutput),
    Running(RunningCommand),
}

/// A running command, as far as it is known without reading its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AliveCommand {
    /// Time at which its program began.
    pub started_at: Timestamp,
    /// File that receives its output.
    pub output_path: Option<String>,
    /// File that receives its standard error. `None` on a terminal.
    pub stderr_path: Option<String>,
}

/// Reason for which a command accepted no input, or its input could not be closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputRefusal {
    /// A sentence for the model, with the next step.
    pub reason: String,
    /// Bytes that were accepted nevertheless. Greater than zero only if closing the input failed.
    pub taken: u64,
}

/// Tells whether the output of an ended command stays on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputRetention {
    /// A result or a task record refers to the files.
    Kept,
    /// Nothing refers to the files, so they are removed.
    Dropped,
}

/// Number and size of output files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OutputSize {
    pub files: u64,
    pub bytes: u64,
}
