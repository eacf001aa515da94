//! The home of an agent: before the agent runs an effect checks its path and makes what a lasting agent starts with,
//! and another removes it with the agent.
//!
//! This module does not decide when. Invariant: an agent has at most one effect on its home, and only the awaited one
//! changes its state.

use crate::assess::home_is_missing;
use crate::draft::Draft;
use crate::input::{Reply, Stamp};
use crate::{delegation, task, work};
use holon_domain::agent::{HomeState, LastFailure, Lifecycle, RemovalRetry};
use holon_domain::effect::Effect;
use holon_domain::failure::{FailureArtifact, FailureCategory, FailureCause};
use holon_domain::limits;
use holon_domain::task::StopOrder;
use holon_domain::timer::DueAction;

/// Opens the effect that prepares the home.
pub(crate) fn prepare(draft: &mut Draft<'_>) {
    draft.agent.lifecycle = Lifecycle::Booting;
    let effect = draft.open_effect(Effect::PrepareHome);
    draft.agent.home = HomeState::Preparing { effect };
}

/// Handles the result of the preparation. An agent whose home cannot be made is stopped.
pub(crate) fn handle_prepared(
    draft: &mut Draft<'_>,
    stamp: Stamp,
    result: &Result<(), String>,
) -> Reply {
    if !is_awaited(draft, stamp, Lifecycle::Booting) {
        return Reply::Unchanged;
    }
    match result {
        Ok(()) => {
            draft.agent.home = HomeState::Ready;
            draft.agent.lifecycle = Lifecycle::Runnable;
            work::handle_agent_start(draft);
            if home_is_missing(&draft.agent) {
                draft.agent.last_failure = None;
            }
        }
        Err(reason) => {
            draft.agent.home = HomeState::Unmade;
            failed(
                draft,
                FailureCause::HomeNotMade,
                FailureCause::HOME_NOT_MADE,
                reason,
            );
            draft.apply_control("stop", Lifecycle::Stopped, None, Vec::new());
            // An operator may have started commands meanwhile.
            if draft.agent.active_tasks > 0 {
                task::stop_all(draft, StopOrder::with_agent(), "stopped with its agent");
            }
        }
    }
    Reply::Done
}

/// Returns true if the agent is in this lifecycle state and waits for this outcome.
fn is_awaited(draft: &mut Draft<'_>, stamp: Stamp, during: Lifecycle) -> bool {
    let agent = &draft.agent;
    let awaited = agent.home.effect().filter(|_| agent.lifecycle == during);
    draft.accept(stamp, awaited)
}

fn failed(draft: &mut Draft<'_>, cause: FailureCause, kind: &str, reason: &str) {
    draft.agent.last_failure = Some(LastFailure {
        occurred_at: draft.now,
        cause,
        failure_artifact: FailureArtifact::new(FailureCategory::Runtime, kind, reason),
    });
}

/// Handles the result of a removal; after a failure it is retried.
pub(crate) fn handle_removed(
    draft: &mut Draft<'_>,
    stamp: Stamp,
    result: &Result<(), String>,
) -> Reply {
    if !is_awaited(draft, stamp, Lifecycle::Deleting) {
        return Reply::Unchanged;
    }
    match result {
        Ok(()) => {
            draft.agent.home = HomeState::Removed;
            draft.agent.last_failure = None;
            Reply::RowsMayGo
        }
        // The rows stay until the home is removed. The removal is retried after a pause, at the next boot, or at
        // another delete.
        Err(reason) => {
            pause_removal(draft);
            failed(
                draft,
                FailureCause::HomeNotRemoved,
                FailureCause::HOME_NOT_REMOVED,
                reason,
            );
            Reply::Done
        }
    }
}

/// Removes the home of a deleted agent once none of its commands uses it, no patch has its journal there and all its
/// sends are delivered. Before that, and for an archived child, the worktree that was made for it.
pub(crate) fn remove_when_free(draft: &mut Draft<'_>) {
    delegation::clean_worktree_when_free(draft);
    let agent = &draft.agent;
    let free = agent.active_tasks == 0 && agent.detached_effects().next().is_none();
    if agent.lifecycle == Lifecycle::Deleting && free && agent.home.effect().is_none() {
        remove(draft);
    }
}

/// Opens the effect that removes the home, and clears the pause before a retry.
pub(crate) fn remove(draft: &mut Draft<'_>) {
    let home = draft.agent.home;
    if let Some(retry) = home.removal_retry() {
        draft.clear_due(retry.due);
    }
    let effect = draft.open_effect(Effect::RemoveHome);
    let failed = home.failed_removals();
    draft.agent.home = HomeState::Removing { effect, failed };
}

/// Sets the backoff before the next attempt to remove the home.
fn pause_removal(draft: &mut Draft<'_>) {
    let failed = draft.agent.home.failed_removals().saturating_add(1);
    let at = draft.now.plus_millis(removal_pause_ms(failed));
    let due = draft.set_due(at, DueAction::RemovalRetry);
    let retry = Some(RemovalRetry { at, due });
    draft.agent.home = HomeState::NotRemoved { failed, retry };
}

/// Handles the end of the backoff; its due entry is already cleared.
pub(crate) fn handle_removal_pause_end(draft: &mut Draft<'_>) -> Reply {
    let failed = draft.agent.home.failed_removals();
    draft.agent.home = HomeState::NotRemoved {
        failed,
        retry: None,
    };
    remove(draft);
    Reply::Done
}

/// Returns the backoff after this many failed attempts: doubled each time, up to a bound.
fn removal_pause_ms(failed: u32) -> u64 {
    let factor = 1_u64.checked_shl(failed.saturating_sub(1));
    limits::REMOVAL_PAUSE_MS
        .saturating_mul(factor.unwrap_or(u64::MAX))
        .min(limits::REMOVAL_PAUSE_MAX_MS)
}
