//! Deliveries to external triggers: a wake becomes a hint, content of the other mode becomes a message.

use crate::admission;
use crate::draft::Draft;
use crate::hint;
use crate::ingress::Ingress;
use crate::input::Reply;
use crate::planted::{Fault, is_planted};
use crate::rejection::Rejection;
use holon_domain::agent::Lifecycle;
use holon_domain::authority::AuthorityClass;
use holon_domain::event::{CallbackDelivered, Event};
use holon_domain::message::{AdmissionContext, DeliverySurface, MessageKind, Origin, Priority};
use holon_domain::trigger::{
    CallbackDelivery, CallbackDisposition, CallbackReceipt, DeliveryMode, LastDelivery,
    TriggerRecord, WakeHint,
};
use holon_domain::wait::WaitRecord;
use holon_domain::{Timestamp, limits, text};
use serde_json::json;

/// Accepts a delivery. The token was checked against the rows before this decision, which may have changed since.
pub(crate) fn deliver(
    draft: &mut Draft<'_>,
    delivery: &CallbackDelivery,
) -> Result<Reply, Rejection> {
    let mut trigger = judge(draft, delivery)?;
    let receipt = match trigger.delivery_mode {
        DeliveryMode::WakeHint => wake(draft, &trigger, delivery)?,
        DeliveryMode::EnqueueMessage => enqueue(draft, &trigger, delivery)?,
    };
    trigger.trigger_count += 1;
    trigger.last_triggered_at = Some(draft.now);
    trigger.last_delivery = Some(LastDelivery {
        at: draft.now,
        disposition: receipt.disposition,
        bytes: delivery.content.bytes,
        delivery_id: delivery.delivery_id.clone(),
        source: delivery.source.clone(),
        content_type: delivery.content.content_type.as_deref().map(shown),
    });
    draft.event(Event::CallbackDelivered(delivered(
        &trigger, &receipt, delivery,
    )));
    draft.put_trigger(trigger);
    Ok(Reply::Delivered(Box::new(receipt)))
}

/// Checks a delivery. A capability that is revoked, or whose agent is being removed, is as unknown as one that never
/// was; only the holder of a valid token learns more.
fn judge(draft: &Draft<'_>, delivery: &CallbackDelivery) -> Result<TriggerRecord, Rejection> {
    let is_meant = |trigger: &TriggerRecord| {
        trigger.id == delivery.trigger_id
            && trigger.is_active()
            && (trigger.generation == delivery.generation
                || is_planted(Fault::OldGenerationAccepted))
    };
    let found = draft.triggers().into_iter().find(is_meant);
    let trigger = match draft.agent.lifecycle {
        Lifecycle::Deleting => None,
        Lifecycle::Booting | Lifecycle::Runnable | Lifecycle::Stopped => found,
    };
    let trigger = trigger.ok_or(Rejection::UnknownToken)?;
    if trigger.delivery_mode != delivery.mode {
        return Err(Rejection::TriggerModeMismatch);
    }
    admission::judge_lifecycle(&draft.agent)?;
    check_names(delivery)?;
    Ok(trigger)
}

fn check_names(delivery: &CallbackDelivery) -> Result<(), Rejection> {
    let names = [
        ("source", &delivery.source, limits::ORIGIN_NAME_CHARACTERS),
        (
            "delivery id",
            &delivery.delivery_id,
            limits::DELIVERY_ID_CHARACTERS,
        ),
    ];
    for (what, name, max) in names {
        let characters = name.as_ref().map_or(0, |text| text.chars().count());
        if characters > max {
            return Err(Rejection::NameTooLong {
                what,
                characters,
                max,
            });
        }
    }
    Ok(())
}

/// Stores a hint of the delivery. Its payload is a hint too, so a part of it is enough.
fn wake(
    draft: &mut Draft<'_>,
    trigger: &TriggerRecord,
    delivery: &CallbackDelivery,
) -> Result<CallbackReceipt, Rejection> {
    let body = delivery.content.text();
    let hint = WakeHint {
        key: trigger.id.to_string(),
        external_trigger_id: Some(trigger.id.clone()),
        delivery_mode: DeliveryMode::WakeHint,
        source: delivery.source.clone(),
        reason: None,
        content_type: delivery.content.content_type.as_deref().map(shown),
        body: body.map(|body| text::preview(&body, limits::HINT_BODY_BYTES)),
        correlation_id: delivery.correlation_id.clone(),
        causation_id: delivery.causation_id.clone(),
        wait_ids: Vec::new(),
        ended_waits: Vec::new(),
        count: 1,
        last_at: Timestamp::default(),
        earlier: Vec::new(),
        from_outside: true,
    };
    hint::judge(&hint)?;
    let has_content = hint.body.is_some();
    let may_wake = has_content || may_wake_without_content(draft);
    let accepted = hint::handle_hint(draft, hint.clone());
    let disposition = if !may_wake && accepted.ended.is_empty() {
        CallbackDisposition::Ignored
    } else if accepted.coalesced {
        draft.event(hint::coalesced(trigger.id.as_str(), &hint));
        CallbackDisposition::Coalesced
    } else {
        CallbackDisposition::Triggered
    };
    Ok(CallbackReceipt {
        wait_ids: accepted.ended,
        work_item_ids: accepted.items,
        ..receipt(trigger, disposition)
    })
}

/// Returns true if a hint without content may begin a turn although it ends no wait now: an open turn may declare a wait
/// that it ends, other hints wait to be told with it, or work waits for a sign.
fn may_wake_without_content(draft: &Draft<'_>) -> bool {
    let work = &draft.agent.work;
    draft.agent.open_turn.is_some()
        || draft.queue.pending > 0
        || work.hints > 0 && draft.hints().iter().any(WakeHint::has_content)
        || work.items.runnable + work.items.stalled > 0
        || work.due_rechecks > 0
}

/// Queues the payload as a message.
fn enqueue(
    draft: &mut Draft<'_>,
    trigger: &TriggerRecord,
    delivery: &CallbackDelivery,
) -> Result<CallbackReceipt, Rejection> {
    let before = draft.active_waits();
    let metadata = json!({
        "delivery_id": delivery.delivery_id,
        "content_type": delivery.content.content_type.as_deref().map(shown),
    });
    let ingress = Ingress {
        kind: MessageKind::CallbackEvent,
        origin: Origin::Callback {
            descriptor_id: trigger.id.to_string(),
            source: delivery.source.clone(),
        },
        priority: Priority::Normal,
        body: delivery.content.body.clone(),
        images: Vec::new(),
        metadata: Some(metadata),
        delivery_surface: DeliverySurface::HttpCallbackEnqueue,
        admission_context: AdmissionContext::ExternalTriggerCapability,
        correlation_id: delivery.correlation_id.clone(),
        causation_id: delivery.causation_id.clone(),
        max_rounds: None,
        at_most: None,
    };
    let entry = admission::admit(draft, ingress)?;
    let after = draft.active_waits();
    let is_over = |wait: &WaitRecord| after.iter().all(|still| still.id != wait.id);
    let ended: Vec<WaitRecord> = before.into_iter().filter(is_over).collect();
    Ok(CallbackReceipt {
        work_item_ids: hint::items_of(&ended),
        wait_ids: ended.into_iter().map(|wait| wait.id).collect(),
        message_id: Some(entry.envelope.id),
        ..receipt(trigger, CallbackDisposition::Enqueued)
    })
}

const fn surface_of(mode: DeliveryMode) -> DeliverySurface {
    match mode {
        DeliveryMode::WakeHint => DeliverySurface::HttpCallbackWake,
        DeliveryMode::EnqueueMessage => DeliverySurface::HttpCallbackEnqueue,
    }
}

fn receipt(trigger: &TriggerRecord, disposition: CallbackDisposition) -> CallbackReceipt {
    CallbackReceipt {
        external_trigger_id: trigger.id.clone(),
        target_agent_id: trigger.target_agent_id.clone(),
        delivery_mode: trigger.delivery_mode,
        disposition,
        wait_ids: Vec::new(),
        work_item_ids: Vec::new(),
        message_id: None,
    }
}

fn delivered(
    trigger: &TriggerRecord,
    receipt: &CallbackReceipt,
    delivery: &CallbackDelivery,
) -> CallbackDelivered {
    CallbackDelivered {
        external_trigger_id: trigger.id.clone(),
        scope: trigger.scope,
        delivery_mode: trigger.delivery_mode,
        disposition: receipt.disposition,
        source: delivery.source.as_deref().map(shown),
        delivery_id: delivery.delivery_id.as_deref().map(shown),
        content_type: delivery.content.content_type.as_deref().map(shown),
        bytes: delivery.content.bytes,
        trigger_count: trigger.trigger_count,
        waiting_intent_id: receipt.wait_ids.first().cloned(),
        waiting_intent_ids: receipt.wait_ids.clone(),
        work_item_ids: receipt.work_item_ids.clone(),
        correlation_id: delivery.correlation_id.as_deref().map(shown),
        causation_id: delivery.causation_id.as_deref().map(shown),
        message_id: receipt.message_id.clone(),
        delivery_surface: surface_of(trigger.delivery_mode),
        admission_context: AdmissionContext::ExternalTriggerCapability,
        authority_class: AuthorityClass::IntegrationSignal,
    }
}

fn shown(words: &str) -> String {
    text::preview(words, limits::EVENT_PREVIEW_BYTES)
}
