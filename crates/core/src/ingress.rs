//! A message as a route or subsystem submits it. `admission` decides whether it is admitted, and its authority.

use holon_domain::authority::AuthorityClass;
use holon_domain::image::SentImage;
use holon_domain::message::{
    AdmissionContext, Body, DeliverySurface, MessageKind, Origin, Priority,
};
use serde_json::Value;

/// A message before admission. Kind, origin and priority are claims; surface and context are facts about the route it
/// came in by, and the route sets them.
#[derive(Debug, Clone)]
pub struct Ingress {
    /// Kind that the sender claims.
    pub kind: MessageKind,
    /// Origin that the sender claims; must fit the kind.
    pub origin: Origin,
    /// Its band in the queue; `interject` is refused for anything but an operator's prompt.
    pub priority: Priority,
    /// The payload, at most `limits::MESSAGE_BODY_BYTES`.
    pub body: Body,
    /// Images that an operator sent with the text. The route has claimed them, so that their files stay.
    pub images: Vec<SentImage>,
    /// Data of the sender's own, at most `limits::MESSAGE_METADATA_BYTES`. Binds work items and tasks only for ingress of
    /// the runtime.
    pub metadata: Option<Value>,
    /// The route or subsystem it came in by.
    pub delivery_surface: DeliverySurface,
    /// Trust that the route has in its caller; the ceiling of the message's authority.
    pub admission_context: AdmissionContext,
    /// Caller-supplied id that links related messages; copied unchanged, never interpreted.
    pub correlation_id: Option<String>,
    /// Caller-supplied id of what caused it; copied unchanged, never interpreted.
    pub causation_id: Option<String>,
    /// The most model rounds its turn may take, at least 1; none leaves it to the limits.
    pub max_rounds: Option<u32>,
    /// Authority that the sender asks for at most. It lowers the authority of the route and never raises it.
    pub at_most: Option<AuthorityClass>,
}

impl Ingress {
    /// Builds a message of a part of the runtime for the agent's own queue.
    pub(crate) fn runtime(kind: MessageKind, subsystem: &str, words: String) -> Self {
        Self {
            kind,
            origin: Origin::System {
                subsystem: subsystem.to_owned(),
            },
            priority: Priority::Normal,
            body: Body::text(words),
            images: Vec::new(),
            metadata: None,
            delivery_surface: DeliverySurface::RuntimeSystem,
            admission_context: AdmissionContext::RuntimeOwned,
            correlation_id: None,
            causation_id: None,
            max_rounds: None,
            at_most: None,
        }
    }

    /// Builds an operator's prompt that arrives by the given route.
    #[must_use]
    pub fn operator_prompt(
        text: String,
        priority: Priority,
        delivery_surface: DeliverySurface,
        admission_context: AdmissionContext,
    ) -> Self {
        Self {
            kind: MessageKind::OperatorPrompt,
            origin: Origin::Operator { actor_id: None },
            priority,
            body: Body::text(text),
            images: Vec::new(),
            metadata: None,
            delivery_surface,
            admission_context,
            correlation_id: None,
            causation_id: None,
            max_rounds: None,
            at_most: None,
        }
    }
}
