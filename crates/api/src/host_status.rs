//! The status of the host itself: its process, its activity, its last failure and its effective settings.

use holon_domain::failure::FailureArtifact;
use holon_domain::{AgentId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Response of `GET /control/runtime/status`. `GET /control/runtime/readiness` leaves out activity and failure.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RuntimeStatusResponse {
    pub ok: bool,
    /// True once recovery is done, until the host shuts down.
    pub healthy: bool,
    pub pid: u32,
    pub home_dir: String,
    /// Identity of the store; cursors of another epoch are invalid here.
    pub epoch: String,
    /// The control socket; absent if the host does not serve one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket_path: Option<String>,
    /// Absent if TCP is not served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_addr: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// Fingerprint of the effective configuration, by which a start recognises this host as its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_fingerprint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activity: Option<RuntimeActivity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub startup_surface: Option<StartupSurface>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime_surface: Option<RuntimeSurface>,
    /// The last failure of a turn of a public agent; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<RuntimeFailure>,
}

/// State of the host as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActivityState {
    /// No agent runs and nothing is waited for.
    Idle,
    /// No agent runs, and an agent waits or a task runs.
    Waiting,
    /// At least one agent has an open turn.
    Processing,
}

/// Numbers of the host's public agents and their tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RuntimeActivity {
    pub state: ActivityState,
    /// Agents that are not stopped.
    pub active_agent_count: u64,
    pub active_task_count: u64,
    pub processing_agent_count: u64,
    pub waiting_agent_count: u64,
}

/// A failure that the host reports about itself.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RuntimeFailure {
    /// Agent whose turn failed.
    pub agent_id: AgentId,
    pub occurred_at: Timestamp,
    pub summary: String,
    /// Always `runtime_turn`: failures of start and stop are files of the home.
    pub phase: &'static str,
    /// The next step to learn more.
    pub detail_hint: String,
    pub failure_artifact: FailureArtifact,
}

/// What is fixed at the start of a host.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StartupSurface {
    pub home_dir: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket_path: Option<String>,
    pub workspace_dir: String,
    pub default_agent_id: AgentId,
    /// Base of the addresses by which others call back; absent if none is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callback_base_url: Option<String>,
    /// Always true: a host without a token does not serve TCP.
    pub control_token_configured: bool,
    /// Always `required`: TCP needs the token, and the socket proves its peer.
    pub control_auth_mode: &'static str,
}

/// The effective settings about models and tools.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RuntimeSurface {
    /// Absent if no model is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_default: Option<String>,
    pub model_fallbacks: Vec<String>,
    /// Models of the catalog.
    pub model_catalog: Vec<String>,
    /// True if settings for models outside of the catalog exist.
    pub unknown_model_fallback_configured: bool,
    pub runtime_max_output_tokens: u32,
    pub default_tool_output_tokens: u32,
    pub max_tool_output_tokens: u32,
    pub disable_provider_fallback: bool,
    pub providers: Vec<ProviderSurface>,
}

/// One provider of the settings. It holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderSurface {
    pub id: String,
    pub transport: String,
    pub base_url: String,
    pub credential_source: String,
    pub credential_kind: String,
    /// True if a credential was found without asking the provider.
    pub credential_configured: bool,
}
