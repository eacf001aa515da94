//! The provider on loopback that plays the model: it answers late, and now and then not at all.

use crate::job::{self, NewCall};
use crate::model::{Reply, Turn};
use crate::plan::{Plan, Stream};
use holon_testkit::provider::{Fault, Point, Provider, Recorded, Round, Script};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Longest time the model takes for an answer.
const THINKING_MS: u64 = 200;
/// Percentage of requests that fail while the storm rages. A request that fails is asked again after a second.
const FAULTS_PERCENT: u64 = 2;

/// The running provider.
#[derive(Debug)]
pub(crate) struct Models {
    provider: Arc<OnceLock<Provider>>,
    rages: Arc<AtomicBool>,
}

/// What the answers are made from.
struct Desk {
    plan: Plan,
    marks: PathBuf,
    tokens: AtomicU64,
    rages: Arc<AtomicBool>,
    provider: Arc<OnceLock<Provider>>,
    runtime: tokio::runtime::Handle,
}

impl Models {
    /// Starts the provider. Commands leave their marks in this file.
    pub(crate) fn start(plan: Plan, marks: PathBuf) -> Self {
        let provider = Arc::new(OnceLock::new());
        let rages = Arc::new(AtomicBool::new(true));
        let desk = Desk {
            plan,
            marks,
            tokens: AtomicU64::new(0),
            rages: Arc::clone(&rages),
            provider: Arc::clone(&provider),
            runtime: tokio::runtime::Handle::current(),
        };
        let script = Script::choose(move |request| desk.round(request)).forget_requests();
        let started = provider.get_or_init(|| Provider::start(script));
        debug_assert!(started.port() > 0);
        Self { provider, rages }
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

    /// What was wrong with the requests, by the rules of the protocol.
    pub(crate) fn violations(&self) -> Vec<String> {
        self.provider
            .get()
            .map(Provider::violations)
            .unwrap_or_default()
    }
}

impl Desk {
    fn round(&self, request: &Recorded) -> Round {
        let mut rng = self.plan.rng(Stream::Model, request.index as u64);
        let thinking = Duration::from_millis(rng.below(THINKING_MS));
        if self.rages.load(Ordering::SeqCst) && rng.percent(FAULTS_PERCENT) {
            let faults = [
                Fault::ServerError,
                Fault::ResetBeforeAnswer,
                Fault::ResetInBody,
                Fault::CloseBeforeAnswer,
            ];
            let fault = faults.get(rng.index(faults.len())).cloned();
            return Round::fault(fault.unwrap_or(Fault::ServerError));
        }
        let turn = Turn::of(&request.body);
        let reply = turn.reply(
            |number| self.plan.job(number),
            |number, job| job::first_calls(job, &self.marks, || self.fresh_token(number)),
        );
        let round = match reply {
            Reply::Text(words) => Round::text(words),
            Reply::Calls(calls) => calls.into_iter().fold(Round::empty(), add_call),
        };
        self.delay(round, request.index, thinking)
    }

    fn fresh_token(&self, number: u64) -> String {
        let count = self.tokens.fetch_add(1, Ordering::SeqCst);
        format!("{}{count}", job::token_start(number))
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

fn add_call(round: Round, call: NewCall) -> Round {
    round.call(call.tool, call.input)
}
