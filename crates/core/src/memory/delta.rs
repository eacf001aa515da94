//! Describes a change of the working memory for the next prompt, in a few lines.

use super::one_line;
use holon_domain::limits::MEMORY_DELTA_LINES;
use holon_domain::memory::{
    MemoryChangeReason, MemoryField, WorkingMemory, WorkingMemoryDelta, WorkingMemoryState,
};
use holon_domain::message::MessageKind;
use holon_domain::turn::OpenTurn;

/// Describes the change from `old` to the snapshot in `after`, whose revision is already raised. A change that no prompt
/// has shown yet becomes part of the new one.
pub(super) fn describe(
    old: &WorkingMemory,
    after: &WorkingMemoryState,
    changed: &[MemoryField],
    turn: &OpenTurn,
) -> WorkingMemoryDelta {
    let new = &after.current_working_memory;
    let unseen = after.pending_working_memory_delta.as_ref();
    let mut changed_fields = unseen.map_or_else(Vec::new, |delta| delta.changed_fields.clone());
    for field in changed {
        if !changed_fields.contains(field) {
            changed_fields.push(*field);
        }
    }
    let lines = changed.iter().filter_map(|field| line(*field, old, new));
    let earlier = unseen.map_or(&[][..], |delta| &delta.summary_lines);
    let mut summary_lines: Vec<String> = lines.collect();
    for line in earlier {
        if !summary_lines.contains(line) {
            summary_lines.push(line.clone());
        }
    }
    summary_lines.truncate(MEMORY_DELTA_LINES);
    WorkingMemoryDelta {
        from_revision: after.last_prompted_working_memory_revision,
        to_revision: after.working_memory_revision,
        created_at_turn: turn.turn_index,
        reason: reason(changed, turn.message_kind),
        changed_fields,
        summary_lines,
    }
}

fn reason(changed: &[MemoryField], began_by: MessageKind) -> MemoryChangeReason {
    if changed.contains(&MemoryField::CurrentWorkItemId) {
        return MemoryChangeReason::ActiveWorkChanged;
    }
    if changed == [MemoryField::ScopeHints] {
        return MemoryChangeReason::ScopeHintsChanged;
    }
    match began_by {
        MessageKind::TaskResult => MemoryChangeReason::TaskRejoined,
        MessageKind::TimerTick
        | MessageKind::SystemTick
        | MessageKind::CallbackEvent
        | MessageKind::WebhookEvent
        | MessageKind::ChannelEvent => MemoryChangeReason::WakeResumed,
        MessageKind::OperatorPrompt
        | MessageKind::TaskStatus
        | MessageKind::Control
        | MessageKind::BriefAck
        | MessageKind::BriefResult
        | MessageKind::InternalFollowup => MemoryChangeReason::TerminalTurnCompleted,
    }
}

/// Says what became of a part. `None` if another part says it.
fn line(field: MemoryField, old: &WorkingMemory, new: &WorkingMemory) -> Option<String> {
    let of_item = old.current_work_item_id == new.current_work_item_id;
    let text = match field {
        MemoryField::CurrentWorkItemId => match (&new.current_work_item_id, &new.objective) {
            (Some(id), objective) => {
                format!(
                    "work item {id}: {}",
                    objective.as_deref().unwrap_or_default()
                )
            }
            (None, _) => "no work item has the focus".to_owned(),
        },
        MemoryField::Objective if of_item => format!("objective: {}", new.objective.as_ref()?),
        MemoryField::WorkSummary => format!("progress: {}", new.work_summary.as_ref()?),
        MemoryField::ScopeHints if new.scope_hints.is_empty() => {
            "place of work: your home".to_owned()
        }
        MemoryField::ScopeHints => format!("place of work: {}", new.scope_hints.join(", ")),
        MemoryField::Plan if of_item => "the plan changed".to_owned(),
        MemoryField::WorkingSetFiles => {
            let added = new.working_set_files.iter();
            let added = added.filter(|file| !old.working_set_files.contains(file));
            let added: Vec<&str> = added.map(String::as_str).collect();
            (!added.is_empty()).then(|| format!("files changed: {}", added.join(", ")))?
        }
        MemoryField::RecentDecisions => format!("said: {}", new.recent_decisions.first()?),
        MemoryField::WaitingOn if new.waiting_on.is_empty() => {
            "nothing is waited for any more".to_owned()
        }
        MemoryField::WaitingOn => format!("waiting on: {}", new.waiting_on.join("; ")),
        MemoryField::Objective
        | MemoryField::Plan
        | MemoryField::TodoList
        | MemoryField::PendingFollowups
        | MemoryField::Other => return None,
    };
    one_line(&text)
}
