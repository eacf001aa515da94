//! The external_triggers table: capabilities of agents, the active ones and the newest revoked ones.

use crate::error::Error;
use crate::row::{AgentNo, all, first, json, limit, run};
use holon_domain::TriggerId;
use holon_domain::limits::TRIGGERS_KEPT;
use holon_domain::trigger::TriggerRecord;
use rusqlite::{Connection, Row, params};

pub(crate) const WRITE: &str = "INSERT INTO external_triggers (agent_no, trigger_id, active, record) \
     VALUES (?1, ?2, ?3, ?4) ON CONFLICT (trigger_id) DO UPDATE SET active = ?3, record = ?4";
pub(crate) const ONE: &str =
    "SELECT trigger_id, record FROM external_triggers WHERE trigger_id = ?1";
pub(crate) const OF_AGENT: &str = "SELECT trigger_id, record FROM external_triggers \
     WHERE agent_no = ?1 ORDER BY trigger_no DESC LIMIT ?2";
pub(crate) const FORGET: &str = "DELETE FROM external_triggers WHERE active = 0 AND trigger_no IN \
     (SELECT trigger_no FROM external_triggers WHERE agent_no = ?1 ORDER BY trigger_no DESC LIMIT 4 OFFSET ?2)";

fn read(row: &Row<'_>) -> Result<TriggerRecord, Error> {
    let id: String = row.get(0)?;
    json(row, 1, "external_triggers", id)
}

/// Writes a capability that was made, used, rotated or revoked, and removes old revoked ones.
pub(crate) fn write(conn: &Connection, no: AgentNo, trigger: &TriggerRecord) -> Result<(), Error> {
    let active = trigger.is_active();
    let text = serde_json::to_string(trigger)?;
    let row = params![no.0, trigger.id.as_str(), active, text];
    run(conn, WRITE, row)?;
    if !active {
        // The active ones are at most two, so they stay within the kept ones.
        run(conn, FORGET, params![no.0, limit(TRIGGERS_KEPT - 4)])?;
    }
    Ok(())
}

/// Reads a capability by its id. The record names its agent.
pub(crate) fn one(conn: &Connection, id: &TriggerId) -> Result<Option<TriggerRecord>, Error> {
    first(conn, ONE, [id.as_str()], read)
}

/// Lists the capabilities of an agent, newest first.
pub(crate) fn of_agent(conn: &Connection, no: AgentNo) -> Result<Vec<TriggerRecord>, Error> {
    all(conn, OF_AGENT, params![no.0, limit(TRIGGERS_KEPT)], read)
}
