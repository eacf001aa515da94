//! What may be asked about work items, waits, timers and wake hints. Reading changes nothing.

use crate::error::Error;
use crate::reader::Reader;
use crate::row::AgentNo;
use crate::{hints, timers, waits, work_items, work_rows};
use holon_domain::agent::AgentRecord;
use holon_domain::intent::WorkItemFilter;
use holon_domain::timer::TimerRecord;
use holon_domain::trigger::WakeHint;
use holon_domain::wait::WaitRecord;
use holon_domain::work_item::WorkItemRecord;
use holon_domain::{TimerId, WaitId, WorkItemId};

impl Reader<'_> {
    /// One work item, open or completed.
    ///
    /// # Errors
    /// When the database fails or the row cannot be read.
    pub fn work_item(&self, no: AgentNo, id: &WorkItemId) -> Result<Option<WorkItemRecord>, Error> {
        work_items::one(self.conn(), no, id)
    }

    /// A page of the items that match a filter, newest change first, and how many match. `agent` is the agent's own row,
    /// which says which item is the current one.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn work_item_page(
        &self,
        no: AgentNo,
        agent: &AgentRecord,
        filter: WorkItemFilter,
        limit: usize,
    ) -> Result<(Vec<WorkItemRecord>, u64), Error> {
        work_rows::page(self, no, agent, filter, limit)
    }

    /// A page of work items by the classes of their table, newest change first, and how many match: the current item
    /// counts as queued, and a stalled one as runnable. See [`Reader::work_item_page`].
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn work_items(
        &self,
        no: AgentNo,
        filter: WorkItemFilter,
        limit: usize,
    ) -> Result<(Vec<WorkItemRecord>, u64), Error> {
        work_items::list(self.conn(), no, filter, limit)
    }

    /// Items whose recheck has come and that no answered request has shown yet.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn due_rechecks(&self, no: AgentNo) -> Result<Vec<WorkItemRecord>, Error> {
        work_items::due_rechecks(self.conn(), no)
    }

    /// One wait, active or over.
    ///
    /// # Errors
    /// When the database fails or the row cannot be read.
    pub fn wait(&self, no: AgentNo, id: &WaitId) -> Result<Option<WaitRecord>, Error> {
        waits::one(self.conn(), no, id)
    }

    /// The active waits, oldest first.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn active_waits(&self, no: AgentNo) -> Result<Vec<WaitRecord>, Error> {
        waits::active(self.conn(), no)
    }

    /// The waits that were declared last, newest first.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn newest_waits(&self, no: AgentNo, limit: usize) -> Result<Vec<WaitRecord>, Error> {
        waits::newest(self.conn(), no, limit)
    }

    /// One timer, active or over.
    ///
    /// # Errors
    /// When the database fails or the row cannot be read.
    pub fn timer(&self, no: AgentNo, id: &TimerId) -> Result<Option<TimerRecord>, Error> {
        timers::one(self.conn(), no, id)
    }

    /// Active timers, oldest first.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn active_timers(&self, no: AgentNo, limit: usize) -> Result<Vec<TimerRecord>, Error> {
        timers::active(self.conn(), no, limit)
    }

    /// The timers that were made last, newest first.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn newest_timers(&self, no: AgentNo, limit: usize) -> Result<Vec<TimerRecord>, Error> {
        timers::newest(self.conn(), no, limit)
    }

    /// The pending wake hints.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn hints(&self, no: AgentNo) -> Result<Vec<WakeHint>, Error> {
        hints::pending(self.conn(), no)
    }
}
