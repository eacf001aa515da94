//! Serves the control plane: one router per listener, and one drain for all of them.

use crate::error::Error;
use crate::gate::Gate;
use crate::hosts::AllowedHosts;
use crate::listen::{self, Listener, ShutdownSignals};
use crate::named_tokens::NamedTokens;
use crate::ports::HostPorts;
use crate::router::router;
use crate::state::{ActState, Host, ReadState, Transport};
use crate::token::Token;
use holon_domain::AgentId;
use holon_domain::limits::{DRAIN_MS, REPLAYS_AT_ONCE, RUN_STREAMS, STREAMS};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Bound listeners, access rules, and the facts about the host that responses show.
#[derive(Debug)]
pub struct ServerConfig {
    /// Agent used when a request names none.
    pub default_agent: AgentId,
    /// Parent directory of the workspaces of agents without a project, for display only.
    pub workspace_dir: String,
    /// Directory of the host's state, for display only.
    pub home_dir: String,
    pub pid: u32,
    /// Absent if TCP is not served.
    pub tcp: Option<TcpListener>,
    /// Absent if the unix socket is not served yet; see [`crate::bind_unix`].
    pub unix: Option<UnixListener>,
    /// Delivers unix sockets that are bound after the start. Each replaces the one before.
    pub unix_later: Option<mpsc::Receiver<UnixListener>>,
    pub token: Token,
    /// Names and addresses that requests may be addressed to, beside loopback and the bound address.
    pub allowed_hosts: Vec<String>,
    /// URL by which clients of other machines reach the host, for display only.
    pub advertise_url: Option<String>,
}

/// Serves until `shutdown` is cancelled. Then it accepts no new request, signals streams, lets running requests finish for
/// a bounded time, and returns.
///
/// # Errors
/// When there is no listener, or the address of a listener cannot be read.
pub async fn serve(
    config: ServerConfig,
    ports: HostPorts,
    shutdown: CancellationToken,
) -> Result<(), Error> {
    let bound = config
        .tcp
        .as_ref()
        .map(TcpListener::local_addr)
        .transpose()
        .map_err(Error::LocalAddress)?;
    let tcp = config.tcp.map(|tcp| (Transport::Tcp, Listener::Tcp(tcp)));
    let unix = config
        .unix
        .map(|unix| (Transport::Unix, Listener::Unix(unix)));
    if tcp.is_none() && unix.is_none() {
        return Err(Error::NoListener);
    }
    let hosts = AllowedHosts::new(bound, &config.allowed_hosts);
    let tasks = TaskTracker::new();
    let named_tokens = Arc::new(NamedTokens::default());
    match ports.reads.tokens().await {
        Ok(stored) => named_tokens.add(stored),
        // The control token and the socket still work.
        Err(error) => tracing::error!(%error, "named tokens cannot be read, so none is accepted"),
    }
    let signals = ShutdownSignals {
        drain: shutdown,
        kill: CancellationToken::new(),
    };
    let host = Arc::new(Host {
        default_agent: config.default_agent,
        workspace_dir: config.workspace_dir,
        home_dir: config.home_dir,
        pid: config.pid,
        listen: bound.map(|addr| addr.to_string()),
        named_tokens: Arc::clone(&named_tokens),
        served_keys: Arc::default(),
        deliveries: Default::default(),
        webhook_secrets: Default::default(),
        bodies: Default::default(),
        counters: Default::default(),
        advertise_url: config.advertise_url,
        streams: Arc::new(Semaphore::new(STREAMS)),
        run_streams: Arc::new(Semaphore::new(RUN_STREAMS)),
        replays: Arc::new(Semaphore::new(REPLAYS_AT_ONCE)),
        shutdown: signals.drain.clone(),
        tasks: tasks.clone(),
        cut_off: signals.kill.clone(),
    });
    let reads = Arc::new(ports.reads.clone());
    let stream_reads = Arc::new(ports.reads.for_streams());
    // Returns the token that ends the listener without the others; its connections go on.
    let serve_on = |transport: Transport, listener: Listener| {
        let gate = Gate {
            transport,
            token: config.token.clone(),
            named: Arc::clone(&named_tokens),
            hosts: hosts.clone(),
        };
        let read_state = ReadState {
            host: Arc::clone(&host),
            reads: Arc::clone(&reads),
            stream_reads: Arc::clone(&stream_reads),
            setup: Arc::clone(&ports.setup),
            meters: ports.control.meters(),
            transport,
        };
        let act_state = ActState {
            host: Arc::clone(&host),
            control: ports.control.clone(),
            reads: Arc::clone(&reads),
            manage: Arc::clone(&ports.manage),
        };
        let replaced = CancellationToken::new();
        let (peers, tracked, signals) = (Arc::clone(&ports.peers), tasks.clone(), signals.clone());
        // Each listener makes its own router, at the same time as the others.
        let accepting = async move {
            let router = router(gate, read_state, act_state);
            listen::accept(listener, router, peers, tracked, signals).await
        };
        tasks.spawn(replaced.clone().run_until_cancelled_owned(accepting));
        replaced
    };
    if let Some((transport, listener)) = tcp {
        serve_on(transport, listener);
    }
    let mut unix = unix.map(|(transport, listener)| serve_on(transport, listener));
    if let Some(mut later) = config.unix_later {
        while let Some(Some(listener)) = signals.drain.run_until_cancelled(later.recv()).await {
            let newest = serve_on(Transport::Unix, Listener::Unix(listener));
            if let Some(replaced) = unix.replace(newest) {
                replaced.cancel();
            }
        }
    }
    signals.drain.cancelled().await;
    drain(&tasks, &signals.kill).await;
    Ok(())
}

/// Waits for running connections, and cancels those that exceed the timeout.
async fn drain(tasks: &TaskTracker, kill: &CancellationToken) {
    tasks.close();
    if tokio::time::timeout(Duration::from_millis(DRAIN_MS), tasks.wait())
        .await
        .is_err()
    {
        tracing::warn!(open = tasks.len(), "connections are cut off");
        kill.cancel();
        tasks.wait().await;
    }
}
