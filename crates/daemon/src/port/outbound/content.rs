//! Builds what is posted: the headers and the body of a delivery for each kind of receiver.

use super::attached::Parcel;
use holon_domain::delivery::{DeliveryRecord, DeliveryTrigger, Submission, TargetKind};
use holon_domain::visibility::Visibility;
use holon_engine::ports::Destination;
use serde_json::{Value, json};
use std::borrow::Cow;

/// A delivery as it is posted, without its authentication.
pub(super) struct Content {
    /// Id of the delivery, which every attempt repeats.
    pub(super) id: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

/// Builds the content for a destination.
pub(super) fn content_of(destination: &Destination, parcel: &Parcel<'_>) -> Content {
    let delivery = parcel.delivery;
    let id = delivery.record.id.to_string();
    let mut headers = vec![("idempotency-key".to_owned(), id.clone())];
    let is_topic = matches!(
        destination,
        Destination::Target(target) if matches!(target.kind, TargetKind::Ntfy { .. })
    );
    let body = if is_topic {
        headers.push(("title".to_owned(), title(delivery)));
        headers.push(("priority".to_owned(), priority(&delivery.record).to_owned()));
        words(parcel).into_owned().into_bytes()
    } else {
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
        let mut body = message(parcel);
        if let Destination::Binding(binding) = destination {
            body["binding_id"] = json!(binding.binding_id);
            body["route_id"] = json!(delivery.record.route_id);
            if let Some(key_id) = &binding.delivery_auth.key_id {
                headers.push(("webhook-key-id".to_owned(), key_id.clone()));
            }
        }
        body.to_string().into_bytes()
    };
    Content { id, headers, body }
}

/// Builds the JSON body. Fields without a value are left out.
fn message(parcel: &Parcel<'_>) -> Value {
    let delivery = parcel.delivery;
    let record = &delivery.record;
    let mut body = json!({
        "delivery_intent_id": record.id,
        "target_agent_id": delivery.agent_id,
        "kind": "operator_output",
        "trigger": record.trigger,
        "visibility": record.visibility,
        "title": title(delivery),
        "text": words(parcel),
        "next_step": record.next_step,
        "work_item_id": record.work_item_id,
        "notification_id": record.notification_id,
        "created_at": record.created_at,
        "correlation_id": record.correlation_id,
        "causation_id": record.causation_id,
        "attachments": (!parcel.files.is_empty()).then_some(&parcel.files),
    });
    if let Some(fields) = body.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    body
}

/// Returns the words of a delivery: its text, what is asked of the operator, and a line for each attached file.
pub(super) fn words<'a>(parcel: &Parcel<'a>) -> Cow<'a, str> {
    let words = asking_words(parcel.delivery);
    match parcel.lines() {
        none if none.is_empty() => words,
        lines if words.is_empty() => Cow::Owned(lines),
        lines => Cow::Owned(format!("{}\n\n{lines}", words.trim_end())),
    }
}

/// Returns the text with what is asked of the operator, unless it ends with that: with the whole step, or with the asked
/// words as a line of their own. The words of a turn often tell of its work and not of its question, and a phone shows the
/// text alone.
fn asking_words(delivery: &Submission) -> Cow<'_, str> {
    let text = delivery.text.trim_end();
    let Some(step) = &delivery.record.next_step else {
        return Cow::Borrowed(&delivery.text);
    };
    // The step often stands at the end of a sentence.
    let (said, step_words) = (text.trim_end_matches('.'), step.trim_end_matches('.'));
    let asked = step_words
        .split_once(": ")
        .map_or(step_words, |(_, asked)| asked);
    let has_step = said.ends_with(step_words) || said.lines().last() == Some(asked);
    match has_step {
        true => Cow::Borrowed(&delivery.text),
        false if text.is_empty() => Cow::Borrowed(step),
        false => Cow::Owned(format!("{text}\n\n{step}")),
    }
}

/// Returns one line that says whose delivery it is and why it comes.
pub(super) fn title(delivery: &Submission) -> String {
    let agent = &delivery.agent_id;
    match delivery.record.trigger {
        DeliveryTrigger::Notification => format!("{agent} has a notice for you"),
        DeliveryTrigger::OperatorInputRequired => format!("{agent} needs you"),
        DeliveryTrigger::WorkItemDone => format!("{agent} has completed work"),
        DeliveryTrigger::WorkItemBlocked => format!("{agent} is stuck"),
        DeliveryTrigger::TaskResult | DeliveryTrigger::TurnResult => format!("{agent} answered"),
    }
}

const fn priority(record: &DeliveryRecord) -> &'static str {
    match record.visibility {
        Visibility::ActionRequired => "high",
        Visibility::WorkDone
        | Visibility::TurnResult
        | Visibility::Progress
        | Visibility::Trace => "default",
    }
}
