//! Agents, messages, briefs, control, the scheduler and workspaces.

use super::delivery::attached_files;
use super::{Description, Merge, id_text, words};
use crate::item::{Reference, Role};
use crate::visibility::Visibility;
use holon_domain::agent::AgentStatus;
use holon_domain::brief::{ActionCode, BriefKind};
use holon_domain::closure::{ClosureOutcome, WaitingReason};
use holon_domain::event::{
    AgentCreated, AgentModelOverrideSet, BriefCreated, ClosureDecided, ContinuationResolved,
    ControlApplied, Event, ModelLimitLearned, SystemTickSuppressed,
};
use holon_domain::text;
use serde_json::Value;

pub(super) fn describe(event: &Event) -> Option<Description> {
    conversation(event)
        .or_else(|| control(event))
        .or_else(|| workspace(event))
}

fn conversation(event: &Event) -> Option<Description> {
    Some(match event {
        Event::AgentCreated(e) => created(e),
        Event::AgentPutAside(e) => Description::failure("Agent put aside").body(format!(
            "{}; start the agent again when its rows are mended",
            e.reason
        )),
        Event::OperatorInterjectionAdmitted(e) => Description::outcome("You, in the running turn")
            .role(Role::UserMessage)
            .body(&e.text_preview)
            .with("message", &e.message_id)
            .with("round", e.round)
            .refer(Reference::Message(id_text(&e.message_id))),
        Event::BriefCreated(e) => brief(e),
        Event::Unknown { kind, data, .. } if kind == "brief_created" => unknown_brief(data),
        Event::ModelLimitLearned(e) => limit_learned(e),
        Event::AgentModelOverrideSet(e) => model_set(e),
        Event::AgentModelOverrideCleared(e) => Description::outcome("Model of the agent removed")
            .body(format!(
                "the host's default is used instead of {}",
                e.override_model
            )),
        _ => return None,
    })
}

fn created(e: &AgentCreated) -> Description {
    let made = match &e.imported_from {
        Some(_) => Description::outcome("Agent imported").body("from the archive of an agent"),
        None => Description::step("Agent created"),
    };
    made.with("kind", words(e.kind))
        .with("profile", words(e.profile_preset))
        .with("workspace", &e.workspace_id)
}

fn brief(e: &BriefCreated) -> Description {
    let (title, role) = match (e.kind, e.action_required) {
        (_, Some(ActionCode::OperatorInput)) => ("Needs your answer", Role::Alert),
        (_, Some(_)) => ("Action required", Role::Alert),
        (BriefKind::Failure, None) => ("Failed", Role::Alert),
        (BriefKind::Result, None) => ("Result", Role::AssistantResult),
        (BriefKind::Ack, None) => ("Note", Role::AssistantProgress),
    };
    let mut told = Description::outcome(title)
        .role(role)
        .body(&e.text_preview)
        .with("brief", &e.brief_id)
        .with("turn", e.turn_index)
        .with("settles", e.settles.len())
        .with_some("task", e.related_task_id.as_ref())
        .with_some("attached", attached_files(&e.attachments).as_ref())
        .refer(Reference::Brief(id_text(&e.brief_id)))
        .merge(Merge::Brief);
    told.visibility = Some(Visibility::of_brief(e.kind, e.action_required, false));
    told
}

/// Describes a brief whose payload another build wrote: its text must reach the operator all the same.
fn unknown_brief(data: &Value) -> Description {
    let text = |name: &str| data.get(name).and_then(Value::as_str);
    let told = Description::outcome("Brief")
        .role(Role::AssistantResult)
        .body(text("text_preview").unwrap_or_default());
    match text("brief_id") {
        Some(id) => told.refer(Reference::Brief(id_text(&id))),
        None => told,
    }
}

fn limit_learned(e: &ModelLimitLearned) -> Description {
    Description::detail("Limit of a model learned")
        .body(&e.model_ref)
        .with_some("window", e.limits.context_window_tokens.as_ref())
        .with_some("output", e.limits.max_output_tokens.as_ref())
        .with_some("endpoint", e.endpoint.as_ref())
}

fn model_set(e: &AgentModelOverrideSet) -> Description {
    let set = Description::outcome("Model of the agent set").body(&e.override_model);
    match e.reasoning_effort {
        Some(effort) => set.with("effort", words(effort)),
        None => set,
    }
}

fn control(event: &Event) -> Option<Description> {
    Some(match event {
        Event::ContinuationResolved(e) => continuation(e),
        Event::ClosureDecided(e) => closure(e),
        Event::ControlRequestAdmitted(e) => {
            let action = e.action.replace('_', " ");
            Description::detail(format!("Operator request admitted: {action}"))
                .with("before", words(e.previous_status))
        }
        Event::ControlApplied(e) => control_applied(e),
        Event::CurrentRunAborted(e) => Description::outcome("Run aborted")
            .role(Role::Alert)
            .body(words(e.reason))
            .with("run", &e.run_id),
        Event::SystemTickEmitted(e) => Description::detail("Runtime wakes the agent")
            .body(e.subsystem.replace('_', " "))
            .with("planned", e.planned_at)
            .with_some("work item", e.work_item_id.as_ref()),
        Event::SystemTickSuppressed(e) => tick_suppressed(e),
        Event::SchedulerPostureDecision(e) => Description::detail(posture_title(e.next_status))
            .body(&e.reason)
            .with("status", words(e.next_status))
            .with_some("wakes", e.wakes_at.as_ref()),
        Event::SchedulerDiagnostic(e) => Description::step("Scheduler notes")
            .body(&e.message)
            .with("finding", words(&e.kind)),
        Event::EffectOutcomeDropped(e) => Description::detail("Stale outcome ignored")
            .body(format!("effect {}", words(e.effect_id)))
            .with("generation", e.generation)
            .with("current generation", e.current_generation),
        _ => return None,
    })
}

const fn posture_title(status: AgentStatus) -> &'static str {
    match status {
        AgentStatus::Booting => "Agent starts",
        AgentStatus::AwakeIdle | AgentStatus::AwakeRunning => "Agent is awake",
        AgentStatus::Asleep => "Agent rests",
        AgentStatus::Stopped => "Agent is stopped",
    }
}

fn continuation(e: &ContinuationResolved) -> Description {
    Description::detail("Message taken up")
        .body(format!(
            "{} as {}; before it: {}",
            words(e.trigger_kind),
            words(e.class),
            words(e.prior_closure_outcome)
        ))
        .with("message", &e.message_id)
}

fn closure(e: &ClosureDecided) -> Description {
    let until = e.until.map_or_else(String::new, |until| {
        format!(", at the latest until {until}")
    });
    let closed = match (e.outcome, e.waiting_reason) {
        (ClosureOutcome::Waiting, reason) => {
            let reason = reason.map_or("for a message", waiting_words);
            Description::step("Agent waits").body(format!("{reason}{until}"))
        }
        (ClosureOutcome::Continuable, _) => {
            Description::detail("Agent goes on").body("work is left that needs no message")
        }
        (outcome, _) => {
            Description::detail("Agent rests").body(format!("{}{until}", words(outcome)))
        }
    };
    closed
        .role(Role::Detail)
        .with_some("turn", e.turn_index.as_ref())
}

const fn waiting_words(reason: WaitingReason) -> &'static str {
    match reason {
        WaitingReason::AwaitingOperatorInput => "for your answer",
        WaitingReason::AwaitingExternalChange => "for something outside",
        WaitingReason::AwaitingTaskResult => "for a task to end",
        WaitingReason::AwaitingTimer => "for a time to come",
    }
}

fn control_applied(e: &ControlApplied) -> Description {
    let title = match e.action.as_str() {
        "start" => "Agent started".to_owned(),
        "stop" => "Agent stopped".to_owned(),
        "archive" => "Agent archived".to_owned(),
        "delete" => "Agent is being deleted".to_owned(),
        other => format!("Operator request: {}", other.replace('_', " ")),
    };
    let applied = Description::outcome(title)
        .with("before", words(e.previous))
        .with("after", words(e.next));
    let counted = [(e.cancelled_timers, "timer"), (e.cancelled_waits, "wait")];
    let mut ended: Vec<String> = counted
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| {
            let verb = if count == 1 { "was" } else { "were" };
            let named = text::pluralize(u64::from(count), name);
            format!("{named} {verb} cancelled")
        })
        .collect();
    if e.aborted_run_id.is_some() {
        ended.insert(0, "its run was aborted".to_owned());
    }
    let applied = match ended.is_empty() {
        true => applied,
        false => applied.body(ended.join("; ")),
    };
    applied.with_some("run", e.aborted_run_id.as_ref())
}

fn tick_suppressed(e: &SystemTickSuppressed) -> Description {
    let until = e.until.map_or_else(
        || "until something changes".to_owned(),
        |until| format!("until {until}"),
    );
    Description::step("Work pauses")
        .body(format!("earlier turns changed nothing; {until}"))
        .with("reason", e.reason.replace('_', " "))
        .with_some("work item", e.work_item_id.as_ref())
}

fn workspace(event: &Event) -> Option<Description> {
    Some(match event {
        Event::WorkspaceUsed(e) => Description::step("Works in")
            .body(&e.cwd)
            .with("workspace", &e.workspace_id)
            .with("root", &e.execution_root),
        Event::WorkspaceAttached(e) => Description::step("Workspace attached")
            .body(&e.workspace_anchor)
            .with("workspace", &e.workspace_id),
        Event::WorkspaceDetached(e) => Description::step("Workspace detached")
            .body(&e.workspace_anchor)
            .with("workspace", &e.workspace_id),
        Event::WorkspaceExited(e) => Description::step("Left the workspace")
            .body(&e.execution_root)
            .with("workspace", &e.workspace_id),
        Event::WorkspaceOccupancyReleased(e) => Description::detail("Directory released")
            .body(&e.execution_root)
            .with("workspace", &e.workspace_id),
        Event::WorktreeEntered(e) => Description::step("Works in a worktree")
            .body(format!(
                "{} on branch {}",
                e.worktree_path, e.worktree_branch
            ))
            .with("workspace", &e.workspace_id)
            .with("base", &e.base_commit),
        Event::WorktreeExited(e) => Description::outcome("Left a worktree, which stays")
            .body(format!(
                "{} on branch {}",
                e.worktree_path, e.worktree_branch
            ))
            .with("workspace", &e.workspace_id),
        Event::WorktreeAutoCleanedUp(e) => {
            Description::step("Removed the worktree of an ended child").body(format!(
                "{} on branch {}",
                e.worktree_path, e.worktree_branch
            ))
        }
        Event::WorktreeRetainedForReview(e) => {
            Description::outcome("Kept the worktree of an ended child for a review").body(format!(
                "{} on branch {}: {}",
                e.worktree_path,
                e.worktree_branch,
                e.reasons.join("; ")
            ))
        }
        _ => return None,
    })
}
