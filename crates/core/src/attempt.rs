//! Attempts: whether a failed provider request is tried again, when, and whether another model is asked instead.
//! Policy only; one attempt is the `llm` crate's.

use holon_domain::attempt::AttemptDisposition;
use holon_domain::limits;
use holon_domain::model::{ModelFailure, ModelFailureKind};

/// What follows from a failure for the model that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// Another try after a pause.
    Retry {
        /// The pause.
        backoff_ms: u64,
    },
    /// Another try once this machine may have a network again; uses up no try. Only while somebody waits on the line.
    WaitForNetwork {
        /// The pause.
        backoff_ms: u64,
    },
    /// Another try once the allowance is renewed; uses up no try. Only while somebody waits on the line.
    Park {
        /// Until then.
        backoff_ms: u64,
    },
    /// It could have been tried again, but often enough is enough.
    Exhausted,
    /// Trying again does not mend it.
    FailFast,
}

impl Disposition {
    /// The pause before the next try of the same model, where there is one.
    #[must_use]
    pub const fn backoff_ms(self) -> Option<u64> {
        match self {
            Self::Retry { backoff_ms }
            | Self::WaitForNetwork { backoff_ms }
            | Self::Park { backoff_ms } => Some(backoff_ms),
            Self::Exhausted | Self::FailFast => None,
        }
    }

    /// What is stored of it with the attempt.
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

/// Tries per model and round: the first and its retries.
pub const MAX_ATTEMPTS: u32 = limits::PROVIDER_RETRIES + 1;

/// How the round stands when a failure comes in.
#[derive(Debug, Clone, Copy)]
pub struct AttemptState {
    /// Which try of this model it was, from 1.
    pub attempt: u32,
    /// Whether another model could be asked.
    pub has_fallback: bool,
    /// Whether somebody sits and waits for the turn's end.
    pub attended: bool,
    /// How long the round has been without a network.
    pub without_network_ms: u64,
    /// How often the round was parked.
    pub parks: u32,
}

/// What a kind of failure says about trying again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// The same again may work.
    Retry,
    /// The same again will work once there is a network; no other model would fare better now.
    Network,
    /// The same again will work once the account has a new allowance.
    Allowance,
    /// Only another model may work.
    OtherModel,
    /// Nothing: another model is asked the same and must not be.
    None,
}

/// The remedy of each kind.
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
        | ModelFailureKind::UnsupportedTransport
        | ModelFailureKind::ModelUnavailable => Remedy::OtherModel,
        ModelFailureKind::ContextLengthExceeded => Remedy::None,
    }
}

/// Whether another model may be asked after a failure that ended the tries of this one.
#[must_use]
pub const fn falls_over(kind: ModelFailureKind) -> bool {
    match remedy(kind) {
        Remedy::Retry | Remedy::Allowance | Remedy::OtherModel => true,
        Remedy::Network | Remedy::None => false,
    }
}

/// How long until a used-up allowance is renewed, if that is what failed and the provider said.
#[must_use]
pub fn renewal_ms(failure: &ModelFailure) -> Option<u64> {
    let asked = failure.retry_after_ms?;
    match remedy(failure.kind) {
        Remedy::Allowance => Some(asked),
        // Asked to stay away for longer than a retry waits: that is an allowance, whatever it is called.
        Remedy::Retry if asked > limits::BACKOFF_MAX_MS => Some(asked),
        Remedy::Retry | Remedy::Network | Remedy::OtherModel | Remedy::None => None,
    }
}

/// Judges a failure. `chance` spreads the pauses of many agents over time.
#[must_use]
pub fn judge(failure: &ModelFailure, state: AttemptState, chance: u128) -> Disposition {
    if let Some(renewal_ms) = renewal_ms(failure) {
        return allowance(renewal_ms, state);
    }
    match remedy(failure.kind) {
        Remedy::Retry => retry(failure.retry_after_ms, state, chance),
        Remedy::Network => network(state, chance),
        Remedy::OtherModel if taught_output_limit(failure) && state.attempt < MAX_ATTEMPTS => {
            Disposition::Retry { backoff_ms: 0 }
        }
        Remedy::OtherModel if is_worth_one_more_try(failure.kind, state) => {
            retry(failure.retry_after_ms, state, chance)
        }
        Remedy::Allowance | Remedy::OtherModel | Remedy::None => Disposition::FailFast,
    }
}

/// Whether an answer that could not be read is asked for once more. Only where a caller waits on the line and no other
/// model can be asked: any other turn is suspended and asks again by itself.
fn is_worth_one_more_try(kind: ModelFailureKind, state: AttemptState) -> bool {
    kind == ModelFailureKind::InvalidResponse
        && state.attended
        && !state.has_fallback
        && state.attempt == 1
}

/// The next request asks for less, so it is another one.
fn taught_output_limit(failure: &ModelFailure) -> bool {
    let learned = failure.learned.unwrap_or_default();
    learned.max_output_tokens.is_some()
}

fn retry(asked_ms: Option<u64>, state: AttemptState, chance: u128) -> Disposition {
    if state.attempt >= MAX_ATTEMPTS {
        return Disposition::Exhausted;
    }
    // Whoever sits and waits gets quick tries; a turn that nobody waits for gives a provider's bad minute time to pass.
    let growth = if state.attended {
        limits::BACKOFF_GROWTH_ATTENDED
    } else {
        limits::BACKOFF_GROWTH
    };
    let factor = growth.saturating_pow(state.attempt.saturating_sub(1));
    let base = limits::BACKOFF_BASE_MS
        .saturating_mul(factor)
        .max(asked_ms.unwrap_or(0));
    Disposition::Retry {
        backoff_ms: spread(base, limits::BACKOFF_MAX_MS, chance),
    }
}

/// Pauses as long as it has waited already, so that pauses double. An unattended turn is suspended instead.
fn network(state: AttemptState, chance: u128) -> Disposition {
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

/// Another model goes first; without one, a renewal that is near enough is waited for. An unattended turn is suspended
/// instead.
fn allowance(renewal_ms: u64, state: AttemptState) -> Disposition {
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

/// Up to a quarter of jitter on top, within the bound.
pub(crate) fn spread(base_ms: u64, max_ms: u64, chance: u128) -> u64 {
    let jitter = u64::try_from(chance % 1_000).unwrap_or(0) * (base_ms / 4) / 1_000;
    base_ms.saturating_add(jitter).min(max_ms)
}

#[cfg(test)]
mod tests;
