//! Shows a child to its parent: what it does, what it waits for, and what it said last.

use crate::assess::{AssessmentInput, assess};
use holon_domain::agent::{
    AgentIdentity, AgentKind, AgentRecord, AgentStatus, IdentityView, Ownership, ProfilePreset,
    Visibility,
};
use holon_domain::closure::ClosureOutcome;
use holon_domain::delegation::{
    ActiveChild, ChildFacts, ChildObservability, ChildPhase, ChildTask, PUT_ASIDE,
};
use holon_domain::queue::QueueView;
use holon_domain::task::{TaskRecord, TaskStatus, TaskStatusSnapshot};
use holon_domain::turn::Phase;
use holon_domain::{limits, text};

/// Describes the work of a child.
#[must_use]
pub fn observe(facts: &ChildFacts) -> ChildObservability {
    let agent = &facts.agent;
    let queue = QueueView::of_length(facts.pending, 0);
    let closure = assess(AssessmentInput::new(agent, &queue)).closure;
    let outcome = closure.as_ref().map(|closure| closure.outcome);
    let waiting_reason = closure.as_ref().and_then(|closure| closure.waiting_reason);
    let ended = agent.archived_at.is_some();
    let aside = facts.aside.as_deref().filter(|_| !ended);
    let goes_on = facts.pending > 0 || agent.open_turn.is_some();
    let phase = match (ended, outcome) {
        (true, _) => ChildPhase::Terminal,
        (false, _) if aside.is_some() => ChildPhase::Blocked,
        (false, Some(ClosureOutcome::Waiting)) => ChildPhase::Waiting,
        (false, Some(ClosureOutcome::Completed)) if facts.task.is_some() && !goes_on => {
            ChildPhase::Blocked
        }
        (false, _) => ChildPhase::Running,
    };
    let current = agent.work.current.as_ref();
    let waits_for = agent.work.agent_wait.as_ref();
    let at_work = agent.open_turn.as_ref();
    let said = at_work.and_then(|turn| turn.last_words.as_deref());
    let said = said.map(|words| text::preview(words.trim(), limits::EVENT_PREVIEW_BYTES));
    // What a turn of a child came to is progress of the delegation until the child has ended.
    let so_far = facts.last_result_brief.as_ref().filter(|_| !ended);
    let work_summary = facts.objective.clone();
    let work_summary = work_summary.or_else(|| waits_for.map(|wait| wait.waiting_for.clone()));
    ChildObservability {
        phase,
        blocked_reason: aside
            .map(put_aside)
            .or_else(|| suspension(agent))
            .or_else(|| {
                let task = facts.task.filter(|_| phase == ChildPhase::Blocked);
                task.map(blocked_reason)
            }),
        waiting_reason: waiting_reason.filter(|_| phase == ChildPhase::Waiting),
        active_work_item_id: current.map(|current| current.id.clone()),
        work_summary: work_summary.map(|words| text::preview(&words, limits::EVENT_PREVIEW_BYTES)),
        last_progress_brief: said
            .or_else(|| facts.last_progress_brief.clone())
            .or_else(|| so_far.cloned()),
        last_result_brief: facts.last_result_brief.clone(),
    }
}

/// Returns what a suspended turn waits for, in words.
fn suspension(agent: &AgentRecord) -> Option<String> {
    match &agent.open_turn.as_ref()?.phase {
        Phase::Suspended { error, .. } => Some(text::preview(error, limits::EVENT_PREVIEW_BYTES)),
        Phase::CallingModel { .. }
        | Phase::RunningTool { .. }
        | Phase::BackingOff { .. }
        | Phase::Sending { .. } => None,
    }
}

fn blocked_reason(status: TaskStatus) -> String {
    match status {
        TaskStatus::Queued => "managed_task_queued",
        TaskStatus::Cancelling => "managed_task_cancelling",
        TaskStatus::Running
        | TaskStatus::Completed
        | TaskStatus::Failed
        | TaskStatus::Cancelled
        | TaskStatus::Interrupted => "managed_task_running",
    }
    .to_owned()
}

/// Words the fault for which a child was put aside.
fn put_aside(fault: &str) -> String {
    let told = format!("{PUT_ASIDE}: {fault}");
    text::preview(&told, limits::EVENT_PREVIEW_BYTES)
}

/// Describes a child of which not even its own row can be read.
fn unreadable(fault: Option<&str>) -> ChildObservability {
    let fault = fault.unwrap_or("its stored rows cannot be read");
    ChildObservability {
        phase: ChildPhase::Blocked,
        blocked_reason: Some(put_aside(fault)),
        waiting_reason: None,
        active_work_item_id: None,
        work_summary: None,
        last_progress_brief: None,
        last_result_brief: None,
    }
}

/// Returns the snapshot of a task with what is known about its child. `facts` is absent for a command, and for a child of
/// which nothing can be read.
#[must_use]
pub fn with_child(mut task: TaskRecord, facts: Option<&ChildFacts>) -> TaskStatusSnapshot {
    let child_observability = match facts {
        Some(facts) => {
            task.note_child(facts);
            Some(observe(facts))
        }
        None if task.child().is_some() && !task.status.is_terminal() => Some(unreadable(None)),
        None => None,
    };
    TaskStatusSnapshot {
        child_observability,
        ..task.status_snapshot()
    }
}

/// Describes a child of which not even its own row can be read, for the summary of its parent. `fault` is the one for
/// which it was put aside; absent if it was not yet.
#[must_use]
pub fn unreadable_child(
    parent: &AgentIdentity,
    task: &TaskRecord,
    child: &ChildTask,
    fault: Option<&str>,
) -> ActiveChild {
    let root = parent.root_agent_id.as_ref().unwrap_or(&parent.agent_id);
    ActiveChild {
        identity: IdentityView::active(AgentIdentity {
            agent_id: child.child_agent_id.clone(),
            kind: AgentKind::Child,
            visibility: Visibility::Private,
            ownership: Ownership::ParentSupervised,
            profile_preset: ProfilePreset::PrivateChild,
            lineage_parent_agent_id: Some(parent.agent_id.clone()),
            root_agent_id: Some(root.clone()),
        }),
        status: AgentStatus::Stopped,
        supervision_task_id: task.id.clone(),
        summary: task.summary.clone(),
        observability: unreadable(fault),
    }
}

/// Says that the task of a child cannot end before the operator mends the child's rows. `None` if it was not put aside.
pub(crate) fn stuck_task_words(child: &ActiveChild) -> Option<String> {
    let (task, id) = (&child.supervision_task_id, &child.identity.agent_id);
    child.fault().map(|fault| {
        format!(
            "{task} cannot end, because its child {id} was put aside ({fault}); mend its stored rows, then: holon agent start {id}"
        )
    })
}

/// Describes a live child for the summary of its parent.
#[must_use]
pub fn active_child(task: &TaskRecord, facts: &ChildFacts) -> ActiveChild {
    let queue = QueueView::of_length(facts.pending, 0);
    ActiveChild {
        identity: facts.agent.identity_view(),
        status: match &facts.aside {
            Some(_) => AgentStatus::Stopped,
            None => assess(AssessmentInput::new(&facts.agent, &queue)).status,
        },
        supervision_task_id: task.id.clone(),
        summary: task.summary.clone(),
        observability: observe(facts),
    }
}
