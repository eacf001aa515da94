//! Where and how an agent's tools run, and which of the boundaries around them hold.

use crate::id::WorkspaceId;
use crate::workspace::WorkspaceEntry;
use serde::{Deserialize, Serialize};

/// The only backend there is: commands run as the operator's own processes.
const HOST_LOCAL: &str = "host_local";

/// How far a boundary is enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Enforcement {
    /// The runtime makes sure.
    HardEnforced,
    /// The runtime decides how it begins and attributes what it does, and confines nothing.
    RuntimeShaped,
    /// It does not, and says so.
    NotEnforced,
}

/// What the tools of an agent may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionProfile {
    /// Who runs commands.
    pub backend: String,
    /// Whether there are commands.
    pub process_execution_exposed: bool,
    /// Whether they may go on without their call.
    pub allow_background_tasks: bool,
    /// Whether the runtime makes worktrees.
    pub supports_managed_worktrees: bool,
}

impl Default for ExecutionProfile {
    /// That of the only backend there is.
    fn default() -> Self {
        Self {
            backend: HOST_LOCAL.into(),
            process_execution_exposed: true,
            allow_background_tasks: true,
            supports_managed_worktrees: false,
        }
    }
}

/// Who decides over what the runtime keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceAuthority {
    /// What enters a queue.
    pub message_ingress: Enforcement,
    /// What is known of an agent.
    pub agent_state: Enforcement,
    /// What an operator asks for.
    pub control_plane: Enforcement,
    /// Which directory stands for a workspace.
    pub workspace_projection: Enforcement,
    /// What commands do.
    pub process_execution: Enforcement,
}

/// What commands are and are not kept to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessExecution {
    /// Commands start inside the execution root.
    pub cwd_rooting: Enforcement,
    /// And in the projection of the workspace.
    pub projection_rooting: Enforcement,
    /// They may reach other paths.
    pub path_confinement: Enforcement,
    /// And write there.
    pub write_confinement: Enforcement,
    /// And use the network.
    pub network_confinement: Enforcement,
    /// And read what the operator can read.
    pub secret_isolation: Enforcement,
    /// And leave processes behind.
    pub child_process_containment: Enforcement,
}

/// What a backend does and does not confine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionPolicy {
    /// Who runs commands.
    pub backend: String,
    /// Whether there are commands.
    pub process_execution_exposed: bool,
    /// Whether the runtime makes worktrees.
    pub managed_worktree_supported: bool,
    /// Who decides over what the runtime keeps.
    pub resource_authority: ResourceAuthority,
    /// What commands are kept to.
    pub process_execution: ProcessExecution,
}

impl ExecutionPolicy {
    /// The honest figures of the only backend there is.
    #[must_use]
    pub fn host_local() -> Self {
        let profile = ExecutionProfile::default();
        Self {
            backend: profile.backend,
            process_execution_exposed: profile.process_execution_exposed,
            managed_worktree_supported: profile.supports_managed_worktrees,
            resource_authority: ResourceAuthority {
                message_ingress: Enforcement::HardEnforced,
                agent_state: Enforcement::HardEnforced,
                control_plane: Enforcement::HardEnforced,
                workspace_projection: Enforcement::HardEnforced,
                process_execution: Enforcement::RuntimeShaped,
            },
            process_execution: ProcessExecution {
                cwd_rooting: Enforcement::HardEnforced,
                projection_rooting: Enforcement::HardEnforced,
                path_confinement: Enforcement::NotEnforced,
                write_confinement: Enforcement::NotEnforced,
                network_confinement: Enforcement::NotEnforced,
                secret_isolation: Enforcement::NotEnforced,
                child_process_containment: Enforcement::NotEnforced,
            },
        }
    }
}

/// Where and how an agent's tools run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionSnapshot {
    /// What they may do.
    #[serde(default)]
    pub profile: ExecutionProfile,
    /// What is enforced.
    pub policy: ExecutionPolicy,
    /// Every workspace the agent may use, with its anchor.
    #[serde(default)]
    pub attached_workspaces: Vec<(WorkspaceId, String)>,
    /// The active workspace.
    #[serde(flatten)]
    pub workspace: WorkspaceEntry,
    /// What an operator should change about the workspace. Absent when it is as it should be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_warning: Option<String>,
}

impl ExecutionSnapshot {
    /// That of an agent in this workspace, the only one it may use.
    #[must_use]
    pub fn host_local(workspace: WorkspaceEntry) -> Self {
        Self {
            profile: ExecutionProfile::default(),
            policy: ExecutionPolicy::host_local(),
            attached_workspaces: vec![(
                workspace.workspace_id.clone(),
                workspace.workspace_anchor.clone(),
            )],
            workspace,
            workspace_warning: None,
        }
    }
}
