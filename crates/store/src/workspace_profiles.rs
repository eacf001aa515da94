//! The workspace_profiles table, which belongs to the host: one derived record for each workspace.

use crate::error::Error;
use crate::memory_rows::StoredProfile;
use crate::row::{first, json, limit, run};
use holon_domain::limits::WORKSPACES_REGISTERED;
use holon_domain::memory::WorkspaceProfile;
use holon_domain::{Timestamp, WorkspaceId};
use rusqlite::{Connection, params};

const WRITE: &str = "INSERT OR REPLACE INTO workspace_profiles (workspace_id, record, written_at) VALUES (?1, ?2, ?3)";
pub(crate) const ONE: &str =
    "SELECT record, written_at FROM workspace_profiles WHERE workspace_id = ?1";
/// As many are kept as there are registered workspaces; the one that was written longest ago goes first.
const FORGET: &str = "DELETE FROM workspace_profiles WHERE workspace_id IN \
     (SELECT workspace_id FROM workspace_profiles ORDER BY written_at DESC LIMIT 16 OFFSET ?1)";

pub(crate) fn one(conn: &Connection, id: &WorkspaceId) -> Result<Option<StoredProfile>, Error> {
    first(conn, ONE, [id.as_str()], |row| {
        Ok(StoredProfile {
            profile: json(row, 0, "workspace_profiles", id)?,
            written_at: Timestamp::from_millis(row.get(1)?),
        })
    })
}

pub(crate) fn write(
    conn: &Connection,
    profile: &WorkspaceProfile,
    at: Timestamp,
) -> Result<(), Error> {
    let text = serde_json::to_string(profile)?;
    let id = profile.workspace_id.as_str();
    run(conn, WRITE, params![id, text, at.as_millis()])?;
    run(conn, FORGET, [limit(WORKSPACES_REGISTERED)])?;
    Ok(())
}
