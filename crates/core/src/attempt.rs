//! Retry policy for one provider request: retry with backoff, wait, ask another model, or fail. Performing a single
//! attempt is the `llm` crate's job.

use holon_domain::attempt::AttemptDisposition;
use holon_domain::limits;
use holon_domain::model::{ModelFailure, ModelFailureKind};
use holon_domain::turn::RequestForm;

/// The consequence of a failure for the model that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// Retry the same model after a backoff.
    Retry { backoff_ms: u64 },
    /// Retry once this machine may have a network again. Does not use up a try. Chosen only while a caller waits for
    /// the turn.
    WaitForNetwork { backoff_ms: u64 },
    /// Retry once the provider renews the allowance. Does not use up a try. Chosen only while a caller waits for the
    /// turn.
    Park { backoff_ms: u64 },
    /// This model is left for now: its tries are used up, or the failure is of a kind that an unattended turn does not
    /// retry at once.
    Exhausted,
    /// This model is left at once: a retry of the same request cannot succeed, or would come too late while another
    /// model or a pause is at hand.
    FailFast,
}

impl Disposition {
    /// Returns the backoff before the next try of the same model; `None` if it is not tried again.
    #[must_use]
    pub const fn backoff_ms(self) -> Option<u64> {
        match self {
            Self::Retry { backoff_ms }
            | Self::WaitForNetwork { backoff_ms }
            | Self::Park { backoff_ms } => Some(backoff_ms),
            Self::Exhausted | Self::FailFast => None,
        }
    }

    /// Converts the disposition to the form that is stored with the attempt.
    #[must_use]
    pub const fn stored(self) -> AttemptDisposition {
        match self {
            Self::Retry { .. } => AttemptDisposition::Retry,
            Self::WaitForNetwork { .. } => AttemptDisposition::WaitForNetwork,
            Self::Park { .. } => AttemptDisposition::Park,
            Self::Exhausted => AttemptDisposition::Exhausted,
            Self::FailFast => AttemptDisposition::FailFast,
        }
    }
}

/// Number of tries per model and round: the first one and its retries.
pub const MAX_ATTEMPTS: u32 = limits::PROVIDER_RETRIES + 1;

/// State of the round at the time of a failure.
#[derive(Debug, Clone, Copy)]
pub struct AttemptState {
    /// Number of the failed try of this model, counted from 1.
    pub attempt: u32,
    /// True if the turn has another model to ask.
    pub has_fallback: bool,
    /// True if a caller waits on an open connection for the end of the turn.
    pub attended: bool,
    pub without_network_ms: u64,
    /// Number of times the round has waited for an allowance.
    pub parks: u32,
    /// True unless a request of this round was already refused for its length.
    pub may_compact: bool,
    /// Form of the request that leaves out something and was not tried in this round. Absent if there is none.
    pub next_form: Option<RequestForm>,
}

/// The action that can resolve a kind of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// The same request may succeed.
    Retry,
    /// The same request will succeed once there is a network. Another remote model would fail as well.
    Network,
    /// The same request will succeed once the account has a new allowance.
    Allowance,
    /// Only another model may accept the request.
    OtherModel,
    /// A shorter request may succeed. The same one is refused by every model.
    Compaction,
}

/// Maps each kind of failure to its remedy.
#[must_use]
pub const fn remedy(kind: ModelFailureKind) -> Remedy {
    match kind {
        ModelFailureKind::Timeout
        | ModelFailureKind::Connection
        | ModelFailureKind::RateLimited
        | ModelFailureKind::ServerError => Remedy::Retry,
        ModelFailureKind::Network => Remedy::Network,
        ModelFailureKind::Quota => Remedy::Allowance,
        ModelFailureKind::Auth
        | ModelFailureKind::InvalidRequest
        | ModelFailureKind::InvalidResponse
        | ModelFailureKind::NotJson
        | ModelFailureKind::UnsupportedTransport
        | ModelFailureKind::ModelUnavailable => Remedy::OtherModel,
        ModelFailureKind::ContextLengthExceeded => Remedy::Compaction,
    }
}

/// Returns true if another model may be asked after this failure ended the tries of the current one.
#[must_use]
pub const fn allows_fallback(kind: ModelFailureKind) -> bool {
    match remedy(kind) {
        Remedy::Retry | Remedy::Allowance | Remedy::OtherModel => true,
        Remedy::Network | Remedy::Compaction => false,
    }
}

/// Returns the time until a used-up allowance is renewed, if the failure is about an allowance and the provider named
/// that time.
#[must_use]
pub fn renewal_ms(failure: &ModelFailure) -> Option<u64> {
    let asked = failure.retry_after_ms?;
    match remedy(failure.kind) {
        Remedy::Allowance => Some(asked),
        // A provider that asks for a longer pause than any retry waits has used up an allowance, even if it reports
        // another kind. A time that no allowance takes to be renewed says nothing.
        Remedy::Retry if asked > limits::BACKOFF_MAX_MS && is_credible(asked) => Some(asked),
        Remedy::Retry | Remedy::Network | Remedy::OtherModel | Remedy::Compaction => None,
    }
}

/// Returns true if a provider may mean the pause it asks for. A longer one than any allowance takes to be renewed would
/// keep a turn from a server that merely writes nonsense into a header.
const fn is_credible(asked_ms: u64) -> bool {
    asked_ms <= limits::RENEWAL_PATIENCE_MS
}

/// Chooses the disposition of a failure. `chance` adds jitter to the backoff of many agents.
#[must_use]
pub fn judge(failure: &ModelFailure, state: AttemptState, chance: u128) -> Disposition {
    if let Some(renewal_ms) = renewal_ms(failure) {
        return wait_for_allowance(renewal_ms, state);
    }
    match remedy(failure.kind) {
        Remedy::Retry => retry(failure.retry_after_ms, state, chance),
        Remedy::Network => wait_for_network(state, chance),
        Remedy::OtherModel if taught_output_limit(failure) && state.attempt < MAX_ATTEMPTS => {
            Disposition::Retry { backoff_ms: 0 }
        }
        Remedy::OtherModel
            if refuses_form(failure.kind) && state.next_form == Some(RequestForm::Unsealed) =>
        {
            Disposition::Retry { backoff_ms: 0 }
        }
        Remedy::Compaction if state.may_compact => Disposition::Retry { backoff_ms: 0 },
        Remedy::Allowance | Remedy::OtherModel | Remedy::Compaction => Disposition::FailFast,
    }
}

/// Returns true if the provider refused the request as invalid. Another form of it may be accepted.
#[must_use]
pub fn refuses_form(kind: ModelFailureKind) -> bool {
    kind == ModelFailureKind::InvalidRequest
}

/// Returns true if the failure taught an output limit, so that the next request differs from the failed one.
pub(crate) fn taught_output_limit(failure: &ModelFailure) -> bool {
    let learned = failure.learned.unwrap_or_default();
    learned.max_output_tokens.is_some()
}

fn retry(asked_ms: Option<u64>, state: AttemptState, chance: u128) -> Disposition {
    if state.attempt >= MAX_ATTEMPTS {
        return Disposition::Exhausted;
    }
    // A waiting caller gets short backoffs. An unattended turn waits longer, so that a brief outage can pass.
    let growth = if state.attended {
        limits::BACKOFF_GROWTH_ATTENDED
    } else {
        limits::BACKOFF_GROWTH
    };
    let factor = growth.saturating_pow(state.attempt.saturating_sub(1));
    let asked_ms = asked_ms.filter(|asked| is_credible(*asked));
    let base = limits::BACKOFF_BASE_MS
        .saturating_mul(factor)
        .max(asked_ms.unwrap_or(0));
    Disposition::Retry {
        backoff_ms: spread(base, limits::BACKOFF_MAX_MS, chance),
    }
}

/// Waits for the network, as long again as the round has waited so far, so that pauses double. An unattended turn is
/// suspended instead.
fn wait_for_network(state: AttemptState, chance: u128) -> Disposition {
    if !state.attended || state.without_network_ms >= limits::ATTENDED_PATIENCE_MS {
        return Disposition::Exhausted;
    }
    let base = state
        .without_network_ms
        .clamp(limits::BACKOFF_BASE_MS, limits::BACKOFF_MAX_MS);
    Disposition::WaitForNetwork {
        backoff_ms: spread(base, limits::BACKOFF_MAX_MS, chance),
    }
}

/// Asks another model first; without one, waits for a renewal that is near enough. An unattended turn is suspended
/// instead.
fn wait_for_allowance(renewal_ms: u64, state: AttemptState) -> Disposition {
    let may_wait = state.attended
        && renewal_ms <= limits::ATTENDED_PATIENCE_MS
        && state.parks < limits::PARKS_PER_ROUND;
    if state.has_fallback || !may_wait {
        return Disposition::FailFast;
    }
    Disposition::Park {
        backoff_ms: renewal_ms.max(limits::BACKOFF_BASE_MS),
    }
}

/// Adds up to a quarter of jitter to a pause, within its bound.
pub(crate) fn spread(base_ms: u64, max_ms: u64, chance: u128) -> u64 {
    let jitter = u64::try_from(chance % 1_000).unwrap_or(0) * (base_ms / 4) / 1_000;
    base_ms.saturating_add(jitter).min(max_ms)
}

#[cfg(test)]
mod tests;
