//! The deliveries table: what agents deliver to operators, by route and position. Only decisions write it.

use crate::error::Error;
use crate::row::{AgentNo, all, first, json, limit, run};
use crate::{agents, briefs};
use holon_domain::AgentId;
use holon_domain::delivery::{
    DeliveryContent, DeliveryOutcome, DeliveryRecord, DeliveryRoute, DeliverySeq, DeliveryStatus,
    OutboxLane,
};
use holon_domain::operator_transport::OperatorTransportBinding;
use rusqlite::{Connection, params};

const WRITE: &str =
    "INSERT INTO deliveries (agent_no, lane, seq, status, record) VALUES (?1, ?2, ?3, 0, ?4)";
pub(crate) const SETTLE: &str = "UPDATE deliveries SET status = ?4, outcome = ?5 \
     WHERE agent_no = ?1 AND lane = ?2 AND seq = ?3 AND status = 0";
pub(crate) const TRIM: &str =
    "DELETE FROM deliveries WHERE agent_no = ?1 AND lane = ?2 AND seq <= ?3 AND status <> 0";
pub(crate) const ONE: &str =
    "SELECT record FROM deliveries WHERE agent_no = ?1 AND lane = ?2 AND seq = ?3";
pub(crate) const NEWEST: &str = "SELECT record, outcome FROM deliveries \
     WHERE agent_no = ?1 AND lane = ?2 ORDER BY seq DESC LIMIT ?3";
pub(crate) const PENDING_AGENTS: &str = "SELECT DISTINCT d.agent_no FROM deliveries d \
     WHERE d.lane = ?1 AND d.status = 0 ORDER BY d.agent_no LIMIT ?2";
pub(crate) const GIVEN_UP: &str = "SELECT agent_no, outcome FROM deliveries \
     WHERE lane = ?1 AND status = 2 ORDER BY agent_no, seq LIMIT ?2";
pub(crate) const PENDING_COUNT: &str =
    "SELECT count(*) FROM deliveries WHERE lane = ?1 AND status = 0";

pub(crate) const ACCEPTED: &str = "SELECT 1 FROM deliveries WHERE lane = ?1 AND status = 1 LIMIT 1";

/// A delivery with everything that an attempt needs.
#[derive(Debug, Clone)]
pub struct DeliveryRow {
    pub record: DeliveryRecord,
    /// Text of the brief or notification.
    pub text: String,
    /// Binding of the route. Absent for a target of the host, and if the agent has no such binding any more.
    pub binding: Option<OperatorTransportBinding>,
    /// Attempts that failed before.
    pub failed_attempts: u32,
}

/// State of a route over all agents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaneView {
    /// Deliveries that have not ended.
    pub pending: u64,
    /// Lanes of agents with pending deliveries, at most 64, each with its agent.
    pub lanes: Vec<(AgentId, OutboxLane)>,
    /// Newest delivery that was given up and that no accepted one of its agent followed. Absent if there is none.
    pub given_up: Option<DeliveryOutcome>,
    /// True if a delivery that was accepted is still kept.
    pub has_accepted: bool,
}

/// Most lanes of one route that are looked at for its state.
const LANES_SHOWN: usize = 64;

/// A delivery with its end; `None` while it is pending.
pub type KeptDelivery = (DeliveryRecord, Option<DeliveryOutcome>);

const fn code(status: DeliveryStatus) -> i64 {
    match status {
        DeliveryStatus::Pending => 0,
        DeliveryStatus::AcceptedByTransport => 1,
        DeliveryStatus::FailedToSubmit => 2,
    }
}

pub(crate) fn write(conn: &Connection, no: AgentNo, record: &DeliveryRecord) -> Result<(), Error> {
    let lane = record.route.key();
    let text = serde_json::to_string(record)?;
    run(conn, WRITE, params![no.0, lane, record.seq, text])?;
    Ok(())
}

/// Notes the end of a pending delivery. A second end is an error of the decision.
pub(crate) fn settle(
    conn: &Connection,
    no: AgentNo,
    route: &DeliveryRoute,
    seq: DeliverySeq,
    outcome: &DeliveryOutcome,
) -> Result<(), Error> {
    let text = serde_json::to_string(outcome)?;
    let row = params![no.0, route.key(), seq, code(outcome.status), text];
    match run(conn, SETTLE, row)? {
        1 => Ok(()),
        _ => Err(Error::contradiction(format!(
            "delivery {seq} of {} is not pending",
            route.key()
        ))),
    }
}

/// Removes deliveries of a lane up to a position that have ended.
pub(crate) fn trim(
    conn: &Connection,
    no: AgentNo,
    route: &DeliveryRoute,
    through: DeliverySeq,
) -> Result<(), Error> {
    run(conn, TRIM, params![no.0, route.key(), through])?;
    Ok(())
}

/// Reads one delivery without its text; `None` if it was trimmed.
pub(crate) fn one(
    conn: &Connection,
    no: AgentNo,
    route: &DeliveryRoute,
    seq: DeliverySeq,
) -> Result<Option<DeliveryRecord>, Error> {
    let lane = route.key();
    first(conn, ONE, params![no.0, lane, seq], |row| {
        json(row, 0, "deliveries", format!("{no}/{lane}/{seq}"))
    })
}

/// Reads a delivery with its text and its binding.
pub(crate) fn row(
    conn: &Connection,
    id: &AgentId,
    route: &DeliveryRoute,
    seq: DeliverySeq,
) -> Result<Option<DeliveryRow>, Error> {
    let Some((no, agent)) = agents::by_id(conn, id)? else {
        return Ok(None);
    };
    let Some(record) = one(conn, no, route, seq)? else {
        return Ok(None);
    };
    let text = match &record.content {
        DeliveryContent::Words(words) => words.clone(),
        DeliveryContent::Brief(seq) => {
            let words = briefs::words(conn, no, *seq)?;
            words.map(|words| words.text).unwrap_or_default()
        }
    };
    let binding = match route {
        DeliveryRoute::Target { .. } => None,
        DeliveryRoute::Binding { binding_id } => {
            let mut bindings = agent.settings.operator_bindings.iter();
            bindings.find(|one| one.binding_id == *binding_id).cloned()
        }
    };
    let failed_attempts = agent
        .outbox
        .lane(route)
        .map_or(0, |lane| lane.failed_attempts);
    Ok(Some(DeliveryRow {
        record,
        text,
        binding,
        failed_attempts,
    }))
}

/// Reads the state of a route over all agents.
pub(crate) fn lane_view(conn: &Connection, route: &DeliveryRoute) -> Result<LaneView, Error> {
    let key = route.key();
    let mut lanes = Vec::new();
    for no in pending_agents(conn, &key, LANES_SHOWN)? {
        let id = agents::id_of(conn, no)?;
        let Some((_, agent)) = agents::by_id(conn, &id)? else {
            continue;
        };
        if let Some(lane) = agent.outbox.lane(route) {
            lanes.push((id, lane.clone()));
        }
    }
    Ok(LaneView {
        pending: pending_count(conn, &key)?,
        lanes,
        given_up: given_up(conn, route)?,
        has_accepted: first(conn, ACCEPTED, [&key], |_| Ok(()))?.is_some(),
    })
}

/// Finds the newest delivery of a route that was given up, unless a later one of its agent was accepted.
fn given_up(conn: &Connection, route: &DeliveryRoute) -> Result<Option<DeliveryOutcome>, Error> {
    let found = params![route.key(), limit(LANES_SHOWN * 4)];
    let rows: Vec<(AgentNo, DeliveryOutcome)> = all(conn, GIVEN_UP, found, |row| {
        let text: String = row.get(1)?;
        Ok((AgentNo(row.get(0)?), serde_json::from_str(&text)?))
    })?;
    let mut newest: Option<DeliveryOutcome> = None;
    for (no, outcome) in rows {
        if newest
            .as_ref()
            .is_some_and(|newest| newest.at >= outcome.at)
        {
            continue;
        }
        let agent = agents::by_id(conn, &agents::id_of(conn, no)?)?;
        let lane = agent.and_then(|(_, agent)| agent.outbox.lane(route).cloned());
        let accepted_at = lane.and_then(|lane| lane.last_accepted_at);
        if accepted_at.is_none_or(|at| at < outcome.at) {
            newest = Some(outcome);
        }
    }
    Ok(newest)
}

/// Lists the newest deliveries of a lane, newest first.
pub(crate) fn newest(
    conn: &Connection,
    no: AgentNo,
    route: &DeliveryRoute,
    count: usize,
) -> Result<Vec<KeptDelivery>, Error> {
    let lane = route.key();
    all(conn, NEWEST, params![no.0, lane, limit(count)], |row| {
        let outcome: Option<String> = row.get(1)?;
        let outcome = match outcome {
            Some(text) => Some(serde_json::from_str(&text)?),
            None => None,
        };
        Ok((json(row, 0, "deliveries", format!("{no}/{lane}"))?, outcome))
    })
}

/// Lists agents with a pending delivery on a route.
pub(crate) fn pending_agents(
    conn: &Connection,
    lane: &str,
    count: usize,
) -> Result<Vec<AgentNo>, Error> {
    all(conn, PENDING_AGENTS, params![lane, limit(count)], |row| {
        Ok(AgentNo(row.get(0)?))
    })
}

/// Lists every agent with a pending delivery on a route.
pub(crate) fn waiting_agents(
    conn: &Connection,
    route: &DeliveryRoute,
) -> Result<Vec<AgentId>, Error> {
    let found = pending_agents(conn, &route.key(), usize::MAX)?;
    found
        .into_iter()
        .map(|no| agents::id_of(conn, no))
        .collect()
}

/// Counts the pending deliveries on a route.
pub(crate) fn pending_count(conn: &Connection, lane: &str) -> Result<u64, Error> {
    let count = first(conn, PENDING_COUNT, [lane], |row| Ok(row.get(0)?))?;
    Ok(count.unwrap_or(0))
}
