//! Requests that create an agent, and that start or stop it.

use crate::message::FieldPresence;
use holon_domain::agent::IdentityView;
use holon_domain::authority::TrustLevel;
use holon_domain::message::AdmissionContext;
use holon_domain::{AgentId, RunId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Body of `POST /control/agents/{id}/create`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
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
    /// Accepted from older clients, ignored, and answered with a notice: the route decides the authority.
    #[serde(default, skip_serializing)]
    #[schemars(with = "serde_json::Value")]
    pub trust: FieldPresence,
}

/// Response to a [`CreateAgentRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CreateAgentResponse {
    /// Its fields are serialised beside the others.
    #[serde(flatten)]
    pub identity: IdentityView,
    /// Says which field of the request had no effect; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

impl CreateAgentResponse {
    /// Builds the response, with a notice if the caller claimed a trust.
    #[must_use]
    pub fn new(identity: IdentityView, trust: FieldPresence) -> Self {
        let notice = match trust {
            FieldPresence::Absent => None,
            FieldPresence::Present => Some(
                "trust is ignored: the route decides the authority of an agent; leave the field out"
                    .to_owned(),
            ),
        };
        Self { identity, notice }
    }
}

/// Action of a control request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ControlAction {
    /// Allows the agent to run turns.
    Start,
    /// Aborts the current run and takes up no more messages.
    Stop,
    /// Aborts the current run; the agent goes on with its queue.
    Abort,
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
            Self::Start | Self::Stop | Self::Abort => None,
        }
    }

    /// Returns the name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Stop => "stop",
            Self::Abort => "abort",
            Self::Pause => "pause",
            Self::Resume => "resume",
        }
    }
}

/// Body of `POST /control/agents/{id}/control`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ControlRequest {
    pub action: ControlAction,
    /// Run that an abort means; the current one if absent. Refused for other actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub run_id: Option<RunId>,
    /// Accepted from older clients and ignored.
    #[serde(default, skip_serializing)]
    #[schemars(with = "serde_json::Value")]
    pub trust: FieldPresence,
}

impl ControlRequest {
    /// Builds a request without a run.
    #[must_use]
    pub fn of(action: ControlAction) -> Self {
        Self {
            action,
            run_id: None,
            trust: FieldPresence::default(),
        }
    }
}

/// What an agent does after its run was aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AbortMode {
    /// The agent takes no queued message until it is started again.
    #[default]
    #[serde(alias = "pause_after_abort")]
    StopAfterAbort,
    /// It goes on with its queue.
    ContinueAfterAbort,
}

/// Body of `POST /control/agents/{id}/current-run/abort`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AbortRunRequest {
    /// Run that is meant; the current one if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub run_id: Option<RunId>,
    #[serde(default)]
    pub mode: AbortMode,
    /// Accepted from older clients and repeated in the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<TrustLevel>,
}

/// Response to an [`AbortRunRequest`] that was carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AbortRunResponse {
    pub ok: bool,
    pub aborted: bool,
    #[schemars(with = "String")]
    pub agent_id: AgentId,
    #[schemars(with = "String")]
    pub run_id: RunId,
    pub mode: AbortMode,
    /// Means by which the caller was admitted.
    pub admission_context: AdmissionContext,
    /// The `trust` of the request; null if it had none. An abort does not depend on it.
    pub provided_trust: Option<TrustLevel>,
}

/// Response to `POST /control/agents/{id}/archive`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArchiveAgentResponse {
    pub ok: bool,
    #[schemars(with = "String")]
    pub agent_id: AgentId,
    /// True, as a word that a script can test.
    pub archived: bool,
}

/// Response to `POST /control/agents/{id}/delete`. The removal goes on after it, also across restarts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeleteAgentResponse {
    pub ok: bool,
    #[schemars(with = "String")]
    pub agent_id: AgentId,
    pub delete_requested: bool,
}

/// Response to a [`ControlRequest`] that was carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ControlResponse {
    pub ok: bool,
    #[schemars(with = "String")]
    pub agent_id: AgentId,
    /// Run that was aborted; absent if the action is no abort.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub run_id: Option<RunId>,
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
            run_id: None,
            notice,
        }
    }
}

/// A removed agent, as `GET /agents/deleted` lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeletedAgent {
    /// An agent of the same name may have been created since.
    pub agent_id: String,
    #[schemars(with = "String")]
    pub deleted_at: Timestamp,
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
        let verdict = serde_json::from_str::<CreateAgentRequest>(r#"{"authority":"operator"}"#);
        assert!(
            verdict
                .expect_err("refused")
                .to_string()
                .contains("unknown field `authority`")
        );
    }
}
