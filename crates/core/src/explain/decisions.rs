//! Describes the latest decisions about an agent from its events.
//!
//! The event that classifies a message follows the choice about the same message, so it becomes evidence of that
//! choice.

use holon_domain::event::{
    ContinuationResolved, Event, SchedulerChoice, SchedulerDecision, SystemTickEmitted,
    SystemTickSuppressed, TimerFired, WaitingIntentCreated, WaitingIntentEnded, WakeHintTriggered,
    WorkItemWritten,
};
use holon_domain::explanation::ExplainedDecision;
use holon_domain::feed::EventRecord;
use holon_domain::message::MessageKind;
use holon_domain::{MessageId, WorkItemId};
use serde::Serialize;
use std::collections::BTreeMap;

/// Number of decisions that an explanation shows.
const SHOWN: usize = 10;

/// Describes the newest decisions. `events` are ordered newest first, and so is the result.
pub(super) fn describe(events: &[EventRecord]) -> Vec<ExplainedDecision> {
    let known = MessageIndex::of(events);
    let described = events.iter().filter_map(|record| {
        let words = known.words(&record.event)?;
        Some(ExplainedDecision {
            event_seq: record.event_seq,
            at: record.at,
            decision: words.decision,
            what: words.what,
            message_id: words.message_id,
            work_item_id: words.work_item_id,
            evidence: words.evidence,
        })
    });
    described.take(SHOWN).collect()
}

/// The text of one decision, before its event sequence and time are added.
struct DecisionText {
    decision: String,
    what: String,
    message_id: Option<MessageId>,
    work_item_id: Option<WorkItemId>,
    evidence: Vec<String>,
}

impl DecisionText {
    fn new(decision: &str, what: String) -> Self {
        Self {
            decision: decision.to_owned(),
            what,
            message_id: None,
            work_item_id: None,
            evidence: Vec::new(),
        }
    }
}

/// Messages and their classification, indexed from the events that the decisions are read from.
struct MessageIndex<'a> {
    kinds: BTreeMap<&'a MessageId, MessageKind>,
    continuations: BTreeMap<&'a MessageId, &'a ContinuationResolved>,
}

impl<'a> MessageIndex<'a> {
    fn of(events: &'a [EventRecord]) -> Self {
        let mut known = Self {
            kinds: BTreeMap::new(),
            continuations: BTreeMap::new(),
        };
        for record in events {
            match &record.event {
                Event::MessageAdmitted(admitted) => {
                    known.kinds.insert(&admitted.message_id, admitted.kind);
                }
                Event::ContinuationResolved(resolved) => {
                    known.continuations.insert(&resolved.message_id, resolved);
                }
                _ => {}
            }
        }
        known
    }

    fn words(&self, event: &Event) -> Option<DecisionText> {
        match event {
            Event::SchedulerDecision(choice) => Some(self.choice(choice)),
            Event::SystemTickEmitted(tick) => Some(describe_tick(tick)),
            Event::SystemTickSuppressed(tick) => Some(describe_held_tick(tick)),
            Event::WakeHintTriggered(hint) => Some(describe_hint(hint)),
            Event::TimerFired(fired) => Some(describe_fire(fired)),
            Event::WaitingIntentCreated(wait) => Some(describe_wait(wait)),
            Event::WaitingIntentEnded(wait) => Some(describe_wait_end(wait)),
            Event::WorkItemWritten(item) if item.action == "stalled" => Some(describe_stall(item)),
            _ => None,
        }
    }

    fn choice(&self, choice: &SchedulerDecision) -> DecisionText {
        let message = choice.message_id.as_ref();
        let named = message.map_or_else(String::new, |id| match self.kinds.get(id) {
            Some(kind) => format!(" {id} ({})", wire_name(kind)),
            None => format!(" {id}"),
        });
        let what = match choice.decision {
            SchedulerChoice::StartModelTurn => format!("began a turn for{named}"),
            SchedulerChoice::ReduceMessageOnly => {
                format!("began no turn for{named}: {}", choice.reason)
            }
            SchedulerChoice::WaitForTimer
            | SchedulerChoice::WaitForOperator
            | SchedulerChoice::WaitForExternalChange
            | SchedulerChoice::Sleep
            | SchedulerChoice::Stop
            | SchedulerChoice::Noop => choice.reason.clone(),
        };
        let mut evidence = choice.evidence.clone();
        evidence.extend(
            message
                .and_then(|id| self.continuations.get(id))
                .map(|resolved| continuation(resolved)),
        );
        DecisionText {
            message_id: choice.message_id.clone(),
            evidence,
            ..DecisionText::new(&wire_name(&choice.decision), what)
        }
    }
}

/// Describes how a message related to the closure before it.
fn continuation(resolved: &ContinuationResolved) -> String {
    let before = match resolved.prior_waiting_reason {
        Some(reason) => format!(
            "before it the agent was {} ({})",
            wire_name(&resolved.prior_closure_outcome),
            wire_name(&reason)
        ),
        None => format!(
            "before it the agent was {}",
            wire_name(&resolved.prior_closure_outcome)
        ),
    };
    let matched = if resolved.matched_waiting_reason {
        "; it is what the agent waited for"
    } else {
        ""
    };
    format!(
        "{} is {}; {before}{matched}",
        wire_name(&resolved.trigger_kind),
        wire_name(&resolved.class)
    )
}

fn describe_tick(tick: &SystemTickEmitted) -> DecisionText {
    let item = tick
        .work_item_id
        .as_ref()
        .map_or_else(String::new, |item| format!(" for {item}"));
    let what = format!("the runtime sent a tick{item} ({})", tick.subsystem);
    DecisionText {
        message_id: Some(tick.message_id.clone()),
        work_item_id: tick.work_item_id.clone(),
        evidence: vec![format!("planned for {}", tick.planned_at)],
        ..DecisionText::new("EmitSystemTick", what)
    }
}

fn describe_held_tick(tick: &SystemTickSuppressed) -> DecisionText {
    let until = tick
        .until
        .map_or_else(String::new, |until| format!(" before {until}"));
    let what = format!("no tick{until} ({}): {}", tick.subsystem, tick.reason);
    let item = tick.work_item_id.iter();
    DecisionText {
        work_item_id: tick.work_item_id.clone(),
        evidence: item
            .map(|item| format!("the last turns changed nothing about {item}"))
            .collect(),
        ..DecisionText::new("system_tick_suppressed", what)
    }
}

fn describe_hint(hint: &WakeHintTriggered) -> DecisionText {
    let why = hint.reason.as_deref().unwrap_or("something changed");
    let what = format!("was woken through {}: {why}", hint.key);
    let ended = hint.wait_ids.iter().map(|wait| format!("it ended {wait}"));
    let joined = (hint.count > 1).then(|| format!("wake {} since the last tick", hint.count));
    DecisionText {
        evidence: joined.into_iter().chain(ended).collect(),
        ..DecisionText::new("wake_hint_triggered", what)
    }
}

fn describe_fire(fired: &TimerFired) -> DecisionText {
    let what = match &fired.message_id {
        Some(_) => format!("the timer {} fired", fired.timer_id),
        None => format!("the timer {} passed over missed slots", fired.timer_id),
    };
    let missed = (fired.missed > 0).then(|| format!("{} slots were missed", fired.missed));
    DecisionText {
        message_id: fired.message_id.clone(),
        evidence: std::iter::once(format!("planned for {}", fired.planned_at))
            .chain(missed)
            .collect(),
        ..DecisionText::new("timer_fired", what)
    }
}

fn describe_wait(wait: &WaitingIntentCreated) -> DecisionText {
    let until = wait
        .due_at
        .map(|due| format!("it ends at {due} at the latest"));
    DecisionText {
        work_item_id: wait.work_item_id.clone(),
        evidence: until.into_iter().collect(),
        ..DecisionText::new(
            "waiting_intent_created",
            format!("began to wait for: {} ({})", wait.waiting_for, wait.wait_id),
        )
    }
}

fn describe_wait_end(wait: &WaitingIntentEnded) -> DecisionText {
    DecisionText {
        work_item_id: wait.work_item_id.clone(),
        evidence: vec![wait.ended_by.clone()],
        ..DecisionText::new(
            "waiting_intent_ended",
            format!(
                "the wait {} is over: {}",
                wait.wait_id,
                wire_name(&wait.status)
            ),
        )
    }
}

fn describe_stall(item: &WorkItemWritten) -> DecisionText {
    DecisionText {
        work_item_id: Some(item.work_item_id.clone()),
        ..DecisionText::new(
            "work_item_stalled",
            format!("{} stalled: {}", item.work_item_id, item.objective),
        )
    }
}

/// Returns the wire spelling of an enum value.
fn wire_name(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        Ok(other) => other.to_string(),
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::Timestamp;
    use holon_domain::closure::{ClosureOutcome, WaitingReason};
    use holon_domain::continuation::{ContinuationClass, TriggerKind};

    fn record(event_seq: u64, event: Event) -> EventRecord {
        EventRecord {
            event_seq,
            at: Timestamp::from_millis(0),
            event,
            labels: None,
        }
    }

    fn chosen(id: &str, decision: SchedulerChoice) -> Event {
        Event::SchedulerDecision(SchedulerDecision {
            decision,
            reason: "a sign of life".to_owned(),
            model_reentry: decision == SchedulerChoice::StartModelTurn,
            message_id: Some(MessageId::from_stored(id)),
            evidence: Vec::new(),
            message_seq: None,
            boundary: None,
            previous_status: None,
            next_status: None,
        })
    }

    fn resolved(id: &str) -> Event {
        Event::ContinuationResolved(ContinuationResolved {
            message_id: MessageId::from_stored(id),
            trigger_kind: TriggerKind::TaskResult,
            class: ContinuationClass::ResumeExpectedWait,
            prior_closure_outcome: ClosureOutcome::Waiting,
            prior_waiting_reason: Some(WaitingReason::AwaitingTaskResult),
            matched_waiting_reason: true,
            model_visible: Some(true),
            evidence: Vec::new(),
            message_seq: None,
        })
    }

    #[test]
    fn the_class_of_a_message_is_evidence_of_the_choice_about_it() {
        let events = [
            record(4, resolved("msg_2")),
            record(3, chosen("msg_2", SchedulerChoice::StartModelTurn)),
            record(2, chosen("msg_1", SchedulerChoice::ReduceMessageOnly)),
        ];
        let told = describe(&events);
        let lines: Vec<&str> = told.iter().map(|told| told.what.as_str()).collect();
        assert_eq!(
            lines,
            [
                "began a turn for msg_2",
                "began no turn for msg_1: a sign of life"
            ]
        );
        assert_eq!(
            told[0].evidence,
            [
                "task_result is resume_expected_wait; before it the agent was waiting (awaiting_task_result); it is what the agent waited for"
            ]
        );
        assert!(told[1].evidence.is_empty());
    }

    #[test]
    fn only_the_newest_decisions_are_told() {
        let ticks = (0..30).rev().map(|seq| {
            let tick = SystemTickSuppressed {
                subsystem: "work_queue".to_owned(),
                reason: "backs_off".to_owned(),
                work_item_id: Some(WorkItemId::from_stored("work_1")),
                until: Some(Timestamp::from_millis(1)),
            };
            record(seq, Event::SystemTickSuppressed(tick))
        });
        let events: Vec<EventRecord> = ticks.collect();
        let told = describe(&events);
        assert_eq!((told.len(), told[0].event_seq), (SHOWN, 29));
        assert!(told[0].what.contains("backs_off"), "{:?}", told[0]);
    }
}
