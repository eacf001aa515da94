//! Delivery targets of the host, bindings to remote operators, and the messages that these bring.

use super::{AdmittedMessage, ControlHandle, read_admission};
use crate::error::Error;
use crate::ports::{Destination, SubmitReport};
use crate::request::Ingress;
use crate::shell::engine_error;
use holon_core::input::{LaneCommand, OperatorCommand};
use holon_core::{Input, Rejection};
use holon_domain::delivery::{
    DeliveryContent, DeliveryRecord, DeliveryRoute, DeliveryTarget, DeliveryTrigger, OutboxLane,
    Submission,
};
use holon_domain::operator_transport::{OperatorTransportBinding, TransportClaim};
use holon_domain::visibility::Visibility;
use holon_domain::{AgentId, BindingId, DeliveryId, TargetId};
use holon_store::TargetAddition;

/// Text of a trial.
const TRIAL_TEXT: &str = "This is a trial of Holon's operator delivery. Nothing needs to be done.";

impl ControlHandle {
    /// Mints the id of a new binding.
    #[must_use]
    pub fn mint_binding_id(&self) -> BindingId {
        let mut source = self.shell.ports.entropy.source();
        BindingId::mint(source.as_mut())
    }

    fn mint_target_id(&self) -> TargetId {
        let mut source = self.shell.ports.entropy.source();
        TargetId::mint(source.as_mut())
    }

    /// Adds a delivery target. Its secret, if it has one, is stored first. Briefs that are written from now on go there.
    ///
    /// # Errors
    /// When the secret cannot be stored, or storage fails.
    pub async fn add_delivery_target(
        &self,
        mut target: DeliveryTarget,
        secret: Option<&str>,
    ) -> Result<TargetAddition, Error> {
        let taken = self.delivery_target(&target.name).await?.is_some();
        if taken {
            return Ok(TargetAddition::NameTaken);
        }
        target.id = Some(self.mint_target_id());
        if let Some(secret) = secret {
            self.keep_secret(&DeliveryTarget::secret_profile(&target.name), secret)
                .await?;
        }
        let added = holon_store::commit(self.shell.store.as_ref(), 0, move |ledger| {
            ledger.add_delivery_target(&target)
        });
        let addition = added.await.map_err(engine_error)?;
        self.reload_targets().await?;
        Ok(addition)
    }

    /// Removes a delivery target and its secret, and gives up what waits for it in the same commit. Returns the number of
    /// deliveries that were given up; `None` if there is none of this name. A repetition of a request that has removed one
    /// removes nothing.
    ///
    /// # Errors
    /// When the key of the request was used for another request, or storage fails.
    pub async fn remove_delivery_target(&self, name: &str) -> Result<Option<u64>, Error> {
        let key = self.request.clone();
        let removed = self.shell.remove_target(name.to_owned(), key).await?;
        let removed = removed.reply();
        self.reload_targets().await?;
        // The secret of another target that has the name by now stays.
        if removed.is_some() && self.delivery_target(name).await?.is_none() {
            let profile = DeliveryTarget::secret_profile(name);
            if let Err(reason) = self.shell.ports.outbound.forget_secret(&profile).await {
                tracing::warn!(name, reason, "the secret of a delivery target stays stored");
            }
        }
        Ok(removed)
    }

    /// Tries what waits for a target at once instead of after its pause. Returns the number of deliveries that wait;
    /// `None` if there is none of this name.
    ///
    /// # Errors
    /// Fails if the database cannot be read or written.
    pub async fn retry_delivery_target(&self, name: &str) -> Result<Option<u64>, Error> {
        let Some(target) = self.delivery_target(name).await? else {
            return Ok(None);
        };
        Ok(Some(self.shell.retry_route(target.route()).await?))
    }

    /// Makes one attempt with a trial text. Nothing is written. `None` if there is no target of this name.
    ///
    /// # Errors
    /// Fails if the database cannot be read or written.
    pub async fn try_delivery_target(&self, name: &str) -> Result<Option<SubmitReport>, Error> {
        let Some(target) = self.delivery_target(name).await? else {
            return Ok(None);
        };
        let mut source = self.shell.ports.entropy.source();
        let trial = Submission {
            agent_id: self.default_agent.clone(),
            text: TRIAL_TEXT.to_owned(),
            attempt: 1,
            record: DeliveryRecord {
                id: DeliveryId::mint(source.as_mut()),
                route: target.route(),
                seq: 0,
                trigger: DeliveryTrigger::Notification,
                visibility: Visibility::ActionRequired,
                content: DeliveryContent::Words(TRIAL_TEXT.to_owned()),
                created_at: self.now(),
                route_id: None,
                next_step: None,
                work_item_id: None,
                notification_id: None,
                correlation_id: None,
                causation_id: None,
            },
        };
        let destination = Destination::Target(target);
        let report = self.shell.ports.outbound.submit(&destination, &trial).await;
        Ok(Some(report))
    }

    async fn delivery_target(&self, name: &str) -> Result<Option<DeliveryTarget>, Error> {
        let targets = self
            .readers
            .read(|reader| reader.delivery_targets())
            .await?;
        Ok(targets.into_iter().find(|target| target.name == name))
    }

    /// Brings the targets that decisions read in line with the store. This process alone changes them.
    async fn reload_targets(&self) -> Result<(), Error> {
        let targets = self
            .readers
            .read(|reader| reader.delivery_targets())
            .await?;
        self.shell.kernel.conditions().set_delivery_targets(targets);
        Ok(())
    }

    async fn keep_secret(&self, profile: &str, secret: &str) -> Result<(), Error> {
        let kept = self.shell.ports.outbound.keep_secret(profile, secret).await;
        kept.map_err(|reason| Error::SecretNotKept { reason })
    }

    /// Makes a binding to a remote operator, or replaces the one with the same id. Its secret is stored first.
    ///
    /// # Errors
    /// When the secret cannot be stored, there is no such agent, it has too many bindings, or storage fails.
    pub async fn bind_operator(
        &self,
        agent_id: &AgentId,
        binding: OperatorTransportBinding,
        secret: Option<&str>,
    ) -> Result<(), Error> {
        if let Some(secret) = secret {
            let profile = OperatorTransportBinding::secret_profile(&binding.binding_id);
            self.keep_secret(&profile, secret).await?;
        }
        let command = OperatorCommand::Bind(binding);
        let input = Input::Operator(Box::new(command));
        self.submit(agent_id, input).await.map(|_| ())
    }

    /// Revokes a binding at once and removes its secret. What waits for it is given up in the same commit.
    ///
    /// # Errors
    /// When there is no such agent or binding, or storage fails.
    pub async fn revoke_binding(
        &self,
        agent_id: &AgentId,
        binding_id: BindingId,
    ) -> Result<(), Error> {
        let profile = OperatorTransportBinding::secret_profile(&binding_id);
        let command = OperatorCommand::Revoke { binding_id };
        let input = Input::Operator(Box::new(command));
        self.submit(agent_id, input).await?;
        if let Err(reason) = self.shell.ports.outbound.forget_secret(&profile).await {
            tracing::warn!(%agent_id, reason, "the secret of a revoked binding stays stored");
        }
        Ok(())
    }

    /// Tries what waits for a binding at once instead of after its pause. Returns the number of deliveries that wait.
    ///
    /// # Errors
    /// When there is no such agent or binding, or storage fails.
    pub async fn retry_binding(
        &self,
        agent_id: &AgentId,
        binding_id: BindingId,
    ) -> Result<u64, Error> {
        let route = DeliveryRoute::Binding {
            binding_id: binding_id.clone(),
        };
        let input = Input::Lane {
            route: route.clone(),
            command: LaneCommand::RetryNow,
        };
        self.submit(agent_id, input).await?;
        let agent = self.find(agent_id).await?;
        let agent = agent.ok_or_else(|| Error::AgentNotFound {
            agent_id: agent_id.clone(),
        })?;
        let mut bindings = agent.operator_bindings.iter();
        if !bindings.any(|binding| binding.binding_id == binding_id) {
            return Err(Rejection::NoSuchBinding.into());
        }
        Ok(agent.outbox.lane(&route).map_or(0, OutboxLane::pending))
    }

    /// Admits a message that a bound transport brings for its operator.
    ///
    /// # Errors
    /// When the claim does not fit the binding, the agent admits nothing, or storage fails.
    pub async fn admit_from_transport(
        &self,
        agent_id: &AgentId,
        claim: TransportClaim,
        mut ingress: Ingress,
    ) -> Result<AdmittedMessage, Error> {
        self.shell.conceal(agent_id, &mut ingress).await;
        let input = Input::OperatorMessage {
            claim: Box::new(claim),
            ingress: Box::new(ingress),
        };
        let reply = self.submit(agent_id, input).await?;
        read_admission(agent_id, reply)
    }
}
