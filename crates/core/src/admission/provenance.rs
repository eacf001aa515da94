//! Provenance at the door: which kinds and origins each door takes, and what authority a message has there.
//!
//! A message never has more authority than its origin could have or its door vouches for.

use crate::ingress::Ingress;
use crate::rejection::Rejection;
use holon_domain::authority::AuthorityClass;
use holon_domain::message::{AdmissionContext, Body, MessageKind, Origin, Priority};

/// Public ingress may not claim to be the operator or the runtime; only an operator's own prompt jumps the queue.
///
/// What the door refuses comes first: a caller that claims too much is told that, also when the claim contradicts
/// itself.
pub(super) fn check(ingress: &Ingress) -> Result<(), Rejection> {
    let door = ingress.admission_context;
    if !door_takes_origin(door, &ingress.origin) {
        return Err(Rejection::OriginNotPublic);
    }
    if !door_takes(door, ingress.kind) {
        return Err(Rejection::KindNotPublic);
    }
    if !kind_fits_origin(ingress.kind, &ingress.origin) {
        return Err(Rejection::KindOriginMismatch);
    }
    let trusted_prompt = ingress.kind == MessageKind::OperatorPrompt
        && authority_of(ingress) == AuthorityClass::OperatorInstruction;
    if ingress.priority == Priority::Interject && !trusted_prompt {
        return Err(Rejection::PriorityNotPublic);
    }
    if is_public(door) && matches!(ingress.body, Body::Brief { .. }) {
        return Err(Rejection::BodyNotPublic);
    }
    Ok(())
}

/// Whether a door knows nothing about its callers.
const fn is_public(door: AdmissionContext) -> bool {
    matches!(door, AdmissionContext::PublicUnauthenticated)
}

/// Which origins a door lets its callers name. A public door takes only those that claim no authority.
#[must_use]
pub const fn door_takes_origin(door: AdmissionContext, origin: &Origin) -> bool {
    match origin {
        Origin::Channel { .. } | Origin::Webhook { .. } => true,
        Origin::Operator { .. }
        | Origin::Callback { .. }
        | Origin::Timer { .. }
        | Origin::System { .. }
        | Origin::Task { .. } => !is_public(door),
    }
}

/// Which kinds a door takes: the runtime's own come from the runtime alone, the operator's from doors that know it.
#[must_use]
pub const fn door_takes(door: AdmissionContext, kind: MessageKind) -> bool {
    match kind {
        MessageKind::ChannelEvent | MessageKind::WebhookEvent => true,
        MessageKind::CallbackEvent => !is_public(door),
        MessageKind::OperatorPrompt | MessageKind::Control => match door {
            AdmissionContext::ControlAuthenticated
            | AdmissionContext::LocalProcess
            | AdmissionContext::RuntimeOwned
            | AdmissionContext::OperatorTransportAuthenticated => true,
            AdmissionContext::PublicUnauthenticated
            | AdmissionContext::ExternalTriggerCapability
            | AdmissionContext::SignedIntegration => false,
        },
        MessageKind::TimerTick
        | MessageKind::SystemTick
        | MessageKind::TaskResult
        | MessageKind::TaskStatus
        | MessageKind::BriefAck
        | MessageKind::BriefResult
        | MessageKind::InternalFollowup => matches!(door, AdmissionContext::RuntimeOwned),
    }
}

/// Which origins a kind may have.
#[must_use]
pub const fn kind_fits_origin(kind: MessageKind, origin: &Origin) -> bool {
    match kind {
        MessageKind::OperatorPrompt => matches!(origin, Origin::Operator { .. }),
        MessageKind::ChannelEvent => matches!(origin, Origin::Channel { .. }),
        MessageKind::WebhookEvent => matches!(origin, Origin::Webhook { .. }),
        MessageKind::CallbackEvent => matches!(origin, Origin::Callback { .. }),
        MessageKind::TimerTick => matches!(origin, Origin::Timer { .. }),
        MessageKind::TaskResult | MessageKind::TaskStatus => matches!(origin, Origin::Task { .. }),
        MessageKind::Control => matches!(origin, Origin::Operator { .. } | Origin::System { .. }),
        MessageKind::SystemTick
        | MessageKind::InternalFollowup
        | MessageKind::BriefAck
        | MessageKind::BriefResult => matches!(origin, Origin::System { .. }),
    }
}

/// What the ingress is worth: the weaker of what the origin could be and what the door vouches for.
#[must_use]
pub fn authority_of(ingress: &Ingress) -> AuthorityClass {
    let door = match ingress.admission_context {
        AdmissionContext::ControlAuthenticated
        | AdmissionContext::LocalProcess
        | AdmissionContext::OperatorTransportAuthenticated => AuthorityClass::OperatorInstruction,
        AdmissionContext::RuntimeOwned => AuthorityClass::RuntimeInstruction,
        AdmissionContext::ExternalTriggerCapability | AdmissionContext::SignedIntegration => {
            AuthorityClass::IntegrationSignal
        }
        AdmissionContext::PublicUnauthenticated => AuthorityClass::ExternalEvidence,
    };
    ingress.origin.ceiling().weaker(door)
}
