//! A host as a child process, which is killed or stopped by its handle and never left behind.

use super::stage::Stage;
use crate::exit::{Exit, Failure};
use crate::host;
use holon_client::Client;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// Timeout for a start or a stop.
const START_STOP_TIMEOUT: Duration = Duration::from_secs(30);
/// Last line that a host prints when it is ready.
const READY: &str = "logs: stderr";

/// A running host. Killed when dropped.
#[derive(Debug)]
pub(super) struct HostProcess {
    child: Child,
    client: Client,
}

impl HostProcess {
    /// Starts a host on the stage's home and waits until it is ready.
    pub(super) async fn start(stage: &Stage) -> Result<Self, Failure> {
        let child = spawn(stage).map_err(|error| {
            start_failure(&format!("a host could not be started: {error}"), stage)
        })?;
        let mut process = Self {
            child,
            client: host::client(&stage.home()),
        };
        match tokio::time::timeout(START_STOP_TIMEOUT, process.wait_until_ready()).await {
            Ok(true) => Ok(process),
            Ok(false) | Err(_) => Err(start_failure("the host did not come up", stage)),
        }
    }

    async fn wait_until_ready(&mut self) -> bool {
        let Some(stdout) = self.child.stdout.take() else {
            return false;
        };
        let mut lines = BufReader::new(stdout).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            if line == READY {
                return true;
            }
        }
        false
    }

    pub(super) const fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id().unwrap_or_default()
    }

    /// Kills the host with SIGKILL: no handler runs and nothing is flushed.
    pub(super) async fn kill(&mut self) -> Result<(), Failure> {
        self.child
            .kill()
            .await
            .map_err(|error| stop_failure(&error))
    }

    /// Asks the host to shut down and waits for its exit.
    pub(super) async fn stop(&mut self) -> Result<(), Failure> {
        self.client.shutdown().await?;
        match tokio::time::timeout(START_STOP_TIMEOUT, self.child.wait()).await {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) => Err(Failure::new(
                Exit::Failed,
                "demo_failed",
                format!("the host went down with {status}"),
            )),
            Ok(Err(error)) => Err(stop_failure(&error)),
            Err(_) => self.kill().await,
        }
    }
}

fn spawn(stage: &Stage) -> std::io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .args(["serve", "--port", "0", "--model", &stage.model(), "--home"])
        .arg(stage.home())
        // A host writes the built-in templates to the user's home, and the demo leaves nothing there.
        .env("HOME", stage.home())
        // Variables of the user's environment are about another host.
        .env_remove("HOLON_AGENT_ID")
        .env_remove("HOLON_HTTP_ADDR")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(
            std::fs::File::options()
                .create(true)
                .append(true)
                .open(stage.log_path())?,
        )
        .kill_on_drop(true)
        .spawn()
}

fn start_failure(message: &str, stage: &Stage) -> Failure {
    let said = std::fs::read_to_string(stage.log_path()).unwrap_or_default();
    let message = match said.lines().last() {
        Some(last) => format!("{message}: {last}"),
        None => message.to_owned(),
    };
    Failure::new(Exit::Failed, "demo_failed", message)
}

fn stop_failure(error: &std::io::Error) -> Failure {
    Failure::new(
        Exit::Failed,
        "demo_failed",
        format!("the host could not be ended: {error}"),
    )
}
