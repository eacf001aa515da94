//! Endpoints of deliveries: they accept, refuse, fail, or accept while the host learns nothing of it.
//!
//! Rule: an endpoint receives the deliveries of one agent and route in their order, each at least once and always under
//! the same id.

use crate::flight::FlightStep;
use crate::plan::Fault;
use crate::store::now;
use crate::violation::{Verdict, ensure};
use crate::world::World;
use holon_core::{Input, Stamp};
use holon_domain::delivery::{
    DeliveryRecord, DeliveryRoute, DeliverySeq, DeliveryTarget, SubmitResult, TargetAuth,
    TargetKind,
};
use holon_domain::effect::EffectRecord;
use holon_domain::{AgentId, DeliveryId, Timestamp};
use holon_store::Store;
use std::collections::BTreeMap;

/// Deliveries that the endpoints received, in order.
#[derive(Debug, Default)]
pub(crate) struct Endpoints {
    received: BTreeMap<(AgentId, String), Vec<(DeliverySeq, DeliveryId)>>,
}

impl Endpoints {
    /// Notes a delivery and checks its order. A removed agent's successor begins again.
    fn receive(&mut self, agent_id: &AgentId, record: &DeliveryRecord) -> Verdict<()> {
        let key = (agent_id.clone(), record.route.key());
        let known = self.received.entry(key).or_default();
        let repeated = known.iter().position(|(_, id)| *id == record.id);
        if let Some(at) = repeated {
            return ensure(
                at + 1 == known.len(),
                "a delivery is repeated only while it is the newest of its route",
                || format!("{agent_id} {:?} after {:?}", record.id, known.last()),
            );
        }
        let last = known.last().map_or(0, |(seq, _)| *seq);
        if record.seq <= last {
            known.clear();
        }
        known.push((record.seq, record.id.clone()));
        Ok(())
    }
}

/// Targets of the simulated host: one that wants results of turns, and one that does not.
pub(crate) fn targets() -> Vec<DeliveryTarget> {
    let target = |name: &str, turn_results| DeliveryTarget {
        name: name.to_owned(),
        kind: TargetKind::Http {
            url: format!("http://{name}.example/"),
            auth: TargetAuth::None,
        },
        turn_results,
        id: None,
        agents: Vec::new(),
        created_at: Timestamp::from_millis(0),
    };
    vec![target("all", true), target("urgent", false)]
}

impl World {
    /// Submits a delivery to its endpoint.
    pub(crate) fn submit_delivery(
        &mut self,
        record: &EffectRecord,
        route: &DeliveryRoute,
        seq: DeliverySeq,
    ) -> Verdict<FlightStep> {
        let id = &record.agent_id;
        let read = now(self.store.delivery(id, route, seq))?;
        let Some(row) = self.check_readable(id, read)?.flatten() else {
            return Ok(FlightStep::Nothing);
        };
        let result = if self.trouble(Fault::Delivery, 40) {
            self.model.coverage.count("delivery:failed");
            SubmitResult::Retry {
                error: "the endpoint answered 500".to_owned(),
                retry_after_ms: None,
            }
        } else if self.trouble(Fault::Delivery, 5) {
            self.model.coverage.count("delivery:refused");
            SubmitResult::Refused {
                error: "the endpoint answered 400".to_owned(),
            }
        } else {
            self.endpoints.receive(id, &row.record)?;
            self.model.coverage.count("delivery:accepted");
            SubmitResult::Accepted {
                transport_delivery_id: None,
            }
        };
        Ok(FlightStep::outcome(Input::DeliverySubmitted {
            stamp: Stamp::of(record),
            route: route.clone(),
            created_at: row.record.created_at,
            result,
        }))
    }
}
