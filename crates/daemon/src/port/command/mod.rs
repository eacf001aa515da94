//! Commands of agents: found or started under a shim, followed, stopped, written to and read.
//!
//! Owns where a command is found again, what it finds in its environment and what is told of it; what a shim is stands
//! in `process`. Invariants: a command of one key is started once, and nobody looks for one while it is being started.

mod decode;
mod environment;
mod facts;
mod input;
mod login;
mod off_thread;
mod place;
mod printed;
mod prune;
mod registry;
mod report;
mod run;
mod standing;
mod sweep;

use async_trait::async_trait;
use holon_domain::command::{CommandFailure, TaskPrinted};
use holon_domain::intent::{TaskInput, TaskOutput};
use holon_domain::limits::OUTPUT_KEPT_BYTES;
use holon_domain::task::TaskReport;
use holon_engine::ports::{
    AliveCommand, CommandHost, CommandKey, CommandOrder, CommandProbe, CommandRun, InputRefused,
    KeptOutput,
};
use holon_process::{Attached, Image, Shims, Task, attach};
use login::Login;
use place::{Look, Place};
use printed::Source;
use registry::Registry;
use standing::{Standing, sought};
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
/// How long a look at a command may take where nobody wants to wait for a shim that does not answer.
const LOOK: Duration = Duration::from_secs(5);

/// Runs commands as this user.
#[derive(Debug)]
pub struct Commands {
    shims: Shims,
    shell: Option<String>,
    login: Login,
    remove_env: Mutex<BTreeSet<String>>,
    registry: Registry,
}

impl Commands {
    /// With the program shims are made of, the user's shell and the variables commands must not see.
    #[must_use]
    pub fn new(image: Image, shell: Option<&OsStr>, remove_env: Vec<String>) -> Self {
        let shell = shell.and_then(usable_shell);
        // For files of a login that want to know.
        let over = vec![("HOLON_RUNTIME".to_owned(), "1".to_owned())];
        Self {
            shims: Shims::new(image),
            login: Login::new(shell.clone(), over),
            shell,
            remove_env: Mutex::new(remove_env.into_iter().collect()),
            registry: Registry::default(),
        }
    }

    /// Keeps these variables too from commands that begin from now on. None is ever shown again.
    pub fn keep_from_them(&self, names: Vec<String>) {
        self.kept_from_them().extend(names);
    }

    fn kept_from_them(&self) -> MutexGuard<'_, BTreeSet<String>> {
        let names = self.remove_env.lock();
        names.unwrap_or_else(PoisonError::into_inner)
    }
}

fn usable_shell(shell: &OsStr) -> Option<String> {
    let path = Path::new(shell);
    let name = path.file_name()?.to_str()?;
    (SHELLS.contains(&name) && path.is_file()).then(|| path.to_str().map(str::to_owned))?
}

#[async_trait]
impl CommandHost for Commands {
    async fn was_begun(&self, key: &CommandKey) -> bool {
        let entry = self.registry.entry(key);
        let _nobody_starts_it = entry.lock().await;
        match Place::of(key).look().await {
            Ok(Look::Nothing | Look::Stopped) => false,
            // What cannot be looked at is not proven to be missing.
            Ok(Look::Begun) | Err(_) => true,
        }
    }

    async fn run(
        &self,
        order: CommandOrder,
        cancel: CancellationToken,
    ) -> Result<CommandRun, CommandFailure> {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(CommandFailure::Cancelled),
            run = self.run_until_late(&order) => run,
        }
    }

    async fn probe(&self, key: &CommandKey) -> CommandProbe {
        let entry = self.registry.entry(key);
        let _nobody_starts_it = entry.lock().await;
        // Asked afresh: one that is held may have ended without anybody waiting for it.
        let place = Place::of(key);
        let state_dir = place.state_dir();
        let attached = tokio::time::timeout(LOOK, attach(sought(key, &state_dir)));
        let path = |path: PathBuf| Some(path.to_string_lossy().into_owned());
        match attached.await {
            Ok(Attached::Alive(task)) => CommandProbe::Alive(AliveCommand {
                started_at: task.identity().started_at,
                output_path: path(place.output()),
                stderr_path: path(place.errors()),
            }),
            Ok(Attached::Ended(_)) => CommandProbe::Ended,
            Ok(
                Attached::NotStarted(_) | Attached::NeverRan | Attached::Gone | Attached::Silent,
            )
            | Err(_) => CommandProbe::Nothing,
        }
    }

    async fn watch(&self, key: &CommandKey) -> TaskReport {
        let place = Place::of(key);
        let standing = self.found(key, &place).await;
        let follow = |task: Arc<Task>| async move { task.ended().await };
        self.reported(key, (&place, standing), follow).await
    }

    async fn stop(&self, key: &CommandKey, grace_ms: u64) -> TaskReport {
        let place = Place::of(key);
        let grace = Duration::from_millis(grace_ms);
        let standing = self.barred(key, &place, grace).await;
        let follow = |task: Arc<Task>| async move { task.stop(grace).await };
        self.reported(key, (&place, standing), follow).await
    }

    async fn input(&self, key: &CommandKey, input: &TaskInput) -> Result<u64, InputRefused> {
        input::give(self.found(key, &Place::of(key)).await, key, input).await
    }

    async fn printed(
        &self,
        key: &CommandKey,
        query: &TaskOutput,
        max_bytes: usize,
    ) -> Result<TaskPrinted, String> {
        let place = Place::of(key);
        let source = match self.found(key, &place).await {
            Standing::Alive(task) => Source::Live(task),
            Standing::Ended(ended) => Source::Kept(ended.output),
            Standing::NotStarted(_) | Standing::NeverRan | Standing::Lost(_) => {
                let kept = place.kept().await;
                Source::Kept(kept.ok_or("its output is not kept, or not any more")?)
            }
        };
        let printed = source.printed(query, max_bytes).await;
        printed.map_err(|error| error.to_string())
    }

    async fn forget(&self, key: &CommandKey, output: KeptOutput) {
        let (place, home) = (Place::of(key), Path::new(&key.agent_home));
        let entry = self.registry.entry(key);
        let mut slot = entry.lock().await;
        *slot = None;
        if !sweep::end_and_remove(&place, (&key.name, key.call.as_str())).await {
            return;
        }
        let done = match output {
            KeptOutput::Dropped => place.remove_output().await,
            KeptOutput::Kept if place.kept().await.is_none() => Ok(()),
            KeptOutput::Kept => prune::prune(home, OUTPUT_KEPT_BYTES).await,
        };
        if let Err(error) = done {
            tracing::warn!(name = key.name, %error, "old output of commands could not be removed");
        }
    }

    async fn sweep(&self, agent_home: &str, known: &[String]) {
        let is_spared = |name: &str| {
            known.iter().any(|known| known == name)
                || self.registry.is_used(Path::new(agent_home), name)
        };
        sweep::sweep(Path::new(agent_home), is_spared).await;
    }
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
