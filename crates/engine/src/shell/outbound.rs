//! Submits deliveries to operators: reads the row, finds its destination and makes one attempt.
//!
//! The attempt is at least once: a host that dies behind it submits the delivery again under the same id.

use super::{AFTER_A_FAULT_MS, Shell};
use crate::error::Error;
use crate::ports::Destination;
use holon_core::{Input, Stamp};
use holon_domain::delivery::{DeliveryRoute, DeliverySeq, Submission, SubmitResult};
use holon_domain::operator_transport::BindingStatus;
use holon_domain::{AgentId, limits, text};
use holon_store::DeliveryRow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Bounds the attempts that are made on one route at the same time, over all agents.
#[derive(Debug, Default)]
pub(super) struct RouteGates(Mutex<HashMap<String, Arc<Semaphore>>>);

impl RouteGates {
    fn of(&self, route: &DeliveryRoute) -> Arc<Semaphore> {
        let mut gates = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A gate that no attempt holds bounds nothing.
        gates.retain(|_, gate| Arc::strong_count(gate) > 1);
        let gate = || Arc::new(Semaphore::new(limits::DELIVERIES_AT_ONCE));
        Arc::clone(gates.entry(route.key()).or_insert_with(gate))
    }
}

/// Place of a delivery: its agent, its route and its position there.
#[derive(Clone, Copy)]
pub(super) struct DeliveryPlace<'a> {
    pub(super) agent_id: &'a AgentId,
    pub(super) route: &'a DeliveryRoute,
    pub(super) seq: DeliverySeq,
}

impl Shell {
    /// Makes one attempt. `None` if the host goes down or the delivery is not wanted any more; an attempt that is still
    /// wanted is made by the next boot.
    pub(super) async fn submit_delivery(
        &self,
        place: DeliveryPlace<'_>,
        stamp: Stamp,
        cancel: CancellationToken,
    ) -> Option<Input> {
        let gate = self.route_gates.of(place.route);
        let attempt = async {
            // The semaphore is never closed. Without a permit the attempt is made all the same.
            let _permit = gate.acquire().await.ok();
            self.attempt_delivery(place).await
        };
        let (created_at, result) = tokio::select! {
            attempt = attempt => attempt?,
            () = cancel.cancelled() => return None,
            () = self.draining.cancelled() => return None,
        };
        holon_fault::hit("delivery.submitted");
        Some(Input::DeliverySubmitted {
            stamp,
            route: place.route.clone(),
            created_at,
            result,
        })
    }

    async fn attempt_delivery(
        &self,
        place: DeliveryPlace<'_>,
    ) -> Option<(holon_domain::Timestamp, SubmitResult)> {
        let now = self.ports.clock.now();
        let Some(row) = self.read_delivery(place).await? else {
            let error = "its row is missing".to_owned();
            return Some((now, SubmitResult::Refused { error }));
        };
        let created_at = row.record.created_at;
        let destination = match self.destination(&row) {
            Ok(destination) => destination,
            Err(error) => return Some((created_at, SubmitResult::Refused { error })),
        };
        let submission = Submission {
            agent_id: place.agent_id.clone(),
            text: bounded(&row.text),
            attempt: row.failed_attempts + 1,
            record: row.record,
        };
        let report = self.ports.outbound.submit(&destination, &submission).await;
        Some((created_at, report.result))
    }

    /// Finds where a delivery goes. A route that is gone is an error that no retry mends.
    fn destination(&self, row: &DeliveryRow) -> Result<Destination, String> {
        match &row.record.route {
            route @ DeliveryRoute::Target { name, .. } => {
                let facts = self.kernel.conditions().now();
                let mut targets = facts.delivery_targets.iter();
                // Another target of the same name has another route.
                let found = targets.find(|target| target.route() == *route);
                let found = found.cloned().map(Destination::Target);
                found.ok_or_else(|| format!("the target {name} was removed"))
            }
            DeliveryRoute::Binding { binding_id } => {
                let now = self.ports.clock.now();
                let active = |status| status == BindingStatus::Active;
                match &row.binding {
                    Some(binding) if active(binding.status_at(now)) => {
                        Ok(Destination::Binding(Box::new(binding.clone())))
                    }
                    Some(_) | None => Err(format!("the binding {binding_id} is not active")),
                }
            }
        }
    }

    /// Reads a delivery. `None` if its agent cannot be read; retries a failed read until the host halts.
    async fn read_delivery(&self, place: DeliveryPlace<'_>) -> Option<Option<DeliveryRow>> {
        let DeliveryPlace {
            agent_id,
            route,
            seq,
        } = place;
        while !self.halted.is_cancelled() {
            let read = self.store.delivery(agent_id, route, seq);
            match self.read_or_put_aside(agent_id, read).await {
                Ok(found) => return Some(found),
                Err(Error::AgentAside { .. }) => return None,
                Err(error) => {
                    tracing::warn!(%agent_id, %error, "a delivery could not be read yet");
                    self.pause(AFTER_A_FAULT_MS).await;
                }
            }
        }
        None
    }
}

/// Cuts a text to the bound of a delivery and says so.
fn bounded(words: &str) -> String {
    if words.len() <= limits::DELIVERY_TEXT_BYTES {
        return words.to_owned();
    }
    let kept = text::prefix(words, limits::DELIVERY_TEXT_BYTES);
    format!(
        "{kept}\n[cut: {} bytes in all; `holon tail` shows the whole]",
        words.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_that_no_attempt_uses_are_forgotten_and_used_ones_are_shared() {
        let gates = RouteGates::default();
        let route = |name: &str| DeliveryRoute::Target {
            name: name.to_owned(),
            target_id: None,
        };
        let held = gates.of(&route("phone"));
        for number in 0..100 {
            drop(gates.of(&route(&format!("target-{number}"))));
        }
        assert!(Arc::ptr_eq(&held, &gates.of(&route("phone"))));
        let kept = gates.0.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(kept.len(), 1);
    }
}
