//! Routes about operator delivery: targets of the host, bindings to remote operators, and their messages.

use crate::client::Client;
use crate::error::Error;
use crate::work::escape_segment;
use holon_api::{
    AdmittedResponse, CreateDeliveryTargetRequest, DeliveryTargetResponse, DeliveryTargetsResponse,
    EmptyRequest, OperatorBindingResponse, OperatorBindingsResponse, OperatorIngressRequest,
    OperatorTransportBindingRequest, RemoveDeliveryTargetResponse, RetryDeliveriesResponse,
    RevokeBindingResponse, TestDeliveryResponse,
};
use holon_domain::AgentId;

impl Client {
    /// Adds a delivery target.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn add_delivery_target(
        &self,
        request: &CreateDeliveryTargetRequest,
    ) -> Result<DeliveryTargetResponse, Error> {
        self.post("/control/delivery/targets".into(), request).await
    }

    /// Lists the delivery targets with their state.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn delivery_targets(&self) -> Result<DeliveryTargetsResponse, Error> {
        self.get("/delivery/targets".into()).await
    }

    /// Makes one attempt at a target with a trial text.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn test_delivery_target(&self, name: &str) -> Result<TestDeliveryResponse, Error> {
        let target = format!("/control/delivery/targets/{}/test", escape_segment(name));
        self.post(target, &EmptyRequest::default()).await
    }

    /// Removes a delivery target and its secret.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn remove_delivery_target(
        &self,
        name: &str,
    ) -> Result<RemoveDeliveryTargetResponse, Error> {
        let target = format!("/control/delivery/targets/{}/remove", escape_segment(name));
        self.post(target, &EmptyRequest::default()).await
    }

    /// Tries what waits for a delivery target at once.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn retry_delivery_target(
        &self,
        name: &str,
    ) -> Result<RetryDeliveriesResponse, Error> {
        let target = format!("/control/delivery/targets/{}/retry", escape_segment(name));
        self.post(target, &EmptyRequest::default()).await
    }

    /// Makes a binding to a remote operator, or replaces the one with the same id.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn bind_operator(
        &self,
        agent_id: &AgentId,
        request: &OperatorTransportBindingRequest,
    ) -> Result<OperatorBindingResponse, Error> {
        let target = format!("/control/agents/{agent_id}/operator-bindings");
        self.post(target, request).await
    }

    /// Lists the bindings of an agent.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn operator_bindings(
        &self,
        agent_id: &AgentId,
    ) -> Result<OperatorBindingsResponse, Error> {
        self.get(format!("/agents/{agent_id}/operator-bindings"))
            .await
    }

    /// Ends a binding at once.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn revoke_binding(
        &self,
        agent_id: &AgentId,
        binding_id: &str,
    ) -> Result<RevokeBindingResponse, Error> {
        let id = escape_segment(binding_id);
        let target = format!("/control/agents/{agent_id}/operator-bindings/{id}/revoke");
        self.post(target, &EmptyRequest::default()).await
    }

    /// Tries what waits for a remote operator at once.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn retry_binding(
        &self,
        agent_id: &AgentId,
        binding_id: &str,
    ) -> Result<RetryDeliveriesResponse, Error> {
        let id = escape_segment(binding_id);
        let target = format!("/control/agents/{agent_id}/operator-bindings/{id}/retry");
        self.post(target, &EmptyRequest::default()).await
    }

    /// Queues a message of a bound remote operator.
    ///
    /// # Errors
    /// Fails if the host cannot be reached, refuses the request or answers with something else; see [`Error`].
    pub async fn operator_ingress(
        &self,
        agent_id: &AgentId,
        request: &OperatorIngressRequest,
    ) -> Result<AdmittedResponse, Error> {
        let target = format!("/control/agents/{agent_id}/operator-ingress");
        self.post(target, request).await
    }
}
