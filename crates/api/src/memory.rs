//! Requests about an agent's memory. The responses are the records of `holon_domain::memory`.

use crate::message::FieldPresence;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Body of `POST /control/agents/{id}/memory/rebuild`. The response says how far the index has come; the caller sends the
/// request again, without `restart`, until it is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RebuildMemoryRequest {
    /// True if the rebuild begins anew, which is the default.
    pub restart: bool,
    #[serde(skip_serializing)]
    #[schemars(with = "serde_json::Value")]
    pub trust: FieldPresence,
}

impl Default for RebuildMemoryRequest {
    fn default() -> Self {
        Self {
            restart: true,
            trust: FieldPresence::default(),
        }
    }
}
