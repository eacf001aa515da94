//! State of the handlers: facts about the host, and the handles they may call.

use crate::body_room::BodyRooms;
use crate::delivery_limits::DeliveryLimits;
use crate::keyed::ServedKeys;
use crate::named_tokens::NamedTokens;
use crate::ports::{PeerCommand, SetupManager, SetupReader};
use crate::rising_counters::RisingCounters;
use crate::webhook_secrets::WebhookSecrets;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use holon_domain::AgentId;
use holon_domain::request_key::RequestKey;
use holon_engine::{ControlHandle, HostMeters, ReadHandle};
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Transport of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// Open to any peer; a token authenticates the caller.
    Tcp,
    /// Same user on this machine, as the listener has checked.
    Unix,
}

/// Facts and limits shared by all routes.
pub(crate) struct Host {
    pub(crate) default_agent: AgentId,
    pub(crate) workspace_dir: String,
    pub(crate) home_dir: String,
    pub(crate) pid: u32,
    pub(crate) listen: Option<String>,
    pub(crate) named_tokens: Arc<NamedTokens>,
    pub(crate) served_keys: Arc<ServedKeys>,
    pub(crate) deliveries: DeliveryLimits,
    pub(crate) webhook_secrets: WebhookSecrets,
    pub(crate) bodies: BodyRooms,
    pub(crate) counters: RisingCounters,
    pub(crate) advertise_url: Option<String>,
    /// One permit per open stream of events.
    pub(crate) streams: Arc<Semaphore>,
    /// One permit per open stream of a run.
    pub(crate) run_streams: Arc<Semaphore>,
    /// Turns of streams that replay recorded events.
    pub(crate) replays: Arc<Semaphore>,
    /// Cancelled at shutdown: streams end and connections drain.
    pub(crate) shutdown: CancellationToken,
    /// Tasks that must end before the server returns.
    pub(crate) tasks: TaskTracker,
    /// Cancelled when the drain has used up its time: what is served then ends at once.
    pub(crate) cut_off: CancellationToken,
}

/// State of read-only routes. It has no handle that can change an agent.
#[derive(Clone)]
pub(crate) struct ReadState {
    pub(crate) host: Arc<Host>,
    pub(crate) reads: Arc<ReadHandle>,
    /// Reads the pages of event streams, beside all other reads.
    pub(crate) stream_reads: Arc<ReadHandle>,
    pub(crate) setup: Arc<dyn SetupReader>,
    pub(crate) meters: HostMeters,
    pub(crate) transport: Transport,
}

/// State of routes that change an agent or the host.
#[derive(Clone)]
pub(crate) struct ActState {
    pub(crate) host: Arc<Host>,
    pub(crate) control: ControlHandle,
    pub(crate) reads: Arc<ReadHandle>,
    pub(crate) manage: Arc<dyn SetupManager>,
}

/// State of a route that changes something, for one request: its decision has the key of the request.
pub(crate) struct Act(pub(crate) ActState);

impl FromRequestParts<ActState> for Act {
    type Rejection = Infallible;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &ActState,
    ) -> Result<Self, Self::Rejection> {
        let mut state = state.clone();
        if let Some(key) = parts.extensions.get::<RequestKey>() {
            state.control = state.control.for_request(key.clone());
        }
        Ok(Self(state))
    }
}

/// Command of an agent at the other end of a socket connection.
#[derive(Debug, Clone)]
pub(crate) struct Peer(pub(crate) PeerCommand);

/// Address of the peer of a TCP connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PeerAddress(pub(crate) IpAddr);

/// Connection of a request; its token closes it at once.
#[derive(Debug, Clone)]
pub(crate) struct Connection(pub(crate) CancellationToken);
