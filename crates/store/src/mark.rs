//! Marks: what a batch leaves behind that proves, after a commit that reported failure, whether it holds.
//!
//! Invariant: a mark is there after the commit it belongs to and was not there before it. While a batch only
//! adds, its last event is such a mark and costs nothing. Rows that are removed could take that event with them,
//! or free an agent's number for another agent with an event of the same position; so a write that removes rows
//! also counts itself in `meta`, where nothing is ever removed. Only events and agents are meant: a decision that
//! closes effects or lets old tasks go leaves the events it recorded where they are.

use crate::error::Error;
use crate::events;
use crate::row::{AgentNo, first};
use holon_domain::decision::EventSeq;
use rusqlite::Connection;

/// Counts one more removal and says how many there were.
const COUNT: &str = "INSERT INTO meta (key, value) VALUES ('removals', '1') ON CONFLICT (key) DO UPDATE \
     SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT) RETURNING CAST(value AS INTEGER)";
pub(crate) const COUNTED: &str = "SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'removals'";

/// What proves a commit. The greatest mark of a batch is the one to look for: a count of removals before any
/// event, and of counts the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    /// This event is stored; proof only where nothing was removed.
    Event(AgentNo, EventSeq),
    /// So many writes have removed rows since the store was made.
    Removals(u64),
}

impl Mark {
    /// Notes in the store that this write removes rows.
    pub(crate) fn removal(conn: &Connection) -> Result<Self, Error> {
        let count = first(conn, COUNT, [], |row| Ok(row.get(0)?))?;
        count
            .map(Self::Removals)
            .ok_or_else(|| Error::contradiction("the removals cannot be counted"))
    }

    /// Whether the mark is in the store.
    pub(crate) fn is_there(self, conn: &Connection) -> Result<bool, Error> {
        match self {
            Self::Event(no, seq) => events::exists(conn, no, seq),
            Self::Removals(count) => {
                let counted: Option<u64> = first(conn, COUNTED, [], |row| Ok(row.get(0)?))?;
                Ok(counted.is_some_and(|counted| counted >= count))
            }
        }
    }
}
