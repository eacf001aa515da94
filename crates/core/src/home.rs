//! The home of an agent: made before it first runs and removed with it, each by an effect.
//!
//! Decides nothing about when. Invariant: an agent has at most one effect on its home, and none but the awaited one moves
//! it on.

use crate::assess::home_is_missing;
use crate::draft::Draft;
use crate::input::{Reply, Stamp};
use holon_domain::agent::{HomeState, LastFailure, Lifecycle};
use holon_domain::effect::Effect;
use holon_domain::failure::{FailureArtifact, FailureCategory, FailureCause};

/// Makes the home, or tries to again.
pub(crate) fn prepare(draft: &mut Draft<'_>) {
    draft.agent.lifecycle = Lifecycle::Booting;
    let effect = draft.open_effect(Effect::PrepareHome);
    draft.agent.home = HomeState::Preparing { effect };
}

/// The home was made, or could not be: without one an agent is stopped.
pub(crate) fn prepared(draft: &mut Draft<'_>, stamp: Stamp, result: &Result<(), String>) -> Reply {
    if !is_awaited(draft, stamp, Lifecycle::Booting) {
        return Reply::Unchanged;
    }
    match result {
        Ok(()) => {
            draft.agent.home = HomeState::Ready;
            draft.agent.lifecycle = Lifecycle::Runnable;
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
        // The rows stay, so that the next boot or another delete tries again.
        Err(reason) => {
            draft.agent.home = HomeState::NotRemoved;
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

/// Removes the home, or tries to again.
pub(crate) fn remove(draft: &mut Draft<'_>) {
    let effect = draft.open_effect(Effect::RemoveHome);
    draft.agent.home = HomeState::Removing { effect };
}
