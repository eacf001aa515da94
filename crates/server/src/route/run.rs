//! Route of a one-shot run. The caller waits until the outcome is stored.

use super::agent::{parse_model, parse_new_agent_id, workspace_choice};
use crate::body::JsonBody;
use crate::extract::Params;
use crate::refusal::{Refusal, RequestFault};
use crate::run_stream;
use crate::state::{Act, ActState, Connection};
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use holon_domain::message::AdmissionContext;
use holon_domain::run::RunOnceResponse;
use holon_engine::request::{HomeChoice, RunRequest};
use holon_engine::{Error, RunNews};
use serde::Deserialize;
use tokio::sync::mpsc;

/// Query of a run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunParams {
    /// True if the response is a stream of the run's news that ends with the outcome.
    #[serde(default)]
    deltas: bool,
}

/// `POST /control/run`: runs one request and returns its outcome. With `deltas=true` the response is an event stream:
/// `run_queued` if the agent is at work on another message, the deltas of the run's own turns and all events of the
/// answering agent, and at the end `run_completed` with the outcome, or `error`.
pub(crate) async fn run(
    Act(state): Act,
    Params(params): Params<RunParams>,
    connection: Option<Extension<Connection>>,
    JsonBody(request): JsonBody<holon_api::RunRequest>,
) -> Result<Response, Refusal> {
    let images = state.control.claim_images(&request.images).await?;
    let request = RunRequest {
        images,
        ..translate(request)?
    };
    if params.deltas {
        let connection = connection.map(|Extension(connection)| connection);
        return run_stream::open(&state, request, connection).await;
    }
    let outcome = await_outcome(&state, request, None).await?;
    Ok(Json(outcome).into_response())
}

/// Runs a request to its outcome. The news go to `news`, if the caller watches.
pub(crate) async fn await_outcome(
    state: &ActState,
    request: RunRequest,
    news: Option<mpsc::Sender<RunNews>>,
) -> Result<RunOnceResponse, Refusal> {
    let afterwards = match request.agent_id {
        Some(_) => "if it was admitted it goes on when the host is back; look for its brief then",
        None => {
            "a run without an agent ends with its host; ask again with a new key when the host is back"
        }
    };
    // A waiting caller must not delay the shutdown. The run itself is stored and goes on after the next start.
    let run = async {
        match news {
            Some(news) => state.control.run_once_watched(request, news).await,
            None => state.control.run_once(request).await,
        }
    };
    tokio::select! {
        biased;
        outcome = run => Ok(outcome?),
        () = state.host.shutdown.cancelled() => Err(match state.control.shutdown_error() {
            Error::ShuttingDown => Refusal::from(Error::ShuttingDown)
                .without_retry()
                .hint(afterwards),
            lost => lost.into(),
        }),
    }
}

/// Converts a request, except for its images, whose digests the caller resolves.
fn translate(request: holon_api::RunRequest) -> Result<RunRequest, Refusal> {
    let agent_id = match (request.agent_id, request.create_agent) {
        (None, true) => {
            return Err(RequestFault::REQUEST
                .refuse("create_agent needs an agent_id")
                .hint("name the agent, or leave create_agent out for a temporary one"));
        }
        (Some(agent_id), true) => Some(parse_new_agent_id(&agent_id)?),
        (agent_id, false) => agent_id,
    };
    if request.template.is_some() && !request.create_agent {
        return Err(RequestFault::REQUEST
            .refuse("template needs create_agent")
            .hint("a template is applied to a new agent only"));
    }
    Ok(RunRequest {
        text: request.text,
        images: Vec::new(),
        agent_id,
        create_agent: request.create_agent,
        home: HomeChoice {
            template: request.template,
            seed: None,
        },
        model: request.model.as_deref().map(parse_model).transpose()?,
        max_rounds: request.max_turns,
        wait_for_tasks: !request.no_wait_for_tasks,
        workspace: workspace_choice(request.workspace_root, request.cwd),
        at_most: request.trust.map(Into::into),
        admission_context: AdmissionContext::ControlAuthenticated,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(json: &str) -> Option<String> {
        translate(serde_json::from_str(json).unwrap())
            .err()
            .and_then(|refusal| refusal.into_body().code)
    }

    #[test]
    fn a_run_carries_everything_to_the_engine() {
        let json = r#"{"text":"go","agent_id":"dev","create_agent":true,"model":"scripted/a/b.json",
                       "max_turns":4,"workspace_root":"/srv/project","cwd":"src"}"#;
        let run = translate(serde_json::from_str(json).unwrap()).unwrap();
        assert_eq!(
            (run.text.as_str(), run.create_agent, run.max_rounds),
            ("go", true, Some(4))
        );
        assert_eq!(run.agent_id.unwrap().as_str(), "dev");
        assert_eq!(run.model.unwrap().to_string(), "scripted/a/b.json");
        assert_eq!(
            run.workspace.workspace_root.unwrap().to_str(),
            Some("/srv/project")
        );
        assert_eq!(
            run.admission_context,
            AdmissionContext::ControlAuthenticated
        );
    }

    #[test]
    fn what_cannot_be_run_is_refused_by_code() {
        for (json, code) in [
            (r#"{"text":"go","create_agent":true}"#, "invalid_request"),
            (
                r#"{"text":"go","agent_id":"tmp_x","create_agent":true}"#,
                "invalid_agent_id",
            ),
            (r#"{"text":"go","model":"nonsense"}"#, "invalid_model"),
        ] {
            assert_eq!(refused(json).as_deref(), Some(code), "{json}");
        }
    }
}
