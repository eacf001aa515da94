//! One-shot runs: admits one operator message, waits for the commit that settles it, and builds the response.

mod joined;
mod own_turns;
mod progress;
mod response;
mod tally;
mod task_catch_up;
mod task_stop;
mod temporary;
mod watch;

use crate::conduct::Scope;
use crate::control::ControlHandle;
use crate::error::Error;
use crate::news::wait_for_news;
use crate::request::{AdmittedMessage, Ingress, RunRequest};
use crate::shell::Sender;
use holon_core::{Input, Rejection, admission, summary};
use holon_domain::agent::{AgentRecord, Lifecycle, Visibility};
use holon_domain::intent::WorkItemFilter;
use holon_domain::message::{DeliverySurface, Priority};
use holon_domain::model::{ModelChoice, ModelOptions};
use holon_domain::run::RunOnceResponse;
use holon_domain::work_item::{WorkItemListEntry, WorkItemRecord};
use holon_domain::{AgentId, limits};
use holon_store::{AgentNo, Reader};
pub(crate) use joined::KeyedRuns;
use progress::{NextStep, RunProgress, SettledMessage, WaitTerms};
use response::{FinishedRun, RunAnswer, WaitingRun};
use std::collections::BTreeSet;
use tally::completed_items;
use tokio::sync::{mpsc, oneshot};
pub use watch::RunNews;
use watch::RunWatch;

/// Open work items that a response names.
const OPEN_ITEMS: usize = 20;

impl ControlHandle {
    /// Runs one request and returns as soon as its outcome is committed. If the caller stops waiting, a named agent
    /// continues; a temporary agent is removed together with its work, at once or, if the request has a key, when no
    /// repetition of it has come for a while.
    ///
    /// # Errors
    /// When the request was not admitted. A failed run is a response, not an error.
    pub async fn run_once(&self, request: RunRequest) -> Result<RunOnceResponse, Error> {
        self.run(request, None).await
    }

    /// Runs one request like `run_once`, and sends its news while it goes on. A receiver that is slow does not slow the
    /// run: it misses deltas. The channel closes with the run; news that were not sent by then are dropped.
    ///
    /// # Errors
    /// The same errors as `run_once`.
    pub async fn run_once_watched(
        &self,
        request: RunRequest,
        news: mpsc::Sender<RunNews>,
    ) -> Result<RunOnceResponse, Error> {
        self.run(request, Some(news)).await
    }

    async fn run(
        &self,
        request: RunRequest,
        news: Option<mpsc::Sender<RunNews>>,
    ) -> Result<RunOnceResponse, Error> {
        if request.agent_id.is_none()
            && let Some(key) = self.request_key()
        {
            return joined::run_or_join(self, key, request, news).await;
        }
        let (mut answer, waiting) = oneshot::channel();
        let control = self.clone();
        let is_temporary = request.agent_id.is_none();
        let run = async move {
            let abandoned = answer.closed();
            let outcome = match &request.agent_id {
                None => {
                    Box::pin(temporary::run_temporary(
                        &control, &request, news, None, abandoned,
                    ))
                    .await
                }
                Some(agent_id) => {
                    Box::pin(run_named(&control, agent_id, &request, news, abandoned)).await
                }
            };
            // A caller that stopped waiting has no use for the answer.
            drop(answer.send(outcome));
        };
        if is_temporary {
            self.shell().spawn_temporary(run);
        } else {
            self.shell().spawn(run);
        }
        waiting
            .await
            .unwrap_or_else(|_| Err(self.shell().shutdown_error()))
    }
}

/// Runs a request of a named agent until its outcome is committed.
async fn run_named(
    control: &ControlHandle,
    agent_id: &AgentId,
    request: &RunRequest,
    news: Option<mpsc::Sender<RunNews>>,
    abandoned: impl Future<Output = ()>,
) -> Result<RunOnceResponse, Error> {
    let ingress = ingress_of(request);
    // Judged before anything is created or changed, so that a refused run leaves nothing behind.
    admission::judge(&ingress)?;
    let waits = WaitTerms {
        for_tasks: false,
        max_rounds: request.max_rounds,
    };
    if let Some(admitted) = control.kept_admission(agent_id).await? {
        // The request was admitted before, so nothing is prepared again: this caller joins the run.
        let watch = RunWatch::begin(control, agent_id, news).await;
        let watch = watch.of_message(&admitted);
        let answer = watch.beside(await_outcome(control, admitted, waits, abandoned));
        return Ok(answer.await?.respond());
    }
    let mut notes = Vec::new();
    prepare_agent(control, agent_id.clone(), request, &mut notes).await?;
    let watch = RunWatch::begin(control, agent_id, news).await;
    match control.shell().conduct.scope {
        Scope::Run(_) => task_catch_up::wait_for_recorded_ends(control, agent_id).await?,
        Scope::All => {}
    }
    let admitted = control
        .admit_from(Sender::Client, agent_id, ingress)
        .await?;
    let watch = watch.of_message(&admitted);
    let answer = watch.beside(await_outcome(control, admitted, waits, abandoned));
    let response = answer.await?.respond();
    Ok(RunOnceResponse { notes, ..response })
}

fn ingress_of(request: &RunRequest) -> Ingress {
    Ingress {
        images: request.images.clone(),
        max_rounds: request.max_rounds,
        at_most: request.at_most,
        ..Ingress::operator_prompt(
            request.text.clone(),
            Priority::Next,
            DeliverySurface::RunOnce,
            request.admission_context,
        )
    }
}

/// Configures the named agent as requested, or creates it. Adds to `notes` what the request asks for and an existing
/// agent does not get.
async fn prepare_agent(
    control: &ControlHandle,
    agent_id: AgentId,
    request: &RunRequest,
    notes: &mut Vec<String>,
) -> Result<(), Error> {
    let found = control.find(&agent_id).await;
    match control.shell().hide_private(&agent_id, found).await? {
        Some(found) if found.identity.visibility == Visibility::Public => {
            if !request.home.is_empty() && !request.create_agent {
                return Err(Error::AgentConflict {
                    agent_id,
                    reason: crate::control::TEMPLATE_OF_EXISTING.to_owned(),
                });
            }
            configure(control, request, &found).await?;
            if !request.home.is_empty() {
                notes.push(format!(
                    "{agent_id} exists, so its template was not applied"
                ));
            }
        }
        Some(_) => return Err(Error::AgentNotFound { agent_id }),
        None if request.create_agent => {
            check_model(control, request, None).await?;
            let workspace = request.workspace.clone();
            let new = crate::request::CreateAgent {
                agent_id: agent_id.clone(),
                workspace,
                home: request.home.clone(),
                model: request.model.clone(),
            };
            control.create_agent(new).await?;
        }
        None => return Err(Error::AgentNotFound { agent_id }),
    }
    Ok(())
}

/// Refuses a run whose models cannot be called before anything is written.
async fn check_model(
    control: &ControlHandle,
    request: &RunRequest,
    found: Option<&AgentRecord>,
) -> Result<(), Error> {
    let facts = control.shell().kernel.conditions().now();
    let own = found.and_then(|agent| agent.model_override.as_ref());
    let listed = found.and_then(|agent| agent.fallback_models.as_deref());
    let models = admission::models_for(&facts, request.model.as_ref(), own, listed);
    control.check_any(&models).await
}

async fn configure(
    control: &ControlHandle,
    request: &RunRequest,
    found: &AgentRecord,
) -> Result<(), Error> {
    admission::judge_lifecycle(found)?;
    check_model(control, request, Some(found)).await?;
    let workspace = if request.workspace.is_empty() {
        None
    } else {
        let chosen = control
            .workspace(&request.workspace, &found.agent_home)
            .await?;
        // An agent of an older build may already work in a reserved directory. It may continue; its status shows a
        // warning.
        if chosen.execution_root != found.workspace.execution_root {
            control.check_reserved(&chosen)?;
        }
        Some(chosen)
    };
    if workspace.is_none() && request.model.is_none() {
        return Ok(());
    }
    let input = Input::Configure {
        workspace,
        model: request.model.clone().map(|model| ModelChoice::Use {
            options: if found.model_override.as_ref() == Some(&model) {
                found.settings.model_options()
            } else {
                // The fallbacks are the agent's own; the other options belong to the model.
                ModelOptions {
                    fallback_models: found.fallback_models.clone(),
                    ..ModelOptions::default()
                }
            },
            model,
        }),
    };
    let agent_id = &found.identity.agent_id;
    let sent = control.shell().submit(agent_id, Sender::Client, input);
    sent.await.map(drop)
}

/// Waits until the outcome of an admitted message is committed. Each look reads the rows, so no notice before it is
/// missed.
async fn await_outcome(
    control: &ControlHandle,
    admitted: AdmittedMessage,
    waits: WaitTerms,
    abandoned: impl Future<Output = ()>,
) -> Result<RunAnswer, Error> {
    let agent_id = &admitted.agent_id;
    let mut news = control.shell().store.subscribe_to(agent_id);
    let mut patience = std::pin::pin!(control.shell().pause(limits::ATTENDED_PATIENCE_MS));
    let mut has_patience = true;
    let mut abandoned = std::pin::pin!(abandoned);
    loop {
        match read_progress(control, &admitted, waits).await? {
            Some(RunAnswer::Waiting(waiting)) if has_patience && !waiting.is_stopped() => {}
            Some(answer @ RunAnswer::Waiting(_)) => {
                detach_caller(control, &admitted).await;
                return Ok(answer);
            }
            Some(answer @ RunAnswer::Finished(_)) => return Ok(answer),
            None => {}
        }
        tokio::select! {
            heard = wait_for_news(&mut news) => heard?,
            () = &mut patience, if has_patience => has_patience = false,
            () = &mut abandoned => {
                detach_caller(control, &admitted).await;
                return Err(Error::ShuttingDown);
            }
            // A drain waits for all tasks, so a task that waits for an answer must end.
            () = control.shell().wait_for_shutdown() => return Err(control.shell().shutdown_error()),
        }
    }
}

/// Tells the agent that the caller of a message no longer waits. The message then survives a provider outage like any
/// prompt.
async fn detach_caller(control: &ControlHandle, admitted: &AdmittedMessage) {
    let input = Input::CallerLeft {
        message_seq: admitted.message_seq,
    };
    drop(
        control
            .shell()
            .submit_until_committed(&admitted.agent_id, input)
            .await,
    );
}

/// Reads the state of the run. Returns an answer if its message is settled and nothing is left to wait for, or if the
/// message waits behind a suspended turn.
async fn read_progress(
    control: &ControlHandle,
    admitted: &AdmittedMessage,
    waits: WaitTerms,
) -> Result<Option<RunAnswer>, Error> {
    let (agent_id, seq) = (admitted.agent_id.clone(), admitted.message_seq);
    let log_end = admitted.log_end;
    let read = control.readers().read(move |reader| {
        let Some((no, agent)) = reader.agent(&agent_id)? else {
            return Ok(None);
        };
        if let Some(reason) = reader.aside(&agent_id)? {
            return Err(holon_store::Error::Aside { agent_id, reason });
        }
        let standing = match reader.outcome(no, seq)? {
            Some(brief) => {
                let mut settled = SettledMessage {
                    queue: reader.queue(no)?,
                    newest: reader.briefs(no, 1)?.pop(),
                    brief,
                    tasks: reader.tasks_to_tell(no)?,
                    reported: BTreeSet::new(),
                    open_items: Vec::new(),
                };
                // The log may be long, so it is read only once, at the end. A repeated request may come much later, so
                // no later turns are read, except those of an agent that does nothing else.
                match settled.next_step(&agent, waits) {
                    NextStep::Wait => RunProgress::Continues,
                    next_step @ (NextStep::CutOff | NextStep::Finish) => {
                        settled.open_items = open_items(reader, no, &agent)?;
                        let through = (!agent.is_one_run()).then(|| settled.last_turn());
                        let entries = reader.log_through_turn(no, log_end + 1, through)?;
                        for id in completed_items(&entries) {
                            let item = reader.work_item(no, &id)?;
                            if item.is_some_and(|item| item.result_summary.is_some()) {
                                settled.reported.insert(id);
                            }
                        }
                        RunProgress::Finished(Box::new(settled), next_step, entries)
                    }
                }
            }
            None if reader.is_open(no, seq)? => RunProgress::Open(reader.queue_lengths(no)?),
            None => RunProgress::Removed,
        };
        Ok(Some((agent, standing)))
    });
    let agent_id = || admitted.agent_id.clone();
    let read = read
        .await
        .map_err(|error| Error::of_agent(&admitted.agent_id, error));
    let Some((agent, standing)) = read? else {
        return Err(Error::AgentNotFound {
            agent_id: agent_id(),
        });
    };
    match standing {
        RunProgress::Finished(settled, next_step, entries) => {
            Ok(Some(RunAnswer::Finished(Box::new(FinishedRun {
                admitted: admitted.clone(),
                agent,
                settled: *settled,
                next_step,
                entries,
                stopped: BTreeSet::new(),
            }))))
        }
        RunProgress::Continues => Ok(None),
        RunProgress::Removed => Err(Error::OutcomeRemoved {
            agent_id: Some(agent_id()),
        }),
        // The message stays in the queue. Only a start of the agent would bring the answer.
        RunProgress::Open(queue) => match admission::judge_lifecycle(&agent) {
            Ok(()) => Ok(WaitingRun::of(admitted, agent, &queue).map(RunAnswer::Waiting)),
            // The home failed after the admission. A start alone would not help.
            Err(rejection @ Rejection::NoHome { .. }) => Err(rejection.into()),
            Err(_) if agent.lifecycle == Lifecycle::Stopped => {
                let waiting = WaitingRun::of_stopped(admitted, agent);
                Ok(Some(RunAnswer::Waiting(waiting)))
            }
            Err(rejection) => Err(rejection.into()),
        },
    }
}

/// Reads the open work items that the response of a run names. An unreadable row is passed over.
fn open_items(
    reader: &Reader<'_>,
    no: AgentNo,
    agent: &AgentRecord,
) -> Result<Vec<WorkItemListEntry>, holon_store::Error> {
    if agent.work.items.open() == 0 {
        return Ok(Vec::new());
    }
    let reader = reader.passing_over();
    let (items, _) = reader.work_items(no, WorkItemFilter::Open, OPEN_ITEMS)?;
    let entry = |item: &WorkItemRecord| summary::work_item_view(agent, item).list_entry();
    Ok(items.iter().map(entry).collect())
}
