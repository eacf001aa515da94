//! `Reader`: every question the rest of the house may ask the tables. Reading changes nothing and activates nobody.

use crate::agents::ListedAgent;
use crate::effects::{DueCursor, DuePage, DueScope};
use crate::error::Error;
use crate::row::AgentNo;
use crate::{
    agents, aside, blobs, briefs, effects, events, interjections, log, model_limits, queue, tasks,
    transcript,
};
use holon_domain::agent::{AgentRecord, AgentSettings};
use holon_domain::brief::BriefRecord;
use holon_domain::effect::{EffectId, EffectRecord};
use holon_domain::feed::{EventPage, EventQuery};
use holon_domain::limits;
use holon_domain::log::LogEntry;
use holon_domain::message::{MessageEnvelope, MessageLabels};
use holon_domain::needs::Needs;
use holon_domain::provider::LearnedLimits;
use holon_domain::queue::{MessageSeq, QueueEntry, QueueStatus, QueueView};
use holon_domain::task::TaskRecord;
use holon_domain::transcript::TranscriptEntry;
use holon_domain::turn::LogSeq;
use holon_domain::{AgentId, TaskId, Timestamp};
use rusqlite::Connection;

/// A message an earlier turn took up, and what was answered.
#[derive(Debug, Clone, PartialEq)]
pub struct HistoryItem {
    /// The message.
    pub message: MessageEnvelope,
    /// Where the log took it up.
    pub seq: LogSeq,
    /// The words of the brief that settled it, once one did.
    pub answer: Option<String>,
}

/// Reads inside one read transaction.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    conn: &'a Connection,
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(conn: &'a Connection) -> Self {
        Self { conn }
    }

    pub(crate) const fn conn(&self) -> &'a Connection {
        self.conn
    }

    /// An agent by name.
    ///
    /// # Errors
    /// When the database fails or the row cannot be read.
    pub fn agent(&self, id: &AgentId) -> Result<Option<(AgentNo, AgentRecord)>, Error> {
        agents::by_id(self.conn, id)
    }

    /// Why an agent was put aside, if it was.
    ///
    /// # Errors
    /// When the database fails.
    pub fn aside(&self, id: &AgentId) -> Result<Option<String>, Error> {
        aside::reason(self.conn, id)
    }

    /// Whether clients may see an agent; false when there is none.
    ///
    /// # Errors
    /// When the database fails.
    pub fn is_public(&self, id: &AgentId) -> Result<bool, Error> {
        agents::is_public(self.conn, id)
    }

    /// The settings of an agent, also of one whose record cannot be read.
    ///
    /// # Errors
    /// When the database fails or the settings cannot be read.
    pub fn settings(&self, id: &AgentId) -> Result<Option<AgentSettings>, Error> {
        agents::settings(self.conn, id)
    }

    /// The first temporary agents that were put aside, by name. Recovery passes them over, but their callers are gone.
    ///
    /// # Errors
    /// When the database fails.
    pub fn temporary_aside(&self, limit: usize) -> Result<Vec<AgentId>, Error> {
        agents::temporary_aside(self.conn, limit)
    }

    /// The visible agents with the lengths of their queues, by name.
    ///
    /// # Errors
    /// When the database fails. A row that cannot be read is one entry.
    pub fn agents(&self) -> Result<Vec<ListedAgent>, Error> {
        agents::visible(self.conn)
    }

    /// The head of an agent's queue and how much stands behind it.
    ///
    /// # Errors
    /// When the database fails or the row cannot be read.
    pub fn queue(&self, no: AgentNo) -> Result<QueueView, Error> {
        let needs = Needs {
            queue_head: true,
            operators: true,
            ..Needs::default()
        };
        queue::view(self.conn, no, &agents::tally(self.conn, no)?, &needs)
    }

    /// How long an agent's queue is; its head is not read.
    ///
    /// # Errors
    /// When the database fails.
    pub fn queue_lengths(&self, no: AgentNo) -> Result<QueueView, Error> {
        queue::view(
            self.conn,
            no,
            &agents::tally(self.conn, no)?,
            &Needs::default(),
        )
    }

    /// One message.
    ///
    /// # Errors
    /// When the database fails or the row cannot be read.
    pub fn message(&self, no: AgentNo, seq: MessageSeq) -> Result<Option<QueueEntry>, Error> {
        queue::message(self.conn, no, seq)
    }

    /// Where one message came from and what it belongs to, without its body. None when the message is gone or its row
    /// cannot be read: whoever shows an event about it shows the rest.
    ///
    /// # Errors
    /// When the database fails.
    pub fn message_labels(
        &self,
        no: AgentNo,
        seq: MessageSeq,
    ) -> Result<Option<MessageLabels>, Error> {
        match queue::labels(self.conn, no, seq) {
            Err(error) if error.is_one_agents() => Ok(None),
            found => found,
        }
    }

    /// What a request takes in beside the log: queued messages that may enter a running turn, then those that are held,
    /// as many and as large as one request may.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn joining(&self, no: AgentNo, held: &[MessageSeq]) -> Result<Vec<QueueEntry>, Error> {
        let mut joining = Joining::default();
        interjections::each(self.conn, no, |entry| joining.take(entry))?;
        for seq in held {
            if joining.is_full() {
                break;
            }
            if let Some(entry) = self.message(no, *seq)? {
                joining.take(entry);
            }
        }
        Ok(joining.taken)
    }

    /// The brief that settled a message, once one did.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn outcome(&self, no: AgentNo, seq: MessageSeq) -> Result<Option<BriefRecord>, Error> {
        match queue::outcome(self.conn, no, seq)? {
            Some(brief) => briefs::one(self.conn, no, brief),
            None => Ok(None),
        }
    }

    /// The newest `limit` briefs, oldest of them first.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn briefs(&self, no: AgentNo, limit: usize) -> Result<Vec<BriefRecord>, Error> {
        briefs::newest(self.conn, no, limit)
    }

    /// The newest `limit` entries of the transcript, oldest of them first.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn transcript(&self, no: AgentNo, limit: usize) -> Result<Vec<TranscriptEntry>, Error> {
        transcript::newest(self.conn, no, limit)
    }

    /// A page of events. A cursor below `oldest_seq - 1` is too old: what it missed was removed.
    ///
    /// # Errors
    /// When the database fails.
    pub fn events(&self, no: AgentNo, query: EventQuery) -> Result<EventPage, Error> {
        events::page(self.conn, no, query)
    }

    /// The log from a position on; from a turn's first entry it is that turn.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn turn_entries(
        &self,
        no: AgentNo,
        from: LogSeq,
    ) -> Result<Vec<(LogSeq, LogEntry)>, Error> {
        log::from(self.conn, no, from)
    }

    /// One entry of the log.
    ///
    /// # Errors
    /// When the database fails or the row cannot be read.
    pub fn log_entry(&self, no: AgentNo, seq: LogSeq) -> Result<Option<LogEntry>, Error> {
        log::entry(self.conn, no, seq)
    }

    /// The last `limit` messages that turns took up before the log position `before`, oldest first.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn history(
        &self,
        no: AgentNo,
        before: LogSeq,
        limit: usize,
    ) -> Result<Vec<HistoryItem>, Error> {
        let mut items = Vec::new();
        for (seq, message_seq) in log::taken(self.conn, no, before, limit)?.into_iter().rev() {
            let Some(entry) = queue::message(self.conn, no, message_seq)? else {
                continue;
            };
            // What no model takes would have every later request refused.
            if entry.status == QueueStatus::Dropped {
                continue;
            }
            let answer = match queue::outcome(self.conn, no, message_seq)? {
                Some(brief) => briefs::words(self.conn, no, brief)?,
                None => None,
            };
            items.push(HistoryItem {
                message: entry.envelope,
                seq,
                answer,
            });
        }
        Ok(items)
    }

    /// The tasks of an agent that are not over, in the order they began, at most twice as many as may begin.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn active_tasks(&self, no: AgentNo) -> Result<Vec<TaskRecord>, Error> {
        tasks::active(self.conn, no)
    }

    /// One task, over or not. The oldest of those that are over are forgotten.
    ///
    /// # Errors
    /// When the database fails or the row cannot be read.
    pub fn task(&self, no: AgentNo, id: &TaskId) -> Result<Option<TaskRecord>, Error> {
        tasks::one(self.conn, no, id)
    }

    /// The `limit` tasks that began last, over or not, newest first.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn tasks(&self, no: AgentNo, limit: usize) -> Result<Vec<TaskRecord>, Error> {
        tasks::newest(self.conn, no, limit)
    }

    /// The tasks an agent is told of, newest first: those that began last, and every one that is not over, however long
    /// ago it began.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn tasks_to_tell(&self, no: AgentNo) -> Result<Vec<TaskRecord>, Error> {
        let mut tasks = self.tasks(no, limits::TASKS_PER_AGENT)?;
        // Fewer than were asked for are all there are.
        if tasks.len() == limits::TASKS_PER_AGENT {
            let active = self.active_tasks(no)?.into_iter().rev();
            let older = active.filter(|task| !tasks.iter().any(|newer| newer.id == task.id));
            let older: Vec<TaskRecord> = older.collect();
            tasks.extend(older);
        }
        Ok(tasks)
    }

    /// A kept text.
    ///
    /// # Errors
    /// When the database fails.
    pub fn blob(&self, hash: &str) -> Result<Option<String>, Error> {
        blobs::body(self.conn, hash)
    }

    /// What providers' errors taught about a model.
    ///
    /// # Errors
    /// When the database fails.
    pub fn model_limits(&self, model_ref: &str) -> Result<LearnedLimits, Error> {
        model_limits::of(self.conn, model_ref)
    }

    /// A page of what is due by `until` for the agents of a scope, earliest first.
    ///
    /// # Errors
    /// When the database fails.
    pub fn due(
        &self,
        scope: &DueScope,
        until: Timestamp,
        after: Option<DueCursor>,
        limit: usize,
    ) -> Result<DuePage, Error> {
        effects::due(self.conn, scope, until, after, limit)
    }

    /// A page of the agents boot must look at, by name.
    ///
    /// # Errors
    /// When the database fails.
    pub fn agents_to_recover(
        &self,
        after: Option<&AgentId>,
        limit: usize,
    ) -> Result<Vec<AgentId>, Error> {
        agents::to_recover(self.conn, after, limit)
    }

    /// A page of an agent's open effects behind the one numbered `after`, in the order they were opened.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn open_effects(
        &self,
        agent_id: &AgentId,
        after: EffectId,
        limit: usize,
    ) -> Result<Vec<EffectRecord>, Error> {
        match agents::number_of(self.conn, agent_id)? {
            Some(no) => effects::of_agent(self.conn, (no, agent_id), after, limit),
            None => Ok(Vec::new()),
        }
    }

    /// What the wall clock said at the last commit that recorded an event, for any agent.
    ///
    /// # Errors
    /// When the database fails.
    pub fn newest_event_at(&self) -> Result<Option<Timestamp>, Error> {
        events::newest_at(self.conn)
    }

    /// When the next entry of the due-queue is due.
    ///
    /// # Errors
    /// When the database fails.
    pub fn next_due(&self) -> Result<Option<Timestamp>, Error> {
        effects::next_due(self.conn)
    }
}

#[cfg(test)]
impl Reader<'_> {
    /// Does to the transaction what SQLite does after some I/O errors.
    pub(crate) fn end_transaction_for_test(&self) {
        self.conn.execute_batch("ROLLBACK").expect("rolls back");
    }
}

/// Collects the messages that join a request until one does not fit any more.
#[derive(Default)]
struct Joining {
    taken: Vec<QueueEntry>,
    bytes: usize,
    /// A message was left out because it is too large for what is left.
    overflowed: bool,
}

impl Joining {
    fn is_full(&self) -> bool {
        self.overflowed || self.taken.len() >= limits::JOINING_PER_ROUND
    }

    /// Takes a message in if it fits; the first fits whatever its size. Whether more may follow.
    fn take(&mut self, entry: QueueEntry) -> bool {
        let bytes = self
            .bytes
            .saturating_add(entry.envelope.body.render().len());
        let fits = self.taken.is_empty() || bytes <= limits::JOINING_BYTES_PER_ROUND;
        if !fits {
            self.overflowed = true;
            return false;
        }
        self.bytes = bytes;
        self.taken.push(entry);
        !self.is_full()
    }
}
