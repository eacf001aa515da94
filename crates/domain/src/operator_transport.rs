//! Remote operator transport: bindings of one agent to one operator on a messaging system.
//!
//! A binding admits messages as an operator's and receives what the agent delivers. It belongs to exactly one agent and
//! is part of that agent's settings. The credential store holds its secret.

use crate::delivery::TargetAuth;
use crate::id::{AgentId, BindingId, SecretId};
use crate::text;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Longest name of an agent that is part of the name of a secret. A longer one is replaced by a digest: the name of a
/// secret has up to 64 bytes.
const AGENT_IN_PROFILE: usize = 31;

/// An operator of one agent who is reached through a messaging system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OperatorTransportBinding {
    pub binding_id: BindingId,
    /// Name of the program that connects the messaging system, such as `bridge`.
    pub transport: String,
    /// Operator as the transport names them. Only messages of this actor are admitted.
    pub operator_actor_id: String,
    /// Route for deliveries that answer no message.
    pub default_route_id: String,
    /// Other routes that a message may name for its answer. A route that is neither listed nor the default one is
    /// ignored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reply_route_ids: Vec<String>,
    pub delivery_callback_url: String,
    pub delivery_auth: DeliveryAuth,
    pub capabilities: TransportCapabilities,
    /// Messaging system, such as `matrix`. Absent if it is not told apart from the transport.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// Identity of the operator in that system. Absent if only the actor is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_identity_ref: Option<String>,
    pub status: BindingStatus,
    pub created_at: Timestamp,
    /// Time of the last message that was admitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seen_at: Option<Timestamp>,
    /// From this time on the binding admits nothing. Absent if it has no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// True if results of turns that answer no message of the binding are delivered too.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub turn_results: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
    /// Names the stored secret, so that a secret is used exactly with the binding that it was given with. Absent if
    /// deliveries need none, and for bindings that older builds made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub secret_id: Option<SecretId>,
}

impl OperatorTransportBinding {
    /// Returns the status at a time: an active binding expires without a decision.
    #[must_use]
    pub fn status_at(&self, now: Timestamp) -> BindingStatus {
        match (self.status, self.expires_at) {
            (BindingStatus::Active, Some(end)) if end <= now => BindingStatus::Expired,
            (status, _) => status,
        }
    }

    /// Returns the route for the answer to a message: the one that the message names if the binding lists it, or else the
    /// default route.
    #[must_use]
    pub fn answer_route<'a>(&'a self, named: Option<&'a str>) -> &'a str {
        let is_bound = |route: &&str| self.reply_route_ids.iter().any(|bound| bound == route);
        named.filter(is_bound).unwrap_or(&self.default_route_id)
    }

    /// Returns the name under which the credential store holds the secret of this binding of an agent.
    #[must_use]
    pub fn secret_profile(&self, agent_id: &AgentId) -> String {
        match &self.secret_id {
            Some(id) => format!("{}{id}", Self::secret_prefix(agent_id)),
            None => format!("binding.{}", self.binding_id),
        }
    }

    /// Returns the beginning of the names of the secrets of an agent's bindings. Those of other agents begin otherwise.
    #[must_use]
    pub fn secret_prefix(agent_id: &AgentId) -> String {
        let name = agent_id.as_str();
        if name.len() <= AGENT_IN_PROFILE {
            return format!("binding:{name}:");
        }
        // The name of an agent has no colon, so no name looks like a digest.
        let digest = text::sha256_hex(name);
        format!("binding::{}:", text::prefix(&digest, AGENT_IN_PROFILE - 1))
    }
}

/// Authentication of deliveries to a transport.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryAuth {
    pub kind: TargetAuth,
    /// Name of the key, for the receiver. Absent if it has one key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_id: Option<String>,
}

/// Forms of content that a transport can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransportCapabilities {
    pub text: bool,
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub markdown: bool,
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub attachments: bool,
}

/// Stage of a binding. Only an active one admits and receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BindingStatus {
    Active,
    /// An operator ended it.
    Revoked,
    /// Its time is over.
    Expired,
}

/// Route by which an answer goes back to the operator who asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplyRoute {
    pub binding_id: BindingId,
    pub route_id: String,
}

/// What a transport says about a message that it brings. The decision checks it against the binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransportClaim {
    pub binding_id: BindingId,
    pub actor_id: String,
    pub reply_route_id: Option<String>,
    pub provider: Option<String>,
    /// Identity of the writer in the messaging system. Absent if the transport does not tell it.
    pub provider_identity_ref: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_short_and_those_of_two_agents_begin_differently() {
        let id = |name: &str| AgentId::parse(name).expect("an id");
        let long = "a".repeat(AgentId::MAX_LEN);
        let (longest, one_less) = (long.split_at(AGENT_IN_PROFILE).0, long.split_at(1).1);
        let names = ["a", "a.b", &long, one_less, longest];
        let prefixes = names.map(|name| OperatorTransportBinding::secret_prefix(&id(name)));
        for (at, one) in prefixes.iter().enumerate() {
            let of_id = SecretId::from_stored(format!("sec_{}", "0".repeat(20)));
            assert!(format!("{one}{of_id}").len() <= 64, "{one}");
            let others = prefixes.iter().enumerate().filter(|(of, _)| *of != at);
            for (_, other) in others {
                assert!(!one.starts_with(other.as_str()), "{one} {other}");
            }
        }
    }
}
