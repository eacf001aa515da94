//! `NotifyOperator`: records a notification and brings it to the operator, or to the supervising parent of a private
//! child. It creates no wait, and the turn goes on.

use crate::draft::Draft;
use crate::outbox::{self, Deliverable};
use holon_domain::agent::Visibility as AgentVisibility;
use holon_domain::block::ToolCall;
use holon_domain::brief::BriefAttachment;
use holon_domain::delivery::{DeliveryContent, DeliveryTrigger, NotificationWindow};
use holon_domain::event::{Event, OperatorBoundary, OperatorNotificationRequested};
use holon_domain::send::AgentSend;
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind};
use holon_domain::turn::OpenTurn;
use holon_domain::visibility::Visibility;
use holon_domain::{AgentId, NotificationId, limits, text};
use serde_json::json;

/// Length of the window in which notifications are counted.
const HOUR_MS: u64 = 3_600_000;

/// Answers a call of `NotifyOperator`.
pub(super) fn notify(
    draft: &mut Draft<'_>,
    turn: &mut OpenTurn,
    call: &ToolCall,
    message: &str,
    files: &[String],
) -> ToolEnvelope {
    if let Some(error) = over_limit(draft, turn) {
        return ToolEnvelope::failure(&call.name, error);
    }
    let attachments = match check_files(draft, files) {
        Ok(attachments) => attachments,
        Err(error) => return ToolEnvelope::failure(&call.name, error),
    };
    attach(draft, turn, &attachments);
    turn.notifications += 1;
    let id = NotificationId::mint(draft.entropy);
    let summary = text::preview(message, limits::NOTIFICATION_SUMMARY_BYTES);
    count(draft, &id, &summary);
    let supervisor = supervisor(draft);
    let boundary = match &supervisor {
        Some(_) => OperatorBoundary::ParentSupervisor,
        None => OperatorBoundary::PrimaryOperator,
    };
    let agent_id = draft.agent.identity.agent_id.clone();
    let requested = OperatorNotificationRequested {
        notification_id: id.clone(),
        requested_by_agent_id: agent_id.clone(),
        target_operator_boundary: boundary,
        message: message.to_owned(),
        summary,
        work_item_id: turn.work_item_id.clone(),
        turn_index: turn.turn_index,
        message_seq: turn.message_seq,
        attachments: attachments.clone(),
    };
    draft.event(Event::OperatorNotificationRequested(requested.clone()));
    let told = match supervisor {
        Some(parent) => tell_supervisor(draft, turn, parent, message),
        None => tell_operator(draft, turn, id, message, &attachments),
    };
    let result = json!({ "notification": {
        "notification_id": requested.notification_id,
        "agent_id": agent_id,
        "requested_by_agent_id": requested.requested_by_agent_id,
        "target_operator_boundary": boundary,
        "message": requested.message,
        "summary": requested.summary,
        "attachments": requested.attachments,
        "work_item_id": requested.work_item_id,
        "correlation_id": turn.correlation_id,
        "causation_id": turn.message_id,
        "created_at": draft.now,
    }});
    ToolEnvelope::success(&call.name, told, result)
}

/// Checks the paths of files that a call attaches.
pub(super) fn check_files(
    draft: &Draft<'_>,
    files: &[String],
) -> Result<Vec<BriefAttachment>, ToolError> {
    if supervisor(draft).is_some() && !files.is_empty() {
        let reason =
            "what you report goes to the agent that made you, which cannot load files of your home";
        return Err(wrong_file(reason.to_owned()).hint("put into the text what it has to know"));
    }
    let own = &draft.agent.identity.agent_id;
    let attached = files.iter().map(|path| BriefAttachment::of_home(own, path));
    attached.collect::<Result<_, _>>().map_err(wrong_file)
}

/// Builds the refusal of a file that cannot be attached.
pub(super) fn wrong_file(reason: String) -> ToolError {
    ToolError::new(ToolErrorKind::InvalidToolInput, reason)
        .details(json!({ "field": "attachments" }))
}

/// Attaches files of the agent's home to the briefs of a turn, and lets operators download them.
pub(super) fn attach(draft: &mut Draft<'_>, turn: &mut OpenTurn, attachments: &[BriefAttachment]) {
    keep_attached(draft, attachments);
    for attachment in attachments {
        if !turn.attachments.contains(attachment) {
            turn.attachments.push(attachment.clone());
        }
    }
}

/// Returns the parent that supervises a private child. `None` for every other agent.
fn supervisor(draft: &Draft<'_>) -> Option<AgentId> {
    let identity = &draft.agent.identity;
    let parent = identity.lineage_parent_agent_id.clone()?;
    (identity.visibility == AgentVisibility::Private).then_some(parent)
}

fn tell_supervisor(
    draft: &mut Draft<'_>,
    turn: &OpenTurn,
    parent: AgentId,
    message: &str,
) -> String {
    let from = draft.agent.identity.agent_id.clone();
    let told =
        format!("recorded; it goes to your supervisor {parent}, and nothing waits for an answer");
    draft.send(
        parent,
        AgentSend::Notification {
            from,
            text: message.to_owned(),
            authority: turn.authority,
        },
    );
    told
}

fn tell_operator(
    draft: &mut Draft<'_>,
    turn: &OpenTurn,
    id: NotificationId,
    message: &str,
    attachments: &[BriefAttachment],
) -> String {
    let item = Deliverable {
        trigger: DeliveryTrigger::Notification,
        visibility: Visibility::ActionRequired,
        content: DeliveryContent::Words(message.to_owned()),
        brief_id: None,
        notification_id: Some(id),
        next_step: None,
        attachments: attachments.to_vec(),
    };
    match outbox::deliver(draft, turn, &item) {
        0 => "recorded; no delivery target is configured, so operators see it when they look; nothing waits for an answer"
            .to_owned(),
        count => format!(
            "recorded; {} on its way, and nothing waits for an answer",
            text::pluralize(count as u64, "delivery").replace("deliverys", "deliveries")
        ),
    }
}

/// Lets operators download attached files. The oldest of many are forgotten.
fn keep_attached(draft: &mut Draft<'_>, attachments: &[BriefAttachment]) {
    let kept = &mut draft.agent.outbox.attached;
    for attachment in attachments {
        kept.retain(|path| *path != attachment.name);
        kept.push(attachment.name.clone());
    }
    let excess = kept.len().saturating_sub(limits::ATTACHMENTS_KEPT);
    kept.drain(..excess);
}

/// Counts a notification in the current hour.
fn count(draft: &mut Draft<'_>, id: &NotificationId, summary: &str) {
    let now = draft.now;
    let window = draft.agent.outbox.notified.take();
    let current = window.filter(|window| now.millis_since(window.since) < HOUR_MS);
    let (since, count) = current.map_or((now, 0), |window| (window.since, window.count));
    draft.agent.outbox.notified = Some(NotificationWindow {
        since,
        count: count + 1,
        last_id: id.clone(),
        last_at: now,
        last_summary: summary.to_owned(),
    });
}

/// Returns the error of a call beyond a bound.
fn over_limit(draft: &Draft<'_>, turn: &OpenTurn) -> Option<ToolError> {
    let in_hour = draft.agent.outbox.notified.as_ref().filter(|window| {
        draft.now.millis_since(window.since) < HOUR_MS
            && window.count >= limits::NOTIFICATIONS_PER_HOUR
    });
    let reached = if turn.notifications >= limits::NOTIFICATIONS_PER_TURN {
        format!(
            "not sent: one turn may notify at most {} times",
            limits::NOTIFICATIONS_PER_TURN
        )
    } else if in_hour.is_some() {
        format!(
            "not sent: an agent may notify at most {} times in an hour",
            limits::NOTIFICATIONS_PER_HOUR
        )
    } else {
        return None;
    };
    let error = ToolError::new(ToolErrorKind::LimitReached, reached);
    Some(error.hint("put what is left into your answer or into the report of the work item"))
}
