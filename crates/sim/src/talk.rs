//! The log as a provider would have to accept it: every call answered exactly once, in order, before anything else is
//! said; nothing after an end. Written from the contract, not from the code it checks.

use crate::command::Command;
use crate::envelope::says;
use crate::tools::Bench;
use crate::violation::{Verdict, ensure, violation};
use holon_domain::agent::AgentRecord;
use holon_domain::block::{ToolCall, calls_of, text_of};
use holon_domain::log::LogEntry;
use holon_domain::tool::{ToolEnvelope, ToolErrorKind};
use holon_domain::{CallId, Timestamp};
use std::collections::{BTreeSet, VecDeque};

/// What was said so far.
#[derive(Debug, Default)]
pub(crate) struct Talk {
    /// Entries read.
    pub(crate) entries: u64,
    turn: Option<Turn>,
    calls: BTreeSet<CallId>,
    not_started: BTreeSet<CallId>,
    words: String,
    /// Ends of rests that were asked for.
    pub(crate) slots: Vec<Timestamp>,
}

/// The turn that spoke last.
#[derive(Debug)]
struct Turn {
    opener: u64,
    round: u32,
    framed: bool,
    waiting: VecDeque<ToolCall>,
    /// Nothing may follow.
    failed: bool,
    /// An interjection is said to the model only with the round it enters.
    dangling_interjection: bool,
}

/// What an entry means for the messages.
#[derive(Debug)]
pub(crate) enum Said {
    /// A turn took this message up.
    Opened(u64),
    /// This message entered the turn of another.
    Entered {
        /// The message.
        seq: u64,
        /// The message that opened the turn.
        opener: u64,
    },
    /// A call got its result.
    Answered(ToolCall, ToolEnvelope),
    /// Nothing.
    Other,
}

impl Talk {
    /// Takes the next entry in.
    pub(crate) fn hear(
        &mut self,
        seq: u64,
        entry: &LogEntry,
        bench: &Bench,
        now: Timestamp,
    ) -> Verdict<Said> {
        ensure(seq == self.entries + 1, "the log is dense", || {
            format!("entry {seq} after {}", self.entries)
        })?;
        self.entries = seq;
        if let LogEntry::IncomingMessage { message_seq } = entry {
            return self.open(*message_seq);
        }
        let Some(turn) = self.turn.as_mut() else {
            return violation("the log begins with a turn", format!("{entry:?}"));
        };
        ensure(
            !turn.failed,
            "nothing follows a failure in its turn",
            || format!("{entry:?}"),
        )?;
        match entry {
            LogEntry::ToolResult {
                round,
                call_id,
                envelope,
                ..
            } => {
                ensure(
                    *round == turn.round,
                    "a result belongs to its round",
                    || format!("round {round} in round {}", turn.round),
                )?;
                let waiting = turn.waiting.pop_front();
                let Some(call) = waiting.filter(|call| call.id == *call_id) else {
                    return violation(
                        "results answer calls once and in their order",
                        call_id.to_string(),
                    );
                };
                self.judge_result(call_id, envelope, bench, now)?;
                Ok(Said::Answered(call, envelope.clone()))
            }
            LogEntry::IncomingMessage { .. } => Ok(Said::Other),
            LogEntry::Frame(_) => {
                let first = !turn.framed && turn.round == 0;
                turn.framed = true;
                ensure(
                    first,
                    "a turn has one frame, before its first round",
                    String::new,
                )?;
                Ok(Said::Other)
            }
            LogEntry::Interjection { message_seq, .. } => {
                turn.settled_calls("an interjection")?;
                turn.dangling_interjection = true;
                Ok(Said::Entered {
                    seq: *message_seq,
                    opener: turn.opener,
                })
            }
            LogEntry::AssistantRound { round, blocks, .. } => {
                turn.settled_calls("an answer")?;
                let next = turn.framed && *round == turn.round + 1;
                ensure(next, "rounds are counted from the frame on", || {
                    format!("round {round} after {}", turn.round)
                })?;
                turn.round = *round;
                turn.dangling_interjection = false;
                self.words = text_of(blocks);
                turn.waiting = calls_of(blocks).cloned().collect();
                for call in calls_of(blocks) {
                    let fresh = self.calls.insert(call.id.clone());
                    ensure(fresh, "call ids are given once", || call.id.to_string())?;
                }
                Ok(Said::Other)
            }
            LogEntry::ContinuationPrompt { .. } => {
                turn.settled_calls("a prompt to go on")?;
                ensure(turn.round > 0, "going on needs something said", String::new)?;
                Ok(Said::Other)
            }
            LogEntry::RuntimeFailure { .. } => {
                turn.settled_calls("a failure")?;
                turn.failed = true;
                Ok(Said::Other)
            }
        }
    }

    fn open(&mut self, message_seq: u64) -> Verdict<Said> {
        if let Some(before) = &self.turn {
            before.settled_calls("the next turn")?;
        }
        self.turn = Some(Turn {
            opener: message_seq,
            round: 0,
            framed: false,
            waiting: VecDeque::new(),
            failed: false,
            dangling_interjection: false,
        });
        Ok(Said::Opened(message_seq))
    }

    /// A result must agree with what the world saw.
    fn judge_result(
        &mut self,
        call: &CallId,
        envelope: &ToolEnvelope,
        bench: &Bench,
        now: Timestamp,
    ) -> Verdict<()> {
        let kind = envelope.error().map(|error| error.kind);
        if bench.gave(call, envelope) {
            let goes_on = says(envelope, "disposition") == Some("promoted_to_task");
            let runs = bench.commands.of_call(call).any(Command::runs);
            return ensure(
                goes_on || !runs,
                "a command that is said to be over is over",
                || format!("{call} runs, logged {envelope:?}"),
            );
        }
        let by_the_world = matches!(
            envelope.tool_name.as_str(),
            "ExecCommand" | "ExecCommandBatch" | "ApplyPatch" | "TaskInput" | "TaskOutput"
        );
        ensure(
            kind.is_some() || !by_the_world,
            "a result is what the one execution gave",
            || format!("{call} was logged with {envelope:?}"),
        )?;
        let may_have_run = matches!(
            kind,
            Some(ToolErrorKind::OutcomeUnknown | ToolErrorKind::RunAborted)
        );
        ensure(
            !bench.began(call) || may_have_run,
            "what is said not to have run has not run",
            || format!("{call} ran, logged {kind:?}"),
        )?;
        if kind == Some(ToolErrorKind::NotStarted) {
            self.not_started.insert(call.clone());
        }
        if let (None, "Sleep", Some(ms)) = (kind, envelope.tool_name.as_str(), rest_ms(envelope)) {
            self.slots.push(now.plus_millis(ms));
        }
        Ok(())
    }

    /// Whether the world may still run this call.
    pub(crate) fn may_run(&self, call: &CallId) -> bool {
        !self.not_started.contains(call)
    }

    /// The call that waits for its result.
    pub(crate) fn in_hand(&self) -> Option<&ToolCall> {
        self.turn.as_ref()?.waiting.front()
    }

    /// The words of the last round.
    pub(crate) fn words(&self) -> &str {
        &self.words
    }

    /// Compares where the talk stands with where the agent says it stands.
    pub(crate) fn agrees_with(&self, agent: &AgentRecord) -> Verdict<()> {
        let waiting = self.turn.as_ref().map_or(0, |turn| turn.waiting.len());
        let Some(open) = &agent.open_turn else {
            return ensure(waiting == 0, "no turn ends with an open call", || {
                format!("{waiting} calls have no result")
            });
        };
        let turn = self.turn.as_ref();
        let same = turn.is_some_and(|turn| {
            turn.opener == open.message_seq && turn.round == open.rounds && !turn.failed
        });
        ensure(same, "the open turn is the one the log ends with", || {
            format!("open {open:?}, log {turn:?}")
        })?;
        let runs_call = open.phase.call().is_some();
        ensure(
            runs_call == (waiting > 0),
            "calls wait exactly while a tool runs or a message is sent",
            || format!("{waiting} wait in {:?}", open.phase),
        )?;
        let dangling = turn.is_some_and(|turn| turn.dangling_interjection);
        ensure(
            !dangling,
            "an interjection is consumed with its round",
            || format!("{open:?}"),
        )
    }
}

impl Turn {
    fn settled_calls(&self, before: &str) -> Verdict<()> {
        ensure(
            self.waiting.is_empty(),
            "every call has its result before anything else is said",
            || format!("{} calls wait before {before}", self.waiting.len()),
        )
    }
}

fn rest_ms(envelope: &ToolEnvelope) -> Option<u64> {
    match &envelope.outcome {
        holon_domain::tool::ToolOutcome::Success { result } => result.get("duration_ms")?.as_u64(),
        holon_domain::tool::ToolOutcome::Error { .. } => None,
    }
}
