//! Determines the state of a command, reports it, and stops commands.

use crate::Commands;
use crate::paths::{CommandPaths, StartMark};
use crate::registry::Slot;
use crate::report;
use holon_domain::command::{CommandKey, CommandState, UnknownCause};
use holon_domain::task::TaskReport;
use holon_process::{
    CommandLocator, EndRecord, Error, ShimmedCommand, ShimmedState, attach, kill_command,
};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Reason reported for a command that was never started.
pub(crate) const NEVER_STARTED: &str = "it was never started";

/// Reason reported for a command whose directory is gone but whose output files show that it ran.
pub(crate) const DIRECTORY_LOST: &str = "what it was to be found by is gone, and it may still run";

/// The state of a command, with the task to talk to or the full record of its end.
pub(crate) type State = CommandState<Arc<ShimmedCommand>, Box<EndRecord>>;

/// Locates the command of a key in its claim directory.
pub(crate) fn locator<'a>(key: &'a CommandKey, claim_dir: &'a Path) -> CommandLocator<'a> {
    CommandLocator {
        claim_dir,
        task_id: &key.name,
        nonce: key.call.as_str(),
    }
}

/// Stores the task of a running command in its slot, for later lookups.
fn store_task(state: ShimmedState, slot: &mut Slot) -> State {
    state.map_running(|task| {
        let task = Arc::from(task);
        *slot = Some(Arc::clone(&task));
        task
    })
}

impl Commands {
    /// Returns the state of a command. The caller has locked its slot, so that it is not started meanwhile.
    pub(crate) async fn state(
        &self,
        key: &CommandKey,
        paths: &CommandPaths,
        slot: &mut Slot,
    ) -> State {
        if let Some(task) = slot {
            return State::Running(Arc::clone(task));
        }
        let claim_dir = paths.claim_dir();
        store_task(attach(locator(key, &claim_dir)).await, slot)
    }

    /// Returns the state of a command for a caller that has not locked the slot.
    pub(crate) async fn find(&self, key: &CommandKey, paths: &CommandPaths) -> State {
        let entry = self.registry.entry(key);
        let mut slot = entry.lock().await;
        self.state(key, paths, &mut slot).await
    }

    /// Reports on a command in this state. A running command is followed to its end by `follow`.
    pub(crate) async fn report<F>(
        &self,
        key: &CommandKey,
        paths: &CommandPaths,
        state: State,
        follow: impl FnOnce(Arc<ShimmedCommand>) -> F + Send,
    ) -> TaskReport
    where
        F: Future<Output = Result<EndRecord, Error>> + Send,
    {
        match state {
            State::Running(task) => {
                let ended = follow(Arc::clone(&task)).await;
                self.registry.release(key, &task).await;
                report::report(paths, ended).await
            }
            State::Ended(ended) => report::report(paths, Ok(*ended)).await,
            State::StartFailed(failure) => report::lost_without_output(&failure.to_string()),
            // Output proves that it ran; its directory was removed since.
            State::NeverStarted if paths.kept_output().await.is_some() => {
                report::lost(paths, DIRECTORY_LOST).await
            }
            State::NeverStarted => report::lost_without_output(NEVER_STARTED),
            State::Unknown(cause) => report::lost(paths, &cause.to_string()).await,
        }
    }

    /// Prepares a stop and returns the state found. A command that has not started is prevented from starting. A
    /// command whose supervisor does not answer is killed here, because no other component would end it.
    pub(crate) async fn prepare_stop(
        &self,
        key: &CommandKey,
        paths: &CommandPaths,
        grace: Duration,
    ) -> State {
        let entry = self.registry.entry(key);
        let mut slot = entry.lock().await;
        let state = match (&*slot, paths.mark().await) {
            (Some(task), _) if task.has_answered() => State::Running(Arc::clone(task)),
            (None, Ok(StartMark::Empty | StartMark::Barred)) => State::NeverStarted,
            // A directory that cannot be read may hold a command, and a silent supervisor may answer by now.
            (Some(_), _) | (None, Ok(StartMark::Begun) | Err(_)) => {
                let claim_dir = paths.claim_dir();
                match attach(locator(key, &claim_dir)).await {
                    ShimmedState::Unknown(cause) => {
                        kill_unknown(key, &claim_dir, cause, grace).await
                    }
                    ShimmedState::Running(task) if !task.has_answered() => {
                        let cause = UnknownCause::SupervisorSilent;
                        kill_unknown(key, &claim_dir, cause, grace).await
                    }
                    known @ (ShimmedState::Running(_)
                    | ShimmedState::Ended(_)
                    | ShimmedState::StartFailed(_)
                    | ShimmedState::NeverStarted) => store_task(known, &mut slot),
                }
            }
        };
        if matches!(state, State::NeverStarted)
            && let Err(error) = paths.prevent_start().await
        {
            tracing::warn!(name = key.name, %error, "a command that was stopped could not be marked so");
        }
        state
    }
}

async fn kill_unknown(
    key: &CommandKey,
    claim_dir: &Path,
    cause: UnknownCause,
    grace: Duration,
) -> State {
    let stopped = kill_command(locator(key, claim_dir), cause, grace).await;
    stopped.map_running(|never| match never {})
}
