//! The doors the server opens: one looks at agents, one acts on them, one looks at what the host is set up with,
//! one acts on the host itself.
//!
//! They exist so that routes can be tested against a scripted engine, and so that a route that only reads
//! cannot be given more. The first two add nothing to the engine's own handles.

use async_trait::async_trait;
use holon_api::{ErrorBody, ModelsResponse, ReloadResponse};
use holon_domain::AgentId;
use holon_domain::agent::IdentityView;
use holon_domain::brief::BriefRecord;
use holon_domain::feed::{EventPage, EventQuery, FeedNotice};
use holon_domain::model::ModelChoice;
use holon_domain::run::RunOnceResponse;
use holon_domain::summary::{AgentListEntry, AgentSummary};
use holon_domain::transcript::TranscriptEntry;
use holon_engine::request::{Admitted, CreateAgent, Ingress, RunRequest};
use holon_engine::{Acts, Error, Reads};
use std::sync::Arc;
use tokio::sync::broadcast;

/// Looks at agents and never wakes one.
#[async_trait]
pub trait Look: Send + Sync + 'static {
    /// See [`Reads::epoch`].
    fn epoch(&self) -> &str;
    /// See [`Reads::agents`].
    async fn agents(&self) -> Result<Vec<AgentListEntry>, Error>;
    /// See [`Reads::status`].
    async fn status(&self, agent_id: &AgentId) -> Result<AgentSummary, Error>;
    /// See [`Reads::briefs`].
    async fn briefs(&self, agent_id: &AgentId, limit: u64) -> Result<Vec<BriefRecord>, Error>;
    /// See [`Reads::transcript`].
    async fn transcript(
        &self,
        agent_id: &AgentId,
        limit: u64,
    ) -> Result<Vec<TranscriptEntry>, Error>;
    /// See [`Reads::events`].
    async fn events(&self, agent_id: &AgentId, query: EventQuery) -> Result<EventPage, Error>;
    /// See [`Reads::subscribe`].
    fn subscribe(&self) -> broadcast::Receiver<FeedNotice>;
}

/// Changes things.
#[async_trait]
pub trait Act: Send + Sync + 'static {
    /// See [`Acts::create_agent`].
    async fn create_agent(&self, request: CreateAgent) -> Result<IdentityView, Error>;
    /// See [`Acts::admit`].
    async fn admit(&self, agent_id: &AgentId, ingress: Ingress) -> Result<Admitted, Error>;
    /// See [`Acts::start_agent`].
    async fn start_agent(&self, agent_id: &AgentId) -> Result<(), Error>;
    /// See [`Acts::stop_agent`].
    async fn stop_agent(&self, agent_id: &AgentId) -> Result<(), Error>;
    /// See [`Acts::set_model`].
    async fn set_model(&self, agent_id: &AgentId, choice: ModelChoice) -> Result<(), Error>;
    /// See [`Acts::run_once`].
    async fn run_once(&self, request: RunRequest) -> Result<RunOnceResponse, Error>;
}

/// Looks at what the host is set up with.
#[async_trait]
pub trait Setup: Send + Sync + 'static {
    /// The models it knows, and which of them can be asked here and now. Touches no network.
    async fn models(&self) -> ModelsResponse;
}

/// Acts on the host itself.
#[async_trait]
pub trait Manage: Send + Sync + 'static {
    /// Reads settings and credentials again, for turns to come.
    ///
    /// # Errors
    /// Why they cannot be used; what held before holds on.
    async fn reload(&self) -> Result<ReloadResponse, ErrorBody>;

    /// Asks the host to go down; returns at once.
    fn go_down(&self);
}

/// All doors of one host.
#[derive(Clone)]
pub struct Doors {
    /// Looks at agents.
    pub look: Arc<dyn Look>,
    /// Acts on agents.
    pub act: Arc<dyn Act>,
    /// Looks at the host's setup.
    pub setup: Arc<dyn Setup>,
    /// Acts on the host.
    pub manage: Arc<dyn Manage>,
}

impl std::fmt::Debug for Doors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Doors")
    }
}

#[async_trait]
impl Look for Reads {
    fn epoch(&self) -> &str {
        self.epoch()
    }

    async fn agents(&self) -> Result<Vec<AgentListEntry>, Error> {
        self.agents().await
    }

    async fn status(&self, agent_id: &AgentId) -> Result<AgentSummary, Error> {
        self.status(agent_id).await
    }

    async fn briefs(&self, agent_id: &AgentId, limit: u64) -> Result<Vec<BriefRecord>, Error> {
        self.briefs(agent_id, limit).await
    }

    async fn transcript(
        &self,
        agent_id: &AgentId,
        limit: u64,
    ) -> Result<Vec<TranscriptEntry>, Error> {
        self.transcript(agent_id, limit).await
    }

    async fn events(&self, agent_id: &AgentId, query: EventQuery) -> Result<EventPage, Error> {
        self.events(agent_id, query).await
    }

    fn subscribe(&self) -> broadcast::Receiver<FeedNotice> {
        self.subscribe()
    }
}

#[async_trait]
impl Act for Acts {
    async fn create_agent(&self, request: CreateAgent) -> Result<IdentityView, Error> {
        self.create_agent(request).await
    }

    async fn admit(&self, agent_id: &AgentId, ingress: Ingress) -> Result<Admitted, Error> {
        self.admit(agent_id, ingress).await
    }

    async fn start_agent(&self, agent_id: &AgentId) -> Result<(), Error> {
        self.start_agent(agent_id).await
    }

    async fn stop_agent(&self, agent_id: &AgentId) -> Result<(), Error> {
        self.stop_agent(agent_id).await
    }

    async fn set_model(&self, agent_id: &AgentId, choice: ModelChoice) -> Result<(), Error> {
        self.set_model(agent_id, choice).await
    }

    async fn run_once(&self, request: RunRequest) -> Result<RunOnceResponse, Error> {
        self.run_once(request).await
    }
}
