//! Before a run of a named agent begins, waits for the recorded ends of tasks that ended while no host ran, so that the
//! turn knows of them.
//!
//! The watchers of the tasks record the ends. Invariant: the run is delayed for a bounded time only.

use crate::control::ControlHandle;
use crate::error::Error;
use crate::news::wait_for_news;
use crate::ports::CommandKey;
use holon_domain::{AgentId, TaskId};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// Bound on the wait for the probes and the recorded ends.
const WAIT_MS: u64 = 5_000;

/// Waits until the end of every task that is not proven to run is committed. Only needed in a host started for one run;
/// any other host has watched the tasks all along.
pub(super) async fn wait_for_recorded_ends(
    control: &ControlHandle,
    agent_id: &AgentId,
) -> Result<(), Error> {
    let shell = control.shell();
    let clock = &shell.ports.clock;
    let late = clock.sleep_until(clock.elapsed() + Duration::from_millis(WAIT_MS));
    tokio::select! {
        on_record = watch_recorded_ends(control, agent_id) => on_record,
        () = late => Ok(()),
        () = shell.wait_for_shutdown() => Err(shell.shutdown_error()),
    }
}

async fn watch_recorded_ends(control: &ControlHandle, agent_id: &AgentId) -> Result<(), Error> {
    let mut news = control.shell().store.subscribe_to(agent_id);
    let open = open_tasks(control, agent_id).await?;
    let alive = find_alive(control, &open).await;
    let is_over = |(id, _): &OpenTask| !alive.contains(id);
    let over: Vec<TaskId> = open.into_iter().filter(is_over).map(|(id, _)| id).collect();
    loop {
        let still_open = open_tasks(control, agent_id).await?;
        if !still_open.iter().any(|(id, _)| over.contains(id)) {
            return Ok(());
        }
        wait_for_news(&mut news).await?;
    }
}

/// Returns the tasks with a command that is proven to run. Probes all commands concurrently, because one that does not
/// answer takes long.
async fn find_alive(control: &ControlHandle, tasks: &[OpenTask]) -> BTreeSet<TaskId> {
    let mut asked = JoinSet::new();
    for (id, keys) in tasks {
        for key in keys.clone() {
            let (host, id) = (Arc::clone(&control.shell().ports.command), id.clone());
            asked.spawn(async move { host.is_alive(&key).await.then_some(id) });
        }
    }
    // A failed probe proves nothing.
    let mut alive = BTreeSet::new();
    while let Some(answer) = asked.join_next().await {
        alive.extend(answer.ok().flatten());
    }
    alive
}

/// An unfinished task and the keys of its commands.
type OpenTask = (TaskId, Vec<CommandKey>);

async fn open_tasks(control: &ControlHandle, agent_id: &AgentId) -> Result<Vec<OpenTask>, Error> {
    let id = agent_id.clone();
    let read = control.readers().read(move |reader| {
        Ok(match reader.agent(&id)? {
            Some((no, agent)) => (agent.settings.agent_home, reader.active_tasks(no)?),
            None => Default::default(),
        })
    });
    let (home, tasks) = read.await?;
    let open = tasks.into_iter().filter_map(|task| {
        let spec = task.command()?;
        let keys = CommandKey::of_call(&home, &spec.call_id).all_of(spec);
        Some((task.id, keys))
    });
    Ok(open.collect())
}
