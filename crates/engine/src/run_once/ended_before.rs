//! What ended while no host ran: taken up before a run of a named agent begins, so that its turn knows of it.
//!
//! Puts nothing on record itself: whoever watches a task does. Invariant: a run is held up for a bounded time only.

use crate::acts::Acts;
use crate::error::Error;
use crate::news::hear_of;
use crate::ports::CommandKey;
use holon_domain::task::TaskRecord;
use holon_domain::{AgentId, TaskId};

/// How long a run waits for the ends of tasks that nobody can prove to run.
const WAIT_MS: u64 = 5_000;

/// Waits until the ends of those tasks are on record that are not proven to run. Only a host that was started for the
/// run has to: any other has heard of them.
pub(super) async fn take_up(acts: &Acts, agent_id: &AgentId) -> Result<(), Error> {
    let shell = acts.shell();
    let mut news = shell.writer.subscribe();
    let mut over: Vec<TaskId> = Vec::new();
    for (key, id) in keys(acts, agent_id).await? {
        if !shell.ports.command.is_alive(&key).await {
            over.push(id);
        }
    }
    let clock = &shell.ports.clock;
    let late = clock.sleep_until(clock.now().plus_millis(WAIT_MS));
    tokio::pin!(late);
    loop {
        let still_open = keys(acts, agent_id).await?;
        if !still_open.iter().any(|(_, id)| over.contains(id)) {
            return Ok(());
        }
        tokio::select! {
            heard = hear_of(&mut news, agent_id) => heard?,
            () = &mut late => return Ok(()),
            () = shell.going_down() => return Err(Error::ShuttingDown),
        }
    }
}

/// The tasks of an agent that are not over on record, and by what their commands are found.
async fn keys(acts: &Acts, agent_id: &AgentId) -> Result<Vec<(CommandKey, TaskId)>, Error> {
    let id = agent_id.clone();
    let read = acts.shell().readers.read(move |reader| {
        Ok(match reader.agent(&id)? {
            Some((no, agent)) => (agent.agent_home, reader.active_tasks(no)?),
            None => Default::default(),
        })
    });
    let (home, tasks) = read.await?;
    let key = |task: &TaskRecord| {
        let call_id = &task.command()?.call_id;
        Some((CommandKey::of_call(&home, call_id), task.id.clone()))
    };
    Ok(tasks.iter().filter_map(key).collect())
}
