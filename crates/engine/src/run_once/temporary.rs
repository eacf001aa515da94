//! Runs with a temporary agent, which is removed with its answer.

use super::joined::KeyedRun;
use super::progress::WaitTerms;
use super::response::RunAnswer;
use super::task_stop;
use super::watch::{RunNews, RunWatch};
use super::{await_outcome, check_model, ingress_of};
use crate::control::ControlHandle;
use crate::error::Error;
use crate::request::RunRequest;
use crate::shell::Sender;
use holon_core::admission;
use holon_core::input::NewAgent;
use holon_domain::AgentId;
use holon_domain::agent::{
    AgentIdentity, AgentKind, Ownership, ProfilePreset, RunTerms, Visibility,
};
use holon_domain::run::RunOnceResponse;
use tokio::sync::mpsc;

/// Makes an agent, runs the request with it, and removes it afterwards, or as soon as the run is abandoned. `keyed` is
/// present if the request has a key.
pub(super) async fn run_temporary(
    control: &ControlHandle,
    request: &RunRequest,
    news: Option<mpsc::Sender<RunNews>>,
    keyed: Option<&KeyedRun>,
    abandoned: impl Future<Output = ()>,
) -> Result<RunOnceResponse, Error> {
    let ingress = ingress_of(request);
    // Judged before anything is created, so that a refused run leaves nothing behind.
    admission::judge(&ingress)?;
    let agent_id = make_agent(control, request).await?;
    if let Some(keyed) = keyed {
        keyed.announce(&agent_id);
    }
    let watch = RunWatch::begin(control, &agent_id, news).await;
    let waits = WaitTerms {
        for_tasks: request.wait_for_tasks,
        max_rounds: request.max_rounds,
    };
    let answered = async {
        let admitted = match keyed {
            Some(keyed) => keyed.admit(control, &agent_id, ingress).await?,
            None => {
                let admitted = control.admit_from(Sender::OwnRun, &agent_id, ingress);
                admitted.await?
            }
        };
        let never = std::future::pending();
        let mut answer = await_outcome(control, admitted, waits, never).await?;
        if let RunAnswer::Finished(finished) = &mut answer {
            task_stop::stop_tasks(control, finished).await;
        }
        Ok(answer.respond())
    };
    let outcome = tokio::select! {
        outcome = watch.beside(answered) => outcome,
        () = abandoned => Err(match keyed {
            // For a caller that comes back at this moment.
            Some(_) => Error::RunNotRepeated,
            None => Error::ShuttingDown,
        }),
    };
    if let (Some(keyed), Ok(outcome)) = (keyed, &outcome) {
        keyed.keep(control, outcome).await;
    }
    control.shell().remove_afterwards(agent_id);
    outcome
}

async fn make_agent(control: &ControlHandle, request: &RunRequest) -> Result<AgentId, Error> {
    let agent_id = AgentId::temporary("run", control.shell().ports.entropy.source().as_mut());
    let identity = AgentIdentity {
        agent_id: agent_id.clone(),
        kind: AgentKind::Child,
        visibility: Visibility::Private,
        ownership: Ownership::ParentSupervised,
        profile_preset: ProfilePreset::PrivateChild,
        lineage_parent_agent_id: None,
        root_agent_id: None,
    };
    check_model(control, request, None).await?;
    let new = control
        .new_agent(identity, &request.workspace, request.model.clone())
        .await?;
    control.check_reserved(&new.workspace)?;
    let run = Some(RunTerms::temporary(request.max_rounds));
    control.shell().create(NewAgent { run, ..new }).await?;
    Ok(agent_id)
}
