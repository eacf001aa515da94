//! Decides how the provider fails: which requests, in which way, and the outages in which every request fails.
//!
//! Every failure is transient, so a background turn must survive all of them. There are two sorts, which the host
//! treats differently: after a busy or unreachable provider it retries after a second and then after half a minute;
//! an unreadable answer or a used-up quota suspends such a turn at once. Single requests fail in both ways. Outages
//! longer than a second are of the second sort, so that a storm does not spend its time in pauses of half a minute.

use crate::plan::{ChoiceKind, Plan};
use holon_sim::rng::Rng;
use holon_testkit::provider::Fault;
use std::time::Duration;
use tokio::time::Instant;

/// Share of requests that fail on their own, per mille.
const FAILURES_PER_MILLE: u64 = 100;
/// Share of requests at which an outage begins, per mille.
const OUTAGES_PER_MILLE: u64 = 20;
/// Shortest and longest outage, in milliseconds.
const OUTAGE_MS: (u64, u64) = (300, 2_500);
/// Outages shorter than this, which is below the first retry pause, may be of any sort.
const SHORT_OUTAGE_MS: u64 = 900;
/// Longest pause that a refusal asks for, in milliseconds.
const RETRY_AFTER_MS: u64 = 1_500;

/// A way in which a request fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    ServerError,
    /// HTTP status 429 that asks for a pause of this length.
    RateLimited(Duration),
    /// The connection is reset before the answer.
    Reset,
    /// The connection is closed before the answer.
    Closed,
    /// The connection is reset within the answer.
    Broken,
    /// The answer is JSON that breaks off.
    HalfJson,
    /// The answer is an HTML page.
    Page,
    /// The quota is used up and renewed after this time.
    Quota(Duration),
    /// A valid answer without text or calls.
    Empty,
}

impl Failure {
    /// Fault that the provider plays; `None` for a valid but empty answer.
    pub(crate) fn fault(self) -> Option<Fault> {
        Some(match self {
            Self::ServerError => Fault::ServerError,
            Self::RateLimited(pause) => Fault::RateLimited {
                retry_after: Some(pause),
            },
            Self::Reset => Fault::ResetBeforeAnswer,
            Self::Closed => Fault::CloseBeforeAnswer,
            Self::Broken => Fault::ResetInBody,
            Self::HalfJson => Fault::TruncatedJson,
            Self::Page => Fault::HtmlOk,
            Self::Quota(pause) => Fault::Quota {
                resets_in: Some(pause),
            },
            Self::Empty => return None,
        })
    }

    /// Name of the failure kind in the host's report of a run.
    pub(crate) const fn kind(self) -> &'static str {
        match self {
            Self::ServerError => "server_error",
            Self::RateLimited(_) => "rate_limited",
            Self::Reset | Self::Closed | Self::Broken => "connection",
            Self::HalfJson | Self::Page => "not_json",
            Self::Quota(_) => "quota",
            Self::Empty => "empty_answer",
        }
    }

    /// Picks a failure after which the same model is retried.
    fn pick_retried(rng: &mut Rng) -> Self {
        let pause = Duration::from_millis(rng.below(RETRY_AFTER_MS));
        let all = [
            Self::ServerError,
            Self::RateLimited(pause),
            Self::Reset,
            Self::Closed,
            Self::Broken,
        ];
        rng.pick(&all).unwrap_or(Self::ServerError)
    }

    /// Picks a failure after which the same model is not retried at once.
    fn pick_suspending(rng: &mut Rng) -> Self {
        let pause = Duration::from_millis(rng.below(RETRY_AFTER_MS));
        let all = [Self::HalfJson, Self::Page, Self::Quota(pause)];
        rng.pick(&all).unwrap_or(Self::Page)
    }
}

/// Decides about each request by the seed and the number of the request. An outage ends by the clock.
#[derive(Debug)]
pub(crate) struct FailurePlan {
    plan: Plan,
    outage: Option<(Instant, Failure)>,
    /// Number of outages so far.
    pub(crate) outages: u64,
}

impl FailurePlan {
    pub(crate) const fn new(plan: Plan) -> Self {
        Self {
            plan,
            outage: None,
            outages: 0,
        }
    }

    /// Returns the failure of the request with this number, if it fails. An answer is never empty twice in a row: the
    /// host asks for text once, and a second empty answer ends the turn.
    pub(crate) fn failure(
        &mut self,
        number: u64,
        now: Instant,
        was_empty: bool,
    ) -> Option<Failure> {
        let mut rng = self.plan.rng(ChoiceKind::Failure, number);
        if let Some((until, failure)) = self.outage
            && now < until
        {
            return Some(failure);
        }
        self.outage = None;
        if rng.below(1_000) < OUTAGES_PER_MILLE {
            let (shortest, longest) = OUTAGE_MS;
            let length = shortest + rng.below(longest - shortest);
            let failure = if length < SHORT_OUTAGE_MS {
                Failure::pick_retried(&mut rng)
            } else {
                Failure::pick_suspending(&mut rng)
            };
            self.outage = Some((now + Duration::from_millis(length), failure));
            self.outages += 1;
            return Some(failure);
        }
        if rng.below(1_000) >= FAILURES_PER_MILLE {
            return None;
        }
        match rng.below(10) {
            0..4 => Some(Failure::pick_retried(&mut rng)),
            4..8 => Some(Failure::pick_suspending(&mut rng)),
            _ if was_empty => None,
            _ => Some(Failure::Empty),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Failures of requests that arrive a minute apart, so that no outage spans two of them.
    fn failures(seed: u64, was_empty: bool) -> Vec<Option<Failure>> {
        let mut failure_plan = FailurePlan::new(Plan::new(seed));
        let mut now = Instant::now();
        let decide = |number| {
            now += Duration::from_secs(60);
            failure_plan.failure(number, now, was_empty)
        };
        (0..5_000).map(decide).collect()
    }

    #[test]
    fn a_seed_decides_which_requests_fail_and_how() {
        assert_eq!(failures(7, false), failures(7, false));
        assert_ne!(failures(7, false), failures(8, false));
    }

    #[test]
    fn about_a_tenth_fails_in_every_way() {
        let failed: Vec<Failure> = failures(1, false).into_iter().flatten().collect();
        assert!((400..700).contains(&failed.len()), "{}", failed.len());
        for kind in [
            "server_error",
            "rate_limited",
            "connection",
            "not_json",
            "quota",
            "empty_answer",
        ] {
            assert!(
                failed.iter().any(|failure| failure.kind() == kind),
                "{kind}"
            );
        }
    }

    #[test]
    fn no_answer_is_empty_a_second_time() {
        let failed = failures(1, true);
        assert!(failed.iter().any(Option::is_some));
        assert!(!failed.contains(&Some(Failure::Empty)));
    }

    #[test]
    fn an_outage_fails_every_request_until_it_is_over() {
        let mut failure_plan = FailurePlan::new(Plan::new(1));
        let began = Instant::now();
        let first = (0..).find(|number| {
            failure_plan.failure(*number, began, false);
            failure_plan.outages == 1
        });
        let first = first.expect("an outage begins sometime");
        let (until, failure) = failure_plan.outage.expect("it lasts");
        let within = (1..200).map(|more| failure_plan.failure(first + more, began, false));
        assert!(within.into_iter().all(|met| met == Some(failure)));
        let after =
            (1..200).filter(|more| failure_plan.failure(first + more, until, false).is_none());
        assert!(after.count() > 0);
    }
}
