//! Payloads of the events about skills.

use crate::guidance::{
    ActivationSource, ActivationState, FetchedFrom, SkillLoadReason, SkillScope, SkillSourceKind,
};
use crate::id::{AgentId, RunId};
use crate::queue::MessageSeq;
use serde::{Deserialize, Serialize};

/// Skill that became active. See [`Event::SkillActivated`](super::Event::SkillActivated).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillActivated {
    pub skill_id: String,
    pub skill_name: String,
    pub scope: SkillScope,
    /// The file that the command referred to.
    pub path: String,
    /// Path of the skill's `SKILL.md`.
    pub entrypoint_path: String,
    pub load_reason: SkillLoadReason,
    pub activation_state: ActivationState,
    pub activation_source: ActivationSource,
    /// True if the skill was active before.
    pub repeated: bool,
    pub turn_index: u64,
    pub run_id: RunId,
    /// Queue position of the message that the turn answers. The API adds the id and the origin of that message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}

/// Skill that an operator installed. See [`Event::SkillInstalled`](super::Event::SkillInstalled).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillInstalled {
    pub target_agent_id: AgentId,
    pub skill_name: String,
    pub kind: SkillSourceKind,
    /// Commit that it was fetched from; absent for a skill of this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetched_from: Option<FetchedFrom>,
}

/// Skill that an operator removed. See [`Event::SkillUninstalled`](super::Event::SkillUninstalled).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillUninstalled {
    pub target_agent_id: AgentId,
    pub skill_name: String,
    /// Absent if the runtime did not install it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<SkillSourceKind>,
}

/// Skill whose files are not those that were installed. See [`Event::SkillChanged`](super::Event::SkillChanged).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillChanged {
    pub skill_id: String,
    pub skill_name: String,
    pub scope: SkillScope,
    /// The file that the command referred to.
    pub path: String,
    /// Path of the skill's `SKILL.md`.
    pub entrypoint_path: String,
    pub load_reason: SkillLoadReason,
    /// The difference in words.
    pub change: String,
    pub turn_index: u64,
    pub run_id: RunId,
    /// Queue position of the message that the turn answers. The API adds the id and the origin of that message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_seq: Option<MessageSeq>,
}
