//! The revocation of a capability that waits name.
//!
//! A wait loses the revoked trigger as a source. It ends only if no other source and no due time is left that could end
//! it, so that a question to an operator stays open. The agent is told, unless it revoked the capability itself.

use super::declare::{outside_source, trigger_of};
use super::{WaitTick, end, report_ended, send_tick};
use crate::draft::Draft;
use crate::subsystem::WAIT_CHANGED;
use crate::trigger::TriggerActor;
use crate::work;
use holon_domain::TriggerId;
use holon_domain::agent::Lifecycle;
use holon_domain::trigger::TriggerRecord;
use holon_domain::wait::{WaitRecord, WaitStatus, WakeSource};

/// Handles the end of a capability, after its record was written.
pub(crate) fn handle_trigger_revoked(draft: &mut Draft<'_>, id: &TriggerId, actor: TriggerActor) {
    let triggers = draft.triggers();
    let waits = draft.active_waits().into_iter();
    let bound: Vec<WaitRecord> = waits
        .filter(|wait| wait.wake_sources.iter().any(|source| names(source, id)))
        .collect();
    let mut ended = Vec::new();
    for mut wait in bound {
        wait.wake_sources
            .retain(|source| may_still_come(source, &triggers));
        if wait.wake_sources.is_empty() && wait.due_at.is_none() {
            let by = "the trigger that it waited for was revoked";
            ended.push(end(draft, wait, WaitStatus::Cancelled, by));
        } else {
            go_on(draft, wait, id, actor);
        }
    }
    match actor {
        TriggerActor::Operator => {
            let happened = "Your operator revoked the trigger of your wait.";
            report_ended(draft, &ended, happened);
        }
        TriggerActor::Agent => {}
    }
}

fn names(source: &WakeSource, id: &TriggerId) -> bool {
    trigger_of(std::slice::from_ref(source)).as_ref() == Some(id)
}

/// Returns false if the source is a trigger that is revoked or unknown.
fn may_still_come(source: &WakeSource, triggers: &[TriggerRecord]) -> bool {
    let named = trigger_of(std::slice::from_ref(source));
    named.is_none_or(|id| triggers.iter().any(|one| one.is_active() && one.id == id))
}

/// Writes a wait that goes on with the sources it has left.
fn go_on(draft: &mut Draft<'_>, mut wait: WaitRecord, id: &TriggerId, actor: TriggerActor) {
    wait.kind = WakeSource::kind_of(&wait.wake_sources);
    wait.external_trigger_id = trigger_of(&wait.wake_sources);
    wait.source = outside_source(&wait.wake_sources);
    wait.updated_at = draft.now;
    draft.put_wait(wait.clone());
    let item = wait.work_item_id.as_ref();
    match item.and_then(|item| draft.work_item(item)) {
        Some(mut item) => {
            let waiting = item.wait.as_mut().filter(|known| known.wait_id == wait.id);
            if let Some(waiting) = waiting {
                waiting.kind = wait.kind;
                work::touch(draft, &mut item);
                work::write(draft, item, "wait_changed", Vec::new());
            }
        }
        None => {
            let waiting = draft.agent.work.agent_wait.as_mut();
            if let Some(waiting) = waiting.filter(|known| known.wait_id == wait.id) {
                waiting.kind = wait.kind;
            }
        }
    }
    match actor {
        TriggerActor::Operator if draft.agent.lifecycle != Lifecycle::Deleting => {
            let tick = WaitTick {
                subsystem: WAIT_CHANGED,
                words: words(&wait, id),
                planned_at: draft.now,
                notes: Vec::new(),
                authority: wait.authority,
            };
            send_tick(draft, &wait, tick);
        }
        TriggerActor::Operator | TriggerActor::Agent => {}
    }
}

fn words(wait: &WaitRecord, id: &TriggerId) -> String {
    let sources = wait.wake_sources.iter().map(|source| match source {
        WakeSource::TaskResult { task_id } => format!("the end of {task_id}"),
        WakeSource::ExternalIngress {
            external_trigger_id: Some(other),
            ..
        } => format!("a delivery to {other}"),
        WakeSource::ExternalIngress {
            source: Some(source),
            ..
        } => format!("an event from {source:?}"),
        WakeSource::ExternalIngress { .. } => "an event from outside".to_owned(),
        WakeSource::Timer { wake_at } => format!("the time {wake_at}"),
        WakeSource::OperatorInput => "your operator".to_owned(),
        WakeSource::SystemTick => "a tick".to_owned(),
    });
    let recheck = wait
        .due_at
        .filter(|at| {
            !wait
                .wake_sources
                .contains(&WakeSource::Timer { wake_at: *at })
        })
        .map(|at| format!("its recheck at {at}"));
    let left: Vec<String> = sources.chain(recheck).collect();
    format!(
        "Your operator revoked the trigger {id}, so no delivery to it can end your wait {} any more. The wait goes on: {} \
         still ends it. CancelWait ends it if that is not enough. You wait for: {}",
        wait.id,
        left.join(" or "),
        wait.waiting_for
    )
}
