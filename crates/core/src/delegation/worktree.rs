//! Removes the worktree of a child that has ended. One that holds work is kept for a review.

use crate::draft::Draft;
use crate::input::{Reply, Stamp};
use crate::{detached, home};
use holon_domain::agent::{AgentRecord, Lifecycle};
use holon_domain::delegation::WorktreeEnd;
use holon_domain::effect::Effect;
use holon_domain::event::{Event, WorktreeAutoCleanedUp, WorktreeRetainedForReview};
use holon_domain::workspace::WorktreeSession;
use holon_domain::{limits, text};

/// Opens the effect that removes the worktree of an ended child, once no command or patch of the child works in it. It is
/// looked at once; a later clean-up by an operator looks at those that were kept.
pub(crate) fn clean_worktree_when_free(draft: &mut Draft<'_>) {
    let agent = &draft.agent;
    let has_ended = agent.archived_at.is_some() || agent.lifecycle == Lifecycle::Deleting;
    let is_free = agent.active_tasks == 0 && agent.patches.is_empty();
    let is_looked_at = agent.worktree_end.is_some() || !agent.cleanups.is_empty();
    if !has_ended || !is_free || is_looked_at {
        return;
    }
    if let Some(WorktreeSession { worktree_path, .. }) = worktree_of(agent) {
        detached::open(draft, Effect::CleanWorktree { worktree_path });
    }
}

/// Returns the worktree that was made for a private child; `None` if there is none.
fn worktree_of(agent: &AgentRecord) -> Option<WorktreeSession> {
    let supervision = agent.supervision.as_ref()?;
    supervision.worktree.clone()
}

/// Handles the end of the clean-up.
pub(crate) fn handle_worktree_end(draft: &mut Draft<'_>, stamp: Stamp, end: &WorktreeEnd) -> Reply {
    if !detached::close(draft, stamp, |agent| &mut agent.cleanups) {
        return Reply::Unchanged;
    }
    let end = match end {
        WorktreeEnd::Removed => WorktreeEnd::Removed,
        WorktreeEnd::Kept {
            reasons,
            changed_files,
            changed_files_total,
        } => {
            let bounded = |texts: &[String], most: usize| {
                let shown = texts.iter().take(most);
                let shown = shown.map(|text| text::preview(text, limits::EVENT_PREVIEW_BYTES));
                shown.collect()
            };
            WorktreeEnd::Kept {
                reasons: bounded(reasons, limits::KEPT_REASONS),
                changed_files: bounded(changed_files, limits::KEPT_FILES),
                changed_files_total: *changed_files_total,
            }
        }
    };
    if let Some(session) = worktree_of(&draft.agent) {
        let (worktree_path, worktree_branch) = (session.worktree_path, session.worktree_branch);
        draft.event(match &end {
            WorktreeEnd::Removed => Event::WorktreeAutoCleanedUp(WorktreeAutoCleanedUp {
                worktree_path,
                worktree_branch,
            }),
            WorktreeEnd::Kept {
                reasons,
                changed_files,
                ..
            } => Event::WorktreeRetainedForReview(WorktreeRetainedForReview {
                worktree_path,
                worktree_branch,
                reasons: reasons.clone(),
                changed_files: changed_files.clone(),
            }),
        });
    }
    draft.agent.worktree_end = Some(end);
    home::remove_when_free(draft);
    Reply::Done
}
