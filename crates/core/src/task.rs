//! Tasks: commands that outlive the call that started them, and commands that an operator starts.
//!
//! | status | holds | end reported | asked to stop | agent stopped or removed | restart |
//! |---|---|---|---|---|---|
//! | queued by an operator | `StartTask` | failed when it could not be started; otherwise as below | cancelling | cancelling | started, or found; only watched in a restored home |
//! | queued, running | `WatchTask` | completed or failed; interrupted when nothing is proven | cancelling | cancelling | watched again |
//! | cancelling | `StopTask` | cancelled; completed or failed when it had ended by itself; interrupted when nothing is proven | by force | by force when removed | stopped again, as strongly as ever asked |
//! | an end | nothing | dropped as stale | unchanged | unchanged | unchanged |
//! | interrupted, of a child | nothing | the child's own end | cancelled | unchanged | unchanged |
//!
//! One decision writes the end of a task and its result message. The result is queued unless the task was stopped on
//! purpose. If the agent or an operator stopped it, the end is a `task_status` message, which opens no turn. If it was
//! stopped with the agent, the result is held for the next turn and begins none itself.

mod child;
mod command;
mod result;
mod start;

pub(crate) use child::{begin_child, discard_child, handle_child_end, resume_child};
use child::{cancel_child, end_child_with_parent};
pub(crate) use command::handle as handle_command;
pub(crate) use start::{handle_start, start_no_more};

use crate::draft::Draft;
use crate::home;
use crate::input::{Finding, ProbeResult, Reply, Stamp};
use crate::{skill, wait, work};
use holon_domain::agent::Lifecycle;
use holon_domain::authority::AuthorityClass;
use holon_domain::command::CapturedStream;
use holon_domain::effect::{Effect, EffectId};
use holon_domain::event::{Event, TaskCreated, TaskStatusUpdated, WorkItemDelegationCompleted};
use holon_domain::task::{
    CommandTaskSpec, StopOrder, TaskEnd, TaskKind, TaskRecord, TaskRecoverySpec, TaskReport,
    TaskStatus, WaitPolicy,
};
use holon_domain::turn::OpenTurn;
use holon_domain::wait::{WaitRecord, WakeEvent};
use holon_domain::{TaskId, limits, text};

/// Returns true if one more command may become a task.
pub(crate) fn has_room(draft: &Draft<'_>) -> bool {
    usize::try_from(draft.agent.active_tasks).is_ok_and(|active| active < limits::TASKS_PER_AGENT)
}

/// Turns the running command of a call into a task that is watched until its end.
pub(crate) fn promote(draft: &mut Draft<'_>, turn: &OpenTurn, spec: CommandTaskSpec) {
    let task = new_task(draft, turn, spec, TaskStatus::Running);
    create(
        draft,
        TaskRecord {
            terminal_reentry: true,
            ..task
        },
    );
}

/// Turns the running command of a cancelled turn into a task that is being stopped, so that a crash before its end
/// leaves no command behind.
pub(crate) fn take_over(draft: &mut Draft<'_>, turn: &OpenTurn, spec: CommandTaskSpec) {
    let task = new_task(draft, turn, spec, TaskStatus::Cancelling);
    create(
        draft,
        TaskRecord {
            stop: Some(StopOrder::default()),
            ..task
        },
    );
}

fn new_task(
    draft: &Draft<'_>,
    turn: &OpenTurn,
    spec: CommandTaskSpec,
    status: TaskStatus,
) -> TaskRecord {
    let summary = start::one_line(&spec.cmd);
    TaskRecord {
        id: TaskId::of_call(&spec.call_id),
        agent_id: draft.agent.identity.agent_id.clone(),
        kind: TaskKind::CommandTask,
        status,
        created_at: draft.now,
        updated_at: draft.now,
        parent_message_id: Some(turn.message_id.clone()),
        parent_message_seq: Some(turn.message_seq),
        work_item_id: turn.work_item_id.clone(),
        summary: Some(summary.clone()),
        wait_policy: WaitPolicy::Background,
        terminal_reentry: false,
        recovery: Some(TaskRecoverySpec::CommandTask {
            summary,
            spec: Box::new(spec),
            trust: turn.authority.into(),
        }),
        max_rounds: None,
        effect: None,
        stop: None,
        end: None,
        ends_unread: 0,
        operator_inputs: 0,
    }
}

fn create(draft: &mut Draft<'_>, mut task: TaskRecord) {
    task.effect = open_supervision(draft, &task);
    let turn = draft.agent.open_turn.as_ref();
    let is_maker = |turn: &&OpenTurn| task.parent_message_id.as_ref() == Some(&turn.message_id);
    let message_seq = turn.filter(is_maker).map(|turn| turn.message_seq);
    draft.event(Event::TaskCreated(TaskCreated {
        task_id: task.id.clone(),
        kind: task.kind,
        status: task.status,
        summary: task.summary.clone(),
        parent_message_id: task.parent_message_id.clone(),
        work_item_id: task.work_item_id.clone(),
        authority_class: authority_of(&task),
        message_seq,
    }));
    draft.begin_task(task);
}

/// Opens the effect that starts, watches or stops a task of this status. A stop is as strong as the row says, regardless of who
/// requests it again. A child task holds no effect: the child's own decision sends its end.
fn open_supervision(draft: &mut Draft<'_>, task: &TaskRecord) -> Option<EffectId> {
    if task.kind == TaskKind::ChildAgentTask {
        return None;
    }
    let task_id = task.id.clone();
    // Rows of earlier builds do not say how they are stopped. Tasks of a removed agent were always killed.
    let removed = draft.agent.lifecycle == Lifecycle::Deleting;
    let force = removed || task.stop.is_some_and(|order| order.force);
    match task.status {
        TaskStatus::Queued if start::is_due(task) => {
            Some(draft.open_effect(Effect::StartTask { task_id }))
        }
        TaskStatus::Queued | TaskStatus::Running => {
            Some(draft.open_effect(Effect::WatchTask { task_id }))
        }
        TaskStatus::Cancelling => Some(draft.open_effect(Effect::StopTask { task_id, force })),
        TaskStatus::Completed
        | TaskStatus::Failed
        | TaskStatus::Cancelled
        | TaskStatus::Interrupted => None,
    }
}

/// Outcome of a request to stop a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopOutcome {
    /// The command is asked to end.
    Asked,
    /// The command is killed.
    Forced,
    /// The task is a child whose supervision was interrupted, and it is released.
    LetGo,
    /// The task is a child, which is stopped with everything below it.
    ChildStopped,
    /// The task has already ended.
    Over,
}

/// The actor that asks a single task to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopActor {
    Agent,
    Operator,
}

/// Stops a task on behalf of its agent or an operator; a second request kills it. The end of such a task opens no turn.
pub(crate) fn stop(draft: &mut Draft<'_>, id: &TaskId, actor: StopActor) -> Option<StopOutcome> {
    let task = draft.task(id)?;
    if task.is_over() {
        return Some(StopOutcome::Over);
    }
    if task.child().is_some() {
        let reason = match actor {
            StopActor::Agent => "stopped by its parent",
            StopActor::Operator => "stopped by an operator",
        };
        let task = cancel_child(draft, task, reason);
        if actor == StopActor::Operator {
            result::queue_status(draft, &task, &result::LastOutput::None);
        }
        return Some(StopOutcome::ChildStopped);
    }
    if task.status == TaskStatus::Interrupted {
        let summary = "let go after its supervision was interrupted";
        let end = result::without_output(&task, summary, draft.now);
        close(draft, task, TaskStatus::Cancelled, end);
        return Some(StopOutcome::LetGo);
    }
    let force = task.status == TaskStatus::Cancelling;
    let order = StopOrder {
        force,
        with_agent: false,
        by_agent: actor == StopActor::Agent,
        by_operator: actor == StopActor::Operator,
    };
    let reason = match actor {
        StopActor::Agent => "stopped by the agent",
        StopActor::Operator => "stopped by an operator",
    };
    cancel(draft, task, order, reason);
    Some(if force {
        StopOutcome::Forced
    } else {
        StopOutcome::Asked
    })
}

/// Stops every command and child of an agent that is stopped or removed. A child task of an earlier build names no child:
/// it stays open while its parent is stopped, because a parent accepts its child's end in every state.
pub(crate) fn stop_all(draft: &mut Draft<'_>, order: StopOrder, reason: &str) {
    for task in draft.active_tasks() {
        if task.child().is_some() && draft.agent.lifecycle != Lifecycle::Deleting {
            let task = cancel_child(draft, task, reason);
            if order.with_agent {
                result::hold(draft, &task, &result::LastOutput::None);
            }
        } else if task.kind == TaskKind::ChildAgentTask {
            end_child_with_parent(draft, task);
        } else {
            cancel(draft, task, order, reason);
        }
    }
}

fn cancel(draft: &mut Draft<'_>, mut task: TaskRecord, order: StopOrder, reason: &str) {
    let previous = task.status;
    if let Some(effect) = task.effect.take() {
        draft.close_effect(effect);
    }
    let so_far = task.stop.unwrap_or_default();
    task.stop = Some(StopOrder {
        force: order.force || so_far.force,
        // A task that the agent stopped itself needs no result message.
        with_agent: (order.with_agent && task.terminal_reentry) || so_far.with_agent,
        by_agent: order.by_agent || so_far.by_agent,
        by_operator: order.by_operator || so_far.by_operator,
    });
    task.status = TaskStatus::Cancelling;
    task.terminal_reentry = false;
    task.updated_at = draft.now;
    task.effect = open_supervision(draft, &task);
    if previous != task.status {
        draft.event(status_event(&task, previous, reason));
    }
    draft.change_task(task);
}

/// Reopens the effects of all tasks in a new generation. `found` holds the probes of a new process after an unclean
/// exit. A task whose command is found ended again and again is ended without reading its output, because reading it
/// may kill the host (see `restart_policy`). So is a queued one that is found not started again and again.
pub(crate) fn supervise_again(draft: &mut Draft<'_>, found: Option<&[Finding]>) {
    for mut task in draft.active_tasks() {
        if let Some(effect) = task.effect.take() {
            draft.close_effect(effect);
        }
        if is_retired(&task) {
            let report = TaskReport::Lost {
                reason: "it is of a kind that is not run any more".to_owned(),
                stdout: CapturedStream::default(),
                stderr: CapturedStream::default(),
            };
            conclude(draft, task, &report);
            continue;
        }
        if let Some(found) = found {
            let is_stuck = |finding: &Finding| {
                let of_task = match &finding.effect {
                    Effect::StartTask { task_id } => {
                        return *task_id == task.id && finding.found == ProbeResult::Nothing;
                    }
                    Effect::WatchTask { task_id } | Effect::StopTask { task_id, .. } => {
                        *task_id == task.id
                    }
                    Effect::PrepareHome
                    | Effect::RemoveHome
                    | Effect::CallModel { .. }
                    | Effect::RunTool { .. }
                    | Effect::FinishPatch { .. }
                    | Effect::StopBatch { .. }
                    | Effect::CleanWorktree { .. }
                    | Effect::SubmitDelivery { .. }
                    | Effect::Deliver { .. } => false,
                };
                of_task && finding.found == ProbeResult::Ended
            };
            task.ends_unread = match found.iter().any(is_stuck) {
                true => task.ends_unread + 1,
                false => 0,
            };
            if task.ends_unread >= limits::RESUMES_WITHOUT_PROGRESS {
                let report = stuck_report(&task);
                conclude(draft, task, &report);
                continue;
            }
        }
        task.effect = open_supervision(draft, &task);
        draft.change_task(task.clone());
        if task.kind == TaskKind::ChildAgentTask {
            end_child_with_parent(draft, task);
        }
    }
}

/// Returns true for a task of a kind that earlier builds wrote and that nothing supervises any more.
const fn is_retired(task: &TaskRecord) -> bool {
    match task.kind {
        TaskKind::CommandTask | TaskKind::ChildAgentTask => false,
        TaskKind::SleepJob | TaskKind::SubagentTask | TaskKind::WorktreeSubagentTask => true,
    }
}

/// Reports on a task whose start or end was met too often by an unclean exit.
fn stuck_report(task: &TaskRecord) -> TaskReport {
    let times = task.ends_unread;
    let reason = if start::is_due(task) {
        // A probe that finds nothing does not prove that nothing ran: the supervisor may have died.
        format!(
            "the runtime died {times} times in a row before the start was on record; it is not tried again, and \
             whether it ran is not known"
        )
    } else {
        format!(
            "it is over, but the runtime died {times} times in a row while it read how; its output was not read again"
        )
    };
    TaskReport::Lost {
        reason,
        stdout: CapturedStream::default(),
        stderr: CapturedStream::default(),
    }
}

/// Handles the end or the loss of a task's command, or that it could not be started.
pub(crate) fn handle_end(
    draft: &mut Draft<'_>,
    stamp: Stamp,
    id: &TaskId,
    report: &TaskReport,
) -> Reply {
    let found = draft.task(id);
    let awaited = found.as_ref().and_then(|task| task.effect);
    if !draft.accept(stamp, awaited) {
        return Reply::Unchanged;
    }
    let Some(task) = found else {
        return Reply::Unchanged;
    };
    conclude(draft, task, report);
    home::remove_when_free(draft);
    Reply::Done
}

/// Records the end of a task whose effect is closed, and queues its result if one is owed.
fn conclude(draft: &mut Draft<'_>, mut task: TaskRecord, report: &TaskReport) {
    start::note_output(&mut task, report);
    let (status, end) = result::of_command(&task, report, draft.now);
    let (mut task, ended) = close(draft, task, status, end);
    let skills = task.command().and_then(|spec| spec.skills.clone());
    if let (TaskStatus::Completed, Some(skills)) = (status, skills) {
        skill::activate_by_task(draft, &skills);
    }
    result::keep_open_item(draft, &mut task);
    let output = result::LastOutput::of(report);
    if task.terminal_reentry {
        result::queue(draft, &task, &output, &ended);
        return;
    }
    if draft.agent.lifecycle == Lifecycle::Deleting {
        return;
    }
    let order = task.stop.unwrap_or_default();
    if order.with_agent {
        result::hold(draft, &task, &output);
    } else if order.by_agent || order.by_operator {
        result::queue_status(draft, &task, &output);
    }
    // No message begins a turn for this end, so the waits that it ended are reported by a tick.
    wait::report_ended(draft, &ended, &format!("Task {} ended.", task.id));
}

/// Writes the end of a task. Returns the waits that it ended too.
fn close(
    draft: &mut Draft<'_>,
    task: TaskRecord,
    status: TaskStatus,
    end: TaskEnd,
) -> (TaskRecord, Vec<WaitRecord>) {
    let previous = task.status;
    let reason = end.result_summary.clone();
    let task = TaskRecord {
        effect: None,
        updated_at: draft.now,
        status,
        end: Some(end),
        ..task
    };
    draft.event(status_event(&task, previous, &reason));
    if let Some(record) = task.delegation() {
        let told = text::preview(&reason, limits::EVENT_PREVIEW_BYTES);
        let caller = task.parent_message_id.clone();
        let completed = WorkItemDelegationCompleted {
            message_seq: task.parent_message_seq,
            ..WorkItemDelegationCompleted::of(record, caller, Some(told))
        };
        draft.event(Event::WorkItemDelegationCompleted(completed));
    }
    if previous.is_terminal() {
        // An interrupted child is not counted among the active tasks.
        draft.change_task(task.clone());
    } else {
        draft.end_task(task.clone());
    }
    let by = format!("task {} ended", task.id);
    let ended = wait::wake_matching(draft, WakeEvent::TaskEnded(&task.id), &by);
    work::wake(draft);
    (task, ended)
}

fn status_event(task: &TaskRecord, previous: TaskStatus, reason: &str) -> Event {
    Event::TaskStatusUpdated(TaskStatusUpdated {
        task_id: task.id.clone(),
        kind: task.kind,
        previous,
        status: task.status,
        reason: text::preview(reason, limits::EVENT_PREVIEW_BYTES),
        exit_status: task.end.as_ref().and_then(|end| end.exit_status),
        parent_message_id: task.parent_message_id.clone(),
        work_item_id: task.work_item_id.clone(),
        authority_class: authority_of(task),
        message_seq: task.parent_message_seq,
    })
}

/// Returns the authority under which a task was begun. Rows of retired kinds may not say.
fn authority_of(task: &TaskRecord) -> Option<AuthorityClass> {
    let trust = task.recovery.as_ref().map(TaskRecoverySpec::trust);
    trust.map(AuthorityClass::from)
}
