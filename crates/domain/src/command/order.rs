//! A command that an agent asks for: what identifies it, what is to be run, and what the call that waited is told.

use super::{CommandOutput, RunningCommand};
use crate::intent::ExecCommand;
use crate::task::CommandTaskSpec;
use crate::time::Timestamp;
use crate::workspace::WorkspaceEntry;
use crate::{AgentId, CallId, TaskId};

/// What a command is told about the agent it runs for.
#[derive(Debug, Clone)]
pub struct CommandContext {
    /// Shown to the command as `HOLON_AGENT_ID`.
    pub agent_id: AgentId,
    /// The agent's home directory, shown to the command as `HOLON_AGENT_HOME`.
    pub agent_home: String,
    /// Where the command may run; its working directory lies beneath the execution root.
    pub workspace: WorkspaceEntry,
}

/// What identifies a command, for this process and for later ones. A command of one key is started at most once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CommandKey {
    /// The home of the agent it runs for; its output is kept there, and the last part of the path is the agent's id.
    pub agent_home: String,
    /// The id of the task it is or would become, followed by its number where a call holds several commands.
    pub name: String,
    /// The call that asked for it. Its supervisor answers only to a caller that knows this id.
    pub call: CallId,
}

impl CommandKey {
    /// The command of a call.
    #[must_use]
    pub fn of_call(agent_home: &str, call: &CallId) -> Self {
        Self {
            agent_home: agent_home.to_owned(),
            name: TaskId::of_call(call).to_string(),
            call: call.clone(),
        }
    }

    /// One of several commands of the same call, counted from 1.
    #[must_use]
    pub fn item(&self, number: usize) -> Self {
        Self {
            name: format!("{}-{number}", self.name),
            ..self.clone()
        }
    }

    /// Every command of the call a task comes from: a batch has a key for each of its commands, and none for itself.
    #[must_use]
    pub fn all_of(&self, task: &CommandTaskSpec) -> Vec<Self> {
        match task.batch_items {
            Some(items) => (1..=items as usize)
                .map(|number| self.item(number))
                .collect(),
            None => vec![self.clone()],
        }
    }
}

/// A command to run.
#[derive(Debug, Clone)]
pub struct CommandOrder {
    /// What identifies it.
    pub key: CommandKey,
    /// The agent it runs for and where.
    pub context: CommandContext,
    /// The command line and how it is run.
    pub command: ExecCommand,
    /// What happens when it takes longer than `command.yield_time_ms`.
    pub when_late: LatePolicy,
}

/// What happens to a command that takes longer than its call waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LatePolicy {
    /// It goes on, and the call that waited is told so.
    Continue,
    /// It is stopped.
    Stop,
}

/// What came of a command while its call waited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandRun {
    /// It ended.
    Ended(CommandOutput),
    /// It goes on.
    Running(RunningCommand),
}

/// A command that runs, as far as that is known without reading what it printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AliveCommand {
    /// When its program began.
    pub started_at: Timestamp,
    /// The file that keeps its output.
    pub output_path: Option<String>,
    /// The file that keeps its standard error; `None` on a terminal.
    pub stderr_path: Option<String>,
}

/// Why a command took no input, or why its input could not be closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputRefusal {
    /// A sentence for the model, with the next step.
    pub reason: String,
    /// Bytes that were taken all the same, when only closing the input failed.
    pub taken: u64,
}

/// Whether the output of a command that is over stays on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputRetention {
    /// A result or a task record names the files.
    Kept,
    /// Nothing names them.
    Dropped,
}
