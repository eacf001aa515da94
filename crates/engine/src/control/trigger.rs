//! External triggers and webhooks: commands of operators, and deliveries from outside.
//!
//! A delivery is checked against the rows first and decided afterwards, so a rotation or revocation counts from its
//! commit on.

use super::{ControlHandle, read_admission};
use crate::error::Error;
use crate::kernel::Reach;
use crate::request::{AdmittedMessage, Ingress};
use holon_core::input::TriggerCommand;
use holon_core::{Input, Rejection, Reply};
use holon_domain::agent::{Lifecycle, Visibility};
use holon_domain::request_key::RequestKey;
use holon_domain::trigger::{
    CallbackDelivery, CallbackReceipt, DeliveryMode, TokenClaim, TriggerRecord,
};
use holon_domain::{AgentId, Timestamp, TriggerId};
use std::borrow::Cow;
use std::time::Duration;

/// Id that no trigger has. It is looked up for a text that is no token, so that every check costs the same.
const NO_TRIGGER: &str = "trig_none";

/// An agent's terms for webhooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WebhookTerms {
    /// True if webhooks without a signature are accepted.
    pub allow_unsigned: bool,
    /// Number that no other agent of the host has. A secret counts for the agent that it was stored for, and not for
    /// another one of the same name.
    pub birth: i64,
}

impl ControlHandle {
    /// Makes an external trigger of this mode, or returns the active one.
    ///
    /// # Errors
    /// When there is no such agent, or storage fails.
    pub async fn create_trigger(
        &self,
        agent_id: &AgentId,
        delivery_mode: DeliveryMode,
    ) -> Result<TriggerRecord, Error> {
        let command = TriggerCommand::Create { delivery_mode };
        self.change_trigger(agent_id, command).await
    }

    /// Gives a trigger another URL. The old one is useless when this returns.
    ///
    /// # Errors
    /// When there is no such agent or active trigger, or storage fails.
    pub async fn rotate_trigger(
        &self,
        agent_id: &AgentId,
        trigger_id: TriggerId,
    ) -> Result<TriggerRecord, Error> {
        self.change_trigger(agent_id, TriggerCommand::Rotate { trigger_id })
            .await
    }

    /// Revokes a trigger. Its URL is useless when this returns.
    ///
    /// # Errors
    /// When there is no such agent or active trigger, or storage fails.
    pub async fn revoke_trigger(
        &self,
        agent_id: &AgentId,
        trigger_id: TriggerId,
    ) -> Result<TriggerRecord, Error> {
        self.change_trigger(agent_id, TriggerCommand::Revoke { trigger_id })
            .await
    }

    async fn change_trigger(
        &self,
        agent_id: &AgentId,
        command: TriggerCommand,
    ) -> Result<TriggerRecord, Error> {
        match self.submit(agent_id, Input::Trigger(command)).await? {
            Reply::Trigger(trigger) => Ok(*trigger),
            other => Err(unexpected_reply(&other)),
        }
    }

    /// Derives the URL of an active trigger, for an operator who asks for it.
    ///
    /// # Errors
    /// When there is no such agent or active trigger, the host has no key for URLs, or storage fails.
    pub async fn reveal_trigger(
        &self,
        agent_id: &AgentId,
        trigger_id: &TriggerId,
    ) -> Result<(TriggerRecord, String), Error> {
        let unknown = || Rejection::NoSuchTrigger {
            agent_id: agent_id.clone(),
        };
        self.find_public(agent_id).await?;
        let found = self.read_trigger(trigger_id).await?;
        let trigger = found
            .filter(|trigger| trigger.is_active() && trigger.target_agent_id == *agent_id)
            .ok_or_else(unknown)?;
        let conduct = &self.shell.conduct;
        if !conduct.capability_key.is_usable() {
            return Err(Error::NoCapabilityKey);
        }
        let token = conduct
            .capability_key
            .token(&trigger.id, trigger.generation);
        let url = trigger.url(&conduct.callback_base, &token);
        Ok((trigger.without_key(), url))
    }

    /// Finds the active capability that a token proves. Takes the same steps for every token, known or not.
    ///
    /// # Errors
    /// Fails if the database cannot be read or written.
    pub async fn find_capability(&self, token: &str) -> Result<Option<TriggerRecord>, Error> {
        let claim = TokenClaim::read(token).unwrap_or_else(|| TokenClaim {
            trigger_id: TriggerId::from_stored(NO_TRIGGER),
            generation: 0,
        });
        let proven = self.shell.conduct.capability_key.verify(token, &claim);
        let found = self.read_trigger(&claim.trigger_id).await?;
        let is_current = |trigger: &TriggerRecord| {
            proven && trigger.is_active() && trigger.generation == claim.generation
        };
        Ok(found.filter(is_current))
    }

    /// Returns true if a text holds a token that is or was the token of a trigger of this host.
    #[must_use]
    pub fn holds_trigger_token(&self, text: &str) -> bool {
        let concealed = self.shell.conduct.capability_key.conceal(text, &[]);
        matches!(concealed, Cow::Owned(_))
    }

    async fn read_trigger(&self, id: &TriggerId) -> Result<Option<TriggerRecord>, Error> {
        let id = id.clone();
        Ok(self.readers.read(move |reader| reader.trigger(&id)).await?)
    }

    /// Delivers to a capability that [`ControlHandle::find_capability`] found. A delivery id takes effect once.
    ///
    /// # Errors
    /// When the capability was revoked meanwhile, the agent refuses the delivery, or storage fails.
    pub async fn deliver_callback(
        &self,
        agent_id: &AgentId,
        mut delivery: CallbackDelivery,
    ) -> Result<CallbackReceipt, Error> {
        // The key is taken from the id as it was sent. What is stored of the id is concealed.
        let id = delivery.delivery_id.as_deref();
        let keys =
            id.map(|id| RequestKey::of_delivery(delivery.trigger_id.as_str(), "callback", id));
        let keys = keys.into_iter().collect();
        self.shell.conceal(agent_id, &mut delivery).await;
        let input = Input::Callback(Box::new(delivery));
        let shell = &self.shell;
        let reply = shell.submit_incoming(agent_id, Reach::Any, keys, input);
        match reply.await {
            Ok(Reply::Delivered(receipt)) => Ok(*receipt),
            Ok(other) => Err(unexpected_reply(&other)),
            // The agent was removed after its capability was found.
            Err(Error::AgentNotFound { .. }) => Err(Rejection::UnknownToken.into()),
            Err(error) => Err(error),
        }
    }

    /// Admits a webhook. The same delivery, by its id or by its signature, takes effect once.
    ///
    /// # Errors
    /// When there is no such agent, it refuses the message, or storage fails.
    pub async fn deliver_webhook(
        &self,
        agent_id: &AgentId,
        marks: &[(&str, &str)],
        mut ingress: Ingress,
    ) -> Result<AdmittedMessage, Error> {
        self.shell.conceal(agent_id, &mut ingress).await;
        let keys = marks
            .iter()
            .map(|(kind, mark)| RequestKey::of_delivery(agent_id.as_str(), kind, mark));
        let keys = keys.collect();
        let input = Input::Admit(Box::new(ingress));
        let shell = &self.shell;
        let reply = shell.submit_incoming(agent_id, Reach::Public, keys, input);
        read_admission(agent_id, reply.await?)
    }

    /// Returns an agent's terms for webhooks. `None` if clients cannot see such an agent, or it is being removed.
    ///
    /// # Errors
    /// When the agent was put aside, or storage fails.
    pub async fn webhook_terms(&self, agent_id: &AgentId) -> Result<Option<WebhookTerms>, Error> {
        let id = agent_id.clone();
        let read = self.readers.read(move |reader| {
            let Some((_, agent)) = reader.agent(&id)? else {
                return Ok(None);
            };
            Ok(reader.birth(&id)?.map(|birth| (agent, birth)))
        });
        let found = self.shell.read_or_put_aside(agent_id, read).await?;
        let found = found.filter(|(agent, _)| {
            agent.identity.visibility == Visibility::Public
                && agent.lifecycle != Lifecycle::Deleting
        });
        Ok(found.map(|(agent, birth)| WebhookTerms {
            allow_unsigned: agent.unsigned_webhooks,
            birth,
        }))
    }

    /// Says whether webhooks without a signature are accepted.
    ///
    /// # Errors
    /// When there is no such agent, or storage fails.
    pub async fn configure_webhook(
        &self,
        agent_id: &AgentId,
        allow_unsigned: bool,
    ) -> Result<(), Error> {
        let command = TriggerCommand::ConfigureWebhook { allow_unsigned };
        let input = Input::Trigger(command);
        self.submit(agent_id, input).await.map(|_| ())
    }

    /// Returns the address of the host in capability URLs.
    #[must_use]
    pub fn callback_base(&self) -> &str {
        &self.shell.conduct.callback_base
    }

    /// Returns the time of the host's monotonic clock, for rates.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.shell.ports.clock.elapsed()
    }

    /// Returns the time of the host's wall clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.shell.ports.clock.now()
    }
}

fn unexpected_reply(reply: &Reply) -> Error {
    Error::Internal {
        message: format!("a delivery was answered by {reply:?}"),
    }
}
