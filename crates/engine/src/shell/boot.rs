//! Boot, upkeep and shutdown: recovers the work of a dead process, checks the database after a crash, and drains the host
//! in bounded time.

use super::due::join_all;
use super::{AFTER_A_FAULT_MS, Sender, Shell, TouchedAgents};
use crate::error::Error;
use crate::tool_run::ToolRun;
use holon_core::Input;
use holon_domain::agent::{AgentRecord, HomeState, Lifecycle};
use holon_domain::effect::EffectId;
use holon_domain::previous_exit::PreviousExit;
use holon_domain::{AgentId, limits};
use holon_store::{LastExit, Ledger, Readers, RecoveryRows, WriteOrder, commit};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::{self, error::RecvError};

/// Agents recovered together, so that they share commits.
const RECOVERED_TOGETHER: usize = 256;
/// Pause between attempts to check an agent after an unconfirmed commit.
const CLEAR_UP_PAUSE_MS: u64 = 1_000;
/// Attempts between two log lines: one line per minute.
const CLEAR_UP_LOG_EVERY: u64 = 60;
/// Time for interrupted tool calls to commit their outcome at the end of a drain.
const LAST_WORDS_MS: u64 = 2_000;

/// Most agents at which a shutdown records where it leaves them; the others are found at the next start all the same.
const SHUTDOWN_RECORDS: usize = 256;

/// Work that an unconfirmed commit can leave behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OrphanedWork {
    /// An open effect that no task performs.
    Effect(EffectId),
    /// Rows of an agent whose home is gone.
    Rows,
}

impl Shell {
    /// Recovers the work of the last process: every agent with open work, a page at a time. Called once, after all
    /// ports are bound and before inputs are accepted.
    pub(crate) async fn recover(&self, last_exit: &LastExit) -> Result<(), Error> {
        self.remove_temporary_aside().await?;
        let mut from = None;
        loop {
            let page = self
                .store
                .agents_to_recover(from, RECOVERED_TOGETHER)
                .await?;
            self.note_temporaries(&page.agents).await;
            let recoveries = page
                .agents
                .iter()
                .filter(|agent_id| self.covers(agent_id))
                .map(|agent_id| self.recover_one(agent_id, last_exit.of(agent_id)));
            join_all(recoveries.collect::<Vec<_>>()).await;
            from = page.next;
            if from.is_none() {
                break;
            }
        }
        self.remove_orphans_of_trees().await
    }

    /// Records that every agent is recovered. If that fails, a restored store counts as restored once more, which repeats
    /// no call.
    pub(crate) async fn note_recovered(&self) {
        if let Err(error) = self.store.note_recovered().await {
            tracing::warn!(%error, "the end of the recovery could not be recorded");
        }
    }

    /// Checks an agent in the background after a commit about it could not be confirmed.
    pub(super) fn spawn_clear_up(&self, agent_id: AgentId) {
        let shell = self.clone();
        self.spawn(async move { shell.clear_up(&agent_id).await });
    }

    /// Checks every agent of an unconfirmed commit.
    pub(super) async fn clear_up_all(&self, agents: BTreeSet<AgentId>) {
        join_all(agents.iter().map(|agent_id| self.clear_up(agent_id))).await;
    }

    /// Checks an agent after an unconfirmed commit, which may have opened effects that no task performs. As at boot,
    /// each is handled by its own restart rule; running effects are left alone.
    pub(super) async fn clear_up(&self, agent_id: &AgentId) {
        let mut tries: u64 = 0;
        let seen = self.take_backs.of(agent_id);
        while !self.halted.is_cancelled() {
            match self.try_clear_up(agent_id).await {
                Ok(())
                | Err(Error::StoreLost { .. } | Error::ShuttingDown | Error::AgentAside { .. }) => {
                    return;
                }
                // No decision can be made about the agent. The next start tries again.
                Err(Error::Internal { message }) => {
                    return self.put_aside(agent_id, message, seen).await;
                }
                Err(error) => {
                    if tries.is_multiple_of(CLEAR_UP_LOG_EVERY) {
                        tracing::warn!(%agent_id, %error, "an agent could not be looked after yet");
                    }
                    tries += 1;
                    self.pause(CLEAR_UP_PAUSE_MS).await;
                }
            }
        }
    }

    /// Makes one attempt to check an agent. Looks twice: the hook starts the work of a commit after it, so only an
    /// effect that is still not running at the second look is orphaned.
    async fn try_clear_up(&self, agent_id: &AgentId) -> Result<(), Error> {
        let (shell, id) = (self.clone(), agent_id.clone());
        let seen = self.take_backs.of(agent_id);
        let look = move |ledger: &mut dyn Ledger| shell.find_orphaned_work(ledger, &id);
        let first = match commit(self.store.as_ref(), WriteOrder::runtime(0), look).await {
            Ok(first) => first,
            Err(error) => return Err(self.note_write_failure(agent_id, error, seen).await),
        };
        // The due loop does not know a time that the commit set, and the queue may hold more.
        self.due_set.notify_one();
        if first.is_none() {
            let more = Arc::new(Input::Continue);
            let touched = TouchedAgents::default();
            let submitted = self.try_submit(agent_id, Sender::Runtime, &more, &touched);
            return submitted.await.map(drop).or_else(accept_missing);
        }
        let (shell, id) = (self.clone(), agent_id.clone());
        let second = commit(self.store.as_ref(), WriteOrder::runtime(0), move |ledger| {
            if shell.find_orphaned_work(ledger, &id)? == first {
                shell.take_up(ledger, &id)?;
            }
            Ok(())
        });
        match second.await {
            Ok(()) => Ok(()),
            Err(error) => Err(self.note_write_failure(agent_id, error, seen).await),
        }
    }

    /// Finds committed work of this agent that no task performs.
    fn find_orphaned_work(
        &self,
        ledger: &mut dyn Ledger,
        agent_id: &AgentId,
    ) -> Result<Option<OrphanedWork>, holon_store::Error> {
        let Some((no, agent)) = ledger.agent(agent_id)? else {
            return Ok(None);
        };
        let mine = ledger.open_effects(no)?;
        if mine.is_empty() {
            let half_removed = agent.lifecycle == Lifecycle::Deleting;
            return Ok(half_removed.then_some(OrphanedWork::Rows));
        }
        let running = self.lock_running();
        let is_held = |effect: &EffectId| running.contains_key(&(agent_id.clone(), *effect));
        let left = mine.into_iter().find(|effect| !is_held(effect));
        Ok(left.map(OrphanedWork::Effect))
    }

    fn take_up(
        &self,
        ledger: &mut dyn Ledger,
        agent_id: &AgentId,
    ) -> Result<(), holon_store::Error> {
        let (now, mut entropy) = (self.ports.clock.now(), self.ports.entropy.source());
        let handled =
            self.kernel
                .handle(ledger, agent_id, &Input::TakeUp, now, entropy.as_mut())?;
        if let Ok(handled) = handled {
            self.dispatch_after(ledger, handled.work);
        }
        Ok(())
    }

    async fn recover_one(&self, agent_id: &AgentId, exit: PreviousExit) {
        if let Ok(recovery) = Box::pin(self.recovery_of(agent_id, exit)).await {
            holon_fault::hit("recover.agent");
            self.submit_until_committed(agent_id, recovery).await;
        }
    }

    /// Builds the recovery input of an agent: stops unknown commands in its home, and proves or probes its open call.
    ///
    /// # Errors
    /// When the agent is put aside, or the host halts.
    pub(super) async fn recovery_of(
        &self,
        agent_id: &AgentId,
        exit: PreviousExit,
    ) -> Result<Input, Error> {
        let (mut proven, mut found) = (None, Vec::new());
        if let Some(left) = self.read_recovery_rows(agent_id).await? {
            let round = left.round_in_hand;
            let call = round.and_then(|(agent, round)| ToolRun::in_hand(agent, round));
            let stopping = self.stopping_batches(agent_id).await;
            self.sweep(&left.agent_home, call.as_ref(), &left.tasks, &stopping)
                .await;
            proven = self.prove_patch(call.as_ref()).await;
            // After any other exit no interruption is counted, so there is nothing to probe.
            if exit == PreviousExit::Unclean {
                found = self.probe_effects(agent_id, call.as_ref()).await;
            }
        }
        Ok(Input::Recover {
            exit,
            proven,
            found,
        })
    }

    /// Reads the rows that a recovery needs. Retries a failed read until the host halts.
    async fn read_recovery_rows(&self, agent_id: &AgentId) -> Result<Option<RecoveryRows>, Error> {
        loop {
            let read = self.store.recovery_rows(agent_id);
            let error = match self.read_or_put_aside(agent_id, read).await {
                Ok(found) => return Ok(found),
                Err(error @ Error::AgentAside { .. }) => return Err(error),
                Err(error) => error,
            };
            if self.halted.is_cancelled() {
                return Err(Error::ShuttingDown);
            }
            tracing::warn!(%agent_id, %error, "an agent could not be read yet");
            self.pause(AFTER_A_FAULT_MS).await;
        }
    }

    /// Checks the database in the background after an unclean exit, and logs the findings.
    pub(crate) async fn check_after_crash(self, readers: Readers) {
        let checked = tokio::select! {
            checked = readers.quick_check() => checked,
            () = self.draining.cancelled() => return,
        };
        match checked {
            Ok(findings) if findings.is_empty() => {
                tracing::info!("the database passed its check after an unclean exit")
            }
            Ok(findings) => tracing::error!(
                ?findings,
                "the database is damaged; stop the host and restore a backup"
            ),
            Err(error) => {
                tracing::warn!(%error, "the database could not be checked after an unclean exit")
            }
        }
    }

    /// Shuts down in bounded time: starts no new work, cancels model calls, gives tool calls their grace time, then
    /// closes the store. Stops no agent.
    pub(crate) async fn drain(&self) -> Result<(), Error> {
        // Temporary agents are removed first, because their removal cannot start once the drain has begun.
        self.closing.cancel();
        self.removals.close();
        let removed = tokio::time::timeout(
            Duration::from_millis(limits::DRAIN_MS),
            self.removals.wait(),
        );
        if removed.await.is_err() {
            tracing::warn!("a temporary agent is still there; the next start removes it");
        }
        let at_work = self.agents_at_work();
        self.draining.cancel();
        self.spawned.close();
        self.record_shutdown(at_work).await;
        if !self.tasks_end_within(limits::DRAIN_MS).await {
            self.halted.cancel();
            if !self.tasks_end_within(LAST_WORDS_MS).await {
                tracing::warn!("some work did not end in time; the next start takes it up");
            }
        }
        self.halted.cancel();
        Ok(self.store.close().await?)
    }

    /// Lists the agents with an effect that runs, at most [`SHUTDOWN_RECORDS`].
    fn agents_at_work(&self) -> Vec<AgentId> {
        let running = self.lock_running();
        let mut at_work: Vec<AgentId> = running.keys().map(|(id, _)| id.clone()).collect();
        drop(running);
        at_work.sort();
        at_work.dedup();
        at_work.truncate(SHUTDOWN_RECORDS);
        at_work
    }

    /// Records at agents at work where the shutdown leaves them, within a bounded time: the next start finds their work
    /// without it.
    async fn record_shutdown(&self, at_work: Vec<AgentId>) {
        let record = |agent_id: AgentId| async move {
            let recorded = self.submit(&agent_id, Sender::Runtime, Input::HostStops);
            if let Err(error) = recorded.await {
                tracing::debug!(%agent_id, %error, "the shutdown was not recorded");
            }
        };
        let all = join_all(at_work.into_iter().map(record).collect::<Vec<_>>());
        if tokio::time::timeout(Duration::from_millis(LAST_WORDS_MS), all)
            .await
            .is_err()
        {
            tracing::debug!("the shutdown was not recorded in time");
        }
    }

    /// Stops everything at once without writing to the store, which is lost.
    pub(crate) fn abandon(&self) {
        self.closing.cancel();
        self.removals.close();
        self.spawned.close();
        self.draining.cancel();
        self.halted.cancel();
    }

    /// The error for callers that the shutdown cuts off.
    pub(crate) fn shutdown_error(&self) -> Error {
        self.store.lost().map_or(Error::ShuttingDown, Error::from)
    }

    /// Returns once a shutdown begins to wait for temporary agents.
    pub(crate) async fn wait_for_closing(&self) {
        self.closing.cancelled().await;
    }

    /// Returns once a shutdown begins.
    pub(crate) async fn wait_for_shutdown(&self) {
        self.draining.cancelled().await;
    }

    async fn tasks_end_within(&self, millis: u64) -> bool {
        tokio::time::timeout(Duration::from_millis(millis), self.spawned.wait())
            .await
            .is_ok()
    }

    /// Waits until an agent's rows are gone, or until its removal is stuck because its home cannot be removed.
    pub(crate) async fn wait_removed(&self, agent_id: &AgentId) {
        let mut removed = self.removed.subscribe();
        let mut news = self.store.subscribe_to(agent_id);
        loop {
            // An agent that was put aside is an error here. It is not removed before an operator starts it.
            match self.store.agent(agent_id).await {
                Ok(Some(agent)) if is_stuck(&agent) => return,
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return,
            }
            tokio::select! {
                is_open = is_removed(&mut removed, agent_id) => if !is_open { return },
                heard = news.recv() => if matches!(heard, Err(RecvError::Closed)) { return },
                () = self.draining.cancelled() => return,
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests;

/// Waits until this agent is removed, or removals were missed. Returns false if no more are reported.
async fn is_removed(removed: &mut broadcast::Receiver<AgentId>, agent_id: &AgentId) -> bool {
    loop {
        match removed.recv().await {
            Ok(id) if id == *agent_id => return true,
            Ok(_) => {}
            Err(RecvError::Lagged(_)) => return true,
            Err(RecvError::Closed) => return false,
        }
    }
}

/// Returns true if a removal waits for its next attempt. Callers do not wait for that.
const fn is_stuck(agent: &AgentRecord) -> bool {
    matches!(agent.home, HomeState::NotRemoved { .. })
}

/// Accepts that an agent is gone: it needs no check.
fn accept_missing(error: Error) -> Result<(), Error> {
    match error {
        Error::AgentNotFound { .. } => Ok(()),
        other => Err(other),
    }
}
