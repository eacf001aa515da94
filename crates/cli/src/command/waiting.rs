//! `holon wait`, `timer`, `wake` and `explain`: waits of an agent and the events that end them.

use super::text;
use crate::args::{TimerArgs, TimerCommand, WaitCommand, WakeArgs};
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::Output;
use crate::render;
use holon_api::{CreateTimerRequest, ListFilter, WakeRequest};
use holon_domain::limits::LIST_PAGE_MAX;
use holon_domain::{TimerId, WaitId};
use std::path::PathBuf;

/// Prints the explanation of an agent's state.
pub(super) async fn explain(
    home: Option<PathBuf>,
    agent: Option<String>,
    output: &Output,
) -> Result<Exit, Failure> {
    let host = Host::find(home, agent, output)?;
    let agent_id = host.agent_id().await?;
    let explanation = host.check_answer(host.client().explain(&agent_id).await)?;
    output.answer(&explanation, |told| render::explain::explanation(told));
    Ok(Exit::Done)
}

/// Wakes an agent with a reason.
pub(super) async fn wake(
    home: Option<PathBuf>,
    args: WakeArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    let request = WakeRequest {
        reason: text::read_argument("reason", args.reason)?,
        source: args.source,
        ..WakeRequest::default()
    };
    let host = Host::find(home, Some(args.agent), output)?;
    let agent_id = host.agent_id().await?;
    let woken = host.check_answer(host.client().wake(&agent_id, &request).await)?;
    output.answer(&woken, |woken| match woken.disposition.as_str() {
        "triggered" => format!("agent {} is told", woken.agent_id),
        "coalesced" => format!("agent {} is told with a wake before it", woken.agent_id),
        other => format!("agent {}: the wake is {other}", woken.agent_id),
    });
    Ok(Exit::Done)
}

const fn filter(all: bool) -> ListFilter {
    if all {
        ListFilter::All
    } else {
        ListFilter::Active
    }
}

/// Lists waits or cancels one.
pub(super) async fn wait(
    home: Option<PathBuf>,
    command: WaitCommand,
    output: &Output,
) -> Result<Exit, Failure> {
    match command {
        WaitCommand::List { all, agent } => {
            let host = Host::find(home, agent.agent, output)?;
            let agent_id = host.agent_id().await?;
            let waits = host.client().waits(&agent_id, filter(all), LIST_PAGE_MAX);
            output.answer(&host.check_answer(waits.await)?, |waits| {
                render::work::waits(waits)
            });
        }
        WaitCommand::Cancel { wait, agent } => {
            let host = Host::find(home, agent.agent, output)?;
            let (agent_id, id) = (host.agent_id().await?, WaitId::from_stored(wait));
            let ended = host.check_answer(host.client().cancel_wait(&agent_id, &id).await)?;
            output.answer(&ended, |wait| format!("{} is cancelled", wait.id));
        }
    }
    Ok(Exit::Done)
}

/// Creates, lists or cancels timers.
pub(super) async fn timer(
    home: Option<PathBuf>,
    command: TimerCommand,
    output: &Output,
) -> Result<Exit, Failure> {
    match command {
        TimerCommand::Create(args) => return create_timer(home, args, output).await,
        TimerCommand::List { all, limit, agent } => {
            let host = Host::find(home, agent.agent, output)?;
            let agent_id = host.agent_id().await?;
            let timers = host.client().timers(&agent_id, filter(all), limit);
            output.answer(&host.check_answer(timers.await)?, |timers| {
                render::work::timers(timers)
            });
        }
        TimerCommand::Cancel { timer, agent } => {
            let host = Host::find(home, agent.agent, output)?;
            let (agent_id, id) = (host.agent_id().await?, TimerId::from_stored(timer));
            let cancelled = host.check_answer(host.client().cancel_timer(&agent_id, &id).await)?;
            output.answer(&cancelled, |timer| format!("{} is cancelled", timer.id));
        }
    }
    Ok(Exit::Done)
}

async fn create_timer(
    home: Option<PathBuf>,
    args: TimerArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    let request = CreateTimerRequest {
        duration_ms: args.after,
        at: args.at,
        interval_ms: args.every,
        cron: args.cron,
        time_zone: args.time_zone,
        missed: Some(args.missed.into()),
        summary: args.summary,
        ..CreateTimerRequest::default()
    };
    let host = Host::find(home, args.agent.agent, output)?;
    let agent_id = host.agent_id().await?;
    let timer = host.check_answer(host.client().create_timer(&agent_id, &request).await)?;
    output.answer(&timer, |timer| {
        let first = timer
            .next_fire_at
            .as_ref()
            .map_or_else(String::new, |at| format!(" at {at}"));
        format!("{} fires{first}", timer.id)
    });
    Ok(Exit::Done)
}
