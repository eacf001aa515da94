//! `Tx`: the operations of one write of a batch. Loads bounded views, creates agents and applies decisions.
//!
//! Invariant: undoing the write undoes everything a `Tx` did. Hooks and notices, which may only be known after the
//! commit, are collected here and leave with it. The records that are kept beside the rows (`known_agents`) are of no
//! use once their rows have another text.

use crate::agents::{self, Tally};
use crate::delete::Removal;
use crate::error::Error;
use crate::known_agents::KnownAgents;
use crate::mark::Mark;
use crate::reader::Reader;
use crate::row::{AgentNo, run};
use crate::{
    aside, attempts, blobs, briefs, budget_sums, budgets, children, delete, deliveries,
    delivery_summaries, effects, episodes, events, generations, hints, history, host_events,
    interjections, log, memory_outbox, model_limits, queue, retention, tasks, timers, tombstones,
    triggers, usage, waits, work_items, workspace_profiles, workspaces,
};
use holon_domain::agent::{AgentRecord, Visibility};
use holon_domain::decision::{Decision, Fact};
use holon_domain::feed::FeedNotice;
use holon_domain::memory::WorkspaceProfile;
use holon_domain::queue::{MessageSeq, QueueEntry};
use holon_domain::storage::{HistoryPosition, HistoryRule, HistoryStep};
use holon_domain::{AgentId, Timestamp, limits};
use rusqlite::Connection;
use std::cell::RefCell;

/// A function that runs once the commit holds, before its callers are answered.
pub type Hook = Box<dyn FnOnce() + Send>;

/// The hooks, notices and marks that a member leaves for after the commit.
#[derive(Default)]
pub(crate) struct Aftermath {
    pub(crate) hooks: Vec<Hook>,
    pub(crate) news: Vec<FeedNotice>,
    /// Proof of the commit for a new connection.
    pub(crate) mark: Option<Mark>,
    /// True if any row was changed.
    pub(crate) changed: bool,
}

/// One write of a batch, which can be undone alone.
pub struct Tx<'a> {
    conn: &'a Connection,
    known: &'a RefCell<KnownAgents>,
    after: Aftermath,
}

impl std::fmt::Debug for Tx<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tx")
            .field("mark", &self.after.mark)
            .finish_non_exhaustive()
    }
}

impl<'a> Tx<'a> {
    pub(crate) fn new(conn: &'a Connection, known: &'a RefCell<KnownAgents>) -> Self {
        Self {
            conn,
            known,
            after: Aftermath::default(),
        }
    }

    /// Returns the write of a part in a savepoint of its own.
    pub(crate) fn nested_part(&self) -> Self {
        Self::new(self.conn, self.known)
    }

    pub(crate) fn into_aftermath(self) -> Aftermath {
        self.after
    }

    pub(crate) const fn conn(&self) -> &'a Connection {
        self.conn
    }

    /// Adds the hooks, notices and marks of a nested part.
    pub(crate) fn take_over(&mut self, nested: Self) {
        let Aftermath {
            hooks, news, mark, ..
        } = nested.after;
        self.after.hooks.extend(hooks);
        self.after.news.extend(news);
        self.after.mark = self.after.mark.max(mark);
    }

    /// Returns a reader that sees the state inside this write.
    #[must_use]
    pub fn reader(&self) -> Reader<'a> {
        Reader::new(self.conn)
    }

    /// Reads an agent by name.
    ///
    /// # Errors
    /// When the database fails or the row cannot be read.
    pub fn agent(&mut self, id: &AgentId) -> Result<Option<(AgentNo, AgentRecord)>, Error> {
        agents::by_id(self.conn, id)
    }

    /// Reads an agent that a decision is made about.
    pub(crate) fn decided_agent(
        &mut self,
        id: &AgentId,
    ) -> Result<Option<(AgentNo, AgentRecord)>, Error> {
        agents::read_known(self.conn, &mut self.known.borrow_mut(), id)
    }

    /// Writes a new agent. Its first events follow by [`Tx::apply`].
    ///
    /// # Errors
    /// `AgentExists` when the name is taken, or when the database fails.
    pub fn create_agent(&mut self, record: &AgentRecord) -> Result<AgentNo, Error> {
        let floor = tombstones::event_floor(self.conn, record.identity.agent_id.as_str())?;
        let no = agents::insert(self.conn, record, floor)?;
        agents::note_birth(self.conn, no, record.generation)?;
        Ok(no)
    }

    /// Writes a decision: every fact, then the agent's row.
    ///
    /// # Errors
    /// `Contradiction` when a fact does not fit the stored rows, or when the database fails. The caller must then
    /// abandon the whole write, which undoes the written part.
    pub fn apply(&mut self, no: AgentNo, decision: &Decision) -> Result<(), Error> {
        check_positions(decision)?;
        let before = agents::tally(self.conn, no)?;
        if !before.is_split {
            agents::split_row(self.conn, no)?;
        }
        if !before.interjections_listed {
            interjections::list(self.conn, no)?;
        }
        let mut after = before;
        let mut events = events::EventBatch::default();
        let (mut changes_memory, mut changes_settings) = (false, false);
        for fact in &decision.facts {
            let sources = memory_outbox::changed_by(self.conn, no, fact)?;
            let mut written = self.write(no, fact, &mut after, &mut events);
            changes_settings |= matches!(fact, Fact::SettingsWritten(_));
            changes_memory |= !sources.is_empty();
            for source in &sources {
                written = written.and_then(|()| memory_outbox::add(self.conn, no, source));
            }
            written.map_err(|error| error.into_contradiction(fact))?;
        }
        events
            .write(self.conn, no, &mut after)
            .map_err(|error| error.into_contradiction(&"events of a decision"))?;
        let counted = decision.agent.counters.events;
        if after.newest_event != counted {
            let newest = after.newest_event;
            return Err(Error::contradiction(format!(
                "the agent counts {counted} events, but {newest} are stored"
            )));
        }
        let state = agents::update(self.conn, no, &decision.agent, &before, &after)?;
        let mut known = self.known.borrow_mut();
        match changes_settings {
            true => known.forget(no),
            false => known.note(no, state, &decision.agent),
        }
        if after.newest_event != before.newest_event {
            let identity = &decision.agent.identity;
            self.after.news.push(FeedNotice {
                agent_id: identity.agent_id.clone(),
                newest_seq: after.newest_event,
                visibility: identity.visibility,
                changes_memory,
            });
            self.leave(Mark::Event(no, after.newest_event));
        }
        Ok(())
    }

    fn write(
        &self,
        no: AgentNo,
        fact: &Fact,
        tally: &mut Tally,
        events: &mut events::EventBatch,
    ) -> Result<(), Error> {
        let conn = self.conn;
        match fact {
            Fact::MessageAdmitted(entry) => queue::admit(conn, no, entry, tally),
            Fact::MessageMoved { seq, from, to } => queue::shift(conn, no, *seq, *from, *to, tally),
            Fact::MessageSettled { seq, brief } => queue::settle(conn, no, *seq, *brief),
            Fact::LogAppended {
                seq,
                turn_index,
                at,
                entry,
            } => log::append(conn, no, *seq, *turn_index, *at, entry),
            Fact::BriefWritten { seq, row } => briefs::write(conn, no, *seq, row),
            Fact::EventRecorded { seq, at, event } => events.add(*seq, *at, event, tally),
            Fact::EffectOpened {
                id,
                generation,
                at,
                effect,
            } => effects::open(conn, no, *id, *generation, *at, effect),
            Fact::EffectClosed { id } => effects::close(conn, no, *id),
            Fact::DueSet { id, time, due } => effects::set_due(conn, no, *id, *time, due),
            Fact::DueCleared { id } => effects::clear_due(conn, no, *id),
            Fact::AttemptKept { n, record } => attempts::keep(conn, no, *n, record),
            Fact::AttemptsCleared => attempts::clear(conn, no),
            Fact::GenerationTaken { generation } => generations::take(conn, *generation),
            Fact::SettingsWritten(settings) => agents::write_settings(conn, no, settings),
            Fact::TaskWritten(task) => tasks::write(conn, no, task),
            Fact::WorkItemWritten(item) => work_items::write(conn, no, item),
            Fact::DeliverySummaryWritten(summary) => delivery_summaries::write(conn, no, summary),
            Fact::WaitWritten(wait) => waits::write(conn, no, wait),
            Fact::TimerWritten(timer) => timers::write(conn, no, timer),
            Fact::HintWritten(hint) => hints::write(conn, no, hint),
            Fact::HintsCleared => hints::clear(conn, no),
            Fact::DeliveryWritten(record) => deliveries::write(conn, no, record),
            Fact::DeliverySettled {
                route,
                seq,
                outcome,
            } => deliveries::settle(conn, no, route, *seq, outcome),
            Fact::DeliveriesTrimmed { route, through } => {
                deliveries::trim(conn, no, route, *through)
            }
            Fact::TriggerWritten(trigger) => triggers::write(conn, no, trigger),
            Fact::AgentSpawned(spawn) => children::write(conn, spawn),
            Fact::SpawnEnded { child } => children::end(conn, child),
            Fact::LimitLearned {
                model_ref,
                server,
                limits,
                at,
            } => model_limits::learn(conn, model_ref, server, *limits, *at),
            Fact::UsageCharged(charge) => {
                usage::charge(conn, charge)?;
                budget_sums::spend(conn, charge)?;
                budgets::spend(conn, charge)
            }
            Fact::CallReserved(reservation) => budget_sums::reserve(conn, no, reservation),
            Fact::ReservationReleased => budget_sums::release(conn, no),
            Fact::WorkspaceRegistered { workspace, at } => {
                workspaces::register(conn, workspace, *at)
            }
            Fact::OccupancyTaken(occupancy) => workspaces::occupy(conn, no, occupancy),
            Fact::OccupancyReleased => workspaces::release(conn, no),
            Fact::WorkingMemoryWritten(state) => episodes::write_memory(conn, no, state),
            Fact::EpisodeArchived(episode) => episodes::archive(conn, no, episode),
            Fact::BlobKept { hash, body, entry } => blobs::keep(conn, no, hash, body, *entry),
        }
    }

    /// Reads one message of an agent inside the transaction; `None` if its queue holds no entry of this number.
    ///
    /// # Errors
    /// When the database fails or the row cannot be read.
    pub fn message(&mut self, no: AgentNo, seq: MessageSeq) -> Result<Option<QueueEntry>, Error> {
        queue::message(self.conn, no, seq)
    }

    /// Removes at most `limit` rows of an agent, its own row last. The caller repeats it in further commits until
    /// `Done`.
    ///
    /// # Errors
    /// When the database fails.
    pub fn remove_agent_rows(&mut self, no: AgentNo, limit: u64) -> Result<Removal, Error> {
        self.leave(Mark::removal(self.conn)?);
        host_events::keep_numbers(self.conn, no)?;
        run(self.conn, tombstones::RAISE, [no.0])?;
        delete::step(self.conn, no, limit)
    }

    /// Removes at most `step` of the oldest events of the largest holders while the host holds more than
    /// `budget_bytes`. The newest `keep_per_agent` of each agent stay. Less than 64 KiB of an agent is not counted, so
    /// many agents can together hold more than the budget. Returns the number of removed events.
    ///
    /// # Errors
    /// When the database fails.
    pub fn trim_events(
        &mut self,
        budget_bytes: u64,
        keep_per_agent: u64,
        step: u64,
    ) -> Result<u64, Error> {
        let removed = retention::trim(self.conn, budget_bytes, keep_per_agent, step)?;
        if removed > 0 {
            self.leave(Mark::removal(self.conn)?);
        }
        Ok(removed)
    }

    /// Removes the next part of an agent's oldest turns by a rule, with everything that only they
    /// need. The caller repeats it in further commits until `None`.
    ///
    /// # Errors
    /// When the database fails or a row cannot be read.
    pub fn trim_history(
        &mut self,
        id: &AgentId,
        rule: HistoryRule,
    ) -> Result<Option<HistoryStep>, Error> {
        let Some((no, agent)) = agents::read_unless_aside(self.conn, id)? else {
            return Ok(None);
        };
        let from = HistoryPosition::default();
        let Some(plan) = history::plan(self.conn, no, &agent, &from, rule)? else {
            return Ok(None);
        };
        history::apply(self.conn, no, &plan)?;
        self.leave(Mark::removal(self.conn)?);
        Ok(Some(plan.step))
    }

    /// Removes at most `limit` rows of a named agent. A missing agent is `Done`.
    pub(crate) fn remove_rows_of(&mut self, id: &AgentId, limit: u64) -> Result<Removal, Error> {
        match agents::number_of(self.conn, id)? {
            Some(no) => self.remove_agent_rows(no, limit),
            None => Ok(Removal::Done),
        }
    }

    /// Removes entries of the memory outbox that an agent's index has taken.
    pub(crate) fn prune_memory_outbox(
        &mut self,
        id: &AgentId,
        position: u64,
        bound: u64,
    ) -> Result<u64, Error> {
        let Some(no) = agents::number_of(self.conn, id)? else {
            return Ok(0);
        };
        let removed = memory_outbox::prune(self.conn, no, position, bound)?;
        if removed > 0 {
            self.leave(Mark::removal(self.conn)?);
        }
        Ok(removed)
    }

    /// Writes the profile of a workspace.
    pub(crate) fn write_workspace_profile(
        &mut self,
        profile: &WorkspaceProfile,
        at: Timestamp,
    ) -> Result<(), Error> {
        self.leave(Mark::removal(self.conn)?);
        workspace_profiles::write(self.conn, profile, at)
    }

    /// Trims events by the host's own bounds.
    pub(crate) fn trim_to(&mut self, budget_bytes: u64) -> Result<u64, Error> {
        self.trim_events(
            budget_bytes,
            limits::EVENTS_KEPT_PER_AGENT,
            limits::RETENTION_STEP,
        )
    }

    /// Records that a host has recovered every agent.
    pub(crate) fn note_recovered(&mut self) -> Result<(), Error> {
        crate::exit::note_recovered(self.conn)
    }

    /// Puts an agent aside, records one event and notifies subscribers. Returns true if it was not aside before.
    pub(crate) fn put_aside(
        &mut self,
        id: &AgentId,
        reason: &str,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let Some((no, newest_seq)) = aside::mark(self.conn, id, reason, now)? else {
            return Ok(false);
        };
        let visibility = match agents::is_public(self.conn, id)? {
            true => Visibility::Public,
            false => Visibility::Private,
        };
        self.after.news.push(FeedNotice {
            agent_id: id.clone(),
            newest_seq,
            visibility,
            changes_memory: false,
        });
        self.leave(Mark::Event(no, newest_seq));
        Ok(true)
    }

    /// Notes the removal of an agent that callers know, and notifies subscribers. Repeating it changes nothing.
    pub(crate) fn add_tombstone(&mut self, id: &AgentId, now: Timestamp) -> Result<(), Error> {
        if let Some(tombstone) = tombstones::add(self.conn, id.as_str(), now)? {
            host_events::add_removal(self.conn, id, tombstone)?;
            self.after.news.push(FeedNotice {
                agent_id: id.clone(),
                newest_seq: tombstone.last_seq(),
                visibility: Visibility::Public,
                changes_memory: false,
            });
        }
        Ok(())
    }

    /// Keeps the greatest mark, by which the commit is proven.
    fn leave(&mut self, mark: Mark) {
        self.after.mark = self.after.mark.max(Some(mark));
    }

    /// Runs `hook` once the commit holds, before the callers are answered. It never runs if this write is abandoned.
    pub fn after_commit(&mut self, hook: Hook) {
        self.after.hooks.push(hook);
    }
}

/// Checks that the positions of a decision are consecutive and end at its agent's counters.
fn check_positions(decision: &Decision) -> Result<(), Error> {
    let counters = &decision.agent.counters;
    let (mut messages, mut log, mut briefs) = (None, None, None);
    for fact in &decision.facts {
        let (last, seq) = match fact {
            Fact::MessageAdmitted(entry) => (&mut messages, entry.seq),
            Fact::LogAppended { seq, .. } => (&mut log, *seq),
            Fact::BriefWritten { seq, .. } => (&mut briefs, *seq),
            Fact::MessageMoved { .. }
            | Fact::MessageSettled { .. }
            | Fact::EventRecorded { .. }
            | Fact::EffectOpened { .. }
            | Fact::EffectClosed { .. }
            | Fact::DueSet { .. }
            | Fact::DueCleared { .. }
            | Fact::AttemptKept { .. }
            | Fact::AttemptsCleared
            | Fact::GenerationTaken { .. }
            | Fact::SettingsWritten(_)
            | Fact::TaskWritten(_)
            | Fact::WorkItemWritten(_)
            | Fact::DeliverySummaryWritten(_)
            | Fact::WaitWritten(_)
            | Fact::TimerWritten(_)
            | Fact::HintWritten(_)
            | Fact::HintsCleared
            | Fact::DeliveryWritten(_)
            | Fact::DeliverySettled { .. }
            | Fact::DeliveriesTrimmed { .. }
            | Fact::TriggerWritten(_)
            | Fact::AgentSpawned(_)
            | Fact::SpawnEnded { .. }
            | Fact::LimitLearned { .. }
            | Fact::UsageCharged(_)
            | Fact::CallReserved(_)
            | Fact::ReservationReleased
            | Fact::WorkspaceRegistered { .. }
            | Fact::OccupancyTaken(_)
            | Fact::OccupancyReleased
            | Fact::WorkingMemoryWritten(_)
            | Fact::EpisodeArchived(_)
            | Fact::BlobKept { .. } => continue,
        };
        if last.is_some_and(|last| seq != last + 1) {
            return Err(Error::contradiction(format!(
                "position {seq} follows {last:?} in {fact:?}"
            )));
        }
        *last = Some(seq);
    }
    let ends = [
        ("messages", messages, counters.messages),
        ("log", log, counters.log),
        ("briefs", briefs, counters.briefs),
    ];
    for (what, last, counted) in ends {
        if last.is_some_and(|last| last != counted) {
            return Err(Error::contradiction(format!(
                "{what} end at {last:?}, but the agent counts {counted}"
            )));
        }
    }
    Ok(())
}
