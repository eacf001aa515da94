//! Performs a model round: reads the turn's rows, asks the model, and stamps the outcome. What the request holds and
//! what its reply comes to is `model_request`'s.

use super::{AFTER_A_FAULT_MS, Shell};
use crate::error::Error;
use crate::model_request::RoundRequest;
use holon_core::input::RoundTiming;
use holon_core::{Input, Stamp};
use holon_domain::AgentId;
use holon_domain::model::ModelFailure;
use holon_store::TurnRows;
use tokio_util::sync::CancellationToken;

impl Shell {
    /// Asks the model. No outcome means: the turn is over, or the host goes down and asks again at its next boot.
    pub(super) async fn call_model(
        &self,
        agent_id: &AgentId,
        turn_index: u64,
        stamp: Stamp,
        cancel: CancellationToken,
    ) -> Option<Input> {
        let began = self.ports.clock.elapsed();
        let rows = self.rows_of_turn(agent_id, turn_index, &cancel).await?;
        let Some(model) = &rows.turn.model else {
            return Some(self.not_asked(stamp, ModelFailure::no_model()));
        };
        let policy = self.ports.model.policy(model);
        let plan = self.look_at_plan(&rows).await;
        let round = RoundRequest::new(rows, policy, plan, self.conduct.reminder)?;
        let build_ms = self.millis_since(began);
        let (started_at, asked) = (self.ports.clock.now(), self.ports.clock.elapsed());
        let request = round.request.clone();
        let reply = tokio::select! {
            reply = self.ports.model.call(request, cancel.clone()) => reply,
            () = cancel.cancelled() => return None,
            () = self.draining.cancelled() => return None,
        };
        let timing = RoundTiming {
            context_build_ms: build_ms,
            started_at,
            completed_at: self.ports.clock.now(),
            provider_ms: self.millis_since(asked),
        };
        let mut entropy = self.ports.entropy.source();
        Some(round.outcome(stamp, reply, timing, entropy.as_mut()))
    }

    /// Reads what the request is built from. A read that fails says nothing about any provider, so it is tried again
    /// until it works or nobody waits for it any more.
    async fn rows_of_turn(
        &self,
        agent_id: &AgentId,
        turn_index: u64,
        cancel: &CancellationToken,
    ) -> Option<TurnRows> {
        loop {
            let read = self.store.turn(agent_id, turn_index);
            let error = match self.noted(agent_id, read).await {
                Ok(rows) => return rows,
                Err(Error::AgentAside { .. }) => return None,
                Err(error) => error,
            };
            tracing::warn!(%agent_id, %error, "the turn of an agent could not be read yet");
            tokio::select! {
                () = self.pause(AFTER_A_FAULT_MS) => {}
                () = cancel.cancelled() => return None,
                () = self.draining.cancelled() => return None,
            }
        }
    }

    /// A round that failed before any model was asked.
    fn not_asked(&self, stamp: Stamp, failure: ModelFailure) -> Input {
        let now = self.ports.clock.now();
        let timing = RoundTiming {
            context_build_ms: 0,
            started_at: now,
            completed_at: now,
            provider_ms: 0,
        };
        Input::RoundFailed {
            stamp,
            failure,
            timing,
            joined: Vec::new(),
        }
    }

    pub(super) fn millis_since(&self, began: std::time::Duration) -> u64 {
        let took = self.ports.clock.elapsed().saturating_sub(began);
        u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
    }
}
