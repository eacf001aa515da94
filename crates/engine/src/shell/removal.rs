//! Removing agents: the rows of one whose home is gone, and the whole of one about which nothing can be decided.
//!
//! The normal way is a decision (`core::lifecycle`), which ends the agent's tasks and removes its home by effects. An
//! agent that is put aside cannot decide, so it is removed here from outside. Everything is tried until it is done, and
//! a boot in between begins again.

use super::Shell;
use crate::error::Error;
use holon_domain::{AgentId, limits};
use holon_store::{Removal, WriteError};

/// Rows one commit removes of an agent that goes.
const REMOVAL_STEP: u64 = 1_000;
/// Temporary agents that were put aside and are removed at one boot; the rest follows at the next.
const ASIDE_PER_BOOT: usize = 256;

impl Shell {
    /// Removes what is left of an agent whose home is gone. Resumable: a boot in between begins again at the home.
    pub(super) async fn remove_rows(&self, agent_id: &AgentId) {
        let mut pause_ms = limits::REMOVAL_PAUSE_MS;
        loop {
            match self.store.remove_agent_rows(agent_id, REMOVAL_STEP).await {
                Ok(Removal::Done) => break,
                Ok(Removal::More) => {}
                Err(WriteError::Closed | WriteError::StoreLost(_)) => return,
                Err(error) => {
                    tracing::warn!(%agent_id, %error, "an agent's rows could not be removed yet");
                    if !self.pause_removal(&mut pause_ms).await {
                        return;
                    }
                }
            }
        }
        self.removed.send_modify(|count| *count += 1);
    }

    /// Removes the temporary agents that were put aside: recovery passes them over, and their callers are gone.
    pub(super) async fn remove_temporary_aside(&self) -> Result<(), Error> {
        for agent_id in self.store.temporary_aside(ASIDE_PER_BOOT).await? {
            let shell = self.clone();
            self.spawn(async move {
                // Where its rows can be read by now, it decides about its own end.
                if shell.take_back(&agent_id).await.is_err() {
                    shell.remove_if_aside(&agent_id).await;
                }
            });
        }
        Ok(())
    }

    /// Removes an agent from outside, if it is put aside.
    pub(crate) async fn remove_if_aside(&self, agent_id: &AgentId) {
        match self.store.home_of_aside(agent_id).await {
            Ok(Some(home)) => self.remove_from_outside(agent_id, &home).await,
            Ok(None) => {}
            Err(error) => {
                tracing::error!(%agent_id, %error, "an agent that is put aside cannot be removed");
            }
        }
    }

    async fn remove_from_outside(&self, agent_id: &AgentId, home: &str) {
        tracing::warn!(%agent_id, "an agent that is put aside is removed without a decision");
        self.lock_running().retain(|(of, _), token| {
            let goes = of == agent_id;
            if goes {
                token.cancel();
            }
            !goes
        });
        self.ports.command.sweep(home, &[]).await;
        let mut pause_ms = limits::REMOVAL_PAUSE_MS;
        while let Err(reason) = self.ports.home.remove(agent_id, home).await {
            tracing::warn!(%agent_id, reason, "an agent's home could not be removed yet");
            if !self.pause_removal(&mut pause_ms).await {
                return;
            }
        }
        self.remove_rows(agent_id).await;
    }

    /// Waits before another attempt, longer each time. False when the host goes down first.
    async fn pause_removal(&self, pause_ms: &mut u64) -> bool {
        tokio::select! {
            () = self.pause(*pause_ms) => {}
            () = self.draining.cancelled() => return false,
        }
        *pause_ms = (*pause_ms * 2).min(limits::REMOVAL_PAUSE_MAX_MS);
        !self.halted.is_cancelled()
    }
}
