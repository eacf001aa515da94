//! What is found of the commands behind an open effect, by what each of them answered to a probe. Pure, and shared by the
//! shell and the simulation; `core::resumption` decides what follows from it.

use crate::ports::{AliveCommand, CommandKey, CommandProbe};
use crate::tool_outcome::ToolRunOutcome;
use crate::tool_run::ToolRun;
use holon_core::input::Found;
use holon_domain::command::{CapturedStream, RunningCommand};
use holon_domain::intent::{ExecCommand, HostAction};
use holon_domain::task::CommandTaskSpec;

/// The commands that a call may have begun; none for a call that runs no command.
#[must_use]
pub fn commands_of_call(run: &ToolRun) -> Vec<CommandKey> {
    let key = run.key();
    match &run.action {
        HostAction::ExecCommand(_) => vec![key],
        HostAction::ExecCommandBatch(batch) => (1..=batch.items.len())
            .map(|number| key.item(number))
            .collect(),
        HostAction::ApplyPatch(_)
        | HostAction::TaskInput(_)
        | HostAction::TaskOutput(_)
        | HostAction::WritePlan
        | HostAction::WorkQuery(_) => Vec::new(),
    }
}

/// What was found of a call. The command of a call that runs one can go on as a task.
#[must_use]
pub fn found_of_call(run: &ToolRun, probes: &[CommandProbe]) -> Found {
    match (&run.action, probes) {
        (HostAction::ExecCommand(command), [CommandProbe::Running(alive)]) => Found::Alive {
            as_task: Some(Box::new(as_task(run, command, alive).consequence)),
        },
        (
            HostAction::ExecCommand(_)
            | HostAction::ExecCommandBatch(_)
            | HostAction::ApplyPatch(_)
            | HostAction::TaskInput(_)
            | HostAction::TaskOutput(_)
            | HostAction::WritePlan
            | HostAction::WorkQuery(_),
            probes,
        ) => found_of(probes),
    }
}

/// What several commands come to: alive while one of them is, over when the last one is.
#[must_use]
pub fn found_of(probes: &[CommandProbe]) -> Found {
    let mut found = Found::Nothing;
    for probe in probes {
        match probe {
            CommandProbe::Running(_) => return Found::Alive { as_task: None },
            CommandProbe::Ended(()) => found = Found::Ended,
            CommandProbe::NeverStarted | CommandProbe::Failed(_) | CommandProbe::Unknown(_) => {}
        }
    }
    found
}

/// The call's outcome if its command goes on as a task. Nothing of what it printed is shown: reading it may be what
/// killed the last host.
fn as_task(run: &ToolRun, command: &ExecCommand, alive: &AliveCommand) -> ToolRunOutcome {
    let kept = |path: Option<&String>| CapturedStream {
        path: path.cloned(),
        ..CapturedStream::default()
    };
    let spec = CommandTaskSpec::of(&run.call.id, command, &run.workspace);
    let running = RunningCommand {
        workdir: spec.workdir,
        started_at: alive.started_at,
        stdout: kept(alive.output_path.as_ref()),
        stderr: kept(alive.stderr_path.as_ref().filter(|_| !command.tty)),
    };
    ToolRunOutcome::goes_on(run, command, &running)
}
