//! The end of a storm: waits until nothing is left to do, and asks the host for what it says happened.

use crate::Fallible;
use crate::rows;
use crate::world::World;
use holon_api::{ControlAction, PageOrder};
use holon_client::{Client, EventsQuery};
use holon_domain::AgentId;
use std::time::Duration;
use tokio::time::Instant;

/// Longest time until everything is at rest. Back-off of a provider that failed twice takes half a minute.
const PATIENCE: Duration = Duration::from_secs(180);
/// Pause between two looks.
const LOOK: Duration = Duration::from_millis(50);
/// Events on one page.
const PAGE: u64 = 512;
/// Briefs in one answer, which is all an answer may hold.
const BRIEFS: u64 = 500;

/// What the control plane tells of one agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) agent: String,
    /// Sequence numbers of its events, in the order of the pages.
    pub(crate) events: Vec<u64>,
    /// Ids of its newest briefs, oldest of them first.
    pub(crate) briefs: Vec<String>,
}

/// Starts every agent, so that queues are worked off.
pub(crate) async fn start_agents(client: &Client, agents: &[AgentId]) -> Fallible<()> {
    for agent in agents {
        client.control(agent, ControlAction::Start).await?;
    }
    Ok(())
}

/// Waits until no agent has anything to do. Returns what is left when time is up.
pub(crate) async fn settle(world: &World, agents: &[AgentId]) -> Fallible<Vec<String>> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let left = unsettled(world, agents).await?;
        if left.is_empty() || Instant::now() > deadline {
            let late = left.iter();
            let late = late.map(|words| format!("not at rest after {PATIENCE:?}: {words}"));
            return Ok(late.collect());
        }
        tokio::time::sleep(LOOK).await;
    }
}

async fn unsettled(world: &World, agents: &[AgentId]) -> Fallible<Vec<String>> {
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
    // Temporary agents are not listed, so their rows are looked at.
    if left.is_empty() {
        left = rows::outstanding(&world.database())?;
    }
    Ok(left)
}

/// Asks for everything about every agent that the checker compares with the rows.
pub(crate) async fn gather(client: &Client, agents: &[AgentId]) -> Fallible<Vec<Told>> {
    let mut told = Vec::new();
    for agent in agents {
        let briefs = client.briefs(Some(agent), Some(BRIEFS)).await?;
        told.push(Told {
            events: events(client, agent).await?,
            briefs: briefs.iter().map(|brief| brief.id.clone()).collect(),
            agent: agent.to_string(),
        });
    }
    Ok(told)
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
