//! Suspension policy: decides the pause of an unattended turn whose whole chain of models has failed.
//!
//! Policy only: whether the failure may pass, and the length of the next pause. `turn::suspension` applies it.

use crate::attempt::spread;
use holon_domain::limits;
use holon_domain::model::ModelFailureKind;
use holon_domain::turn::{Patience, SuspensionReason};

/// Verdict over the failures of a whole chain of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainVerdict {
    /// At least one model may answer later.
    MayPass(SuspensionReason),
    /// No model of the chain accepts this request.
    Refused,
    /// No model can answer until an operator acts.
    NeedsOperator(SuspensionReason),
}

/// Judges the failures of every model that was asked, in that order. One failure that may pass is enough for the chain;
/// otherwise one refusal of the request is enough, so that a request that no model accepts never blocks the queue.
#[must_use]
pub fn judge_chain(kinds: &[ModelFailureKind]) -> ChainVerdict {
    let verdicts = || kinds.iter().copied().map(judge_kind);
    let passes = |verdict: &ChainVerdict| matches!(verdict, ChainVerdict::MayPass(_));
    let refuses = |verdict: &ChainVerdict| *verdict == ChainVerdict::Refused;
    verdicts()
        .find(passes)
        .or_else(|| verdicts().find(refuses))
        .or_else(|| verdicts().next())
        .unwrap_or(ChainVerdict::MayPass(SuspensionReason::ProviderTrouble))
}

const fn judge_kind(kind: ModelFailureKind) -> ChainVerdict {
    match kind {
        ModelFailureKind::Timeout
        | ModelFailureKind::Connection
        | ModelFailureKind::RateLimited
        | ModelFailureKind::ServerError
        // Often the page of a gateway or a sign-in form: the same request is answered once that is over.
        | ModelFailureKind::NotJson => {
            ChainVerdict::MayPass(SuspensionReason::ProviderTrouble)
        }
        ModelFailureKind::Network => ChainVerdict::MayPass(SuspensionReason::Network),
        ModelFailureKind::Quota => ChainVerdict::MayPass(SuspensionReason::Quota),
        ModelFailureKind::Auth => ChainVerdict::NeedsOperator(SuspensionReason::Auth),
        ModelFailureKind::UnsupportedTransport | ModelFailureKind::ModelUnavailable => {
            ChainVerdict::NeedsOperator(SuspensionReason::ModelUnavailable)
        }
        // An answer of an unknown form is not asked for again: it would cost as much and most likely be the same.
        ModelFailureKind::InvalidRequest
        | ModelFailureKind::InvalidResponse
        | ModelFailureKind::ContextLengthExceeded => ChainVerdict::Refused,
    }
}

/// Prospects of a suspended turn for asking its models again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outlook {
    /// Time until the first allowance is renewed; `None` if no provider named one.
    pub renewal_ms: Option<u64>,
    /// True if a model failed in a way that may pass at any time.
    pub may_pass_any_time: bool,
}

/// A pause that is still to be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedPause {
    pub length_ms: u64,
    /// True if it lasts until a renewal that the provider named.
    pub renewal: bool,
}

/// Plans the next pause of a suspended turn: as long as it has waited so far, so that pauses double up to their bound,
/// or until an earlier renewal. `None` if its patience is used up.
#[must_use]
pub fn plan_pause(
    patience: &Patience,
    patience_ms: u64,
    outlook: Outlook,
    chance: u128,
) -> Option<PlannedPause> {
    let grown = |waited_ms: u64| {
        let base = waited_ms.clamp(limits::BACKOFF_BASE_MS, limits::SUSPENSION_PAUSE_MAX_MS);
        spread(base, limits::SUSPENSION_PAUSE_MAX_MS, chance)
    };
    let unnamed = PlannedPause {
        length_ms: grown(patience.waited_ms),
        renewal: false,
    };
    let renewal = |wait_ms: u64| PlannedPause {
        // An allowance that is used up again at once is requested less often.
        length_ms: wait_ms.max(grown(patience.renewal_waited_ms)),
        renewal: true,
    };
    let left_ms = limits::RENEWAL_PATIENCE_MS.saturating_sub(patience.renewal_waited_ms);
    let unnamed =
        (outlook.may_pass_any_time && patience.waited_ms < patience_ms).then_some(unnamed);
    let renewal = outlook
        .renewal_ms
        .filter(|wait_ms| *wait_ms <= left_ms)
        .map(renewal);
    unnamed
        .into_iter()
        .chain(renewal)
        .min_by_key(|pause| pause.length_ms)
}

#[cfg(test)]
mod tests;
