//! Remote operator transport: makes and revokes bindings, and admits the messages that a transport brings.
//!
//! A message counts as an operator's only if its binding is active, belongs to this agent and names the same actor and
//! identity. Any other message is refused and changes nothing.

use crate::admission;
use crate::draft::Draft;
use crate::ingress::Ingress;
use crate::input::{OperatorCommand, Reply};
use crate::outbox;
use crate::rejection::Rejection;
use holon_domain::BindingId;
use holon_domain::agent::Lifecycle;
use holon_domain::delivery::DeliveryRoute;
use holon_domain::event::{Event, OperatorTransportBindingUpserted};
use holon_domain::limits;
use holon_domain::message::{DeliverySurface, MessageEnvelope};
use holon_domain::operator_transport::{
    BindingStatus, OperatorTransportBinding, ReplyRoute, TransportClaim,
};
use serde_json::Value;

/// Key of a transport message's metadata that names its binding.
pub(crate) const BINDING_KEY: &str = "binding_id";
/// Key of a transport message's metadata that names the route of the answer.
pub(crate) const ROUTE_KEY: &str = "reply_route_id";

/// Decides a command about the agent's bindings.
pub(crate) fn handle(draft: &mut Draft<'_>, command: &OperatorCommand) -> Result<Reply, Rejection> {
    if draft.agent.lifecycle == Lifecycle::Deleting {
        return Err(Rejection::deleting(&draft.agent));
    }
    match command {
        OperatorCommand::Bind(binding) => bind(draft, binding),
        OperatorCommand::Revoke { binding_id } => revoke(draft, binding_id),
    }
}

/// Stores a binding. One with the same id is replaced and keeps its place and its creation time.
fn bind(draft: &mut Draft<'_>, binding: &OperatorTransportBinding) -> Result<Reply, Rejection> {
    check_metadata(binding)?;
    let mut bindings = draft.agent.operator_bindings.clone();
    let mut stored = binding.clone();
    let known = bindings
        .iter()
        .position(|one| one.binding_id == binding.binding_id);
    match known.and_then(|at| bindings.get_mut(at)) {
        Some(before) => {
            stored.created_at = before.created_at;
            *before = stored.clone();
        }
        None => {
            make_room(&mut bindings, draft)?;
            bindings.push(stored.clone());
        }
    }
    draft.change_settings_within(|settings| settings.operator_bindings = bindings)?;
    record(draft, &stored);
    Ok(Reply::Binding(Box::new(stored)))
}

/// Refuses metadata that is too large to be part of every request.
fn check_metadata(binding: &OperatorTransportBinding) -> Result<(), Rejection> {
    match &binding.metadata {
        Some(metadata) if is_too_large(metadata) => Err(Rejection::TooLarge {
            what: "metadata of the binding",
            bytes: metadata.to_string().len(),
            max: limits::BINDING_METADATA_BYTES,
        }),
        Some(_) | None => Ok(()),
    }
}

fn is_too_large(metadata: &Value) -> bool {
    metadata.to_string().len() > limits::BINDING_METADATA_BYTES
}

/// Removes the oldest binding that has ended if the agent has as many as it may.
fn make_room(
    bindings: &mut Vec<OperatorTransportBinding>,
    draft: &Draft<'_>,
) -> Result<(), Rejection> {
    if bindings.len() < limits::OPERATOR_BINDINGS {
        return Ok(());
    }
    let has_ended =
        |binding: &OperatorTransportBinding| binding.status_at(draft.now) != BindingStatus::Active;
    match bindings.iter().position(has_ended) {
        Some(at) => drop(bindings.remove(at)),
        None => return Err(Rejection::TooManyBindings),
    }
    Ok(())
}

fn revoke(draft: &mut Draft<'_>, binding_id: &BindingId) -> Result<Reply, Rejection> {
    let found = find(draft, binding_id)?;
    if found.status == BindingStatus::Revoked {
        return Ok(Reply::Unchanged);
    }
    // An earlier build stored metadata of any size. No one needs it any more, and each step of the agent reads it.
    let metadata = found.metadata.filter(|metadata| !is_too_large(metadata));
    let revoked = OperatorTransportBinding {
        status: BindingStatus::Revoked,
        metadata,
        ..found
    };
    change(draft, &revoked);
    record(draft, &revoked);
    let route = DeliveryRoute::Binding {
        binding_id: binding_id.clone(),
    };
    let reason = format!("the binding {binding_id} was revoked");
    outbox::end_lane(draft, &route, &reason);
    Ok(Reply::Done)
}

fn find(draft: &Draft<'_>, id: &BindingId) -> Result<OperatorTransportBinding, Rejection> {
    let mut bindings = draft.agent.operator_bindings.iter();
    let found = bindings.find(|binding| binding.binding_id == *id);
    found.cloned().ok_or(Rejection::NoSuchBinding)
}

fn change(draft: &mut Draft<'_>, changed: &OperatorTransportBinding) {
    draft.change_settings(|settings| {
        for binding in &mut settings.operator_bindings {
            if binding.binding_id == changed.binding_id {
                *binding = changed.clone();
            }
        }
    });
}

fn record(draft: &mut Draft<'_>, binding: &OperatorTransportBinding) {
    draft.event(Event::OperatorTransportBindingUpserted(
        OperatorTransportBindingUpserted {
            binding_id: binding.binding_id.clone(),
            transport: binding.transport.clone(),
            operator_actor_id: binding.operator_actor_id.clone(),
            provider: binding.provider.clone(),
            status: binding.status,
        },
    ));
}

/// Admits a message that a transport brings for its operator.
pub(crate) fn admit(
    draft: &mut Draft<'_>,
    claim: &TransportClaim,
    ingress: &Ingress,
) -> Result<Reply, Rejection> {
    admission::judge_lifecycle(&draft.agent)?;
    let binding = find(draft, &claim.binding_id)?;
    if binding.status_at(draft.now) != BindingStatus::Active {
        return Err(Rejection::BindingInactive);
    }
    check_identity(claim, &binding)?;
    let route = binding.answer_route(claim.reply_route_id.as_deref());
    let mut ingress = ingress.clone();
    // The claim is checked, and replaces what the caller wrote under these keys.
    let mut metadata = match ingress.metadata.take() {
        Some(Value::Object(metadata)) => metadata,
        Some(_) | None => serde_json::Map::new(),
    };
    metadata.insert(BINDING_KEY.to_owned(), claim.binding_id.as_str().into());
    metadata.insert(ROUTE_KEY.to_owned(), route.into());
    ingress.metadata = Some(Value::Object(metadata));
    let reply = crate::step::admit(draft, &ingress)?;
    let seen = OperatorTransportBinding {
        last_seen_at: Some(draft.now),
        ..binding
    };
    change(draft, &seen);
    Ok(reply)
}

/// Checks that a message names what its binding names: the actor, and the provider and the identity if the binding has
/// them.
fn check_identity(
    claim: &TransportClaim,
    binding: &OperatorTransportBinding,
) -> Result<(), Rejection> {
    let pairs = [
        (&claim.provider, &binding.provider),
        (&claim.provider_identity_ref, &binding.provider_identity_ref),
    ];
    let contradicts = |claimed: &Option<String>, bound: &Option<String>| {
        claimed.is_some() && bound.is_some() && claimed != bound
    };
    if claim.actor_id != binding.operator_actor_id
        || pairs
            .iter()
            .any(|(claimed, bound)| contradicts(claimed, bound))
    {
        return Err(Rejection::OperatorMismatch);
    }
    let leaves_out =
        |claimed: &Option<String>, bound: &Option<String>| claimed.is_none() && bound.is_some();
    if pairs
        .iter()
        .any(|(claimed, bound)| leaves_out(claimed, bound))
    {
        return Err(Rejection::OperatorIdentityMissing);
    }
    Ok(())
}

/// Returns the route by which the answer to a message goes back. `None` unless a transport brought the message.
pub(crate) fn reply_route(envelope: &MessageEnvelope) -> Option<ReplyRoute> {
    if envelope.delivery_surface != DeliverySurface::RemoteOperatorTransport {
        return None;
    }
    let text = |key: &str| envelope.metadata.as_ref()?.get(key)?.as_str();
    Some(ReplyRoute {
        binding_id: BindingId::from_stored(text(BINDING_KEY)?),
        route_id: text(ROUTE_KEY)?.to_owned(),
    })
}
