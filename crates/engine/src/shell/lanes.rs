//! Commands about a route of deliveries: one decision of every agent with something waiting there, in commits of a few
//! agents each, so that no other work waits for all of them.
//!
//! What a crash between two commits leaves waits for a target that is gone, and ends at its next attempt.

use super::{Shell, TouchedAgents, engine_error};
use crate::control::{Once, once};
use crate::error::Error;
use holon_core::Input;
use holon_core::input::LaneCommand;
use holon_domain::delivery::DeliveryRoute;
use holon_domain::request_key::RequestKey;
use holon_domain::{AgentId, TargetId};
use holon_store::{Ledger, WriteError, WriteOrder, commit};
use std::sync::Arc;

/// Agents whose decisions share one commit.
const LANES_PER_COMMIT: usize = 16;

impl Shell {
    /// Removes a delivery target. The reply is its id, which targets of older builds lack, and the number of deliveries
    /// that `waiting` says wait for it; they are given up by [`Self::end_route`] with the returned route, which a repetition lacks.
    pub(crate) async fn remove_target(
        &self,
        name: String,
        key: Option<Arc<RequestKey>>,
        waiting: u64,
    ) -> Result<(Once<(Option<TargetId>, u64)>, Option<DeliveryRoute>), Error> {
        let shell = self.clone();
        let removed = commit(self.store.as_ref(), WriteOrder::client(0), move |ledger| {
            let now = shell.ports.clock.now();
            let mut gone = None;
            let removed = once(ledger, key.as_deref(), now, |ledger| {
                let Some(route) = ledger.remove_delivery_target(&name)? else {
                    return Ok(None);
                };
                let target_id = match &route {
                    DeliveryRoute::Target { target_id, .. } => target_id.clone(),
                    DeliveryRoute::Binding { .. } => None,
                };
                gone = Some(route);
                Ok(Some((target_id, waiting)))
            })?;
            Ok((removed, gone))
        });
        let (removed, gone) = removed.await.map_err(engine_error)?;
        Ok((removed?, gone))
    }

    /// Gives up what waits for a target that was removed.
    pub(crate) async fn end_route(&self, route: &DeliveryRoute, name: &str) -> Result<(), Error> {
        let reason = format!("the target {name} was removed");
        // The removal is stored already, so a full inbox must not refuse the rest.
        let order = WriteOrder::runtime(0);
        self.change_lanes(route, order, &LaneCommand::End { reason })
            .await
    }

    /// Ends the pauses of all agents on a route.
    pub(crate) async fn retry_route(&self, route: &DeliveryRoute) -> Result<(), Error> {
        let order = WriteOrder::client(0);
        self.change_lanes(route, order, &LaneCommand::RetryNow)
            .await
    }

    /// Makes the decision of every agent with something waiting on a route, a page of agents in each commit. If a commit
    /// cannot be confirmed, its agents are checked.
    async fn change_lanes(
        &self,
        route: &DeliveryRoute,
        order: WriteOrder,
        command: &LaneCommand,
    ) -> Result<(), Error> {
        let mut after = None;
        loop {
            let (shell, route, command) = (self.clone(), route.clone(), command.clone());
            let touched = TouchedAgents::default();
            let seen = touched.clone();
            let page = commit(self.store.as_ref(), order, move |ledger| {
                let page = ledger.waiting_agents(&route, after, LANES_PER_COMMIT)?;
                let input = Input::Lane {
                    route: route.clone(),
                    command: command.clone(),
                };
                for agent_id in &page.agents {
                    shell.change_lane(ledger, agent_id, &input, &touched)?;
                }
                Ok(page.next)
            });
            let page = page.await;
            if matches!(page, Err(WriteError::CommitUnknown)) {
                for agent_id in seen.iter() {
                    self.spawn_clear_up(agent_id);
                }
            }
            after = page.map_err(engine_error)?;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// Makes the decision of one agent. An agent that cannot be read is passed over: what it has for a removed target
    /// ends at its next attempt.
    fn change_lane(
        &self,
        ledger: &mut dyn Ledger,
        agent_id: &AgentId,
        input: &Input,
        touched: &TouchedAgents,
    ) -> Result<(), holon_store::Error> {
        let now = self.ports.clock.now();
        let mut entropy = self.ports.entropy.source();
        let mut handled = None;
        let nested = ledger.nested(&mut |ledger| {
            let decided = self
                .kernel
                .handle(ledger, agent_id, input, now, entropy.as_mut())?;
            handled = decided.ok();
            Ok(())
        });
        match nested {
            Ok(()) => {}
            Err(fault) if fault.concerns_one_agent() => {
                tracing::warn!(%agent_id, %fault, "the deliveries of an agent were passed over");
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        if let Some(handled) = handled {
            touched.add(&handled.work);
            self.dispatch_after(ledger, handled.work);
        }
        Ok(())
    }
}
