//! Summaries of an agent for clients, computed from its row, its queue and its tasks.

use crate::assess::{Assessment, AssessmentInput, assess};
use crate::delegation::stuck_task_words;
use crate::input::HostConditions;
use crate::policy;
use holon_domain::AgentId;
use holon_domain::agent::{
    AgentIdentity, AgentKind, AgentRecord, AgentStatus, IdentityView, ItemCounts, Lifecycle,
    Ownership, ProfilePreset, Visibility,
};
use holon_domain::delegation::ActiveChild;
use holon_domain::delivery::OutboxLane;
use holon_domain::event::Event;
use holon_domain::explanation::Explanation;
use holon_domain::feed::EventRecord;
use holon_domain::guidance::ActiveSkillView;
use holon_domain::limits::{BRIEF_PAGE, EVENT_PAGE};
use holon_domain::memory::WorkingMemoryView;
use holon_domain::model::ModelRef;
use holon_domain::queue::QueueView;
use holon_domain::summary::{
    AgentListEntry, AgentModelState, AgentStateView, AgentSummary, AgentTokenUsage,
    ExecutionSnapshot, LifecycleHint, ModelSource, NotificationView, Posture, SchedulingPosture,
    WorkSummary,
};
use holon_domain::task::TaskListEntry;
use holon_domain::trigger::WakeHint;
use holon_domain::turn::OpenTurn;
use holon_domain::work_item::{ViewContext, WorkItemRecord, WorkItemSchedulingState, WorkItemView};
use holon_domain::workspace::{Occupant, WorkspaceEntry, WorkspaceEntryView};

/// Builds the summary of one agent.
#[must_use]
pub fn summarise(
    agent: &AgentRecord,
    queue: &QueueView,
    active_tasks: Vec<TaskListEntry>,
    host: &HostConditions,
) -> AgentSummary {
    let standing = assess(AssessmentInput::new(agent, queue));
    AgentSummary {
        identity: identity_view(agent, host),
        agent: state_view(agent, queue, &standing, &active_tasks, host),
        scheduling_posture: standing.posture,
        lifecycle: lifecycle_hint(agent),
        model: model_state(agent, host),
        token_usage: AgentTokenUsage {
            total: agent.totals.usage,
            total_model_rounds: agent.totals.model_rounds,
            last_turn: agent.totals.last_turn,
            cached_input_percent: agent.totals.usage.cached_percent(),
            usage: agent.totals.spending.into(),
        },
        closure: standing.closure,
        execution: ExecutionSnapshot {
            policy: policy::boundaries_of(&policy::profile_of(agent, host)),
            profile: policy::profile_of(agent, host),
            workspace_warning: workspace_warning(&agent.identity.agent_id, &agent.workspace, host),
            attached_workspaces: agent
                .usable_workspaces()
                .into_iter()
                .map(|usable| (usable.workspace_id, usable.workspace_anchor))
                .collect(),
            ..ExecutionSnapshot::host_local(agent.workspace.clone())
        },
        active_workspace_occupancy: agent.occupancy.clone(),
        active_task_count: u64::try_from(active_tasks.len()).unwrap_or(u64::MAX),
        active_tasks,
        recent_brief_count: agent.counters.briefs.min(BRIEF_PAGE),
        recent_event_count: agent.counters.events.min(EVENT_PAGE),
        work_item_counts: item_counts(agent),
        active_timer_count: agent.work.active_timers,
        work: WorkSummary::default(),
        active_children: Vec::new(),
        loaded_agents_md: Default::default(),
        skills: Default::default(),
        newest_seq: agent.counters.events,
    }
}

/// Returns a warning if the workspace contains, or is inside of, a directory of the host. Only agents of earlier builds
/// can have one.
#[must_use]
pub fn workspace_warning(
    agent_id: &AgentId,
    workspace: &WorkspaceEntry,
    host: &HostConditions,
) -> Option<String> {
    let dir = host.reserved.find_overlap(workspace)?;
    Some(format!(
        "the workspace {} reaches {}, where the host keeps what proves which commands ran; a command that cleans its \
         workspace can remove that; name another workspace with: holon run --agent {agent_id} --workspace-root DIR",
        workspace.execution_root,
        dir.display(),
    ))
}

/// Adds a warning to the summary of an agent if others occupy its execution root too. Another warning stays before it.
pub fn warn_of_occupants(summary: &mut AgentSummary, occupants: &[Occupant]) {
    let others: Vec<&str> = occupants
        .iter()
        .map(|occupant| occupant.agent_id.as_str())
        .filter(|name| *name != summary.agent.id.as_str())
        .collect();
    if others.is_empty() || summary.execution.workspace_warning.is_some() {
        return;
    }
    summary.execution.workspace_warning = Some(format!(
        "{} is also the directory of {}; give one of them a worktree of its own with: holon workspace use WORKSPACE_ID \
         --mode isolated",
        summary.execution.workspace.execution_root,
        others.join(", "),
    ));
}

/// Adds the rows about the agent's work to its summary.
pub fn add_work(summary: &mut AgentSummary, work: WorkSummary, hints: Vec<WakeHint>) {
    summary.work = work;
    summary.agent.pending_wake_hint = hints.into_iter().max_by_key(|hint| hint.last_at);
}

/// Adds the notifications among the newest events. The last notification is kept in the agent's row and is shown even if
/// its event is older.
pub fn add_recent(summary: &mut AgentSummary, newest_first: &[EventRecord]) {
    let notifications = newest_first
        .iter()
        .filter_map(|record| match &record.event {
            Event::OperatorNotificationRequested(e) => Some(NotificationView {
                notification_id: e.notification_id.clone(),
                created_at: record.at,
                summary: e.summary.clone(),
            }),
            _ => None,
        });
    summary.work.notifications.extend(notifications);
    if summary.work.notifications.is_empty() {
        let last = summary.agent.last_notification.clone();
        summary.work.notifications.extend(last);
    }
}

/// Adds the working memory, and its beginning as the summary of the agent's context.
pub fn add_memory(summary: &mut AgentSummary, memory: WorkingMemoryView) {
    summary.agent.context_summary = memory.current_working_memory.head();
    summary.agent.working_memory = Some(memory);
}

/// Builds the view of a work item with its scheduling state for this agent.
#[must_use]
pub fn work_item_view(agent: &AgentRecord, item: &WorkItemRecord) -> WorkItemView {
    let view = item.view(ViewContext {
        agent_home: &agent.agent_home,
        current: agent.work.current.as_ref().map(|current| &current.id),
        wake_count: agent.work.wake_count,
        include_todo_list: true,
    });
    match view.scheduling_state {
        WorkItemSchedulingState::Runnable | WorkItemSchedulingState::Stalled
            if agent.archived_at.is_some() =>
        {
            let state = WorkItemSchedulingState::Blocked;
            WorkItemView {
                scheduling_state: state,
                readiness: state.readiness(),
                is_runnable: false,
                ..view
            }
        }
        _ => view,
    }
}

/// Counts the open items by state. Nothing of an archived agent is runnable.
const fn item_counts(agent: &AgentRecord) -> ItemCounts {
    let items = agent.work.items;
    if agent.archived_at.is_none() {
        return items;
    }
    ItemCounts {
        runnable: 0,
        stalled: 0,
        blocked: items.blocked + items.runnable + items.stalled,
        ..items
    }
}

/// Returns the identity of an agent as clients see it. The default agent is the one that the host's settings name now.
fn identity_view(agent: &AgentRecord, host: &HostConditions) -> IdentityView {
    let kind = host.kind_of(&agent.identity.agent_id, agent.identity.kind);
    IdentityView {
        is_default_agent: kind == AgentKind::Default,
        ..agent.identity_view()
    }
}

/// Builds the list entry of one agent.
#[must_use]
pub fn list_entry(agent: &AgentRecord, queue: &QueueView, host: &HostConditions) -> AgentListEntry {
    let standing = assess(AssessmentInput::new(agent, queue));
    AgentListEntry {
        identity: identity_view(agent, host),
        status: standing.status,
        scheduling_posture: standing.posture,
        lifecycle: lifecycle_hint(agent),
        pending: queue.pending,
        current_run_id: agent.open_turn.as_ref().map(|turn| turn.run_id.clone()),
        waiting_reason: standing.closure.and_then(|closure| closure.waiting_reason),
        model: model_state(agent, host),
        active_workspace_entry: WorkspaceEntryView::listed(agent.workspace.clone()),
    }
}

/// Builds the list entry of an agent that was put aside. Only its name is certain to be readable.
#[must_use]
pub fn aside_entry(agent_id: &AgentId, pending: u64, reason: &str) -> AgentListEntry {
    let identity = AgentIdentity {
        agent_id: agent_id.clone(),
        kind: AgentKind::Named,
        visibility: Visibility::Public,
        ownership: Ownership::SelfOwned,
        profile_preset: ProfilePreset::PublicNamed,
        lineage_parent_agent_id: None,
        root_agent_id: None,
    };
    AgentListEntry {
        identity: IdentityView::active(identity),
        status: AgentStatus::Stopped,
        scheduling_posture: aside_posture(agent_id, reason),
        lifecycle: stopped_hint(agent_id, ASIDE_HINT),
        pending,
        current_run_id: None,
        waiting_reason: None,
        model: AgentModelState::default(),
        active_workspace_entry: WorkspaceEntryView::listed(WorkspaceEntry::agent_home("")),
    }
}

/// Marks the summary of an agent as put aside.
pub fn put_aside(summary: &mut AgentSummary, reason: &str) {
    let agent_id = summary.agent.id.clone();
    summary.agent.status = AgentStatus::Stopped;
    summary.scheduling_posture = aside_posture(&agent_id, reason);
    summary.lifecycle = stopped_hint(&agent_id, ASIDE_HINT);
}

/// Adds the children of an agent to its summary. Its posture says which of them were put aside.
pub fn add_children(summary: &mut AgentSummary, children: Vec<ActiveChild>) {
    note_stuck_tasks(&mut summary.scheduling_posture, &children);
    summary.active_children = children;
}

/// Says in a posture which tasks cannot end, because their children were put aside.
pub(crate) fn note_stuck_tasks(posture: &mut SchedulingPosture, children: &[ActiveChild]) {
    for words in children.iter().filter_map(stuck_task_words) {
        posture.reason.push_str("; but ");
        posture.reason.push_str(&words);
    }
}

/// Marks the explanation of an agent as put aside.
pub fn explain_aside(explanation: &mut Explanation, reason: &str) {
    let agent_id = explanation.agent_id.clone();
    explanation.status = AgentStatus::Stopped;
    explanation.scheduling_posture = aside_posture(&agent_id, reason);
    explanation.woken_by = vec![format!("only a start: holon agent start {agent_id}")];
}

const ASIDE_HINT: &str = "its stored rows cannot be used; mend them, then start the agent";

fn aside_posture(agent_id: &AgentId, reason: &str) -> SchedulingPosture {
    SchedulingPosture {
        posture: Posture::Unknown,
        reason: format!(
            "put aside because its stored rows cannot be used ({reason}); mend them, then: holon agent start {agent_id}"
        ),
        run_id: None,
        work_item_id: None,
        waiting_intent_id: None,
        wakes_at: None,
    }
}

fn state_view(
    agent: &AgentRecord,
    queue: &QueueView,
    standing: &Assessment,
    tasks: &[TaskListEntry],
    host: &HostConditions,
) -> AgentStateView {
    let workspace = &agent.workspace;
    let totals = &agent.totals;
    AgentStateView {
        id: agent.identity.agent_id.clone(),
        status: standing.status,
        lifecycle: agent.lifecycle,
        created_at: agent.created_at,
        sleeping_until: agent
            .rest
            .as_ref()
            .and_then(|rest| rest.wake)
            .map(|wake| wake.at),
        rest: agent.rest.clone(),
        current_run_id: agent.open_turn.as_ref().map(|turn| turn.run_id.clone()),
        current_message_id: agent.open_turn.as_ref().map(|turn| turn.message_id.clone()),
        current_work_item_id: agent
            .work
            .current
            .as_ref()
            .map(|current| current.id.clone()),
        current_turn_work_item_id: agent
            .open_turn
            .as_ref()
            .and_then(|turn| turn.work_item_id.clone()),
        pending_wake_hint: None,
        pending: queue.pending,
        total_message_count: agent.counters.messages,
        compacted_message_count: totals.compacted_messages,
        context_summary: None,
        working_memory: None,
        total_input_tokens: totals.usage.input_tokens,
        total_output_tokens: totals.usage.output_tokens,
        total_model_rounds: totals.model_rounds,
        last_turn_token_usage: totals.last_turn,
        active_task_ids: tasks.iter().map(|task| task.id.clone()).collect(),
        tool_latency: agent
            .tool_times
            .iter()
            .map(|(name, times)| times.view(name))
            .collect(),
        execution_profile: policy::profile_of(agent, host),
        attached_workspaces: agent
            .usable_workspaces()
            .into_iter()
            .map(|usable| usable.workspace_id)
            .collect(),
        worktree_session: agent.worktree_session.clone(),
        active_workspace_id: Some(workspace.workspace_id.clone()),
        active_workspace_entry: Some(workspace.clone().into()),
        cwd: Some(workspace.cwd.clone()),
        model_override: agent.model_override.as_ref().map(ToString::to_string),
        model_override_reasoning_effort: agent.reasoning_effort,
        active_skills: active_skills(agent, host),
        turn_index: agent.counters.turns,
        last_wake_reason: agent.last_wake_reason.clone(),
        last_brief_at: agent.last_brief_at,
        last_notification: agent.outbox.notified.as_ref().map(|last| NotificationView {
            notification_id: last.last_id.clone(),
            created_at: last.last_at,
            summary: last.last_summary.clone(),
        }),
        pending_deliveries: agent.outbox.lanes.iter().map(OutboxLane::pending).sum(),
        last_continuation: agent.last_continuation.clone(),
        last_turn_terminal: agent.last_turn.clone(),
        last_runtime_failure: agent.last_failure.clone(),
    }
}

fn active_skills(agent: &AgentRecord, host: &HostConditions) -> Vec<ActiveSkillView> {
    let active = agent.active_skills.iter();
    active.map(|skill| skill.view(host.started_at)).collect()
}

fn lifecycle_hint(agent: &AgentRecord) -> LifecycleHint {
    let id = &agent.identity.agent_id;
    match agent.lifecycle {
        Lifecycle::Booting | Lifecycle::Runnable => LifecycleHint {
            resume_required: false,
            accepts_external_messages: true,
            wake_requires_resume: false,
            operator_hint: None,
            resume_cli_hint: None,
            resume_control_path: None,
        },
        Lifecycle::Stopped if agent.archived_at.is_some() => LifecycleHint {
            resume_required: false,
            accepts_external_messages: false,
            wake_requires_resume: false,
            operator_hint: Some("the agent is archived; its history can be read".to_owned()),
            resume_cli_hint: None,
            resume_control_path: None,
        },
        Lifecycle::Stopped => stopped_hint(
            id,
            "start the agent before new prompts; a wake does not override a stop",
        ),
        Lifecycle::Deleting => LifecycleHint {
            resume_required: false,
            accepts_external_messages: false,
            wake_requires_resume: false,
            operator_hint: Some("the agent is being removed".to_owned()),
            resume_cli_hint: None,
            resume_control_path: None,
        },
    }
}

fn stopped_hint(id: &AgentId, hint: &str) -> LifecycleHint {
    LifecycleHint {
        resume_required: true,
        accepts_external_messages: false,
        wake_requires_resume: true,
        operator_hint: Some(hint.to_owned()),
        resume_cli_hint: Some(format!("holon agent start {id}")),
        resume_control_path: Some(format!("/control/agents/{id}/control")),
    }
}

fn model_state(agent: &AgentRecord, host: &HostConditions) -> AgentModelState {
    let shown = |model: Option<&ModelRef>| model.map(ToString::to_string);
    let own = agent.model_override.as_ref();
    let turn = agent.open_turn.as_ref();
    AgentModelState {
        source: if own.is_some() {
            ModelSource::AgentOverride
        } else {
            ModelSource::RuntimeDefault
        },
        effective_model: shown(host.models.first(own)),
        runtime_default_model: shown(host.models.default.as_ref()),
        effective_fallback_models: host
            .models
            .fallbacks_after(own, agent.fallback_models.as_deref())
            .iter()
            .map(ToString::to_string)
            .collect(),
        override_model: own.map(ToString::to_string),
        override_reasoning_effort: agent.reasoning_effort,
        override_thinking_tokens: agent.thinking_tokens,
        override_fallback_models: agent.fallback_models.as_deref().map(ModelRef::spell_all),
        requested_model: turn.map(|turn| ModelRef::spell(turn.requested())),
        active_model: turn.map(OpenTurn::model_ref),
        fallback_active: turn.is_some_and(|turn| turn.requested_model.is_some()),
        resolved_policy: None,
    }
}
