//! Commits the outcome of an effect, retrying while the store cannot accept writes.

use super::{AFTER_A_FAULT_MS, Sender, Shell, Touched, effect};
use crate::error::Error;
use holon_core::{Input, Reply};
use holon_domain::AgentId;
use std::sync::Arc;

impl Shell {
    /// Brings an outcome home, and says how it was taken, if it was.
    /// It is not given up while there is a way to write it: a full disk or a failing one is
    /// waited out. What no decision could be made on is given up with its turn, and the agent is looked after.
    pub(crate) async fn settle(&self, agent_id: &AgentId, input: Input) -> Option<Reply> {
        let (input, touched) = (Arc::new(input), Touched::default());
        let mut in_doubt = false;
        let reply = self
            .settle_until_taken(agent_id, &input, &touched, &mut in_doubt)
            .await;
        // However it ended: a commit that may hold may have asked for things nobody does.
        if in_doubt {
            self.clear_up_all(touched.all(agent_id)).await;
        }
        reply
    }

    async fn settle_until_taken(
        &self,
        agent_id: &AgentId,
        input: &Arc<Input>,
        touched: &Touched,
        in_doubt: &mut bool,
    ) -> Option<Reply> {
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
                    return Some(Reply::RowsMayGo);
                }
                Ok(reply) => return Some(reply),
                Err(error) => error,
            };
            match error {
                Error::DiskFull => {
                    waits.get_or_insert_with(|| self.stalled.enter(agent_id));
                }
                Error::Overloaded | Error::Storage { .. } => {}
                Error::CommitUnknown => {
                    *in_doubt = true;
                    // Giving up names no turn: sent again, it could cost the next one.
                    if matches!(**input, Input::GiveUp { .. }) {
                        return None;
                    }
                }
                Error::Internal { message } => {
                    self.after_a_fault(agent_id, input, message, seen).await;
                    return None;
                }
                Error::StoreLost { .. }
                | Error::ShuttingDown
                | Error::AgentNotFound { .. }
                | Error::AgentAside { .. } => {
                    return None;
                }
                other => {
                    tracing::error!(%agent_id, error = %other, "an outcome could not be written");
                    return None;
                }
            }
            if self.halted.is_cancelled() {
                return None;
            }
            self.pause(pause_ms).await;
            pause_ms = (pause_ms * 2).min(1_000);
        }
    }

    /// A decision broke a rule of the runtime: its turn is given up, and what it left open is taken up. An agent that
    /// cannot even be given up is put aside.
    async fn after_a_fault(&self, agent_id: &AgentId, input: &Input, message: String, seen: u64) {
        if matches!(input, Input::GiveUp { .. }) {
            return self.put_aside(agent_id, message, seen).await;
        }
        tracing::error!(%agent_id, message, "a decision failed; its turn is given up");
        Box::pin(self.settle(agent_id, Input::GiveUp { message })).await;
        // What was not part of a turn is still open; a defect that stays costs one try a second.
        self.pause(AFTER_A_FAULT_MS).await;
        if let Some(id) = effect::of(input) {
            // Nobody performs it any more, and as long as it counted as held it would not be taken up.
            self.lock_running().remove(&(agent_id.clone(), id));
        }
        self.clear_up(agent_id).await;
    }
}
