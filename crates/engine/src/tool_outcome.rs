//! Maps the answer of a port to the outcome of a tool call, and lists the files that may be removed once it is
//! committed.
//!
//! Pure: the shell and the simulation perform calls in their own ways and share this mapping. Invariant: the files by
//! which a running command is found are never removed.

use crate::ports::{CommandKey, CommandRun, OutputRetention};
use crate::tool_run::ToolRun;
use holon_domain::TaskId;
use holon_domain::command::{CommandEnd, CommandFailure, CommandOutput, RunningCommand};
use holon_domain::consequence::Consequence;
use holon_domain::event::BatchItemEnd;
use holon_domain::file_change::PatchResult;
use holon_domain::intent::{BatchItem, ExecCommand, ExecCommandBatch};
use holon_domain::task::{
    CommandTaskSpec, TaskHandle, TaskKind, TaskRecord, TaskReport, TaskStatus,
};
use holon_domain::tool::{ToolEnvelope, ToolError};
use holon_domain::workspace::{SelectedWorkspace, WorkspaceFailure};
use holon_tools::exec_command_batch::{self, ItemOutcome};
use holon_tools::{apply_patch, exec_command, use_workspace};

/// The outcome of a tool call, with the cleanup that follows its commit.
#[derive(Debug, Clone)]
pub struct ToolRunOutcome {
    pub consequence: Consequence,
    /// Cleanup after the consequence is committed.
    pub forget: CallCleanup,
    /// Commands of the call whose text may refer to a skill: those that ended with status 0, or the one that goes on.
    pub referring: Vec<ExecCommand>,
}

/// Records that were kept to find or prove a call and are removed once its result is committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallCleanup {
    /// Nothing was kept, or a running task still needs it.
    Nothing,
    Patch,
    /// Start records of commands that have ended.
    Commands(Vec<EndedCommand>),
}

/// A command that has ended and can be forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedCommand {
    pub key: CommandKey,
    /// Says if the output files stay on disk.
    pub output: OutputRetention,
}

impl ToolRunOutcome {
    /// Wraps a result that needs no cleanup.
    #[must_use]
    pub const fn result(envelope: ToolEnvelope) -> Self {
        Self {
            consequence: Consequence::Result(envelope),
            forget: CallCleanup::Nothing,
            referring: Vec::new(),
        }
    }

    /// Builds the outcome of a call that runs one command. A command that is still running becomes a task, and nothing
    /// of it is removed.
    #[must_use]
    pub fn of_command(
        run: &ToolRun,
        command: &ExecCommand,
        answer: Result<CommandRun, CommandFailure>,
    ) -> Self {
        let mut succeeded = Vec::new();
        let (envelope, output) = match answer {
            Ok(CommandRun::Running(running)) => {
                return Self::of_running_command(run, command, &running);
            }
            Ok(CommandRun::Ended(output)) => {
                if is_success(&output) {
                    succeeded.push(command.clone());
                }
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
            forget: CallCleanup::Commands(vec![EndedCommand { key, output }]),
            referring: succeeded,
            ..Self::result(envelope)
        }
    }

    /// Builds the outcome of a call whose command continues as a task.
    #[must_use]
    pub fn of_running_command(
        run: &ToolRun,
        command: &ExecCommand,
        running: &RunningCommand,
    ) -> Self {
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
            forget: CallCleanup::Nothing,
            referring: vec![command.clone()],
        }
    }

    /// Builds the outcome of a batch once each of its commands has an outcome.
    #[must_use]
    pub fn of_batch(run: &ToolRun, batch: &ExecCommandBatch, outcomes: &[ItemOutcome]) -> Self {
        let envelope = exec_command_batch::completed(batch, outcomes);
        let key = run.key();
        let ended = |number: usize| EndedCommand {
            key: key.item(number),
            output: kept_if(holon_tools::item_refers_to_files(&envelope, number)),
        };
        let ended = (1..=batch.items.len()).map(ended).collect();
        let succeeded = batch.items.iter().zip(outcomes);
        let succeeded = succeeded.filter_map(|(item, outcome)| match (item, outcome) {
            (BatchItem::Command(command), ItemOutcome::Ran(output)) if is_success(output) => {
                Some(command.clone())
            }
            (BatchItem::Command(_) | BatchItem::Rejected(_), _) => None,
        });
        Self {
            forget: CallCleanup::Commands(ended),
            referring: succeeded.collect(),
            ..Self::result(envelope)
        }
    }

    /// Builds the outcome of a call that makes a workspace active.
    #[must_use]
    pub fn of_workspace(selected: Result<SelectedWorkspace, WorkspaceFailure>) -> Self {
        let consequence = match selected {
            Ok(selected) => Consequence::Workspace {
                result: use_workspace::entered(&selected),
                selected: Box::new(selected),
            },
            Err(failure) => Consequence::Result(use_workspace::refused(&failure)),
        };
        Self {
            consequence,
            forget: CallCleanup::Nothing,
            referring: Vec::new(),
        }
    }

    /// Adds the guidance of the workspace that the call enters to its result.
    #[must_use]
    pub fn with_guidance(mut self, guidance: Option<String>) -> Self {
        if let Consequence::Workspace { result, .. } = &mut self.consequence
            && let Some(guidance) = guidance
        {
            *result = use_workspace::with_guidance(result.clone(), guidance);
        }
        self
    }

    /// Builds the outcome of a call that applies a patch.
    #[must_use]
    pub fn of_patch(applied: Result<PatchResult, ToolError>) -> Self {
        Self {
            forget: CallCleanup::Patch,
            ..Self::result(apply_patch::envelope(applied))
        }
    }
}

/// Lists the commands of a task that can be forgotten once its end is committed. Output files stay only if the model
/// knows their paths, which is when the command was promoted from its call, or if an operator started the command.
#[must_use]
pub fn commands_of_ended_task(key: &CommandKey, spec: &CommandTaskSpec) -> Vec<EndedCommand> {
    let output = kept_if(spec.promoted_from_exec_command || spec.started_by_operator);
    let ended = |key| EndedCommand { key, output };
    key.all_of(spec).into_iter().map(ended).collect()
}

/// Lists the commands of a batch that can be forgotten once its stop is committed. Nothing refers to their output.
#[must_use]
pub fn commands_of_stopped_batch(keys: Vec<CommandKey>) -> Vec<EndedCommand> {
    let output = OutputRetention::Dropped;
    let ended = |key| EndedCommand { key, output };
    keys.into_iter().map(ended).collect()
}

/// Says how an item of a stopped batch ended, from its claim and the report of the stop. An item that has ended has
/// begun, whatever its claim said before the stop.
#[must_use]
pub const fn item_end(begun: bool, report: &TaskReport) -> BatchItemEnd {
    match report {
        TaskReport::Ended(output) if output.stopped => BatchItemEnd::Stopped,
        TaskReport::Ended(_) => BatchItemEnd::Ran,
        TaskReport::Lost { .. } if begun => BatchItemEnd::Unknown,
        TaskReport::Lost { .. } | TaskReport::NotStarted { .. } => BatchItemEnd::NotBegun,
    }
}

/// Checks from its row that a task can take input: it is not over, runs a command, and was started with input open.
///
/// # Errors
/// The reason, worded for the model.
pub fn check_takes_input(task: &TaskRecord) -> Result<(), &'static str> {
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

fn is_success(output: &CommandOutput) -> bool {
    output.end == CommandEnd::Exited { status: 0 }
}

/// Keeps output files whose paths the model knows.
const fn kept_if(told: bool) -> OutputRetention {
    if told {
        OutputRetention::Kept
    } else {
        OutputRetention::Dropped
    }
}

/// Keeps the output of a command whose end is unknown: it may be the only trace of it.
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

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::command::CapturedStream;

    #[test]
    fn an_item_of_a_stopped_batch_that_has_ended_has_begun_whatever_its_claim_said() {
        let ended = |stopped| {
            TaskReport::Ended(CommandOutput {
                end: CommandEnd::Exited { status: 0 },
                stdout: CapturedStream::default(),
                stderr: CapturedStream::default(),
                duration_ms: 1,
                leftovers: 0,
                survivors: 0,
                stopped,
            })
        };
        let lost = TaskReport::Lost {
            reason: "no trace".to_owned(),
            stdout: CapturedStream::default(),
            stderr: CapturedStream::default(),
        };
        let not_started = TaskReport::NotStarted {
            reason: "no such directory".to_owned(),
        };
        for begun in [true, false] {
            assert_eq!(item_end(begun, &ended(true)), BatchItemEnd::Stopped);
            assert_eq!(item_end(begun, &ended(false)), BatchItemEnd::Ran);
            assert_eq!(item_end(begun, &not_started), BatchItemEnd::NotBegun);
        }
        assert_eq!(item_end(true, &lost), BatchItemEnd::Unknown);
        assert_eq!(item_end(false, &lost), BatchItemEnd::NotBegun);
    }
}
