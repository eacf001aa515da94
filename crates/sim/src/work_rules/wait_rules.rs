//! Rules about waits: what a wait names ends it, nothing else does, and no end of a wait leaves the agent asleep.

use super::{CallAnswer, WorkObservation};
use crate::coverage::Coverage;
use crate::violation::{Verdict, ensure};
use holon_domain::agent::Lifecycle;
use holon_domain::event::{Event, WaitingIntentEnded};
use holon_domain::message::{Cause, MessageEnvelope, MessageKind, Origin};
use holon_domain::trigger::WakeHint;
use holon_domain::wait::{WaitEffect, WaitNote, WaitRecord, WaitStatus, WakeEvent};
use holon_domain::work_item::WorkItemSchedulingState;
use holon_domain::{TaskId, TriggerId};

/// Something that happened in a commit and may end waits.
#[derive(Debug, Clone)]
pub(crate) enum Happening {
    TaskEnded(TaskId),
    /// An event or hint, with its source if it has one.
    Outside(Option<String>, Option<TriggerId>),
    /// A message of an operator, with its text.
    Operator(String),
}

impl Happening {
    /// Returns true if this ends the wait. `active` holds all waits of the agent.
    fn ends(&self, wait: &WaitRecord, active: &[WaitRecord]) -> bool {
        match self {
            Self::TaskEnded(id) => wait.is_ended_by(WakeEvent::TaskEnded(id)),
            Self::Outside(source, trigger) => wait.is_ended_by(WakeEvent::Outside {
                source: source.as_deref(),
                external_trigger_id: trigger.as_ref(),
            }),
            Self::Operator(words) => {
                let effects = WaitRecord::effects_of_message(active, words);
                let mut effects = effects.into_iter();
                effects.any(|(one, effect)| one.id == wait.id && effect == WaitEffect::Ended)
            }
        }
    }

    /// Returns what a message may end; `None` if it ends no wait.
    pub(crate) fn of_message(message: &MessageEnvelope) -> Option<Self> {
        let from = |source: &str| Some(Self::Outside(Some(source.to_owned()), None));
        match &message.origin {
            Origin::Operator { .. } if message.is_operator_instruction() => {
                Some(Self::Operator(message.body.render()))
            }
            Origin::Channel { channel_id, .. } => from(channel_id),
            Origin::Webhook { source, .. } => from(source),
            Origin::Callback {
                descriptor_id,
                source,
            } => Some(Self::Outside(
                source.clone(),
                Some(TriggerId::from_stored(descriptor_id.as_str())),
            )),
            Origin::System { subsystem }
                if message.cause() == Cause::Outside && message.kind != MessageKind::SystemTick =>
            {
                from(subsystem)
            }
            Origin::Operator { .. }
            | Origin::System { .. }
            | Origin::Task { .. }
            | Origin::Timer { .. } => None,
        }
    }
}

/// Compares the waits of one commit with what happened in it.
pub(super) fn compare(seen: &WorkObservation<'_>, coverage: &mut Coverage) -> Verdict<()> {
    let taken = taken_up(seen);
    let mut happened = happenings(seen);
    happened.extend(taken.iter().cloned());
    for wait in &seen.rows_before.waits {
        let ends = |one: &Happening| one.ends(wait, &seen.rows_before.waits);
        let is_active = seen.rows.waits.iter().any(|row| row.id == wait.id);
        let cause = happened.iter().find(|one| ends(one));
        ensure(
            cause.is_none() || !is_active,
            "what a wait names ends it",
            || format!("{cause:?} left {wait:?}"),
        )?;
        let ended = ending(seen, wait);
        ensure(
            ended.is_some() != is_active,
            "a wait is active until its end is told",
            || format!("{wait:?}: {ended:?}"),
        )?;
        if let Some(ended) = ended {
            coverage.count(format!("wait:{:?}:{:?}", wait.kind, ended.status));
            check_end(seen, wait, ended, cause.is_some())?;
        }
    }
    for wait in &seen.rows.waits {
        let known = seen.rows_before.waits.iter().any(|row| row.id == wait.id);
        if !known {
            check_new(seen, wait)?;
            let active = std::slice::from_ref(wait);
            let missed = taken.iter().find(|one| one.ends(wait, active));
            ensure(
                missed.is_none(),
                "what was queued when a wait began ends it",
                || format!("{missed:?} left {wait:?}"),
            )?;
        }
    }
    count_caught(seen, coverage);
    Ok(())
}

/// Counts the waits that began and were ended by something older in one commit.
fn count_caught(seen: &WorkObservation<'_>, coverage: &mut Coverage) {
    for event in &seen.fresh.events {
        let Event::WaitingIntentEnded(ended) = event else {
            continue;
        };
        let known = seen
            .rows_before
            .waits
            .iter()
            .any(|row| row.id == ended.wait_id);
        if !known && ended.status == WaitStatus::Resolved {
            coverage.count("wait:ended_by_older");
        }
    }
}

/// Lists what a commit took up that came earlier: the message that began a turn, and the hints that a tick told. A wait
/// that began in the meantime is ended by it.
fn taken_up(seen: &WorkObservation<'_>) -> Vec<Happening> {
    let mut taken = Vec::new();
    for event in &seen.fresh.events {
        match event {
            Event::TurnStarted(turn) => {
                let message = turn.message_seq.and_then(|seq| seen.known.get(&seq));
                taken.extend(message.and_then(|message| message.happening.clone()));
            }
            Event::SystemTickEmitted(tick) if tick.subsystem == "wake_hint" => {
                let hints = seen.rows_before.hints.iter();
                let deliveries = hints.flat_map(WakeHint::deliveries);
                taken.extend(deliveries.map(|(source, trigger)| {
                    Happening::Outside(source.map(str::to_owned), trigger.cloned())
                }));
            }
            _ => {}
        }
    }
    taken
}

fn ending<'a>(seen: &WorkObservation<'a>, wait: &WaitRecord) -> Option<&'a WaitingIntentEnded> {
    let mut events = seen.fresh.events.iter();
    events.find_map(|event| match event {
        Event::WaitingIntentEnded(ended) if ended.wait_id == wait.id => Some(ended),
        _ => None,
    })
}

fn check_end(
    seen: &WorkObservation<'_>,
    wait: &WaitRecord,
    ended: &WaitingIntentEnded,
    has_cause: bool,
) -> Verdict<()> {
    // A hint beyond the bound on sources does not show its own.
    let unnamed = seen
        .fresh
        .events
        .iter()
        .any(|event| matches!(event, Event::WakeHintTriggered(hint) if hint.key == "others"));
    let fits = match ended.status {
        WaitStatus::Resolved => has_cause || unnamed || is_decided(seen, wait),
        WaitStatus::Expired => {
            let came = wait.due_at.is_some_and(|due_at| due_at <= seen.now);
            came || !seen.steady_clock
        }
        WaitStatus::Cancelled => true,
        WaitStatus::Active => false,
    };
    ensure(fits, "nothing but what a wait names ends it", || {
        format!("{ended:?} of {wait:?}")
    })?;
    if ended.status == WaitStatus::Cancelled || seen.after.lifecycle != Lifecycle::Runnable {
        return Ok(());
    }
    let item = wait.work_item_id.as_ref().and_then(|id| seen.item(id));
    let state = item.map(|item| item.scheduling_state(seen.after.work.wake_count));
    let runs = state == Some(WorkItemSchedulingState::Runnable) && !seen.after.is_one_run();
    // A message that came before the wait tells of its end when its turn begins.
    let begins = |event: &Event| matches!(event, Event::TurnStarted(_));
    let is_told = !seen.fresh.messages.is_empty()
        || !seen.rows.hints.is_empty()
        || seen.fresh.events.iter().any(begins);
    // Its time came: only a tick tells the agent.
    let is_told = match ended.status {
        WaitStatus::Expired => told_over(seen, wait),
        _ => is_told || runs || is_decided(seen, wait),
    };
    ensure(is_told, "no wake-up is lost", || {
        format!("{ended:?} of {wait:?} began no turn")
    })
}

/// Returns true if the turn that read an operator's message decided that it answers the wait: by a call about the item,
/// or by its end if the agent itself waited.
fn is_decided(seen: &WorkObservation<'_>, wait: &WaitRecord) -> bool {
    let Some(item) = wait.work_item_id.as_ref() else {
        let ends = |event: &Event| matches!(event, Event::TurnTerminal(_));
        return wait.is_for_operator() && seen.fresh.events.iter().any(ends);
    };
    let calls = [
        ("PickWorkItem", "/current_work_item_id"),
        ("UpdateWorkItem", "/work_item/id"),
        ("CompleteWorkItem", "/work_item/id"),
        ("WaitFor", "/wait/work_item_id"),
    ];
    let mut answers = seen.fresh.answers.iter();
    let names_item = |answer: &CallAnswer| {
        calls.iter().any(|(tool, place)| {
            let result = answer.result_of(tool);
            let named = result.and_then(|result| result.pointer(place)?.as_str());
            named == Some(item.as_str())
        })
    };
    wait.is_for_operator() && answers.any(names_item)
}

/// Returns true if a tick reports the end of this wait. One tick may report several; it names the first.
fn told_over(seen: &WorkObservation<'_>, wait: &WaitRecord) -> bool {
    seen.fresh.messages.iter().any(|message| {
        let named = message.source_refs.get("waiting_intent_id");
        let noted = |note: &WaitNote| note.wait_id == wait.id;
        named.is_some_and(|id| id == wait.id.as_str() || message.waits.iter().any(noted))
    })
}

fn check_new(seen: &WorkObservation<'_>, wait: &WaitRecord) -> Verdict<()> {
    let made = |tool: &str| {
        let mut answers = seen.fresh.answers.iter();
        answers.find_map(|answer| {
            let result = answer.result_of(tool)?;
            let id = result.pointer("/wait/id")?.as_str()?;
            (id == wait.id.as_str()).then_some(answer.authority)
        })
    };
    let source = made("WaitFor");
    ensure(
        source.is_some_and(|source| wait.authority >= source),
        "only the agent declares a wait, and it is worth no more than its turn",
        || format!("{wait:?} from {source:?}"),
    )
}

/// Lists what a commit brought from outside.
fn happenings(seen: &WorkObservation<'_>) -> Vec<Happening> {
    let messages = seen.fresh.messages.iter().filter_map(Happening::of_message);
    let events = seen.fresh.events.iter().filter_map(|event| match event {
        Event::TaskStatusUpdated(task) if task.status.is_terminal() => {
            Some(Happening::TaskEnded(task.task_id.clone()))
        }
        // Hints of an operator have no source; those beyond the bound share a key that names none.
        Event::WakeHintTriggered(hint) => match hint.key.as_str() {
            "others" => None,
            "operator" => Some(Happening::Outside(None, None)),
            // Its delivery names the source.
            key if key.starts_with("trig_") => None,
            source => {
                let trigger = TriggerId::from_stored(crate::operators::TRIGGER);
                Some(Happening::Outside(Some(source.to_owned()), Some(trigger)))
            }
        },
        Event::CallbackDelivered(delivered) => Some(Happening::Outside(
            delivered.source.clone(),
            Some(delivered.external_trigger_id.clone()),
        )),
        _ => None,
    });
    messages.chain(events).collect()
}
