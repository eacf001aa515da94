//! The end of a storm: waits until no work is left, and asks the host for its view of what happened.

use crate::Fallible;
use crate::delivery;
use crate::rows;
use crate::world::World;
use holon_api::{ControlAction, PageOrder};
use holon_client::{Client, EventsQuery};
use holon_domain::AgentId;
use std::time::Duration;
use tokio::time::Instant;

/// Longest time until all work is done. The retry backoff of a provider that failed twice takes half a minute.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Number of events on one page.
const PAGE: u64 = 512;
/// Number of briefs in one answer, which is the maximum.
const BRIEFS: u64 = 500;

/// The control plane's view of one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AgentView {
    pub(crate) agent: String,
    /// Sequence numbers of its events, in the order of the pages.
    pub(crate) events: Vec<u64>,
    /// Ids of its newest briefs, in ascending order.
    pub(crate) briefs: Vec<String>,
}

/// Starts every agent, so that their queues are processed.
pub(crate) async fn start_agents(client: &Client, agents: &[AgentId]) -> Fallible<()> {
    for agent in agents {
        client.control(agent, ControlAction::Start).await?;
    }
    Ok(())
}

/// Waits until no agent has work left and everything is delivered, so that no further event is recorded. Returns what
/// is left when a timeout expires.
pub(crate) async fn wait_until_at_rest(world: &World, agents: &[AgentId]) -> Fallible<Vec<String>> {
    let mut left = wait_until_idle(world, agents).await?;
    left.extend(delivery::wait_until_delivered(world).await?);
    Ok(left)
}

/// Waits until no agent has work left. Returns the remaining work if the timeout expires.
pub(crate) async fn wait_until_idle(world: &World, agents: &[AgentId]) -> Fallible<Vec<String>> {
    let deadline = Instant::now() + IDLE_TIMEOUT;
    loop {
        let left = unfinished_work(world, agents).await?;
        if left.is_empty() || Instant::now() > deadline {
            let late = left.iter();
            let late = late.map(|words| format!("not at rest after {IDLE_TIMEOUT:?}: {words}"));
            return Ok(late.collect());
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

async fn unfinished_work(world: &World, agents: &[AgentId]) -> Fallible<Vec<String>> {
    let client = world.client();
    let mut left = Vec::new();
    for agent in agents {
        let status = client.status(Some(agent)).await?;
        let busy = status.agent.pending > 0
            || status.agent.current_run_id.is_some()
            || status.agent.status == "booting"
            || !status.active_tasks.is_empty();
        if busy {
            let (pending, tasks) = (status.agent.pending, status.active_tasks.len());
            let why = &status.scheduling_posture.reason;
            left.push(format!("{agent}: {pending} queued, {tasks} tasks, {why}"));
        }
    }
    // Temporary agents are not listed, so their rows are checked.
    if left.is_empty() {
        left = rows::outstanding(&world.database())?;
    }
    Ok(left)
}

/// Reads everything about every agent that the checker compares with the rows.
pub(crate) async fn gather(client: &Client, agents: &[AgentId]) -> Fallible<Vec<AgentView>> {
    let mut views = Vec::new();
    for agent in agents {
        let briefs = client.briefs(Some(agent), Some(BRIEFS)).await?;
        views.push(AgentView {
            events: events(client, agent).await?,
            briefs: briefs.iter().map(|brief| brief.id.clone()).collect(),
            agent: agent.to_string(),
        });
    }
    Ok(views)
}

async fn events(client: &Client, agent: &AgentId) -> Fallible<Vec<u64>> {
    let mut all: Vec<u64> = Vec::new();
    loop {
        let query = EventsQuery {
            after_seq: Some(all.last().copied().unwrap_or_default()),
            limit: Some(PAGE),
            order: Some(PageOrder::Asc),
            ..EventsQuery::default()
        };
        let page = client.events(agent, query).await?.events;
        if page.is_empty() {
            return Ok(all);
        }
        all.extend(page.iter().map(|event| event.event_seq));
    }
}
