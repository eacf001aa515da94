//! Calls before a rest: `Sleep` and `WaitFor` end a turn only if no result of their round has to be read first.
//!
//! The rest is the last call of its round. A call before it that only changes something and succeeds has a result that
//! the model can do without. A failure, and anything that a call looks up, has to be read first.

use crate::input::{CallIntent, CurrentRound};
use holon_domain::block::ToolCall;
use holon_domain::intent::{HostAction, Intent, TriggerIntent};
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind};
use holon_domain::turn::OpenTurn;

/// Notes whether the model has to read the result of a call before it rests.
pub(super) fn note_result(
    turn: &mut OpenTurn,
    planned: Option<&CallIntent>,
    envelope: &ToolEnvelope,
) {
    let is_change = matches!(planned, Some(Ok(intent)) if only_changes(intent));
    turn.unread_results |= !is_change || envelope.error().is_some();
}

/// Returns true if the last call of a round is a rest and the calls before it leave nothing to be read.
pub(super) fn is_rest(round: &CurrentRound) -> bool {
    let mut calls: Vec<Option<&CallIntent>> = round.calls().map(|(_, planned)| planned).collect();
    let last = calls.pop().flatten();
    let rests = matches!(last, Some(Ok(Intent::Sleep { .. } | Intent::WaitFor(_))));
    let changes =
        |planned: &Option<&CallIntent>| matches!(planned, Some(Ok(intent)) if only_changes(intent));
    rests && calls.iter().all(changes)
}

/// Returns true for a call that changes something, so that its success says all that the model needs.
const fn only_changes(intent: &Intent) -> bool {
    match intent {
        Intent::Enqueue { .. }
        | Intent::NotifyOperator { .. }
        | Intent::TaskStop { .. }
        | Intent::TaskInput { .. }
        | Intent::Message { .. }
        | Intent::SpawnAgent(_)
        | Intent::CreateWorkItem(_)
        | Intent::Work(_)
        | Intent::Trigger(TriggerIntent::Cancel { .. })
        | Intent::Host(HostAction::ApplyPatch(_)) => true,
        Intent::Sleep { .. }
        | Intent::WaitFor(_)
        | Intent::AgentGet
        | Intent::TaskList
        | Intent::TaskStatus { .. }
        | Intent::TaskOutput(_)
        | Intent::WorkQuery(_)
        | Intent::Memory(_)
        | Intent::Trigger(TriggerIntent::Create { .. })
        | Intent::Host(
            HostAction::ExecCommand(_)
            | HostAction::ExecCommandBatch(_)
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
        ) => false,
    }
}

/// Builds the refusal of a rest that would leave results unread.
pub(super) fn refusal(call: &ToolCall) -> ToolError {
    let name = &call.name;
    ToolError::new(
        ToolErrorKind::SleepNotAlone,
        "Not yet: results came that you have not seen.",
    )
    .hint(match name.as_str() {
        "Sleep" => "Read them; call Sleep again if you still want to rest.".to_owned(),
        name => format!("Read them; call {name} again if you still want to wait."),
    })
}
