//! Briefs: the operator-facing record of what came of a request.

use crate::id::{BriefId, MessageId, TaskId, WorkItemId, WorkspaceId};
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The form of a brief.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BriefKind {
    /// Work goes on after the turn; not an outcome.
    Ack,
    /// What came of it.
    Result,
    /// Why it failed.
    Failure,
}

/// Kind of an attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttachmentKind {
    /// A file.
    File,
    /// A log.
    Log,
    /// A diff.
    Diff,
    /// An image.
    Image,
    /// A JSON value.
    Json,
}

/// Something that goes with a brief.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BriefAttachment {
    /// What it is.
    pub kind: AttachmentKind,
    /// Its name.
    pub name: String,
    /// Where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Or what it is, inline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// Where a brief's words are. The final words of a turn stand in its log already and are not stored twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BriefText {
    /// The text blocks of the assistant round at this log position.
    Round(u64),
    /// These words.
    Words(String),
}

/// What an operator has to do before the agent can go on. Set by a decision, never by a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionRequired {
    /// What kind of action, for programs.
    pub code: ActionCode,
    /// What to do, for people.
    pub next_step: String,
}

/// The kinds of action an agent asks its operator for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionCode {
    /// A provider refuses the credential, or there is none.
    ProviderAuth,
    /// The model cannot be asked: none is chosen, or the provider does not know it.
    ModelUnavailable,
    /// No model could answer for as long as the agent's patience lasts.
    ProviderUnavailable,
    /// A work item made no progress in several turns and is not offered any more.
    WorkStalled,
    /// The turn ended with a wait for an operator's answer.
    OperatorInput,
}

/// A brief as stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BriefRow {
    /// Its id.
    pub id: BriefId,
    /// Its form.
    pub kind: BriefKind,
    /// When it was written.
    pub created_at: Timestamp,
    /// Where its words are.
    pub text: BriefText,
    /// The workspace that was active.
    pub workspace_id: WorkspaceId,
    /// The message it answers, when that is not the first it settles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub related_message_id: Option<MessageId>,
    /// Every operator message this outcome settles, named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settles: Vec<MessageId>,
    /// The turn it speaks of.
    pub turn_index: u64,
    /// The work item that was being advanced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// Prompts that wait and that this brief tells of. Their outcome is still to come.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acknowledges: Vec<MessageId>,
    /// What the operator has to do, if the agent cannot go on without them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_required: Option<ActionRequired>,
    /// The task that the brief speaks of: its turn answers that task's result. Absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub related_task_id: Option<TaskId>,
}

/// A brief as read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BriefRecord {
    /// Its id.
    pub id: BriefId,
    /// Whose it is.
    pub agent_id: crate::AgentId,
    /// The workspace that was active when it was written.
    pub workspace_id: WorkspaceId,
    /// The work item it advanced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// Its form.
    pub kind: BriefKind,
    /// When it was written.
    pub created_at: Timestamp,
    /// The words.
    pub text: String,
    /// What goes with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<BriefAttachment>,
    /// The message it answers first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub related_message_id: Option<MessageId>,
    /// The task it speaks of: its turn answers that task's result. Absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub related_task_id: Option<TaskId>,
    /// Every operator message this outcome settles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settles: Vec<MessageId>,
    /// The turn it speaks of.
    pub turn_index: u64,
    /// Prompts that wait and that this brief tells of. Their outcome is still to come.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acknowledges: Vec<MessageId>,
    /// What the operator has to do, if the agent cannot go on without them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_required: Option<ActionRequired>,
}
