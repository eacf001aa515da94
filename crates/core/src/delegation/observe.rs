//! Shows a child to its parent: what it does, what it waits for, and what it said last.

use crate::assess::{AssessmentInput, assess};
use holon_domain::agent::AgentRecord;
use holon_domain::closure::ClosureOutcome;
use holon_domain::delegation::{ActiveChild, ChildFacts, ChildObservability, ChildPhase};
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
    let goes_on = facts.pending > 0 || agent.open_turn.is_some();
    let phase = match (ended, outcome) {
        (true, _) => ChildPhase::Terminal,
        (false, Some(ClosureOutcome::Waiting)) => ChildPhase::Waiting,
        (false, Some(ClosureOutcome::Completed)) if facts.task.is_some() && !goes_on => {
            ChildPhase::Blocked
        }
        (false, _) => ChildPhase::Running,
    };
    let current = agent.work.current.as_ref();
    let waits_for = agent.work.agent_wait.as_ref();
    let work_summary = facts.objective.clone();
    let work_summary = work_summary.or_else(|| waits_for.map(|wait| wait.waiting_for.clone()));
    ChildObservability {
        phase,
        blocked_reason: suspension(agent).or_else(|| {
            let task = facts.task.filter(|_| phase == ChildPhase::Blocked);
            task.map(blocked_reason)
        }),
        waiting_reason: waiting_reason.filter(|_| phase == ChildPhase::Waiting),
        active_work_item_id: current.map(|current| current.id.clone()),
        work_summary: work_summary.map(|words| text::preview(&words, limits::EVENT_PREVIEW_BYTES)),
        last_progress_brief: facts.last_progress_brief.clone(),
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

/// Adds what is known about the child to the snapshot of its task.
#[must_use]
pub fn with_child(mut snapshot: TaskStatusSnapshot, facts: &ChildFacts) -> TaskStatusSnapshot {
    let seen = observe(facts);
    if let Some(supervision) = &mut snapshot.child_supervision {
        supervision.child_work_item_id = seen.active_work_item_id.clone();
        let worktree = supervision.worktree.as_ref();
        supervision.cleanup_status = worktree.map(|_| facts.cleanup_status());
    }
    snapshot.child_observability = Some(seen);
    snapshot
}

/// Describes a live child for the summary of its parent.
#[must_use]
pub fn active_child(task: &TaskRecord, facts: &ChildFacts) -> ActiveChild {
    let queue = QueueView::of_length(facts.pending, 0);
    ActiveChild {
        identity: facts.agent.identity_view(),
        status: assess(AssessmentInput::new(&facts.agent, &queue)).status,
        supervision_task_id: task.id.clone(),
        summary: task.summary.clone(),
        observability: observe(facts),
    }
}
