//! What a temporary run leaves running when it is over: its tasks are stopped, and how they ended is told.
//!
//! Removes nothing: whoever removes the agent stops by force what has not ended by then. Invariant: an answer is held up
//! for a bounded time only, and never lost.

use super::settled::Over;
use crate::acts::Acts;
use crate::error::Error;
use crate::news::hear_of;
use crate::shell::Sender;
use holon_core::Input;
use holon_domain::limits::TASK_STOP_GRACE_MS;
use holon_domain::task::{TaskRecord, TaskStatus};
use std::time::Duration;

/// What the end of a command that was killed may take to be on record.
const AFTER_A_KILL_MS: u64 = 2_000;

/// Stops the tasks of a run that is over and waits for their ends. What the agent stopped itself is not waited for.
pub(super) async fn stop_tasks(acts: &Acts, over: &mut Over) {
    let runs = |task: &&TaskRecord| match task.status {
        TaskStatus::Queued | TaskStatus::Running => true,
        TaskStatus::Cancelling
        | TaskStatus::Completed
        | TaskStatus::Failed
        | TaskStatus::Cancelled
        | TaskStatus::Interrupted => false,
    };
    let running = over.settled.tasks.iter().filter(runs);
    over.stopped = running.map(|task| task.id.clone()).collect();
    if over.stopped.is_empty() {
        return;
    }
    let agent_id = over.admitted.agent_id.clone();
    let shell = acts.shell();
    let mut news = shell.store.subscribe();
    // The answer is worth more than the news of how its tasks ended.
    let stopped = shell.submit(&agent_id, Sender::Runtime, Input::Stop);
    if stopped.await.is_err() {
        return;
    }
    let bound = TASK_STOP_GRACE_MS + AFTER_A_KILL_MS;
    let clock = &shell.ports.clock;
    let late = clock.sleep_until(clock.elapsed() + Duration::from_millis(bound));
    tokio::pin!(late);
    while look(acts, over).await.is_ok_and(|all_over| !all_over) {
        tokio::select! {
            heard = hear_of(&mut news, &agent_id) => if heard.is_err() { return },
            () = &mut late => return,
            () = shell.going_down() => return,
        }
    }
}

/// Reads the tasks again, and says whether all that were stopped are over.
async fn look(acts: &Acts, over: &mut Over) -> Result<bool, Error> {
    let id = over.admitted.agent_id.clone();
    let read = acts.readers().read(move |reader| match reader.agent(&id)? {
        Some((no, _)) => reader.tasks_to_tell(no),
        None => Ok(Vec::new()),
    });
    let now = read.await?;
    let mut all_over = true;
    for task in &mut over.settled.tasks {
        if let Some(found) = now.iter().find(|found| found.id == task.id) {
            *task = found.clone();
        }
        all_over &= task.status.is_terminal() || !over.stopped.contains(&task.id);
    }
    Ok(all_over)
}
