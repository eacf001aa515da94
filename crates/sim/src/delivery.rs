//! Endpoints of deliveries: they accept, refuse, fail, have outages, or accept while the host learns nothing of it.
//!
//! Rules: an endpoint receives the deliveries of one agent and route in their order, each under one id and repeated only
//! while it is the newest. A delivery that was left out had been refused or given up.

use crate::flight::FlightStep;
use crate::plan::Fault;
use crate::request::Mood;
use crate::store::now;
use crate::violation::{Verdict, ensure};
use crate::world::World;
use holon_core::{Input, Stamp};
use holon_domain::delivery::{
    DeliveryRecord, DeliveryRoute, DeliverySeq, DeliveryStatus, DeliveryTarget, SubmitResult,
    TargetAuth, TargetKind,
};
use holon_domain::effect::EffectRecord;
use holon_domain::{AgentId, DeliveryId, Timestamp};
use holon_store::Store;
use std::collections::BTreeMap;
use std::ops::Range;

/// Deliveries that the endpoints received, in order.
#[derive(Debug, Default)]
pub(crate) struct Endpoints {
    /// The newest delivery of each agent and route.
    received: BTreeMap<(AgentId, String), (DeliverySeq, DeliveryId)>,
}

/// Newest deliveries among which those that were left out are looked for.
const DELIVERIES_LOOKED_AT: usize = 64;
/// Length of an outage of all endpoints, and of the time before the next one.
const OUTAGE_MS: i64 = 3 * 3_600_000;

impl Endpoints {
    /// Forgets what a removed agent of this name delivered. Its successor begins again.
    pub(crate) fn forget(&mut self, agent_id: &AgentId) {
        self.received.retain(|(of, _), _| of != agent_id);
    }

    /// Notes a delivery and checks its order and its id. Returns the position of the one before it.
    fn receive(&mut self, agent_id: &AgentId, record: &DeliveryRecord) -> Verdict<DeliverySeq> {
        let key = (agent_id.clone(), record.route.key());
        let newest = (record.seq, record.id.clone());
        let last = self.received.insert(key, newest);
        let last_seq = last.as_ref().map_or(0, |(seq, _)| *seq);
        if record.seq == last_seq {
            ensure(
                last.is_some_and(|(_, id)| id == record.id),
                "a repeated delivery has the same id",
                || format!("{agent_id} {}: {:?}", record.seq, record.id),
            )?;
        }
        ensure(
            record.seq >= last_seq,
            "an endpoint receives the deliveries of a route in their order",
            || {
                format!(
                    "{agent_id} {:?}: {} after {last_seq}",
                    record.route, record.seq
                )
            },
        )?;
        Ok(last_seq)
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
        let outage = self.mood == Mood::Busy
            && self.plan.has(Fault::Delivery)
            && (self.now.as_millis() / OUTAGE_MS) % 2 == 1;
        let result = if outage {
            self.model.coverage.count("delivery:outage");
            SubmitResult::Retry {
                error: "the endpoint cannot be reached".to_owned(),
                retry_after_ms: None,
            }
        } else if self.trouble(Fault::Delivery, 40) {
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
            let last = self.endpoints.receive(id, &row.record)?;
            self.check_left_out(id, route, last + 1..seq)?;
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

    /// Checks that deliveries which their endpoint never received were not called accepted and do not wait.
    fn check_left_out(
        &self,
        id: &AgentId,
        route: &DeliveryRoute,
        left_out: Range<DeliverySeq>,
    ) -> Verdict<()> {
        let db = self.store.db();
        let reader = db.reader();
        let Ok(Some((no, _))) = reader.agent(id) else {
            return Ok(());
        };
        let kept = reader.deliveries(no, route, DELIVERIES_LOOKED_AT);
        for (record, outcome) in kept.unwrap_or_default() {
            let status = outcome.map(|outcome| outcome.status);
            ensure(
                !left_out.contains(&record.seq) || status == Some(DeliveryStatus::FailedToSubmit),
                "a delivery that is left out was refused or given up",
                || format!("{id} {route:?} {}: {status:?}", record.seq),
            )?;
        }
        Ok(())
    }
}
