//! Removes agents: the rows of one whose home is gone, and all of one that is put aside.
//!
//! Normally the agent decides about its removal (`core::lifecycle`), which ends its tasks and removes its home by
//! effects. An agent that is put aside cannot decide, so it is removed here. Removals are retried until they succeed;
//! after a restart they begin again.

use super::{Sender, Shell, engine_error};
use crate::error::Error;
use holon_core::Input;
use holon_core::delegation::child_home;
use holon_domain::operator_transport::OperatorTransportBinding;
use holon_domain::send::AgentSend;
use holon_domain::{AgentId, limits};
use holon_store::{HomeOfAside, Removal, WriteError, WriteOrder, commit};

/// Rows removed per commit.
const REMOVAL_STEP: u64 = 1_000;
/// Temporary agents put aside that are removed at one boot; the rest follows at the next.
const ASIDE_PER_BOOT: usize = 256;
/// Rows of trees in one read at boot.
const ORPHANS_PER_READ: usize = 256;

impl Shell {
    /// Removes the rows of an agent whose home is gone. Resumable: after a restart it begins again at the home.
    pub(super) async fn remove_rows(&self, agent_id: &AgentId) {
        // A child that is put aside took no order of its parent.
        let home = self.home_of(agent_id).await;
        self.remove_children(agent_id, home.as_deref()).await;
        // An agent that is being removed makes no binding, so no secret follows.
        self.forget_binding_secrets(agent_id, &[]).await;
        let mut pause_ms = limits::REMOVAL_PAUSE_MS;
        while let Err(error) = self.leave_tombstone(agent_id).await {
            if matches!(error, Error::ShuttingDown | Error::StoreLost { .. }) {
                return;
            }
            tracing::warn!(%agent_id, %error, "the removal of an agent could not be noted yet");
            if !self.pause_removal(&mut pause_ms).await {
                return;
            }
        }
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
        self.take_backs.forget(agent_id);
        // Without a waiting task there is no receiver.
        drop(self.removed.send(agent_id.clone()));
    }

    /// Removes the secrets of an agent's bindings except the kept ones. One that stays behind is used by no binding.
    pub(crate) async fn forget_binding_secrets(&self, agent_id: &AgentId, kept: &[String]) {
        let prefix = OperatorTransportBinding::secret_prefix(agent_id);
        let outbound = &self.ports.outbound;
        if let Err(reason) = outbound.forget_secrets(&prefix, kept).await {
            tracing::warn!(%agent_id, reason, "unused secrets of bindings stay stored");
        }
    }

    /// Notes the removal of an agent that callers know. The agent's own row is removed last, so a removal that begins
    /// again finds it.
    async fn leave_tombstone(&self, agent_id: &AgentId) -> Result<(), Error> {
        if !self.store.is_public(agent_id).await? {
            return Ok(());
        }
        let (id, now) = (agent_id.clone(), self.ports.clock.now());
        let noted = commit(self.store.as_ref(), WriteOrder::runtime(0), move |ledger| {
            ledger.add_tombstone(&id, now)
        });
        noted.await.map_err(engine_error)
    }

    /// Removes the temporary agents that were put aside. Recovery skips them, and their callers are gone.
    pub(super) async fn remove_temporary_aside(&self) -> Result<(), Error> {
        for agent_id in self.store.temporary_aside(ASIDE_PER_BOOT).await? {
            let shell = self.clone();
            self.spawn(async move {
                // If the rows can be read by now, the agent decides about its own removal.
                if shell.take_back(&agent_id).await.is_err() {
                    shell.remove_if_aside(&agent_id, None).await;
                }
            });
        }
        Ok(())
    }

    /// Removes an agent without its decision, if it is put aside. `usual_home` is its home if its settings, which name
    /// the home, cannot be read.
    pub(crate) async fn remove_if_aside(&self, agent_id: &AgentId, usual_home: Option<&str>) {
        match self.store.home_of_aside(agent_id).await {
            Ok(Some(HomeOfAside::Known(home))) => self.remove_from_outside(agent_id, &home).await,
            Ok(Some(HomeOfAside::Unreadable)) => match usual_home {
                Some(home) => self.remove_from_outside(agent_id, home).await,
                None => tracing::error!(
                    %agent_id,
                    "an agent that is put aside cannot be removed, because its home is not known"
                ),
            },
            Ok(None) => {}
            Err(error) => {
                tracing::error!(%agent_id, %error, "an agent that is put aside cannot be removed");
            }
        }
    }

    /// Removes the children of an agent that is being removed. Their rows name the agent until they are gone.
    async fn remove_children(&self, agent_id: &AgentId, home: Option<&str>) {
        match self.store.removed_with(agent_id).await {
            Ok(children) => {
                for child in children {
                    let usual_home = home.map(|home| child_home(home, &child));
                    self.spawn_child_removal(child, usual_home);
                }
            }
            Err(error) => {
                tracing::error!(%agent_id, %error, "the children of a removed agent are found at the next start");
            }
        }
    }

    /// Removes the children whose parent was removed by an earlier process or from outside. A child whose parent may be
    /// an agent with a damaged row is kept.
    pub(super) async fn remove_orphans_of_trees(&self) -> Result<(), Error> {
        let mut after = 0;
        loop {
            let page = self.store.orphans(after, ORPHANS_PER_READ).await?;
            for child in page.children.into_iter().filter(|child| self.covers(child)) {
                tracing::warn!(agent_id = %child, "a child whose parent is gone is removed");
                self.spawn_child_removal(child, None);
            }
            for child in page.kept {
                tracing::error!(
                    agent_id = %child,
                    "a child whose parent is not found is kept, because the row of an agent is damaged"
                );
            }
            match page.next {
                Some(next) => after = next,
                None => return Ok(()),
            }
        }
    }

    /// Removes a child whose parent goes or is gone, by its own decision if it can make one.
    fn spawn_child_removal(&self, child: AgentId, usual_home: Option<String>) {
        let shell = self.clone();
        self.spawn(async move {
            let mut pause_ms = limits::REMOVAL_PAUSE_MS;
            loop {
                let removed = Input::Received(AgentSend::Remove);
                match shell.submit(&child, Sender::Runtime, removed).await {
                    Ok(_) | Err(Error::AgentNotFound { .. }) => return,
                    Err(Error::ShuttingDown | Error::StoreLost { .. }) => return,
                    Err(Error::AgentAside { .. }) => {
                        return Box::pin(shell.remove_if_aside(&child, usual_home.as_deref())).await;
                    }
                    Err(error) => {
                        tracing::warn!(agent_id = %child, %error, "a child could not be removed yet");
                    }
                }
                if !shell.pause_removal(&mut pause_ms).await {
                    return;
                }
            }
        });
    }

    async fn remove_from_outside(&self, agent_id: &AgentId, home: &str) {
        tracing::warn!(%agent_id, "an agent that is put aside is removed without a decision");
        self.remove_children(agent_id, Some(home)).await;
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

    /// Waits with backoff before another attempt. Returns false if the host goes down first.
    async fn pause_removal(&self, pause_ms: &mut u64) -> bool {
        tokio::select! {
            () = self.pause(*pause_ms) => {}
            () = self.draining.cancelled() => return false,
        }
        *pause_ms = (*pause_ms * 2).min(limits::REMOVAL_PAUSE_MAX_MS);
        !self.halted.is_cancelled()
    }
}
