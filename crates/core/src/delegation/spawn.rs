//! Calls of `SpawnAgent` and follow-ups to children: the limits of the tree, the order that makes the agent, and the
//! results of the calls.

use super::root_of;
use crate::draft::Draft;
use crate::planted::{Fault, is_planted};
use crate::task;
use holon_domain::agent::{AgentIdentity, AgentKind, Ownership, ProfilePreset, Visibility};
use holon_domain::block::ToolCall;
use holon_domain::decision::Fact;
use holon_domain::delegation::{
    ChildTask, ParentMessage, SpawnAgent, SpawnOrder, SpawnPreset, SpawnRecord, Supervision,
};
use holon_domain::event::{Event, TaskChildSpawned, TaskInputDelivered, WorkItemDelegationCreated};
use holon_domain::send::{AgentSend, SendId, Verdict};
use holon_domain::task::{InputTarget, TaskKind, TaskRecord};
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind};
use holon_domain::turn::OpenTurn;
use holon_domain::workspace::{SelectedWorkspace, WorkspaceEntry};
use holon_domain::{AgentId, DelegationId, TaskId, Timestamp, limits, text};
use serde_json::{Value, json};

/// Length of the window in which spawns are counted.
const HOUR_MS: u64 = 3_600_000;

/// Refuses a spawn for which the tree has no room. Checked in the commit that makes the agent, so it is never exceeded.
pub(crate) fn check_limits(draft: &Draft<'_>, spawn: &SpawnAgent) -> Result<(), ToolError> {
    let tree = draft.tree();
    let depth = draft.host.spawn_depth;
    let recent = tree.spawned.iter();
    // A clock that was set back leaves spawns ahead of it. They count for an hour at most.
    let apart = |at: Timestamp| draft.now.millis_since(at).max(at.millis_since(draft.now));
    let recent = recent.filter(|at| apart(**at) < HOUR_MS);
    let supervised = spawn.preset == SpawnPreset::PrivateChild;
    // An agent that owns itself begins a depth of its own.
    let has_depth = !supervised || tree.depth < depth || is_planted(Fault::DepthUnlimited);
    let has_places = tree.live < limits::LIVE_CHILDREN || is_planted(Fault::LiveChildrenUnlimited);
    let (limit, used, max, hint) = if !has_depth {
        (
            "depth",
            u64::from(tree.depth),
            u64::from(depth),
            "do the work yourself, or report what another agent is needed for",
        )
    } else if supervised && !has_places {
        (
            "live_children",
            u64::from(tree.live),
            u64::from(limits::LIVE_CHILDREN),
            "wait until a child has ended, or stop one with TaskStop; TaskList shows them",
        )
    } else if recent.count() >= limits::SPAWNS_PER_HOUR {
        (
            "spawns_per_hour",
            limits::SPAWNS_PER_HOUR as u64,
            limits::SPAWNS_PER_HOUR as u64,
            "do the work yourself, or give a child that runs more to do with TaskInput",
        )
    } else if supervised && !task::has_room(draft) {
        let max = limits::TASKS_PER_AGENT as u64;
        (
            "tasks",
            max,
            max,
            "wait until a task has ended, or stop one: TaskList shows them",
        )
    } else {
        return Ok(());
    };
    let what = match limit {
        "depth" => "supervising agents above a new one",
        "live_children" => "children of this tree that have not ended",
        "spawns_per_hour" => "agents made by this tree within an hour",
        _ => "tasks of this agent",
    };
    let message = format!("no agent was made: there are {used} {what}, and the limit is {max}");
    let error = ToolError::new(ToolErrorKind::LimitReached, message)
        .details(json!({ "limit": limit, "used": used, "max": max }))
        .hint(hint);
    Err(if limit == "depth" {
        error
    } else {
        error.retryable()
    })
}

/// Sends the order that makes an agent, and writes its task and its place in the tree. Returns the number of the send.
pub(crate) fn send_spawn(
    draft: &mut Draft<'_>,
    turn: &OpenTurn,
    call: &ToolCall,
    spawn: &SpawnAgent,
    selected: Option<&SelectedWorkspace>,
) -> SendId {
    let order = order_of(draft, turn, call, spawn, selected);
    let (tree, child) = (draft.tree(), order.identity.agent_id.clone());
    let record = SpawnRecord {
        root: root_of(draft),
        parent: draft.agent.identity.agent_id.clone(),
        child: child.clone(),
        depth: match order.supervision {
            Some(_) => tree.depth + 1,
            None => 0,
        },
        supervised: order.supervision.is_some(),
        spawned_at: draft.now,
    };
    draft.fact(Fact::AgentSpawned(Box::new(record)));
    if let Some(supervision) = &order.supervision {
        let told = ChildTask {
            child_agent_id: child.clone(),
            delegation_id: supervision.delegation_id.clone(),
            worktree: order.worktree_session.clone(),
            child_work_item_id: None,
            changed_files: Vec::new(),
            worktree_state: None,
        };
        let prompt = spawn.initial_message.as_deref().unwrap_or_default();
        task::begin_child(draft, turn, supervision.task_id.clone(), prompt, told);
        draft.event(Event::WorkItemDelegationCreated(
            WorkItemDelegationCreated {
                delegation_id: supervision.delegation_id.clone(),
                child_agent_id: child.clone(),
                supervision_task_id: supervision.task_id.clone(),
                parent_work_item_id: turn.work_item_id.clone(),
                message_seq: Some(turn.message_seq),
            },
        ));
    }
    let send = draft.next_effect();
    let order = Box::new(order);
    draft.send(child, AgentSend::Spawn { send, order });
    forget_old_children(draft, &tree.children);
    send
}

/// Removes the oldest ended children beyond those whose history is kept.
fn forget_old_children(draft: &mut Draft<'_>, children: &[(AgentId, bool)]) {
    let ended: Vec<&AgentId> = children
        .iter()
        .filter(|(_, live)| !live)
        .map(|(child, _)| child)
        .collect();
    let excess = ended.len().saturating_sub(limits::ENDED_CHILDREN_KEPT);
    for child in ended.into_iter().take(excess) {
        draft.send(child.clone(), AgentSend::Remove);
    }
}

fn order_of(
    draft: &Draft<'_>,
    turn: &OpenTurn,
    call: &ToolCall,
    spawn: &SpawnAgent,
    selected: Option<&SelectedWorkspace>,
) -> SpawnOrder {
    let parent = &draft.agent;
    let child = child_id(call, spawn);
    let agent_home = child_home(&parent.agent_home, &child);
    let supervised = spawn.preset == SpawnPreset::PrivateChild;
    let supervision = supervised.then(|| Supervision {
        parent_agent_id: parent.identity.agent_id.clone(),
        task_id: TaskId::of_call(&call.id),
        delegation_id: DelegationId::of_call(&call.id),
        worktree: selected.and_then(|selected| selected.worktree.clone()),
        work_item_id: turn.work_item_id.clone(),
    });
    let (workspace, worktree_session) = match selected {
        Some(selected) => (selected.entry.clone(), selected.worktree.clone()),
        None if supervised && !turn.workspace.is_agent_home() => (turn.workspace.clone(), None),
        None => (WorkspaceEntry::agent_home(&agent_home), None),
    };
    let first_message = spawn.initial_message.as_ref().map(|text| ParentMessage {
        from: parent.identity.agent_id.clone(),
        text: text.clone(),
        authority: turn.authority,
        caused_by: turn.message_id.clone(),
        task_id: supervision.as_ref().map(|own| own.task_id.clone()),
    });
    SpawnOrder {
        identity: AgentIdentity {
            agent_id: child,
            kind: match spawn.preset {
                SpawnPreset::PrivateChild => AgentKind::Child,
                SpawnPreset::PublicNamed => AgentKind::Named,
            },
            visibility: visibility_of(spawn.preset),
            ownership: match spawn.preset {
                SpawnPreset::PrivateChild => Ownership::ParentSupervised,
                SpawnPreset::PublicNamed => Ownership::SelfOwned,
            },
            profile_preset: profile_of(spawn.preset),
            lineage_parent_agent_id: Some(parent.identity.agent_id.clone()),
            root_agent_id: Some(root_of(draft)),
        },
        agent_home,
        workspace,
        attached: parent.attached_workspaces(),
        worktree_session,
        model: parent.model_override.clone(),
        model_options: parent.settings.model_options(),
        thread_tokens: parent.thread_tokens,
        supervision,
        first_message,
    }
}

const fn visibility_of(preset: SpawnPreset) -> Visibility {
    match preset {
        SpawnPreset::PrivateChild => Visibility::Private,
        SpawnPreset::PublicNamed => Visibility::Public,
    }
}

const fn profile_of(preset: SpawnPreset) -> ProfilePreset {
    match preset {
        SpawnPreset::PrivateChild => ProfilePreset::PrivateChild,
        SpawnPreset::PublicNamed => ProfilePreset::PublicNamed,
    }
}

/// Returns the name of the agent that a call makes. A repeated call makes the same one.
#[must_use]
pub fn child_id(call: &ToolCall, spawn: &SpawnAgent) -> AgentId {
    let named = spawn.agent_id.clone();
    named.unwrap_or_else(|| AgentId::of_child(&call.id))
}

/// Returns the path of a home in the directory that holds the home of another agent.
#[must_use]
pub fn child_home(parent_home: &str, agent_id: &AgentId) -> String {
    let directory = parent_home
        .rsplit_once('/')
        .map_or("", |(directory, _)| directory);
    format!("{directory}/{agent_id}")
}

/// Builds the result of a spawn from the verdict on it.
pub(crate) fn handle_spawn_verdict(
    draft: &mut Draft<'_>,
    turn: &mut OpenTurn,
    call: &ToolCall,
    spawn: &SpawnAgent,
    verdict: &Verdict,
) -> ToolEnvelope {
    let child = child_id(call, spawn);
    let supervised = spawn.preset == SpawnPreset::PrivateChild;
    let task = supervised
        .then(|| draft.task(&TaskId::of_call(&call.id)))
        .flatten();
    match verdict {
        Verdict::Accepted { .. } => {
            turn.note_bound_progress();
            draft.event(Event::TaskChildSpawned(TaskChildSpawned {
                child_agent_id: child.clone(),
                visibility: visibility_of(spawn.preset),
                profile_preset: profile_of(spawn.preset),
                workspace_mode: spawn.workspace_mode,
                task_id: supervised.then(|| TaskId::of_call(&call.id)),
                message_seq: Some(turn.message_seq),
            }));
            spawned(call, &child, task.as_ref())
        }
        Verdict::Refused { code, reason } => {
            draft.fact(Fact::SpawnEnded {
                child: child.clone(),
            });
            if let Some(task) = task {
                task::discard_child(draft, task, reason);
            }
            let kind = match code.as_str() {
                "agent_exists" => ToolErrorKind::InvalidToolInput,
                _ => ToolErrorKind::ToolExecutionFailed,
            };
            let error = ToolError::new(kind, format!("no agent was made: {reason}"))
                .details(json!({ "code": code, "agent_id": child }));
            ToolEnvelope::failure(&call.name, error)
        }
    }
}

fn spawned(call: &ToolCall, child: &AgentId, task: Option<&TaskRecord>) -> ToolEnvelope {
    let Some(task) = task else {
        let told = format!("{child} exists and works for itself; it reports to its operator");
        return ToolEnvelope::success(&call.name, told, json!({ "agent_id": child }));
    };
    let mut result = json!({
        "agent_id": child,
        "child_agent_id": child,
        "task_handle": task.handle(),
        "supervision_task_id": task.id,
        "child_supervision": task.child_supervision(),
    });
    if let (Some(record), Some(fields)) = (task.delegation(), result.as_object_mut()) {
        fields.insert("delegation_id".to_owned(), json!(record.delegation_id));
        if let Some(item) = record.parent_work_item_id {
            fields.insert("parent_work_item_id".to_owned(), json!(item));
        }
    }
    let told = format!(
        "{child} works in the background as task {}; its report comes to you as the result of that task. WaitFor the task \
         if nothing else is to be done",
        task.id
    );
    ToolEnvelope::success(&call.name, told, result)
}

/// Sends a follow-up to the child of a task. Returns the number of the send, or the result of a call that a task does not
/// accept.
pub(crate) fn send_followup(
    draft: &mut Draft<'_>,
    turn: &OpenTurn,
    call: &ToolCall,
    task: &TaskRecord,
    words: &str,
) -> Result<SendId, Box<ToolEnvelope>> {
    let refuse = |reason: &str| Err(Box::new(input_result(call, task, None, reason)));
    if task.is_over() {
        return refuse("the child has ended; spawn another one if more is to be done");
    }
    let Some(child) = task.child() else {
        return refuse("the task has no child that could be written to");
    };
    if words.trim().is_empty() {
        return refuse("there is nothing to tell the child");
    }
    let send = draft.next_effect();
    let message = ParentMessage {
        from: draft.agent.identity.agent_id.clone(),
        text: words.to_owned(),
        authority: turn.authority,
        caused_by: turn.message_id.clone(),
        task_id: Some(task.id.clone()),
    };
    let to = child.child_agent_id.clone();
    draft.send(to, AgentSend::Followup { send, message });
    Ok(send)
}

/// Builds the result of a follow-up from the verdict of the child.
pub(crate) fn handle_followup_verdict(
    draft: &mut Draft<'_>,
    turn: &mut OpenTurn,
    call: &ToolCall,
    task_id: &TaskId,
    words: &str,
    verdict: &Verdict,
) -> ToolEnvelope {
    let Some(task) = draft.task(task_id) else {
        let error = ToolError::new(ToolErrorKind::UnknownTask, "the task is gone");
        return ToolEnvelope::failure(&call.name, error);
    };
    match verdict {
        Verdict::Accepted { .. } => {
            turn.note_bound_progress();
            let task = task::resume_child(draft, task, "written to by its parent");
            let bytes = words.len() as u64;
            draft.event(Event::TaskInputDelivered(TaskInputDelivered {
                task_id: task.id.clone(),
                task_kind: TaskKind::ChildAgentTask,
                bytes_written: bytes,
                input_target: InputTarget::ChildFollowup,
                child_agent_id: task.child().map(|child| child.child_agent_id.clone()),
                message_seq: Some(turn.message_seq),
            }));
            input_result(call, &task, Some(bytes), "the child has it in its queue")
        }
        Verdict::Refused { reason, .. } => input_result(call, &task, None, reason),
    }
}

fn input_result(
    call: &ToolCall,
    task: &TaskRecord,
    written: Option<u64>,
    words: &str,
) -> ToolEnvelope {
    let words = text::preview(words, limits::EVENT_PREVIEW_BYTES);
    let summary = match written {
        Some(_) => format!("task {}: {words}", task.id),
        None => format!("task {} took no input: {words}", task.id),
    };
    let result: Value = json!({
        "task": task.status_snapshot(),
        "accepted_input": written.is_some(),
        "input_target": InputTarget::ChildFollowup,
        "bytes_written": written.unwrap_or_default(),
        "summary_text": summary,
    });
    ToolEnvelope::success(&call.name, summary, result)
}
