//! The host as a child process that is killed at chosen moments.

use crate::Fallible;
use crate::world::World;
use holon_client::Client;
use rustix::process::{Pid, Signal, kill_process};
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tokio::process::{Child, Command};

/// Longest a host may take until it answers; only a defect makes it that long.
const START: Duration = Duration::from_secs(30);
/// Longest a host may take to go down in order.
const STOP: Duration = Duration::from_secs(30);
/// Pause between two questions whether a new host serves.
const LOOK: Duration = Duration::from_millis(2);

/// A host that serves. Killed when dropped.
#[derive(Debug)]
pub(crate) struct Host {
    child: Child,
    /// From its start to its first answer.
    pub(crate) healthy_after: Duration,
}

impl Host {
    /// Starts a host and waits until it answers; none when it was killed before, at this time after its start.
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
        let kill_after = kill_at.unwrap_or(START);
        tokio::select! {
            () = tokio::time::sleep(kill_after) => {
                if kill_at.is_none() {
                    return Err(format!("the host does not answer after {START:?}").into());
                }
                child.kill().await?;
                Ok(None)
            }
            status = child.wait() => Err(ended_by_itself(&status)),
            () = healthy(&client) => Ok(Some(Self { child, healthy_after: began.elapsed() })),
        }
    }

    /// Returns when the process has ended without having been killed from here.
    pub(crate) async fn ended(&mut self) -> Box<dyn std::error::Error + Send + Sync> {
        ended_by_itself(&self.child.wait().await)
    }

    /// Ends it as a crash would, and waits until it is gone.
    pub(crate) async fn kill(mut self) -> Fallible<()> {
        Ok(self.child.kill().await?)
    }

    /// Asks it to go down, without waiting until it has.
    pub(crate) fn ask_to_go_down(&self) -> Fallible<()> {
        // The number stays its own until it is waited for.
        let pid = self.child.id().and_then(|id| i32::try_from(id).ok());
        let pid = pid.and_then(Pid::from_raw).ok_or("the host is gone")?;
        Ok(kill_process(pid, Signal::TERM)?)
    }

    /// Asks it to go down and waits until it has.
    pub(crate) async fn terminate(mut self) -> Fallible<ExitStatus> {
        self.ask_to_go_down()?;
        let ended = tokio::time::timeout(STOP, self.child.wait()).await;
        Ok(ended.map_err(|_| format!("the host does not go down within {STOP:?}"))??)
    }
}

fn ended_by_itself(
    status: &std::io::Result<ExitStatus>,
) -> Box<dyn std::error::Error + Send + Sync> {
    format!("the host ended by itself: {status:?}").into()
}

/// Returns when a host answers on the socket of this home.
async fn healthy(client: &Client) {
    while client.health().await.is_err() {
        tokio::time::sleep(LOOK).await;
    }
}
