//! Execution environment of an agent's tools, and the boundaries that are enforced around them.

use crate::id::WorkspaceId;
use crate::workspace::{AccessMode, WorkspaceEntry};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name of the only backend: commands run as processes of the operator.
const HOST_LOCAL: &str = "host_local";

/// Degree to which a boundary is enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Enforcement {
    /// The runtime prevents every violation.
    HardEnforced,
    /// The runtime sets the start conditions and attributes what happens, but confines nothing.
    RuntimeShaped,
    /// The boundary is not enforced.
    NotEnforced,
}

/// Abilities of an agent's tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionProfile {
    pub backend: String,
    /// True if the agent can run commands.
    pub process_execution_exposed: bool,
    /// True if commands may outlive their call as tasks.
    pub allow_background_tasks: bool,
    /// True if the runtime creates git worktrees.
    pub supports_managed_worktrees: bool,
}

impl Default for ExecutionProfile {
    /// Returns the profile of the only backend.
    fn default() -> Self {
        Self {
            backend: HOST_LOCAL.into(),
            process_execution_exposed: true,
            allow_background_tasks: true,
            supports_managed_worktrees: true,
        }
    }
}

/// Enforcement of the runtime's authority over its own resources.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceAuthority {
    /// Admission of messages into queues.
    pub message_ingress: Enforcement,
    /// Changes of agent state.
    pub agent_state: Enforcement,
    /// Lifecycle and configuration requests of operators.
    pub control_plane: Enforcement,
    /// Choice of the directory that stands for a workspace.
    pub workspace_projection: Enforcement,
    /// Actions of the commands that agents run.
    pub process_execution: Enforcement,
    /// The boundaries above against the commands of the host's own agents, which run with the operator's authority and
    /// can reach the host's files, socket and token. Absent in responses of older hosts.
    #[serde(default = "not_enforced")]
    pub own_commands: Enforcement,
}

const fn not_enforced() -> Enforcement {
    Enforcement::NotEnforced
}

/// Enforcement of boundaries around commands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessExecution {
    /// Commands start inside the execution root.
    pub cwd_rooting: Enforcement,
    /// Commands start inside the projection of the workspace.
    pub projection_rooting: Enforcement,
    /// Commands reach only paths inside the root.
    pub path_confinement: Enforcement,
    /// Commands write only inside the root.
    pub write_confinement: Enforcement,
    /// Commands cannot use the network.
    pub network_confinement: Enforcement,
    /// Commands cannot read the operator's secrets.
    pub secret_isolation: Enforcement,
    /// Commands cannot leave processes behind.
    pub child_process_containment: Enforcement,
}

/// Boundaries that a backend does and does not enforce.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionPolicy {
    pub backend: String,
    pub process_execution_exposed: bool,
    pub managed_worktree_supported: bool,
    pub resource_authority: ResourceAuthority,
    pub process_execution: ProcessExecution,
}

impl ExecutionPolicy {
    /// Returns the policy of the only backend.
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
                own_commands: Enforcement::NotEnforced,
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

/// Place and boundaries of an agent's tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionSnapshot {
    #[serde(default)]
    pub profile: ExecutionProfile,
    pub policy: ExecutionPolicy,
    /// Every workspace that the agent may use, with its anchor.
    #[serde(default)]
    pub attached_workspaces: Vec<(WorkspaceId, String)>,
    /// Its fields are serialised beside the others.
    #[serde(flatten)]
    pub workspace: WorkspaceEntry,
    /// Identity of the execution root. Absent in responses of older hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_root_id: Option<String>,
    /// What the agent may do in the execution root. Absent in responses of older hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_mode: Option<AccessMode>,
    /// Advice about the workspace for the operator. Absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_warning: Option<String>,
}

impl ExecutionSnapshot {
    /// Creates the snapshot of an agent for which this is the only workspace.
    #[must_use]
    pub fn host_local(workspace: WorkspaceEntry) -> Self {
        Self {
            profile: ExecutionProfile::default(),
            policy: ExecutionPolicy::host_local(),
            attached_workspaces: vec![(
                workspace.workspace_id.clone(),
                workspace.workspace_anchor.clone(),
            )],
            execution_root_id: Some(workspace.execution_root_id()),
            access_mode: Some(workspace.access_mode()),
            workspace,
            workspace_warning: None,
        }
    }
}
