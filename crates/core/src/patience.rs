//! Patience: what becomes of a turn that nobody waits for on the line once its whole chain of models has failed.
//!
//! Policy only: whether the trouble may pass, and how long the next pause is. `turn::suspended` acts on it.

use crate::attempt::spread;
use holon_domain::limits;
use holon_domain::model::ModelFailureKind;
use holon_domain::turn::{Patience, SuspensionReason};

/// What the failures of a whole chain of models allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainVerdict {
    /// One of its models may answer later.
    MayPass(SuspensionReason),
    /// No model of it takes this request.
    Refused,
    /// Nothing changes until an operator acts.
    NeedsOperator(SuspensionReason),
}

/// Judges the failures of every model that was asked, in the order they were asked. One that may pass is enough for the
/// chain; else one that refused the request is, so that a request nobody takes never blocks the queue behind it.
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
        | ModelFailureKind::InvalidResponse => {
            ChainVerdict::MayPass(SuspensionReason::ProviderTrouble)
        }
        ModelFailureKind::Network => ChainVerdict::MayPass(SuspensionReason::Network),
        ModelFailureKind::Quota => ChainVerdict::MayPass(SuspensionReason::Quota),
        ModelFailureKind::Auth => ChainVerdict::NeedsOperator(SuspensionReason::Auth),
        ModelFailureKind::UnsupportedTransport | ModelFailureKind::ModelUnavailable => {
            ChainVerdict::NeedsOperator(SuspensionReason::ModelUnavailable)
        }
        ModelFailureKind::InvalidRequest | ModelFailureKind::ContextLengthExceeded => {
            ChainVerdict::Refused
        }
    }
}

/// When a suspended turn may ask again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outlook {
    /// How long until the first allowance is renewed, where a provider said so.
    pub renewal_ms: Option<u64>,
    /// Whether a model failed in a way that may pass at any time.
    pub may_pass_any_time: bool,
}

/// A pause that is still to be set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlannedPause {
    /// How long it lasts.
    pub length_ms: u64,
    /// Whether it lasts until a renewal that the provider named.
    pub renewal: bool,
}

/// The next pause of a suspended turn: as long as it has waited already, so that pauses double up to their bound, or
/// until a renewal that comes first. None when its patience is used up.
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
        // An allowance that is used up again at once is not asked for again and again.
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
