//! Bindings to remote operators, and the messages that these bring.
//!
//! A secret belongs to one binding of one agent: it is stored under a name of its own before the commit that makes the
//! binding, and the binding names it. So neither a refused request nor another agent changes it, and an address gets no
//! secret that was given for another one.

use super::{AdmittedMessage, ControlHandle, read_admission};
use crate::error::Error;
use crate::request::Ingress;
use holon_core::input::{LaneCommand, OperatorCommand};
use holon_core::{Input, Rejection, Reply};
use holon_domain::agent::Visibility;
use holon_domain::delivery::{DeliveryRoute, OutboxLane, TargetAuth};
use holon_domain::operator_transport::{BindingStatus, OperatorTransportBinding, TransportClaim};
use holon_domain::{AgentId, BindingId, SecretId};

/// Answer to a request to make a binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BindingAddition {
    /// The binding as it is stored, also for a repetition of the request.
    Made(Box<OperatorTransportBinding>),
    /// Its deliveries need a secret. None was given, and there is no stored one that the binding could keep.
    NeedsSecret,
}

impl ControlHandle {
    /// Mints the id of a new binding.
    #[must_use]
    pub fn mint_binding_id(&self) -> BindingId {
        let mut source = self.shell.ports.entropy.source();
        BindingId::mint(source.as_mut())
    }

    /// Makes a binding to a remote operator, or replaces the one with the same id. Without a secret a replaced binding
    /// keeps its own.
    ///
    /// # Errors
    /// When the secret cannot be stored, there is no such agent, it has too many bindings, or storage fails.
    pub async fn bind_operator(
        &self,
        agent_id: &AgentId,
        mut binding: OperatorTransportBinding,
        secret: Option<&str>,
    ) -> Result<BindingAddition, Error> {
        // Another request must not remove a secret that no binding names yet.
        let _alone = self.binding.lock().await;
        let bindings = self.bindings_of(agent_id).await?;
        if binding.delivery_auth.kind != TargetAuth::None {
            match secret {
                Some(secret) => {
                    binding.secret_id = Some(self.mint_secret_id());
                    let profile = binding.secret_profile(agent_id);
                    self.keep_secret(&profile, secret).await?;
                }
                None => match self.replaced(agent_id, &bindings, &binding).await? {
                    Some(before) => binding.secret_id.clone_from(&before.secret_id),
                    None => return Ok(BindingAddition::NeedsSecret),
                },
            }
        }
        let command = OperatorCommand::Bind(binding);
        let input = Input::Operator(Box::new(command));
        let made = self.submit(agent_id, input).await;
        if !made.as_ref().is_err_and(Error::leaves_doubt) {
            self.forget_unnamed_secrets(agent_id).await;
        }
        match made? {
            Reply::Binding(stored) => Ok(BindingAddition::Made(stored)),
            other => Err(Error::Internal {
                message: format!("a binding was answered by {other:?}"),
            }),
        }
    }

    fn mint_secret_id(&self) -> SecretId {
        let mut source = self.shell.ports.entropy.source();
        SecretId::mint(source.as_mut())
    }

    /// Finds the active binding that another one replaces, if its secret is stored.
    async fn replaced<'a>(
        &self,
        agent_id: &AgentId,
        bindings: &'a [OperatorTransportBinding],
        binding: &OperatorTransportBinding,
    ) -> Result<Option<&'a OperatorTransportBinding>, Error> {
        let now = self.now();
        let is_replaced = |before: &&OperatorTransportBinding| {
            before.binding_id == binding.binding_id
                && before.status_at(now) == BindingStatus::Active
                && before.delivery_auth.kind != TargetAuth::None
        };
        let Some(before) = bindings.iter().find(is_replaced) else {
            return Ok(None);
        };
        let profile = before.secret_profile(agent_id);
        let stored = self.shell.ports.outbound.has_secret(&profile).await;
        let stored = stored.map_err(|reason| Error::SecretNotKept { reason })?;
        Ok(stored.then_some(before))
    }

    async fn bindings_of(
        &self,
        agent_id: &AgentId,
    ) -> Result<Vec<OperatorTransportBinding>, Error> {
        let found = self.find(agent_id).await?;
        let public = found.filter(|agent| agent.identity.visibility == Visibility::Public);
        let agent = public.ok_or_else(|| Error::AgentNotFound {
            agent_id: agent_id.clone(),
        })?;
        Ok(agent.settings.operator_bindings)
    }

    /// Removes the secrets of an agent's bindings that no binding uses any more.
    async fn forget_unnamed_secrets(&self, agent_id: &AgentId) {
        let bindings = match self.bindings_of(agent_id).await {
            Ok(bindings) => bindings,
            Err(Error::AgentNotFound { .. }) => Vec::new(),
            Err(error) => {
                tracing::warn!(%agent_id, %error, "unused secrets of bindings stay stored");
                return;
            }
        };
        let in_use = bindings
            .iter()
            .filter(|binding| binding.status != BindingStatus::Revoked);
        let kept: Vec<String> = in_use
            .map(|binding| binding.secret_profile(agent_id))
            .collect();
        self.shell.forget_binding_secrets(agent_id, &kept).await;
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
        let _alone = self.binding.lock().await;
        let command = OperatorCommand::Revoke { binding_id };
        let input = Input::Operator(Box::new(command));
        self.submit(agent_id, input).await?;
        self.forget_unnamed_secrets(agent_id).await;
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
