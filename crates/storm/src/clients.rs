//! The clients: they send prompts, stop and start agents, and request temporary runs, also while no host runs.

use crate::Fallible;
use crate::backup;
use crate::budget;
use crate::job;
use crate::plan::{ChoiceKind, Plan};
use crate::record::{AcknowledgedPrompt, CompletedRun, FailedRun, Recorder};
use crate::world::World;
use holon_api::{
    ControlAction, CreateAgentRequest, CreateTriggerRequest, PromptRequest, RunRequest,
    SetWebhookRequest, WakeRequest,
};
use holon_client::{Client, Error};
use holon_domain::trigger::DeliveryMode;
use holon_domain::{AgentId, TriggerId};
use holon_sim::rng::Rng;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Number of agents that are used at the same time.
const AGENTS: u64 = 6;
/// Number of kills after which the agents get no more prompts and new ones are used. The next job of an agent must
/// not repair what it left unfinished.
const KILLS_PER_ERA: u64 = 10;
const PROMPTERS: u64 = 4;
const RUNNERS: u64 = 2;
/// Queue length at which prompts for an agent are slowed down, so that the storm can end soon.
const LONG_QUEUE: u64 = 20;
/// Timeout that no run reaches.
const NO_TIMEOUT: Duration = Duration::from_secs(3_600);
/// Extra pause between prompts for an agent with a long queue.
const LONG_QUEUE_PAUSE: Duration = Duration::from_millis(200);

/// Tells clients whether a host runs and whether the storm continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostState {
    Down,
    Up,
    Finished,
}

/// State that all clients share.
#[derive(Debug)]
pub(crate) struct ClientContext {
    pub(crate) world: World,
    pub(crate) plan: Plan,
    pub(crate) recorder: Recorder,
    pub(crate) host_state: watch::Sender<HostState>,
    /// Number of kills so far.
    pub(crate) kills_done: AtomicU64,
}

impl ClientContext {
    /// Returns the agents that are used now.
    pub(crate) fn current_agents(&self) -> Vec<AgentId> {
        agents_of(self.kills_done.load(Ordering::SeqCst) / KILLS_PER_ERA)
    }
}

fn agents_of(era: u64) -> Vec<AgentId> {
    let names = (0..AGENTS).map(|number| AgentId::parse(&format!("agent-{era}-{number}")));
    names.filter_map(Result::ok).collect()
}

/// Returns every agent of a storm with this number of kills.
pub(crate) fn all_agents(kills: u64) -> Vec<AgentId> {
    (0..=kills / KILLS_PER_ERA).flat_map(agents_of).collect()
}

/// Creates the agents, each with its own workspace. Call it while no host is killed.
pub(crate) async fn create_agents(world: &World, agents: &[AgentId]) -> Fallible<()> {
    for agent in agents {
        let request = CreateAgentRequest {
            workspace_root: Some(world.workspace(agent.as_str())?),
            ..CreateAgentRequest::default()
        };
        world.client().create_agent(agent, &request).await?;
        let unsigned = SetWebhookRequest {
            secret: None,
            allow_unsigned: true,
        };
        world.client().set_webhook(agent, &unsigned).await?;
    }
    Ok(())
}

/// Starts every client. Each ends when the storm is over.
pub(crate) fn spawn_all(context: &Arc<ClientContext>) -> JoinSet<()> {
    let mut clients = JoinSet::new();
    for number in 0..PROMPTERS {
        clients.spawn(Worker::new(context, number).send_prompts(number));
    }
    for number in 0..RUNNERS {
        let position = PROMPTERS + number;
        clients.spawn(Worker::new(context, position).request_runs(position));
    }
    clients.spawn(Worker::new(context, PROMPTERS + RUNNERS).stop_and_start());
    clients.spawn(Worker::new(context, PROMPTERS + RUNNERS + 1).wake_agents());
    clients.spawn(Worker::new(context, PROMPTERS + RUNNERS + 2).deliver_events());
    clients.spawn(backup::back_up_often(Arc::clone(context)));
    let rng = context
        .plan
        .rng(ChoiceKind::Client, PROMPTERS + RUNNERS + 3);
    clients.spawn(budget::keep_raising(Arc::clone(context), rng));
    clients
}

/// A client that acts in a loop.
struct Worker {
    context: Arc<ClientContext>,
    client: Client,
    rng: Rng,
    host_state: watch::Receiver<HostState>,
}

impl Worker {
    fn new(context: &Arc<ClientContext>, number: u64) -> Self {
        Self {
            context: Arc::clone(context),
            client: context.world.client(),
            rng: context.plan.rng(ChoiceKind::Client, number),
            host_state: context.host_state.subscribe(),
        }
    }

    /// Waits for a host. Returns false if the storm is over.
    async fn is_up(&mut self) -> bool {
        let host_state = self
            .host_state
            .wait_for(|host_state| *host_state != HostState::Down);
        host_state
            .await
            .is_ok_and(|host_state| *host_state == HostState::Up)
    }

    async fn pause(&mut self, shortest_ms: u64, longest_ms: u64) {
        let more = self.rng.below(longest_ms - shortest_ms);
        tokio::time::sleep(Duration::from_millis(shortest_ms + more)).await;
    }

    fn pick_agent(&mut self) -> AgentId {
        let mut agents = self.context.current_agents();
        let position = self.rng.index(agents.len());
        agents.swap_remove(position)
    }

    /// Job numbers are dealt in turn, so that each client gets the same ones in every run of a seed.
    async fn send_prompts(mut self, first_job: u64) {
        let mut job = first_job;
        while self.is_up().await {
            let agent = self.pick_agent();
            self.prompt(&agent, job).await;
            job += PROMPTERS + RUNNERS;
            self.pause(20, 400).await;
            if self.has_long_queue(&agent).await {
                tokio::time::sleep(LONG_QUEUE_PAUSE).await;
            }
        }
    }

    async fn has_long_queue(&self, agent: &AgentId) -> bool {
        let status = self.client.status(Some(agent)).await;
        status.is_ok_and(|status| status.agent.pending > LONG_QUEUE)
    }

    async fn prompt(&self, agent: &AgentId, job: u64) {
        let request = PromptRequest {
            images: Vec::new(),
            text: job::prompt(job),
            priority: None,
            max_turns: None,
            trust: None,
        };
        self.context
            .recorder
            .write(|recorder| recorder.prompts_sent += 1);
        let answer = self.client.prompt(agent, &request).await;
        self.note("prompt", job, agent.as_str(), answer.as_ref().err());
        self.context.recorder.write(|recorder| match answer {
            Ok(admitted) => recorder.acknowledged.push(AcknowledgedPrompt {
                agent: agent.to_string(),
                message_id: admitted.message_id.to_string(),
                job,
            }),
            Err(error) if error.code() == Some("agent_stopped") => recorder.prompts_refused += 1,
            Err(error) => note(&mut recorder.unexpected, "prompt", &error),
        });
    }

    async fn request_runs(mut self, first_job: u64) {
        let mut job = first_job;
        while self.is_up().await {
            if self.context.plan.job(job).outlasts_its_turn() {
                job += PROMPTERS + RUNNERS;
                continue;
            }
            let no_wait_for_tasks = self.rng.percent(30);
            let timeout = match self.rng.percent(25) {
                true => Duration::from_millis(self.rng.below(1_000)),
                false => NO_TIMEOUT,
            };
            let run = self.run(job, no_wait_for_tasks);
            if tokio::time::timeout(timeout, run).await.is_err() {
                self.context
                    .recorder
                    .write(|recorder| recorder.runs_left += 1);
                self.context
                    .recorder
                    .note(&format!("run job {job} is left"));
            }
            job += PROMPTERS + RUNNERS;
            self.pause(50, 800).await;
        }
    }

    /// Each run has its own workspace: patches of two agents to one file would overwrite each other.
    async fn run(&self, job: u64, no_wait_for_tasks: bool) {
        let workspace = match self.context.world.workspace(&format!("run-{job}")) {
            Ok(workspace) => workspace,
            Err(error) => {
                let text = format!("no workspace for a run: {error}");
                return self
                    .context
                    .recorder
                    .write(|recorder| recorder.unexpected.push(text));
            }
        };
        let request = RunRequest {
            text: job::prompt(job),
            workspace_root: Some(workspace),
            no_wait_for_tasks,
            ..RunRequest::default()
        };
        self.context
            .recorder
            .write(|recorder| recorder.runs_sent += 1);
        self.context
            .recorder
            .note(&format!("run job {job} is sent"));
        let answer = self.client.run(&request).await;
        self.note("run", job, "", answer.as_ref().err());
        self.context.recorder.write(|recorder| match answer {
            Ok(run) if run.final_status == "completed" => {
                recorder.runs_completed.push(CompletedRun {
                    job,
                    text: run.final_text.clone(),
                });
            }
            Ok(run) => recorder.runs_failed.push(FailedRun {
                job,
                status: run.final_status.clone(),
                kind: run
                    .failure_artifact
                    .as_ref()
                    .map_or_else(String::new, |failure| failure.kind.clone()),
            }),
            // Its host was killed, and the repetition that the client sends does not begin it again.
            Err(error) if error.code() == Some("run_not_repeated") => recorder.runs_cut_off += 1,
            Err(error) => note(&mut recorder.unexpected, "run", &error),
        });
    }

    fn note(&self, action: &str, job: u64, agent: &str, error: Option<&Error>) {
        let answer = error.map_or_else(|| "ok".to_owned(), ToString::to_string);
        let line = format!("{action} job {job} {agent}: {answer}");
        self.context.recorder.note(&line);
    }

    async fn wake_agents(mut self) {
        let mut number = 0;
        while self.is_up().await {
            self.pause(100, 1_500).await;
            let agent = self.pick_agent();
            self.wake(&agent, number).await;
            number += 1;
        }
    }

    async fn wake(&self, agent: &AgentId, number: u64) {
        let request = WakeRequest {
            reason: format!("look, for the {number}th time"),
            ..WakeRequest::default()
        };
        let answer = self.client.wake(agent, &request).await;
        self.note("wake", number, agent.as_str(), answer.as_ref().err());
        self.context.recorder.write(|recorder| {
            let counts = recorder.wakes.entry(agent.to_string()).or_default();
            match answer {
                Ok(_) => {
                    counts.sent += 1;
                    counts.acknowledged += 1;
                }
                Err(error) if error.code() == Some("agent_stopped") => {}
                Err(error) => {
                    counts.sent += 1;
                    note(&mut recorder.unexpected, "wake", &error);
                }
            }
        });
    }

    /// Delivers events to capabilities and webhooks, and repeats many of them, also those that were answered.
    async fn deliver_events(mut self) {
        let mut number = 0;
        while self.is_up().await {
            self.pause(100, 1_000).await;
            let agent = self.pick_agent();
            let id = format!("delivery-{number}");
            number += 1;
            let path = if number % 2 == 0 {
                Some(format!("/webhooks/generic/{agent}"))
            } else {
                self.capability(&agent).await
            };
            let Some(path) = path else {
                continue;
            };
            for _ in 0..1 + self.rng.below(3) {
                self.deliver(&agent, &path, &id).await;
                self.pause(1, 200).await;
            }
        }
    }

    /// Returns the path of the capability that enqueues messages for an agent. `None` while no host answers.
    async fn capability(&self, agent: &AgentId) -> Option<String> {
        let request = CreateTriggerRequest {
            delivery_mode: DeliveryMode::EnqueueMessage,
        };
        let made = self.client.create_trigger(agent, &request).await.ok()?;
        let id = TriggerId::from_stored(made.id.as_str());
        let revealed = self.client.reveal_trigger(agent, &id).await.ok()?;
        let at = revealed.trigger_url.find("/callbacks/")?;
        revealed.trigger_url.get(at..).map(str::to_owned)
    }

    async fn deliver(&self, agent: &AgentId, path: &str, id: &str) {
        self.context.recorder.write(|recorder| {
            let sent = recorder.deliveries.entry(id.to_owned()).or_default();
            sent.agent = agent.to_string();
        });
        let answer = self.client.deliver(path, id, &json!({ "event": id })).await;
        self.note(id, 0, agent.as_str(), answer.as_ref().err());
        self.context.recorder.write(|recorder| match answer {
            Ok(delivered) => {
                let sent = recorder.deliveries.entry(id.to_owned()).or_default();
                sent.message_ids.extend(delivered.message_id.clone());
            }
            Err(error) if error.code() == Some("agent_stopped") => {}
            Err(error) => note(&mut recorder.unexpected, "deliver", &error),
        });
    }

    async fn stop_and_start(mut self) {
        while self.is_up().await {
            self.pause(200, 2_000).await;
            let agent = self.pick_agent();
            let stopped = self.control(&agent, ControlAction::Stop).await;
            self.context
                .recorder
                .write(|recorder| recorder.stops += u64::from(stopped));
            self.pause(20, 600).await;
            let started = self.control(&agent, ControlAction::Start).await;
            self.context
                .recorder
                .write(|recorder| recorder.starts += u64::from(started));
        }
    }

    async fn control(&self, agent: &AgentId, action: ControlAction) -> bool {
        let answer = self.client.control(agent, action).await;
        self.note(action.as_str(), 0, agent.as_str(), answer.as_ref().err());
        let done = answer.is_ok();
        if let Err(error) = answer {
            let name = action.as_str();
            self.context
                .recorder
                .write(|recorder| note(&mut recorder.unexpected, name, &error));
        }
        done
    }
}

/// Sends the same control action to all agents concurrently. The results are not needed.
pub(crate) async fn control_all(client: &Client, agents: Vec<AgentId>, action: ControlAction) {
    let mut requests = JoinSet::new();
    for agent in agents {
        let client = client.clone();
        requests.spawn(async move { client.control(&agent, action).await.is_ok() });
    }
    requests.join_all().await;
}

/// Records an answer that neither a killed host nor a shutdown explains.
pub(crate) fn note(unexpected: &mut Vec<String>, action: &str, error: &Error) {
    let goes_down = error.code() == Some("shutting_down");
    match error {
        Error::Unreachable { .. } | Error::Interrupted { .. } => {}
        Error::Api { .. } if goes_down => {}
        Error::Api { .. }
        | Error::Protocol { .. }
        | Error::StoreReplaced { .. }
        | Error::AgentDeleted { .. }
        | Error::Token => {
            unexpected.push(format!("{action}: {error:?}"));
        }
    }
}
