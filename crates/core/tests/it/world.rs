//! A model of the store: it keeps what decisions write, and panics at what no store could write.
//!
//! It knows none of the core's rules beside those of the rows: dense positions, guarded moves, one outcome each.

use crate::make;
use holon_core::input::NewAgent;
use holon_core::invariant::{self, StoredFacts, Violation};
use holon_core::{
    AgentView, HostFacts, Input, Rejection, Reply, RoundInHand, Stamp, lifecycle, step,
};
use holon_domain::agent::AgentRecord;
use holon_domain::block::{calls_of, text_of};
use holon_domain::brief::BriefRow;
use holon_domain::decision::{Decision, Fact};
use holon_domain::effect::EffectRecord;
use holon_domain::event::Event;
use holon_domain::intent::Intent;
use holon_domain::log::LogEntry;
use holon_domain::model::ModelChain;
use holon_domain::provider::LearnedLimits;
use holon_domain::queue::{QueueEntry, QueueStatus, QueueView};
use holon_domain::timer::Due;
use holon_domain::tool::ToolError;
use holon_domain::turn::{Phase, TerminalReason};
use holon_domain::{CallId, Entropy, Timestamp};
use std::collections::BTreeMap;

/// Chance from a seed; no two draws are the same.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) const fn new() -> Self {
        Self(0)
    }
}

impl Entropy for Dice {
    fn next(&mut self) -> u128 {
        self.0 += 1;
        let mixed = u128::from(self.0).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        mixed ^ (mixed >> 64)
    }
}

/// A message as kept.
#[derive(Debug, Clone)]
pub(crate) struct Kept {
    pub(crate) entry: QueueEntry,
    pub(crate) outcome: Option<u64>,
}

/// What came of an input.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) reply: Result<Reply, Rejection>,
    /// Of the input itself and of everything decided on after it in the same commit.
    pub(crate) facts: Vec<Fact>,
}

#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) agent: AgentRecord,
    pub(crate) messages: BTreeMap<u64, Kept>,
    pub(crate) effects: BTreeMap<u64, EffectRecord>,
    pub(crate) due: BTreeMap<u64, (Timestamp, Due)>,
    pub(crate) log: Vec<(u64, LogEntry)>,
    pub(crate) events: Vec<Event>,
    pub(crate) briefs: Vec<BriefRow>,
    pub(crate) intents: BTreeMap<CallId, Result<Intent, ToolError>>,
    pub(crate) learned: BTreeMap<String, LearnedLimits>,
    pub(crate) now: Timestamp,
    pub(crate) host: HostFacts,
    dice: Dice,
}

impl World {
    /// A world with one new agent, whose home is being made.
    pub(crate) fn with(new: NewAgent) -> Self {
        let host = HostFacts {
            models: ModelChain::only(make::model("scripted/default")),
        };
        let mut dice = Dice::new();
        let Decision { agent, facts, .. } = lifecycle::create(new, &host, make::T0, &mut dice);
        let mut world = Self {
            agent: agent.clone(),
            messages: BTreeMap::new(),
            effects: BTreeMap::new(),
            due: BTreeMap::new(),
            log: Vec::new(),
            events: Vec::new(),
            briefs: Vec::new(),
            intents: BTreeMap::new(),
            learned: BTreeMap::new(),
            now: make::T0,
            host,
            dice,
        };
        world.write(agent, &facts, &[]);
        world
    }

    pub(crate) fn queue(&self) -> QueueView {
        let queued: Vec<&QueueEntry> = self.in_status(QueueStatus::Queued);
        let head = queued
            .iter()
            .min_by_key(|entry| (entry.envelope.priority.rank(), entry.seq));
        QueueView {
            head: head.map(|entry| (*entry).clone()),
            pending: queued.len() as u64,
            interjections: queued
                .iter()
                .filter(|entry| entry.envelope.may_interject())
                .count() as u64,
        }
    }

    pub(crate) fn in_status(&self, status: QueueStatus) -> Vec<&QueueEntry> {
        let all = self.messages.values().map(|kept| &kept.entry);
        all.filter(|entry| entry.status == status).collect()
    }

    pub(crate) fn view(&self) -> AgentView {
        AgentView {
            agent: self.agent.clone(),
            queue: self.queue(),
            round: self.round_in_hand(),
        }
    }

    fn round_in_hand(&self) -> Option<RoundInHand> {
        let Phase::RunningTool { round_entry, .. } = self.agent.open_turn.as_ref()?.phase else {
            return None;
        };
        let (_, LogEntry::AssistantRound { blocks, .. }) =
            self.log.get(round_entry as usize - 1)?
        else {
            return None;
        };
        let calls = calls_of(blocks).map(|call| (call.clone(), self.intents[&call.id].clone()));
        Some(RoundInHand {
            entry: round_entry,
            words: text_of(blocks),
            calls: calls.collect(),
        })
    }

    /// Sends an input and decides on until the queue has nothing more to offer, as one commit does.
    pub(crate) fn send(&mut self, input: Input) -> Sent {
        let (mut sent, mut more) = self.send_once(input);
        let mut steps = 0;
        while more {
            let (next, still) = self.send_once(Input::Continue);
            sent.facts.extend(next.facts);
            more = still;
            steps += 1;
            assert!(steps < 10_000, "deciding does not come to rest");
        }
        sent
    }

    /// Sends an input and takes one step only. The second answer is whether more is to be decided.
    pub(crate) fn send_once(&mut self, input: Input) -> (Sent, bool) {
        let intents = match &input {
            Input::RoundAnswered { answer, .. } => answer.intents.clone(),
            _ => Vec::new(),
        };
        let mut again = self.dice.clone();
        let decided = step(
            self.view(),
            input.clone(),
            &self.host,
            self.now,
            &mut self.dice,
        );
        let repeated = step(self.view(), input, &self.host, self.now, &mut again);
        match (decided, repeated) {
            (Ok(first), Ok(second)) => {
                assert_eq!(
                    first.decision, second.decision,
                    "the same input decides alike"
                );
                let Decision { agent, facts, more } = first.decision;
                self.write(agent, &facts, &intents);
                let reply = Ok(first.reply);
                (Sent { reply, facts }, more)
            }
            (Err(refused), Err(_)) => {
                let (reply, facts) = (Err(refused), Vec::new());
                (Sent { reply, facts }, false)
            }
            (first, _) => panic!("the same input was refused once only: {first:?}"),
        }
    }

    fn write(&mut self, agent: AgentRecord, facts: &[Fact], intents: &[Result<Intent, ToolError>]) {
        facts.iter().for_each(|fact| self.write_fact(fact, intents));
        let counted = agent.counters;
        assert_eq!(counted.messages, self.messages.len() as u64, "messages");
        assert_eq!(counted.events, self.events.len() as u64, "events");
        assert_eq!(counted.log, self.log.len() as u64, "log");
        assert_eq!(counted.briefs, self.briefs.len() as u64, "briefs");
        assert!(
            agent.generation >= self.agent.generation,
            "generations only rise"
        );
        self.agent = agent;
    }

    fn write_fact(&mut self, fact: &Fact, intents: &[Result<Intent, ToolError>]) {
        match fact {
            Fact::MessageAdmitted(entry) => {
                let next = self.messages.len() as u64 + 1;
                assert_eq!(entry.seq, next, "messages are dense");
                let entry = entry.clone();
                let outcome = None;
                self.messages.insert(entry.seq, Kept { entry, outcome });
            }
            Fact::MessageMoved { seq, from, to } => self.move_message(*seq, *from, *to),
            Fact::MessageSettled { seq, brief } => self.settle(*seq, *brief),
            Fact::LogAppended {
                seq,
                turn_index,
                entry,
                ..
            } => {
                assert_eq!(*seq, self.log.len() as u64 + 1, "the log is dense");
                self.keep_intents(entry, intents);
                self.log.push((*turn_index, entry.clone()));
            }
            Fact::BriefWritten { seq, row } => {
                assert_eq!(*seq, self.briefs.len() as u64 + 1, "briefs are dense");
                self.briefs.push(row.clone());
            }
            Fact::EventRecorded { seq, event, .. } => {
                assert_eq!(*seq, self.events.len() as u64 + 1, "events are dense");
                self.events.push(event.clone());
            }
            Fact::EffectOpened {
                id,
                generation,
                at,
                effect,
            } => self.open(EffectRecord {
                agent_id: make::agent_id(),
                id: *id,
                generation: *generation,
                opened_at: *at,
                effect: effect.clone(),
            }),
            Fact::EffectClosed { id } => {
                let was_open = self.effects.remove(id).is_some();
                assert!(was_open, "effect {id} was open when it was closed");
            }
            Fact::DueSet { id, at, due } => {
                let before = self.due.insert(*id, (*at, due.clone()));
                assert!(before.is_none(), "due entry {id} is set once");
            }
            Fact::DueCleared { id } => {
                let was_set = self.due.remove(id).is_some();
                assert!(was_set, "due entry {id} was set when it was cleared");
            }
            Fact::LimitLearned { model_ref, limits } => {
                let known = self.learned.entry(model_ref.clone()).or_default();
                *known = known.and_then(*limits);
            }
            Fact::BlobKept { .. } => {}
        }
    }

    fn move_message(&mut self, seq: u64, from: QueueStatus, to: QueueStatus) {
        let kept = self.messages.get_mut(&seq);
        let entry = &mut kept.expect("a message that moves exists").entry;
        assert_eq!(entry.status, from, "message {seq} moves from where it is");
        assert!(!from.is_final(), "message {seq} had come to its end");
        entry.status = to;
    }

    fn settle(&mut self, seq: u64, brief: u64) {
        let newest = self.briefs.len() as u64;
        assert_eq!(
            brief, newest,
            "message {seq} is settled by the newest brief"
        );
        let kept = self.messages.get_mut(&seq);
        let outcome = &mut kept.expect("a settled message exists").outcome;
        assert_eq!(*outcome, None, "message {seq} is settled once");
        *outcome = Some(brief);
    }

    fn open(&mut self, record: EffectRecord) {
        let id = record.id;
        let before = self.effects.insert(id, record);
        assert!(before.is_none(), "effect {id} is opened once");
    }

    fn keep_intents(&mut self, entry: &LogEntry, intents: &[Result<Intent, ToolError>]) {
        let LogEntry::AssistantRound { blocks, .. } = entry else {
            return;
        };
        let calls = calls_of(blocks).map(|call| call.id.clone());
        self.intents.extend(calls.zip(intents.iter().cloned()));
    }

    /// What the core's own check says of the rows.
    pub(crate) fn violations(&self) -> Vec<Violation> {
        let dequeued = self.in_status(QueueStatus::Dequeued);
        let stored = StoredFacts {
            effects: self.effects.keys().copied().collect(),
            due: self.due.keys().copied().collect(),
            dequeued: dequeued.iter().map(|entry| entry.seq).collect(),
        };
        invariant::check(&self.agent, &self.queue(), &stored)
    }

    /// The stamp of the one open effect.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        self.effects.values().next().map(|record| Stamp {
            effect: record.id,
            generation: record.generation,
        })
    }

    /// The input of the due entry that comes first.
    pub(crate) fn first_due(&self) -> Option<Input> {
        let (id, (at, due)) = self.due.iter().min_by_key(|(_, (at, _))| *at)?;
        Some(Input::DueCame {
            id: *id,
            planned_at: *at,
            due: due.clone(),
        })
    }

    /// Moves the clock to the first due entry and lets it come.
    pub(crate) fn let_due_come(&mut self) -> Sent {
        let input = self.first_due().expect("something is due");
        if let Input::DueCame { planned_at, .. } = &input {
            self.now = self.now.max(*planned_at);
        }
        self.send(input)
    }

    pub(crate) fn advance(&mut self, millis: u64) {
        self.now = self.now.plus_millis(millis);
    }

    /// A new process takes over.
    pub(crate) fn recover(&mut self, clean_exit: bool) -> Sent {
        self.send(Input::Recover {
            clean_exit,
            proven: None,
        })
    }

    /// A commit could not be confirmed.
    pub(crate) fn take_up(&mut self) -> Sent {
        self.send(Input::TakeUp)
    }

    /// Queued messages that may enter a running turn.
    pub(crate) fn interjections(&self) -> Vec<QueueEntry> {
        let queued = self.in_status(QueueStatus::Queued).into_iter();
        queued
            .filter(|entry| entry.envelope.may_interject())
            .cloned()
            .collect()
    }

    /// Why the last turn ended.
    pub(crate) fn ended_as(&self) -> Option<TerminalReason> {
        self.agent.last_turn.as_ref().map(|end| end.reason)
    }

    /// The kinds of the events recorded from position `from` on.
    pub(crate) fn event_kinds(&self, from: usize) -> Vec<&str> {
        self.events.iter().skip(from).map(Event::kind).collect()
    }

    /// What the calls of the log came to, in order: `ok` or the kind of the error.
    pub(crate) fn results(&self) -> Vec<String> {
        let results = self.log.iter().filter_map(|(_, entry)| match entry {
            LogEntry::ToolResult { envelope, .. } => Some(
                envelope
                    .error()
                    .map_or_else(|| "ok".to_owned(), |error| error.kind.to_string()),
            ),
            _ => None,
        });
        results.collect()
    }
}
