//! Settings of an agent: set when it is created or configured, rarely changed afterwards.

use super::{AgentIdentity, RunTerms};
use crate::delegation::Supervision;
use crate::model::{ModelOptions, ModelRef};
use crate::operator_transport::OperatorTransportBinding;
use crate::provider::ReasoningEffort;
use crate::time::Timestamp;
use crate::trigger::DeliveryMode;
use crate::workspace::{AttachedWorkspace, WorkspaceEntry, WorkspaceSet, WorktreeSession};
use serde::{Deserialize, Serialize};

/// An agent's settings. They are stored apart from the scheduling state, which every decision rewrites. A decision that
/// changes settings adds a fact, and only then are they written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSettings {
    pub identity: AgentIdentity,
    pub created_at: Timestamp,
    /// Absolute path of the agent's home directory.
    pub agent_home: String,
    /// The workspace in which the agent works.
    pub workspace: WorkspaceEntry,
    /// Workspaces that the agent may use. Empty in rows of earlier builds; the active workspace counts as attached.
    #[serde(default, skip_serializing_if = "WorkspaceSet::is_empty")]
    pub attached: WorkspaceSet,
    /// Present while the active workspace is a worktree that the runtime made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktree_session: Option<WorktreeSession>,
    /// Present if the agent was created for one run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunTerms>,
    /// Model that replaces the host's default. Absent if the default is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_override: Option<ModelRef>,
    /// Reasoning effort for that model. Absent if the provider's default is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Most tokens that this model may think in one answer; 0 turns thinking off. Absent if the setting of the model is
    /// used, and in rows of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_tokens: Option<u32>,
    /// Models that are asked in this order if that model fails, at most `limits::FALLBACKS`; empty for none. Absent if
    /// the fallbacks of the host are used, and in rows of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_models: Option<Vec<ModelRef>>,
    /// Size above which the agent's thread is folded, in estimated tokens, instead of `context.thread_tokens`. Absent if the
    /// setting holds, and in rows of earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_tokens: Option<u32>,
    /// Bindings to remote operators, oldest first, at most `limits::OPERATOR_BINDINGS`. Empty in rows of earlier builds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operator_bindings: Vec<OperatorTransportBinding>,
    /// True if an operator allowed webhooks without a signature. Their content is evidence of unknown origin.
    #[serde(default, skip_serializing_if = "crate::skip::is_default")]
    pub unsigned_webhooks: bool,
    /// Modes of capabilities that an operator has withdrawn: the agent makes none of these. Empty in rows of earlier
    /// builds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withdrawn_modes: Vec<DeliveryMode>,
    /// Present for a private child: the task of its parent that stands for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supervision: Option<Supervision>,
}

impl AgentSettings {
    /// Returns the options of the agent's own model.
    #[must_use]
    pub fn model_options(&self) -> ModelOptions {
        ModelOptions {
            reasoning_effort: self.reasoning_effort,
            thinking_tokens: self.thinking_tokens,
            fallback_models: self.fallback_models.clone(),
        }
    }

    /// Sets the model override and its options.
    pub fn set_model(&mut self, model: Option<ModelRef>, options: ModelOptions) {
        self.model_override = model;
        self.reasoning_effort = options.reasoning_effort;
        self.thinking_tokens = options.thinking_tokens;
        self.fallback_models = options.fallback_models;
    }
}

impl AgentSettings {
    /// Returns the attached workspaces, with the active one where a row of an earlier build lacks it.
    #[must_use]
    pub fn attached_workspaces(&self) -> WorkspaceSet {
        let mut set = self.attached.clone();
        set.attach(AttachedWorkspace::of(&self.workspace));
        set
    }

    /// Returns every workspace that the agent may use: its home, then the attached ones.
    #[must_use]
    pub fn usable_workspaces(&self) -> Vec<AttachedWorkspace> {
        let home = AttachedWorkspace::of(&WorkspaceEntry::agent_home(&self.agent_home));
        let attached = self.attached_workspaces();
        std::iter::once(home)
            .chain(attached.as_slice().iter().cloned())
            .collect()
    }
}
