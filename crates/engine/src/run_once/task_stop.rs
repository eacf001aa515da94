//! Stops the tasks of a temporary run that has finished, and waits for their ends so that the response can show them.
//!
//! The removal of the agent later kills the tasks that have not ended. Invariant: the response is delayed for a bounded time
//! only, and never lost.

use super::response::FinishedRun;
use crate::control::ControlHandle;
use crate::error::Error;
use crate::news::wait_for_news;
use crate::shell::Sender;
use holon_core::Input;
use holon_domain::limits::TASK_STOP_GRACE_MS;
use holon_domain::task::{TaskRecord, TaskStatus};
use std::time::Duration;

/// Time for the end of a killed command to be committed.
const AFTER_A_KILL_MS: u64 = 2_000;

/// Stops the running tasks of a finished run and waits for their ends. Tasks that the agent itself stopped are not
/// waited for.
pub(super) async fn stop_tasks(control: &ControlHandle, finished: &mut FinishedRun) {
    let runs = |task: &&TaskRecord| match task.status {
        TaskStatus::Queued | TaskStatus::Running => true,
        TaskStatus::Cancelling
        | TaskStatus::Completed
        | TaskStatus::Failed
        | TaskStatus::Cancelled
        | TaskStatus::Interrupted => false,
    };
    let running = finished.settled.tasks.iter().filter(runs);
    finished.stopped = running.map(|task| task.id.clone()).collect();
    if finished.stopped.is_empty() {
        return;
    }
    let agent_id = finished.admitted.agent_id.clone();
    let shell = control.shell();
    let mut news = shell.store.subscribe_to(&agent_id);
    // If the stop fails, the response goes out without the ends of the tasks.
    let stopped = shell.submit(&agent_id, Sender::Runtime, Input::Stop);
    if stopped.await.is_err() {
        return;
    }
    let bound = TASK_STOP_GRACE_MS + AFTER_A_KILL_MS;
    let clock = &shell.ports.clock;
    let late = clock.sleep_until(clock.elapsed() + Duration::from_millis(bound));
    tokio::pin!(late);
    while refresh_tasks(control, finished)
        .await
        .is_ok_and(|all_over| !all_over)
    {
        tokio::select! {
            heard = wait_for_news(&mut news) => if heard.is_err() { return },
            () = &mut late => return,
            () = shell.wait_for_shutdown() => return,
        }
    }
}

/// Reads the tasks again. Returns true if all that were stopped are over.
async fn refresh_tasks(control: &ControlHandle, finished: &mut FinishedRun) -> Result<bool, Error> {
    let id = finished.admitted.agent_id.clone();
    let read = control
        .readers()
        .read(move |reader| match reader.agent(&id)? {
            Some((no, _)) => reader.tasks_to_tell(no),
            None => Ok(Vec::new()),
        });
    let now = read.await?;
    let mut all_over = true;
    for task in &mut finished.settled.tasks {
        if let Some(found) = now.iter().find(|found| found.id == task.id) {
            *task = found.clone();
        }
        all_over &= task.status.is_terminal() || !finished.stopped.contains(&task.id);
    }
    Ok(all_over)
}
