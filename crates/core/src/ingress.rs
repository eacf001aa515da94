//! A message at the door, as whoever brings it describes it. What becomes of it is `admission`'s to say.

use holon_domain::message::{
    AdmissionContext, Body, DeliverySurface, MessageKind, Origin, Priority,
};
use serde_json::Value;

/// A message at the door, before admission has judged it.
#[derive(Debug, Clone)]
pub struct Ingress {
    /// What it represents.
    pub kind: MessageKind,
    /// Where it came from.
    pub origin: Origin,
    /// Its band.
    pub priority: Priority,
    /// The payload.
    pub body: Body,
    /// Whatever else came with it.
    pub metadata: Option<Value>,
    /// Through which door.
    pub delivery_surface: DeliverySurface,
    /// With which credentials.
    pub admission_context: AdmissionContext,
    /// Correlation.
    pub correlation_id: Option<String>,
    /// Causation.
    pub causation_id: Option<String>,
    /// The most rounds its turn may take.
    pub max_rounds: Option<u32>,
}

impl Ingress {
    /// An operator's prompt through the given door.
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
            metadata: None,
            delivery_surface,
            admission_context,
            correlation_id: None,
            causation_id: None,
            max_rounds: None,
        }
    }
}
