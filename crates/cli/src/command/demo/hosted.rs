//! A host as a child process: started, killed or stopped by its handle, never left behind.

use super::stage::Stage;
use crate::exit::{Exit, Failure};
use crate::host;
use holon_client::Client;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// Longest a start or a stop may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The last line of a host that is ready.
const READY: &str = "logs: stderr";

/// A running host. Killed when dropped.
#[derive(Debug)]
pub(super) struct Hosted {
    child: Child,
    client: Client,
}

impl Hosted {
    /// Starts a host on the stage's home and waits until it is ready.
    pub(super) async fn start(stage: &Stage) -> Result<Self, Failure> {
        let child = spawn(stage)
            .map_err(|error| problem(&format!("a host could not be started: {error}"), stage))?;
        let mut hosted = Self {
            child,
            client: host::client(&stage.home()),
        };
        match tokio::time::timeout(PATIENCE, hosted.wait_until_ready()).await {
            Ok(true) => Ok(hosted),
            Ok(false) | Err(_) => Err(problem("the host did not come up", stage)),
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

    /// A client of this host.
    pub(super) const fn client(&self) -> &Client {
        &self.client
    }

    /// Its process.
    pub(super) fn pid(&self) -> u32 {
        self.child.id().unwrap_or_default()
    }

    /// Ends it as a crash would: no handler runs, nothing is flushed.
    pub(super) async fn kill(&mut self) -> Result<(), Failure> {
        self.child.kill().await.map_err(|error| ending(&error))
    }

    /// Asks it to go down and waits until it has.
    pub(super) async fn stop(&mut self) -> Result<(), Failure> {
        self.client.shutdown().await?;
        match tokio::time::timeout(PATIENCE, self.child.wait()).await {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) => Err(Failure::new(
                Exit::Failed,
                "demo_failed",
                format!("the host went down with {status}"),
            )),
            Ok(Err(error)) => Err(ending(&error)),
            Err(_) => self.kill().await,
        }
    }
}

fn spawn(stage: &Stage) -> std::io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .args(["serve", "--port", "0", "--model", &stage.model(), "--home"])
        .arg(stage.home())
        // What the user's environment says about another host is not about this one.
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

fn problem(message: &str, stage: &Stage) -> Failure {
    let said = std::fs::read_to_string(stage.log_path()).unwrap_or_default();
    let message = match said.lines().last() {
        Some(last) => format!("{message}: {last}"),
        None => message.to_owned(),
    };
    Failure::new(Exit::Failed, "demo_failed", message)
}

fn ending(error: &std::io::Error) -> Failure {
    Failure::new(
        Exit::Failed,
        "demo_failed",
        format!("the host could not be ended: {error}"),
    )
}
