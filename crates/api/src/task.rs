//! Requests and responses about the tasks of an agent.

use crate::message::FieldPresence;
use holon_domain::AgentId;
use holon_domain::task::TaskStatusSnapshot;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Body of `POST /control/agents/{id}/tasks/{task}/input`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskInputRequest {
    /// Written as it is, at most 65,536 bytes. May be absent if the input is closed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub input: String,
    /// True if the input is closed after the write.
    #[serde(default)]
    pub close_input: bool,
    /// Accepted from older clients and ignored.
    #[serde(default, skip_serializing)]
    #[schemars(with = "serde_json::Value")]
    pub trust: FieldPresence,
}

/// Response to input that the task has taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskInputResponse {
    pub ok: bool,
    pub agent_id: AgentId,
    /// The task before the write.
    pub task: TaskStatusSnapshot,
    pub accepted_input: bool,
    pub bytes_written: u64,
    /// Reason why the input was written but not closed; absent if all was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_closed: Option<String>,
}

/// Response to `POST /control/agents/{id}/tasks/{task}/stop`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskStopResponse {
    pub ok: bool,
    pub agent_id: AgentId,
    pub task: TaskStatusSnapshot,
    /// False if the task was over before.
    pub stop_requested: bool,
    /// True if the task is killed, because it was asked to end before.
    pub force_stop_requested: bool,
}
