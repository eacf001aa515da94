//! Provenance rules: the kinds and origins that each admission context accepts, and the authority a message gets.
//!
//! A message never has more authority than its origin could have or its admission context vouches for.

use crate::ingress::Ingress;
use crate::rejection::Rejection;
use holon_domain::authority::AuthorityClass;
use holon_domain::message::{AdmissionContext, Body, MessageKind, Origin, Priority};

/// Refuses a message that claims more than its admission context allows. Public ingress may not claim to be the
/// operator or the runtime, and only an operator's own prompt may interject.
///
/// The limits of the context are checked first, so a caller that claims too much is told that even if the claim also
/// contradicts itself.
pub(super) fn check(ingress: &Ingress) -> Result<(), Rejection> {
    let door = ingress.admission_context;
    if !accepts_origin(door, &ingress.origin) {
        return Err(Rejection::OriginNotPublic);
    }
    if !accepts_kind(door, ingress.kind) {
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

/// Returns true if the context does not authenticate its callers.
const fn is_public(door: AdmissionContext) -> bool {
    matches!(door, AdmissionContext::PublicUnauthenticated)
}

/// Returns true if a context lets its callers name this origin. A public context accepts only origins that claim no
/// authority.
#[must_use]
pub const fn accepts_origin(door: AdmissionContext, origin: &Origin) -> bool {
    match origin {
        Origin::Channel { .. } | Origin::Webhook { .. } => true,
        Origin::Operator { .. }
        | Origin::Callback { .. }
        | Origin::Timer { .. }
        | Origin::System { .. }
        | Origin::Task { .. } => !is_public(door),
    }
}

/// Returns true if a context accepts this kind. The runtime's own kinds are accepted from the runtime alone, the
/// operator's from contexts that authenticate the operator.
#[must_use]
pub const fn accepts_kind(door: AdmissionContext, kind: MessageKind) -> bool {
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

/// Returns true if a message of this kind may have this origin.
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

/// Derives the authority of an ingress: the weakest of its origin's ceiling, its context's ceiling and what its sender
/// asks for.
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
    let derived = ingress.origin.ceiling().weaker(door);
    ingress.at_most.map_or(derived, |most| derived.weaker(most))
}
