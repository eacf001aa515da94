//! What handlers are given: facts about the host, and one door each.

use crate::door::{Manage, Setup};
use holon_domain::AgentId;
use holon_engine::{Acts, Reads};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How a request came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// From anywhere; a token shows who it is.
    Tcp,
    /// From the same user on this machine; the listener has checked that.
    Unix,
}

/// Facts and bounds all routes share.
pub(crate) struct Host {
    pub(crate) default_agent: AgentId,
    pub(crate) workspace_dir: String,
    pub(crate) home_dir: String,
    pub(crate) pid: u32,
    pub(crate) listen: Option<String>,
    /// One permit per open stream.
    pub(crate) streams: Arc<Semaphore>,
    /// Cancelled when the host goes down: streams end, connections drain.
    pub(crate) shutdown: CancellationToken,
    /// Everything that must have ended before the server has.
    pub(crate) tasks: TaskTracker,
}

/// What a route that reads is given. Nothing in it can change an agent.
#[derive(Clone)]
pub(crate) struct ReadState {
    pub(crate) host: Arc<Host>,
    pub(crate) reads: Reads,
    pub(crate) setup: Arc<dyn Setup>,
    pub(crate) transport: Transport,
}

/// What a route that acts is given.
#[derive(Clone)]
pub(crate) struct ActState {
    pub(crate) host: Arc<Host>,
    pub(crate) acts: Acts,
    pub(crate) reads: Reads,
    pub(crate) manage: Arc<dyn Manage>,
}

/// The connection a request came on; cancelled to close it at once.
#[derive(Debug, Clone)]
pub(crate) struct Connection(pub(crate) CancellationToken);
