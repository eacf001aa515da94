//! Checks the log as a provider would have to accept it: every call answered exactly once, in order and before anything
//! else, and nothing after an end. Written from the contract, not from the code it checks.

use crate::command::Command;
use crate::envelope::text_field;
use crate::tool_world::ToolWorld;
use crate::violation::{Verdict, ensure, violation};
use holon_domain::agent::AgentRecord;
use holon_domain::block::{ToolCall, calls_of, text_of};
use holon_domain::compaction::{Recap, ShortTexts};
use holon_domain::log::LogEntry;
use holon_domain::thread::ThreadFold;
use holon_domain::tool::{ToolEnvelope, ToolErrorKind};
use holon_domain::{CallId, Timestamp};
use holon_prompt::conversation::NEWEST_IS_FOLDED;
use std::collections::{BTreeSet, VecDeque};

/// The state of an agent's log so far.
#[derive(Debug, Default)]
pub(crate) struct LogChecker {
    /// Number of entries read.
    pub(crate) entries: u64,
    turn: Option<Turn>,
    calls: BTreeSet<CallId>,
    not_started: BTreeSet<CallId>,
    words: String,
    /// End times of the rests that models requested.
    pub(crate) slots: Vec<Timestamp>,
}

/// The turn of the newest entry.
#[derive(Debug)]
struct Turn {
    opener: u64,
    round: u32,
    framed: bool,
    waiting: VecDeque<ToolCall>,
    /// True after a failure entry: no further entry may follow.
    failed: bool,
    /// True after an interjection whose round has not followed yet.
    dangling_interjection: bool,
}

/// The meaning of a log entry for messages and calls.
#[derive(Debug)]
pub(crate) enum EntryMeaning {
    /// A turn took this message up.
    Opened(u64),
    /// This message entered the turn of another.
    Entered {
        seq: u64,
        /// Position of the message that opened the turn.
        opener: u64,
    },
    /// A call got its result.
    Answered(ToolCall, ToolEnvelope),
    Other,
}

impl LogChecker {
    /// Reads the next entry and checks that it may follow.
    pub(crate) fn read_entry(
        &mut self,
        seq: u64,
        entry: &LogEntry,
        tool_world: &ToolWorld,
        now: Timestamp,
    ) -> Verdict<EntryMeaning> {
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
                self.judge_result(call_id, envelope, tool_world, now)?;
                Ok(EntryMeaning::Answered(call, envelope.clone()))
            }
            LogEntry::IncomingMessage { .. } => Ok(EntryMeaning::Other),
            LogEntry::Frame(_) => {
                let first = !turn.framed && turn.round == 0;
                turn.framed = true;
                ensure(
                    first,
                    "a turn has one frame, before its first round",
                    String::new,
                )?;
                Ok(EntryMeaning::Other)
            }
            LogEntry::Interjection { message_seq, .. } => {
                turn.check_no_open_call("an interjection")?;
                turn.dangling_interjection = true;
                Ok(EntryMeaning::Entered {
                    seq: *message_seq,
                    opener: turn.opener,
                })
            }
            LogEntry::AssistantRound { round, blocks, .. } => {
                turn.check_no_open_call("an answer")?;
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
                Ok(EntryMeaning::Other)
            }
            LogEntry::Recap(recap) => {
                check_recap(recap, turn.round)?;
                Ok(EntryMeaning::Other)
            }
            LogEntry::ThreadFold(fold) => {
                turn.check_no_open_call("a fold")?;
                check_fold(fold)?;
                Ok(EntryMeaning::Other)
            }
            LogEntry::Shortened(short) => {
                turn.check_no_open_call("a shorter form")?;
                let round = turn.round;
                self.check_short(short, round)?;
                Ok(EntryMeaning::Other)
            }
            LogEntry::ContinuationPrompt { .. } => {
                turn.check_no_open_call("a prompt to go on")?;
                ensure(turn.round > 0, "going on needs something said", String::new)?;
                Ok(EntryMeaning::Other)
            }
            LogEntry::RuntimeFailure { .. } => {
                turn.check_no_open_call("a failure")?;
                turn.failed = true;
                Ok(EntryMeaning::Other)
            }
        }
    }

    fn check_short(&self, short: &ShortTexts, round: u32) -> Verdict<()> {
        let mut results = short.results.iter();
        let mut answers = short.answers.iter();
        ensure(
            results.all(|short| self.calls.contains(&short.call_id))
                && answers.all(|short| short.round <= round),
            "a shorter form is one of a call or an answer of its turn",
            || format!("{short:?} after round {round}"),
        )
    }

    fn open(&mut self, message_seq: u64) -> Verdict<EntryMeaning> {
        if let Some(before) = &self.turn {
            before.check_no_open_call("the next turn")?;
        }
        self.turn = Some(Turn {
            opener: message_seq,
            round: 0,
            framed: false,
            waiting: VecDeque::new(),
            failed: false,
            dangling_interjection: false,
        });
        Ok(EntryMeaning::Opened(message_seq))
    }

    /// Checks that a result agrees with the simulated world.
    fn judge_result(
        &mut self,
        call: &CallId,
        envelope: &ToolEnvelope,
        tool_world: &ToolWorld,
        now: Timestamp,
    ) -> Verdict<()> {
        let kind = envelope.error().map(|error| error.kind);
        if tool_world.was_offered(call, envelope) {
            let goes_on = text_field(envelope, "disposition") == Some("promoted_to_task");
            let runs = tool_world.commands.of_call(call).any(Command::runs);
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
        // A child's queue takes the input in the commit that logs the result.
        let by_the_world =
            by_the_world && text_field(envelope, "input_target") != Some("child_followup");
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
            !tool_world.began(call) || may_have_run,
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

    /// Returns true if the world may still run this call.
    pub(crate) fn may_run(&self, call: &CallId) -> bool {
        !self.not_started.contains(call)
    }

    /// Returns the call that waits for its result.
    pub(crate) fn in_hand(&self) -> Option<&ToolCall> {
        self.turn.as_ref()?.waiting.front()
    }

    /// Returns the text of the last round.
    pub(crate) fn words(&self) -> &str {
        &self.words
    }

    /// Compares the state of the log with the agent's row.
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
    fn check_no_open_call(&self, before: &str) -> Verdict<()> {
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

/// Returns true if a recap stands for the newest round too, and tells its model so.
fn stands_for_newest(recap: &Recap, newest: u32) -> bool {
    recap.last_round == newest && recap.text.contains(NEWEST_IS_FOLDED.trim_start())
}

fn check_recap(recap: &Recap, round: u32) -> Verdict<()> {
    let past = 0 < recap.first_round
        && recap.first_round <= recap.last_round
        && (recap.last_round < round || stands_for_newest(recap, round));
    ensure(
        past,
        "a recap stands for rounds before the newest, or says that it holds the newest too",
        || format!("{recap:?} after round {round}"),
    )
}

fn check_fold(fold: &ThreadFold) -> Verdict<()> {
    ensure(
        fold.tokens_after <= fold.tokens_before || fold.cause.takes_pins(),
        "a fold leaves less than it found",
        || format!("{fold:?}"),
    )
}
