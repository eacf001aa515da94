//! The home of an agent: its place is looked at before the agent runs, and it is removed with the agent, each by an
//! effect. The home itself is made by the command or the patch that first needs it.
//!
//! Decides nothing about when. Invariant: an agent has at most one effect on its home, and none but the awaited one moves
//! it on.

use crate::assess::home_is_missing;
use crate::draft::Draft;
use crate::input::{Reply, Stamp};
use crate::work;
use holon_domain::agent::{HomeState, LastFailure, Lifecycle, RemovalRetry};
use holon_domain::effect::Effect;
use holon_domain::failure::{FailureArtifact, FailureCategory, FailureCause};
use holon_domain::limits;
use holon_domain::timer::DueAction;

/// Has the place of the home looked at, or looked at again.
pub(crate) fn prepare(draft: &mut Draft<'_>) {
    draft.agent.lifecycle = Lifecycle::Booting;
    let effect = draft.open_effect(Effect::PrepareHome);
    draft.agent.home = HomeState::Preparing { effect };
}

/// The home can be made, or cannot: without a place for one an agent is stopped.
pub(crate) fn prepared(draft: &mut Draft<'_>, stamp: Stamp, result: &Result<(), String>) -> Reply {
    if !is_awaited(draft, stamp, Lifecycle::Booting) {
        return Reply::Unchanged;
    }
    match result {
        Ok(()) => {
            draft.agent.home = HomeState::Ready;
            draft.agent.lifecycle = Lifecycle::Runnable;
            work::agent_started(draft);
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
            draft.apply_control("stop", Lifecycle::Stopped, None);
        }
    }
    Reply::Done
}

/// Whether an outcome is the one an agent in this state of its life waits for.
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

/// The home was removed, or could not be.
pub(crate) fn removed(draft: &mut Draft<'_>, stamp: Stamp, result: &Result<(), String>) -> Reply {
    if !is_awaited(draft, stamp, Lifecycle::Deleting) {
        return Reply::Unchanged;
    }
    match result {
        Ok(()) => {
            draft.agent.home = HomeState::Removed;
            draft.agent.last_failure = None;
            Reply::RowsMayGo
        }
        // The rows stay until the home is gone: after a pause, at the next boot or at another delete it is tried again.
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

/// Removes the home of an agent that is being removed, once none of its commands uses it, no patch has its journal
/// there and all it sent is delivered.
pub(crate) fn remove_when_free(draft: &mut Draft<'_>) {
    let agent = &draft.agent;
    let free = agent.active_tasks == 0 && agent.detached_effects().next().is_none();
    if agent.lifecycle == Lifecycle::Deleting && free && agent.home.effect().is_none() {
        remove(draft);
    }
}

/// Removes the home, or tries to again. A pause before that is over.
pub(crate) fn remove(draft: &mut Draft<'_>) {
    let home = draft.agent.home;
    if let Some(retry) = home.removal_retry() {
        draft.clear_due(retry.due);
    }
    let effect = draft.open_effect(Effect::RemoveHome);
    let failed = home.failed_removals();
    draft.agent.home = HomeState::Removing { effect, failed };
}

/// Sets the pause before the next attempt to remove the home.
fn pause_removal(draft: &mut Draft<'_>) {
    let failed = draft.agent.home.failed_removals().saturating_add(1);
    let at = draft.now.plus_millis(removal_pause_ms(failed));
    let due = draft.set_due(at, DueAction::RemovalRetry);
    let retry = Some(RemovalRetry { at, due });
    draft.agent.home = HomeState::NotRemoved { failed, retry };
}

/// The pause before another attempt is over; its due entry is cleared already.
pub(crate) fn removal_pause_over(draft: &mut Draft<'_>) -> Reply {
    let failed = draft.agent.home.failed_removals();
    draft.agent.home = HomeState::NotRemoved {
        failed,
        retry: None,
    };
    remove(draft);
    Reply::Done
}

/// The pause after this many failed attempts: doubled each time, up to the longest.
fn removal_pause_ms(failed: u32) -> u64 {
    let factor = 1_u64.checked_shl(failed.saturating_sub(1));
    limits::REMOVAL_PAUSE_MS
        .saturating_mul(factor.unwrap_or(u64::MAX))
        .min(limits::REMOVAL_PAUSE_MAX_MS)
}
