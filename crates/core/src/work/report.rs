//! Completion reports: the text of the round that completed an item becomes its result summary and a brief.

use super::write;
use crate::draft::Draft;
use crate::input::CurrentRound;
use crate::outbox;
use crate::planted::{Fault, is_planted};
use holon_domain::brief::{BriefKind, BriefRow, BriefText};
use holon_domain::decision::Fact;
use holon_domain::event::{
    BriefCreated, Event, WorkItemCompletionReportPromoted, WorkItemCompletionWarning,
};
use holon_domain::intent::{Intent, WorkIntent};
use holon_domain::turn::{Completion, OpenTurn};
use holon_domain::{BriefId, WorkItemId, limits, text};

/// Warning for an agent that completed an item without a report.
pub(crate) const MISSING_REPORT: &str =
    "completed without a report: the completing message held no text";

/// Stores the text of a finished round as the report of the one completed item that had the focus. If several items
/// were completed, the runtime does not guess which one the text is about.
pub(crate) fn adopt_report(draft: &mut Draft<'_>, turn: &mut OpenTurn, round: &CurrentRound) {
    let completions = std::mem::take(&mut turn.completions);
    let focused: Vec<&Completion> = completions.iter().filter(|one| one.focused).collect();
    let [completion] = focused.as_slice() else {
        return;
    };
    let report = round.report();
    if report.is_empty() {
        draft.event(Event::WorkItemCompletionWarning(
            WorkItemCompletionWarning {
                work_item_id: completion.work_item_id.clone(),
                kind: "missing_report".to_owned(),
                message: MISSING_REPORT.to_owned(),
            },
        ));
        return;
    }
    let Some(mut item) = draft.work_item(&completion.work_item_id) else {
        return;
    };
    item.result_summary = Some(text::preview(&report, limits::RESULT_SUMMARY_BYTES));
    write(draft, item.clone(), "completed", Vec::new());
    let preview = text::preview(&report, limits::EVENT_PREVIEW_BYTES);
    draft.event(Event::WorkItemCompletionReportPromoted(
        WorkItemCompletionReportPromoted {
            work_item_id: item.id.clone(),
            turn_index: turn.turn_index,
            text_preview: preview.clone(),
        },
    ));
    let mut settles = Vec::new();
    if is_planted(Fault::ReportSettles) {
        settles.extend(turn.owes.iter().map(|owed| owed.id.clone()));
    }
    let seq = draft.next_brief();
    let row = BriefRow {
        id: BriefId::mint(draft.entropy),
        kind: BriefKind::Result,
        created_at: draft.now,
        text: BriefText::Round(round.entry),
        note: None,
        workspace_id: item.workspace_id.clone(),
        related_message_id: Some(turn.message_id.clone()),
        settles,
        turn_index: turn.turn_index,
        work_item_id: Some(item.id),
        acknowledges: Vec::new(),
        action_required: None,
        related_task_id: turn.task_id.clone(),
        spending: turn.brief_spending(),
    };
    draft.event(Event::BriefCreated(BriefCreated {
        brief_id: row.id.clone(),
        brief_seq: seq,
        kind: BriefKind::Result,
        turn_index: turn.turn_index,
        settles: Vec::new(),
        acknowledges: Vec::new(),
        text_preview: preview,
        action_required: None,
        related_task_id: turn.task_id.clone(),
        message_seq: Some(turn.message_seq),
    }));
    outbox::deliver_brief(draft, turn, seq, &row, true);
    draft.fact(Fact::BriefWritten { seq, row });
    draft.agent.last_brief_at = Some(draft.now);
    turn.delivery = Some(round.entry);
}

/// Stores the completion report before the round goes on in another commit, so that the completion and its report are
/// one. If a later call may complete another focused item, the report waits for the end of the round.
pub(crate) fn adopt_report_early(
    draft: &mut Draft<'_>,
    turn: &mut OpenTurn,
    round: &CurrentRound,
    from: usize,
) {
    let focused = turn.completions.iter().filter(|one| one.focused).count();
    let later: Vec<&WorkIntent> = round
        .calls()
        .skip(from)
        .filter_map(|(_, planned)| match planned {
            Some(Ok(Intent::Work(intent))) => Some(intent),
            Some(Ok(_) | Err(_)) | None => None,
        })
        .collect();
    let is_picked = |id: &WorkItemId| {
        let picks = |intent: &&WorkIntent| match intent {
            WorkIntent::Pick { work_item_id, .. } => work_item_id == id,
            _ => false,
        };
        later.iter().any(picks)
    };
    let may_complete = |intent: &&WorkIntent| match intent {
        WorkIntent::Complete { work_item_id } => is_picked(work_item_id),
        _ => false,
    };
    if focused == 1 && !later.iter().any(may_complete) {
        adopt_report(draft, turn, round);
    }
}
