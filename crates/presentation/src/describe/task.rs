//! Tasks: commands in the background and child agents.

use super::{Description, Merge, id_text, words};
use crate::item::Reference;
use holon_domain::TaskId;
use holon_domain::agent::Visibility;
use holon_domain::event::{
    Event, TaskChildSpawned, TaskCreated, TaskResultReceived, TaskStatusUpdated,
};
use holon_domain::task::{TaskKind, TaskStatus};

pub(super) fn describe(event: &Event) -> Option<Description> {
    Some(match event {
        Event::TaskCreated(e) => created(e),
        Event::TaskStatusUpdated(e) => updated(e, None),
        Event::TaskResultReceived(e) => result_received(e),
        Event::TaskChildSpawned(e) => child_spawned(e),
        Event::SupervisedChildTaskMonitorReattached(e) => {
            let found = Description::detail("Child agent goes on after a restart");
            about(found.body(e.child_agent_id.as_str()), &e.task_id)
        }
        Event::TaskInputDelivered(e) => {
            let size = format!("{} bytes", e.bytes_written);
            let written = Description::step("Wrote to a child agent").body(size);
            about(written, &e.task_id).with_some("child", e.child_agent_id.as_ref())
        }
        Event::WorkItemDelegationCreated(e) => {
            let given = Description::detail("Work delegated").body(e.child_agent_id.as_str());
            about(given, &e.supervision_task_id)
                .with("delegation", &e.delegation_id)
                .with_some("work item", e.parent_work_item_id.as_ref())
        }
        Event::WorkItemDelegationCompleted(e) => {
            let told = e.result_summary.clone().unwrap_or_default();
            let title = format!("Delegated work {}", words(e.state));
            about(
                Description::detail(title).body(told),
                &e.supervision_task_id,
            )
            .with("delegation", &e.delegation_id)
            .with_some("work item", e.parent_work_item_id.as_ref())
        }
        _ => return None,
    })
}

fn about(described: Description, task_id: &TaskId) -> Description {
    described
        .with("task", task_id)
        .refer(Reference::Task(id_text(task_id)))
        .merge(Merge::Task(id_text(task_id)))
}

const fn kind_words(kind: TaskKind) -> &'static str {
    match kind {
        TaskKind::CommandTask => "Background command",
        TaskKind::ChildAgentTask | TaskKind::SubagentTask | TaskKind::WorktreeSubagentTask => {
            "Child agent"
        }
        TaskKind::SleepJob => "Rest",
    }
}

fn created(e: &TaskCreated) -> Description {
    let what = e.summary.clone().unwrap_or_else(|| e.task_id.to_string());
    let started = Description::step(format!("{} started", kind_words(e.kind))).body(what);
    about(started, &e.task_id)
}

fn child_spawned(e: &TaskChildSpawned) -> Description {
    let made = match e.visibility {
        Visibility::Private => Description::detail("Child agent made"),
        Visibility::Public => Description::outcome("Agent made"),
    };
    let made = made.body(e.child_agent_id.as_str());
    match &e.task_id {
        Some(task_id) => about(made, task_id),
        None => made,
    }
}

/// Describes a change of a task. `name` is what the task was made for, such as its command; absent if it is not known.
pub(crate) fn updated(e: &TaskStatusUpdated, name: Option<&str>) -> Description {
    let kind = kind_words(e.kind);
    let title = format!("{kind} {}", words(e.status));
    let changed = match e.status {
        TaskStatus::Completed | TaskStatus::Cancelled => Description::outcome(title),
        TaskStatus::Failed | TaskStatus::Interrupted => Description::failure(title),
        TaskStatus::Queued | TaskStatus::Running | TaskStatus::Cancelling => {
            Description::step(title)
        }
    };
    let name = name.map_or_else(String::new, |name| format!("{name}: "));
    let changed = changed
        .body(&e.reason)
        .line(format!("{name}{} ({})", e.reason, e.task_id))
        .with("before", words(e.previous))
        .with_some("exit status", e.exit_status.as_ref());
    about(changed, &e.task_id)
}

fn result_received(e: &TaskResultReceived) -> Description {
    let next = if e.terminal_reentry {
        "the agent is told, and continues with it"
    } else {
        "the agent is told with its next turn"
    };
    let told = Description::detail(format!("Task {}", words(e.status))).body(next);
    about(told, &e.task_id).with("message", &e.message_id)
}
