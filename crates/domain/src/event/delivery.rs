//! Payloads of events about notifications, deliveries to operators and bindings of remote operators.

use crate::brief::BriefAttachment;
use crate::delivery::{DeliveryStatus, DeliveryTrigger};
use crate::id::{AgentId, BindingId, BriefId, DeliveryId, NotificationId, WorkItemId};
use crate::operator_transport::BindingStatus;
use crate::queue::MessageSeq;
use crate::time::Timestamp;
use crate::visibility::Visibility;
use serde::{Deserialize, Serialize};

/// Addressee of a notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperatorBoundary {
    PrimaryOperator,
    /// The supervising parent of a private child.
    ParentSupervisor,
}

/// A notification. See [`Event::OperatorNotificationRequested`](super::Event::OperatorNotificationRequested).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorNotificationRequested {
    pub notification_id: NotificationId,
    pub requested_by_agent_id: AgentId,
    pub target_operator_boundary: OperatorBoundary,
    /// The whole message; it is bounded and stored nowhere else.
    pub message: String,
    /// Beginning of the message.
    pub summary: String,
    /// Work item that the turn worked on. Absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    pub turn_index: u64,
    /// Queue position of the message that the turn answers. The API adds the id and the origin of that message.
    pub message_seq: MessageSeq,
    /// Files of the agent's home that the notification names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<BriefAttachment>,
}

/// A new delivery. See [`Event::OperatorDeliverySubmitted`](super::Event::OperatorDeliverySubmitted).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorDeliverySubmitted {
    pub delivery_intent_id: DeliveryId,
    /// Position of the delivery on its route, counted from 1. Later events name the delivery by it.
    pub delivery_seq: u64,
    /// `target:` and the name of a target, or `binding:` and the id of a binding.
    pub route: String,
    pub trigger: DeliveryTrigger,
    pub visibility: Visibility,
    /// Brief that is delivered. Absent for a notification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brief_id: Option<BriefId>,
    /// Notification that is delivered. Absent for a brief.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notification_id: Option<NotificationId>,
}

/// Beginning of an outage. See [`Event::OperatorNotificationMirrorFailed`](super::Event::OperatorNotificationMirrorFailed).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorNotificationMirrorFailed {
    pub route: String,
    /// Position of the delivery on its route, counted from 1.
    pub delivery_seq: u64,
    pub error: String,
    pub retry_at: Timestamp,
}

/// End of a delivery. See [`Event::OperatorDeliveryCompleted`](super::Event::OperatorDeliveryCompleted).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorDeliveryCompleted {
    pub route: String,
    /// Position of the delivery on its route, counted from 1.
    pub delivery_seq: u64,
    pub status: DeliveryStatus,
    /// Attempts in all, failed ones included.
    pub attempts: u32,
    /// The reason for a failure; absent for a delivery that was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Id that the receiver gave. Absent if it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport_delivery_id: Option<String>,
}

/// A new or changed binding. See [`Event::OperatorTransportBindingUpserted`](super::Event::OperatorTransportBindingUpserted).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperatorTransportBindingUpserted {
    pub binding_id: BindingId,
    pub transport: String,
    pub operator_actor_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    pub status: BindingStatus,
}
