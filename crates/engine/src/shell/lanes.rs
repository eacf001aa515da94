//! Commands about a route of deliveries: one decision of every agent with something waiting there, all in one commit.

use super::{Shell, TouchedAgents, engine_error};
use crate::control::{Once, once};
use crate::error::Error;
use holon_core::Input;
use holon_core::input::LaneCommand;
use holon_domain::delivery::DeliveryRoute;
use holon_domain::request_key::RequestKey;
use holon_domain::{AgentId, TargetId};
use holon_store::{Ledger, WriteError, commit};
use std::sync::Arc;

impl Shell {
    /// Removes a delivery target and gives up what waits for it. The reply is its id, which targets of older builds lack,
    /// and the number of deliveries that were given up.
    pub(crate) async fn remove_target(
        &self,
        name: String,
        key: Option<Arc<RequestKey>>,
    ) -> Result<Once<(Option<TargetId>, u64)>, Error> {
        let shell = self.clone();
        let removed = self.commit_lanes(move |ledger, touched| {
            let now = shell.ports.clock.now();
            once(ledger, key.as_deref(), now, |ledger| {
                let Some(route) = ledger.remove_delivery_target(&name)? else {
                    return Ok(None);
                };
                let reason = format!("the target {name} was removed");
                let before = ledger.waiting_deliveries(&route)?;
                shell.change_lanes(ledger, &route, &LaneCommand::End { reason }, touched)?;
                let left = ledger.waiting_deliveries(&route)?;
                let target_id = match route {
                    DeliveryRoute::Target { target_id, .. } => target_id,
                    DeliveryRoute::Binding { .. } => None,
                };
                Ok(Some((target_id, before.saturating_sub(left))))
            })
        });
        removed.await?
    }

    /// Ends the pauses of all agents on a route. Returns the number of deliveries that wait there.
    pub(crate) async fn retry_route(&self, route: DeliveryRoute) -> Result<u64, Error> {
        let shell = self.clone();
        self.commit_lanes(move |ledger, touched| {
            shell.change_lanes(ledger, &route, &LaneCommand::RetryNow, touched)?;
            ledger.waiting_deliveries(&route)
        })
        .await
    }

    /// Runs a change of lanes in the next commit. If the commit cannot be confirmed, its agents are checked.
    async fn commit_lanes<T: Send + 'static>(
        &self,
        mut change: impl FnMut(&mut dyn Ledger, &TouchedAgents) -> Result<T, holon_store::Error>
        + Send
        + 'static,
    ) -> Result<T, Error> {
        let touched = TouchedAgents::default();
        let seen = touched.clone();
        let done = commit(self.store.as_ref(), 0, move |ledger| {
            change(ledger, &touched)
        });
        let done = done.await;
        if matches!(done, Err(WriteError::CommitUnknown)) {
            for agent_id in seen.iter() {
                self.spawn_clear_up(agent_id);
            }
        }
        done.map_err(engine_error)
    }

    fn change_lanes(
        &self,
        ledger: &mut dyn Ledger,
        route: &DeliveryRoute,
        command: &LaneCommand,
        touched: &TouchedAgents,
    ) -> Result<(), holon_store::Error> {
        let input = Input::Lane {
            route: route.clone(),
            command: command.clone(),
        };
        for agent_id in ledger.waiting_agents(route)? {
            self.change_lane(ledger, &agent_id, &input, touched)?;
        }
        Ok(())
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
