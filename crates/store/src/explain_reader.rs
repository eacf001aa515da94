//! Reads for the explanation of an agent: its next due entries and its oldest queued message.

use crate::effects;
use crate::error::Error;
use crate::queue::read_entry;
use crate::reader::Reader;
use crate::row::{AgentNo, json, limit};
use holon_domain::Timestamp;
use holon_domain::message::Priority;
use holon_domain::queue::QueueEntry;
use holon_domain::timer::{DueAction, PlannedDue};
use rusqlite::params;

const DUE_OF_AGENT: &str =
    "SELECT at, due, id FROM due WHERE agent_no = ?1 ORDER BY at, id LIMIT ?2";
const OLDEST_OF_BAND: &str = "SELECT seq, status, max_rounds, envelope FROM messages \
     WHERE agent_no = ?1 AND status = 0 AND priority = ?2 ORDER BY seq LIMIT 1";

impl Reader<'_> {
    /// Lists an agent's due entries, soonest first.
    ///
    /// # Errors
    /// When the database fails or an entry cannot be read.
    pub fn due_of_agent(
        &self,
        no: AgentNo,
        count: usize,
    ) -> Result<Vec<(Timestamp, DueAction)>, Error> {
        self.unreadable().all(
            self.conn(),
            DUE_OF_AGENT,
            params![no.0, limit(count)],
            |row| {
                let id: i64 = row.get(2)?;
                let at = Timestamp::from_millis(row.get(0)?);
                Ok((at, json(row, 1, "due", format!("{no}/{id}"))?))
            },
        )
    }

    /// Lists an agent's soonest due entries, as many as an assessment reads.
    ///
    /// # Errors
    /// When the database fails or an entry cannot be read.
    pub fn soonest_due(&self, no: AgentNo) -> Result<Vec<PlannedDue>, Error> {
        effects::soonest(self.conn(), no, self.unreadable())
    }

    /// Returns the queued message that was admitted first, in any band.
    ///
    /// # Errors
    /// When the database fails or the row cannot be read.
    pub fn oldest_queued(&self, no: AgentNo) -> Result<Option<QueueEntry>, Error> {
        let mut oldest: Option<QueueEntry> = None;
        for band in Priority::ALL {
            let found = self.unreadable().first(
                self.conn(),
                OLDEST_OF_BAND,
                params![no.0, band.rank()],
                read_entry,
            )?;
            oldest = oldest
                .into_iter()
                .chain(found)
                .min_by_key(|entry| entry.seq);
        }
        Ok(oldest)
    }
}
