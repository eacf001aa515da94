//! The provider on loopback that plays the model. It answers late, and fails often unless it is steady.

use crate::failure_plan::{Failure, FailurePlan};
use crate::job::{self, NewCall};
use crate::model::{Reply, Turn};
use crate::plan::{ChoiceKind, Plan};
use holon_testkit::provider::{Point, Provider, RecordedRequest, Round, Script};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Longest time the model takes for an answer, in milliseconds.
const THINKING_MS: u64 = 200;

/// Start of the text with which the host asks again after an empty answer.
const EMPTY_ANSWER_PROMPT: &str = "Your last message was empty.";

/// The running provider and its failure counts.
#[derive(Debug)]
pub(crate) struct Models {
    provider: Arc<OnceLock<Provider>>,
    is_failing: Arc<AtomicBool>,
    counts: Arc<Mutex<FailureCounts>>,
}

/// Counts of the failures that the provider has answered with.
#[derive(Debug, Clone, Default)]
pub(crate) struct FailureCounts {
    pub(crate) requests: u64,
    pub(crate) outages: u64,
    /// Number of failures of each kind.
    pub(crate) kinds: BTreeMap<&'static str, u64>,
    /// Jobs named in a failed request, and the kind of failure.
    pub(crate) jobs: BTreeSet<(u64, &'static str)>,
}

/// State from which answers are made.
struct Responder {
    plan: Plan,
    marks: PathBuf,
    tokens: u64,
    is_failing: Arc<AtomicBool>,
    failure_plan: FailurePlan,
    counts: Arc<Mutex<FailureCounts>>,
    provider: Arc<OnceLock<Provider>>,
    runtime: tokio::runtime::Handle,
}

impl Models {
    /// Starts the provider, which fails until [`Self::stop_failing`], or never if it is `steady`. Commands append
    /// their marks to the file `marks`.
    pub(crate) fn start(plan: Plan, marks: PathBuf, steady: bool) -> Self {
        let provider = Arc::new(OnceLock::new());
        let is_failing = Arc::new(AtomicBool::new(!steady));
        let counts = Arc::default();
        let mut responder = Responder {
            plan,
            marks,
            tokens: 0,
            is_failing: Arc::clone(&is_failing),
            failure_plan: FailurePlan::new(plan),
            counts: Arc::clone(&counts),
            provider: Arc::clone(&provider),
            runtime: tokio::runtime::Handle::current(),
        };
        let script = Script::choose(move |request| responder.round(request)).forget_requests();
        let started = provider.get_or_init(|| Provider::start(script));
        debug_assert!(started.port() > 0);
        Self {
            provider,
            is_failing,
            counts,
        }
    }

    pub(crate) fn base_url(&self) -> String {
        self.provider
            .get()
            .map(Provider::base_url)
            .unwrap_or_default()
    }

    /// Answers every request from now on.
    pub(crate) fn stop_failing(&self) {
        self.is_failing.store(false, Ordering::SeqCst);
    }

    /// Returns the failures so far.
    pub(crate) fn failure_counts(&self) -> FailureCounts {
        let counts = self.counts.lock();
        counts.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns violations of the protocol in the requests.
    pub(crate) fn violations(&self) -> Vec<String> {
        self.provider
            .get()
            .map(Provider::violations)
            .unwrap_or_default()
    }
}

impl Responder {
    fn round(&mut self, request: &RecordedRequest) -> Round {
        let mut rng = self.plan.rng(ChoiceKind::Model, request.index as u64);
        let thinking = Duration::from_millis(rng.below(THINKING_MS));
        let round = match self.failure(request) {
            Some(failure) => match failure.fault() {
                Some(fault) => return Round::fault(fault),
                None => Round::empty(),
            },
            None => self.answer(request),
        };
        self.delay(round, request.index, thinking)
    }

    /// Decides whether this request fails, and records it.
    fn failure(&mut self, request: &RecordedRequest) -> Option<Failure> {
        if !self.is_failing.load(Ordering::SeqCst) {
            return None;
        }
        let text = request.body["messages"].to_string();
        let number = request.index as u64;
        let was_empty = text.contains(EMPTY_ANSWER_PROMPT);
        let failure = self.failure_plan.failure(number, Instant::now(), was_empty);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.requests += 1;
        counts.outages = self.failure_plan.outages;
        if let Some(failure) = failure {
            *counts.kinds.entry(failure.kind()).or_default() += 1;
            let jobs = job::named_in(&text).into_iter();
            counts.jobs.extend(jobs.map(|job| (job, failure.kind())));
        }
        failure
    }

    fn answer(&mut self, request: &RecordedRequest) -> Round {
        let (plan, marks, tokens) = (self.plan, &self.marks, &mut self.tokens);
        let reply = Turn::read(&request.body).reply(
            |number| plan.job(number),
            |number, job| job::first_calls(job, marks, || fresh_token(tokens, number)),
        );
        match reply {
            Reply::Text(text) => Round::text(text),
            Reply::Calls { text, calls } => {
                let round = if text.is_empty() {
                    Round::empty()
                } else {
                    Round::text(text)
                };
                calls.into_iter().fold(round, add_call)
            }
        }
    }

    /// Delays the answer at a gate that a timer opens.
    fn delay(&self, round: Round, index: usize, thinking: Duration) -> Round {
        let gate = format!("thinking {index}");
        let round = round.hold(Point::BeforeHeaders, &gate);
        let provider = Arc::clone(&self.provider);
        self.runtime.spawn(async move {
            tokio::time::sleep(thinking).await;
            if let Some(provider) = provider.get() {
                provider.gate(&gate).open();
            }
        });
        round
    }
}

fn fresh_token(tokens: &mut u64, number: u64) -> String {
    let count = *tokens;
    *tokens += 1;
    format!("{}{count}", job::token_start(number))
}

fn add_call(round: Round, call: NewCall) -> Round {
    round.call(call.tool, call.input)
}
