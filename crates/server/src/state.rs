//! State of the handlers: facts about the host, and the handles they may call.

use crate::ports::{SetupManager, SetupReader};
use holon_domain::AgentId;
use holon_engine::{ControlHandle, ReadHandle};
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
    pub(crate) advertise_url: Option<String>,
    /// One permit per open stream.
    pub(crate) streams: Arc<Semaphore>,
    /// Cancelled at shutdown: streams end and connections drain.
    pub(crate) shutdown: CancellationToken,
    /// Tasks that must end before the server returns.
    pub(crate) tasks: TaskTracker,
}

/// State of read-only routes. It has no handle that can change an agent.
#[derive(Clone)]
pub(crate) struct ReadState {
    pub(crate) host: Arc<Host>,
    pub(crate) reads: ReadHandle,
    pub(crate) setup: Arc<dyn SetupReader>,
    pub(crate) transport: Transport,
}

/// State of routes that change an agent or the host.
#[derive(Clone)]
pub(crate) struct ActState {
    pub(crate) host: Arc<Host>,
    pub(crate) control: ControlHandle,
    pub(crate) reads: ReadHandle,
    pub(crate) manage: Arc<dyn SetupManager>,
}

/// Connection of a request; its token closes it at once.
#[derive(Debug, Clone)]
pub(crate) struct Connection(pub(crate) CancellationToken);
