//! Calls about the agent, its queue and its tasks, which the kernel answers in the commit of the round. Calls that need
//! the host are handed to the shell.

use super::{notification, trigger_calls, work_calls};
use crate::draft::Draft;
use crate::ingress::Ingress;
use crate::input::CurrentRound;
use crate::policy::{self, ExecutionAct};
use crate::rest::self_caused_priority;
use crate::subsystem::TOOL_ENQUEUE;
use crate::summary;
use crate::task::{self, StopActor, StopOutcome};
use crate::{admission, delegation, work};
use holon_domain::block::ToolCall;
use holon_domain::delegation::{ActiveChild, SpawnAgent};
use holon_domain::intent::{HostAction, Intent, WorkIntent};
use holon_domain::message::{
    AdmissionContext, Body, DeliverySurface, MessageKind, Origin, Priority,
};
use holon_domain::send::SendId;
use holon_domain::summary::WorkSummary;
use holon_domain::task::{TaskKind, TaskListEntry, TaskRecord};
use holon_domain::timer::TimerRecord;
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind};
use holon_domain::turn::OpenTurn;
use holon_domain::wait::WaitRecord;
use holon_domain::work_item::WorkItemSchedulingState;
use holon_domain::{AgentId, TaskId, limits, text};
use serde_json::json;

/// The component that answers a call.
pub(super) enum CallRoute {
    /// The kernel has answered it.
    Settled(ToolEnvelope),
    /// The shell performs it as an effect.
    Act,
    /// A message is sent to another agent, whose verdict becomes the result.
    Message {
        agent_id: AgentId,
        text: String,
        priority: Priority,
    },
    /// Another agent is made, whose verdict becomes the result.
    Spawn(SpawnAgent),
    /// A message is on its way to a child, whose verdict becomes the result.
    Sent(SendId),
}

/// Answers a call, or returns the component that does.
pub(super) fn route_call(
    draft: &mut Draft<'_>,
    turn: &mut OpenTurn,
    call: &ToolCall,
    round: &CurrentRound,
    intent: &Intent,
) -> CallRoute {
    if let Some(act) = ExecutionAct::of(intent) {
        let preset = draft.agent.identity.profile_preset;
        if let Err(denial) = policy::check(preset, &draft.host.execution, act) {
            let refused = ToolEnvelope::failure(&call.name, denial.tool_error());
            return CallRoute::Settled(refused);
        }
    }
    let envelope = match intent {
        Intent::Enqueue { text, priority } => follow_up(draft, turn, call, text, *priority),
        Intent::NotifyOperator { attachments, .. }
        | Intent::Work(WorkIntent::Complete { attachments, .. })
            if !attachments.is_empty() =>
        {
            return act_unless_refused(call, notification::check_files(draft, attachments));
        }
        Intent::NotifyOperator {
            message,
            attachments,
        } => notification::notify(draft, turn, call, message, attachments),
        Intent::AgentGet => describe_agent(draft, turn, call),
        Intent::TaskList => list_tasks(draft, call),
        Intent::TaskStatus { task_id } => task_status(draft, call, task_id),
        Intent::TaskStop { task_id } => {
            let envelope = task_stop(draft, call, task_id);
            if envelope.error().is_none() {
                note_task_progress(draft, turn, task_id);
            }
            envelope
        }
        Intent::Message {
            agent_id,
            text,
            priority,
        } => {
            return CallRoute::Message {
                agent_id: agent_id.clone(),
                text: text.clone(),
                priority: *priority,
            };
        }
        Intent::Host(HostAction::ExecCommand(_)) if !task::has_room(draft) => {
            ToolEnvelope::failure(&call.name, no_room_for_task())
        }
        Intent::Trigger(intent) => trigger_calls::apply_call(draft, call, intent),
        Intent::Work(intent) => work_calls::apply_call(draft, turn, call, round, intent),
        Intent::CreateWorkItem(_) => return act_unless_refused(call, work::has_room(draft)),
        Intent::SpawnAgent(spawn) => match delegation::check_limits(draft, spawn) {
            Ok(()) if spawn.needs_host() => return CallRoute::Act,
            Ok(()) => return CallRoute::Spawn(spawn.clone()),
            Err(error) => ToolEnvelope::failure(&call.name, error),
        },
        Intent::TaskInput { task_id, input, .. } => {
            return route_task_input(draft, turn, call, task_id, input);
        }
        Intent::TaskOutput(_) | Intent::WorkQuery(_) | Intent::Memory(_) | Intent::Host(_) => {
            return CallRoute::Act;
        }
        // `run_calls` handles rests and waits before this point.
        Intent::Sleep { .. } | Intent::WaitFor(_) => ToolEnvelope::failure(
            &call.name,
            ToolError::new(
                ToolErrorKind::ToolExecutionFailed,
                "nothing can be done for it",
            ),
        ),
    };
    CallRoute::Settled(envelope)
}

/// Lets the shell perform a call that a check has passed.
fn act_unless_refused<T>(call: &ToolCall, checked: Result<T, ToolError>) -> CallRoute {
    match checked {
        Ok(_) => CallRoute::Act,
        Err(error) => CallRoute::Settled(ToolEnvelope::failure(&call.name, error)),
    }
}

/// Sends input to a child agent as a message. The input of a command is an effect.
fn route_task_input(
    draft: &mut Draft<'_>,
    turn: &mut OpenTurn,
    call: &ToolCall,
    id: &TaskId,
    input: &str,
) -> CallRoute {
    let found = draft.task(id);
    let Some(task) = found.filter(|task| task.kind == TaskKind::ChildAgentTask) else {
        return CallRoute::Act;
    };
    match delegation::send_followup(draft, turn, call, &task, input) {
        Ok(send) => CallRoute::Sent(send),
        Err(refused) => CallRoute::Settled(*refused),
    }
}

/// Notes a change of a task as progress of the item that it belongs to.
fn note_task_progress(draft: &Draft<'_>, turn: &mut OpenTurn, id: &TaskId) {
    match draft.task(id).and_then(|task| task.work_item_id) {
        Some(item) => turn.note_progress(&item),
        None => turn.note_bound_progress(),
    }
}

fn list_tasks(draft: &Draft<'_>, call: &ToolCall) -> ToolEnvelope {
    let tasks: Vec<TaskListEntry> = list_entries(draft);
    let summary = match tasks.len() {
        0 => "no task runs".to_owned(),
        1 => "1 task runs".to_owned(),
        count => format!("{count} tasks run"),
    };
    ToolEnvelope::success(&call.name, summary, json!(tasks))
}

fn list_entries(draft: &Draft<'_>) -> Vec<TaskListEntry> {
    draft
        .active_tasks()
        .iter()
        .map(TaskRecord::list_entry)
        .collect()
}

fn task_status(draft: &Draft<'_>, call: &ToolCall, id: &TaskId) -> ToolEnvelope {
    let Some(found) = draft.task(id) else {
        return unknown_task(call, id);
    };
    let child = found
        .child()
        .and_then(|child| draft.child(&child.child_agent_id));
    let snapshot = delegation::with_child(found.clone(), child.as_ref());
    let end = found
        .end
        .as_ref()
        .map(|end| format!(": {}", end.result_summary));
    let status = json!(snapshot.status);
    let summary = format!(
        "{id} is {}{}",
        status.as_str().unwrap_or_default(),
        end.unwrap_or_default()
    );
    ToolEnvelope::success(&call.name, summary, json!({ "task": snapshot }))
}

fn task_stop(draft: &mut Draft<'_>, call: &ToolCall, id: &TaskId) -> ToolEnvelope {
    let Some(taken) = task::stop(draft, id, StopActor::Agent) else {
        return unknown_task(call, id);
    };
    let seconds = limits::TASK_STOP_GRACE_MS / 1_000;
    let summary = match taken {
        StopOutcome::Asked => format!(
            "{id} is asked to end and killed with everything it started after {seconds} s; its end leaves a status message and starts no turn, TaskStatus tells it"
        ),
        StopOutcome::Forced => format!("{id} is killed with everything it started"),
        StopOutcome::LetGo => format!(
            "{id} is let go: its supervision was interrupted by a restart, and its child may still run"
        ),
        StopOutcome::ChildStopped => {
            format!("{id} is cancelled; its child is stopped with everything that it started")
        }
        StopOutcome::Over => format!("{id} is over already"),
    };
    let snapshot = draft.task(id).map(|task| task.status_snapshot());
    let result = json!({
        "task": snapshot,
        "stop_requested": taken != StopOutcome::Over,
        "force_stop_requested": taken == StopOutcome::Forced,
    });
    ToolEnvelope::success(&call.name, summary, result)
}

fn unknown_task(call: &ToolCall, id: &TaskId) -> ToolEnvelope {
    let id = text::preview(id.as_str(), limits::EVENT_PREVIEW_BYTES);
    let error = ToolError::new(
        ToolErrorKind::UnknownTask,
        format!("this agent has no task {id:?}"),
    )
    .details(json!({ "task_id": id }))
    .hint("TaskList shows the tasks that are not over; a task's id stands in the result of the call that started it");
    ToolEnvelope::failure(&call.name, error)
}

fn no_room_for_task() -> ToolError {
    let max = limits::TASKS_PER_AGENT;
    ToolError::new(
        ToolErrorKind::LimitReached,
        format!("not run: {max} tasks of this agent run already, and this command might become one more"),
    )
    .hint("wait until one has ended, or stop one: TaskList shows them; ExecCommandBatch runs short commands meanwhile")
    .retryable()
}

fn describe_agent(draft: &Draft<'_>, turn: &OpenTurn, call: &ToolCall) -> ToolEnvelope {
    let mut agent = draft.agent.clone();
    agent.open_turn = Some(turn.clone());
    let tasks = list_entries(draft);
    let mut summary = summary::summarise(&agent, &draft.queue, tasks, draft.host);
    let timers = draft.active_timers();
    let work = WorkSummary {
        // `ListWorkItems` shows the items; the summary has their counts.
        work_items: Vec::new(),
        waiting_intents: shown_waits(draft),
        timers: timers.iter().map(TimerRecord::view).collect(),
        // `CreateExternalTrigger` shows the trigger that the agent asks for.
        ..WorkSummary::default()
    };
    summary::add_work(&mut summary, work, draft.hints());
    let text = format!(
        "{}: {}",
        summary.agent.id, summary.scheduling_posture.reason
    );
    match serde_json::to_value(&summary) {
        Ok(mut value) => {
            // The status of the HTTP interface has the waits under this name too.
            value["active_waiting_intents"] = json!(summary.work.waiting_intents);
            value["active_children"] = json!(active_children(draft));
            ToolEnvelope::success(&call.name, text, json!({ "agent": value }))
        }
        Err(error) => ToolEnvelope::failure(
            &call.name,
            ToolError::new(ToolErrorKind::ToolExecutionFailed, error.to_string()),
        ),
    }
}

/// Returns the children that have not ended, with what they do.
fn active_children(draft: &Draft<'_>) -> Vec<ActiveChild> {
    let tasks = draft.active_tasks();
    let shown = tasks.iter().filter_map(|task| {
        let child = draft.child(&task.child()?.child_agent_id)?;
        Some(delegation::active_child(task, &child))
    });
    shown.collect()
}

/// Returns the active waits with shortened reasons: there may be many, and the result stays in the context.
fn shown_waits(draft: &Draft<'_>) -> Vec<WaitRecord> {
    let mut waits = draft.active_waits();
    for wait in &mut waits {
        wait.waiting_for = text::preview(&wait.waiting_for, limits::EVENT_PREVIEW_BYTES);
    }
    waits
}

fn no_room_for_follow_up(draft: &Draft<'_>, turn: &OpenTurn) -> Option<ToolError> {
    let (message, hint) = if turn.followups >= limits::FOLLOWUPS_PER_TURN {
        let max = limits::FOLLOWUPS_PER_TURN;
        (
            format!("one turn may queue at most {max} follow-ups"),
            "fold the remaining work into one of them",
        )
    } else if is_stalled(draft, turn) {
        (
            "work on this item is stalled and its operator was asked, so it queues no follow-ups"
                .to_owned(),
            "change something about the work, or end the turn; an operator's word makes it go on",
        )
    } else if !admission::has_room_for_others(draft) {
        (
            "the queue is full".to_owned(),
            "do the work in this turn, or end the turn so that the queue drains",
        )
    } else {
        return None;
    };
    Some(ToolError::new(ToolErrorKind::LimitReached, message).hint(hint))
}

/// Returns true if the agent itself caused the turn and its item is stalled. Follow-ups would go on where ticks ended.
fn is_stalled(draft: &Draft<'_>, turn: &OpenTurn) -> bool {
    let current = draft.agent.work.current.as_ref();
    let bound = current.filter(|current| turn.ticked_item.as_ref() == Some(&current.id));
    draft.agent.self_caused_turns > 0
        && bound.is_some_and(|current| current.state == WorkItemSchedulingState::Stalled)
}

fn follow_up(
    draft: &mut Draft<'_>,
    turn: &mut OpenTurn,
    call: &ToolCall,
    words: &str,
    priority: Priority,
) -> ToolEnvelope {
    if let Some(error) = no_room_for_follow_up(draft, turn) {
        return ToolEnvelope::failure(&call.name, error);
    }
    turn.followups += 1;
    // Only the operator may interject; an agent's own follow-up waits in the queue.
    let wanted = if priority == Priority::Interject {
        Priority::Next
    } else {
        priority
    };
    let priority = self_caused_priority(&draft.agent, wanted);
    let ingress = Ingress {
        kind: MessageKind::InternalFollowup,
        origin: Origin::System {
            subsystem: TOOL_ENQUEUE.to_owned(),
        },
        priority,
        body: Body::text(words),
        images: Vec::new(),
        metadata: turn
            .work_item_id
            .as_ref()
            .map(|item| json!({ "work_item_id": item })),
        delivery_surface: DeliverySurface::RuntimeSystem,
        admission_context: AdmissionContext::RuntimeOwned,
        correlation_id: None,
        causation_id: Some(turn.message_id.to_string()),
        max_rounds: None,
        at_most: None,
    };
    // A follow-up has at most the authority of the turn's message, and never the operator's own.
    let authority = turn
        .authority
        .weaker(holon_domain::authority::AuthorityClass::RuntimeInstruction);
    let entry = admission::enqueue(
        draft,
        ingress,
        admission::Provenance::self_caused(authority),
    );
    let result = json!({
        "enqueued": true,
        "message_id": entry.envelope.id,
        "priority": priority,
        "follow_up_text": text::preview(words, limits::EVENT_PREVIEW_BYTES),
    });
    ToolEnvelope::success(
        &call.name,
        format!("queued follow-up {}", entry.envelope.id),
        result,
    )
}
