//! One request, one answer: `POST /control/run`. The answer is `domain::run::RunOnceResponse`.

use holon_domain::AgentId;
use serde::{Deserialize, Serialize};

/// A one-shot run. It is answered when its outcome is on disk, which may take as long as the work does.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// What to do.
    pub text: String,
    /// By whom; a temporary agent when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// Whether to make that agent if there is none.
    #[serde(default)]
    pub create_agent: bool,
    /// The model to ask, as `provider/model`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The most model rounds, at least 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// Whether a temporary agent's run ends with its answer, whatever still runs: its tasks are stopped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_wait_for_tasks: bool,
    /// The project, as an absolute path; unchanged when the agent exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_root: Option<String>,
    /// The directory inside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
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
