//! The home of an agent: made before it first runs and removed with it, each by an effect.
//!
//! Decides nothing about when. Invariant: an agent has at most one effect on its home, and none but the awaited one moves
//! it on.

use crate::assess::{HOME_NOT_MADE, home_is_missing};
use crate::draft::Draft;
use crate::input::{Reply, Stamp};
use holon_domain::agent::{LastFailure, Lifecycle};
use holon_domain::effect::Effect;
use holon_domain::failure::{FailureArtifact, FailureCategory};

/// Kind of the failure to remove a home.
pub(crate) const HOME_NOT_REMOVED: &str = "home_not_removed";

/// Makes the home, or tries to again.
pub(crate) fn prepare(draft: &mut Draft<'_>) {
    draft.agent.lifecycle = Lifecycle::Booting;
    draft.agent.home_effect = Some(draft.open_effect(Effect::PrepareHome));
}

/// The home was made, or could not be: without one an agent is stopped.
pub(crate) fn prepared(draft: &mut Draft<'_>, stamp: Stamp, result: &Result<(), String>) -> Reply {
    if !is_awaited(draft, stamp, Lifecycle::Booting) {
        return Reply::Unchanged;
    }
    match result {
        Ok(()) => {
            draft.agent.lifecycle = Lifecycle::Runnable;
            if home_is_missing(&draft.agent) {
                draft.agent.last_failure = None;
            }
        }
        Err(reason) => {
            failed(draft, HOME_NOT_MADE, reason);
            draft.apply_control("stop", Lifecycle::Stopped, None);
        }
    }
    Reply::Done
}

/// Whether an outcome is the one an agent in this state of its life waits for; it does not wait any more then.
fn is_awaited(draft: &mut Draft<'_>, stamp: Stamp, during: Lifecycle) -> bool {
    let agent = &draft.agent;
    let awaited = agent.home_effect.filter(|_| agent.lifecycle == during);
    let accepted = draft.accept(stamp, awaited);
    if accepted {
        draft.agent.home_effect = None;
    }
    accepted
}

fn failed(draft: &mut Draft<'_>, kind: &str, reason: &str) {
    draft.agent.last_failure = Some(LastFailure {
        occurred_at: draft.now,
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
            draft.agent.last_failure = None;
            Reply::RowsMayGo
        }
        // The rows stay, so that the next boot or another delete tries again.
        Err(reason) => {
            failed(draft, HOME_NOT_REMOVED, reason);
            Reply::Done
        }
    }
}

/// Removes the home of an agent that is being removed, once none of its commands uses it and all it sent is delivered.
pub(crate) fn remove_when_free(draft: &mut Draft<'_>) {
    let agent = &draft.agent;
    let free = agent.active_tasks == 0 && agent.deliveries.is_empty();
    if agent.lifecycle == Lifecycle::Deleting && free && agent.home_effect.is_none() {
        remove(draft);
    }
}

/// Removes the home, or tries to again.
pub(crate) fn remove(draft: &mut Draft<'_>) {
    draft.agent.home_effect = Some(draft.open_effect(Effect::RemoveHome));
}
