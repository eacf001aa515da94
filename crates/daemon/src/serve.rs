//! Serving a home: bind, recover, announce, serve, drain.
//!
//! Order matters: nothing is admitted before recovery is done, recovery begins only when every listener is bound,
//! and nobody is told of the host before it answers.

use crate::daemon_record::DaemonRecord;
use crate::endpoint::{self, Bound, Endpoints};
use crate::error::Error;
use crate::port::{Live, wall_clock};
use crate::setup::{HostSetup, Reread};
use crate::signal::{EndSignals, Hangup, Hangups};
use crate::{compose, files, no_space, open};
use holon_config::{Settings, Token};
use holon_domain::limits::OPEN_FILES;
use holon_engine::{Host, Scope};
use holon_server::{Doors, Manage, ServerConfig, Setup};
use holon_store::{Home, Occupant};
use std::convert::Infallible;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Serves the home of `settings` until a signal or a client asks the host to go down. `reread` reads the settings
/// again when somebody asks for it. `ready` is called once, when requests are answered.
///
/// # Errors
/// When the host cannot start. Nothing of it is left behind then.
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
            tracing::info!(signal, "asked to go down before the host was up");
            return Ok(());
        }
    };
    let token = Token::load_or_create(&home.token_path())?;
    live.models.secrets().keep(token.expose().into());
    let token = holon_server::Token::new(token.expose())?;
    let bound = endpoint::bind(&home, settings.http_addr.value).await?;
    let endpoints = bound.endpoints.clone();
    let _marks = Marks(&home);
    // A start may have to wait for disk space, and must be interruptible while it does.
    let host = tokio::select! {
        host = start(settings, &live, (&home, &bound)) => Arc::new(host?),
        signal = signals.next() => {
            tracing::info!(signal, "asked to go down before the host was up");
            return Ok(());
        }
    };
    DaemonRecord::write(&home, &endpoints, wall_clock())?;
    let shutdown = CancellationToken::new();
    let setup = Arc::new(HostSetup::new(
        settings.clone(),
        reread,
        Arc::clone(&host),
        live,
    ));
    let server = holon_server::serve(
        ServerConfig {
            default_agent: settings.default_agent.value.clone(),
            workspace_dir: home.agents_dir().display().to_string(),
            home_dir: home.root().display().to_string(),
            pid: std::process::id(),
            tcp: Some(bound.tcp),
            unix: Some(bound.unix),
            token,
            allowed_hosts: Vec::new(),
        },
        Doors {
            reads: host.reads(),
            acts: host.acts(),
            setup: Arc::clone(&setup) as Arc<dyn Setup>,
            manage: Arc::clone(&setup) as Arc<dyn Manage>,
        },
        shutdown.clone(),
    );
    tracing::info!(http = %endpoints.http_addr, socket = %endpoints.socket_path.display(), "host is up");
    ready(&endpoints);
    let serving = async {
        let served = server.await;
        let closed = host.shut_down().await;
        served?;
        Ok(closed?)
    };
    let reloading = reload_on_hangup(&mut hangups, &setup, &shutdown);
    tokio::select! {
        done = until_done(serving, &mut signals, &shutdown) => done,
        never = reloading => match never {},
        never = note_leaving(&home, &shutdown) => match never {},
    }
}

/// Tells whoever wants the home next that it is let go, as soon as the host is asked to go down.
async fn note_leaving(home: &Home, shutdown: &CancellationToken) -> Infallible {
    shutdown.cancelled().await;
    home.note_leaving();
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

async fn start(
    settings: &Settings,
    live: &Live,
    (home, bound): (&Home, &Bound),
) -> Result<Host, Error> {
    let store = open::open_store(home, Occupant::Host)?;
    let full = store.disk_full();
    let coming_up = async {
        let host = compose::start(settings, live, (home, store), Scope::All).await?;
        host.ensure_default_agent(settings.default_agent.value.clone())
            .await?;
        Ok(host)
    };
    tokio::select! {
        host = coming_up => host,
        never = no_space::turn_away(bound, full) => match never {},
    }
}

/// Drives the host to its end. The first signal asks it to go down; the second does not wait for that, because the
/// state on disk is good at any moment.
async fn until_done(
    serving: impl Future<Output = Result<(), Error>>,
    signals: &mut EndSignals,
    shutdown: &CancellationToken,
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
                tracing::info!(signal, "going down");
                shutdown.cancel();
            }
        }
    }
}

/// The files other processes find a host by; gone with it.
struct Marks<'a>(&'a Home);

impl Drop for Marks<'_> {
    fn drop(&mut self) {
        files::remove_quietly(&self.0.socket_path());
        DaemonRecord::remove(self.0);
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
