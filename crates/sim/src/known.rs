//! One agent as the oracle knows it: its messages, turns, outcomes and tasks, read anew after every commit.

use crate::check;
use crate::coverage::Coverage;
use crate::message::Message;
use crate::post::Mail;
use crate::rules::ResumeReason;
use crate::talk::{Said, Talk};
use crate::tasks::Ledger;
use crate::tools::Bench;
use crate::violation::{Verdict, ensure, stored, violation};
use holon_domain::agent::AgentRecord;
use holon_domain::authority::AuthorityClass;
use holon_domain::event::Event;
use holon_domain::feed::{EventOrder, EventQuery};
use holon_domain::message::MessageKind;
use holon_domain::needs::Part;
use holon_domain::queue::{QueueStatus, QueueView};
use holon_domain::turn::{Phase, TerminalReason};
use holon_domain::{CallId, MessageId, Timestamp, limits};
use holon_store::{AgentNo, Outstanding, Reader};
use std::collections::{BTreeMap, BTreeSet};

/// One agent as the oracle knows it.
#[derive(Debug)]
pub(crate) struct Known {
    /// Its row when it was last looked at.
    pub(crate) record: AgentRecord,
    pub(crate) messages: BTreeMap<u64, Message>,
    pub(crate) by_id: BTreeMap<MessageId, u64>,
    /// Operator messages without an outcome.
    pub(crate) unsettled: BTreeSet<u64>,
    /// Messages that are not settled yet.
    pub(crate) live: BTreeSet<u64>,
    pub(crate) talk: Talk,
    pub(crate) tasks: Ledger,
    /// What the last look found of messages between agents.
    pub(crate) mail: Mail,
    /// What its rows say is not settled.
    pub(crate) outstanding: Outstanding,
    events: u64,
    pub(crate) briefs: u64,
    pub(crate) turns_started: u64,
    pub(crate) turns_ended: u64,
    fired: Vec<Timestamp>,
    /// How the last turn ended, and after how many rounds.
    last_end: Option<(TerminalReason, u32)>,
    /// Authority of the last turn that was opened.
    pub(crate) turn_authority: AuthorityClass,
    /// Unclean ends in a row without a new entry.
    pub(crate) resumes: ResumeReason,
    /// Events that told that it was put aside.
    pub(crate) put_aside: u64,
    /// Prompts whose operator was told that they wait.
    pub(crate) acknowledged: BTreeSet<MessageId>,
    /// The last turn whose operator was asked to act.
    pub(crate) action_requested: Option<u64>,
    /// Whether somebody waited on the line for the turn that was open at the last look.
    pub(crate) was_attended: bool,
    /// Its rows go, so they say nothing any more.
    pub(crate) removing: bool,
}

impl Known {
    pub(crate) fn new(record: AgentRecord) -> Self {
        Self {
            record,
            messages: BTreeMap::new(),
            by_id: BTreeMap::new(),
            unsettled: BTreeSet::new(),
            live: BTreeSet::new(),
            talk: Talk::default(),
            tasks: Ledger::default(),
            mail: Mail::default(),
            outstanding: Outstanding::default(),
            events: 0,
            briefs: 0,
            turns_started: 0,
            turns_ended: 0,
            fired: Vec::new(),
            last_end: None,
            turn_authority: AuthorityClass::OperatorInstruction,
            resumes: ResumeReason::default(),
            put_aside: 0,
            acknowledged: BTreeSet::new(),
            action_requested: None,
            was_attended: false,
            removing: false,
        }
    }

    /// What was said so far.
    #[must_use]
    pub(crate) const fn talk(&self) -> &Talk {
        &self.talk
    }

    pub(crate) fn look(
        &mut self,
        reader: &Reader<'_>,
        no: AgentNo,
        record: AgentRecord,
        bench: &Bench,
        (now, coverage): (Timestamp, &mut Coverage),
    ) -> Verdict<()> {
        let waited = self.is_sending();
        let open = self.record.open_turn.as_ref();
        self.was_attended = open.is_some_and(|turn| turn.attended);
        let failures = |agent: &AgentRecord| {
            let turn = agent.open_turn.as_ref()?;
            let tries = (turn.failed_attempts, turn.patience.failed_at);
            Some((turn.turn_index, tries, turn.closed_to_joining))
        };
        // A failure that was recorded is progress: the host lived to record it.
        if failures(&record) != failures(&self.record) {
            self.resumes = ResumeReason::default();
        }
        self.record = record;
        self.outstanding = stored(reader.outstanding(no))?;
        let first_new = self.messages.len() as u64 + 1;
        self.read_messages(reader, no)?;
        let opened = self.read_log(reader, no, (bench, now), (waited, coverage))?;
        self.read_events(reader, no, coverage)?;
        self.read_statuses(reader, no, coverage)?;
        self.read_tasks(reader, no, bench, coverage)?;
        self.read_briefs(reader, no)?;
        let queue = stored(reader.queue(no))?;
        self.check_operators(&queue)?;
        check::agent(&self.record, &queue, &self.outstanding)?;
        self.talk.agrees_with(&self.record)?;
        self.check_turns()?;
        self.check_order(opened, first_new)?;
        self.check_settled()?;
        self.check_suspension()?;
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
            self.tasks.hear_message(envelope)?;
            self.mail.hear_message(envelope);
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
        }
        Ok(())
    }

    fn read_log(
        &mut self,
        reader: &Reader<'_>,
        no: AgentNo,
        (bench, now): (&Bench, Timestamp),
        (mut waited, coverage): (bool, &mut Coverage),
    ) -> Verdict<Option<u64>> {
        let mut opened = None;
        for (seq, entry) in stored(reader.turn_entries(no, self.talk.entries + 1))? {
            match self.talk.hear(seq, &entry, bench, now)? {
                Said::Opened(message) => {
                    opened = Some(message);
                    self.enter(message, message)?;
                    self.count_result(message, "result:opened_turn", coverage);
                    if let Some(found) = self.messages.get(&message) {
                        self.turn_authority = found.authority;
                    }
                }
                Said::Entered { seq, opener } => {
                    self.enter(seq, opener)?;
                    self.count_result(seq, "result:joined_turn", coverage);
                }
                Said::Answered(call, envelope) => {
                    coverage.result(&envelope);
                    self.tasks.hear_result(&call, &envelope)?;
                    let from = (&self.record.identity.agent_id, self.turn_authority);
                    // Of several results, the first is that of the call that waited.
                    let waited = std::mem::take(&mut waited);
                    self.mail.hear_result(from, &call, &envelope, waited);
                }
                Said::Other => {}
            }
        }
        let counted = self.record.counters.log;
        ensure(
            self.talk.entries == counted,
            "the agent counts its log",
            || format!("{} entries, counted {counted}", self.talk.entries),
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
        let told = |id| self.tasks.is_told_by(id);
        if self.messages.get(&seq).is_some_and(|found| told(&found.id)) {
            coverage.count(name);
        }
    }

    fn read_tasks(
        &mut self,
        reader: &Reader<'_>,
        no: AgentNo,
        bench: &Bench,
        coverage: &mut Coverage,
    ) -> Verdict<()> {
        let rows = stored(reader.tasks(no, limits::TASKS_KEPT as usize))?;
        let home = &self.record.agent_home;
        let found = (rows, self.turn_authority, self.record.lifecycle);
        self.tasks.compare(found, bench, home, coverage)
    }

    /// Whether a call waits for the agent it sends a message to.
    fn is_sending(&self) -> bool {
        let open = self.record.open_turn.as_ref();
        open.is_some_and(|turn| matches!(turn.phase, Phase::Sending { .. }))
    }

    /// Whether a call waits for its commands, or a task stands for them.
    pub(crate) fn follows(&self, call: &CallId) -> bool {
        let waits = self
            .talk
            .in_hand()
            .is_some_and(|waiting| waiting.id == *call);
        waits || self.tasks.follows(call)
    }

    fn read_statuses(
        &mut self,
        reader: &Reader<'_>,
        no: AgentNo,
        coverage: &mut Coverage,
    ) -> Verdict<()> {
        let unheard = self.ended_unheard();
        let nobody_asked = matches!(self.last_end, Some((TerminalReason::ProviderFailed, 0)));
        let refused = matches!(
            self.last_end,
            Some((TerminalReason::ContextLengthExceeded, 0))
        );
        let open = self.record.open_turn.as_ref().map(|turn| turn.message_seq);
        let live: Vec<u64> = self.live.iter().copied().collect();
        for seq in live {
            let to = self.status(reader, no, seq)?;
            let Some(message) = self.messages.get_mut(&seq) else {
                continue;
            };
            let from = message.status;
            message.status = to;
            let in_vain = message.is_result() && nobody_asked && from == QueueStatus::Dequeued;
            let put_back = message.is_result() && unheard && from == QueueStatus::Dequeued;
            let fits = match to {
                QueueStatus::Queued if put_back => message.turn.take() == Some(seq),
                QueueStatus::Held if in_vain => message.turn.take() == Some(seq),
                QueueStatus::Held => {
                    message.is_result()
                        && message.turn.is_none()
                        && matches!(from, QueueStatus::Queued | QueueStatus::Held)
                }
                QueueStatus::Queued => from == QueueStatus::Queued && message.turn.is_none(),
                QueueStatus::Dequeued => open == Some(seq) && from != QueueStatus::Held,
                QueueStatus::Processed => message.turn == Some(seq) || !message.for_a_model,
                QueueStatus::Aborted if from == QueueStatus::Held => nobody_asked || refused,
                QueueStatus::Aborted => message.turn == Some(seq) && !put_back,
                QueueStatus::Interjected => {
                    message.joins() && message.turn.is_some_and(|turn| turn != seq)
                }
                QueueStatus::Dropped => message.turn == Some(seq) && (nobody_asked || refused),
            };
            match (from, to) {
                (QueueStatus::Dequeued, QueueStatus::Queued) => coverage.count("result:put_back"),
                (QueueStatus::Dequeued, QueueStatus::Held) => coverage.count("result:in_vain"),
                (QueueStatus::Queued, QueueStatus::Held) => coverage.count("result:held"),
                (QueueStatus::Held, QueueStatus::Interjected) => {
                    coverage.count("result:told_later")
                }
                (QueueStatus::Held, QueueStatus::Aborted) => coverage.count("result:given_up"),
                _ => {}
            }
            ensure(
                fits,
                "a message is pending, in a turn, or answered by one",
                || {
                    format!(
                        "{seq} went from {from:?} to {to:?} in turn {:?}",
                        message.turn
                    )
                },
            )?;
            if to.is_final() {
                self.live.remove(&seq);
            }
        }
        Ok(())
    }

    /// Whether the last turn was called off before any model had answered it. The result of a task is then still owed.
    fn ended_unheard(&self) -> bool {
        matches!(
            self.last_end,
            Some((
                TerminalReason::AgentStopped | TerminalReason::OperatorAborted,
                0
            ))
        )
    }

    fn check_operators(&self, queue: &QueueView) -> Verdict<()> {
        let waiting = self.outstanding.interjections.iter();
        let owed = waiting.filter(|seq| self.messages.get(seq).is_some_and(Message::owes));
        let owed = owed.take(QueueView::OPERATORS_COUNTED).count() as u64;
        ensure(
            queue.operators == Part::Loaded(owed),
            "the queue counts the operators who wait to be heard",
            || format!("{:?} instead of {owed}", queue.operators),
        )
    }

    fn status(&self, reader: &Reader<'_>, no: AgentNo, seq: u64) -> Verdict<QueueStatus> {
        if self.outstanding.queued.binary_search(&seq).is_ok() {
            return Ok(QueueStatus::Queued);
        }
        match stored(reader.message(no, seq))? {
            Some(entry) => Ok(entry.status),
            None => violation("no message is lost", format!("{seq}")),
        }
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
                self.hear_event(&event.event)?;
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

    fn hear_event(&mut self, event: &Event) -> Verdict<()> {
        self.tasks.hear_event(event)?;
        match event {
            Event::AgentPutAside(_) => {
                self.put_aside += 1;
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
            Event::SystemTickEmitted(tick) => {
                self.fired.push(tick.planned_at);
                // A clock that was set back moves the time of a rest, so only their number is compared.
                let (ended, asked) = (self.fired.len(), self.talk.slots.len());
                ensure(ended <= asked, "a rest is ended once", || {
                    format!("{ended} of {asked}, the last at {}", tick.planned_at)
                })
            }
            _ => Ok(()),
        }
    }
}
