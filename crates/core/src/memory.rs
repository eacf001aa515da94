//! Memory at the end of a turn: derives the working memory, and takes the turn into the open episode.
//!
//! Order: the snapshot is derived from typed records, a difference raises the revision and leaves a delta, the turn joins
//! the episode, and a boundary archives it. All of it is part of the decision that ends the turn, so nothing is derived
//! while a turn runs and nothing is lost by a crash. No model is asked.
//!
//! `evidence` collects what calls come to while the turn runs, `snapshot` derives the working memory, `delta` describes
//! its change, and `episode` builds episodes.

mod delta;
mod episode;
mod evidence;
mod snapshot;
#[cfg(test)]
mod tests;

pub(crate) use evidence::note_call;

use crate::draft::Draft;
use episode::TurnFacts;
use holon_domain::agent::Lifecycle;
use holon_domain::decision::Fact;
use holon_domain::event::{EpisodeMemoryFinalized, Event, TurnRange, WorkingMemoryUpdated};
use holon_domain::limits::MEMORY_ENTRY_BYTES;
use holon_domain::memory::{EpisodeBoundary, EpisodeBuilder, TurnMemoryDelta, WorkingMemoryState};
use holon_domain::message::MessageKind;
use holon_domain::turn::OpenTurn;
use holon_domain::work_item::{WorkItemRecord, WorkItemState};
use holon_domain::{EpisodeId, WorkItemId, text};
use snapshot::SnapshotInput;

/// What memory needs to know about the end of a turn.
pub(crate) struct TurnOutcome {
    /// Beginning of what the agent said, or of the failure.
    pub(crate) words: Option<String>,
    /// True if the words are the runtime's about a failure.
    pub(crate) failed: bool,
    /// True if the agent asked for a rest or declared a wait.
    pub(crate) rests: bool,
}

/// Derives the memory of an agent whose turn has ended. An agent that is removed with its run has none.
pub(crate) fn handle_turn_end(draft: &mut Draft<'_>, turn: &OpenTurn, outcome: &TurnOutcome) {
    if draft.agent.is_temporary() || draft.agent.lifecycle == Lifecycle::Deleting {
        return;
    }
    let before = draft.memory();
    let focus = draft.agent.work.current.as_ref();
    let focus = focus.map(|current| current.id.clone());
    let current = focus.as_ref().and_then(|id| draft.work_item(id));
    let about = turn.evidence.completed_item.as_ref();
    let about = match about.or(turn.work_item_id.as_ref()) {
        Some(id) if focus.as_ref() == Some(id) => current.clone(),
        Some(id) => draft.work_item(id),
        None => None,
    };
    let waiting_on = waiting_on(draft, current.as_ref());
    if draft.is_incomplete() {
        return;
    }
    let mut after = before.clone();
    note_prompted(&mut after, turn);
    let did_work = turn.work_item_id.is_some() || !turn.evidence.is_empty();
    // A turn that no model answered has nothing to say about the work.
    let words = outcome.words.as_deref().filter(|_| turn.rounds > 0);
    let decision = words.and_then(one_line);
    after.current_working_memory = snapshot::derive(&SnapshotInput {
        before: &before.current_working_memory,
        item: current.as_ref(),
        workspace: &draft.agent.workspace,
        worktree: draft.agent.worktree_session.as_ref(),
        evidence: &turn.evidence,
        decision: decision.as_deref().filter(|_| did_work && !outcome.failed),
        waiting_on: &waiting_on,
    });
    let turn_delta = turn_delta(&before, &after, turn, decision);
    record_change(draft, &before, &mut after, turn, &turn_delta);
    let facts = TurnFacts {
        delta: &turn_delta,
        item: about.as_ref(),
        workspace_id: draft.agent.workspace.workspace_id.clone(),
        scope_hints: after.current_working_memory.scope_hints.clone(),
        message_seq: turn.message_seq,
        messages_taken: messages_taken(draft),
        started_at: turn.started_at,
        completed_item: completed_item(about.as_ref(), turn),
        rejoins_task: turn.message_kind == MessageKind::TaskResult,
        rests: outcome.rests,
    };
    if turn.rounds > 0 {
        take_into_episode(draft, &mut after, &facts);
    }
    if after != before {
        draft.put_memory(after);
    }
}

/// Notes that the prompt of an answered turn has shown the memory as it was when the turn began.
fn note_prompted(state: &mut WorkingMemoryState, turn: &OpenTurn) {
    if turn.rounds > 0 {
        state.last_prompted_working_memory_revision = state.working_memory_revision;
        state.pending_working_memory_delta = None;
    }
}

/// Raises the revision and records the change, if the snapshot differs.
fn record_change(
    draft: &mut Draft<'_>,
    before: &WorkingMemoryState,
    after: &mut WorkingMemoryState,
    turn: &OpenTurn,
    turn_delta: &TurnMemoryDelta,
) {
    let old = &before.current_working_memory;
    let changed = old.changed_fields(&after.current_working_memory);
    if changed.is_empty() {
        return;
    }
    after.working_memory_revision += 1;
    let made = delta::describe(old, after, &changed, turn);
    after.pending_working_memory_delta = Some(made.clone());
    draft.event(Event::WorkingMemoryUpdated(WorkingMemoryUpdated {
        revision: after.working_memory_revision,
        reason: made.reason,
        delta: made,
        turn_memory_delta: turn_delta.clone(),
    }));
}

fn turn_delta(
    before: &WorkingMemoryState,
    after: &WorkingMemoryState,
    turn: &OpenTurn,
    decision: Option<String>,
) -> TurnMemoryDelta {
    let (old, new) = (
        &before.current_working_memory,
        &after.current_working_memory,
    );
    let evidence = turn.evidence.clone();
    TurnMemoryDelta {
        turn_index: turn.turn_index,
        active_work_changed: old.current_work_item_id != new.current_work_item_id,
        plan_changed: old.plan != new.plan,
        todo_list_changed: old.todo_list != new.todo_list,
        scope_hints_changed: old.scope_hints != new.scope_hints,
        touched_files: evidence.touched_files,
        commands: evidence.commands,
        verification: evidence.verification,
        decisions: decision.into_iter().collect(),
        pending_followups: new.pending_followups.clone(),
        waiting_on: new.waiting_on.clone(),
    }
}

/// Takes an answered turn into the open episode, and archives the episode at a boundary.
fn take_into_episode(draft: &mut Draft<'_>, state: &mut WorkingMemoryState, facts: &TurnFacts<'_>) {
    let open = state.active_episode_builder.take();
    let open = match open {
        Some(open) if episode::is_about_other_work(&open, facts) => {
            archive(draft, state, open, EpisodeBoundary::ActiveWorkSwitched);
            None
        }
        open => open,
    };
    let merged = match open {
        open if facts.is_blank() => open,
        Some(open) => Some(episode::merge(open, facts)),
        None => Some(episode::begin(EpisodeId::mint(draft.entropy), facts)),
    };
    let Some(merged) = merged else {
        return;
    };
    match episode::boundary(&merged, facts) {
        Some(reason) => archive(draft, state, merged, reason),
        None => state.active_episode_builder = Some(merged),
    }
}

fn archive(
    draft: &mut Draft<'_>,
    state: &mut WorkingMemoryState,
    builder: EpisodeBuilder,
    reason: EpisodeBoundary,
) {
    let builder = episode::as_it_stands(draft, builder);
    state.archived_episode_count += 1;
    let agent_id = draft.agent.identity.agent_id.clone();
    let seq = state.archived_episode_count;
    let record = episode::finish(builder, seq, agent_id, draft.now, reason);
    draft.event(Event::EpisodeMemoryFinalized(EpisodeMemoryFinalized {
        episode_id: record.id.clone(),
        boundary_reason: reason,
        turn_range: TurnRange {
            start: record.content.start_turn_index,
            end: record.content.end_turn_index,
        },
        work_item_id: record.content.current_work_item_id.clone(),
    }));
    draft.fact(Fact::EpisodeArchived(Box::new(record)));
}

/// Lists what is waited for: by the current item first, then by the agent, then by other items, the newest first.
fn waiting_on(draft: &Draft<'_>, current: Option<&WorkItemRecord>) -> Vec<String> {
    let mut waits = draft.active_waits();
    let current_id = current.map(|item| &item.id);
    let rank = |id: Option<&WorkItemId>| match id {
        id if id.is_some() && id == current_id => 0,
        None => 1,
        Some(_) => 2,
    };
    waits.sort_by_key(|wait| {
        (
            rank(wait.work_item_id.as_ref()),
            std::cmp::Reverse(wait.created_at),
        )
    });
    let blocker = current.and_then(|item| item.blocked_by.clone());
    let texts = blocker
        .into_iter()
        .chain(waits.into_iter().map(|wait| wait.waiting_for));
    texts.filter_map(|text| one_line(&text)).collect()
}

/// Returns true if the turn completed the item it was about.
fn completed_item(item: Option<&WorkItemRecord>, turn: &OpenTurn) -> bool {
    item.is_some_and(|item| {
        item.state == WorkItemState::Completed && item.updated_at >= turn.started_at
    })
}

/// Counts the messages that turns have taken.
pub(crate) fn messages_taken(draft: &Draft<'_>) -> u64 {
    let admitted = draft.agent.counters.messages;
    admitted.saturating_sub(draft.queue.pending)
}

/// Returns the first line of a text that has words, within the bound of an entry. `None` if there is none.
fn one_line(words: &str) -> Option<String> {
    let line = words.lines().map(str::trim).find(|line| !line.is_empty())?;
    let line: Vec<&str> = line.split_whitespace().collect();
    Some(text::preview(&line.join(" "), MEMORY_ENTRY_BYTES))
}
