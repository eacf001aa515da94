//! Notifications, deliveries to operators and bindings of remote operators.

use super::{Description, words};
use crate::item::Role;
use holon_domain::delivery::DeliveryStatus;
use holon_domain::event::{Event, OperatorBoundary};

pub(super) fn describe(event: &Event) -> Option<Description> {
    Some(match event {
        Event::OperatorNotificationRequested(e) => {
            let title = match e.target_operator_boundary {
                OperatorBoundary::PrimaryOperator => "Notification",
                OperatorBoundary::ParentSupervisor => "Notification for the supervisor",
            };
            Description::outcome(title)
                .role(Role::Alert)
                .body(&e.message)
                .with("notification", &e.notification_id)
                .with("turn", e.turn_index)
        }
        Event::OperatorDeliverySubmitted(e) => Description::detail("Delivery written")
            .body(format!("to {}", e.route))
            .with("delivery", &e.delivery_intent_id)
            .with("trigger", words(e.trigger)),
        Event::OperatorNotificationMirrorFailed(e) => Description::failure("Delivery failed")
            .body(format!(
                "{}: {}; it is tried again at {}",
                e.route, e.error, e.retry_at
            ))
            .with("number", e.delivery_seq),
        Event::OperatorDeliveryCompleted(e) => match e.status {
            DeliveryStatus::FailedToSubmit => Description::failure("Delivery given up").body(
                format!("{}: {}", e.route, e.error.as_deref().unwrap_or_default()),
            ),
            DeliveryStatus::AcceptedByTransport | DeliveryStatus::Pending => {
                Description::detail("Delivery accepted").body(&e.route)
            }
        }
        .with("number", e.delivery_seq)
        .with("attempts", e.attempts)
        .with_some("transport_id", e.transport_delivery_id.as_ref()),
        Event::OperatorTransportBindingUpserted(e) => {
            Description::outcome("Binding to a remote operator")
                .body(format!(
                    "{} by {}: {}",
                    e.operator_actor_id,
                    e.transport,
                    words(e.status)
                ))
                .with("binding", &e.binding_id)
        }
        _ => return None,
    })
}
