//! Operator delivery: the targets of a host, the routes a delivery can take, and the delivery itself.
//!
//! A delivery is written in the commit of the brief or notification that it carries. It is submitted at least once,
//! always under the same id, and its end never changes the outcome of a turn.

mod outbox;

pub use outbox::{LaneState, NotificationWindow, Outbox, OutboxLane};

use crate::brief::BriefAttachment;
use crate::decision::BriefSeq;
use crate::id::{AgentId, BindingId, DeliveryId, NotificationId, TargetId, WorkItemId};
use crate::text;
use crate::time::Timestamp;
use crate::visibility::Visibility;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Position of a delivery in its lane: the deliveries of one agent on one route. Dense, the first is 1.
pub type DeliverySeq = u64;

/// Bytes of a target's name that are part of the name of its secret.
const NAME_IN_PROFILE: usize = 30;

/// A destination that an operator configured for the whole host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryTarget {
    /// 1 to 64 letters, digits, `.`, `-` and `_`.
    pub name: String,
    #[serde(flatten)]
    pub kind: TargetKind,
    /// True if results of turns are delivered too. Requests to act and completed work always are.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub turn_results: bool,
    /// Agents whose briefs are delivered. Empty for every public agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentId>,
    pub created_at: Timestamp,
    /// Tells the target apart from earlier and later ones of its name. The host sets it when the target is added. Absent
    /// for targets that older builds added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<TargetId>,
}

impl DeliveryTarget {
    /// Returns the route of deliveries to this target.
    #[must_use]
    pub fn route(&self) -> DeliveryRoute {
        DeliveryRoute::Target {
            name: self.name.clone(),
            target_id: self.id.clone(),
        }
    }

    /// Returns true if a brief or notification of this agent goes to the target.
    #[must_use]
    pub fn wants(&self, agent_id: &AgentId, visibility: Visibility) -> bool {
        let of_agent = self.agents.is_empty() || self.agents.contains(agent_id);
        let of_kind = match visibility {
            Visibility::ActionRequired | Visibility::WorkDone => true,
            Visibility::TurnResult => self.turn_results,
            Visibility::Progress | Visibility::Trace => false,
        };
        of_agent && of_kind
    }

    /// Returns the name under which the credential store holds the secret of the target with this name and id. It has up
    /// to 64 bytes: of a long name only the beginning is part of it, and the id tells it apart from others.
    #[must_use]
    pub fn secret_profile(name: &str, id: Option<&TargetId>) -> String {
        match id {
            Some(id) => format!("delivery.{}.{id}", text::prefix(name, NAME_IN_PROFILE)),
            None => format!("delivery.{name}"),
        }
    }
}

/// Way in which a target is reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TargetKind {
    /// A JSON body is posted to an address.
    Http {
        url: String,
        #[serde(default)]
        auth: TargetAuth,
    },
    /// A program is run with the text on its standard input.
    Command {
        /// Program and arguments; at least one word.
        argv: Vec<String>,
    },
    /// The text is posted to a topic, with title and priority as headers.
    Ntfy {
        /// Address of the topic.
        url: String,
        #[serde(default)]
        auth: TargetAuth,
    },
}

impl TargetKind {
    /// Returns the name on the wire.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Http { .. } => "http",
            Self::Command { .. } => "command",
            Self::Ntfy { .. } => "ntfy",
        }
    }

    /// Returns the use of the target's secret.
    #[must_use]
    pub const fn auth(&self) -> TargetAuth {
        match self {
            Self::Http { auth, .. } | Self::Ntfy { auth, .. } => *auth,
            Self::Command { .. } => TargetAuth::None,
        }
    }
}

/// Use of a secret in a request. The credential store holds the secret itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TargetAuth {
    /// The receiver asks for none.
    #[default]
    None,
    /// Sent as `Authorization: Bearer`.
    Bearer,
    /// Key of an HMAC-SHA256 over id, time and body.
    Hmac,
}

/// Destination of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "to", rename_all = "snake_case")]
pub enum DeliveryRoute {
    /// A target of the host, by its name and its id.
    Target {
        name: String,
        /// Absent for targets that older builds added.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target_id: Option<TargetId>,
    },
    /// The callback address of a bound operator transport.
    Binding { binding_id: BindingId },
}

impl DeliveryRoute {
    /// Returns the text that names the route in rows and in answers.
    #[must_use]
    pub fn key(&self) -> String {
        match self {
            Self::Target {
                name,
                target_id: None,
            } => format!("target:{name}"),
            Self::Target {
                name,
                target_id: Some(id),
            } => format!("target:{name}#{id}"),
            Self::Binding { binding_id } => format!("binding:{binding_id}"),
        }
    }
}

/// Stage of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryStatus {
    /// Not accepted yet; it is being submitted, waits for a retry, or stands behind an older one.
    Pending,
    /// The receiver confirmed it. Whether a person read it is not known.
    AcceptedByTransport,
    /// Given up; the outcome says why.
    FailedToSubmit,
}

impl DeliveryStatus {
    /// Returns the name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::AcceptedByTransport => "accepted_by_transport",
            Self::FailedToSubmit => "failed_to_submit",
        }
    }
}

/// Reason for which something is delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryTrigger {
    /// The agent called `NotifyOperator`.
    Notification,
    /// The agent waits for an answer or for another act of its operator.
    OperatorInputRequired,
    WorkItemDone,
    /// A work item made no progress and waits for its operator.
    WorkItemBlocked,
    TaskResult,
    TurnResult,
}

/// Text of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryContent {
    /// The text of the brief at this position.
    Brief(BriefSeq),
    /// A text of its own.
    Words(String),
}

/// A brief or notification on its way to an operator (delivery intent). Written once and never changed; the row keeps
/// its status beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryRecord {
    /// Sent as the idempotency key with every attempt.
    pub id: DeliveryId,
    pub route: DeliveryRoute,
    pub seq: DeliverySeq,
    pub trigger: DeliveryTrigger,
    pub visibility: Visibility,
    pub content: DeliveryContent,
    pub created_at: Timestamp,
    /// Route of the transport that the text takes. Absent for targets of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route_id: Option<String>,
    /// Action that the operator is asked for. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_step: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notification_id: Option<NotificationId>,
    /// Caller-supplied id of the message that the turn answered; copied unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// Message that the turn answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
    /// Files that the delivery names; each is downloaded from the host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<BriefAttachment>,
}

/// End of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryOutcome {
    /// Never `Pending`: a delivery without an end has no outcome.
    pub status: DeliveryStatus,
    pub at: Timestamp,
    /// Attempts in all, failed ones included.
    pub attempts: u32,
    /// The reason for a failure; absent for a delivery that was accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Id that the receiver gave. Absent if it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport_delivery_id: Option<String>,
}

/// Result of one attempt, as the shell reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubmitResult {
    Accepted {
        transport_delivery_id: Option<String>,
    },
    /// The attempt failed in a way that may pass.
    Retry {
        error: String,
        /// Pause that the receiver asked for. Absent if it asked for none.
        retry_after_ms: Option<u64>,
    },
    /// No attempt with this text or on this route can succeed.
    Refused { error: String },
}

/// A delivery with its text, as it is handed to the sender of requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submission {
    pub record: DeliveryRecord,
    pub agent_id: AgentId,
    pub text: String,
    /// Number of the attempt, counted from 1.
    pub attempt: u32,
}
