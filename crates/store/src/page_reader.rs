//! Reads by cursor: pages of briefs and of the transcript, the history of the host, and tombstones. Also the rows of a
//! prompt that is only drafted.

use crate::error::Error;
use crate::host_events::{HostQuery, HostRows};
use crate::past_rows::{self, PastRows};
use crate::reader::Reader;
use crate::row::AgentNo;
use crate::tombstones::Tombstone;
use crate::turn_rows::{self, MemoryRows};
use crate::{briefs, host_events, tombstones, transcript, work_rows};
use holon_domain::AgentId;
use holon_domain::agent::AgentRecord;
use holon_domain::brief::BriefRecord;
use holon_domain::delegation::ChildFacts;
use holon_domain::feed::SeqQuery;
use holon_domain::message::MessageEnvelope;
use holon_domain::queue::{MessageSeq, QueueStatus};
use holon_domain::task::TaskRecord;
use holon_domain::transcript::TranscriptEntry;
use holon_domain::turn::LogSeq;
use holon_domain::work_item::WorkOverview;

impl Reader<'_> {
    /// Returns a page of briefs in ascending order.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn briefs_page(&self, no: AgentNo, query: SeqQuery) -> Result<Vec<BriefRecord>, Error> {
        briefs::page(self.conn(), no, query)
    }

    /// Returns a page of the transcript in ascending order.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn transcript_page(
        &self,
        no: AgentNo,
        query: SeqQuery,
    ) -> Result<Vec<TranscriptEntry>, Error> {
        transcript::page(self.conn(), no, query)
    }

    /// Reads a page of the events of all agents that callers know, and of the removals among them.
    ///
    /// # Errors
    /// When the database fails.
    pub fn host_events(&self, query: HostQuery) -> Result<HostRows, Error> {
        host_events::page(self.conn(), query)
    }

    /// Reads the tombstone of the last agent of a name that was removed.
    ///
    /// # Errors
    /// When the database fails.
    pub fn tombstone(&self, id: &AgentId) -> Result<Option<Tombstone>, Error> {
        tombstones::one(self.conn(), id.as_str())
    }

    /// Returns the position of the first log entry of a turn; `None` if the log holds nothing of it.
    ///
    /// # Errors
    /// When the database fails.
    pub fn first_entry_of_turn(
        &self,
        no: AgentNo,
        turn_index: u64,
    ) -> Result<Option<LogSeq>, Error> {
        past_rows::first_entry(self, no, turn_index)
    }

    /// Reads the rows that the first request of an agent's next turn would show.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn draft_rows(&self, no: AgentNo, agent: &AgentRecord) -> Result<DraftRows, Error> {
        let (turn_index, first_entry) = (agent.counters.turns + 1, agent.counters.log + 1);
        let operator = match agent.operator_seq {
            Some(seq) => self.message(no, seq)?,
            None => None,
        };
        let operator = operator.filter(|entry| entry.status != QueueStatus::Dropped);
        Ok(DraftRows {
            turn_index,
            past: PastRows {
                base: past_rows::base(self, no, &agent.thread, first_entry)?,
                ..past_rows::read(self, no, &agent.thread, 0, first_entry)?
            },
            operator: operator.map(|entry| (entry.seq, entry.envelope)),
            work: work_rows::shown(self, no, agent, first_entry)?,
            memory: turn_rows::memory(self, no, agent)?,
            children: self.children_at_work(no, agent)?,
            tasks: self.tasks_to_tell(no)?,
        })
    }
}

/// The rows that the first request of an agent's next turn would show.
#[derive(Debug, Clone)]
pub struct DraftRows {
    pub turn_index: u64,
    /// The agent's thread before the turn.
    pub past: PastRows,
    /// Newest message of the operator. Absent if there is none.
    pub operator: Option<(MessageSeq, MessageEnvelope)>,
    pub work: WorkOverview,
    pub memory: MemoryRows,
    /// Tasks that stand for children, with what the agent is shown of each, oldest first.
    pub children: Vec<(TaskRecord, Box<ChildFacts>)>,
    /// The tasks shown to an agent, newest first.
    pub tasks: Vec<TaskRecord>,
}
