//! The budget of turns without a cause from outside, also across restarts.
//!
//! Work that does not advance is ticked for three times, with a pause before each further tick, and is then stalled
//! with one notice. Turns that the agent causes itself are spaced once eight of them came in a row since a cause from
//! outside or the end of an item that an operator created. A turn that an operator's message joins has its cause outside
//! from then on. A model is tried again a fixed number of times.

use super::WorkObservation;
use crate::coverage::Coverage;
use crate::message::Message;
use crate::violation::{Verdict, ensure};
use holon_domain::authority::AuthorityClass;
use holon_domain::brief::ActionCode;
use holon_domain::event::{Event, SystemTickEmitted, TurnStarted, TurnTerminal, WorkItemWritten};
use holon_domain::message::MessageKind;
use holon_domain::turn::{PauseCause, TerminalReason};
use holon_domain::work_item::WorkItemSchedulingState;
use holon_domain::{Timestamp, WorkItemId};
use std::collections::{BTreeMap, BTreeSet};

/// Turns without progress after which an item is stalled.
const IDLE_TURNS: u32 = 3;
/// Shortest pause before an item without progress is ticked for again.
const BACKOFF_MS: u64 = 30_000;
/// Turns in a row that an agent causes itself without a pause.
const FREE_TURNS: u32 = 8;
const PACE_MS: u64 = 1_000;
const PACE_MAX_MS: u64 = 120_000;
/// Retries of one model in one round.
const RETRIES: u32 = 2;
/// Failure after which a shorter request is sent.
const TOO_LONG: &str = "context_length_exceeded";

/// The ticks for one item since something changed.
#[derive(Debug, Clone, Copy, Default)]
struct ItemTicks {
    sent: u32,
    /// Turns of these ticks that a stop or an abort ended.
    called_off: u32,
    /// Turns of these ticks that changed nothing.
    idle: u32,
    idle_since: Option<Timestamp>,
}

/// The oracle's record of turns without a cause from outside.
#[derive(Debug, Default)]
pub(super) struct TickBook {
    items: BTreeMap<WorkItemId, ItemTicks>,
    revisions: BTreeMap<WorkItemId, u64>,
    /// Turns of ticks that ended for each item since it changed, with or without an act.
    turns: BTreeMap<WorkItemId, u32>,
    open: OpenTurn,
    /// Turns in a row that the agent caused itself.
    own_turns: u32,
    last_end: Option<Timestamp>,
    retries: u32,
    /// Repetitions of a request that was too long. They come beside the retries.
    shortened: u32,
    /// Items that an operator created and no call of the agent has completed yet.
    asked_for: BTreeSet<WorkItemId>,
}

/// What the budget needs to know of the open turn.
#[derive(Debug, Default)]
struct OpenTurn {
    /// Item that the tick is about that began it.
    item: Option<WorkItemId>,
    /// True if a call succeeded that may have changed something.
    acted: bool,
    /// True if the item itself changed.
    changed: bool,
    too_long: bool,
}

impl TickBook {
    pub(super) fn compare(
        &mut self,
        seen: &WorkObservation<'_>,
        coverage: &mut Coverage,
    ) -> Verdict<()> {
        let (mut stalled, mut notices) = (0, 0);
        for event in &seen.fresh.events {
            match event {
                Event::MessageAdmitted(message) if message.kind == MessageKind::OperatorPrompt => {
                    self.forget_all();
                }
                Event::WakeHintTriggered(_)
                | Event::AgentModelOverrideSet(_)
                | Event::AgentModelOverrideCleared(_) => self.forget_all(),
                Event::TaskStatusUpdated(task) if task.status.is_terminal() => self.forget_all(),
                Event::WorkItemEnqueueRequested(item) => {
                    self.asked_for.insert(item.work_item_id.clone());
                }
                Event::WorkItemPlanArtifactRefreshed(plan) => {
                    self.forget(&plan.work_item_id);
                }
                Event::WorkItemWritten(item) => {
                    if item.action == "stalled" {
                        stalled += 1;
                        coverage.count("work:stalled");
                    }
                    self.record_item(item)?;
                    self.record_completion(item, seen, coverage);
                }
                Event::BriefCreated(brief)
                    if brief.action_required == Some(ActionCode::WorkStalled) =>
                {
                    notices += 1;
                }
                Event::OperatorInterjectionAdmitted(joined)
                    if joined.authority_class == Some(AuthorityClass::OperatorInstruction) =>
                {
                    self.record_joining();
                }
                Event::ToolExecuted(tool) => self.open.acted |= may_change(&tool.tool_name),
                Event::SystemTickEmitted(tick) => self.record_tick(tick, seen, coverage)?,
                Event::TurnStarted(turn) => self.record_start(turn, seen)?,
                Event::TurnTerminal(turn) => self.record_end(turn, seen.now),
                Event::ProviderRetryScheduled(retry) if retry.failure_kind == TOO_LONG => {
                    self.shortened += 1;
                    ensure(
                        self.shortened == 1,
                        "a request that was too long is repeated once, shorter",
                        || format!("{retry:?}"),
                    )?;
                }
                Event::ProviderRetryScheduled(retry) if retry.cause == PauseCause::Retry => {
                    self.retries += 1;
                    let retries = self.retries;
                    ensure(
                        retries <= RETRIES,
                        "a model is tried again a bounded number of times",
                        || format!("{retries} times in {retry:?}"),
                    )?;
                }
                Event::ProviderFallbackSelected(_)
                | Event::TurnSuspended(_)
                | Event::TurnSuspensionEnded(_)
                | Event::AssistantRoundRecorded(_) => (self.retries, self.shortened) = (0, 0),
                _ => {}
            }
        }
        ensure(stalled == notices, "one notice tells of a stall", || {
            format!("{stalled} stalls and {notices} notices")
        })
    }

    fn record_item(&mut self, item: &WorkItemWritten) -> Verdict<()> {
        let id = &item.work_item_id;
        let before = self.revisions.insert(id.clone(), item.revision);
        if before != Some(item.revision) {
            self.forget(id);
        }
        if item.scheduling_state != WorkItemSchedulingState::Stalled {
            return Ok(());
        }
        let turns = self.turns.get(id).copied().unwrap_or_default();
        ensure(
            turns >= IDLE_TURNS || self.open.too_long,
            "work is stalled only after three turns without progress",
            || format!("{id} after {turns}"),
        )
    }

    /// Begins the count of own turns anew when the agent completes an item that an operator created. Each such item gives
    /// this once.
    fn record_completion(
        &mut self,
        item: &WorkItemWritten,
        seen: &WorkObservation<'_>,
        coverage: &mut Coverage,
    ) {
        let id = &item.work_item_id;
        if item.action != "completed" || !self.asked_for.remove(id) {
            return;
        }
        let by_call = seen.fresh.answers.iter().any(|answer| {
            let result = answer.result_of("CompleteWorkItem");
            let named = result.and_then(|result| result.pointer("/work_item/id")?.as_str());
            named == Some(id.as_str())
        });
        if by_call {
            coverage.count("work:operator_item_completed");
            self.own_turns = self.own_turns.min(1);
        }
    }

    /// Forgets the ticks for an item, because it changed.
    fn forget(&mut self, id: &WorkItemId) {
        self.items.remove(id);
        self.turns.remove(id);
        self.open.changed |= self.open.item.as_ref() == Some(id);
    }

    /// Forgets the ticks for every item, because something woke the agent.
    fn forget_all(&mut self) {
        self.items.clear();
        self.turns.clear();
    }

    fn record_tick(
        &mut self,
        tick: &SystemTickEmitted,
        seen: &WorkObservation<'_>,
        coverage: &mut Coverage,
    ) -> Verdict<()> {
        coverage.count(format!("tick:{}", tick.subsystem));
        let Some(id) = tick
            .work_item_id
            .as_ref()
            .filter(|_| tick.subsystem == "work_queue")
        else {
            return Ok(());
        };
        let ticks = self.items.entry(id.clone()).or_default();
        ticks.sent += 1;
        let sent = *ticks;
        ensure(
            sent.sent <= IDLE_TURNS + sent.called_off,
            "work without progress is ticked for three times",
            || format!("{id}: {sent:?}"),
        )?;
        let Some(since) = sent.idle_since.filter(|_| seen.steady_clock) else {
            return Ok(());
        };
        coverage.count("tick:after_backoff");
        ensure(
            seen.now.millis_since(since) >= BACKOFF_MS,
            "work without progress waits before it is ticked for again",
            || format!("{id} idle since {since}, ticked at {}", seen.now),
        )
    }

    fn record_start(&mut self, turn: &TurnStarted, seen: &WorkObservation<'_>) -> Verdict<()> {
        (self.retries, self.shortened) = (0, 0);
        let message = turn.message_seq.and_then(|seq| seen.known.get(&seq));
        let own = message.filter(|message| message.self_caused);
        // A turn of any tick or follow-up counts for the item it names, or else for the current one.
        let current = seen.after.work.current.as_ref();
        let goes_on = |message: &&Message| message.is_tick() || message.is_followup();
        let item = own.filter(goes_on).and_then(|message| {
            let named = message.work_item_id.clone();
            named.or_else(|| current.map(|current| current.id.clone()))
        });
        self.open = OpenTurn {
            item,
            ..OpenTurn::default()
        };
        if own.is_none() {
            self.own_turns = 0;
            return Ok(());
        }
        self.own_turns += 1;
        let number = self.own_turns;
        let pause = match number.checked_sub(FREE_TURNS + 1) {
            Some(beyond) => (PACE_MS << beyond.min(16)).min(PACE_MAX_MS),
            None => 0,
        };
        let waited = self
            .last_end
            .map_or(u64::MAX, |end| seen.now.millis_since(end));
        ensure(
            waited >= pause || !seen.steady_clock,
            "turns that an agent causes itself are spaced",
            || format!("number {number} after {waited} ms instead of {pause}"),
        )
    }

    /// Takes the open turn for the operator's, whose message joined it.
    fn record_joining(&mut self) {
        self.own_turns = 0;
        self.open.item = None;
    }

    fn record_end(&mut self, turn: &TurnTerminal, now: Timestamp) {
        self.last_end = Some(now);
        self.open.too_long = turn.reason == TerminalReason::ContextLengthExceeded;
        if self.open.acted {
            self.items.clear();
        }
        let Some(id) = self.open.item.take() else {
            return;
        };
        *self.turns.entry(id.clone()).or_default() += 1;
        let ticks = self.items.entry(id).or_default();
        match turn.reason {
            TerminalReason::AgentStopped | TerminalReason::OperatorAborted => {
                ticks.called_off += 1;
            }
            _ if !self.open.acted && !self.open.changed => {
                ticks.idle += 1;
                ticks.idle_since = Some(now);
            }
            _ => {}
        }
    }
}

/// Returns true if a call of this tool may change something about any item. Others only look, or change items by their
/// revisions, which count for the item itself.
fn may_change(tool: &str) -> bool {
    !matches!(
        tool,
        "AgentGet"
            | "Sleep"
            | "Enqueue"
            | "GetWorkItem"
            | "ListWorkItems"
            | "ListTimers"
            | "TaskList"
            | "TaskStatus"
            | "CreateWorkItem"
            | "PickWorkItem"
            | "UpdateWorkItem"
            | "CompleteWorkItem"
            | "WaitFor"
            | "CancelWait"
    )
}
