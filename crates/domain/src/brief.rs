//! Briefs: answers and notices for the operator.

use crate::id::{AgentId, BriefId, DeliverySummaryId, MessageId, TaskId, WorkItemId, WorkspaceId};
use crate::limits;
use crate::time::Timestamp;
use crate::usage::{Spending, SpendingView};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Purpose of a brief.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BriefKind {
    /// A notice that is not an outcome: work continues after the turn, or it waits for a provider or an operator.
    Ack,
    /// The outcome of a request.
    Result,
    /// The request failed; the text says why and what to do next.
    Failure,
}

/// Form of an attachment's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttachmentKind {
    File,
    Log,
    Diff,
    Image,
    Json,
}

/// Content that accompanies a brief, by address or inline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BriefAttachment {
    pub kind: AttachmentKind,
    pub name: String,
    /// Address of the content. Absent if `value` holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Content itself. Absent if `uri` names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// Endings of file names and the kind of attachment that they stand for. Any other file is a plain one.
const KINDS: [(&str, AttachmentKind); 9] = [
    ("diff", AttachmentKind::Diff),
    ("gif", AttachmentKind::Image),
    ("jpeg", AttachmentKind::Image),
    ("jpg", AttachmentKind::Image),
    ("json", AttachmentKind::Json),
    ("log", AttachmentKind::Log),
    ("patch", AttachmentKind::Diff),
    ("png", AttachmentKind::Image),
    ("webp", AttachmentKind::Image),
];

impl BriefAttachment {
    /// Attaches a file of an agent's home by its path there. The path is checked by its words alone; a reader opens it
    /// without following links.
    ///
    /// # Errors
    /// The reason, worded for the model: the path leads out of the home, names the runtime's own files or is too long.
    pub fn of_home(agent_id: &AgentId, path: &str) -> Result<Self, String> {
        let name = path.strip_prefix("./").unwrap_or(path);
        let parts = || name.split('/');
        if name.is_empty() || name.starts_with('/') || parts().any(|part| part == "..") {
            return Err(format!(
                "{path:?} is no path inside of your home; give one relative to it"
            ));
        }
        if parts().any(|part| part.is_empty() || part == ".")
            || name.contains('\0')
            || name.chars().any(char::is_control)
        {
            return Err(format!("{path:?} is no path of a file"));
        }
        if parts().next() == Some(".holon") {
            return Err(format!("{path:?} is a file of the runtime and is not sent"));
        }
        if name.len() > limits::ATTACHMENT_PATH_BYTES {
            let most = limits::ATTACHMENT_PATH_BYTES;
            return Err(format!(
                "the path has {} bytes, over the limit of {most}",
                name.len()
            ));
        }
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        let known = KINDS
            .iter()
            .find(|(known, _)| ending.eq_ignore_ascii_case(known));
        Ok(Self {
            kind: known.map_or(AttachmentKind::File, |(_, kind)| *kind),
            name: name.to_owned(),
            uri: Some(format!(
                "/agents/{agent_id}/attachment?path={}",
                encode(name)
            )),
            value: None,
        })
    }
}

/// Encodes a path for a query.
fn encode(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                encoded.push(char::from(byte));
            }
            other => encoded.push_str(&format!("%{other:02X}")),
        }
    }
    encoded
}

/// Location of a brief's text. The last answer of a turn is in the log already and is not stored twice, and a report is
/// in the delivery summary of its work item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BriefText {
    /// The text blocks of the assistant round at this log position.
    Round(u64),
    /// Text written by the runtime.
    Words(String),
    /// The text of this delivery summary.
    Report(DeliverySummaryId),
}

/// Action that an operator has to take before the agent can continue. Set by a decision, never by a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActionRequired {
    /// Kind of action, for programs.
    pub code: ActionCode,
    /// Instruction for the operator, in one sentence.
    pub next_step: String,
}

/// Kinds of action that an agent asks its operator for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActionCode {
    /// The provider refuses the credential, or none is set.
    ProviderAuth,
    /// No model is chosen, or the provider does not know the chosen one.
    ModelUnavailable,
    /// No model has answered for longer than the configured patience.
    ProviderUnavailable,
    /// A work item made no progress in several turns and is not offered any more.
    WorkStalled,
    /// The turn ended with a wait for an operator's answer.
    OperatorInput,
    /// A budget has no room for another model call.
    BudgetReached,
}

/// A brief as stored. [`BriefRecord`] is the form that clients read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BriefRow {
    pub id: BriefId,
    pub kind: BriefKind,
    pub created_at: Timestamp,
    pub text: BriefText,
    /// Remark of the runtime about the text, such as that a content filter cut it off. Absent if there is nothing to
    /// remark, and in briefs of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Workspace that was active when the brief was written.
    pub workspace_id: WorkspaceId,
    /// Message that the brief answers. Absent if it is the first of `settles`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub related_message_id: Option<MessageId>,
    /// Every operator message that has its outcome with this brief.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settles: Vec<MessageId>,
    /// Turn in which the brief was written.
    pub turn_index: u64,
    /// Work item that the turn worked on. Absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    /// Waiting prompts that this brief acknowledges. They still get their outcome later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acknowledges: Vec<MessageId>,
    /// Absent if the agent can continue without the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_required: Option<ActionRequired>,
    /// Task whose result the brief's turn answers. Absent for all other briefs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub related_task_id: Option<TaskId>,
    /// What the turn had spent when the brief was written. Absent if that is nothing, and in briefs of earlier builds.
    #[serde(
        default,
        rename = "usage",
        with = "crate::usage::short_list",
        skip_serializing_if = "Option::is_none"
    )]
    pub spending: Option<Spending>,
    /// Files of the agent's home that its turn attached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<BriefAttachment>,
}

/// Beginning of the brief of a turn that ends with a wait and without words of its model.
pub const NO_ANSWER_YET: &str = "No answer yet. Waiting for: ";

/// A brief as clients read it, with its text resolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BriefRecord {
    pub id: BriefId,
    /// Position among the agent's briefs; the cursor of a page. 0 in records of earlier builds.
    #[serde(default)]
    pub seq: u64,
    pub agent_id: AgentId,
    /// Workspace that was active when the brief was written.
    pub workspace_id: WorkspaceId,
    /// Work item that the turn worked on. Absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_item_id: Option<WorkItemId>,
    pub kind: BriefKind,
    pub created_at: Timestamp,
    pub text: String,
    /// Remark of the runtime about the text, such as that a content filter cut it off. Absent if there is nothing to
    /// remark, and in briefs of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<BriefAttachment>,
    /// Message that the brief answers. Absent if it answers none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub related_message_id: Option<MessageId>,
    /// Task whose result the brief's turn answers. Absent for all other briefs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub related_task_id: Option<TaskId>,
    /// Every operator message that has its outcome with this brief.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settles: Vec<MessageId>,
    /// Turn in which the brief was written.
    pub turn_index: u64,
    /// Waiting prompts that this brief acknowledges. They still get their outcome later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acknowledges: Vec<MessageId>,
    /// Absent if the agent can continue without the operator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_required: Option<ActionRequired>,
    /// What the turn had spent when the brief was written. Absent if that is nothing, and in briefs of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<SpendingView>,
}

impl BriefRecord {
    /// Returns true if the brief only says what its turn waits for.
    #[must_use]
    pub fn is_wait_notice(&self) -> bool {
        self.kind == BriefKind::Result
            && self.action_required.is_none()
            && self.text.starts_with(NO_ANSWER_YET)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_inside_of_the_home_can_be_attached() {
        let agent = AgentId::parse("main").expect("a name");
        let long = "x".repeat(limits::ATTACHMENT_PATH_BYTES + 1);
        let refused = [
            "",
            "/etc/passwd",
            "../other/notes.md",
            "a/../../b",
            "a//b",
            ".holon/state/x",
            "././.holon/state/x",
            "a/./b",
            ".",
            "a\0b",
            &long,
        ];
        for path in refused {
            assert!(BriefAttachment::of_home(&agent, path).is_err(), "{path:?}");
        }
        let table = [
            (
                "./notes/report 1.md",
                "notes/report 1.md",
                AttachmentKind::File,
            ),
            ("work/a.PNG", "work/a.PNG", AttachmentKind::Image),
            ("b.patch", "b.patch", AttachmentKind::Diff),
            (
                "task-output/1.log",
                "task-output/1.log",
                AttachmentKind::Log,
            ),
            ("data.json", "data.json", AttachmentKind::Json),
        ];
        for (path, name, kind) in table {
            let attached = BriefAttachment::of_home(&agent, path).expect("a file of the home");
            assert_eq!((attached.name.as_str(), attached.kind), (name, kind));
        }
        let spaced = BriefAttachment::of_home(&agent, "a b.md").expect("a file");
        assert_eq!(
            spaced.uri.as_deref(),
            Some("/agents/main/attachment?path=a%20b.md")
        );
    }
}
