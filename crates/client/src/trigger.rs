//! Routes about external triggers and webhooks.

use crate::answer::Answer;
use crate::client::{Client, control_path};
use crate::error::Error;
use crate::view::{Delivered, RevealedTrigger, Trigger, Webhook};
use crate::work::escape_segment;
use holon_api::{CreateTriggerRequest, EmptyRequest, SetWebhookRequest};
use holon_domain::{AgentId, TriggerId};
use serde_json::Value;

impl Client {
    /// Lists an agent's external triggers, newest first, without their URLs.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn triggers(&self, agent_id: &AgentId) -> Result<Vec<Answer<Trigger>>, Error> {
        self.get(format!("/agents/{agent_id}/external-triggers"))
            .await
    }

    /// Makes an external trigger, or returns the active one of this mode.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn create_trigger(
        &self,
        agent_id: &AgentId,
        request: &CreateTriggerRequest,
    ) -> Result<Answer<Trigger>, Error> {
        self.post(control_path(agent_id, "external-triggers"), request)
            .await
    }

    /// Returns an active trigger with its secret URL.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn reveal_trigger(
        &self,
        agent_id: &AgentId,
        id: &TriggerId,
    ) -> Result<Answer<RevealedTrigger>, Error> {
        self.post(
            trigger_path(agent_id, id, "reveal"),
            &EmptyRequest::default(),
        )
        .await
    }

    /// Gives a trigger another URL.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn rotate_trigger(
        &self,
        agent_id: &AgentId,
        id: &TriggerId,
    ) -> Result<Answer<Trigger>, Error> {
        self.post(
            trigger_path(agent_id, id, "rotate"),
            &EmptyRequest::default(),
        )
        .await
    }

    /// Makes the URL of a trigger useless.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn revoke_trigger(
        &self,
        agent_id: &AgentId,
        id: &TriggerId,
    ) -> Result<Answer<Trigger>, Error> {
        self.post(
            trigger_path(agent_id, id, "revoke"),
            &EmptyRequest::default(),
        )
        .await
    }

    /// Delivers JSON to a capability or an unsigned webhook once. `path` is the part of its URL behind the address of the
    /// host. A repetition with the same id has no second effect.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn deliver(
        &self,
        path: &str,
        delivery_id: &str,
        body: &Value,
    ) -> Result<Answer<Delivered>, Error> {
        self.send_keyed(path.to_owned(), delivery_id.to_owned(), body.to_string())
            .await
    }

    /// Says which webhooks an agent accepts.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn webhook(&self, agent_id: &AgentId) -> Result<Answer<Webhook>, Error> {
        self.get(format!("/agents/{agent_id}/webhook")).await
    }

    /// Sets the secret of an agent's webhooks, and whether a signature is needed.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn set_webhook(
        &self,
        agent_id: &AgentId,
        request: &SetWebhookRequest,
    ) -> Result<Answer<Webhook>, Error> {
        self.post(control_path(agent_id, "webhook"), request).await
    }

    /// Forgets the secret of an agent's webhooks; it accepts none afterwards.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn remove_webhook(&self, agent_id: &AgentId) -> Result<Answer<Webhook>, Error> {
        let target = control_path(agent_id, "webhook/remove");
        self.post(target, &EmptyRequest::default()).await
    }
}

fn trigger_path(agent_id: &AgentId, id: &TriggerId, act: &str) -> String {
    let id = escape_segment(id.as_str());
    control_path(agent_id, &format!("external-triggers/{id}/{act}"))
}
