//! The execution policy: what an agent may do to the machine. Commands, their promotion to tasks, the control of tasks
//! and the use of workspaces ask this one function, and the execution snapshot shows its answers.
//!
//! | act | profile must grant | host must offer |
//! |---|---|---|
//! | run a command | `local_environment` | process execution |
//! | keep a command as a task | `local_environment` | process execution, background tasks |
//! | write to a task or stop it | `core` | process execution |
//! | use a workspace, direct | `local_environment` | - |
//! | use a workspace, isolated | `local_environment` | managed worktrees |
//! | attach a directory | `authority_expansion` | - |
//!
//! The policy decides what the runtime does for an agent. It does not confine a command that runs.

use crate::input::HostConditions;
use crate::rejection::Rejection;
use holon_domain::agent::{AgentRecord, ProfilePreset};
use holon_domain::intent::{HostAction, Intent};
use holon_domain::summary::{ExecutionPolicy, ExecutionProfile};
use holon_domain::task::WorkspaceMode;
use holon_domain::tool::{ToolError, ToolErrorKind, ToolFamily};
use holon_domain::workspace::UseMode;
use serde_json::json;

/// An act that the policy decides about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecutionAct {
    /// Start a command, alone or in a batch.
    RunCommand,
    /// Let a command outlive its call.
    KeepAsTask,
    /// Write to a task or stop it.
    ControlTask,
    UseWorkspace(UseMode),
    /// Attach a directory that is not attached yet.
    AttachWorkspace,
}

/// Reason for which the policy forbids an act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyDenial {
    /// The profile of the agent lacks the family.
    Profile { family: ToolFamily },
    /// The host does not offer it.
    Host { missing: &'static str },
}

impl ExecutionAct {
    /// Returns the act that a call asks for. `None` if the policy has no say in it.
    #[must_use]
    pub const fn of(intent: &Intent) -> Option<Self> {
        match intent {
            Intent::Host(HostAction::ExecCommand(_) | HostAction::ExecCommandBatch(_)) => {
                Some(Self::RunCommand)
            }
            Intent::Host(HostAction::UseWorkspace(request)) => {
                Some(Self::UseWorkspace(request.mode))
            }
            Intent::SpawnAgent(spawn)
                if matches!(spawn.workspace_mode, WorkspaceMode::Worktree) =>
            {
                Some(Self::UseWorkspace(UseMode::Isolated))
            }
            Intent::TaskInput { .. } | Intent::TaskStop { .. } => Some(Self::ControlTask),
            _ => None,
        }
    }

    const fn family(self) -> ToolFamily {
        match self {
            Self::RunCommand | Self::KeepAsTask | Self::UseWorkspace(_) => {
                ToolFamily::LocalEnvironment
            }
            Self::ControlTask => ToolFamily::Core,
            Self::AttachWorkspace => ToolFamily::AuthorityExpansion,
        }
    }

    /// Returns the ability that the host lacks for the act.
    const fn missing(self, host: &ExecutionProfile) -> Option<&'static str> {
        match self {
            Self::RunCommand | Self::KeepAsTask | Self::ControlTask
                if !host.process_execution_exposed =>
            {
                Some("process execution")
            }
            Self::KeepAsTask if !host.allow_background_tasks => Some("background tasks"),
            Self::UseWorkspace(UseMode::Isolated) if !host.supports_managed_worktrees => {
                Some("managed worktrees")
            }
            Self::RunCommand
            | Self::KeepAsTask
            | Self::ControlTask
            | Self::UseWorkspace(_)
            | Self::AttachWorkspace => None,
        }
    }
}

/// Decides whether an agent with this profile may do something on a host with these abilities.
///
/// # Errors
/// The policy forbids it.
pub fn check(
    preset: ProfilePreset,
    host: &ExecutionProfile,
    act: ExecutionAct,
) -> Result<(), PolicyDenial> {
    let family = act.family();
    if !preset.grants(family) {
        return Err(PolicyDenial::Profile { family });
    }
    match act.missing(host) {
        Some(missing) => Err(PolicyDenial::Host { missing }),
        None => Ok(()),
    }
}

/// Decides whether an operator may make an agent do something. Profiles bind agents only.
///
/// # Errors
/// The host does not offer it.
pub fn check_host(host: &ExecutionProfile, act: ExecutionAct) -> Result<(), PolicyDenial> {
    match act.missing(host) {
        Some(missing) => Err(PolicyDenial::Host { missing }),
        None => Ok(()),
    }
}

/// Returns the profile that status and prompts show: the answers of the policy for this agent.
#[must_use]
pub fn profile_of(agent: &AgentRecord, host: &HostConditions) -> ExecutionProfile {
    let may = |act| check(agent.identity.profile_preset, &host.execution, act).is_ok();
    ExecutionProfile {
        backend: host.execution.backend.clone(),
        process_execution_exposed: may(ExecutionAct::RunCommand),
        allow_background_tasks: may(ExecutionAct::KeepAsTask),
        supports_managed_worktrees: may(ExecutionAct::UseWorkspace(UseMode::Isolated)),
    }
}

/// Returns the boundaries that status shows for this agent.
#[must_use]
pub fn boundaries_of(profile: &ExecutionProfile) -> ExecutionPolicy {
    ExecutionPolicy {
        backend: profile.backend.clone(),
        process_execution_exposed: profile.process_execution_exposed,
        managed_worktree_supported: profile.supports_managed_worktrees,
        ..ExecutionPolicy::host_local()
    }
}

impl PolicyDenial {
    /// Returns the error of a call that the policy forbids.
    #[must_use]
    pub fn tool_error(self) -> ToolError {
        match self {
            Self::Profile { family } => ToolError::new(
                ToolErrorKind::UnsupportedAgentProfileCapability,
                "not done: the profile of this agent does not grant it",
            )
            .details(json!({ "family": family })),
            Self::Host { missing } => ToolError::new(
                ToolErrorKind::ExecutionPolicyDenied,
                format!("not done: the execution policy of this host offers no {missing}"),
            )
            .details(json!({ "missing": missing })),
        }
    }

    /// Returns the refusal of an operator's request that the policy forbids.
    #[must_use]
    pub const fn rejection(self) -> Rejection {
        match self {
            Self::Profile {
                family: ToolFamily::AuthorityExpansion,
            } => Rejection::AttachForbidden,
            Self::Profile { .. } => Rejection::PolicyDenied {
                missing: "such act to the profile of this agent",
            },
            Self::Host { missing } => Rejection::PolicyDenied { missing },
        }
    }
}
