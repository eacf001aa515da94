//! Attempts: whether a failed provider request is tried again, and when. Policy only; one attempt is the `llm` crate's.

use holon_domain::limits;
use holon_domain::model::ModelFailureKind;

/// What follows from a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    /// Another try after a pause.
    Retry {
        /// The pause.
        backoff_ms: u64,
    },
    /// It could have been tried again, but often enough is enough.
    Exhausted,
    /// Trying again does not mend it.
    FailFast,
}

impl Disposition {
    /// The stored spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Retry { .. } => "retry",
            Self::Exhausted => "exhausted",
            Self::FailFast => "fail_fast",
        }
    }
}

/// Tries per round: the first and its retries.
pub const MAX_ATTEMPTS: u32 = limits::PROVIDER_RETRIES + 1;

/// Whether another try can help.
#[must_use]
pub const fn is_retryable(kind: ModelFailureKind) -> bool {
    match kind {
        ModelFailureKind::Timeout
        | ModelFailureKind::Connection
        | ModelFailureKind::Network
        | ModelFailureKind::RateLimited
        | ModelFailureKind::ServerError => true,
        ModelFailureKind::Auth
        | ModelFailureKind::Quota
        | ModelFailureKind::InvalidRequest
        | ModelFailureKind::ContextLengthExceeded
        | ModelFailureKind::InvalidResponse
        | ModelFailureKind::UnsupportedTransport
        | ModelFailureKind::ModelUnavailable => false,
    }
}

/// Judges the failure of try number `attempt`. `chance` spreads the pauses of many agents over time.
#[must_use]
pub fn judge(
    kind: ModelFailureKind,
    attempt: u32,
    retry_after_ms: Option<u64>,
    chance: u128,
) -> Disposition {
    if !is_retryable(kind) {
        return Disposition::FailFast;
    }
    if attempt >= MAX_ATTEMPTS {
        return Disposition::Exhausted;
    }
    Disposition::Retry {
        backoff_ms: backoff(attempt, retry_after_ms, chance),
    }
}

/// Exponential with up to a quarter of jitter on top; what the provider asks for counts, within the bound.
fn backoff(attempt: u32, retry_after_ms: Option<u64>, chance: u128) -> u64 {
    let factor = 1_u64
        .checked_shl(attempt.saturating_sub(1))
        .unwrap_or(u64::MAX);
    let base = limits::BACKOFF_BASE_MS
        .saturating_mul(factor)
        .max(retry_after_ms.unwrap_or(0));
    let jitter = u64::try_from(chance % 1_000).unwrap_or(0) * (base / 4) / 1_000;
    base.saturating_add(jitter).min(limits::BACKOFF_MAX_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_kind_is_either_retried_within_bounds_or_fails_at_once() {
        let verdicts: Vec<String> = ModelFailureKind::ALL
            .iter()
            .map(|kind| {
                let tries: Vec<&str> = (1..=4).map(|n| judge(*kind, n, None, 0).as_str()).collect();
                format!("{}: {}", kind.as_str(), tries.join(" "))
            })
            .collect();
        insta::assert_snapshot!(verdicts.join("\n"), @r"
        timeout: retry retry exhausted exhausted
        connection: retry retry exhausted exhausted
        rate_limited: retry retry exhausted exhausted
        server_error: retry retry exhausted exhausted
        auth: fail_fast fail_fast fail_fast fail_fast
        invalid_request: fail_fast fail_fast fail_fast fail_fast
        context_length_exceeded: fail_fast fail_fast fail_fast fail_fast
        invalid_response: fail_fast fail_fast fail_fast fail_fast
        unsupported_transport: fail_fast fail_fast fail_fast fail_fast
        model_unavailable: fail_fast fail_fast fail_fast fail_fast
        ");
    }

    #[test]
    fn pauses_double_take_jitter_honour_the_provider_and_stay_in_bounds() {
        let pause = |attempt, after, chance| match judge(
            ModelFailureKind::RateLimited,
            attempt,
            after,
            chance,
        ) {
            Disposition::Retry { backoff_ms } => backoff_ms,
            other => panic!("expected a retry, got {other:?}"),
        };
        assert_eq!(pause(1, None, 0), 1_000);
        assert_eq!(pause(2, None, 0), 2_000);
        assert_eq!(pause(1, None, 999), 1_249);
        assert_eq!(pause(1, Some(7_000), 0), 7_000);
        assert_eq!(pause(1, Some(86_400_000), 0), limits::BACKOFF_MAX_MS);
    }
}
