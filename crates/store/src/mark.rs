//! Marks: rows of a batch that prove, after a commit that reported failure, if it holds.
//!
//! Invariant: a mark exists after its commit and did not exist before. While a batch only adds rows, its last event is
//! such a mark at no cost. A removal of rows could remove that event, or free an agent's number for another agent with
//! an event of the same position. So a write that removes rows also increments a counter in `meta`, which is never
//! removed. This concerns events and agents only: closing effects or removing old tasks leaves the recorded events in
//! place.

use crate::error::Error;
use crate::events;
use crate::row::{AgentNo, first};
use holon_domain::decision::EventSeq;
use rusqlite::Connection;

/// Increments the counter of removals and returns it.
const COUNT: &str = "INSERT INTO meta (key, value) VALUES ('removals', '1') ON CONFLICT (key) DO UPDATE \
     SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT) RETURNING CAST(value AS INTEGER)";
pub(crate) const COUNTED: &str = "SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'removals'";

/// The proof of a commit. The greatest mark of a batch is checked: a counter of removals before any event, and the
/// highest counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    /// This event is stored. Proves the commit only if nothing was removed.
    Event(AgentNo, EventSeq),
    /// Number of writes since the creation of the store that removed rows.
    Removals(u64),
}

impl Mark {
    /// Increments the counter of removals for this write.
    pub(crate) fn removal(conn: &Connection) -> Result<Self, Error> {
        let count = first(conn, COUNT, [], |row| Ok(row.get(0)?))?;
        count
            .map(Self::Removals)
            .ok_or_else(|| Error::contradiction("the removals cannot be counted"))
    }

    /// Returns true if the mark is in the store.
    pub(crate) fn is_stored(self, conn: &Connection) -> Result<bool, Error> {
        match self {
            Self::Event(no, seq) => events::exists(conn, no, seq),
            Self::Removals(count) => {
                let counted: Option<u64> = first(conn, COUNTED, [], |row| Ok(row.get(0)?))?;
                Ok(counted.is_some_and(|counted| counted >= count))
            }
        }
    }
}
