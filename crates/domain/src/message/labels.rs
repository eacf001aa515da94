//! The labels of a message: all of its envelope that events about it show, without the body.

use super::{AdmissionContext, DeliverySurface, Origin};
use crate::authority::AuthorityClass;
use crate::id::{MessageId, TaskId, WorkItemId};
use serde::Deserialize;
use serde_json::Value;

/// Where a message came from and what it belongs to. Read from a stored envelope when an event about the message is
/// shown, so that events do not have to repeat it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "StoredLabels")]
pub struct MessageLabels {
    /// The message.
    pub message_id: MessageId,
    /// Where it came from.
    pub origin: Origin,
    /// How its content is treated.
    pub authority_class: AuthorityClass,
    /// The ingress that produced it.
    pub delivery_surface: DeliverySurface,
    /// The posture of that ingress.
    pub admission_context: AdmissionContext,
    /// The work item it is bound to, if one.
    pub work_item_id: Option<WorkItemId>,
    /// The task it belongs to, if one.
    pub task_id: Option<TaskId>,
    /// Caller-supplied id that links related messages.
    pub correlation_id: Option<String>,
    /// The message or task that caused it.
    pub causation_id: Option<String>,
    /// The route an answer takes. Only a bound operator transport names one.
    pub reply_route: Option<String>,
}

/// The envelope as stored. The body is skipped.
#[derive(Deserialize)]
struct StoredLabels {
    id: MessageId,
    origin: Origin,
    authority_class: AuthorityClass,
    delivery_surface: DeliverySurface,
    admission_context: AdmissionContext,
    #[serde(default)]
    work_item_id: Option<WorkItemId>,
    #[serde(default)]
    task_id: Option<TaskId>,
    #[serde(default)]
    correlation_id: Option<String>,
    #[serde(default)]
    causation_id: Option<String>,
    #[serde(default)]
    metadata: Option<Value>,
}

impl From<StoredLabels> for MessageLabels {
    fn from(stored: StoredLabels) -> Self {
        // What any other ingress writes into metadata is its caller's word and routes nothing.
        let routed = stored.delivery_surface == DeliverySurface::RemoteOperatorTransport;
        let route = stored.metadata.as_ref().filter(|_| routed);
        let route = route.and_then(|metadata| metadata.get("reply_route_id"));
        Self {
            message_id: stored.id,
            origin: stored.origin,
            authority_class: stored.authority_class,
            delivery_surface: stored.delivery_surface,
            admission_context: stored.admission_context,
            work_item_id: stored.work_item_id,
            task_id: stored.task_id,
            correlation_id: stored.correlation_id,
            causation_id: stored.causation_id,
            reply_route: route.and_then(Value::as_str).map(str::to_owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn labels(surface: &str) -> MessageLabels {
        serde_json::from_value(json!({
            "id": "msg_1", "agent_id": "main", "created_at": "2026-11-14T21:46:40.123Z",
            "kind": "operator_prompt", "origin": {"kind": "operator"}, "trust": "trusted_operator",
            "authority_class": "operator_instruction", "priority": "normal",
            "trigger_kind": "operator_input", "body": {"type": "text", "text": "x"},
            "metadata": {"reply_route_id": "route_1"}, "delivery_surface": surface,
            "admission_context": "operator_transport_authenticated",
        }))
        .expect("is read")
    }

    #[test]
    fn only_a_bound_operator_transport_names_a_reply_route() {
        let bound = labels("remote_operator_transport");
        assert_eq!(bound.reply_route.as_deref(), Some("route_1"));
        assert_eq!(bound.message_id, MessageId::from_stored("msg_1"));
        assert_eq!(labels("http_public_enqueue").reply_route, None);
    }
}
