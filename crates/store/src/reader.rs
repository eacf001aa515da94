//! `Reader`: the read queries that other crates use. Reading changes nothing and starts no work. Queries about one
//! subject, such as queues or tasks, are in `queue_reader`, `task_reader` and the like.

use crate::agents::{AgentPage, ListedAgent, RecoveryCursor, RecoveryPage};
use crate::children::{self, OrphanPage};
use crate::effects::{DueCursor, DuePage, DueScope};
use crate::error::Error;
use crate::model_limits::LearnedModel;
use crate::prompt_rows::StoredPrompt;
use crate::row::{AgentNo, Unreadable, readable};
use crate::{
    agents, aside, blobs, briefs, budgets, effects, events, kept_replies, log, model_limits,
    prompt_rows, tokens, tombstones, transcript, usage,
};
use holon_domain::agent::{AgentRecord, AgentSettings};
use holon_domain::brief::BriefRecord;
use holon_domain::budget::StoredBudgets;
use holon_domain::decision::BriefSeq;
use holon_domain::effect::{EffectId, EffectRecord};
use holon_domain::feed::{EventPage, EventQuery};
use holon_domain::log::LogEntry;
use holon_domain::provider::StoredLimits;
use holon_domain::request_key::{KeptReply, TokenRecord};
use holon_domain::thread::ThreadState;
use holon_domain::transcript::TranscriptEntry;
use holon_domain::turn::LogSeq;
use holon_domain::usage::{UsageFilter, UsageGrouping, UsageRow, UsageSums};
use holon_domain::{AgentId, Timestamp};
use rusqlite::Connection;

/// Reads inside one read transaction, so that all reads see the same state.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    conn: &'a Connection,
    unreadable: Unreadable,
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(conn: &'a Connection) -> Self {
        Self {
            conn,
            unreadable: Unreadable::Fails,
        }
    }

    /// Returns a reader for projections: where it lists or looks up work, it passes over the rows that cannot be read, and
    /// keeps their faults for the operator.
    #[must_use]
    pub const fn passing_over(&self) -> Self {
        Self {
            conn: self.conn,
            unreadable: Unreadable::IsPassedOver,
        }
    }

    pub(crate) const fn unreadable(&self) -> Unreadable {
        self.unreadable
    }

    pub(crate) const fn conn(&self) -> &'a Connection {
        self.conn
    }

    /// Reads an agent by name.
    ///
    /// # Errors
    /// When the database fails or the row cannot be read.
    pub fn agent(&self, id: &AgentId) -> Result<Option<(AgentNo, AgentRecord)>, Error> {
        agents::by_id(self.conn, id)
    }

    /// Returns true if there is an agent of this name, readable or not.
    ///
    /// # Errors
    /// When the database fails.
    pub fn has_agent(&self, id: &AgentId) -> Result<bool, Error> {
        Ok(agents::number_of(self.conn, id)?.is_some())
    }

    /// Returns the reason for which an agent was put aside, if it was.
    ///
    /// # Errors
    /// When the database fails.
    pub fn aside(&self, id: &AgentId) -> Result<Option<String>, Error> {
        aside::reason(self.conn, id)
    }

    /// Returns true if clients may see the agent; false if there is none.
    ///
    /// # Errors
    /// When the database fails.
    pub fn is_public(&self, id: &AgentId) -> Result<bool, Error> {
        agents::is_public(self.conn, id)
    }

    /// Reads the settings of an agent, also if its record is unreadable.
    ///
    /// # Errors
    /// When the database fails or the settings cannot be read.
    pub fn settings(&self, id: &AgentId) -> Result<Option<AgentSettings>, Error> {
        agents::settings(self.conn, id)
    }

    /// Lists the first temporary agents that were put aside, by name. Recovery skips them, but their callers are gone.
    ///
    /// # Errors
    /// When the database fails.
    pub fn temporary_aside(&self, limit: usize) -> Result<Vec<AgentId>, Error> {
        agents::temporary_aside(self.conn, limit)
    }

    /// Lists the children that are removed with an agent.
    ///
    /// # Errors
    /// When the database fails.
    pub(crate) fn removed_with(&self, id: &AgentId) -> Result<Vec<AgentId>, Error> {
        children::removed_with(self.conn, id)
    }

    /// Lists a page of the children whose parent is gone.
    ///
    /// # Errors
    /// When the database fails.
    pub(crate) fn orphans(&self, after: i64, limit: usize) -> Result<OrphanPage, Error> {
        children::orphans(self.conn, after, limit)
    }

    /// Lists the visible agents with the lengths of their queues, by name.
    ///
    /// # Errors
    /// When the database fails. A row that cannot be read is one entry.
    pub fn agents(&self) -> Result<Vec<ListedAgent>, Error> {
        agents::list_visible(self.conn)
    }

    /// Lists a page of the agents that clients may see, by name, after the one named `after`.
    ///
    /// # Errors
    /// When the database fails. A row that cannot be read is one entry.
    pub fn agents_after(&self, after: &str, limit: usize) -> Result<AgentPage, Error> {
        agents::visible_after(self.conn, after, limit)
    }

    /// Lists a page of all agents by name, private ones too, after the one named `after`.
    ///
    /// # Errors
    /// When the database fails. A row that cannot be read is one entry.
    pub(crate) fn every_agent_after(&self, after: &str, limit: usize) -> Result<AgentPage, Error> {
        agents::every_after(self.conn, after, limit)
    }

    /// Lists every agent by name, private ones too. For questions about the host, never for clients.
    ///
    /// # Errors
    /// When the database fails. A row that cannot be read is one entry.
    pub fn every_agent(&self) -> Result<Vec<ListedAgent>, Error> {
        agents::list_every(self.conn)
    }

    /// Returns the newest `limit` briefs in ascending order.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn briefs(&self, no: AgentNo, limit: usize) -> Result<Vec<BriefRecord>, Error> {
        briefs::newest(self.conn, no, limit)
    }

    /// Returns the newest `limit` entries of the transcript in ascending order.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn transcript(&self, no: AgentNo, limit: usize) -> Result<Vec<TranscriptEntry>, Error> {
        transcript::newest(self.conn, no, limit)
    }

    /// Reads a page of events. A cursor below `oldest_seq - 1` is too old: events after it were removed.
    ///
    /// # Errors
    /// When the database fails.
    pub fn events(&self, no: AgentNo, query: EventQuery) -> Result<EventPage, Error> {
        events::page(self.conn, no, query)
    }

    /// Reads the log from a position on. From a turn's first entry on it is that turn.
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

    /// Reads the entries of the log from a position on up to the end of a turn; without a turn, to the end of the log.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn log_through_turn(
        &self,
        no: AgentNo,
        from: LogSeq,
        turn_index: Option<u64>,
    ) -> Result<Vec<(LogSeq, LogEntry)>, Error> {
        log::through_turn(self.conn, no, from, turn_index)
    }

    /// Reads the entries of a turn's log from a position on, each with the size of its row in bytes.
    pub(crate) fn turn_entries_with_size(
        &self,
        no: AgentNo,
        from: LogSeq,
    ) -> Result<Vec<(LogEntry, usize)>, Error> {
        log::sized_from(self.conn, no, from)
    }

    /// Reads one entry of the log.
    ///
    /// # Errors
    /// When the database fails or the row cannot be read.
    pub fn log_entry(&self, no: AgentNo, seq: LogSeq) -> Result<Option<LogEntry>, Error> {
        log::entry(self.conn, no, seq)
    }

    /// Returns the usage of an agent's last rounds and the rows of its last prompt, or those of one turn. `None` if the log
    /// holds nothing of that turn.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn prompt(
        &self,
        no: AgentNo,
        thread: &ThreadState,
        turn_index: Option<u64>,
    ) -> Result<Option<StoredPrompt>, Error> {
        prompt_rows::read(self, no, thread, turn_index)
    }

    /// Reads the text of a brief. `None` if the brief is gone or cannot be read; an event about it is shown without it.
    ///
    /// # Errors
    /// When the database fails.
    pub fn brief_text(&self, no: AgentNo, seq: BriefSeq) -> Result<Option<String>, Error> {
        let found = readable(self.conn, briefs::words(self.conn, no, seq))?;
        Ok(found.flatten().map(|words| words.text))
    }

    /// Reads the reply that is kept for a request, unless it has expired.
    ///
    /// # Errors
    /// When the database fails.
    pub fn kept_reply(&self, id: &str, now: Timestamp) -> Result<Option<KeptReply>, Error> {
        kept_replies::one(self.conn, id, now)
    }

    /// Returns the number that tells an agent apart from others of its name; `None` if there is no such agent.
    ///
    /// # Errors
    /// When the database fails.
    pub fn birth(&self, id: &AgentId) -> Result<Option<i64>, Error> {
        agents::birth(self.conn, id)
    }

    /// Returns the bytes of the database without its log, and the number of open effects.
    ///
    /// # Errors
    /// When the database fails.
    pub fn figures(&self) -> Result<(u64, u64), Error> {
        let number = |sql: &str| -> Result<u64, Error> {
            let found = crate::row::first(self.conn, sql, [], |row| Ok(row.get(0)?))?;
            Ok(found.unwrap_or(0))
        };
        let pages = number("PRAGMA page_count")?;
        let bytes = pages.saturating_mul(number("PRAGMA page_size")?);
        Ok((bytes, number("SELECT count(*) FROM effects")?))
    }

    /// Lists removed agents by name, each with the time of its removal.
    ///
    /// # Errors
    /// When the database fails.
    pub fn tombstones(&self, limit: usize) -> Result<Vec<(String, Timestamp)>, Error> {
        tombstones::list(self.conn, limit)
    }

    /// Lists the named tokens of callers.
    ///
    /// # Errors
    /// When the database fails.
    pub fn tokens(&self) -> Result<Vec<TokenRecord>, Error> {
        tokens::list(self.conn)
    }

    /// Lists what model calls used, by key, those after `after` only and at most `most` of them, and sums up all of it.
    ///
    /// # Errors
    /// When the database fails.
    pub fn usage(
        &self,
        filter: &UsageFilter,
        by: UsageGrouping,
        after: Option<&str>,
        most: usize,
    ) -> Result<(Vec<UsageRow>, UsageSums), Error> {
        let rows = usage::list(self.conn, filter, by, after, most)?;
        Ok((rows, usage::total(self.conn, filter)?))
    }

    /// Lists the budgets of the host with their meters, and those that cannot be read; those of a day count this day.
    ///
    /// # Errors
    /// When the database fails.
    pub fn budgets(&self, day: &str) -> Result<StoredBudgets, Error> {
        budgets::list(self.conn, day)
    }

    /// Reads a stored text by its hash.
    ///
    /// # Errors
    /// When the database fails.
    pub fn blob(&self, hash: &str) -> Result<Option<String>, Error> {
        blobs::body(self.conn, hash)
    }

    /// Reads the limits of a model that its provider revealed.
    ///
    /// # Errors
    /// When the database fails.
    pub fn model_limits(&self, model_ref: &str) -> Result<StoredLimits, Error> {
        model_limits::of(self.conn, model_ref)
    }

    /// Reads the learned limits of all models, by model.
    ///
    /// # Errors
    /// When the database fails.
    pub fn all_model_limits(&self) -> Result<Vec<LearnedModel>, Error> {
        model_limits::all(self.conn)
    }

    /// Returns a page of the entries that are due by `until` for the agents of a scope, earliest first.
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

    /// Returns a page of the agents that boot must recover.
    ///
    /// # Errors
    /// When the database fails.
    pub fn agents_to_recover(
        &self,
        from: Option<RecoveryCursor>,
        limit: usize,
    ) -> Result<RecoveryPage, Error> {
        agents::to_recover(self.conn, from, limit)
    }

    /// Returns a page of an agent's open effects after the one numbered `after`, in the order they were opened.
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
            Some(no) => effects::of_agent(self.conn, no, agent_id, after, limit),
            None => Ok(Vec::new()),
        }
    }

    /// Wall clock time of the newest recorded event of any agent.
    ///
    /// # Errors
    /// When the database fails.
    pub fn newest_event_at(&self) -> Result<Option<Timestamp>, Error> {
        events::newest_at(self.conn)
    }

    /// Returns the time of the next entry of the due queue.
    ///
    /// # Errors
    /// When the database fails.
    pub fn next_due(&self) -> Result<Option<Timestamp>, Error> {
        effects::next_due(self.conn)
    }
}

#[cfg(test)]
impl Reader<'_> {
    /// Ends the transaction as SQLite does after some I/O errors.
    pub(crate) fn end_transaction_for_test(&self) {
        self.conn.execute_batch("ROLLBACK").expect("rolls back");
    }
}
