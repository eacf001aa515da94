//! Requests and responses about the tasks of an agent.

use crate::message::FieldPresence;
use holon_domain::authority::TrustLevel;
use holon_domain::task::{TaskListEntry, TaskOutputSnapshot, TaskStatusSnapshot};
use holon_domain::{AgentId, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Body of `POST /control/agents/{id}/tasks`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartTaskRequest {
    /// Text for the shell.
    pub cmd: String,
    /// Description for lists; the command itself when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// Directory inside the execution root of the agent's workspace; its current directory when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workdir: Option<String>,
    /// Program of the shell; the user's shell when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shell: Option<String>,
    /// True for a real login shell; `false` when absent. A command has the variables of one in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<bool>,
    /// True for a terminal; `false` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tty: Option<bool>,
    /// True if input may be written while it runs; as `tty` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepts_input: Option<bool>,
    /// Accepted from older clients and ignored: the response never waits for the command.
    #[serde(default, skip_serializing)]
    #[schemars(with = "serde_json::Value")]
    pub yield_time_ms: FieldPresence,
    /// Accepted from older clients and ignored: the output of a task is read in parts.
    #[serde(default, skip_serializing)]
    #[schemars(with = "serde_json::Value")]
    pub max_output_tokens: FieldPresence,
    /// Trust that the result of the task deserves at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<TrustLevel>,
}

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

/// Response of `GET /agents/{id}/tasks/{task}/output`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TaskOutputResponse {
    /// `success` once the task is over, `timeout` if the request waited in vain, else `not_ready`.
    #[schemars(extend("enum" = ["success", "timeout", "not_ready"]))]
    pub retrieval_status: String,
    pub task: TaskOutputSnapshot,
    /// Absent if the task has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running_for_ms: Option<u64>,
    /// Reason why the output could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<String>,
    /// Facts about streams and offsets that were not asked for or do not exist.
    #[serde(flatten)]
    pub notes: Map<String, Value>,
}

/// A task with its agent, without its output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskResponse {
    /// The same as `task_id`, under the name that it has in a list.
    pub id: TaskId,
    pub agent_id: AgentId,
    #[serde(flatten)]
    pub task: TaskStatusSnapshot,
}

impl TaskResponse {
    /// Adds the agent to a task.
    #[must_use]
    pub fn new(agent_id: AgentId, task: TaskStatusSnapshot) -> Self {
        Self {
            id: task.task_id.clone(),
            agent_id,
            task,
        }
    }
}

/// A task in a list, with its agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedTask {
    pub agent_id: AgentId,
    #[serde(flatten)]
    pub task: TaskListEntry,
}

/// Response to input that the task has taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskStopResponse {
    pub ok: bool,
    pub agent_id: AgentId,
    pub task: TaskStatusSnapshot,
    /// False if the task was over before.
    pub stop_requested: bool,
    /// True if the task is killed, because it was asked to end before.
    pub force_stop_requested: bool,
}
