//! The public API of the crate: one object that starts, finds, follows, stops, reads and forgets the commands of a
//! host.

use crate::folders::Folders;
use crate::input;
use crate::login::Login;
use crate::paths::{CommandPaths, StartMark};
use crate::printed::Source;
use crate::prune;
use crate::registry::Registry;
use crate::state::{State, locator};
use crate::sweep;
use holon_domain::Timestamp;
use holon_domain::command::{
    AliveCommand, CommandFailure, CommandKey, CommandOrder, CommandProbe, CommandRun, InputRefusal,
    OutputRetention, OutputSize, TaskStreams, UnknownCause,
};
use holon_domain::intent::{TaskInput, TaskOutput};
use holon_domain::limits::OUTPUT_KEPT_BYTES;
use holon_domain::task::TaskReport;
use holon_process::{Error, Image, ShimmedCommand, Shims, attach_within};
use holon_workspace::ClaimFolders;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Login shells that accept `-c`. Other shells, such as `nologin`, are ignored and the system shell is used.
const SHELLS: [&str; 9] = [
    "ash", "bash", "dash", "fish", "ksh", "mksh", "sh", "yash", "zsh",
];
/// Longest time a probe waits for an answer of the supervisor. A supervisor that holds its lock then counts as alive.
const PROBE_PATIENCE: Duration = Duration::from_secs(5);
/// Longest time a probe takes in all, for example if the command's directory cannot be read.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs the commands of all agents of a host, as the user of this process.
///
/// Each command has a [`CommandKey`] that stays the same over restarts. All methods look the command up by its key
/// first, so a new host finds what an earlier one started.
#[derive(Debug)]
pub struct Commands {
    pub(crate) shims: Shims,
    pub(crate) shell: Option<String>,
    pub(crate) login: Login,
    hidden_env: Mutex<BTreeSet<String>>,
    pub(crate) registry: Registry,
    pub(crate) claims: ClaimFolders,
    pub(crate) now: fn() -> Timestamp,
}

impl Commands {
    /// Creates the commands of a host. `image` is the program that shims are made of, `shell` the user's login shell,
    /// `hidden_env` the names of the variables that commands must not see, `claims` the location of their state
    /// directories, and `now` the wall clock.
    #[must_use]
    pub fn new(
        image: Image,
        shell: Option<&OsStr>,
        hidden_env: Vec<String>,
        claims: ClaimFolders,
        now: fn() -> Timestamp,
    ) -> Self {
        let shell = shell.and_then(usable_shell);
        // Lets a profile detect that it runs for a command of an agent.
        let overrides = vec![("HOLON_RUNTIME".to_owned(), "1".to_owned())];
        Self {
            shims: Shims::new(image),
            login: Login::new(shell.clone(), overrides),
            shell,
            hidden_env: Mutex::new(hidden_env.into_iter().collect()),
            registry: Registry::default(),
            claims,
            now,
        }
    }

    /// Hides these variables, in addition to earlier ones, from commands that start from now on. A hidden variable is
    /// never shown again.
    pub fn hide_from_commands(&self, names: Vec<String>) {
        self.hidden_env().extend(names);
    }

    pub(crate) fn hidden_env(&self) -> MutexGuard<'_, BTreeSet<String>> {
        let names = self.hidden_env.lock();
        names.unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds the files of a command. The caller has locked the command's slot, or does not start the command.
    pub(crate) async fn paths(&self, key: &CommandKey) -> CommandPaths {
        CommandPaths::find(&self.claims, key).await
    }

    /// Returns true if a command of this key was started, and also if that cannot be determined.
    pub async fn was_begun(&self, key: &CommandKey) -> bool {
        let entry = self.registry.entry(key);
        let slot = entry.lock().await;
        // A command that this process follows was started, also if its directory was deleted since.
        if slot.is_some() {
            return true;
        }
        match self.paths(key).await.mark().await {
            Ok(StartMark::Empty | StartMark::Barred) => false,
            Ok(StartMark::Begun) | Err(_) => true,
        }
    }

    /// Starts the command, or finds it if it was started before, and waits for its end or for the order's yield time.
    /// After `cancel` it returns soon and leaves the command running.
    ///
    /// # Errors
    /// Returns the reason the command could not be started, or `Lost` if its outcome is unknown.
    pub async fn run(
        &self,
        order: CommandOrder,
        cancel: CancellationToken,
    ) -> Result<CommandRun, CommandFailure> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(CommandFailure::Cancelled),
            run = self.run_until_late(&order, &cancel) => run,
        }
    }

    /// Returns the state of a command in bounded time, without reading its output.
    pub async fn probe(&self, key: &CommandKey) -> CommandProbe {
        let entry = self.registry.entry(key);
        let _no_start = entry.lock().await;
        // The slot is not used: a task that is held there may have ended without being waited for.
        let paths = self.paths(key).await;
        let claim_dir = paths.claim_dir();
        let attached = attach_within(locator(key, &claim_dir), PROBE_PATIENCE);
        let Ok(state) = tokio::time::timeout(PROBE_TIMEOUT, attached).await else {
            return CommandProbe::Unknown(UnknownCause::SupervisorSilent);
        };
        let path = |path: PathBuf| Some(path.to_string_lossy().into_owned());
        let state = state.map_running(|task| AliveCommand {
            started_at: task.identity().started_at,
            output_path: path(paths.output()),
            stderr_path: path(paths.errors()),
        });
        state.map_ended(drop)
    }

    /// Waits for the end of a command that was started. Dropping the future does not affect the command.
    pub async fn watch(&self, key: &CommandKey) -> TaskReport {
        let paths = self.paths(key).await;
        let state = self.find(key, &paths).await;
        let follow = |task: Arc<ShimmedCommand>| async move { task.ended().await };
        self.report(key, &paths, state, follow).await
    }

    /// Sends SIGTERM to every process of the command, SIGKILL after `grace_ms` to those that are left, and reports
    /// the end. A command that was not started yet can never start afterwards.
    pub async fn stop(&self, key: &CommandKey, grace_ms: u64) -> TaskReport {
        let paths = self.paths(key).await;
        let grace = Duration::from_millis(grace_ms);
        let state = self.prepare_stop(key, &paths, grace).await;
        let follow = |task: Arc<ShimmedCommand>| async move { task.stop(grace).await };
        self.report(key, &paths, state, follow).await
    }

    /// Writes input to a command and returns the number of bytes that it accepted. Input is idempotent by its number:
    /// a number that was written before is not written again.
    ///
    /// # Errors
    /// Returns the reason the input was refused.
    pub async fn input(&self, key: &CommandKey, input: &TaskInput) -> Result<u64, InputRefusal> {
        let paths = self.paths(key).await;
        let state = self.find(key, &paths).await;
        input::write_input(state, key, &paths, input).await
    }

    /// Reads the part of a command's output that the query selects: at most `max_bytes` of each stream.
    ///
    /// # Errors
    /// Returns a sentence with the reason the output cannot be read.
    pub async fn printed(
        &self,
        key: &CommandKey,
        query: &TaskOutput,
        max_bytes: usize,
    ) -> Result<TaskStreams, String> {
        let paths = self.paths(key).await;
        let source = match self.find(key, &paths).await {
            State::Running(task) => Source::Live(task),
            State::Ended(ended) => Source::Kept(ended.output),
            State::StartFailed(_) | State::NeverStarted | State::Unknown(_) => {
                let kept = paths.kept_output().await;
                Source::Kept(kept.ok_or("its output is not kept, or not any more")?)
            }
        };
        // Boxed, so that a future that reads output does not reserve space for both reads.
        let printed = match Box::pin(source.printed(query, max_bytes)).await {
            // The supervisor is alive but does not answer. The files can be read without it.
            Err(error @ Error::Unreachable { .. }) => match paths.kept_output().await {
                Some(facts) => {
                    let source = Source::Growing(facts);
                    Box::pin(source.printed(query, max_bytes)).await
                }
                None => Err(error),
            },
            printed => printed,
        };
        printed.map_err(|error| error.to_string())
    }

    /// Removes the claim directory of a command whose outcome is on record, and its output unless that is kept.
    pub async fn forget(&self, key: &CommandKey, output: OutputRetention) {
        let home = Path::new(&key.agent_home);
        let entry = self.registry.entry(key);
        let mut slot = entry.lock().await;
        let held = slot.take();
        let paths = self.paths(key).await;
        if let (Some(task), Ok(StartMark::Empty)) = (held, paths.mark().await) {
            // Its directory was deleted, so only this process still knows the command.
            drop(task.stop(sweep::GRACE).await);
        }
        if !sweep::end_and_remove(&paths, &key.name, key.call.as_str()).await {
            return;
        }
        let removed = match output {
            OutputRetention::Dropped => paths.remove_output().await,
            OutputRetention::Kept if paths.kept_output().await.is_none() => Ok(()),
            OutputRetention::Kept => {
                let folders = Folders::of(&self.claims, home);
                prune::prune(home, &folders, OUTPUT_KEPT_BYTES).await
            }
        };
        if let Err(error) = removed {
            tracing::warn!(name = key.name, %error, "old output of commands could not be removed");
        }
    }

    /// Returns the size of the output files of these commands, or of all commands of this home.
    pub async fn output_size(&self, agent_home: &str, names: Option<&[String]>) -> OutputSize {
        let found = prune::size(Path::new(agent_home), names).await;
        found.unwrap_or_else(|error| {
            tracing::warn!(agent_home, %error, "the output of commands could not be measured");
            OutputSize::default()
        })
    }

    /// Removes the output files of these commands. Those of a command that runs, or whose outcome is not on record, stay.
    pub async fn remove_output(&self, agent_home: &str, names: &[String]) -> OutputSize {
        let home = Path::new(agent_home);
        let removed = prune::remove(home, &Folders::of(&self.claims, home), names).await;
        removed.unwrap_or_else(|error| {
            tracing::warn!(agent_home, %error, "old output of commands could not be removed");
            OutputSize::default()
        })
    }

    /// Stops and forgets the commands of the agent with this home whose names are not in `known`.
    pub async fn sweep(&self, agent_home: &str, known: &[String]) {
        let home = Path::new(agent_home);
        let is_spared = |name: &str| {
            known.iter().any(|known| known == name) || self.registry.is_used(home, name)
        };
        sweep::sweep(home, &Folders::of(&self.claims, home), is_spared).await;
    }
}

/// Returns the path of a login shell that commands can run in. `None` if it is missing or takes no commands.
#[must_use]
pub fn usable_shell(shell: &OsStr) -> Option<String> {
    let path = Path::new(shell);
    let name = path.file_name()?.to_str()?;
    (SHELLS.contains(&name) && path.is_file()).then(|| path.to_str().map(str::to_owned))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_that_takes_no_commands_is_passed_over() {
        assert_eq!(usable_shell(OsStr::new("/usr/sbin/nologin")), None);
        assert_eq!(usable_shell(OsStr::new("/nowhere/bash")), None);
        assert_eq!(
            usable_shell(OsStr::new("/bin/sh")),
            Some("/bin/sh".to_owned())
        );
    }
}
