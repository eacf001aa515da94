//! Detached effects: open effects that no turn, task or home waits for. They deliver sends one commit had no room for,
//! and finish patches whose turn was called off.
//!
//! The agent's row names them; their content stands only in the effect. Invariant: a detached effect ends by its own
//! outcome alone. A new generation makes outcomes of the one before stale, so it closes each detached effect and opens
//! it again with the same content.

use crate::draft::Draft;
use crate::home;
use crate::input::{Reply, Stamp};
use holon_domain::agent::AgentRecord;
use holon_domain::effect::{Effect, EffectId};

/// Opens a detached effect and names it in the agent's row.
pub(crate) fn open(draft: &mut Draft<'_>, effect: Effect) {
    let list: fn(&mut AgentRecord) -> &mut Vec<EffectId> = match effect {
        Effect::Deliver { .. } => |agent| &mut agent.deliveries,
        Effect::FinishPatch { .. } => |agent| &mut agent.patches,
        // A turn, a task or the home names these.
        Effect::PrepareHome
        | Effect::CallModel { .. }
        | Effect::RunTool { .. }
        | Effect::WatchTask { .. }
        | Effect::StopTask { .. }
        | Effect::RemoveHome => return,
    };
    let id = draft.open_known(effect);
    list(&mut draft.agent).push(id);
}

/// Closes the detached effect an outcome belongs to; `list` is where the agent names effects of its kind. False when the
/// outcome is stale: then it is recorded, and nothing else may follow from it.
pub(crate) fn close(
    draft: &mut Draft<'_>,
    stamp: Stamp,
    list: fn(&mut AgentRecord) -> &mut Vec<EffectId>,
) -> bool {
    let named = list(&mut draft.agent).contains(&stamp.effect);
    if !draft.accept(stamp, named.then_some(stamp.effect)) {
        return false;
    }
    list(&mut draft.agent).retain(|id| *id != stamp.effect);
    true
}

/// A patch whose turn was called off is through or taken back.
pub(crate) fn patch_finished(draft: &mut Draft<'_>, stamp: Stamp) -> Reply {
    if !close(draft, stamp, |agent| &mut agent.patches) {
        return Reply::Unchanged;
    }
    home::remove_when_free(draft);
    Reply::Done
}

/// Begins a new generation of the agent's effects, so that outcomes of the one before are stale. Detached effects go
/// on: they are asked for anew.
pub(crate) fn next_generation(draft: &mut Draft<'_>) {
    draft.take_generation();
    let old: Vec<EffectId> = draft.agent.detached_effects().collect();
    draft.agent.deliveries.clear();
    draft.agent.patches.clear();
    for id in old {
        if let Some(effect) = draft.effect(id) {
            draft.close_effect(id);
            open(draft, effect);
        }
    }
}
