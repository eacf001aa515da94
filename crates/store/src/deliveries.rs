//! The deliveries table: what agents deliver to operators, by route and position. Only decisions write it.

use crate::error::Error;
use crate::row::{AgentNo, all, all_readable, first, json, limit, readable, run};
use crate::{agents, briefs};
use holon_domain::AgentId;
use holon_domain::decision::BriefSeq;
use holon_domain::delivery::{
    DeliveryContent, DeliveryOutcome, DeliveryRecord, DeliveryRoute, DeliverySeq, DeliveryStatus,
    OutboxLane,
};
use holon_domain::operator_transport::OperatorTransportBinding;
use rusqlite::{Connection, Row, params};

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
     WHERE d.lane = ?1 AND d.status = 0 AND d.agent_no > ?3 ORDER BY d.agent_no LIMIT ?2";
/// The newest delivery of each agent that has ended, if it was given up.
pub(crate) const GIVEN_UP: &str = "SELECT g.outcome FROM deliveries g WHERE g.lane = ?1 AND g.status = 2 \
     AND NOT EXISTS (SELECT 1 FROM deliveries l \
     WHERE l.lane = ?1 AND l.status = 2 AND l.agent_no = g.agent_no AND l.seq > g.seq) \
     AND NOT EXISTS (SELECT 1 FROM deliveries l \
     WHERE l.lane = ?1 AND l.status = 1 AND l.agent_no = g.agent_no AND l.seq > g.seq)";
pub(crate) const LAST_END: &str = "SELECT outcome FROM deliveries \
     WHERE agent_no = ?1 AND lane = ?2 AND status <> 0 ORDER BY seq DESC LIMIT 1";
pub(crate) const PENDING_COUNT: &str =
    "SELECT count(*) FROM deliveries WHERE lane = ?1 AND status = 0";

/// The primary key finds the rows of the agent; lanes are bounded.
pub(crate) const PENDING_OF_AGENT: &str =
    "SELECT record FROM deliveries WHERE agent_no = ?1 AND status = 0";
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
    /// Newest delivery that was given up and that no other one of its agent has ended after. Absent if there is none.
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

/// Returns the oldest brief that a pending delivery of an agent carries.
pub(crate) fn oldest_pending_brief(
    conn: &Connection,
    no: AgentNo,
) -> Result<Option<BriefSeq>, Error> {
    let pending = all(conn, PENDING_OF_AGENT, [no.0], |row| {
        json::<DeliveryRecord>(row, 0, "deliveries", no)
    })?;
    let carried = pending
        .into_iter()
        .filter_map(|record| match record.content {
            DeliveryContent::Brief(seq) => Some(seq),
            DeliveryContent::Words(_) => None,
        });
    Ok(carried.min())
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
    for no in pending_agents(conn, &key, None, LANES_SHOWN)? {
        // What an agent that cannot be read has here is counted, but its lane is not shown.
        let Some(id) = readable(conn, agents::id_of(conn, no))? else {
            continue;
        };
        let Some((_, agent)) = readable(conn, agents::by_id(conn, &id))?.flatten() else {
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
    let outcomes: Vec<DeliveryOutcome> = all_readable(conn, GIVEN_UP, [route.key()], outcome_of)?;
    Ok(outcomes.into_iter().max_by_key(|outcome| outcome.at))
}

fn outcome_of(row: &Row<'_>) -> Result<DeliveryOutcome, Error> {
    json(row, 0, "deliveries", "outcome")
}

/// Reads the state of a route for one agent, which has this lane there.
pub(crate) fn lane_of_agent(
    conn: &Connection,
    no: AgentNo,
    id: &AgentId,
    lane: &OutboxLane,
) -> Result<LaneView, Error> {
    let last = first(conn, LAST_END, params![no.0, lane.route.key()], outcome_of);
    let last = readable(conn, last)?.flatten();
    let is_failure = |outcome: &DeliveryOutcome| outcome.status == DeliveryStatus::FailedToSubmit;
    let pending = lane.pending();
    let lanes = (pending > 0).then(|| (id.clone(), lane.clone()));
    Ok(LaneView {
        pending,
        lanes: lanes.into_iter().collect(),
        given_up: last.filter(is_failure),
        has_accepted: lane.last_accepted_at.is_some(),
    })
}

/// Lists the newest deliveries of a lane, newest first.
pub(crate) fn newest(
    conn: &Connection,
    no: AgentNo,
    route: &DeliveryRoute,
    count: usize,
) -> Result<Vec<KeptDelivery>, Error> {
    let lane = route.key();
    all_readable(conn, NEWEST, params![no.0, lane, limit(count)], |row| {
        let key = format!("{no}/{lane}");
        let outcome = match row.get_ref(1)? {
            rusqlite::types::ValueRef::Null => None,
            _ => Some(json(row, 1, "deliveries", &key)?),
        };
        Ok((json(row, 0, "deliveries", key)?, outcome))
    })
}

/// Lists agents with a pending delivery on a route, those numbered after `after` only.
fn pending_agents(
    conn: &Connection,
    lane: &str,
    after: Option<AgentNo>,
    count: usize,
) -> Result<Vec<AgentNo>, Error> {
    let after = after.map_or(i64::MIN, |no| no.0);
    let values = params![lane, limit(count), after];
    all(conn, PENDING_AGENTS, values, |row| Ok(AgentNo(row.get(0)?)))
}

/// A page of the agents with a pending delivery on a route. An agent whose name cannot be read is passed over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WaitingAgents {
    pub agents: Vec<AgentId>,
    /// Where the next page begins; absent behind the last one.
    pub next: Option<AgentNo>,
}

/// Reads a page of the agents with a pending delivery on a route.
pub(crate) fn waiting_agents(
    conn: &Connection,
    route: &DeliveryRoute,
    after: Option<AgentNo>,
    count: usize,
) -> Result<WaitingAgents, Error> {
    let found = pending_agents(conn, &route.key(), after, count)?;
    let next = found.last().copied().filter(|_| found.len() >= count);
    let mut agents = Vec::new();
    for no in found {
        agents.extend(readable(conn, agents::id_of(conn, no))?);
    }
    Ok(WaitingAgents { agents, next })
}

/// Counts the pending deliveries on a route.
pub(crate) fn pending_count(conn: &Connection, lane: &str) -> Result<u64, Error> {
    let count = first(conn, PENDING_COUNT, [lane], |row| Ok(row.get(0)?))?;
    Ok(count.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Db;
    use crate::samples;
    use holon_domain::DeliveryId;
    use holon_domain::delivery::DeliveryTrigger;
    use holon_domain::visibility::Visibility;

    fn route() -> DeliveryRoute {
        DeliveryRoute::Target {
            name: "phone".to_owned(),
            target_id: None,
        }
    }

    /// Writes a delivery that has ended so at a time.
    fn end(conn: &Connection, no: AgentNo, seq: DeliverySeq, status: DeliveryStatus, at: i64) {
        let record = DeliveryRecord {
            id: DeliveryId::from_stored(format!("dlv_{no}_{seq}")),
            route: route(),
            seq,
            trigger: DeliveryTrigger::Notification,
            visibility: Visibility::ActionRequired,
            content: DeliveryContent::Words("x".to_owned()),
            created_at: samples::at(0),
            route_id: None,
            next_step: None,
            work_item_id: None,
            notification_id: None,
            correlation_id: None,
            causation_id: None,
            attachments: Vec::new(),
        };
        write(conn, no, &record).expect("writes");
        let outcome = DeliveryOutcome {
            status,
            at: samples::at(at),
            attempts: 1,
            error: Some(format!("at {at}")),
            transport_delivery_id: None,
        };
        settle(conn, no, &route(), seq, &outcome).expect("settles");
    }

    #[test]
    fn the_newest_delivery_that_was_given_up_is_found_behind_many_of_another_agent() {
        use DeliveryStatus::{AcceptedByTransport, FailedToSubmit};
        let mut db = Db::in_memory().expect("opens");
        let mut create = |name| {
            let record = samples::agent(name);
            db.write(|tx| tx.create_agent(&record)).expect("creates")
        };
        let (one, two) = (create("one"), create("two"));
        let conn = &db.conn;
        let shown = || {
            let view = lane_view(conn, &route()).expect("reads");
            view.given_up.and_then(|outcome| outcome.error)
        };
        assert_eq!(shown(), None);
        for seq in 1..=300 {
            end(conn, one, seq, FailedToSubmit, 10);
        }
        assert_eq!(shown().as_deref(), Some("at 10"));
        end(conn, two, 1, FailedToSubmit, 20);
        assert_eq!(shown().as_deref(), Some("at 20"));
        end(conn, two, 2, AcceptedByTransport, 30);
        assert_eq!(shown().as_deref(), Some("at 10"));
        end(conn, one, 301, AcceptedByTransport, 40);
        assert_eq!(shown(), None);
        end(conn, one, 302, FailedToSubmit, 50);
        assert_eq!(shown().as_deref(), Some("at 50"));
    }
}
