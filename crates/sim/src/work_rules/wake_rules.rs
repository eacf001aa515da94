//! No wake-up is lost: hints are pending until a tick tells them, due rechecks are told once and consumed when they
//! were shown, and an agent that rests has nothing to do.

use super::{WorkObservation, subsystem, text_of};
use crate::coverage::Coverage;
use crate::violation::{Verdict, ensure, violation};
use holon_domain::event::{Event, WakeHintTriggered};
use holon_domain::message::{MessageEnvelope, MessageKind};
use holon_domain::trigger::WakeHint;
use holon_domain::work_item::{WorkItemRecord, WorkItemSchedulingState};
use holon_domain::{Timestamp, WorkItemId};
use std::collections::{BTreeMap, BTreeSet};

/// Longest pause before work that can go on is ticked for.
const PAUSE_MAX_MS: u64 = 300_000;
/// Shortest time between two ticks that tell of hints from outside, once the agent has used up its credit.
const HINT_TICKS_APART_MS: u64 = 5_000;
/// Credit that a tick at once costs. It grows with the time.
const HINT_TICK_CREDIT_MS: u64 = 10_000;
const HINT_CREDIT_MAX_MS: u64 = 6 * HINT_TICK_CREDIT_MS;
/// Key of the hints that operators give.
const OPERATOR: &str = "operator";
/// Items that one reminder lists.
const REMINDED: usize = 16;

/// The oracle's record of wakes.
#[derive(Debug, Default)]
pub(crate) struct WakeBook {
    /// Number of accepted hints so far.
    hints_seen: u64,
    /// Hints that no tick has told yet, with their number and the newest reason of each source.
    pending: BTreeMap<String, (u64, Option<String>)>,
    /// Time of the newest tick for hints from outside. Absent if something since then allows another one at once.
    told_outside_at: Option<Timestamp>,
    /// Credit for ticks at once that was left after that tick.
    hint_credit_ms: Option<u64>,
    /// Items whose recheck came and that no tick has listed since.
    untold: BTreeSet<WorkItemId>,
    /// Items whose recheck came and was not consumed.
    came: BTreeSet<WorkItemId>,
    /// True if something happened since the last reminder that allows another one.
    may_remind: bool,
}

impl WakeBook {
    /// Returns the number of hints that were accepted so far.
    pub(crate) const fn hints_seen(&self) -> u64 {
        self.hints_seen
    }

    pub(super) fn compare(
        &mut self,
        seen: &WorkObservation<'_>,
        coverage: &mut Coverage,
    ) -> Verdict<()> {
        for item in seen.rows_before.items.iter().chain(&seen.rows.items) {
            if is_due(item) && self.came.insert(item.id.clone()) {
                self.untold.insert(item.id.clone());
                self.may_remind = true;
            }
        }
        for event in &seen.fresh.events {
            match event {
                Event::WakeHintTriggered(hint) => {
                    self.may_remind = true;
                    if hint.key == OPERATOR {
                        self.told_outside_at = None;
                    }
                    self.record_hint(hint, coverage)?;
                }
                Event::MessageAdmitted(message) => {
                    self.may_remind |= message.kind == MessageKind::OperatorPrompt;
                }
                // A stop ends the pause between ticks.
                Event::ControlApplied(_) => self.told_outside_at = None,
                Event::TaskStatusUpdated(_)
                | Event::AgentModelOverrideSet(_)
                | Event::AgentModelOverrideCleared(_) => self.may_remind = true,
                Event::WorkItemRecheckConsumed(consumed) => {
                    coverage.count("recheck:consumed");
                    self.may_remind = true;
                    let id = &consumed.work_item_id;
                    ensure(
                        seen.shown.contains(id),
                        "a recheck is consumed when an answered request listed its item",
                        || format!("{id}, listed {:?}", seen.shown),
                    )?;
                    self.came.remove(id);
                    self.untold.remove(id);
                }
                Event::SystemTickEmitted(tick) => match seen.message(&tick.message_id) {
                    Some(message) => {
                        self.check_spacing(message, seen, coverage)?;
                        self.record_tick(message, &seen.rows_before.hints)?;
                    }
                    None => return violation("a tick is a message", format!("{tick:?}")),
                },
                _ => {}
            }
        }
        let open = |id: &WorkItemId| seen.item(id).is_some_and(is_due);
        self.came.retain(open);
        self.untold.retain(open);
        self.check_pending(seen)?;
        if seen.is_at_rest() {
            self.check_rest(seen)?;
        }
        check_awake(seen)
    }

    fn record_hint(&mut self, hint: &WakeHintTriggered, coverage: &mut Coverage) -> Verdict<()> {
        self.hints_seen += 1;
        let pending = self.pending.entry(hint.key.clone()).or_default();
        pending.0 += 1;
        pending.1.clone_from(&hint.reason);
        let count = pending.0;
        if count > 1 {
            coverage.count("hint:coalesced");
        }
        ensure(
            hint.count == count,
            "a pending hint counts its deliveries",
            || format!("{hint:?} instead of {count}"),
        )
    }

    /// Checks that a source outside which never stops does not make a turn of each hint.
    fn check_spacing(
        &mut self,
        message: &MessageEnvelope,
        seen: &WorkObservation<'_>,
        coverage: &mut Coverage,
    ) -> Verdict<()> {
        let from_outside = self.pending.keys().any(|key| key != OPERATOR);
        // A tick without a text is read by no model, and costs no credit.
        let is_read = !message.body.render().is_empty();
        if subsystem(message) != Some("wake_hint") || !from_outside || !is_read {
            return Ok(());
        }
        let last = self.told_outside_at.replace(seen.now);
        let apart = last.map_or(HINT_CREDIT_MAX_MS, |last| seen.now.millis_since(last));
        let left = self.hint_credit_ms.unwrap_or(HINT_CREDIT_MAX_MS);
        let credit = left.saturating_add(apart).min(HINT_CREDIT_MAX_MS);
        self.hint_credit_ms = Some(credit.saturating_sub(HINT_TICK_CREDIT_MS));
        let at_once = credit >= HINT_TICK_CREDIT_MS;
        coverage.count(if at_once {
            "hint:at_once"
        } else {
            "hint:spaced"
        });
        ensure(
            at_once || apart >= HINT_TICKS_APART_MS || !seen.steady_clock,
            "ticks for hints from outside are spaced once the credit is used up",
            || format!("{apart} ms apart"),
        )
    }

    fn record_tick(&mut self, message: &MessageEnvelope, hints: &[WakeHint]) -> Verdict<()> {
        let listed = |field: &str| {
            let found = message.metadata.as_ref().and_then(|data| data.get(field));
            found.cloned().unwrap_or_default()
        };
        match subsystem(message) {
            Some("wake_hint") => {
                let told = std::mem::take(&mut self.pending);
                let text = text_of(message);
                let mut reasons = told.values().filter_map(|(_, reason)| reason.as_ref());
                ensure(
                    listed("wake_hints") == told.len()
                        && reasons.all(|reason| text.contains(reason.as_str())),
                    "one tick tells every pending hint",
                    || format!("{text:?} for {told:?}"),
                )?;
                let mut bodies = hints.iter().flat_map(WakeHint::bodies);
                ensure(
                    bodies.all(|body| text.contains(body)),
                    "a tick tells every payload that its hints kept",
                    || format!("{text:?} for {hints:?}"),
                )
            }
            Some("work_item_recheck") => {
                let may_remind = std::mem::take(&mut self.may_remind);
                let ids = listed("work_item_ids");
                let ids = ids.as_array().cloned().unwrap_or_default();
                self.untold
                    .retain(|id| !ids.iter().any(|listed| listed == id.as_str()));
                ensure(
                    may_remind,
                    "an agent is reminded once until something happens",
                    || format!("{ids:?}"),
                )
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Checks that exactly the hints are pending that no tick has told.
    fn check_pending(&self, seen: &WorkObservation<'_>) -> Verdict<()> {
        let rows = seen.rows.hints.iter();
        let rows: BTreeMap<String, u64> = rows.map(|hint| (hint.key.clone(), hint.count)).collect();
        let expected = self.pending.iter();
        let expected: BTreeMap<String, u64> = expected
            .map(|(key, (count, _))| (key.clone(), *count))
            .collect();
        ensure(
            rows == expected,
            "a hint is pending until a tick tells it",
            || format!("{rows:?} instead of {expected:?}"),
        )
    }

    /// Checks that an agent at rest has nothing to do.
    fn check_rest(&self, seen: &WorkObservation<'_>) -> Verdict<()> {
        let spaced = seen.after.work.hint_pause.is_some_and(|pause| {
            let in_time = pause.at.millis_since(seen.now) <= HINT_TICKS_APART_MS;
            pause.due.is_some() && (in_time || !seen.steady_clock)
        });
        if spaced && !self.pending.is_empty() {
            return Ok(());
        }
        ensure(
            self.pending.is_empty(),
            "no agent rests with a pending hint, except for the pause between ticks",
            || format!("{:?}", self.pending),
        )?;
        ensure(
            self.untold.is_empty() || self.came.len() > REMINDED,
            "no agent rests with a recheck that was not told",
            || format!("{:?}", self.untold),
        )?;
        let wake_count = seen.after.work.wake_count;
        let runs = |item: &&WorkItemRecord| {
            item.scheduling_state(wake_count) == WorkItemSchedulingState::Runnable
        };
        let Some(item) = seen.rows.items.iter().find(runs) else {
            return Ok(());
        };
        let pause = seen.after.work.tick_pause.filter(|pause| {
            let in_time = pause.at.millis_since(seen.now) <= PAUSE_MAX_MS;
            pause.due.is_some() && (in_time || !seen.steady_clock)
        });
        ensure(
            pause.is_some(),
            "work that can go on is not asleep for ever",
            || format!("{} of {:?}", item.id, seen.after.work),
        )
    }
}

/// Returns true if the recheck of an item came and was not consumed.
fn is_due(item: &WorkItemRecord) -> bool {
    let recheck = item.recheck.as_ref();
    recheck.is_some_and(|recheck| recheck.due.is_none() && recheck.consumed_at.is_none())
}

/// Checks that an operator's message leaves no work stalled.
fn check_awake(seen: &WorkObservation<'_>) -> Verdict<()> {
    let by_operator = |message: &MessageEnvelope| message.kind == MessageKind::OperatorPrompt;
    if !seen.fresh.messages.iter().any(by_operator) {
        return Ok(());
    }
    let wake_count = seen.after.work.wake_count;
    let stalled = seen
        .rows
        .items
        .iter()
        .find(|item| item.scheduling_state(wake_count) == WorkItemSchedulingState::Stalled);
    ensure(
        stalled.is_none(),
        "an operator's message wakes stalled work",
        || format!("{stalled:?}"),
    )
}
