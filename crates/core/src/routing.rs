//! Routes of a delivery: the targets of the host that want it, and at most one bound operator transport.
//!
//! The transport is the one that brought the turn's message; else the one that asked for the turn's work item; else the
//! newest active binding of the agent. The binding that is chosen says whether results of turns go there, unless its own
//! message is answered. Without any route the brief stays where local surfaces show it.

use crate::draft::Draft;
use holon_domain::Timestamp;
use holon_domain::delivery::{DeliveryRoute, DeliveryTarget};
use holon_domain::operator_transport::{BindingStatus, OperatorTransportBinding, ReplyRoute};
use holon_domain::turn::OpenTurn;
use holon_domain::visibility::Visibility;

/// A route, with the route of the transport that a text takes there.
pub(crate) struct Routed {
    pub(crate) route: DeliveryRoute,
    /// Absent for targets of the host.
    pub(crate) route_id: Option<String>,
}

/// Lists the routes of an item of this visibility.
pub(crate) fn routes(draft: &Draft<'_>, turn: &OpenTurn, visibility: Visibility) -> Vec<Routed> {
    let agent_id = &draft.agent.identity.agent_id;
    let targets = draft.host.delivery_targets.iter();
    let wanted = targets.filter(|target: &&DeliveryTarget| target.wants(agent_id, visibility));
    let mut routes: Vec<Routed> = wanted
        .map(|target| Routed {
            route: target.route(),
            route_id: None,
        })
        .collect();
    routes.extend(transport_route(draft, turn, visibility));
    routes
}

fn transport_route(draft: &Draft<'_>, turn: &OpenTurn, visibility: Visibility) -> Option<Routed> {
    if draft.agent.operator_bindings.is_empty() || visibility > Visibility::TurnResult {
        return None;
    }
    // A message with a reply route asks for its answer, so the result of its turn is delivered as well.
    let asked = turn.reply_route.as_ref();
    if let Some(reply) = asked.filter(|it| open_binding(draft, it).is_some()) {
        return Some(routed(reply));
    }
    let item = turn.work_item_id.as_ref();
    let of_item = item.and_then(|id| draft.work_item(id)?.provenance.reply_route);
    let (binding, reply) = match of_item.and_then(|it| Some((open_binding(draft, &it)?, it))) {
        Some(found) => found,
        None => {
            let binding = default_binding(draft)?;
            let reply = ReplyRoute {
                binding_id: binding.binding_id.clone(),
                route_id: binding.default_route_id.clone(),
            };
            (binding, reply)
        }
    };
    if visibility == Visibility::TurnResult && !binding.turn_results {
        return None;
    }
    Some(routed(&reply))
}

fn routed(reply: &ReplyRoute) -> Routed {
    Routed {
        route: DeliveryRoute::Binding {
            binding_id: reply.binding_id.clone(),
        },
        route_id: Some(reply.route_id.clone()),
    }
}

/// Returns the binding of a route, if it is active.
fn open_binding<'a>(
    draft: &'a Draft<'_>,
    reply: &ReplyRoute,
) -> Option<&'a OperatorTransportBinding> {
    let mut bindings = draft.agent.operator_bindings.iter();
    bindings.find(|binding| binding.binding_id == reply.binding_id && is_open(binding, draft.now))
}

fn is_open(binding: &OperatorTransportBinding, now: Timestamp) -> bool {
    binding.status_at(now) == BindingStatus::Active
}

/// Returns the newest active binding, which has the agent's default route.
fn default_binding<'a>(draft: &'a Draft<'_>) -> Option<&'a OperatorTransportBinding> {
    let mut newest_first = draft.agent.operator_bindings.iter().rev();
    newest_first.find(|binding| is_open(binding, draft.now))
}
