//! Makes an agent from the durable record of an archive, in one decision.
//!
//! The agent begins stopped, in its own home: its operator looks at it before it runs. Its timers are those of a stopped
//! agent, so the policy of each decides at the start about slots that have passed. An archive comes from anywhere, so
//! every text and id of the record is checked by the limits of an operator's command.

use crate::draft::{Draft, check_settings_size};
use crate::input::{HostConditions, NewAgent};
use crate::lifecycle::GivenNumbers;
use crate::rejection::Rejection;
use crate::work::check;
use crate::{lifecycle, timer, trigger, work, workspace};
use holon_domain::agent::{AgentSettings, Lifecycle, ProfilePreset};
use holon_domain::archive::{ArchiveRecord, ArchivedWorkItem, ImportOrigin};
use holon_domain::decision::Decision;
use holon_domain::event::{AgentCreated, Event};
use holon_domain::timer::DueAction;
use holon_domain::work_item::{WorkItemRecord, WorkItemState};
use holon_domain::workspace::{AttachedWorkspace, WorkspaceSet};
use holon_domain::{Entropy, Timestamp, limits};
use std::collections::BTreeSet;

/// Longest id in a record, in bytes.
const ID_BYTES: usize = 64;

/// Checks a record before anything is made from it.
///
/// # Errors
/// Names the rule that the record breaks.
pub fn check_record(record: &ArchiveRecord, now: Timestamp) -> Result<(), String> {
    match record.profile_preset {
        ProfilePreset::PublicNamed => {}
        // An import makes a public agent, which must not have more families than its source.
        ProfilePreset::PrivateChild => {
            return Err(
                "it is the archive of a private child, which has no life of its own".to_owned(),
            );
        }
    }
    check_counts(record)?;
    let ids = record.work_items.iter().map(|item| item.id.as_str());
    check_ids("work item", "work_", ids)?;
    let ids = record.timers.iter().map(|timer| timer.id.as_str());
    check_ids("timer", "timer_", ids)?;
    for item in &record.work_items {
        check_item(item).map_err(|reason| format!("work item {}: {reason}", item.id))?;
    }
    if let Some(current) = &record.current_work_item_id {
        let is_open =
            |item: &ArchivedWorkItem| item.id == *current && item.state == WorkItemState::Open;
        if !record.work_items.iter().any(is_open) {
            return Err(format!(
                "the current work item {current} is no open item of it"
            ));
        }
    }
    for archived in &record.timers {
        let refuse = |reason: String| format!("timer {}: {reason}", archived.id);
        check::check_schedule(&archived.schedule).map_err(|error| refuse(error.to_string()))?;
        check::check_summary(archived.summary.as_deref())
            .map_err(|error| refuse(error.to_string()))?;
        timer::check_imported(archived, now).map_err(|error| refuse(error.message))?;
    }
    Ok(())
}

fn check_counts(record: &ArchiveRecord) -> Result<(), String> {
    let counts = [
        (
            "work items",
            record.work_items.len(),
            limits::ARCHIVE_WORK_ITEMS,
        ),
        (
            "timers",
            record.timers.len(),
            limits::ACTIVE_TIMERS as usize,
        ),
        (
            "workspaces",
            record.workspaces.len(),
            limits::ATTACHED_WORKSPACES,
        ),
    ];
    match counts.into_iter().find(|(_, count, max)| count > max) {
        Some((what, count, max)) => Err(format!("it has {count} {what}, and the limit is {max}")),
        None => Ok(()),
    }
}

/// Checks that ids are single safe path components, each used once. The folder of a plan is named by one.
fn check_ids<'a>(
    what: &str,
    prefix: &str,
    ids: impl Iterator<Item = &'a str>,
) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for id in ids {
        let rest = id.strip_prefix(prefix).filter(|_| id.len() <= ID_BYTES);
        let is_plain =
            rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        if !is_plain {
            return Err(format!("{id:?} is no id of a {what}"));
        }
        if !seen.insert(id) {
            return Err(format!("{what} {id} is in it twice"));
        }
    }
    Ok(())
}

fn check_item(item: &ArchivedWorkItem) -> Result<(), String> {
    let text = |what: &str, text: &str, max: usize| {
        check::check_text(what, text, max).map_err(|error| error.to_string())
    };
    check::check_words("objective", &item.objective, limits::OBJECTIVE_CHARACTERS)
        .map_err(|error| error.to_string())?;
    check::check_todos(&item.todo_list).map_err(|error| error.to_string())?;
    if let Some(blocker) = &item.blocked_by {
        text("blocker", blocker, limits::BLOCKED_BY_BYTES)?;
    }
    if let Some(report) = &item.result_summary {
        text("report", report, limits::RESULT_SUMMARY_BYTES)?;
    }
    let preview = item.plan.as_ref().map_or(0, |plan| plan.preview.len());
    if preview > limits::PLAN_PREVIEW_BYTES {
        return Err(format!("the preview of its plan has {preview} bytes"));
    }
    Ok(())
}

/// An agent that is to be made from an archive.
#[derive(Debug, Clone)]
pub struct ImportedAgent {
    pub new: NewAgent,
    /// A record that [`check_record`] has accepted. Its workspaces are those that may be attached on this host.
    pub record: ArchiveRecord,
    pub origin: ImportOrigin,
}

/// Makes a stopped agent from an archive.
#[must_use]
pub fn import(
    imported: ImportedAgent,
    host: &HostConditions,
    given: GivenNumbers,
    now: Timestamp,
    entropy: &mut dyn Entropy,
) -> Decision {
    let ImportedAgent {
        new,
        record,
        origin,
    } = imported;
    let created = AgentCreated {
        kind: new.identity.kind,
        profile_preset: new.identity.profile_preset,
        workspace_id: new.workspace.workspace_id.clone(),
        imported_from: Some(origin),
    };
    let mut view = lifecycle::new_view(new, given, now);
    view.agent.lifecycle = Lifecycle::Stopped;
    take_settings(&mut view.agent.settings, &record);
    let mut draft = Draft::new(view, host, now, entropy);
    draft.take_generation();
    draft.event(Event::AgentCreated(created));
    let given = AttachedWorkspace::of(&draft.agent.workspace);
    workspace::register(&mut draft, &given);
    for attached in &record.workspaces {
        workspace::register(&mut draft, attached);
    }
    trigger::provision(&mut draft);
    restore_work(&mut draft, &record);
    draft.decide_alone()
}

/// Refuses an agent whose settings would be larger than they may be with those of its archive.
///
/// # Errors
/// `TooLarge` with the size of the settings.
pub fn check_settings(imported: &ImportedAgent, now: Timestamp) -> Result<(), Rejection> {
    let mut settings = lifecycle::new_settings(imported.new.clone(), now);
    take_settings(&mut settings, &imported.record);
    check_settings_size(&settings)
}

/// Takes the model and the workspaces of an archive into the settings of a new agent.
fn take_settings(settings: &mut AgentSettings, record: &ArchiveRecord) {
    if let Some(model) = &record.model {
        settings.set_model(Some(model.model.clone()), model.options());
    }
    settings.thread_tokens = record.thread_tokens;
    let mut attached = WorkspaceSet::default();
    for workspace in &record.workspaces {
        attached.attach(workspace.clone());
    }
    settings.attached = attached;
}

/// Stores the items, the focus and the timers.
fn restore_work(draft: &mut Draft<'_>, record: &ArchiveRecord) {
    let agent_id = draft.agent.identity.agent_id.clone();
    let items = record.work_items.iter();
    let items: Vec<WorkItemRecord> = items.map(|item| item.to_item(agent_id.clone())).collect();
    let current = record.current_work_item_id.as_ref();
    // The focus comes first, so that the current item is not offered as queued work too.
    if let Some(item) = items.iter().find(|item| Some(&item.id) == current) {
        work::move_focus(draft, item);
    }
    for mut item in items {
        plan_recheck(draft, &mut item);
        draft.note_new_item(&item.id);
        work::store(draft, item);
    }
    for archived in &record.timers {
        timer::restore(draft, archived.to_timer(agent_id.clone()));
    }
}

/// Plans the reminder of a blocked item that was not shown yet. One that is overdue comes at once.
fn plan_recheck(draft: &mut Draft<'_>, item: &mut WorkItemRecord) {
    if item.state == WorkItemState::Completed || item.blocked_by.is_none() {
        item.recheck = None;
    }
    let id = item.id.clone();
    if let Some(recheck) = &mut item.recheck
        && recheck.consumed_at.is_none()
    {
        let due = DueAction::Recheck { work_item_id: id };
        recheck.due = Some(draft.set_due(recheck.at.max(draft.now), due));
    }
}
