//! Requests that create an agent, and that start or stop it.

use holon_domain::AgentId;
use serde::{Deserialize, Serialize};

/// Body of `POST /control/agents/{id}/create`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateAgentRequest {
    /// Absolute path of the project; the agent's own home when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_root: Option<String>,
    /// Working directory inside the project; the project root when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Model override as `provider/model`; the host's default when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Template of the agent's home: an id, an absolute path, or a directory on GitHub. Refused for an agent that
    /// exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Text that is added to the agent's `AGENTS.md`. Refused for an agent that exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<String>,
}

/// Action of a control request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlAction {
    /// Allows the agent to run turns.
    Start,
    /// Aborts the current run and takes up no more messages.
    Stop,
    /// Deprecated name of `stop`.
    Pause,
    /// Deprecated name of `start`.
    Resume,
}

impl ControlAction {
    /// Returns the current name of a deprecated action, and `None` for a current one.
    #[must_use]
    pub const fn replacement(self) -> Option<&'static str> {
        match self {
            Self::Pause => Some("stop"),
            Self::Resume => Some("start"),
            Self::Start | Self::Stop => None,
        }
    }

    /// Returns the name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Stop => "stop",
            Self::Pause => "pause",
            Self::Resume => "resume",
        }
    }
}

/// Body of `POST /control/agents/{id}/control`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControlRequest {
    pub action: ControlAction,
}

/// Response to a [`ControlRequest`] that was carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlResponse {
    pub ok: bool,
    pub agent_id: AgentId,
    /// Deprecation notice for the caller; absent when the action has its current name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

impl ControlResponse {
    /// Builds the response, with a notice if the action's name is deprecated.
    #[must_use]
    pub fn new(agent_id: AgentId, action: ControlAction) -> Self {
        let notice = action.replacement().map(|name| {
            format!(
                "the action \"{}\" is deprecated; send \"{name}\" instead",
                action.as_str()
            )
        });
        Self {
            ok: true,
            agent_id,
            notice,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_action_names_are_understood_and_answered_with_a_notice() {
        let request: ControlRequest =
            serde_json::from_str(r#"{"action":"pause"}"#).expect("parses");
        let answer = ControlResponse::new(AgentId::parse("main").expect("valid"), request.action);
        assert!(
            answer
                .notice
                .is_some_and(|notice| notice.contains("\"stop\""))
        );
    }

    #[test]
    fn current_action_names_carry_no_notice() {
        let answer =
            ControlResponse::new(AgentId::parse("main").expect("valid"), ControlAction::Start);
        assert_eq!(
            serde_json::to_string(&answer).expect("serialises"),
            r#"{"ok":true,"agent_id":"main"}"#
        );
    }

    #[test]
    fn a_field_a_request_does_not_know_is_refused() {
        let verdict = serde_json::from_str::<CreateAgentRequest>(r#"{"trust":"trusted_operator"}"#);
        assert!(
            verdict
                .expect_err("refused")
                .to_string()
                .contains("unknown field `trust`")
        );
    }
}
