//! Runs with a temporary agent whose request has a key. Such a run begins once: a repetition joins it while it goes on,
//! and gets its kept outcome afterwards.
//!
//! The commit that admits the message keeps a mark under the key, and the outcome replaces the mark before the agent is
//! removed. A mark without an outcome belongs to a run that was cut off, by a crash or because nobody came back for it.
//! It may have had effects, so it is not run again.

use super::temporary::run_temporary;
use super::watch::{RunNews, RunWatch};
use crate::control::ControlHandle;
use crate::error::Error;
use crate::request::{AdmittedMessage, Ingress, RunRequest};
use holon_domain::limits::{KEPT_RUN_BYTES, RUN_REJOIN_MS};
use holon_domain::request_key::RequestKey;
use holon_domain::run::RunOnceResponse;
use holon_domain::{AgentId, text};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{mpsc, watch};

/// Bytes of each text of an outcome that is too large to be kept whole.
const SHORTENED_BYTES: usize = 64 << 10;

type Outcome = Result<RunOnceResponse, Error>;

/// The fact that is kept under the key of a run.
#[derive(Debug, Serialize, Deserialize)]
struct KeptRun {
    /// Absent until the run is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outcome: Option<RunOnceResponse>,
}

/// Runs that go on, by the id of their key.
#[derive(Debug, Default)]
pub(crate) struct KeyedRuns(Mutex<HashMap<String, JoinableRun>>);

/// A run as its callers see it.
#[derive(Debug, Clone)]
struct JoinableRun {
    digest: String,
    /// Agent that answers, once it is made.
    agent: watch::Receiver<Option<AgentId>>,
    /// Closed without a value if the run was dropped with its host.
    outcome: watch::Receiver<Option<Outcome>>,
    /// Number of callers that wait.
    callers: Arc<watch::Sender<usize>>,
}

/// A run as its own task sees it.
pub(super) struct KeyedRun {
    key: Arc<RequestKey>,
    agent: watch::Sender<Option<AgentId>>,
    outcome: watch::Sender<Option<Outcome>>,
    callers: Arc<watch::Sender<usize>>,
}

/// One caller of a run. The run learns when it is dropped.
struct WaitingCaller(Arc<watch::Sender<usize>>);

impl WaitingCaller {
    fn new(callers: &Arc<watch::Sender<usize>>) -> Self {
        callers.send_modify(|count| *count += 1);
        Self(Arc::clone(callers))
    }
}

impl Drop for WaitingCaller {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

impl KeyedRuns {
    /// Joins the run of this key as one of its callers. Also returns the run itself if it has to begin.
    fn enter(
        &self,
        key: &Arc<RequestKey>,
    ) -> Result<(JoinableRun, WaitingCaller, Option<KeyedRun>), Error> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The channel of a run that is over is closed.
        all.retain(|_, run| run.outcome.has_changed().is_ok());
        if let Some(run) = all.get(&key.id) {
            if run.digest != key.digest {
                return Err(Error::KeyReused);
            }
            return Ok((run.clone(), WaitingCaller::new(&run.callers), None));
        }
        let (agent, agent_seen) = watch::channel(None);
        let (outcome, outcome_seen) = watch::channel(None);
        let callers = Arc::new(watch::Sender::new(0));
        let waiting = WaitingCaller::new(&callers);
        let joinable = JoinableRun {
            digest: key.digest.clone(),
            agent: agent_seen,
            outcome: outcome_seen,
            callers: Arc::clone(&callers),
        };
        all.insert(key.id.clone(), joinable.clone());
        let run = KeyedRun {
            key: Arc::clone(key),
            agent,
            outcome,
            callers,
        };
        Ok((joinable, waiting, Some(run)))
    }
}

/// Begins the run of a key, or joins it, and waits for its outcome.
pub(super) async fn run_or_join(
    control: &ControlHandle,
    key: &Arc<RequestKey>,
    request: RunRequest,
    news: Option<mpsc::Sender<RunNews>>,
) -> Outcome {
    let (joined, _waiting, begins) = control.shell().keyed_runs.enter(key)?;
    let Some(run) = begins else {
        return joined.wait_with_news(control, news).await;
    };
    let of_run = control.clone();
    control.shell().spawn_temporary(async move {
        let outcome = Box::pin(run.begin(&of_run, &request, news)).await;
        run.outcome.send_replace(Some(outcome));
    });
    joined.wait(control).await
}

impl JoinableRun {
    async fn wait(mut self, control: &ControlHandle) -> Outcome {
        let outcome = self.outcome.wait_for(Option::is_some).await;
        let outcome = outcome.ok().and_then(|outcome| outcome.clone());
        outcome.unwrap_or_else(|| Err(control.shell().shutdown_error()))
    }

    /// Waits for the outcome and passes the news from now on. A run that is over has none.
    async fn wait_with_news(
        self,
        control: &ControlHandle,
        news: Option<mpsc::Sender<RunNews>>,
    ) -> Outcome {
        let mut agent = self.agent.clone();
        let made = tokio::select! {
            biased;
            made = agent.wait_for(Option::is_some) => made.ok().and_then(|made| made.clone()),
            outcome = self.clone().wait(control) => return outcome,
        };
        match made {
            Some(agent_id) => {
                let watch = RunWatch::begin(control, &agent_id, news).await;
                watch.beside(self.wait(control)).await
            }
            None => self.wait(control).await,
        }
    }
}

impl KeyedRun {
    /// Returns the outcome that is kept for the key, or runs the request.
    async fn begin(
        &self,
        control: &ControlHandle,
        request: &RunRequest,
        news: Option<mpsc::Sender<RunNews>>,
    ) -> Outcome {
        if let Some(kept) = control.kept_response(&self.key, None).await? {
            let kept: Option<KeptRun> = serde_json::from_str(&kept).ok();
            return kept
                .and_then(|kept| kept.outcome)
                .ok_or(Error::RunNotRepeated);
        }
        let abandoned = self.nobody_waits(control);
        Box::pin(run_temporary(control, request, news, Some(self), abandoned)).await
    }

    /// Tells callers that join which agent answers.
    pub(super) fn announce(&self, agent_id: &AgentId) {
        self.agent.send_replace(Some(agent_id.clone()));
    }

    /// Returns once all callers have left and none came back in time. A host that goes down does not wait for them.
    async fn nobody_waits(&self, control: &ControlHandle) {
        let mut callers = self.callers.subscribe();
        loop {
            // The sender is this run's own, so the channel is open.
            drop(callers.wait_for(|count| *count == 0).await);
            tokio::select! {
                _ = callers.wait_for(|count| *count > 0) => {}
                () = control.shell().pause(RUN_REJOIN_MS) => return,
                () = control.shell().wait_for_closing() => return,
            }
        }
    }

    /// Admits the message of the run. From this commit on the request is not run again.
    pub(super) async fn admit(
        &self,
        control: &ControlHandle,
        agent_id: &AgentId,
        ingress: Ingress,
    ) -> Result<AdmittedMessage, Error> {
        let begun = encode(&KeptRun { outcome: None })?;
        control.admit_run(agent_id, &self.key, begun, ingress).await
    }

    /// Keeps the outcome. If that fails, repetitions are told that there is none.
    pub(super) async fn keep(&self, control: &ControlHandle, outcome: &RunOnceResponse) {
        let kept = async {
            let mut text = encode(&KeptRun {
                outcome: Some(outcome.clone()),
            })?;
            if text.len() > KEPT_RUN_BYTES {
                text = encode(&KeptRun {
                    outcome: Some(shorten(outcome.clone())),
                })?;
            }
            let key = RequestKey::clone(&self.key);
            control.keep_response(key, None, text).await
        };
        if let Err(error) = kept.await {
            tracing::warn!(%error, "the outcome of a run could not be kept for repetitions");
        }
    }
}

fn encode(kept: &KeptRun) -> Result<String, Error> {
    serde_json::to_string(kept).map_err(|error| Error::Internal {
        message: error.to_string(),
    })
}

/// Cuts the parts of an outcome that have no bound of their own.
fn shorten(outcome: RunOnceResponse) -> RunOnceResponse {
    let mut short = RunOnceResponse {
        final_text: text::preview(&outcome.final_text, SHORTENED_BYTES),
        raw_final_text: None,
        tasks: Vec::new(),
        open_work_items: Vec::new(),
        changed_files: Vec::new(),
        provider_attempt_timeline: Default::default(),
        ..outcome
    };
    let note = "this is the kept outcome of a run that is over, shortened: the whole one was given to its first caller";
    short.notes.push(note.to_owned());
    short
}
