//! The load mode: many clients send prompts and follow events while the host is killed every few seconds.
//!
//! Each client writes its history to a file of its own: what it sent, what was acknowledged or refused, and every event
//! it was shown. After the last kill the host finishes its work and shuts down. Then [`judge`] reads the histories and the
//! database, and shares no code with the product or the clients.

mod client;
mod history;
mod judge;

use crate::arguments::Arguments;
use crate::host::Host;
use crate::plan::{ChoiceKind, Plan};
use crate::provider::Models;
use crate::world::World;
use crate::{Fallible, clients, evidence, rest, rows};
use client::{LoadClient, Stage};
use holon_client::Client;
use holon_domain::AgentId;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Shortest and longest time between two kills, in milliseconds.
const KILL_INTERVAL_MS: (u64, u64) = (2_000, 4_000);
/// Longest time in which the followers reach the last event after all work is done.
const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(60);

/// What a load run did, for its figures.
#[derive(Debug, Default)]
struct LoadCounts {
    kills: u64,
    healthy_after: Vec<Duration>,
}

/// Runs the load and returns every rule that was broken.
pub(crate) async fn run(
    arguments: &Arguments,
    seconds: u64,
    clients: u64,
    root: &Path,
) -> Fallible<Vec<String>> {
    let plan = Plan::new(arguments.seed);
    let world = World::make(root, &arguments.program)?.with_port(free_port()?);
    let models = Models::start(plan, world.marks(), true);
    world.configure(&models.base_url())?;
    let host = Host::start(&world, None).await?;
    let host = host.ok_or("a host that is not killed comes up")?;
    let agents = agents(clients);
    clients::create_agents(&world, &agents).await?;
    let histories = root.join("histories");
    std::fs::create_dir(&histories)?;
    let stage = watch::Sender::new(Stage::Send);
    let mut running = JoinSet::new();
    for (number, agent) in (0_u64..).zip(&agents) {
        let connection = connection(&world, number)?;
        let rng = plan.rng(ChoiceKind::Client, number);
        let place = histories.join(format!("client-{number}"));
        let client = LoadClient::new(number, agent.clone(), connection, rng, &place)?;
        running.spawn(client.run(stage.subscribe()));
    }
    let (host, counts) = kill_for(&world, host, Duration::from_secs(seconds), plan).await?;
    stage.send_replace(Stage::Rest);
    let mut violations = rest::wait_until_idle(&world, &agents).await?;
    stage.send_replace(Stage::Finish(CATCH_UP_TIMEOUT));
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    let status = host.terminate().await?;
    if !status.success() {
        violations.push(format!("the host went down with {status}"));
    }
    let histories = history::read_all(&histories)?;
    let rows = rows::read(&world.database())?;
    violations.extend(judge::violations(&histories, &rows));
    violations.extend(evidence::faults_in_log(&world)?);
    for line in figures(&counts, &histories, seconds) {
        println!("{line}");
    }
    Ok(violations)
}

/// Returns a port that is free now. All hosts of the run use it, so that clients over TCP find the next one.
fn free_port() -> Fallible<u16> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    Ok(listener.local_addr()?.port())
}

fn agents(clients: u64) -> Vec<AgentId> {
    let names = (0..clients).map(|number| AgentId::parse(&format!("load-{number}")));
    names.filter_map(Result::ok).collect()
}

/// Every second client uses TCP and the control token, the others the socket.
fn connection(world: &World, number: u64) -> Fallible<Client> {
    if number.is_multiple_of(2) {
        return Ok(world.client());
    }
    let token = std::fs::read_to_string(world.home().join("run/control.token"))?;
    Ok(Client::tcp(world.http_addr(), token.trim())?)
}

/// Kills the host every few seconds and starts the next one. Returns the last host, which is not killed.
async fn kill_for(
    world: &World,
    mut host: Host,
    lasts: Duration,
    plan: Plan,
) -> Fallible<(Host, LoadCounts)> {
    let began = Instant::now();
    let mut rng = plan.rng(ChoiceKind::Kill, 0);
    let mut counts = LoadCounts::default();
    loop {
        counts.healthy_after.push(host.healthy_after);
        let (shortest, longest) = KILL_INTERVAL_MS;
        let pause = Duration::from_millis(shortest + rng.below(longest - shortest));
        let left = lasts.saturating_sub(began.elapsed());
        if left < pause {
            tokio::time::sleep(left).await;
            return Ok((host, counts));
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            error = host.ended() => return Err(error),
        }
        host.kill().await?;
        counts.kills += 1;
        let next = Host::start(world, None).await?;
        host = next.ok_or("a host that is not killed comes up")?;
    }
}

fn figures(counts: &LoadCounts, histories: &[history::ClientHistory], seconds: u64) -> Vec<String> {
    let sum = |count: fn(&history::ClientHistory) -> usize| -> usize {
        histories.iter().map(count).sum()
    };
    let sent = sum(|history| history.sent.len());
    let acknowledged = sum(|history| history.acknowledged.len());
    let refused = sum(|history| history.refused.len());
    let unknown = sent - acknowledged - refused;
    let mut healthy: Vec<Duration> = counts.healthy_after.clone();
    healthy.sort_unstable();
    let slowest = healthy.last().copied().unwrap_or_default();
    vec![
        format!("clients     {}", histories.len()),
        format!("seconds     {seconds}"),
        format!("kills       {}", counts.kills),
        format!("sent        {sent}"),
        format!("acknowledged {acknowledged}"),
        format!("refused     {refused}"),
        format!("unanswered  {unknown}"),
        format!("events seen {}", sum(|history| history.events.len())),
        format!("streams given up {}", sum(|history| history.reopened)),
        format!("slowest restart to healthy {slowest:?}"),
    ]
}
