//! `holon wait`, `timer`, `wake` and `explain`: waits of an agent and the events that end them.

use super::text;
use crate::args::{TimerArgs, TimerCommand, WaitCommand, WakeArgs};
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::{Format, Output};
use crate::render;
use crate::target::Target;
use holon_api::{CreateTimerRequest, ListFilter, WakeRequest};
use holon_domain::limits::LIST_PAGE_MAX;
use holon_domain::{TimerId, WaitId};

/// Prints the explanation of an agent's state.
pub(super) async fn explain(
    target: Target,
    agent: Option<String>,
    output: &Output,
) -> Result<Exit, Failure> {
    let host = Host::find(target, agent, output)?;
    let agent_id = host.agent_id().await?;
    let explanation = host.check_answer(host.client().explain(&agent_id).await)?;
    output.answer_wrapped(&explanation, |told| render::explain::explanation(told));
    Ok(Exit::Done)
}

/// Wakes an agent with a reason.
pub(super) async fn wake(target: Target, args: WakeArgs, output: &Output) -> Result<Exit, Failure> {
    let request = WakeRequest {
        reason: text::read_argument("reason", args.reason)?,
        source: args.source,
        ..WakeRequest::default()
    };
    let host = Host::find(target, Some(args.agent), output)?;
    let agent_id = host.agent_id().await?;
    let woken = host.check_answer(host.client().wake(&agent_id, &request).await)?;
    output.answer(&woken, |woken| match woken.disposition.as_str() {
        "triggered" => format!("agent {} is woken", woken.agent_id),
        "coalesced" => format!(
            "agent {} is woken together with an earlier wake",
            woken.agent_id
        ),
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
    target: Target,
    command: WaitCommand,
    output: &Output,
) -> Result<Exit, Failure> {
    match command {
        WaitCommand::List { all, agent } => {
            let host = Host::find(target, agent.agent, output)?;
            let agent_id = host.agent_id().await?;
            let waits = host.client().waits(&agent_id, filter(all), LIST_PAGE_MAX);
            output.answer(&host.check_answer(waits.await)?, |waits| {
                render::work::waits(waits)
            });
        }
        WaitCommand::Cancel { wait, agent } => {
            let host = Host::find(target, agent.agent, output)?;
            let (agent_id, id) = (host.agent_id().await?, WaitId::from_stored(wait));
            let ended = host.check_answer(host.client().cancel_wait(&agent_id, &id).await)?;
            output.answer(&ended, |wait| format!("{} is cancelled", wait.id));
        }
    }
    Ok(Exit::Done)
}

/// Creates, lists, shows or cancels timers.
pub(super) async fn timer(
    target: Target,
    command: TimerCommand,
    output: &Output,
) -> Result<Exit, Failure> {
    match command {
        TimerCommand::Create(args) => return create_timer(target, args, output).await,
        TimerCommand::List { all, limit, agent } => {
            let host = Host::find(target, agent.agent, output)?;
            list_timers(&host, filter(all), limit, output).await?;
        }
        TimerCommand::Show { timer, agent } => {
            let host = Host::find(target, agent.agent, output)?;
            show_timer(&host, &TimerId::from_stored(timer), output).await?;
        }
        TimerCommand::Cancel { timer, agent } => {
            let host = Host::find(target, agent.agent, output)?;
            let (agent_id, id) = (host.agent_id().await?, TimerId::from_stored(timer));
            let cancelled = host.check_answer(host.client().cancel_timer(&agent_id, &id).await)?;
            output.answer(&cancelled, |timer| format!("{} is cancelled", timer.id));
        }
    }
    Ok(Exit::Done)
}

async fn show_timer(host: &Host, id: &TimerId, output: &Output) -> Result<(), Failure> {
    let agent_id = host.agent_id().await?;
    let found = host.client().timer(&agent_id, id).await;
    if let Err(error) = &found
        && error.code() == Some("timer_not_found")
    {
        let message = format!("agent {agent_id} has no timer {id}");
        let hint = format!("see its timers with: holon timer list --agent {agent_id} --all");
        return Err(Failure::new(Exit::Failed, "timer_not_found", message).hint(hint));
    }
    output.answer(&host.check_answer(found)?, render::work::timer_details);
    Ok(())
}

async fn list_timers(
    host: &Host,
    filter: ListFilter,
    limit: u64,
    output: &Output,
) -> Result<(), Failure> {
    let agent_id = host.agent_id().await?;
    let timers = host.client().timers(&agent_id, filter, limit).await;
    let timers = host.check_answer(timers)?;
    // The list does not hold the number of all timers and whether the agent is stopped; the status does.
    let status = match output.format() {
        Format::Text => Some(host.check_answer(host.client().status(Some(&agent_id)).await)?),
        Format::Json => None,
    };
    output.answer(&timers, |timers| {
        let shown = timers.len() as u64;
        let total = match filter {
            ListFilter::Active => status
                .as_ref()
                .map(|status| u64::from(status.work.active_timer_count)),
            ListFilter::All => (shown < limit).then_some(shown),
        };
        let context = render::work::TimerContext {
            agent_id: &agent_id,
            is_stopped: status
                .as_ref()
                .is_some_and(|status| status.agent.status == "stopped"),
            is_archived: status
                .as_ref()
                .is_some_and(|status| status.scheduling_posture.posture == "archived"),
            total,
        };
        render::work::timers(timers, context)
    });
    Ok(())
}

/// Checks the options that belong together. The parser does not, because its errors do not say what to add.
fn check_schedule(args: &TimerArgs) -> Result<(), Failure> {
    let has_first = args.after.is_some() || args.at.is_some();
    if args.time_zone.is_some() && args.cron.is_none() {
        return Err(Failure::usage("--time-zone goes only with --cron")
            .hint("leave it out; a time of --at carries its own offset"));
    }
    if args.every.is_some() && !has_first {
        return Err(
            Failure::usage("--every does not say when the first tick is")
                .hint("add --after DURATION or --at TIME"),
        );
    }
    if !has_first && args.cron.is_none() {
        return Err(Failure::usage("no time is given")
            .hint("add --after DURATION, --at TIME or --cron EXPRESSION"));
    }
    match &args.summary {
        Some(summary) if summary.trim().is_empty() => Err(Failure::usage(
            "--summary is empty; say what the agent should do, or leave it out",
        )),
        Some(_) | None => Ok(()),
    }
}

/// Replaces the names of request fields in a refusal by the options of the command line.
fn name_options(mut failure: Failure, is_at: bool) -> Failure {
    let too_far = "the delay or interval is longer than ten years; name a shorter one";
    if is_at && failure.body.error == too_far {
        failure.body.error = "--at is more than ten years away; name an earlier time".to_owned();
    }
    for (field, option) in [
        ("interval_ms", "--every"),
        ("duration_ms", "--after"),
        ("time_zone", "--time-zone"),
    ] {
        failure.body.error = failure.body.error.replace(field, option);
    }
    failure
}

async fn create_timer(target: Target, args: TimerArgs, output: &Output) -> Result<Exit, Failure> {
    check_schedule(&args)?;
    let is_at = args.at.is_some();
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
    let host = Host::find(target, args.agent.agent, output)?;
    let agent_id = host.agent_id().await?;
    let created = host.client().create_timer(&agent_id, &request).await;
    let timer = host
        .check_answer(created)
        .map_err(|failure| name_options(failure, is_at))?;
    output.answer(&timer, |timer| {
        let first = timer
            .next_fire_at
            .as_ref()
            .map_or_else(String::new, |at| format!(" at {at}"));
        format!("{} fires{first}", timer.id)
    });
    Ok(Exit::Done)
}
