//! Labels of a message: the part of its envelope that events about it show, without the body.

use super::{AdmissionContext, DeliverySurface, Origin};
use crate::authority::AuthorityClass;
use crate::id::{MessageId, TaskId, WorkItemId};
use serde::Deserialize;
use serde_json::Value;

/// Origin and context of a message. Readers load them from the stored envelope when an event about the message is
/// shown, so that events do not repeat them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "StoredLabels")]
pub struct MessageLabels {
    pub message_id: MessageId,
    pub origin: Origin,
    /// Trust in the content.
    pub authority_class: AuthorityClass,
    /// Interface through which the message was admitted.
    pub delivery_surface: DeliverySurface,
    /// Authentication that the interface requires.
    pub admission_context: AdmissionContext,
    /// Absent if the message is bound to no work item.
    pub work_item_id: Option<WorkItemId>,
    /// Absent if the message belongs to no task.
    pub task_id: Option<TaskId>,
    /// Caller-supplied id that links related messages.
    pub correlation_id: Option<String>,
    /// Caller-supplied id of the message or task that caused this one.
    pub causation_id: Option<String>,
    /// Route that an answer takes. Present only for a bound operator transport.
    pub reply_route: Option<String>,
}

/// Envelope as stored. The body is skipped.
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
        // Metadata of any other interface is chosen by its caller and must not route answers.
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
