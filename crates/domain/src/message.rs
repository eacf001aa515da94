//! The message envelope: a message to an agent, normalised at admission.
//!
//! The envelope is immutable once admitted. Its status in the queue is stored separately (`queue`).

mod cause;
mod labels;

pub use cause::Cause;
pub use labels::MessageLabels;

use crate::authority::{AuthorityClass, TrustLevel};
use crate::brief::BriefAttachment;
use crate::closure::WaitingReason;
use crate::continuation::TriggerKind;
use crate::id::{AgentId, MessageId, TaskId, TimerId, WorkItemId};
use crate::image::{self, SentImage};
use crate::time::Timestamp;
use crate::wait::WaitNote;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Kind of a message, which decides how the scheduler treats it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// Direct input of the primary operator.
    OperatorPrompt,
    /// Input from an external communication channel.
    ChannelEvent,
    /// Structured input from a machine.
    WebhookEvent,
    /// Delivery to an external trigger capability.
    CallbackEvent,
    /// A slot of a timer came.
    TimerTick,
    /// The runtime wakes the agent.
    SystemTick,
    /// A background command or a child agent ended.
    TaskResult,
    /// Change of a background command or a child agent that needs no model, such as the end of a task that its agent
    /// stopped.
    TaskStatus,
    /// A lifecycle command to the agent.
    Control,
    /// Delivery record of an acknowledgement.
    BriefAck,
    /// Delivery record of a result.
    BriefResult,
    /// A follow-up that the agent queued for itself.
    InternalFollowup,
}

impl MessageKind {
    /// Every kind, in the order of declaration.
    pub const ALL: [Self; 12] = [
        Self::OperatorPrompt,
        Self::ChannelEvent,
        Self::WebhookEvent,
        Self::CallbackEvent,
        Self::TimerTick,
        Self::SystemTick,
        Self::TaskResult,
        Self::TaskStatus,
        Self::Control,
        Self::BriefAck,
        Self::BriefResult,
        Self::InternalFollowup,
    ];

    /// Returns the trigger that a message of this kind is. Every kind has one.
    #[must_use]
    pub const fn trigger(self) -> TriggerKind {
        match self {
            Self::OperatorPrompt => TriggerKind::OperatorInput,
            Self::ChannelEvent | Self::WebhookEvent | Self::CallbackEvent => {
                TriggerKind::ExternalEvent
            }
            Self::TimerTick => TriggerKind::TimerFire,
            Self::TaskResult | Self::TaskStatus => TriggerKind::TaskResult,
            Self::InternalFollowup => TriggerKind::InternalFollowup,
            Self::SystemTick | Self::Control | Self::BriefAck | Self::BriefResult => {
                TriggerKind::SystemTick
            }
        }
    }
}

/// Sender of a message.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Origin {
    /// The operator, who owns the agent.
    Operator {
        /// Person among the operators. Absent if it is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        actor_id: Option<String>,
    },
    /// A participant of an external communication channel.
    Channel {
        channel_id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sender_id: Option<String>,
    },
    /// A system outside that sends structured events.
    Webhook {
        /// Name of the sending system.
        source: String,
        /// The system's own name for the event.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        event_type: Option<String>,
    },
    /// A holder of an external trigger capability.
    Callback {
        /// Id of the capability.
        descriptor_id: String,
        /// Name that the holder gives itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
    },
    /// A timer of this host.
    Timer { timer_id: TimerId },
    /// A part of the runtime itself.
    System {
        /// Part of the runtime, such as `work_queue`.
        subsystem: String,
    },
    /// A background command or a child agent.
    Task { task_id: TaskId },
}

impl Origin {
    /// Iterates over every string of the origin with the name of its field. Used to check their sizes.
    pub fn names(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let (first, second) = match self {
            Self::Operator { actor_id } => (None, Some(("actor_id", actor_id.as_deref()))),
            Self::Channel {
                channel_id,
                sender_id,
            } => (
                Some(("channel_id", channel_id.as_str())),
                Some(("sender_id", sender_id.as_deref())),
            ),
            Self::Webhook { source, event_type } => (
                Some(("source", source.as_str())),
                Some(("event_type", event_type.as_deref())),
            ),
            Self::Callback {
                descriptor_id,
                source,
            } => (
                Some(("descriptor_id", descriptor_id.as_str())),
                Some(("source", source.as_deref())),
            ),
            Self::Timer { timer_id } => (Some(("timer_id", timer_id.as_str())), None),
            Self::System { subsystem } => (Some(("subsystem", subsystem.as_str())), None),
            Self::Task { task_id } => (Some(("task_id", task_id.as_str())), None),
        };
        let second = second.and_then(|(field, text)| text.map(|text| (field, text)));
        first.into_iter().chain(second)
    }

    /// Returns the name of the sender: the outside system, the channel or the part of the runtime. `None` for
    /// operators, timers and tasks, which have ids of their own.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        match self {
            Self::Channel { channel_id, .. } => Some(channel_id),
            Self::Webhook { source, .. } => Some(source),
            Self::Callback { source, .. } => source.as_deref(),
            Self::System { subsystem } => Some(subsystem),
            Self::Operator { .. } | Self::Timer { .. } | Self::Task { .. } => None,
        }
    }

    /// Returns the strongest authority that a message of this origin may have. Admission may only lower it.
    #[must_use]
    pub const fn ceiling(&self) -> AuthorityClass {
        match self {
            Self::Operator { .. } => AuthorityClass::OperatorInstruction,
            Self::Timer { .. } | Self::System { .. } | Self::Task { .. } => {
                AuthorityClass::RuntimeInstruction
            }
            Self::Webhook { .. } | Self::Callback { .. } => AuthorityClass::IntegrationSignal,
            Self::Channel { .. } => AuthorityClass::ExternalEvidence,
        }
    }
}

/// Scheduling band, highest first. It orders the queue and says nothing about trust.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    Default,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// May join a running turn at its next safe point, if it is a trusted operator prompt.
    Interject,
    /// Before all normal messages.
    Next,
    /// Default band of foreground work.
    #[default]
    Normal,
    /// Taken when no other message waits.
    Background,
}

impl Priority {
    /// Every priority, highest first.
    pub const ALL: [Self; 4] = [Self::Interject, Self::Next, Self::Normal, Self::Background];

    /// Returns the number that sorts this band in the queue; 0 comes first.
    #[must_use]
    pub const fn rank(self) -> u8 {
        self as u8
    }
}

/// Content of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Body {
    Text {
        text: String,
    },
    /// Structured content, which stays structured.
    Json {
        value: Value,
    },
    /// Record of a delivered brief.
    Brief {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<BriefAttachment>,
    },
}

impl Body {
    /// Creates a body of plain text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Returns true if the body has content for a model to read.
    #[must_use]
    pub fn is_contentful(&self) -> bool {
        match self {
            Self::Text { text } | Self::Brief { text, .. } => !text.trim().is_empty(),
            Self::Json { value } => !value.is_null(),
        }
    }

    /// Renders the body as text for a model or a person.
    #[must_use]
    pub fn render(&self) -> String {
        match self {
            Self::Text { text } => text.clone(),
            Self::Json { value } => value.to_string(),
            Self::Brief {
                title: Some(title),
                text,
                ..
            } => format!("{title}\n{text}"),
            Self::Brief {
                title: None, text, ..
            } => text.clone(),
        }
    }
}

/// Interface through which a message was admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliverySurface {
    /// `holon prompt` and the console, over the control API.
    CliPrompt,
    /// `holon run`, a one-shot run.
    RunOnce,
    /// `POST /agents/:id/enqueue` of the public API.
    HttpPublicEnqueue,
    /// A route that accepts webhooks.
    HttpWebhook,
    /// A capability URL that enqueues a message.
    HttpCallbackEnqueue,
    /// A capability URL that sends a wake hint.
    HttpCallbackWake,
    /// `POST /control/agents/:id/prompt` of the control API.
    HttpControlPrompt,
    /// A timer of the host fired.
    TimerScheduler,
    /// The runtime queued the message itself.
    RuntimeSystem,
    /// The result of a task returns to its agent.
    TaskRejoin,
    /// A bound operator transport.
    RemoteOperatorTransport,
}

impl DeliverySurface {
    /// Returns the means by which the message came: `http`, `local_process`, `operator_transport`, or `runtime` if
    /// nothing was transported.
    #[must_use]
    pub const fn transport(self) -> &'static str {
        match self {
            Self::HttpPublicEnqueue
            | Self::HttpWebhook
            | Self::HttpCallbackEnqueue
            | Self::HttpCallbackWake
            | Self::HttpControlPrompt => "http",
            Self::CliPrompt | Self::RunOnce => "local_process",
            Self::RemoteOperatorTransport => "operator_transport",
            Self::TimerScheduler | Self::RuntimeSystem | Self::TaskRejoin => "runtime",
        }
    }

    /// Returns true for interfaces of the runtime itself. Only they may bind a work item or a task by metadata.
    #[must_use]
    pub const fn is_runtime_owned(self) -> bool {
        match self {
            Self::TimerScheduler | Self::RuntimeSystem | Self::TaskRejoin => true,
            Self::CliPrompt
            | Self::RunOnce
            | Self::HttpPublicEnqueue
            | Self::HttpWebhook
            | Self::HttpCallbackEnqueue
            | Self::HttpCallbackWake
            | Self::HttpControlPrompt
            | Self::RemoteOperatorTransport => false,
        }
    }
}

/// Authentication that an interface requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AdmissionContext {
    /// None: anyone who reaches the interface may be the author.
    PublicUnauthenticated,
    /// The control token or the local socket.
    ControlAuthenticated,
    /// The capability URL itself, which is secret.
    ExternalTriggerCapability,
    /// None: the message comes from the same process.
    LocalProcess,
    /// None: the runtime itself is the author.
    RuntimeOwned,
    /// A bound operator transport.
    OperatorTransportAuthenticated,
    /// The signature of a configured webhook.
    SignedIntegration,
}

/// Wait that a message ends. The wait ends when the message is admitted, so the closure no longer shows it when the
/// message is taken from the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ResumeReason {
    /// A rest that the agent asked for has ended.
    Rest,
    /// A declared wait has ended. Holds the reason that the closure showed while it was open.
    Wait { reason: WaitingReason },
}

/// One admitted message, complete with its body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageEnvelope {
    pub id: MessageId,
    pub agent_id: AgentId,
    /// Time at which the message was admitted.
    pub created_at: Timestamp,
    pub kind: MessageKind,
    pub origin: Origin,
    /// Compatibility label, derived from the authority class.
    pub trust: TrustLevel,
    /// Trust in the content.
    pub authority_class: AuthorityClass,
    /// Band in the queue.
    pub priority: Priority,
    /// Cause of the message. Absent in messages of builds that did not store it; [`MessageEnvelope::cause`] covers
    /// both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Derived from `kind` at admission.
    pub trigger_kind: TriggerKind,
    /// Work item that the message is bound to. Only interfaces of the runtime bind one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// Wait that the message ends. Absent if nothing waited for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumes: Option<ResumeReason>,
    /// What the message did to waits when it was admitted, at most `limits::WAIT_NOTES`. Empty in messages of earlier
    /// builds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<WaitNote>,
    /// Task that the message belongs to. Only interfaces of the runtime bind one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// Ids of what the message goes back to; `MessageAdmitted::source_refs` lists them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub source_refs: BTreeMap<String, String>,
    pub body: Body,
    /// Images that the operator sent with the text, at most `limits::IMAGES_PER_MESSAGE`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<SentImage>,
    /// Further data that the sender supplied. Kept, not interpreted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    pub delivery_surface: DeliverySurface,
    /// Authentication that the interface requires.
    pub admission_context: AdmissionContext,
    /// Caller-supplied id that links related messages; copied unchanged, never interpreted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// Caller-supplied id of the message or task that caused this one; copied unchanged, never interpreted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
}

impl MessageEnvelope {
    /// Returns the cause of the message. For messages of earlier builds it is derived from kind and origin.
    #[must_use]
    pub fn cause(&self) -> Cause {
        self.cause
            .unwrap_or_else(|| Cause::from_legacy(self.kind, &self.origin))
    }

    /// Returns true if the operator gets exactly one visible outcome for this message.
    #[must_use]
    pub fn owes_outcome(&self) -> bool {
        self.kind == MessageKind::OperatorPrompt
    }

    /// Returns true if the message holds the operator's own words.
    #[must_use]
    pub fn is_operator_instruction(&self) -> bool {
        self.kind == MessageKind::OperatorPrompt
            && self.authority_class == AuthorityClass::OperatorInstruction
    }

    /// Returns the text behind a mention of the images, for lines that show only the beginning of it.
    #[must_use]
    pub fn summary(&self) -> String {
        let words = self.body.render();
        match image::mention(&self.images) {
            Some(images) => format!("{images} {words}"),
            None => words,
        }
    }

    /// Returns true if the message may join a running turn at a safe point.
    #[must_use]
    pub fn may_interject(&self) -> bool {
        self.operator_interjects() || self.kind == MessageKind::TaskResult
    }

    /// Returns true if the message is an operator's input to a running turn.
    #[must_use]
    pub fn operator_interjects(&self) -> bool {
        self.is_operator_instruction() && self.priority == Priority::Interject
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::{ImageDigest, ImageFormat};
    use serde_json::json;

    #[test]
    fn a_message_without_images_is_stored_as_before_and_one_with_images_names_them() {
        let stored = json!({
            "id": "msg_1", "agent_id": "main", "created_at": "2026-11-14T21:46:40.123Z", "kind": "operator_prompt",
            "origin": {"kind": "operator"}, "trust": "trusted_operator",
            "authority_class": "operator_instruction", "priority": "normal", "trigger_kind": "operator_input",
            "body": {"type": "text", "text": "look"}, "delivery_surface": "cli_prompt",
            "admission_context": "control_authenticated",
        });
        let mut message: MessageEnvelope = serde_json::from_value(stored.clone()).expect("read");
        assert_eq!(serde_json::to_value(&message).expect("written"), stored);
        assert_eq!(message.summary(), "look");
        message.images.push(SentImage {
            digest: ImageDigest::of(b"x"),
            media_type: ImageFormat::Webp,
            width: 2,
            height: 3,
            bytes: 1,
        });
        assert_eq!(message.summary(), "[with 1 image] look");
        let stored = serde_json::to_value(&message).expect("written");
        let digest = "sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
        let image = json!({"digest": digest, "media_type": "image/webp", "width": 2, "height": 3, "bytes": 1});
        assert_eq!(stored["images"], json!([image]));
        assert_eq!(
            serde_json::from_value::<MessageEnvelope>(stored).expect("read"),
            message
        );
    }
}
