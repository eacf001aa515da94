//! What a tool call comes to, by what its port answered, and what may be forgotten once the result is on record.
//!
//! Pure, and shared: the shell and the simulation perform calls each in their own way, and map what came of them here.
//! Invariant: nothing is forgotten by which a command that still runs is found.

use crate::ports::{CommandKey, CommandRun, OutputRetention};
use crate::tool_run::ToolRun;
use holon_domain::TaskId;
use holon_domain::command::{CommandFailure, RunningCommand};
use holon_domain::consequence::Consequence;
use holon_domain::file_change::PatchResult;
use holon_domain::intent::{ExecCommand, ExecCommandBatch};
use holon_domain::task::{CommandTaskSpec, TaskHandle, TaskKind, TaskRecord, TaskStatus};
use holon_domain::tool::{ToolEnvelope, ToolError};
use holon_tools::exec_command_batch::{self, ItemOutcome};
use holon_tools::{apply_patch, exec_command};

/// What a call comes to, and what its commit makes superfluous.
#[derive(Debug, Clone)]
pub struct ToolRunOutcome {
    /// What is committed.
    pub consequence: Consequence,
    /// What is forgotten once the consequence is on record.
    pub forget: Forget,
}

/// What was kept to find or prove a call, and may go once its result is on record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forget {
    /// Nothing was kept, or a task is still found by it.
    Nothing,
    /// The journal of the call's patch.
    Patch,
    /// The claims of commands that are over.
    Commands(Vec<EndedCommand>),
}

/// A command that is over, and whether its output stays on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedCommand {
    /// By what it was found.
    pub key: CommandKey,
    /// Whether its output files stay.
    pub output: OutputRetention,
}

impl ToolRunOutcome {
    /// A result that leaves nothing to forget.
    #[must_use]
    pub const fn result(envelope: ToolEnvelope) -> Self {
        Self {
            consequence: Consequence::Result(envelope),
            forget: Forget::Nothing,
        }
    }

    /// What a call that runs one command comes to. A command that goes on becomes a task, and nothing of it is forgotten.
    #[must_use]
    pub fn of_command(
        run: &ToolRun,
        command: &ExecCommand,
        answer: Result<CommandRun, CommandFailure>,
    ) -> Self {
        let (envelope, output) = match answer {
            Ok(CommandRun::Running(running)) => return Self::goes_on(run, command, &running),
            Ok(CommandRun::Ended(output)) => {
                let envelope = exec_command::completed(command, &output);
                let output = kept_if(holon_tools::refers_to_files(&envelope));
                (envelope, output)
            }
            Err(failure) => (
                exec_command::failed(command, &failure),
                kept_after(&failure),
            ),
        };
        let key = run.key();
        Self {
            forget: Forget::Commands(vec![EndedCommand { key, output }]),
            ..Self::result(envelope)
        }
    }

    /// What a call comes to whose command goes on without it.
    #[must_use]
    pub fn goes_on(run: &ToolRun, command: &ExecCommand, running: &RunningCommand) -> Self {
        let spec = CommandTaskSpec {
            workdir: running.workdir.clone(),
            output_path: running.stdout.path.clone(),
            stderr_path: running.stderr.path.clone(),
            promoted_from_exec_command: true,
            started_at: Some(running.started_at),
            ..CommandTaskSpec::of(&run.call.id, command, &run.workspace)
        };
        let handle = TaskHandle {
            task_id: TaskId::of_call(&spec.call_id),
            task_kind: TaskKind::CommandTask,
            status: TaskStatus::Running,
            initial_output: None,
        };
        Self {
            consequence: Consequence::Task {
                result: exec_command::promoted(command, &handle, running),
                spec: Box::new(spec),
            },
            forget: Forget::Nothing,
        }
    }

    /// What a call that runs several commands comes to, once each has its outcome.
    #[must_use]
    pub fn of_batch(run: &ToolRun, batch: &ExecCommandBatch, outcomes: &[ItemOutcome]) -> Self {
        let envelope = exec_command_batch::completed(batch, outcomes);
        let key = run.key();
        let ended = |number: usize| EndedCommand {
            key: key.item(number),
            output: kept_if(holon_tools::item_refers_to_files(&envelope, number)),
        };
        let ended = (1..=batch.items.len()).map(ended).collect();
        Self {
            forget: Forget::Commands(ended),
            ..Self::result(envelope)
        }
    }

    /// What a call that applies a patch comes to.
    #[must_use]
    pub fn of_patch(applied: Result<PatchResult, ToolError>) -> Self {
        Self {
            forget: Forget::Patch,
            ..Self::result(apply_patch::envelope(applied))
        }
    }
}

/// The commands of a task, which may be forgotten once its end is on record. Their output stays only where the model
/// was told of it: when the command was promoted from its call.
#[must_use]
pub fn commands_of_ended_task(key: &CommandKey, spec: &CommandTaskSpec) -> Vec<EndedCommand> {
    let output = kept_if(spec.promoted_from_exec_command);
    let ended = |key| EndedCommand { key, output };
    key.all_of(spec).into_iter().map(ended).collect()
}

/// Why a task takes no input, whatever its command does: it is over, runs no command, or was started without input.
///
/// # Errors
/// The reason, for the model.
pub fn may_take_input(task: &TaskRecord) -> Result<(), &'static str> {
    if task.status.is_terminal() {
        return Err("the task is over; start the command again if it is still needed");
    }
    match task.command() {
        None => Err("the task is no command"),
        Some(spec) if !spec.accepts_input => Err(
            "its command was started without an input; start it with accepts_input or tty to write to it",
        ),
        Some(_) => Ok(()),
    }
}

/// Output stays where the model was told of it.
const fn kept_if(told: bool) -> OutputRetention {
    if told {
        OutputRetention::Kept
    } else {
        OutputRetention::Dropped
    }
}

/// The output of a command that cannot be accounted for may be the only trace of it.
const fn kept_after(failure: &CommandFailure) -> OutputRetention {
    match failure {
        CommandFailure::Lost { .. } => OutputRetention::Kept,
        CommandFailure::OutsideRoot { .. }
        | CommandFailure::MissingWorkdir { .. }
        | CommandFailure::WorkdirNoDirectory { .. }
        | CommandFailure::Spawn { .. }
        | CommandFailure::Cancelled => OutputRetention::Dropped,
    }
}
