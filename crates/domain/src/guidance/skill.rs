//! Skills: directories with a `SKILL.md` that agents open when a task matches. The runtime knows their metadata only.

use crate::id::RunId;
use crate::queue::MessageSeq;
use crate::time::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Root that a skill belongs to. The order is that of the catalogue.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SkillScope {
    /// The user's own directory, for the default agent.
    User,
    Agent,
    Workspace,
}

impl SkillScope {
    /// Returns the name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Agent => "agent",
            Self::Workspace => "workspace",
        }
    }
}

/// Directory in which the skills of one scope were found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillRoot {
    pub scope: SkillScope,
    pub path: String,
}

/// One skill of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillEntry {
    /// `<scope>:<name>`. Skills of different scopes may have the same name; neither hides the other.
    pub skill_id: String,
    pub name: String,
    /// The author's words. They are data for the model and no instruction.
    pub description: String,
    /// Path of its `SKILL.md`.
    pub path: String,
    pub scope: SkillScope,
    /// True if the `SKILL.md` is not the one that was installed.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub changed_since_install: bool,
}

impl SkillEntry {
    /// Creates the entry of a skill, with the id that follows from its scope and name.
    #[must_use]
    pub fn new(scope: SkillScope, name: &str, description: String, path: String) -> Self {
        Self {
            skill_id: format!("{}:{name}", scope.as_str()),
            name: name.to_owned(),
            description,
            path,
            scope,
            changed_since_install: false,
        }
    }
}

/// A directory in a skill root that is not in the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillNote {
    pub path: String,
    /// The reason in words.
    pub note: String,
}

/// The skills that an agent may use, in the order of scopes and names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SkillCatalog {
    /// The first existing root of each scope.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub discovered_roots: Vec<SkillRoot>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub discoverable_skills: Vec<SkillEntry>,
    /// Directories that look like skills and are not listed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<SkillNote>,
}

/// How a local skill is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InstallMode {
    /// A link to the directory, whose later changes show.
    #[default]
    Linked,
    Copied,
}

/// Source of a skill that is installed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SkillSource {
    Builtin {
        name: String,
    },
    /// Absolute path of a directory with a `SKILL.md`.
    Local {
        path: String,
        #[serde(default)]
        mode: InstallMode,
    },
    /// A skill on GitHub, always copied. See [`RemoteSkill`](crate::remote::RemoteSkill).
    Remote {
        package: String,
        /// Name of the skill, where `package` names a whole repository.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        skill: Option<String>,
    },
}

impl SkillSource {
    /// Returns the kind of the source.
    #[must_use]
    pub const fn kind(&self) -> SkillSourceKind {
        match self {
            Self::Builtin { .. } => SkillSourceKind::Builtin,
            Self::Local { .. } => SkillSourceKind::Local,
            Self::Remote { .. } => SkillSourceKind::Remote,
        }
    }
}

/// Kind of a skill's source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkillSourceKind {
    Builtin,
    Local,
    Remote,
}

/// A skill that was installed, and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillInstallation {
    pub name: String,
    pub kind: SkillSourceKind,
    /// Absent for a skill of this machine.
    pub fetched_from: Option<FetchedFrom>,
}

/// Commit and directory that a fetched tree was read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FetchedFrom {
    /// Address as `https://github.com/OWNER/REPO`, also if a mirror was used.
    pub repository: String,
    /// Full id of the commit.
    pub commit: String,
    /// Directory in the repository; empty for its root.
    pub directory: String,
}

/// A skill in an agent's own root.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstalledSkill {
    pub name: String,
    /// Target of the link; absent for a copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_target: Option<String>,
    /// Absent for a skill that the runtime did not install.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install_mode: Option<InstallMode>,
    /// Commit that the copy was fetched from; absent for a skill of this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fetched_from: Option<FetchedFrom>,
    /// A problem that the operator should know of: the skill was changed since, or its link leads nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// Reason for which a skill was not installed or removed. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillFault {
    AlreadyInstalled {
        message: String,
    },
    NotInstalled {
        message: String,
    },
    /// It is no skill, or cannot be copied or linked.
    Refused {
        message: String,
    },
    /// It could not be fetched.
    Unreachable {
        message: String,
    },
    /// The fetch took too long.
    TimedOut {
        message: String,
    },
}

/// Event by which a skill became active.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkillLoadReason {
    /// A successful command referred to its `SKILL.md`.
    ReadSkillMd,
    /// A successful command referred to a file under its `scripts`.
    RunSkillScript,
    /// Reserved: this runtime never puts the body of a skill into a prompt.
    PromptInjection,
}

/// Use of a skill by a successful command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillUse {
    pub skill_id: String,
    pub name: String,
    pub scope: SkillScope,
    /// The file that the command referred to.
    pub path: String,
    /// Path of the skill's `SKILL.md`.
    pub entrypoint_path: String,
    pub load_reason: SkillLoadReason,
    /// The way in which its files differ from those that were installed. Such a skill does not become active. Absent if
    /// they are the same, or the runtime did not install the skill as a copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
}

/// Turn whose call ran a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallingTurn {
    pub turn_index: u64,
    pub run_id: RunId,
    /// Queue position of the message that the turn answers.
    pub message_seq: MessageSeq,
}

/// Skills that a command refers to which went on as a task. Its successful end makes them active.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSkills {
    pub uses: Vec<SkillUse>,
    pub turn: CallingTurn,
}

/// Extent of an activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActivationState {
    /// Until the end of the open turn.
    TurnActive,
    /// From then on: the turn was completed.
    SessionActive,
}

/// Origin of an activation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActivationSource {
    /// A command of the agent, since the host started.
    AgentCommand,
    /// The agent's row, read when the host started.
    Restored,
}

/// A skill that the agent has opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActiveSkill {
    pub skill_id: String,
    pub name: String,
    pub scope: SkillScope,
    /// Path of the skill's `SKILL.md`.
    pub entrypoint_path: String,
    pub activation_state: ActivationState,
    /// Time of its last use.
    pub activated_at: Timestamp,
    /// Turn that used it last.
    pub turn_index: u64,
}

/// An active skill as clients see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActiveSkillView {
    #[serde(flatten)]
    pub skill: ActiveSkill,
    pub activation_source: ActivationSource,
}

impl ActiveSkill {
    /// Returns the view of a host that started at this time.
    #[must_use]
    pub fn view(&self, host_started_at: Timestamp) -> ActiveSkillView {
        let is_older = self.activated_at < host_started_at;
        ActiveSkillView {
            skill: self.clone(),
            activation_source: if is_older {
                ActivationSource::Restored
            } else {
                ActivationSource::AgentCommand
            },
        }
    }
}
