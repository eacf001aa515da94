//! The oracle's rules about work: who moves the focus, what an item is worth, and what one commit told about it.

mod tick_rules;
mod timer_rules;
mod wait_rules;
mod wake_rules;

use crate::coverage::Coverage;
use crate::message::Message;
use crate::violation::{Verdict, ensure};
use holon_domain::agent::{AgentRecord, Lifecycle};
use holon_domain::authority::AuthorityClass;
use holon_domain::block::ToolCall;
use holon_domain::event::Event;
use holon_domain::message::{Body, MessageEnvelope, Origin};
use holon_domain::tool::{ToolEnvelope, ToolOutcome};
use holon_domain::trigger::WakeHint;
use holon_domain::work_item::{WorkItemRecord, WorkItemState};
use holon_domain::{MessageId, Timestamp, WorkItemId};
use holon_store::OutstandingWork;
use serde_json::Value;
use std::collections::BTreeMap;
use tick_rules::TickBook;
use timer_rules::TimerBook;
pub(crate) use wait_rules::Happening;
use wake_rules::WakeBook;

/// A call that got its result, with the authority of its turn.
#[derive(Debug)]
pub(crate) struct CallAnswer {
    pub(crate) call: ToolCall,
    pub(crate) envelope: ToolEnvelope,
    pub(crate) authority: AuthorityClass,
}

impl CallAnswer {
    /// Returns the result of a call of this tool; `None` if it failed.
    fn result_of(&self, tool: &str) -> Option<&Value> {
        match &self.envelope.outcome {
            ToolOutcome::Success { result } if self.call.name == tool => Some(result),
            ToolOutcome::Success { .. } | ToolOutcome::Error { .. } => None,
        }
    }
}

/// Messages, results and events that one observation found.
#[derive(Debug, Default)]
pub(crate) struct FreshWork {
    pub(crate) messages: Vec<MessageEnvelope>,
    pub(crate) answers: Vec<CallAnswer>,
    pub(crate) events: Vec<Event>,
}

/// One commit about an agent, as the rules about work see it.
pub(crate) struct WorkObservation<'a> {
    pub(crate) before: &'a AgentRecord,
    pub(crate) rows_before: &'a OutstandingWork,
    pub(crate) after: &'a AgentRecord,
    pub(crate) rows: &'a OutstandingWork,
    pub(crate) fresh: &'a FreshWork,
    /// Messages of the agent so far, by their positions.
    pub(crate) known: &'a BTreeMap<u64, Message>,
    /// Items that the request listed whose answer the commit accepted.
    pub(crate) shown: &'a [WorkItemId],
    pub(crate) now: Timestamp,
    /// Start of the process that made the commit.
    pub(crate) started_at: Timestamp,
    /// False in runs whose clock jumps: lengths of time mean nothing there.
    pub(crate) steady_clock: bool,
}

impl WorkObservation<'_> {
    fn message(&self, id: &MessageId) -> Option<&MessageEnvelope> {
        self.fresh.messages.iter().find(|message| message.id == *id)
    }

    fn item(&self, id: &WorkItemId) -> Option<&WorkItemRecord> {
        self.rows.items.iter().find(|item| item.id == *id)
    }

    /// Returns true if the agent may run, has no open turn and nothing in its queue, and gets ticks.
    fn is_at_rest(&self) -> bool {
        self.after.lifecycle == Lifecycle::Runnable
            && self.after.open_turn.is_none()
            && self.rows.queued.is_empty()
            && !self.after.is_one_run()
    }
}

/// Returns the subsystem of the runtime that sent a message.
pub(crate) fn subsystem(message: &MessageEnvelope) -> Option<&str> {
    match &message.origin {
        Origin::System { subsystem } => Some(subsystem),
        _ => None,
    }
}

fn text_of(message: &MessageEnvelope) -> &str {
    match &message.body {
        Body::Text { text } | Body::Brief { text, .. } => text,
        Body::Json { .. } => "",
    }
}

/// The oracle's record of an agent's work.
#[derive(Debug, Default)]
pub(crate) struct WorkBooks {
    timers: TimerBook,
    ticks: TickBook,
    pub(crate) wakes: WakeBook,
}

impl WorkBooks {
    /// Compares one commit with the rules.
    pub(crate) fn compare(
        &mut self,
        seen: &WorkObservation<'_>,
        coverage: &mut Coverage,
    ) -> Verdict<()> {
        check_focus(seen)?;
        check_origins(seen)?;
        check_tick_authority(seen)?;
        self.timers.compare(seen, coverage)?;
        wait_rules::compare(seen, coverage)?;
        self.ticks.compare(seen, coverage)?;
        self.wakes.compare(seen, coverage)
    }
}

/// Checks that only a pick of the agent moves the focus, and only the end of the item takes it away.
fn check_focus(seen: &WorkObservation<'_>) -> Verdict<()> {
    let focus = |agent: &AgentRecord| {
        agent
            .work
            .current
            .as_ref()
            .map(|current| current.id.clone())
    };
    let (before, after) = (focus(seen.before), focus(seen.after));
    let mut expected = before.clone();
    for answer in &seen.fresh.answers {
        let picked = answer.result_of("PickWorkItem");
        let picked = picked.and_then(|result| result.get("current_work_item_id")?.as_str());
        expected = picked.map(WorkItemId::from_stored).or(expected);
    }
    let is_over = |id: &WorkItemId| {
        let item = seen.item(id);
        item.is_some_and(|item| item.state == WorkItemState::Completed)
    };
    let expected = expected.filter(|id| !is_over(id));
    ensure(
        after == expected,
        "only a call of the agent moves the focus",
        || format!("{before:?} became {after:?} instead of {expected:?}"),
    )
}

/// Checks that a new item is worth what the turn was that made it, and that no item becomes worth more.
fn check_origins(seen: &WorkObservation<'_>) -> Verdict<()> {
    for item in &seen.rows.items {
        let made = item.provenance.authority;
        let known = seen.rows_before.items.iter().find(|old| old.id == item.id);
        let allowed = match known {
            Some(old) => old.provenance.authority,
            None => {
                let by_call =
                    |answer: &&CallAnswer| WorkItemId::of_call(&answer.call.id) == item.id;
                let answer = seen.fresh.answers.iter().find(by_call);
                answer.map_or(AuthorityClass::OperatorInstruction, |answer| {
                    answer.authority
                })
            }
        };
        ensure(
            made >= allowed,
            "a work item is worth no more than what made it",
            || format!("{} has {made:?}, its source {allowed:?}", item.id),
        )?;
    }
    Ok(())
}

/// Returns the authority of the hints that a commit told: an operator's own words are an instruction, anything else is a
/// signal.
fn authority_of_hints(seen: &WorkObservation<'_>) -> AuthorityClass {
    let is_foreign = |hint: &WakeHint| {
        let named = hint.deliveries().any(|(source, _)| source.is_some());
        named || hint.bodies().next().is_some()
    };
    let came = seen
        .fresh
        .events
        .iter()
        .any(|event| matches!(event, Event::WakeHintTriggered(hint) if hint.key != "operator"));
    if came || seen.rows_before.hints.iter().any(is_foreign) {
        AuthorityClass::IntegrationSignal
    } else {
        AuthorityClass::RuntimeInstruction
    }
}

/// Checks that the ticks of items, blockers, waits and hints have no more authority than the text they repeat.
fn check_tick_authority(seen: &WorkObservation<'_>) -> Verdict<()> {
    for message in &seen.fresh.messages {
        let source = match subsystem(message) {
            Some("work_queue") => message
                .work_item_id
                .as_ref()
                .and_then(|id| seen.item(id))
                .map(|item| item.provenance.authority),
            Some("work_item_recheck") => message
                .work_item_id
                .as_ref()
                .and_then(|id| seen.item(id))
                .and_then(|item| {
                    let recheck = item.recheck.as_ref()?;
                    Some(item.provenance.authority.weaker(recheck.authority))
                }),
            Some("wait_over" | "wait_changed") => {
                message.source_refs.get("waiting_intent_id").and_then(|id| {
                    let mut waits = seen.rows_before.waits.iter();
                    let wait = waits.find(|wait| wait.id.as_str() == id.as_str())?;
                    Some(wait.authority)
                })
            }
            Some("wake_hint") => Some(authority_of_hints(seen)),
            Some(_) | None => continue,
        };
        let Some(source) = source else {
            continue;
        };
        let allowed = source.weaker(AuthorityClass::RuntimeInstruction);
        ensure(
            message.authority_class >= allowed,
            "a tick has no more authority than what it repeats",
            || {
                let class = message.authority_class;
                format!(
                    "{:?} has {class:?}, its source {source:?}",
                    subsystem(message)
                )
            },
        )?;
    }
    Ok(())
}
