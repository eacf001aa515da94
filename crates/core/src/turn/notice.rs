//! Notices: briefs about an open turn whose prompt waits for a provider or needs an operator.
//!
//! A notice settles nothing. Each prompt still gets its one outcome.

use super::suspension::DecisiveFailure;
use crate::draft::Draft;
use crate::input::FailedAttempt;
use crate::outbox;
use holon_domain::brief::{ActionCode, ActionRequired, BriefKind, BriefRow, BriefText};
use holon_domain::decision::Fact;
use holon_domain::event::{BriefCreated, Event};
use holon_domain::model::ModelRef;
use holon_domain::queue::MessageSeq;
use holon_domain::turn::{OpenTurn, SuspensionReason};
use holon_domain::{BriefId, MessageId, Timestamp, limits, text};

/// Tells operators once about each prompt that will have waited a minute when this pause ends. This includes prompts
/// queued behind the turn, because the outage delays them too.
pub(super) fn acknowledge(
    draft: &mut Draft<'_>,
    turn: &OpenTurn,
    failed: &FailedAttempt,
    until: Timestamp,
) {
    let waits_long = |since: Timestamp| until.millis_since(since) >= limits::ACKNOWLEDGE_AFTER_MS;
    let since = turn.patience.since.unwrap_or(draft.now);
    if turn.attended || !waits_long(since) {
        return;
    }
    let told = take_unacknowledged(draft, turn, failed, waits_long);
    if told.is_empty() {
        return;
    }
    let words = format!(
        "still waiting for an answer of {}: {}. It is asked again at {until} by itself, and at once if you write.",
        turn.model_ref(),
        trimmed(&failed.failure.message),
    );
    write(draft, turn, told, BriefKind::Ack, &words, None);
}

/// Tells the operator that the turn cannot continue without them, once until they act or the reason changes. It is not
/// an outcome and not a failure.
pub(super) fn request_action(
    draft: &mut Draft<'_>,
    turn: &mut OpenTurn,
    told: &DecisiveFailure,
    reason: SuspensionReason,
) {
    if turn.patience.action_requested.replace(reason) == Some(reason) {
        return;
    }
    let action = action_for(draft, &told.model_ref, reason);
    let words = format!(
        "waiting for you: {}. Next step: {}.",
        trimmed(&told.error),
        action.next_step
    );
    write(
        draft,
        turn,
        Vec::new(),
        BriefKind::Ack,
        &words,
        Some(action),
    );
}

/// Tells the operator once that a budget has no room for the turn, until that budget is changed.
pub(super) fn request_budget(
    draft: &mut Draft<'_>,
    turn: &mut OpenTurn,
    limit: String,
    told: &str,
    action: ActionRequired,
) {
    let reason = SuspensionReason::BudgetReached;
    let was_asked = turn.patience.action_requested.replace(reason) == Some(reason);
    let is_known = turn.patience.told_limit.as_ref() == Some(&limit);
    turn.patience.told_limit = Some(limit);
    if was_asked || is_known {
        return;
    }
    let words = format!("waiting for you: {told}. Next step: {}.", action.next_step);
    let kind = BriefKind::Ack;
    write(draft, turn, Vec::new(), kind, &words, Some(action));
}

fn action_for(draft: &Draft<'_>, model: &str, reason: SuspensionReason) -> ActionRequired {
    let (code, mend) = match reason {
        SuspensionReason::Auth => return renewal_action(draft, model),
        SuspensionReason::ModelUnavailable => (
            ActionCode::ModelUnavailable,
            format!(
                "choose a model that can be asked in place of {model} (`holon config models list` shows them)"
            ),
        ),
        SuspensionReason::BudgetReached => (
            ActionCode::BudgetReached,
            "raise the budget (`holon budget show` lists them)".to_owned(),
        ),
        SuspensionReason::Quota => (
            ActionCode::ProviderUnavailable,
            format!("get a new allowance for {model}, or choose another model"),
        ),
        SuspensionReason::ProviderTrouble | SuspensionReason::Network => {
            let hours = draft.host.provider_patience_ms / 3_600_000;
            let patience = text::pluralize(hours, "hour");
            (
                ActionCode::ProviderUnavailable,
                format!(
                    "see why {model} did not answer for {patience} of waiting, or choose another model"
                ),
            )
        }
    };
    ActionRequired {
        code,
        next_step: format!("{mend}; {SEND_A_MESSAGE}"),
    }
}

/// How an operator makes a turn continue that the host does not resume by itself.
const SEND_A_MESSAGE: &str =
    "then send any message or start the agent: the turn goes on where it stopped";

/// Names the step that renews the refused credential of a model's provider.
fn renewal_action(draft: &Draft<'_>, model: &str) -> ActionRequired {
    let parsed = ModelRef::parse(model).ok();
    let renewal = parsed.and_then(|model| draft.host.models.renewal_of(&model));
    let next_step = match renewal {
        Some(renewal) if renewal.is_noticed => format!(
            "{}; the turn then goes on by itself where it stopped",
            renewal.step
        ),
        Some(renewal) => format!("{}; {SEND_A_MESSAGE}", renewal.step),
        None => format!(
            "give {model} a credential (`holon config doctor` shows what is wrong); {SEND_A_MESSAGE}"
        ),
    };
    ActionRequired {
        code: ActionCode::ProviderAuth,
        next_step,
    }
}

/// Returns the waiting prompts without a notice: those the turn owes an outcome, those that joined the request and
/// those queued behind it. They count as acknowledged from now on.
fn take_unacknowledged(
    draft: &mut Draft<'_>,
    turn: &OpenTurn,
    failed: &FailedAttempt,
    waits: impl Fn(Timestamp) -> bool,
) -> Vec<MessageId> {
    let since = turn.patience.since.unwrap_or(draft.now);
    let owed = turn.owes.iter().map(|owed| (owed.seq, since, &owed.id));
    let joined = failed
        .interjected
        .iter()
        .filter(|entry| entry.envelope.owes_outcome())
        .map(|entry| {
            let since = since.max(entry.envelope.created_at);
            (entry.seq, since, &entry.envelope.id)
        });
    let queued = draft.queued_prompts();
    let behind = queued
        .iter()
        .filter(|prompt| {
            failed
                .interjected
                .iter()
                .all(|entry| entry.seq != prompt.seq)
        })
        .map(|prompt| (prompt.seq, since.max(prompt.created_at), &prompt.id));
    let new = |seq: MessageSeq| !draft.agent.acknowledged.contains(&seq);
    let told: Vec<(MessageSeq, MessageId)> = owed
        .chain(joined)
        .chain(behind)
        .filter(|(seq, since, _)| new(*seq) && waits(*since))
        .map(|(seq, _, id)| (seq, id.clone()))
        .collect();
    draft
        .agent
        .acknowledged
        .extend(told.iter().map(|(seq, _)| *seq));
    told.into_iter().map(|(_, id)| id).collect()
}

fn write(
    draft: &mut Draft<'_>,
    turn: &OpenTurn,
    acknowledges: Vec<MessageId>,
    kind: BriefKind,
    words: &str,
    action_required: Option<ActionRequired>,
) {
    let seq = draft.next_brief();
    let row = BriefRow {
        id: BriefId::mint(draft.entropy),
        kind,
        created_at: draft.now,
        text: BriefText::Words(words.to_owned()),
        note: None,
        workspace_id: turn.workspace.workspace_id.clone(),
        related_message_id: Some(turn.message_id.clone()),
        settles: Vec::new(),
        turn_index: turn.turn_index,
        work_item_id: turn.work_item_id.clone(),
        acknowledges: acknowledges.clone(),
        action_required,
        related_task_id: turn.task_id.clone(),
        spending: turn.brief_spending(),
        attachments: Vec::new(),
    };
    draft.event(Event::BriefCreated(BriefCreated {
        brief_id: row.id.clone(),
        brief_seq: seq,
        kind,
        turn_index: turn.turn_index,
        settles: Vec::new(),
        acknowledges,
        text_preview: text::preview(words, limits::EVENT_PREVIEW_BYTES),
        text: None,
        action_required: row.action_required.as_ref().map(|action| action.code),
        related_task_id: turn.task_id.clone(),
        attachments: row.attachments.clone(),
        message_seq: Some(turn.message_seq),
    }));
    outbox::deliver_brief(draft, turn, seq, &row, false);
    draft.fact(Fact::BriefWritten { seq, row });
    draft.agent.last_brief_at = Some(draft.now);
}

/// Tells the operator about a problem that only they can solve, without settling any message.
pub(crate) fn write_notice(
    draft: &mut Draft<'_>,
    turn: &OpenTurn,
    words: &str,
    action: ActionRequired,
) {
    write(draft, turn, Vec::new(), BriefKind::Ack, words, Some(action));
}

/// Tells the operator that work continues after the turn that answered them.
pub(super) fn write_progress(draft: &mut Draft<'_>, turn: &OpenTurn, words: &str) {
    write(draft, turn, Vec::new(), BriefKind::Ack, words, None);
}

/// Removes the final full stop of a provider's sentence, so that text can follow it.
fn trimmed(sentence: &str) -> &str {
    sentence.trim_end_matches(['.', ' '])
}
