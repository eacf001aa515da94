//! Waits for the end of a command, or stops it.
//!
//! A wait continues only as long as the shim can report an end, and a stop always completes, also if the command
//! attacks its shim.

use super::claim_lock;
use super::line::{EndMessage, open_end_channel};
use super::probe::{LockHeld, probe, recorded_end};
use super::shimmed_command::{EndChannel, ShimmedCommand};
use super::stop::kill_shim_and_session;
use crate::error::Error;
use crate::record::EndRecord;
use crate::wire::Request;
use holon_domain::command::CommandState;
use rustix::process::Signal;
use std::convert::Infallible;
use std::time::Duration;

/// Time a shim gets after a stop's grace period to kill, drain and write its status. Generous, because a shim that is
/// killed for being slow leaves no status.
const AFTER_GRACE: Duration = Duration::from_secs(40);
/// Time to wait until a killed shim is seen to be dead.
const DEATH: Duration = Duration::from_secs(10);
/// Interval between checks of a shim that neither answers nor releases its lock.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Interval of SIGCONT to a shim that has to stop its command, in case it is suspended.
const WAKE_INTERVAL: Duration = Duration::from_millis(200);

impl ShimmedCommand {
    /// Waits for the end. Several callers may wait at once, and the future may be dropped and called again.
    ///
    /// # Errors
    /// [`Error::Lost`] if the shim died and left no status. The processes left in the command's session are killed
    /// then.
    pub async fn ended(&self) -> Result<EndRecord, Error> {
        self.end.get_or_init(|| self.wait()).await.clone()
    }

    async fn wait(&self) -> Result<EndRecord, Error> {
        let mut channel = self.end_channel.lock().await;
        let ended = claim_lock::with_wakeups(&self.claim_dir, self.follow(&mut channel)).await;
        if let (Err(_), Some(birth_record)) = (&ended, &self.birth_record) {
            birth_record.end_orphans().await;
        }
        ended
    }

    async fn follow(&self, channel: &mut EndChannel) -> Result<EndRecord, Error> {
        loop {
            // An incomplete or invalid line carries no information; the directory does.
            if let Ok(Some(message)) = channel.line.next::<EndMessage>().await {
                let outcome = message.into_outcome();
                if let Some(shim) = &mut channel.shim {
                    // The shim exits right after its last line; its exit status does not matter.
                    shim.wait().await.ok();
                }
                return recorded_end(outcome);
            }
            match probe(&self.claim_dir).await {
                CommandState::Ended(ended) => return Ok(*ended),
                // The command was seen to run, so it cannot have failed to start: its directory was removed or
                // replaced.
                CommandState::StartFailed(_)
                | CommandState::NeverStarted
                | CommandState::Unknown(_) => {
                    return Err(Error::Lost);
                }
                CommandState::Running(LockHeld) => {
                    match open_end_channel(&self.claim_dir, &self.nonce).await {
                        Ok(line) => channel.line = line,
                        Err(_) => tokio::time::sleep(POLL_INTERVAL).await,
                    }
                }
            }
        }
    }

    /// Sends SIGTERM to every process of the command, SIGKILL after `grace` to those that are left, and returns the
    /// end.
    ///
    /// # Errors
    /// [`Error::Lost`] if the shim had to be killed, was dead, or cannot be killed.
    pub async fn stop(&self, grace: Duration) -> Result<EndRecord, Error> {
        let limit = grace.saturating_add(AFTER_GRACE);
        let stopped = async {
            tokio::select! {
                biased;
                ended = self.ended() => Some(ended),
                never = self.request_stop(grace) => match never {},
                () = self.wait_until_removed() => None,
            }
        };
        if let Ok(Some(ended)) = tokio::time::timeout(limit, stopped).await {
            return ended;
        }
        // The shim does not respond, or cannot be reached because its directory was deleted.
        kill_shim_and_session(&self.claim_dir, self.birth_record.as_ref()).await;
        let ended = tokio::time::timeout(DEATH, self.ended()).await;
        ended.unwrap_or(Err(Error::Lost))
    }

    /// Returns when the directory of the command is gone. Without it no request can be sent.
    async fn wait_until_removed(&self) {
        while self.claim_dir.try_exists().unwrap_or(true) {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Requests a stop until the shim accepts it, and wakes a suspended shim meanwhile.
    async fn request_stop(&self, grace: Duration) -> Infallible {
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        let request = async {
            while self.request(Request::Stop { grace_ms }, &[]).await.is_err() {
                // Usually the shim has just ended.
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        claim_lock::send(&self.claim_dir, Signal::CONT).await;
        tokio::join!(
            claim_lock::wake_periodically(&self.claim_dir, WAKE_INTERVAL),
            request
        )
        .0
    }
}
