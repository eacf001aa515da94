//! Request of `POST /control/run`, and what its stream tells of a run that waits for its turn. The response is `domain::run::RunOnceResponse`.

use holon_domain::authority::TrustLevel;
use holon_domain::{AgentId, MessageId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A one-shot run. The response arrives when the outcome is stored, which may take as long as the work does.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// Instruction to the agent.
    pub text: String,
    /// Digests of images that were uploaded with `POST /control/images`, at most 8. They stand behind the text in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
    /// Agent that runs it; a temporary agent when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub agent_id: Option<AgentId>,
    /// True if the named agent is created when it does not exist.
    #[serde(default)]
    pub create_agent: bool,
    /// Template of an agent that is created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Model override as `provider/model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Upper bound on the model rounds of the run, at least 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// True if a temporary agent's run ends with its answer; tasks that still run are cancelled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_wait_for_tasks: bool,
    /// Absolute path of the project. An existing agent moves to it; when absent, its project stays unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_root: Option<String>,
    /// Working directory inside the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Trust that the text deserves, `trusted_operator` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<TrustLevel>,
}

/// Data of the frame [`RUN_QUEUED`](crate::event::RUN_QUEUED): the message of the run. The `turn_started` with this
/// message ends the wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunQueued {
    pub message_id: MessageId,
    /// Position in the agent's queue, counted from 1.
    pub message_seq: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_alone_is_enough() {
        let request: RunRequest = serde_json::from_str(r#"{"text":"hello"}"#).expect("parses");
        assert_eq!(
            request,
            RunRequest {
                text: "hello".into(),
                ..RunRequest::default()
            }
        );
    }

    #[test]
    fn an_agent_name_that_is_a_path_is_refused() {
        assert!(serde_json::from_str::<RunRequest>(r#"{"text":"x","agent_id":"../up"}"#).is_err());
    }
}
