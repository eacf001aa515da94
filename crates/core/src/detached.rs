//! Detached effects: open effects that no turn, task or home waits for. They deliver deferred sends, finish patches and
//! stop batches whose turn was cancelled, and remove the worktrees of ended children.
//!
//! The agent's row names them; their content is stored only in the effect. Invariant: only its own outcome ends a
//! detached effect. A new generation makes earlier outcomes stale, so it closes each detached effect and opens it again
//! with the same content.

use crate::draft::Draft;
use crate::input::{Reply, Stamp};
use crate::{home, outbox};
use holon_domain::agent::AgentRecord;
use holon_domain::effect::{Effect, EffectId};
use holon_domain::event::{BatchItemEnd, CommandBatchStopped, Event};

/// Opens a detached effect and names it in the agent's row.
pub(crate) fn open(draft: &mut Draft<'_>, effect: Effect) {
    let list: fn(&mut AgentRecord) -> &mut Vec<EffectId> = match effect {
        Effect::Deliver { .. } => |agent| &mut agent.deliveries,
        Effect::FinishPatch { .. } | Effect::StopBatch { .. } => |agent| &mut agent.patches,
        Effect::CleanWorktree { .. } => |agent| &mut agent.cleanups,
        // A turn, a task, the outbox or the home waits for these effects.
        Effect::PrepareHome
        | Effect::CallModel { .. }
        | Effect::RunTool { .. }
        | Effect::StartTask { .. }
        | Effect::WatchTask { .. }
        | Effect::StopTask { .. }
        | Effect::SubmitDelivery { .. }
        | Effect::RemoveHome => return,
    };
    let id = draft.open_known(effect);
    list(&mut draft.agent).push(id);
}

/// Closes the detached effect that an outcome belongs to; `list` selects the agent's list for effects of its kind.
/// Returns false if the outcome is stale: it is then recorded, and the caller must do nothing else.
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

/// Handles the end of a patch whose turn was cancelled.
pub(crate) fn handle_patch_end(draft: &mut Draft<'_>, stamp: Stamp) -> Reply {
    if !close(draft, stamp, |agent| &mut agent.patches) {
        return Reply::Unchanged;
    }
    home::remove_when_free(draft);
    Reply::Done
}

/// Handles the end of a batch whose turn was cancelled: records which of its items ran.
pub(crate) fn handle_batch_end(
    draft: &mut Draft<'_>,
    stamp: Stamp,
    items: &[BatchItemEnd],
) -> Reply {
    let effect = draft.effect(stamp.effect);
    if !close(draft, stamp, |agent| &mut agent.patches) {
        return Reply::Unchanged;
    }
    if let Some(Effect::StopBatch {
        call_id,
        items: _,
        turn_index,
        run_id,
        message_seq,
    }) = effect
    {
        draft.event(Event::CommandBatchStopped(CommandBatchStopped {
            tool_call_id: call_id,
            items: items.to_vec(),
            turn_index,
            run_id,
            message_seq,
        }));
    }
    home::remove_when_free(draft);
    Reply::Done
}

/// Begins a new generation of the agent's effects, so that outcomes of the previous one are stale. Detached effects are
/// reopened in the new generation.
pub(crate) fn next_generation(draft: &mut Draft<'_>) {
    draft.take_generation();
    let old: Vec<EffectId> = draft.agent.detached_effects().collect();
    draft.agent.deliveries.clear();
    draft.agent.patches.clear();
    draft.agent.cleanups.clear();
    for id in old {
        if let Some(effect) = draft.effect(id) {
            draft.close_effect(id);
            open(draft, effect);
        }
    }
    outbox::reopen(draft);
}
