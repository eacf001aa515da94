//! What a turn means for the work it was about: progress, an idle turn, or a stall.
//!
//! A turn that a tick began and that changed no fact about the work counts against its item. The next tick waits longer
//! each time, and after three the item is stalled and one brief asks the operator to act.

use super::write;
use crate::draft::Draft;
use crate::input::RoundAnswer;
use crate::turn::notice;
use holon_domain::brief::{ActionCode, ActionRequired};
use holon_domain::event::{Event, WorkItemPlanArtifactRefreshed, WorkItemRecheckConsumed};
use holon_domain::message::MessageKind;
use holon_domain::turn::{OpenTurn, TerminalReason};
use holon_domain::work_item::{
    IdleTurns, PlanArtifact, STALLED_AFTER, WorkItemRecord, WorkItemSchedulingState, WorkItemState,
};
use holon_domain::{WorkItemId, limits, text};

/// A request was answered: what it showed of due rechecks is consumed, and a plan that it found changed is noted.
pub(crate) fn request_answered(draft: &mut Draft<'_>, turn: &mut OpenTurn, answer: &RoundAnswer) {
    if turn.rounds == 1 && draft.agent.work.due_rechecks > 0 {
        for item in draft.due_rechecks() {
            if answer.shown_items.contains(&item.id) {
                consume_recheck(draft, item);
            }
        }
    }
    if let Some((id, plan)) = &answer.plan {
        refresh_plan(draft, turn, id, plan);
    }
}

fn consume_recheck(draft: &mut Draft<'_>, mut item: WorkItemRecord) {
    let now = draft.now;
    let Some(recheck) = &mut item.recheck else {
        return;
    };
    recheck.consumed_at = Some(now);
    let recheck_at = recheck.at;
    let work = &mut draft.agent.work;
    work.due_rechecks = work.due_rechecks.saturating_sub(1);
    draft.event(Event::WorkItemRecheckConsumed(WorkItemRecheckConsumed {
        work_item_id: item.id.clone(),
        recheck_at,
    }));
    draft.put_work_item(item);
}

fn refresh_plan(draft: &mut Draft<'_>, turn: &mut OpenTurn, id: &WorkItemId, plan: &PlanArtifact) {
    let Some(mut item) = draft.work_item(id) else {
        return;
    };
    let known = item.plan.as_ref();
    if known.is_some_and(|known| known.is_same_file(plan)) || item.state == WorkItemState::Completed
    {
        return;
    }
    item.plan = Some(PlanArtifact {
        updated_at: draft.now,
        ..plan.clone()
    });
    // The first request of a turn finds what happened before the turn.
    turn.progress |= turn.rounds > 1;
    draft.event(Event::WorkItemPlanArtifactRefreshed(
        WorkItemPlanArtifactRefreshed {
            work_item_id: item.id.clone(),
            hash: plan.hash.clone(),
            bytes: plan.bytes,
        },
    ));
    draft.put_work_item(item);
}

/// Counts a turn that ended for this reason against the item it was about, where it changed nothing.
pub(crate) fn turn_ended(draft: &mut Draft<'_>, turn: &OpenTurn, reason: TerminalReason) {
    let Some(id) = &turn.work_item_id else {
        return;
    };
    if turn.progress || turn.message_kind != MessageKind::SystemTick || was_called_off(reason) {
        return;
    }
    let Some(mut item) = draft.work_item(id) else {
        return;
    };
    if draft.scheduling_state(&item) != WorkItemSchedulingState::Runnable {
        return;
    }
    let wake_count = draft.agent.work.wake_count;
    let count = match reason {
        // The same request would be too long again.
        TerminalReason::ContextLengthExceeded => STALLED_AFTER,
        _ => item.idle_count(wake_count) + 1,
    };
    item.idle_turns = IdleTurns { count, wake_count };
    let stalled = count >= STALLED_AFTER;
    let action = if stalled { "stalled" } else { "idle_turn" };
    write(draft, item.clone(), action, Vec::new());
    if stalled {
        let objective = text::preview(&item.objective, limits::EVENT_PREVIEW_BYTES);
        let words = format!(
            "Work on \"{objective}\" stalled: the last {count} turns changed nothing about it, so it is not taken up again by itself."
        );
        let action = ActionRequired {
            code: ActionCode::WorkStalled,
            next_step: format!(
                "tell the agent how to go on, or: holon work resume {}",
                item.id
            ),
        };
        notice::write_notice(draft, turn, &words, action);
    }
}

/// Whether a turn ended because an operator or a crash ended it, which says nothing about the work.
const fn was_called_off(reason: TerminalReason) -> bool {
    match reason {
        TerminalReason::OperatorAborted | TerminalReason::AgentStopped => true,
        TerminalReason::Finished
        | TerminalReason::Slept
        | TerminalReason::MaxRounds
        | TerminalReason::ProviderFailed
        | TerminalReason::ContextLengthExceeded
        | TerminalReason::OutputLimit
        | TerminalReason::Poisoned
        | TerminalReason::RuntimeFault => false,
    }
}
