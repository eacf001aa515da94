//! External triggers: made, rotated, revoked and used.
//!
//! | from | by | to |
//! |---|---|---|
//! | none | creation of the agent (wake), `CreateExternalTrigger` (wake), an operator (either mode) | active, generation 1 |
//! | active | create again | unchanged: the same capability is returned |
//! | active | rotate | active, the next generation; the old URL is useless |
//! | active | revoke, by an operator or `CancelExternalTrigger` | revoked; it stays as a record |
//! | active | delivery by a token of the current generation | active, one more delivery |
//! | revoked | anything | unchanged, refused |
//!
//! An operator's revocation binds the agent: it can make no capability of that mode until an operator makes one. Its own
//! revocation does not bind it.
//!
//! A capability belongs to the agent. No wait owns it, and the end of a wait changes nothing about it. An agent has at
//! most one active capability of each mode.

mod deliver;

pub(crate) use deliver::deliver;

use crate::draft::Draft;
use crate::input::{Reply, TriggerCommand};
use crate::rejection::Rejection;
use crate::wait;
use holon_domain::TriggerId;
use holon_domain::agent::Lifecycle;
use holon_domain::decision::Fact;
use holon_domain::event::{
    Event, ExternalTriggerCreated, ExternalTriggerRevoked, ExternalTriggerRotated,
    WebhookConfigured,
};
use holon_domain::trigger::{DeliveryMode, TriggerRecord, TriggerStatus};

/// The party that asks for a change of a capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TriggerActor {
    Agent,
    Operator,
}

/// Gives a new agent its wake capability. Recorded by the row alone, because every agent has one.
pub(crate) fn provision(draft: &mut Draft<'_>) {
    let agent_id = draft.agent.identity.agent_id.clone();
    let id = TriggerId::of_agent(&agent_id, draft.agent.generation);
    let trigger = TriggerRecord::new(id, agent_id, DeliveryMode::WakeHint, draft.now);
    draft.fact(Fact::TriggerWritten(Box::new(trigger)));
}

/// Performs a command of an operator.
pub(crate) fn handle(draft: &mut Draft<'_>, command: &TriggerCommand) -> Result<Reply, Rejection> {
    if draft.agent.lifecycle == Lifecycle::Deleting {
        return Err(Rejection::deleting(&draft.agent));
    }
    let changed = match command {
        TriggerCommand::Create { delivery_mode } => {
            create(draft, *delivery_mode, TriggerActor::Operator)?
        }
        TriggerCommand::Rotate { trigger_id } => rotate(draft, trigger_id)?,
        TriggerCommand::Revoke { trigger_id } => revoke(draft, trigger_id, TriggerActor::Operator)?,
        TriggerCommand::ConfigureWebhook { allow_unsigned } => {
            configure_webhook(draft, *allow_unsigned);
            return Ok(Reply::Done);
        }
    };
    Ok(Reply::Trigger(Box::new(changed.without_key())))
}

/// Returns the active capability of a mode, made if there is none. An agent may not make the one that enqueues: content
/// from outside becomes messages only after an operator said so.
pub(crate) fn create(
    draft: &mut Draft<'_>,
    mode: DeliveryMode,
    actor: TriggerActor,
) -> Result<TriggerRecord, Rejection> {
    if let Some(active) = active_of(draft, mode) {
        return Ok(active);
    }
    match (mode, actor) {
        (DeliveryMode::EnqueueMessage, TriggerActor::Agent) => {
            return Err(Rejection::TriggerModeNotAllowed {
                agent_id: draft.agent.identity.agent_id.clone(),
            });
        }
        (DeliveryMode::WakeHint, TriggerActor::Agent) if is_withdrawn(draft, mode) => {
            return Err(Rejection::TriggerRevokedByOperator {
                agent_id: draft.agent.identity.agent_id.clone(),
            });
        }
        (DeliveryMode::WakeHint, TriggerActor::Agent) => {}
        (DeliveryMode::EnqueueMessage | DeliveryMode::WakeHint, TriggerActor::Operator) => {
            set_withdrawn(draft, mode, false);
        }
    }
    let id = TriggerId::mint(draft.entropy);
    let agent_id = draft.agent.identity.agent_id.clone();
    let trigger = TriggerRecord::new(id, agent_id, mode, draft.now);
    draft.event(Event::ExternalTriggerCreated(ExternalTriggerCreated {
        external_trigger_id: trigger.id.clone(),
        scope: trigger.scope,
        delivery_mode: mode,
        by_operator: actor == TriggerActor::Operator,
    }));
    draft.put_trigger(trigger.clone());
    Ok(trigger)
}

/// Returns the capability of a mode for the agent itself, with the placeholder that stands for its token.
pub(crate) fn give(draft: &mut Draft<'_>, mode: DeliveryMode) -> Result<TriggerRecord, Rejection> {
    let mut trigger = create(draft, mode, TriggerActor::Agent)?;
    if trigger.placeholder_key.is_none() {
        let bits = draft.entropy.next();
        trigger.placeholder_key = Some(format!("{:016x}", bits & u128::from(u64::MAX)));
        draft.put_trigger(trigger.clone());
    }
    Ok(trigger)
}

fn rotate(draft: &mut Draft<'_>, id: &TriggerId) -> Result<TriggerRecord, Rejection> {
    let mut trigger = active_by_id(draft, id)?;
    trigger.generation += 1;
    trigger.rotated_at = Some(draft.now);
    trigger.placeholder_key = None;
    draft.event(Event::ExternalTriggerRotated(ExternalTriggerRotated {
        external_trigger_id: trigger.id.clone(),
        scope: trigger.scope,
        delivery_mode: trigger.delivery_mode,
        generation: trigger.generation,
    }));
    draft.put_trigger(trigger.clone());
    Ok(trigger)
}

/// Revokes a capability. Its record stays, and deliveries to its URL fail from this commit on.
pub(crate) fn revoke(
    draft: &mut Draft<'_>,
    id: &TriggerId,
    actor: TriggerActor,
) -> Result<TriggerRecord, Rejection> {
    let mut trigger = active_by_id(draft, id)?;
    trigger.status = TriggerStatus::Revoked;
    trigger.revoked_at = Some(draft.now);
    trigger.revoked_by_operator = Some(actor == TriggerActor::Operator);
    trigger.placeholder_key = None;
    if actor == TriggerActor::Operator {
        set_withdrawn(draft, trigger.delivery_mode, true);
    }
    draft.event(Event::ExternalTriggerRevoked(ExternalTriggerRevoked {
        external_trigger_id: trigger.id.clone(),
        scope: trigger.scope,
        delivery_mode: trigger.delivery_mode,
        by_operator: actor == TriggerActor::Operator,
    }));
    draft.put_trigger(trigger.clone());
    wait::handle_trigger_revoked(draft, id, actor);
    Ok(trigger)
}

fn configure_webhook(draft: &mut Draft<'_>, allow_unsigned: bool) {
    draft.change_settings(|settings| settings.unsigned_webhooks = allow_unsigned);
    draft.event(Event::WebhookConfigured(WebhookConfigured {
        unsigned_webhooks: allow_unsigned,
    }));
}

fn active_of(draft: &Draft<'_>, mode: DeliveryMode) -> Option<TriggerRecord> {
    let mut triggers = draft.triggers().into_iter();
    triggers.find(|trigger| trigger.is_active() && trigger.delivery_mode == mode)
}

/// Returns true if an operator has withdrawn a mode from the agent. Earlier builds noted it in the record of the revoked
/// capability or in its event alone; the newest record of the mode decides then, because an operator who allows the mode
/// again makes a newer one. If the event is gone and the record does not say who revoked it, it counts as an operator's.
pub(crate) fn is_withdrawn(draft: &Draft<'_>, mode: DeliveryMode) -> bool {
    let mut triggers = draft.triggers().into_iter();
    let newest = triggers.find(|trigger| trigger.delivery_mode == mode);
    let binds =
        |newest: TriggerRecord| !newest.is_active() && newest.revoked_by_operator != Some(false);
    draft.agent.withdrawn_modes.contains(&mode) || newest.is_some_and(binds)
}

/// Notes whether an operator has withdrawn a mode from the agent. It holds until an operator makes a capability of it.
fn set_withdrawn(draft: &mut Draft<'_>, mode: DeliveryMode, is_withdrawn: bool) {
    if draft.agent.withdrawn_modes.contains(&mode) != is_withdrawn {
        draft.change_settings(|settings| {
            settings.withdrawn_modes.retain(|known| *known != mode);
            settings
                .withdrawn_modes
                .extend(is_withdrawn.then_some(mode));
        });
    }
}

fn active_by_id(draft: &Draft<'_>, id: &TriggerId) -> Result<TriggerRecord, Rejection> {
    let mut triggers = draft.triggers().into_iter();
    let found = triggers.find(|trigger| trigger.is_active() && trigger.id == *id);
    found.ok_or_else(|| Rejection::NoSuchTrigger {
        agent_id: draft.agent.identity.agent_id.clone(),
    })
}
