//! Standing guidance of an agent: the instruction files, skills and notes that the runtime reads from the roots which
//! belong to it. The text of instruction files and notes goes into the prompt; of skills only the catalogue does.
//!
//! Roots are stable: they follow the agent's home and the anchor of its workspace, and neither the current directory
//! nor a worktree.

mod instruction;
mod note;
mod skill;

pub use instruction::{
    InstructionContent, InstructionFile, InstructionKind, InstructionNote, InstructionRefusal,
    InstructionScope, InstructionSource, Instructions, LoadedAgentsMd,
};
pub use note::NoteFile;
pub use skill::{
    ActivationSource, ActivationState, ActiveSkill, ActiveSkillView, CallingTurn, FetchedFrom,
    InstallMode, InstalledSkill, SkillCatalog, SkillEntry, SkillFault, SkillInstallation,
    SkillLoadReason, SkillNote, SkillRoot, SkillScope, SkillSource, SkillSourceKind, SkillUse,
    TaskSkills,
};

use crate::agent::{AgentKind, AgentSettings};
use crate::workspace::{AGENT_HOME, WorkspaceEntry};

/// Roots from which the guidance of one agent is read. The user's own directory is known to the reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuidanceRoots {
    /// Decides if user-wide guidance is read.
    pub kind: AgentKind,
    pub agent_home: String,
    /// Anchor of the active workspace. Absent while the agent works in its home, which is read as such.
    pub workspace_anchor: Option<String>,
}

impl GuidanceRoots {
    /// Returns the roots of an agent that works in this workspace.
    #[must_use]
    pub fn of(agent: &AgentSettings, workspace: &WorkspaceEntry) -> Self {
        Self {
            kind: agent.identity.kind,
            agent_home: agent.agent_home.clone(),
            workspace_anchor: anchor_of(&agent.agent_home, workspace),
        }
    }

    /// Replaces the stored kind of the agent with that under the host's settings.
    #[must_use]
    pub const fn with_kind(mut self, kind: AgentKind) -> Self {
        self.kind = kind;
        self
    }

    /// Returns the roots of the same agent in another workspace.
    #[must_use]
    pub fn in_workspace(&self, workspace: &WorkspaceEntry) -> Self {
        Self {
            workspace_anchor: anchor_of(&self.agent_home, workspace),
            ..self.clone()
        }
    }

    /// Returns true if the agent reads the user-wide instruction file. Children and temporary agents work for another
    /// agent or for one run, and do not.
    #[must_use]
    pub const fn has_user_instructions(&self) -> bool {
        match self.kind {
            AgentKind::Default | AgentKind::Named => true,
            AgentKind::Child => false,
        }
    }

    /// Returns true if the agent discovers the user's own skills.
    #[must_use]
    pub const fn has_user_skills(&self) -> bool {
        match self.kind {
            AgentKind::Default => true,
            AgentKind::Named | AgentKind::Child => false,
        }
    }
}

/// Returns the anchor of a workspace; `None` if it is the agent's home.
fn anchor_of(agent_home: &str, workspace: &WorkspaceEntry) -> Option<String> {
    let is_home =
        workspace.workspace_id.as_str() == AGENT_HOME || workspace.workspace_anchor == agent_home;
    (!is_home).then(|| workspace.workspace_anchor.clone())
}

/// Guidance of one agent as it is on disk now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Guidance {
    pub instructions: Instructions,
    pub skills: SkillCatalog,
    /// Notes of the agent that have content, in the order of the prompt.
    pub notes: Vec<NoteFile>,
}
