//! The commands of a host: one object that starts, finds, follows, stops, reads and forgets them.

use crate::folders::Folders;
use crate::input;
use crate::login::Login;
use crate::place::{Place, PlaceMark};
use crate::printed::Source;
use crate::prune;
use crate::registry::Registry;
use crate::state::{State, sought};
use crate::sweep;
use holon_domain::Timestamp;
use holon_domain::command::{
    AliveCommand, CommandFailure, CommandKey, CommandOrder, CommandProbe, CommandRun, InputRefusal,
    OutputRetention, TaskStreams, UnknownCause,
};
use holon_domain::intent::{TaskInput, TaskOutput};
use holon_domain::limits::OUTPUT_KEPT_BYTES;
use holon_domain::task::TaskReport;
use holon_process::{Error, Image, Shims, Task, attach_within};
use holon_workspace::Claims;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Login shells that take `-c`. Others, such as the one that only says the account is closed, are passed over.
const SHELLS: [&str; 9] = [
    "ash", "bash", "dash", "fish", "ksh", "mksh", "sh", "yash", "zsh",
];
/// The longest a probe waits for a supervisor that does not answer; one that holds its lock then counts as alive.
const PROBE_PATIENCE: Duration = Duration::from_secs(5);
/// The longest a probe takes where not even the command's directory can be read.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs commands of agents as this user.
#[derive(Debug)]
pub struct Commands {
    pub(crate) shims: Shims,
    pub(crate) shell: Option<String>,
    pub(crate) login: Login,
    hidden_env: Mutex<BTreeSet<String>>,
    pub(crate) registry: Registry,
    claims: Claims,
    pub(crate) now: fn() -> Timestamp,
}

impl Commands {
    /// `image` is the program that shims are made of, `shell` the user's login shell, `hidden_env` names the variables
    /// that commands must not see, `claims` is where their directories stand, and `now` reads the wall clock.
    #[must_use]
    pub fn new(
        image: Image,
        shell: Option<&OsStr>,
        hidden_env: Vec<String>,
        claims: Claims,
        now: fn() -> Timestamp,
    ) -> Self {
        let shell = shell.and_then(usable_shell);
        // Profiles can tell by it that they are read for a command of an agent.
        let over = vec![("HOLON_RUNTIME".to_owned(), "1".to_owned())];
        Self {
            shims: Shims::new(image),
            login: Login::new(shell.clone(), over),
            shell,
            hidden_env: Mutex::new(hidden_env.into_iter().collect()),
            registry: Registry::default(),
            claims,
            now,
        }
    }

    /// Hides these variables too from commands that start from now on. A hidden variable is never shown again.
    pub fn hide_from_commands(&self, names: Vec<String>) {
        self.hidden_env().extend(names);
    }

    pub(crate) fn hidden_env(&self) -> MutexGuard<'_, BTreeSet<String>> {
        let names = self.hidden_env.lock();
        names.unwrap_or_else(PoisonError::into_inner)
    }

    /// The place of the command of a key. The caller has locked its slot, or does not start it.
    pub(crate) async fn place(&self, key: &CommandKey) -> Place {
        Place::find(&self.claims, key).await
    }

    /// Whether a command of this key was begun. Also true if that cannot be found out.
    pub async fn was_begun(&self, key: &CommandKey) -> bool {
        let entry = self.registry.entry(key);
        let _no_start = entry.lock().await;
        match self.place(key).await.mark().await {
            Ok(PlaceMark::Empty | PlaceMark::Barred) => false,
            Ok(PlaceMark::Begun) | Err(_) => true,
        }
    }

    /// Starts the command, or finds the one that was started, and waits for its end or until it is late. After
    /// `cancel` it returns soon and leaves the command as it is.
    ///
    /// # Errors
    /// Why it could not be started, or that what came of it is not known.
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

    /// The state of a command, found out in a bounded time and without reading what it printed.
    pub async fn probe(&self, key: &CommandKey) -> CommandProbe {
        let entry = self.registry.entry(key);
        let _no_start = entry.lock().await;
        // Not taken from the slot: a command that is held there may have ended without being waited for.
        let place = self.place(key).await;
        let state_dir = place.state_dir();
        let attached = attach_within(sought(key, &state_dir), PROBE_PATIENCE);
        let Ok(state) = tokio::time::timeout(PROBE_TIMEOUT, attached).await else {
            return CommandProbe::Unknown(UnknownCause::SupervisorSilent);
        };
        let path = |path: PathBuf| Some(path.to_string_lossy().into_owned());
        let state = state.map_running(|task| AliveCommand {
            started_at: task.identity().started_at,
            output_path: path(place.output()),
            stderr_path: path(place.errors()),
        });
        state.map_ended(drop)
    }

    /// Waits for the end of a command that was begun. Dropping the future changes nothing for the command.
    pub async fn watch(&self, key: &CommandKey) -> TaskReport {
        let place = self.place(key).await;
        let state = self.find(key, &place).await;
        let follow = |task: Arc<Task>| async move { task.ended().await };
        self.report(key, &place, state, follow).await
    }

    /// Asks every process of the command to end, kills after `grace_ms` those that have not, and reports. A command
    /// that was never begun will never begin.
    pub async fn stop(&self, key: &CommandKey, grace_ms: u64) -> TaskReport {
        let place = self.place(key).await;
        let grace = Duration::from_millis(grace_ms);
        let state = self.bar(key, &place, grace).await;
        let follow = |task: Arc<Task>| async move { task.stop(grace).await };
        self.report(key, &place, state, follow).await
    }

    /// Writes to a command and returns how many bytes it took. Input of a number that was given before is not given
    /// again.
    ///
    /// # Errors
    /// Why it was not taken.
    pub async fn input(&self, key: &CommandKey, input: &TaskInput) -> Result<u64, InputRefusal> {
        let place = self.place(key).await;
        input::give(self.find(key, &place).await, (key, &place), input).await
    }

    /// What a command printed, as far as the query asks for it: at most `max_bytes` of each stream.
    ///
    /// # Errors
    /// A sentence that says why it cannot be read.
    pub async fn printed(
        &self,
        key: &CommandKey,
        query: &TaskOutput,
        max_bytes: usize,
    ) -> Result<TaskStreams, String> {
        let place = self.place(key).await;
        let source = match self.find(key, &place).await {
            State::Running(task) => Source::Live(task),
            State::Ended(ended) => Source::Kept(ended.output),
            State::Failed(_) | State::NeverStarted | State::Unknown(_) => {
                let kept = place.kept().await;
                Source::Kept(kept.ok_or("its output is not kept, or not any more")?)
            }
        };
        // Boxed, or every future that reads output would hold the room of both reads.
        let printed = match Box::pin(source.printed(query, max_bytes)).await {
            // Its supervisor is alive and does not answer; what it wrote before can be read all the same.
            Err(error @ Error::Unreachable { .. }) => match place.kept().await {
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

    /// Removes what was kept to find a command whose outcome is on record, and its output if that is not kept.
    pub async fn forget(&self, key: &CommandKey, output: OutputRetention) {
        let home = Path::new(&key.agent_home);
        let entry = self.registry.entry(key);
        let mut slot = entry.lock().await;
        *slot = None;
        let place = self.place(key).await;
        if !sweep::end_and_remove(&place, (&key.name, key.call.as_str())).await {
            return;
        }
        let done = match output {
            OutputRetention::Dropped => place.remove_output().await,
            OutputRetention::Kept if place.kept().await.is_none() => Ok(()),
            OutputRetention::Kept => {
                let folders = Folders::of(&self.claims, home);
                prune::prune(home, &folders, OUTPUT_KEPT_BYTES).await
            }
        };
        if let Err(error) = done {
            tracing::warn!(name = key.name, %error, "old output of commands could not be removed");
        }
    }

    /// Ends and forgets the commands of the agent with this home whose names are not among `known`.
    pub async fn sweep(&self, agent_home: &str, known: &[String]) {
        let home = Path::new(agent_home);
        let is_spared = |name: &str| {
            known.iter().any(|known| known == name) || self.registry.is_used(home, name)
        };
        sweep::sweep(home, &Folders::of(&self.claims, home), is_spared).await;
    }
}

fn usable_shell(shell: &OsStr) -> Option<String> {
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
