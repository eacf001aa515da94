//! Serving: one router per listener, one drain for all.

use crate::door::Doors;
use crate::error::Error;
use crate::gate::Gate;
use crate::hosts::AllowedHosts;
use crate::listen::{self, Ends, Listener};
use crate::router::router;
use crate::state::{ActState, Host, ReadState, Transport};
use crate::token::Token;
use holon_domain::AgentId;
use holon_domain::limits::{DRAIN_MS, STREAMS};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Semaphore, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// What the server is given: listeners that are bound already, and what it may say about the host.
#[derive(Debug)]
pub struct ServerConfig {
    /// The agent that is meant when none is named.
    pub default_agent: AgentId,
    /// Where agents work that were given no project, as it is shown.
    pub workspace_dir: String,
    /// Where the host keeps its state, as it is shown.
    pub home_dir: String,
    /// The host's process.
    pub pid: u32,
    /// Bound, if TCP is served.
    pub tcp: Option<TcpListener>,
    /// Bound, if the unix socket is served; see [`crate::bind_unix`].
    pub unix: Option<UnixListener>,
    /// Gives the unix socket when it could only be bound later.
    pub unix_later: Option<oneshot::Receiver<UnixListener>>,
    /// The control token.
    pub token: Token,
    /// Names and addresses, beside loopback and the bound one, that requests may be addressed to.
    pub allowed_hosts: Vec<String>,
}

/// Serves until `shutdown` is cancelled; then takes nothing new, ends streams, lets requests finish for a bounded
/// time, and returns.
///
/// # Errors
/// When there is nothing to listen on, or a listener is broken from the start.
pub async fn serve(
    config: ServerConfig,
    doors: Doors,
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
    let host = Arc::new(Host {
        default_agent: config.default_agent,
        workspace_dir: config.workspace_dir,
        home_dir: config.home_dir,
        pid: config.pid,
        listen: bound.map(|addr| addr.to_string()),
        streams: Arc::new(Semaphore::new(STREAMS)),
        shutdown: shutdown.clone(),
        tasks: tasks.clone(),
    });
    let ends = Ends {
        drain: shutdown,
        kill: CancellationToken::new(),
    };
    let serve_on = |transport: Transport, listener: Listener| {
        let gate = Gate {
            transport,
            token: config.token.clone(),
            hosts: hosts.clone(),
        };
        let read_state = ReadState {
            host: Arc::clone(&host),
            reads: doors.reads.clone(),
            setup: Arc::clone(&doors.setup),
            transport,
        };
        let act_state = ActState {
            host: Arc::clone(&host),
            acts: doors.acts.clone(),
            reads: doors.reads.clone(),
            manage: Arc::clone(&doors.manage),
        };
        let router = router(gate, read_state, act_state);
        tasks.spawn(listen::accept(
            listener,
            router,
            tasks.clone(),
            ends.clone(),
        ));
    };
    for (transport, listener) in tcp.into_iter().chain(unix) {
        serve_on(transport, listener);
    }
    if let Some(later) = config.unix_later {
        let late = ends.drain.run_until_cancelled(later).await;
        if let Some(Ok(listener)) = late {
            serve_on(Transport::Unix, Listener::Unix(listener));
        }
    }
    ends.drain.cancelled().await;
    drain(&tasks, &ends.kill).await;
    Ok(())
}

/// Waits for what is under way, then for what had to be cut off.
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
