//! Describes the handling of provider failures for the doctor. The rules themselves are in the core.

use holon_config::RetryPolicy;
use holon_domain::limits::{
    BACKOFF_BASE_MS, BACKOFF_GROWTH, BACKOFF_GROWTH_ATTENDED, BACKOFF_MAX_MS, PROVIDER_RETRIES,
    SUSPENSION_PAUSE_MAX_MS,
};
use holon_domain::model::ModelFailureKind;
use holon_engine::attempt::{MAX_ATTEMPTS, Remedy, remedy};

/// Lists the failure kinds whose remedy satisfies `wanted`.
fn kinds(wanted: fn(Remedy) -> bool) -> Vec<String> {
    let all = ModelFailureKind::ALL.into_iter();
    all.filter(|kind| wanted(remedy(*kind)))
        .map(|kind| kind.as_str().to_owned())
        .collect()
}

/// Lists the failure kinds that are waited out instead of retried.
#[must_use]
pub fn waiting_failure_kinds() -> Vec<String> {
    kinds(|remedy| match remedy {
        Remedy::Network | Remedy::Allowance => true,
        Remedy::Retry | Remedy::OtherModel | Remedy::None => false,
    })
}

/// Returns the retry policy that every host follows.
#[must_use]
pub fn retry_policy() -> RetryPolicy {
    RetryPolicy {
        max_retries_per_provider: PROVIDER_RETRIES,
        max_attempts_per_provider: MAX_ATTEMPTS,
        base_backoff_ms: BACKOFF_BASE_MS,
        backoff_growth: BACKOFF_GROWTH,
        attended_backoff_growth: BACKOFF_GROWTH_ATTENDED,
        max_backoff_ms: BACKOFF_MAX_MS,
        max_suspension_pause_ms: SUSPENSION_PAUSE_MAX_MS,
        retryable_failure_kinds: kinds(|remedy| match remedy {
            Remedy::Retry => true,
            Remedy::Network | Remedy::Allowance | Remedy::OtherModel | Remedy::None => false,
        }),
        fail_fast_failure_kinds: kinds(|remedy| match remedy {
            Remedy::OtherModel | Remedy::None => true,
            Remedy::Retry | Remedy::Network | Remedy::Allowance => false,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_failure_is_retried_waited_out_or_given_up_and_only_one_of_these() {
        let policy = retry_policy();
        let mut named = waiting_failure_kinds();
        named.extend(policy.retryable_failure_kinds);
        named.extend(policy.fail_fast_failure_kinds);
        let mut all: Vec<String> = ModelFailureKind::ALL
            .iter()
            .map(|kind| kind.as_str().to_owned())
            .collect();
        named.sort();
        all.sort();
        assert_eq!(named, all);
    }
}
