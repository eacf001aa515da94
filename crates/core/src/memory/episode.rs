//! Builds episodes: takes turns in, finds boundaries, and writes the record of a finished one.
//!
//! | boundary | ends the episode | if |
//! |---|---|---|
//! | `active_work_switched` | before the turn | it is about another work item, or without one in another workspace |
//! | `result_checkpoint` | with the turn | it completed its item |
//! | `task_rejoined` | with the turn | it took the result of a task for its item, and the episode has two turns |
//! | `wait_boundary` | with the turn | it rests with its item, and the episode has two turns |
//! | `hard_turn_cap` | with the turn | the episode has as many turns as one may have |
//!
//! Without a work item a rest or a task is no boundary: an agent that looks after something every few minutes would
//! archive every look.

use super::snapshot;
use crate::draft::Draft;
use holon_domain::limits::{
    EPISODE_DECISIONS, EPISODE_SUMMARY_BYTES, EPISODE_TURNS, EPISODE_TURNS_MIN, MEMORY_CHECKS,
    MEMORY_COMMANDS, MEMORY_FILES,
};
use holon_domain::memory::{
    EpisodeBoundary, EpisodeBuilder, EpisodeContent, EpisodeRecord, EpisodeSeq, LEFT_TO_DO,
    TurnMemoryDelta, WAITING_ON,
};
use holon_domain::queue::MessageSeq;
use holon_domain::work_item::WorkItemRecord;
use holon_domain::{AgentId, EpisodeId, Timestamp, WorkspaceId, text};

/// What an episode takes from a turn.
pub(crate) struct TurnFacts<'a> {
    pub(crate) delta: &'a TurnMemoryDelta,
    /// Item that the turn was about, as it is at its end.
    pub(crate) item: Option<&'a WorkItemRecord>,
    pub(crate) workspace_id: WorkspaceId,
    pub(crate) scope_hints: Vec<String>,
    pub(crate) message_seq: MessageSeq,
    /// Messages that turns have taken so far.
    pub(crate) messages_taken: u64,
    /// Begin of the turn.
    pub(crate) started_at: Timestamp,
    pub(crate) completed_item: bool,
    pub(crate) rejoins_task: bool,
    pub(crate) rests: bool,
}

impl TurnFacts<'_> {
    /// Returns the beginning of the report on the item that the turn completed.
    fn report(&self) -> Option<String> {
        let item = self.item.filter(|_| self.completed_item)?;
        super::one_line(item.result_summary.as_ref()?)
    }

    /// Returns true if the turn left nothing to remember: no words, no file and no command.
    pub(crate) const fn is_blank(&self) -> bool {
        let delta = self.delta;
        delta.decisions.is_empty()
            && delta.touched_files.is_empty()
            && delta.commands.is_empty()
            && delta.verification.is_empty()
            && !self.completed_item
    }
}

/// Returns true if the turn is about another item than the open episode, or, if both have none, took place in another
/// workspace: a search looks for episodes in the workspace they belong to. A turn without an item belongs to any item.
pub(crate) fn is_about_other_work(open: &EpisodeBuilder, facts: &TurnFacts<'_>) -> bool {
    match (&open.content.current_work_item_id, facts.item) {
        (Some(open), Some(item)) => *open != item.id,
        (None, None) => open.content.workspace_id != facts.workspace_id,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// Opens an episode with a turn.
pub(crate) fn begin(id: EpisodeId, facts: &TurnFacts<'_>) -> EpisodeBuilder {
    let turn_index = facts.delta.turn_index;
    let before = facts.message_seq.saturating_sub(1);
    let empty = EpisodeBuilder {
        id,
        turns: 0,
        started_at: Some(facts.started_at),
        content: EpisodeContent {
            workspace_id: facts.workspace_id.clone(),
            start_turn_index: turn_index,
            end_turn_index: turn_index,
            start_message_count: before.min(facts.messages_taken),
            end_message_count: facts.messages_taken,
            current_work_item_id: None,
            objective: None,
            work_summary: None,
            scope_hints: Vec::new(),
            working_set_files: Vec::new(),
            commands: Vec::new(),
            verification: Vec::new(),
            decisions: Vec::new(),
            carry_forward: Vec::new(),
            waiting_on: Vec::new(),
        },
    };
    merge(empty, facts)
}

/// Takes a turn into an episode.
pub(crate) fn merge(open: EpisodeBuilder, facts: &TurnFacts<'_>) -> EpisodeBuilder {
    let EpisodeBuilder {
        id,
        turns,
        started_at,
        content,
    } = open;
    let delta = facts.delta;
    let mut content = EpisodeContent {
        workspace_id: facts.workspace_id.clone(),
        end_turn_index: delta.turn_index,
        end_message_count: facts.messages_taken.max(content.start_message_count),
        scope_hints: facts.scope_hints.clone(),
        waiting_on: delta.waiting_on.clone(),
        ..content
    };
    if let Some(item) = facts.item {
        content.current_work_item_id = Some(item.id.clone());
        content.objective = super::one_line(&item.objective);
        content.work_summary = Some(snapshot::work_summary(item));
        content.carry_forward = snapshot::followups(item);
    }
    let files = content.working_set_files.into_iter();
    let files = files.filter(|file| !delta.touched_files.contains(file));
    content.working_set_files = delta.touched_files.iter().cloned().chain(files).collect();
    content.working_set_files.truncate(MEMORY_FILES);
    append(&mut content.commands, &delta.commands, MEMORY_COMMANDS);
    append(
        &mut content.verification,
        &delta.verification,
        MEMORY_CHECKS,
    );
    let report = facts.report().into_iter();
    let outcomes: Vec<String> = report.chain(delta.decisions.iter().cloned()).collect();
    append(&mut content.decisions, &outcomes, EPISODE_DECISIONS);
    EpisodeBuilder {
        id,
        turns: turns + 1,
        started_at,
        content,
    }
}

/// Adds entries at the end. One that is repeated stands where it was last, and the oldest go.
fn append(list: &mut Vec<String>, new: &[String], most: usize) {
    list.retain(|known| !new.contains(known));
    list.extend(new.iter().cloned());
    let surplus = list.len().saturating_sub(most);
    list.drain(..surplus);
}

/// Returns the boundary that ends an episode with this turn.
pub(crate) fn boundary(merged: &EpisodeBuilder, facts: &TurnFacts<'_>) -> Option<EpisodeBoundary> {
    let content = &merged.content;
    let is_long = merged.turns >= EPISODE_TURNS_MIN && content.current_work_item_id.is_some();
    if facts.completed_item {
        Some(EpisodeBoundary::ResultCheckpoint)
    } else if is_long && facts.rejoins_task {
        Some(EpisodeBoundary::TaskRejoined)
    } else if is_long && facts.rests {
        Some(EpisodeBoundary::WaitBoundary)
    } else if merged.turns >= EPISODE_TURNS {
        Some(EpisodeBoundary::HardTurnCap)
    } else {
        None
    }
}

/// Brings what an episode says about its item up to date: the item may have been completed since its last turn here.
pub(crate) fn as_it_stands(draft: &Draft<'_>, mut builder: EpisodeBuilder) -> EpisodeBuilder {
    let id = builder.content.current_work_item_id.as_ref();
    if let Some(item) = id.and_then(|id| draft.work_item(id)) {
        builder.content.work_summary = Some(snapshot::work_summary(&item));
        builder.content.carry_forward = snapshot::followups(&item);
    }
    builder
}

/// Makes the record of a finished episode.
pub(crate) fn finish(
    builder: EpisodeBuilder,
    seq: EpisodeSeq,
    agent_id: AgentId,
    now: Timestamp,
    reason: EpisodeBoundary,
) -> EpisodeRecord {
    EpisodeRecord {
        id: builder.id,
        seq,
        agent_id,
        created_at: now,
        boundary_reason: reason,
        summary: summary(&builder.content),
        content: builder.content,
    }
}

/// Describes an episode in a few sentences.
fn summary(content: &EpisodeContent) -> String {
    let turns = content.turns_in_words();
    let about = content.objective.as_deref().unwrap_or("no work item");
    let progress = content.work_summary.as_deref();
    let progress = progress.map(|progress| format!(" ({progress})"));
    let mut lines = vec![format!("{turns}: {about}{}", progress.unwrap_or_default())];
    let mut list = |name: &str, entries: &[String]| {
        if !entries.is_empty() {
            lines.push(format!("{name}: {}", entries.join("; ")));
        }
    };
    list("files changed", &content.working_set_files);
    list("checks", &content.verification);
    // The last words say more about the outcome than the first.
    let last = content.decisions.len().saturating_sub(3);
    list("outcome", content.decisions.get(last..).unwrap_or_default());
    list(LEFT_TO_DO, &content.carry_forward);
    list(WAITING_ON, &content.waiting_on);
    text::preview(&lines.join("\n"), EPISODE_SUMMARY_BYTES)
}
