//! Commits the outcome of an effect, retrying while the store cannot accept writes.

use super::{AFTER_A_FAULT_MS, Sender, Shell, TouchedAgents, effect};
use crate::error::Error;
use holon_core::{Input, Reply};
use holon_domain::AgentId;
use std::sync::Arc;

/// A decision about an outcome that broke a rule of the runtime.
#[derive(Debug)]
pub(super) struct DecisionFault {
    message: String,
    /// Take-back count of the agent before the decision.
    seen: u64,
}

impl Shell {
    /// Commits an outcome and returns the kernel's reply, if there is one. Retries while the disk is full or failing.
    /// If no decision can be made on the outcome, its turn is given up and the agent is checked.
    pub(crate) async fn submit_until_committed(
        &self,
        agent_id: &AgentId,
        input: Input,
    ) -> Option<Reply> {
        let input = Arc::new(input);
        match self.submit_or_fault(agent_id, &input).await {
            Ok(reply) => reply,
            Err(fault) => {
                self.handle_fault(agent_id, &input, fault).await;
                None
            }
        }
    }

    /// Commits an outcome like [`Self::submit_until_committed`], but leaves a fault of its decision to the caller.
    pub(super) async fn submit_or_fault(
        &self,
        agent_id: &AgentId,
        input: &Arc<Input>,
    ) -> Result<Option<Reply>, DecisionFault> {
        let touched = TouchedAgents::default();
        let mut in_doubt = false;
        let reply = self
            .retry_submission(agent_id, input, &touched, &mut in_doubt)
            .await;
        // An unconfirmed commit may have asked for work that no task performs.
        if in_doubt {
            self.clear_up_all(touched.all(agent_id)).await;
        }
        reply
    }

    async fn retry_submission(
        &self,
        agent_id: &AgentId,
        input: &Arc<Input>,
        touched: &TouchedAgents,
        in_doubt: &mut bool,
    ) -> Result<Option<Reply>, DecisionFault> {
        let seen = self.take_backs.of(agent_id);
        let mut pause_ms = 50;
        let mut waits = None;
        loop {
            let error = match self
                .try_submit(agent_id, Sender::Runtime, input, touched)
                .await
            {
                Ok(Reply::RowsMayGo) => {
                    self.remove_rows(agent_id).await;
                    return Ok(Some(Reply::RowsMayGo));
                }
                Ok(reply) => return Ok(Some(reply)),
                Err(error) => error,
            };
            match error {
                Error::DiskFull => {
                    waits.get_or_insert_with(|| self.stalled.enter(agent_id));
                }
                Error::Overloaded | Error::Storage { .. } => {}
                Error::CommitUnknown => {
                    *in_doubt = true;
                    // `GiveUp` names no turn. A repeated one could end the next turn.
                    if matches!(**input, Input::GiveUp { .. }) {
                        return Ok(None);
                    }
                }
                Error::Internal { message } => {
                    return Err(DecisionFault { message, seen });
                }
                Error::StoreLost { .. }
                | Error::ShuttingDown
                | Error::AgentNotFound { .. }
                | Error::AgentAside { .. } => {
                    return Ok(None);
                }
                other => {
                    tracing::error!(%agent_id, error = %other, "an outcome could not be written");
                    return Ok(None);
                }
            }
            if self.halted.is_cancelled() {
                return Ok(None);
            }
            self.pause(pause_ms).await;
            pause_ms = (pause_ms * 2).min(1_000);
        }
    }

    /// Handles a decision that broke a rule of the runtime: gives up the turn and restarts its open effects. An agent
    /// whose turn cannot be given up is put aside.
    pub(super) async fn handle_fault(
        &self,
        agent_id: &AgentId,
        input: &Input,
        fault: DecisionFault,
    ) {
        let DecisionFault { message, seen } = fault;
        if matches!(input, Input::GiveUp { .. }) {
            return self.put_aside(agent_id, message, seen).await;
        }
        tracing::error!(%agent_id, message, "a decision failed; its turn is given up");
        Box::pin(self.submit_until_committed(agent_id, Input::GiveUp { message })).await;
        // Effects outside of a turn are still open. A permanent defect costs one attempt per second.
        self.pause(AFTER_A_FAULT_MS).await;
        if let Some(id) = effect::effect_of(input) {
            // No task performs the effect any more. While it counted as running it would not be restarted.
            self.lock_running().remove(&(agent_id.clone(), id));
        }
        self.clear_up(agent_id).await;
    }
}
