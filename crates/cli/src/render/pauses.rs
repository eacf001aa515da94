//! Renders the handling of provider failures for the doctor: what is retried, waited for, and left to an operator.

use holon_config::{DoctorReport, RetryPolicy};

/// Returns the lines about retries, pauses and suspension.
pub(super) fn lines(report: &DoctorReport, waiting: &[String]) -> Vec<String> {
    let policy = &report.retry_policy;
    vec![
        retries(policy),
        format!(
            "next model  after the last retry, and at once after: {}; without a network, one on this machine",
            at_once(policy, waiting)
        ),
        attended(policy),
        suspended(report),
        format!(
            "needs you   a turn stays suspended until an operator acts after: {}",
            policy.operator_failure_kinds.join(", ")
        ),
        format!(
            "gives up    a turn fails after: {}",
            policy.refused_failure_kinds.join(", ")
        ),
    ]
}

fn retries(policy: &RetryPolicy) -> String {
    let most = policy.max_backoff_ms;
    let second = |growth: u64| span(most.min(policy.base_backoff_ms.saturating_mul(growth)));
    format!(
        "retries     {} per model, after about {} and {} ({} in holon run), or when the provider says, but within {}: {}",
        policy.max_retries_per_provider,
        span(policy.base_backoff_ms),
        second(policy.backoff_growth),
        second(policy.attended_backoff_growth),
        span(most),
        policy.retryable_failure_kinds.join(", ")
    )
}

/// Kinds after which the same model is not tried again at once, except those that no model is asked after.
fn at_once(policy: &RetryPolicy, waiting: &[String]) -> String {
    let kinds = policy.fail_fast_failure_kinds.iter().chain(waiting);
    let kinds = kinds.filter(|kind| !policy.last_failure_kinds.contains(kind));
    kinds.map(String::as_str).collect::<Vec<_>>().join(", ")
}

fn attended(policy: &RetryPolicy) -> String {
    let patience = span(policy.attended_patience_ms);
    format!(
        "holon run   waits up to {patience} for the network, in pauses that double from {}, and for a renewal that the \
         provider names within {patience}, at most {} times in a round; then the run fails",
        span(policy.base_backoff_ms),
        policy.renewals_per_round,
    )
}

fn suspended(report: &DoctorReport) -> String {
    let policy = &report.retry_policy;
    format!(
        "suspended   any other turn, when no model answered and one failed by: {}. All models are asked again after \
         about {}, then after pauses that double up to {}, for {} (runtime.provider_patience_secs), and when a renewal \
         that the provider names within {} has come; a message from an operator ends the pause",
        policy.passing_failure_kinds.join(", "),
        span(policy.base_backoff_ms),
        span(policy.max_suspension_pause_ms),
        span(report.provider_patience_secs.saturating_mul(1_000)),
        span(policy.renewal_patience_ms),
    )
}

/// Renders a length in the largest unit that divides it, rounded up to seconds.
fn span(millis: u64) -> String {
    let seconds = millis.div_ceil(1_000);
    let units = [(86_400, "days"), (3_600, "h"), (60, "min")];
    let fits = |(unit, _): &&(u64, &str)| seconds >= 2 * *unit && seconds.is_multiple_of(*unit);
    match units.iter().find(fits) {
        Some((unit, name)) => format!("{} {name}", seconds / unit),
        None => format!("{seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_written_in_the_largest_unit_that_divides_it() {
        for (millis, text) in [
            (1, "1 s"),
            (1_000, "1 s"),
            (60_000, "60 s"),
            (300_000, "5 min"),
            (301_000, "301 s"),
            (24 * 3_600_000, "24 h"),
            (8 * 24 * 3_600_000, "8 days"),
        ] {
            assert_eq!(span(millis), text);
        }
    }
}
