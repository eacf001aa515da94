//! Work items, waits, timers and wakes.

use super::{Description, Merge, id_text, words};
use crate::item::{Reference, Role};
use holon_domain::WorkItemId;
use holon_domain::event::{
    Event, ExternalWaitWithoutRecovery, TimerCreated, TimerFired, WaitingIntentCreated,
    WaitingIntentEnded, WakeHintTriggered, WorkItemPicked, WorkItemTurnEndCommitted,
    WorkItemWritten,
};
use holon_domain::text::pluralize;
use holon_domain::wait::{WaitKind, WaitStatus};

pub(super) fn describe(event: &Event) -> Option<Description> {
    item_event(event).or_else(|| waiting_event(event))
}

fn item_event(event: &Event) -> Option<Description> {
    Some(match event {
        Event::WorkItemWritten(e) => written(e),
        Event::WorkItemPicked(e) => picked(e),
        Event::WorkItemFocusReleased(e) => about(
            Description::detail("Work item lost the focus").body(&e.reason),
            &e.work_item_id,
        ),
        Event::WorkItemPlanArtifactRefreshed(e) => about(
            Description::step("Plan changed").body(format!("{} bytes", e.bytes)),
            &e.work_item_id,
        ),
        Event::WorkItemRecheckConsumed(e) => about(
            Description::detail("Reminded of a blocked work item")
                .body(format!("due at {}", e.recheck_at)),
            &e.work_item_id,
        ),
        Event::WorkItemCompletionReportPromoted(e) => about(
            Description::outcome("Work item completed")
                .role(Role::AssistantResult)
                .body(&e.text_preview),
            &e.work_item_id,
        ),
        Event::WorkItemCompletionWarning(e) => about(
            Description::step("Work item completed with a warning").body(&e.message),
            &e.work_item_id,
        ),
        Event::WorkItemEnqueueRequested(e) => about(
            Description::detail("Operator asked for a work item").body(words(e.authority_class)),
            &e.work_item_id,
        ),
        Event::WorkItemTurnEndCommitted(e) => turn_end(e),
        Event::WorkItemTurnEndCommitSkipped(e) => about(
            Description::detail("Turn left the work item as it was").body(words(e.reason)),
            &e.work_item_id,
        ),
        Event::WorkItemStaleReminderInjected(e) => about(
            Description::detail("Model reminded to update the work item").body(format!(
                "{} without an update",
                pluralize(u64::from(e.rounds_since_work_item_update), "round")
            )),
            &e.work_item_id,
        ),
        Event::WorkItemStaleReminderSkipped(e) => about(
            Description::detail("Reminder to update the work item left out").body(words(&e.reason)),
            &e.work_item_id,
        ),
        _ => return None,
    })
}

fn about(described: Description, id: &WorkItemId) -> Description {
    described
        .with("work item", id)
        .refer(Reference::WorkItem(id_text(id)))
        .merge(Merge::WorkItem(id_text(id)))
}

fn written(e: &WorkItemWritten) -> Description {
    let written = match e.action.as_str() {
        "created" => Description::step("Work item created"),
        "updated" => Description::step("Work item updated"),
        "resumed" => Description::step("Work item resumed"),
        "completed" => Description::outcome("Work item completed"),
        "stalled" => Description::failure("Work item stalled"),
        // Bookkeeping of turns and waits, and actions of a newer host.
        other => Description::detail(format!("Work item: {}", other.replace('_', " "))),
    };
    let mut body = e.objective.clone();
    if let Some(blocker) = &e.blocked_by {
        body = format!("{body}\nblocked by: {blocker}");
    }
    for warning in &e.warnings {
        body = format!("{body}\nwarning: {warning}");
    }
    let written = written
        .line(&e.objective)
        .body(body)
        .with("state", words(e.scheduling_state))
        .with("plan", words(e.plan_status))
        .with("revision", e.revision);
    about(written, &e.work_item_id)
}

fn picked(e: &WorkItemPicked) -> Description {
    let reason = e.reason.as_deref().unwrap_or("no reason given");
    let moved = Description::step("Working on another item")
        .body(reason)
        .line(format!("{} ({reason})", e.current_work_item_id))
        .with_some("before", e.previous_work_item_id.as_ref());
    about(moved, &e.current_work_item_id)
}

fn turn_end(e: &WorkItemTurnEndCommitted) -> Description {
    let progress = if e.work_item_state_changed {
        "with progress"
    } else {
        "without progress"
    };
    let ended = Description::detail("Turn on the work item ended")
        .body(format!("{progress}; now {}", words(e.committed_state)))
        .with("turn", e.turn_index);
    about(ended, &e.work_item_id)
}

fn waiting_event(event: &Event) -> Option<Description> {
    Some(match event {
        Event::WaitingIntentCreated(e) => wait_created(e),
        Event::WaitingIntentEnded(e) => wait_ended(e),
        Event::MissingCurrentWorkItemBeforeWait(e) => Description::step("Waits beside open work")
            .body(format!(
                "{} can still be offered: none has the focus",
                pluralize(u64::from(e.open_work_items), "open item")
            ))
            .with("wait", &e.wait_id),
        Event::ExternalWaitWithoutRecovery(e) => endless_wait(e),
        Event::TimerCreated(e) => timer_created(e),
        Event::TimerFired(e) => timer_fired(e),
        Event::TimerFireFailed(e) => Description::failure("Timer did not wake the agent")
            .body(&e.error)
            .with("timer", &e.timer_id)
            .with("planned", e.planned_at),
        Event::TimerCancelled(e) => Description::step("Timer cancelled")
            .body(e.timer_id.to_string())
            .with("timer", &e.timer_id),
        Event::WakeHintTriggered(e) => wake_hint(e),
        Event::WakeHintIgnored(e) => {
            Description::detail("Wake hints without content").body(e.keys.join(", "))
        }
        Event::ExternalTriggerCreated(e) => Description::step("External trigger made")
            .body(words(e.delivery_mode))
            .with("trigger", &e.external_trigger_id),
        Event::ExternalTriggerRotated(e) => {
            Description::outcome("External trigger has another URL")
                .body(words(e.delivery_mode))
                .with("trigger", &e.external_trigger_id)
                .with("generation", e.generation)
        }
        Event::ExternalTriggerRevoked(e) => Description::outcome("External trigger revoked")
            .body(words(e.delivery_mode))
            .with("trigger", &e.external_trigger_id),
        Event::CallbackDelivered(e) => Description::step("Delivery to an external trigger")
            .body(format!(
                "{} from {}",
                words(e.disposition),
                e.source.as_deref().unwrap_or("an unnamed sender")
            ))
            .with("trigger", &e.external_trigger_id)
            .with("bytes", e.bytes)
            .with_some("delivery", e.delivery_id.as_ref()),
        Event::WebhookConfigured(e) => {
            let allowed = if e.unsigned_webhooks {
                "webhooks without a signature are accepted as evidence"
            } else {
                "webhooks need a signature"
            };
            Description::outcome("Webhooks configured").body(allowed)
        }
        Event::WakeRequested(e) => Description::detail("Operator asked the agent to look")
            .body(e.reason.as_deref().unwrap_or("no reason given"))
            .with_some("source", e.source.as_ref()),
        _ => return None,
    })
}

fn wait_created(e: &WaitingIntentCreated) -> Description {
    let title = match e.kind {
        WaitKind::Operator => "Waiting for you",
        WaitKind::Task => "Waiting for a task",
        WaitKind::External => "Waiting for something outside",
        WaitKind::Timer => "Waiting for a time",
    };
    let until = e
        .due_at
        .map_or_else(String::new, |due| format!(" (at the latest until {due})"));
    Description::outcome(title)
        .body(format!("{}{until}", e.waiting_for))
        .with("wait", &e.wait_id)
        .with_some("work item", e.work_item_id.as_ref())
}

fn wait_ended(e: &WaitingIntentEnded) -> Description {
    let ended = match e.status {
        WaitStatus::Resolved => Description::outcome("Wait is over"),
        WaitStatus::Expired => Description::outcome("Wait ran out"),
        WaitStatus::Cancelled => Description::step("Wait cancelled"),
        WaitStatus::Active => Description::detail("Wait goes on"),
    };
    ended
        .body(&e.ended_by)
        .with("wait", &e.wait_id)
        .with_some("work item", e.work_item_id.as_ref())
        .with_some("task", e.task_id.as_ref())
}

fn endless_wait(e: &ExternalWaitWithoutRecovery) -> Description {
    let source = e.source.as_deref().unwrap_or("any source");
    Description::outcome("Wait without an end of its own")
        .body(format!(
            "if the event of {source} is missed, only you can end this wait"
        ))
        .with("wait", &e.wait_id)
}

fn timer_created(e: &TimerCreated) -> Description {
    let what = e.summary.as_deref().unwrap_or("no summary");
    Description::step("Timer created")
        .body(format!("{what}; fires at {}", e.next_fire_at))
        .with("timer", &e.timer_id)
}

fn timer_fired(e: &TimerFired) -> Description {
    let next = e.next_fire_at.map_or_else(
        || "for the last time".to_owned(),
        |next| format!("next at {next}"),
    );
    let fired = if e.message_id.is_some() {
        Description::outcome("Timer fired").body(format!("{}, {next}", e.timer_id))
    } else {
        Description::detail("Timer slot skipped").body(next)
    };
    fired
        .with("timer", &e.timer_id)
        .with("planned", e.planned_at)
        .with("missed", e.missed)
}

fn wake_hint(e: &WakeHintTriggered) -> Description {
    let reason = e.reason.as_deref().unwrap_or("no reason given");
    let body = format!("{}: {reason}", e.key);
    if e.count > 1 {
        Description::detail("Woken again from outside")
            .body(body)
            .with("deliveries", e.count)
    } else {
        Description::outcome("Woken from outside").body(body)
    }
}
