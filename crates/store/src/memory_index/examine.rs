//! Examines memory indexes without the use of one: for the doctor, and for the host when it starts. Writes nothing of its
//! own.

use super::MemoryIndex;
use super::fault::IndexFault;
use super::schema::Files;
use std::path::Path;

/// State of one agent's index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexState {
    /// Nothing was indexed yet. The host builds the index when it is first needed.
    Absent,
    /// The marker of a build lies beside it: the build goes on, or was interrupted.
    Unfinished,
    Complete,
}

/// Looks at the index of an agent's home.
///
/// # Errors
/// When the index cannot be read, is damaged, or is not one of this build. The host builds such an index anew.
pub fn examine_index(agent_home: &Path) -> Result<IndexState, IndexFault> {
    let files = Files::named_in(agent_home);
    if files.is_marked() {
        return Ok(IndexState::Unfinished);
    }
    let Some(conn) = files.open_to_read()? else {
        return Ok(IndexState::Absent);
    };
    let verdict: String = conn.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    match verdict.as_str() {
        "ok" => Ok(IndexState::Complete),
        damage => Err(IndexFault::unsound(damage)),
    }
}

impl MemoryIndex {
    /// Returns true if the index of a home is missing or its build is not finished. Looks at names only, so it is cheap.
    #[must_use]
    pub fn is_unfinished(agent_home: &Path) -> bool {
        let files = Files::named_in(agent_home);
        files.is_marked() || !files.is_there()
    }
}
