//! Finds out the state of a command, reports it, and stops commands by it.

use crate::Commands;
use crate::place::{Place, PlaceMark};
use crate::registry::Slot;
use crate::report;
use holon_domain::command::{CommandKey, CommandState, UnknownCause};
use holon_domain::task::TaskReport;
use holon_process::{Ended, Error, Sought, Task, TaskState, attach, put_down};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// What is said of a command that was never started.
pub(crate) const NEVER_STARTED: &str = "it was never started";

/// What is said of a command without its directory whose output files show that it ran.
pub(crate) const DIRECTORY_LOST: &str = "the directory that it was to be found by is gone";

/// The state of a command as this crate holds it: with the task to talk to, or the whole record of its end.
pub(crate) type State = CommandState<Arc<Task>, Box<Ended>>;

/// What `process` looks for in the directory of a key's command.
pub(crate) fn sought<'a>(key: &'a CommandKey, state_dir: &'a Path) -> Sought<'a> {
    Sought {
        state_dir,
        task_id: &key.name,
        nonce: key.call.as_str(),
    }
}

/// Keeps the task of a running command in its slot, for others who ask.
fn hold(state: TaskState, slot: &mut Slot) -> State {
    state.map_running(|task| {
        let task = Arc::from(task);
        *slot = Some(Arc::clone(&task));
        task
    })
}

impl Commands {
    /// The state of a command. The caller has locked its slot, so that it is not started meanwhile.
    pub(crate) async fn state(&self, key: &CommandKey, place: &Place, slot: &mut Slot) -> State {
        if let Some(task) = slot {
            return State::Running(Arc::clone(task));
        }
        let state_dir = place.state_dir();
        hold(attach(sought(key, &state_dir)).await, slot)
    }

    /// As [`state`](Self::state), for a caller that has not locked the slot.
    pub(crate) async fn find(&self, key: &CommandKey, place: &Place) -> State {
        let entry = self.registry.entry(key);
        let mut slot = entry.lock().await;
        self.state(key, place, &mut slot).await
    }

    /// Reports on a command in this state; one that runs is followed to its end by `follow`.
    pub(crate) async fn report<F>(
        &self,
        key: &CommandKey,
        place: &Place,
        state: State,
        follow: impl FnOnce(Arc<Task>) -> F + Send,
    ) -> TaskReport
    where
        F: Future<Output = Result<Ended, Error>> + Send,
    {
        match state {
            State::Running(task) => {
                let ended = follow(Arc::clone(&task)).await;
                self.registry.let_go(key, &task).await;
                report::report(place, ended).await
            }
            State::Ended(ended) => report::report(place, Ok(*ended)).await,
            State::Failed(failure) => report::not_run(&failure.to_string()),
            // Output proves that it ran: its directory was removed since.
            State::NeverStarted if place.kept().await.is_some() => {
                report::lost(place, DIRECTORY_LOST).await
            }
            State::NeverStarted => report::not_run(NEVER_STARTED),
            State::Unknown(cause) => report::lost(place, &cause.to_string()).await,
        }
    }

    /// The state of a command that is to be stopped. A command that has not started is barred from starting, and one
    /// whose supervisor cannot be asked is killed here, because nothing else would end it.
    pub(crate) async fn bar(&self, key: &CommandKey, place: &Place, grace: Duration) -> State {
        let entry = self.registry.entry(key);
        let mut slot = entry.lock().await;
        let state = match (&*slot, place.mark().await) {
            (Some(task), _) if task.has_answered() => State::Running(Arc::clone(task)),
            (None, Ok(PlaceMark::Empty | PlaceMark::Barred)) => State::NeverStarted,
            // A directory that cannot be read may hold a command, and a supervisor that was silent may answer by now.
            (Some(_), _) | (None, Ok(PlaceMark::Begun) | Err(_)) => {
                let state_dir = place.state_dir();
                match attach(sought(key, &state_dir)).await {
                    TaskState::Unknown(cause) => {
                        put_down_unknown(key, &state_dir, cause, grace).await
                    }
                    TaskState::Running(task) if !task.has_answered() => {
                        let cause = UnknownCause::SupervisorSilent;
                        put_down_unknown(key, &state_dir, cause, grace).await
                    }
                    known @ (TaskState::Running(_)
                    | TaskState::Ended(_)
                    | TaskState::Failed(_)
                    | TaskState::NeverStarted) => hold(known, &mut slot),
                }
            }
        };
        if matches!(state, State::NeverStarted)
            && let Err(error) = place.bar().await
        {
            tracing::warn!(name = key.name, %error, "a command that was stopped could not be marked so");
        }
        state
    }
}

async fn put_down_unknown(
    key: &CommandKey,
    state_dir: &Path,
    cause: UnknownCause,
    grace: Duration,
) -> State {
    let stopped = put_down(sought(key, state_dir), cause, grace).await;
    stopped.map_running(|never| match never {})
}
