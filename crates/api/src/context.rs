//! Requests and responses about the thread of an agent's earlier turns.

use holon_domain::context_view::ContextView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Body of `POST /control/agents/{id}/context/pin` and `POST /control/agents/{id}/context/unpin`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PinTurnRequest {
    /// Number of the turn, as `GET /agents/{id}/context` lists it.
    pub turn: u64,
}

/// Body of `POST /control/agents/{id}/context/limit`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitThreadRequest {
    /// Size above which the agent's thread is folded, in estimated tokens. `null` lets `context.thread_tokens` hold again.
    /// The model's window bounds the thread as well.
    pub thread_tokens: Option<u32>,
}

/// Response to a change of an agent's thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextChangeResponse {
    pub ok: bool,
    /// False if the request changed nothing, because the thread was so already.
    pub changed: bool,
    /// The thread after the change.
    pub context: ContextView,
}
