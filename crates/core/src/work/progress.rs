//! Judges each turn against its work item: progress, an idle turn, or a stall.
//!
//! A turn that a tick or a follow-up began and that changed nothing about its item counts against it; changes of other
//! items do not help. The backoff before the next tick grows each time. After three idle turns the item is stalled, and one brief asks the operator to act.

use super::{no_idle_turns, store, write};
use crate::draft::Draft;
use crate::input::RoundAnswer;
use crate::planted::{Fault, is_planted};
use crate::subsystem::WORK_QUEUE;
use crate::turn::notice;
use holon_domain::agent::FailedTurn;
use holon_domain::brief::{ActionCode, ActionRequired};
use holon_domain::event::{
    Event, SystemTickSuppressed, WorkItemPlanArtifactRefreshed, WorkItemRecheckConsumed,
    WorkItemStaleReminderInjected, WorkItemStaleReminderSkipped, WorkItemTurnEndCommitSkipped,
    WorkItemTurnEndCommitted,
};
use holon_domain::message::MessageKind;
use holon_domain::turn::{OpenTurn, TerminalReason};
use holon_domain::work_item::StaleReminder;
use holon_domain::work_item::{
    IdleTurns, PlanArtifact, STALLED_AFTER, WorkItemRecord, WorkItemSchedulingState, WorkItemState,
};
use holon_domain::{WorkItemId, limits, text};
use std::collections::BTreeSet;

/// Handles an answered request: consumes the due rechecks that it showed, and records a changed plan.
pub(crate) fn handle_answered_request(
    draft: &mut Draft<'_>,
    turn: &mut OpenTurn,
    answer: &RoundAnswer,
) {
    if turn.rounds == 1 && draft.agent.work.due_rechecks > 0 {
        let due = draft.due_rechecks().into_iter();
        // At most as many as one tick names, so that this decision still knows the items of the next tick.
        let shown = due.filter(|item| answer.shown_items.contains(&item.id));
        let shown: Vec<_> = shown.take(limits::RECHECKS_PER_TICK).collect();
        // Reminders for which the request had no room follow with the next tick.
        draft.agent.work.rechecks_told &= shown.is_empty();
        for item in shown {
            consume_recheck(draft, item);
        }
    }
    if let Some(reminder) = &answer.reminder {
        record_reminder(draft, turn, reminder);
    }
    if let Some((id, plan)) = &answer.plan {
        refresh_plan(draft, turn, id, plan);
    }
}

fn record_reminder(draft: &mut Draft<'_>, turn: &OpenTurn, reminder: &StaleReminder) {
    let (turn_index, round) = (turn.turn_index, turn.rounds);
    let work_item_id = reminder.work_item_id.clone();
    draft.event(match reminder.skipped {
        Some(skip) => Event::WorkItemStaleReminderSkipped(WorkItemStaleReminderSkipped {
            turn_index,
            round,
            work_item_id,
            reason: skip.as_str().to_owned(),
        }),
        None => Event::WorkItemStaleReminderInjected(WorkItemStaleReminderInjected {
            turn_index,
            round,
            work_item_id,
            rounds_since_work_item_update: reminder.rounds_since_update,
        }),
    });
}

/// Marks the due recheck of an item as seen by the agent.
pub(crate) fn consume_recheck(draft: &mut Draft<'_>, mut item: WorkItemRecord) {
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
    // The first request of a turn shows changes from before the turn, which also void the item's idle turns.
    if turn.rounds > 1 {
        turn.note_progress(id);
    }
    item.idle_turns = no_idle_turns(draft);
    super::end_tick_pause(draft);
    draft.event(Event::WorkItemPlanArtifactRefreshed(
        WorkItemPlanArtifactRefreshed {
            work_item_id: item.id.clone(),
            hash: plan.hash.clone(),
            bytes: plan.bytes,
        },
    ));
    store(draft, item);
}

/// Counts a turn against its item if it changed nothing, and records the end of the turn in the item it was bound to.
/// Notes a failure that the next turn of the same work can repair.
pub(crate) fn handle_turn_end(draft: &mut Draft<'_>, turn: &OpenTurn, reason: TerminalReason) {
    count_turn(draft, turn, reason);
    record_turn_end(draft, turn, reason);
    draft.agent.work.failed_turn = reason.is_repairable().then(|| FailedTurn {
        reason,
        message_id: turn.message_id.clone(),
        work_item_id: turn.work_item_id.clone(),
    });
}

fn record_turn_end(draft: &mut Draft<'_>, turn: &OpenTurn, reason: TerminalReason) {
    let Some(id) = turn.work_item_id.clone() else {
        return;
    };
    let (turn_index, run_id) = (turn.turn_index, turn.run_id.clone());
    if was_called_off(reason) {
        let skipped = WorkItemTurnEndCommitSkipped {
            turn_index,
            run_id,
            work_item_id: id,
            reason,
        };
        return draft.event(Event::WorkItemTurnEndCommitSkipped(skipped));
    }
    let committed_state = match &draft.agent.work.current {
        Some(current) if current.id == id => current.state,
        Some(_) | None => match draft.work_item(&id) {
            Some(item) => draft.scheduling_state(&item),
            None => return,
        },
    };
    draft.event(Event::WorkItemTurnEndCommitted(WorkItemTurnEndCommitted {
        turn_index,
        run_id,
        work_item_id: id,
        committed_state,
        work_item_state_changed: turn.bound_progress,
    }));
}

fn count_turn(draft: &mut Draft<'_>, turn: &OpenTurn, reason: TerminalReason) {
    let changed = [
        (turn.bound_progress, &turn.work_item_id),
        (turn.progress, &turn.ticked_item),
    ];
    let changed = changed.into_iter().filter(|(changed, _)| *changed);
    for id in changed.filter_map(|(_, id)| id.as_ref()) {
        forget_idle_turns(draft, id);
    }
    if is_planted(Fault::IdleNotCounted) || was_called_off(reason) {
        return;
    }
    // The same request would be too long again, regardless of what began this turn and of what it changed.
    if reason == TerminalReason::ContextLengthExceeded {
        let items: BTreeSet<&WorkItemId> = [&turn.ticked_item, &turn.work_item_id]
            .into_iter()
            .flatten()
            .collect();
        for id in items {
            write_idle_turn(draft, turn, id, true);
        }
    } else if let Some(id) = turn.ticked_item.as_ref().filter(|_| !turn.progress)
        && is_self_caused(draft, turn)
    {
        write_idle_turn(draft, turn, id, false);
    }
}

/// Counts a turn that did nothing for an item, or stalls the item at once if its request was too long for every model.
fn write_idle_turn(draft: &mut Draft<'_>, turn: &OpenTurn, id: &WorkItemId, too_long: bool) {
    let Some(mut item) = draft.work_item(id) else {
        return;
    };
    if draft.scheduling_state(&item) != WorkItemSchedulingState::Runnable {
        return;
    }
    let wake_count = draft.agent.work.wake_count;
    let count = if too_long {
        STALLED_AFTER
    } else {
        item.idle_count(wake_count) + 1
    };
    item.idle_turns = IdleTurns { count, wake_count };
    // A pause that ran or ended during this turn does not count for the next tick: the turn was idle too.
    super::end_tick_pause(draft);
    let stalled = count >= STALLED_AFTER;
    let action = if stalled { "stalled" } else { "idle_turn" };
    write(draft, item.clone(), action, Vec::new());
    if stalled {
        tell_stalled(draft, turn, &item, too_long);
    }
}

/// Voids the idle turns of an item after a turn that changed a file or a task, which the item's record does not show.
fn forget_idle_turns(draft: &mut Draft<'_>, id: &WorkItemId) {
    let current = draft.agent.work.current.as_ref();
    if current.is_some_and(|current| current.id == *id && current.idle_turns == 0) {
        return;
    }
    let counts = |item: &WorkItemRecord| item.idle_count(draft.agent.work.wake_count) > 0;
    let Some(mut item) = draft.work_item(id).filter(counts) else {
        return;
    };
    item.idle_turns = no_idle_turns(draft);
    super::end_tick_pause(draft);
    write(draft, item, "progress", Vec::new());
}

/// Returns true if a tick or a follow-up of the agent itself began the open turn. A follow-up counts like a tick, so that
/// an agent cannot go round in circles by messages to itself.
fn is_self_caused(draft: &Draft<'_>, turn: &OpenTurn) -> bool {
    let by_itself = match turn.message_kind {
        MessageKind::SystemTick | MessageKind::InternalFollowup => true,
        MessageKind::OperatorPrompt
        | MessageKind::ChannelEvent
        | MessageKind::WebhookEvent
        | MessageKind::CallbackEvent
        | MessageKind::TimerTick
        | MessageKind::TaskResult
        | MessageKind::TaskStatus
        | MessageKind::Control
        | MessageKind::BriefAck
        | MessageKind::BriefResult => false,
    };
    by_itself && draft.agent.self_caused_turns > 0
}

/// Asks the operator to act, once. From now on only a change makes the item runnable again.
fn tell_stalled(draft: &mut Draft<'_>, turn: &OpenTurn, item: &WorkItemRecord, too_long: bool) {
    let why = if too_long {
        "its request is longer than the model takes".to_owned()
    } else {
        format!("{STALLED_AFTER} turns in a row changed nothing about it")
    };
    let objective = text::preview(&item.objective, limits::EVENT_PREVIEW_BYTES);
    let words =
        format!("Work on \"{objective}\" stalled: {why}, so it is not taken up again by itself.");
    let action = ActionRequired {
        code: ActionCode::WorkStalled,
        next_step: format!(
            "tell the agent how to go on (holon prompt --agent {agent} \"...\"), or: holon work resume --agent {agent} {}",
            item.id,
            agent = draft.agent.identity.agent_id,
        ),
    };
    notice::write_notice(draft, turn, &words, action);
    draft.event(Event::SystemTickSuppressed(SystemTickSuppressed {
        subsystem: WORK_QUEUE.to_owned(),
        reason: "stalled".to_owned(),
        work_item_id: Some(item.id.clone()),
        until: None,
    }));
}

/// Returns true if an operator or a crash ended the turn, which is no evidence about the work.
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
