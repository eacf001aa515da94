//! The engine's port for commands, implemented by `holon_command`. It only delegates.

use super::wall_clock;
use async_trait::async_trait;
use holon_domain::command::{CommandFailure, TaskStreams};
use holon_domain::intent::{TaskInput, TaskOutput};
use holon_domain::task::TaskReport;
use holon_engine::ports::{
    CommandHost, CommandKey, CommandOrder, CommandProbe, CommandRun, InputRefusal, OutputRetention,
    OutputSize,
};
use holon_process::Image;
use holon_workspace::ClaimFolders;
use std::ffi::OsStr;
use tokio_util::sync::CancellationToken;

/// Runs commands as the user of this process, with the clock of this machine.
#[derive(Debug)]
pub struct Commands(holon_command::Commands);

impl Commands {
    /// Creates the port. `image` is the program that shims are made of, `shell` the user's login shell, `hidden_env`
    /// the names of the variables that commands must not see, and `claims` the location of their state directories.
    #[must_use]
    pub fn new(
        image: Image,
        shell: Option<&OsStr>,
        hidden_env: Vec<String>,
        claims: ClaimFolders,
    ) -> Self {
        let commands = holon_command::Commands::new(image, shell, hidden_env, claims, wall_clock);
        Self(commands)
    }

    /// Hides these variables, in addition to earlier ones, from commands that start from now on.
    pub(crate) fn hide_from_commands(&self, names: Vec<String>) {
        self.0.hide_from_commands(names);
    }
}

#[async_trait]
impl CommandHost for Commands {
    async fn was_begun(&self, key: &CommandKey) -> bool {
        self.0.was_begun(key).await
    }

    async fn run(
        &self,
        order: CommandOrder,
        cancel: CancellationToken,
    ) -> Result<CommandRun, CommandFailure> {
        self.0.run(order, cancel).await
    }

    async fn probe(&self, key: &CommandKey) -> CommandProbe {
        self.0.probe(key).await
    }

    async fn watch(&self, key: &CommandKey) -> TaskReport {
        self.0.watch(key).await
    }

    async fn stop(&self, key: &CommandKey, grace_ms: u64) -> TaskReport {
        self.0.stop(key, grace_ms).await
    }

    async fn input(&self, key: &CommandKey, input: &TaskInput) -> Result<u64, InputRefusal> {
        self.0.input(key, input).await
    }

    async fn printed(
        &self,
        key: &CommandKey,
        query: &TaskOutput,
        max_bytes: usize,
    ) -> Result<TaskStreams, String> {
        self.0.printed(key, query, max_bytes).await
    }

    async fn forget(&self, key: &CommandKey, output: OutputRetention) {
        self.0.forget(key, output).await;
    }

    async fn output_size(&self, agent_home: &str, names: Option<&[String]>) -> OutputSize {
        self.0.output_size(agent_home, names).await
    }

    async fn remove_output(&self, agent_home: &str, names: &[String]) -> OutputSize {
        self.0.remove_output(agent_home, names).await
    }

    async fn sweep(&self, agent_home: &str, known: &[String]) {
        self.0.sweep(agent_home, known).await;
    }
}
