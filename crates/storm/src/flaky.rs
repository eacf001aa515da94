//! How the provider fails: which requests, in which way, and in which outages every request.
//!
//! Every failure is one that may pass, so a turn that nobody waits for must outlive all of them. There are two sorts,
//! which the host treats differently: a busy or unreachable provider is asked again after a second and then after half a
//! minute; an answer that nobody can read and a used-up allowance suspend such a turn at once. Requests that fail on
//! their own are of both sorts. Outages that last longer than a second are of the second sort, so that a storm does not
//! spend its time in pauses of half a minute.

use crate::plan::{Plan, Stream};
use holon_sim::rng::Rng;
use holon_testkit::provider::Fault;
use std::time::Duration;
use tokio::time::Instant;

/// Requests of a thousand that fail on their own.
const FAILURES_PER_MILLE: u64 = 100;
/// Requests of a thousand at which an outage begins.
const OUTAGES_PER_MILLE: u64 = 20;
/// Shortest and longest outage.
const OUTAGE_MS: (u64, u64) = (300, 2_500);
/// Outages that are shorter than the first pause between two tries may be of any sort.
const SHORT_OUTAGE_MS: u64 = 900;
/// Longest pause that a refusal asks for.
const RETRY_AFTER_MS: u64 = 1_500;

/// One way in which a request fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// 503.
    ServerError,
    /// 429 that asks for a pause of this length.
    RateLimited(Duration),
    /// The connection is reset before the answer.
    Reset,
    /// The connection is closed before the answer.
    Closed,
    /// The connection is reset within the answer.
    Broken,
    /// The answer is JSON that breaks off.
    HalfJson,
    /// The answer is a page for people.
    Page,
    /// The allowance is used up and renewed after this time.
    Quota(Duration),
    /// A good answer without a word or a call.
    Empty,
}

impl Failure {
    /// What the provider does.
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

    /// What the host calls it in the failure of a run.
    pub(crate) const fn kind(self) -> &'static str {
        match self {
            Self::ServerError => "server_error",
            Self::RateLimited(_) => "rate_limited",
            Self::Reset | Self::Closed | Self::Broken => "connection",
            Self::HalfJson | Self::Page => "invalid_response",
            Self::Quota(_) => "quota",
            Self::Empty => "empty_answer",
        }
    }

    /// A failure after which the same model is asked again.
    fn retried(rng: &mut Rng) -> Self {
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

    /// A failure after which the same model is not asked again at once.
    fn suspending(rng: &mut Rng) -> Self {
        let pause = Duration::from_millis(rng.below(RETRY_AFTER_MS));
        let all = [Self::HalfJson, Self::Page, Self::Quota(pause)];
        rng.pick(&all).unwrap_or(Self::Page)
    }
}

/// Decides about each request. The seed decides by the number of the request; an outage ends by the clock.
#[derive(Debug)]
pub(crate) struct Flaky {
    plan: Plan,
    outage: Option<(Instant, Failure)>,
    /// Outages so far.
    pub(crate) outages: u64,
}

impl Flaky {
    pub(crate) const fn new(plan: Plan) -> Self {
        Self {
            plan,
            outage: None,
            outages: 0,
        }
    }

    /// How the request of this number fails, if it does. An answer is never empty where one was already: the host asks
    /// for words once, and a second answer without any is the end of the turn.
    pub(crate) fn failure(
        &mut self,
        number: u64,
        now: Instant,
        was_empty: bool,
    ) -> Option<Failure> {
        let mut rng = self.plan.rng(Stream::Failure, number);
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
                Failure::retried(&mut rng)
            } else {
                Failure::suspending(&mut rng)
            };
            self.outage = Some((now + Duration::from_millis(length), failure));
            self.outages += 1;
            return Some(failure);
        }
        if rng.below(1_000) >= FAILURES_PER_MILLE {
            return None;
        }
        match rng.below(10) {
            0..4 => Some(Failure::retried(&mut rng)),
            4..8 => Some(Failure::suspending(&mut rng)),
            _ if was_empty => None,
            _ => Some(Failure::Empty),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How requests fail that arrive a minute after one another, so that no outage reaches a second one.
    fn failures(seed: u64, was_empty: bool) -> Vec<Option<Failure>> {
        let mut flaky = Flaky::new(Plan::new(seed));
        let mut now = Instant::now();
        let decide = |number| {
            now += Duration::from_secs(60);
            flaky.failure(number, now, was_empty)
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
            "invalid_response",
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
        let mut flaky = Flaky::new(Plan::new(1));
        let began = Instant::now();
        let first = (0..).find(|number| {
            flaky.failure(*number, began, false);
            flaky.outages == 1
        });
        let first = first.expect("an outage begins sometime");
        let (until, failure) = flaky.outage.expect("it lasts");
        let within = (1..200).map(|more| flaky.failure(first + more, began, false));
        assert!(within.into_iter().all(|met| met == Some(failure)));
        let after = (1..200).filter(|more| flaky.failure(first + more, until, false).is_none());
        assert!(after.count() > 0);
    }
}
