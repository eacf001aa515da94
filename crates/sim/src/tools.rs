//! The simulated host commands run on: it counts what really happened, call by call.

use crate::plan::{Fault, Plan};
use crate::rng::Rng;
use holon_domain::CallId;
use holon_domain::command::{CapturedStream, CommandEnd, CommandFailure, CommandOutput};
use holon_domain::file_change::PatchApplied;
use holon_domain::intent::{ExecCommand, HostAction};
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind};
use std::collections::BTreeMap;

/// Everything commands did to the world. It outlives every crash, as the real world does.
#[derive(Debug, Default)]
pub(crate) struct Bench {
    executed: BTreeMap<CallId, u32>,
    results: BTreeMap<CallId, ToolEnvelope>,
}

impl Bench {
    /// Runs a call and keeps what came of it.
    pub(crate) fn execute(
        &mut self,
        plan: &Plan,
        call: &CallId,
        action: &HostAction,
        dice: &mut Rng,
    ) -> ToolEnvelope {
        *self.executed.entry(call.clone()).or_default() += 1;
        let fails = plan.has(Fault::Tool) && dice.percent(25);
        let envelope = match action {
            HostAction::ExecCommand(command) => run(command, fails, dice),
            HostAction::ApplyPatch(_) => patch(fails),
        };
        self.results.insert(call.clone(), envelope.clone());
        envelope
    }

    /// How often a call was run.
    #[must_use]
    pub(crate) fn times(&self, call: &CallId) -> u32 {
        self.executed.get(call).copied().unwrap_or(0)
    }

    /// What came of a call, if it was run.
    #[must_use]
    pub(crate) fn result(&self, call: &CallId) -> Option<&ToolEnvelope> {
        self.results.get(call)
    }

    /// Calls that were run more than once.
    pub(crate) fn repeated(&self) -> impl Iterator<Item = &CallId> {
        self.executed
            .iter()
            .filter(|(_, times)| **times > 1)
            .map(|(call, _)| call)
    }
}

fn run(command: &ExecCommand, fails: bool, dice: &mut Rng) -> ToolEnvelope {
    if fails && dice.percent(50) {
        let failure = CommandFailure::Spawn {
            reason: "no such shell".to_owned(),
        };
        return holon_tools::exec_command::failed(command, &failure);
    }
    let end = match dice.below(3) {
        0 if fails => CommandEnd::TimedOut,
        1 if fails => CommandEnd::Signalled { signal: 9 },
        _ => CommandEnd::Exited {
            status: i32::from(fails),
        },
    };
    holon_tools::exec_command::completed(command, &output(end, dice))
}

fn patch(fails: bool) -> ToolEnvelope {
    holon_tools::apply_patch::envelope(if fails {
        let message = "it was changed meanwhile";
        Err(ToolError::new(ToolErrorKind::FileChanged, message))
    } else {
        Ok(PatchApplied::default())
    })
}

fn output(end: CommandEnd, dice: &mut Rng) -> CommandOutput {
    let text = format!("out {}\n", dice.below(1_000_000));
    CommandOutput {
        end,
        stdout: CapturedStream {
            total_bytes: text.len() as u64,
            head: text,
            ..CapturedStream::default()
        },
        stderr: CapturedStream::default(),
        duration_ms: dice.below(500),
        leftovers: 0,
    }
}
