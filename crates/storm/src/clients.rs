//! The clients: they send prompts, stop and start agents, and ask for temporary runs, host or no host.

use crate::Fallible;
use crate::job;
use crate::plan::{Plan, Stream};
use crate::record::{Acknowledged, Book, CompletedRun, FailedRun};
use crate::world::World;
use holon_api::{ControlAction, CreateAgentRequest, PromptRequest, RunRequest};
use holon_client::{Client, Error};
use holon_domain::AgentId;
use holon_sim::rng::Rng;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Agents that are at work at the same time.
const AGENTS: u64 = 6;
/// Kills after which the agents are left alone with what they have, and new ones are sent prompts. What an agent leaves
/// unfinished is not to be repaired by its next job.
const KILLS_PER_ERA: u64 = 10;
const PROMPTERS: u64 = 4;
const RUNNERS: u64 = 2;
/// Messages in an agent's queue at which prompts for it wait, so that the end of the storm is not far away.
const CROWDED: u64 = 20;
/// Longer than any run.
const ENDLESS: Duration = Duration::from_secs(3_600);
/// Shortest time between two prompts for a crowded agent.
const CROWDED_PAUSE: Duration = Duration::from_millis(200);

/// Whether there is a host, and whether the storm goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weather {
    Down,
    Up,
    Over,
}

/// What all clients share.
#[derive(Debug)]
pub(crate) struct Crew {
    pub(crate) world: World,
    pub(crate) plan: Plan,
    pub(crate) book: Book,
    pub(crate) weather: watch::Sender<Weather>,
    /// Kills so far.
    pub(crate) kills_done: AtomicU64,
}

impl Crew {
    /// The agents that are at work now.
    pub(crate) fn agents_at_work(&self) -> Vec<AgentId> {
        agents_of(self.kills_done.load(Ordering::SeqCst) / KILLS_PER_ERA)
    }
}

fn agents_of(era: u64) -> Vec<AgentId> {
    let names = (0..AGENTS).map(|number| AgentId::parse(&format!("agent-{era}-{number}")));
    names.filter_map(Result::ok).collect()
}

/// Every agent of a storm with so many kills.
pub(crate) fn all_agents(kills: u64) -> Vec<AgentId> {
    (0..=kills / KILLS_PER_ERA).flat_map(agents_of).collect()
}

/// Makes the agents, each with a workspace of its own. To be called while no host is killed.
pub(crate) async fn create_agents(world: &World, agents: &[AgentId]) -> Fallible<()> {
    for agent in agents {
        let request = CreateAgentRequest {
            workspace_root: Some(world.workspace(agent.as_str())?),
            ..CreateAgentRequest::default()
        };
        world.client().create_agent(agent, &request).await?;
    }
    Ok(())
}

/// Starts every client; each ends when the storm is over.
pub(crate) fn spawn_all(crew: &Arc<Crew>) -> JoinSet<()> {
    let mut clients = JoinSet::new();
    for number in 0..PROMPTERS {
        clients.spawn(Worker::new(crew, number).send_prompts(number));
    }
    for number in 0..RUNNERS {
        let position = PROMPTERS + number;
        clients.spawn(Worker::new(crew, position).ask_for_runs(position));
    }
    clients.spawn(Worker::new(crew, PROMPTERS + RUNNERS).stop_and_start());
    clients
}

/// One client.
struct Worker {
    crew: Arc<Crew>,
    client: Client,
    rng: Rng,
    weather: watch::Receiver<Weather>,
}

impl Worker {
    fn new(crew: &Arc<Crew>, number: u64) -> Self {
        Self {
            crew: Arc::clone(crew),
            client: crew.world.client(),
            rng: crew.plan.rng(Stream::Client, number),
            weather: crew.weather.subscribe(),
        }
    }

    /// Waits for a host; false when the storm is over.
    async fn is_up(&mut self) -> bool {
        let weather = self.weather.wait_for(|weather| *weather != Weather::Down);
        weather.await.is_ok_and(|weather| *weather == Weather::Up)
    }

    async fn pause(&mut self, shortest_ms: u64, longest_ms: u64) {
        let more = self.rng.below(longest_ms - shortest_ms);
        tokio::time::sleep(Duration::from_millis(shortest_ms + more)).await;
    }

    fn pick_agent(&mut self) -> AgentId {
        let mut agents = self.crew.agents_at_work();
        let position = self.rng.index(agents.len());
        agents.swap_remove(position)
    }

    /// Job numbers are dealt in turn, so that each client has its own in every run.
    async fn send_prompts(mut self, first_job: u64) {
        let mut job = first_job;
        while self.is_up().await {
            let agent = self.pick_agent();
            self.prompt(&agent, job).await;
            job += PROMPTERS + RUNNERS;
            self.pause(20, 400).await;
            if self.is_crowded(&agent).await {
                tokio::time::sleep(CROWDED_PAUSE).await;
            }
        }
    }

    async fn is_crowded(&self, agent: &AgentId) -> bool {
        let status = self.client.status(Some(agent)).await;
        status.is_ok_and(|status| status.agent.pending > CROWDED)
    }

    async fn prompt(&self, agent: &AgentId, job: u64) {
        let request = PromptRequest {
            text: job::prompt(job),
            priority: None,
            max_turns: None,
        };
        self.crew.book.write(|book| book.prompts_sent += 1);
        let answer = self.client.prompt(agent, &request).await;
        self.note("prompt", job, agent.as_str(), answer.as_ref().err());
        self.crew.book.write(|book| match answer {
            Ok(admitted) => book.acknowledged.push(Acknowledged {
                agent: agent.to_string(),
                message_id: admitted.message_id.to_string(),
                job,
            }),
            Err(error) if error.code() == Some("agent_stopped") => book.prompts_refused += 1,
            Err(error) => note(&mut book.unexpected, "prompt", &error),
        });
    }

    async fn ask_for_runs(mut self, first_job: u64) {
        let mut job = first_job;
        while self.is_up().await {
            let no_wait_for_tasks = self.rng.percent(30);
            let patience = match self.rng.percent(25) {
                true => Duration::from_millis(self.rng.below(1_000)),
                false => ENDLESS,
            };
            let run = self.run(job, no_wait_for_tasks);
            if tokio::time::timeout(patience, run).await.is_err() {
                self.crew.book.write(|book| book.runs_left += 1);
                self.crew.book.note(&format!("run job {job} is left"));
            }
            job += PROMPTERS + RUNNERS;
            self.pause(50, 800).await;
        }
    }

    /// Each run has a workspace of its own: patches of two agents to one file would overwrite each other.
    async fn run(&self, job: u64, no_wait_for_tasks: bool) {
        let workspace = match self.crew.world.workspace(&format!("run-{job}")) {
            Ok(workspace) => workspace,
            Err(error) => {
                let words = format!("no workspace for a run: {error}");
                return self.crew.book.write(|book| book.unexpected.push(words));
            }
        };
        let request = RunRequest {
            text: job::prompt(job),
            workspace_root: Some(workspace),
            no_wait_for_tasks,
            ..RunRequest::default()
        };
        self.crew.book.write(|book| book.runs_sent += 1);
        self.crew.book.note(&format!("run job {job} is sent"));
        let answer = self.client.run(&request).await;
        self.note("run", job, "", answer.as_ref().err());
        self.crew.book.write(|book| match answer {
            Ok(ran) if ran.final_status == "completed" => {
                book.runs_completed.push(CompletedRun {
                    job,
                    text: ran.final_text.clone(),
                });
            }
            Ok(ran) => book.runs_failed.push(FailedRun {
                job,
                status: ran.final_status.clone(),
                kind: ran
                    .failure_artifact
                    .as_ref()
                    .map_or_else(String::new, |failure| failure.kind.clone()),
            }),
            Err(error) => note(&mut book.unexpected, "run", &error),
        });
    }

    fn note(&self, what: &str, job: u64, agent: &str, error: Option<&Error>) {
        let answer = error.map_or_else(|| "ok".to_owned(), ToString::to_string);
        let line = format!("{what} job {job} {agent}: {answer}");
        self.crew.book.note(&line);
    }

    async fn stop_and_start(mut self) {
        while self.is_up().await {
            self.pause(200, 2_000).await;
            let agent = self.pick_agent();
            let stopped = self.control(&agent, ControlAction::Stop).await;
            self.crew
                .book
                .write(|book| book.stops += u64::from(stopped));
            self.pause(20, 600).await;
            let started = self.control(&agent, ControlAction::Start).await;
            self.crew
                .book
                .write(|book| book.starts += u64::from(started));
        }
    }

    async fn control(&self, agent: &AgentId, action: ControlAction) -> bool {
        let answer = self.client.control(agent, action).await;
        self.note(action.as_str(), 0, agent.as_str(), answer.as_ref().err());
        let done = answer.is_ok();
        if let Err(error) = answer {
            let what = action.as_str();
            self.crew
                .book
                .write(|book| note(&mut book.unexpected, what, &error));
        }
        done
    }
}

/// Asks all agents at once for the same; what comes of it shows in the end.
pub(crate) async fn control_all(client: &Client, agents: Vec<AgentId>, action: ControlAction) {
    let mut requests = JoinSet::new();
    for agent in agents {
        let client = client.clone();
        requests.spawn(async move { client.control(&agent, action).await.is_ok() });
    }
    requests.join_all().await;
}

/// Takes down an answer that neither a killed host nor one that goes down explains.
fn note(unexpected: &mut Vec<String>, what: &str, error: &Error) {
    let goes_down = error.code() == Some("shutting_down");
    match error {
        Error::Unreachable { .. } | Error::Interrupted { .. } => {}
        Error::Api { .. } if goes_down => {}
        Error::Api { .. } | Error::Protocol { .. } | Error::StoreReplaced { .. } | Error::Token => {
            unexpected.push(format!("{what}: {error:?}"));
        }
    }
}
