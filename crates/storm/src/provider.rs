//! The provider on loopback that plays the model: it answers late, and unless it is steady it fails often.

use crate::flaky::{Failure, Flaky};
use crate::job::{self, NewCall};
use crate::model::{Reply, Turn};
use crate::plan::{Plan, Stream};
use holon_testkit::provider::{Point, Provider, Recorded, Round, Script};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Longest time the model takes for an answer.
const THINKING_MS: u64 = 200;

/// How the host begins to ask again for words after an answer without any.
const EMPTY_BEFORE: &str = "Your last message was empty.";

/// The running provider.
#[derive(Debug)]
pub(crate) struct Models {
    provider: Arc<OnceLock<Provider>>,
    rages: Arc<AtomicBool>,
    failed: Arc<Mutex<Failed>>,
}

/// Every failure that the provider has answered with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failed {
    pub(crate) requests: u64,
    pub(crate) outages: u64,
    /// How often a request failed in each way.
    pub(crate) kinds: BTreeMap<&'static str, u64>,
    /// Jobs that a failed request named, and how it failed.
    pub(crate) jobs: BTreeSet<(u64, &'static str)>,
}

/// What the answers are made from.
struct Desk {
    plan: Plan,
    marks: PathBuf,
    tokens: u64,
    rages: Arc<AtomicBool>,
    flaky: Flaky,
    failed: Arc<Mutex<Failed>>,
    provider: Arc<OnceLock<Provider>>,
    runtime: tokio::runtime::Handle,
}

impl Models {
    /// Starts the provider, which fails until it calms down, or never if it is `steady`. Commands leave their marks in
    /// this file.
    pub(crate) fn start(plan: Plan, marks: PathBuf, steady: bool) -> Self {
        let provider = Arc::new(OnceLock::new());
        let rages = Arc::new(AtomicBool::new(!steady));
        let failed = Arc::default();
        let mut desk = Desk {
            plan,
            marks,
            tokens: 0,
            rages: Arc::clone(&rages),
            flaky: Flaky::new(plan),
            failed: Arc::clone(&failed),
            provider: Arc::clone(&provider),
            runtime: tokio::runtime::Handle::current(),
        };
        let script = Script::choose(move |request| desk.round(request)).forget_requests();
        let started = provider.get_or_init(|| Provider::start(script));
        debug_assert!(started.port() > 0);
        Self {
            provider,
            rages,
            failed,
        }
    }

    pub(crate) fn base_url(&self) -> String {
        self.provider
            .get()
            .map(Provider::base_url)
            .unwrap_or_default()
    }

    /// From now on every request is answered.
    pub(crate) fn calm_down(&self) {
        self.rages.store(false, Ordering::SeqCst);
    }

    /// The failures so far.
    pub(crate) fn failed(&self) -> Failed {
        let failed = self.failed.lock();
        failed.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What was wrong with the requests, by the rules of the protocol.
    pub(crate) fn violations(&self) -> Vec<String> {
        self.provider
            .get()
            .map(Provider::violations)
            .unwrap_or_default()
    }
}

impl Desk {
    fn round(&mut self, request: &Recorded) -> Round {
        let mut rng = self.plan.rng(Stream::Model, request.index as u64);
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

    /// Whether this request fails, and how. Takes it down.
    fn failure(&mut self, request: &Recorded) -> Option<Failure> {
        if !self.rages.load(Ordering::SeqCst) {
            return None;
        }
        let words = request.body["messages"].to_string();
        let number = request.index as u64;
        let was_empty = words.contains(EMPTY_BEFORE);
        let failure = self.flaky.failure(number, Instant::now(), was_empty);
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.requests += 1;
        failed.outages = self.flaky.outages;
        if let Some(failure) = failure {
            *failed.kinds.entry(failure.kind()).or_default() += 1;
            let jobs = job::named_in(&words).into_iter();
            failed.jobs.extend(jobs.map(|job| (job, failure.kind())));
        }
        failure
    }

    fn answer(&mut self, request: &Recorded) -> Round {
        let (plan, marks, tokens) = (self.plan, &self.marks, &mut self.tokens);
        let reply = Turn::of(&request.body).reply(
            |number| plan.job(number),
            |number, job| job::first_calls(job, marks, || fresh_token(tokens, number)),
        );
        match reply {
            Reply::Text(words) => Round::text(words),
            Reply::Calls(calls) => calls.into_iter().fold(Round::empty(), add_call),
        }
    }

    /// Holds the answer at a gate of its own, which a timer opens.
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
