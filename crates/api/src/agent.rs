//! Making agents and deciding whether they may run.

use holon_domain::AgentId;
use serde::{Deserialize, Serialize};

/// `POST /control/agents/{id}/create`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateAgentRequest {
    /// The project it works in, as an absolute path; its own home when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_root: Option<String>,
    /// The directory inside the project; its root when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The model it asks, as `provider/model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Reserved; refused until templates exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
}

/// What a control request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ControlAction {
    /// Let the agent run.
    Start,
    /// Do not let it run.
    Stop,
    /// The older name of `stop`.
    Pause,
    /// The older name of `start`.
    Resume,
}

impl ControlAction {
    /// The name to use instead, where this one is old.
    #[must_use]
    pub const fn replacement(self) -> Option<&'static str> {
        match self {
            Self::Pause => Some("stop"),
            Self::Resume => Some("start"),
            Self::Start | Self::Stop => None,
        }
    }

    /// The name as it is sent.
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

/// `POST /control/agents/{id}/control`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControlRequest {
    /// What to do.
    pub action: ControlAction,
}

/// Its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlResponse {
    /// Always true.
    pub ok: bool,
    /// Whom it was about.
    pub agent_id: AgentId,
    /// Something the caller should change, though the request was carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

impl ControlResponse {
    /// The answer to a request that was carried out.
    #[must_use]
    pub fn done(agent_id: AgentId, action: ControlAction) -> Self {
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
        let answer = ControlResponse::done(AgentId::parse("main").expect("valid"), request.action);
        assert!(
            answer
                .notice
                .is_some_and(|notice| notice.contains("\"stop\""))
        );
    }

    #[test]
    fn current_action_names_carry_no_notice() {
        let answer =
            ControlResponse::done(AgentId::parse("main").expect("valid"), ControlAction::Start);
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
