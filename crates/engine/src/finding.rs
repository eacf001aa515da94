//! Maps probe results of the commands behind an open effect to a finding. Pure, shared by the shell and the simulation;
//! `core::restart_policy` decides on the finding.

use crate::ports::{AliveCommand, CommandKey, CommandProbe};
use crate::tool_outcome::ToolRunOutcome;
use crate::tool_run::ToolRun;
use holon_core::input::ProbeResult;
use holon_domain::command::{CapturedStream, FoundRunning, RunningCommand};
use holon_domain::intent::{ExecCommand, HostAction};
use holon_domain::task::CommandTaskSpec;

/// Lists the commands that a call may have begun; empty for a call that runs no command.
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
        | HostAction::WorkQuery(_)
        | HostAction::Memory(_)
        | HostAction::UseWorkspace(_)
        | HostAction::WebFetch(_)
        | HostAction::WebSearch(_)
        | HostAction::ViewImage { .. }
        | HostAction::PrepareChild(_)
        | HostAction::LookAtFiles { .. } => Vec::new(),
    }
}

/// Judges the probes of a call's commands. A single running command can continue as a task.
#[must_use]
pub fn judge_call_probes(run: &ToolRun, probes: &[CommandProbe]) -> ProbeResult {
    match (&run.action, probes) {
        (HostAction::ExecCommand(command), [CommandProbe::Running(alive)]) => ProbeResult::Alive {
            as_task: Some(Box::new(task_outcome(run, command, alive).consequence)),
        },
        (
            HostAction::ExecCommand(_)
            | HostAction::ExecCommandBatch(_)
            | HostAction::ApplyPatch(_)
            | HostAction::TaskInput(_)
            | HostAction::TaskOutput(_)
            | HostAction::WritePlan
            | HostAction::WorkQuery(_)
            | HostAction::Memory(_)
            | HostAction::UseWorkspace(_)
            | HostAction::WebFetch(_)
            | HostAction::WebSearch(_)
            | HostAction::ViewImage { .. }
            | HostAction::PrepareChild(_)
            | HostAction::LookAtFiles { .. },
            probes,
        ) => judge_probes(probes),
    }
}

/// Judges the probes of several commands: alive while one of them is, over when the last one is.
#[must_use]
pub fn judge_probes(probes: &[CommandProbe]) -> ProbeResult {
    let mut found = ProbeResult::Nothing;
    for probe in probes {
        match probe {
            CommandProbe::Running(_) => return ProbeResult::Alive { as_task: None },
            CommandProbe::Ended(()) => found = ProbeResult::Ended,
            CommandProbe::NeverStarted
            | CommandProbe::StartFailed(_)
            | CommandProbe::Unknown(_) => {}
        }
    }
    found
}

/// Builds the call's outcome if its command continues as a task. It shows no output, because reading the output may be
/// what killed the last host.
fn task_outcome(run: &ToolRun, command: &ExecCommand, alive: &AliveCommand) -> ToolRunOutcome {
    let kept = |path: Option<&String>| CapturedStream {
        path: path.cloned(),
        ..CapturedStream::default()
    };
    let spec = CommandTaskSpec::of(&run.call.id, command, &run.workspace);
    let running = RunningCommand {
        workdir: spec.workdir,
        started_at: alive.started_at,
        found: FoundRunning::AfterRestart,
        stdout: kept(alive.output_path.as_ref()),
        stderr: kept(alive.stderr_path.as_ref().filter(|_| !command.tty)),
    };
    ToolRunOutcome::of_running_command(run, command, &running)
}
