//! Payloads of events about the life of an agent, its briefs and the requests of operators.

use crate::brief::{ActionCode, BriefAttachment, BriefKind};
use crate::closure::{ClosureOutcome, WaitingReason};
use crate::effect::EffectId;
use crate::id::{BriefId, MessageId, RunId, TaskId};
use crate::queue::MessageSeq;
use crate::time::Timestamp;
use crate::turn::TerminalReason;
use serde::{Deserialize, Serialize};

/// Reason for which the store refuses to run an agent. See [`Event::AgentPutAside`](super::Event::AgentPutAside).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentPutAside {
    /// The table and the key of the unreadable row, and the error that reading it gave.
    pub reason: String,
}

/// Identity of a new agent. See [`Event::AgentCreated`](super::Event::AgentCreated).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentCreated {
    pub kind: crate::agent::AgentKind,
    /// Decides which tool families the agent has.
    pub profile_preset: crate::agent::ProfilePreset,
    /// Workspace in which the agent's first turn runs.
    pub workspace_id: crate::WorkspaceId,
    /// Agent from whose archive this one was made. Absent for every other agent, and in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported_from: Option<crate::archive::ImportOrigin>,
}

/// A new brief. See [`Event::BriefCreated`](super::Event::BriefCreated).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BriefCreated {
    pub brief_id: BriefId,
    /// Position among the agent's briefs, counted from 1.
    pub brief_seq: u64,
    /// Acknowledgement, result or failure.
    pub kind: BriefKind,
    /// Turn in which the brief was written.
    pub turn_index: u64,
    /// Operator messages that have their outcome with this brief.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settles: Vec<MessageId>,
    /// Operator messages that still wait and that this brief acknowledges.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acknowledges: Vec<MessageId>,
    /// Beginning of the brief's text.
    pub text_preview: String,
    /// The brief's text, up to `limits::EVENT_BRIEF_BYTES`. Readers add it from the brief; it is not stored with the
    /// event, and absent if the brief is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Action that the operator has to take before the agent can continue. Absent when none is needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_required: Option<ActionCode>,
    /// Task whose result the brief's turn answers. Absent for all other briefs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub related_task_id: Option<TaskId>,
    /// Files of the agent's home that the turn attached. Absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<BriefAttachment>,
    /// Queue position of the message that the turn answers. The API adds the id and the origin of that message. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

/// State of an agent between two turns. See [`Event::ClosureDecided`](super::Event::ClosureDecided).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClosureDecided {
    pub outcome: ClosureOutcome,
    /// Present exactly when `outcome` is `waiting`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_reason: Option<WaitingReason>,
    /// Time at which the wait ends at the latest. Absent if no time ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Run of the turn that ended. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// Turn that ended. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_index: Option<u64>,
    /// Queue position of the message that the turn answered. The API adds the id and the origin of that message. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

/// Accepted lifecycle request. See [`Event::ControlRequestAdmitted`](super::Event::ControlRequestAdmitted).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ControlRequestAdmitted {
    /// `start`, `stop`, `abort`, `archive` or `delete`.
    pub action: String,
    /// Place of the decision: `control`.
    pub boundary: String,
    /// Status of the agent when the request came.
    pub previous_status: crate::agent::AgentStatus,
    /// Run that was open when the request came. Absent if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
}

/// Change of an agent's lifecycle. See [`Event::ControlApplied`](super::Event::ControlApplied).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ControlApplied {
    /// `start`, `stop`, `abort`, `archive` or `delete`.
    pub action: String,
    /// Place of the decision: `control`. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary: Option<String>,
    /// Status before the request. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_status: Option<crate::agent::AgentStatus>,
    /// Status after the request. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_status: Option<crate::agent::AgentStatus>,
    /// Tasks that the request asked to end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub task_ids: Vec<TaskId>,
    /// Identity of the execution root that the agent occupied and that the request releases, at once or with the last of
    /// its tasks. Absent if it occupied none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_occupancy_id: Option<String>,
    /// Facts behind the change, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// Lifecycle before the request.
    pub previous: crate::agent::Lifecycle,
    /// Lifecycle after the request.
    pub next: crate::agent::Lifecycle,
    /// Run that the request aborted. Absent if none was open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aborted_run_id: Option<RunId>,
    /// Active timers that the request cancelled. Only an archiving cancels them. 0 in events of earlier builds.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub cancelled_timers: u32,
    /// Active waits that the request cancelled. Only an archiving cancels them. 0 in events of earlier builds.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub cancelled_waits: u32,
}

/// Run that was called off. See [`Event::CurrentRunAborted`](super::Event::CurrentRunAborted).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CurrentRunAborted {
    pub run_id: RunId,
    /// Distinguishes an operator's abort from a stop of the agent.
    pub reason: TerminalReason,
    /// Turn of the run. Absent in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_index: Option<u64>,
    /// Queue position of the message that the turn answered. The API adds the id and the origin of that message. Absent
    /// in events of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

/// Stale outcome of an effect. See [`Event::EffectOutcomeDropped`](super::Event::EffectOutcomeDropped).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EffectOutcomeDropped {
    pub effect_id: EffectId,
    /// Fencing generation under which the effect had been started.
    pub generation: u64,
    /// Generation of the agent when the outcome arrived. If it is equal, the effect had already been closed.
    pub current_generation: u64,
}
