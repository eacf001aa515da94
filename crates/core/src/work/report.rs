//! Completion reports: the text of the round that completed an item becomes its delivery summary. The item keeps its
//! beginning, and a brief that points to it tells the operator.

use super::write;
use crate::draft::Draft;
use crate::input::CurrentRound;
use crate::outbox;
use crate::planted::{Fault, is_planted};
use holon_domain::brief::{BriefKind, BriefRow, BriefText};
use holon_domain::decision::{BriefSeq, Fact};
use holon_domain::event::{
    BriefCreated, Event, WorkItemCompletionReportPromoted, WorkItemCompletionWarning,
};
use holon_domain::intent::{Intent, WorkIntent};
use holon_domain::turn::{Completion, OpenTurn};
use holon_domain::work_item::{
    ASSISTANT_ROUND, DeliverySummary, DeliverySummaryRow, ReportText, WorkItemRecord,
};
use holon_domain::{BriefId, DeliverySummaryId, WorkItemId, limits, text};

/// Warning for an agent that completed an item without a report.
pub(crate) const MISSING_REPORT: &str =
    "completed without a report: the completing message held no text";

/// Stores the text of a finished round as the report of the one completed item that had the focus, or else of the only
/// one that was completed. If several items were completed, the runtime does not guess which one the text is about.
pub(crate) fn adopt_report(draft: &mut Draft<'_>, turn: &mut OpenTurn, round: &CurrentRound) {
    let is_taken = is_taken(turn, round);
    let completions = std::mem::take(&mut turn.completions);
    let Some(completion) = reported(&completions).filter(|_| !is_taken) else {
        return;
    };
    let report = round.report();
    if report.is_empty() {
        draft.event(missing_report(&completion.work_item_id));
        return;
    }
    let Some(mut item) = draft.work_item(&completion.work_item_id) else {
        return;
    };
    let brief_id = BriefId::mint(draft.entropy);
    let seq = draft.next_brief();
    let summary = DeliverySummaryRow {
        id: DeliverySummaryId::of_item(&item.id),
        work_item_id: item.id.clone(),
        agent_id: item.agent_id.clone(),
        text: ReportText::Round(round.entry),
        delivery: DeliverySummary {
            source: ASSISTANT_ROUND.to_owned(),
            brief_id,
            brief_seq: Some(seq),
            message_id: turn.message_id.clone(),
            turn_index: turn.turn_index,
            created_at: draft.now,
        },
    };
    item.result_summary = Some(text::preview(&report, limits::RESULT_SUMMARY_BYTES));
    item.delivery_summary_id = Some(summary.id.clone());
    write(draft, item.clone(), "completed", Vec::new());
    turn.delivery = Some(round.entry);
    turn.delivery_summary_id = Some(summary.id.clone());
    tell(draft, turn, seq, &item, &summary);
    if !is_planted(Fault::SummaryForgotten) {
        draft.fact(Fact::DeliverySummaryWritten(Box::new(summary)));
    }
}

/// Tells the operator the report of a completed item, by a brief that points to its delivery summary.
fn tell(
    draft: &mut Draft<'_>,
    turn: &OpenTurn,
    seq: BriefSeq,
    item: &WorkItemRecord,
    summary: &DeliverySummaryRow,
) {
    let beginning = item.result_summary.as_deref().unwrap_or_default();
    let preview = text::preview(beginning, limits::EVENT_PREVIEW_BYTES);
    draft.event(Event::WorkItemCompletionReportPromoted(
        WorkItemCompletionReportPromoted {
            work_item_id: item.id.clone(),
            turn_index: turn.turn_index,
            text_preview: preview.clone(),
        },
    ));
    let origin = &summary.delivery;
    let owed = turn.owes.iter().map(|owed| owed.id.clone());
    let settles = owed.filter(|_| is_planted(Fault::ReportSettles)).collect();
    let row = BriefRow {
        id: origin.brief_id.clone(),
        kind: BriefKind::Result,
        created_at: origin.created_at,
        text: BriefText::Report(summary.id.clone()),
        note: None,
        workspace_id: item.workspace_id.clone(),
        related_message_id: Some(origin.message_id.clone()),
        settles,
        turn_index: origin.turn_index,
        work_item_id: Some(item.id.clone()),
        acknowledges: Vec::new(),
        action_required: None,
        related_task_id: turn.task_id.clone(),
        spending: turn.brief_spending(),
        attachments: turn.attachments.clone(),
    };
    draft.event(Event::BriefCreated(BriefCreated {
        brief_id: row.id.clone(),
        brief_seq: seq,
        kind: BriefKind::Result,
        turn_index: turn.turn_index,
        settles: Vec::new(),
        acknowledges: Vec::new(),
        text_preview: preview,
        text: None,
        action_required: None,
        related_task_id: turn.task_id.clone(),
        attachments: row.attachments.clone(),
        message_seq: Some(turn.message_seq),
    }));
    outbox::deliver_brief(draft, turn, seq, &row, true);
    draft.fact(Fact::BriefWritten { seq, row });
    draft.agent.last_brief_at = Some(draft.now);
}

/// Returns the warning about an item that was completed without a report.
fn missing_report(id: &WorkItemId) -> Event {
    Event::WorkItemCompletionWarning(WorkItemCompletionWarning {
        work_item_id: id.clone(),
        kind: "missing_report".to_owned(),
        message: MISSING_REPORT.to_owned(),
    })
}

/// Returns true if the text of the round is the report of this item, as far as the calls up to now decide.
pub(crate) fn is_reported(turn: &OpenTurn, round: &CurrentRound, id: &WorkItemId) -> bool {
    let reported = reported(&turn.completions).filter(|_| !is_taken(turn, round));
    reported.is_some_and(|completion| completion.work_item_id == *id)
}

/// Returns true if the text of the round is the report of an item already, because the round went on in another commit.
fn is_taken(turn: &OpenTurn, round: &CurrentRound) -> bool {
    turn.delivery == Some(round.entry)
}

/// Returns the completion that the text of a round reports on.
fn reported(completions: &[Completion]) -> Option<&Completion> {
    let focused: Vec<&Completion> = completions.iter().filter(|one| one.focused).collect();
    match (focused.as_slice(), completions) {
        ([focused], _) => Some(focused),
        ([], [only]) => Some(only),
        (_, _) => None,
    }
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
    let is_sole = focused == 0 && turn.completions.len() == 1;
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
        WorkIntent::Complete { work_item_id, .. } => is_picked(work_item_id),
        _ => false,
    };
    let completes = |intent: &&WorkIntent| matches!(intent, WorkIntent::Complete { .. });
    let sole_stays = is_sole && !later.iter().any(completes);
    if sole_stays || focused == 1 && !later.iter().any(may_complete) {
        adopt_report(draft, turn, round);
    }
}
