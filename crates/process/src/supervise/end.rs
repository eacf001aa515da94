//! The end of a task: waited for, or brought about.
//!
//! Whatever a command does to its shim, a wait goes on only while the shim can, and a stop comes to an end.

use super::holder;
use super::line::{Told, wait_line};
use super::probe::{LockHeld, probe, settled};
use super::put_down::kill;
use super::task::{Task, Waiting};
use crate::error::Error;
use crate::record::Ended;
use crate::wire::Ask;
use holon_domain::command::CommandState;
use rustix::process::Signal;
use std::convert::Infallible;
use std::time::Duration;

/// How long a shim may take after a stop's grace to kill, to drain and to write its status. Far more than it needs on
/// a machine that is not choking: a shim that is killed because it is slow leaves no status.
const AFTER_GRACE: Duration = Duration::from_secs(40);
/// How long it may take to see that a shim is dead that was killed.
const DEATH: Duration = Duration::from_secs(10);
/// How long between looks at a shim that neither answers nor lets go of its lock.
const PAUSE: Duration = Duration::from_millis(100);
/// How often a shim that is to stop its command is woken, in case something suspends it.
const NUDGE: Duration = Duration::from_millis(200);

impl Task {
    /// Waits for the end. May be called by several at once, dropped and called again.
    ///
    /// # Errors
    /// [`Error::Lost`] when the shim died and left no status. Of what it left behind, the command's session is ended.
    pub async fn ended(&self) -> Result<Ended, Error> {
        self.over.get_or_init(|| self.wait()).await.clone()
    }

    async fn wait(&self) -> Result<Ended, Error> {
        let mut waiting = self.waiting.lock().await;
        let ended = holder::woken(&self.state_dir, self.follow(&mut waiting)).await;
        if let (Err(_), Some(born)) = (&ended, &self.born) {
            born.end_orphans().await;
        }
        ended
    }

    async fn follow(&self, waiting: &mut Waiting) -> Result<Ended, Error> {
        loop {
            // A line that breaks off or makes no sense tells nothing; the directory does.
            if let Ok(Some(told)) = waiting.line.next::<Told>().await {
                let outcome = told.into_outcome();
                if let Some(shim) = &mut waiting.shim {
                    // It exits right after its last word; nothing else is of interest in that.
                    shim.wait().await.ok();
                }
                return settled(outcome);
            }
            match probe(&self.state_dir).await {
                CommandState::Ended(ended) => return Ok(*ended),
                // It was seen to run, so it cannot have failed to start: its directory was removed or replaced.
                CommandState::Failed(_) | CommandState::NeverStarted | CommandState::Unknown(_) => {
                    return Err(Error::Lost);
                }
                CommandState::Running(LockHeld) => {
                    match wait_line(&self.state_dir, &self.nonce).await {
                        Ok(line) => waiting.line = line,
                        Err(_) => tokio::time::sleep(PAUSE).await,
                    }
                }
            }
        }
    }

    /// Asks every process of the command to end, kills after `grace` whoever has not, and returns how it ended.
    ///
    /// # Errors
    /// [`Error::Lost`] when the shim itself had to be killed, died before, or cannot even be killed.
    pub async fn stop(&self, grace: Duration) -> Result<Ended, Error> {
        let limit = grace.saturating_add(AFTER_GRACE);
        let stopped = async {
            tokio::select! {
                ended = self.ended() => ended,
                never = self.press(grace) => match never {},
            }
        };
        if let Ok(ended) = tokio::time::timeout(limit, stopped).await {
            return ended;
        }
        // It is beyond talking to.
        kill(&self.state_dir, self.born.as_ref()).await;
        let ended = tokio::time::timeout(DEATH, self.ended()).await;
        ended.unwrap_or(Err(Error::Lost))
    }

    /// Asks for a stop until it is granted, and has nobody sleep over it.
    async fn press(&self, grace: Duration) -> Infallible {
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        let ask = async {
            while self.ask(Ask::Stop { grace_ms }, &[]).await.is_err() {
                // Most often because it has ended.
                tokio::time::sleep(PAUSE).await;
            }
        };
        holder::send(&self.state_dir, Signal::CONT).await;
        tokio::join!(holder::wake(&self.state_dir, NUDGE), ask).0
    }
}
