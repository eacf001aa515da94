//! Reads of work items, waits, timers, wake hints and workspaces. Reading changes nothing.

use crate::error::Error;
use crate::reader::Reader;
use crate::row::{AgentNo, readable};
use crate::work_rows::WorkItemRows;
use crate::{
    delivery_summaries, hints, timers, triggers, waits, work_items, work_rows, workspaces,
};
use holon_domain::agent::AgentRecord;
use holon_domain::intent::WorkItemFilter;
use holon_domain::timer::TimerRecord;
use holon_domain::trigger::{TriggerRecord, WakeHint};
use holon_domain::wait::WaitRecord;
use holon_domain::work_item::{DeliverySummaryRow, ReportText, WorkItemCursor, WorkItemRecord};
use holon_domain::workspace::{Occupancy, Occupant, RegisteredWorkspace};
use holon_domain::{DeliverySummaryId, TimerId, TriggerId, WaitId, WorkItemId};

impl Reader<'_> {
    /// Reads one work item, open or completed.
    ///
    /// # Errors
    /// When the database fails or the row cannot be read.
    pub fn work_item(&self, no: AgentNo, id: &WorkItemId) -> Result<Option<WorkItemRecord>, Error> {
        work_items::one(self.conn(), no, id, self.unreadable())
    }

    /// Reads the delivery summary of a completed item. Its text may stand in the log.
    ///
    /// # Errors
    /// When the database fails or the row cannot be read.
    pub fn delivery_summary(
        &self,
        no: AgentNo,
        id: &DeliverySummaryId,
    ) -> Result<Option<DeliverySummaryRow>, Error> {
        delivery_summaries::one(self.conn(), no, id, self.unreadable())
    }

    /// Reads the text of a report. `None` if it cannot be read; the item still has its beginning.
    ///
    /// # Errors
    /// When the database fails.
    pub fn report_text(&self, no: AgentNo, text: ReportText) -> Result<Option<String>, Error> {
        let conn = self.conn();
        readable(conn, delivery_summaries::words_of(conn, no, text))
    }

    /// Returns true if an agent that clients may see has this work item.
    ///
    /// # Errors
    /// When the database fails.
    pub fn is_public_item(&self, id: &WorkItemId) -> Result<bool, Error> {
        work_items::is_public(self.conn(), id)
    }

    /// Reads a page of the items that match a filter, newest change first, behind a position. `agent` is the agent's own
    /// row, which names the current item.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn work_item_page(
        &self,
        no: AgentNo,
        agent: &AgentRecord,
        filter: WorkItemFilter,
        after: Option<WorkItemCursor>,
        limit: usize,
    ) -> Result<WorkItemRows, Error> {
        work_rows::page(self, no, agent, filter, after, limit)
    }

    /// Reads a page of work items by the classes of their table, newest change first, and the number of matching items.
    /// The current item counts as queued, and a stalled one as runnable. See [`Reader::work_item_page`].
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn work_items(
        &self,
        no: AgentNo,
        filter: WorkItemFilter,
        limit: usize,
    ) -> Result<(Vec<WorkItemRecord>, u64), Error> {
        work_items::list(self, no, filter, limit)
    }

    /// Lists items whose recheck is due and that no answered request has shown yet.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn due_rechecks(&self, no: AgentNo) -> Result<Vec<WorkItemRecord>, Error> {
        work_items::due_rechecks(self.conn(), no)
    }

    /// Reads one wait, active or not.
    ///
    /// # Errors
    /// When the database fails or the row cannot be read.
    pub fn wait(&self, no: AgentNo, id: &WaitId) -> Result<Option<WaitRecord>, Error> {
        waits::one(self.conn(), no, id)
    }

    /// Lists the active waits, oldest first.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn active_waits(&self, no: AgentNo) -> Result<Vec<WaitRecord>, Error> {
        waits::active(self.conn(), no, self.unreadable())
    }

    /// Lists the waits that were declared last, newest first.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn newest_waits(&self, no: AgentNo, limit: usize) -> Result<Vec<WaitRecord>, Error> {
        waits::newest(self.conn(), no, limit, self.unreadable())
    }

    /// Reads one timer, active or not.
    ///
    /// # Errors
    /// When the database fails or the row cannot be read.
    pub fn timer(&self, no: AgentNo, id: &TimerId) -> Result<Option<TimerRecord>, Error> {
        timers::one(self.conn(), no, id)
    }

    /// Lists active timers, oldest first.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn active_timers(&self, no: AgentNo, limit: usize) -> Result<Vec<TimerRecord>, Error> {
        timers::active(self.conn(), no, limit, self.unreadable())
    }

    /// Lists the timers that were created last, newest first.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn newest_timers(&self, no: AgentNo, limit: usize) -> Result<Vec<TimerRecord>, Error> {
        timers::newest(self.conn(), no, limit, self.unreadable())
    }

    /// Lists the workspaces of the host, the one that an agent was given last first.
    ///
    /// # Errors
    /// When the database fails.
    pub fn workspaces(&self, limit: usize) -> Result<Vec<RegisteredWorkspace>, Error> {
        workspaces::newest(self.conn(), limit)
    }

    /// Reads the execution root that an agent occupies.
    ///
    /// # Errors
    /// When the database fails or the row cannot be read.
    pub fn occupancy(&self, no: AgentNo) -> Result<Option<Occupancy>, Error> {
        workspaces::of_agent(self.conn(), no)
    }

    /// Lists the agents that occupy an execution root, a bounded number, in no order.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn occupants(&self, execution_root: &str) -> Result<Vec<Occupant>, Error> {
        workspaces::occupants(self.conn(), execution_root)
    }

    /// Reads an external trigger of any agent by its id. The record names its agent.
    ///
    /// # Errors
    /// When the database fails or the row cannot be read.
    pub fn trigger(&self, id: &TriggerId) -> Result<Option<TriggerRecord>, Error> {
        triggers::one(self.conn(), id)
    }

    /// Lists the external triggers of an agent, newest first: the active ones and the newest revoked ones.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn triggers(&self, no: AgentNo) -> Result<Vec<TriggerRecord>, Error> {
        triggers::of_agent(self.conn(), no, self.unreadable())
    }

    /// Lists the pending wake hints.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn hints(&self, no: AgentNo) -> Result<Vec<WakeHint>, Error> {
        hints::pending(self.conn(), no, self.unreadable())
    }
}
