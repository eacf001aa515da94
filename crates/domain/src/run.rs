//! Result of a one-shot run.

use crate::attempt::{AttemptTimeline, ProviderCacheUsage, TokenUsage};
use crate::brief::ActionRequired;
use crate::closure::WaitingReason;
use crate::failure::FailureArtifact;
use crate::id::{AgentId, MessageId};
use crate::time::Timestamp;
use crate::turn::SuspensionReason;
use crate::usage::SpendingView;
use crate::work_item::WorkItemListEntry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// State of a one-shot run when it was reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// The message is answered, and no work of the agent is left that could go on.
    Completed,
    /// The agent waits for something, or work of it can go on after the answer. Without a `waiting_reason` it is the
    /// latter.
    Waiting,
    Failed,
    /// The round bound of the run ended it.
    MaxTurnsExceeded,
}

/// Author of a run's `final_text`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TextSource {
    /// The model: its last text, its report, or its question to the operator.
    Model,
    /// The runtime: it tells of a failure, a bound or a wait. The text is no answer.
    Runtime,
}

/// Suspended turn that a run waits for: its own, or one before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunSuspension {
    pub reason: SuspensionReason,
    /// What happened. For a budget also which one it is, and what raises it.
    pub error: String,
    /// Time at which the turn goes on by itself. Absent if an operator has to act.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// Result of a one-shot run, as `holon run --json` prints it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunOnceResponse {
    pub agent_id: AgentId,
    /// Message that the run answers.
    pub message_id: MessageId,
    pub final_status: RunStatus,
    /// Present if the agent waits for something. Absent with the status `waiting` if its work goes on by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_reason: Option<WaitingReason>,
    /// Present if the run waits for a suspended turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspension: Option<RunSuspension>,
    /// Answer for the caller; empty if there is none.
    pub final_text: String,
    /// What the agent asks of its operator, such as an answer to a question. Absent if it asks nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_required: Option<ActionRequired>,
    /// Author of `final_text`. Absent in responses of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_text_source: Option<TextSource>,
    /// The model's last text as it was written. Absent if it wrote none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_final_text: Option<String>,
    /// Remark of the runtime about `final_text`, such as that a content filter cut it off. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Reason that the agent gave for its rest. Absent if it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sleep_reason: Option<String>,
    /// Present if the run failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_artifact: Option<FailureArtifact>,
    /// Background commands and child agents of the run.
    pub tasks: Vec<serde_json::Value>,
    /// Work items of the agent that are open at the end of the run, most recently changed first, at most twenty. Those of
    /// a temporary agent are removed with it. Empty while the message of the run still waits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_work_items: Vec<WorkItemListEntry>,
    /// Number of all open work items of the agent. Absent if it has none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub open_work_item_count: u32,
    /// Messages that the agent received up to the newest one that the run took. Later ones do not change it, so a repeated
    /// request gets the same number.
    pub message_count: u64,
    /// Paths that patches changed, relative to the execution root.
    pub changed_files: Vec<String>,
    /// Tokens of the whole run.
    pub token_usage: TokenUsage,
    /// What the run was charged for, failed and estimated calls included, and its cost.
    #[serde(default)]
    pub usage: SpendingView,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Effect of the provider's prompt cache. Absent if no provider reported cached tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_cache_usage: Option<ProviderCacheUsage>,
    /// Share of all input that was read from a cache, in whole percent. Absent if no provider reported
    /// cached tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input_percent: Option<u64>,
    pub model_rounds: u64,
    pub tool_calls: u64,
    /// Commands that ran. A command that was refused, skipped or could not be started does not count.
    pub shell_commands: u64,
    /// Commands among them that `ExecCommand` started.
    pub exec_command_items: u64,
    /// Commands among them that `ExecCommandBatch` started.
    pub batched_exec_command_items: u64,
    /// Every request of every round.
    pub provider_attempt_timeline: AttemptTimeline,
    /// Parts of the request that were not done, in words. Left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}
