//! Describes the handling of provider failures for the doctor. The rules themselves are in the core.

use holon_config::RetryPolicy;
use holon_domain::limits::{
    ATTENDED_PATIENCE_MS, BACKOFF_BASE_MS, BACKOFF_GROWTH, BACKOFF_GROWTH_ATTENDED, BACKOFF_MAX_MS,
    PARKS_PER_ROUND, PROVIDER_RETRIES, RENEWAL_PATIENCE_MS, SUSPENSION_PAUSE_MAX_MS,
};
use holon_domain::model::ModelFailureKind;
use holon_engine::attempt::{MAX_ATTEMPTS, Remedy, allows_fallback, remedy};
use holon_engine::patience::{ChainVerdict, judge_chain};

/// Lists the failure kinds whose remedy satisfies `wanted`.
fn kinds(wanted: fn(Remedy) -> bool) -> Vec<String> {
    let all = ModelFailureKind::ALL.into_iter();
    all.filter(|kind| wanted(remedy(*kind)))
        .map(|kind| kind.as_str().to_owned())
        .collect()
}

/// Lists the failure kinds with which a whole chain gets a verdict that satisfies `wanted`.
fn chain_kinds(wanted: fn(ChainVerdict) -> bool) -> Vec<String> {
    let all = ModelFailureKind::ALL.into_iter();
    all.filter(|kind| wanted(judge_chain(&[*kind])))
        .map(|kind| kind.as_str().to_owned())
        .collect()
}

/// Lists the failure kinds that are waited out instead of retried.
#[must_use]
pub fn waiting_failure_kinds() -> Vec<String> {
    kinds(|remedy| match remedy {
        Remedy::Network | Remedy::Allowance => true,
        Remedy::Retry | Remedy::OtherModel | Remedy::Compaction => false,
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
            Remedy::Network | Remedy::Allowance | Remedy::OtherModel | Remedy::Compaction => false,
        }),
        fail_fast_failure_kinds: kinds(|remedy| match remedy {
            Remedy::OtherModel | Remedy::Compaction => true,
            Remedy::Retry | Remedy::Network | Remedy::Allowance => false,
        }),
        attended_patience_ms: ATTENDED_PATIENCE_MS,
        renewals_per_round: PARKS_PER_ROUND,
        renewal_patience_ms: RENEWAL_PATIENCE_MS,
        passing_failure_kinds: chain_kinds(|verdict| matches!(verdict, ChainVerdict::MayPass(_))),
        operator_failure_kinds: chain_kinds(|verdict| {
            matches!(verdict, ChainVerdict::NeedsOperator(_))
        }),
        refused_failure_kinds: chain_kinds(|verdict| verdict == ChainVerdict::Refused),
        last_failure_kinds: ModelFailureKind::ALL
            .into_iter()
            .filter(|kind| !allows_fallback(*kind))
            .map(|kind| kind.as_str().to_owned())
            .collect(),
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

    #[test]
    fn every_kind_of_failure_passes_waits_for_an_operator_or_ends_the_turn_and_only_one_of_these() {
        let policy = retry_policy();
        let mut named = policy.passing_failure_kinds;
        named.extend(policy.operator_failure_kinds);
        named.extend(policy.refused_failure_kinds);
        let mut all: Vec<String> = ModelFailureKind::ALL
            .iter()
            .map(|kind| kind.as_str().to_owned())
            .collect();
        named.sort();
        all.sort();
        assert_eq!(named, all);
        let last = policy.last_failure_kinds;
        assert_eq!(last, ["network", "context_length_exceeded"]);
    }
}
