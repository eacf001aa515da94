//! The end of a private child: by itself, with its task, or with its parent.

use crate::assess::{NextAction, assess};
use crate::draft::Draft;
use crate::input::Reply;
use crate::lifecycle;
use crate::planted::{Fault, is_planted};
use crate::rejection::Rejection;
use crate::task;
use holon_domain::agent::Lifecycle;
use holon_domain::brief::ActionRequired;
use holon_domain::closure::ClosureOutcome;
use holon_domain::decision::Fact;
use holon_domain::event::{Event, SupervisedChildTaskMonitorReattached};
use holon_domain::failure::{FailureArtifact, FailureCategory};
use holon_domain::send::{AgentSend, ChildEnd};
use holon_domain::task::TaskRecord;
use holon_domain::turn::{OpenTurn, TerminalKind};
use holon_domain::{AgentId, TaskId, limits, text};

/// Ends a child that is done: its parent's task is closed and the child archived, in the commit that ends its turn.
pub(crate) fn end_if_done(draft: &mut Draft<'_>) {
    let Some(supervision) = draft.agent.supervision.clone() else {
        return;
    };
    if draft.is_incomplete() || draft.agent.archived_at.is_some() {
        return;
    }
    let Some(end) = own_end(draft) else {
        return;
    };
    if !is_planted(Fault::ChildEndUntold) {
        draft.send(
            supervision.parent_agent_id,
            AgentSend::ChildEnded {
                task_id: supervision.task_id,
                end,
            },
        );
    }
    lifecycle::retire_child(draft);
}

/// Returns the end of a child that has come to it; `None` if it goes on or may be woken by something of its own.
fn own_end(draft: &Draft<'_>) -> Option<ChildEnd> {
    let agent = &draft.agent;
    match agent.lifecycle {
        Lifecycle::Runnable => {}
        // A home that cannot be made stops its agent, and nobody but the parent could start it again.
        Lifecycle::Stopped => return failed_end(draft),
        Lifecycle::Booting | Lifecycle::Deleting => return None,
    }
    agent.last_turn.as_ref()?;
    draft.need_expected_wake();
    let assessment = assess(draft.assessment_facts());
    let rests = matches!(
        assessment.next,
        NextAction::Rest | NextAction::RestUntil { .. }
    );
    let wakes_itself = matches!(assessment.next, NextAction::RestUntil { .. });
    match assessment.closure?.outcome {
        ClosureOutcome::Failed if rests => failed_end(draft),
        ClosureOutcome::Completed if rests && !wakes_itself && !may_be_woken(draft) => {
            // Stalled work goes on only if somebody helps, and the parent is the one to know.
            Some(ChildEnd {
                completed: agent.work.items.stalled == 0,
                summary: report(draft),
                work_item_id: agent.work.last_focused().cloned(),
                changed_files: changed_files(draft),
            })
        }
        ClosureOutcome::Completed
        | ClosureOutcome::Continuable
        | ClosureOutcome::Failed
        | ClosureOutcome::Waiting => None,
    }
}

/// Returns the files that patches of the child changed, as its working memory names them.
fn changed_files(draft: &Draft<'_>) -> Vec<String> {
    let memory = draft.memory().current_working_memory;
    let files = memory.working_set_files.iter().take(limits::KEPT_FILES);
    let files = files.map(|file| text::preview(file, limits::EVENT_PREVIEW_BYTES));
    files.collect()
}

/// Returns true if something of the child's own is under way that brings it back to work: a command, a timer or a hint.
fn may_be_woken(draft: &Draft<'_>) -> bool {
    let work = &draft.agent.work;
    draft.agent.active_tasks > 0 || work.active_timers > 0 || work.hints > 0
}

fn failed_end(draft: &Draft<'_>) -> Option<ChildEnd> {
    let agent = &draft.agent;
    let artifact = &agent.last_failure.as_ref()?.failure_artifact;
    let model = artifact.model_ref.clone();
    let model = model.or_else(|| agent.model_override.as_ref().map(ToString::to_string));
    let summary = failure_words(artifact, model.as_deref());
    Some(ChildEnd {
        completed: false,
        summary: text::preview(&summary, limits::CHILD_REPORT_BYTES),
        work_item_id: agent.work.last_focused().cloned(),
        changed_files: changed_files(draft),
    })
}

/// Words for the failure of a private child: what failed, with which model, and what its parent can do.
pub(crate) fn failure_words(artifact: &FailureArtifact, model: Option<&str>) -> String {
    let told = artifact.summary.trim_end_matches(['.', ' ']);
    let model = model.filter(|model| !told.contains(*model));
    let model = model.map_or(String::new(), |model| format!(" (model {model})"));
    let next = match artifact.category {
        FailureCategory::Transport => {
            "spawn another child once the provider answers again, or do the work yourself"
        }
        FailureCategory::Protocol => {
            "spawn another child with a smaller task or other words, or ask your operator for another model"
        }
        FailureCategory::Runtime | FailureCategory::Task | FailureCategory::Unknown => {
            "look at what it has left behind, then spawn another child for the rest or do it yourself"
        }
    };
    format!("{told}{model}. Next step: {next}.")
}

/// Returns the last words of the child, which are its report.
fn report(draft: &Draft<'_>) -> String {
    let last = draft.agent.last_turn.as_ref();
    let entry = last.and_then(|end| end.last_round_entry);
    let said = entry.and_then(|entry| draft.round(entry));
    let said = said.map(|round| round.report()).unwrap_or_default();
    if said.is_empty() {
        "it ended without a report".to_owned()
    } else {
        text::preview(&said, limits::CHILD_REPORT_BYTES)
    }
}

/// Tells the parent that the child exists, or goes on after a restart. A parent that does not wait for it sends a stop.
pub(crate) fn attach(draft: &mut Draft<'_>, after_restart: bool) {
    if draft.agent.archived_at.is_some() || draft.agent.lifecycle == Lifecycle::Deleting {
        return;
    }
    if let Some(supervision) = draft.agent.supervision.clone() {
        let child = draft.agent.identity.agent_id.clone();
        draft.send(
            supervision.parent_agent_id,
            AgentSend::ChildAttached {
                child,
                task_id: supervision.task_id,
                after_restart,
            },
        );
    }
}

/// Tells the supervisor what a private child needs to go on, where another agent would ask its operator.
pub(crate) fn ask_supervisor(draft: &mut Draft<'_>, turn: &OpenTurn, action: &ActionRequired) {
    if let Some(supervision) = draft.agent.supervision.clone() {
        let from = draft.agent.identity.agent_id.clone();
        let text = format!(
            "Child agent {from} (task {}) does not go on by itself: {}. TaskInput writes to it, TaskStop ends it.",
            supervision.task_id, action.next_step
        );
        draft.send(
            supervision.parent_agent_id,
            AgentSend::Notification {
                from,
                text,
                authority: turn.authority,
            },
        );
    }
}

/// Handles a child that says that it exists. Its task must be open; any other child is stopped.
pub(crate) fn handle_attached(
    draft: &mut Draft<'_>,
    child: &AgentId,
    task_id: &TaskId,
    after_restart: bool,
) -> Reply {
    let is_of_child = |task: &TaskRecord| {
        let named = task.child().map(|named| &named.child_agent_id);
        named == Some(child) && !task.is_over()
    };
    let open = draft.task(task_id).filter(is_of_child);
    if draft.is_incomplete() {
        return Reply::Unchanged;
    }
    let Some(task) = open else {
        draft.send(child.clone(), AgentSend::Stop);
        return Reply::Unchanged;
    };
    task::resume_child(draft, task, "its child goes on");
    if after_restart {
        draft.event(Event::SupervisedChildTaskMonitorReattached(
            SupervisedChildTaskMonitorReattached {
                task_id: task_id.clone(),
                child_agent_id: child.clone(),
            },
        ));
    }
    Reply::Unchanged
}

/// Ends the tasks of children that ended while the agent could not be told, because its rows could not be read.
pub(crate) fn hear_missed_ends(draft: &mut Draft<'_>) {
    for task in draft.active_tasks() {
        let Some(own) = task.child() else {
            continue;
        };
        let Some(facts) = draft.child(&own.child_agent_id) else {
            continue;
        };
        if facts.agent.archived_at.is_none() {
            continue;
        }
        let last = facts.agent.last_turn.as_ref();
        let end = ChildEnd {
            completed: last.is_some_and(|last| last.kind == TerminalKind::Completed),
            summary: missed_summary(facts.last_result_brief),
            work_item_id: facts.agent.work.last_focused().cloned(),
            // The memory of the child, which named them, is not among its facts.
            changed_files: Vec::new(),
        };
        // The task is open, so nothing is refused.
        drop(task::handle_child_end(draft, &task.id, &end));
    }
}

/// Reports an end that was heard of late.
fn missed_summary(report: Option<String>) -> String {
    let report = report.unwrap_or_else(|| "it has ended, and its report was lost".to_owned());
    format!(
        "{report}\n(Which files it changed is unknown: its end could not be told when it came.)"
    )
}

/// Stops the child of a task, with everything below it.
pub(crate) fn stop_child(draft: &mut Draft<'_>, task: &TaskRecord) {
    if let Some(child) = task.child()
        && !is_planted(Fault::ChildOutlivesTask)
    {
        draft.send(child.child_agent_id.clone(), AgentSend::Stop);
    }
}

/// Handles a stop by the supervisor. A private child is archived, because nobody could start it again.
pub(crate) fn retire(draft: &mut Draft<'_>) -> Result<Reply, Rejection> {
    if draft.agent.supervision.is_none() {
        return lifecycle::stop(draft);
    }
    match draft.agent.lifecycle {
        Lifecycle::Deleting => Err(Rejection::deleting(&draft.agent)),
        Lifecycle::Stopped if draft.agent.archived_at.is_some() => Ok(Reply::Unchanged),
        Lifecycle::Booting | Lifecycle::Runnable | Lifecycle::Stopped => {
            lifecycle::retire_child(draft);
            Ok(Reply::Done)
        }
    }
}

/// Removes every child of an agent that is being removed, ended or not, and takes the agent out of its tree.
pub(crate) fn release_all(draft: &mut Draft<'_>) {
    for (child, _) in draft.tree().children {
        draft.send(child, AgentSend::Remove);
    }
    leave_tree(draft);
}

/// Notes that the agent does not count among the live ones of its tree any more.
pub(crate) fn leave_tree(draft: &mut Draft<'_>) {
    if draft.agent.identity.root_agent_id.is_some() {
        let child = draft.agent.identity.agent_id.clone();
        draft.fact(Fact::SpawnEnded { child });
    }
}
