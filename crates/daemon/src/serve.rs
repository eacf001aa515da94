//! Serving a home: bind, open, recover, announce, serve, drain.
//!
//! Order matters: nothing is admitted before recovery is done, recovery begins only when every listener is bound,
//! and nobody is told of the host before it answers. On a full disk the host comes up as far as it can, and further
//! when there is space. A store that is lost ends it at once.

use crate::endpoint::{self, Bound, Endpoints};
use crate::error::Error;
use crate::marks::Marks;
use crate::port::Live;
use crate::run_files::{self, Owed};
use crate::setup::{HostSetup, Reread};
use crate::signal::{EndSignals, Hangup, Hangups};
use crate::{compose, no_space, open};
use holon_config::Settings;
use holon_domain::AgentId;
use holon_domain::limits::OPEN_FILES;
use holon_engine::{Host, Scope};
use holon_server::{Doors, Manage, ServerConfig, Setup, Token};
use holon_store::Home;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

/// Pause between two tries to make the default agent on a full disk.
const AGAIN: Duration = Duration::from_secs(1);

/// Serves the home of `settings` until a signal or a client asks the host to go down. `reread` reads the settings
/// again when somebody asks for it. `ready` is called once, when requests are answered.
///
/// # Errors
/// When the host cannot start, in which case nothing of it is left behind, or when its store is lost.
pub async fn serve(
    settings: &Settings,
    reread: Reread,
    ready: impl FnOnce(&Endpoints),
) -> Result<(), Error> {
    let live = Live::new(settings)?;
    // After what commands begin with was taken down: they may open as many files as this process was given.
    raise_file_limit();
    compose::check_default_model(settings, &live.models).await?;
    let mut signals = EndSignals::listen()?;
    let mut hangups = Hangups::listen()?;
    let home = tokio::select! {
        home = open::take_home(&settings.home.value) => home?,
        signal = signals.next() => {
            note_not_up(signal);
            return Ok(());
        }
    };
    let (token, unsaved) = run_files::token(&home)?;
    live.models.secrets().keep(token.expose().into());
    let token = Token::new(token.expose())?;
    let bound = endpoint::bind(&home, settings.http_addr.value).await?;
    let mut marks = Marks::new(&home);
    // May have to wait for disk space, and must be interruptible while it does.
    let db = tokio::select! {
        db = no_space::open_store(&home, &bound) => db?,
        signal = signals.next() => {
            note_not_up(signal);
            return Ok(());
        }
    };
    let full = db.disk_full();
    marks.stay_when(db.lost());
    let host = Arc::new(compose::open(settings, &live, (&home, db), Scope::All)?);
    let shutdown = CancellationToken::new();
    let setup = HostSetup::new(settings.clone(), reread, Arc::clone(&host), live);
    let setup = Arc::new(setup);
    let endpoints = bound.endpoints.clone();
    let (later, unix_later) = later_if(bound.unix.is_none());
    let config = ServerConfig {
        unix_later,
        ..config(settings, &home, (bound, token))
    };
    let server = holon_server::serve(config, doors(&host, &setup), shutdown.clone());
    let (up, is_up) = watch::channel(false);
    let owed = Owed::new(&home, endpoints.clone(), unsaved, later);
    let coming_up = async {
        come_up(&host, settings.default_agent.value.clone()).await?;
        up.send_replace(true);
        let (http, socket) = (endpoints.http_addr, endpoints.socket_path.display());
        let announced = || {
            tracing::info!(%http, %socket, "host is up");
            ready(&endpoints);
        };
        announce(owed, announced).await
    };
    let serving = async {
        worth_serving(is_up, full, &shutdown).await;
        let served = server.await;
        end(&host, &shutdown, served).await
    };
    tokio::select! {
        done = until_done(serving, &mut signals, (&host, &shutdown)) => done,
        failed = coming_up => failed.map(|never| match never {}),
        never = reload_on_hangup(&mut hangups, &setup, &shutdown) => match never {},
        never = note_leaving(&home, &host, &shutdown) => match never {},
        never = end_with_store(&host, &shutdown) => match never {},
    }
}

/// What the server of a home is given.
fn config(settings: &Settings, home: &Home, (bound, token): (Bound, Token)) -> ServerConfig {
    ServerConfig {
        default_agent: settings.default_agent.value.clone(),
        workspace_dir: home.agents_dir().display().to_string(),
        home_dir: home.root().display().to_string(),
        pid: std::process::id(),
        tcp: Some(bound.tcp),
        unix: bound.unix,
        unix_later: None,
        token,
        allowed_hosts: Vec::new(),
    }
}

fn doors(host: &Host, setup: &Arc<HostSetup>) -> Doors {
    Doors {
        reads: host.reads(),
        acts: host.acts(),
        setup: Arc::clone(setup) as Arc<dyn Setup>,
        manage: Arc::clone(setup) as Arc<dyn Manage>,
    }
}

fn note_not_up(signal: &str) {
    tracing::info!(signal, "asked to go down before the host was up");
}

/// A way to hand a socket over later, if there is none yet.
fn later_if<T>(missing: bool) -> (Option<oneshot::Sender<T>>, Option<oneshot::Receiver<T>>) {
    missing.then(oneshot::channel).unzip()
}

/// Settles what the last process left and makes the default agent; both wait for space.
async fn come_up(host: &Host, default_agent: AgentId) -> Result<(), Error> {
    host.recover().await?;
    loop {
        match host.ensure_default_agent(default_agent.clone()).await {
            Err(holon_engine::Error::DiskFull) => tokio::time::sleep(AGAIN).await,
            made => return Ok(made?),
        }
    }
}

/// Tells that the host is up, and goes on with what there was no space for.
async fn announce(mut owed: Owed<'_>, ready: impl FnOnce()) -> Result<Infallible, Error> {
    owed.write()?;
    ready();
    owed.write_all().await?;
    std::future::pending().await
}

/// Returns when there is something to answer: the host is up, or cannot come up for want of space and can be looked
/// at. Any other start is over soon, and its callers wait for it.
async fn worth_serving(
    mut is_up: watch::Receiver<bool>,
    mut full: watch::Receiver<bool>,
    shutdown: &CancellationToken,
) {
    tokio::select! {
        biased;
        _ = is_up.wait_for(|up| *up) => {}
        Ok(_) = full.wait_for(|full| *full) => tracing::error!(
            "the host is not up: what the last one left cannot be settled while the disk is full; \
             it answers those who only look, and comes up by itself when there is space"
        ),
        () = shutdown.cancelled() => {}
    }
}

/// The server has ended: so does the host. One that was not up yet leaves everything to the next start.
async fn end(
    host: &Host,
    shutdown: &CancellationToken,
    served: Result<(), holon_server::Error>,
) -> Result<(), Error> {
    shutdown.cancel();
    if let Some(lost) = host.lost() {
        return Err(lost.into());
    }
    if !host.is_up() {
        host.abandon();
        return Ok(served?);
    }
    let closed = host.shut_down().await;
    served?;
    Ok(closed?)
}

/// Waits until the store is lost; then nothing new begins, and whoever waits for an answer gets one.
async fn end_with_store(host: &Host, shutdown: &CancellationToken) -> Infallible {
    host.wait_until_lost().await;
    host.abandon();
    shutdown.cancel();
    std::future::pending().await
}

/// Tells whoever wants the home next that it is let go, as soon as the host is asked to go down.
async fn note_leaving(home: &Home, host: &Host, shutdown: &CancellationToken) -> Infallible {
    shutdown.cancelled().await;
    if host.lost().is_none() {
        home.note_leaving();
    }
    std::future::pending().await
}

/// Reads the settings again at every hangup, until the host is gone. The hangup of a terminal that is gone asks the
/// host to go down, as it would any program.
async fn reload_on_hangup(
    hangups: &mut Hangups,
    setup: &HostSetup,
    shutdown: &CancellationToken,
) -> Infallible {
    loop {
        match hangups.next().await {
            // What came of it is in the log; there is nobody else to tell.
            Hangup::Reload => drop(setup.read_again().await),
            Hangup::TerminalGone => {
                tracing::info!("the terminal is gone; going down");
                shutdown.cancel();
            }
        }
    }
}

/// Drives the host to its end. The first signal asks it to go down; the second does not wait for that, because the
/// state on disk is good at any moment.
async fn until_done(
    serving: impl Future<Output = Result<(), Error>>,
    signals: &mut EndSignals,
    (host, shutdown): (&Host, &CancellationToken),
) -> Result<(), Error> {
    let mut serving = std::pin::pin!(serving);
    loop {
        tokio::select! {
            done = &mut serving => return done,
            signal = signals.next() => {
                if shutdown.is_cancelled() {
                    tracing::warn!(signal, "ends at once; the next start takes up what is unfinished");
                    return Ok(());
                }
                if !host.is_up() {
                    note_not_up(signal);
                    return Ok(());
                }
                tracing::info!(signal, "going down");
                shutdown.cancel();
            }
        }
    }
}

/// Asks for as many open files as the bounds of this build can need; fewer is not a reason to stay down.
fn raise_file_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    let wanted = limit
        .maximum
        .map_or(OPEN_FILES, |most| most.min(OPEN_FILES));
    if limit.current.is_none_or(|now| now >= wanted) {
        return;
    }
    limit.current = Some(wanted);
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!(%error, wanted, "the limit of open files could not be raised");
    }
}
