//! Boot, upkeep and going down: recovery of what a dead process left, retention, the bounded drain.

use super::due::futures_join;
use super::{AFTER_A_FAULT_MS, Sender, Shell, Touched};
use crate::error::Error;
use crate::tool_run::ToolRun;
use holon_core::Input;
use holon_domain::agent::{AgentRecord, HomeState, Lifecycle};
use holon_domain::effect::EffectId;
use holon_domain::{AgentId, limits};
use holon_store::{LastExit, Ledger, LeftBehind, Readers, commit};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;

/// Agents recovered together, so that their commits are shared.
const RECOVERED_TOGETHER: usize = 256;
/// Pause between two looks at the size of the audit log.
const RETENTION_PAUSE_MS: u64 = 60_000;
/// Pause between two tries to look after an agent whose commit could not be confirmed.
const CLEAR_UP_PAUSE_MS: u64 = 1_000;
/// Of those tries, how many pass from one line of the log to the next: a minute of them.
const CLEAR_UP_LOG_EVERY: u64 = 60;
/// What a drain gives tool calls it had to stop, to put that on record.
const LAST_WORDS_MS: u64 = 2_000;

/// What a commit nobody was told of can leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LeftOpen {
    /// An effect nobody performs.
    Effect(EffectId),
    /// The rows of an agent whose home is gone.
    Rows,
}

impl Shell {
    /// Settles what the last process left open: every agent with something due, not only the default one, a page at a
    /// time. Called once, after all ports are bound and before anything else is admitted.
    pub(crate) async fn recover(&self, last_exit: &LastExit) -> Result<(), Error> {
        self.remove_temporary_aside().await?;
        let mut after = None;
        loop {
            let page = self
                .store
                .agents_to_recover(after, RECOVERED_TOGETHER)
                .await?;
            self.note_temporaries(&page).await;
            let recoveries = page
                .iter()
                .filter(|agent_id| self.covers(agent_id))
                .map(|agent_id| self.recover_one(agent_id, last_exit.was_clean_for(agent_id)));
            futures_join(recoveries.collect::<Vec<_>>()).await;
            let full = page.len() == RECOVERED_TOGETHER;
            after = page.into_iter().last().filter(|_| full);
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// Looks after an agent once a commit about it could not be confirmed.
    pub(super) fn spawn_clear_up(&self, agent_id: AgentId) {
        let shell = self.clone();
        self.spawn(async move { shell.clear_up(&agent_id).await });
    }

    /// Looks after every agent that a commit nobody could be sure of made a decision about.
    pub(super) async fn clear_up_all(&self, agents: BTreeSet<AgentId>) {
        futures_join(agents.iter().map(|agent_id| self.clear_up(agent_id))).await;
    }

    /// After a commit nobody could be sure of: what it asked for may be on record without anyone doing it. As at boot,
    /// it is settled by the rule of its effect; what is in hand is left alone.
    pub(super) async fn clear_up(&self, agent_id: &AgentId) {
        let mut tries: u64 = 0;
        let seen = self.take_backs.of(agent_id);
        while !self.halted.is_cancelled() {
            match self.try_clear_up(agent_id).await {
                Ok(())
                | Err(Error::StoreLost { .. } | Error::ShuttingDown | Error::AgentAside { .. }) => {
                    return;
                }
                // No decision can be made about it; a start tries again.
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

    /// Looks twice: work of a commit is handed out after it, so only what nobody has taken by the second look is left.
    async fn try_clear_up(&self, agent_id: &AgentId) -> Result<(), Error> {
        let (shell, id) = (self.clone(), agent_id.clone());
        let seen = self.take_backs.of(agent_id);
        let look = move |ledger: &mut dyn Ledger| shell.left_open(ledger, &id);
        let first = match commit(self.store.as_ref(), 0, look).await {
            Ok(first) => first,
            Err(error) => return Err(self.write_about_failed(agent_id, error, seen).await),
        };
        // A time that commit set is not known to the due loop, and its queue may hold more.
        self.due_set.notify_one();
        if first.is_none() {
            let more = Arc::new(Input::Continue);
            let touched = Touched::default();
            let submitted = self.try_submit(agent_id, Sender::Runtime, &more, &touched);
            return submitted.await.map(drop).or_else(gone);
        }
        let (shell, id) = (self.clone(), agent_id.clone());
        let second = commit(self.store.as_ref(), 0, move |ledger| {
            if shell.left_open(ledger, &id)? == first {
                shell.take_up(ledger, &id)?;
            }
            Ok(())
        });
        match second.await {
            Ok(()) => Ok(()),
            Err(error) => Err(self.write_about_failed(agent_id, error, seen).await),
        }
    }

    /// Work of this agent that is on record and in nobody's hands.
    fn left_open(
        &self,
        ledger: &mut dyn Ledger,
        agent_id: &AgentId,
    ) -> Result<Option<LeftOpen>, holon_store::Error> {
        let Some((no, agent)) = ledger.agent(agent_id)? else {
            return Ok(None);
        };
        let mine = ledger.open_effects(no)?;
        if mine.is_empty() {
            let half_removed = agent.lifecycle == Lifecycle::Deleting;
            return Ok(half_removed.then_some(LeftOpen::Rows));
        }
        let running = self.lock_running();
        let is_held = |effect: &EffectId| running.contains_key(&(agent_id.clone(), *effect));
        let left = mine.into_iter().find(|effect| !is_held(effect));
        Ok(left.map(LeftOpen::Effect))
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

    async fn recover_one(&self, agent_id: &AgentId, clean_exit: bool) {
        if let Ok(recovery) = self.recovery_of(agent_id, clean_exit).await {
            holon_fault::hit("recover.agent");
            self.settle(agent_id, recovery).await;
        }
    }

    /// What a recovery of an agent has to know: ends what runs in its home and is in no row, and finds out what its
    /// tool call came to.
    ///
    /// # Errors
    /// When the agent is put aside, or the host halts.
    pub(super) async fn recovery_of(
        &self,
        agent_id: &AgentId,
        clean_exit: bool,
    ) -> Result<Input, Error> {
        let (mut proven, mut found) = (None, Vec::new());
        if let Some(left) = self.left_behind(agent_id).await? {
            let round = left.round_in_hand;
            let call = round.and_then(|(agent, round)| ToolRun::in_hand(agent, round));
            self.sweep(&left.agent_home, call.as_ref(), &left.tasks)
                .await;
            proven = self.proven(call.as_ref()).await;
            // After a clean exit nothing counts, so nothing has to be looked for.
            if !clean_exit {
                found = self.probe_effects(agent_id, call.as_ref()).await;
            }
        }
        Ok(Input::Recover {
            clean_exit,
            proven,
            found,
        })
    }

    /// What a process that is gone left of an agent. A read that fails is tried again until the host halts.
    async fn left_behind(&self, agent_id: &AgentId) -> Result<Option<LeftBehind>, Error> {
        loop {
            let read = self.store.left_behind(agent_id);
            let error = match self.noted(agent_id, read).await {
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

    /// Keeps the audit log within its budget for as long as the host runs.
    pub(crate) async fn run_retention_loop(self) {
        while !self.draining.is_cancelled() {
            self.trim_events().await;
            let pause = Duration::from_millis(RETENTION_PAUSE_MS);
            let until = self.ports.clock.elapsed() + pause;
            tokio::select! {
                () = self.ports.clock.sleep_until(until) => {}
                () = self.draining.cancelled() => {}
            }
        }
    }

    async fn trim_events(&self) {
        loop {
            let budget = self.conduct.event_budget_bytes;
            match self.store.trim_events(budget).await {
                Ok(0) => return,
                Ok(removed) => {
                    tracing::info!(removed, "old events were removed to stay within the budget")
                }
                Err(error) => return tracing::warn!(%error, "old events could not be removed"),
            }
            if self.draining.is_cancelled() {
                return;
            }
        }
    }

    /// After an unclean exit, has the file checked in the background and says what was found.
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

    /// Goes down: nothing new begins, model calls are let go, tool calls get their time, then the store is closed.
    /// Bounded, and no agent is stopped by it.
    pub(crate) async fn drain(&self) -> Result<(), Error> {
        // Agents whose one request is answered go first: once nothing new begins, they could not.
        self.removals.close();
        let removed = tokio::time::timeout(
            Duration::from_millis(limits::DRAIN_MS),
            self.removals.wait(),
        );
        if removed.await.is_err() {
            tracing::warn!("a temporary agent is still there; the next start removes it");
        }
        self.draining.cancel();
        self.tasks.close();
        if !self.tasks_end_within(limits::DRAIN_MS).await {
            self.halted.cancel();
            if !self.tasks_end_within(LAST_WORDS_MS).await {
                tracing::warn!("some work did not end in time; the next start takes it up");
            }
        }
        self.halted.cancel();
        Ok(self.store.close().await?)
    }

    /// Ends everything at once, without a word to the store: it is no longer there.
    pub(crate) fn abandon(&self) {
        self.removals.close();
        self.tasks.close();
        self.draining.cancel();
        self.halted.cancel();
    }

    /// What those are told whom the end of the host cuts off.
    pub(crate) fn why_down(&self) -> Error {
        self.store.lost().map_or(Error::ShuttingDown, Error::from)
    }

    /// Returns once the host goes down.
    pub(crate) async fn going_down(&self) {
        self.draining.cancelled().await;
    }

    async fn tasks_end_within(&self, millis: u64) -> bool {
        tokio::time::timeout(Duration::from_millis(millis), self.tasks.wait())
            .await
            .is_ok()
    }

    /// Waits until an agent's rows are gone, or until they cannot go: a home that could not be removed stays.
    pub(crate) async fn wait_removed(&self, agent_id: &AgentId) {
        let mut removed = self.removed.subscribe();
        let mut news = self.store.subscribe();
        loop {
            // One that was put aside is an error: it is not removed before somebody starts it again.
            match self.store.agent(agent_id).await {
                Ok(Some(agent)) if is_stuck(&agent) => return,
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return,
            }
            tokio::select! {
                changed = removed.changed() => if changed.is_err() { return },
                heard = news.recv() => if matches!(heard, Err(RecvError::Closed)) { return },
                () = self.draining.cancelled() => return,
            }
        }
    }
}

#[cfg(test)]
mod tests;

/// Whether a removal waits for another attempt, which nobody has to wait for.
const fn is_stuck(agent: &AgentRecord) -> bool {
    matches!(agent.home, HomeState::NotRemoved { .. })
}

/// An agent that is gone needs no looking after.
fn gone(error: Error) -> Result<(), Error> {
    match error {
        Error::AgentNotFound { .. } => Ok(()),
        other => Err(other),
    }
}
