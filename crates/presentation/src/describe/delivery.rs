//! Notifications, deliveries to operators and bindings of remote operators.

use super::{Description, words};
use crate::item::Role;
use holon_domain::brief::BriefAttachment;
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
                .with_some("attached", attached_files(&e.attachments).as_ref())
                .with("notification", &e.notification_id)
                .with("turn", e.turn_index)
        }
        Event::OperatorDeliverySubmitted(e) => Description::detail("Delivery written")
            .body(format!("to {}", place(&e.route)))
            .with("delivery", &e.delivery_intent_id)
            .with("trigger", words(e.trigger)),
        Event::OperatorNotificationMirrorFailed(e) => Description::failure("Delivery failed")
            .body(format!(
                "{}: {}; it is tried again at {}",
                place(&e.route),
                reason(Some(&e.error)),
                e.retry_at
            ))
            .with("number", e.delivery_seq),
        Event::OperatorDeliveryCompleted(e) => match e.status {
            DeliveryStatus::FailedToSubmit => Description::failure("Delivery given up").body(
                format!("{}: {}", place(&e.route), reason(e.error.as_deref())),
            ),
            DeliveryStatus::AcceptedByTransport | DeliveryStatus::Pending => {
                Description::detail("Delivery accepted").body(place(&e.route))
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

/// Returns the route for people: without the id of the target behind its name.
fn place(route: &str) -> &str {
    route.split_once('#').map_or(route, |(place, _)| place)
}

/// Returns the reason of a failure. Some programs fail without a word.
fn reason(error: Option<&str>) -> &str {
    let said = error.map(str::trim).filter(|said| !said.is_empty());
    said.unwrap_or("no reason given")
}

/// Names the attached files; `None` if there are none.
pub(super) fn attached_files(attachments: &[BriefAttachment]) -> Option<String> {
    let names: Vec<&str> = attachments.iter().map(|one| one.name.as_str()).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_shown_by_its_name_and_a_silent_failure_as_one() {
        assert_eq!(place("target:phone#dtg_1"), "target:phone");
        assert_eq!(place("binding:opb_1"), "binding:opb_1");
        assert_eq!(reason(Some("it answered 500")), "it answered 500");
        for silent in [None, Some(""), Some(" ")] {
            assert_eq!(reason(silent), "no reason given");
        }
    }
}
