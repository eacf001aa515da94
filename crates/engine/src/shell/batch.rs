//! Stops the commands of a batch whose turn was cancelled, and finds out which of them ran.

use super::Shell;
use super::probe::PAGE;
use crate::ports::CommandKey;
use crate::tool_outcome::{commands_of_stopped_batch, item_end};
use holon_core::{Input, Reply, Stamp};
use holon_domain::agent::Lifecycle;
use holon_domain::effect::Effect;
use holon_domain::event::BatchItemEnd;
use holon_domain::{AgentId, CallId, limits};
use tokio_util::sync::CancellationToken;

impl Shell {
    /// Stops a batch, commits how its items ended, then forgets its commands.
    pub(super) async fn stop_batch(
        &self,
        agent_id: &AgentId,
        call: &CallId,
        items: u32,
        stamp: Stamp,
        cancel: CancellationToken,
    ) {
        let Some(agent) = self.read_agent(agent_id).await else {
            return;
        };
        let grace_ms = match agent.lifecycle {
            Lifecycle::Deleting => 0,
            Lifecycle::Booting | Lifecycle::Runnable | Lifecycle::Stopped => {
                limits::TASK_STOP_GRACE_MS
            }
        };
        let keys = CommandKey::of_call(&agent.settings.agent_home, call).items(items);
        let items = tokio::select! {
            ends = self.stop_items(&keys, grace_ms) => ends,
            () = cancel.cancelled() => return,
            () = self.draining.cancelled() => return,
        };
        holon_fault::hit("batch.stopped");
        let stopped = Input::BatchStopped { stamp, items };
        if self.submit_until_committed(agent_id, stopped).await != Some(Reply::Done) {
            return;
        }
        holon_fault::hit("batch.recorded");
        self.forget_commands(commands_of_stopped_batch(keys)).await;
    }

    /// Stops each item, also those that have not begun: they never begin then.
    async fn stop_items(&self, keys: &[CommandKey], grace_ms: u64) -> Vec<BatchItemEnd> {
        let mut ends = Vec::with_capacity(keys.len());
        for key in keys {
            let report = self.ports.command.stop(key, grace_ms).await;
            // An item that had not begun cannot begin any more, so the claim is final now.
            let begun = self.ports.command.was_begun(key).await;
            ends.push(item_end(begun, &report));
        }
        ends
    }

    /// Lists the calls whose batches are being stopped; empty if the effects cannot be read.
    pub(super) async fn stopping_batches(&self, agent_id: &AgentId) -> Vec<CallId> {
        let (mut calls, mut after) = (Vec::new(), 0);
        loop {
            let page = self.store.open_effects(agent_id, after, PAGE);
            let Ok(page) = self.read_or_put_aside(agent_id, page).await else {
                return calls;
            };
            let last = page.last().map(|record| record.id);
            let is_full = page.len() == PAGE;
            calls.extend(page.into_iter().filter_map(|record| match record.effect {
                Effect::StopBatch { call_id, .. } => Some(call_id),
                _ => None,
            }));
            match last {
                Some(last) if is_full => after = last,
                Some(_) | None => return calls,
            }
        }
    }
}
