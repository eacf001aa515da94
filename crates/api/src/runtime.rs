//! The host itself: is it there, what does it speak, whom does it let in, and please go down.

use holon_domain::AgentId;
use holon_domain::attempt::StoredWord;
use serde::{Deserialize, Serialize};

/// `GET /healthz`. Public.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Always true.
    pub ok: bool,
    /// Always `live`.
    pub status: String,
}

impl Health {
    /// The only answer there is; no answer is the other one.
    #[must_use]
    pub fn live() -> Self {
        Self {
            ok: true,
            status: "live".into(),
        }
    }
}

/// `GET /`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// Always true.
    pub ok: bool,
    /// The agent that is meant when none is named.
    pub default_agent: AgentId,
}

/// What is spoken here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProtocolInfo {
    /// Always `holon-control`.
    pub name: String,
    /// Raised only by a change an older client would misread.
    pub version: u32,
}

impl ProtocolInfo {
    /// The name of this protocol.
    pub const NAME: &str = "holon-control";
    /// The version this build speaks.
    pub const VERSION: u32 = 1;

    /// The protocol this build speaks.
    #[must_use]
    pub fn current() -> Self {
        Self {
            name: Self::NAME.into(),
            version: Self::VERSION,
        }
    }
}

/// How a caller shows who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthMode {
    /// With the control token.
    Bearer,
    /// By being the same user on this machine.
    Local,
}

/// Whom the host lets in on this connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthInfo {
    /// How; another host may know other ways.
    pub mode: StoredWord<AuthMode>,
    /// Whether a token must be sent.
    pub required: bool,
}

impl AuthInfo {
    /// The rule of a mode.
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

/// Facts about the host, for callers it knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuntimeInfo {
    /// The agent that is meant when none is named.
    pub default_agent: AgentId,
    /// Where agents work that were given no project: each in a directory of its own below it.
    #[serde(default)]
    pub workspace_dir: String,
    /// Where it keeps its state.
    pub home_dir: String,
    /// The TCP address it listens on, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,
    /// The address it tells others to use; null where it tells of none.
    #[serde(default)]
    pub advertise_url: Option<String>,
    /// Identity of its store; cursors of another epoch mean nothing here.
    pub epoch: String,
}

/// `GET /handshake`. Strangers get protocol and auth; known callers all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handshake {
    /// Always true.
    pub ok: bool,
    /// What is spoken.
    pub protocol: ProtocolInfo,
    /// Whom it lets in.
    pub auth: AuthInfo,
    /// What it can do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Vec<String>>,
    /// Facts about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<RuntimeInfo>,
}

/// `POST /control/runtime/shutdown`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShutdownResponse {
    /// Always true.
    pub ok: bool,
    /// The process that goes down.
    pub pid: u32,
    /// The home it gives up.
    pub home_dir: String,
    /// Always true: it goes down after this answer.
    pub shutdown_requested: bool,
}

/// `POST /control/runtime/reload`: the settings file and the credentials were read again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReloadResponse {
    /// Always true.
    pub ok: bool,
    /// Settings that have another value now, by key. They count from each agent's next turn on.
    pub changed: Vec<String>,
    /// Settings that have another value now and count from the next start on.
    pub restart_needed: Vec<String>,
    /// The model that agents without a choice of their own ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_model: Option<String>,
    /// Then these.
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
