//! The ports of the server: the engine's two handles, and two traits for the part of the host that the engine does not
//! know.
//!
//! Read-only routes get [`ReadHandle`] and [`SetupReader`]. Only routes that change something get [`ControlHandle`] and
//! [`SetupManager`].

use async_trait::async_trait;
use holon_api::{ModelsResponse, ReloadResponse, RuntimeSurface};
use holon_domain::{AgentId, TaskId, Timestamp};
use holon_engine::{ControlHandle, ReadHandle};
use secrecy::SecretString;
use std::sync::Arc;

/// Reads the host's configuration.
#[async_trait]
pub trait SetupReader: Send + Sync + 'static {
    /// Returns the model catalog and the current availability of its models. Uses no network.
    async fn models(&self) -> ModelsResponse;

    /// Returns the facts about the host that its start has fixed, and its effective settings. Looks at files for
    /// credentials, and uses no network.
    async fn facts(&self) -> HostFacts {
        HostFacts::default()
    }

    /// Returns true if a secret for webhooks of the agent with this birth is stored.
    ///
    /// # Errors
    /// A message for the operator if the credentials cannot be read.
    async fn has_webhook_secret(&self, _agent_id: &AgentId, _birth: i64) -> Result<bool, String> {
        Ok(false)
    }
}

/// Facts about a host that the server does not know by itself.
#[derive(Debug, Clone, Default)]
pub struct HostFacts {
    /// The control socket; absent if it is not served.
    pub socket_path: Option<String>,
    pub started_at: Option<Timestamp>,
    /// Fingerprint of the effective configuration.
    pub config_fingerprint: Option<String>,
    /// Absent if the host has no settings of its own.
    pub runtime: Option<RuntimeSurface>,
}

/// Changes the host's configuration.
#[async_trait]
pub trait SetupManager: Send + Sync + 'static {
    /// Reads settings and credentials again; they take effect at each agent's next turn.
    ///
    /// # Errors
    /// A message for the operator if the files are invalid. The host keeps its old settings.
    async fn reload(&self) -> Result<ReloadResponse, String>;

    /// Reads the secret for webhooks of the agent with this birth; `None` if there is none. One of an earlier agent of
    /// the same name, which a crash may have left behind, is none.
    ///
    /// # Errors
    /// A message for the operator if the credentials cannot be read.
    async fn webhook_secret(
        &self,
        _agent_id: &AgentId,
        _birth: i64,
    ) -> Result<Option<SecretString>, String> {
        Ok(None)
    }

    /// Returns those of the agents for which a secret for webhooks is stored. It may be one of an earlier agent of the
    /// same name.
    ///
    /// # Errors
    /// A message for the operator if the credentials cannot be read.
    async fn with_webhook_secret(&self, _agents: Vec<AgentId>) -> Result<Vec<AgentId>, String> {
        Ok(Vec::new())
    }

    /// Stores the secret for webhooks of the agent with this birth. It counts from the next webhook on.
    ///
    /// # Errors
    /// A message for the operator if it cannot be stored.
    async fn set_webhook_secret(
        &self,
        _agent_id: &AgentId,
        _birth: i64,
        _secret: SecretString,
    ) -> Result<(), String> {
        Err("this host stores no credentials".to_owned())
    }

    /// Removes the secret for webhooks of an agent, if there is one.
    ///
    /// # Errors
    /// A message for the operator if it cannot be removed.
    async fn remove_webhook_secret(&self, _agent_id: &AgentId) -> Result<(), String> {
        Ok(())
    }
}

/// The command of an agent that a caller belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PeerCommand {
    pub agent_id: AgentId,
    /// Task that the command is or would become.
    pub task_id: TaskId,
}

/// Finds the command that a process on this machine belongs to.
pub trait PeerFinder: Send + Sync + 'static {
    /// Returns the command; `None` if the process belongs to none, or that cannot be told.
    fn command_of(&self, pid: i32) -> Option<PeerCommand>;
}

/// Handles that the routes of one host call.
#[derive(Clone)]
pub struct HostPorts {
    /// Reads agents; cannot reach the writer.
    pub reads: ReadHandle,
    pub control: ControlHandle,
    pub setup: Arc<dyn SetupReader>,
    pub manage: Arc<dyn SetupManager>,
    /// Tells commands of agents from the operator, among callers on the socket.
    pub peers: Arc<dyn PeerFinder>,
}

impl std::fmt::Debug for HostPorts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HostPorts")
    }
}
