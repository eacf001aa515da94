//! The oracle's record of one agent: messages, turns, outcomes and tasks, read again after every commit.

mod statuses;

use crate::check;
use crate::coverage::Coverage;
use crate::log_checker::{EntryMeaning, LogChecker};
use crate::message::Message;
use crate::post::Mail;
use crate::rules::ResumptionCounts;
use crate::tasks::{TaskBook, TaskObservation};
use crate::tool_world::ToolWorld;
use crate::violation::{Verdict, ensure, stored, violation};
use crate::work_rules::{CallAnswer, FreshWork, WorkBooks, WorkObservation};
use holon_domain::agent::AgentRecord;
use holon_domain::authority::AuthorityClass;
use holon_domain::event::Event;
use holon_domain::feed::{EventOrder, EventQuery};
use holon_domain::message::MessageKind;
use holon_domain::queue::QueueStatus;
use holon_domain::turn::{Phase, TerminalReason};
use holon_domain::{CallId, MessageId, TimerId, Timestamp, WorkItemId, limits};
use holon_store::{AgentNo, OutstandingWork, Reader};
use std::collections::{BTreeMap, BTreeSet};

/// The world that an observation compares rows with, and the counts that it adds to.
pub(crate) struct ObservationContext<'a> {
    pub(crate) tool_world: &'a ToolWorld,
    pub(crate) now: Timestamp,
    /// Start of the process that made the commit.
    pub(crate) started_at: Timestamp,
    pub(crate) coverage: &'a mut Coverage,
    /// Items that the request listed whose answer the commit accepted.
    pub(crate) shown: &'a [WorkItemId],
    /// False in runs whose clock jumps.
    pub(crate) steady_clock: bool,
}

/// The oracle's record of one agent.
#[derive(Debug)]
pub(crate) struct ObservedAgent {
    /// Row of the agent at the last observation.
    pub(crate) record: AgentRecord,
    pub(crate) messages: BTreeMap<u64, Message>,
    pub(crate) by_id: BTreeMap<MessageId, u64>,
    /// Operator messages without an outcome.
    pub(crate) unsettled: BTreeSet<u64>,
    /// Messages that are not settled yet.
    pub(crate) live: BTreeSet<u64>,
    pub(crate) log: LogChecker,
    pub(crate) tasks: TaskBook,
    /// Messages between agents that the last observation found.
    pub(crate) mail: Mail,
    pub(crate) work: WorkBooks,
    /// What the last observation found about work.
    fresh: FreshWork,
    /// Text of the last completion report.
    pub(crate) last_report: Option<String>,
    /// Open obligations that its rows name.
    pub(crate) outstanding: OutstandingWork,
    events: u64,
    pub(crate) briefs: u64,
    pub(crate) turns_started: u64,
    pub(crate) turns_ended: u64,
    fired: Vec<Timestamp>,
    /// End of the last turn and its number of rounds.
    last_end: Option<(TerminalReason, u32)>,
    /// Authority of the last opened turn.
    pub(crate) turn_authority: AuthorityClass,
    /// Unclean exits in a row without a new log entry.
    pub(crate) resumes: ResumptionCounts,
    /// Number of events that report it as put aside.
    pub(crate) put_aside: u64,
    /// Timers that were cancelled. Their queued ticks begin no turn.
    cancelled_timers: BTreeSet<TimerId>,
    /// Prompts whose operator got a notice that they wait.
    pub(crate) acknowledged: BTreeSet<MessageId>,
    /// The last turn whose operator was asked to act.
    pub(crate) action_requested: Option<u64>,
    /// True if a caller waited for the turn that was open at the last observation.
    pub(crate) was_attended: bool,
    /// True once its rows are being removed and no longer count.
    pub(crate) removing: bool,
}

impl ObservedAgent {
    pub(crate) fn new(record: AgentRecord) -> Self {
        Self {
            record,
            messages: BTreeMap::new(),
            by_id: BTreeMap::new(),
            unsettled: BTreeSet::new(),
            live: BTreeSet::new(),
            log: LogChecker::default(),
            tasks: TaskBook::default(),
            mail: Mail::default(),
            work: WorkBooks::default(),
            fresh: FreshWork::default(),
            last_report: None,
            outstanding: OutstandingWork::default(),
            events: 0,
            briefs: 0,
            turns_started: 0,
            turns_ended: 0,
            fired: Vec::new(),
            last_end: None,
            turn_authority: AuthorityClass::OperatorInstruction,
            resumes: ResumptionCounts::default(),
            put_aside: 0,
            cancelled_timers: BTreeSet::new(),
            acknowledged: BTreeSet::new(),
            action_requested: None,
            was_attended: false,
            removing: false,
        }
    }

    /// Returns the oracle's record of the log.
    #[must_use]
    pub(crate) const fn log(&self) -> &LogChecker {
        &self.log
    }

    pub(crate) fn observe(
        &mut self,
        reader: &Reader<'_>,
        no: AgentNo,
        record: AgentRecord,
        mut context: ObservationContext<'_>,
    ) -> Verdict<()> {
        let waited = self.is_sending();
        let open = self.record.open_turn.as_ref();
        self.was_attended = open.is_some_and(|turn| turn.attended);
        let failures = |agent: &AgentRecord| {
            let turn = agent.open_turn.as_ref()?;
            let tries = (turn.failed_attempts, turn.patience.failed_at);
            Some((turn.turn_index, tries, turn.apart.len()))
        };
        let suspended = |agent: &AgentRecord| {
            let turn = agent.open_turn.as_ref();
            turn.is_some_and(|turn| matches!(turn.phase, Phase::Suspended { .. }))
        };
        // A recorded failure or suspension is progress: the host lived to record it.
        if failures(&record) != failures(&self.record) || suspended(&record) {
            self.resumes = ResumptionCounts::default();
        }
        let before = std::mem::replace(&mut self.record, record);
        let rows = stored(reader.outstanding(no))?;
        let rows_before = std::mem::replace(&mut self.outstanding, rows);
        let first_new = self.messages.len() as u64 + 1;
        self.read_messages(reader, no)?;
        let opened = self.read_log(reader, no, &mut context, waited)?;
        let ObservationContext {
            tool_world,
            coverage,
            shown,
            now,
            started_at,
            steady_clock,
        } = context;
        self.read_events(reader, no, coverage)?;
        self.read_statuses(reader, no, coverage)?;
        self.read_tasks(reader, no, tool_world, coverage)?;
        self.read_briefs(reader, no)?;
        let queue = stored(reader.queue(no))?;
        self.check_operators(&queue)?;
        check::agent(&self.record, &queue, &self.outstanding)?;
        self.log.agrees_with(&self.record)?;
        self.check_turns()?;
        self.check_order(opened, first_new)?;
        self.check_settled()?;
        self.check_suspension()?;
        let fresh = std::mem::take(&mut self.fresh);
        let seen = WorkObservation {
            before: &before,
            rows_before: &rows_before,
            after: &self.record,
            rows: &self.outstanding,
            fresh: &fresh,
            known: &self.messages,
            shown,
            now,
            started_at,
            steady_clock,
        };
        self.work.compare(&seen, coverage)?;
        coverage.agent(&self.record);
        Ok(())
    }

    fn read_messages(&mut self, reader: &Reader<'_>, no: AgentNo) -> Verdict<()> {
        let known = self.messages.len() as u64;
        for seq in known + 1..=self.record.counters.messages {
            let Some(entry) = stored(reader.message(no, seq))? else {
                return violation("message positions are dense", format!("{seq} is missing"));
            };
            let envelope = &entry.envelope;
            self.check_authority(envelope)?;
            self.tasks.record_message(envelope)?;
            self.mail.record_message(envelope);
            let owed = envelope
                .task_id
                .as_ref()
                .is_some_and(|id| self.tasks.is_owed(id));
            ensure(
                !owed || entry.status == QueueStatus::Held,
                "what was stopped with its agent begins no turn",
                || format!("message {seq} is {:?}", entry.status),
            )?;
            self.by_id.insert(envelope.id.clone(), seq);
            self.live.insert(seq);
            if envelope.kind == MessageKind::OperatorPrompt {
                self.unsettled.insert(seq);
            }
            self.messages.insert(seq, Message::of(envelope));
            self.fresh.messages.push(entry.envelope);
        }
        Ok(())
    }

    fn read_log(
        &mut self,
        reader: &Reader<'_>,
        no: AgentNo,
        context: &mut ObservationContext<'_>,
        mut waited: bool,
    ) -> Verdict<Option<u64>> {
        let (tool_world, now) = (context.tool_world, context.now);
        let coverage = &mut *context.coverage;
        let mut opened = None;
        for (seq, entry) in stored(reader.turn_entries(no, self.log.entries + 1))? {
            match self.log.read_entry(seq, &entry, tool_world, now)? {
                EntryMeaning::Opened(message) => {
                    opened = Some(message);
                    self.enter(message, message)?;
                    self.count_result(message, "result:opened_turn", coverage);
                    if let Some(found) = self.messages.get(&message) {
                        self.turn_authority = found.authority;
                    }
                }
                EntryMeaning::Entered { seq, opener } => {
                    self.enter(seq, opener)?;
                    self.count_result(seq, "result:joined_turn", coverage);
                    // An operator's instruction that joins a turn of the runtime is an instruction for that turn.
                    let joined = self.messages.get(&seq).map(|found| found.authority);
                    if joined == Some(AuthorityClass::OperatorInstruction)
                        && self.turn_authority == AuthorityClass::RuntimeInstruction
                    {
                        self.turn_authority = AuthorityClass::OperatorInstruction;
                    }
                }
                EntryMeaning::Answered(call, envelope) => {
                    coverage.result(&envelope);
                    self.tasks.record_result(&call, &envelope)?;
                    let from = &self.record.identity.agent_id;
                    let authority = self.turn_authority;
                    // The first of several results belongs to the call that waited.
                    let waited = std::mem::take(&mut waited);
                    self.mail
                        .record_result(from, authority, &call, &envelope, waited);
                    self.fresh.answers.push(CallAnswer {
                        call,
                        envelope,
                        authority,
                    });
                }
                EntryMeaning::Other => {}
            }
        }
        let counted = self.record.counters.log;
        ensure(
            self.log.entries == counted,
            "the agent counts its log",
            || format!("{} entries, counted {counted}", self.log.entries),
        )?;
        Ok(opened)
    }

    fn enter(&mut self, seq: u64, opener: u64) -> Verdict<()> {
        let Some(message) = self.messages.get_mut(&seq) else {
            return violation("only what was queued is taken up", seq.to_string());
        };
        let before = message.turn.replace(opener);
        ensure(before.is_none(), "a message enters one turn", || {
            format!("{seq} entered {before:?} and {opener}")
        })
    }

    fn count_result(&self, seq: u64, name: &str, coverage: &mut Coverage) {
        let told = |id| self.tasks.is_reported_by(id);
        if self.messages.get(&seq).is_some_and(|found| told(&found.id)) {
            coverage.count(name);
        }
    }

    fn read_tasks(
        &mut self,
        reader: &Reader<'_>,
        no: AgentNo,
        tool_world: &ToolWorld,
        coverage: &mut Coverage,
    ) -> Verdict<()> {
        let rows = stored(reader.tasks(no, limits::TASKS_KEPT as usize))?;
        let home = &self.record.agent_home;
        let found = TaskObservation {
            rows,
            // The commit that ends a turn may open the next one, so the open turn need not be the one that began a task.
            authorities: self
                .messages
                .values()
                .map(|message| (message.id.clone(), message.authority))
                .collect(),
            lifecycle: self.record.lifecycle,
        };
        self.tasks.compare(found, tool_world, home, coverage)
    }

    /// Returns true if a call waits for the receiver of its message.
    fn is_sending(&self) -> bool {
        let open = self.record.open_turn.as_ref();
        open.is_some_and(|turn| matches!(turn.phase, Phase::Sending { .. }))
    }

    /// Returns true if a call waits for its commands, or a task represents them.
    pub(crate) fn follows(&self, call: &CallId) -> bool {
        let waits = self
            .log
            .in_hand()
            .is_some_and(|waiting| waiting.id == *call);
        waits || self.tasks.follows(call)
    }

    fn read_events(
        &mut self,
        reader: &Reader<'_>,
        no: AgentNo,
        coverage: &mut Coverage,
    ) -> Verdict<()> {
        loop {
            let query = EventQuery {
                after_seq: Some(self.events),
                before_seq: None,
                limit: 512,
                order: EventOrder::Ascending,
            };
            let page = stored(reader.events(no, query))?;
            for event in &page.events {
                ensure(
                    event.event_seq == self.events + 1,
                    "event positions are dense",
                    || format!("{} after {}", event.event_seq, self.events),
                )?;
                self.events = event.event_seq;
                coverage.event(&event.event);
                self.record_event(&event.event)?;
                self.fresh.events.push(event.event.clone());
            }
            if !page.has_newer {
                break;
            }
        }
        let counted = self.record.counters.events;
        ensure(
            self.events == counted,
            "the agent counts its events",
            || format!("{} events, counted {counted}", self.events),
        )
    }

    fn record_event(&mut self, event: &Event) -> Verdict<()> {
        self.tasks.record_event(event)?;
        match event {
            Event::AgentPutAside(_) => {
                self.put_aside += 1;
                Ok(())
            }
            Event::TimerCancelled(timer) => {
                self.cancelled_timers.insert(timer.timer_id.clone());
                Ok(())
            }
            Event::TurnStarted(turn) => {
                self.turns_started += 1;
                ensure(
                    turn.turn_index == self.turns_started
                        && self.turns_ended + 1 == self.turns_started,
                    "turns are counted and one is open at a time",
                    || format!("turn {} began", turn.turn_index),
                )
            }
            Event::TurnTerminal(turn) => {
                self.turns_ended += 1;
                self.last_end = Some((turn.reason, turn.rounds));
                self.check_provider_end(turn.reason)?;
                ensure(
                    turn.turn_index == self.turns_ended && self.turns_ended == self.turns_started,
                    "a turn ends once",
                    || format!("turn {} ended", turn.turn_index),
                )
            }
            Event::SystemTickEmitted(tick) if tick.subsystem == "sleep_wait" => {
                self.fired.push(tick.planned_at);
                // A clock that was set back moves the times of rests, so only their number is compared.
                let (ended, asked) = (self.fired.len(), self.log.slots.len());
                ensure(ended <= asked, "a rest is ended once", || {
                    format!("{ended} of {asked}, the last at {}", tick.planned_at)
                })
            }
            _ => Ok(()),
        }
    }
}
