//! The host as a child process that is killed at chosen moments.

use crate::Fallible;
use crate::world::World;
use holon_client::Client;
use rustix::process::{Pid, Signal, kill_process};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tokio::process::{Child, Command};

/// Timeout for the first answer of a host.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout for an orderly shutdown.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);
/// Interval of the health checks.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// A running host. It is killed when dropped.
#[derive(Debug)]
pub(crate) struct Host {
    child: Child,
    /// Time from its start to its first answer.
    pub(crate) healthy_after: Duration,
}

impl Host {
    /// Starts a host and waits until it answers. Returns `None` if it was killed first, at this time after its start.
    pub(crate) async fn start(world: &World, kill_at: Option<Duration>) -> Fallible<Option<Self>> {
        let log = world.open_host_log()?;
        let began = Instant::now();
        let mut child = Command::from(world.serve_command())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()?;
        let client = world.client();
        let kill_after = kill_at.unwrap_or(START_TIMEOUT);
        tokio::select! {
            () = tokio::time::sleep(kill_after) => {
                if kill_at.is_none() {
                    return Err(format!("the host does not answer after {START_TIMEOUT:?}").into());
                }
                child.kill().await?;
                Ok(None)
            }
            status = child.wait() => Err(ended_by_itself(&status)),
            () = wait_until_healthy(&client) => Ok(Some(Self { child, healthy_after: began.elapsed() })),
        }
    }

    /// Waits until the process ends by itself and returns that as an error.
    pub(crate) async fn ended(&mut self) -> Box<dyn std::error::Error + Send + Sync> {
        ended_by_itself(&self.child.wait().await)
    }

    /// Kills it with SIGKILL and waits until it is gone.
    pub(crate) async fn kill(mut self) -> Fallible<()> {
        Ok(self.child.kill().await?)
    }

    /// Sends SIGTERM and does not wait.
    pub(crate) fn request_shutdown(&self) -> Fallible<()> {
        // The pid stays valid until the child is waited for.
        let pid = self.child.id().and_then(|id| i32::try_from(id).ok());
        let pid = pid.and_then(Pid::from_raw).ok_or("the host is gone")?;
        Ok(kill_process(pid, Signal::TERM)?)
    }

    /// Sends SIGTERM and waits for the end.
    pub(crate) async fn terminate(mut self) -> Fallible<ExitStatus> {
        self.request_shutdown()?;
        let ended = tokio::time::timeout(STOP_TIMEOUT, self.child.wait()).await;
        Ok(ended.map_err(|_| format!("the host does not go down within {STOP_TIMEOUT:?}"))??)
    }
}

fn ended_by_itself(
    status: &std::io::Result<ExitStatus>,
) -> Box<dyn std::error::Error + Send + Sync> {
    format!("the host ended by itself: {status:?}").into()
}

/// Waits until a host answers on the socket of this home.
async fn wait_until_healthy(client: &Client) {
    while client.health().await.is_err() {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
