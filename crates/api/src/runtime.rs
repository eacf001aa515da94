//! Requests about the host itself: health, handshake, reload and shutdown.

use holon_domain::AgentId;
use holon_domain::attempt::StoredWord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Response of `GET /healthz`, which needs no token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    pub ok: bool,
    /// Always `live`, the only state that can respond.
    pub status: String,
}

impl Health {
    /// Returns the only response there is; a host that is down does not respond.
    #[must_use]
    pub fn live() -> Self {
        Self {
            ok: true,
            status: "live".into(),
        }
    }
}

/// Response of `GET /readyz` of a host that takes requests. A host that does not refuses with 503.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Readiness {
    pub ok: bool,
    /// True once recovery is done and the host is not shutting down.
    pub ready: bool,
}

/// Response of `GET /`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Root {
    pub ok: bool,
    /// Agent used when a request names none.
    #[schemars(with = "String")]
    pub default_agent: AgentId,
}

/// Name and version of the control protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProtocolInfo {
    pub name: String,
    /// Raised only by a change that an older client would misread.
    pub version: u32,
}

impl ProtocolInfo {
    pub const NAME: &str = "holon-control";
    /// Version that this build speaks.
    pub const VERSION: u32 = 1;

    /// Returns the protocol of this build.
    #[must_use]
    pub fn current() -> Self {
        Self {
            name: Self::NAME.into(),
            version: Self::VERSION,
        }
    }
}

/// Means by which a caller authenticates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuthMode {
    /// The caller sends the control token.
    Bearer,
    /// The caller is the same user on this machine, which the socket proves.
    Local,
}

/// Authentication that the host requires on this connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuthInfo {
    /// Spelled out, as another host may know other modes.
    pub mode: StoredWord<AuthMode>,
    /// True if a token must be sent.
    pub required: bool,
}

impl AuthInfo {
    /// Returns the requirements of a mode.
    #[must_use]
    pub const fn of(mode: AuthMode) -> Self {
        let required = match mode {
            AuthMode::Bearer => true,
            AuthMode::Local => false,
        };
        Self {
            mode: StoredWord::Known(mode),
            required,
        }
    }
}

/// Facts about the host, shown to authenticated callers only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RuntimeInfo {
    /// Agent used when a request names none.
    pub default_agent: AgentId,
    /// Parent directory of the workspaces of agents that were given no project.
    #[serde(default)]
    pub workspace_dir: String,
    /// Directory of the host's state.
    pub home_dir: String,
    /// TCP address the host listens on; absent if it listens on its socket only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,
    /// Base URL the host advertises to clients; null if none is configured.
    #[serde(default)]
    pub advertise_url: Option<String>,
    /// Identity of the store; cursors of another epoch are invalid here.
    pub epoch: String,
}

/// Response of `GET /handshake`. An unauthenticated caller gets only `protocol` and `auth`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Handshake {
    pub ok: bool,
    pub protocol: ProtocolInfo,
    pub auth: AuthInfo,
    /// Names of optional features of this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<RuntimeInfo>,
}

/// Response of `POST /control/runtime/shutdown`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ShutdownResponse {
    pub ok: bool,
    /// Process that shuts down.
    pub pid: u32,
    /// Home directory it releases.
    pub home_dir: String,
    /// Always true: the process shuts down after this response.
    pub shutdown_requested: bool,
}

/// Response of `POST /control/runtime/reload`, sent after the settings file and the credentials were read again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReloadResponse {
    pub ok: bool,
    /// Keys of settings with a new value. The value takes effect at each agent's next turn.
    pub changed: Vec<String>,
    /// Keys of settings with a new value that takes effect only at the next start.
    pub restart_needed: Vec<String>,
    /// Model of agents without an override.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_model: Option<String>,
    /// Models tried in this order after the default model.
    pub fallback_models: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stranger_learns_the_protocol_and_the_auth_mode_only() {
        let shake = Handshake {
            ok: true,
            protocol: ProtocolInfo::current(),
            auth: AuthInfo::of(AuthMode::Bearer),
            capabilities: None,
            runtime: None,
        };
        assert_eq!(
            serde_json::to_string(&shake).expect("serialises"),
            r#"{"ok":true,"protocol":{"name":"holon-control","version":1},"auth":{"mode":"bearer","required":true}}"#
        );
    }
}
