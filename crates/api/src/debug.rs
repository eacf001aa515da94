//! Requests for the diagnosis of an agent.

use crate::message::FieldPresence;
use holon_domain::AgentId;
use holon_domain::prompt_view::DraftPrompt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Body of `POST /control/agents/{id}/debug-prompt`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DebugPromptRequest {
    /// Text of an operator that would open the turn.
    pub text: String,
    /// Accepted from older clients and ignored: the route decides the authority.
    #[serde(default, skip_serializing)]
    #[schemars(with = "serde_json::Value")]
    pub trust: FieldPresence,
}

/// Response to a [`DebugPromptRequest`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DebugPromptResponse {
    pub ok: bool,
    pub agent_id: AgentId,
    /// The prompt, part by part, with the decision about each.
    pub dump: DraftPrompt,
}
