//! Serves a home: bind, open, recover, announce, serve, drain.
//!
//! The order matters: no request is admitted before recovery is done, recovery starts only when every listener is
//! bound, and the host is announced only when it answers. On a full disk the host starts as far as it can and
//! continues when there is space. A lost store ends it at once.

use crate::compose::Addresses;
use crate::daemon_record::{DaemonRecord, OwnRecord};
use crate::effective_config::EffectiveConfig;
use crate::endpoint::{self, BoundListeners, Endpoints};
use crate::error::Error;
use crate::failure_record::FailureFiles;
use crate::heap::release_free_memory;
use crate::host_files::HostFiles;
use crate::in_force::SettingsInForce;
use crate::notify::{self, ServiceManager};
use crate::port::{ReloadableAdapters, ShimPeers, wall_clock};
use crate::run_files::{self, PendingFiles};
use crate::setup::{HostSetup, SettingsReader};
use crate::signal::{EndSignals, Hangup, Hangups};
use crate::socket_keeper::SocketKeeper;
use crate::socket_place::ShortDirs;
use crate::token_mark::token_mark;
use crate::{compose, no_space, open};
use holon_config::{Access, HostOptions, ServiceEnv, Settings};
use holon_domain::AgentId;
use holon_domain::limits::OPEN_FILES;
use holon_engine::{Host, Scope};
use holon_server::{HostPorts, ServerConfig, SetupManager, SetupReader, Token};
use holon_store::Home;
use holon_workspace::{SeedReport, TemplateStore};
use std::cell::Cell;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

/// Interval of the retries to create the default agent on a full disk.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// What a host is started with, beside its settings.
#[derive(Debug, Clone)]
pub struct HostStart {
    /// Options of the start, for the record.
    pub options: HostOptions,
    pub access: Access,
    /// Control token of the operator; the home's own if absent.
    pub token: Option<holon_config::Token>,
    pub service: ServiceEnv,
    /// Log file of a host in the background, for the record.
    pub log_path: Option<PathBuf>,
}

/// Serves the home of `settings` until a signal or a client shuts the host down. `reread` reads the settings again on
/// request. `ready` is called once, when requests are answered. A failure is kept in `run/` until a later start
/// succeeds.
///
/// # Errors
/// Fails if the host cannot start, and then leaves nothing else behind, or if its store is lost.
pub async fn serve(
    settings: &Settings,
    start: &HostStart,
    reread: SettingsReader,
    ready: impl FnOnce(&Endpoints),
) -> Result<(), Error> {
    let failures = FailureFiles::of(&settings.home.value);
    let was_ready = Cell::new(false);
    let announce = |endpoints: &Endpoints| {
        was_ready.set(true);
        failures.clear();
        ready(endpoints);
    };
    let served = Box::pin(serve_home(settings, start, reread, announce)).await;
    if let Err(error) = &served {
        failures.record_end(error, was_ready.get());
    }
    served
}

async fn serve_home(
    settings: &Settings,
    start: &HostStart,
    reread: SettingsReader,
    ready: impl FnOnce(&Endpoints),
) -> Result<(), Error> {
    let live = ReloadableAdapters::new(settings)?;
    // After `Image` has saved the limit for commands, which get the limit this process was started with.
    raise_file_limit();
    compose::check_default_model(settings, &live.models).await?;
    let mut signals = EndSignals::listen()?;
    let mut hangups = Hangups::listen()?;
    let home = tokio::select! {
        home = open::take_home(&settings.home.value) => home?,
        signal = signals.next() => {
            log_early_end(signal);
            return Ok(());
        }
    };
    home.note_host();
    let manager = ServiceManager::of(&start.service);
    let (token, unsaved) = match &start.token {
        Some(given) => (given.clone(), None),
        None => run_files::token(&home)?,
    };
    live.models.secrets().keep(token.expose().into());
    let token = Token::new(token.expose())?;
    let dirs = ShortDirs {
        runtime: start.service.runtime_dir.clone(),
        user: settings.user_home.clone(),
    };
    let bound = endpoint::bind(&home, &start.access, &dirs).await?;
    let mut host_files = HostFiles::new(&home, bound.endpoints.socket_path.clone());
    // The open may have to wait for disk space, and must be interruptible meanwhile.
    let db = tokio::select! {
        db = no_space::open_store(&home, &bound) => db?,
        signal = signals.next() => {
            log_early_end(signal);
            return Ok(());
        }
    };
    let full = db.disk_full();
    host_files.keep_if_lost(db.lost());
    let addresses = Addresses {
        callback_base: callback_base(start, &bound.endpoints),
        advertised: start.access.advertise_url.clone(),
    };
    let host = compose::open(settings, &live, &home, db, Scope::All, addresses)?;
    let host = Arc::new(host);
    let shutdown = CancellationToken::new();
    let record = OwnRecord::new(
        home.run_dir(),
        record(settings, start, &home, &bound.endpoints),
    );
    let record = Arc::new(record);
    let in_force = SettingsInForce::new(settings.clone(), start, Arc::clone(&record));
    let setup = HostSetup::new(in_force, reread, Arc::clone(&host), live);
    let setup = Arc::new(setup);
    let endpoints = bound.endpoints.clone();
    let (later, unix_later) = mpsc::channel(1);
    let socket_path = endpoints.socket_path.clone();
    let socket = SocketKeeper::new(&home, socket_path, bound.unix.is_some(), later);
    let config = ServerConfig {
        unix_later: Some(unix_later),
        allowed_hosts: start.access.allowed_hosts.clone(),
        advertise_url: start.access.advertise_url.clone(),
        ..config(settings, &home, bound, token)
    };
    let server = holon_server::serve(config, doors(home.root(), &host, &setup), shutdown.clone());
    let (up, is_up) = watch::channel(false);
    let pending = PendingFiles::new(&home, record, unsaved);
    let coming_up = async {
        seed_templates(settings).await;
        come_up(&host, settings.default_agent.value.clone()).await?;
        up.send_replace(true);
        let (http, socket) = (endpoints.http_addr, endpoints.socket_path.display());
        let announced = || {
            tracing::info!(%http, %socket, "host is up");
            ready(&endpoints);
            if let Some(manager) = &manager {
                manager.report(notify::READY);
            }
        };
        announce(pending, announced).await
    };
    let serving = async {
        wait_until_servable(is_up, full, &shutdown).await;
        let served = server.await;
        end(&host, &shutdown, served).await
    };
    tokio::select! {
        done = run_to_end(serving, &mut signals, &host, &shutdown) => done,
        failed = coming_up => failed.map(|never| match never {}),
        never = reload_on_hangup(&mut hangups, &setup, &shutdown) => match never {},
        never = note_leaving(&home, &host, &shutdown) => match never {},
        never = end_with_store(&host, &shutdown) => match never {},
        never = socket.keep(&shutdown) => match never {},
        never = report_to_manager(manager.as_ref(), &shutdown) => match never {},
        never = release_free_memory() => match never {},
    }
}

/// Returns the address at which external systems reach the host, without a slash at its end.
fn callback_base(start: &HostStart, endpoints: &Endpoints) -> String {
    let own = || format!("http://{}", endpoints.http_addr);
    let base = start.access.advertise_url.clone().unwrap_or_else(own);
    base.trim_end_matches('/').to_owned()
}

/// Reports to the service manager: signs of life, and the end.
async fn report_to_manager(
    manager: Option<&ServiceManager>,
    shutdown: &CancellationToken,
) -> Infallible {
    let Some(manager) = manager else {
        return std::future::pending().await;
    };
    tokio::select! {
        never = manager.keep_alive() => match never {},
        () = shutdown.cancelled() => manager.report(notify::STOPPING),
    }
    manager.keep_alive().await
}

/// Returns the record of this process. Its time is set when it is written. The home has its key by now.
fn record(
    settings: &Settings,
    start: &HostStart,
    home: &Home,
    endpoints: &Endpoints,
) -> DaemonRecord {
    let pid = std::process::id();
    let has_manager = start.service.notify_socket.is_some();
    let config = EffectiveConfig::of(settings, &start.options, &start.access);
    DaemonRecord {
        pid,
        home_dir: home.root().to_owned(),
        socket_path: endpoints.socket_path.clone(),
        http_addr: endpoints.http_addr.to_string(),
        started_at: wall_clock(),
        process_started: holon_store::start_time(pid),
        config_fingerprint: Some(config.fingerprint()),
        config_marks: config.marks(),
        token_mark: start
            .token
            .as_ref()
            .and_then(|token| token_mark(home.root(), token)),
        options: start.options.clone(),
        advertise_url: start.access.advertise_url.clone(),
        log_path: start.log_path.clone(),
        service_manager: has_manager.then(|| "systemd".to_owned()),
        version: Some(env!("CARGO_PKG_VERSION").to_owned()),
    }
}

/// Returns the server configuration of a home.
fn config(settings: &Settings, home: &Home, bound: BoundListeners, token: Token) -> ServerConfig {
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
        advertise_url: None,
    }
}

fn doors(home: &Path, host: &Host, setup: &Arc<HostSetup>) -> HostPorts {
    HostPorts {
        reads: host.reads(),
        control: host.control(),
        setup: Arc::clone(setup) as Arc<dyn SetupReader>,
        manage: Arc::clone(setup) as Arc<dyn SetupManager>,
        peers: Arc::new(ShimPeers::of_host(home)),
    }
}

fn log_early_end(signal: &str) {
    tracing::info!(signal, "asked to go down before the host was up");
}

/// Writes the built-in templates to the user's directory. They are in the program too, so a failure is only logged.
async fn seed_templates(settings: &Settings) {
    let store = TemplateStore::of_user(settings.user_home.as_deref(), compose::fetcher(settings));
    match tokio::task::spawn_blocking(move || store.seed_builtins()).await {
        Ok(Ok(report)) => {
            let SeedReport {
                written,
                refreshed,
                left,
            } = report;
            tracing::debug!(?written, ?refreshed, ?left, "built-in templates");
        }
        Ok(Err(error)) => tracing::warn!(%error, "the built-in templates could not be written"),
        Err(error) => tracing::warn!(%error, "the built-in templates could not be written"),
    }
}

/// Recovers what the last process left and creates the default agent. Both wait for disk space.
async fn come_up(host: &Host, default_agent: AgentId) -> Result<(), Error> {
    host.recover().await?;
    loop {
        match host.ensure_default_agent(default_agent.clone()).await {
            Err(holon_engine::Error::DiskFull) => tokio::time::sleep(RETRY_INTERVAL).await,
            made => return Ok(made?),
        }
    }
}

/// Announces that the host is up, and writes the files for which there was no space.
async fn announce(
    mut pending: PendingFiles<'_>,
    ready: impl FnOnce(),
) -> Result<Infallible, Error> {
    pending.write()?;
    ready();
    pending.write_all().await?;
    std::future::pending().await
}

/// Returns when requests can be answered: the host is up, or it cannot come up for lack of space and serves reads
/// only. Any other start is over soon, and its clients wait for it.
async fn wait_until_servable(
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

/// Shuts the host down after the server has ended. A host that was not up yet leaves everything to the next start.
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

/// Waits until the store is lost. Then no new work starts, and waiting clients get an answer.
async fn end_with_store(host: &Host, shutdown: &CancellationToken) -> Infallible {
    host.wait_until_lost().await;
    host.abandon();
    shutdown.cancel();
    std::future::pending().await
}

/// Marks the home as being released, as soon as the host starts to shut down.
async fn note_leaving(home: &Home, host: &Host, shutdown: &CancellationToken) -> Infallible {
    shutdown.cancelled().await;
    if host.lost().is_none() {
        home.note_leaving();
    }
    std::future::pending().await
}

/// Reads the settings again at every SIGHUP, until the host is gone. The SIGHUP of a closed terminal shuts the host
/// down, as it would any program.
async fn reload_on_hangup(
    hangups: &mut Hangups,
    setup: &HostSetup,
    shutdown: &CancellationToken,
) -> Infallible {
    loop {
        match hangups.next().await {
            // The result is in the log; a signal has no caller to report to.
            Hangup::Reload => drop(setup.reload().await),
            Hangup::TerminalGone => {
                tracing::info!("the terminal is gone; going down");
                shutdown.cancel();
            }
        }
    }
}

/// Drives the host to its end. The first signal starts a shutdown. The second ends the process at once, because the
/// state on disk is always consistent.
async fn run_to_end(
    serving: impl Future<Output = Result<(), Error>>,
    signals: &mut EndSignals,
    host: &Host,
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
                if !host.is_up() {
                    log_early_end(signal);
                    return Ok(());
                }
                tracing::info!(signal, "going down");
                shutdown.cancel();
            }
        }
    }
}

/// Raises the limit of open files to what this build can need. A lower limit is not an error.
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
