//! Requests for the diagnosis of an agent.

use holon_domain::AgentId;
use holon_domain::authority::TrustLevel;
use holon_domain::prompt_view::DraftPrompt;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Body of `POST /control/agents/{id}/debug-prompt`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DebugPromptRequest {
    /// Text of an operator that would open the turn.
    pub text: String,
    /// Trust that the text deserves, `trusted_operator` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<TrustLevel>,
}

/// Response to a [`DebugPromptRequest`].
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DebugPromptResponse {
    pub ok: bool,
    pub agent_id: AgentId,
    /// The prompt, part by part, with the decision about each.
    pub dump: DraftPrompt,
}
