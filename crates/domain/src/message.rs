//! The message envelope: everything that may influence an agent, normalised at admission.
//!
//! The envelope is immutable once admitted; its place in the queue is a separate fact (`queue`).

mod cause;
mod labels;

pub use cause::Cause;
pub use labels::MessageLabels;

use crate::authority::{AuthorityClass, TrustLevel};
use crate::brief::BriefAttachment;
use crate::closure::WaitingReason;
use crate::continuation::TriggerKind;
use crate::id::{AgentId, MessageId, TaskId, TimerId, WorkItemId};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// What a message represents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// Direct input of the primary operator.
    OperatorPrompt,
    /// Input from an external communication surface.
    ChannelEvent,
    /// Structured machine input.
    WebhookEvent,
    /// Delivery to an external trigger capability.
    CallbackEvent,
    /// A scheduled wake.
    TimerTick,
    /// A runtime-generated wake.
    SystemTick,
    /// The end of a managed execution.
    TaskResult,
    /// A progress note of a managed execution; observational.
    TaskStatus,
    /// A lifecycle command.
    Control,
    /// A delivery record of an acknowledgement.
    BriefAck,
    /// A delivery record of a result.
    BriefResult,
    /// A follow-up the agent asked itself to do.
    InternalFollowup,
}

impl MessageKind {
    /// Every kind, in declaration order.
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

    /// The total classification of kinds into triggers.
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

/// Where a message came from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Origin {
    /// The primary agent owner.
    Operator {
        /// Who of them, where it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        actor_id: Option<String>,
    },
    /// An external participant.
    Channel {
        /// The surface.
        channel_id: String,
        /// The participant.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sender_id: Option<String>,
    },
    /// An external machine.
    Webhook {
        /// The system that sent it.
        source: String,
        /// Its own name for the event.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        event_type: Option<String>,
    },
    /// A holder of an external trigger capability.
    Callback {
        /// The capability.
        descriptor_id: String,
        /// What the holder calls itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        source: Option<String>,
    },
    /// A timer of this host.
    Timer {
        /// Which.
        timer_id: TimerId,
    },
    /// The runtime itself.
    System {
        /// Which part.
        subsystem: String,
    },
    /// A managed execution.
    Task {
        /// Which.
        task_id: TaskId,
    },
}

impl Origin {
    /// Every string of the origin with the name of its field, for limits on their sizes.
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

    /// What the sender is called, where the origin names one: the outside system, the channel, or the part of the
    /// runtime. None for operators, timers and tasks, which have ids of their own.
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

    /// What it is worth when its ingress says nothing more; admission may only lower it.
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

/// Scheduling class, highest first. A hint about order, never about trust.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Default,
)]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// May enter a running turn at its next safe point, if it is a trusted operator prompt.
    Interject,
    /// After the current step.
    Next,
    /// Foreground work.
    #[default]
    Normal,
    /// Deferred work.
    Background,
}

impl Priority {
    /// Every priority, highest first.
    pub const ALL: [Self; 4] = [Self::Interject, Self::Next, Self::Normal, Self::Background];

    /// The number that sorts this band in the queue.
    #[must_use]
    pub const fn rank(self) -> u8 {
        self as u8
    }
}

/// The payload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Body {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// Structured content, kept structured.
    Json {
        /// The value.
        value: Value,
    },
    /// A delivery record.
    Brief {
        /// A short heading.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// The text.
        text: String,
        /// What goes with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<BriefAttachment>,
    },
}

impl Body {
    /// A text body.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Whether there is anything for a model to read.
    #[must_use]
    pub fn is_contentful(&self) -> bool {
        match self {
            Self::Text { text } | Self::Brief { text, .. } => !text.trim().is_empty(),
            Self::Json { value } => !value.is_null(),
        }
    }

    /// The body as a model or a person reads it.
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

/// The ingress that produced a queued message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeliverySurface {
    /// `holon prompt` in process.
    CliPrompt,
    /// `holon run`.
    RunOnce,
    /// `POST /agents/:id/enqueue`.
    HttpPublicEnqueue,
    /// A webhook route.
    HttpWebhook,
    /// A capability URL that enqueues.
    HttpCallbackEnqueue,
    /// A capability URL that wakes.
    HttpCallbackWake,
    /// `POST /control/agents/:id/prompt`.
    HttpControlPrompt,
    /// The timer scheduler.
    TimerScheduler,
    /// The runtime itself.
    RuntimeSystem,
    /// A task that rejoins.
    TaskRejoin,
    /// A bound operator transport.
    RemoteOperatorTransport,
}

impl DeliverySurface {
    /// By what means a message came: `http`, `local_process`, `operator_transport`, or `runtime` where nothing was
    /// transported.
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

    /// Only these may bind a work item or a task out of free-form metadata.
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

/// The admission posture of that ingress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AdmissionContext {
    /// Nobody vouches for the author.
    PublicUnauthenticated,
    /// The control token or the local socket.
    ControlAuthenticated,
    /// A capability URL.
    ExternalTriggerCapability,
    /// The same process.
    LocalProcess,
    /// The runtime.
    RuntimeOwned,
    /// A bound operator transport.
    OperatorTransportAuthenticated,
    /// A signed webhook.
    SignedIntegration,
}

/// What a message brings that the agent had waited for. A wait ends when the message is admitted, so the closure no longer
/// shows it when the message is taken up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ResumeReason {
    /// The end of a rest that the agent asked for.
    Rest,
    /// The end of a declared wait, with the reason that the closure showed while it was open.
    Wait { reason: WaitingReason },
}

/// One admitted message, whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageEnvelope {
    /// Its id.
    pub id: MessageId,
    /// Its agent.
    pub agent_id: AgentId,
    /// When it was admitted.
    pub created_at: Timestamp,
    /// What it represents.
    pub kind: MessageKind,
    /// Where it came from.
    pub origin: Origin,
    /// Compatibility label, derived from the authority class.
    pub trust: TrustLevel,
    /// How its content is treated.
    pub authority_class: AuthorityClass,
    /// Its band in the queue.
    pub priority: Priority,
    /// Why it exists. Absent in messages stored before causes were; [`MessageEnvelope::cause`] answers for both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Derived classification.
    pub trigger_kind: TriggerKind,
    /// The work item it is bound to, if runtime-owned ingress bound one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// What the agent had waited for and this message brings. Absent when nothing waited for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumes: Option<ResumeReason>,
    /// The task it belongs to, if runtime-owned ingress bound one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// Stable references to what it came from.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub source_refs: BTreeMap<String, String>,
    /// The payload.
    pub body: Body,
    /// Whatever else the ingress supplied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// The ingress.
    pub delivery_surface: DeliverySurface,
    /// Its posture.
    pub admission_context: AdmissionContext,
    /// Ties related messages together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// The message or task that caused this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub causation_id: Option<String>,
}

impl MessageEnvelope {
    /// Why the message exists.
    #[must_use]
    pub fn cause(&self) -> Cause {
        self.cause
            .unwrap_or_else(|| Cause::from_legacy(self.kind, &self.origin))
    }

    /// Whether an operator is owed exactly one visible outcome for this message.
    #[must_use]
    pub fn owes_outcome(&self) -> bool {
        self.kind == MessageKind::OperatorPrompt
    }

    /// Whether it may enter a running turn at a safe point.
    #[must_use]
    pub fn may_interject(&self) -> bool {
        self.operator_interjects() || self.kind == MessageKind::TaskResult
    }

    /// Whether it is an operator's word to a turn that runs.
    #[must_use]
    pub fn operator_interjects(&self) -> bool {
        self.kind == MessageKind::OperatorPrompt
            && self.priority == Priority::Interject
            && self.authority_class == AuthorityClass::OperatorInstruction
    }
}
