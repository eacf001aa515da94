//! The workspaces table, which belongs to the host, and the occupancies table, with at most one row of an agent.
//!
//! A workspace stays registered when it is detached and when its agents are removed. The registry is bounded: the
//! workspace that was given to an agent longest ago goes first. Agents keep their own attached sets.

use crate::agents::parse_id;
use crate::error::Error;
use crate::row::{AgentNo, all_readable, json, limit, run};
use holon_domain::limits::{OCCUPANTS_LISTED, WORKSPACES_REGISTERED};
use holon_domain::workspace::{
    AttachedWorkspace, Occupancy, Occupant, RegisteredWorkspace, WorkspaceKind,
};
use holon_domain::{Timestamp, WorkspaceId};
use rusqlite::{Connection, Row, params};

const REGISTER: &str = "INSERT INTO workspaces (workspace_id, anchor, kind, repository, registered_at, seen_at) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?5) ON CONFLICT (workspace_id) DO UPDATE SET \
     anchor = excluded.anchor, kind = excluded.kind, repository = excluded.repository, \
     seen_at = max(seen_at, excluded.seen_at)";
pub(crate) const FORGET: &str = "DELETE FROM workspaces WHERE workspace_id IN \
     (SELECT workspace_id FROM workspaces ORDER BY seen_at DESC LIMIT ?1 OFFSET ?2)";
pub(crate) const NEWEST: &str = "SELECT workspace_id, anchor, repository, registered_at, seen_at FROM workspaces \
     ORDER BY seen_at DESC LIMIT ?1";
const OCCUPY: &str = "INSERT INTO occupancies (agent_no, execution_root, record) VALUES (?1, ?2, ?3) \
     ON CONFLICT (agent_no) DO UPDATE SET execution_root = ?2, record = ?3";
pub(crate) const RELEASE: &str = "DELETE FROM occupancies WHERE agent_no = ?1";
pub(crate) const OF_AGENT: &str = "SELECT agent_no, record FROM occupancies WHERE agent_no = ?1";
pub(crate) const OF_ROOT: &str = "SELECT a.agent_id, o.record FROM occupancies o \
     JOIN agents a ON a.agent_no = o.agent_no WHERE o.execution_root = ?1 LIMIT ?2";

/// Most rows that one registration removes. Usually none; one if the registry is full.
const FORGOTTEN_AT_ONCE: usize = 16;

/// Registers a workspace, or notes that it was seen again.
pub(crate) fn register(
    conn: &Connection,
    workspace: &AttachedWorkspace,
    at: Timestamp,
) -> Result<(), Error> {
    let kind = WorkspaceKind::of(workspace.repository.as_ref());
    run(
        conn,
        REGISTER,
        params![
            workspace.workspace_id.as_str(),
            workspace.workspace_anchor,
            kind.as_str(),
            workspace.repository,
            at.as_millis()
        ],
    )?;
    let (gone, kept) = (limit(FORGOTTEN_AT_ONCE), limit(WORKSPACES_REGISTERED));
    run(conn, FORGET, params![gone, kept])?;
    Ok(())
}

/// Lists the registered workspaces, the one seen last first.
pub(crate) fn newest(conn: &Connection, count: usize) -> Result<Vec<RegisteredWorkspace>, Error> {
    all_readable(conn, NEWEST, params![limit(count)], |row| {
        let id: String = row.get(0)?;
        let repository: Option<String> = row.get(2)?;
        Ok(RegisteredWorkspace {
            workspace_id: WorkspaceId::from_stored(id),
            workspace_anchor: row.get(1)?,
            kind: WorkspaceKind::of(repository.as_ref()),
            repository,
            registered_at: Timestamp::from_millis(row.get(3)?),
            seen_at: Timestamp::from_millis(row.get(4)?),
        })
    })
}

/// Writes the execution root that an agent occupies.
pub(crate) fn occupy(conn: &Connection, no: AgentNo, occupancy: &Occupancy) -> Result<(), Error> {
    let text = serde_json::to_string(occupancy)?;
    run(conn, OCCUPY, params![no.0, occupancy.execution_root, text])?;
    Ok(())
}

/// Removes the occupancy of an agent. Agents of earlier builds have none.
pub(crate) fn release(conn: &Connection, no: AgentNo) -> Result<(), Error> {
    run(conn, RELEASE, [no.0])?;
    Ok(())
}

/// Reads the occupancy of an agent.
pub(crate) fn of_agent(conn: &Connection, no: AgentNo) -> Result<Option<Occupancy>, Error> {
    crate::row::first(conn, OF_AGENT, [no.0], |row| {
        json(row, 1, "occupancies", no)
    })
}

/// Lists agents that occupy an execution root, in no order.
pub(crate) fn occupants(conn: &Connection, execution_root: &str) -> Result<Vec<Occupant>, Error> {
    let bound = limit(OCCUPANTS_LISTED);
    all_readable(conn, OF_ROOT, params![execution_root, bound], read_occupant)
}

fn read_occupant(row: &Row<'_>) -> Result<Occupant, Error> {
    let agent_id: String = row.get(0)?;
    Ok(Occupant {
        occupancy: json(row, 1, "occupancies", &agent_id)?,
        agent_id: parse_id(&agent_id)?,
    })
}
