//! Payload of the event about skills.

use crate::guidance::{ActivationSource, ActivationState, SkillLoadReason, SkillScope};
use crate::id::RunId;
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
