//! Runs one request on a home that no host serves. This process owns the home for the duration of the run.

use crate::compose::Addresses;
use crate::error::Error;
use crate::port::ReloadableAdapters;
use crate::signal::EndSignals;
use crate::{compose, open};
use holon_config::{Settings, Token};
use holon_domain::message::AdmissionContext;
use holon_domain::model::ModelRef;
use holon_domain::run::RunOnceResponse;
use holon_engine::request::{HomeChoice, RunRequest, WorkspaceChoice};
use holon_engine::{Host, RunNews, Scope};
use holon_store::{Home, Occupant};
use std::path::PathBuf;
use tokio::sync::mpsc;

/// A run without a host, with the images that go with its text.
#[derive(Debug)]
pub struct LocalRun {
    /// Its `images` are ignored: a run without a host names those below once it has kept them.
    pub request: holon_api::RunRequest,
    /// The bytes of each image.
    pub images: Vec<Vec<u8>>,
}

/// Runs a request with its own host and shuts the host down in order. The news of the run go to `news`, if it is given;
/// the channel closes when the run ends.
///
/// # Errors
/// Fails if the home cannot be taken, the request is refused, or a signal ends the process.
pub async fn run_local(
    settings: &Settings,
    order: LocalRun,
    news: Option<mpsc::Sender<RunNews>>,
) -> Result<RunOnceResponse, Error> {
    let mut request = translate(order.request)?;
    let mut signals = EndSignals::listen_for_run()?;
    let home = tokio::select! {
        home = open::take_home(&settings.home.value) => home?,
        signal = signals.next() => return Err(Error::NotBegun { signal }),
    };
    // The start may have to wait for disk space, and must be interruptible meanwhile.
    let host = open(settings, &home, &request)?;
    tokio::select! {
        up = come_up(settings, &host, &request) => up?,
        signal = signals.next() => return Err(Error::NotBegun { signal }),
    }
    let control = host.control();
    let run = async {
        for image in order.images {
            request.images.push(control.keep_image(image).await?);
        }
        match news {
            Some(news) => control.run_once_watched(request, news).await,
            None => control.run_once(request).await,
        }
    };
    let outcome = tokio::select! {
        outcome = run => outcome.map_err(Error::from),
        signal = signals.next() => Err(Error::Interrupted { signal }),
        lost = host.wait_until_lost() => {
            host.abandon();
            return Err(lost.into());
        }
    };
    home.note_leaving();
    if outcome.is_err() {
        if let Err(Error::Interrupted { signal }) = &outcome {
            tracing::warn!(signal, "going down; a second signal ends at once");
        }
        tokio::select! {
            closed = host.shut_down() => drop(closed),
            // A second signal: the state on disk is always consistent, so there is nothing to wait for.
            _ = signals.next() => {}
        }
        return outcome;
    }
    if let Err(error) = host.shut_down().await {
        // The answer is on disk; the next start repairs a store that was not closed in order.
        tracing::warn!(%error, "the store could not be closed in order");
    }
    outcome
}

fn open(settings: &Settings, home: &Home, request: &RunRequest) -> Result<Host, Error> {
    let live = ReloadableAdapters::new(settings)?;
    // A host that serves the home later uses the same token, so it is hidden too.
    if let Ok(token) = Token::load(&home.token_path()) {
        live.models.secrets().keep(token.expose().into());
    }
    let scope = Scope::Run(request.agent_id.clone());
    let store = open::open_store(home, Occupant::Run(request.agent_id.clone()))?;
    // Nothing is served here, so a URL of the agent works once a host serves the home.
    let addresses = Addresses {
        callback_base: format!("http://{}", settings.http_addr.value),
        advertised: None,
    };
    compose::open(settings, &live, home, store, scope, addresses)
}

async fn come_up(settings: &Settings, host: &Host, request: &RunRequest) -> Result<(), Error> {
    host.recover().await?;
    if request.agent_id.as_ref() == Some(&settings.default_agent.value) {
        let agent_id = settings.default_agent.value.clone();
        host.ensure_default_agent(agent_id).await?;
    }
    Ok(())
}

fn translate(request: holon_api::RunRequest) -> Result<RunRequest, Error> {
    Ok(RunRequest {
        text: request.text,
        images: Vec::new(),
        agent_id: request.agent_id,
        create_agent: request.create_agent,
        home: HomeChoice {
            template: request.template,
            seed: None,
        },
        model: request.model.as_deref().map(ModelRef::parse).transpose()?,
        max_rounds: request.max_turns,
        wait_for_tasks: !request.no_wait_for_tasks,
        workspace: WorkspaceChoice {
            workspace_root: request.workspace_root.map(PathBuf::from),
            cwd: request.cwd.map(PathBuf::from),
        },
        admission_context: AdmissionContext::LocalProcess,
        at_most: request.trust.map(Into::into),
    })
}
