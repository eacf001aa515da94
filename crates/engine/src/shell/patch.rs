//! Patches: applies them for their calls, proves them after a crash, and finishes them when their turn was cancelled.
//!
//! A patch is never interrupted: it takes little time, and a half-applied one would have to be reverted. A cancelled
//! turn leaves the patch running, and the `finish_patch` effect waits for it. Invariant: one task at a time applies or
//! finishes the patch of a call, and a patch cannot begin once its turn is cancelled.

use super::Shell;
use crate::ports::CommandContext;
use crate::tool_outcome::ToolRunOutcome;
use crate::tool_run::ToolRun;
use holon_core::input::ProvenResult;
use holon_core::{Input, Stamp};
use holon_domain::intent::{ApplyPatch, HostAction};
use holon_domain::{AgentId, CallId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

/// Attempts to finish a patch before its journal is left alone. With backoff they take about a minute; an unreachable
/// workspace must not block the removal of its agent forever.
const FINISH_TRIES: u32 = 12;
/// First backoff; each further one is twice as long, up to the longest.
const FIRST_PAUSE_MS: u64 = 100;
const LONGEST_PAUSE_MS: u64 = 10_000;

/// One lock per call whose patch is being applied or finished. Locks without a holder are dropped.
#[derive(Debug, Default)]
pub(super) struct PatchLocks(Mutex<HashMap<CallId, Weak<tokio::sync::Mutex<()>>>>);

impl PatchLocks {
    async fn lock(&self, call: &CallId) -> OwnedMutexGuard<()> {
        let lock = self.of_call(call);
        lock.lock_owned().await
    }

    fn of_call(&self, call: &CallId) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        locks.retain(|_, lock| lock.strong_count() > 0);
        let known = locks.get(call).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let lock = Arc::default();
            locks.insert(call.clone(), Arc::downgrade(&lock));
            lock
        })
    }
}

impl Shell {
    /// Applies the patch of a call. `None` if the turn was cancelled before it began.
    pub(super) async fn apply_patch(
        &self,
        run: &ToolRun,
        context: CommandContext,
        patch: &ApplyPatch,
    ) -> Option<ToolRunOutcome> {
        let _at_work = self.patch_locks.lock(&run.call.id).await;
        // Checked under the lock: a stop that commits later finds the patch running and waits for it. A stop that came
        // before may have found nothing to finish, so nothing may begin.
        let in_hand = self.call_in_hand(&run.agent_id).await.ok()??;
        if in_hand.effect != run.effect {
            return None;
        }
        let applied = match holon_tools::apply_patch::text_of(&run.call, patch) {
            Ok(text) => {
                let call = run.call.id.clone();
                self.ports.file.apply_patch(context, call, text).await
            }
            Err(error) => Err(error),
        };
        Some(ToolRunOutcome::of_patch(applied))
    }

    /// Finishes a patch whose turn was cancelled, after this process has stopped working on it. `None` if another
    /// process finishes it, or if the host goes down first; then the effect stays open for the next boot.
    pub(super) async fn finish_patch(
        &self,
        agent_id: &AgentId,
        call: &CallId,
        stamp: Stamp,
        cancel: CancellationToken,
    ) -> Option<Input> {
        let home = self.home_of(agent_id).await?;
        let mut pause_ms = FIRST_PAUSE_MS;
        for tries in 1..=FINISH_TRIES {
            let alone = tokio::select! {
                alone = self.patch_locks.lock(call) => alone,
                () = cancel.cancelled() => return None,
                () = self.halted.cancelled() => return None,
            };
            // Not cancelled: the work continues on a blocking thread, and the lock has to cover it.
            let finished = self.ports.file.finish_patch(&home, call).await;
            drop(alone);
            match finished {
                Ok(()) => break,
                Err(reason) if tries == FINISH_TRIES => {
                    tracing::error!(%agent_id, %call, reason, "a patch could not be finished and is left as it is");
                }
                Err(reason) => {
                    tracing::warn!(%agent_id, %call, reason, "a patch could not be finished yet");
                    tokio::select! {
                        () = self.pause(pause_ms) => {}
                        () = cancel.cancelled() => return None,
                        () = self.draining.cancelled() => return None,
                    }
                    pause_ms = (pause_ms * 2).min(LONGEST_PAUSE_MS);
                }
            }
        }
        (!cancel.is_cancelled()).then_some(Input::PatchFinished { stamp })
    }

    /// Proves the outcome of the call that was running when the last process died, if its journal allows that.
    pub(super) async fn prove_patch(&self, run: Option<&ToolRun>) -> Option<Box<ProvenResult>> {
        let run = run?;
        let HostAction::ApplyPatch(patch) = &run.action else {
            return None;
        };
        let text = holon_tools::apply_patch::text_of(&run.call, patch).ok()?;
        // An agent that is brought back may have a patch running in this process.
        let _alone = self.patch_locks.lock(&run.call.id).await;
        let settled = self
            .ports
            .file
            .settle_patch(&run.agent_home, &run.call.id, &text);
        let envelope = holon_tools::apply_patch::envelope(settled.await?);
        Some(Box::new(ProvenResult {
            effect: run.effect,
            envelope,
        }))
    }
}
